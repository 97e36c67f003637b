"""A state in a file: the same result after an interruption, and refused wherever it would not be the same audit."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import AuditResult, audit
from ldp_audit.auditing import record as checkpoint
from ldp_audit.auditing.event_search import searched
from ldp_audit.auditing.program import CHUNK_ROWS, Program
from ldp_audit.auditing.record import State, arguments_of, found_from_dict, found_to_dict, seed_in
from ldp_audit.auditing.test import FIRST_CALLS, CountedChunks, IncompleteError
from ldp_audit.files import write_whole
from tests.auditing.samplers import atom_and_density, labels
from tests.auditing.worker_samplers import biased
from tests.together import together

SAMPLES = 6 * CHUNK_ROWS


def vectors(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, 5)) + np.array([0, 0, x, 0, 0])


def infinite(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Infinity with probability 0.6 on input 1 and 0.2 on input 0."""
    return np.where(rng.random(n) < (0.6 if x else 0.2), math.inf, rng.normal(size=n))


def outcome(result: AuditResult) -> dict[str, Any]:
    return {name: value for name, value in result.to_dict().items() if name != "seconds"}


class Interrupted:
    """A sampler that is interrupted at one of its calls."""

    __qualname__, __module__ = biased.__qualname__, biased.__module__

    def __init__(self, at: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.at, self.error, self.calls = at, error, 0

    def __getstate__(self) -> dict[str, Any]:
        """As before its first call: a pickle that changes is taken for a memory."""
        return {**vars(self), "calls": 0}

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        self.calls += 1
        if self.calls == self.at:
            raise self.error("stop")
        return biased(x, n, rng)


_IN_THE_TEST = 1 + 6 * 32 + 20
"""A call after that which learns the dimension and those of the search: 32 parts of three samples of two inputs."""


def run(sampler: Any, state: Path | None, **changes: Any) -> AuditResult:
    given = {"inputs": (-1.0, 1.0), "claimed_epsilon": 1.0, "samples": SAMPLES, **changes}
    return audit(sampler, resume=state, **given)


def test_an_interrupted_audit_goes_on_to_the_same_result(tmp_path: Path) -> None:
    counting = Interrupted(0)
    whole = outcome(run(counting, None))
    for at in (
        1,
        3,
        counting.calls - 30,
        counting.calls,
    ):  # at the first output, in the search, in the test, at the end
        state = tmp_path / f"{at}.json"
        with pytest.raises(KeyboardInterrupt):
            run(Interrupted(at), state)
        again = Interrupted(0)
        assert outcome(run(again, state)) == whole
        if at > 10:
            assert again.calls < counting.calls  # the search was not made again


def test_a_failure_keeps_the_counts_and_a_second_try_ends_as_if_there_was_none(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with pytest.raises(IncompleteError) as caught:
        run(Interrupted(_IN_THE_TEST, ArithmeticError), state)
    assert caught.value.partial is not None
    assert json.loads(state.read_text())["tally"][0][1] == caught.value.partial["trials"][0] > 0
    assert outcome(run(biased, state)) == outcome(run(biased, None))


def test_a_finished_state_gives_its_result_again_without_a_search(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    first = outcome(run(Interrupted(0), state))
    again = Interrupted(0)
    assert outcome(run(again, state)) == first
    few = 2 + 2 * FIRST_CALLS + 64  # the dimension, twice, and the calls that look for repeats and for dependence
    assert again.calls <= few


def test_a_state_may_be_gone_on_with_by_several_workers(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(_IN_THE_TEST), state)
    assert outcome(run(biased, state, workers=2)) == outcome(run(biased, None))


@together(
    ("sampler", "inputs"), [(labels, (0, 1)), (atom_and_density, (0, 1)), (vectors, (0.0, 2.0)), (infinite, (0, 1))]
)
def test_what_a_search_found_is_the_same_when_it_is_read_back(sampler: Any, inputs: tuple[Any, Any]) -> None:
    found = searched(Program(sampler), inputs, 200_000, 0.001, 0.0)
    assert found_from_dict(json.loads(json.dumps(found_to_dict(found)))) == found


@together(
    ("changes", "message"),
    [
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"samples": 2 * SAMPLES}, f"samples was {SAMPLES} and is {2 * SAMPLES}"),
        ({"claimed_epsilon": None}, "claimed_epsilon was 1.0 and is unknown"),
        ({"confidence": 0.9}, "confidence was 0.999 and is 0.9"),
        ({"inputs": (-1.0, 0.5)}, r"inputs was \[-1.0, 1.0\] and is \[-1.0, 0.5\]"),
    ],
)
def test_the_state_of_other_arguments_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    run(biased, state)
    before = state.read_text()
    with pytest.raises(ValueError, match=rf"state.json is the state of an audit of other arguments: {message}"):
        run(biased, state, **changes)
    assert state.read_text() == before


def test_the_state_of_another_program_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    run(biased, state)
    with pytest.raises(ValueError, match=r"target was 'tests.auditing.worker_samplers:biased' and is '.*:vectors'"):
        run(vectors, state)


def test_the_state_of_a_program_that_was_edited_since_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    run(biased, state)
    document = json.loads(state.read_text())
    document["arguments"]["source"] = "another"
    state.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"other arguments: source was 'another' and is '.*'"):
        run(biased, state)


def damaged(document: dict[str, Any], **changes: Any) -> str:
    return json.dumps({**document, **changes})


def test_a_file_that_is_no_state_is_refused_and_left_alone(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    run(biased, state)
    good = json.loads(state.read_text())
    done, tally = good["done"], good["tally"]
    for text, message in [
        ("{", "is not JSON"),
        ("[]", "is not the state of an audit"),
        (damaged(good, kind="audit"), "is not the state of an audit"),
        (damaged(good, schema_version=2), "schema_version 2; accepted: 1"),
        (damaged(good, tally=[[1, 2, 3, 4]]), "damaged: hits must be in|damaged: other_hits|damaged: the counts"),
        (damaged(good, tally=[[x - 1 for x in tally[0]]]), "damaged: the counts must be of"),
        (damaged(good, done=[[0, done[0][1] + 1]]), "damaged: done must be ranges within"),
        (damaged(good, done=[[0, 2], [1, 3]]), "damaged: chunk 1 was counted twice"),
        (damaged(good, found={}), "damaged"),
        (damaged(good, test={**good["test"], "rows": 7}), "holds the counts of another test"),
    ]:
        state.write_text(text)
        with pytest.raises(ValueError, match=message):
            run(biased, state)
        assert state.read_text() == text


def test_a_write_that_fails_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    write_whole({path: "old"})

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write_whole({path: "new"})
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_counts_are_written_every_few_seconds_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: clock[0])
    path = tmp_path / "state.json"
    state = State(path, arguments_of(biased, (0, 1), seed=4))

    def in_file() -> list[Any]:
        return json.loads(path.read_text())["done"]

    state.keep(CountedChunks(((0, 1),)))
    assert not path.exists()
    clock[0] += 3
    state.keep(CountedChunks(((0, 2),)))
    assert in_file() == [[0, 2]]
    state.keep(CountedChunks(((0, 3),)))
    assert in_file() == [[0, 2]]
    state.keep(CountedChunks(((0, 4),)), now=True)
    assert in_file() == [[0, 4]]
    assert seed_in(path) == 4
    assert seed_in(tmp_path / "none.json") is None
