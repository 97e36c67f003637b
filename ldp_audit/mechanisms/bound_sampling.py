"""Finite-precision sampling of a user's symbolic channel: finitely many inputs and outputs, probabilities in words.

The input is rounded at random to one of its two neighbours on a fixed grid, with its mean kept; then a finite channel
reports it (`finite_channel.py`). A mixture of rows has no larger ratio than the rows, so epsilon is the finite
channel's, at most the ideal one. Where probabilities are affine in the inputs, the grid is the two endpoints and the
mixture is the distribution itself. A density is cut into cells of equal length, each reported as its midpoint, so that
outputs do not depend on the input.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.finite_channel import FiniteChannel
from ldp_audit.mechanisms.inputs import as_reports, in_interval, whole_numbers
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.randomness import BITS, source_of
from ldp_audit.mechanisms.variable import Variable


@dataclass(frozen=True, eq=False)
class GridChannel(Mechanism):
    """The finite-precision distribution that `BoundChannel.sample` draws from.

    name: of the ideal channel.   variables: its inputs.   grids: the grid of each input, ascending.
    rows: the distribution of the report at each point of the product grid, in counts of words.
    vectors: the reports, shape (columns, d), where they are vectors; rows then tell a report's number.
    """

    name: str
    variables: tuple[Variable, ...]
    grids: tuple[NDArray[np.float64], ...]
    rows: FiniteChannel
    vectors: NDArray[np.float64] | None = None

    def implemented(self, bits: int = 64) -> GridChannel:
        """The channel itself. ValueError unless bits are 2..64."""
        BITS.check(bits)
        return self

    def pair_loss(self) -> PairLoss:
        """See base: that of the table."""
        return self.rows.pair_loss()

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats; at most the ideal channel's."""
        return self.rows.exact_epsilon()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The implemented profile; shape of `epsilon`, nats, >= 0."""
        return self.rows.delta(epsilon)

    def worst_pair(self) -> tuple[Any, Any]:
        """Inputs that attain exact_epsilon(): numbers, or tuples of numbers for several inputs."""
        points = list(itertools.product(*(grid.tolist() for grid in self.grids)))
        first, second = (points[row] for row in self.rows.worst_pair())
        return (first[0], second[0]) if len(self.grids) == 1 else (first, second)

    def outputs(self) -> tuple[Any, ...]:
        """All reports: numbers, or tuples of numbers."""
        return tuple(self.rows.outputs or ()) if self.vectors is None else tuple(map(tuple, self.vectors.tolist()))

    def reports(self) -> tuple[Any, ...]:
        """See `outputs`."""
        return self.outputs()

    def mean(self, *x: ArrayLike) -> NDArray[np.float64]:
        """E[report | x]; one array for each input, broadcast against each other. ValueError for vectors."""
        if self.vectors is not None:
            return super().mean(x)
        return self._mixed(x, np.asarray(self.rows.mean(np.arange(len(self.rows.matrix)))))

    def variance(self, *x: ArrayLike) -> NDArray[np.float64]:
        """Var[report | x]; one array for each input, broadcast against each other. ValueError for vectors."""
        if self.vectors is not None:
            return super().mean(x)
        every = np.arange(len(self.rows.matrix))
        squares = np.asarray(self.rows.variance(every) + self.rows.mean(every) ** 2)
        return self._mixed(x, squares) - self.mean(*x) ** 2

    def log_prob(self, y: Any, *x: ArrayLike) -> NDArray[np.float64]:
        """Log probability of the one report y at the inputs; -inf where y is no output."""
        if self.vectors is not None:
            same = np.all(self.vectors == np.asarray(y, np.float64), axis=-1)
            y = int(same.argmax()) if same.any() else -1
        every = np.arange(len(self.rows.matrix))
        with np.errstate(divide="ignore"):
            return np.log(self._mixed(x, np.exp(self.rows.log_prob(y, every))))

    def sample(self, *x: Any, rng: Any) -> Any:
        """One report for each input; shape, floating dtype and device of the first input. ValueError out of range."""
        if not self._inputs(x):
            raise ValueError(f"{self.name!r} has no inputs, and a report is drawn for each input")
        source = source_of(rng)
        xp, arrays = source.xp, [source.array(v.name, one) for v, one in zip(self._inputs(x), x, strict=True)]
        row = source.constant(np.zeros(tuple(arrays[0].shape)), xp.int64)
        for variable, grid, values in zip(self._inputs(x), self.grids, arrays, strict=True):
            inside = _inside(variable, values, grid, xp)
            below, share = _place(grid, xp.astype(inside, xp.float64), xp)
            coin = xp.astype(source.words(inside.shape, 53), xp.float64) / 2.0**53 + 0.5
            row = row * len(grid) + below + xp.astype(coin < share, xp.int64)
        drawn = self.rows.sample(row, rng=rng)
        drawn = drawn if self.vectors is None else source.constant(self.vectors, xp.float64)[drawn]
        return as_reports(drawn, arrays[0], xp)

    def _inputs(self, x: Sequence[Any]) -> Sequence[Any]:
        if len(x) != len(self.variables):
            raise ValueError(f"inputs must be {len(self.variables)} arrays, got {len(x)}")
        return self.variables

    def _mixed(self, x: Sequence[ArrayLike], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows' values, averaged over the random rounding of the input."""
        table = values.reshape([len(grid) for grid in self.grids])
        places = []
        for variable, grid, one in zip(self._inputs(x), self.grids, x, strict=True):
            inside = _inside(variable, np.asarray(one), grid, np)
            places.append(_place(grid, inside.astype(np.float64), np))
        total = np.zeros(np.broadcast_shapes(*(np.shape(one) for one in x)))
        for corner in itertools.product((0, 1), repeat=len(places)):
            weight, index = np.ones(()), []
            for up, (below, share), grid in zip(corner, places, self.grids, strict=True):
                weight = weight * (share if up else 1 - share)
                index.append(np.minimum(below + up, len(grid) - 1))
            total = total + weight * table[tuple(index)]
        return total[()]


def _inside(variable: Variable, values: Any, grid: NDArray[np.float64], xp: Any) -> Any:
    """The inputs, checked to lie in their range and to be whole where the variable is."""
    low, high = float(grid[0]), float(grid[-1])
    if variable.integer_valued:
        return whole_numbers(variable.name, values, int(low), int(high), xp)
    return in_interval(variable.name, values, low, high, xp)


def _place(grid: NDArray[np.float64], x: Any, xp: Any) -> tuple[Any, Any]:
    """The grid point below each input (never the last), and the fraction of the step beyond it."""
    if len(grid) == 1:
        return xp.astype(xp.zeros_like(x), xp.int64), xp.zeros_like(x)
    step = float(grid[-1] - grid[0]) / (len(grid) - 1)
    position = (x - float(grid[0])) / step
    below = xp.clip(xp.floor(position), 0, len(grid) - 2)
    return xp.astype(below, xp.int64), position - below
