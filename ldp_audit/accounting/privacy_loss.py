"""The privacy loss of a mechanism or a protocol: its profile and its epsilon, with certified ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from scipy.optimize import brentq

from ldp_audit.accounting.budget_arguments import level, log_of_delta
from ldp_audit.accounting.laws.bracketed_loss import least_largest
from ldp_audit.accounting.laws.improper_loss import hint_of
from ldp_audit.accounting.laws.loss_law import LossLaw

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ldp_audit.accounting.privacy_profile import PrivacyProfile
    from ldp_audit.accounting.trade_off import TradeOffBounds

_Ends = Callable[[float], tuple[float, float]]
"""The logarithms of both ends of delta at a level."""

_RELATIVE, _ABSOLUTE = 4e-13, 1e-300
"""How far above its equation's root an epsilon is stated."""


@dataclass(frozen=True)
class PrivacyLoss:
    """What an observer can learn between neighbours: the larger of the directions' hockey-stick divergences.

    directions: one dominating pair each way; a single one where the relation is symmetric.
    assumptions: what the numbers rest on, in words.
    Raises ValueError where there is no direction.
    """

    directions: tuple[LossLaw, ...]
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.directions, tuple | list) or not all(
            callable(getattr(law, "log_delta_bounds", None)) for law in self.directions
        ):
            raise ValueError(f"directions must be a tuple of laws, got {self.directions!r}")
        if not self.directions:
            raise ValueError("directions must hold one law or more, got none")

    @property
    def exact(self) -> bool:
        """Whether the lower and the upper ends are the same numbers."""
        return all(law.exact for law in self.directions)

    def largest(self) -> float:
        """The pure epsilon, nats: the supremum of the loss; infinite where there is none."""
        return max(0.0, *(law.largest() for law in self.directions))

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Natural logarithms of the ends of delta(epsilon); they reach where delta itself would be rounded to 0.

        epsilon: nats, >= 0. Raises ValueError for anything else.
        """
        asked = level(epsilon)
        ends = [law.log_delta_bounds(asked) for law in self.directions]
        # of masses that add up to 1, rounded ones may add up to more
        return min(0.0, max(low for low, _ in ends)), min(0.0, max(high for _, high in ends))

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """A lower and an upper end of delta(epsilon). epsilon: nats, >= 0; ValueError for anything else."""
        low, high = self.log_delta_bounds(epsilon)
        return math.exp(low), math.exp(high) or (0.0 if high == -math.inf else math.ulp(0.0))

    def delta(self, epsilon: float) -> float:
        """The upper end of delta(epsilon): never too small, and 0 for a true 0 alone."""
        return self.delta_bounds(epsilon)[1]

    def epsilon_bounds(self, delta: float | None = None, *, log_delta: float | None = None) -> tuple[float, float]:
        """A lower and an upper end of the least epsilon >= 0 whose delta is at most this one, nats.

        delta: in [0, 1]; or log_delta: its natural logarithm, which may lie below that of any float. One of the two.
        returns: infinite ends where no epsilon is large enough. Raises ValueError for anything else.
        """
        target = log_of_delta(delta, log_delta)
        ends = cache(self.log_delta_bounds)  # both searches begin at the same levels
        upper = self._least(ends, target, 1)
        return (upper, upper) if self.exact else (min(self._least(ends, target, 0), upper), upper)

    def epsilon(self, delta: float | None = None, *, log_delta: float | None = None) -> float:
        """The upper end of `epsilon_bounds`: never too small."""
        return self._least(cache(self.log_delta_bounds), log_of_delta(delta, log_delta), 1)

    def profile(self) -> PrivacyProfile:
        """delta as a function of epsilon, with its curves and tables."""
        from ldp_audit.accounting.privacy_profile import PrivacyProfile

        return PrivacyProfile(self)

    def trade_off(self, alpha: ArrayLike) -> TradeOffBounds:
        """The least false-negative rate of any test with this false-positive rate: a lower and an upper end."""
        from ldp_audit.accounting.trade_off import trade_off_bounds

        return trade_off_bounds(self, alpha)

    def _least(self, ends: _Ends, target: float, end: int) -> float:
        """The root of log delta = target for one of the ends: stated above it for the upper, below it for the lower."""

        def excess(epsilon: float) -> float:
            return max(2 * target - 1, ends(epsilon)[end]) - target

        if target == 0:  # no delta is larger
            return 0.0
        largest = self.largest()
        if target == -math.inf:  # nothing above the largest loss is possible, and below it something may be
            return largest if end else max(0.0, *(least_largest(law) for law in self.directions))
        hints = [hint_of(law, target) for law in self.directions]
        known = [hint for hint in hints if 0 < hint < largest]
        # near a hint the bounds need not be known at 0, which for a grid is a sum of its own
        if not known and ends(0.0)[end] <= target:
            return 0.0
        if ends(math.inf)[end] > target:
            return largest
        low, high = _bracket(excess, *((max(known), 1.001) if known else (min(1.0, largest), 16.0)), largest)
        if low == 0 and excess(0.0) <= 0:
            return 0.0
        if high == math.inf:  # no finite level was seen where this end is small enough
            return math.inf if end else low
        if high == low:
            return _met(ends, largest, target) if end else largest
        root = float(brentq(excess, low, high, xtol=1e-300, rtol=1e-13, maxiter=500))  # type: ignore[arg-type]
        return _beyond(ends, root, target, end, largest)


def _beyond(ends: _Ends, root: float, target: float, end: int, largest: float) -> float:
    """A little above the root (upper end) or below it (lower end), and checked there."""
    step, way = max(_ABSOLUTE, _RELATIVE * root), 1 if end else -1
    while True:
        candidate = min(largest, max(0.0, root + way * step))
        met = ends(candidate)[end] <= target
        if met == bool(end) or candidate == 0:
            return candidate
        if candidate == largest:
            return _met(ends, largest, target) if end else largest
        step *= 4


def _met(ends: _Ends, largest: float, target: float) -> float:
    """The largest loss, or where it is rounded down, a little above: a level whose delta is at most the target."""
    level = largest
    for doubling in range(10):
        if level == math.inf or ends(level)[1] <= target:
            break
        level = largest + 2**doubling * math.ulp(largest)
    return level


def _bracket(excess: Callable[[float], float], start: float, factor: float, largest: float) -> tuple[float, float]:
    """Two levels around the root of a falling function that is above 0 at 0; `largest` twice if there is none."""
    if excess(start) > 0:
        low = high = start
        while excess(high) > 0:
            if high >= largest:
                return largest, largest
            low, high, factor = high, min(high * factor, largest), factor * factor
        return low, high
    low, high = start / factor, start
    while low > 0 and excess(low) <= 0:
        factor = factor * factor
        low, high = (low / factor if factor < math.inf else 0.0), low
    return low, high
