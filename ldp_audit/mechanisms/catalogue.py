"""Formulas derived from each definition of the registry, for the mechanisms page and the tests over all families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeGuard

from sympy import Expr, Sum, cancel, exp, expand_log, factor, log, simplify

from ldp_audit import mechanisms
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.mechanism import FamilyExample
from ldp_audit.mechanisms.target import load
from ldp_audit.mechanisms.variable import substituted, variables_of
from ldp_audit.mechanisms.weights import SymbolicWeights


@dataclass(frozen=True)
class Entry:
    """One family of mechanisms.   name: the class.   example: its example."""

    name: str
    example: FamilyExample

    def mechanism(self) -> Any:
        """The example, constructed."""
        return self.example.build() if self.example.build else load(self.example.target)

    def law(self) -> SymbolicChannel | SymbolicWeights:
        """The symbolic definition."""
        return self.mechanism().symbolic()

    def module(self) -> Any:
        """The module that defines the family."""
        return import_module(type(self.mechanism()).__module__)

    def summary(self) -> str:
        """The first paragraph of the module's docstring."""
        return _paragraphs(self.module())[0]

    def sources(self) -> str:
        """The sources that the module's docstring cites."""
        named = [text for text in _paragraphs(self.module()) if text.startswith("Source")]
        return named[0].partition(": ")[2] if named else ""

    def ratio(self) -> Expr | None:
        """e**(exact epsilon), from the definition; None for infinity. Sums stay unevaluated."""
        if self.example.worst is None:
            return None
        first, second = (self._likelihood(place, at) for place, at in self.example.worst)
        if first.has(Sum):
            return first / second
        return factor(cancel(simplify(first / second)))

    def epsilon(self) -> Expr | None:
        """The exact epsilon, simplified by substituting t = e**epsilon and its like; None for infinity."""
        ratio = self.ratio()
        if ratio is None:
            return None
        swap: dict[Any, Any] = {letter: exp(power) for letter, power in self.exponents(ratio).items()}
        plain = expand_log(log(substituted(ratio, swap)), force=True)
        return log(ratio) if ratio.has(Sum) else simplify(plain)

    def exponents(self, ratio: Expr) -> dict[Any, Any]:
        """The symbols of the ratio that are powers of e, with their exponents."""
        letters: dict[Any, Any] = {v: v.exp_of for v in variables_of([ratio]) if v.exp_of is not None}
        return letters | dict(self.example.exponents)

    def bias(self) -> Expr | None:
        """E[report] - input, for numerical reports; else None."""
        law = self.law()
        if not _reports_numbers(law):
            return None
        return simplify(law.mean() - law.inputs[0])

    def variance(self) -> Expr | None:
        """Var[report], for numerical reports; else None."""
        law = self.law()
        if not _reports_numbers(law):
            return None
        return factor(simplify(law.variance()))

    def _likelihood(self, place: int, at: Mapping[str, Any]) -> Expr:
        law = self.law()
        if isinstance(law, SymbolicWeights):
            one = law.classes[place]
            swap: dict[Any, Any] = (
                {} if one.index is None else {one.index[0]: one.index[1 if at["index"] == "first" else 2]}
            )
            return substituted(one.probability, swap)
        swap = {v: _number(law, at[v.name]) for v in (*law.variables(), OUTPUT) if v.name in at}
        likelihoods = [atom.probability for atom in law.atoms] + [piece.density for piece in law.pieces]
        return substituted(likelihoods[place], swap)


def _reports_numbers(law: SymbolicChannel | SymbolicWeights) -> TypeGuard[SymbolicChannel]:
    return isinstance(law, SymbolicChannel) and len(law.inputs) == 1 and not law.inputs[0].integer_valued


def _number(law: SymbolicChannel, value: Any) -> Any:
    bounds = {"lower": law.inputs[0].lower, "upper": law.inputs[0].upper} if law.inputs else {}
    return bounds.get(value, value)


def _paragraphs(module: Any) -> list[str]:
    return [" ".join(text.split()) for text in (module.__doc__ or "").split("\n\n")]


def _entries() -> Sequence[Entry]:
    classes = [getattr(mechanisms, name) for name in (*mechanisms.FAMILIES, *mechanisms.COMPOSED)]
    return tuple(Entry(one.__name__, one.example) for one in classes if one.example)


ENTRIES = _entries()
"""All families, in the order of the registry and of the page."""
