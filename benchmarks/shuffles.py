"""The bounds on shuffled reports of every mechanism and of random channels: `python benchmarks/shuffles.py`.

    python benchmarks/shuffles.py [--only TEXT] [--channels 60] [--clients 1000 1000000] [--epsilons 0.5 2 5]

--only: the reports whose names contain the text.   clients: n.   epsilons: nats, of one report; of random channels the
largest log ratio. Delta is 1e-6. lower: attained by some inputs of all clients. upper: for all inputs. A ratio above
1.3, and more than 5 seconds, are marked *.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ldp_audit import mechanisms
from ldp_audit.accounting import shuffle

DELTA, MOST_RATIO, MOST_SECONDS = 1e-6, 1.3, 5.0

REPORTS: dict[str, Callable[[float], Any]] = {
    "RandomizedResponse, 2 values": mechanisms.RandomizedResponse,
    "RandomizedResponse, 4 values": lambda e: mechanisms.RandomizedResponse(e, 4),
    "RandomizedResponse, 100 values": lambda e: mechanisms.RandomizedResponse(e, 100),
    "UnaryEncoding, 8 values": lambda e: mechanisms.UnaryEncoding(e, 8),
    "UnaryEncoding, symmetric": lambda e: mechanisms.UnaryEncoding(e, 8, "symmetric"),
    "LocalHashing, 20 values": lambda e: mechanisms.LocalHashing(e, 20),
    "SubsetSelection, 12 values": lambda e: mechanisms.SubsetSelection(e, 12),
    "HadamardResponse, 8 values": lambda e: mechanisms.HadamardResponse(e, 8),
    "HistogramEncoding, 8 values": lambda e: mechanisms.HistogramEncoding(e, 8),
    "HistogramEncoding, bits": lambda e: mechanisms.HistogramEncoding(e, 8, threshold="optimal"),
    "Piecewise": mechanisms.Piecewise,
    "Hybrid": mechanisms.Hybrid,
    "SquareWave": mechanisms.SquareWave,
    "Laplace": lambda e: mechanisms.Laplace(1.0, e, e),
    "DiscreteLaplace, 4 apart": lambda e: mechanisms.DiscreteLaplace(4 / e, 4, replaced=4),
    "StaircaseNoise": lambda e: mechanisms.StaircaseNoise(e, 1.0, replaced=1.0),
    "ExponentialSelection, 5 indices": lambda e: mechanisms.ExponentialSelection(e, 5),
    "PerturbedEncoding, 2 of 6": lambda e: mechanisms.PerturbedEncoding(e, 6, 2),
    "PerturbedSampling, 2 of 6": lambda e: mechanisms.PerturbedSampling(e, 6, 2),
    "DuchiVector, 3 numbers": lambda e: mechanisms.DuchiVector(e, 3),
    "DuchiBall, 3 numbers": lambda e: mechanisms.DuchiBall(e, 3),
    "PrivUnit, 5 numbers": lambda e: mechanisms.PrivUnit(e, 5),
    "CoordinateSampling, Piecewise": lambda e: mechanisms.CoordinateSampling(mechanisms.Piecewise, e, 4, 1),
}
"""By name, from the epsilon of one report."""


def random_channels(count: int) -> Iterator[tuple[str, Callable[[float], Any]]]:
    """Channels of 2 .. 5 inputs and 2 .. 12 outputs; every third one has a few high entries."""
    for number in range(count):
        rng = np.random.default_rng([7, number])
        shape = int(rng.integers(2, 6)), int(rng.integers(2, 13))
        heights = (rng.random(shape) < 0.3).astype(np.float64) if number % 3 == 0 else rng.random(shape)
        shares = rng.dirichlet(np.full(shape[1], 2.0))
        yield f"channel {number}, {shape[0]} x {shape[1]}", lambda e, made=(heights, shares): channel(e, *made)


def channel(epsilon: float, heights: Any, shares: Any) -> mechanisms.FiniteChannel:
    """Rows of shares times e**(height times a number), for which the largest log ratio is about epsilon."""
    low, high = 0.0, 2 * epsilon
    while high - low > 1e-3 * epsilon:
        middle = (low + high) / 2
        rows = shares * np.exp(middle * heights)
        logs = np.log(rows / rows.sum(axis=1, keepdims=True))
        low, high = (middle, high) if np.ptp(logs, axis=0).max() < epsilon else (low, middle)
    rows = shares * np.exp(low * heights)
    return mechanisms.FiniteChannel((rows / rows.sum(axis=1, keepdims=True)).tolist())


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--channels", type=int, default=60)
    parser.add_argument("--clients", type=int, nargs="+", default=[1000, 10**6])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 2.0, 5.0])
    asked = parser.parse_args(arguments)
    reports = [*REPORTS.items(), *random_channels(asked.channels)]
    ratios, slowest = [], 0.0
    print(f"{'report':36}{'epsilon':>8}{'clients':>9}{'lower':>10}{'upper':>10}{'ratio':>8}{'s':>7}")
    for name, made in reports:
        for epsilon in asked.epsilons if asked.only in name else []:
            mechanism = made(epsilon)
            for clients in asked.clients:
                start = time.perf_counter()
                low, high = shuffle(mechanism, clients).epsilon_bounds(DELTA)
                seconds = time.perf_counter() - start
                ratio = high / low if low > 0 else float("inf") if high > 0 else 1.0
                ratios.append(ratio)
                slowest = max(slowest, seconds)
                marked = "*" if ratio > MOST_RATIO or seconds > MOST_SECONDS else ""
                print(f"{name:36}{epsilon:8g}{clients:9}{low:10.4g}{high:10.4g}{ratio:8.3f}{seconds:7.2f} {marked}")
    above = sum(ratio > MOST_RATIO for ratio in ratios)
    print(f"{len(ratios)} bounds, {above} with a ratio above {MOST_RATIO:g}; the slowest took {slowest:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
