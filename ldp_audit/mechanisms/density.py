"""Pieces of a symbolic density, and their exact integrals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Dummy, Expr, Integer, cancel, integrate, oo, simplify

from ldp_audit.mechanisms.variable import Variable, exact


class _Output(Variable):
    """Equal to no other variable, so that none called y over all reals is taken for the report."""

    __slots__ = ()


OUTPUT = _Output("y", -oo, oo)
"""The report, in a density that depends on it."""


@dataclass(frozen=True)
class Piece:
    """The density on one interval of outputs: an expression in the inputs, the parameters and OUTPUT.

    lower, upper: the interval's ends, expressions in the inputs and the parameters; -oo and oo are allowed.
    """

    lower: Expr
    upper: Expr
    density: Expr

    @classmethod
    def of(cls, channel: str, triple: Any) -> Piece:
        """From (lower, upper, density); ValueError that names the channel for anything else."""
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
        """Whether the density does not depend on the output."""
        return OUTPUT not in self.density.free_symbols

    def moment(self, order: int) -> Expr:
        """The integral of output**order times the density over the piece."""
        if self.is_flat() and not (self.lower.is_infinite or self.upper.is_infinite):
            power = order + 1
            return self.density * (self.upper**power - self.lower**power) / power
        return _integral(OUTPUT**order * self.density, self.lower, self.upper)


def _integral(integrand: Expr, lower: Expr, upper: Expr) -> Expr:
    """SymPy's integral, with the signs that the variables' domains tell."""
    symbols: dict[Any, Any] = {
        v: Dummy(v.name, positive=_is_positive(v) or None, real=True)
        for v in integrand.free_symbols | lower.free_symbols | upper.free_symbols
        if isinstance(v, Variable)
    }
    y = symbols.setdefault(OUTPUT, Dummy("y", real=True))
    ends = (y, lower.subs(symbols), upper.subs(symbols))
    found = simplify(integrate(integrand.subs(symbols), ends))  # pyright: ignore[reportArgumentType]
    return cancel(found).subs({dummy: v for v, dummy in symbols.items()})


def _is_positive(variable: Variable) -> bool:
    lower = variable.lower
    return bool(lower.is_number and (lower > 0 or (lower == Integer(0) and variable.lower_open)))
