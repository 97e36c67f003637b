"""ldp-audit train: what it prints and writes, what becomes of a run that is killed, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ldp_audit.cli import main
from ldp_audit.training.kept_model import load_model
from ldp_audit.training.pipeline import plan_class
from ldp_audit.training.sweep import Sweep, jobs_of
from ldp_audit.training.sweep_folder import asked, manifest_file
from ldp_audit.workers import SchedulerLostError

Captured = pytest.CaptureFixture[str]
TOY = "tests.training.toy:Toy"
QUICK = ["--workers", "1", "--quiet"]


def document(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text())


def numbers(folder: Path) -> dict[str, Any]:
    """All but times."""
    found = document(folder)
    for one in found["runs"] + found["spend"]:
        del one["seconds"]
    return found


def test_a_users_own_pipeline_runs_its_demonstration_and_writes_everything(tmp_path: Path, capsys: Captured) -> None:
    assert main(["train", TOY, "--out", str(tmp_path), "--json", str(tmp_path / "copy.json"), *QUICK]) == 0
    out = capsys.readouterr().out
    assert "9 runs of 3 points, root seed 0" in out
    assert re.search(r"^0\.03 +0\.\d{4} ± 0\.\d{4} +3 +0\.265512 +no number$", out, re.MULTILINE)
    assert re.search(r"^none .* no promise$", out, re.MULTILINE)
    assert "SEEN: toy-epsilon (error rate 0.01)" in out
    found = document(tmp_path)
    assert found == json.loads((tmp_path / "copy.json").read_text())
    assert found["findings"][0]["verdict"] == "seen"
    assert [len(run["rounds"]) for run in found["runs"]] == [3] * 9
    for name in ("report.md", "report.html", "figures/accuracy-epsilon.svg", "figures/accuracy-spend.svg"):
        assert name in out
        assert (tmp_path / name).stat().st_size > 500


def test_sweeps_settings_and_repeats_are_read_by_their_types(tmp_path: Path, capsys: Captured) -> None:
    chosen = ["--sweep", "epsilon=0.5,none", "--sweep", "kind=plain,lazy", "--set", "rounds=2", "--repeats", "2"]
    assert main(["train", TOY, *chosen, "--seed", "5", "--data-option", "n=40", "--out", str(tmp_path), *QUICK]) == 0
    found = document(tmp_path)
    assert [one["settings"] for one in found["points"]] == [
        {"epsilon": epsilon, "kind": kind} for epsilon in (0.5, None) for kind in ("plain", "lazy")
    ]
    assert len(found["runs"]) == 8
    assert found["data"]["records"] == 40
    assert {len(run["rounds"]) for run in found["runs"]} == {2}
    assert "OPPOSITE" not in capsys.readouterr().out


def test_a_preset_may_be_changed_in_parts(tmp_path: Path) -> None:
    assert main(["train", TOY, "--preset", "two", "--set", "epsilon=2", "--out", str(tmp_path), *QUICK]) == 0
    assert {(run["settings"]["rounds"], run["settings"]["epsilon"]) for run in document(tmp_path)["runs"]} == {(2, 2.0)}


@pytest.mark.parametrize(("leaks", "code", "verdict"), [("false", 0, "consistent"), ("true", 1, "violated")])
def test_an_audit_of_each_point_has_its_own_exit_code(
    tmp_path: Path, capsys: Captured, leaks: str, code: int, verdict: str
) -> None:
    asked = ["--sweep", "rounds=1,2", "--set", f"leaks={leaks}", "--audit", "--out", str(tmp_path), *QUICK]
    assert main(["train", TOY, *asked]) == code
    audits = document(tmp_path)["audit"]
    assert [(one["settings"], one["verdict"]) for one in audits] == [({"rounds": n}, verdict) for n in (1, 2)]
    assert re.search(rf"rounds 1 +server +[\d.]+ +1 +exact +{verdict}", capsys.readouterr().out)


def test_operations_without_a_deterministic_algorithm_are_named_wherever_the_result_is_shown(
    tmp_path: Path, capsys: Captured
) -> None:
    said = "no deterministic algorithm on this device for toy_cuda, cumsum_cuda_kernel."
    for settings, shown in (["--set", "fails=warns"], True), (["--set", "rounds=1"], False):
        folder = tmp_path / str(shown)
        with pytest.warns(UserWarning, match="deterministic") if shown else nullcontext():
            assert main(["train", TOY, *settings, "--out", str(folder), *QUICK]) == 0
        texts = [capsys.readouterr().out, *((folder / name).read_text() for name in ("report.md", "report.html"))]
        assert [said in " ".join(text.replace("\\", "").split()) for text in texts] == [shown] * 3
        assert [run["device"].get("not_repeatable") for run in document(folder)["runs"]] == [
            ["toy_cuda", "cumsum_cuda_kernel"] if shown else None
        ]


def test_without_out_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", TOY, "--preset", "short", *QUICK]) == 0
    assert "Training tests.training.toy:Toy on points" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_list_says_what_there_is(capsys: Captured) -> None:
    assert main(["train", TOY, "--list"]) == 0
    out = capsys.readouterr().out
    for part in ("epsilon = 1.0", "demonstration", "short", "data sets"):
        assert part in out


def test_resume_goes_on_with_the_same_sweep_only(tmp_path: Path, capsys: Captured) -> None:
    asked = ["train", TOY, "--set", "rounds=2", "--out", str(tmp_path), *QUICK]
    assert main(asked) == 0
    first = numbers(tmp_path)
    assert main(asked) == 2
    assert "holds a sweep; --resume goes on with it, else name another folder" in capsys.readouterr().err
    assert main([*asked, "--resume"]) == 0
    assert numbers(tmp_path) == first
    assert main([*asked, "--resume", "--seed", "1", "--set", "epsilon=2"]) == 2
    said = capsys.readouterr().err
    assert "is of another run: seed was 0 and is 1; " in said
    assert "run.1.epsilon was 1.0 and is 2.0" in said


@pytest.mark.parametrize(
    ("other", "said", "read"),
    [
        (["--set", "epsilon=1"], "holds a sweep; --resume goes on with it", False),
        (["--resume", "--seed", "1"], "is of another run: seed was 0 and is 1", False),
        (["--resume", "--set", "epsilon=2"], "is of another run: run.1.epsilon was 1.0 and is 2.0", False),
        (["--resume", "--threads", "2"], "is of another run: threads was 1 and is 2", False),
        (["--resume", "--set", "rounds=4"], "a run of 3 rounds cannot be extended", False),
        (["--resume", "--data-option", "n=40"], "is of another run: data.records was 60 and is 40", True),
    ],
)
def test_a_folder_of_another_sweep_is_refused_before_the_data_are_read(
    tmp_path: Path, capsys: Captured, other: list[str], said: str, *, read: bool
) -> None:
    """Would catch a large data set that is read for minutes before the command says no."""
    mark = tmp_path / "read"
    words = ["train", TOY, "--sweep", "kind=plain", "--out", str(tmp_path / "sweep"), *QUICK]
    words += ["--data", "tests.training.toy:noticed_points", "--data-option", f"mark={mark}"]
    assert main(words) == 0
    mark.unlink()
    assert main([*words, *other]) == 2
    assert said in capsys.readouterr().err
    assert mark.exists() == read


def test_a_folder_of_another_sweep_is_refused_before_torch_is_loaded(tmp_path: Path) -> None:
    """The second half shows that the check can fail: the same sweep needs torch to see that it is."""
    jobs = jobs_of(plan_class("ldp-fl"), [Sweep({"rounds": 1})], 0)
    folder = tmp_path / "sweep"
    folder.mkdir()
    manifest_file(folder).write_text(json.dumps(asked("ldp-fl", 0, 1, jobs)))
    words = ["train", "ldp-fl", "--set", "rounds=1", "--out", str(folder), "--resume", *QUICK]
    check = (
        "import sys; from ldp_audit.cli import main; assert main(sys.argv[1:]) == 2; sys.exit('torch' in sys.modules)"
    )
    for more, loads in (["--seed", "1"], 0), ([], 1):
        assert subprocess.run([sys.executable, "-c", check, *words, *more], check=False).returncode == loads


def test_a_killed_sweep_resumes_to_the_numbers_of_one_that_was_not(tmp_path: Path) -> None:
    asked = ["train", TOY, "--sweep", "epsilon=0.5,1", "--set", "rounds=4", *QUICK]
    slow = [*asked, "--set", "slow=0.1", "--out", str(tmp_path / "killed")]
    command = [sys.executable, "-m", "ldp_audit.cli", *slow]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=subprocess.PIPE)
    states: list[Path] = []
    try:
        deadline = time.monotonic() + 120
        while not states and time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            states = list((tmp_path / "killed").glob("runs/*.state"))
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert states, "no round was finished"
    assert not (tmp_path / "killed" / "results.json").exists()
    for file in (tmp_path / "killed").rglob("*.json"):
        json.loads(file.read_text())
    assert main([*slow, "--resume"]) == 0
    assert main([*asked, "--set", "slow=0.1", "--out", str(tmp_path / "whole")]) == 0
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "whole")


@pytest.mark.slow  # test_every_pipeline.py extends each pipeline's runs
def test_more_rounds_extend_a_sweep_to_the_numbers_of_one_that_had_them_from_the_start(
    tmp_path: Path, capsys: Captured
) -> None:
    """Would catch a first half that is trained again, or that is lost."""
    asked = ["train", "ldp-fl", "--set", "n=4", "--set", "epochs=1", "--set", "model=softmax", *QUICK]
    asked += ["--sweep", "epsilon=1,2"]
    short, whole = [*asked, "--out", str(tmp_path / "short")], [*asked, "--out", str(tmp_path / "whole")]
    assert main([*short, "--set", "rounds=1"]) == 0
    assert main([*short, "--set", "rounds=3", "--resume", "--keep-model"]) == 0
    models = [load_model(tmp_path / "short" / "models" / f"run-{number}.pt") for number in (1, 2)]
    spends = document(tmp_path / "short")["spend"]
    assert [model.spend for model in models] == spends
    assert [model.accuracy for model in models] == [
        point["accuracy"]["mean"] for point in document(tmp_path / "short")["points"]
    ]
    assert main([*whole, "--set", "rounds=3"]) == 0
    assert numbers(tmp_path / "short") == numbers(tmp_path / "whole")
    assert main([*short, "--set", "rounds=2", "--resume"]) == 2
    assert "rounds must be at least the 3 of the runs that are there, got 2" in capsys.readouterr().err
    assert main([*short, "--set", "rounds=4", "--set", "batch_size=9", "--resume"]) == 2
    assert "is of another run: run.1.batch_size was 5 and is 9; run.2.batch_size" in capsys.readouterr().err
    assert main([*asked, "--keep-model"]) == 2
    assert "models are kept in the folder --out" in capsys.readouterr().err
    assert main(["train", TOY, "--set", "rounds=1", "--out", str(tmp_path / "toy"), *QUICK]) == 0
    assert main(["train", TOY, "--set", "rounds=2", "--out", str(tmp_path / "toy"), "--resume", *QUICK]) == 2
    assert "a run of 1 rounds cannot be extended: its plan does not say how" in capsys.readouterr().err


def test_an_interrupt_and_a_lost_scheduler_say_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for error, code, said in (
        (KeyboardInterrupt(), 130, "interrupted"),
        (SchedulerLostError("it was lost"), 2, "it was lost"),
    ):

        def cut_short(*_: Any, error: BaseException = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr("ldp_audit.training.experiment.spread", cut_short)
        assert main(["train", TOY, "--out", str(tmp_path / said), *QUICK]) == code
        assert capsys.readouterr().err == f"ldp-audit train: {said}; --resume goes on with {tmp_path / said}\n"
        assert main(["train", TOY, *QUICK]) == code
        assert capsys.readouterr().err == f"ldp-audit train: {said}; nothing was written, for lack of --out\n"


def test_the_command_line_itself_loads_no_torch() -> None:
    """Another command would pay for it; the second half shows that the check can fail."""
    ours, check = (
        "ldp_audit.cli.command_line, ldp_audit.training.data",
        "import sys, {}; sys.exit({!r} in sys.modules)",
    )
    for modules, heavy, loads in ((ours, "torch", 0), (ours, "argparse", 1)):
        command = [sys.executable, "-c", check.format(modules, heavy)]
        assert subprocess.run(command, check=False).returncode == loads


def test_a_comma_within_parentheses_parts_no_values(tmp_path: Path) -> None:
    """`--sweep "mechanism=Gaussian(a, b)"` was once two values, Gaussian(a and b)."""
    swept = ["--sweep", "mark=G(a, b),H([c, d]),e", "--set", "rounds=1"]
    assert main(["train", TOY, *QUICK, *swept, "--out", str(tmp_path)]) == 0
    assert [run["settings"]["mark"] for run in document(tmp_path)["runs"]] == ["G(a, b)", "H([c, d])", "e"]
