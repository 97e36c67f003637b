"""A full disk, a read-only folder, a kill and Ctrl-C leave a whole file under its name, or what was there before."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ldp_audit.cli import main
from ldp_audit.files import CannotWriteError, check_place, is_stream, read_json, write_whole
from tests.together import together
from tests.training import toy


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Where the tests were started in the background, Ctrl-C is ignored, by all that they start too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


ROOT = Path(__file__).parents[2]
TOY = "tests.training.toy:Toy"


@pytest.mark.parametrize("failing", ["fsync", "fchmod", "write"])
def test_a_disk_that_is_full_leaves_all_files_as_they_were(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("old")
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    if failing == "write":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    else:
        monkeypatch.setattr(os, "fsync", _full) if failing == "fsync" else monkeypatch.setattr(Path, "chmod", _full)
    try:
        with pytest.raises(CannotWriteError, match=r"cannot write .*/b: (No space left|File too large)|/a: No space"):
            write_whole({first: "new", second: "x" * 100_000})
    finally:
        if failing == "write":
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, heard)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


def _full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_folder_in_a_files_place_is_seen_before_anything_is_renamed(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(CannotWriteError, match=r"cannot write .*/b: it is a folder"):
        write_whole({tmp_path / "a": "new", tmp_path / "b": "new"})
    with pytest.raises(CannotWriteError, match=r"cannot write .*/b: it is a folder"):
        check_place(tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_links_are_replaced_not_followed_and_permissions_stay(tmp_path: Path) -> None:
    """A link that somebody else planted in a shared folder would overwrite what it names; a private file would open."""
    kept, private = tmp_path / "kept", tmp_path / "private"
    for file in (kept, private):
        file.write_text("old")
        file.chmod(0o600)
    for name, target in (("link", kept), ("dangling", tmp_path / "nothing"), ("device", Path("/dev/null"))):
        (link := tmp_path / name).symlink_to(target)
        write_whole({link: "new"})
        assert (link.is_symlink(), link.read_text()) == (False, "new")
    write_whole({private: "new"})
    assert (kept.read_text(), private.read_text(), private.stat().st_mode & 0o777) == ("old", "new", 0o600)
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "private", "link", "dangling", "device"}


KILLED = """
import os, signal, sys
from pathlib import Path
from ldp_audit.files import write_whole

folder, last = Path(sys.argv[1]), int(sys.argv[2])
real, renamed = os.replace, []

def replace(*arguments, **options):
    if len(renamed) == last:
        os.kill(os.getpid(), signal.SIGKILL)
    renamed.append(arguments)
    real(*arguments, **options)

os.replace = replace
(folder / "figures").mkdir(parents=True, exist_ok=True)
write_whole({folder / name: '"new"' for name in ("report.json", "report.html", "figures/one.svg")})
print(len(renamed))
"""


def _written(folder: Path, last: int) -> subprocess.CompletedProcess[str]:
    """A report written by a process that is killed instead of its rename number `last`."""
    command = [sys.executable, "-c", KILLED, str(folder), str(last)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_kill_at_any_rename_leaves_the_old_files_or_a_mark_and_the_next_run_sweeps(tmp_path: Path) -> None:
    """Would catch a report whose JSON is new and whose HTML is old, and temporary files that stay for ever."""
    names = ["figures/one.svg", "report.html", "report.json"]
    renames = int(_written(tmp_path / "whole", -1).stdout)
    assert renames == 5  # of two marks and three files
    for last in range(renames):
        folder = tmp_path / str(last)
        (folder / "figures").mkdir(parents=True)
        write_whole({folder / name: '"old"' for name in names})
        assert _written(folder, last).returncode == -signal.SIGKILL
        if last:
            with pytest.raises(ValueError, match=r"may be older or newer than .*, as .*INCOMPLETE says"):
                read_json(folder / "report.json")
            assert (folder / "INCOMPLETE").read_text() == "report.json\nreport.html\n"
        else:
            assert {read_json(folder / name) for name in names} == {"old"}
        (folder / "report.json.partial").write_text("the user's own")
        assert _written(folder, -1).returncode == 0
        left = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
        assert left == {**dict.fromkeys(names, '"new"'), "report.json.partial": "the user's own"}


def test_the_temporary_file_of_a_living_process_is_not_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def meanwhile(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", real)
        assert _written(tmp_path, -1).returncode == 0

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_whole({tmp_path / "mine": "new"})
    assert (tmp_path / "mine").read_text() == "new"


def test_a_pipe_and_a_device_are_written_to_and_never_replaced(tmp_path: Path) -> None:
    """`--json /dev/null` as root would leave a machine without /dev/null."""
    before = os.stat("/dev/null")  # noqa: PTH116
    check_place(Path("/dev/null"))
    write_whole({Path("/dev/null"): "new"})
    assert (os.stat("/dev/null").st_mode, os.stat("/dev/null").st_ino) == (before.st_mode, before.st_ino)  # noqa: PTH116
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    write_whole({pipe: "new"})
    reader.join()
    assert heard == [b"new"]
    assert is_stream(pipe)
    assert not is_stream(tmp_path)


def test_ctrl_c_waits_until_all_files_have_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a report renamed, the other half the last one's: would be a report of two minds."""
    real = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole({tmp_path / "a": "new", tmp_path / "b": "new"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}


WRITES_FOR_EVER = """
import os, sys
from pathlib import Path
from ldp_audit.files import write_whole
while True:
    write_whole({Path(sys.argv[1]): "".join(f"{os.getpid()}" for _ in range(50_000))}, durable=False)
"""


def test_two_writers_of_one_file_that_are_killed_leave_a_whole_one(tmp_path: Path) -> None:
    """Would catch a temporary name that two processes share."""
    path = tmp_path / "file"
    writers = [subprocess.Popen([sys.executable, "-c", WRITES_FOR_EVER, str(path)]) for _ in range(2)]
    whole = {str(writer.pid) * 50_000 for writer in writers}
    try:
        deadline, seen = time.monotonic() + 60, set()
        while len(seen) < 2 and time.monotonic() < deadline:  # both write
            time.sleep(0.01)
            seen |= {path.read_text()} if path.exists() else set()
        assert seen == whole
        assert {path.read_text() for _ in range(50)} <= whole
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert path.read_text() in whole


@pytest.mark.usefixtures("example_installed")
@together(
    "command",
    [
        ["train", TOY, "--quiet", "--out"],
        ["check", "--claims", "tests.example_paper", "--quiet", "--out"],
        ["account", "example-sample", "--quiet", "--json"],
        ["audit", "TwoPoint(epsilon=1)", "--samples", "2000", "--quiet", "--json"],
        ["audit", "TwoPoint(epsilon=1)", "--samples", "2000", "--quiet", "--resume"],
        ["exact", "TwoPoint(epsilon=1)", "--plot"],
    ],
)
def test_what_cannot_be_written_is_one_line_and_exit_code_2(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main([*command, str(tmp_path / "file" / "inside" / "x.json")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"ldp-audit {command[0]}: cannot write")
    assert len(said.splitlines()) == 1


def test_a_training_that_is_stopped_leaves_whole_files_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By Ctrl-C in a round; tests/test_cli_train.py kills one, and goes on with it."""
    out = tmp_path / "out"

    def asleep(_: float) -> None:
        if list(out.glob("runs/*.state")):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(toy.time, "sleep", asleep)
    rounds = ["--set", "rounds=40", "--set", "slow=0.02"]
    assert main(["train", TOY, *rounds, "--workers", "1", "--quiet", "--out", str(out)]) == 130
    assert capsys.readouterr().err == f"ldp-audit train: interrupted; --resume goes on with {out}\n"
    assert list(out.glob("runs/*.state"))
    for file in tmp_path.rglob("*.json"):
        json.loads(file.read_text())
    assert not (out / "results.json").exists()


def test_ctrl_c_ends_a_report_and_writes_nothing(tmp_path: Path) -> None:
    asked = ["report", "--quiet", "--claims", "tests.example_paper", "--protocol", "all", "--out", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ldp_audit.cli", *asked],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "out").exists() and time.monotonic() < deadline:  # made before anything is computed
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert said == "ldp-audit report: interrupted; no file is left half written\n"
    # Python ends by the signal itself where that came within exec() of a text, as of a dataclass; a shell says 130 too
    assert process.returncode in (130, -signal.SIGINT)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_two_trainings_into_one_folder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["train", TOY, "--preset", "short", "--workers", "1", "--quiet", "--out", str(tmp_path)]
    advance, codes = toy.ToyRun.advance, []

    def meanwhile(run: toy.ToyRun, number: int) -> Any:
        codes.append(main(asked))
        return advance(run, number)

    monkeypatch.setattr(toy.ToyRun, "advance", meanwhile)
    assert main(asked) == 0
    assert set(codes) == {2}
    assert "is in use by another process; wait for it, or name another folder" in capsys.readouterr().err


def nothing() -> None:
    """A loader that loads nothing."""


def test_a_finished_run_edited_by_hand_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a record without rounds, or of other settings, that becomes a result."""
    asked = ["train", TOY, "--preset", "short", "--workers", "1", "--quiet", "--out", str(tmp_path)]
    assert main(asked) == 0
    (run,) = tmp_path.glob("runs/run-*.json")
    kept = json.loads(run.read_text())
    record = kept["record"]
    edited = [{**kept, "record": {**record, "seed": 1}}, {**kept, "record": {**record, "rounds": []}}]
    for text in (
        "",
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        '{"rounds": []}',
        json.dumps(kept, indent=1),
        *map(json.dumps, edited),
    ):
        run.write_text(text)
        with pytest.warns(RuntimeWarning, match="is damaged: .*; it is made again"):
            assert main([*asked, "--resume"]) == 0
        capsys.readouterr()
        again = json.loads(run.read_text())["record"]
        assert {**again, "seconds": 0} == {**record, "seconds": 0}
