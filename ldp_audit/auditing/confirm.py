"""A witness tested again on fresh samples: its event is fixed, so that nothing is searched and all error is its own.

It is the cheapest answer to "is that so?", and to "is it mended?", where the target is the mended program. Runs of it
with other seeds, on other machines, can be merged (`merge`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.auditing.checkpoint import State, arguments_of
from ldp_audit.auditing.counting import CONFIRM, Tally, Test, count_all
from ldp_audit.auditing.distribute import runner_of
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.power import detectable_epsilon
from ldp_audit.auditing.program import CHUNK_ROWS, CHUNK_VALUES, Program, Sampler
from ldp_audit.auditing.record import Record, counted, record_in
from ldp_audit.auditing.result import CONSISTENT, VIOLATED, AuditResult, Witness, plain
from ldp_audit.auditing.two_proportions import Counts, Region


@dataclass(frozen=True)
class Retest:
    """What is to be tested again, and how: read from a file, or changed by hand.

    inputs: the two, the one that makes the event likelier first.   samples: of each input.
    """

    event: Event
    inputs: tuple[Any, Any]
    calls_for_one: bool
    design_epsilon: float
    claimed_epsilon: float | None
    claimed_delta: float
    confidence: float
    samples: int


def witness_in(document: Any, name: str, candidates: Sequence[Any] = ()) -> Retest:
    """The witness in a result's JSON, or the event that an unfinished audit has fixed.

    candidates: inputs as the program takes them, for what JSON cannot tell (a tuple from a list, an array, a set); an
    input that is none of them is read as `input_of` reads it.
    Raises ValueError, with the name of the file, for anything else.
    """
    record = record_in(document, name)
    event, inputs, calls = record.event, record.inputs, record.calls_for_one
    design = record.design_epsilon
    witness, test = document.get("witness"), document.get("test")
    samples = test["trials"] if test else sum(part.counts.trials for part in record.parts)
    other = witness is not None and (witness["calls_for_one"], witness["event"]) != (calls, event.to_dict())
    if witness is not None and other:  # not the event that the record is of
        event, inputs, calls = Event.from_dict(witness["event"]), witness["inputs"], bool(witness["calls_for_one"])
        design, samples = record.claimed_epsilon or 1.0, witness["trials"][0]
    return Retest(
        event,
        (_original(inputs[0], candidates), _original(inputs[1], candidates)),
        calls,
        design,
        record.claimed_epsilon,
        record.claimed_delta,
        record.confidence,
        samples,
    )


def confirm(
    sampler: Sampler,
    again: Retest,
    *,
    seed: int = 0,
    timeout: float | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    resume: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> AuditResult:
    """Count the event on fresh samples. Any seed does: the calls' keys are none of an audit's.

    again: from `witness_in`.   The others as for `audit`, which see also for the errors.
    """
    start = time.perf_counter()
    program = Program(sampler, seed, timeout)
    test = Test((again.event,), again.inputs, (0, 1), again.samples, _rows(program, again), CONFIRM)
    state = None
    if resume is not None:
        fields = ("calls_for_one", "claimed_epsilon", "claimed_delta", "confidence", "samples")
        settings = {name: getattr(again, name) for name in fields}
        state = State(resume, arguments_of(sampler, again.inputs, seed=seed, **settings))
        state.fix(test, again.design_epsilon)
    report = None if progress is None else _Reporter(progress, again)
    (counts,) = count_all(test, program, report, runner=runner_of(workers, scheduler), state=state)
    claim = (again.claimed_epsilon, again.claimed_delta)
    record = counted(program, test, counts, again.design_epsilon, claim, again.confidence)
    result = judged(record, counts, again.inputs, seed, ("the event was given: no other was looked for",))
    return replace(result, seconds=time.perf_counter() - start)


def judged(record: Record, counts: Counts, inputs: tuple[Any, Any], seed: int, notes: tuple[str, ...]) -> AuditResult:
    """The verdict on one event that was fixed beforehand, which may spend the whole error."""
    error = 1 - record.confidence
    region = Region(counts, error, record.design_epsilon, record.claimed_delta)
    epsilon, claimed = region.epsilon_lower(record.claimed_delta), record.claimed_epsilon
    return AuditResult(
        verdict=VIOLATED if claimed is not None and epsilon > claimed else CONSISTENT,
        epsilon_lower=epsilon,
        delta_lower=None if claimed is None else region.delta_lower(claimed),
        claimed_epsilon=claimed,
        claimed_delta=record.claimed_delta,
        confidence=record.confidence,
        witness=Witness(inputs, record.event, counts, record.calls_for_one),
        detectable_epsilon=_detectable(record, counts, error),
        coverage_floor=record.coverage_floor,
        samples_used=counts.trials + counts.other_trials,
        seconds=0.0,
        seed=seed,
        budget={"event": error},
        notes=notes,
        sections={"counted": record.to_dict()},
    )


def input_of(value: Any) -> Any:
    """An input as JSON holds it, for a program: numbers in a list become an array, so that x * 2 doubles them."""
    if not isinstance(value, list) or not value:
        return value
    try:
        array = np.array(value)
    except ValueError:  # lists of several lengths
        return value
    return array if array.dtype.kind in "biuf" else value


def _original(stored: Any, candidates: Sequence[Any]) -> Any:
    for candidate in candidates:
        if plain(candidate) == stored:
            return candidate
    return input_of(stored)


def _rows(program: Program, again: Retest) -> int:
    """Outputs a call. The first output tells the dimension, as in a search."""
    if again.calls_for_one:
        return 1
    dimension = program.outputs(again.inputs[0], 1, (CONFIRM, 0)).dimension
    return max(1, min(CHUNK_ROWS, CHUNK_VALUES // dimension))


def _detectable(record: Record, counts: Counts, error: float) -> float:
    p = (counts.hits + 0.5) / (counts.trials + 1)
    claimed = record.claimed_epsilon or 0.0
    if p <= record.claimed_delta or claimed == math.inf:
        return math.inf
    return detectable_epsilon(p, min(counts.trials, counts.other_trials), error, claimed, record.claimed_delta)


class _Reporter:
    """Says, at most once a second, what the bound would be if the test stopped here."""

    def __init__(self, progress: Callable[[str], None], again: Retest) -> None:
        self.progress, self.again, self.last = progress, again, time.perf_counter()

    def __call__(self, tally: Tally) -> None:
        """Hear of the counts so far."""
        if time.perf_counter() - self.last < 1:
            return
        again, counts = self.again, tally[0]
        region = Region(counts, 1 - again.confidence, again.design_epsilon, again.claimed_delta, fineness=0.05)
        bound = region.epsilon_lower(again.claimed_delta)
        self.progress(f"test: {counts.trials} samples of each input, epsilon at least {bound:.4g} so far")
        self.last = time.perf_counter()
