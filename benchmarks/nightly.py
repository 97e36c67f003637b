"""What CI leaves out, one step after another; what each printed last is kept in benchmarks/NIGHTLY.md, with the commit.

A night may be of some steps: of the others the page keeps what they printed when they last ran, with their own commit.

    python benchmarks/nightly.py [--only NAME ...] [--seconds 3600] [--add truth "--cases 50"] [--out FILE]

A step is a command in the repository's root. The night goes on after a step that fails, or that is stopped at its
limit; --seconds is another limit for every step, and --add gives a step more options. All that a step prints is shown,
and stays in build/nightly/NAME.log. Seconds of the CPU are those of the step's processes that had ended when it did.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "NIGHTLY.md"
_LINES = 30
"""Of each step the last lines that are kept: the longest closing table, that of the truth harness, has as many."""
_GRACE = 20.0
"""Seconds that a step has after its limit to say where it was (pytest prints its place when it is interrupted)."""
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "ARGS")
"""What `make nightly ARGS=...` would hand down to the make of a step: options that are not meant for it."""


@dataclass(frozen=True)
class Step:
    """A command, what it runs in words, and the most seconds that it may take.

    Of a make target further options go into ARGS; else they are appended.
    """

    says: str
    command: tuple[str, ...]
    limit: float

    def adding(self, options: str) -> tuple[str, ...]:
        """The command with more options."""
        if not options:
            return self.command
        if self.command[0] != "make":
            return (*self.command, *shlex.split(options))
        *others, last = self.command
        return (*others, f"{last} {options}") if last.startswith("ARGS=") else (*self.command, f"ARGS={options}")


@dataclass(frozen=True)
class Outcome:
    """How a step ended: its exit code (None: stopped at its limit), seconds by the clock and of the CPU, last lines."""

    shown: str
    code: int | None
    seconds: float
    cpu: float
    lines: tuple[str, ...]

    @property
    def word(self) -> str:
        """In a table's cell."""
        return {0: "passed", None: "STOPPED at its limit"}.get(self.code, f"FAILED, exit code {self.code}")


PUBLISHED = "tests/claims/test_published.py"
SLOW = ("accounting", "auditing", "claims", "training")
"""Rooms whose tests at full size take the longest: a step each, so that a night of some hours ends some of them."""
STEPS: dict[str, Step] = {
    "golden": Step("recorded answers, asked again", ("make", "golden"), 2400),
    "published": Step(
        "every published claim with its false neighbour, settled and held against numbers",
        (sys.executable, "-m", "pytest", "--slow", PUBLISHED),
        1200,
    ),
    "floors": Step("the lowest versions that pyproject.toml admits", ("make", "test-floors"), 1800),
    "peers": Step("adapters on the real libraries", ("make", "test-peers"), 1800),
    "truth": Step(
        "random questions beside their exact answers", (sys.executable, "-m", "tests.truth", "--cases", "2000"), 3600
    ),
    **{
        f"slow-{room}": Step(
            f"tests of {room} at full size",
            ("make", "test-slow", f"ARGS=tests/{room} --ignore={PUBLISHED}"),
            1900,
        )
        for room in SLOW
    },
    "slow-rest": Step(
        "all other tests at full size",
        ("make", "test-slow", f"ARGS={' '.join(f'--ignore=tests/{room}' for room in SLOW)}"),
        1900,
    ),
}


def main(arguments: Sequence[str], steps: Mapping[str, Step] = STEPS) -> int:
    """Run the steps; 1 if any failed or was stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(steps), default=list(steps), metavar="NAME")
    parser.add_argument("--seconds", type=float, help="the limit of every step")
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("NAME", "OPTIONS"))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    added = dict(options.add)
    if unknown := added.keys() - steps.keys():
        parser.error(f"--add must name one of {', '.join(steps)}, got {', '.join(unknown)}")
    if options.seconds is not None and not options.seconds > 0:
        parser.error(f"--seconds must be positive, got {options.seconds}")
    when = f"{time.strftime('%Y-%m-%d')}, {tree(options.out)}"
    before = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
    outcomes: dict[str, Outcome] = {}
    for name in options.only:
        limit = options.seconds or steps[name].limit
        _say(f"\n== {name}: {steps[name].says} (at most {limit:.0f} s)\n")
        one = outcomes[name] = run(name, steps[name].adding(added.get(name, "")), limit)
        _say(f"\n== {name}: {one.word}; {one.seconds:.0f} s, {one.cpu:.0f} of the CPU\n")
        options.out.write_text(page(steps, outcomes, when, before), encoding="utf-8")
    failed = [name for name, one in outcomes.items() if one.code != 0]
    _say(f"\nwritten to {options.out}; {'failed: ' + ', '.join(failed) if failed else 'all passed'}\n")
    return int(bool(failed))


def run(name: str, command: tuple[str, ...], limit: float) -> Outcome:
    """Run a step in a process group of its own, show what it prints, and interrupt it after so many seconds."""
    log = ROOT / "build" / "nightly" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key not in _OF_MAKE}
    start, cpu, stopped = time.monotonic(), _cpu(), False
    # A file, no pipe: a process that a step leaves behind would hold a pipe open, and the night would wait for it.
    with log.open("wb") as written, log.open("rb") as read:
        process = subprocess.Popen(  # noqa: S603
            command, cwd=ROOT, env=environment, stdout=written, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            while process.poll() is None and not stopped:
                time.sleep(min(0.2, limit))
                _say(read.read().decode(errors="replace"))
                stopped = time.monotonic() - start > limit and process.poll() is None
        finally:
            _end(process)
        _say(read.read().decode(errors="replace"))
    code = None if stopped else process.returncode
    return Outcome(shlex.join(command), code, time.monotonic() - start, _cpu() - cpu, _last_lines(log))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the group: by an interrupt, after _GRACE seconds by force; whatever an ended step left behind, too."""
    for sent, grace in ((signal.SIGINT, _GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, sent)
        except ProcessLookupError:
            break
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _cpu() -> float:
    """Seconds of the CPU of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _last_lines(log: Path) -> tuple[str, ...]:
    """As a terminal would show them: of a line that was written over, what remains; without this machine's folders."""
    text = log.read_bytes().decode(errors="replace").replace(f"{ROOT}/", "").replace(str(ROOT), ".")
    text = text.replace(sys.prefix, "PREFIX").replace(str(Path.home()), "~")
    lines = [line.rstrip().rpartition("\r")[2] for line in text.split("\n")]
    return tuple(line for line in lines if line)[-_LINES:]


def page(steps: Mapping[str, Step], outcomes: Mapping[str, Outcome], when: str, before: str = "") -> str:
    """NIGHTLY.md: a table, then a chapter a step; of steps that have no outcome, those of the page before.

    Steps that are on neither are named, so that no part passes for all.
    """
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    parts = _parts(before)
    for name, one in outcomes.items():
        row = f"| {name} | {steps[name].says} | {one.word} | {one.seconds:.0f} | {one.cpu:.0f} | {when} |"
        lines = "\n".join(f"    {line}" for line in one.lines or ("nothing",))
        told = f"`{one.shown.replace(sys.executable, 'python')}`: {one.word}. {when}; {machine}. It printed last:"
        parts[name] = row, f"## {name}\n\n{told}\n\n{lines}"
    shown = [name for name in steps if name in parts]
    left_out = [name for name in steps if name not in parts]
    failed = sum("| passed |" not in parts[name][0] for name in shown)
    head = (
        "# The last night\n\nWritten by `make nightly`, which runs what CI leaves out.\n\n"
        f"{failed} of {len(shown)} steps failed.{' Not run: ' + ', '.join(left_out) + '.' if left_out else ''}"
    )
    rows = "\n".join(parts[name][0] for name in shown)
    table = f"| step | what | outcome | seconds | of the CPU | when |\n|---|---|---|---|---|---|\n{rows}"
    return "\n\n".join([head, table, *(parts[name][1] for name in shown)]) + "\n"


def _parts(before: str) -> dict[str, tuple[str, str]]:
    """The row and the chapter of each step on a page."""
    top, *chapters = before.split("\n## ")
    rows = {line.split("|")[1].strip(): line for line in top.splitlines() if line.startswith("| ")}
    texts = {text.partition("\n")[0]: f"## {text.rstrip()}" for text in chapters}
    return {name: (rows[name], text) for name, text in texts.items() if name in rows}


def tree(out: Path) -> str:
    """The commit, and whether files differ from it, the page itself aside."""
    commit = _git("rev-parse", "HEAD").strip()
    if not commit:
        return "no commit"
    files = [ROOT / line[3:] for line in _git("status", "--porcelain").splitlines()]
    changed = [file for file in files if file.resolve() != out.resolve()]
    return f"commit {commit}{' with changes' if changed else ''}"


def _git(*arguments: str) -> str:
    """What git prints; empty where there is no repository."""
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout  # noqa: S603, S607
    except OSError:
        return ""


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the step ends with the night
    raise SystemExit(main(sys.argv[1:]))
