"""Losses of samples, of infinitely many values, counted very often: by lists of finitely many that enclose each.

A list of two thousand losses differs from a loss by 1e-6 of it or so. A grid of a million losses differs from their sum
by as much, and takes its time; frequencies tell a list's sum in hundredths of a second, however often it counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.laws.profile_hull import dominating_atoms
from ldp_audit.accounting.laws.rounded_atoms import with_rounding
from ldp_audit.accounting.sampling.lower_hull import dominated_atoms
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.symmetric_loss import SymmetricLoss

_OFTEN = 10**6
"""From so many times on."""
_LEAST = 1e-6
"""Of the largest loss: masses of a list of tiny ones have lost their digits."""
_ROUNDING = 64 * 2.0**-52
"""Of the logarithms of a list's masses, under P and under Q: as much as if each loss were wrong by it, in nats."""
_RARE, _CONTRAST = 30.0, 1e3
"""Losses that occur less often in all are rare; how many of the others' deviations they may be for frequencies."""

Part = tuple[LossLaw, int]


def listed_parts(parts: Sequence[Part]) -> tuple[list[Part], list[Part]] | None:
    """Lists below and above each loss of a sum, with its number of times; None where they would not serve."""
    found: list[tuple[LossLaw, LossLaw, int]] = []
    for law, times in parts:
        known = as_atoms(law)
        if known is not None:
            found.append((law, law, times))
            continue
        bounded = law.largest() >= _LEAST and math.isfinite(law.largest() + law.mirrored().largest())
        if not (isinstance(law, MixedLoss | SymmetricLoss) and bounded and times >= _OFTEN):
            return None
        low, high = (with_rounding(one, _ROUNDING) for one in (dominated_atoms(law), dominating_atoms(law)))
        if not all(_even(one, times) for one in (low, high)):
            return None
        found.append((low, high, times))
    if all(low is high for low, high, _ in found):
        return None
    return [(low, times) for low, _, times in found], [(high, times) for _, high, times in found]


def _even(law: LossAtoms, times: int) -> bool:
    """Whether no loss is much larger than the deviation of all that are not rare."""
    probabilities, sizes = np.exp(law.log_probabilities), np.abs(law.losses)
    order = np.argsort(sizes)
    often = order[np.cumsum(probabilities[order][::-1])[::-1] * times > _RARE]
    usual = math.sqrt(times * float(probabilities[often] @ law.losses[often] ** 2))
    return law.log_infinite == -math.inf and float(sizes.max()) <= _CONTRAST * usual
