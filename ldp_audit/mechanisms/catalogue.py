"""The shipped laws as a list: what is derived from each definition, for pages and for tests that iterate over all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sympy import Expr, cancel, factor, simplify

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.target import load
from ldp_audit.mechanisms.weights import SymbolicWeights


@dataclass(frozen=True)
class Entry:
    """One mechanism.

    name: the class.   example: a TARGET.
    worst: which two probabilities (atoms, pieces or classes, by number, and at which inputs) have the largest ratio;
        None where the supports differ or no ratio bounds the density.
    letters: what the definition's letters stand for, in words.
    """

    name: str
    example: str
    letters: str
    worst: tuple[tuple[int, dict[str, Any]], tuple[int, dict[str, Any]]] | None = None

    def mechanism(self) -> Any:
        """The example."""
        return load(self.example)

    def law(self) -> SymbolicChannel | SymbolicWeights:
        """The definition."""
        return self.mechanism().symbolic()

    def module(self) -> Any:
        """Where it is defined."""
        return import_module(type(self.mechanism()).__module__)

    def summary(self) -> str:
        """The first sentence of its module."""
        return _paragraphs(self.module())[0]

    def sources(self) -> str:
        """The sources that its module names."""
        named = [text for text in _paragraphs(self.module()) if text.startswith("Source")]
        return named[0].partition(": ")[2] if named else ""

    def ratio(self) -> Expr | None:
        """e**(exact epsilon), from the definition; None for infinity."""
        if self.worst is None:
            return None
        first, second = (self._likelihood(place, at) for place, at in self.worst)
        return factor(cancel(simplify(first / second)))

    def bias(self) -> Expr | None:
        """E[report] less the input, for a report that is a number."""
        law = self.law()
        if isinstance(law, SymbolicWeights) or len(law.inputs) != 1 or law.inputs[0].integer_valued:
            return None
        return simplify(law.mean() - law.inputs[0])

    def variance(self) -> Expr | None:
        """Of a report that is a number."""
        law = self.law()
        if isinstance(law, SymbolicWeights) or self.bias() is None:
            return None
        return simplify(law.variance())

    def _likelihood(self, place: int, at: dict[str, Any]) -> Expr:
        law = self.law()
        if isinstance(law, SymbolicWeights):
            one = law.classes[place]
            swap = {} if one.index is None else {one.index[0]: one.index[1 if at["index"] == "first" else 2]}
            return one.probability.subs(swap)
        swap = {v: _number(law, at[v.name]) for v in law.variables() if v.name in at}
        likelihoods = [atom.probability for atom in law.atoms] + [piece.density for piece in law.pieces]
        return likelihoods[place].subs(swap)


def _number(law: SymbolicChannel, value: Any) -> Any:
    """A number, or "lower" and "upper" for the input's ends."""
    if value in ("lower", "upper"):
        return getattr(law.inputs[0], value)
    return value


def _paragraphs(module: Any) -> list[str]:
    return [" ".join(text.split()) for text in (module.__doc__ or "").split("\n\n")]


ENTRIES: Sequence[Entry] = (
    Entry(
        "TwoPoint",
        "TwoPoint(epsilon=1)",
        "w: the input; c, r: center and radius of its range; t = e^epsilon",
        ((0, {"w": "upper"}), (0, {"w": "lower"})),
    ),
    Entry(
        "RandomizedResponse",
        "RandomizedResponse(epsilon=1, k=3)",
        "x: the value; t = e^epsilon",
        ((0, {"x": 0}), (0, {"x": 1})),
    ),
    Entry("Piecewise", "Piecewise(epsilon=1)", "x: the input; s = e^(epsilon/2)", ((1, {}), (0, {}))),
    Entry(
        "Hybrid",
        "Hybrid(epsilon=1)",
        "x: the input; alpha: the probability of PM; s = e^(epsilon/2)",
        ((3, {}), (2, {})),
    ),
    Entry("Laplace", "Laplace(scale=1)", "x: the input; b: the scale; neighbours lie within D"),
    Entry("Gaussian", "Gaussian(sigma=1)", "x: the input; sigma: the standard deviation"),
    Entry(
        "ExponentialSelection",
        "ExponentialSelection(epsilon=1, d=4)",
        "d: coordinates; i: a coordinate's rank by magnitude, 1 for the smallest; y = e^(epsilon/(d-1))",
        ((0, {"index": "last"}), (0, {"index": "first"})),
    ),
    Entry(
        "PerturbedEncoding",
        "PerturbedEncoding(epsilon=1, d=4, k=1)",
        "d: coordinates; k: size of the top set; t = e^epsilon, of one bit",
        ((0, {}), (1, {})),
    ),
    Entry(
        "PerturbedSampling",
        "PerturbedSampling(epsilon=1, d=4, k=1)",
        "d: coordinates; k: size of the top set; t = e^epsilon",
        ((0, {}), (1, {})),
    ),
    Entry(
        "SubsampleRelease",
        "SubsampleRelease(n=10, k=3)",
        "z: whether one record is in the data; n records with it, k draws",
    ),
    Entry(
        "DuchiVector",
        "DuchiVector(epsilon=1, d=4)",
        "v: the input, rounded to a corner; N corners of all M = 2^d lie on its side; t = e^epsilon",
        ((0, {}), (1, {})),
    ),
)
