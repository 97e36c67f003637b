"""A privacy claim as an assertion: it names the violation that it catches, and how seldom it fails for nothing.

The event is searched for on samples of its own. They are so many that an event of probability `rarest` which shows
the violation stands out; where the outputs are a handful of values, their rarest one takes the place of `rarest`. Then
some looks at the counts of fresh samples (`looks.Looks`) refute the claim, or do not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ldp_audit.auditing.adapters.recognise import sampler_of
from ldp_audit.auditing.audit_program import lines_of
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.auditing.evidence import Case, PrivacyClaim
from ldp_audit.auditing.fitting import FitResult, fit
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.looks import Looks, Room, check_false_alarm, check_samples, goal_of, piloted
from ldp_audit.auditing.pace import Pace, checked_seconds
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.result import AuditResult, shown
from ldp_audit.numerics import whole


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
    sampler: Any,
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

    sampler: (x, n, rng) -> n independent outputs on input x, or anything that `as_sampler` makes one of.
    epsilon, delta: the claim; nats, finite, and in [0, 1).
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
    with lines_of(progress) as lines:
        goal = goal_of(epsilon, delta, detects, detects_epsilon, power, false_alarm)
        check_samples(rarest, max_samples)
        sampler = sampler_of(sampler)
        whole(seed, "seed", 0)
        compared = as_search(inputs)
        claim = PrivacyClaim(goal.epsilon, goal.delta, 1 - goal.false_alarm)
        program = Program(sampler, seed, timeout, inputs=compared.inputs)
        case = Case(program, Fresh(sampler, stateless=stateless), compared, claim, constant)
        case.pace = pace = Pace(program, checked_seconds(seconds), stateless, case.start)
        named, too_short = compared.inputs, None
        if lines is not None or seconds is not None:
            pace.pilot(named[0])
            max_samples = pace.samples(max_samples, len(named))
            planned = Room(math.ceil(20 / rarest), 1, rarest)
            if planned.pilot > max_samples:
                said = _too_short(pace, planned.pilot, max_samples, len(named))
                raise ValueError(f"{said}or take rarest={25 / max_samples:.2g}")
            outputs = min(max_samples, planned.needed(goal)) * len(named)
            case.progress = pace.line(lines, outputs, 3 * goal.samples(rarest))
        room = piloted(program, named, rarest)
        if seconds is not None:
            too_short = _too_short(pace, room.needed(goal), max_samples, len(named))
        room.check(goal, max_samples, too_short)
        pace.expect((room.needed(goal) - room.pilot) * len(named))
        result = case.audited(Looks(case, goal, room, max_samples - room.pilot))
    if result.violated:
        raise PrivacyViolation(result)
    if result.inconclusive:
        raise NoPowerError(result)
    if program.structure is not None and program.structure.aside:
        warnings.warn(f"assert_private has not audited {', '.join(program.structure.aside)}", stacklevel=2)
    return result


def assert_fits(
    sampler: Any,
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
