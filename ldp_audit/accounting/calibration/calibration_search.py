"""The search behind `calibrate`: what is spent at the values that were visited, and which to visit next.

The ends of a bracket, of which one meets the budget and the other does not, are drawn together (`search_steps`) in the
coordinates ln value and ln(-ln delta), in which many small losses and most noises are near a straight line; where delta
must be 0 the second is minus ln of the largest loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ldp_audit.accounting.calibration.search_steps import Steps
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.losses.budget_arguments import as_float, shown

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
    spending: dict[float, float] = field(default_factory=dict)
    """At each visited value ln of the upper end of delta at the budget's epsilon; if delta is 0, the largest loss."""
    epsilons: dict[float, float] = field(default_factory=dict)
    """At those that were asked for, epsilon at the budget's delta."""

    def __post_init__(self) -> None:
        if not 1e-13 <= as_float(self.tolerance) < 1:
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
        return self._nearly_meets(value) and self.epsilon_at(value) <= self.epsilon

    def ordered(self, low: float, high: float, increasing: bool | None, *, compare: bool) -> tuple[float, float]:  # noqa: FBT001
        """The end that spends less, then the other one.

        compare: look at both, also where `increasing` tells. Raises ValueError for bad ends, and where the ends spend
        the other way round than `increasing` has it.
        """
        low, high = self._ends(low, high)
        if increasing is not None and not compare:
            return (low, high) if increasing else (high, low)
        more, less = self._compared(low, high)
        if increasing is not None and not (more if increasing else less):
            raise ValueError(
                f"increasing={increasing} but epsilon is {self.epsilon_at(low):.6g} at low={low!r} and "
                f"{self.epsilon_at(high):.6g} at high={high!r}"
            )
        return (low, high) if more and increasing is not False else (high, low)

    def found(self, safe: float, unsafe: float, near: float | None) -> tuple[float, float | None]:
        """A value that meets the budget, and a near one that does not; None if the far end meets it.

        safe, unsafe: the ends of the range.   near: where to begin; if not given, with the ends.
        Raises ValueError where nothing in the range meets the budget.
        """
        found = self._found(safe, unsafe, near, self._nearly_meets)
        # what nearly meets the budget may exceed it by rounding
        return found if self.meets(found[0]) else self._found(safe, unsafe, found[0], self.meets)

    def notes(self, safe_end: float, excluded: float | None) -> tuple[str, ...]:
        """What is odd about the values that were visited."""
        found = []
        if excluded is None:
            found.append("every value of the range meets the budget: the end that spends most is returned")
        elif self.epsilon_at(excluded) <= self.epsilon * (1 + 1e-12):
            found.append(f"{excluded!r} exceeds the budget by rounding alone")
        visited = sorted(self.spending)
        if safe_end >= visited[-1]:
            visited.reverse()
        spent = [self.spending[value] for value in visited]
        if any(b < a - _SLACK * max(1.0, abs(a)) for a, b in pairwise(spent)):
            found.append("the spending is not monotone at the values visited: others may meet the budget too")
        return tuple(found)

    def _nearly_meets(self, value: float) -> bool:
        """Whether delta does not exceed the budget, or the largest loss where that is 0: epsilon then hardly does."""
        if value not in self.spending:
            loss = self.loss(value)
            pure = self.target == -math.inf
            self.spending[value] = loss.largest() if pure else loss.log_delta_bounds(self.epsilon)[1]
        return self.spending[value] <= (self.epsilon if self.target == -math.inf else self.target)

    def _height(self, value: float) -> float:
        """What falls with the spending of a visited value and is 0 at the budget, near a straight line in ln value."""
        if self.target == -math.inf:
            return _log(self.epsilon) - _log(self.spending[value])
        return _log(-self.spending[value]) - _log(-self.target)

    def _steps(self, safe: float, unsafe: float | None = None) -> Steps:
        """From what is known."""
        heights = {value: self._height(value) for value in self.spending}
        return Steps(heights, safe, unsafe, self.tolerance, self.whole)

    def _found(
        self, safe: float, unsafe: float, near: float | None, meets: Callable[[float], bool]
    ) -> tuple[float, float | None]:
        """See `found`."""
        inside, outside = self._bracket(safe, unsafe, near, meets)
        if outside is None:
            return inside, None
        steps = self._steps(inside, outside)
        while (between := steps.between()) is not None:
            met = meets(between)
            steps.add(between, self._height(between), safe=met)
        return steps.safe, steps.unsafe

    def _bracket(
        self, safe: float, unsafe: float, near: float | None, meets: Callable[[float], bool]
    ) -> tuple[float, float | None]:
        """A value that meets the budget, and another one that does not; None if the far end meets it."""
        here = safe if near is None else min(max(near, min(safe, unsafe)), max(safe, unsafe))
        here = int(here) if self.whole else float(here)
        met = meets(here)
        end = unsafe if met else safe
        while here != end:
            ahead = end if near is None else self._steps(here).ahead(here, end)
            if meets(ahead) != met:
                return (here, ahead) if met else (ahead, here)
            here = ahead
        if not met:
            raise ValueError(self._refusal(safe, *sorted((safe, unsafe))))
        return here, None

    def _refusal(self, safe: float, low: float, high: float) -> str:
        """Why nothing in the range will do."""
        loss = self.loss(safe)
        return (
            f"the budget epsilon={self.epsilon:g}, delta={_exponential(self.target)} cannot be met for values from "
            f"{low!r} to {high!r}: even {safe!r} spends epsilon {self.epsilon_at(safe):.6g} at that delta, and delta "
            f"{_exponential(loss.log_delta_bounds(self.epsilon)[1])} at that epsilon"
        )

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        for name, end in (("low", low), ("high", high)):
            if not math.isfinite(as_float(end)):
                raise ValueError(f"{name} must be a finite number, got {shown(end)}")
            if self.whole and end != math.floor(end):
                raise ValueError(f"{name} must be a whole number, got {end!r}")
        if not low < high:
            raise ValueError(f"low must be below high, got low={low!r}, high={high!r}")
        return (int(low), int(high)) if self.whole else (float(low), float(high))

    def _compared(self, low: float, high: float) -> tuple[bool, bool]:
        """Whether the upper end spends at least as much as the lower one, and whether at most as much."""
        for end in (low, high):
            self._nearly_meets(end)
        first, second = self.spending[low], self.spending[high]
        if first == second:
            first, second = self.epsilon_at(low), self.epsilon_at(high)
        return second >= first, second <= first


def _log(size: float) -> float:
    """ln of a number >= 0, also of 0 and of infinity."""
    return math.log(size) if size > 0 else -math.inf


def _exponential(log: float) -> str:
    """A delta for people, from its logarithm."""
    return f"{math.exp(log):.6g}" if log > -690 or log == -math.inf else f"e^{log:.6g}"
