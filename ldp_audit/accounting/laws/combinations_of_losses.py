"""The sum of independent losses with few values, as the list of all combinations, exactly but for their rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import NOTHING, as_atoms, atoms_of, merged
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.laws.rounded_atoms import rounded, rounding_of

MOST_COMBINATIONS = 100_000
_LARGE = 1e3
"""Losses whose rounding moves delta by more than 1e-12 of itself."""


def sum_of_losses(laws: Sequence[tuple[LossLaw, int]]) -> LossLaw | None:
    """The law of the sum, each loss so many times; never infinite ones only.

    returns: exact up to losses of 1000 nats, enclosed beyond; None where a loss has no finite list of values, or the
    combinations would be too many.
    """
    if _fewest(laws) > MOST_COMBINATIONS:
        return None
    total, steps, given = NOTHING, 2, 0.0
    for law, times in laws:
        power = _power(law, times)
        together = None if power is None else _added(total, power)
        if together is None:
            return None
        total = together
        steps += times.bit_length()
        given += times * rounding_of(law)
    largest = float(np.max(np.abs(total.losses)))
    found = atoms_of(total.losses, total.log_probabilities)
    own = 2 * steps * math.ulp(largest) if largest > _LARGE else 0.0
    return rounded(found, own + given * (1 + 1e-9))


def _fewest(laws: Sequence[tuple[LossLaw, int]]) -> int:
    """So many different sums there are at least; a law with too many values, or no list of them, counts as one value.

    |A + B| >= |A| + |B| - 1 for sets of numbers, as a_1 + b_1 < ... < a_m + b_1 < ... < a_m + b_n. (Sums that differ by
    rounding alone are merged, so there may be fewer in the end: such a sum is left to other ways.)
    """
    known = ((as_atoms(law, MOST_COMBINATIONS), times) for law, times in laws)
    return 1 + sum(times * (atoms.losses.size - 1) for atoms, times in known if atoms is not None)


def _power(law: LossLaw, times: int) -> LossAtoms | None:
    """The sum of so many equal losses, by doubling."""
    if isinstance(law, BinomialLoss):
        return as_atoms(BinomialLoss(law.high, law.low, law.times * times), MOST_COMBINATIONS)
    base, total = as_atoms(law, MOST_COMBINATIONS), NOTHING
    while base is not None and times:
        if times % 2:
            more = _added(total, base)
            if more is None:
                return None
            total = more
        times //= 2
        if times:
            base = _added(base, base)
    return None if base is None else total


def _added(one: LossAtoms, two: LossAtoms) -> LossAtoms | None:
    """All sums of a loss of each; None if they are too many."""
    if one.losses.size * two.losses.size > MOST_COMBINATIONS:
        return None
    losses = np.add.outer(one.losses, two.losses).ravel()
    logs = np.add.outer(one.log_probabilities, two.log_probabilities).ravel()
    return LossAtoms(*merged(losses, logs), log_missing=float("-inf"))
