"""Estimates of frequencies on real data: the measured error of many repetitions beside the exact one.

    python benchmarks/estimates.py [--data data] [--repetitions 1000] [--users 2000] [--epsilon 1]

The values are the labels of MNIST's training images and the categorical columns of ADULT (`make data`); the users are
the first so many. For every mechanism all users report in each repetition, and every frequency is estimated. A ratio is
the mean of squared errors over the exact variance, averaged over the values. With R repetitions and k values it has
mean 1 and a standard error of at most sqrt(2 / R) (each value's squared error has about the variance of a chi-square's,
and errors of one repetition are dependent): a ratio is inside if it is within five of these. Exits 1 where one is not.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ldp_audit.mechanisms import (
    HadamardResponse,
    LocalHashing,
    Memoised,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from ldp_audit.mechanisms.mechanism import Mechanism

CATEGORICAL = {1: "workclass", 3: "education", 5: "marital-status", 6: "occupation", 7: "relationship", 13: "country"}
"""Columns of adult.data by place."""


def columns(folder: Path, users: int) -> Iterator[tuple[str, np.ndarray]]:
    """The data sets: a name, and whole numbers 0 .. k-1."""
    labels = folder / "mnist" / "train-labels-idx1-ubyte"
    if labels.exists():
        yield "MNIST, digit", np.frombuffer(labels.read_bytes()[8 : 8 + users], np.uint8).astype(np.int64)
    table = folder / "adult" / "adult.data"
    if table.exists():
        with table.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file, skipinitialspace=True) if row][:users]
        for place, name in CATEGORICAL.items():
            yield f"ADULT, {name}", np.unique([row[place] for row in rows], return_inverse=True)[1]


def mechanisms_for(epsilon: float, k: int) -> dict[str, Mechanism]:
    """One of each kind."""
    return {
        "randomised response": RandomizedResponse(epsilon, k),
        "unary, symmetric": UnaryEncoding(epsilon, k, "symmetric"),
        "unary, optimised": UnaryEncoding(epsilon, k),
        "local hashing": LocalHashing(epsilon, k),
        "subset selection": SubsetSelection(epsilon, k),
        "Hadamard, one bit": HadamardResponse(epsilon, k),
        "Hadamard, columns": HadamardResponse(epsilon, k, "columns"),
        "RAPPOR, one report": Memoised(UnaryEncoding(epsilon, k, "symmetric"), UnaryEncoding(2.0, k, "symmetric")),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="where the files are (data)")
    parser.add_argument("--repetitions", type=int, default=1000, metavar="R", help="of every row (1000)")
    parser.add_argument("--users", type=int, default=2000, metavar="N", help="the first of each data set (2000)")
    parser.add_argument("--epsilon", type=float, default=1.0, help="of a report (1)")
    asked = parser.parse_args(arguments)
    rng, outside, found = np.random.default_rng(7), 0, 0
    within = 5 * math.sqrt(2 / asked.repetitions)
    print(f"{asked.repetitions} repetitions; squared errors over exact variances are inside within {within:.3f} of 1\n")
    print(f"{'data':<24} {'k':>3}  {'mechanism':<20} {'measured':>9} {'exact':>9} {'ratio':>7}")
    for name, values in columns(asked.data, asked.users):
        k = int(values.max()) + 1
        truth = np.bincount(values, minlength=k) / values.size
        for kind, m in mechanisms_for(asked.epsilon, k).items():
            squares = np.zeros(k)
            for _ in range(asked.repetitions):
                squares += (m.estimate(m.sample(values, rng=rng)).frequencies - truth) ** 2
            exact = np.asarray(m.frequency_variance(values.size, truth))
            ratio = float(np.mean(squares / asked.repetitions / exact))
            found, outside = found + 1, outside + (abs(ratio - 1) > within)
            measured = math.sqrt(float(squares.mean()) / asked.repetitions)
            figures = f"{measured:>9.5f} {math.sqrt(exact.mean()):>9.5f} {ratio:>7.3f}"
            mark = "" if abs(ratio - 1) <= within else "  OUTSIDE"
            print(f"{name:<24} {k:>3}  {kind:<20} {figures}{mark}", flush=True)
    print(f"\n{found} rows, {outside} outside" if found else f"no data under {asked.data}: make data")
    return int(outside > 0 or not found)


if __name__ == "__main__":
    raise SystemExit(main())
