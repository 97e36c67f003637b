"""The square wave mechanism (SW): a density that is high near the input, made for estimates of distributions.

Definition, with t = e**epsilon and a half-width b > 0: an input x in [0, 1] is reported as a number in [-b, 1 + b], of
density p = t q within b of x and q = 1/(2 b t + 1) elsewhere. The mutual information of a uniform input and its report
has an upper bound that is greatest for b = (epsilon t - t + 1)/(2 t (t - 1 - epsilon)), which falls from 1/2 at epsilon
0 to 0. The mean of a report is no unbiased estimate of x, but linear in it.

Source: Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric, "Estimating Numerical Distributions under Local Differential Privacy"
(SIGMOD 2020, arXiv 1912.01051); so is the estimate of a distribution from reports (`values/square_wave_estimate.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Rational

from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.inputs import array_of, clip, in_interval, numbers_of, report_dtype, single
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses, Mechanism
from ldp_audit.mechanisms.randomness import BITS
from ldp_audit.mechanisms.values.square_wave_estimate import DistributionEstimate, most_likely, transitions
from ldp_audit.mechanisms.values.window_grid import WindowGrid, shared_out
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.numerics import whole

INPUT = Variable("x", 0, 1)
HALF_WIDTH = Variable("b", 0, Rational(1, 2), open="both")

_low = 1 / (2 * HALF_WIDTH * T + 1)

SQUARE_WAVE = SymbolicChannel(
    "square wave mechanism",
    inputs=INPUT,
    public=HALF_WIDTH,
    pieces=[
        (-HALF_WIDTH, INPUT - HALF_WIDTH, _low),
        (INPUT - HALF_WIDTH, INPUT + HALF_WIDTH, T * _low),
        (INPUT + HALF_WIDTH, 1 + HALF_WIDTH, _low),
    ],
)
"""It has epsilon for every b; `SquareWave.half_width` is the optimal one."""


@dataclass(frozen=True)
class SquareWave(Mechanism):
    """Inputs in [0, 1], reports in [-b, 1 + b]; a sample has the shape and floating dtype of the inputs.

    Samples lie on a fixed grid (`SquareWaveGrid`), with SW's variance to a few parts in 10,000.

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)
    example = FamilyExample(
        "SquareWave(epsilon=1)",
        "x: the input; b: the half-width of the window, (epsilon t - t + 1)/(2 t (t - 1 - epsilon)); t = e^epsilon",
        worst=((1, {}), (0, {})),
    )

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x, b and t = e**epsilon."""
        return SQUARE_WAVE

    def half_width(self) -> float:
        """b, from 1/2 at epsilon 0 down to 0."""
        return math.exp(-self.epsilon) * _scaled_half_width(self.epsilon)

    def losses(self) -> Losses:
        """epsilon, with probability 2 b t/(2 b t + 1): as b < 1/2, the windows of the two endpoints are disjoint."""
        return Losses([self.epsilon], [-math.log1p(1 / (2 * _scaled_half_width(self.epsilon)))])

    def blanket(self) -> Blanket:
        """See base; all windows have the length 2 b, of 1 + 2 b, and those of the ends are disjoint.

        That of 1/2 meets each of them by 2 b - 1/2, if at all.
        """
        window = 2 * self.half_width()
        shared = max(0.0, window - 0.5)
        third = (0.0, shared, shared, window - 2 * shared)
        return Blanket.of_two_levels(self.epsilon, 0.0, window, 1 - window, third=third)

    def worst_pair(self) -> tuple[float, float]:
        """The two endpoints; their windows are disjoint, so they also attain delta()."""
        return 1.0, 0.0

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs clipped to [0, 1]. Shape and dtype of x."""
        return clip(x, 0.0, 1.0)

    def breakpoints(self, x: Any) -> list[float]:
        """The endpoints of the window and of the output range."""
        value, half = float(_inputs(single(x, self))), self.half_width()
        return [-half, value - half, value + half, 1 + half]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts; -inf outside [-b, 1 + b], by more than a rounding near 1 in y's dtype."""
        given, values, half = numbers_of("y", y), _inputs(x), self.half_width()
        dtype = np.dtype(report_dtype(given))
        off = np.finfo(dtype).eps if dtype.itemsize < 8 else 0.0  # of a sample, which is 1/2 and a distance
        ends = np.asarray([-half - off, 1 + half + off], dtype=dtype)  # as the dtype rounds them
        support, reports = (given >= ends[0]) & (given <= ends[1]), given.astype(np.float64)
        low = -math.log1p(2 * _scaled_half_width(self.epsilon))
        near = (reports >= values - half) & (reports <= values + half)
        return np.where(support, np.where(near, low + self.epsilon, low), -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """1/2 + 2 b (p - q) (x - 1/2). Shape of x."""
        return (0.5 + (1 - self._shrinkage()) * (_inputs(x) - 0.5))[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """q (1 + 2 b)**3/12 + a b**2/3 + a (1 - a) (x - 1/2)**2, a = 2 b (p - q) the slope of the mean. Shape of x."""
        half, shrinkage = self.half_width(), self._shrinkage()
        constant = shrinkage * (1 + 2 * half) ** 2 / 12 + (1 - shrinkage) * half * half / 3
        return (constant + shrinkage * (1 - shrinkage) * (_inputs(x) - 0.5) ** 2)[()]

    def implemented(self, bits: int = 64) -> SquareWaveGrid:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return SquareWaveGrid.of(self.epsilon, bits)

    def estimate(
        self,
        reports: ArrayLike,
        *,
        bins: int = 256,
        smoothing: bool = True,
        tolerance: float | None = None,
        iterations: int = 10_000,
    ) -> DistributionEstimate:
        """The distribution of the inputs over `bins` equal bins of [0, 1], from one report of each.

        Counts the reports in as many cells of [-b, 1 + b], of equal length up to one step of the sampler's grid, and
        maximises their likelihood with inputs uniform within a bin, by `most_likely`. Their law is that of `sample`'s
        grid, which has a slightly different b and, beyond an epsilon of 32, that of 32.

        reports: numbers in [-b, 1 + b], of float32 at least: float16 rounds by more than a step.   bins: 2 .. 4096.
        smoothing, tolerance, iterations: see `most_likely`; the paper's tolerance by default, .001, and .001 t without
        smoothing, but at most 1 nat, as more ends far from the maximum. Raises ValueError for other arguments, and for
        no reports.
        """
        given, bins = numbers_of("reports", reports).ravel(), whole(bins, "bins", 2, 4096)
        if not isinstance(smoothing, bool):
            raise ValueError(f"smoothing must be True or False, got {smoothing!r}")
        support = np.isfinite(self.log_prob(given, 0.0))
        if not given.size or not np.all(support):
            low, high = -self.half_width(), 1 + self.half_width()
            found = f"got {given[~support][0]!r}" if given.size else "got none"
            raise ValueError(f"reports must be numbers in [{low!r}, {high!r}], at least one, {found}")
        grid = self.implemented()
        edges = grid.edges(bins)
        counts = np.histogram(np.clip(given.astype(np.float64), edges[0], edges[-1]), edges)[0]
        matrix = transitions(np.linspace(0, 1, bins + 1), edges, grid.half_width(), *grid.densities())
        if tolerance is None:
            tolerance = 1e-3 if smoothing else 1e-3 * math.exp(min(self.epsilon, math.log(1e3)))
        return most_likely(matrix, counts, smoothing=smoothing, tolerance=tolerance, iterations=iterations)

    def _shrinkage(self) -> float:
        """1 minus the slope of the mean, q (1 + 2 b)."""
        return (1 + 2 * self.half_width()) / (1 + 2 * _scaled_half_width(self.epsilon))


def _inputs(x: ArrayLike) -> NDArray[np.float64]:
    return in_interval("x", array_of("x", x), 0, 1).astype(np.float64)


def _scaled_half_width(epsilon: float) -> float:
    """b t = t g(-epsilon)/(2 g(epsilon)), g(z) = e**z - 1 - z; without cancellation, and without overflow."""
    if epsilon < 1:  # by the series of 2 g(z)/z**2
        above, below = (
            math.fsum(2 * z**power / math.factorial(power + 2) for power in range(20)) for z in (-epsilon, epsilon)
        )
        return math.exp(epsilon) * above / (2 * below)
    decay = math.exp(-epsilon)
    return (epsilon - 1 + decay) / (2 * (1 - (1 + epsilon) * decay))


@dataclass(frozen=True)
class SquareWaveGrid(WindowGrid):
    """The finite-precision SW: see `WindowGrid`. The cells outside the window have length 1 in all, as in SW.

    So inner / (4 half) is its half-width, which is b up to the rounding of a number of cells.
    """

    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @classmethod
    def of(cls, epsilon: float, bits: int = 64) -> SquareWaveGrid:
        """The grid for an epsilon (nats, > 0) and `bits`-bit words. ValueError unless 2..64.

        The same for all epsilon above bits / 2, as a finer one would have more cells than floats tell apart.
        """
        kept = min(epsilon, BITS.check(bits) / 2)
        return cls(*shared_out(kept, math.exp(kept) / (2 * _scaled_half_width(kept)), bits), bits)

    def spacing(self) -> Fraction:
        """1 / outer; 0 for one cell."""
        return Fraction(1, 2 * self.half) if self.half else Fraction(0)

    def half_width(self) -> float:
        """Half the length of the window; 1/2 for one cell."""
        return self.inner / (4 * self.half) if self.half else 0.5

    def densities(self) -> tuple[float, float]:
        """The densities of a report, uniform within its cell, in the window and outside; 1/2 for one cell."""
        inside, outside = self.probabilities()
        scale = 2 * self.half
        return (float(inside * scale), float(outside * scale)) if self.half else (0.5, 0.5)

    def edges(self, count: int) -> NDArray[np.float64]:
        """The ends of up to `count` intervals of about one length that share out the cells, none of which they cut."""
        if not self.half:
            return np.linspace(-0.5, 1.5, count + 1)
        after = np.unique(np.rint(np.linspace(0, self.cells(), count + 1)))
        return (after - self.cells() / 2) / (2 * self.half) + 0.5
