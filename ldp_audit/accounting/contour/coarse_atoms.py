r"""A loss told by its cells alone: a law of few atoms that the loss dominates, whatever it is.

Who learns only in which cell the loss lies, learns less. A cell with the masses p and q has the loss ln(p/q).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.grids.loss_sketch import sketch
from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import DiscretisableLaw, LossLaw
from ldp_audit.accounting.laws.rounded_atoms import rounding_of

Numbers = NDArray[np.float64]

_EVENLY, _SHARES = 300, 100
"""How many groups are equally wide, and how many have equal masses under P and under Q."""
_RARE = 1e-12
_EPS = 2.0**-52


def coarse_atoms(law: LossLaw) -> tuple[LossAtoms, float] | None:
    """Such a law, and by how many nats each loss may be rounded; None where cells are not known well enough."""
    atoms = as_atoms(law)
    if atoms is not None:
        losses, first, infinite = atoms.losses, atoms.log_probabilities, atoms.log_infinite
        second = first - losses
    elif callable(getattr(law, "masses", None)):
        known: DiscretisableLaw = law  # type: ignore[assignment]
        cells = known.masses(sketch(known).edges)
        kept = (cells.first > -math.inf) & (cells.second > -math.inf)
        infinite = float(np.logaddexp.reduce([cells.infinite, *cells.first[~kept]]))
        first, second = cells.first[kept], cells.second[kept]
        losses = first - second
    else:
        return None
    if not losses.size:
        return None
    starts = _starts(losses, first, second)
    sizes = np.diff(starts, append=losses.size)
    first, second = (_log_sums(logs, starts, sizes) for logs in (first, second))
    most = float(np.abs(first).max() + np.abs(second).max())
    rounding = rounding_of(law) + _EPS * (16 + 4 * float(sizes.max()) + 8 * most)
    order = np.argsort(first - second)
    losses = (first - second)[order]
    if np.any(np.diff(losses) <= 0):  # tiny losses, of masses that have no digits left for them
        return None
    return LossAtoms(losses, first[order], infinite), rounding


def _log_sums(logs: Numbers, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Numbers:
    """ln of the sums of e**logs in the groups."""
    tops = np.maximum.reduceat(logs, starts)
    return tops + np.log(np.add.reduceat(np.exp(logs - np.repeat(tops, sizes)), starts))


def _starts(losses: Numbers, first: Numbers, second: Numbers) -> NDArray[np.int64]:
    """Where groups of neighbours begin."""
    if losses.size <= _EVENLY:
        return np.arange(losses.size)
    below = [np.cumsum(np.exp(logs - np.logaddexp.reduce(logs))) for logs in (first, second)]
    low, high = (min(float(np.interp(share, one, losses)) for one in below) for share in (_RARE, 1 - _RARE))
    high = max(high, max(float(np.interp(1 - _RARE, one, losses)) for one in below))
    evenly = np.searchsorted(losses, np.linspace(low, high, _EVENLY))
    shares = [np.searchsorted(one, np.linspace(0.0, 1.0, _SHARES)) for one in below]
    starts = np.unique(np.concatenate([[0], evenly, *shares]))
    return starts[starts < losses.size]
