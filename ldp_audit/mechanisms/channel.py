"""A randomised map with finitely many outputs, written down once, symbolically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Add, Expr, Function, Mul, Pow, S, sympify

from ldp_audit.mechanisms.variable import Variable, exact, substitute_domain, variables_of


class Ind(Function):
    """Indicator of equality: Ind(a, b) is 1 where a = b, else 0."""

    @classmethod
    def eval(cls, a: Expr, b: Expr) -> Expr | None:
        """Decide where both sides are numbers or the same expression."""
        difference = a - b
        if difference.is_number:
            return S.One if difference.equals(0) else S.Zero
        return S.One if difference.is_zero else None


@dataclass(frozen=True)
class Atom:
    """One output and its probability, both expressions in the inputs and the parameters."""

    output: Expr
    probability: Expr


@dataclass(frozen=True)
class SymbolicChannel:
    """P(output_i | inputs) = probability_i: the definition from which everything else is derived.

    name: for reports and messages.
    inputs: the variables that hold the private value; what else occurs is a public parameter.
    atoms: pairs (output, probability), or a mapping from outputs to probabilities.

    Whether the probabilities are probabilities is a claim that the engines settle (`ldp_audit.claims.well_formed`).
    Raises ValueError for an empty set of inputs or atoms and for symbols without a domain.
    """

    name: str
    inputs: tuple[Variable, ...]
    atoms: tuple[Atom, ...]

    def __init__(
        self,
        name: str,
        inputs: Variable | Sequence[Variable],
        atoms: Mapping[Any, Any] | Sequence[tuple[Any, Any]] | Sequence[Atom],
    ) -> None:
        given = (inputs,) if isinstance(inputs, Variable) else tuple(inputs)
        for variable in given:
            if not isinstance(variable, Variable):
                raise ValueError(f"inputs of channel {name!r} must be Variables, got {variable!r}")
        pairs = atoms.items() if isinstance(atoms, Mapping) else atoms
        listed = tuple(_atom(name, pair) for pair in pairs)
        if not given or not listed:
            raise ValueError(f"channel {name!r} needs at least one input and one atom, got {given!r} and {listed!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "inputs", given)
        object.__setattr__(self, "atoms", listed)
        variables_of([part for atom in listed for part in (atom.output, atom.probability)])

    def total(self) -> Expr:
        """The sum of the probabilities; 1 for a channel."""
        return Add(*(atom.probability for atom in self.atoms))

    def moment(self, order: int) -> Expr:
        """E[output**order | inputs]."""
        return Add(*(Mul(Pow(atom.output, order), atom.probability) for atom in self.atoms))

    def mean(self) -> Expr:
        """E[output | inputs]."""
        return self.moment(1)

    def variance(self) -> Expr:
        """Var[output | inputs], as the definition has it: E[output**2] - E[output]**2."""
        return self.moment(2) - self.mean() ** 2

    def at(self, values: Mapping[Variable, Any]) -> SymbolicChannel:
        """The channel with inputs or parameters replaced by numbers or other expressions."""
        swap = {variable: sympify(value) for variable, value in values.items()}
        kept = [substitute_domain(v, swap) for v in self.inputs if v not in swap] or list(self.inputs)
        domains = {old: new for old in self.inputs for new in kept if new.name == old.name and new != old}
        swap = {**domains, **swap}
        atoms = [(a.output.subs(swap, simultaneous=True), a.probability.subs(swap, simultaneous=True)) for a in self.atoms]
        return SymbolicChannel(self.name, kept, atoms)

    def twin(self, suffix: str = "_prime") -> SymbolicChannel:
        """The same channel at a second, independent input, named with the suffix."""
        swap: dict[Variable, Variable] = {}
        for variable in self.inputs:
            second = variable.renamed(variable.name + suffix, latex=variable.latex + "'")
            swap[variable] = substitute_domain(second, swap)  # an input's domain may mention an earlier input
        atoms = [(a.output.subs(swap, simultaneous=True), a.probability.subs(swap, simultaneous=True)) for a in self.atoms]
        return SymbolicChannel(self.name, list(swap.values()), atoms)

    def outputs_depend_on_inputs(self) -> bool:
        """Whether some output can be reached from one input and not from another."""
        return any(atom.output.has(*self.inputs) for atom in self.atoms)

    def probability_of(self, output: Expr) -> Expr:
        """P(output | inputs) for any output: the atoms whose output it is, added up."""
        return Add(*(Mul(Ind(atom.output, output), atom.probability) for atom in self.atoms))


def _atom(channel: str, pair: Any) -> Atom:
    if isinstance(pair, Atom):
        return pair
    try:
        output, probability = pair
    except (TypeError, ValueError):
        raise ValueError(f"an atom of channel {channel!r} must be (output, probability), got {pair!r}") from None
    return Atom(exact(output), exact(probability))
