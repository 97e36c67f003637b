"""The loss of a mixture that shows which part was drawn: each part has a weight, a shift and a loss of its own.

If the part i is drawn with probability w under P and v under Q, the loss is that part's plus the shift ln(w/v).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.finite_losses import as_atoms, atoms_of, log_sum
from ldp_audit.accounting.laws.loss_law import CellMasses, DiscretisableLaw, LossLaw
from ldp_audit.accounting.laws.rounded_atoms import rounded, rounding_of


class Part(NamedTuple):
    """One part: ln of its probability under P, ln of its ratio, nats, finite, and the law of its loss."""

    log_weight: float
    shift: float
    law: LossLaw


@dataclass(frozen=True)
class LossMixture:
    """The loss of a public mixture. The weights add up to 1 under P, and so do their e**-shift multiples under Q."""

    parts: tuple[Part, ...]

    @property
    def exact(self) -> bool:
        """See `LossLaw`."""
        return all(part.law.exact for part in self.parts)

    def largest(self) -> float:
        """See `LossLaw`."""
        return max(part.shift + part.law.largest() for part in self.parts)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`: the sum of the parts'."""
        ends = np.array([part.law.log_delta_bounds(epsilon - part.shift) for part in self.parts])
        low, high = (ends + np.array([[part.log_weight] for part in self.parts])).T
        return min(0.0, log_sum(low)), min(0.0, log_sum(high))

    def mirrored(self) -> LossMixture:
        """The loss of (Q, P)."""
        return LossMixture(tuple(Part(w - shift, -shift, law.mirrored()) for w, shift, law in self.parts))

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `DiscretisableLaw`; for parts that are."""
        found = [_masses(part, edges) for part in self.parts]
        return CellMasses(
            np.logaddexp.reduce([one.first for one in found]),
            np.logaddexp.reduce([one.second for one in found]),
            log_sum(np.array([one.infinite for one in found])),
            log_sum(np.array([one.missing for one in found])),
        )


def mixture(parts: Sequence[tuple[float, float, LossLaw]]) -> LossLaw:
    """The mixture's law: finitely many losses where all parts have finitely many."""
    listed = [Part(*part) for part in parts]
    pairs = [(part, as_atoms(part.law)) for part in listed]
    known = [(part, atoms) for part, atoms in pairs if atoms is not None]
    if len(known) < len(pairs):
        return LossMixture(tuple(listed))
    found = atoms_of(
        np.concatenate([atoms.losses + part.shift for part, atoms in known]),
        np.concatenate([atoms.log_probabilities + part.log_weight for part, atoms in known]),
        log_sum(np.array([atoms.log_infinite + part.log_weight for part, atoms in known])),
        log_sum(np.array([atoms.missing + part.log_weight - part.shift for part, atoms in known])),
    )
    return rounded(found, max((rounding_of(atoms) for _, atoms in known), default=0.0))


def _masses(part: Part, edges: NDArray[np.float64]) -> CellMasses:
    """One part's, with its weight under either law."""
    law: DiscretisableLaw = part.law  # type: ignore[assignment]
    inner, other = law.masses(edges - part.shift), part.log_weight - part.shift
    return CellMasses(
        inner.first + part.log_weight, inner.second + other, inner.infinite + part.log_weight, inner.missing + other
    )
