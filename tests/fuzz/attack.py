"""Feeding a reader damaged files: it answers, or raises ValueError or OSError, soon, in little memory; no code runs.

What runs code is told by Python's audit events (a process, a fork, a file written outside the folder, a pickled name
looked up) and by a file CANARY that the payloads would make.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.damage import EDITS, PARTS, damaged, edited

SECONDS = 12.0  # of the processor, for one file
MEGABYTES = 600
_RUNS = frozenset(("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "pickle.find_class"))
_watching: list[tuple[str, list[str]]] = []


@dataclass(frozen=True)
class Reader:
    """Something that reads a file.

    file: its name.   seeds: valid ones, bytes or JSON documents, made in a folder.   read: given the file's path.
    texts: gives other files to try as they are.   sealed: what is done to the damaged bytes, so that a checksum holds.
    most: MB that Python and numpy may ask for, used or not; None for any.
    """

    name: str
    file: str
    seeds: Callable[[Path], list[Any]]
    read: Callable[[Path], object]
    texts: Callable[[], tuple[bytes, ...]] = tuple
    sealed: Callable[[bytes], bytes] = bytes
    most: int | None = None


class TooLongError(BaseException):
    """No reader catches it."""


def attack(reader: Reader, folder: Path, examples: int, seed: int) -> Counter[str]:
    """How many files were read and refused. AssertionError, or what the reader raised, with a file that shows it."""
    seeds = reader.seeds(folder)
    outcomes: Counter[str] = Counter()
    for seed_ in seeds:
        outcomes[_outcome(reader, folder, _whole(seed_))] += 1
    assert not outcomes["refused"], "what is damaged must be valid before"
    for content in reader.texts():
        outcomes[_outcome(reader, folder, content)] += 1

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(seeds), PARTS, EDITS)
    def each(valid: Any, parts: list[Any], edits: list[Any]) -> None:
        content = damaged(valid, edits) if isinstance(valid, bytes) else damaged(edited(valid, parts), edits[:-3])
        outcomes[_outcome(reader, folder, content)] += 1

    each()
    return outcomes


def _whole(valid: Any) -> bytes:
    return valid if isinstance(valid, bytes) else edited(valid, [])


def _outcome(reader: Reader, folder: Path, content: bytes) -> str:
    path = folder / reader.file
    path.write_bytes(reader.sealed(content))
    before = _peak(anew=True)
    with _limited(), _watched(folder) as ran, _asked(reader.most):
        try:
            reader.read(path)
            outcome = "read"
        except (ValueError, OSError):
            outcome = "refused"
    assert not ran, f"code was run: {ran}"
    assert not (folder / "CANARY").exists(), "a payload was run"
    assert _peak() - before < MEGABYTES, f"{_peak() - before} MB more memory"
    return outcome


def _peak(*, anew: bool = False) -> int:
    """The most memory that this process has had, MB.   anew: from now on, where the system can."""
    try:
        if anew:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) >> 10
    except (OSError, IndexError):  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@contextmanager
def _limited() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TooLongError(f"more than {SECONDS} seconds")

    faulthandler.dump_traceback_later(20 * SECONDS, exit=True)  # for what never comes back to Python
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _asked(most: int | None) -> Iterator[None]:
    """Raises AssertionError where more memory is asked for, such as an array as large as a header says."""
    if most is None:
        yield
        return
    tracemalloc.start()
    try:
        yield
        asked = tracemalloc.get_traced_memory()[1] >> 20
    finally:
        tracemalloc.stop()
    assert asked < most, f"{asked} MB were asked for"


@contextmanager
def _watched(folder: Path) -> Iterator[list[str]]:
    """What was run meanwhile."""
    here, ran = Path.cwd(), []
    _watching.append((str(folder), ran))
    os.chdir(folder)
    try:
        yield ran
    finally:
        os.chdir(here)
        _watching.clear()


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    folder, ran = _watching[-1]
    if event in _RUNS or (event == "open" and _writes(arguments, folder)):
        ran.append(f"{event} {arguments!r:.100}")


def _writes(arguments: tuple[Any, ...], folder: str) -> bool:
    """Outside the folder; but for what Python itself writes: compiled modules."""
    path, _, flags = arguments
    writing = isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
    inside = isinstance(path, str) and (".pyc" in path or str(Path(path).absolute()).startswith(folder))
    return writing and isinstance(path, str) and not inside


sys.addaudithook(_hear)
