"""A law known only from both sides: one that it dominates, and one that dominates it.

The loss of a mixture that shows which part was drawn: each part has a weight, a shift and a loss of its own.

If the part i is drawn with probability w under P and v under Q, the loss is that part's plus the shift ln(w/v).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import rounded, rounding_of
from ldp_audit.losses.finite_losses import as_atoms, atoms_of
from ldp_audit.losses.loss import CellMasses, DiscretisableLaw, ImproperLoss, LossLaw, hint_of
from ldp_audit.numerics import log_sum


@dataclass(frozen=True)
class BracketedLoss:
    """Between two laws, at every level and in both orders of the pair; composition keeps that."""

    lower: LossLaw
    upper: LossLaw

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return self.upper.largest()

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`."""
        return self.lower.log_delta_bounds(epsilon)[0], self.upper.log_delta_bounds(epsilon)[1]

    def epsilon_near(self, log_delta: float) -> float:
        """A hint where the level with this ln delta lies, nats; not a number where the upper law has none."""
        return hint_of(self.upper, log_delta)

    def mirrored(self) -> BracketedLoss:
        """The loss of (Q, P)."""
        return BracketedLoss(self.lower.mirrored(), self.upper.mirrored())


def end_of(law: LossLaw, end: int) -> LossLaw:
    """The law that knows the lower (0) or the upper (1) end of this one's delta, without asking for the other."""
    while isinstance(law, BracketedLoss):
        law = (law.lower, law.upper)[end]
    return law


def least_largest(law: LossLaw) -> float:
    """A lower end of the supremum of the loss, nats: that itself for a law that is not known from both sides only."""
    if isinstance(law, BracketedLoss):
        return least_largest(law.lower)
    if isinstance(law, LossMixture):
        return max(part.shift + least_largest(part.law) for part in law.parts)
    if law.exact:
        return law.largest()
    lower = ends_of(law)[0]
    return least_largest(lower) if isinstance(lower, BracketedLoss) else lower.largest()


def is_known(law: LossLaw) -> bool:
    """Whether the law's own losses are known, so that it need not be enclosed by others.

    Those of a law with a method `enclosed()`, see `ends_of`, are where it says so by an attribute `known`.
    """
    if isinstance(law, BracketedLoss):
        return False
    if callable(getattr(law, "enclosed", None)):
        return bool(getattr(law, "known", False))
    if isinstance(law, LossMixture):
        return all(is_known(part.law) for part in law.parts)
    return is_known(law.common) if isinstance(law, ImproperLoss) else True


def ends_of(law: LossLaw) -> tuple[LossLaw, LossLaw]:
    """Two laws whose losses are known that enclose this one: itself twice, if its own are (`is_known`).

    A law that knows its delta only has a method `enclosed()`, which returns the two; it may have one that returns one
    of them alone, `enclosed_end(end)`, with 0 for the lower and 1 for the upper.
    """
    if is_known(law):
        return law, law
    if isinstance(law, BracketedLoss):
        return known_end(law.lower, 0), known_end(law.upper, 1)
    enclosed = getattr(law, "enclosed", None)
    if callable(enclosed):
        lower, upper = enclosed()  # type: ignore[misc]
        return lower, upper
    if isinstance(law, LossMixture):
        parts = [(part, ends_of(part.law)) for part in law.parts]
        lower, upper = (mixture([(part.log_weight, part.shift, ends[i]) for part, ends in parts]) for i in (0, 1))
        return lower, upper
    lower, upper = ends_of(law.common)  # type: ignore[attr-defined]
    return replace(law, common=lower), replace(law, common=upper)  # type: ignore[type-var]


def known_end(law: LossLaw, end: int) -> LossLaw:
    """The lower (0) or the upper (1) one of `ends_of`, without the other where the law can tell one by itself."""
    if is_known(law):
        return law
    if isinstance(law, BracketedLoss):
        return known_end((law.lower, law.upper)[end], end)
    one = getattr(law, "enclosed_end", None)
    return one(end) if callable(one) else ends_of(law)[end]  # type: ignore[return-value]


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
