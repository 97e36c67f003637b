"""What a privacy assertion promises, and how many samples that takes: worked out before the search, then kept.

The search must find an event that shows the violation, so it is sized for the rarest event that the promise covers.
Where the outputs are a handful of values, their rarest one takes the place of that, and the search becomes cheap.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ldp_audit.auditing.arguments import check_count, is_number
from ldp_audit.auditing.bounds.binomial_tails import lower_limit
from ldp_audit.auditing.bounds.power import detectable_epsilon, plan
from ldp_audit.auditing.events.event_search import search_size
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.two_proportions import Counts, Region

CALLS = "calls"
LOOKS = (("early", 0.125, 0.05), ("planned", 1.0, 0.84), ("late", 4.0, 0.05), ("last", 16.0, 0.05))
"""Name, samples as a multiple of the plan, share of the error; programs that repeat themselves have the last 0.01."""

_SEARCHED = 12  # times the plan for the rarest event is what the search is told that it serves; it takes 0.08 of that
_PILOT = 10  # first number of the calls' keys
_FEW_VALUES = 64
_ROUNDED = 1.03  # probabilities are rounded down to powers of it, so that plans can be remembered


@dataclass(frozen=True)
class Goal:
    """What the assertion promises: epsilon and delta are claimed, a true epsilon of violation is caught with power.

    epsilon, violation: nats, 0 <= epsilon < violation.   delta: in [0, 1).   power, false_alarm: in (0, 1).
    """

    epsilon: float
    delta: float
    violation: float
    power: float
    false_alarm: float

    def error(self, name: str) -> float:
        """The share of the false alarms that this look, or the test for repeats, may spend."""
        return self.false_alarm * ({look: share for look, _, share in LOOKS} | {CALLS: 0.01})[name]

    def samples(self, share: float) -> int:
        """Per input, for the planned look at an event of probability delta + share (1 - delta), share in (0, 1].

        Half of the misses are left to the search.   Raises ValueError where no number of samples suffices.
        """
        __tracebackhide__ = True
        probability = self._rounded(share)
        power = 1 - (1 - self.power) / 2
        error = self.error("planned")
        try:
            return _planned(self.epsilon, self.violation, 1 - error, power, self.delta, probability)
        except ValueError as impossible:
            raise ValueError(
                f"detects must be further above the claim: epsilon {self.violation:.10g} cannot be told from "
                f"{self.epsilon:.10g} by an event of probability {probability:.2g} ({impossible})"
            ) from None

    def detectable(self, seen: Counts, trials: int) -> float:
        """The smallest epsilon that the planned look catches with probability 0.95, so often as the event was seen."""
        p, _ = seen.smoothed
        if p <= self.delta:
            return math.inf
        probability = self._rounded((p - self.delta) / (1 - self.delta))
        return _detectable(probability, trials, self.error("planned"), self.epsilon, self.delta)

    def _rounded(self, share: float) -> float:
        """A probability delta + share (1 - delta), with the share rounded down."""
        steps = math.ceil(-math.log(share) / math.log(_ROUNDED) - 1e-9)
        return self.delta + (1 - self.delta) * _ROUNDED**-steps

    def region(self, counts: Counts, error: float, fineness: float = 0.004) -> Region:
        """The region that the plan reckoned with."""
        return Region(counts, error, self.violation, self.delta, fineness)

    def describe(self, rarest: float) -> str:
        """The promise in words."""
        beyond = " beyond delta" if self.delta else ""
        return (
            f"planned to catch a true epsilon of {self.violation:.6g} with probability {self.power:.6g}, "
            f"where it shows in an event of probability {rarest:.2g}{beyond} or more"
        )


@lru_cache(maxsize=256)
def _planned(
    epsilon: float, violation: float, confidence: float, power: float, delta: float, probability: float
) -> int:
    return plan(epsilon, violation, confidence, power, claimed_delta=delta, probability=probability)


@lru_cache(maxsize=256)
def _detectable(probability: float, trials: int, error: float, epsilon: float, delta: float) -> float:
    return detectable_epsilon(probability, trials, error, epsilon, delta)


@dataclass(frozen=True)
class Room:
    """How the samples of an input are shared out, which a pilot settles.

    pilot: samples of the pilot.   dimension: of an output.   rarest: probability of the rarest event to plan for.
    """

    pilot: int
    dimension: int
    rarest: float

    def searched(self, goal: Goal) -> int:
        """What the search is told that the whole audit has."""
        return _SEARCHED * goal.samples(self.rarest)

    def needed(self, goal: Goal) -> int:
        """Samples of an input, at most, for the pilot, the search and the planned look."""
        size = search_size(self.searched(goal), self.dimension)
        search = 12 * size if 12 * size <= self.searched(goal) // 3 else 4 * size  # the search may be made again
        return self.pilot + search + goal.samples(self.rarest)

    def check(self, goal: Goal, max_samples: int) -> None:
        """ValueError where the plan needs more than max_samples; it says what would do."""
        __tracebackhide__ = True
        needed = self.needed(goal)
        if needed <= max_samples:
            return
        less = self._less(goal, max_samples)
        if less is None:
            advice = ""
        elif goal.epsilon:
            advice = f"; or detects={less.violation / goal.epsilon + 5e-4:.3f}"
        else:
            advice = f"; or detects_epsilon={less.violation * 1.001:.4g}"
        if self.rarest * needed < 0.4 * max_samples:
            advice += f"; or rarest={1.2 * self.rarest * needed / max_samples:.2g}"
        raise ValueError(
            f"max_samples must be at least {needed} to catch epsilon {goal.violation:.6g} where {goal.epsilon:.6g} is "
            f"claimed, with power {goal.power:.6g} and false_alarm {goal.false_alarm:.2g}, got {max_samples}{advice}"
        )

    def _less(self, goal: Goal, max_samples: int) -> Goal | None:
        """A greater violation, which max_samples suffice to catch; None where none was found."""
        for _ in range(20):
            excess = self.needed(goal) / max_samples
            if excess <= 1:
                return goal
            goal = replace(goal, violation=goal.epsilon + (goal.violation - goal.epsilon) * 1.05 * math.sqrt(excess))
        return None


def piloted(program: Program, inputs: Sequence[Any], rarest: float) -> Room:
    """So many samples that no output of probability `rarest` stays unseen, but for a chance of e**-20."""
    __tracebackhide__ = True
    size = math.ceil(20 / rarest)
    drawn = [program.many(x, size, (_PILOT, place)) for place, x in enumerate(inputs)]
    if drawn[0].dimension > 1:
        return Room(size, drawn[0].dimension, rarest)
    counts = [_value_counts(outputs) for outputs in drawn]
    values = set().union(*counts)
    if len(values) > _FEW_VALUES:
        return Room(size, 1, rarest)
    seldom = min(max(count[value] for count in counts) for value in values)
    return Room(size, 1, max(rarest, lower_limit(seldom, size, 1e-4)))


def _value_counts(outputs: Outputs) -> Counter[Hashable]:
    counts: Counter[Hashable] = Counter()
    if outputs.numbers is not None:
        values, times = np.unique(outputs.numbers[~np.isnan(outputs.numbers)], return_counts=True)
        counts.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
    if outputs.labels is not None:
        counts.update(("label", label) for label in outputs.labels if label is not NOT_A_LABEL)
    return counts


def goal_of(
    epsilon: float, delta: float, detects: float, detects_epsilon: float | None, power: float, false_alarm: float
) -> Goal:
    """The goal that the arguments of an assertion describe. Raises ValueError that names the one which is wrong."""
    __tracebackhide__ = True
    if not (is_number(epsilon) and 0 <= epsilon < math.inf):
        raise ValueError(f"epsilon must be a finite number >= 0, got {epsilon!r}")
    if not (is_number(delta) and 0 <= delta < 1):
        raise ValueError(f"delta must be in [0, 1), got {delta!r}")
    if not (is_number(power) and 0 < power < 1):
        raise ValueError(f"power must be in (0, 1), got {power!r}")
    check_false_alarm(false_alarm)
    if detects_epsilon is not None:
        if not (is_number(detects_epsilon) and epsilon < detects_epsilon < math.inf):
            raise ValueError(
                f"detects_epsilon must be finite and above epsilon, which is {epsilon!r}, got {detects_epsilon!r}"
            )
        return Goal(float(epsilon), float(delta), float(detects_epsilon), power, false_alarm)
    if not (is_number(detects) and 1 < detects < math.inf):
        raise ValueError(f"detects must be a factor above 1, such as 1.1, got {detects!r}")
    if epsilon == 0:
        raise ValueError("detects is a factor of epsilon, which is 0: say detects_epsilon=..., in nats, instead")
    return Goal(float(epsilon), float(delta), float(epsilon * detects), power, false_alarm)


def check_false_alarm(false_alarm: float) -> None:
    """ValueError outside [1e-12, 0.5]."""
    __tracebackhide__ = True
    if not (is_number(false_alarm) and 1e-12 <= false_alarm <= 0.5):
        raise ValueError(f"false_alarm must be in [1e-12, 0.5], got {false_alarm!r}")


def check_samples(rarest: float, max_samples: int) -> None:
    """ValueError for a probability outside (0, 1), or a number of samples that is none."""
    __tracebackhide__ = True
    if not (is_number(rarest) and 0 < rarest < 1):
        raise ValueError(f"rarest must be in (0, 1), got {rarest!r}")
    check_count("max_samples", max_samples, 1)
    if 20 / rarest > max_samples:
        raise ValueError(f"rarest must be at least 20 / max_samples, {20 / max_samples:.2g}, got {rarest!r}")
