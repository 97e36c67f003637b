"""The search behind `calibrate`: bisection between a value that meets a budget and one that does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss

_SMALLEST = 1e-300
"""Positive values below it are not told apart."""
_SLACK = 1e-9
"""By how much ln delta may fall where it should rise, before it is remarked upon."""


@dataclass
class Search:
    """One search: what is asked, and what is known of the values that were visited.

    build: from a parameter to something with a privacy loss.   epsilon: the budget's, nats.   target: ln of its delta.
    tolerance: in [1e-13, 1); ValueError for anything else.   whole: the parameter is a whole number.
    """

    build: Callable[[Any], Any]
    epsilon: float
    target: float
    tolerance: float
    whole: bool
    log_deltas: dict[float, float] = field(default_factory=dict)
    """At each visited value, ln of the upper end of delta at the budget's epsilon."""
    epsilons: dict[float, float] = field(default_factory=dict)
    """At those where that is within the budget, and at others that were asked for, epsilon at the budget's delta."""

    def __post_init__(self) -> None:
        if not 1e-13 <= self.tolerance < 1:
            raise ValueError(f"tolerance must lie in [1e-13, 1), got {self.tolerance!r}")

    def loss(self, value: float) -> PrivacyLoss:
        """What is spent at this value."""
        return privacy_loss(self.build(value))

    def epsilon_at(self, value: float) -> float:
        """Epsilon at the budget's delta, from above; remembered."""
        if value not in self.epsilons:
            self.epsilons[value] = self.loss(value).epsilon(log_delta=self.target)
        return self.epsilons[value]

    def meets(self, value: float) -> bool:
        """Whether neither delta nor epsilon exceeds the budget."""
        if value not in self.log_deltas:
            loss = self.loss(value)
            self.log_deltas[value] = loss.log_delta_bounds(self.epsilon)[1]
            if self.log_deltas[value] <= self.target:
                self.epsilons[value] = loss.epsilon(log_delta=self.target)
        return self.log_deltas[value] <= self.target and self.epsilon_at(value) <= self.epsilon

    def ordered(self, low: float, high: float, increasing: bool | None) -> tuple[float, float]:  # noqa: FBT001
        """The end that spends less, then the other one.

        Raises ValueError for bad ends, and where the ends spend the other way round than `increasing` has it.
        """
        low, high = self._ends(low, high)
        if increasing is not None and self.whole:  # the far end may be costly to build, and need not be looked at
            return (low, high) if increasing else (high, low)
        more, less = self._compared(low, high)
        if increasing is not None and not (more if increasing else less):
            raise ValueError(
                f"increasing={increasing} but epsilon is {self.epsilon_at(low):.6g} at low={low!r} and "
                f"{self.epsilon_at(high):.6g} at high={high!r}"
            )
        return (low, high) if more and increasing is not False else (high, low)

    def narrowed(self, safe: float, unsafe: float, *, near_first: bool) -> tuple[float, float | None]:
        """A value that meets the budget, and a near one that does not; None if the far end meets it.

        near_first: look for the second in growing steps from the first end, for far ends that are costly.
        """
        if near_first:
            safe, unsafe = self._galloped(safe, unsafe)
        if self.meets(unsafe):
            return unsafe, None
        while (middle := self._between(safe, unsafe)) is not None:
            if self.meets(middle):
                safe = middle
            else:
                unsafe = middle
        return safe, unsafe

    def refusal(self, safe: float, low: float, high: float) -> str:
        """Why nothing in the range will do."""
        log_delta, epsilon = self.log_deltas[safe], self.epsilon_at(safe)
        return (
            f"the budget epsilon={self.epsilon:g}, delta={_exponential(self.target)} cannot be met for values from "
            f"{low!r} to {high!r}: even {safe!r} spends epsilon {epsilon:.6g} at that delta, and delta "
            f"{_exponential(log_delta)} at that epsilon"
        )

    def notes(self, safe_end: float, excluded: float | None) -> tuple[str, ...]:
        """What is odd about the values that were visited."""
        found = []
        if excluded is None:
            found.append("every value of the range meets the budget: the end that spends most is returned")
        elif self.epsilon_at(excluded) <= self.epsilon * (1 + 1e-12):
            found.append(f"{excluded!r} exceeds the budget by rounding alone")
        visited = sorted(self.log_deltas, reverse=safe_end == max(self.log_deltas))
        logs = [self.log_deltas[value] for value in visited]
        if any(b < a - _SLACK * max(1.0, abs(a)) for a, b in pairwise(logs)):
            found.append("the spending is not monotone at the values visited: others may meet the budget too")
        return tuple(found)

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        for name, end in (("low", low), ("high", high)):
            if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
                raise ValueError(f"{name} must be a finite number, got {end!r}")
            if self.whole and end != math.floor(end):
                raise ValueError(f"{name} must be a whole number, got {end!r}")
        if not low < high:
            raise ValueError(f"low must be below high, got low={low!r}, high={high!r}")
        return (int(low), int(high)) if self.whole else (float(low), float(high))

    def _compared(self, low: float, high: float) -> tuple[bool, bool]:
        """Whether the upper end spends at least as much as the lower one, and whether at most as much."""
        ends = []
        for end in (low, high):
            self.meets(end)
            ends.append((self.epsilon_at(end), self.log_deltas[end]))
        first, second = ends
        return second >= first, second <= first

    def _galloped(self, safe: float, end: float) -> tuple[float, float]:
        """The last of the doubled steps that meets the budget, and the first that does not, or the end."""
        way, step = (1 if end > safe else -1), 1
        while safe != end:
            ahead = safe + way * min(step, abs(end - safe))
            if not self.meets(ahead):
                return safe, ahead
            safe, step = ahead, 2 * step
        return safe, end

    def _between(self, safe: float, unsafe: float) -> float | None:
        """Where to look next; None if the two are as near as was asked for."""
        apart, largest = abs(safe - unsafe), max(abs(safe), abs(unsafe))
        if self.whole:
            return None if apart <= 1 else (safe + unsafe) // 2
        if apart <= self.tolerance * min(abs(safe), abs(unsafe)) or largest <= _SMALLEST:
            return None
        middle = (safe + unsafe) / 2
        small, large = sorted((abs(safe), abs(unsafe)))
        if safe * unsafe >= 0 and large > 4 * small:
            middle = math.copysign(math.sqrt(small) * math.sqrt(large) if small else large / 1024, safe + unsafe)
        return None if middle in (safe, unsafe) else middle


def _exponential(log: float) -> str:
    """A delta for people, from its logarithm."""
    return f"{math.exp(log):.6g}" if log > -690 or log == -math.inf else f"e^{log:.6g}"
