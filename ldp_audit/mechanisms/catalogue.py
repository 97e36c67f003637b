"""The shipped laws as a list: what is derived from each definition, for pages and for tests that iterate over all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sympy import Expr, Sum, cancel, exp, expand_log, factor, log, simplify

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.coordinate_sampling import CoordinateSampling
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.exponential_selection import STEP_RATIO
from ldp_audit.mechanisms.laplace import SENSITIVITY
from ldp_audit.mechanisms.perturbed_sampling import PerturbedSampling
from ldp_audit.mechanisms.random_projection import RandomProjection
from ldp_audit.mechanisms.ranking import DIMENSION
from ldp_audit.mechanisms.target import load
from ldp_audit.mechanisms.two_point import TwoPoint
from ldp_audit.mechanisms.two_stage import TwoStage
from ldp_audit.mechanisms.variable import EPSILON, ROOT_T, T, substituted
from ldp_audit.mechanisms.weights import SymbolicWeights


@dataclass(frozen=True)
class Entry:
    """One mechanism.

    name: the class.   example: a TARGET.
    worst: which two probabilities (atoms, pieces or classes, by number, and at which inputs) have the largest ratio;
        None where the supports differ or no ratio bounds the density.
    letters: what the definition's letters stand for, in words.
    build: makes the example, if it is no TARGET.
    composed: how epsilon is put together, for a law of one coordinate among several.
    """

    name: str
    example: str
    letters: str
    worst: tuple[tuple[int, dict[str, Any]], tuple[int, dict[str, Any]]] | None = None
    build: Callable[[], Any] | None = None
    composed: str = ""

    def mechanism(self) -> Any:
        """The example."""
        return self.build() if self.build else load(self.example)

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
        """e**(exact epsilon), from the definition; None for infinity. Sums are left as they are."""
        if self.worst is None:
            return None
        first, second = (self._likelihood(place, at) for place, at in self.worst)
        if first.has(Sum):
            return first / second
        return factor(cancel(simplify(first / second)))  # pyright: ignore[reportReturnType]

    def epsilon(self) -> Expr | None:
        """The exact epsilon, with t = e**epsilon and its like put in where that simplifies; None for infinity."""
        ratio = self.ratio()
        if ratio is None:
            return None
        swap = {letter: exp(power) for letter, power in _EXPONENTS.items()}
        plain = expand_log(log(substituted(ratio, swap)), force=True)
        return log(ratio) if ratio.has(Sum) else simplify(plain)  # pyright: ignore[reportReturnType]

    def bias(self) -> Expr | None:
        """E[report] less the input, for a report that is a number."""
        law = self.law()
        if isinstance(law, SymbolicWeights) or len(law.inputs) != 1 or law.inputs[0].integer_valued:
            return None
        return simplify(law.mean() - law.inputs[0])  # pyright: ignore[reportReturnType]

    def variance(self) -> Expr | None:
        """Of a report that is a number."""
        law = self.law()
        if isinstance(law, SymbolicWeights) or self.bias() is None:
            return None
        return factor(simplify(law.variance()))  # pyright: ignore[reportReturnType]

    def _likelihood(self, place: int, at: dict[str, Any]) -> Expr:
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


def _number(law: SymbolicChannel, value: Any) -> Any:
    """A number, or "lower" and "upper" for the input's ends."""
    if value in ("lower", "upper"):
        return getattr(law.inputs[0], value)
    return value


def _paragraphs(module: Any) -> list[str]:
    return [" ".join(text.split()) for text in (module.__doc__ or "").split("\n\n")]


_EXPONENTS: dict[Any, Any] = {
    T: EPSILON,
    ROOT_T: EPSILON / 2,
    STEP_RATIO: EPSILON / (DIMENSION.variable - 1),
}

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
    Entry(
        "Laplace",
        "Laplace(scale=1)",
        "x: the input; b: the scale; neighbours lie within D",
        ((0, {"x": 0, "y": 0}), (0, {"x": SENSITIVITY.variable, "y": 0})),
    ),
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
    Entry(
        "CoordinateSampling",
        "CoordinateSampling(TwoPoint, epsilon=1, d=3, k=2)",
        "the law of one coordinate; w: its value; c = 0, r = 1; k of the d coordinates are sampled; t = e^(epsilon/k)",
        build=lambda: CoordinateSampling(TwoPoint, 1.0, 3, 2),
        composed="the value mechanism's, epsilon/k, k times over",
    ),
    Entry(
        "TwoStage",
        "TwoStage(PerturbedSampling(1, 3, 1), TwoPoint(0.5))",
        "the law of one coordinate; w: its value; P: the selection's probability of it; t = e^(the value's epsilon)",
        build=lambda: TwoStage(PerturbedSampling(1.0, 3, 1), TwoPoint(0.5)),
        composed="the selection's plus the value mechanism's",
    ),
    Entry(
        "RandomProjection",
        "RandomProjection.drawn(TwoPoint(1), d=4, q=2, rng)",
        "the law of one of q combinations; w: its value, clipped; t = e^epsilon",
        build=lambda: RandomProjection.drawn(TwoPoint(1.0), 4, 2, np.random.default_rng(1)),
        composed="the value mechanism's",
    ),
)
