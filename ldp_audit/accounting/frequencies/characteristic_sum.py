r"""Very many losses of few values, added up through their characteristic function: no loss is moved to a grid.

Under the tilt theta > 0 (`tilted_atoms`) with X = L - epsilon for the sum L, and K the ln of what tilting divides by,

    delta(epsilon) = e**(K - theta epsilon) v,   v = E k(X),   k(x) = e**(-theta x) (1 - e**-x)_+,

and v is an integral over frequencies (`frequency_rule`). So all that is small is in the factor before v, and what a
level costs does not grow with the number of losses. The ends are as near as rounding allows where the losses have no
spacing in common that shows after so many of them; else a grid is asked as well, and the better ends are given.

What is believed: the masses, to 2**-52 (4 + 2 |ln mass|) of themselves, and the losses, to 2**-50 of the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from ldp_audit.accounting.frequencies.frequency_rule import FrequencyRule, frequency_rule
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.grids.grid_loss import GridLoss
from ldp_audit.accounting.grids.lattice_spacing import common_spacing
from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

FEWEST = 10**5
"""Fewer losses are left to a grid."""

_MOST_ATOMS = 2000
_UNIT, _STEP, _GENTLE = 2.0, 0.2, 4.0
"""Tilts are this over the sum's deviation, and so many times that more; for levels below the mean a part of it."""
_MOST_KEPT = 6
_DEEP, _DEEP_SHARE, _DEEPEST = -750.0, 1e-5, -10_000.0
"""Where ln delta lies below the first, so large a share of it will do as the distance of its ends; below the last, any.
"""
_CERTAIN, _LEAST = -1e-9, 1e-6
"""A lower end of ln delta that tells enough, and a distance of the ends that will do near delta = 1."""
_PRECISION, _SHARE = 1e-8, 0.15
"""Ends that differ by so little of epsilon are not asked to be nearer; and what part of it frequencies may cost."""


def characteristic_sum(grid: GridLoss) -> CharacteristicSum | None:
    """The grid's sum by frequencies; None where the grid is as good, or its parts are no short lists."""
    if sum(times for _, times in grid.parts) < FEWEST:
        return None
    atoms = [one for law, _ in grid.parts if (one := as_atoms(law, _MOST_ATOMS)) and one.losses.size <= _MOST_ATOMS]
    if len(atoms) < len(grid.parts) or common_spacing([one.losses for one in atoms]) is not None:
        return None
    return CharacteristicSum(grid.parts, grid.width, grid.points)


@dataclass(frozen=True, eq=False)
class CharacteristicSum(GridLoss):
    """The loss of independent reports of finitely many losses. Made by `characteristic_sum`."""

    _rules: dict[int, FrequencyRule | None] = field(default_factory=dict, init=False, repr=False)

    def mirrored(self) -> CharacteristicSum:
        """See `LossLaw`: the sum of the mirrored laws."""
        return CharacteristicSum(
            tuple((law.mirrored(), times) for law, times in self.parts), self.width, self.points
        )  # fmt: skip

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`. Some milliseconds, or a grid's time where frequencies do not tell enough."""
        certain = self._atom_sum.log_least(epsilon)
        if certain > _CERTAIN:
            return certain, 0.0
        rule = self._rule(epsilon) if math.isfinite(epsilon) else None
        if rule is None:
            return super().log_delta_bounds(epsilon)
        low, high = rule.log_delta_bounds(epsilon)
        if high < _DEEP:  # where no level is asked for, but on the way to another law's
            if high - low <= _DEEP_SHARE * -high:
                return low, high
            if high < _DEEPEST:
                return max(low, self._crude(epsilon)), high
        wanted = max(rule.theta * max(self.width, _PRECISION * abs(epsilon)), _LEAST if high > -1 else 0.0)
        if high - low <= wanted:
            return low, high
        other = super().log_delta_bounds(epsilon)
        return max(low, other[0]), min(high, other[1])

    @cached_property
    def _atom_sum(self) -> AtomSum:
        atoms = ((as_atoms(law), times) for law, times in self.parts)
        return AtomSum(tuple((law, times) for law, times in atoms if isinstance(law, LossAtoms)))

    def _rule(self, epsilon: float) -> FrequencyRule | None:
        """The rule of the tilt for this level, computed once; None next to the ends of the losses."""
        theta = self._atom_sum.tilt_of_mean(epsilon)
        if theta is None:
            return None
        unit = _UNIT / self._atom_sum.deviation(0.0)
        place = math.ceil((theta / unit - 1) / _STEP) if theta > unit else 0 if theta > 0 else -1
        if place not in self._rules:
            if len(self._rules) >= _MOST_KEPT:
                del self._rules[next(iter(self._rules))]
            tilt = unit * (1 + _STEP * place) if place >= 0 else unit / _GENTLE
            wanted = max(self.width, _PRECISION * abs(self._atom_sum.mean(tilt)))
            self._rules[place] = frequency_rule(self._atom_sum, tilt, min(1.0, _SHARE * tilt * wanted))
        return self._rules[place]
