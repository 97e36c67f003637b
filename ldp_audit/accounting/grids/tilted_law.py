r"""The law of a sum of losses on a grid, tilted: what the FFT adds up.

The tilt theta >= 0 multiplies the mass at a loss l by e**(theta l) and divides by their sum, so that what counts at a
level far in the tail has the floats' full precision.

A law on a grid stands for another one, whose losses have been moved to the ends of their cells, each so that the mean
of e**-loss stays (see `gridding`). What that and rounding can have changed is carried along in numbers that add up when
laws are added: see `TiltedLaw`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

_LARGEST_POWER = 300.0


@dataclass(frozen=True)
class Moves:
    """The steps by which losses were moved: e**-step has the mean 1, given all before, and lies in an interval.

    reach, squares: the sums of the intervals' lengths h and of their squares, nats.
    log_variance: the sum of ln(1 + 4 sinh(h/4)**2): the product of all e**-step has at most the variance e**that - 1.
    """

    reach: float = 0.0
    squares: float = 0.0
    log_variance: float = 0.0

    def more(self, other: Moves, times: int = 1) -> Moves:
        """With these as well, so many times."""
        return Moves(
            self.reach + times * other.reach,
            self.squares + times * other.squares,
            self.log_variance + times * other.log_variance,
        )


def one_move(spacing: float) -> Moves:
    """One step between two points of a grid."""
    half = spacing / 2
    return Moves(spacing, spacing * spacing, math.log1p(4 * math.sinh(half / 2) ** 2) if half < 600 else half)


@dataclass(frozen=True, eq=False)
class TiltedLaw:
    """Tilted masses at the losses offset + spacing * index.

    indices, masses: ascending whole numbers, and masses that add up to 1 up to rounding, shape (m,).
    log_sum: ln of the sum of the masses times e**(theta loss), right to `log_sum_error`.
    mass_error, norm_error: how wrong each mass may be, and the root of the sum of all errors' squares.
    misplaced: how much tilted mass may be at wrong places or missing.
    below: how much tilted mass comes from below the grid.
    log_infinite, log_cut: ln P(loss = inf), and the same with what was cut above the grid.
    moves: how losses were moved.   shift: by how many nats rounding may have moved the loss.
    """

    spacing: float
    theta: float
    offset: float
    indices: NDArray[np.int64]
    masses: NDArray[np.float64]
    log_sum: float
    log_sum_error: float
    mass_error: float = 0.0
    norm_error: float = 0.0
    misplaced: float = 0.0
    below: float = 0.0
    log_infinite: float = -math.inf
    log_cut: float = -math.inf
    moves: Moves = Moves()
    shift: float = 0.0

    def with_infinite(self, log_infinite: float, log_cut: float, below: float) -> TiltedLaw:
        """The same law, with infinite losses and with what was below the grid."""
        return replace(self, log_infinite=log_infinite, log_cut=log_cut, below=below)

    def log_mean_power(self, slope: float, origin: float) -> float:
        """ln of an upper bound on the tilted mean of e**(slope (index - origin))."""
        # plain sums instead of products of vectors, whose threads are slow to start
        powers = slope * (self.indices - origin)
        top = float(powers.max())
        if top < _LARGEST_POWER:
            raised = np.exp(powers)
            return math.log(float((raised * self.masses).sum()) + self.norm_error * math.sqrt(float((raised**2).sum())))
        with np.errstate(divide="ignore"):
            logs = np.log(self.masses + self.norm_error) + powers
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    def binned(self, factor: int) -> TiltedLaw:
        """The masses of so many consecutive indices together, at the first of them; errors likewise."""
        starts = np.flatnonzero(np.diff(self.indices // factor, prepend=self.indices[0] // factor - 1))
        masses = np.add.reduceat(self.masses, starts)
        places = (self.indices[starts] // factor) * factor
        return replace(self, indices=places, masses=masses, norm_error=math.sqrt(factor) * self.norm_error)

    def moments(self) -> tuple[float, float]:
        """Mean and variance of the tilted index."""
        mean = float((self.masses * self.indices).sum())
        return mean, float((self.masses * (self.indices - mean) ** 2).sum())

    def norm(self) -> float:
        """The root of the sum of the masses' squares."""
        return math.sqrt(float((self.masses**2).sum()))

    def farthest(self) -> float:
        """The largest absolute index."""
        return float(max(abs(self.indices[0]), abs(self.indices[-1])))
