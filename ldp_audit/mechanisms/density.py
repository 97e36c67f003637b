"""The parts of a symbolic distribution: atoms, and a density by pieces, with exact moments."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Protocol

from sympy import Dummy, Expr, Integer, Tuple, cancel, integrate, oo, simplify

from ldp_audit.mechanisms.variable import Variable, exact


class _Output(Variable):
    """A variable equal to no other: a user's variable y over all reals is not the report."""

    __slots__ = ()


OUTPUT = _Output("y", -oo, oo)
"""The report, as the variable of a density."""


@dataclass(frozen=True)
class Atom:
    """One output and its probability, expressions in the inputs and the parameters.

    output: an expression or, for a vector, a SymPy Tuple of them.
    index: the output, if it is a whole-number variable that stands for each of its (perhaps infinitely many) values.
    """

    output: Any
    probability: Expr
    index: Variable | None = None

    @classmethod
    def of(cls, channel: str, pair: Any, named: Container[Variable]) -> Atom:
        """The atom of a pair (output, probability); ValueError, naming the channel, for anything else.

        named: the inputs and public variables; another whole-number variable as the output stands for each value.
        """
        if isinstance(pair, Atom):
            return pair
        try:
            output, probability = pair
        except (TypeError, ValueError):
            raise ValueError(f"an atom of channel {channel!r} must be (output, probability), got {pair!r}") from None
        if isinstance(output, tuple | Tuple):
            return cls(Tuple(*map(exact, output)), exact(probability))
        output = exact(output)
        is_family = isinstance(output, Variable) and output.integer_valued and output not in named
        return cls(output, exact(probability), output if is_family else None)

    def coordinates(self) -> tuple[Any, ...]:
        """The coordinates of the output; a single one for a number."""
        return tuple(self.output.args) if isinstance(self.output, Tuple) else (self.output,)


@dataclass(frozen=True)
class Piece:
    """The density on the interval from lower to upper (perhaps infinite): expressions in inputs, parameters, OUTPUT."""

    lower: Expr
    upper: Expr
    density: Expr

    @classmethod
    def of(cls, channel: str, triple: Any) -> Piece:
        """The piece of a triple (lower, upper, density); ValueError, naming the channel, for anything else."""
        if isinstance(triple, Piece):
            return triple
        try:
            lower, upper, density = triple
        except (TypeError, ValueError):
            raise ValueError(
                f"a piece of channel {channel!r} must be (lower, upper, density), got {triple!r}"
            ) from None
        lower, upper = exact(lower), exact(upper)
        if OUTPUT in lower.free_symbols | upper.free_symbols:
            raise ValueError(f"the ends of a piece of channel {channel!r} must not mention the output")
        return cls(lower, upper, exact(density))

    def is_flat(self) -> bool:
        """Whether the density is constant on the interval."""
        return OUTPUT not in self.density.free_symbols

    def moment(self, order: int) -> Expr:
        """The integral of output**order times the density over the piece."""
        if self.is_flat() and not (self.lower.is_infinite or self.upper.is_infinite):
            power = order + 1
            return self.density * (self.upper**power - self.lower**power) / power
        return _integral(OUTPUT**order * self.density, self.lower, self.upper)


class SymbolicDistribution(Protocol):
    """What numbers are put into: atoms and pieces that depend on inputs and parameters. `SymbolicChannel` is one."""

    @property
    def name(self) -> str:
        """For reports and messages."""

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The variables that hold the private value."""

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The outputs with a probability."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The density, adjacent and ascending."""

    def variables(self) -> list[Variable]:
        """The inputs and the parameters, each after those that its domain mentions."""

    def outputs_depend_on_inputs(self) -> bool:
        """Whether an output is an expression in the input, so that supports may differ."""

    def is_vector(self) -> bool:
        """Whether the outputs are tuples."""

    def mean(self) -> Expr:
        """E[output | inputs]."""

    def variance(self) -> Expr:
        """Var[output | inputs]."""


def _integral(integrand: Expr, lower: Expr, upper: Expr) -> Expr:
    """SymPy's integral, under the sign assumptions of the variables' domains."""
    symbols: dict[Any, Any] = {
        v: Dummy(v.name, positive=_is_positive(v) or None, real=True)
        for v in integrand.free_symbols | lower.free_symbols | upper.free_symbols
        if isinstance(v, Variable)
    }
    y = symbols.setdefault(OUTPUT, Dummy("y", real=True))
    limits = (y, lower.subs(symbols), upper.subs(symbols))
    found = simplify(integrate(integrand.subs(symbols), limits))
    return cancel(found).subs({dummy: v for v, dummy in symbols.items()})


def _is_positive(variable: Variable) -> bool:
    lower = variable.lower
    return bool(lower.is_number and (lower > 0 or (lower == Integer(0) and variable.lower_open)))
