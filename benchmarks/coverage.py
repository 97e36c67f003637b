"""The rate at which the auditor's bounds exceed the truth, simulated for every bound and for whole audits.

python benchmarks/coverage.py            # 10,000 nulls a row, 2,000 audits a mechanism; about half an hour on two cores
python benchmarks/coverage.py --quick    # 200 and 50

A row fails if its exceedances are more than alpha + 3 sigma of the simulations; the exact binomial probability of at
least that many exceedances, if each had probability alpha, is printed beside it.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from programs import NULLS
from scipy import special

from ldp_audit import audit
from ldp_audit.auditing import Counts, Region
from ldp_audit.auditing.betting import stopping_times
from ldp_audit.mechanisms import DuchiVector, Laplace, RandomizedResponse, TwoPoint

ALPHA = 0.05
EPSILONS = (0.0, 0.1, 1.0, 4.0)
SIZES = (100, 10_000, 1_000_000)


@dataclass(frozen=True)
class Row:
    """One simulation: the number of runs that exceeded the truth, and the median gap between truth and bound.

    refused: audits that were inconclusive.
    """

    name: str
    runs: int
    exceeded: int
    gap: float
    refused: int = 0

    @property
    def chance(self) -> float:
        """P(at least so many exceedances), if each has probability ALPHA."""
        return 1.0 if self.exceeded == 0 else float(special.bdtrc(self.exceeded - 1, self.runs, ALPHA))

    @property
    def holds(self) -> bool:
        """Whether no more runs exceeded the truth than alpha + 3 sigma."""
        return self.exceeded <= self.runs * ALPHA + 3 * math.sqrt(self.runs * ALPHA * (1 - ALPHA))


def main() -> int:
    """Print the table; 1 if a row fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    parser.add_argument("--audits", type=int, help="whole audits a row, instead of 2,000 or 50")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--only", choices=["epsilon", "delta", "sequential", "audits", "nulls"], help="these rows alone"
    )
    options = parser.parse_args()
    runs, audits = (200, 50) if options.quick else (10_000, 2_000)
    audits = options.audits or audits
    _say(f"alpha = {ALPHA}; allowed: alpha + 3 sigma\n")
    _say("| bound | runs | exceeded | share | P(so many) | median gap | refused | holds |")
    _say("|---|---|---|---|---|---|---|---|")
    failed = 0
    context, parent = get_context("spawn"), os.getpid()
    with ProcessPoolExecutor(options.workers, context, initializer=_end_with, initargs=(parent,)) as pool:
        for pending in [pool.submit(job) for job in jobs(runs, audits) if options.only in (None, KINDS[job.func])]:
            row = pending.result()
            failed += not row.holds
            share = f"{row.exceeded / row.runs:.4f}"
            _say(
                f"| {row.name} | {row.runs} | {row.exceeded} | {share} | {row.chance:.3g} | {_gap(row)} | "
                f"{row.refused} | "
                f"{'yes' if row.holds else 'NO'} |",
            )
    _say(f"\n{failed} rows fail")
    return 1 if failed else 0


def _end_with(parent: int) -> None:
    """End this worker soon after its parent process, even if that is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _gap(row: Row) -> str:
    return "" if math.isnan(row.gap) else f"{row.gap:.4g}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def jobs(runs: int, audits: int) -> Iterator[partial[Row]]:
    """All simulations, as calls without arguments."""
    for epsilon in EPSILONS:
        for n in SIZES:
            yield partial(region_epsilon, epsilon, n, 0.0, runs)
            yield partial(region_delta, epsilon, n, runs)
    yield partial(region_epsilon, 1.0, 10_000, 0.1, runs)
    for epsilon, delta in ((0.0, 0.0), (0.1, 0.0), (1.0, 0.0), (4.0, 0.0), (1.0, 0.1)):
        yield partial(betting, epsilon, delta, runs)
    for name in MECHANISMS:
        yield partial(whole_audits, name, audits)
    for name in NULLS:
        yield partial(null_audits, name, audits)


def region_epsilon(epsilon: float, n: int, delta: float, runs: int) -> Row:
    """The bound on epsilon from two counts, on the design of the truth; p is randomised response's."""
    p = delta + (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    q = (p - delta) * math.exp(-epsilon)
    sigma = math.sqrt((p * (1 - p) / (p - delta) ** 2 + (1 - q) / q) / n)
    at_delta = f", delta {delta:g}" if delta else ""

    def estimate(counts: Counts) -> float:
        share, other = counts.frequencies
        return math.log(max(share - delta, 1e-300) / max(other, 1e-300))

    def bound(counts: Counts) -> float:
        return Region(counts, ALPHA, epsilon, delta).epsilon_lower(delta)

    return _row(
        f"epsilon from counts, epsilon {epsilon:g}{at_delta}, n = {n}",
        _counts(p, q, n, runs),
        estimate,
        bound,
        epsilon,
        sigma,
    )


def region_delta(epsilon: float, n: int, runs: int) -> Row:
    """The bound on delta at a given epsilon, for a true delta of 0.1."""
    p = 0.1 + 0.5 * (1 - 0.1)
    q = (p - 0.1) * math.exp(-epsilon)
    sigma = math.sqrt((p * (1 - p) + math.exp(2 * epsilon) * q * (1 - q)) / n)

    def estimate(counts: Counts) -> float:
        share, other = counts.frequencies
        return share - math.exp(epsilon) * other

    def bound(counts: Counts) -> float:
        return Region(counts, ALPHA, epsilon, 0.1).delta_lower(epsilon)

    return _row(
        f"delta from counts, at epsilon {epsilon:g}, n = {n}", _counts(p, q, n, runs), estimate, bound, 0.1, sigma
    )


def betting(epsilon: float, delta: float, runs: int) -> Row:
    """The sequential test of a true claim, evaluated after every batch until 1,000,000 pairs: is it ever rejected?

    The confidence sequence exceeds the truth only if the first grid point at or above it is rejected, which this
    covers.
    """
    p = delta + (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    q = (p - delta) * math.exp(-epsilon)
    rng = np.random.default_rng(runs)
    times = stopping_times(p, q, epsilon, delta=delta, error=ALPHA, pairs=10**6, paths=runs, rng=rng)
    return Row(f"sequential test, epsilon {epsilon:g}, delta {delta:g}", runs, int(np.isfinite(times).sum()), math.nan)


def whole_audits(name: str, runs: int) -> Row:
    """Whole audits, search included, of a mechanism at its exact epsilon."""
    sampler, inputs, epsilon, samples = MECHANISMS[name]
    bounds = [
        audit(sampler, inputs, epsilon, samples=samples, confidence=1 - ALPHA, seed=seed).epsilon_lower
        for seed in range(runs)
    ]
    title = f"whole audits of {name}, epsilon {epsilon:.4g}, {samples} samples"
    return Row(title, runs, sum(bound > epsilon for bound in bounds), epsilon - float(np.median(bounds)))


def null_audits(name: str, runs: int) -> Row:
    """Whole audits of a true claim about a program as people write them, made anew for each: is it ever refuted?

    "Inconclusive" is no refutation; a bound above the truth is counted whatever the verdict says.
    """
    made, bounds, refused = NULLS[name], [], 0
    for seed in range(runs):
        program = made.make(made.epsilon)
        result = audit(program, made.inputs, made.epsilon, samples=5_000, confidence=1 - ALPHA, seed=seed)
        bounds.append(result.epsilon_lower)
        refused += result.inconclusive
    title = f"audits of {name}, epsilon {made.epsilon:g}, 5000 samples"
    exceeded = sum(bound > made.epsilon for bound in bounds)
    return Row(title, runs, exceeded, made.epsilon - float(np.median(bounds)), refused)


def _counts(p: float, q: float, n: int, runs: int) -> list[Counts]:
    rng = np.random.default_rng([n, runs])
    drawn = zip(rng.binomial(n, p, runs), rng.binomial(n, q, runs), strict=True)
    return [Counts(int(x), n, int(y), n) for x, y in drawn]


def _row(
    name: str,
    counts: list[Counts],
    estimate: Callable[[Counts], float],
    bound: Callable[[Counts], float],
    truth: float,
    sigma: float,
) -> Row:
    """At this alpha a bound lies 1.6 standard deviations below its estimate, so most of the large runs need none."""
    margin = 1.4 * sigma if counts[0].trials >= 10_000 else 0.0
    exceeded = sum(estimate(c) > truth + margin and bound(c) > truth for c in counts)
    gap = truth - float(np.median([bound(c) for c in counts[:200]]))
    return Row(name, len(counts), exceeded, gap)


def _scalar(mechanism: Any, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return mechanism.sample(np.full(n, x), rng=rng)


def _duchi_vector(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return DuchiVector(1.0, 3).sample(np.tile(np.array(x, dtype=float), (n, 1)), rng=rng)


def _noisy_max_value(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return (np.array(x)[None, :] + rng.laplace(scale=2.0, size=(n, 5))).max(axis=1)


MECHANISMS: dict[str, tuple[Any, tuple[Any, Any], float, int]] = {
    "randomised response": (partial(_scalar, RandomizedResponse(1.0)), (0, 1), 1.0, 5_000),
    "k-RR, k = 10": (partial(_scalar, RandomizedResponse(2.0, 10)), (0, 1), 2.0, 5_000),
    "two-point": (partial(_scalar, TwoPoint(4.0)), (-1.0, 1.0), 4.0, 5_000),
    "Laplace": (partial(_scalar, Laplace(1.0)), (0.0, 1.0), 1.0, 5_000),
    "noisy max that releases its value": (_noisy_max_value, ((0,) * 5, (1,) * 5), 2.5, 5_000),
    "Duchi's vectors, d = 3": (_duchi_vector, ((-1, -1, -1), (1, 1, 1)), 1.0, 5_000),
}
"""sampler, inputs, exact epsilon, samples of each input; numpy's Laplace noise counts as exact."""

KINDS = {
    region_epsilon: "epsilon",
    region_delta: "delta",
    betting: "sequential",
    whole_audits: "audits",
    null_audits: "nulls",
}


if __name__ == "__main__":
    sys.exit(main())
