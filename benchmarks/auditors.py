"""The auditor and its peers on the same programs with the same number of samples: bounds, seconds, and ratios.

    python benchmarks/auditors.py [--samples 2e6] [--seeds 3] [--only "a Warner 1"] [--beside ROW ...]
        --peer NAME=PYTHON:CHECKOUT ...

A peer runs in an environment of its own: PYTHON is that environment's interpreter, CHECKOUT a copy of its repository.
NAME is one of dp_sniper, statdp, dp_auditorium, ldp_auditor; DP-Auditorium has two rows, one for each of its testers. A
peer that is not given, or that fails, is listed with the reason; --beside lists some rows alone. Samples are those of
both inputs together, the search included. `to the same bound` is the time that we need to reach the peer's median
bound, with as few samples as possible, as a share of the peer's time; if the peer takes less than a second, the median
of seven such shares, each from a run of the peer and nine of ours right after it, since run times vary by half.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from auditor_cases import CASES, Case

from ldp_audit import audit

ROWS: dict[str, tuple[str, ...]] = {
    "dp_sniper": ("dp_sniper",),
    "statdp": ("statdp",),
    "dp_auditorium histogram": ("dp_auditorium", "histogram"),
    "dp_auditorium hockey-stick": ("dp_auditorium", "hockey-stick"),
    "ldp_auditor": ("ldp_auditor",),
}
"""A row's peer, with what its program takes besides case, samples, seed and checkout."""
PEERS = tuple(dict.fromkeys(peer for peer, *_ in ROWS.values()))
_CLAIM = 1.05  # of the truth: where DP-Auditorium's bisection starts as well
_LIMIT = 600  # most seconds of one run of a peer
_QUICK, _PAIRS = 1.0, 7  # for runs below _QUICK seconds, the median of _PAIRS shares


@dataclass(frozen=True)
class Row:
    """The medians over the seeds."""

    bound: float
    seconds: float


def main() -> int:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=float, default=2e6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--beside", choices=list(ROWS), nargs="+", default=list(ROWS), metavar="ROW")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON:CHECKOUT")
    options = parser.parse_args()
    peers = dict(_peer(text) for text in options.peer)
    _ours(next(iter(CASES.values())), 2000, 1)  # what is imported at the first audit is no part of a row's seconds
    _say("| case (truth) | auditor | bound | seconds | gap to ours | seconds to ours | to the same bound |")
    _say("|---|---|---|---|---|---|---|")
    for name in [options.only] if options.only else CASES:
        case = CASES[name]
        ours = _ours(case, int(options.samples), options.seeds)
        _say(f"| {name} ({case.truth:g}) | ours | {ours.bound:.4f} | {ours.seconds:.2f} | 1 | 1 | |")
        for row in options.beside:
            _say(f"| | {row} | {_beside(row, peers, name, options.samples, options.seeds, ours)} |")
    return 0


def _beside(row: str, peers: dict[str, tuple[str, str]], name: str, samples: float, seeds: int, ours: Row) -> str:
    """The peer's cells of the table, or why there are none."""
    peer, *more = ROWS[row]
    if peer not in peers:
        return "not given an environment | | | |"
    case = CASES[name]
    try:
        theirs = _run(peer, more, *peers[peer], name, samples, seeds)
        fewest = _fewest_to(case, theirs.bound, int(samples))
        share = "never"
        if fewest is not None:
            pairs = _PAIRS if theirs.seconds < _QUICK else 1
            shares = [
                (_run(peer, more, *peers[peer], name, samples, 1) if pairs > 1 else theirs).seconds
                / _ours(case, fewest, _repeats(fewest)).seconds
                for _ in range(pairs)
            ]
            share = f"{statistics.median(shares):.0f} times faster"
    except RuntimeError as error:
        return f"{error} | | | |"
    gap = (case.truth - theirs.bound) / max(case.truth - ours.bound, 1e-9)
    return f"{theirs.bound:.4f} | {theirs.seconds:.2f} | {gap:.1f} | {theirs.seconds / ours.seconds:.0f} | {share}"


def _ours(case: Case, samples: int, seeds: int) -> Row:
    """Our bound, beside a claim that holds: at the truth one audit in twenty would accuse, and ask copies first."""
    claim = _CLAIM * case.truth
    bounds, seconds = [], []
    for seed in range(seeds):
        start = time.perf_counter()
        found = audit(case.sampler, case.inputs, claim, samples=samples // 2, confidence=0.95, seed=seed)
        seconds.append(time.perf_counter() - start)
        bounds.append(found.epsilon_lower)
    return Row(statistics.median(bounds), statistics.median(seconds))


def _fewest_to(case: Case, bound: float, samples: int) -> int | None:
    """The fewest samples, by halving, for which our median bound is still as good; None if all do not suffice."""
    best = None
    while samples >= 1000:
        if _ours(case, samples, _repeats(samples)).bound < bound:
            break
        best, samples = samples, samples // 2
    return best


def _repeats(samples: int) -> int:
    """The number of seeds: nine for few samples, as the median of three varies too much."""
    return 3 if samples > 100_000 else 9


def _run(peer: str, more: list[str], python: str, checkout: str, name: str, samples: float, seeds: int) -> Row:
    script = Path(__file__).resolve().parent / "auditor_peers" / f"{peer}.py"
    found = []
    for seed in range(seeds):
        command = [python, str(script), name, str(samples), str(seed), checkout, *more]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False, cwd=checkout)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = "cannot be started" if isinstance(error, OSError) else f"no answer within {_LIMIT} s"
            raise RuntimeError(reason) from error
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no answer"])[-1][:90].replace("|", "/"))
        found.append(json.loads(lines[-1]))
    return Row(statistics.median(r["bound"] for r in found), statistics.median(r["seconds"] for r in found))


def _peer(text: str) -> tuple[str, tuple[str, str]]:
    name, _, rest = text.partition("=")
    python, _, checkout = rest.partition(":")
    if name not in PEERS or not checkout:
        raise SystemExit(f"--peer must be NAME=PYTHON:CHECKOUT with NAME one of {', '.join(PEERS)}, got {text!r}")
    return name, (python, checkout)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
