"""A privacy claim as an assertion: it names the violation that it catches, and how seldom it fails for nothing.

The event is searched for on samples of its own. They are so many that an event of probability `rarest` which shows
the violation stands out; where the outputs are a handful of values, their rarest one takes the place of `rarest`. The
test is planned for the event that was found: at its probability, taken low, a ratio of e**violation is seen with the
wanted power. An event that shows a part of the violation only is caught by later looks at 4 and 16 times the samples,
which nothing but a near miss sets off. Every look has a share of false_alarm, so that all of them together keep it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldp_audit.auditing.arguments import check_seed
from ldp_audit.auditing.assertions.assertion_plan import (
    CALLS,
    LOOKS,
    Goal,
    Room,
    check_false_alarm,
    check_samples,
    goal_of,
    piloted,
)
from ldp_audit.auditing.bounds.binomial_tails import lower_limit
from ldp_audit.auditing.counts.counting import Test, count_all
from ldp_audit.auditing.counts.repeats import FIRST_CALLS, suspected
from ldp_audit.auditing.events.event_search import Found, coverage_floor, searched
from ldp_audit.auditing.events.input_search import InputSearch, as_search
from ldp_audit.auditing.program import Program, Sampler
from ldp_audit.auditing.result import AuditResult, Witness, judged, shown
from ldp_audit.auditing.two_proportions import Region

if TYPE_CHECKING:
    from ldp_audit.auditing.fitting.goodness_of_fit import FitResult

_NEAR_MISS = 0.05  # a later look is taken where a test at this error would reject
_FIRST_LOOK = 11  # first number of the calls' keys; each look has the next one


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
) -> AuditResult:
    """Raise PrivacyViolation if the sampler's epsilon is shown to be above the claim; else the audit's result.

    Raises NoPowerError where that could not have been shown: where no event was seen, or no label comes twice.

    sampler: (x, n, rng) -> n independent outputs on input x.   epsilon, delta: the claim; nats, finite, and in [0, 1).
    inputs: two or more, all pairs of which are searched, in both directions; or what `search` returns.
    detects: a true epsilon of so many times the claim is caught with this power; > 1. detects_epsilon says it in nats
    instead, which a claim of epsilon 0 needs.
    false_alarm: the chance, over seeds, that a sound sampler fails; in [1e-12, 0.5].
    rarest: the power holds for violations that show in an event of at least this probability beyond delta.
    max_samples: per input, the search included, but not the calls for one output each that look for programs which
    repeat themselves.   timeout: seconds that one call may take.
    Raises ValueError for bad arguments, and where the plan needs more than max_samples; ProgramError, a ValueError,
    for a sampler that fails.
    """
    __tracebackhide__ = True
    start = time.perf_counter()
    goal = goal_of(epsilon, delta, detects, detects_epsilon, power, false_alarm)
    check_samples(rarest, max_samples)
    check_seed(seed)
    named = as_search(inputs).inputs
    program = Program(sampler, seed, timeout)
    room = piloted(program, named, rarest)
    room.check(goal, max_samples)
    found = searched(program, inputs, room.searched(goal), goal.error("planned"), delta)
    looks = _looks(program, named, found, goal, room.rarest, max_samples - room.pilot - found.spent)
    drawn = room.pilot * len(named) + found.drawn + 2 * FIRST_CALLS
    result = _result(looks, found, goal, room, drawn, seed, time.perf_counter() - start)
    if result.violated:
        raise PrivacyViolation(result)
    if result.inconclusive:
        raise NoPowerError(result)
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
    """Raise LawMismatch if the sampler is shown not to follow the law that it declares; see `goodness_of_fit.fit`.

    samples: per input.   false_alarm: the chance that a sampler which follows its law fails; in [1e-12, 0.5].
    seed, timeout, tolerance: as of `fit`, whose result says what would have been caught.
    """
    __tracebackhide__ = True
    from ldp_audit.auditing.fitting.goodness_of_fit import fit

    check_false_alarm(false_alarm)
    check_seed(seed)
    result = fit(
        sampler,
        law,
        inputs,
        samples=samples,
        confidence=1 - false_alarm,
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


def _looks(program: Program, inputs: Sequence[Any], found: Found, goal: Goal, rarest: float, most: int) -> list[_Look]:
    """One after the other, until the claim is refuted, or the plan is carried out and was no near miss."""
    looks = []
    repeats = suspected(program, inputs, found.places, goal.error(CALLS), goal.epsilon)
    if repeats is not None:
        (counts,) = count_all(repeats, program)
        looks.append(_look(goal, CALLS, Witness(repeats.pair, repeats.events[0], counts, calls_for_one=True)))
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
        (counts,) = count_all(Test((event,), pair, found.places, more, program.rows, _FIRST_LOOK + place), program)
        total = counts if total is None else total + counts
        looks.append(_look(goal, name, Witness(pair, event, total)))
    return looks


def _result(
    looks: list[_Look], found: Found, goal: Goal, room: Room, drawn: int, seed: int, seconds: float
) -> AuditResult:
    best = max(looks, key=lambda look: look.bound)
    tested = [look.witness.counts for look in looks if not look.witness.calls_for_one][-1:]
    repeats = [look.witness.counts for look in looks if look.witness.calls_for_one]
    violated = best.bound > goal.epsilon
    notes = [goal.describe(room.rarest)]
    if looks[-1].near_miss and not violated:
        notes.append(f"a near miss: a test at error {_NEAR_MISS} would reject the claim, and there was no further look")
    verdict, why = judged(
        violated=violated, tested=[look.witness.counts for look in looks], unrepeated=found.unrepeated
    )
    return AuditResult(
        verdict=verdict,
        epsilon_lower=best.bound,
        delta_lower=max(look.region.delta_lower(goal.epsilon) for look in looks),
        claimed_epsilon=goal.epsilon,
        claimed_delta=goal.delta,
        confidence=1 - goal.false_alarm,
        witness=best.witness,
        reach=goal.detectable(found.choice.seen, tested[0].trials if tested else 1),
        coverage_floor=coverage_floor(found.learned),
        samples_used=drawn + sum(counts.trials + counts.other_trials for counts in tested + repeats),
        seconds=seconds,
        seed=seed,
        budget={name: goal.error(name) for name in (*(look[0] for look in LOOKS), CALLS)},
        notes=(*why, *notes),
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
