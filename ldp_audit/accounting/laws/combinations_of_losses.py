"""The sum of independent losses with few values, as the list of all combinations, exactly but for their rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import NOTHING, as_atoms, atoms_of, merged
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw

MOST_COMBINATIONS = 100_000
_LARGE = 1e3
"""Losses whose rounding moves delta by more than 1e-12 of itself."""
_MASSES = 1e-12


@dataclass(frozen=True, eq=False)
class RoundedAtoms(LossAtoms):
    """Losses so large that their rounding shows: each is right to `error` nats."""

    error: float = 0.0

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return super().largest() + self.error

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; the ends are those of losses smaller and larger by the error."""
        low, high = (super(RoundedAtoms, self).log_delta_bounds(epsilon + way * self.error) for way in (1, -1))
        return low[0] - _MASSES, min(0.0, high[1] + _MASSES)

    def mirrored(self) -> RoundedAtoms:
        """The loss of (Q, P)."""
        law = super().mirrored()
        return RoundedAtoms(law.losses, law.log_probabilities, law.log_infinite, law.log_missing, self.error)


def sum_of_losses(laws: Sequence[tuple[LossLaw, int]]) -> LossLaw | None:
    """The law of the sum, each loss so many times; never infinite ones only.

    returns: exact up to losses of 1000 nats, enclosed beyond; None where a loss has no finite list of values, or the
    combinations would be too many.
    """
    total, steps = NOTHING, 2
    for law, times in laws:
        power = _power(law, times)
        together = None if power is None else _added(total, power)
        if together is None:
            return None
        total = together
        steps += times.bit_length()
    largest = float(np.max(np.abs(total.losses)))
    found = atoms_of(total.losses, total.log_probabilities)
    if largest <= _LARGE or not isinstance(found, LossAtoms):
        return found
    return RoundedAtoms(
        found.losses, found.log_probabilities, log_missing=-math.inf, error=2 * steps * math.ulp(largest)
    )


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
