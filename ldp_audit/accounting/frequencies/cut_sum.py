r"""Sums of losses of which rare ones are far larger than all others together: the largest counted apart.

Where every tilt that reaches a level may be one of a few rare losses alone, no tilt tells the sum at that level. So let
c be a cut well above it. With N for how many losses of the sum L are above c,

    delta(epsilon) = E[(1 - e**(epsilon - L))_+; N = 0] + E[1 - e**(epsilon - L); N > 0] + R,
    R = E[(e**(epsilon - L) - 1)_+; N > 0] >= 0.

The first is the hockey stick of the losses that are left, whose tilts leap no more. The second is

    P(N > 0) - e**epsilon Q(N > 0) = 1 - prod (1 - p)**T - e**epsilon (1 - prod (1 - q)**T),

where p and q are what P and Q have above c of a loss that counts T times. R needs a loss above c and yet a sum below
epsilon. It is at most e**epsilon Q(L < epsilon, N > 0), and so for every u >= 1 and every b < 0, with m and M the means
under P of e**(-u loss) over losses above c, and over all that are not below b, at most

    e**(u epsilon) sum (T m / M) prod M**T + e**epsilon (sum T q) (sum T Q(loss < b)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.frequencies.kept_atoms import RareAtoms, split
from ldp_audit.accounting.frequencies.tilt_rules import Ends, TiltRules, wanted_width
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

_EPS = 2.0**-52
_BEYOND = 8.0
"""How many deviations of what is left the cut lies above the level, and above its mean, at least."""
_PER_OCTAVE = 2
_MOST_ROUNDS = 200
_STEEPNESS, _BELOW = (0.0, 2.0, 4.0, 8.0, 16.0), (2.0, 8.0, 32.0)
"""The u that are tried, over the deviation of what is left, and the b, over u."""
_SLACK = 1e-9
_LEAP, _STEEPER = 1.5, 4.0
"""By how many times the deviation is larger, under their tilts, with the losses above the cut, or the tilt is steeper
without them, if those matter."""
_NEAREST, _STEPS = 1e-9, 40
"""How small a part of a level by tilts alone the true one may be, and how often it is halved."""


class Closed(NamedTuple):
    """ln of both ends of what the losses above the cut add to delta."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Cut:
    """A sum cut at one loss.

    laws: of the losses, each with how often it counts.   kept: the sum of those up to the cut.   rare: what is left out
    of each law.   top: the cut, nats.   rules: of `kept`.
    """

    laws: Sequence[tuple[LossAtoms, int]]
    kept: AtomSum
    rare: tuple[RareAtoms, ...]
    top: float
    rules: TiltRules

    @cached_property
    def mean(self) -> float:
        """Of what is left, nats."""
        return self.kept.mean(0.0)

    @cached_property
    def deviation(self) -> float:
        """Of what is left, nats."""
        return self.kept.deviation(0.0)

    def ends(self, epsilon: float) -> Ends:
        """ln of both ends of delta."""
        low, high = self.rules.ends(epsilon)[0]
        closed = self.closed(epsilon)
        return min(0.0, float(np.logaddexp(low, closed.low))), min(0.0, float(np.logaddexp(high, closed.high)))

    def closed(self, epsilon: float) -> Closed:
        """What the losses above the cut add; the level lies below it."""
        first = _log_any([(one.logs, times) for one, (_, times) in self._counted()])
        second = _log_any([(one.logs - one.losses, times) for one, (_, times) in self._counted()]) + epsilon
        deepest = max((float(-one.logs.min(initial=0.0)) for one in self.rare), default=0.0)
        wrong = _EPS * (64 + 4 * deepest + 4 * abs(epsilon))
        ratio = math.exp(min(second - first, 0.0))
        least, most = 1 - ratio - wrong * (1 + ratio), 1 - ratio + wrong * (1 + ratio)
        rest = min(self._log_beyond(epsilon), second) + _SLACK
        return Closed(
            first + math.log(least) if least > 0 else -math.inf, float(np.logaddexp(first + math.log(most), rest))
        )

    def _counted(self) -> list[tuple[RareAtoms, tuple[LossAtoms, int]]]:
        return [(one, law) for one, law in zip(self.rare, self.laws, strict=True) if one.losses.size]

    def _log_beyond(self, epsilon: float) -> float:
        """ln of an upper end of R."""
        found, scale = math.inf, max(self.deviation, 1e-300)
        for steep in {max(1.0, one / scale) for one in _STEEPNESS}:
            for part in _BELOW:
                found = min(found, self._log_rest(epsilon, steep, -part / steep))
        return found

    def _log_rest(self, epsilon: float, steep: float, bottom: float) -> float:
        """The bound for one u and one b."""
        total, large, both, lows = steep * epsilon + 4 * _EPS * steep * (abs(epsilon) + self.top), [], [], []
        with np.errstate(over="ignore"):  # of a sum without a deviation u is beyond what floats can add up
            for one, (law, times) in zip(self.rare, self.laws, strict=True):
                inner = law.losses >= bottom
                inner[-1] = True
                mean = _log_sum((law.log_probabilities - steep * law.losses)[inner])
                total += times * mean + _EPS * times * (16 + abs(mean) + 4 * steep)
                many = math.log(times)
                large.append(many - mean + _log_sum(one.logs - steep * one.losses))
                both.append(many + _log_sum(one.logs - one.losses))
                lows.append(many + _log_sum((law.log_probabilities - law.losses)[~inner]))
            first = total + _log_sum(np.array(large))
        if not first < math.inf:
            return math.inf
        return float(np.logaddexp(first, epsilon + _log_sum(np.array(both)) + _log_sum(np.array(lows)))) + _SLACK


@dataclass(frozen=True, eq=False)
class CutSum:
    """For a sum and the width asked for, nats."""

    total: AtomSum
    width: float
    _cuts: dict[int, Cut] = field(default_factory=dict, init=False, repr=False)

    def at(self, epsilon: float) -> Cut | None:
        """The cut that serves this level; None where no loss is so large."""
        largest = max(float(law.losses[-1]) for law, _ in self.total.laws)
        if not math.isfinite(epsilon) or largest <= 0:
            return None
        place = math.ceil(_PER_OCTAVE * math.log2(largest))
        found = None
        for _ in range(_MOST_ROUNDS):
            cut = self._cut(place)
            wanted = max(epsilon - cut.mean, 0.0) + _BEYOND * cut.deviation
            lower = math.ceil(_PER_OCTAVE * math.log2(wanted)) if wanted > 0 else place
            if lower >= place:
                break
            place, found = lower, True
        cut = self._cut(place) if found else None
        return cut if cut is not None and any(one.losses.size for one in cut.rare) else None

    def leap(self, epsilon: float) -> Cut | None:
        """The same, where the tilt for this level is one of the losses above the cut, or is held back by them."""
        cut = self.at(epsilon)
        if cut is None:
            return None
        tilt, kept = self.total.tilt_for(epsilon), cut.kept.tilt_for(epsilon)
        if tilt is None or kept is None:
            return None if kept is None else cut
        leaps = self.total.deviation(tilt) > _LEAP * cut.kept.deviation(kept)
        return cut if leaps or kept > _STEEPER * tilt else None

    def level_near(self, log_delta: float, level: float) -> float:
        """About the level with this ln delta, nats, if the one given is about that by tilts alone: a hint."""
        if self.at(level) is None:
            return level
        low, high = math.log(_NEAREST * level), math.log(level)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._about(math.exp(middle)) > log_delta else (low, middle)
        return math.exp((low + high) / 2)

    def _about(self, epsilon: float) -> float:
        """About ln delta."""
        cut = self.at(epsilon)
        if cut is None:
            return self.total.log_delta_near(epsilon)
        return float(np.logaddexp(cut.kept.log_delta_near(epsilon), cut.closed(epsilon).high))

    def near(self, cut: Cut, epsilon: float, ends: Ends) -> bool:
        """Whether these ends are as near as the width asks for."""
        return cut.ends(epsilon + wanted_width(self.width, epsilon))[1] <= ends[0]

    def _cut(self, place: int) -> Cut:
        """That at 2**(place/2) nats."""
        if place not in self._cuts:
            top = 2.0 ** (place / _PER_OCTAVE)
            pairs = [split(law, top) for law, _ in self.total.laws]
            left = tuple((one, times) for (one, _), (_, times) in zip(pairs, self.total.laws, strict=True))
            kept = AtomSum(left)
            rare = tuple(rare for _, rare in pairs)
            self._cuts[place] = Cut(self.total.laws, kept, rare, top, TiltRules(kept, self.width))
        return self._cuts[place]


def _log_sum(logs: NDArray[np.float64]) -> float:
    """ln of the sum of e**logs; minus infinity for none."""
    top = float(logs.max(initial=-math.inf))
    return top if not math.isfinite(top) else top + math.log(float(np.exp(logs - top).sum()))


def _log_any(masses: Sequence[tuple[NDArray[np.float64], int]]) -> float:
    """ln of the probability that anything happens of what has these masses in all, each so many times."""
    logs = [(_log_sum(one), times) for one, times in masses]
    added = _log_sum(np.array([log + math.log(times) for log, times in logs]))
    if added < -40:  # where the sum is right to the last digit
        return added
    return math.log(-math.expm1(math.fsum(times * math.log1p(-math.exp(min(log, -1e-9))) for log, times in logs)))
