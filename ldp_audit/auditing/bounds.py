r"""What two binomial counts say about the ratio of their probabilities: one exact confidence region for the pair.

X of n runs on input x, and Y of m runs on input x', fell into one event. Let p, q be its probabilities. The tails

    U(p) = P(X' >= X | p)   and   V(q) = P(Y' <= Y | q)

are independent and, at the true p and q, each at least uniform: so the deviations d(p) = Phi^-1(1 - U(p)) and
e(q) = Phi^-1(1 - V(q)) are at most as large as independent normal ones. With weights w1**2 + w2**2 = 1, which may
depend on p and q but on no count, the pair (p, q) is covered by

    w1 max(d(p), -4) + w2 e(q) < z

except with probability Phi(-z) (Stouffer et al. 1949; exact for every n, m, p, q), and Phi(-4) Phi(-z) more for the
cut at -4: where it changes the sum, the first deviation is below -4 and the second, independently, above z. The
weights are those of the score test at a design ratio that is fixed beforehand, taken at p and at the q that the ratio
gives to it, of which p is known the better. This is where the gain over two separate intervals comes from: the two
deviations add in squares. Two limits of Clopper and Pearson (Biometrika 26, 1934), of p at 0.1% of the error and of q
at 0.05%, cut off the far ends of the region.

A claim is refuted if no point of the region keeps to it, which is looked at on cells of p: on a cell [a, b] the least
p is a, and the greatest q is taken at b and with the worse of the weights at a and b, between which all others lie.
The bound is the greatest epsilon that is refuted, by halving.

The tails of a binomial count, and the probabilities that give a wanted tail: P(X >= k | p) = I_p(k, n - k + 1), the
regularised incomplete beta function, grows in p. Its inverse is found by SciPy, which stops at a relative error of up
to 2**-26 (measured: 5e-9 for 1,000 hits of a million); one step of Newton's leaves what the tail itself is off by. That
was measured against 40 digits: 3e-11 relative up to 10**10 trials for the smaller of the two tails, but for few hits of
many trials 1e-17 a trial for the larger one, or 1e-8 for 10**9. The complement of betainc is slow in SciPy; where
trials are few, betainc at 1 - p, whose rounding costs 1e-16 a trial, is as good and takes a twelfth of the time.

For tails below 1e-100 SciPy's inverse is nan here and there, and now and then beyond the truth. There the limit is that
of the union bound, P(X >= k | p) <= C(n, k) p**k, which is lower and certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from ldp_audit.numerics import between, instance, nonnegative, positive, whole

_P_SHARE, _Q_SHARE = 0.001, 0.0005  # of the error, for the Clopper-Pearson limits of p and of q
_CUT = 4.0  # deviations; below it the first tail says no more
_LEAST_Q_SHARE = 0.7  # of p / ratio: the weights' q is no less; found best over counts from 72 to a million
_LEAST_LIMIT = -20.0  # deviations; no limit is lower, and none is above 38
_SHAVE = 1e-10  # relative; above the errors of the tails and of their inverses
_FIRST_CELLS, _MOST_PIECES, _ROUNDS = 24, 16, 12
_FINER = 0.2  # as large a part of the fineness is what `exceeds` gives away, and then the halving
_ROUGH = 0.02  # a fineness for which half of the first cells will do
_FEW_TRIALS = 10_000
_LEAST_TAIL = 1e-100
_SLACK = 0.01  # nats off the union bound's logarithm, for the rounding of SciPy's betaln: 1e-3 for 10**12 trials
_FURTHEST = 1e-3  # relative; no step is larger, since there the inverse has failed, or the density underflows


@dataclass(frozen=True)
class Counts:
    """hits of trials on the input that makes the event likelier, other_hits of other_trials on the other one."""

    hits: int
    trials: int
    other_hits: int
    other_trials: int

    def __post_init__(self) -> None:
        for name, trials in (("trials", self.trials), ("other_trials", self.other_trials)):
            whole(trials, name)
        for name, hits, trials in (
            ("hits", self.hits, self.trials),
            ("other_hits", self.other_hits, self.other_trials),
        ):
            whole(hits, name, 0, int(trials))

    def __add__(self, more: Counts) -> Counts:
        return Counts(
            self.hits + more.hits,
            self.trials + more.trials,
            self.other_hits + more.other_hits,
            self.other_trials + more.other_trials,
        )

    def swapped(self) -> Counts:
        """The two inputs in the other order."""
        return Counts(self.other_hits, self.other_trials, self.hits, self.trials)

    def to_dict(self) -> dict[str, list[int]]:
        """For JSON."""
        return {"hits": [self.hits, self.other_hits], "trials": [self.trials, self.other_trials]}

    @property
    def frequencies(self) -> tuple[float, float]:
        """The observed share of hits on either input."""
        return self.hits / self.trials, self.other_hits / self.other_trials

    @property
    def smoothed(self) -> tuple[float, float]:
        """The same with half a hit and half a miss more, and so within (0, 1); for guesses, not for bounds."""
        return (self.hits + 0.5) / (self.trials + 1), (self.other_hits + 0.5) / (self.other_trials + 1)


@dataclass(frozen=True)
class Region:
    """The confidence region of (p, q); its two bounds hold at once, with probability at least 1 - error.

    error: in (0, 0.5].   design_epsilon, design_delta: where the region is meant to be tight. They change the tightness
    and never the validity, but must be chosen without looking at the counts.   fineness: how much of the infimum may
    be given away to the width of a cell, in standard deviations of the log ratio.
    """

    counts: Counts
    error: float
    design_epsilon: float = 1.0
    design_delta: float = 0.0
    fineness: float = 0.002

    def __post_init__(self) -> None:
        instance(self.counts, Counts, "counts", "Counts")
        between(self.error, "error", "in (0, 0.5]", lambda error: 0 < error <= 0.5)  # see `_limits`
        nonnegative(self.design_epsilon, "design_epsilon")
        between(self.design_delta, "design_delta", "in [0, 1)", lambda delta: 0 <= delta < 1)
        positive(self.fineness, "fineness")

    def epsilon_lower(self, delta: float = 0.0) -> float:
        """A lower bound, nats, on every epsilon with p <= e**epsilon q + delta; 0 where nothing is known."""
        delta = _checked_delta(delta)
        p, q = self.counts.smoothed  # only where to look, and how finely, depends on them
        gain = max(p - delta, math.sqrt(p * (1 - p) / self.counts.trials))
        spread = math.hypot(self._spreads[0] / gain, self._spreads[1] / q)
        return self._greatest(lambda epsilon: self.exceeds(epsilon, delta), math.log(gain / q), spread)

    def delta_lower(self, epsilon: float) -> float:
        """A lower bound on every delta with p <= e**epsilon q + delta, at this epsilon (nats, inf allowed)."""
        slope = math.exp(min(nonnegative(epsilon), 300.0))
        p, q = self.counts.smoothed  # as in `epsilon_lower`
        spread = math.hypot(self._spreads[0], slope * self._spreads[1])
        return self._greatest(lambda delta: self.exceeds(epsilon, delta), p - slope * q, spread)

    def _greatest(self, exceeds: Callable[[float], bool], most: float, spread: float) -> float:
        """The greatest number that is exceeded, by halving, between 0 and `most`; 0 where none is.

        spread: about the standard deviation of the estimate of that number.
        """
        if most <= 0 or not exceeds(0.0):
            return 0.0
        low, high, near = 0.0, most, most - 2 * self._deviations[0] * spread
        if near > 0:
            low, high = (near, high) if exceeds(near) else (low, near)
        while high - low > _FINER * self.fineness * spread:
            middle = (low + high) / 2
            low, high = (middle, high) if exceeds(middle) else (low, middle)
        return low

    @cached_property
    def _spreads(self) -> tuple[float, float]:
        """About the standard deviations of the two frequencies."""
        p, q = self.counts.smoothed
        return math.sqrt(p * (1 - p) / self.counts.trials), math.sqrt(q * (1 - q) / self.counts.other_trials)

    def exceeds(self, epsilon: float, delta: float = 0.0) -> bool:
        """Whether epsilon (nats, >= 0) and delta are refuted: no point of the region keeps to them, up to the fineness.

        On a cell [a, b] of p, (a - delta) e**-epsilon is the least q that the claim allows: its deviation must be above
        the cell's limit. Where even that of b is not above the limit at b alone, a point of the region obeys the claim.
        """
        delta = _checked_delta(delta)
        epsilon = nonnegative(epsilon)
        if self.counts.hits == 0 or self._first_edges[0][0] <= delta:
            return False
        starts, ends = self._first_edges
        for _ in range(_ROUNDS):
            limits, at_ends = self._limits(starts, ends)
            allowed = np.clip((np.append(starts, ends) - delta) * math.exp(-epsilon), 0.0, 1.0)
            of_q = np.clip(
                self._deviation_of_q(allowed), 2 * _LEAST_LIMIT, -2 * _LEAST_LIMIT
            )  # where they are infinite
            clear = of_q[len(starts) :] - at_ends
            if np.any(clear <= _FINER * self.fineness):
                return False
            missing = limits + _SHAVE - of_q[: len(starts)]
            open_ = missing > 0
            if not np.any(open_):
                return True
            starts, ends = _split(starts[open_], ends[open_], 1 + missing[open_] / clear[open_])
        return False

    @cached_property
    def _first_edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Where cells of p start and end, up to 1: no p below is in the region, the last is past the cut."""
        first, last = lower_limits(
            self.counts.hits, self.counts.trials, np.array([_P_SHARE * self.error, special.ndtr(_CUT)])
        )
        cells = _FIRST_CELLS if self.fineness < _ROUGH else _FIRST_CELLS // 2
        edges = np.ones(cells + 1)
        edges[:-1] = np.minimum(first * np.exp(np.linspace(0.0, math.log(last / first), cells)), 1.0)
        return edges[:-1], edges[1:]

    def _limits(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each cell of p: no deviation of q above the first is in the region; at its end, none above the second."""
        z, most = self._deviations
        of_p = np.maximum(deviation(self.counts.hits, self.counts.trials, ends), -_CUT)
        # The limit of e is z (1 + s**2)**(1/2) - s d in s = w1 / w2, convex for z >= 0, that is, for error <= 1/2:
        # greatest at the greatest or the least s of the cell, which its ends have.
        s = self._weight(np.array([starts, ends]))
        limits = np.maximum(np.minimum(z * np.hypot(1.0, s) - s * of_p, most), _LEAST_LIMIT)
        return limits.max(axis=0), limits[1]

    @cached_property
    def _deviations(self) -> tuple[float, float]:
        """The weighted sum's greatest value in the region, and e's."""
        z = -special.ndtri(self.error * (1 - _P_SHARE - _Q_SHARE) / (1 + special.ndtr(-_CUT)))
        return float(z), float(-special.ndtri(_Q_SHARE * self.error))

    def _deviation_of_q(self, q: np.ndarray) -> np.ndarray:
        """e(q), -inf where every q in [0, 1) is possible, and inf for q = 1, which none is."""
        hits, trials = self.counts.other_hits, self.counts.other_trials
        found = np.full_like(q, -math.inf) if hits == trials else -deviation(hits + 1, trials, q)
        return np.where(q == 1, math.inf, found) if hits < trials else found

    def _weight(self, p: np.ndarray) -> np.ndarray:
        """w1 / w2: proportional to the standard deviations of X/n and of ratio * Y/m on the line of the design.

        It falls in p, as p (1 - p) / (q (1 - q)) does, both for q = (p - delta) / ratio and for q = c p, c <= 1.
        """
        ratio = math.exp(min(self.design_epsilon, 300.0))
        q = np.maximum((p - self.design_delta) / ratio, _LEAST_Q_SHARE * p / ratio)
        of_p = p * (1 - p) / self.counts.trials
        of_q = ratio**2 * q * (1 - q) / self.counts.other_trials
        return np.sqrt(np.divide(of_p, of_q, out=np.zeros_like(of_p), where=of_p > 0))


def _checked_delta(delta: float) -> float:
    return between(delta, "delta", "in [0, 1]", lambda found: 0 <= found <= 1)


def _split(starts: np.ndarray, ends: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cells in pieces, as many as their widths say, and a quarter more; at most 16."""
    pieces = np.clip(np.ceil(1.25 * widths), 2, _MOST_PIECES).astype(int)
    which = np.repeat(np.arange(len(pieces)), pieces)
    place = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    steps = (ends - starts)[which] / pieces[which]
    first = starts[which] + place * steps
    after = np.where(place + 1 == pieces[which], ends[which], np.append(first[1:], 1.0))
    return first, after


def _far(trials: int) -> float:
    """The deviation beyond which the other tail, the smaller one, is worked out."""
    return 2.0 if trials <= _FEW_TRIALS else 0.0


def _complement(a: int, b: int, p: np.ndarray) -> np.ndarray:
    """1 - I_p(a, b)."""
    return special.betainc(b, a, 1 - p) if a + b <= _FEW_TRIALS else special.betaincc(a, b, p)


def deviation(hits: int, trials: int, p: np.ndarray) -> np.ndarray:
    """Phi^-1(P(X < hits | p)), which falls in p; for hits >= 1."""
    found = -special.ndtri(special.betainc(hits, trials - hits + 1, p))
    late = found < -_far(trials)
    found[late] = special.ndtri(_complement(hits, trials - hits + 1, p[late]))
    return found


def lower_limit(hits: int, trials: int, error: float) -> float:
    """The Clopper-Pearson lower limit of one proportion: at most the truth with probability >= 1 - error."""
    return 0.0 if hits == 0 else float(lower_limits(hits, trials, np.array([error]))[0])


def upper_limit(hits: int, trials: int, error: float) -> float:
    """The Clopper-Pearson upper limit of one proportion: at least the truth with probability >= 1 - error."""
    return 1.0 if hits >= trials else float(_greatest(hits, trials, np.array([error]))[0])


def lower_limits(hits: int, trials: int, tail: np.ndarray) -> np.ndarray:
    """The p with P(X >= hits | p) equal to the tail: `lower_limit` for several errors; for hits >= 1."""
    a, b = hits, trials - hits + 1
    found = _nearer(a, b, special.betaincinv(a, b, tail), lambda p: special.betainc(a, b, p) - tail)
    deep = tail < _LEAST_TAIL
    return np.where(deep, _by_union(hits, trials, tail), found) if np.any(deep) else found


def _greatest(hits: int, trials: int, tail: np.ndarray) -> np.ndarray:
    """The q with P(Y <= hits | q) equal to the tail."""
    a, b = hits + 1, trials - hits
    found = _nearer(a, b, special.betainccinv(a, b, tail), lambda q: tail - _complement(a, b, q))
    deep = tail < _LEAST_TAIL
    return np.where(deep, np.nextafter(1 - _by_union(b, trials, tail), 1.0), found) if np.any(deep) else found


def _by_union(hits: int, trials: int, tail: np.ndarray) -> np.ndarray:
    """A p with P(X >= hits | p) below the tail; for hits >= 1."""
    log_choices = -special.betaln(hits + 1, trials - hits + 1) - np.log1p(trials)
    with np.errstate(divide="ignore"):
        return np.exp((np.log(tail) - log_choices - _SLACK) / hits)


def _nearer(a: int, b: int, p: np.ndarray, excess: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """After one step of Newton's towards an excess of 0, whose derivative is the density of Beta(a, b)."""
    with np.errstate(all="ignore"):
        density = np.exp(special.xlogy(a - 1, p) + special.xlog1py(b - 1, -p) - special.betaln(a, b))
        step = excess(p) / density
    small = np.abs(step) <= _FURTHEST * np.minimum(p, 1 - p)  # False for nan
    return np.where(small, p - step, p)


def check_arguments(claimed_epsilon: float | None, claimed_delta: float, samples: int, confidence: float) -> None:
    """ValueError that names the argument, its value and what is accepted."""
    check_claim(claimed_epsilon, claimed_delta)
    whole(samples, "samples", 10)
    check_confidence(confidence)


def check_claim(claimed_epsilon: float | None, claimed_delta: float) -> None:
    """ValueError unless claimed_epsilon is None or a number >= 0, inf included, and claimed_delta is in [0, 1)."""
    if claimed_epsilon is not None:
        between(claimed_epsilon, "claimed_epsilon", "a number >= 0, or None", lambda one: one >= 0)
    between(claimed_delta, "claimed_delta", "in [0, 1)", lambda one: 0 <= one < 1)


def check_confidence(confidence: float) -> None:
    """ValueError outside [0.5, 1). Below 0.5 the cells of `Region` would not enclose what they are said to."""
    between(confidence, "confidence", "in [0.5, 1)", lambda one: 0.5 <= one < 1)
