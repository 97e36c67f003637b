"""Distributions over very many outputs, as classes of equally likely outputs: their number and their probability.

The outputs of selections over d coordinates, corners of a cube and samples of records cannot be listed, but form few
classes. For privacy, an output of one class at one input may be in any other class of its group at another input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Expr, Sum, expand_func, latex

from ldp_audit.mechanisms.typeset import cases
from ldp_audit.mechanisms.variable import Variable, exact, replacements, substituted, variables_of
from ldp_audit.numerics import listed


@dataclass(frozen=True)
class OutputClass:
    """A class of equally likely outputs.

    label: in words.   count: their number.   probability: of each.
    index: (variable, first, last) for a family of classes, one for each value of the variable; else None.
    group: changing the input moves outputs between the classes of one group only.
    """

    label: str
    count: Expr
    probability: Expr
    index: tuple[Variable, Expr, Expr] | None = None
    group: str = ""


@dataclass(frozen=True)
class SymbolicWeights:
    """The definition of a mechanism by classes of outputs.

    name: for reports and messages.   classes: OutputClass, or triples (label, count, probability).
    Raises ValueError without classes, and for symbols without a domain.
    """

    name: str
    classes: tuple[OutputClass, ...]

    def __init__(self, name: str, classes: Sequence[OutputClass | tuple[str, Any, Any]]) -> None:
        of = "triples (label, count, probability)"
        given = []
        for one in listed(classes, "classes", of):
            parts = one if isinstance(one, OutputClass) else listed(one, "classes", of)
            if isinstance(parts, list) and len(parts) not in (3, 4, 5):
                raise ValueError(f"classes must be {of}, got {one!r}")
            given.append(OutputClass(*parts) if isinstance(parts, list) else parts)
        known = tuple(replace(one, count=exact(one.count), probability=exact(one.probability)) for one in given)
        if not known:
            raise ValueError(f"{name!r} needs at least one class of outputs, got {classes!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "classes", known)
        self.variables()

    def latex(self) -> str:
        """The distribution, typeset; sums get letters, explained at the end."""
        sums: dict[Any, str] = {}
        parts = [cases(r"\Pr[\text{report}]", [(one.probability, _latex_of(one)) for one in self.classes], sums)]
        parts += [f"{letter}={latex(one)}" for one, letter in sums.items()]
        return r"\qquad ".join(parts)

    def _repr_latex_(self) -> str:
        """What a notebook shows."""
        return f"$$ {self.latex()} $$"

    def total(self) -> Expr:
        """The sum of all probabilities; 1 for a distribution."""
        return Add(*(_summed(one, one.count * one.probability) for one in self.classes))

    def variables(self) -> list[Variable]:
        """The parameters."""
        bound = {one.index[0] for one in self.classes if one.index is not None}
        parts = [part for one in self.classes for part in (one.count, one.probability)]
        return [variable for variable in variables_of(parts) if variable not in bound]

    def at(self, values: Mapping[Variable, Any]) -> SymbolicWeights:
        """The distribution with parameters replaced by numbers or expressions; families of known range are listed.

        Raises ValueError for an unknown parameter, and for an expression in the index of a family.
        """
        swap = replacements(repr(self.name), self.variables(), values)
        indices = {one.index[0] for one in self.classes if one.index is not None}
        captured = sorted(str(s) for value in swap.values() for s in value.free_symbols & indices)
        if captured:
            raise ValueError(f"{self.name!r} has {', '.join(captured)} as the index of a family; use another variable")
        return SymbolicWeights(self.name, [new for one in self.classes for new in _replaced(one, swap)])


def _summed(one: OutputClass, term: Expr) -> Expr:
    return term if one.index is None else Sum(term, one.index).doit()


def _replaced(one: OutputClass, swap: Mapping[Any, Any]) -> list[OutputClass]:
    count, probability = (_worked_out(substituted(part, swap)) for part in (one.count, one.probability))
    if one.index is None:
        return [] if count == 0 else [replace(one, count=count, probability=probability)]
    variable, first, last = one.index[0], *(substituted(end, swap) for end in one.index[1:])
    if not (first.is_Integer and last.is_Integer):
        return [replace(one, count=count, probability=probability, index=(variable, first, last))]
    return [
        OutputClass(
            f"{one.label} {value}",
            substituted(count, {variable: value}),
            substituted(probability, {variable: value}),
            group=one.group,
        )
        for value in range(int(first), int(last) + 1)
    ]


def _worked_out(expression: Expr) -> Expr:
    return expand_func(expression.doit())


def _latex_of(one: OutputClass) -> str:
    many = "" if one.count == 1 else rf"\ ({latex(one.count)}\text{{ of them}})"
    which = "" if one.index is None else rf"\ {latex(one.index[0])}"
    return rf"\text{{{one.label}}}{which}{many}"
