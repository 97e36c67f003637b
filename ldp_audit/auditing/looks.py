"""A test that looks at its counts several times: early, as planned, and twice more where it nearly failed.

The plan is made for the event that was found: at its probability, taken low, a ratio of e**violation is seen with the
wanted power. An event that shows a part of the violation only is caught by later looks at 4 and 16 times the samples,
which nothing but a near miss sets off. Every look has a share of the false alarms, so that all of them together keep
it.

What an assertion promises, and how many samples that takes, is worked out before the search, and kept. The search must
find an event that shows the violation, so it is sized for the rarest event that the promise covers. Where the outputs
are a handful of values, their rarest one takes the place of that, and the search becomes cheap.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ldp_audit.auditing.bounds import Region, lower_limit
from ldp_audit.auditing.event_search import Found, floor_of, most_searched, searched
from ldp_audit.auditing.evidence import Case, EventBound, Evidence
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from ldp_audit.auditing.power import Reach, plan
from ldp_audit.auditing.program import LOOK, PILOT, Program
from ldp_audit.auditing.result import Witness
from ldp_audit.auditing.test import Test, call_size, count_all, repeated, reporter
from ldp_audit.numerics import between, whole

_NEAR_MISS = 0.05  # a later look is taken where a test at this error would reject
CALLS = "calls"
LOOKS = (("early", 0.125, 0.05), ("planned", 1.0, 0.84), ("late", 4.0, 0.05), ("last", 16.0, 0.05))
"""Name, samples as a multiple of the plan, share of the error; programs that repeat themselves have the last 0.01."""

_SEARCHED = 12  # times the plan for the rarest event is the audit that the search is sized for; it takes 0.08 of that
_FEW_VALUES = 64
_ROUNDED = 1.03  # probabilities are rounded down to powers of it, so that plans can be remembered


@dataclass
class Looks:
    """See `evidence.StoppingRule`.

    goal, room: what is promised, and how the samples are shared out.   most: samples of an input, without the pilot's.
    """

    case: Case
    goal: Goal
    room: Room
    most: int
    found: Found = field(init=False)
    looks: list[_Look] = field(init=False, default_factory=list)
    calls: int = field(init=False)  # for one output, which show programs that repeat themselves

    def search(self) -> None:
        """Choose pair and event, on as many samples as the rarest event takes that the promise covers."""
        case, goal = self.case, self.goal
        error = goal.error("planned")
        size = self.room.searched(goal)
        self.found = searched(case.program, case.search, size, error, goal.delta, case.progress, epsilon=goal.epsilon)

    def count(self) -> None:
        """One look after the other, until the claim is refuted, or the plan is carried out and was no near miss."""
        case, goal, found, named = self.case, self.goal, self.found, self.case.search.inputs
        most = self.most - found.spent
        single, self.calls = repeated(case.program, named, found.places, goal.error(CALLS), goal.epsilon, most)
        if single is not None:
            self._look(CALLS, single)
        seen = found.choice.seen
        low = lower_limit(seen.hits, seen.trials, (1 - goal.power) / 20)
        planned = goal.samples(max(self.room.rarest, (low - goal.delta) / (1 - goal.delta)))
        event, pair, total = found.choice.event, found.pair(named), None
        for place, (name, multiple, _) in enumerate(LOOKS):
            if self.looks and self.looks[-1].bound.epsilon > goal.epsilon:
                break
            trials = min(math.ceil(multiple * planned), most)
            more = trials - (total.trials if total is not None else 0)
            if more < trials // 2 or (multiple > 1 and not self.looks[-1].near_miss):
                break
            test = Test((event,), pair, found.places, more, call_size(more, case.program.rows), LOOK + place)
            report = reporter(case.progress, goal.error(name), goal.violation, goal.delta)
            (counts,) = count_all(test, case.program, report)
            total = counts if total is None else total + counts
            self._look(name, Witness(pair, event, total))

    def _look(self, name: str, witness: Witness) -> None:
        goal = self.goal
        bound = EventBound.of(witness, goal.error(name), goal.violation, self.case.claim)
        near = Region(witness.counts, _NEAR_MISS, goal.violation, goal.delta, fineness=0.05)
        self.looks.append(_Look(bound, near.exceeds(goal.epsilon, goal.delta)))

    def evidence(self) -> Evidence:
        """The bounds of all looks."""
        case, goal, found = self.case, self.goal, self.found
        bounds = [look.bound for look in self.looks]
        counts = [one.witness.counts for one in bounds]
        tested = [one.witness.counts for one in bounds if not one.witness.calls_for_one][-1:]
        trials, error = tested[0].trials if tested else 1, goal.error("planned")
        notes = [goal.describe(self.room.rarest)]
        if self.looks[-1].near_miss and all(one.epsilon <= goal.epsilon for one in bounds):
            notes.append(
                f"a near miss: a test at error {_NEAR_MISS} would reject the claim, and there was no further look"
            )
        pilots = self.room.pilot * len(case.search.inputs)
        return Evidence(
            bounds,
            counts,
            Reach(found.choice.seen, trials, error, goal.epsilon, goal.delta),
            drawn=case.program.looked + pilots + found.drawn + self.calls + 2 * sum(one.trials for one in tested),
            budget={name: goal.error(name) for name in (*(look[0] for look in LOOKS), CALLS)},
            floor=floor_of(found, trials, error, goal.epsilon, goal.delta),
            seen=found.choice.seen,
            again=tested[0] if tested else None,
            planned=True,
            unrepeated=found.unrepeated,
            untested=case.program.untested(counts),
            notes=tuple(notes),
        )


@dataclass(frozen=True)
class _Look:
    """The bound at this look's error on the counts of all samples so far, and whether a further look is taken."""

    bound: EventBound
    near_miss: bool


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

    def _rounded(self, share: float) -> float:
        """A probability delta + share (1 - delta), with the share rounded down."""
        steps = math.ceil(-math.log(share) / math.log(_ROUNDED) - 1e-9)
        return self.delta + (1 - self.delta) * _ROUNDED**-steps

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


@dataclass(frozen=True)
class Room:
    """How the samples of an input are shared out, which a pilot settles.

    pilot: samples of the pilot.   dimension: of an output.   rarest: probability of the rarest event to plan for.
    """

    pilot: int
    dimension: int
    rarest: float

    def searched(self, goal: Goal) -> int:
        """Samples of the audit that the search is sized for."""
        return _SEARCHED * goal.samples(self.rarest)

    def needed(self, goal: Goal) -> int:
        """Samples of an input, at most, for the pilot, the search and the planned look."""
        search = most_searched(self.searched(goal), self.dimension)
        return self.pilot + search + goal.samples(self.rarest)

    def check(self, goal: Goal, max_samples: int, too_short: str | None = None) -> None:
        """ValueError where the plan needs more than max_samples; it says what would do.

        too_short: what to say first, where a budget of seconds has set them.
        """
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
        said = f"max_samples must be at least {needed} " if too_short is None else too_short
        got = f", got {max_samples}" if too_short is None else ""
        raise ValueError(
            f"{said}to catch epsilon {goal.violation:.6g} where {goal.epsilon:.6g} is claimed, "
            f"with power {goal.power:.6g} and false_alarm {goal.false_alarm:.2g}{got}{advice}"
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
    drawn = [program.many(x, size, (PILOT, place)) for place, x in enumerate(inputs)]
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
    epsilon = between(epsilon, "epsilon", "a finite number >= 0", lambda one: 0 <= one < math.inf)
    delta = between(delta, "delta", "in [0, 1)", lambda one: 0 <= one < 1)
    power = between(power, "power", "in (0, 1)", lambda one: 0 < one < 1)
    check_false_alarm(false_alarm)
    if detects_epsilon is not None:
        above = f"finite and above epsilon, which is {epsilon!r}"
        higher = between(detects_epsilon, "detects_epsilon", above, lambda one: epsilon < one < math.inf)
        return Goal(epsilon, delta, higher, power, float(false_alarm))
    factor = between(detects, "detects", "a factor above 1, such as 1.1", lambda one: 1 < one < math.inf)
    if epsilon == 0:
        raise ValueError("detects is a factor of epsilon, which is 0: say detects_epsilon=..., in nats, instead")
    return Goal(epsilon, delta, epsilon * factor, power, float(false_alarm))


def check_false_alarm(false_alarm: float) -> None:
    """ValueError outside [1e-12, 0.5]."""
    __tracebackhide__ = True
    between(false_alarm, "false_alarm", "in [1e-12, 0.5]", lambda one: 1e-12 <= one <= 0.5)


def check_samples(rarest: float, max_samples: int) -> None:
    """ValueError for a probability outside (0, 1), or a number of samples that is none."""
    __tracebackhide__ = True
    between(rarest, "rarest", "in (0, 1)", lambda one: 0 < one < 1)
    whole(max_samples, "max_samples", 1)
    if 20 / rarest > max_samples:
        raise ValueError(f"rarest must be at least 20 / max_samples, {20 / max_samples:.2g}, got {rarest!r}")
