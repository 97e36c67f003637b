r"""Many losses of finitely many values, added up through their characteristic function: no loss is moved to a grid.

Under the tilt theta > 0 (`tilted_atoms`) with X = L - epsilon for the sum L, and K the ln of what tilting divides by,

    delta(epsilon) = e**(K - theta epsilon) v,   v = E k(X),   k(x) = e**(-theta x) (1 - e**-x)_+,

and v is an integral over frequencies (`frequency_rule`). So all that is small is in the factor before v, and what a
level costs grows neither with the number of losses nor, but for a few sums, with that of their values. The ends differ
by what a little noise does to the sum (`noise`), and by rounding. Where they are not near enough the noise is made
smaller, and where that does not do a grid is asked as well; then the better ends are given. Where every tilt that
reaches a level is one of a few rare losses, these are counted apart first (`cut_sum`).

What is believed: the masses, to 2**-52 (4 + 2 |ln mass|) of themselves, and the losses, to 2**-50 of the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_audit.accounting.frequencies.cut_sum import CutSum
from ldp_audit.accounting.frequencies.tilt_rules import TiltRules, deep_enough, is_deepest
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.grids.grid_loss import GridLoss
from ldp_audit.accounting.grids.lattice_spacing import common_spacing
from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

FEWEST = 300
"""Of fewer losses a grid is asked first."""
_LONG = 1000
"""And such sums are left to it altogether unless all their lists are as long: of few values psi hardly falls."""
_FEW_LITTLE, _CONTRAST = 0.02, 2e4
"""But where rare losses are counted apart a grid is not asked if ends of ln delta are as near as that; nor if losses
are more deviations large than the second, where it tells less."""

_MOST_ATOMS = 10**6
_COARSE, _REACH = 2**17, 18.0
"""Losses with a common spacing are left to a grid if it has so few points on so many deviations of the sum."""
_MOST_ON_LATTICE, _WIDE = 10**6, 1e4
"""Of more losses the first a grid adds up too much rounding, for sums that lie within fewer nats than the second; on
more nats it hardly counts, and frequencies take longest."""
_LACKING, _OF_LACKING = 1e-4, 0.1
"""What delta lacks of 1 where that alone is asked, and the share of it by which its ends may then differ."""
_USUAL = 2.0
"""Deviations of a usual level, and how near ends of ln delta are there if a grid can tell the sum."""
_CERTAIN = -1e-9
"""A lower end of ln delta that tells enough where that does not."""
_BELOW = 2.0
"""How many deviations below the mean that may be, at least."""
_LITTLE, _MOST_ON_GRID = 0.1, 10**4
"""A grid is asked where the ends of ln delta differ by more than the first, and of so many losses at most: of more it
tells less than frequencies do."""


def characteristic_sum(grid: GridLoss) -> CharacteristicSum | None:
    """The grid's sum by frequencies; None where the grid is as good, or its parts are no lists."""
    times, sizes = sum(times for _, times in grid.parts), [as_atoms(law) for law, _ in grid.parts]
    if times < FEWEST and any(one is None or one.losses.size < _LONG for one in sizes):
        return None
    if any((one := as_atoms(law)) is None or one.losses.size > _MOST_ATOMS for law, _ in grid.parts):
        return None
    found = CharacteristicSum(grid.parts, grid.width, grid.points)
    return None if found.suits_grid() else found


@dataclass(frozen=True, eq=False)
class CharacteristicSum(GridLoss):
    """The loss of independent reports of finitely many losses. Made by `characteristic_sum`."""

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

    @property
    def _are_few(self) -> bool:
        """Whether a grid is asked before frequencies."""
        return sum(times for _, times in self.parts) < FEWEST

    @cached_property
    def _grid_serves(self) -> bool:
        """Whether a grid tells usual levels, so that others are left to it too."""
        low, high = super().log_delta_bounds(self._mean + _USUAL * self._atom_sum.deviation(0.0))
        return high - low <= _USUAL

    @cached_property
    def _far_apart(self) -> bool:
        """Whether some losses are too large for a grid that tells the others too."""
        cut = self._cuts.at(self._mean)
        largest = max(float(law.losses[-1]) for law, _ in self._atom_sum.laws)
        return cut is not None and largest > _CONTRAST * cut.deviation

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, nats: a hint for who looks for it, with no claim."""
        level = self._atom_sum.level_near(log_delta)
        level = self._highest if level is None else level
        return self._cuts.level_near(log_delta, level) if level > 0 else level

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`. Some milliseconds, or a grid's time where frequencies do not tell enough."""
        low, high = -math.inf, 0.0
        if epsilon < self._far_below and self.lacking is not None:
            low, high = self.lacking.log_delta_bounds(epsilon)
            if high > -_LACKING and high - low <= _OF_LACKING * -high:
                return low, high
        certain = self._atom_sum.log_least(epsilon)
        if certain > _CERTAIN:
            return max(low, certain), high
        cut = self._cuts.leap(epsilon)
        if cut is not None:
            least, most = cut.ends(epsilon)
            low, high = max(low, least), min(high, most)
            if deep_enough(low, high) or self._cuts.near(cut, epsilon, (low, high)):
                return low, high
            if high - low <= (_LITTLE if self._far_apart or not self._are_few else _FEW_LITTLE):
                return low, high
        if self._are_few:
            low, high = self._on_grid(epsilon, low, high)
            if high - low <= _LITTLE or self._grid_serves:
                return low, high
        (least, most), near = self._rules.ends(epsilon)
        low, high = max(low, least), min(high, most)
        if near:
            return low, high
        if is_deepest(high):
            return max(low, self._crude(epsilon)), high
        if high - low <= _LITTLE or (low > -math.inf and sum(times for _, times in self.parts) > _MOST_ON_GRID):
            return low, high
        return self._on_grid(epsilon, low, high)

    def _on_grid(self, epsilon: float, low: float, high: float) -> tuple[float, float]:
        """The better ends of these and those of a grid."""
        other = super().log_delta_bounds(epsilon)
        return max(low, other[0]), min(high, other[1])

    @cached_property
    def _mean(self) -> float:
        return self._atom_sum.mean(0.0)

    @cached_property
    def _far_below(self) -> float:
        """A level so far below the mean that delta may be as near 1 as that."""
        cut = self._cuts.at(self._mean)
        mean, deviation = (self._mean, self._atom_sum.deviation(0.0)) if cut is None else (cut.mean, cut.deviation)
        return mean - _BELOW * deviation

    @cached_property
    def _atom_sum(self) -> AtomSum:
        atoms = ((as_atoms(law), times) for law, times in self.parts)
        return AtomSum(tuple((law, times) for law, times in atoms if isinstance(law, LossAtoms)))

    @cached_property
    def _rules(self) -> TiltRules:
        return TiltRules(self._atom_sum, self.width)

    @cached_property
    def _cuts(self) -> CutSum:
        return CutSum(self._atom_sum, self.width)
