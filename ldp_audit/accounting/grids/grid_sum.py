"""The sum of many losses, by the way that moves them least.

Losses that are moved to the ends of their cells are moved once on each grid on which they are added. So

* laws whose losses all have one spacing are added on it, and none is moved;
* else a law whose own losses have a spacing is added up on that, and only its sum is moved to the common grid;
* the others are added in equal groups, on a finer grid, as a group spreads less than the whole at the same number of
  points; then the groups' sums are moved to the common grid. A group is added in the same way, from smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ldp_audit.accounting.grids.grid_parts import Discretisable
from ldp_audit.accounting.grids.gridding import gridded, regridded
from ldp_audit.accounting.grids.tilt_plan import Grid
from ldp_audit.accounting.grids.tilted_law import TiltedLaw
from ldp_audit.accounting.grids.tilted_sum import added

_STEEPEST = 300.0
_TOGETHER = 8


class _Ranged(NamedTuple):
    """A law, how many times, and where a grid for it ends, nats."""

    law: Discretisable
    ends: tuple[float, float]


def grid_sum(laws: Sequence[Discretisable], grid: Grid, theta: float, most: int) -> TiltedLaw | None:
    """The tilted sum of these laws, each so many times; None where floats or `most` points will not do."""
    if grid.common is not None:
        known = zip(laws, grid.ranges, strict=True)
        return added([(gridded(law, grid.common, theta, *ends), times) for (law, times), ends in known], most)
    alone: list[tuple[TiltedLaw | None, int]] = []
    others: list[_Ranged] = []
    for (law, times), own, ends in zip(laws, grid.own, grid.ranges, strict=True):
        if own is None:
            others.append(_Ranged((law, times), ends))
        else:
            alone.append((added([(gridded(law, own, theta, *ends), times)], most), 1))
    moved = [(_moved(law, grid.spacings[0]), times) for law, times in alone]
    return _nested(others, grid.spacings, grid.groups, theta, most, moved)


def _nested(
    laws: Sequence[_Ranged],
    spacings: Sequence[float],
    groups: int,
    theta: float,
    most: int,
    others: Sequence[tuple[TiltedLaw | None, int]] = (),
) -> TiltedLaw | None:
    """The sum of laws, and of others that are on the first grid, with groups of equal laws on the further grids."""
    found = list(others)
    equal = [] if len(spacings) == 1 else [_Ranged((law, n // groups), ends) for (law, n), ends in laws if n >= groups]
    for (law, times), ends in laws:
        if left := times if len(spacings) == 1 else times % groups:
            found.append((gridded(law, spacings[0], theta, *ends), left))
    if equal:
        found.append((_moved(_nested(equal, spacings[1:], groups, theta, most), spacings[0]), groups))
    known = [(law, times) for law, times in found if law is not None]
    return _added(known, most) if len(known) == len(found) else None


def _added(laws: Sequence[tuple[TiltedLaw, int]], most: int) -> TiltedLaw | None:
    """The sum; of many laws from sums of a few, whose windows are shorter than that of all."""
    while len(laws) > _TOGETHER:
        sums = [added(laws[i : i + _TOGETHER], most) for i in range(0, len(laws), _TOGETHER)]
        known = [(law, 1) for law in sums if law is not None]
        if len(known) < len(sums):
            return None
        laws = known
    return added(laws, most)


def _moved(law: TiltedLaw | None, spacing: float) -> TiltedLaw | None:
    """The law on another grid; None where one step of it changes the tilt's weights beyond the range of floats."""
    return None if law is None or law.theta * spacing > _STEEPEST else regridded(law, spacing)
