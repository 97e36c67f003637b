"""A run goes on after any round as if nothing had happened, and says what it cannot do."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from ldp_audit.training import runs
from ldp_audit.training.device import repeatable
from ldp_audit.training.runs import checked_record, digest, train
from tests.together import together
from tests.training.toy import Toy, ToyRun, points

CPU = torch.device("cpu")
DATA = points()
NAME = "tests.training.toy:Toy"


class Killed(BaseException):
    """What a kill does to a run, without the process."""


def whole(plan: Toy, seed: int = 3, **others: Any) -> dict[str, Any]:
    return train(NAME, plan, DATA, seed=seed, device=CPU, **others)


@pytest.mark.parametrize("last", [1, 2, 4])
def test_a_run_that_was_interrupted_after_any_round_ends_bit_for_bit_the_same(tmp_path: Path, last: int) -> None:
    plan, keep = Toy(rounds=5), tmp_path / "run.state"

    def kill(done: float, *_: Any) -> None:
        if done == last:
            raise Killed

    with pytest.raises(Killed):
        whole(plan, keep=keep, progress=kill)
    heard: list[float] = []
    resumed = whole(plan, keep=keep, progress=lambda done, *_: heard.append(done))
    assert sorted(set(heard) - {0.0}) == list(range(last, 6)), "rounds that were done are not done again"
    assert resumed["rounds"] == whole(plan)["rounds"]
    alone = tmp_path / "alone.state"
    whole(plan, keep=alone)
    ends = [runs.read(file)["state"] for file in (keep, alone)]
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ("weights", "speed"))


def test_a_state_that_lacks_something_is_seen_to_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would see a run whose state forgets its momentum."""
    plan, keep = Toy(rounds=5), tmp_path / "run.state"
    honest = whole(plan)["rounds"]
    monkeypatch.setattr(ToyRun, "restore", lambda self, state: setattr(self, "weights", state["weights"]))

    def kill(done: float, *_: Any) -> None:
        if done == 2:
            raise Killed

    with pytest.raises(Killed):
        whole(plan, keep=keep, progress=kill)
    resumed = tmp_path / "resumed"
    whole(plan, keep=keep)
    whole(plan, keep=resumed)
    ends = [runs.read(file)["state"]["weights"] for file in (keep, resumed)]
    assert not torch.equal(*ends)
    assert len(honest) == 5


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    keep = tmp_path / "run.state"
    first = whole(Toy(), keep=keep)
    heard: list[float] = []
    again = whole(Toy(), keep=keep, progress=lambda done, *_: heard.append(done))
    assert heard == [0.0, 3.0], "a round was trained"
    assert again["rounds"] == first["rounds"]


@together(
    ("change", "message"),
    [
        ({"plan": Toy(epsilon=2.0, rounds=4)}, r"settings.epsilon was 1.0 and is 2.0; settings.rounds was 3 and is 4"),
        ({"seed": 4}, "of another run: seed was 3 and is 4"),
        ({"threads": 2}, "device.threads was 1 and is 2"),
        ({"data": points(seed=6)}, r"data.digest was '\w{16}' and is '\w{16}'"),
        ({"data": points(n=40)}, "data.records was 60 and is 40"),
        ({"pipeline": "other:Toy"}, "pipeline was 'tests.training.toy:Toy' and is 'other:Toy'"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_by_what_differs(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    keep = tmp_path / "run.state"
    whole(Toy(), keep=keep)
    kept = keep.read_bytes()
    now = {"pipeline": NAME, "plan": Toy(), "data": DATA, "seed": 3, "threads": 1} | change
    with pytest.raises(ValueError, match=message):
        train(now.pop("pipeline"), now.pop("plan"), now.pop("data"), device=CPU, keep=keep, **now)
    assert keep.read_bytes() == kept


def test_progress_hears_of_the_beginning_and_of_every_round() -> None:
    heard: list[tuple[float, int, float | None]] = []
    record = whole(Toy(rounds=3), progress=lambda *said: heard.append(said))
    assert list(dict.fromkeys(said[:2] for said in heard)) == [(0, 0), (0, 3), (1, 3), (2, 3), (3, 3)]
    assert [said[2] for said in heard[:3]] == [None, None, record["rounds"][0]["accuracy"]]


def test_operations_without_a_deterministic_algorithm_are_in_the_record_after_a_kill_too(tmp_path: Path) -> None:
    """Would catch a run on a GPU that is said to be repeatable and is not."""
    plan, names = Toy(fails="warns"), ["toy_cuda", "cumsum_cuda_kernel"]
    for last in (2, 3):
        keep = tmp_path / f"{last}.state"

        def kill(done: float, *_: Any, last: int = last) -> None:
            if done == last:
                raise Killed

        with warnings.catch_warnings(record=True):
            warnings.simplefilter("ignore")  # they are named even so
            with pytest.raises(Killed):
                whole(plan, keep=keep, progress=kill)
            resumed = whole(plan, keep=keep)
        assert resumed["device"] == {**whole(Toy())["device"], "not_repeatable": names}


def test_a_checkpoint_of_a_version_that_did_not_name_operations_is_continued(tmp_path: Path) -> None:
    keep = tmp_path / "run.state"
    whole(Toy(), keep=keep)
    content = runs.read(keep)
    del content["not_repeatable"]
    keep.write_bytes(runs.packed(content))
    assert "not_repeatable" not in whole(Toy(), keep=keep)["device"]


def test_torchs_own_warning_is_heard() -> None:
    """Would catch a version of torch that warns in other words."""
    with pytest.warns(UserWarning, match="put_"), repeatable(CPU, 2) as names:
        torch.zeros(3).put_(torch.tensor([0]), torch.ones(1))
    assert names == ["put_"]


def test_torch_has_its_threads_back_afterwards() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        record = whole(Toy(), progress=lambda *_: None, threads=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert record["device"] == {"device": "cpu", "name": "cpu", "threads": 1, "torch": str(torch.__version__)}


def test_records_are_json_and_infinite_settings_are_text() -> None:
    record = whole(Toy(epsilon=float("inf")))
    assert record["settings"]["epsilon"] == "inf"
    assert json.loads(json.dumps(record, allow_nan=False)) == record


@together(
    ("record", "message"),
    [
        ({"accuracy": float("nan")}, "be JSON-ready, without NaN"),
        ({"accuracy": 0.5, "more": {1, 2}}, "be JSON-ready"),
        ({"accuracy": 1.5}, r"accuracy in \[0, 1\], got 1.5"),
        ({"accuracy": True}, r"accuracy in \[0, 1\], got True"),
        ({}, r"accuracy in \[0, 1\], got None"),
        ([0.5], r"accuracy in \[0, 1\], got None"),
    ],
)
def test_a_record_that_a_result_cannot_hold_is_refused(record: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"record of round 7 must .*{message}"):
        checked_record(record, 7)


def test_the_digest_sees_any_number_of_the_data() -> None:
    changed = points()
    changed.x[7, 1] += 1e-9
    assert digest(points()) == digest(DATA) != digest(changed)


@together("content", [b"", b"not a checkpoint", b"PK\x03\x04 half a file"])
def test_a_file_that_is_no_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    keep = tmp_path / "run.state"
    keep.write_bytes(content)
    with pytest.raises(ValueError, match=r"run.state is not the state of a training run, or is damaged"):
        whole(Toy(), keep=keep)


def test_half_a_checkpoint_is_named_and_other_torch_files_too(tmp_path: Path) -> None:
    keep = tmp_path / "run.state"
    whole(Toy(), keep=keep)
    keep.write_bytes(keep.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is damaged"):
        whole(Toy(), keep=keep)
    keep.write_bytes(saved({"weights": torch.zeros(3)}))
    with pytest.raises(ValueError, match=r"is not the state of a training run$"):
        whole(Toy(), keep=keep)
    keep.write_bytes(saved({"kind": runs.KIND, "schema_version": 9}))
    with pytest.raises(ValueError, match="has schema_version 9; accepted: 1"):
        whole(Toy(), keep=keep)


def saved(document: dict[str, Any]) -> bytes:
    """As a checkpoint is saved: with the right digest."""
    content = io.BytesIO()
    torch.save(document, content)
    return runs.sealed(content.getvalue())


class _Code:
    """What a hostile file holds: unpickling it would run this."""

    def __reduce__(self) -> Any:
        return print, ("this code was run",)


def test_a_checkpoint_that_would_run_code_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep = tmp_path / "run.state"
    keep.write_bytes(saved({"kind": runs.KIND, "state": _Code()}))
    with pytest.raises(ValueError, match="is not the state of a training run, or is damaged"):
        whole(Toy(), keep=keep)
    assert capsys.readouterr().out == ""


@together(
    ("state", "message"),
    [
        ({"a": [1, {"b": object()}]}, r"state\['a'\]\[1\]\['b'\] must be made of CPU tensors.*got object"),
        ({"a": torch.zeros(2, requires_grad=True)}, r"state\['a'\] must be a CPU tensor without gradient"),
        ({(1, 2): 3}, "state must be made of"),
    ],
)
def test_a_state_that_could_not_be_read_back_is_refused_when_it_is_written(
    tmp_path: Path, state: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        runs.checkpoint_of(tmp_path / "run.state", {}).write({"state": state})
    assert list(tmp_path.iterdir()) == []


def test_a_view_is_kept_without_the_memory_that_it_looks_into(tmp_path: Path) -> None:
    file = tmp_path / "run.state"
    kept = runs.checkpoint_of(file, {})
    kept.write({"state": {"a": torch.zeros(1_000_000)[:2], "b": (1, [None, "x"])}})
    assert file.stat().st_size < 10_000
    assert kept.held("state")["state"]["b"] == (1, [None, "x"])


def test_a_checkpoint_with_one_bit_changed_is_named_wherever_the_bit_is(tmp_path: Path) -> None:
    """torch.load does not look at its archive's checksums: a flipped bit among the weights would train on."""
    keep = tmp_path / "run.state"
    whole(Toy(), keep=keep)
    good = keep.read_bytes()
    for place in range(0, len(good), 97):
        keep.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        with pytest.raises(ValueError, match="is damaged"):
            whole(Toy(), keep=keep)


@pytest.mark.parametrize(
    "change",
    [
        {"state": {}},
        {"state": []},
        {"state": {"weights": torch.zeros(99), "speed": "none"}},
        {"seconds": "long"},
        {"seconds": float("nan")},
        {"rounds": [1]},
        {"rounds": [{}]},
        {"rounds": [{"round": 1, "accuracy": float("inf")}]},
        {"rounds": [{"round": 2, "accuracy": 0.5}]},
        {"rounds": [{"round": n, "accuracy": 0.5} for n in range(1, 9)]},
        {"rounds": "[1]"},
        {"rounds": None},
        {"arguments": "{"},
        {"arguments": []},
    ],
)
def test_a_checkpoint_edited_by_hand_is_a_value_error_that_names_it(tmp_path: Path, change: dict[str, Any]) -> None:
    """With the right digest: would catch a KeyError or a shape's RuntimeError that speaks of the pipeline's insides."""
    keep = tmp_path / "run.state"
    whole(Toy(), keep=keep)
    keep.write_bytes(saved({**runs.read(keep), **change}))
    with pytest.raises(ValueError, match=r"run\.state is (damaged|of another run)"):
        whole(Toy(), keep=keep)
