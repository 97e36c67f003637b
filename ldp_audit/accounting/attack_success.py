"""The success of the best attack: guesses, posteriors, detections, and the probability of a large loss.

One attacker knows all but one bit, which of two neighbours the input was, and sees the output. With L the privacy loss
and pi the prior probability of the one, the posterior odds are the prior odds times e**L.

* The best guess at even odds is right with probability (1 + delta(0))/2; at prior pi, with probability 1 - pi + pi
  delta(ln((1 - pi)/pi)) for pi <= 1/2.
* (epsilon, delta) does not say that L exceeds epsilon with probability delta: the probability may be larger. It is P(L
  > epsilon) = delta(epsilon) + e**epsilon Q(L > epsilon), and Q's tail is the slope of delta over t = e**epsilon, which
  is convex. So for every step s > 0, with d the profile of the pair,

      d(epsilon) + (d(epsilon) - d(epsilon + s))/(e**s - 1) <= P(L > epsilon)
                                          <= (d(epsilon - s) - e**-s d(epsilon))/(1 - e**-s).

  A pair with a smaller profile may exceed an epsilon more often, unless both are Gaussian noise. For all pairs whose
  profile is at most d, P(L > epsilon) <= d(epsilon - s)/(1 - e**-s), as above epsilon a loss counts in d(epsilon - s)
  with 1 - e**-s or more.

* The limit of delta at infinite epsilon is the probability that an output shows outright which of the two it was.
* The largest true-positive rate at a false-positive rate alpha is 1 - f(alpha) for the trade-off curve f, a difference
  that loses every digit of a small rate. With t = e**epsilon over all real epsilon (Dong, Roth, Su, "Gaussian
  Differential Privacy", JRSS B 2022, Proposition 6) it is

      rate(alpha) = inf over t of (t alpha + delta(t)),

  where any t gives an upper bound. A t = 1/u below 1 is evaluated on the reversed loss: there the value is (1 - 1/u) +
(alpha + delta'(u))/u. All terms are positive, so nothing cancels. From below: delta is convex in t, so between two
epsilons it lies above the chords that are prolonged from either side. Both values are monotone in t (or u) along a
line, so the least is at a known epsilon or where two such lines meet; the next epsilon to evaluate is where that least
is. For finitely many losses the best tests are "the loss exceeds c", added up from the largest loss on; for Gaussian
noise the rate is Phi(Phi^-1(alpha) + mu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.hulls import levels_of
from ldp_audit.losses.loss import Atoms, PairLoss, attained, known_atoms, side
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.numerics import instance, log_of_delta, nonnegative, probability

_ROUNDING = 2e-12
"""By how much, of itself, a delta may be wrong."""
_STEPS = tuple(10.0**-i for i in range(2, 8))
"""Steps for the slope of delta, as shares of epsilon, or in nats below 1."""
_TRIED, _HUGEST = 24, 1e300
"""Steps that are tried at a time for the probability of a larger loss, and the largest of them, nats."""


@dataclass(frozen=True)
class Bracket:
    """A number between two bounds."""

    lower: float
    upper: float

    def __str__(self) -> str:
        low, high = f"{self.lower:.4g}", f"{self.upper:.4g}"
        return high if low == high else f"between {low} and {high}"


def advantage(loss: PrivacyLoss) -> Bracket:
    """The best attack's true-positive rate less its false-positive rate: delta(0), the total variation distance."""
    return Bracket(*_given(loss).delta_bounds(0.0))


def guess_accuracy(loss: PrivacyLoss, prior: float = 0.5) -> Bracket:
    """The probability that the best guess is right, at this prior probability of one of the neighbours.

    prior: in [0, 1]; ValueError for anything else. Without the output it is max(prior, 1 - prior).
    """
    chance = probability(prior, "prior")
    rarer = min(chance, 1 - chance)
    if rarer == 0:
        return Bracket(1.0, 1.0)
    low, high = _given(loss).delta_bounds(math.log((1 - rarer) / rarer))
    return Bracket(1 - rarer + rarer * low, 1 - rarer + rarer * high)


def posterior(prior: float, epsilon: float) -> Bracket:
    """The least and the largest posterior probability when the privacy loss is at most epsilon either way.

    prior: in [0, 1].   epsilon: nats, >= 0. Raises ValueError for anything else.
    """
    chance, top = probability(prior, "prior"), nonnegative(epsilon)
    if chance in (0.0, 1.0):
        return Bracket(chance, chance)
    odds = math.log(chance) - math.log1p(-chance)
    return Bracket(expit(odds - top), expit(odds + top))


def loss_exceeds(loss: PrivacyLoss, epsilon: float) -> Bracket:
    """The probability that the privacy loss exceeds epsilon, for the worse of the directions.

    It is at least delta(epsilon), and often more. epsilon: nats, >= 0; ValueError for anything else.
    """
    asked = nonnegative(epsilon)
    if math.isinf(asked):
        return Bracket(*_given(loss).delta_bounds(asked))
    ends = [_tail(pair, asked) for pair in _given(loss).directions]
    return Bracket(max(low for low, _ in ends), max(high for _, high in ends))


def epsilon_with_probability(loss: PrivacyLoss, delta: float) -> float:
    """An epsilon that the privacy loss exceeds with probability at most delta, nats: an upper bound of the least.

    It is at least that of (epsilon, delta)-privacy; infinite where an output may show its input with a larger
    probability. delta: in [0, 1]; ValueError for anything else.
    """
    log_of_delta(delta, None)
    low, high = _given(loss).epsilon(delta), loss.supremum()
    if math.isinf(low) or loss_exceeds(loss, low).upper <= delta:
        return low
    reach = min(high, 1 + 2 * low)
    while loss_exceeds(loss, reach).upper > delta:
        if reach >= high:
            return high
        low, reach = reach, min(high, 2 * reach)
    while reach - low > 1e-7 * reach:
        middle = (low + reach) / 2
        low, reach = (low, middle) if loss_exceeds(loss, middle).upper <= delta else (middle, reach)
    return reach


def shown_outright(loss: PrivacyLoss) -> Bracket:
    """The probability of an output that only one of the neighbours can give: delta at infinite epsilon."""
    return Bracket(*_given(loss).delta_bounds(math.inf))


def detection(loss: PrivacyLoss, false_alarm: float) -> Bracket:
    """The best attack's true-positive rate at this false-positive rate: see `detection_rate`.

    false_alarm: in [0, 1]; ValueError for anything else.
    """
    return Bracket(*detection_bounds(loss, probability(false_alarm, "false_alarm")))


def _given(loss: PrivacyLoss) -> PrivacyLoss:
    instance(loss, PrivacyLoss, "loss", "a PrivacyLoss, as privacy_loss gives it")
    return loss


def _tail(loss: PairLoss, epsilon: float) -> tuple[float, float]:
    """P(L > epsilon) for one direction: of this pair from below, of all pairs that it dominates from above."""
    if epsilon >= loss.supremum():
        return 0.0, 0.0
    low, high = _ends(loss, epsilon)
    if reached := attained(loss):
        least = max(low, *(_tail(one, epsilon)[0] for one in reached))
        return least, max(least, _above(loss, epsilon))
    atoms, known = known_atoms(loss), loss.known()
    if atoms is not None and not atoms.error:
        above = np.append(atoms.log_probabilities[atoms.losses > epsilon], atoms.log_infinite)
        least = min(1.0, float(np.exp(np.logaddexp.reduce(above))))
        return least, max(least, _above(loss, epsilon))
    least, most, gaussian = low, 1.0, known is not None and known.dominating_gaussian()[1]
    for step in (part * max(1.0, epsilon) for part in _STEPS):
        before, after = _ends(loss, epsilon - step)[1], _ends(loss, epsilon + step)[1]
        doubt = _ROUNDING * before / -math.expm1(-step)
        most = min(most, (before - math.exp(-step) * low) / -math.expm1(-step) + doubt)
        least = max(least, low + (low - after) * math.exp(-step) / -math.expm1(-step) - doubt)
    return least, max(least, high, most if gaussian else _above(loss, epsilon))


def _above(loss: PairLoss, epsilon: float) -> float:
    """An upper bound of P(L > epsilon) for every pair that this one dominates: the least d(epsilon - s)/(1 - e**-s)."""

    def bound(log_step: float) -> float:
        step = math.exp(log_step)
        return _ends(loss, epsilon - step)[1] * (1 + _ROUNDING) / -math.expm1(-step)

    steps = np.linspace(math.log(1e-6), math.log(min(2 * epsilon + 40, _HUGEST)), _TRIED)
    for _ in range(3):  # the quotient falls to its least and rises again
        values = [bound(one) for one in steps]
        place = int(np.argmin(values))
        steps = np.linspace(steps[max(0, place - 1)], steps[min(_TRIED - 1, place + 1)], _TRIED)
    return min(1.0, values[place])


def _ends(loss: PairLoss, epsilon: float) -> tuple[float, float]:
    low, high = loss.log_delta_bounds(epsilon)
    return math.exp(low), math.exp(high)


_MOST_ATOMS = 200_000
_LEVELS, _MOST_LOOKS, _CLOSE = 16, 60, 1e-9
_FARTHEST = 700.0
"""Epsilons beyond are left out: e**epsilon would overflow."""
_INSIDE = 0.1
"""The share of a cell's width that a new epsilon keeps from its ends."""
_HUGE = 600.0
_SMALL, _LEAST = 1e-290, 4 * math.ulp(0.0)
"""Below _SMALL normal probabilities lose digits; _LEAST is the rounding of the least floats."""


def detection_bounds(loss: PrivacyLoss, alpha: float) -> tuple[float, float]:
    """Bounds on the best attack's true-positive rate, in whichever order of the neighbours is worse.

    alpha: the false-positive rate, in [0, 1]. The bounds agree to about 1e-11 of themselves for Gaussian noise and for
    finitely many losses, and to about 1e-9 where delta is exact.
    """
    losses = _given(loss).directions
    if probability(alpha, "alpha") == 1:
        return 1.0, 1.0
    ends = [_of_pair(pair, alpha) for pair in losses]
    low, high = max(low for low, _ in ends), max(high for _, high in ends)
    return max(0.0, low - _LEAST), min(1.0, high + _LEAST if high > 0 else 0.0)


def _of_pair(loss: PairLoss, alpha: float) -> tuple[float, float]:
    if alpha == 0:
        low, high = loss.log_delta_bounds(math.inf)
        return _moved(low, -1), _moved(high, 1)
    if reached := attained(loss):
        high = _of_pair(side(loss, 1), alpha)[1]
        return min(high, max(_of_pair(one, alpha)[0] for one in reached)), high
    mu, gaussian = (math.inf, False) if (known := loss.known()) is None else known.dominating_gaussian()
    if gaussian:
        found = float(ndtr(ndtri(alpha) + mu))
        if found < _SMALL:
            found = math.exp(log_ndtr(ndtri_exp(math.log(alpha)) + mu))
        return found * (1 - _ROUNDING), found * (1 + _ROUNDING)
    atoms = known_atoms(loss, _MOST_ATOMS)
    if atoms is not None and not atoms.error:
        found, doubt = _of_atoms(atoms, math.log(alpha)), _ROUNDING + 2.0**-52 * atoms.losses.size
        return found * (1 - doubt), found * (1 + doubt)
    return bounds_of_profile(loss, alpha)


def _of_atoms(atoms: Atoms, log_alpha: float) -> float:
    """The outputs of the largest losses, until alpha is used up; masses under Q as shares of alpha."""
    losses, logs = atoms.losses[::-1], atoms.log_probabilities[::-1]
    true = math.exp(atoms.log_infinite) + np.concatenate([[0.0], np.cumsum(np.exp(logs))])
    used = np.concatenate([[0.0], np.cumsum(np.exp(np.minimum(logs - losses - log_alpha, _HUGE)))])
    place = int(np.searchsorted(used, 1.0, side="right")) - 1
    if place == losses.size:
        return 1.0
    left = 1 - float(used[place])
    part = math.exp(min(0.0, math.log(left) + log_alpha + float(losses[place]))) if left > 0 else 0.0
    return min(1.0, float(true[place]) + part)


def bounds_of_profile(loss: PairLoss, alpha: float) -> tuple[float, float]:
    """The bounds from delta at few epsilons of either sign. alpha: in (0, 1)."""
    sides = _Side(loss, alpha, mirrored=False), _Side(loss.reversed(), alpha, mirrored=True)
    for _ in range(_MOST_LOOKS):
        high = min(side.highest for side in sides)
        side = min(sides, key=lambda one: one.least[0])
        if side.least[0] >= high * (1 - _CLOSE) or side.least[1] is None:
            break
        side.look(side.least[1])
    low = min(side.least[0] for side in sides)
    return max(alpha * (1 - _ROUNDING), low), max(alpha, min(side.highest for side in sides)) * (1 + _ROUNDING)


@dataclass
class _Side:
    """The epsilons >= 0 of one loss.

    mirrored: whether they stand for -epsilon.   highest: the upper bound that they give.
    least: the lower bound, and the next epsilon to evaluate; None where that would not raise it.
    """

    loss: PairLoss
    alpha: float
    mirrored: bool
    levels: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    highest: float = field(init=False)
    least: tuple[float, float | None] = field(init=False)

    def __post_init__(self) -> None:
        farthest = min(_FARTHEST, self.loss.supremum())
        if not self.mirrored:
            farthest = min(farthest, -math.log(self.alpha))  # where t alpha alone is 1
        levels = levels_of(self.loss, _LEVELS)
        for one in (*levels[(levels >= 0) & (levels < farthest)], farthest):
            self._add(float(one))
        self.floor = _moved(self.loss.log_delta_bounds(math.inf)[0], -1)
        self._conclude()

    def look(self, level: float) -> None:
        """Evaluate one epsilon more."""
        self._add(level)
        self._conclude()

    def _add(self, level: float) -> None:
        low, high = self.loss.log_delta_bounds(level)
        place = int(np.searchsorted(self.levels, level))
        self.levels.insert(place, level)
        self.lows.insert(place, _moved(low, -1))
        self.highs.insert(place, _moved(high, 1))

    def _conclude(self) -> None:
        levels, lows, highs = (np.array(a) for a in (self.levels, self.lows, self.highs))
        above = np.expm1(levels)  # t - 1, with its own digits
        self.highest = float(self._value(above, highs).min())
        beyond = float(self._value(above[-1:], np.array([self.floor]))[0])
        least = min(float(self._value(above, lows).min()), beyond)
        places, heights = _meetings(above, lows, highs)
        values = self._value(places, heights)
        if not values.size or values.min() >= least:
            self.least = least * (1 - _ROUNDING), None
            return
        cell = int(values.argmin())
        start, width = float(levels[cell]), float(levels[cell + 1] - levels[cell])
        share = min(max((math.log1p(float(places[cell])) - start) / width, _INSIDE), 1 - _INSIDE)
        after = start + share * width
        narrow = not levels[cell] < after < levels[cell + 1]
        self.least = float(values[cell]) * (1 - _ROUNDING), None if narrow else after

    def _value(self, above: NDArray[np.float64], deltas: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rate at t = 1 + above with this delta, shape of `above`."""
        if self.mirrored:
            return (above + self.alpha + deltas) / (1 + above)
        return (1 + above) * self.alpha + deltas


def _meetings(
    above: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """In each cell between two t = 1 + above, where prolonged chords meet, and a delta never above the true one.

    From the left delta falls at most as fast as any chord that ends at the cell's left end, and at most with slope -1;
    from the right, at least as fast as any that begins at its right end, or not at all.
    """
    rises = above[:, None] - above[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        chords = (low[:, None] - high[None, :]) / rises  # [i, j]: from j to i, for j < i the one that ends in i
        behind = (high[None, :] - low[:, None]) / -rises  # for j > i the one that begins in i
    earlier = np.tri(above.size, k=-1, dtype=bool)
    from_left = np.maximum(-1.0, np.where(earlier, chords, -1.0).max(axis=1))[:-1]
    from_right = np.minimum(0.0, np.where(earlier.T, behind, 0.0).min(axis=1))[1:]
    width = np.diff(above)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (low[1:] - low[:-1] - from_right * width) / (from_left - from_right)
    step = np.clip(np.nan_to_num(step, nan=0.0, posinf=0.0, neginf=0.0), 0.0, width)
    left, right = low[:-1] + from_left * step, low[1:] + from_right * (step - width)
    return above[:-1] + step, np.maximum(low[1:], np.minimum(left, right) - _ROUNDING * low[:-1])


def _moved(log: float, way: int) -> float:
    """A delta from its logarithm, rounded up (way 1) or down (-1); an upper bound is 0 for a true 0 alone."""
    value = math.exp(log) * (1 + way * _ROUNDING)
    return value or (math.ulp(0.0) if way > 0 and log > -math.inf else 0.0)
