"""The serialised result of a test: event, input pair, counts, and the keys of the calls that they came from.

It is a section of a result's JSON, from which a confirmation takes the event, and a merger the counts. While an audit
runs, `State` keeps the same in a file, so that a long run goes on after a kill, and ends as if nothing had happened.

The file holds the arguments, what the search found, and the counts of every chunk that is done. The search is not made
again: its event was fixed before the first count, and stays so. Counts are added per chunk, whose generators do not
depend on each other, so that the sums are those of an uninterrupted run.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldp_audit.auditing.adapters.sampler import Sampler, name_of, source_digest
from ldp_audit.auditing.bounds import Counts, check_claim, check_confidence
from ldp_audit.auditing.choice import LONE_SHARE, Choice
from ldp_audit.auditing.event_search import Found, InputSearch, floor_of
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.result import plain
from ldp_audit.auditing.scores.score import read_place
from ldp_audit.auditing.test import CountedChunks, Range, Test, Unkept, joined
from ldp_audit.checkpoint import DAMAGE as DAMAGE
from ldp_audit.checkpoint import Checkpoint, damaged
from ldp_audit.checkpoint import plain as as_json
from ldp_audit.files import read_json
from ldp_audit.numerics import instance

KIND = "audit-state"
_SECONDS = 2.0  # between two writes: so much work is lost at most


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
        fields = {name: value for name, value in vars(self).items() if name != "counts"}
        return plain(fields) | self.counts.to_dict()

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
        parts = [part.to_dict() for part in self.parts]
        return plain(vars(self)) | {"event": self.event.to_dict(), "parts": parts}

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
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "guesses" or (kind == "audit" and "counted" not in document):
        raise ValueError(
            f"{name} cannot be confirmed or merged: it is of a sequential audit, of recorded scores or of guesses, and "
            "has no counts of one event on numbered samples of a program; run the audit without --sequential"
        )
    if kind not in ("audit", KIND):
        raise ValueError(f"{name} is no result of an audit; accepted: what --json or --resume wrote")
    if document.get("schema_version") != 1:
        raise ValueError(f"{name} has schema_version {document.get('schema_version')!r}; accepted: 1")
    if kind == KIND and document.get("test") is None:
        raise ValueError(f"{name} is the state of an audit that has not chosen its event yet")
    try:
        return _checked(_of_state(document) if kind == KIND else Record.from_dict(document["counted"]))
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
    found = None if document["found"] is None else found_from_dict(document["found"])
    claim = _number(arguments["claimed_epsilon"]), float(arguments["claimed_delta"])
    confidence = float(arguments["confidence"])
    stage = int(test["stage"])
    ledger: CountedChunks = ledger_from_dict(document, -(-test["trials"] // test["rows"]), test["rows"], test["trials"])
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
        *claim,
        confidence,
        1.0 if found is None else floor_of(found, int(test["trials"]), LONE_SHARE * (1 - confidence), *claim),
        parts,
    )


def _number(value: Any) -> float | None:
    """Infinity is the text "inf"."""
    return None if value is None else float(value) if value != "inf" else math.inf


def arguments_of(sampler: Sampler, inputs: Sequence[Any], **others: Any) -> dict[str, Any]:
    """What a run must have in common with the one that it continues. others: whatever else its counts depend on."""
    return {
        "target": name_of(sampler),
        "source": source_digest(sampler),
        "inputs": [plain(x) for x in inputs],
        **{name: plain(value) for name, value in others.items()},
    }


def opened(
    path: Path | None,
    program: Program,
    search: InputSearch,
    claim: tuple[float | None, float],
    samples: int,
    confidence: float,
    **others: Any,
) -> State | Unkept:
    """The state of an audit, which is kept nowhere without a path.   others: further arguments of its counts."""
    if path is None:
        return Unkept()
    instance(path, (str, Path), "resume", "the path of a file, or None")
    settings = {"claimed_epsilon": claim[0], "claimed_delta": claim[1], "confidence": confidence}
    settings |= {"samples": int(samples), "seed": program.seed, "pairs": search.pairs, **others}
    return State(Path(path), arguments_of(program.sampler, search.inputs, **settings))


class State:
    """A `Keeper` on a file. Raises ValueError for a file that is no state, or that of another run."""

    def __init__(self, path: Path, arguments: dict[str, Any]) -> None:
        says = "the state of an audit"
        self._file = Checkpoint(path, KIND, says, f"is {says} of other arguments", arguments, read_json, _packed)
        self._inputs = len(arguments["inputs"])
        held = self._file.held("found", "test", "done", "tally") or {}
        self._parts: dict[str, Any] = {"found": None, "test": None, "done": [], "tally": None}
        self._parts = {name: held.get(name, value) for name, value in self._parts.items()}
        self._written = time.monotonic()

    @property
    def found(self) -> Found | None:
        """What the search settled on; None before the test is fixed."""
        data = self._parts["found"]
        return None if data is None else self._read(lambda: found_from_dict(data, self._inputs))

    def keep_found(self, found: Found) -> None:
        """To be written with the test that follows from it."""
        self._parts["found"] = found_to_dict(found)

    def fix(self, test: Test, design_epsilon: float) -> None:
        """The test whose counts are to be kept. ValueError where the file has counts of another one."""
        described = as_json({**_described(test), "design_epsilon": design_epsilon})
        if test.trials < 1:
            raise ValueError(f"{self._file.path} leaves no samples for the test, it is damaged")
        if self._parts["test"] is not None and _without_words(self._parts["test"]) != _without_words(described):
            raise ValueError(f"{self._file.path} holds the counts of another test; name another file, or delete it")
        if self._parts["test"] is None:
            self._parts["test"] = described
            self._write()
        self._written = -math.inf  # the first counts are written at once

    def ledger(self, test: Test) -> CountedChunks:
        """See `Keeper`."""
        return self._read(lambda: ledger_from_dict(self._parts, test.chunks, test.rows, test.trials))

    def keep(self, ledger: CountedChunks, *, now: bool = False) -> None:
        """See `Keeper`. Every few seconds at most, unless `now`."""
        self._parts["done"] = [list(chunks) for chunks in ledger.done]
        self._parts["tally"] = None if ledger.tally is None else [_numbers(counts) for counts in ledger.tally]
        if now or time.monotonic() - self._written >= _SECONDS:
            self._write()

    def _read(self, read_: Callable[[], Any]) -> Any:
        try:
            return read_()
        except DAMAGE as error:
            raise damaged(self._file.path, error) from error

    def _write(self) -> None:
        self._file.write(self._parts)
        self._written = time.monotonic()


def _without_words(test: dict[str, Any]) -> dict[str, Any]:
    """What is counted, however a version puts it."""
    events = [{name: value for name, value in event.items() if name != "words"} for event in test["events"]]
    return {**test, "events": events}


def seed_in(path: Path) -> int | None:
    """The seed of the run whose state a file holds; None where there is no such file."""
    if not path.exists():
        return None
    document = read_json(path)
    try:
        return read_place(document["arguments"]["seed"], "seed")
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is not the state of an audit") from None


def _packed(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def found_to_dict(found: Found) -> dict[str, Any]:
    """For JSON."""
    return {
        **_choice_to_dict(found.choice),
        "places": [int(place) for place in found.places],
        "searched": found.searched,
        "sightings": plain(found.sightings),
        "spent": found.spent,
        "drawn": found.drawn,
        "unrepeated": found.unrepeated,
        "levels": [event.to_dict() for event in found.levels],
        "lone": None if found.lone is None else _choice_to_dict(found.lone),
    }


def _choice_to_dict(choice: Choice) -> dict[str, Any]:
    return {
        "event": choice.event.to_dict(),
        "swapped": choice.swapped,
        "predicted": plain(float(choice.predicted)),
        "seen": _numbers(choice.seen),
    }


def _choice_from_dict(data: dict[str, Any]) -> Choice:
    return Choice(
        Event.from_dict(data["event"]),
        bool(data["swapped"]),
        float(data["predicted"]),
        counts_of(*data["seen"]),
    )


def found_from_dict(data: dict[str, Any], inputs: int | None = None) -> Found:
    """What `found_to_dict` wrote.   inputs: how many there are, if it is known."""
    choice = _choice_from_dict(data)
    first, second = (read_place(place, "places") for place in data["places"])
    if first == second or (inputs is not None and max(first, second) >= inputs):
        raise ValueError(f"places must be two inputs' numbers, below {inputs}, got {data['places']!r}")
    if not all(isinstance(data[name], int) and data[name] >= 1 for name in ("searched", "drawn")):
        raise ValueError(f"searched and drawn must be whole numbers >= 1, got {data['searched']!r}, {data['drawn']!r}")
    sightings = float(data["sightings"])
    if not sightings >= 1:
        raise ValueError(f"sightings must be a number >= 1, got {data['sightings']!r}")
    read_place(data["spent"], "spent")
    return Found(
        choice,
        (first, second),
        data["searched"],
        sightings,
        data["spent"],
        data["drawn"],
        float(data["unrepeated"]),
        tuple(map(Event.from_dict, data["levels"])),
        None if data["lone"] is None else _choice_from_dict(data["lone"]),
    )


def ledger_from_dict(data: dict[str, Any], chunks: int, rows: int, trials: int) -> CountedChunks:
    """The counts in a state. Raises ValueError where they do not add up to the chunks that are said to be done."""
    done = joined([(int(first), int(last)) for first, last in data["done"]])
    if not done:
        return CountedChunks()
    if done[0][0] < 0 or done[-1][1] > chunks or any(first >= last for first, last in done):
        raise ValueError(f"done must be ranges within 0 .. {chunks}, got {data['done']!r:.200}")
    tally = tuple(counts_of(*numbers) for numbers in data["tally"])
    counted = sum(min(last * rows, trials) - first * rows for first, last in done)
    if not tally or any((counts.trials, counts.other_trials) != (counted, counted) for counts in tally):
        raise ValueError(f"the counts must be of {counted} outputs of each input, got {data['tally']!r:.200}")
    return CountedChunks(done, tally)


def counts_of(*numbers: Any) -> Counts:
    """The counts that a document holds. Raises ValueError unless they are whole numbers."""
    return Counts(*(read_place(number, "counts") for number in numbers))


def _numbers(counts: Counts) -> list[int]:
    return [counts.hits, counts.trials, counts.other_hits, counts.other_trials]


def _described(test: Test) -> dict[str, Any]:
    return {
        "events": [event.to_dict() for event in test.events],
        "inputs": [plain(x) for x in test.pair],
        "places": list(test.places),
        "trials": int(test.trials),
        "rows": test.rows,
        "stage": test.stage,
    }
