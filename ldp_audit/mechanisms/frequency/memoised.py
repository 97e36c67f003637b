"""Memoisation: one permanent report of a value is kept, and each later report perturbs it again.

The reports of one value tell at most what the permanent report tells, however many they are; one of them tells much
less. With a permanent and an instantaneous

    unary encoding, both symmetric: RAPPOR (L-SUE);  optimised, then symmetric: L-OSUE;
    randomised response, twice: L-GRR;  local hashing, then randomised response on its hashes: LOLOHA.

Bits: the number c of ones among the reports of one bit is a sufficient statistic, a mixture of two binomial laws, and
two values change two independent bits; epsilon is attained by c = all and c = none. Labels: with a and b the permanent
probabilities of the own label and of another one of g, and r = (a'/b')**reports for the instantaneous ones, the tight

    epsilon = ln((a r + (g - 1) b) / (b r + a + (g - 2) b)),

attained where all reports are the own label. Both rise to the permanent epsilon with the number of reports.

A client whose value changes makes a new permanent report of each value. For neighbours that change at the same times,
the losses of c + 1 values add up: `compose([(memoised, c + 1)])`. When a value changed is not protected: where a
permanent report recurs or not tells it.

Sources: Erlingsson, Pihur, Korolova, RAPPOR (CCS 2014); Arcolezi, Couchot, Al Bouna, Xiao, "Improving the Utility of
Locally Differentially Private Protocols for Longitudinal and Multidimensional Frequency Estimates" (2022); Arcolezi,
Pinzon, Palamidessi, Gambs, "Frequency Estimation of Evolving Data Under Local Differential Privacy" (EDBT 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.binomial import log_binomial
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.frequency.local_hashing import LocalHashing
from ldp_audit.mechanisms.frequency.randomized_response import RandomizedResponse
from ldp_audit.mechanisms.frequency.unary_encoding import Logs, UnaryEncoding, two_bits
from ldp_audit.mechanisms.frequency.values import OfValues, values_of
from ldp_audit.mechanisms.inputs import array_of, numbers_of
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import FamilyExample, Losses
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.supports import Supports
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.numerics import log1mexp, whole

Permanent = UnaryEncoding | RandomizedResponse | LocalHashing
Instantaneous = UnaryEncoding | RandomizedResponse

_X = Variable("x", 0, 1, integer=True)
_P, _Q, _A, _B = (Variable(name, 0, 1, open="both") for name in ("p", "q", "a", "b"))
_MOST_LOSSES = 1000
"""Reports of one value whose (reports + 1)**2 losses of bits are listed."""


@dataclass(frozen=True, init=False)
class Memoised(OfValues):
    """Values 0 .. k-1; `times` reports of each, one more axis before that of a report.

    permanent: `UnaryEncoding`, `RandomizedResponse` or `LocalHashing`.   instantaneous: of the same kind and size, on
    bits or labels: `UnaryEncoding` on the bits, `RandomizedResponse` on k labels or g hashes; None repeats the
    permanent report.   reports: how many of one value, >= 1. Raises ValueError for anything else.
    """

    permanent: Permanent
    instantaneous: Instantaneous | None
    times: int

    example = FamilyExample(
        "Memoised(RandomizedResponse(epsilon=1, k=2), RandomizedResponse(epsilon=2, k=2))",
        "one report of two bits or labels, of which x is one; p, q: permanent, a, b: instantaneous chances of a one",
        build=lambda: Memoised(RandomizedResponse(1.0, 2), RandomizedResponse(2.0, 2)),
        composed="rises with the number of reports, to the permanent mechanism's",
    )

    def __init__(self, permanent: Permanent, instantaneous: Instantaneous | None = None, reports: int = 1) -> None:
        object.__setattr__(self, "permanent", permanent)
        object.__setattr__(self, "instantaneous", instantaneous)
        object.__setattr__(self, "times", whole(reports, "reports", 1))
        if not isinstance(permanent, UnaryEncoding | RandomizedResponse | LocalHashing):
            raise ValueError(
                f"permanent must be a UnaryEncoding, RandomizedResponse or LocalHashing, got {permanent!r}"
            )
        fits = UnaryEncoding if isinstance(permanent, UnaryEncoding) else RandomizedResponse
        size = permanent.hashes() if isinstance(permanent, LocalHashing) else permanent.k
        if instantaneous is not None and not (isinstance(instantaneous, fits) and instantaneous.k == size):
            raise ValueError(f"instantaneous must be a {fits.__name__} with k = {size}, or None, got {instantaneous!r}")

    def __repr__(self) -> str:
        return f"Memoised({self.permanent!r}, {self.instantaneous!r}, reports={self.times!r})"

    @property
    def k(self) -> int:
        """The number of values."""
        return self.permanent.k

    def symbolic(self) -> SymbolicChannel:
        """The law of one report of two bits or labels: a one is permanent with p or q, then reported with a or b."""
        own, other = _P * _A + (1 - _P) * _B, _Q * _A + (1 - _Q) * _B
        return two_bits("memoised report of two bits", _X, own, other, public=(_P, _Q, _A, _B))

    def exact_epsilon(self) -> float:
        """The tight pure epsilon of all reports of one value, nats."""
        return self._chain().epsilon()

    def losses(self) -> Losses:
        """See base; of several reports of more than two labels, a pair that dominates: the epsilon or its negative."""
        return self._chain().losses()

    def pair_loss(self) -> PairLoss:
        """See base; of several reports of more than two labels, between that of one report and that of `losses`."""
        if self._chain().exact:
            return super().pair_loss()
        lower = Memoised(self.permanent, self.instantaneous).pair_loss()
        return EnclosedLoss(lower, super().pair_loss(), either_order=True)

    def supports(self) -> Supports:
        """See base: of one report of each value, which supports what its permanent kind supports."""
        found = self.permanent.supports()
        own, missed, other = self._chain().support()
        return Supports(self.k, own, missed, other, lambda reports: found.count(self._one(reports)))

    def _one(self, reports: Any) -> Any:
        """The reports without the axis of the times."""
        given = np.asarray(reports)
        axes = 1 if isinstance(self.permanent, RandomizedResponse) else 2
        if given.ndim == axes + 1 and given.shape[1] == 1:
            return given[:, 0]
        if given.ndim != axes and given.size:
            raise ValueError(f"reports must be one of each client, as reports[:, 0], got shape {given.shape}")
        return given

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the reports y, shape (..., times, report), at the value x, shape (...); broadcasts."""
        return self._chain().log_prob(y, x)

    def implemented(self, bits: int = 64) -> FiniteMemoised:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        second = self.instantaneous
        return FiniteMemoised(self, self.permanent.implemented(bits), second and second.implemented(bits))

    def _chain(self) -> _Bits | _Labels:
        return _chain_of(self, self.permanent, self.instantaneous)


@dataclass(frozen=True)
class FiniteMemoised(FinitePrecision):
    """Both stages with probabilities in whole words.

    permanent, instantaneous: the implemented stages.   The rounding of each towards uniform reports brings the two
    laws of a pair nearer to each other, so epsilon is at most the ideal mechanism's.
    """

    mechanism: Memoised
    permanent: Any
    instantaneous: Any

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats."""
        return min(self._chain().epsilon(), self.mechanism.exact_epsilon())

    def losses(self) -> Losses:
        """See `Memoised`."""
        return self._chain().losses()

    def worst_pair(self) -> tuple[int, int]:
        """See `Memoised`."""
        return self.mechanism.worst_pair()

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """See `Memoised`, from the counts of words."""
        return self._chain().log_prob(y, x)

    def draw(self, x: Any, source: Source) -> Any:
        """`times` reports of each value."""
        xp, first, second = source.xp, self.permanent.drawn(x, source), self.instantaneous
        if isinstance(self.mechanism.permanent, LocalHashing):
            seed, hashes = (self._repeated(first[..., place], 0, xp) for place in (0, 1))
            return xp.stack([seed, hashes if second is None else second.drawn(hashes, source)], axis=-1)
        if isinstance(self.mechanism.permanent, RandomizedResponse):
            labels = self._repeated(first, 0, xp)
            return labels if second is None else second.drawn(labels, source)
        bits = self._repeated(first, 1, xp)
        return bits if second is None else second.perturbed(bits, source)

    def _repeated(self, first: Any, axes: int, xp: Any) -> Any:
        """The permanent report `times` over, before its own axes; an array of its own."""
        shape = tuple(first.shape)
        head, tail = shape[: len(shape) - axes], shape[len(shape) - axes :]
        wide = xp.reshape(xp.asarray(first), (*head, 1, *tail))
        return xp.asarray(xp.broadcast_to(wide, (*head, self.mechanism.times, *tail)), copy=True)

    def _chain(self) -> _Bits | _Labels:
        return _chain_of(self.mechanism, self.permanent, self.instantaneous)


def _chain_of(mechanism: Memoised, first: Any, second: Any) -> _Bits | _Labels:
    """Both stages' probabilities.   first, second: the mechanism's own stages, or what is implemented of them."""
    kind = mechanism.permanent
    if isinstance(kind, UnaryEncoding):
        return _Bits(kind.k, mechanism.times, first.logs(), None if second is None else second.logs())
    later = math.inf if second is None else second.exact_epsilon()
    return _Labels(kind, mechanism.times, first.exact_epsilon(), later)


@dataclass(frozen=True)
class _Bits:
    """Independent bits, each kept or flipped once for good, and then in each of `times` reports.

    first, second: log probabilities of a zero and a one, at the own place and at another; by the permanent bit: own is
    a one. second is None where the permanent bits are repeated.
    """

    k: int
    times: int
    first: tuple[Logs, Logs]
    second: tuple[Logs, Logs] | None

    exact = True

    def orders(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log probability of reports of one bit with 0 .. times ones in a given order, at the own place and another."""
        ones = np.arange(self.times + 1.0)
        if self.second is None:
            by_one, by_zero = (np.where(ones == place, 0.0, -np.inf) for place in (self.times, 0))
        else:
            by_one, by_zero = (ones * one + (self.times - ones) * zero for zero, one in self.second)
        own, other = (np.logaddexp(one + by_one, zero + by_zero) for zero, one in self.first)
        return own, other

    def epsilon(self) -> float:
        """All ones of the own bit, and none of the other value's."""
        own, other = self.orders()
        return float(own[-1] - other[-1] + other[0] - own[0])

    def losses(self) -> Losses:
        """By the numbers of ones of two bits, the own one and the other value's; ValueError for very many reports."""
        if self.times > _MOST_LOSSES:
            raise ValueError(f"reports must be at most {_MOST_LOSSES} for a profile of bits, got {self.times}")
        gain, mine, others = self.counted()
        losses, masses = np.subtract.outer(gain, gain), np.add.outer(mine, others)
        upper = losses > 0
        return Losses(losses[upper], masses[upper])

    def counted(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """By the possible numbers of ones: the loss of the own place against another, and log probabilities at both."""
        own, other = self.orders()
        seen = own > -np.inf
        ones, half = np.arange(self.times + 1.0), math.log(2)
        ways = log_binomial(ones, float(self.times), -half, -half) + self.times * half
        return own[seen] - other[seen], (own + ways)[seen], (other + ways)[seen]

    def support(self) -> tuple[float, float, float]:
        """Of one report: the chances of a one at the own place, of none there, and of a one elsewhere."""
        own, other = _Bits(self.k, 1, self.first, self.second).orders()
        return math.exp(own[1]), math.exp(own[0]), math.exp(other[1])

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """See `Memoised`."""
        bits, values = numbers_of("y", y), values_of(array_of("x", x), self.k)
        if bits.shape[-2:] != (self.times, self.k):
            raise ValueError(f"y must be bits of shape (..., {self.times}, {self.k}), got shape {bits.shape}")
        known = np.all((bits == 0) | (bits == 1), axis=(-2, -1))
        ones = (bits == 1).sum(axis=-2)
        own, other = self.orders()
        each = np.where(np.asarray(values)[..., None] == np.arange(self.k), own[ones], other[ones])
        return np.where(known, each.sum(axis=-1), -np.inf)[()]


@dataclass(frozen=True)
class _Labels:
    """A label kept or replaced once for good, and again in each of `times` reports.

    permanent: the mechanism that labels are the values or the hashes of.   first, second: epsilon of both randomised
    responses on labels; an infinite one repeats the label.
    """

    permanent: RandomizedResponse | LocalHashing
    times: int
    first: float
    second: float

    @property
    def size(self) -> int:
        """The number of labels."""
        return self.permanent.hashes() if isinstance(self.permanent, LocalHashing) else self.permanent.k

    @property
    def exact(self) -> bool:
        """Whether `losses` are those of the pair, and not of one that dominates it."""
        return self.times == 1 or self.size == 2 or math.isinf(self.second)

    def epsilon(self) -> float:
        """All the own label: ln(1 + (t - 1) (r - 1)/(r + t + g - 2)), t = a/b, which keeps the digits of a small
        one beside a large r. A permanent label that is the value leaves ln r.
        """
        share = self.times * self.second
        if math.inf in (self.first, share) or 0 in (self.first, share):
            return min(self.first, share)
        others = math.log(self.size - 2) - share if self.size > 2 else -math.inf
        below = np.logaddexp(np.logaddexp(0.0, self.first - share), others)
        gained = self.first + log1mexp(-self.first) + log1mexp(-share)
        return float(np.logaddexp(0.0, gained - below))

    def losses(self) -> Losses:
        """Of one report or of two labels those of the pair; else of randomised response on two labels.

        Any law of this pure epsilon is dominated by that (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3). Values whose
        hashes agree are not told apart: of 1/size of the seeds.
        """
        apart = math.log1p(-1 / self.size) if isinstance(self.permanent, LocalHashing) else 0.0
        if self.exact and self.size == 2 and not math.isinf(self.second):
            gain, mine, _ = _Bits(1, self.times, _binary(self.first), _binary(self.second)).counted()
            return Losses(gain[gain > 0], apart + mine[gain > 0])
        top = self.support()[0] if self.exact else expit(self.epsilon())
        return Losses([self.epsilon()], [apart + math.log(top)])

    def support(self) -> tuple[float, float, float]:
        """Of one report: the chances of the own label, of another one, and of a given other value's label."""
        first, second = (RandomizedResponse(epsilon, self.size) for epsilon in (self.first, self.second))
        a, b, c, d = (math.exp(float(stage.log_prob(y, 0))) for stage in (first, second) for y in (0, 1))
        other = a * d + b * c + (self.size - 2) * b * d
        given = 1 / self.size if isinstance(self.permanent, LocalHashing) else other
        return a * c + (self.size - 1) * b * d, (self.size - 1) * other, given

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """See `Memoised`."""
        given, own = numbers_of("y", y), values_of(array_of("x", x), self.permanent.k)
        shape = (self.times, 2) if isinstance(self.permanent, LocalHashing) else (self.times,)
        if given.shape[max(0, given.ndim - len(shape)) :] != shape:
            raise ValueError(f"y must have shape (..., {', '.join(map(str, shape))}), got {given.shape}")
        labels, known, each = given, np.True_, 0.0
        if isinstance(self.permanent, LocalHashing):
            seeds, labels, each = given[..., 0], given[..., 1], -math.log(self.permanent.seeds())
            seed = seeds[..., 0]
            known = (seed >= 0) & (seed < self.permanent.seeds()) & (seed == np.floor(seed))
            known = known & np.all(seeds == seed[..., None], axis=-1)
            own = self.permanent.hash(np.where(known, seed, 0).astype(np.int64), np.asarray(own, np.int64))
        known = known & np.all((labels >= 0) & (labels < self.size) & (labels == np.floor(labels)), axis=-1)
        places = np.arange(self.size)
        counts = (labels[..., None] == places).sum(axis=-2)
        first, second = (RandomizedResponse(epsilon, self.size) for epsilon in (self.first, self.second))
        truth, lie = (float(second.log_prob(label, 0)) for label in (0, 1))
        misses = self.times - counts
        later = counts * truth + (misses * lie if lie > -math.inf else np.where(misses > 0, -np.inf, 0.0))
        terms = first.log_prob(places, np.asarray(own)[..., None]) + later
        return np.where(known, each + np.logaddexp.reduce(terms, axis=-1), -np.inf)[()]


def _binary(epsilon: float) -> tuple[Logs, Logs]:
    """Log probabilities of another and of the own one of two labels, for randomised response; by which is own."""
    m = RandomizedResponse(epsilon)
    truth, lie = float(m.log_prob(0, 0)), float(m.log_prob(1, 0))
    return (lie, truth), (truth, lie)
