"""Times one accountant on one case, in a process of its own; the standard library alone.

A script of this folder is called with CASE SETTING GIB and prints one line of JSON: lower, upper (nats), seconds (the
median of the repetitions after the first one), first (seconds of that one), imports (seconds), and megabytes, the peak.
More than so many GiB of memory it does not get. With `once` behind GIB the case is an everyday question, answered once,
and the line says lower, upper, cpu (seconds of the processor) and megabytes, by which the peak exceeds what the imports
took.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

STARTED = time.perf_counter()
_HERE = Path(__file__).resolve().parent
# some scripts have the name of the library that they call
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
sys.path.append(str(_HERE.parent))

from accounting_cases import CASES, Case
from everyday_cases import QUESTIONS, Calibration

ONCE = sys.argv[4:] == ["once"]
_REPETITIONS, _ENOUGH = 9, 3.0


def measure(bounds: Callable[[Case, str], tuple[float | None, float]]) -> None:
    """Print the line of JSON for the case and the setting of the command line.

    bounds: (case, setting) -> a lower end of epsilon, or None, and an upper one.
    """
    imports = time.perf_counter() - STARTED
    case, setting, most = CASES[sys.argv[1]], sys.argv[2], int(float(sys.argv[3]) * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seconds: list[float] = []
    lower, upper = None, None
    while len(seconds) < _REPETITIONS and sum(seconds) < _ENOUGH:
        start = time.perf_counter()
        lower, upper = bounds(case, setting)
        seconds.append(time.perf_counter() - start)
    found = {
        "lower": lower,
        "upper": upper,
        "seconds": statistics.median(seconds[1:] or seconds),
        "first": seconds[0],
        "imports": imports,
        "megabytes": _peak(),
    }
    sys.stdout.write(json.dumps(found) + "\n")


def measure_once(
    bounds: Callable[[Case, str], tuple[float | None, float]],
    calibrated: Callable[[Calibration, str], tuple[float | None, float]],
) -> None:
    """Print the line of JSON for the everyday question and the setting of the command line.

    bounds: see `measure`.   calibrated: likewise, the ends being those of the noise.
    """
    question, setting, most = QUESTIONS[sys.argv[1]], sys.argv[2], int(float(sys.argv[3]) * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    imported, start = _memory("VmRSS"), _processor_seconds()
    if isinstance(question, Calibration):
        lower, upper = calibrated(question, setting)
    else:
        lower, upper = bounds(question, setting)
    cpu = _processor_seconds() - start
    found = {"lower": lower, "upper": upper, "cpu": cpu, "megabytes": max(_peak() - imported, 0.0)}
    sys.stdout.write(json.dumps(found) + "\n")


def _processor_seconds() -> float:
    """Of all threads, and of the processes that were waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak() -> float:
    """Of this program: what getrusage says may be its parent's."""
    return _memory("VmHWM")


def _memory(line: str) -> float:
    """In MB, from this line of the process's status; the peak where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(text.split()[1]) / 1024 for text in lines if text.startswith(line))
