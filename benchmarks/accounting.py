"""The accountant and its peers on the same compositions, at the same delta: epsilon, its error, seconds, memory.

    python benchmarks/accounting.py [--only "3 RR"] [--gib 16] [--limit 120] --peer NAME=PYTHON ...

A peer runs in an environment of its own, with PYTHON as its interpreter: dp_accounting (pip install
dp-accounting==0.6.0), prv_accountant (prv-accountant==0.2.0), autodp (autodp==0.2.3.1); all three run on Python 3.11
with numpy 2.4 and scipy 1.17. Each case and setting, ours included, is a process of its own with limited memory (--gib)
and seconds. A peer that is not given, or that fails, is listed with the reason.

seconds: the median after the first run, without imports; first: the first run and the imports. error: of the upper
    bound, against `accounting_truth`; a bound on the wrong side of the truth is marked. slower: the peer's seconds over
    ours. Below each case: whether our upper bound at the default width is at most each peer's, and our speed relative
    to the peer with the tightest upper bound, at our fastest width that is at least as tight (required: 10 times for
    one mechanism, 2 times for several), with both relative errors; and the fastest of all. A bound below the truth does
    not count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from accounting_cases import CASES, Case
from accounting_truth import true_epsilon

WIDTHS = ("1e-4", "1e-3", "1e-2", "1e-1")
"""Of `compose`, the default first: where a grid is used, a larger width is faster."""

SETTINGS = {
    "dp_accounting": ("1e-3", "1e-4", "1e-4 both", "1e-5"),
    "prv_accountant": ("0.1", "0.01"),
    "autodp": ("rdp", "fourier"),
}
_ROUNDING = 1e-9
"""The relative error allowed for the truth."""
_ASKED = {False: 10, True: 2}
_SAID, _WRONG = {False: "no", True: "yes"}, " (wrong side)"


@dataclass(frozen=True)
class Row:
    """The result of one process."""

    name: str
    lower: float | None
    upper: float
    seconds: float
    first: float
    imports: float
    megabytes: float


def main() -> int:
    """Print a table; 1 if a criterion does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--gib", type=float, default=16)
    parser.add_argument("--limit", type=float, default=120, help="seconds that a process may take")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    options = parser.parse_args()
    pythons = dict(_peer(text) for text in options.peer)
    failed = []
    for name in [options.only] if options.only else CASES:
        holds = _case(name, pythons, options.gib, options.limit)
        failed += [] if holds else [name]
    _say(f"does not hold: {', '.join(failed)}" if failed else "holds in every case")
    return int(bool(failed))


def _case(name: str, pythons: dict[str, str], gib: float, limit: float) -> bool:
    """Print the case's table; whether both criteria hold."""
    case, truth = CASES[name], true_epsilon(CASES[name])
    _say(f"\n{name}, delta = {case.delta:g}; true epsilon {truth:.10g}\n")
    _say("| accountant | lower | upper | error | seconds | first | MB | slower |")
    _say("|---|---|---|---|---|---|---|---|")
    ours: list[Row] = []
    for width in WIDTHS:
        found = _shown(sys.executable, "ours", width, name, truth, ours[0] if ours else None, gib, limit)
        ours += [found] if found else []
    peers: list[Row] = []
    for peer, settings in SETTINGS.items():
        if peer not in pythons:
            _say(f"| {peer} | not given an environment | | | | | | |")
            continue
        for setting in settings:
            found = _shown(pythons[peer], peer, setting, name, truth, ours[0] if ours else None, gib, limit)
            peers += [found] if found and found.upper >= truth * (1 - _ROUNDING) else []
    return _criteria(case, truth, ours, peers)


def _shown(
    python: str, script: str, setting: str, case: str, truth: float, ours: Row | None, gib: float, limit: float
) -> Row | None:
    """One row, printed; None where there is a reason instead of numbers."""
    name = f"{script} {setting}"
    try:
        row = _run(python, script, setting, case, name, gib, limit)
    except RuntimeError as error:
        _say(f"| {name} | {error} | | | | | | |")
        return None
    lower = "" if row.lower is None else f"{row.lower:.10g}{_WRONG if row.lower > truth * (1 + _ROUNDING) else ''}"
    upper = f"{row.upper:.10g}{_WRONG if row.upper < truth * (1 - _ROUNDING) else ''}"
    slower = f"{row.seconds / ours.seconds:.1f}" if ours else ""
    times = f"{row.seconds:.5f} | {row.first + row.imports:.2f} | {row.megabytes:.0f}"
    _say(f"| {name} | {lower} | {upper} | {row.upper - truth:.2g} | {times} | {slower} |")
    return row


def _criteria(case: Case, truth: float, widths: list[Row], peers: list[Row]) -> bool:
    if not widths or not peers:
        _say("\nnothing to compare")
        return bool(widths)
    sound = all(
        (row.lower or 0.0) <= truth * (1 + _ROUNDING) and row.upper >= truth * (1 - _ROUNDING) for row in widths
    )
    best = min(peers, key=lambda row: row.upper)
    quickest = min(peers, key=lambda row: row.seconds)
    no_looser = [row for row in widths if row.upper <= best.upper * (1 + _ROUNDING)]
    tight, ours = widths[0] in no_looser, min(no_looser or widths, key=lambda row: row.seconds)
    faster, asked = best.seconds / ours.seconds, _ASKED[case.mixed]
    _say(f"\nthe truth lies between our ends: {_SAID[sound]}; not looser than any: {_SAID[tight]}")
    near, far = best.upper / truth - 1, quickest.upper / truth - 1
    own = ours.upper / truth - 1
    _say(f"{ours.name}, {own:.2g} above the truth: {faster:.3g} times faster than the tightest,", end=" ")
    _say(f"{best.name}, {near:.2g} above it (asked: {asked}): {_SAID[faster >= asked]}")
    share = quickest.seconds / ours.seconds
    _say(f"the quickest, {quickest.name}, {far:.2g} above the truth, takes {share:.2g} of our time")
    return sound and tight and faster >= asked


def _run(python: str, script: str, setting: str, case: str, name: str, gib: float, limit: float) -> Row:
    path = Path(__file__).resolve().parent / "accounting_peers" / f"{script}.py"
    command = [python, str(path), case, setting, str(gib)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = "cannot be started" if isinstance(error, OSError) else f"no answer within {limit:g} s"
        raise RuntimeError(reason) from error
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no answer"])[-1][:90].replace("|", "/"))
    return Row(name=name, **json.loads(lines[-1]))


def _peer(text: str) -> tuple[str, str]:
    name, _, python = text.partition("=")
    if name not in SETTINGS or not python:
        raise SystemExit(f"--peer must be NAME=PYTHON with NAME one of {', '.join(SETTINGS)}, got {text!r}")
    return name, python


def _say(line: str, end: str = "\n") -> None:
    sys.stdout.write(line + end)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
