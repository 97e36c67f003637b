r"""Many losses of finitely many values, added up through their characteristic function: no loss is moved to a grid.

Under the tilt theta > 0 (`tilted_atoms`) with X = L - epsilon for the sum L, and K the ln of what tilting divides by,

    delta(epsilon) = e**(K - theta epsilon) v,   v = E k(X),   k(x) = e**(-theta x) (1 - e**-x)_+,

and v is an integral over frequencies (`frequency_rule`). So all that is small is in the factor before v, and what a
level costs grows neither with the number of losses nor, but for a few sums, with that of their values. The ends differ
by what a little noise does to the sum (`noise`), and by rounding. Where they are not near enough the noise is made
smaller, and where that does not do a grid is asked as well; then the better ends are given.

What is believed: the masses, to 2**-52 (4 + 2 |ln mass|) of themselves, and the losses, to 2**-50 of the largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldp_audit.accounting.frequencies.frequency_rule import FrequencyRule, frequency_rule
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.grids.grid_loss import GridLoss
from ldp_audit.accounting.grids.lattice_spacing import common_spacing
from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

FEWEST = 300
"""Fewer losses are left to a grid."""

_MOST_ATOMS = 10**6
_COARSE, _REACH = 2**17, 18.0
"""Losses with a common spacing are left to a grid if it has so few points on so many deviations of the sum."""
_MOST_ON_LATTICE, _WIDE = 10**6, 1e4
"""Of more losses the first a grid adds up too much rounding, for sums that lie within fewer nats than the second; on
more nats it hardly counts, and frequencies take longest."""
_MOST_KEPT = 8
_DEEP, _DEEP_SHARE, _DEEPEST = -750.0, 1e-5, -10_000.0
"""Where ln delta lies below the first, so large a share of it will do as the distance of its ends; below the last, any.
"""
_CERTAIN, _LEAST = -1e-9, 1e-6
"""A lower end of ln delta that tells enough, and a distance of the ends that will do near delta = 1."""
_PRECISION = 1e-8
"""Ends that differ by so little of epsilon are not asked to be nearer."""
_NOISE, _OF_DEVIATION, _FINER = 0.06, 1e-6, 64.0
"""What noise may cost: of the width, and of the sum's deviation; and by what this is divided if that is too much."""
_LITTLE, _MOST_ON_GRID = 0.1, 10**4
"""A grid is asked where the ends of ln delta differ by more than the first, and of so many losses at most: of more it
tells less than frequencies do."""


def characteristic_sum(grid: GridLoss) -> CharacteristicSum | None:
    """The grid's sum by frequencies; None where the grid is as good, or its parts are no lists."""
    if sum(times for _, times in grid.parts) < FEWEST:
        return None
    if any((one := as_atoms(law)) is None or one.losses.size > _MOST_ATOMS for law, _ in grid.parts):
        return None
    found = CharacteristicSum(grid.parts, grid.width, grid.points)
    return None if found.suits_grid() else found


@dataclass(frozen=True, eq=False)
class CharacteristicSum(GridLoss):
    """The loss of independent reports of finitely many losses. Made by `characteristic_sum`."""

    _rules: dict[tuple[float, bool], FrequencyRule | None] = field(default_factory=dict, init=False, repr=False)

    def mirrored(self) -> CharacteristicSum:
        """See `LossLaw`: the sum of the mirrored laws."""
        return CharacteristicSum(
            tuple((law.mirrored(), times) for law, times in self.parts), self.width, self.points
        )  # fmt: skip

    def suits_grid(self) -> bool:
        """Whether a grid takes all losses where they are, and has few points."""
        lists = [law.losses for law, _ in self._atom_sum.laws]
        window = _REACH * self._atom_sum.deviation(0.0) + max(float(losses[-1] - losses[0]) for losses in lists)
        if window > _COARSE * min(float(np.diff(losses).min(initial=math.inf)) for losses in lists):
            return False
        if window < _WIDE and sum(times for _, times in self.parts) > _MOST_ON_LATTICE:
            return False
        spacing = common_spacing(lists)
        return spacing is not None and window <= _COARSE * spacing

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, nats: a hint for who looks for it, with no claim."""
        level = self._atom_sum.level_near(log_delta)
        return self._highest if level is None else level

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`. Some milliseconds, or a grid's time where frequencies do not tell enough."""
        certain = self._atom_sum.log_least(epsilon)
        if certain > _CERTAIN:
            return certain, 0.0
        low, high = -math.inf, 0.0
        for rule in self._finer_rules(epsilon):
            least, most = rule.log_delta_bounds(epsilon)
            low, high = max(low, least), min(high, most)
            if self._deep_enough(low, high) or self._near(rule, epsilon, low, high):
                return low, high
            if high < _DEEPEST:
                return max(low, self._crude(epsilon)), high
        if high - low <= _LITTLE or (low > -math.inf and sum(times for _, times in self.parts) > _MOST_ON_GRID):
            return low, high
        other = super().log_delta_bounds(epsilon)
        return max(low, other[0]), min(high, other[1])

    @staticmethod
    def _deep_enough(low: float, high: float) -> bool:
        """Whether delta is so small that no level is asked for there, but on the way to another law's."""
        return high < _DEEP and high - low <= _DEEP_SHARE * -high

    def _near(self, rule: FrequencyRule, epsilon: float, low: float, high: float) -> bool:
        """Whether the ends are as near as the width asks for, in ln delta or in epsilon."""
        wanted = max(self.width, _PRECISION * abs(epsilon))
        if high - low <= max(rule.tilted.theta * wanted, _LEAST if high > -1 else 0.0):
            return True
        return rule.log_delta_bounds(epsilon + wanted)[1] <= low

    @cached_property
    def _atom_sum(self) -> AtomSum:
        atoms = ((as_atoms(law), times) for law, times in self.parts)
        return AtomSum(tuple((law, times) for law, times in atoms if isinstance(law, LossAtoms)))

    def _finer_rules(self, epsilon: float) -> Iterator[FrequencyRule]:
        """Rules of the tilt for this level, of less and less noise, each computed once; none next to the losses' ends.

        The level alone tells which these are.
        """
        tilt = self._atom_sum.tilt_for(epsilon) if math.isfinite(epsilon) else None
        if tilt is None:
            return
        for finer in (False, True):
            if (tilt, finer) not in self._rules:
                if len(self._rules) >= _MOST_KEPT:
                    del self._rules[next(iter(self._rules))]
                self._rules[tilt, finer] = self._rule(tilt, finer=finer)
            rule = self._rules[tilt, finer]
            if rule is None:
                return
            yield rule

    def _rule(self, tilt: float, *, finer: bool) -> FrequencyRule | None:
        cost = min(_NOISE * self.width, _OF_DEVIATION * self._atom_sum.deviation(tilt))
        return frequency_rule(self._atom_sum, tilt, cost / _FINER if finer else cost, at_most=finer)
