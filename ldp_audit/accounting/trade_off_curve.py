"""Trade-off curves with finitely many corners: the two errors of the best tests between two laws, exactly.

A test that decides whether an output came from P or from Q has two errors: alpha, that it says P where it was Q, and
beta, that it says Q where it was P. The least beta for each alpha is a convex, falling curve f, and by Neyman and
Pearson its corners are the tests "P if the loss exceeds c".

Source: Dong, Roth, Su, "Gaussian Differential Privacy" (JRSS B 2022), Definitions 2 and 3; Proposition F.2 of its
arXiv version for the symmetric curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.discrete_loss import LossAtoms


class Errors(NamedTuple):
    """Of one test: false alarms (type I) and misses (type II)."""

    false_alarm: float
    miss: float

    @property
    def advantage(self) -> float:
        """True-positive rate less false-positive rate."""
        return 1 - self.false_alarm - self.miss


@dataclass(frozen=True, eq=False)
class TradeOffCurve:
    """A curve by its corners, between which it is straight.

    alphas: ascending, in [0, 1].   betas: falling, in [0, 1], the last 0; both of shape (m,).
    """

    alphas: NDArray[np.float64]
    betas: NDArray[np.float64]

    @classmethod
    def of_atoms(cls, law: LossAtoms) -> TradeOffCurve:
        """Exact, to rounding: each corner adds the outputs of one more loss to those that are called P."""
        first = np.exp(law.log_probabilities)
        second = np.exp(law.log_probabilities - law.losses)
        alphas = np.concatenate([[0.0], np.cumsum(second[::-1])])
        betas = np.concatenate([np.cumsum(first)[::-1], [0.0]])
        return cls(np.minimum(alphas, 1.0), np.minimum(betas, 1.0))

    def __call__(self, alpha: ArrayLike) -> NDArray[np.float64] | np.float64:
        """f at each false-alarm rate; shape of alpha. Raises ValueError for one that is no rate."""
        rates = rates_of(alpha)
        return np.interp(rates, self.alphas, self.betas)[()]

    def inverse(self) -> TradeOffCurve:
        """The curve of the mirrored pair: the errors change places."""
        return TradeOffCurve(self.betas[::-1], self.alphas[::-1])

    def symmetrised(self) -> TradeOffCurve:
        """The largest convex curve that lies below this one and below its inverse: what holds for both orders."""
        x = np.concatenate([self.alphas, self.betas])
        y = np.concatenate([self.betas, self.alphas])
        return TradeOffCurve(*_lower_hull(x, y))

    def best(self) -> Errors:
        """The test with the largest advantage."""
        place = int(np.argmin(self.alphas + self.betas))
        return Errors(float(self.alphas[place]), float(self.betas[place]))

    def advantage(self) -> float:
        """The largest true-positive rate less false-positive rate: delta(0)."""
        return self.best().advantage


def rates_of(alpha: ArrayLike) -> NDArray[np.float64]:
    """As floats. Raises ValueError unless all are in [0, 1]."""
    try:
        rates = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        rates = np.array(np.nan)
    if not np.all((rates >= 0) & (rates <= 1)):
        raise ValueError(f"alpha must lie in [0, 1], got {alpha!r}")
    return rates


def _lower_hull(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The falling part of the lower convex hull of points in the unit square."""
    kept: list[tuple[float, float]] = []
    for point in sorted(zip(x.tolist(), y.tolist(), strict=True)):
        if kept and point[1] >= kept[-1][1]:
            continue
        if kept and point[0] == kept[-1][0]:
            kept.pop()
        while len(kept) > 1 and _turns_up(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    found = np.array(kept)
    return found[:, 0], found[:, 1]


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether b lies on or above the chord from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) <= (b[1] - a[1]) * (c[0] - a[0])
