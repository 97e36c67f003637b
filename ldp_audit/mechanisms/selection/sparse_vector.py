"""The sparse vector technique: which of many queries exceed a threshold, until some number did; and its wrong forms.

Query i is answered 1 where q_i + nu_i >= T + rho, with Laplace noises nu_i of scale b and rho of scale a. The variants
are those that Lyu, Su and Li compare, at sensitivity 1, by their Algorithms' numbers (c is the cutoff):

    correct, lyu-1   a = 2/epsilon             b = 4 c/epsilon       epsilon
    lyu-2            a = 2 c/epsilon, new after each 1, b = 4 c/epsilon       epsilon (Dwork, Roth 2014)
    lyu-3            reports q_i + nu_i in place of 1, and is refused here; infinite (Roth 2011)
    lyu-4            a = 4/epsilon             b = 4/(3 epsilon)     (1 + 6 c) epsilon/4 (Lee, Clifton 2014)
    lyu-5            a = 2/epsilon             no nu, no cutoff; infinite (Stoddard, Chen, Machanavajjhala 2014)
    lyu-6            a = 2/epsilon             b = 2/epsilon, no cutoff; infinite (Chen et al. 2015)

The last column is the tight epsilon over queries of any number. Proof. Let rho move by 1, at most a factor e**(1/a)
(for each rho), and each query's noise that is answered 1 by 2, at most e**(2/b); what is answered 0 is then as likely.
That is 1/a + 2 c/b, with c/a in place of 1/a where rho is new. It is approached: let m queries at T be answered 0, and
c others at T 1; at the neighbour the former are at T + 1 and the latter at T - 1. As m grows, rho given the report lies
above 0, where each of these factors is attained. Without a cutoff there is no bound; without nu, (T, T + 1) is answered
(0, 1) with positive probability and (T + 1, T) never.

Source: Lyu, Su, Li, "Understanding the Sparse Vector Technique for Differential Privacy" (VLDB 2017), Figure 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import array_api_compat.numpy as numpy_namespace
import numpy as np
from array_api_compat import device
from numpy.typing import ArrayLike, NDArray
from sympy import Expr, Integer, exp, oo

from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, DiscreteLoss, pure_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.inputs import array_of, finite, whole_numbers
from ldp_audit.mechanisms.mechanism import BUDGET, Adjacency, FamilyExample, Mechanism, Parameter, upper_profile
from ldp_audit.mechanisms.noise.laplace_noise import PARTS, discrete_laplace
from ldp_audit.mechanisms.randomness import BITS, Source
from ldp_audit.mechanisms.selection.laplace_integral import log_integral
from ldp_audit.mechanisms.selection.score_selection import exponent_for, floored
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.numerics import shown

Variant = Literal["correct", "lyu-1", "lyu-2", "lyu-4", "lyu-5", "lyu-6"]

STOPPED = -1
"""What is reported of the queries after the last 1."""

_ZEROS = 4
"""Queries answered 0 before each 1 in the report of the worst pair."""

MOST_QUERIES = 200
"""The most queries whose report's probability is integrated."""


class Noises(NamedTuple):
    """The scales of the noises times epsilon: a on the threshold, b on each query (0: none); Fractions.

    renewed: whether the threshold's is drawn anew after each 1.   stops: whether the cutoff counts.
    """

    threshold: Fraction
    query: Fraction
    renewed: bool = False
    stops: bool = True


def _noises(variant: str, cutoff: int) -> Noises:
    c = Fraction(cutoff)
    return {
        "correct": Noises(Fraction(2), 4 * c),
        "lyu-1": Noises(Fraction(2), 4 * c),
        "lyu-2": Noises(2 * c, 4 * c, renewed=True),
        "lyu-4": Noises(Fraction(4), Fraction(4, 3)),
        "lyu-5": Noises(Fraction(2), Fraction(0), stops=False),
        "lyu-6": Noises(Fraction(2), Fraction(2), stops=False),
    }[variant]


VARIANTS = ("correct", "lyu-1", "lyu-2", "lyu-4", "lyu-5", "lyu-6")

_g, _a, _b = Variable("g", 0, oo), Variable("a", 0, oo, open="left"), Variable("b", 0, oo, open="left")
_above: dict[str, Expr] = {
    "lyu-5": exp(-_g / _a) / 2,
    "lyu-6": exp(-_g / _a) * (2 + _g / _a) / 4,
}
_TWO_SCALES = (_b**2 * exp(-_g / _b) - _a**2 * exp(-_g / _a)) / (2 * (_b**2 - _a**2))


@dataclass(frozen=True)
class SparseVector(Mechanism):
    """Inputs are answers of queries of sensitivity 1, shape (..., n) for any n >= 1; a report is int64 of that shape.

    It is 1 where the query exceeds the threshold, 0 where it does not, and -1 after `cutoff` ones. Neighbours are any
    two vectors that differ by at most 1 in each coordinate (with a record, and without it), not any two inputs.

    epsilon: what is claimed, nats, > 0, finite; `exact_epsilon` is what it has.   threshold: a finite number.
    cutoff: a whole number >= 1, without effect for lyu-5 and lyu-6.   variant: see the module.
    Raises ValueError for anything else, and for lyu-3.
    """

    epsilon: float
    threshold: float
    cutoff: int = 1
    variant: Variant = "correct"

    parameters = (
        BUDGET,
        Parameter("threshold", Variable("T", -oo, oo), typical=(-10.0, 10.0)),
        Parameter("cutoff", Variable("c", 1, oo, integer=True), typical=(1, 10)),
    )
    adjacency: ClassVar[Adjacency | None] = "add/remove"
    example = FamilyExample(
        "SparseVector(epsilon=1, threshold=0)",
        "of one query: g, by how much it is below the threshold; a, b: the scales of the threshold's noise and of its "
        "own; neighbours' queries lie within 1",
        composed="epsilon, over any number of queries; approached as more of them are answered 0, and not attained",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.variant, str) and self.variant == "lyu-3":
            raise ValueError(
                "variant must report 0 and 1, got 'lyu-3', which reports the noisy answers of queries above the "
                "threshold, with the noise that it compared: it has no finite epsilon"
            )
        if not (isinstance(self.variant, str) and self.variant in VARIANTS):
            raise ValueError(f"variant must be one of {', '.join(map(repr, VARIANTS))}, got {shown(self.variant)}")

    def noises(self) -> Noises:
        """Which noises are added."""
        return _noises(self.variant, self.cutoff)

    def symbolic(self) -> SymbolicWeights:
        """The definition of the first answer, for a query below the threshold."""
        above = _above.get(self.variant, _TWO_SCALES)
        return SymbolicWeights(
            "sparse vector, the first query", [("1", Integer(1), above), ("0", Integer(1), 1 - above)]
        )

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats, over queries of any number: a supremum, attained by lyu-5's infinity alone."""
        return float(Fraction(self.epsilon) * spent(self.noises(), self.cutoff)) if self.noises().stops else math.inf

    def pair_loss(self) -> PairLoss:
        """See base: at most that of the pure epsilon, at least what one report tells of the worst pair.

        Without a cutoff infinite, which more queries approach.
        """
        return _loss(self.exact_epsilon(), self._one_event())

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """An upper bound of the profile, shape of `epsilon`, nats: that of randomised response at exact_epsilon().

        1 without a cutoff, which more and more queries approach.
        """
        return upper_profile(self.pair_loss(), epsilon)

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two vectors whose report of four 0 and a 1, `cutoff` times, has nearly exact_epsilon(): more 0 come nearer.

        For lyu-5 two that attain it; for lyu-6, eight 0 and eight 1.
        """
        zero, one = self.threshold + 1, self.threshold - 1
        if self.variant == "lyu-5":
            return np.array([self.threshold, zero]), np.array([zero, self.threshold])
        second = np.array(
            [zero] * 8 + [one] * 8 if self.variant == "lyu-6" else ([zero] * _ZEROS + [one]) * self.cutoff
        )
        return np.full(second.shape, self.threshold), second

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the answers x, shape (..., n) both to (...); broadcasts.

        An integral over the threshold's noise, to 1e-12 of itself. -inf for a report that cannot be. Raises ValueError
        for more than 200 queries.
        """
        return _log_reports(y, finite("x", x) - self.threshold, self, *(float(s) for s in self._scales()))

    def implemented(self, bits: int = 64) -> SparseVectorGrid:
        """The finite-precision distribution of `sample`: discrete noise on a grid of 2**24 or more points a unit.

        bits: 2..64, without effect, as all decisions are exact. Raises ValueError for other bits, for a cutoff above
            2**27 or 2**27 epsilon, and for a threshold about 2**37 or more from 0 (fewer for an epsilon above 1).
        """
        BITS.check(bits)
        return SparseVectorGrid(self)

    def _one_event(self) -> PairLoss:
        """The loss of whether the report of the worst pair is the one that it is made for; 0 where that is unknown."""
        report = ([0] * _ZEROS + [1]) * self.cutoff
        if not self.noises().stops or len(report) > MOST_QUERIES:
            return ZERO_LOSS
        first, second = (math.exp(self.log_prob(report, x)) for x in self.worst_pair())
        return DiscreteLoss.of_laws({1: first, 0: 1 - first}, {1: second, 0: 1 - second}) if second else ZERO_LOSS

    def _scales(self) -> tuple[Fraction, Fraction]:
        return self.noises().threshold / Fraction(self.epsilon), self.noises().query / Fraction(self.epsilon)


def spent(noises: Noises, cutoff: int) -> Fraction:
    """1/a + 2 c/b, or c/a + 2 c/b: the tight epsilon, in units of those of the scales."""
    return (cutoff if noises.renewed else 1) / noises.threshold + 2 * cutoff / noises.query


def _loss(epsilon: float, lower: PairLoss) -> PairLoss:
    return INFINITE_LOSS if epsilon == math.inf else EnclosedLoss(lower, pure_loss(epsilon), either_order=True)


@dataclass(frozen=True)
class SparseVectorGrid(FinitePrecision):
    """The sparse vector technique on the multiples of a power of two, to which answers and threshold are rounded down.

    Noise is discrete Laplace noise, of scales rounded up to multiples of 8 steps; the proof of epsilon holds on the
    grid, for answers at most m = 1 / spacing steps apart.   Raises ValueError for a scale above 2**54 steps.
    """

    mechanism: SparseVector
    adjacency: ClassVar[Adjacency | None] = "add/remove"

    def __post_init__(self) -> None:
        m = self.mechanism
        if max(self.widths()) > _WIDEST:
            raise ValueError(f"cutoff must be at most 2**27, and 2**27 epsilon, to be sampled, got {m!r}")
        if abs(self._threshold()) > _FARTHEST:
            raise ValueError(f"threshold must lie within 2**61 steps of the grid of 0 to be sampled, got {m!r}")

    def exponent(self) -> int:
        """log2 of the spacing."""
        return exponent_for(self.mechanism.epsilon, 1.0)

    def widths(self) -> tuple[int, int]:
        """The scales of the threshold's and of the queries' noise, in steps; 0 for none."""
        unit = Fraction(2) ** -self.exponent() / Fraction(self.mechanism.epsilon) / PARTS
        noises = self.mechanism.noises()
        return PARTS * math.ceil(noises.threshold * unit), PARTS * math.ceil(noises.query * unit)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats; at most the mechanism's."""
        noises, steps = self.mechanism.noises(), 2 ** -self.exponent()
        if not noises.stops:
            return math.inf
        threshold, query = (Fraction(width, steps) for width in self.widths())
        return float(spent(Noises(threshold, query, noises.renewed), self.mechanism.cutoff))

    def pair_loss(self) -> PairLoss:
        """See base: at most that of the pure epsilon."""
        return _loss(self.exact_epsilon(), ZERO_LOSS)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """An upper bound of the profile; see the mechanism's."""
        return upper_profile(self.pair_loss(), epsilon)

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See the mechanism."""
        return self.mechanism.worst_pair()

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the answers x, with continuous noise on the grid's numbers.

        Discrete noise is continuous noise moved by a step at most, so for n queries the sampler's is within 2 n / t
        nats, t the width of the queries' noise (for lyu-5, of the threshold's, of each interval's mass).
        """
        steps = self._steps(array_of("x", x), numpy_namespace)
        away = (steps - self._threshold()).astype(np.float64)
        return _log_reports(y, away, self.mechanism, *map(float, self.widths()))

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each vector."""
        xp, noises, (first, second) = source.xp, self.mechanism.noises(), self.widths()
        steps = self._steps(x, xp)
        rows = xp.reshape(steps, (math.prod(steps.shape[:-1]), steps.shape[-1])) - self._threshold()
        noisy = rows + discrete_laplace(second, rows.shape, source) if second else rows
        rho = discrete_laplace(first, (rows.shape[0], 1), source)
        if not noises.stops:
            return xp.reshape(xp.astype(noisy >= rho, xp.int64), tuple(steps.shape))
        places = xp.arange(rows.shape[1], device=device(rows))[None, :]
        report, last = xp.zeros_like(rows), xp.full_like(rho, -1)
        for ones in range(min(self.mechanism.cutoff, rows.shape[1])):
            if noises.renewed and ones:
                rho = discrete_laplace(first, (rows.shape[0], 1), source)
            hits = (noisy >= rho) & (places > last)
            found = xp.any(hits, axis=-1, keepdims=True)
            hit = xp.argmax(xp.astype(hits, xp.uint8), axis=-1)[:, None]
            last = xp.where(found, hit, xp.full_like(last, rows.shape[1]))
            report = xp.where(places == last, xp.ones_like(report), report)
        full = xp.sum(report, axis=-1, keepdims=True) == self.mechanism.cutoff
        report = xp.where(full & (places > last), xp.full_like(report, STOPPED), report)
        return xp.reshape(report, tuple(steps.shape))

    def _steps(self, x: Any, xp: Any) -> Any:
        if not x.ndim or not x.shape[-1]:
            raise ValueError(f"x must be answers of shape (..., n) for n >= 1 queries, got shape {tuple(x.shape)}")
        return floored(x, self.exponent(), x.shape[-1], xp)

    def _threshold(self) -> int:
        return math.floor(Fraction(self.mechanism.threshold) * 2 ** -self.exponent())


_WIDEST = 2**54
"""The largest scale in steps, the limit of `discrete_laplace`."""
_FARTHEST = 2**61
"""Steps, so that int64 holds an answer less the threshold, with noise."""


def _log_reports(y: ArrayLike, away: NDArray[np.float64], m: SparseVector, a: float, b: float) -> Any:
    """Log probabilities of reports, for answers relative to the threshold, and scales in the same unit."""
    reports = whole_numbers("y", array_of("y", y), STOPPED, 1)
    if not reports.ndim or not away.ndim or reports.shape[-1] != away.shape[-1]:
        raise ValueError(f"y must be reports of shape (..., n) for x of that shape, got {reports.shape}, {away.shape}")
    n = away.shape[-1]
    if n > MOST_QUERIES:
        raise ValueError(f"x must be the answers of at most {MOST_QUERIES} queries for probabilities, got {n}")
    reports, away = np.broadcast_arrays(reports.astype(np.float64), away)
    both = np.concatenate([reports, away], axis=-1).reshape(-1, 2 * n)
    rows, place = np.unique(both, axis=0, return_inverse=True)
    found = np.array([_log_report(row[:n], row[n:], m, a, b) for row in rows])
    return found[place.reshape(-1)].reshape(reports.shape[:-1])[()]


def _log_report(y: NDArray[np.float64], away: NDArray[np.float64], m: SparseVector, a: float, b: float) -> float:
    """ln P of one report: of each stretch with one threshold's noise an integral, or an interval's mass."""
    noises, ones = m.noises(), np.flatnonzero(y == 1)
    end = int(ones[m.cutoff - 1]) + 1 if noises.stops and len(ones) >= m.cutoff else len(y)
    if np.any(y[end:] != STOPPED) or np.any(y[:end] == STOPPED):
        return -math.inf
    cuts = [0, *(ones + 1).tolist(), end] if noises.renewed else [0, end]
    stretches = [slice(low, high) for low, high in pairwise(cuts) if high > low]
    if b == 0:
        return _log_interval(max(away[y == 0], default=-math.inf) / a, min(away[y == 1], default=math.inf) / a)
    return math.fsum(log_integral(1 - 2 * y[one], away[one], a, b) for one in stretches)


def _log_interval(low: float, high: float) -> float:
    """ln of the mass of standard Laplace noise in (low, high]."""
    if low >= high:
        return -math.inf
    if low < 0 < high:
        return math.log1p(-(math.exp(low) + math.exp(-high)) / 2)
    near, far = sorted((abs(low), abs(high)))
    return -near - math.log(2) + math.log(-math.expm1(near - far))
