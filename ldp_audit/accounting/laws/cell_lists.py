"""Lists of finitely many losses below and above a law, from the masses of cells of its losses.

A cell's outcomes as one: the law dominates that. A cell (a, b] whose mass P has its ends' losses instead, so much of
each that P and Q have what they had: that dominates the law, as the loss that a profile is the mean of a convex
function of. Each mass is right to some units in the last place, and so is the sum of all.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.finite_losses import merged
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import DiscretisableLaw

Numbers = NDArray[np.float64]


def cell_lists(law: DiscretisableLaw, levels: Numbers) -> tuple[LossAtoms, LossAtoms]:
    """The lists of a law between the first and the last of these levels, of which the first is its least loss.

    levels: nats, ascending, shape (m,), m >= 2.   Raises ValueError where losses lie beyond them.
    """
    found = law.masses(levels)
    if max(found.first[-1], found.infinite, found.missing) > -math.inf:
        raise ValueError(f"levels must reach from the least loss to the largest, got {levels[0]!r} to {levels[-1]!r}")
    first, second, least = found.first[1:-1], found.second[1:-1], found.first[0]
    left, right = levels[:-1], levels[1:]
    with np.errstate(invalid="ignore"):
        losses = np.where(first > -math.inf, np.clip(first - second, left, right), right)
    below = _list(np.append(levels[0], losses), np.append(least, first))
    whole = np.expm1(left - right)
    with np.errstate(divide="ignore"):
        at_right = first + np.log(np.expm1(left - losses) / whole)
        at_left = first + (left - losses) + np.log(np.expm1(losses - right) / whole)
    above = np.logaddexp(np.append(least, at_right), np.append(at_left, -math.inf))
    return below, _list(levels, above)


def _list(losses: Numbers, logs: Numbers) -> LossAtoms:
    return LossAtoms(*merged(losses[logs > -math.inf], logs[logs > -math.inf]), log_missing=-math.inf)
