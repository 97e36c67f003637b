"""The share of broken programs that `assert_private` catches at the violation that it promises to catch.

    python benchmarks/power.py [--runs 200] [--detects 1.5] [--only WORDS] [--workers 2] [--leaks RUNS]

Forty-six settings (`programs.settings`): numbers, bits, vectors of up to 300 coordinates, structured outputs, some with
a clock, 1 to 15 pairs of inputs. Each program has exactly `detects` times the claimed epsilon, so the share is to be at
least the stated power, 0.99. A setting fails where so few catches have probability below 1e-4 at that power.

--leaks RUNS: instead, rare leaks in so many audits each, of 1, 5 and 20 numbers; a row fails where a leak at least as
probable as an audit's stated floor is found so seldom, at the power 0.95 that the floor is stated with. Leaks on a
grid of 17 values, each of which counts by itself, are shown and not judged.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from programs import settings, telling
from scipy import special

from ldp_audit import audit
from ldp_audit.auditing.assertions import NoPowerError, PrivacyViolation, assert_private

POWER = 0.99
IMPROBABLE = 1e-4
OF_FLOOR = 0.95
RARE = (1e-2, 1e-3, 3e-4, 1e-4)


class Run(NamedTuple):
    """caught: whether the violation was.   samples: of all inputs.   seconds: of the CPU."""

    caught: bool
    samples: int
    seconds: float


def main() -> int:
    """Print a row for each setting; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--detects", type=float, default=1.5)
    parser.add_argument("--only", default="", help="settings whose name has these words")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--leaks", type=int, help="audits of each rare leak, instead")
    options = parser.parse_args()
    if options.leaks is not None:
        return leaks(options.leaks, options.only)
    failed = 0
    _say("| setting | caught | of | share, 95% interval | samples | seconds | holds |")
    _say("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        for name in (name for name in settings() if options.only in name):
            jobs = [pool.submit(run, name, options.detects, seed) for seed in range(options.runs)]
            runs = [job.result() for job in jobs]
            caught, number = sum(one.caught for one in runs), len(runs)
            holds = special.bdtr(caught, number, POWER) >= IMPROBABLE
            failed += not holds
            low = special.betaincinv(caught, number - caught + 1, 0.025) if caught else 0.0
            high = special.betaincinv(caught + 1, number - caught, 0.975) if caught < number else 1.0
            samples = statistics.median(one.samples for one in runs)
            seconds = statistics.median(one.seconds for one in runs)
            _say(
                f"| {name} | {caught} | {number} | {low:.3f} to {high:.3f} | {samples:.0f} | {seconds:.2f} | "
                f"{'yes' if holds else 'NO'} |"
            )
    _say(f"\n{failed} settings fail")
    return int(failed > 0)


def run(name: str, detects: float, seed: int) -> Run:
    """One test of a program that is broken by the factor that the test promises to catch."""
    made, claim = settings()[name]
    start = time.process_time()
    try:
        result = assert_private(made.make(detects * claim), claim, made.inputs, detects=detects, power=POWER, seed=seed)
        caught = False
    except (PrivacyViolation, NoPowerError) as outcome:
        caught, result = isinstance(outcome, PrivacyViolation), outcome.result
    return Run(caught, result.samples_used, time.process_time() - start)


def leaks(runs: int, only: str) -> int:
    """Print a row for each rare leak: how often it is found and by how many audits that is promised; 1 if one fails."""
    failed = 0
    _say("| leak | probability | samples | found | of | stated floor, median | promised | of these found | holds |")
    _say("|---|---|---|---|---|---|---|---|---|")
    cases = itertools.product((100_000, 1_000_000), ("value", "tail", "grid"), (1, 5, 20), RARE)
    for samples, kind, dimension, rare in cases:
        name = f"{kind}, {dimension} numbers"
        if only not in name:
            continue
        results = [
            audit(telling(dimension, rare, kind), (0, 1), 1.0, samples=samples, seed=seed, stateless=True)
            for seed in range(runs)
        ]
        found = sum(one.violated for one in results)
        promised = [one.violated for one in results if one.coverage_floor <= rare]
        holds = kind == "grid" or special.bdtr(sum(promised), len(promised), OF_FLOOR) >= IMPROBABLE
        failed += not holds
        floor = statistics.median(one.coverage_floor for one in results)
        _say(
            f"| {name} | {rare:g} | {samples} | {found} | {runs} | {floor:.2g} | {len(promised)} | {sum(promised)} | "
            f"{'yes' if holds else 'NO'} |"
        )
    _say(f"\n{failed} leaks fail")
    return int(failed > 0)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
