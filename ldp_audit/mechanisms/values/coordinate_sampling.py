"""Reporting a vector of d numbers by k of its coordinates: Wang et al.'s Algorithm 4, FedSel's "flat" competitor.

Definition: k of the d coordinates are chosen uniformly without replacement; the value mechanism reports each with
epsilon / k, scaled by d / k; the others are 0. As the choice is independent of the input, epsilon is k times the value
mechanism's, and the profile is that of k independent values at opposite endpoints.

Source: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu (ICDE 2019), Algorithm 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.losses.composition import composed
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.inputs import array_of, as_array, report_dtype
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import (
    BUDGET,
    LENGTH,
    FamilyExample,
    Mechanism,
    Parameter,
    pair_loss_of,
    upper_profile,
)
from ldp_audit.mechanisms.randomness import NumpySource, Source, source_of
from ldp_audit.mechanisms.values.sparse_report import SparseReport, scattered, thinned, two_parts
from ldp_audit.mechanisms.values.two_point import TwoPoint
from ldp_audit.mechanisms.values.value_mechanism import ImplementedFactory, in_domain, require_value, worst_ends
from ldp_audit.mechanisms.variable import Variable

COORDINATES = Parameter("k", Variable("k", 1, oo, integer=True), typical=(1, 10))
SAMPLED = Variable("k", 1, LENGTH.variable, integer=True)


@dataclass(frozen=True)
class CoordinateSampling(Mechanism):
    """Inputs are vectors of d numbers in the value mechanism's domain; a report is k indices and their values.

    value: maps an epsilon to the value mechanism: a class such as `Piecewise`, or a function.
    epsilon: nats, > 0, finite: of the whole report.   d: >= 1.
    k: 1 .. d; by default max(1, min(d, floor(epsilon / 2.5))), the source's choice for PM and HM.
    Raises ValueError for anything else.
    """

    value: Callable[[float], Any]
    epsilon: float
    d: int
    k: Any = None  # an int after construction

    parameters = (BUDGET, LENGTH)
    example = FamilyExample(
        "CoordinateSampling(TwoPoint, epsilon=1, d=3, k=2)",
        "the law of one coordinate; w: its value; c = 0, r = 1; k of the d coordinates are sampled; t = e^(epsilon/k)",
        build=lambda: CoordinateSampling(TwoPoint, 1.0, 3, 2),
        composed="the value mechanism's, epsilon/k, k times over",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        best = max(1, min(self.d, math.floor(self.epsilon / 2.5)))
        k = COORDINATES.check(best if self.k is None else self.k)
        if k > self.d:
            raise ValueError(f"k must be a whole number from 1 to d = {self.d}, got {self.k!r}")
        object.__setattr__(self, "k", k)
        if not callable(self.value):
            raise ValueError(f"value must make a value mechanism from an epsilon, got {self.value!r}")
        require_value("value", self.coordinate())

    def coordinate(self) -> Any:
        """The value mechanism of one coordinate, at epsilon / k rounded down so that k times it is at most epsilon."""
        share = self.epsilon / self.k
        while Fraction(share) * self.k > Fraction(self.epsilon):
            share = math.nextafter(share, 0.0)
        return self.value(share)

    def symbolic(self) -> SymbolicChannel:
        """The distribution of one coordinate of `dense`, in d, k and the value's symbols; t = e**(epsilon/k)."""
        share = SAMPLED / LENGTH.variable
        return thinned(self.coordinate().symbolic(), "one of d coordinates, k of them sampled", share, 1 / share)

    def report_bits(self) -> float:
        """See base: of k indices and values."""
        return self.k * (math.log2(self.d) + self.coordinate().report_bits())

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: k times the value mechanism's."""
        part = self.coordinate().exact_epsilon()
        return float(self.k * Fraction(part)) if math.isfinite(part) else math.inf

    def pair_loss(self) -> PairLoss:
        """See base: that of k independent coordinates."""
        return composed([(pair_loss_of(self.coordinate()), self.k)])

    def blanket(self) -> Blanket | None:
        """See base: of one coordinate, as the report shows which it is."""
        return self.coordinate().blanket() if self.k == 1 else None

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All coordinates at one endpoint, and all at the other; shape (d,)."""
        first, second = worst_ends(self.coordinate())
        return np.full(self.d, first), np.full(self.d, second)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The privacy profile; shape of `epsilon`, nats, >= 0.

        For k > 1 that of `pair_loss`: exact for losses of few values (as for `TwoPoint`, `Piecewise`, `Hybrid`,
        `RandomizedResponse`) where one pair of inputs is the worst in both orders, else an upper bound.
        """
        asked = levels(epsilon)
        if self.k == 1:
            return np.asarray(self.coordinate().delta(asked))[()]
        return np.where(asked >= self.exact_epsilon(), 0.0, upper_profile(self.pair_loss(), asked))[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability (density) of y = (indices in any order, values), shapes (..., k), at x, shape (..., d)."""
        index, value = (array_of("y", part) for part in two_parts("y", y))
        inputs = self._inputs(array_of("x", x))
        if index.dtype.kind not in "iu" or index.shape[-1:] != (self.k,) or value.shape[-1:] != index.shape[-1:]:
            raise ValueError(f"y must be {self.k} indices and as many values, got {y!r}")
        if np.any((index < 0) | (index >= self.d)):
            raise ValueError(f"y must have indices in 0..{self.d - 1}, got {y[0]!r}")
        batch = np.broadcast_shapes(index.shape[:-1], value.shape[:-1], inputs.shape[:-1])
        index = np.broadcast_to(index, (*batch, self.k))
        at = np.take_along_axis(np.broadcast_to(inputs, (*batch, self.d)), index, axis=-1)
        total = np.sum(self.coordinate().log_prob(value, at), axis=-1) - _log_choices(self.d, self.k)
        return np.where(np.any(np.diff(np.sort(index, axis=-1), axis=-1) == 0, axis=-1), -np.inf, total)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[dense(report) | x]: the value mechanism's mean, x for an unbiased one. Shape (..., d)."""
        return np.asarray(self.coordinate().mean(self._inputs(array_of("x", x))))

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var[dense(report)_j | x] = (d/k) E[y**2] - E[y]**2 = (d/k) Var[y] + (d/k - 1) E[y]**2. Shape (..., d)."""
        inputs, part = self._inputs(array_of("x", x)), self.coordinate()
        more = (self.d - self.k) / self.k
        return np.asarray((1 + more) * part.variance(inputs) + more * part.mean(inputs) ** 2)

    def clip(self, x: ArrayLike) -> NDArray:
        """The coordinates clipped to the value mechanism's domain. Shape of x."""
        return self.coordinate().clip(x)

    def implemented(self, bits: int = 64) -> CoordinateSampling:
        """The same mechanism with the value mechanism's finite-precision distribution for `bits`-bit words."""
        return replace(self, value=ImplementedFactory(self.value, bits))

    def sample(self, x: Any, *, rng: Any) -> SparseReport:
        """One report for each vector: k ascending, exactly uniform indices and their values, unscaled; see the base."""
        source = source_of(rng)
        xp, vectors = source.xp, source.array("x", x)
        inputs = self._inputs(vectors, xp)
        index = _uniform_sets(source, tuple(inputs.shape[:-1]), self.d, self.k)
        chosen = xp.astype(xp.take_along_axis(inputs, index, axis=-1), report_dtype(vectors, xp))
        return SparseReport(index, self.coordinate().sample(chosen, rng=rng))

    def dense(self, report: Any) -> Any:
        """The reports (indices, values) as vectors of shape (..., d): d / k times the values, zeros elsewhere."""
        index, value = (as_array("report", part) for part in two_parts("report", report))
        return scattered(index, value, self.d, self.d / self.k)

    def _inputs(self, x: Any, xp: Any = NumpySource.xp) -> Any:
        """The coordinates, all checked: an error about reported ones only would reveal which they are."""
        if x.ndim == 0 or x.shape[-1] != self.d:
            raise ValueError(f"x must be real vectors of shape (..., {self.d}), got {x.dtype} of {tuple(x.shape)}")
        return in_domain("x", x, self.coordinate(), clip=False, xp=xp)


def _log_choices(d: int, k: int) -> float:
    smaller = np.arange(min(k, d - k))
    return math.fsum(np.log((d - smaller) / (smaller + 1)))


def _uniform_sets(source: Source, shape: tuple[int, ...], d: int, k: int) -> Any:
    """Uniform k-subsets of 0 .. d-1, ascending, by Floyd's method: int64 of shape (*shape, k)."""
    xp = source.xp
    if k == d:
        return source.constant(np.broadcast_to(np.arange(d), (*shape, d)).copy(), xp.int64)
    chosen = source.constant(np.full((*shape, k), -1), xp.int64)
    for i in range(k):
        last = d - k + i
        drawn = source.below(last + 1, shape)
        taken = xp.any(chosen == drawn[..., None], axis=-1)
        chosen[..., i] = xp.where(taken, xp.full_like(drawn, last), drawn)
    return xp.sort(chosen, axis=-1)
