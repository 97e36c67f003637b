"""Estimates of frequencies from reports that support values, in the framework of pure protocols.

Each report supports some of the values 0 .. k-1. Where it supports the reporter's own value with probability p and any
other value with probability q, the number C of reports of n that support v gives the unbiased estimate

    f = (C / n - q) / (p - q),   with variance  (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)**2)

for the true frequency f of v among the n reporters: C is a sum of n independent Bernoulli variables, f n of them with
mean p, the others with mean q.

Sources: Wang, Blocki, Li, Jha, "Locally Differentially Private Protocols for Frequency Estimation" (USENIX Security
2017), Theorem 2; Wang, Lopuhaa-Zwakenberg, Li, Skoric, Li, "Locally Differentially Private Frequency Estimation with
Consistency" (NDSS 2020) on the consistency steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import finite, in_interval, numbers_of
from ldp_audit.numerics import whole

Consistency = Literal["clip", "norm", "norm-sub"]
"""A step after estimation. Each is biased or has a larger variance than it removes; which one, is said by `consistent`.
"""


@dataclass(frozen=True)
class Supports:
    """What a report says about values: which of them it supports, and how likely.

    k: the number of values.   own: p, the probability that a report supports the reporter's value.
    missed: 1 - p, given apart because it may be far below the rounding of p.   other: q, for any other value.
    count: maps n reports to the number that support each value, int64 of shape (k,); ValueError for what is no report.
    """

    k: int
    own: float
    missed: float
    other: float
    count: Callable[[ArrayLike], tuple[int, NDArray[np.int64]]]

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> NDArray[np.float64] | np.float64:
        """The exact variance of the estimate of a frequency from n reports; infinite where reports say nothing.

        n: >= 1.   frequency: the value's share among the n reporters, in [0, 1], any shape.   returns: its shape.
        """
        n = whole(n, "n", 1)
        shares = in_interval("frequency", numbers_of("frequency", frequency), 0.0, 1.0)
        apart = self.own - self.other
        if apart <= 0:
            return np.full_like(shares, np.inf, dtype=np.float64)[()]
        own, other = self.own * self.missed, self.other * (1 - self.other)
        return ((shares * own + (1 - shares) * other) / (n * apart**2))[()]

    def estimate(self, reports: ArrayLike) -> FrequencyEstimate:
        """The unbiased estimate; ValueError for no reports, and where reports say nothing about the value."""
        if self.own <= self.other:
            raise ValueError("reports that do not depend on the value tell no frequencies: epsilon is 0, or too small")
        n, counts = self.count(reports)
        if not n:
            raise ValueError("reports must be one or more, got none")
        shares = (counts / n - self.other) / (self.own - self.other)
        errors = np.sqrt(self.variance(n, np.clip(shares, 0.0, 1.0)))
        worst = math.sqrt(max(float(self.variance(n, end)) for end in (0.0, 1.0)))  # linear in the frequency
        return FrequencyEstimate(n, shares, errors, worst)


@dataclass(frozen=True)
class Sums:
    """Reports of k numbers, each without bias for the value's indicator and with noise of one variance.

    The estimate is the mean of each column, whose variance does not depend on the frequencies.

    k: the number of values.   noise: the variance of a number.
    """

    k: int
    noise: float

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> NDArray[np.float64] | np.float64:
        """The exact variance of the estimate of a frequency from n reports; see `Supports`."""
        n = whole(n, "n", 1)
        shares = in_interval("frequency", numbers_of("frequency", frequency), 0.0, 1.0)
        return np.full(shares.shape, self.noise / n)[()]

    def estimate(self, reports: ArrayLike) -> FrequencyEstimate:
        """The unbiased estimate; ValueError for no reports, and for what is none."""
        rows = finite("reports", reports)
        if rows.size == 0:
            raise ValueError("reports must be one or more, got none")
        if rows.ndim != 2 or rows.shape[1] != self.k:
            raise ValueError(f"reports must have shape (n, {self.k}), got {rows.shape}")
        error = math.sqrt(self.noise / len(rows))
        return FrequencyEstimate(len(rows), rows.mean(axis=0), np.full(self.k, error), error)


@dataclass(frozen=True, eq=False)
class FrequencyEstimate:
    """Estimated frequencies of the values 0 .. k-1.

    n: the number of reports.   frequencies: shape (k,); unbiased, so that they may lie outside [0, 1].
    standard_error: of the unbiased estimate, exact at the estimated frequency, clipped to [0, 1]; shape (k,).
    worst_standard_error: the largest over all frequencies.
    """

    n: int
    frequencies: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    worst_standard_error: float

    @property
    def counts(self) -> NDArray[np.float64]:
        """The frequencies times n."""
        return self.n * self.frequencies

    def consistent(self, step: Consistency = "norm-sub") -> FrequencyEstimate:
        """The estimate after a step that uses what is known of frequencies; standard errors stay those before it.

        "clip": negative frequencies become 0. Each moves up or stays: rare values are estimated too high on average,
            and the sum exceeds 1.
        "norm": the same number is added to all, so that they add up to 1. Without bias; some stay negative.
        "norm-sub": the nearest point of the simplex in Euclidean distance: the same number is subtracted from all, and
            what is negative becomes 0. No farther from the true frequencies, in Euclidean distance, than the estimate
            itself, whatever they are; rare values are estimated too high, frequent ones too low on average.
        """
        shares = self.frequencies
        if step == "clip":
            found = np.maximum(shares, 0.0)
        elif step == "norm":
            found = shares + (1 - math.fsum(shares.tolist())) / shares.size
        elif step == "norm-sub":
            found = _on_simplex(shares)
        else:
            raise ValueError(f'step must be "clip", "norm" or "norm-sub", got {step!r}')
        return replace(self, frequencies=found)

    def __str__(self) -> str:
        listed = ", ".join(f"{share:.4g}" for share in self.frequencies[:10].tolist())
        more = f", and {self.frequencies.size - 10} more" if self.frequencies.size > 10 else ""
        worst = f"standard error at most {self.worst_standard_error:.3g}"
        return f"frequencies {listed}{more}; {worst} from {self.n} reports"


@dataclass(frozen=True, eq=False)
class MeanEstimate:
    """The estimated mean of the inputs, numbers or vectors, from reports that have their input as their mean.

    n: the number of reports.   mean: unbiased; a float, or shape (d,).
    standard_error: from the reports' own spread, n >= 2; else the worst one.   Shape of mean.
    worst_standard_error: the exact one for equal inputs where the variance is largest, and at least that of all others.
    """

    n: int
    mean: NDArray[np.float64] | np.float64
    standard_error: NDArray[np.float64] | np.float64
    worst_standard_error: float

    @classmethod
    def of(cls, reports: ArrayLike, largest_variance: float, shape: tuple[int, ...]) -> MeanEstimate:
        """From n reports, shape (n, *shape), whose variance is at most the largest; ValueError for what are none."""
        values = numbers_of("reports", reports).astype(np.float64)
        if values.ndim != 1 + len(shape) or values.shape[1:] != shape or not len(values):
            raise ValueError(f"reports must be one or more, of shape {('n', *shape)}, got shape {values.shape}")
        if not np.all(np.isfinite(values)):
            raise ValueError("reports must be finite numbers, got others among them")
        n, worst = len(values), math.sqrt(largest_variance / len(values))
        spread = values.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(shape, worst)[()]
        return cls(n, values.mean(axis=0), spread, worst)

    def __str__(self) -> str:
        return f"mean {self.mean}; standard error at most {self.worst_standard_error:.3g} from {self.n} reports"


def _on_simplex(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest point whose coordinates are >= 0 and add up to 1 (Held, Wolfe, Crowder 1974)."""
    descending = -np.sort(-shares)
    surplus = (np.cumsum(descending) - 1) / np.arange(1, shares.size + 1)
    kept = int(np.flatnonzero(descending > surplus)[-1])
    return np.maximum(shares - surplus[kept], 0.0)


def report_rows(reports: ArrayLike, highest: Sequence[int]) -> NDArray[np.int64]:
    """Reports as rows of whole numbers from 0 to each column's highest, shape (n, columns); ValueError otherwise."""
    shape = f"(n, {len(highest)})"
    given = numbers_of("reports", reports, f"whole numbers of shape {shape}")
    if given.size == 0:
        return np.zeros((0, len(highest)), np.int64)
    if given.ndim == 0 or given.shape[-1] != len(highest):
        raise ValueError(f"reports must have shape {shape}, got {given.shape}")
    rows = given.reshape(-1, len(highest))
    bad = ~((rows >= 0) & (rows <= np.asarray(highest)) & (rows == np.floor(rows)))
    if np.any(bad):
        row, column = (int(where[0]) for where in np.nonzero(bad))
        raise ValueError(f"reports must be whole numbers in 0..{highest[column]}, got {rows[row, column].item()!r}")
    return rows.astype(np.int64)
