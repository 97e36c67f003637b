"""The share of broken programs that `assert_private` catches at the violation that it promises to catch.

    python benchmarks/power.py [--runs 200] [--detects 1.5] [--only WORDS] [--workers 2]

Forty-six settings (`programs.settings`): numbers, bits, vectors of up to 300 coordinates, structured outputs, some with
a clock, 1 to 15 pairs
of inputs. Each program has exactly `detects` times the claimed epsilon, so the share is to be at least the stated
power, 0.99. A setting fails where so few catches have probability below 1e-4 at that power.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from programs import settings
from scipy import special

from ldp_audit.auditing.assertions import PrivacyViolation, assert_private

POWER = 0.99
IMPROBABLE = 1e-4


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
    options = parser.parse_args()
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
    except PrivacyViolation as violation:
        caught, result = True, violation.result
    return Run(caught, result.samples_used, time.process_time() - start)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
