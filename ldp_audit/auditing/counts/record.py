"""What a run counted, as its JSON says it: one event on one pair of inputs, and which samples the counts are of.

A confirmation takes the event from here, and a merger the counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ldp_audit.auditing.arguments import check_claim, check_confidence
from ldp_audit.auditing.counts.checkpoint import DAMAGE, KIND, counts_of, ledger_from_dict
from ldp_audit.auditing.counts.counting import Ledger, Range, Test, joined
from ldp_audit.auditing.counts.target_sampler import name_of
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.events.event_search import coverage_floor
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.result import plain
from ldp_audit.auditing.two_proportions import Counts


@dataclass(frozen=True)
class KeyedCounts:
    """Counts, and the keys of the calls that they are of: seed, stage and chunks."""

    seed: int
    stage: int
    rows: int
    chunks: tuple[Range, ...]
    counts: Counts

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        counts = self.counts
        return {
            "seed": self.seed,
            "stage": self.stage,
            "rows": self.rows,
            "chunks": [list(chunks) for chunks in self.chunks],
            "hits": [counts.hits, counts.other_hits],
            "trials": [counts.trials, counts.other_trials],
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> KeyedCounts:
        """What `to_dict` wrote."""
        (hits, other), (trials, others) = data["hits"], data["trials"]
        chunks = joined([(int(first), int(last)) for first, last in data["chunks"]])
        rows, calls = int(data["rows"]), sum(last - first for first, last in chunks)
        if trials != others or not (calls - 1) * rows < trials <= calls * rows:
            raise ValueError(f"{calls} calls for {rows} outputs each cannot give {trials} and {others} of them")
        return KeyedCounts(int(data["seed"]), int(data["stage"]), rows, chunks, counts_of(hits, trials, other, others))


@dataclass(frozen=True)
class Record:
    """One event on one pair, fixed before any of the parts was drawn.

    inputs: as JSON holds them, the one that makes the event likelier first.   calls_for_one: each output by a call of
    its own.   design_epsilon: where the test is tight, fixed with the event.   coverage_floor: of the search that chose
    the event; 1 where there was none.
    """

    target: str
    event: Event
    inputs: tuple[Any, Any]
    calls_for_one: bool
    design_epsilon: float
    claimed_epsilon: float | None
    claimed_delta: float
    confidence: float
    coverage_floor: float
    parts: tuple[KeyedCounts, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the section "counted" of a result."""
        return {
            "target": self.target,
            "event": self.event.to_dict(),
            "inputs": list(self.inputs),
            "calls_for_one": self.calls_for_one,
            "design_epsilon": self.design_epsilon,
            "claimed_epsilon": plain(self.claimed_epsilon),
            "claimed_delta": self.claimed_delta,
            "confidence": self.confidence,
            "coverage_floor": self.coverage_floor,
            "parts": [part.to_dict() for part in self.parts],
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Record:
        """What `to_dict` wrote."""
        first, second = data["inputs"]
        return Record(
            str(data["target"]),
            Event.from_dict(data["event"]),
            (first, second),
            bool(data["calls_for_one"]),
            float(data["design_epsilon"]),
            _number(data["claimed_epsilon"]),
            float(data["claimed_delta"]),
            float(data["confidence"]),
            float(data["coverage_floor"]),
            tuple(KeyedCounts.from_dict(part) for part in data["parts"]),
        )


def counted(
    program: Program,
    test: Test,
    counts: Counts,
    design_epsilon: float,
    claim: tuple[float | None, float],
    confidence: float,
    floor: float = 1.0,
) -> Record:
    """The record of a test that is through.   claim: epsilon and delta.   floor: see `Record.coverage_floor`."""
    part = KeyedCounts(program.seed, test.stage, test.rows, ((0, test.chunks),), counts)
    return Record(
        name_of(program.sampler),
        test.events[0],
        (plain(test.pair[0]), plain(test.pair[1])),
        test.rows == 1,
        design_epsilon,
        *claim,
        confidence,
        floor,
        (part,),
    )


def record_in(document: Any, name: str) -> Record:
    """The record in a result's JSON or in the state of an audit, finished or not.

    name: of the file, for messages. Raises ValueError for other JSON, and for a state that has not fixed its event.
    """
    if not isinstance(document, dict) or document.get("kind") not in ("audit", KIND):
        raise ValueError(f"{name} is no result of an audit; accepted: what --json or --resume wrote")
    if document.get("schema_version") != 1:
        raise ValueError(f"{name} has schema_version {document.get('schema_version')!r}; accepted: 1")
    if document["kind"] == KIND and document.get("test") is None:
        raise ValueError(f"{name} is the state of an audit that has not chosen its event yet")
    if document["kind"] == "audit" and "counted" not in document:
        raise ValueError(f"{name} does not say which samples its counts are of, so nothing can be built on them")
    try:
        return _checked(_of_state(document) if document["kind"] == KIND else Record.from_dict(document["counted"]))
    except DAMAGE as error:
        raise ValueError(f"{name} is damaged: {type(error).__name__}: {error}") from error


def _checked(record: Record) -> Record:
    """ValueError for what no run of ours can have written: a bound would be built on it."""
    check_claim(record.claimed_epsilon, record.claimed_delta)
    check_confidence(record.confidence)
    if not (0 <= record.design_epsilon <= math.inf and 0 < record.coverage_floor <= 1):
        raise ValueError(f"design_epsilon or coverage_floor is {record.design_epsilon!r}, {record.coverage_floor!r}")
    return record


def _of_state(document: dict[str, Any]) -> Record:
    arguments, test = document["arguments"], document["test"]
    stage = int(test["stage"])
    ledger: Ledger = ledger_from_dict(document, -(-test["trials"] // test["rows"]), test["rows"], test["trials"])
    parts = ()
    if ledger.tally is not None:
        parts = (KeyedCounts(arguments["seed"], stage, test["rows"], ledger.done, ledger.tally[0]),)
    first, second = test["inputs"]
    return Record(
        arguments["target"],
        Event.from_dict(test["events"][0]),
        (first, second),
        test["rows"] == 1,
        float(test["design_epsilon"]),
        _number(arguments["claimed_epsilon"]),
        float(arguments["claimed_delta"]),
        float(arguments["confidence"]),
        1.0 if document["found"] is None else coverage_floor(document["found"]["learned"]),
        parts,
    )


def _number(value: Any) -> float | None:
    """Infinity is the text "inf"."""
    return None if value is None else float(value) if value != "inf" else math.inf
