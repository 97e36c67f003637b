"""The distribution of private numbers from the counts of their reports: expectation maximisation, with smoothing.

Of n reports, n_j lie in cell j; a number of bin i is reported in cell j with probability M_ji. The log-likelihood of
frequencies f, sum_j n_j ln (M f)_j, is concave. A step of EM replaces f_i by f_i g_i(f) / n with the gradient g(f) = M'
(n / (M f)), never decreases it, and converges to its maximum. As the gradient's average over f is n, concavity bounds
what is missing: no frequencies have a log-likelihood above that of f plus max_i g_i(f) - n.

At the maximum few bins have most of the mass, where bins are many and reports noisy. EMS averages neighbouring bins
with weights 1, 2, 1 after each step; it maximises no likelihood, but its fixed point has less variance, and a bias
against narrow peaks.

Source: Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric (SIGMOD 2020, arXiv 1912.01051); the smoothing is that of Silverman,
Jones, Wilson, Nychka (JRSS B 52, 1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.numerics import as_float, shown, whole


@dataclass(frozen=True, eq=False)
class DistributionEstimate:
    """Estimated frequencies of equal bins of [0, 1].

    frequencies: >= 0, of sum 1; shape (bins,).   log_likelihood: of the counts of reports, without the term that
    depends on counts alone, nats.   gap: no frequencies have a log-likelihood that is greater by more than this, nats;
    with smoothing it stays well above 0.   iterations: of EM.   converged: whether the last of them changed the
    log-likelihood by less than the tolerance.
    """

    frequencies: NDArray[np.float64]
    log_likelihood: float
    gap: float
    iterations: int
    converged: bool

    @property
    def mean(self) -> float:
        """Of the estimated distribution, with each bin at its middle."""
        bins = self.frequencies.size
        return float(self.frequencies @ (np.arange(bins) + 0.5)) / bins


def transitions(
    bins: NDArray[np.float64], cells: NDArray[np.float64], half_width: float, high: float, low: float
) -> NDArray[np.float64]:
    """P(report in cell j | input uniform in bin i), exactly, where the density is high within half_width of the input.

    bins, cells: their ascending ends; returns: shape (len(cells) - 1, len(bins) - 1). The windows of all inputs must
    lie within the cells. The density's integral is low times the cell's length, plus (high - low) times the average
    over x of the length of the cell's intersection with [x - b, x + b]; a cell from c to c' has clip(c' - x, -b, b) -
    clip(c - x, -b, b) of it, with antiderivative G(c - x) - G(c' - x) in x, G(u) = u**2/2 for |u| <= b and b |u| -
    b**2/2 beyond.
    """
    distance = np.abs(cells[:, None] - bins[None, :])
    primitive = np.where(distance <= half_width, distance**2 / 2, half_width * distance - half_width**2 / 2)
    shared = np.maximum(np.diff(np.diff(-primitive, axis=1), axis=0), 0.0) / np.diff(bins)
    return low * np.diff(cells)[:, None] + (high - low) * shared


def most_likely(
    matrix: NDArray[np.float64],
    counts: NDArray[np.int64],
    *,
    smoothing: bool,
    tolerance: float,
    iterations: int,
) -> DistributionEstimate:
    """Frequencies by EM from uniform ones, or by EM with smoothing.

    matrix: P(cell | bin), > 0, shape (cells, bins).   counts: of reports, >= 0, not all 0; shape (cells,).
    smoothing: replace f_i after each step by (f_(i-1) + 2 f_i + f_(i+1))/4, with f_0 for f_(-1) and likewise at the
        other end, which keeps the sum and leaves a uniform distribution unchanged. Others weigh 2 and 1 there, and
        rescale.
    tolerance: stop when an iteration changes the log-likelihood by less than this, nats, > 0.
    iterations: the most of them, >= 1. Raises ValueError for anything else.
    """
    least, most, number = as_float(tolerance), whole(iterations, "iterations", 1), float(counts.sum())
    if not least > 0:
        raise ValueError(f"tolerance must be a number > 0, got {shown(tolerance)}")
    bins = matrix.shape[1]
    frequencies = np.full(bins, 1 / bins)
    predicted = matrix @ frequencies
    reached, made, converged = float(counts @ np.log(predicted)), 0, False
    while made < most and not converged:
        step = frequencies * (matrix.T @ (counts / predicted)) / number
        step = _smoothed(step) if smoothing else step
        frequencies = step / step.sum()
        predicted = matrix @ frequencies
        before, reached, made = reached, float(counts @ np.log(predicted)), made + 1
        converged = abs(reached - before) < least
    gap = max(0.0, float(np.max(matrix.T @ (counts / predicted))) - number)
    return DistributionEstimate(frequencies, reached, gap, made, converged)


def _smoothed(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    padded = np.concatenate([frequencies[:1], frequencies, frequencies[-1:]])
    return (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
