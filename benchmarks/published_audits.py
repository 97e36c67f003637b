"""The mechanisms on which DP-Sniper was published, audited with a tenth of its samples.

    python benchmarks/published_audits.py [--samples 2e7] [--only NAME ...] [--seeds 3]

Bichsel, Steffen, Bogunovic, Vechev, "DP-Sniper: Black-Box Discovery of Differential Privacy Violations using
Classifiers" (IEEE S&P 2021) gives reference logs: for each mechanism the bound, at confidence 0.9 from 2e8 samples of
each input, after a search on 2e8 more, and how often its event was seen on either input. Columns:

bound: ours, at the same confidence, on the same pairs of inputs, from so many samples of each input, the search
included; the median of the seeds.   published: theirs.   its event: the bound that our number of samples would give for
their event, found for nothing.   seconds: of the CPU, for one audit. A published frequency is an estimate; where the
exact epsilon is known, no more than that is credited to the event. The published bound on RAPPOR lies above it.

best event: the bound that the best event of all is expected to give from our number of samples, found for nothing; only
where the exact distribution of the outputs is at hand. A published bound above it is reached by luck alone.

The mechanisms are those of Ding et al. (CCS 2018), Lyu, Su, Li (VLDB 2017), Wang et al. (PLDI 2019), Erlingsson et al.
(CCS 2014), Balcer and Vadhan (2018), at epsilon 0.1 where no other is said. Exits with 1 where a bound
is below the published one, or below that of its event.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.auditing import audit, search
from ldp_audit.auditing.bounds import Counts, Region

Sampler = Callable[[Any, int, np.random.Generator], np.ndarray]
Pairs = list[tuple[Any, Any]]

CONFIDENCE = 0.9
ABORTED, BELOW = -2000.0, -1000.0


@dataclass(frozen=True)
class Published:
    """bound: at confidence 0.9, from 2e8 samples.   frequencies: of its event, on the likelier input and the other.

    truth: the exact epsilon; infinite where it is not known.
    masses: the exact probabilities of all outputs on an input, or of fine cells of them; None where not at hand.
    """

    sampler: Sampler
    pairs: Pairs
    bound: float
    frequencies: tuple[float, float]
    truth: float = math.inf
    masses: Callable[[Any], np.ndarray] | None = None


def laplace(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise."""
    return x + rng.laplace(scale=10.0, size=n)


def truncated_geometric(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """A count of 0 .. 5 with geometric noise, by whole numbers (Balcer and Vadhan, Algorithm 4.8)."""
    most, k = 5, math.ceil(math.log(20))
    total = (2 ** (k + 1) + 1) * (2**k + 1) ** (most - 1)
    up_to = [
        2 ** (k * (x - z)) * (2**k + 1) ** (most - x + z)
        if z < x
        else total - 2 ** (k * (z - x + 1)) * (2**k + 1) ** (most - 1 - z + x)
        for z in range(most)
    ]
    return np.searchsorted(np.array([*up_to, total]), rng.integers(1, total + 1, n), side="left")


def histogram(scale: float) -> Sampler:
    """Laplace noise on each count."""
    return lambda x, n, rng: np.asarray(x) + rng.laplace(scale=scale, size=(n, len(x)))


def noisy_maximum(noise: str, *, value: bool) -> Sampler:
    """The place of the greatest noisy count, or (broken) its value."""

    def sampler(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
        draw = rng.laplace if noise == "laplace" else rng.exponential
        noisy = np.asarray(x) + draw(scale=20.0, size=(n, len(x)))
        return noisy.max(axis=1) if value else noisy.argmax(axis=1)

    return sampler


def sparse_vector(
    threshold: float,
    query: float,
    *,
    most: int | None = 1,
    above: float = 1.0,
    redrawn: bool = False,
    value: bool = False,
) -> Sampler:
    """Which queries lie above a noisy threshold, up to so many; None: all.   threshold, query: scales of the noise.

    redrawn: the threshold's noise, after each answer.   value: the noisy query is answered, not a 1.
    """

    def sampler(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
        level = above + rng.laplace(scale=threshold, size=n)
        noisy = np.asarray(x) + (rng.laplace(scale=query, size=(n, len(x))) if query else np.zeros((n, 1)))
        found, answered = np.empty((n, len(x))), np.zeros(n, dtype=int)
        for place in range(len(x)):
            over = noisy[:, place] >= level
            answer = np.where(over, noisy[:, place] if value else 1.0, BELOW if value else 0.0)
            stopped = answered == most
            found[:, place] = np.where(stopped, ABORTED, answer)
            answered += over & ~stopped
            if redrawn:
                level = np.where(over, above + rng.laplace(scale=threshold, size=n), level)
        return found

    return sampler


def numerical_sparse_vector(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """Up to two noisy values above a noisy threshold, 0 for those below."""
    shape = (n, len(x))
    level = 1 + rng.laplace(scale=30.0, size=(n, 1))
    over = np.asarray(x) + rng.laplace(scale=120.0, size=shape) >= level
    answers = np.where(over, np.asarray(x) + rng.laplace(scale=60.0, size=shape), 0.0)
    return np.where(np.cumsum(over, axis=1) - over >= 2, ABORTED, answers)


FILTERS = {0: [0, 11, 18], 1: [3, 10, 13], 2: [7, 10, 11, 19]}
"""The bits that the four published hash functions set of 20."""


def rappor(flipped: float, low: float | None = None, high: float | None = None) -> Sampler:
    """A Bloom filter with permanent, and perhaps instantaneous, randomised response."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        truth = np.isin(np.arange(20), FILTERS[x])
        kept = np.where(rng.random((n, 20)) < flipped, rng.random((n, 20)) < 0.5, truth)
        if low is None or high is None:
            return kept.astype(np.int8)
        return (rng.random((n, 20)) < np.where(kept, high, low)).astype(np.int8)

    return sampler


def below(z: np.ndarray, scale: float) -> np.ndarray:
    """P(Laplace noise <= z)."""
    tail = 0.5 * np.exp(-np.abs(z) / scale)
    return np.where(z < 0, tail, 1 - tail)


def masses_of_first_above(threshold: float, query: float, above: float = 1.0) -> Callable[[Any], np.ndarray]:
    """Of a sparse vector with one answer: which query is the first above the threshold, or none."""
    noise = np.linspace(-75 * threshold, 75 * threshold, 60_001)
    weights = np.diff(below(noise, threshold))
    level = above + (noise[1:] + noise[:-1]) / 2

    def masses(x: Any) -> np.ndarray:
        under = np.cumprod([np.ones_like(level), *(below(level - q, query) for q in x)], axis=0) @ weights
        return np.append(-np.diff(under), under[-1])

    return masses


def masses_of_maximum(*, value: bool) -> Callable[[Any], np.ndarray]:
    """Of the greatest noisy count: its place, or the cells of its value."""
    edges = np.linspace(-200, 500, 70_001)

    def masses(x: Any) -> np.ndarray:
        under = np.array([below(edges - count, 20.0) for count in x])
        if value:
            return np.diff(under.prod(axis=0))
        middles = (under[:, 1:] + under[:, :-1]) / 2
        return np.array([np.diff(one) @ np.delete(middles, i, 0).prod(axis=0) for i, one in enumerate(under)])

    return masses


def masses_of_bits(flipped: float, low: float = 0.0, high: float = 1.0) -> Callable[[Any], np.ndarray]:
    """Of RAPPOR: 2**20 outputs."""

    def masses(x: int) -> np.ndarray:
        kept = np.where(np.isin(np.arange(20), FILTERS[x]), 1 - flipped / 2, flipped / 2)
        found = np.ones(1)
        for one in kept * high + (1 - kept) * low:
            found = np.concatenate([found * (1 - one), found * one])
        return found

    return masses


def parallel_laplace(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Twenty Laplace mechanisms of epsilon 0.005 on the same number."""
    return x + rng.laplace(scale=200.0, size=(n, 20))


def parallel_sparse_vectors(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """The broken sparse vectors 3 and 4, of up to two answers, on the same queries."""
    one, two = sparse_vector(20, 40, most=2, value=True), sparse_vector(40, 2 / 0.15, most=2)
    return np.hstack([one(x, n, rng), two(x, n, rng)])


def prefix_sums(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """Running sums of noisy numbers."""
    return np.cumsum(np.asarray(x) + rng.laplace(scale=10.0, size=(n, len(x))), axis=1)


def patterns(size: int, *, all_may_differ: bool = True) -> Pairs:
    """The pairs of Ding et al.: one query differs by 1, or each by at most 1."""
    half, ones = size // 2, (1,) * size
    found: Pairs = [(ones, (0, *ones[1:])), (ones, (2, *ones[1:]))]
    if all_may_differ:
        zeros, twos = (0,) * size, (2,) * size
        split = (*ones[:half], *zeros[half:])
        found += [(ones, (2, *zeros[1:])), (ones, (0, *twos[1:])), (ones, (*twos[:half], *zeros[half:]))]
        found += [(ones, twos), (ones, zeros), (split, tuple(1 - bit for bit in split))]
    return found


NUMBERS: Pairs = [(1, 0), (1, 2)]
FIVE, TEN = patterns(5), patterns(10)
COUNTS = patterns(5, all_may_differ=False)

CASES: dict[str, Published] = {
    "Laplace": Published(laplace, NUMBERS, 0.0976, (0.011051, 0.010000), 0.1),
    "truncated geometric": Published(truncated_geometric, NUMBERS, 0.1155, (0.011256, 0.010005), math.log(1.125)),
    "noisy histogram 1": Published(histogram(10.0), COUNTS, 0.0977, (0.011060, 0.010008), 0.1),
    "noisy histogram 2": Published(histogram(0.1), COUNTS, 4.6015, (0.998864, 0.010014), 10.0),
    "noisy maximum 1": Published(
        noisy_maximum("laplace", value=False), FIVE, 0.0925, (0.011010, 0.010014), masses=masses_of_maximum(value=False)
    ),
    "noisy maximum 2": Published(noisy_maximum("exponential", value=False), FIVE, 0.0979, (0.011069, 0.010014)),
    "noisy maximum 3": Published(
        noisy_maximum("laplace", value=True), FIVE, 0.2488, (0.012806, 0.009963), 0.25, masses_of_maximum(value=True)
    ),
    "noisy maximum 4": Published(noisy_maximum("exponential", value=True), FIVE, 0.3534, (0.014187, 0.009942)),
    "sparse vector 1": Published(
        sparse_vector(20, 40, above=0.5), TEN, 0.0858, (0.010932, 0.010010), masses=masses_of_first_above(20, 40, 0.5)
    ),
    "sparse vector 2": Published(
        sparse_vector(20, 40, redrawn=True), TEN, 0.0852, (0.010874, 0.009963), masses=masses_of_first_above(20, 40)
    ),
    "sparse vector 3": Published(sparse_vector(20, 20, value=True), TEN, 0.1822, (0.012030, 0.010004)),
    "sparse vector 4": Published(
        sparse_vector(40, 1 / 0.075), TEN, 0.1696, (0.011884, 0.010008), masses=masses_of_first_above(40, 1 / 0.075)
    ),
    "sparse vector 5": Published(sparse_vector(20, 0, most=None), TEN, 1.7610, (0.058276, 0.010000)),
    "sparse vector 6": Published(sparse_vector(20, 20, most=None), TEN, 0.2698, (0.013157, 0.010024)),
    "RAPPOR": Published(
        rappor(0.75, 0.45, 0.55),
        NUMBERS,
        0.3008,
        (0.013398, 0.009896),
        6 * math.log(0.5125 / 0.4875),
        masses_of_bits(0.75, 0.45, 0.55),
    ),
    "one-time RAPPOR": Published(
        rappor(0.95), NUMBERS, 0.5999, (0.018167, 0.009951), 6 * math.log(0.525 / 0.475), masses_of_bits(0.95)
    ),
    "20 Laplaces": Published(parallel_laplace, NUMBERS, 0.0299, (0.010318, 0.009992), 0.1),
    "sparse vectors 3 and 4": Published(parallel_sparse_vectors, TEN, 0.2616, (0.013042, 0.010018)),
    "prefix sums": Published(prefix_sums, TEN, 0.5774, (0.017881, 0.010017), 1.0),
    "numerical sparse vector": Published(numerical_sparse_vector, TEN, 0.0345, (0.010382, 0.010007)),
}


def main() -> int:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=float, default=2e7, help="of each input")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    samples, below = int(options.samples), 0
    _say("| mechanism | bound | published | its event | best event | reached | seconds |")
    _say("|---|---|---|---|---|---|---|")
    for name in options.only:
        case, start, bounds = CASES[name], time.process_time(), []
        for seed in range(options.seeds):
            result = audit(case.sampler, search(pairs=case.pairs), samples=samples, confidence=CONFIDENCE, seed=seed)
            bounds.append(result.epsilon_lower)
        seconds, own = (time.process_time() - start) / options.seeds, of_event(case, samples)
        bound = statistics.median(bounds)
        reached = [bound >= other or other > case.truth for other in (case.bound, own)]
        below += not all(reached)
        words = "yes" if all(reached) else "no" if not any(reached) else "its event" if reached[1] else "published"
        best = "" if case.masses is None else f"{of_best_event(case, samples):.4f}"
        _say(f"| {name} | {bound:.4f} | {case.bound:.4f} | {own:.4f} | {best} | {words} | {seconds:.1f} |")
    _say(f"\n{len(options.only) - below} of {len(options.only)} reached, {samples:.0e} samples of each input")
    return int(below > 0)


def of_event(case: Published, samples: int) -> float:
    """The bound that so many samples of each input would give for the published event."""
    likely, other_share = case.frequencies
    ratio = min(math.log(likely / other_share), case.truth)
    hits, other = round(other_share * math.exp(ratio) * samples), round(other_share * samples)
    return Region(Counts(hits, samples, other, samples), 1 - CONFIDENCE, ratio).epsilon_lower()


def of_best_event(case: Published, samples: int) -> float:
    """The greatest bound that so many samples of each input are expected to give of any event.

    By Neyman and Pearson the events to try are the outputs of greatest likelihood ratio, so many of them.
    """
    if case.masses is None:
        raise ValueError("the exact distribution of the outputs is not at hand")
    found = 0.0
    for first, second in (order for a, b in case.pairs for order in ((a, b), (b, a))):
        p, q = case.masses(first), case.masses(second)
        order = np.argsort(-p / np.maximum(q, 1e-300), kind="stable")
        hits, other = (np.rint(np.cumsum(one[order]) * samples) for one in (p, q))
        known = (other > 0) & (hits > other)
        hits, other = hits[known], other[known]
        if len(hits):
            ratio = np.log(hits / other)
            guess = ratio - np.sqrt(1.65 * (1 / hits + 1 / other - 2 / samples))  # 1.65: the square of the quantile
            k = int(np.argmax(guess))
            counts = Counts(int(hits[k]), samples, int(other[k]), samples)
            found = max(found, Region(counts, 1 - CONFIDENCE, float(ratio[k])).epsilon_lower())
    return found


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
