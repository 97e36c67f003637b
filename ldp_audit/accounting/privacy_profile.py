"""The privacy profile: the least delta at each epsilon, with its ends, as arrays, as a table and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.converted import plain
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.hulls import HullLoss

LEVELS = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Where a table is made if no levels are given, nats; those above the largest loss are left out."""


class ProfileRow(NamedTuple):
    """A line of the table: delta lies in [lower, upper], and so its natural logarithm."""

    epsilon: float
    lower: float
    upper: float
    log_lower: float
    log_upper: float


@dataclass(frozen=True)
class PrivacyProfile:
    """delta as a function of epsilon. It does not increase, and is convex in e**epsilon.

    loss: what it is read from.
    """

    loss: PrivacyLoss

    @classmethod
    def from_points(cls, points: Iterable[tuple[float, float]], assumptions: tuple[str, ...] = ()) -> PrivacyProfile:
        """The most that a mechanism may have which satisfies each of these (epsilon, delta), in both orders.

        The lower ends are 0: nothing is known from below. Raises ValueError for no point, or bad ones.
        """
        try:
            listed = [(float(epsilon), float(delta)) for epsilon, delta in points]
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"points must be pairs (epsilon, delta) of numbers, got {points!r}") from error
        words = ", ".join(f"({epsilon:g}, {delta:g})" for epsilon, delta in listed)
        return cls(PrivacyLoss((HullLoss.of_points(listed),), (*assumptions, f"it satisfies {words}")))

    @property
    def exact(self) -> bool:
        """Whether the ends are the same."""
        return self.loss.exact

    def __call__(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The upper ends, never too small; shape of `epsilon`, nats, >= 0. Raises ValueError for other levels."""
        return self.bounds(epsilon)[1]

    def bounds(self, epsilon: ArrayLike) -> tuple[NDArray[np.float64] | np.float64, NDArray[np.float64] | np.float64]:
        """Lower and upper ends, each of the shape of `epsilon`."""
        rows, shape = self._at(epsilon)
        return np.array([r.lower for r in rows]).reshape(shape)[()], np.array([r.upper for r in rows]).reshape(shape)[
            ()
        ]

    def log_bounds(
        self, epsilon: ArrayLike
    ) -> tuple[NDArray[np.float64] | np.float64, NDArray[np.float64] | np.float64]:
        """Natural logarithms of the ends, which reach where deltas themselves would be rounded to 0."""
        rows, shape = self._at(epsilon)
        lows, highs = (np.array([getattr(r, name) for r in rows]) for name in ("log_lower", "log_upper"))
        return lows.reshape(shape)[()], highs.reshape(shape)[()]

    def rows(self, epsilon: ArrayLike | None = None) -> list[ProfileRow]:
        """The table at these levels, or at usual ones up to the largest loss."""
        return self._at(self._usual() if epsilon is None else epsilon)[0]

    def describe(self) -> str:
        """The table for people."""
        lines = ["epsilon      delta" if self.exact else "epsilon      delta at least   at most"]
        for row in self.rows():
            low, high = _shown(row.lower, row.log_lower), _shown(row.upper, row.log_upper)
            lines.append(f"{row.epsilon:<12.6g} {high if self.exact else f'{low}  {high}'}".rstrip())
        return "\n".join(lines)

    def to_dict(self, epsilon: ArrayLike | None = None) -> dict[str, Any]:
        """For JSON; infinities are written as text."""
        return {
            "exact": self.exact,
            "largest": plain(self.loss.supremum()),
            "assumptions": list(self.loss.assumptions),
            "profile": [{name: plain(value) for name, value in row._asdict().items()} for row in self.rows(epsilon)],
        }

    def _at(self, epsilon: ArrayLike) -> tuple[list[ProfileRow], tuple[int, ...]]:
        asked = np.asarray(epsilon, dtype=np.float64)
        return [self._row(float(one)) for one in asked.flat], asked.shape

    def _row(self, epsilon: float) -> ProfileRow:
        low, high = self.loss.log_delta_bounds(epsilon)
        upper = math.exp(high) or (0.0 if high == -math.inf else math.ulp(0.0))
        return ProfileRow(epsilon, math.exp(low), upper, low, high)

    def _usual(self) -> list[float]:
        """The usual levels below the largest loss, and the largest itself if there is one."""
        largest = self.loss.supremum()
        return [*(one for one in LEVELS if one < largest), *([largest] if math.isfinite(largest) else [])]


def _shown(value: float, log: float) -> str:
    text = f"{value:.6g}" if value > 1e-300 or log == -math.inf else f"e^{log:.6g}"
    return f"{text:<14}"
