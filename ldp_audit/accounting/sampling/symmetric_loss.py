"""The loss under neighbours that come in both orders, from one that is right at epsilon >= 0.

Where any pair may come as (P, Q) and as (Q, P) the profile at t < 1 follows from that at 1/t: delta(t) = 1 - t + t
delta(1/t). Sampling with replaced records has the profile of ((1 - q) Q + q P, Q) at t >= 1 alone, so neither that pair
nor its mirror dominates; the pair that does has the former's losses above 0, the latter's below, and 0 for the rest.
Source: Zhu, Dong, Wang (AISTATS 2022), the remark on subsampling and replacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.bracketed_loss import BracketedLoss, is_known, known_end
from ldp_audit.accounting.laws.finite_losses import as_atoms, symmetric_law
from ldp_audit.accounting.laws.loss_law import CellMasses, DiscretisableLaw, LossLaw
from ldp_audit.accounting.laws.mirrored_levels import of_mirrored
from ldp_audit.accounting.laws.noise_losses import GaussianLoss, LaplaceLoss

_MOST_ATOMS = 2**18
_BELOW_ZERO = -math.ulp(0.0)


def symmetric(law: LossLaw, *, below: bool = False) -> LossLaw:
    """The law that is its own mirror image and agrees with this one at epsilon >= 0.

    law: with P(loss > 0) + Q(loss > 0) <= 1, as mixtures of a symmetric law have.
    below: the law is a lower end, whose two masses may be a little more than 1; then all of them become less.
    """
    if isinstance(law, BracketedLoss):
        return BracketedLoss(symmetric(law.lower, below=True), symmetric(law.upper))
    if isinstance(law, GaussianLoss | LaplaceLoss):  # which are
        return law
    atoms = as_atoms(law, _MOST_ATOMS)
    if atoms is None:
        return SymmetricLoss(law)
    above = atoms.losses > 0
    losses, logs, log_infinite = atoms.losses[above], atoms.log_probabilities[above], atoms.log_infinite
    if below:
        excess = max(0.0, float(np.logaddexp.reduce([*logs, *(logs - losses), log_infinite, log_infinite])))
        logs, log_infinite = logs - excess, log_infinite - excess
    return symmetric_law(losses, logs, infinite=math.exp(log_infinite))


@dataclass(frozen=True)
class SymmetricLoss:
    """A law made symmetric, for one of any kind. It is its own mirror image.

    upper: the law whose losses above 0 it has.
    """

    upper: LossLaw

    @property
    def exact(self) -> bool:
        """See `LossLaw`: as the other."""
        return self.upper.exact

    def largest(self) -> float:
        """See `LossLaw`."""
        return max(0.0, self.upper.largest())

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`."""
        if epsilon >= 0:
            return self.upper.log_delta_bounds(epsilon)
        return of_mirrored(epsilon, self.upper.log_delta_bounds(-epsilon))

    def mirrored(self) -> SymmetricLoss:
        """The loss of (Q, P): the same."""
        return self

    @property
    def known(self) -> bool:
        """Whether its losses are."""
        return is_known(self.upper)

    def enclosed(self) -> tuple[LossLaw, LossLaw]:
        """Those of the two that enclose the other one."""
        return self.enclosed_end(0), self.enclosed_end(1)

    def enclosed_end(self, end: int) -> LossLaw:
        """One of these alone: the lower (0) or the upper (1) one."""
        return symmetric(known_end(self.upper, end), below=not end)

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `DiscretisableLaw`; for an upper half that is one."""
        negative, at = edges[edges < 0], int(np.searchsorted(edges, 0.0))
        upper: DiscretisableLaw = self.upper  # type: ignore[assignment]
        above = upper.masses(np.concatenate([[0.0], edges[edges > 0]]))
        below: CellMasses = upper.mirrored().masses(np.append(negative, _BELOW_ZERO))  # type: ignore[attr-defined]
        rest = (
            1 - sum(math.fsum(np.exp(side)) for side in (above.first[1:], below.first[:-1])) - math.exp(above.infinite)
        )
        found = []
        for high, low in zip(above[:2], below[:2], strict=True):
            # the last cell below 0 and the first above meet in the cell of 0, unless 0 is an edge
            cells = np.full(edges.size + 1, -math.inf)
            cells[: at + 1] = low[:-1]
            where = np.arange(edges.size + 1 - (high.size - 1), edges.size + 1)
            cells[where] = np.logaddexp(cells[where], high[1:])
            cells[at] = np.logaddexp(cells[at], math.log(rest) if rest > 0 else -math.inf)
            found.append(cells)
        return CellMasses(found[0], found[1], above.infinite, above.infinite)
