"""`benchmarks/nightly.py` on made-up steps: what it shows, records, stops and returns; its real steps exist."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PASSES = "import sys; print('asked 3'); print('3 of 3 right', file=sys.stderr)"
FAILS = "print('asked 3\\n1 WRONG'); raise SystemExit(3)"
# Its child would outlive it; neither heeds an interrupt.
HANGS = """
import pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
print("began", flush=True)
time.sleep(600)
"""
WORKS = "import time\nwhile time.process_time() < 0.5: pass"
TALKS = "for i in range(100): print(f'line {i}')"


@pytest.fixture
def nightly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program with a root of its own, and little patience."""
    spec = importlib.util.spec_from_file_location("nightly", ROOT / "benchmarks" / "nightly.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "nightly", module)  # its dataclasses look for their module
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "_GRACE", 0.2)
    return module


def step(nightly: ModuleType, program: str, *arguments: str) -> Any:
    return nightly.Step("a step", (sys.executable, "-c", program, *arguments), 60.0)


def lives(process: int) -> bool:
    """Whether a process runs; one that ended and that nobody has waited for does not."""
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return bool(shown.strip()) and not shown.startswith("Z")


def test_a_night_goes_on_after_a_failure_and_after_a_step_that_hangs(
    nightly: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    child, out = tmp_path / "child", tmp_path / "NIGHTLY.md"
    steps = {
        "fails": step(nightly, FAILS),
        "hangs": step(nightly, HANGS, str(child)),
        "passes": step(nightly, PASSES),
    }
    start = time.monotonic()
    assert nightly.main(["--seconds", "2", "--out", str(out)], steps) == 1
    assert time.monotonic() - start < 30
    assert not lives(int(child.read_text()))
    page, shown = out.read_text(encoding="utf-8"), capfd.readouterr().out
    assert "2 of 3 steps failed." in page
    assert "Not run" not in page
    for name, word, lines in (
        ("fails", "FAILED, exit code 3", "    asked 3\n    1 WRONG"),
        ("hangs", "STOPPED at its limit", "    began"),
        ("passes", "passed", "    asked 3\n    3 of 3 right"),
    ):
        assert re.search(rf"\| {name} \| a step \| {word} \| \d+ \| \d+ \| [\d-]+, no commit \|", page)
        assert re.search(rf"## {name}\n\n`python -c .*{word}.*\n\n{lines}\n", page, re.DOTALL)
        assert f"== {name}: {word}" in shown
    assert "1 WRONG" in shown
    assert "failed: fails, hangs" in shown


def test_a_night_without_failures_returns_zero_and_names_the_steps_that_were_left_out(
    nightly: ModuleType, tmp_path: Path
) -> None:
    out = tmp_path / "NIGHTLY.md"
    steps = {"passes": step(nightly, PASSES), "fails": step(nightly, FAILS)}
    assert nightly.main(["--only", "passes", "--out", str(out)], steps) == 0
    assert "0 of 1 steps failed. Not run: fails." in out.read_text(encoding="utf-8")
    first = out.read_text(encoding="utf-8")
    assert nightly.main(["--only", "fails", "--out", str(out)], steps) == 1
    page = out.read_text(encoding="utf-8")
    assert "1 of 2 steps failed." in page
    assert "Not run" not in page
    assert first.partition("## passes")[2].strip() in page, "what passed before is kept as it was"
    assert [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")] == ["step", *steps]


def test_seconds_of_the_cpu_are_the_steps_own(nightly: ModuleType) -> None:
    assert nightly.run("works", (sys.executable, "-c", WORKS), 60.0).cpu >= 0.5
    assert nightly.run("sleeps", ("sleep", "0.6"), 60.0).cpu < 0.4


def test_the_last_lines_are_kept_without_this_machines_folders(nightly: ModuleType, tmp_path: Path) -> None:
    lines = nightly.run("talks", (sys.executable, "-c", TALKS), 60.0).lines
    assert (lines[0], lines[-1], len(lines)) == ("line 70", "line 99", 30)
    over = f"print('10%\\r20%\\rdone in {tmp_path}/tests/x.py\\nrootdir: {tmp_path}')"
    assert nightly.run("over", (sys.executable, "-c", over), 60.0).lines == ("done in tests/x.py", "rootdir: .")


def test_the_commit_is_named_and_whether_files_differ_from_it(nightly: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "NIGHTLY.md"
    assert nightly.tree(out) == "no commit"
    settings = ("-c", "user.name=n", "-c", "user.email=e")
    for command in (("init", "-q"), (*settings, "commit", "-q", "--allow-empty", "-m", "m")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    out.write_text("the last page")
    assert re.fullmatch(r"commit [0-9a-f]{40}", nightly.tree(out))
    (tmp_path / "changed.py").write_text("")
    assert nightly.tree(out).endswith(" with changes")


def test_options_of_the_night_do_not_reach_the_make_of_a_step(
    nightly: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Makefile").write_text("show:\n\t@echo 'options: $(ARGS)'\n")
    for name, value in {"MAKEFLAGS": " -- ARGS=--only\\ golden", "ARGS": "--only golden", "MAKELEVEL": "1"}.items():
        monkeypatch.setenv(name, value)
    assert nightly.run("show", ("make", "show"), 60.0).lines == ("options:",)


def test_more_options_go_where_a_step_takes_them(nightly: ModuleType) -> None:
    added = {
        ("python", "-m", "x"): ("python", "-m", "x", "--cases", "5"),
        ("make", "golden"): ("make", "golden", "ARGS=--cases 5"),
        ("make", "test-slow", "ARGS=-q"): ("make", "test-slow", "ARGS=-q --cases 5"),
    }
    for command, expected in added.items():
        assert nightly.Step("", command, 1.0).adding("--cases 5") == expected
        assert nightly.Step("", command, 1.0).adding("") == command


def test_an_interrupted_night_leaves_no_step_behind(tmp_path: Path) -> None:
    child = tmp_path / "child"
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import nightly, pathlib, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
        "nightly.ROOT, nightly._GRACE = pathlib.Path(sys.argv[2]).parent, 0.2\n"
        "nightly.run('hangs', (sys.executable, '-c', sys.argv[3], sys.argv[2]), 60.0)"
    )
    night = subprocess.Popen(
        [sys.executable, "-c", program, str(ROOT / "benchmarks"), str(child), HANGS], stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 30
    while not (child.exists() and child.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(night.pid, signal.SIGINT)
    assert night.wait(30) != 0
    assert not lives(int(child.read_text()))


@pytest.mark.parametrize(
    "arguments", [["--seconds", "0"], ["--only", "nothing"], ["--add", "nothing", "-q"]], ids=lambda one: one[0]
)
def test_bad_options_are_refused(nightly: ModuleType, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        nightly.main(arguments, {"passes": step(nightly, PASSES)})
    assert refused.value.code == 2


def test_every_step_calls_what_is_there(nightly: ModuleType) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    slow = {f"slow-{room}" for room in (*nightly.SLOW, "rest")}
    assert set(nightly.STEPS) == {"golden", "published", "floors", "peers", "truth", *slow}
    for one in nightly.STEPS.values():
        if one.command[0] == "make":
            assert re.search(rf"^{one.command[1]}:", makefile, re.MULTILINE), one.command
        else:
            assert one.command[:2] == (sys.executable, "-m")
            assert importlib.util.find_spec(one.command[2]) is not None, one.command
        named = [path for word in one.command for path in re.findall(r"tests/[\w./]+", word)]
        assert all((ROOT / path).exists() for path in named)
        assert named or one.command[1] != "test-slow"
