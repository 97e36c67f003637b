r"""delta of a sum of losses on samples, added up by the largest of the noisy values.

A value so large that the record alone explains it is rare, and its loss may be as large as that of all others together.
Then no single tilt serves: where M(c) tells anything of the bulk, large values are all that it consists of. So outcomes
are told apart by where the largest value lies, in parts that are each so short that a tilt serves (`largest_part`).
Each part's delta adds to the total, and those that are negligible by Chernoff's bound are not worked out.

Of a part whose losses are nearly all above the level, P and Q have M(0) and M(-1), and its delta is

    M(0) - e**epsilon M(-1) + E[(e**(epsilon - L) - 1)_+],

whose last term is at most M(-1 - t) e**((1 + t) epsilon) t**t/(1 + t)**(1 + t) for every t > 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_audit.accounting.contour.contour_plan import ContourPlan
from ldp_audit.accounting.contour.largest_part import LargestPart
from ldp_audit.accounting.contour.smooth_part import BEYOND, LEFT_OUT, SmoothPart
from ldp_audit.accounting.contour.sum_plan import sum_plan
from ldp_audit.accounting.contour.symmetric_transform import SymmetricTransform
from ldp_audit.accounting.contour.transform import EPS, Transform
from ldp_audit.accounting.contour.value_parts import OnSamples, blur, part_ends, value_of

_NEGLIGIBLE, _CLOSE, _VAGUE = 40.0, 1e-10, 0.01
"""-ln of the share of delta that is no matter; how near the ends of a part must be, of all delta; and how far they are
apart where nothing is gained by the other parts'."""
_FARTHEST, _STEP, _NEAR, _CORRECTED, _SKIPPED = 70.0, 0.05, 1e-3, 4, 200.0
"""ln of the largest level that is looked at, of the first step from a guess, and of how near one is found, after so
many corrections; and how small a part must be that those below it are."""
_NEVER = 40.0
"""Deviations that no value ever reaches."""
_STEEPER, _ABOVE = (1.0, 3.0, 9.0, 27.0, 81.0), 2.0
"""The t that are tried, where the part's losses seem to be above the level."""

Counted = Sequence[tuple[Transform, int]]
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ByLargest:
    """The sum, by its parts.

    plans: of the parts' transforms, from the one with the largest values down.
    belows: of all that is below each part, shape as plans but for the last, below which there is nothing.
    times: how many losses there are in all.
    """

    plans: Sequence[ContourPlan]
    belows: Sequence[ContourPlan]
    times: int

    def log_delta_ends(self, epsilon: float) -> tuple[Ends, float]:
        """ln of a lower and of an upper end of delta(epsilon), and about how fast it falls."""
        ends, rest = self._closed_ends(epsilon)
        vague = False  # then the other parts need not be worked out
        for i in sorted(range(len(ends)), key=lambda i: ends[i][1], reverse=True):
            low, high = ends[i]
            top = max(low for low, _ in ends)
            if high < top - _NEGLIGIBLE or vague:
                break
            if high + math.log(max(-math.expm1(low - high), 1e-300)) > top + math.log(_CLOSE):
                line = self.plans[i].line(epsilon)
                more = (-math.inf, 0.0) if line is None else line.ends(epsilon)
                ends[i] = max(low, more[0]), min(high, more[1])
                vague = ends[i][0] < ends[i][1] - _VAGUE and ends[i][1] > top
        lows, highs = zip(*ends, strict=True)
        line = self.plans[int(np.argmax(lows))].line_at_hand(epsilon)
        # all parts together may lack so much of each outcome
        high = min(0.0, float(np.logaddexp.reduce([rest, *highs])) + 2 * LEFT_OUT * self.times)
        return (float(np.logaddexp.reduce(lows)), high), 0.0 if line is None else line.c

    def _closed_ends(self, epsilon: float) -> tuple[list[Ends], float]:
        """Ends of the parts' deltas without lines, for all parts that may count; ln of a bound on that of the rest."""
        ends: list[Ends] = []
        enough = -math.inf
        for i, plan in enumerate(self.plans):
            ends.append(_closed(plan, epsilon, enough))
            enough = max(enough, ends[-1][0] - _NEGLIGIBLE, ends[-1][1] - _SKIPPED)
            if i < len(self.belows) and (rest := self.belows[i].log_chernoff(epsilon, enough)) < enough:
                return ends, rest
        return ends, -math.inf

    def epsilon_near(self, log_delta: float, guess: float) -> float:
        """About the level with this ln delta; 0 where it is there already, not a number where none is found.

        guess: where it may be.
        """
        bias, found = 0.0, guess
        for _ in range(_CORRECTED):
            found = self._level(log_delta - bias, found)
            if not 0 < found < math.inf:
                break
            low, high = self.log_delta_ends(found)[0]
            if high - low > 1 or abs(high - log_delta) < _NEAR:
                break
            bias = high - self._log_about(found)
        return found

    def _level(self, log_delta: float, guess: float) -> float:
        """Where ln delta is about this."""
        above = self._log_about(guess) > log_delta
        low = high = math.log(guess)
        step = _STEP
        while (self._log_about(math.exp(high if above else low)) > log_delta) == above:
            if abs(high if above else low) > _FARTHEST:
                return math.nan if above else 0.0
            low, high = (high, high + step) if above else (low - step, low)
            step *= 2
        while high - low > _NEAR:
            middle = (low + high) / 2
            low, high = (middle, high) if self._log_about(math.exp(middle)) > log_delta else (low, middle)
        return math.exp(high)

    def _log_about(self, epsilon: float) -> float:
        """About ln delta."""
        found, best = [], -math.inf
        for plan in self.plans:
            found.append(plan.log_about(epsilon))
            best = max(best, found[-1])
            if found[-1] < best - _SKIPPED:
                break
        return float(np.logaddexp.reduce(found))


def _closed(plan: ContourPlan, epsilon: float, enough: float) -> Ends:
    """Ends of one part's delta without a line; no upper one below `enough` is looked for."""
    high = plan.log_chernoff(epsilon, enough)
    first, second = plan.masses
    gain = epsilon + second[1] - first[0]
    if gain >= 0 or first[0] == -math.inf:
        return -math.inf, high
    slack = 16 * EPS * (1 + abs(first[0]) + abs(second[1]) + abs(epsilon))
    low = first[0] + math.log(-math.expm1(gain + slack)) - slack if gain + slack < 0 else -math.inf
    rest = math.inf
    for t in _STEEPER if low > high - _ABOVE else ():
        log_mean = plan.log_mean(-1 - t)
        here = log_mean + (1 + t) * epsilon + t * math.log(t) - (1 + t) * math.log1p(t)
        rest = min(rest, here + 4 * EPS * (1 + t) * (8 + abs(log_mean) + abs(epsilon)))
    less = second[0] + epsilon - first[1] - slack
    if rest < math.inf:
        certain = first[1] + math.log(-math.expm1(less)) if less < 0 else -math.inf
        high = min(high, float(np.logaddexp(certain, rest)) + slack)
    return low, high


def by_largest(parts: Counted) -> ByLargest | None:
    """The sum of these losses by its largest value; None where no loss on a sample is large, or many are."""
    noisy = sampled_parts(parts)
    if not noisy:
        return None
    losses = part_ends(noisy)
    if not losses:
        return None
    # beside others, what never has so large a loss is not told apart: its values may be too far out for any rule
    noisy = [(one, times) for one, times in noisy if value_of(one, losses[0]) < _NEVER + one.mu] or noisy
    others = [(one, times) for one, times in parts if all(one is not told for told, _ in noisy)]
    cuts = [[value_of(one, loss) for loss in losses] for one, _ in noisy]
    blurs = [blur(one.mu, ends) for (one, _), ends in zip(noisy, cuts, strict=True)]
    # a symmetric loss's values are cut apart above the sharp end of those above 0 alone
    blurs = [
        min(size, (ends[0] - one.mu / 2) / BEYOND) if isinstance(one, SymmetricTransform) else size
        for size, (one, _), ends in zip(blurs, noisy, cuts, strict=True)
    ]

    def cut(i: int, low: float, high: float) -> OnSamples:
        return noisy[i][0].cut(SmoothPart(low, high, blurs[i]))

    def below(j: int) -> ContourPlan:
        inner = [(cut(i, -math.inf, ends[j]), noisy[i][1]) for i, ends in enumerate(cuts)]
        return sum_plan([*others, *inner])

    plans, belows = [], [below(j) for j in reversed(range(len(losses)))]
    for j in reversed(range(len(losses))):
        above = [ends[j + 1] if j + 1 < len(losses) else math.inf for ends in cuts]
        inner = [(cut(i, -math.inf, ends[j]), cut(i, ends[j], above[i]), noisy[i][1]) for i, ends in enumerate(cuts)]
        plans.append(ContourPlan(LargestPart([*inner, *((one, None, times) for one, times in others)])))
    return ByLargest([*plans, belows[-1]], belows[:-1], sum(times for _, times in noisy))


def sampled_parts(parts: Counted) -> list[tuple[OnSamples, int]]:
    """Those whose losses may be large."""
    return [(one, times) for one, times in parts if isinstance(one, OnSamples) and not one.back]
