"""A privacy claim as an assertion: it names the violation that it catches, and how seldom it fails for nothing.

The event is searched for on samples of its own. They are so many that an event of probability `rarest` which shows
the violation stands out; where the outputs are a handful of values, their rarest one takes the place of `rarest`. The
test is planned for the event that was found: at its probability, taken low, a ratio of e**violation is seen with the
wanted power. An event that shows a part of the violation only is caught by later looks at 4 and 16 times the samples,
which nothing but a near miss sets off. Every look has a share of false_alarm, so that all of them together keep it.

What the assertion promises, and how many samples that takes, is worked out before the search, and kept. The search must
find an event that shows the violation, so it is sized for the rarest event that the promise covers. Where the outputs
are a handful of values, their rarest one takes the place of that, and the search becomes cheap.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ldp_audit.auditing.bounds import Counts, Region, lower_limit
from ldp_audit.auditing.dependent_outputs import drift, if_independent
from ldp_audit.auditing.event_search import Found, InputSearch, as_search, floor_of, most_searched, searched
from ldp_audit.auditing.fitting import FitResult, fit
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from ldp_audit.auditing.pace import Pace, checked_seconds
from ldp_audit.auditing.power import Reach, plan
from ldp_audit.auditing.program import LOOK, PILOT, Program, Sampler
from ldp_audit.auditing.result import AuditResult, Witness, judged, shown
from ldp_audit.auditing.test import Test, call_size, count_all, repeated, reporter
from ldp_audit.numerics import between, instance, whole
from ldp_audit.progress import Progress

_NEAR_MISS = 0.05  # a later look is taken where a test at this error would reject
CALLS = "calls"
LOOKS = (("early", 0.125, 0.05), ("planned", 1.0, 0.84), ("late", 4.0, 0.05), ("last", 16.0, 0.05))
"""Name, samples as a multiple of the plan, share of the error; programs that repeat themselves have the last 0.01."""

_SEARCHED = 12  # times the plan for the rarest event is the audit that the search is sized for; it takes 0.08 of that
_FEW_VALUES = 64
_ROUNDED = 1.03  # probabilities are rounded down to powers of it, so that plans can be remembered


class PrivacyViolation(AssertionError):  # noqa: N818 - it reads as what it reports
    """The program's epsilon is above the claim. The message shows the witness; result is the whole audit."""

    def __init__(self, result: AuditResult) -> None:
        super().__init__(_message(result))
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return PrivacyViolation, (self.result,)


class NoPowerError(AssertionError):
    """The test could not have failed, whatever the program's epsilon is. The message says why; result is the audit."""

    def __init__(self, result: AuditResult) -> None:
        super().__init__("\n".join(["the test has no power, so that it does not pass", *result.notes[:1]]))
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return NoPowerError, (self.result,)


class LawMismatch(AssertionError):  # noqa: N818
    """The sampler does not follow the law that it declares; result is the whole comparison."""

    def __init__(self, result: FitResult) -> None:
        super().__init__(result.describe())
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return LawMismatch, (self.result,)


def assert_private(
    sampler: Sampler,
    epsilon: float,
    inputs: Sequence[Any] | InputSearch,
    *,
    delta: float = 0.0,
    detects: float = 1.1,
    detects_epsilon: float | None = None,
    power: float = 0.99,
    false_alarm: float = 1e-9,
    rarest: float = 0.02,
    seed: int = 0,
    max_samples: int = 20_000_000,
    timeout: float | None = None,
    stateless: bool = False,
    seconds: float | None = None,
    progress: Callable[[str], None] | bool | None = None,
    constant: bool = False,
) -> AuditResult:
    """Raise PrivacyViolation if the sampler's epsilon is shown to be above the claim; else the audit's result.

    Raises NoPowerError where that could not have been shown: where no event was seen, all outputs were one, or no label
    comes twice.
    Warns (UserWarning) of parts of the outputs that were set aside, such as ids, and are not audited.

    sampler: (x, n, rng) -> n independent outputs on input x.   epsilon, delta: the claim; nats, finite, and in [0, 1).
    inputs: two or more, all pairs of which are searched, in both directions; or what `search` returns.
    detects: a true epsilon of so many times the claim is caught with this power; > 1. detects_epsilon says it in nats
    instead, which a claim of epsilon 0 needs.
    false_alarm: the chance, over seeds, that a sound sampler fails; in [1e-12, 0.5].
    rarest: the power holds for violations that show in an event of at least this probability beyond delta.
    max_samples: per input, the search included, but not the calls for one output each that look for programs which
    repeat themselves.   timeout: seconds that one call may take.   stateless, constant, progress: as `audit` has them.
    seconds: about so many may pass, an accusation included: a pilot of a few calls says how many samples that allows,
    which counts as max_samples.
    Raises ValueError for bad arguments, and where the plan needs more than max_samples, or seconds, with what they
    suffice for; ProgramError, a ValueError, for a sampler that fails.
    """
    __tracebackhide__ = True
    if isinstance(progress, bool):
        given: Any = {**locals()}
        with Progress(quiet=not progress) as lines:
            return assert_private(**given | {"progress": lines})
    lines: Any = (Callable, type(None))
    instance(progress, lines, "progress", "a function of a line, True, False or None")
    start = time.perf_counter()
    goal = goal_of(epsilon, delta, detects, detects_epsilon, power, false_alarm)
    check_samples(rarest, max_samples)
    whole(seed, "seed", 0)
    compared = as_search(inputs)
    named = compared.inputs
    program, fresh = Program(sampler, seed, timeout, inputs=named), Fresh(sampler, stateless=stateless)
    pace = Pace(program, checked_seconds(seconds), stateless, start)
    if progress is not None or seconds is not None:
        pace.pilot(named[0])
        max_samples = pace.samples(max_samples, len(named))
        planned = Room(math.ceil(20 / rarest), 1, rarest)
        if planned.pilot > max_samples:
            raise ValueError(
                _too_short(pace, planned.pilot, max_samples, len(named)) + f"or take rarest={25 / max_samples:.2g}"
            )
        progress = pace.line(progress, min(max_samples, planned.needed(goal)) * len(named), 3 * goal.samples(rarest))
    room = piloted(program, named, rarest)
    room.check(
        goal, max_samples, None if seconds is None else _too_short(pace, room.needed(goal), max_samples, len(named))
    )
    pace.expect((room.needed(goal) - room.pilot) * len(named))
    found = searched(program, inputs, room.searched(goal), goal.error("planned"), goal.delta, progress)
    most = max_samples - room.pilot - found.spent
    looks, calls = _looks(program, named, found, goal, room.rarest, most, progress)
    drawn = program.looked + room.pilot * len(named) + found.drawn + calls
    result = _result(looks, found, goal, room, drawn, program, time.perf_counter() - start, constant=constant)
    otherwise = [
        replace(result, epsilon_lower=look.bound, delta_lower=look.region.delta_lower(epsilon), witness=look.witness)
        for look in looks
        if look.witness.calls_for_one and look.bound > goal.epsilon
    ]
    result = if_independent(result, program, fresh, otherwise=otherwise)
    result = replace(result, notes=(*result.notes, *compared.notes()))
    fresh.ended()
    if result.violated:
        raise PrivacyViolation(result)
    if result.inconclusive:
        raise NoPowerError(result)
    if program.structure is not None and program.structure.aside:
        warnings.warn(f"assert_private has not audited {', '.join(program.structure.aside)}", stacklevel=2)
    return result


def assert_fits(
    sampler: Sampler,
    law: Any,
    inputs: Sequence[Any],
    *,
    samples: int = 100_000,
    false_alarm: float = 1e-9,
    seed: int = 0,
    timeout: float | None = None,
    tolerance: float = 0.0,
) -> FitResult:
    """Raise LawMismatch if the sampler is shown not to follow the law that it declares; see `fitting.fit`.

    samples: per input.   false_alarm: the chance that a sampler which follows its law fails; in [1e-12, 0.5].
    seed, timeout, tolerance: as of `fit`, whose result says what would have been caught.
    """
    __tracebackhide__ = True
    check_false_alarm(false_alarm)
    whole(seed, "seed", 0)
    result = fit(
        sampler,
        law,
        inputs,
        samples=samples,
        confidence=1 - float(false_alarm),
        seed=seed,
        timeout=timeout,
        tolerance=tolerance,
    )
    if result.verdict == "differs":
        raise LawMismatch(result)
    return result


@dataclass(frozen=True)
class _Look:
    """Counts of all samples so far, the region that they give at this look's error, and its bound on epsilon."""

    witness: Witness
    region: Region
    bound: float
    near_miss: bool = False


def _look(goal: Goal, name: str, witness: Witness) -> _Look:
    region = goal.region(witness.counts, goal.error(name))
    bound = region.epsilon_lower(goal.delta)
    near = goal.region(witness.counts, _NEAR_MISS, fineness=0.05).epsilon_lower(goal.delta) > goal.epsilon
    return _Look(witness, region, bound, near)


def _looks(
    program: Program,
    inputs: Sequence[Any],
    found: Found,
    goal: Goal,
    rarest: float,
    most: int,
    progress: Callable[[str], None] | None,
) -> tuple[list[_Look], int]:
    """One after the other, until the claim is refuted, or the plan is carried out and was no near miss."""
    looks = []
    single, calls = repeated(program, inputs, found.places, goal.error(CALLS), goal.epsilon, most)
    if single is not None:
        looks.append(_look(goal, CALLS, single))
    seen = found.choice.seen
    low = lower_limit(seen.hits, seen.trials, (1 - goal.power) / 20)
    planned = goal.samples(max(rarest, (low - goal.delta) / (1 - goal.delta)))
    event, pair, total = found.choice.event, found.pair(inputs), None
    for place, (name, multiple, _) in enumerate(LOOKS):
        if looks and looks[-1].bound > goal.epsilon:
            break
        trials = min(math.ceil(multiple * planned), most)
        more = trials - (total.trials if total is not None else 0)
        if more < trials // 2 or (multiple > 1 and not looks[-1].near_miss):
            break
        test = Test((event,), pair, found.places, more, call_size(more, program.rows), LOOK + place)
        (counts,) = count_all(test, program, reporter(progress, goal.error(name), goal.violation, goal.delta))
        total = counts if total is None else total + counts
        looks.append(_look(goal, name, Witness(pair, event, total)))
    return looks, calls


def _result(
    looks: list[_Look],
    found: Found,
    goal: Goal,
    room: Room,
    drawn: int,
    program: Program,
    seconds: float,
    *,
    constant: bool,
) -> AuditResult:
    best = max(looks, key=lambda look: look.bound)
    tested = [look.witness.counts for look in looks if not look.witness.calls_for_one][-1:]
    violated = best.bound > goal.epsilon
    notes = [goal.describe(room.rarest)]
    if looks[-1].near_miss and not violated:
        notes.append(f"a near miss: a test at error {_NEAR_MISS} would reject the claim, and there was no further look")
    verdict, why = judged(
        violated=violated,
        tested=[look.witness.counts for look in looks],
        unrepeated=found.unrepeated,
        drift=drift(found.choice.seen, tested[0]) if tested else None,
        untested=program.untested([look.witness.counts for look in looks]),
        constant=constant,
    )
    return AuditResult(
        verdict=verdict,
        epsilon_lower=best.bound,
        delta_lower=max(look.region.delta_lower(goal.epsilon) for look in looks),
        claimed_epsilon=goal.epsilon,
        claimed_delta=goal.delta,
        confidence=1 - goal.false_alarm,
        witness=best.witness,
        reach=Reach(
            found.choice.seen, tested[0].trials if tested else 1, goal.error("planned"), goal.epsilon, goal.delta
        ),
        coverage_floor=floor_of(
            found, tested[0].trials if tested else 1, goal.error("planned"), goal.epsilon, goal.delta
        ),
        samples_used=drawn + sum(counts.trials + counts.other_trials for counts in tested),
        seconds=seconds,
        seed=program.seed,
        budget={name: goal.error(name) for name in (*(look[0] for look in LOOKS), CALLS)},
        notes=(*dict.fromkeys((*why, *program.notes())), *notes),
    )


def _too_short(pace: Pace, needed: int, allowed: int, inputs: int) -> str:
    """The beginning of a sentence: which budget allows for so many samples of an input."""
    return (
        f"seconds must be about {pace.budget_for(needed * inputs):.2g} for {needed} samples of an input, got "
        f"{pace.seconds:g}, which at {pace.each} an output allows {allowed}, "
    )


def _message(result: AuditResult) -> str:
    """The witness in words, the numbers, the seed: what one needs to see why, and to see it again."""
    witness = result.witness
    one, two = (shown(x) for x in witness.inputs)
    p, q = witness.counts.frequencies
    at = f" at delta {result.claimed_delta:.6g}" if result.claimed_delta else ""
    calls = ", each by a call of its own" if witness.calls_for_one else ""
    return "\n".join(
        [
            f"epsilon{at} is at least {result.epsilon_lower:.6g}, and {result.claimed_epsilon:.6g} was claimed",
            f"  inputs: {one} and {two}",
            f"  event:  {witness.event.describe()}",
            f"  seen:   {p:.6g} on input {one} ({witness.counts.hits} of {witness.counts.trials}{calls}), "
            f"{q:.6g} on input {two} ({witness.counts.other_hits} of {witness.counts.other_trials})",
            f"  chance that a sound sampler fails so: {1 - result.confidence:.2g}; seed {result.seed}",
        ]
    )


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
