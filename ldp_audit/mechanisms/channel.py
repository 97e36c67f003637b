"""Symbolic definition of a randomised map: outputs with probabilities, intervals with densities, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Add, Dummy, Expr, Function, Mul, Pow, S, Sum, Tuple, ceiling, floor, latex

from ldp_audit.mechanisms.density import OUTPUT, Atom, Piece
from ldp_audit.mechanisms.typeset import cases, interval
from ldp_audit.mechanisms.variable import (
    EPSILON,
    Variable,
    in_order,
    replacements,
    substitute_domain,
    substituted,
    variables_of,
)
from ldp_audit.numerics import listed, whole

if TYPE_CHECKING:
    from ldp_audit.mechanisms.bound_channel import BoundChannel


class Ind(Function):
    """Indicator of equality: Ind(a, b) is 1 where a = b, else 0."""

    @classmethod
    def eval(cls, a: Expr, b: Expr) -> Expr | None:
        """Evaluate where both sides are numbers or the same expression."""
        difference = a - b
        if difference.is_number:
            return S.One if difference.equals(0) else S.Zero
        return S.One if difference.is_zero else None

    def _latex(self, printer: Any) -> str:
        return rf"\mathbf 1[{printer.doprint(self.args[0])}={printer.doprint(self.args[1])}]"


@dataclass(frozen=True)
class SymbolicChannel:
    """P(output_i | inputs) = probability_i: the definition from which everything else is derived.

    name: for reports and messages.
    inputs: the variables that hold the private value; none for a distribution without input.
    public: all other variables except epsilon and its exponentials; required by claims of privacy (`is_private`) only.
    atoms: pairs (output, probability), or a mapping from outputs to probabilities. Outputs are numbers, or tuples of
        one length. A whole-number variable that is neither an input nor public stands for each of its values, as k in
        {k: (1 - a)/(1 + a) * a**Abs(k - x)}; then no output may depend on an input, and the ends of its domain must be
        infinite, fractions, or expressions that are whole for whole-number variables.
    pieces: triples (lower, upper, density), adjacent and ascending; a density may use `density.OUTPUT`. With atoms too,
        the distribution is mixed, and the atoms have density 0.

    `ldp_audit.claims.privacy.require_channel` proves that probabilities are >= 0 and add up to 1.
    Raises ValueError without atoms and pieces, for inputs that are not Variables, for symbols without a domain, and for
    combinations of vectors or families of outputs that are not supported.
    """

    name: str
    inputs: tuple[Variable, ...]
    atoms: tuple[Atom, ...]
    pieces: tuple[Piece, ...] = ()
    public: tuple[Variable, ...] = ()

    def __init__(
        self,
        name: str,
        inputs: Variable | Sequence[Variable],
        atoms: Mapping[Any, Any] | Sequence[tuple[Any, Any]] | Sequence[Atom] = (),
        pieces: Sequence[tuple[Any, Any, Any]] | Sequence[Piece] = (),
        *,
        public: Variable | Sequence[Variable] = (),
    ) -> None:
        given, known = (
            (one,) if isinstance(one, Variable) else tuple(listed(one, what, "Variables"))
            for what, one in (("inputs", inputs), ("public", public))
        )
        for what, variables in (("inputs", given), ("public", known)):
            if not all(isinstance(variable, Variable) for variable in variables):
                raise ValueError(f"{what} of channel {name!r} must be Variables, got {variables!r}")
        if set(given) & set(known):
            raise ValueError(f"inputs of channel {name!r} must not be public too, got {known!r}")
        pairs = atoms.items() if isinstance(atoms, Mapping) else listed(atoms, "atoms", "pairs (output, probability)")
        triples = listed(pieces, "pieces", "triples (lower, upper, density)")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "inputs", given)
        object.__setattr__(self, "public", known)
        object.__setattr__(self, "atoms", tuple(Atom.of(name, pair, {*given, *known}) for pair in pairs))
        object.__setattr__(self, "pieces", tuple(Piece.of(name, triple) for triple in triples))
        if not self.atoms and not self.pieces:
            raise ValueError(f"channel {name!r} needs at least one atom or piece, got {atoms!r}")
        self._require_outputs_that_go_together()
        for family in self.families():
            _whole_ends(name, family)
        for v in [*self.variables(), *self.families()] if given else ():
            domain = [part for part in (v.lower, v.upper, v.argument) if part is not None]
            if v not in given and any(part.has(*given) for part in domain):
                raise ValueError(f"channel {name!r}: the domain of {v} depends on an input, so it must be an input")

    def total(self) -> Expr:
        """The sum of the probabilities plus the integral of the density; 1 for a channel."""
        return self.moment(0)

    def moment(self, order: int) -> Expr:
        """E[output**order | inputs]."""
        order = whole(order, "order", 0)
        if self.is_vector() and order:
            raise ValueError(f"the outputs of channel {self.name!r} are vectors, which have no moments of one number")
        terms = [
            (atom.probability if not order else Mul(Pow(atom.output, order), atom.probability)) for atom in self.atoms
        ]
        sums: list[Any] = [
            term if atom.index is None else Sum(term, (atom.index, *_whole_ends(self.name, atom.index)))
            for atom, term in zip(self.atoms, terms, strict=True)
        ]
        return Add(*sums, *(piece.moment(order) for piece in self.pieces))

    def is_vector(self) -> bool:
        """Whether the outputs are tuples."""
        return any(isinstance(atom.output, Tuple) for atom in self.atoms)

    def families(self) -> tuple[Variable, ...]:
        """The variables that stand for each of their values as an output (`Atom.index`)."""
        return tuple(atom.index for atom in self.atoms if atom.index is not None)

    def _require_outputs_that_go_together(self) -> None:
        lengths = {len(atom.coordinates()) if isinstance(atom.output, Tuple) else None for atom in self.atoms}
        if len(lengths) > 1 or (self.pieces and lengths - {None}):
            raise ValueError(f"outputs of channel {self.name!r} must be numbers, or tuples of one length")
        if (self.families() or lengths - {None}) and self.outputs_depend_on_inputs():
            raise ValueError(
                f"outputs of channel {self.name!r} must not depend on its inputs, as they are vectors or a variable"
            )

    def mean(self) -> Expr:
        """E[output | inputs]."""
        return self.moment(1)

    def variance(self) -> Expr:
        """Var[output | inputs] = E[output**2] - E[output]**2."""
        return self.moment(2) - self.mean() ** 2

    def at(self, values: Mapping[Variable, Any]) -> SymbolicChannel:
        """The channel with variables replaced, by name, with expressions; ValueError for an unknown name."""
        swap = replacements(f"channel {self.name!r}", self.variables(), values)
        # Inputs: those not replaced, and new variables in the replacements of the others.
        replaced = {variable.name for variable in values}
        kept: list[Any] = [swap.get(v, v) for v in self.inputs if v.name not in replaced]
        placed = [swap[v] for v in self.inputs if v.name in replaced]
        parameters = set(self.variables()) - set(self.inputs)
        new = [s for value in placed for s in sorted(value.free_symbols, key=str) if s not in parameters]
        inputs = list(dict.fromkeys([*kept, *new]))
        public: list[Any] = [swap.get(v, v) for v in self.public]
        known = [s for value in public for s in sorted(value.free_symbols, key=str) if s not in inputs]
        return self._substituted(inputs, swap, list(dict.fromkeys(known)))

    def twin(self, suffix: str = "_prime") -> SymbolicChannel:
        """The same channel at a second, independent input, named with the suffix (repeated if the name is taken)."""
        taken = {variable.name for variable in self.variables()}
        while any(variable.name + suffix in taken for variable in self.inputs):
            suffix += suffix
        swap: dict[Variable, Variable] = {}
        for variable in in_order(self.inputs, lambda one: one.argument is not None):
            second = variable.renamed(variable.name + suffix, latex=variable.latex + "'")
            swap[variable] = substitute_domain(second, swap)  # an input's domain may mention another input
        return self._substituted([swap[variable] for variable in self.inputs], swap, self.public)

    def latex(self) -> str:
        """The distribution, typeset; sums get letters."""
        inputs, sums = ", ".join(v.latex for v in self.inputs), dict[Any, str]()
        parts = []
        if self.atoms:
            rows = [
                (
                    a.probability,
                    f"y={latex(a.output)}" if a.index is None else interval(a.index.lower, a.index.upper, a.index),
                )
                for a in self.atoms
            ]
            parts.append(cases(rf"\Pr[y\mid {inputs}]", rows, sums))
        if self.pieces:
            rows = [(p.density, interval(p.lower, p.upper)) for p in self.pieces]
            parts.append(cases(rf"f(y\mid {inputs})", rows, sums))
        return r"\qquad ".join(parts)

    def _repr_latex_(self) -> str:
        """What a notebook shows."""
        return f"$$ {self.latex()} $$"

    def variables(self) -> list[Variable]:
        """The inputs and the parameters, each after those that its domain mentions."""
        in_atoms = [part for atom in self.atoms for part in (*atom.coordinates(), atom.probability)]
        in_pieces = [part for piece in self.pieces for part in (piece.lower, piece.upper, piece.density)]
        finite = [part for part in in_atoms + in_pieces if not part.is_infinite]
        return [v for v in variables_of([*self.inputs, *finite]) if v != OUTPUT and v not in self.families()]

    def bind(self, **values: float) -> BoundChannel:
        """The channel at these parameter values, as a mechanism: exact epsilon, profile, moments, sampler.

        values: one for each parameter; epsilon=... determines t = e**epsilon too. Raises ValueError as `BoundChannel`
            does, and for outputs that are a family.
        """
        if self.families():
            raise ValueError(
                f"numbers can be put in where outputs are listed one by one; channel {self.name!r} has one for each "
                f"whole number {self.families()[0]}"
            )
        from ldp_audit.mechanisms.bound_channel import BoundChannel

        return BoundChannel(self, values)

    def outputs_depend_on_inputs(self) -> bool:
        """Whether an output is an expression in the input, so that supports may differ."""
        return bool(self.inputs) and any(atom.output.has(*self.inputs) for atom in self.atoms)

    def probability_of(self, output: Expr) -> Expr:
        """P(output | inputs) for any output: the sum over the atoms equal to it."""
        return Add(*(atom.probability * Ind(atom.output, output) for atom in self.atoms))

    def unnamed(self) -> list[Variable]:
        """The variables declared neither as inputs nor as public."""
        named = {*self.inputs, *self.public, EPSILON}
        return [v for v in self.variables() if v not in named and not (v.exp_of and v.exp_of.free_symbols == {EPSILON})]

    def _substituted(
        self, inputs: Sequence[Variable], swap: Mapping[Any, Any], public: Sequence[Variable]
    ) -> SymbolicChannel:
        swap = {**swap, **{family: substitute_domain(family, swap) for family in self.families()}}
        atoms = [(substituted(a.output, swap), substituted(a.probability, swap)) for a in self.atoms]
        pieces = [tuple(substituted(part, swap) for part in (p.lower, p.upper, p.density)) for p in self.pieces]
        return SymbolicChannel(self.name, inputs, atoms, pieces, public=public)


def _whole_ends(channel: str, family: Variable) -> tuple[Expr, Expr]:
    """The first and the last whole value of the variable; ValueError where an end may lie between whole numbers."""
    ends = []
    for end, is_open, inwards in ((family.lower, family.lower_open, 1), (family.upper, family.upper_open, -1)):
        if end.is_infinite:
            ends.append(end)
            continue
        numbers = {v: Dummy(integer=True) for v in end.free_symbols if isinstance(v, Variable) and v.integer_valued}
        if end.is_Rational:
            whole_end = ceiling(end) if inwards > 0 else floor(end)
        elif end.xreplace(numbers).is_integer:
            whole_end = end
        else:
            raise ValueError(
                f"channel {channel!r}: the ends of {family}, which stands for its whole values, must be "
                f"fractions, or whole for whole-number variables, got {end}"
            )
        ends.append(whole_end + inwards if is_open and whole_end == end else whole_end)
    return ends[0], ends[1]
