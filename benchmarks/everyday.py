"""Everyday questions (epsilon of training, sums and shuffles; calibration) to us and to dp-accounting.

    python benchmarks/everyday.py [--only TEXT] [--gib 8] [--limit 60] [--peer dp_accounting=PYTHON]

The peer runs in an environment of its own, with PYTHON as its interpreter (pip install dp-accounting==0.6.0). --only:
the questions whose names contain the text. Each answer is a process of its own with limited memory (--gib) and seconds.
CPU s: processor seconds of one answer, without imports. MB: peak memory beyond the imports. width: between our lower
and upper bound on epsilon or on the calibrated noise, which enclose the truth. above: the excess of the peer's default
answer over our upper bound. Deltas are in `everyday_cases`.

Limits: 1 s and 500 MB for an answer; an upper bound at most the peer's default answer; no slower than the peer at equal
error. If the peer's default answer is the faster one, its discretisation is refined until its answer is at most twice
our width above our lower bound, or takes longer than ours. ratio: the peer's seconds over ours, at the finest
discretisation tried. Calibrated noises may differ by their tolerance. An answer of the peer below our lower bound is no
upper bound and is not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from everyday_cases import QUESTIONS, Calibration

MOST_SECONDS, MOST_MEGABYTES = 1.0, 500.0
WIDTH = "1e-4"
"""Of `compose`, its default."""
DISCRETISATIONS = ("1e-4", "3e-5", "1e-5", "3e-6", "1e-6", "1e-7", "1e-8")
"""Of the peer, its default first."""
_ROUNDING = 1e-9
"""The relative difference of two answers that count as equal."""
_INSTANT = 0.02
"""Seconds: a faster answer is never counted as slower, as single runs vary by as much."""


@dataclass(frozen=True)
class Answer:
    """The result of one process; no lower bound is 0."""

    lower: float | None
    upper: float
    cpu: float
    megabytes: float

    @property
    def least(self) -> float:
        """The lower bound."""
        return self.lower or 0.0


@dataclass(frozen=True)
class Comparison:
    """Our answer, the peer's default one, and the last one of its refinement; or the reason why there is none."""

    name: str
    ours: Answer | str
    default: Answer | str
    refined: Answer | None = None
    discretisation: str = DISCRETISATIONS[0]


@dataclass(frozen=True)
class Accountants:
    """The two accountants.   python: the peer's interpreter, if there is one."""

    python: str | None
    gib: float
    limit: float

    def ours(self, name: str) -> Answer | str:
        """Our answer, or the reason why there is none."""
        return self._ask(sys.executable, "ours", name, WIDTH)

    def peers(self, name: str, discretisation: str) -> Answer | str:
        """The peer's answer, likewise."""
        return self._ask(self.python, "dp_accounting", name, discretisation) if self.python else "not asked"

    def _ask(self, python: str, script: str, name: str, setting: str) -> Answer | str:
        path = Path(__file__).resolve().parent / "accounting_peers" / f"{script}.py"
        command = [python, str(path), name, setting, str(self.gib), "once"]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=self.limit, check=False, env=environment
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {self.limit:g} s"
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            said = done.stderr.strip().splitlines() or ["no answer"]
            return said[-1].partition("Error: ")[2][:40] or said[-1][:40]
        return Answer(**json.loads(lines[-1]))


def main() -> int:
    """Print a table; 1 if a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a process may take")
    parser.add_argument("--peer", metavar="dp_accounting=PYTHON")
    options = parser.parse_args()
    names = [name for name in QUESTIONS if options.only in name]
    if not names:
        parser.error(f"--only must be in the name of a question, got {options.only!r}")
    accountants = Accountants(_python(options.peer), options.gib, options.limit)
    _say("| question | upper bound | width | CPU s | MB | peer above | peer CPU s | ratio | broken |")
    _say("|---|---|---|---|---|---|---|---|---|")
    found = []
    for name in names:
        found.append(compared(name, accountants))
        _say(_row(found[-1]))
    _say(f"\n{_summary(found)}")
    return int(any(broken(one) for one in found))


def compared(name: str, accountants: Accountants) -> Comparison:
    """Both answers; the peer's is refined if its default is the faster one."""
    ours, default = accountants.ours(name), accountants.peers(name, DISCRETISATIONS[0])
    if isinstance(ours, str) or isinstance(default, str):
        return Comparison(name, ours, default)
    refined, used = default, DISCRETISATIONS[0]
    for discretisation in DISCRETISATIONS[1:]:
        finer = "settled" if settled(ours, refined) else accountants.peers(name, discretisation)
        if isinstance(finer, str):
            break
        refined, used = finer, discretisation
    return Comparison(name, ours, default, refined, used)


def settled(ours: Answer, peer: Answer) -> bool:
    """Whether no finer discretisation is needed: the peer is slower than ours, or as tight."""
    error = max(2 * (ours.upper - ours.least), _ROUNDING * ours.upper)
    return ours.cpu <= max(peer.cpu, _INSTANT) or peer.upper <= ours.least + error


def broken(one: Comparison) -> list[str]:
    """The limits that our answer exceeds."""
    ours, default = one.ours, one.default
    if isinstance(ours, str):
        return [ours]
    found = []
    if ours.cpu > MOST_SECONDS:
        found.append(f"{ours.cpu / MOST_SECONDS:.1f} x time")
    if ours.megabytes > MOST_MEGABYTES:
        found.append(f"{ours.megabytes / MOST_MEGABYTES:.1f} x memory")
    if isinstance(default, Answer) and not _below(one, default) and default.upper < ours.upper - _slack(one):
        found.append(f"looser by {ours.upper - default.upper:.1g}")
    if one.refined and not _below(one, one.refined) and settled(ours, one.refined):
        found += ["slower at equal error"] if ours.cpu > max(one.refined.cpu, _INSTANT) else []
    return found


def _slack(one: Comparison) -> float:
    """What answers may differ by: a calibrated noise by its tolerance, as only upper bounds decide about it."""
    question = QUESTIONS[one.name]
    return question.tolerance if isinstance(question, Calibration) else _ROUNDING * one.ours.upper


def _below(one: Comparison, peer: Answer) -> bool:
    """Whether the peer's answer lies below our lower bound."""
    return peer.upper < one.ours.least - _slack(one)


def _no_bound(one: Comparison, peer: Answer) -> str:
    return " (no upper bound)" if _below(one, peer) else ""


def _row(one: Comparison) -> str:
    ours = ["", "", "", ""]
    if isinstance(one.ours, Answer):
        width = one.ours.upper - one.ours.least
        ours = [f"{one.ours.upper:.9g}", f"{width:.1g}", f"{one.ours.cpu:.3f}", f"{one.ours.megabytes:.0f}"]
    peer = [one.default if isinstance(one.default, str) else "", "", ""]
    if isinstance(one.default, Answer) and isinstance(one.ours, Answer) and one.refined:
        peer = [f"{one.default.upper - one.ours.upper:.1g}{_no_bound(one, one.default)}", f"{one.default.cpu:.3f}"]
        finer = "" if one.refined is one.default else f" at {one.discretisation}{_no_bound(one, one.refined)}"
        peer += [f"{one.refined.cpu / one.ours.cpu:.2g}{finer}"]
    return f"| {' | '.join([one.name, *ours, *peer, ', '.join(broken(one))])} |"


def _summary(found: Sequence[Comparison]) -> str:
    answers = [(one.ours, one.name) for one in found if isinstance(one.ours, Answer)]
    if not answers:
        return "no answers"
    slowest, largest = max(answers, key=lambda pair: pair[0].cpu), max(answers, key=lambda pair: pair[0].megabytes)
    pairs = [(one, one.refined) for one in found if isinstance(one.ours, Answer) and one.refined]
    ratios = [peer.cpu / one.ours.cpu for one, peer in pairs if not _below(one, peer)]
    compared_with = f"{sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} comparisons with the peer"
    lines = [
        f"{len(found)} questions. Break a limit: {_named([one.name for one in found if broken(one)])}.",
        f"Slowest: {slowest[0].cpu:.2f} s ({slowest[1]}). Most memory: {largest[0].megabytes:.0f} MB ({largest[1]}).",
        f"Wider than 1e-6 of the answer: {_named([name for ours, name in answers if _wide(ours)])}.",
        f"Quicker in {compared_with}, median ratio {statistics.median(ratios):.2g}." if ratios else "No peer answered.",
    ]
    return "\n".join(lines)


def _named(names: Sequence[str]) -> str:
    return f"{len(names)} ({'; '.join(names)})" if names else "none"


def _wide(ours: Answer) -> bool:
    return ours.upper - ours.least > 1e-6 * ours.upper


def _python(text: str | None) -> str | None:
    if text is None:
        return None
    name, _, python = text.partition("=")
    if name != "dp_accounting" or not python:
        raise SystemExit(f"--peer must be dp_accounting=PYTHON, got {text!r}")
    return python


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
