r"""Masses of losses moved to fewer losses, from below and from above.

From below, losses side by side become one, which is a merging of outputs. From above, a loss between a < b is moved to
both so that its masses p and q are kept ('connecting the dots', see `discretisation`): the share
(1 - e**a q/p)/(1 - e**(a - b)) of p to b.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.finite_losses import as_atoms, atoms_of, symmetric_law
from ldp_audit.losses.loss import PairLoss
from ldp_audit.numerics import log_sum

Numbers = NDArray[np.float64]


class Masses(NamedTuple):
    """Losses, nats, and ln of their masses under Q, shape (m,) each."""

    losses: Numbers
    seconds: Numbers


def coarser(law: LossAtoms, most: int, end: int) -> PairLoss:
    """A law that is its own mirror image with at most so many losses above 0, below (end 0) or above (1)."""
    above = law.losses > 0
    losses, logs = law.losses[above], law.log_probabilities[above]
    if losses.size <= most:
        return law
    found = fewer(Masses(losses, logs - losses), most, end)
    kept = found.losses > 0
    losses, seconds = found.losses[kept], found.seconds[kept]
    return symmetric_law(losses, seconds + losses, infinite=math.exp(law.log_infinite))


def fewer(masses: Masses, most: int, end: int) -> Masses:
    """The same masses at no more losses than that or so, half of them evenly spaced; losses above 0."""
    if masses.losses.size <= most:
        return masses
    ordered = np.sort(masses.losses)
    evenly = ordered[np.linspace(0, ordered.size - 1, most // 2).astype(int)]
    grid = np.union1d(np.append(evenly, 0.0), np.linspace(0.0, float(ordered[-1]), most // 2))
    place = np.clip(np.searchsorted(grid, masses.losses, side="left"), 1, grid.size - 1)
    if end:
        moved = connected(grid[place - 1], grid[place], masses.losses, masses.seconds).masses
        order = np.argsort(moved.losses, kind="stable")
        losses, seconds = moved.losses[order], moved.seconds[order]
        starts = np.flatnonzero(np.diff(losses, prepend=-math.inf) > 0)
        return Masses(losses[starts], np.logaddexp.reduceat(seconds, starts))
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1) > 0)
    seconds = np.logaddexp.reduceat(masses.seconds[order], starts)
    firsts = np.logaddexp.reduceat((masses.seconds + masses.losses)[order], starts)
    return Masses(firsts - seconds, seconds)


def capped(law: PairLoss, bound: float) -> PairLoss:
    """A law above one of which this is an upper end and that has no loss above the bound, nats; without larger ones.

    The other's profile is convex in t and 0 at the bound. So it lies below the chord from there to any corner of this
    one's, of which the steepest that keeps it convex is taken.
    """
    atoms = as_atoms(law)
    if atoms is None or atoms.log_infinite > -math.inf or atoms.largest() <= bound:
        return law
    seconds = atoms.log_probabilities - atoms.losses
    slopes = np.logaddexp.accumulate(seconds[::-1])[::-1]  # ln of how steep the profile is before each loss
    for i in range(int(np.searchsorted(atoms.losses, bound)) - 1, -1, -1):
        loss = float(atoms.losses[i])
        slope = atoms.log_delta_bounds(loss)[1] - bound - math.log(-math.expm1(loss - bound))
        if slope < slopes[i]:
            rest = slopes[i] + math.log(-math.expm1(slope - slopes[i]))
            losses = np.append(atoms.losses[: i + 1], bound)
            return atoms_of(losses, np.concatenate([seconds[:i], [rest, slope]]) + losses)
    return law


class Connected(NamedTuple):
    """Finite losses, ln of the infinite ones' probability, and ln of the mass that Q has where P has none."""

    masses: Masses
    log_infinite: float
    log_missing: float


def connected(low: Numbers, high: Numbers, losses: Numbers, seconds: Numbers) -> Connected:
    """Masses of these losses moved to the ends between which they lie, all of shape (m,).

    An upper end may be infinite, a lower one, or the loss itself, minus infinity.
    """
    kept = (seconds > -math.inf) & (losses > -math.inf)
    missing = log_sum(seconds[losses == -math.inf])
    low, high, losses, seconds = low[kept], high[kept], losses[kept], seconds[kept]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        width = np.log(-np.expm1(low - high))
        over = np.log(-np.expm1(np.minimum(low - losses, 0.0))) - width
        under = np.log(-np.expm1(np.minimum(losses - high, 0.0))) - width + low - losses  # 1 - e**over, to all digits
        up = np.where(high > low, np.minimum(over, 0.0), -math.inf) + losses + seconds
        down = np.where(high > low, np.minimum(under, 0.0), 0.0) + losses + seconds
    infinite = log_sum(up[high == math.inf])
    top = (high < math.inf) & (up > -math.inf)
    bottom = (low > -math.inf) & (down > -math.inf)
    open_below = low == -math.inf
    with np.errstate(divide="ignore"):
        only = seconds[open_below] + np.log(-np.expm1(np.minimum(losses - high, 0.0)[open_below]))
    moved = Masses(np.append(high[top], low[bottom]), np.append(up[top] - high[top], down[bottom] - low[bottom]))
    return Connected(moved, infinite, float(np.logaddexp(missing, log_sum(only))))
