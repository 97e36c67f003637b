"""M of a loss with finitely many values: a sum over them. It need not fall off along the line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.transform import EPS, Values, from_excess, log_at_most
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

_LARGEST_POWER = 300.0
_MOST_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class AtomsTransform:
    """M of these atoms, which are believed to be right to 2**-52 (64 + 4 |ln mass|) of their masses.

    atoms: no loss is infinite.   whole: whether the true masses add up to exactly 1.
    """

    atoms: LossAtoms
    whole: bool

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        losses, logs = self.atoms.losses, self.atoms.log_probabilities
        farthest = float(np.abs(losses).max())
        if y.size * losses.size > _MOST_NUMBERS or abs(c) * farthest > _LARGEST_POWER:
            return None
        masses, s = np.exp(logs), c + 1j * y
        found = (masses * np.expm1(s[:, None] * losses)).sum(axis=1)
        weights = masses * np.maximum(1.0, np.exp(c * losses)) * (64 + losses.size + 4 * np.abs(logs))
        # |e**(s l) - 1| <= |s l| e**max(0, c l)
        error = np.abs(s) * float((weights * np.abs(losses)).sum())
        if not self.whole:
            found = found + (math.fsum(masses) - 1)
            error = error + float((masses * (8 + 4 * np.abs(logs))).sum())
        return from_excess(found, 2 * EPS * error)

    def about(self, c: float) -> float:
        """See `Transform`."""
        return log_at_most(self, c)

    def log_limit(self, c: float) -> float:
        """See `Transform`: it comes back to where it was, nearly."""
        return log_at_most(self, c)

    def log_beyond(self, c: float, y: float) -> float:  # noqa: ARG002
        """See `Transform`: no more than M(c)."""
        return log_at_most(self, c)
