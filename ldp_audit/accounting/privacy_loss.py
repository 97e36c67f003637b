"""The privacy loss of a mechanism or a protocol: its profile and its epsilon, with certified ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldp_audit.accounting.budget_arguments import level, log_of_delta
from ldp_audit.accounting.laws.bracketed_loss import end_of, least_largest
from ldp_audit.accounting.laws.improper_loss import hint_of
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.level_search import LevelSearch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ldp_audit.accounting.privacy_profile import PrivacyProfile
    from ldp_audit.accounting.trade_off import TradeOffBounds


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
        if target == 0:
            return 0.0, 0.0
        search = self._search(target, 1)
        upper = self._least(search, target, 1)
        if self.exact:
            return upper, upper
        # of a law known from both sides each end is another law's, which lies elsewhere and takes its own time
        apart = any(end_of(law, 1) is not law for law in self.directions)
        return min(self._least(self._search(target, 0, upper) if apart else search, target, 0), upper), upper

    def epsilon(self, delta: float | None = None, *, log_delta: float | None = None) -> float:
        """The upper end of `epsilon_bounds`: never too small."""
        target = log_of_delta(delta, log_delta)
        return 0.0 if target == 0 else self._least(self._search(target, 1), target, 1)

    def profile(self) -> PrivacyProfile:
        """delta as a function of epsilon, with its curves and tables."""
        from ldp_audit.accounting.privacy_profile import PrivacyProfile

        return PrivacyProfile(self)

    def trade_off(self, alpha: ArrayLike) -> TradeOffBounds:
        """The least false-negative rate of any test with this false-positive rate: a lower and an upper end."""
        from ldp_audit.accounting.trade_off import trade_off_bounds

        return trade_off_bounds(self, alpha)

    def _search(self, target: float, end: int, near: float = math.nan) -> LevelSearch:
        """For the level where this end of ln delta is so large.   near: nats, where to begin if no law has a hint."""
        laws = list({id(law): law for law in (end_of(law, end) for law in self.directions)}.values())
        hints = [hint_of(law, target) for law in laws] if -math.inf < target < 0 else []
        hint = max((hint for hint in hints if 0 < hint < math.inf), default=near)
        one = PrivacyLoss(tuple(laws))
        return LevelSearch(one.log_delta_bounds, one.largest(), hint)

    def _least(self, search: LevelSearch, target: float, end: int) -> float:
        """The root of log delta = target for one of the ends: stated above it for the upper, below it for the lower."""
        if target == -math.inf:  # nothing above the largest loss is possible, and below it something may be
            return search.largest if end else max(0.0, *(least_largest(law) for law in self.directions))
        return search.least(target, end)
