"""Losses of samples, of infinitely many values, counted very often: by lists of finitely many that enclose each.

A list of some thousand losses differs from a loss by 1e-7 of it or so. A grid of a million losses differs from their
sum by more, and takes its time; frequencies tell a list's sum in hundredths of a second, however often it counts.
A list's masses are right to so many digits, as if its losses were wrong by as many nats. Where losses are tiny that is
much; those of what was sampled are not, and of an error of theirs the share counts that the record has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.cell_lists import cell_lists
from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import DiscretisableLaw, LossLaw
from ldp_audit.accounting.laws.profile_hull import dominating_atoms, levels_of
from ldp_audit.accounting.laws.rounded_atoms import with_rounding
from ldp_audit.accounting.sampling.lower_hull import dominated_atoms
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss, mixed_again
from ldp_audit.accounting.sampling.symmetric_loss import SymmetricLoss, symmetric

_OFTEN = 10**5
"""From so many times on."""
_LARGEST = 1e7
"""Nats: of larger losses the masses of cells have lost their digits."""
_LEAST, _MOST_OF_LEVELS = 1e-6, 100.0
"""Between these the largest loss is where masses come from levels: others have lost their digits."""
_ROUNDING = 64 * 2.0**-52
"""Of the logarithms of a list's masses, under P and under Q: as much as if each loss were wrong by it, in nats."""
_MOST_ATOMS = 100_000
_ROUNDED = 1024
"""By so many units in the last place the largest loss of a sample may be too small."""
_BESIDE = 1e-9
"""How far from its end a cell ends that holds it, as a share of all losses."""

Numbers = NDArray[np.float64]
Part = tuple[LossLaw, int]
Lists = tuple[LossAtoms, LossAtoms]


def listed_parts(parts: Sequence[Part]) -> tuple[list[Part], list[Part]] | None:
    """Lists below and above each loss of a sum, with its number of times; None where they would not serve."""
    found: list[tuple[LossLaw, LossLaw, int]] = []
    for law, times in parts:
        known = as_atoms(law)
        if known is not None:
            found.append((law, law, times))
            continue
        lists = _lists(law) if times >= _OFTEN else None
        if lists is None or any(one.log_infinite > -math.inf for one in lists):
            return None
        found.append((*lists, times))
    if all(low is high for low, high, _ in found):
        return None
    return [(low, times) for low, _, times in found], [(high, times) for _, high, times in found]


def _lists(law: LossLaw) -> Lists | None:
    """Lists below and above one loss: its own, by a method `listed()`, or those of a sample.

    None where it has neither, or no largest one, or lists would lack digits.
    """
    own = getattr(law, "listed", None)
    if callable(own):
        return _as_lists(*own())  # type: ignore[misc]
    largest = max(law.largest(), law.mirrored().largest())
    if not isinstance(law, MixedLoss | SymmetricLoss) or largest > _LARGEST:
        return None
    if (found := _of_sampled(law, largest)) is not None:
        return found
    if law.largest() < _LEAST or largest > _MOST_OF_LEVELS:
        return None
    low, high = (with_rounding(_whole(one), _ROUNDING) for one in (dominated_atoms(law), dominating_atoms(law)))
    return low, high


def _whole(law: LossAtoms) -> LossAtoms:
    """The list with all of its mass: what that was rounded by would count as often as the list does."""
    return replace(law, log_probabilities=law.log_probabilities - math.log(math.fsum(np.exp(law.log_probabilities))))


def _of_sampled(law: MixedLoss | SymmetricLoss, largest: float) -> Lists | None:
    """Lists of what was sampled, with the chance of the sample; None where the masses of its cells are not known."""
    inner = law.upper if isinstance(law, SymmetricLoss) else law
    if not isinstance(inner, MixedLoss) or not inner.known:
        return None
    base: DiscretisableLaw = inner.base  # type: ignore[assignment]
    found = [mixed_again(one, inner) for one in cell_lists(base, _levels(inner))]
    if isinstance(law, SymmetricLoss):
        found = [symmetric(one, below=not end) for end, one in enumerate(found)]
    share = -math.expm1(inner.rate.log_left_out - largest)  # of the record in the largest loss, and so in any
    listed = _as_lists(*found)
    if listed is None:
        return None
    low, high = (with_rounding(one, _ROUNDING * share) for one in listed)
    return low, high


def _as_lists(low: LossLaw, high: LossLaw) -> Lists | None:
    below, above = (as_atoms(one, _MOST_ATOMS) for one in (low, high))
    return None if below is None or above is None else (below, above)


def _levels(law: MixedLoss) -> Numbers:
    """Levels of the base: those at which it is looked at, and those at which the law itself is."""
    lowest, highest = -law.base.mirrored().largest(), law.base.largest()
    beside = _BESIDE * (highest - lowest)  # each end apart, as it may have a mass of its own
    inner = np.concatenate([levels_of(law.base), law.unmixed(levels_of(law)), [lowest + beside, highest - beside]])
    ends = [lowest - _ROUNDED * math.ulp(lowest), lowest, highest, highest + _ROUNDED * math.ulp(highest)]
    return np.unique([*ends, *inner[(lowest < inner) & (inner < highest)]])
