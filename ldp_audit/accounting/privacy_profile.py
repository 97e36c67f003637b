"""The privacy profile: the least delta at each epsilon, with its bounds, as arrays, as a table and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.converted import plain
from ldp_audit.accounting.privacy_loss import PrivacyLoss, neighbours
from ldp_audit.losses.hulls import HullLoss
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.numerics import exp_upwards

LEVELS = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""The default epsilons of a table, nats; those above the supremum are left out."""


class ProfileRow(NamedTuple):
    """A line of the table: delta lies in [lower, upper], and likewise its natural logarithm."""

    epsilon: float
    lower: float
    upper: float
    log_lower: float
    log_upper: float


@dataclass(frozen=True)
class PrivacyProfile:
    """delta as a function of epsilon. It does not increase, and is convex in e**epsilon.

    loss: whose profile it is.
    """

    loss: PrivacyLoss

    @classmethod
    def from_points(cls, points: Iterable[tuple[float, float]], assumptions: tuple[str, ...] = ()) -> PrivacyProfile:
        """The profile of the worst mechanism that satisfies each of these (epsilon, delta), in both orders.

        The lower bounds are 0. Raises ValueError for no point, or bad ones.
        """
        try:
            listed = [(epsilon, delta) for epsilon, delta in points]
        except (TypeError, ValueError) as error:
            raise ValueError(f"points must be pairs (epsilon, delta) of numbers, got {points!r}") from error
        loss = HullLoss.of_points(listed)
        words = ", ".join(f"({float(epsilon):g}, {float(delta):g})" for epsilon, delta in listed)
        return cls(PrivacyLoss((loss,), (*assumptions, f"it satisfies {words}")))

    @property
    def exact(self) -> bool:
        """Whether the bounds are the same."""
        return self.loss.exact

    def __call__(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The upper bounds, never too small; shape of `epsilon`, nats, >= 0. Raises ValueError for other epsilons."""
        return self.bounds(epsilon)[1]

    def bounds(self, epsilon: ArrayLike) -> tuple[NDArray[np.float64] | np.float64, NDArray[np.float64] | np.float64]:
        """Lower and upper bounds, each of the shape of `epsilon`."""
        rows, shape = self._at(epsilon)
        return np.array([r.lower for r in rows]).reshape(shape)[()], np.array([r.upper for r in rows]).reshape(shape)[
            ()
        ]

    def log_bounds(
        self, epsilon: ArrayLike
    ) -> tuple[NDArray[np.float64] | np.float64, NDArray[np.float64] | np.float64]:
        """Natural logarithms of the bounds, also where deltas themselves would underflow."""
        rows, shape = self._at(epsilon)
        lows, highs = (np.array([getattr(r, name) for r in rows]) for name in ("log_lower", "log_upper"))
        return lows.reshape(shape)[()], highs.reshape(shape)[()]

    def rows(self, epsilon: ArrayLike | None = None) -> list[ProfileRow]:
        """The table at these epsilons, or at the default ones up to the supremum."""
        return self._at(self._usual() if epsilon is None else epsilon)[0]

    def describe(self) -> str:
        """The table for people."""
        lines = [f"neighbours: {neighbours(self.loss.adjacency)}"]
        lines.append("epsilon      delta" if self.exact else "epsilon      delta at least   at most")
        for row in self.rows():
            low, high = _shown(row.lower, row.log_lower), _shown(row.upper, row.log_upper)
            lines.append(f"{row.epsilon:<12.6g} {high if self.exact else f'{low}  {high}'}".rstrip())
        return "\n".join(lines)

    def to_dict(self, epsilon: ArrayLike | None = None) -> dict[str, Any]:
        """For JSON; infinities are written as text."""
        return {
            "adjacency": neighbours(self.loss.adjacency),
            "exact": self.exact,
            "largest": plain(self.loss.supremum()),
            "assumptions": list(self.loss.assumptions),
            "profile": [{name: plain(value) for name, value in row._asdict().items()} for row in self.rows(epsilon)],
        }

    def _at(self, epsilon: ArrayLike) -> tuple[list[ProfileRow], tuple[int, ...]]:
        asked = levels(epsilon)
        return [self._row(float(one)) for one in asked.flat], asked.shape

    def _row(self, epsilon: float) -> ProfileRow:
        low, high = self.loss.log_delta_bounds(epsilon)
        return ProfileRow(epsilon, math.exp(low), exp_upwards(high), low, high)

    def _usual(self) -> list[float]:
        """The default epsilons below the supremum, and the supremum itself if it is finite."""
        largest = self.loss.supremum()
        return [*(one for one in LEVELS if one < largest), *([largest] if math.isfinite(largest) else [])]


def _shown(value: float, log: float) -> str:
    text = f"{value:.6g}" if value > 1e-300 or log == -math.inf else f"e^{log:.6g}"
    return f"{text:<14}"
