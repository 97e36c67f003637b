r"""Laws of the loss on a grid, from above, by 'connecting the dots'.

The masses p and q that P and Q have in the cell (g, g + h] are given to its two ends so that both are kept. The upper
end gets the share

    s = (1 - e**g q/p) / (1 - e**-h)

of p. With u = e**-loss this replaces u in the cell by a law of the same mean, so the mean of every convex function of u
grows, and that of (1 - e**epsilon u)_+ is the hockey-stick divergence: the law on the grid dominates. What lies above
the grid is given an infinite loss, what lies below it that of the first point. A law whose losses all lie on the grid
is not moved.

Source: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots" (PETS 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.grids.tilted_law import Moves, TiltedLaw, one_move
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import CellMasses, DiscretisableLaw
from ldp_audit.accounting.laws.rounded_atoms import rounding_of

_EPS = 2.0**-52
_ON_GRID = 1e-9
_NEGLIGIBLE = math.log(1e-25)
_BLOCK = 2**15
_GAPS = 8


class ListedPart(NamedTuple):
    """The losses of a law between two ends, as its `atoms_between` gives them, where it has that and they are not many.

    losses, logs: ascending, nats, and ln of their probabilities under P, shape (m,); none are infinite.
    log_below, log_above: ln of the probability of what lies at the lower end or below, and above the upper end.
    """

    losses: NDArray[np.float64]
    logs: NDArray[np.float64]
    log_below: float
    log_above: float


def gridded(
    law: DiscretisableLaw, spacing: float, theta: float, lowest: float = -math.inf, highest: float = math.inf
) -> TiltedLaw:
    """The law on the grid of this spacing, tilted by theta >= 0.

    lowest, highest: nats, where the grid ends; a list of losses needs none, and has no lower one.
    """
    if isinstance(law, LossAtoms):
        kept = max(1, int(np.searchsorted(law.losses, highest, side="right")))
        found = _of_atoms(law.losses[:kept], law.log_probabilities[:kept], spacing, theta, rounding_of(law))
        above = float(np.logaddexp.reduce(law.log_probabilities[kept:], initial=law.log_infinite))
        return found.with_infinite(law.log_infinite, above, 0.0)
    between = getattr(law, "atoms_between", None)
    listed: ListedPart | None = between(lowest, highest) if between else None
    if listed is None:
        return _of_cells(law, spacing, theta, lowest, highest)
    losses, logs = listed.losses, listed.logs
    if listed.log_below > -math.inf:
        losses, logs = np.insert(losses, 0, lowest), np.insert(logs, 0, listed.log_below)
    found = _of_atoms(losses, logs, spacing, theta, 0.0)
    below = math.exp(min(0.0, listed.log_below + theta * lowest - found.log_sum))
    return found.with_infinite(-math.inf, listed.log_above, below)


def regridded(law: TiltedLaw, spacing: float) -> TiltedLaw:
    """The law on a grid of another spacing with the same offset."""
    indices, found = _shared(law, spacing)
    total, most = float(found.sum()), math.exp(min(700.0, law.theta * spacing))
    # a place gets the shares of a tent over its points: at most their integral and what its two lower kinks add
    ratio = spacing / law.spacing
    together = (ratio + 1 / (4 * ratio) if ratio > 1 else 1.0) * most
    return replace(
        law,
        spacing=spacing,
        indices=indices,
        masses=found / total,
        log_sum=law.log_sum + math.log(total),
        log_sum_error=law.log_sum_error + 4 * _EPS * (20 + 2 * law.theta * spacing),
        mass_error=together * (law.mass_error + 8 * _EPS * float(law.masses.max())) / total,
        norm_error=math.sqrt(together * most) * (law.norm_error + 8 * _EPS * law.norm()) / total,
        misplaced=law.misplaced * most / total,
        below=law.below * most / total,
        moves=law.moves.more(one_move(spacing)),
        shift=law.shift + 8 * _EPS * law.spacing * law.farthest(),
    )


def _shared(law: TiltedLaw, spacing: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Where the masses go on the grid of this spacing, and how much there is; in blocks, which stay in fast memory."""
    ratio, down = law.spacing / spacing, math.expm1(-spacing)
    first, last = math.ceil(law.indices[0] * ratio) - 1, math.ceil(law.indices[-1] * ratio)
    dense = last - first < _GAPS * law.indices.size
    found = np.zeros(last - first + 2 if dense else 0)
    sparse: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    for start in range(0, law.indices.size, _BLOCK):
        places, masses = law.indices[start : start + _BLOCK] * ratio, law.masses[start : start + _BLOCK]
        upper = np.ceil(places)
        steps = (places - upper + 1) * spacing  # above the lower end
        share = np.clip(np.expm1(-steps) / down, 0.0, 1.0)
        below, above = masses * (1 - share), masses * share
        if law.theta:
            below, above = below * np.exp(-law.theta * steps), above * np.exp(law.theta * (spacing - steps))
        into = upper.astype(np.int64) - 1
        if dense:
            base = int(into[0])
            sums = np.bincount(into - base, below, int(into[-1]) - base + 2)
            sums[1:] += np.bincount(into - base, above, int(into[-1]) - base + 1)
            found[base - first : base - first + sums.size] += sums
        else:
            sparse.append((np.concatenate([into, into + 1]), np.concatenate([below, above])))
    if dense:
        return np.arange(first, first + found.size, dtype=np.int64), found
    return _collected(*(np.concatenate(parts) for parts in zip(*sparse, strict=True)))


def _of_atoms(
    losses: NDArray[np.float64], logs: NDArray[np.float64], spacing: float, theta: float, error: float
) -> TiltedLaw:
    """error: nats, by which the losses may be rounded beyond their last digits."""
    offset = float(losses[0])
    places = (losses - offset) / spacing
    upper = np.round(places)
    off = float(np.abs(places - upper).max())
    rounding = 4 * _EPS * float(np.abs(losses).max()) + error
    if off <= _ON_GRID:
        return _tilted(offset, spacing, theta, upper.astype(np.int64), logs, shift=rounding + spacing * off)
    upper = np.ceil(places)
    share = np.clip(np.expm1((upper - 1 - places) * spacing) / math.expm1(-spacing), 0.0, 1.0)
    indices = np.concatenate([upper - 1, upper]).astype(np.int64)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([logs + np.log1p(-share), logs + np.log(share)])
    # places are right to 2**-52 of themselves, so the shares' errors move the losses by no more than rounding
    return _tilted(offset, spacing, theta, indices, logs, moves=one_move(spacing), shift=3 * rounding)


def _of_cells(law: DiscretisableLaw, spacing: float, theta: float, lowest: float, highest: float) -> TiltedLaw:
    indices = np.arange(math.floor(lowest / spacing), math.ceil(highest / spacing) + 1, dtype=np.int64)
    points: NDArray[np.float64] = spacing * indices.astype(np.float64)
    cells = cell_masses(law, points)
    first, second = cells.first[1:-1], cells.second[1:-1]
    raised = np.append(first + theta * points[1:], cells.first[0] + theta * points[0])
    top = float(raised.max())
    if top == -math.inf:
        raise ValueError(f"no loss lies between {lowest!r} and {highest!r}")
    with np.errstate(invalid="ignore"):
        share = np.expm1(np.minimum(second - first + points[:-1], 0.0)) / math.expm1(-spacing)
    share = np.clip(np.where(first > -math.inf, share, 0.0), 0.0, 1.0)
    weights = np.exp(raised[:-1] - top)
    masses = np.zeros(indices.size)
    masses[0] = math.exp(raised[-1] - top)
    masses[1:] = weights * share
    masses[:-1] += math.exp(-theta * spacing) * weights * (1 - share)
    counted = first[raised[:-1] > top + _NEGLIGIBLE]
    rounding = 2 * _EPS * (4 + 2 * float(np.abs(counted).max(initial=0.0)))
    shift = rounding + _shift_of_edges(cells, points, spacing) + 4 * _EPS * float(np.abs(points).max())
    found = _scaled(0.0, spacing, theta, indices, masses, top, shift=shift, moves=one_move(spacing))
    below = math.exp(min(0.0, float(raised[-1]) - found.log_sum))
    return found.with_infinite(cells.infinite, float(np.logaddexp(cells.infinite, cells.first[-1])), below)


def _shift_of_edges(cells: CellMasses, points: NDArray[np.float64], spacing: float) -> float:
    """By how many nats the loss seems to be moved if edges are rounded, and differently for P and for Q.

    If a density p at the edge g is counted on the wrong side over some nats r, the profile is wrong by p r there, and
    that of the loss moved by s differs by s e**g Q(loss > g). Each density is taken from the emptier cell beside the
    edge, twice; atoms lie on the right side.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        above = points + np.logaddexp.accumulate(cells.second[:0:-1])[::-1]
        beside = np.minimum(cells.first[1:-2], cells.first[2:-1])
        logs = np.log(16 * _EPS * np.abs(points[1:-1]) / spacing) + beside - above[1:-1]
    return float(np.exp(logs[~np.isnan(logs)].max(initial=-math.inf)))


def cell_masses(law: DiscretisableLaw, edges: NDArray[np.float64]) -> CellMasses:
    """The law's masses, asked for in blocks, as it may need many numbers for each."""
    starts = range(0, max(1, edges.size - 1), _BLOCK)
    with np.errstate(all="ignore"):
        blocks = [law.masses(edges[start : start + _BLOCK + 1]) for start in starts]
    first, second = _joined([block.first for block in blocks]), _joined([block.second for block in blocks])
    return CellMasses(first, second, blocks[0].infinite, blocks[0].missing)


def _joined(blocks: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The cells of all blocks; their outer ones only where nothing comes before or after."""
    return np.concatenate([blocks[0][:1], *(block[1:-1] for block in blocks), blocks[-1][-1:]])


def _tilted(
    offset: float,
    spacing: float,
    theta: float,
    indices: NDArray[np.int64],
    logs: NDArray[np.float64],
    *,
    shift: float,
    moves: Moves | None = None,
) -> TiltedLaw:
    """These masses at these places, in any order and tilted."""
    raised = logs + theta * (offset + spacing * indices)
    top = float(raised.max())
    places, masses = _collected(indices, np.exp(raised - top))
    return _scaled(offset, spacing, theta, places, masses, top, shift=shift, moves=moves or Moves())


def _scaled(
    offset: float,
    spacing: float,
    theta: float,
    indices: NDArray[np.int64],
    masses: NDArray[np.float64],
    top: float,
    *,
    shift: float,
    moves: Moves,
) -> TiltedLaw:
    """The law whose tilted masses are e**top times these."""
    total = float(masses.sum())
    first, last = int(indices[0]), int(indices[-1])
    farthest = theta * max(abs(offset + spacing * first), abs(offset + spacing * last))
    log_sum = top + math.log(total)
    error = 4 * _EPS * (60 + 2 * farthest + abs(log_sum))
    return TiltedLaw(spacing, theta, offset, indices, masses / total, log_sum, error, moves=moves, shift=shift)


def _collected(
    indices: NDArray[np.int64], masses: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places in ascending order and the sums of the masses at each; without gaps where these are few."""
    first, last = int(indices.min()), int(indices.max())
    if last - first < _GAPS * indices.size:
        return np.arange(first, last + 1, dtype=np.int64), _by_place(indices - first, masses)
    places, inverse = np.unique(indices, return_inverse=True)
    return places, _by_place(inverse, masses)


def _by_place(places: NDArray[np.int64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(places, masses).astype(np.float64, copy=False)
