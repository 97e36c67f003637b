"""The state of an audit in a file, so that a long one goes on after a kill, and ends as if nothing had happened.

The file holds the arguments, what the search found, and the counts of every chunk that is done. The search is not made
again: its event was fixed before the first count, and stays so. Counts are added per chunk, whose generators do not
depend on each other, so that the sums are those of an uninterrupted run.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ldp_audit.accounting.whole_file import write_whole
from ldp_audit.auditing.counts.counting import SEARCH, Ledger, Test, joined
from ldp_audit.auditing.counts.target_sampler import name_of, source_digest
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.events.choice import Choice, Rare
from ldp_audit.auditing.events.event_search import Found
from ldp_audit.auditing.events.input_search import InputSearch
from ldp_audit.auditing.program import Program, Sampler
from ldp_audit.auditing.result import plain
from ldp_audit.auditing.scores.json_numbers import read_place
from ldp_audit.auditing.two_proportions import Counts

KIND = "audit-state"
_VERSION = 1
_LARGEST = 1 << 28  # bytes
DAMAGE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""What reading an edited document may run into: a missing key, a text for a number, an infinite count, a deep list."""
_SECONDS = 2.0  # between two writes: so much work is lost at most


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
) -> State | None:
    """The state of an audit; None without a path.   others: further arguments that its counts depend on."""
    if path is None:
        return None
    settings = {"claimed_epsilon": claim[0], "claimed_delta": claim[1], "confidence": confidence}
    settings |= {"samples": int(samples), "seed": program.seed, "pairs": search.pairs, **others}
    return State(Path(path), arguments_of(program.sampler, search.inputs, **settings))


class State:
    """A `Keeper` on a file. Raises ValueError for a file that is no state, or that of another run."""

    def __init__(self, path: Path, arguments: dict[str, Any]) -> None:
        self.path = path
        self._document: dict[str, Any] = {
            "schema_version": _VERSION,
            "kind": KIND,
            "arguments": json.loads(json.dumps(arguments)),
            "found": None,
            "test": None,
            "done": [],
            "tally": None,
        }
        if path.exists():
            self._document = _checked(path, read(path), self._document)
        self._written = time.monotonic()

    @property
    def found(self) -> Found | None:
        """What the search settled on; None before the test is fixed."""
        data = self._document["found"]
        inputs = self._document["arguments"]["inputs"]
        return None if data is None else self._read(lambda: found_from_dict(data, len(inputs)))

    def keep_found(self, found: Found) -> None:
        """To be written with the test that follows from it."""
        self._document["found"] = found_to_dict(found)

    def fix(self, test: Test, design_epsilon: float) -> None:
        """The test whose counts are to be kept. ValueError where the file has counts of another one."""
        described = json.loads(json.dumps({**_described(test), "design_epsilon": design_epsilon}))
        if test.trials < 1:
            raise ValueError(f"{self.path} leaves no samples for the test, it is damaged")
        if self._document["test"] not in (None, described):
            raise ValueError(f"{self.path} holds the counts of another test; name another file, or delete it")
        if self._document["test"] is None:
            self._document["test"] = described
            self._write()
        self._written = -math.inf  # the first counts are written at once

    def ledger(self, test: Test) -> Ledger:
        """See `Keeper`."""
        return self._read(lambda: ledger_from_dict(self._document, test.chunks, test.rows, test.trials))

    def keep(self, ledger: Ledger, *, now: bool = False) -> None:
        """See `Keeper`. Every few seconds at most, unless `now`."""
        self._document["done"] = [list(chunks) for chunks in ledger.done]
        self._document["tally"] = None if ledger.tally is None else [_numbers(counts) for counts in ledger.tally]
        if now or time.monotonic() - self._written >= _SECONDS:
            self._write()

    def _read(self, read_: Callable[[], Any]) -> Any:
        try:
            return read_()
        except DAMAGE as error:
            raise ValueError(f"{self.path} cannot be continued, it is damaged: {error}") from error

    def _write(self) -> None:
        write_atomically(self.path, json.dumps(self._document, indent=1, allow_nan=False) + "\n")
        self._written = time.monotonic()


def remembered(state: State | None, program: Program, first: Any, search: Callable[[], Found]) -> Found:
    """What the state knows of the search; else the search is made, and kept.

    first: the first input, one output of which tells the program's dimension, as at the beginning of a search.
    """
    found = None if state is None else state.found
    if found is None:
        found = search()
        if state is not None:
            state.keep_found(found)
        return found
    program.learn_dimension(first, (SEARCH, 0))
    return found


def read(path: Path) -> Any:
    """The JSON of a file. Raises ValueError for anything else, and for what is larger than any state."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"{path} must have at most {_LARGEST} bytes, got more")
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error


def seed_in(path: Path) -> int | None:
    """The seed of the run whose state a file holds; None where there is no such file."""
    if not path.exists():
        return None
    document = read(path)
    try:
        return read_place(document["arguments"]["seed"], "seed")
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is not the state of an audit") from None


def write_atomically(path: Path, text: str) -> None:
    """The whole text, or what was there before, whenever the process is killed. CannotWriteError names the file."""
    write_whole({path: text})


def found_to_dict(found: Found) -> dict[str, Any]:
    """For JSON."""
    choice = found.choice
    return {
        "event": choice.event.to_dict(),
        "swapped": choice.swapped,
        "predicted": plain(float(choice.predicted)),
        "seen": _numbers(choice.seen),
        "places": [int(place) for place in found.places],
        "learned": found.learned,
        "spent": found.spent,
        "drawn": found.drawn,
        "unrepeated": found.unrepeated,
        "rare": None if choice.rare is None else [choice.rare.event.to_dict(), choice.rare.swapped, choice.rare.hope],
        "levels": [event.to_dict() for event in found.levels],
    }


def found_from_dict(data: dict[str, Any], inputs: int | None = None) -> Found:
    """What `found_to_dict` wrote.   inputs: how many there are, if it is known."""
    rare = None if data["rare"] is None else Rare(Event.from_dict(data["rare"][0]), *data["rare"][1:])
    choice = Choice(
        Event.from_dict(data["event"]), bool(data["swapped"]), float(data["predicted"]), counts_of(*data["seen"]), rare
    )
    first, second = (read_place(place, "places") for place in data["places"])
    if first == second or (inputs is not None and max(first, second) >= inputs):
        raise ValueError(f"places must be two inputs' numbers, below {inputs}, got {data['places']!r}")
    if not all(isinstance(data[name], int) and data[name] >= 1 for name in ("learned", "drawn")):
        raise ValueError(f"learned and drawn must be whole numbers >= 1, got {data['learned']!r}, {data['drawn']!r}")
    read_place(data["spent"], "spent")
    return Found(
        choice,
        (first, second),
        data["learned"],
        data["spent"],
        data["drawn"],
        float(data["unrepeated"]),
        tuple(map(Event.from_dict, data["levels"])),
    )


def ledger_from_dict(data: dict[str, Any], chunks: int, rows: int, trials: int) -> Ledger:
    """The counts in a state. Raises ValueError where they do not add up to the chunks that are said to be done."""
    done = joined([(int(first), int(last)) for first, last in data["done"]])
    if not done:
        return Ledger()
    if done[0][0] < 0 or done[-1][1] > chunks or any(first >= last for first, last in done):
        raise ValueError(f"done must be ranges within 0 .. {chunks}, got {data['done']!r:.200}")
    tally = tuple(counts_of(*numbers) for numbers in data["tally"])
    counted = sum(min(last * rows, trials) - first * rows for first, last in done)
    if not tally or any((counts.trials, counts.other_trials) != (counted, counted) for counts in tally):
        raise ValueError(f"the counts must be of {counted} outputs of each input, got {data['tally']!r:.200}")
    return Ledger(done, tally)


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


def _checked(path: Path, document: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(document, dict) or document.get("kind") != KIND or set(document) != set(wanted):
        raise ValueError(f"{path} is not the state of an audit; name a file of such a run, or one that is not there")
    if document["schema_version"] != _VERSION:
        raise ValueError(f"{path} has schema_version {document['schema_version']!r}; accepted: {_VERSION}")
    was, now = document["arguments"], wanted["arguments"]
    if was != now:
        changed = [name for name in now if not isinstance(was, dict) or was.get(name) != now[name]]
        shown = "; ".join(f"{name} was {_cut(was, name)} and is {_cut(now, name)}" for name in changed)
        raise ValueError(f"{path} is the state of an audit of other arguments: {shown or 'more of them'}")
    return document


def _cut(arguments: Any, name: str) -> str:
    value = arguments.get(name) if isinstance(arguments, dict) else arguments
    text = "unknown" if value is None else repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
