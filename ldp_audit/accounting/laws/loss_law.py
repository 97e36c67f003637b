"""What a privacy-loss law must answer: the two roles that every law of this room plays.

For an ordered pair (P, Q) of output laws the privacy loss is L = ln (dP/dQ)(Y) with Y drawn from P; it is infinite
where Q has nothing. Its hockey-stick divergence is

    delta(epsilon) = E[(1 - e**(epsilon - L))_+].

A pair dominates a mechanism if its delta is at least that of every pair of neighbours, in this direction, at every
epsilon; domination is kept by composition (Zhu, Dong, Wang, AISTATS 2022, Theorem 10).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class LossLaw(Protocol):
    """The privacy loss of one ordered pair that dominates.

    exact: the two ends of `log_delta_bounds` are one number, right to 1e-12 of itself for losses rounded as floats are:
    it is that of an epsilon within a few units in the last place of the largest loss.
    """

    @property
    def exact(self) -> bool:
        """Whether the two ends below are the same."""
        ...

    def largest(self) -> float:
        """The supremum of the loss, nats: infinite where P has mass that Q lacks, or where no ratio is the last."""
        ...

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Natural logarithms of a lower and an upper end of delta(epsilon); -inf for a true 0 alone.

        epsilon: nats, any real number or an infinity.
        """
        ...

    def mirrored(self) -> LossLaw:
        """The law of the pair (Q, P)."""
        ...


class CellMasses(NamedTuple):
    """Masses of cells of the loss, as logarithms.

    first, second: ln P(cell) and ln Q(cell) for (-inf, e_0], (e_0, e_1], ..., (e_last, inf), shape (m + 1,).
    infinite: ln P(loss = inf), which no cell contains.   missing: ln of the mass that Q has where P has none, likewise.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    infinite: float
    missing: float


class DiscretisableLaw(LossLaw, Protocol):
    """A law that also knows the masses of cells, so that it can be put on a grid."""

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """The masses between the edges, right to about 1e-15 of themselves.

        edges: nats, ascending, finite, shape (m,), m >= 1.
        """
        ...
