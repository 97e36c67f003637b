"""FedSel's report: select a coordinate by its magnitude, then perturb that coordinate's value.

Definition: at the vector v with selection input z (the ranking, or the top-k set, of the |v_j|) the report is (j, y)
with probability P(j | z) Q(y | v_j), or none with probability P(none | z).

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 1 and Theorem 3.1: epsilon is the sum of both parts'. This
holds for the exact epsilon of the selection (PE's is larger than the lemma states).

The profile is not that of a composition, because selection and value may both change within one report. Index j
contributes P_j F(e - ln(P_j / P'_j)), where F is the value mechanism's profile, extended to negative epsilon: the
supremum over its two values v_j, v'_j, which are independent between indices. p F(e - ln(p / p')) is convex and
homogeneous in (p, p'), hence submodular, so the sum is largest where large P_j meet small P'_j (Lorentz, "An inequality
for rearrangements", Amer. Math. Monthly 60, 1953): at the selection's worst pair, a ranking and its reverse, or two
sets with the smallest intersection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Integer

from ldp_audit.losses.discrete_loss import ZERO_LOSS
from ldp_audit.losses.enclosed_loss import mixture
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.inputs import array_of, as_array, finite_numbers, numbers_of, report_dtype
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import FamilyExample, Mechanism, pair_loss_of, upper_profile
from ldp_audit.mechanisms.randomness import NumpySource, source_of
from ldp_audit.mechanisms.selection.perturbed_sampling import PerturbedSampling
from ldp_audit.mechanisms.selection.ranking import indices, ranking, top_set
from ldp_audit.mechanisms.values.sparse_report import SparseReport, scattered, thinned, two_parts
from ldp_audit.mechanisms.values.two_point import TwoPoint
from ldp_audit.mechanisms.values.value_mechanism import (
    domain_of,
    implemented,
    in_domain,
    require_methods,
    require_value,
    worst_ends,
)
from ldp_audit.mechanisms.variable import Variable

SELECTED = Variable("P", 0, 1)
"""The probability that one coordinate is selected."""


@dataclass(frozen=True)
class TwoStage(Mechanism):
    """Inputs are vectors of d numbers; the report is a coordinate's index and its perturbed value.

    selection: a mechanism on rankings (permutations of 1 .. d, as `ExponentialSelection`) or on status vectors with k
        ones (`PerturbedSampling`, `PerturbedEncoding`); its worst pair determines which, d and k.
    value: see `value_mechanism.ValueMechanism`.
    clip: whether coordinates are clipped to the value mechanism's domain, after the selection; otherwise one outside it
        is a ValueError.
    Raises ValueError for parts without a required method.
    """

    selection: Any
    value: Any
    clip: bool = False

    example = FamilyExample(
        "TwoStage(PerturbedSampling(1, 3, 1), TwoPoint(0.5))",
        "the law of one coordinate; w: its value; P: the selection's probability of it; t = e^(the value's epsilon)",
        build=lambda: TwoStage(PerturbedSampling(1.0, 3, 1), TwoPoint(0.5)),
        composed="the selection's plus the value mechanism's",
    )

    def __post_init__(self) -> None:
        require_methods("selection", self.selection, "exact_epsilon", "worst_pair", "log_prob", "sample")
        require_value("value", self.value)
        if not isinstance(self.clip, bool):
            raise ValueError(f"clip must be True or False, got {self.clip!r}")
        self._selection_pair()

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return len(self._selection_pair()[0])

    def symbolic(self) -> SymbolicChannel:
        """The distribution of one coordinate of `dense`, given P, the probability of its selection (see there)."""
        return thinned(self.value.symbolic(), "one coordinate, selected and perturbed", SELECTED, Integer(1))

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: the selection's exact epsilon plus the value mechanism's.

        The supremum requires ties, or magnitudes beyond the domain (`clip`): one coordinate must be at an endpoint and
        yet ranked last. Otherwise the report has less: inputs {+-1/2, +-1}^2 without ties, PS with t = 3 and Duchi with
        t = 2 have ln(24/5), not ln 6. Tight if the selection's worst report is an index and the value mechanism's worst
        pair is equally bad in both orders, as for all shipped ones; else an upper bound.
        """
        return float(self.selection.exact_epsilon() + self.value.exact_epsilon())

    def pair_loss(self) -> PairLoss:
        """See base: a mixture over the index of its log ratio, at the selection's worst pair, plus the value's loss."""
        first, second = (np.asarray(z) for z in self.selection.worst_pair())
        one, two = (np.asarray(self.selection.log_prob(np.arange(self.d), z)) for z in (first, second))
        ratios = _snapped(one - two, (first.astype(float) - second) * 1.0, self.selection.exact_epsilon(), one, two)
        value, none = pair_loss_of(self.value), float(self.selection.log_prob(-1, first))
        pairs, counts = np.unique(np.stack([one, ratios], axis=-1), axis=0, return_counts=True)
        parts = [(float(p + math.log(n)), float(r), value) for (p, r), n in zip(pairs, counts, strict=True)]
        return mixture([*parts, (none, 0.0, ZERO_LOSS)] if none > -math.inf else parts)

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two vectors that attain exact_epsilon(); with `clip`, also delta(). Shape (d,).

        With `clip`, every coordinate lies beyond an endpoint of the domain, in the selection's worst orders. Without,
        coordinate 0 moves from one endpoint to the other, and ties rank it last.
        """
        endpoints, (low, high) = worst_ends(self.value), domain_of(self.value)
        widest = max(abs(low), abs(high))
        if self.clip:
            one, two = (widest * (1 + z.astype(np.float64)) for z in self._selection_pair())
            return (one, -two) if endpoints[0] > endpoints[1] else (-one, two)
        first, second = sorted(endpoints, key=abs, reverse=True)
        one, two = np.full(self.d, min(max(low, 0.0), high)), np.full(self.d, first)
        one[0], two[0] = first, second
        return one, two

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The supremum of the hockey-stick divergence over pairs of vectors; shape of `epsilon`, nats, >= 0.

        Attained at worst_pair() with `clip`. Without, it is the limit as all coordinates approach the endpoints, in any
        order, if the value mechanism is continuous in its input, and an upper bound if it jumps (a sampler with few
        bits). Requires that selection probabilities depend only on a coordinate's rank or status; P(none) is then
        constant, and adds nothing.
        """
        return np.where(levels(epsilon) >= self.exact_epsilon(), 0.0, upper_profile(self.pair_loss(), epsilon))[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability (density) of y = (index, value) or (None, 0), shapes (...), at x, shape (..., d)."""
        index, value = two_parts("y", y)
        index, value = indices(index, self.d), numbers_of("y", value)
        vectors = array_of("x", x)
        inputs = self._values(vectors)
        shape = np.broadcast_shapes(index.shape, value.shape, inputs.shape[:-1])
        index, value = np.broadcast_to(index, shape), np.broadcast_to(value, shape)
        at = np.take_along_axis(np.broadcast_to(inputs, (*shape, self.d)), np.maximum(index, 0)[..., None], axis=-1)
        of_value = np.where(index < 0, np.where(value == 0, 0.0, -np.inf), self.value.log_prob(value, at[..., 0]))
        return (self.selection.log_prob(index, self.selection_input(vectors)) + of_value)[()]

    def index_probs(self, x: ArrayLike) -> NDArray[np.float64]:
        """P(j | x) of every coordinate; shape (..., d). They add up to 1 - P(none | x)."""
        return np.exp(self.selection.log_prob(np.arange(self.d), self.selection_input(array_of("x", x))[..., None, :]))

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[dense(report) | x]: P(j | x) times the value mechanism's mean, x_j for an unbiased one. Shape (..., d)."""
        return self.index_probs(x) * self.value.mean(self._values(array_of("x", x)))

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var[dense(report)_j | x] = P E[y**2] - P**2 E[y]**2 = P (Var[y] + (1 - P) E[y]**2). Shape (..., d)."""
        chosen, inputs = self.index_probs(x), self._values(array_of("x", x))
        return chosen * (self.value.variance(inputs) + (1 - chosen) * self.value.mean(inputs) ** 2)

    def implemented(self, bits: int = 64) -> TwoStage:
        """The two-stage mechanism of both parts' finite-precision distributions for `bits`-bit words."""
        selection = implemented("selection", self.selection, bits)
        return TwoStage(selection, implemented("value", self.value, bits), self.clip)

    def sample(self, x: Any, *, rng: Any) -> SparseReport:
        """One report for each vector: indices (-1 for none) and values (then 0), shapes (...); see the base."""
        source = source_of(rng)
        xp, vectors = source.xp, source.array("x", x)
        inputs = self._values(vectors, xp)
        index = self.selection.sample(self.selection_input(vectors, xp), rng=rng)
        found = xp.clip(xp.astype(xp.asarray(index), xp.int64), 0, None)[..., None]
        chosen = xp.take_along_axis(inputs, found, axis=-1)[..., 0]
        perturbed = self.value.sample(xp.astype(chosen, report_dtype(vectors, xp)), rng=rng)
        return SparseReport(index, xp.where(xp.asarray(index) < 0, xp.zeros_like(perturbed), perturbed))

    def dense(self, report: Any) -> Any:
        """The reports (index, value) as vectors of shape (..., d): zeros elsewhere, and everywhere for none."""
        index, value = (as_array("report", part) for part in two_parts("report", report))
        return scattered(index[..., None], value[..., None], self.d)

    def selection_input(self, x: Any, xp: Any = NumpySource.xp) -> Any:
        """The ranks 1 .. d of the |x_j|, or membership in the top k, ties to the larger index; shape (..., d)."""
        magnitudes, members = xp.abs(finite_numbers("x", self._vectors(x), xp)), self._set_size()
        return ranking(magnitudes) if members is None else top_set(magnitudes, members)

    def _vectors(self, x: Any) -> Any:
        if x.ndim == 0 or x.shape[-1] != self.d:
            raise ValueError(f"x must be real vectors of shape (..., {self.d}), got {x.dtype} of {tuple(x.shape)}")
        return x

    def _values(self, x: Any, xp: Any = NumpySource.xp) -> Any:
        """The coordinates, all checked: an error about the reported one only would reveal its index."""
        return in_domain("x", self._vectors(x), self.value, clip=self.clip, xp=xp)

    def _selection_pair(self) -> tuple[NDArray, NDArray]:
        first, second = (np.asarray(z) for z in self.selection.worst_pair())
        if first.ndim != 1 or first.shape != second.shape or first.dtype.kind not in "biu":
            raise ValueError(f"selection must take rankings or status vectors, got {self.selection!r}")
        return first, second

    def _set_size(self) -> int | None:
        """k if the selection takes status vectors (with zeros); None if it takes rankings."""
        first, _ = self._selection_pair()
        return None if np.all(first) else int(np.sum(first != 0))


def _snapped(ratios: Any, apart: Any, top: float, one: Any, two: Any) -> Any:
    """The shipped selections' log ratios go with the difference of ranks or statuses: then that has more digits."""
    steps = top * (apart / np.max(np.abs(apart)))
    rounding = 8 * np.finfo(np.float64).eps * (1 + np.maximum(np.abs(one), np.abs(two)))
    return np.where(np.abs(ratios - steps) <= rounding, steps, ratios)
