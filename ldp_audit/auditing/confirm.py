"""A witness tested again on fresh samples: its event is fixed, so that nothing is searched and all error is its own.

It is the cheapest answer to "is that so?", and to "is it mended?", where the target is the mended program. Runs of it
with other seeds, on other machines, can be merged (`merge`).

`merge` adds up the counts of several runs, from several machines, to one bound. The sum of binomial counts of one event
on one pair is binomial, and its bound exact, if
- the event, its direction, the pair, the claim and the design were fixed before any of the samples was drawn: the other
  runs took them from the first one's file (`--confirm FIRST --seed K`), which may be its state as soon as the search is
  through;
- the samples are all different: no two parts share a seed, a stage and a chunk;
- which runs are merged, and how long each is, was settled before their counts were seen: merge all of them. A run that
  was killed, or whose program failed, has counts that a kill did not choose, and counts too.
The first two are checked here, the third is yours. The search's samples are never among the counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.sampler import Sampler
from ldp_audit.auditing.bounds import Counts, check_claim, check_confidence
from ldp_audit.auditing.event_search import as_search
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.evidence import Case, EventBound, Evidence, PrivacyClaim
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.power import Reach
from ldp_audit.auditing.program import CONFIRM, CONFIRMED_AGAIN, Program
from ldp_audit.auditing.record import DAMAGE, KeyedCounts, Record, State, arguments_of, counted, record_in
from ldp_audit.auditing.result import AuditResult, Witness, plain
from ldp_audit.auditing.test import Test, Unkept, call_size, count_all, reporter
from ldp_audit.auditing.workers import counting
from ldp_audit.numerics import whole

_SAME = ("target", "inputs", "calls_for_one", "claimed_epsilon", "claimed_delta", "confidence", "design_epsilon")


@dataclass(frozen=True)
class Retest:
    """What is to be tested again, and how: read from a file, or changed by hand.

    inputs: the two, the one that makes the event likelier first.   samples: of each input.   stage: first number of the
    calls' keys, which no counts of the file have.
    """

    event: Event
    inputs: tuple[Any, Any]
    calls_for_one: bool
    design_epsilon: float
    claimed_epsilon: float | None
    claimed_delta: float
    confidence: float
    samples: int
    stage: int = CONFIRM


def witness_in(document: Any, name: str, candidates: Sequence[Any] = ()) -> Retest:
    """The witness in a result's JSON, or the event that an unfinished audit has fixed.

    candidates: inputs as the program takes them, for types that JSON does not keep (a tuple from a list, an array, a
    set); an input that is none of them is read as `input_of` reads it.
    Raises ValueError, with the name of the file, for anything else; and where two candidates are one in JSON.
    """
    record = record_in(document, name)
    try:
        again = _retest(document, record)
        whole(again.samples, "samples", 1)
    except DAMAGE as error:
        raise ValueError(f"{name} is damaged: {type(error).__name__}: {error}") from error
    one, two = again.inputs
    return replace(again, inputs=(_original(one, candidates), _original(two, candidates)))


def _retest(document: dict[str, Any], record: Record) -> Retest:
    event, inputs, calls = record.event, record.inputs, record.calls_for_one
    design = record.design_epsilon
    witness, test = document.get("witness"), document.get("test")
    samples = test["trials"] if test else sum(part.counts.trials for part in record.parts)
    shown = None if witness is None else (Event.from_dict(witness["event"]), bool(witness["calls_for_one"]))
    if witness is not None and shown is not None and shown != (event, calls):  # not the event that the record is of
        event, calls = shown
        inputs = (witness["inputs"][0], witness["inputs"][1])
        design, samples = record.claimed_epsilon or 1.0, witness["trials"][0]
    return Retest(
        event,
        inputs,
        calls,
        design,
        record.claimed_epsilon,
        record.claimed_delta,
        record.confidence,
        samples,
        _next_stage([part.stage for part in record.parts] + ([test["stage"]] if test else [])),
    )


def program_of(named: str | None, record: Record, name: str) -> str:
    """The TARGET to confirm: the one that was named, or the file's, if it is a shipped mechanism or a channel file.

    named: on the command line.   name: of the file, for the message. Raises ValueError for a program that only the file
    names: importing it would run what the file's author chose, on inputs of the author's.
    """
    from ldp_audit.mechanisms.target import is_data

    if named is None and not is_data(record.target):
        raise ValueError(
            f"{name} is of the program {record.target!r:.200}, which must be named to be run: audit TARGET --confirm"
        )
    return named or record.target


def confirm(
    sampler: Sampler,
    again: Retest,
    *,
    seed: int = 0,
    timeout: float | None = None,
    stateless: bool = False,
    workers: int = 1,
    scheduler: str | None = None,
    resume: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> AuditResult:
    """Count the event on fresh samples. Any seed does: the calls' keys are none of an audit's, or of the file's.

    again: from `witness_in`.   The others as for `audit`, which see also for the errors.
    """
    start = time.perf_counter()
    check_claim(again.claimed_epsilon, again.claimed_delta)
    whole(again.samples, "samples", 1)
    check_confidence(again.confidence)
    event = again.event
    program = Program(sampler, seed, timeout, structure=event.structure, whole_rows=bool(event.labels))
    claim = PrivacyClaim(again.claimed_epsilon, again.claimed_delta, again.confidence)
    case = Case(program, Fresh(sampler, stateless=stateless), as_search(list(again.inputs)), claim, start=start)
    if again.calls_for_one:
        program.rows = 1
    else:
        program.learn_dimension(again.inputs[0], (again.stage, 0))
    rows = call_size(again.samples, program.rows)
    test = Test((again.event,), again.inputs, (0, 1), again.samples, rows, again.stage)
    state: State | Unkept = Unkept()
    if resume is not None:
        fields = ("calls_for_one", "claimed_epsilon", "claimed_delta", "confidence", "samples")
        settings = {name: getattr(again, name) for name in fields}
        state = State(resume, arguments_of(sampler, again.inputs, seed=seed, **settings))
    state.fix(test, again.design_epsilon)
    report = reporter(progress, 1 - again.confidence, again.design_epsilon, again.claimed_delta)
    runner = counting(workers, scheduler)
    (counts,) = count_all(test, program, report, runner=runner, state=state)
    record = counted(program, test, counts, again.design_epsilon, claim.pair, again.confidence)
    evidence = evidence_of(record, claim, counts, again.inputs, "the event was given: no other was looked for")
    return case.concluded(replace(evidence, stage=test.stage))


def evidence_of(record: Record, claim: PrivacyClaim, counts: Counts, inputs: tuple[Any, Any], note: str) -> Evidence:
    """What one event shows that was fixed beforehand, which may spend the whole error."""
    witness = Witness(inputs, record.event, counts, record.calls_for_one)
    trials = min(counts.trials, counts.other_trials)
    return Evidence(
        [EventBound.of(witness, claim.error, record.design_epsilon, claim)],
        [counts],
        Reach(counts, trials, claim.error, *claim.pair, record.design_epsilon),
        drawn=counts.trials + counts.other_trials,
        budget={"event": claim.error},
        floor=record.coverage_floor,
        notes=(note,),
        sections={"counted": record.to_dict()},
    )


def input_of(value: Any) -> Any:
    """An input as JSON holds it, for a program: numbers in a list become an array, so that x * 2 doubles them."""
    if not isinstance(value, list) or not value:
        return value
    try:
        array = np.array(value)
    except (ValueError, OverflowError):  # lists of several lengths
        return value
    return array if array.dtype.kind in "biuf" else value


def _next_stage(stages: Sequence[int]) -> int:
    """A confirmation of a confirmation, with whatever seed, is a stage of its own, so that its samples are fresh."""
    last = max(stages, default=0)
    return CONFIRM if last < CONFIRM else last + CONFIRMED_AGAIN


def _original(stored: Any, candidates: Sequence[Any]) -> Any:
    """The candidate that JSON writes so; ValueError where it writes several so."""
    text = json.dumps(stored)
    alike = {repr(one): one for one in candidates if json.dumps(plain(one)) == text}
    if len(alike) > 1:
        raise ValueError(f"inputs must be told apart by their JSON, which is {text:.80} for {', '.join(alike):.200}")
    return next(iter(alike.values())) if alike else input_of(stored)


def merge(documents: Sequence[tuple[str, Any]]) -> AuditResult:
    """One result from several: pairs of a name, for messages, and the JSON of a result or of an audit's state.

    Raises ValueError that says why where they cannot be added up.
    """
    if len(documents) < 2:
        raise ValueError(f"merge needs two files or more, got {len(documents)}")
    records = [(name, record_in(document, name)) for name, document in documents]
    first_name, first = records[0]
    for name, record in records[1:]:
        _require_same(first_name, first, name, record)
    parts = [(name, part) for name, record in records for part in record.parts]
    if not parts:
        raise ValueError(f"{', '.join(name for name, _ in records)} hold no counts yet")
    _require_apart(parts)
    counts = reduce(lambda total, more: total + more, (part.counts for _, part in parts))
    merged = replace(
        first,
        parts=tuple(part for _, part in parts),
        coverage_floor=min(record.coverage_floor for _, record in records),
    )
    note = f"merged from {', '.join(name for name, _ in records)}; seeds {', '.join(str(p.seed) for _, p in parts)}"
    inputs = (input_of(first.inputs[0]), input_of(first.inputs[1]))
    claim = PrivacyClaim(merged.claimed_epsilon, merged.claimed_delta, merged.confidence)
    return evidence_of(merged, claim, counts, inputs, note).result(claim, parts[0][1].seed)


def _require_same(first_name: str, first: Record, name: str, record: Record) -> None:
    hint = f"only runs of one event can be added up: run the others with --confirm {first_name} and seeds of their own"
    if _bare(first) != _bare(record):
        raise ValueError(
            f"{first_name} and {name} are of different events, {first.event.describe()} and "
            f"{record.event.describe()}; {hint}"
        )
    for field in _SAME:
        one, other = getattr(first, field), getattr(record, field)
        if one != other:
            raise ValueError(f"{first_name} and {name} differ in {field}: {plain(one)!r} and {plain(other)!r}; {hint}")


def _bare(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.event.to_dict().items() if name != "words"}


def _require_apart(parts: Sequence[tuple[str, KeyedCounts]]) -> None:
    """No sample may be counted twice: a key is seed, stage, input and chunk."""
    ranges = [
        (part.seed, part.stage, first, last, place)
        for place, (_, part) in enumerate(parts)
        for first, last in part.chunks
    ]
    for (*key, _, last, place), (*next_key, first, _, other) in pairwise(sorted(ranges)):
        if key == next_key and first < last:
            names = " and ".join(parts[one][0] for one in sorted((place, other)))
            raise ValueError(
                f"{names} counted the same samples (seed {key[0]}), which must count only once; "
                "give each run a seed of its own"
            )
