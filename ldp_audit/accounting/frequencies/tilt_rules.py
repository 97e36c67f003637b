"""The rules over frequencies that serve the levels of one sum, each computed once: of less and less noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from ldp_audit.accounting.frequencies.frequency_rule import FrequencyRule, frequency_rule
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.kept import Kept

_MOST_KEPT = 8
_DEEP, _DEEP_SHARE, _DEEPEST = -750.0, 1e-5, -10_000.0
"""Where ln delta lies below the first, so large a share of it will do as the distance of its ends; below the last, any.
"""
_LEAST = 1e-6
"""A distance of the ends that will do near delta = 1."""
_PRECISION = 1e-8
"""Ends that differ by so little of epsilon are not asked to be nearer."""
_NOISE, _OF_DEVIATION, _FINER = 0.06, 1e-6, 64.0
"""What noise may cost: of the width, and of the sum's deviation; and by what this is divided if that is too much."""

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class TiltRules:
    """For a sum and the width asked for, nats."""

    total: AtomSum
    width: float
    _rules: Kept[tuple[float, bool], FrequencyRule | None] = field(
        default_factory=lambda: Kept(_MOST_KEPT), init=False, repr=False
    )

    def ends(self, epsilon: float) -> tuple[Ends, bool]:
        """Ends of ln delta, and whether they are as near as is asked for, or so deep that no nearer ones are."""
        low, high = -math.inf, 0.0
        for rule in self._finer(epsilon):
            least, most = rule.log_delta_bounds(epsilon)
            low, high = max(low, least), min(high, most)
            if deep_enough(low, high) or self._near(rule, epsilon, low, high):
                return (low, high), True
            if high < _DEEPEST:
                break
        return (low, high), False

    def _near(self, rule: FrequencyRule, epsilon: float, low: float, high: float) -> bool:
        """Whether the ends are as near as the width asks for, in ln delta or in epsilon."""
        wanted = wanted_width(self.width, epsilon)
        if high - low <= max(rule.tilted.theta * wanted, _LEAST if high > -1 else 0.0):
            return True
        return rule.log_delta_bounds(epsilon + wanted)[1] <= low

    def _finer(self, epsilon: float) -> Iterator[FrequencyRule]:
        """Rules of the tilt for this level, of less and less noise; none next to the losses' ends.

        The level alone tells which these are.
        """
        tilt = self.total.tilt_for(epsilon) if math.isfinite(epsilon) else None
        if tilt is None:
            return
        for finer in (False, True):
            rule = self._rules.of((tilt, finer), partial(self._rule, tilt, finer=finer))
            if rule is None:
                return
            yield rule

    def _rule(self, tilt: float, *, finer: bool) -> FrequencyRule | None:
        cost = min(_NOISE * self.width, _OF_DEVIATION * self.total.deviation(tilt))
        return frequency_rule(self.total, tilt, cost / _FINER if finer else cost, at_most=finer)


def wanted_width(width: float, epsilon: float) -> float:
    """How near the ends of an epsilon are to be at this level, nats."""
    return max(width, _PRECISION * abs(epsilon))


def deep_enough(low: float, high: float) -> bool:
    """Whether delta is so small that no level is asked for there, but on the way to another law's."""
    return high < _DEEP and high - low <= _DEEP_SHARE * -high


def is_deepest(high: float) -> bool:
    """Whether delta is so small that no nearer ends are looked for at all."""
    return high < _DEEPEST
