"""A loss known by a lower and an upper bound, and the loss of a public mixture.

`EnclosedLoss` lies between a loss that it dominates and one that dominates it. `LossMixture` is the loss of a mixture
whose output shows which part was drawn: if the part i is drawn with probability w under P and v under Q, the loss is
that part's plus the shift ln(w/v).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import atoms_of
from ldp_audit.losses.hulls import cells_bound, divergence_of, known_bound
from ldp_audit.losses.loss import CellMasses, Divergence, KnownLoss, PairLoss, Sides, cells_known, known_atoms, log_sum

_ROUNDING = 2.0**-48


@dataclass(frozen=True)
class EnclosedLoss(PairLoss):
    """A loss between two losses.

    lower, upper, largest: see `Sides`.
    either_order: it is the largest of both orders of neighbours, and so its own reverse, whatever the lower loss is.
    """

    lower: PairLoss
    upper: PairLoss
    largest: bool = False
    either_order: bool = False

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return self.largest and self.upper.exact

    def sides(self) -> Sides:
        """See `PairLoss`."""
        return Sides(self.lower, self.upper, self.largest)

    def supremum(self) -> float:
        """See `PairLoss`."""
        return self.upper.supremum()

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; in order, also where both are the exact one but for rounding."""
        least, high = self.upper.log_delta_bounds(epsilon)
        low = least if self.largest else self.lower.log_delta_bounds(epsilon)[0]
        return min(low, high), max(low, high)

    def epsilon_near(self, log_delta: float) -> float:
        """See `PairLoss`: that of the upper bound."""
        return self.upper.epsilon_near(log_delta)

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`."""
        return None if end is None else known_bound((self.lower, self.upper)[end], end)

    def reversed(self) -> EnclosedLoss:
        """See `PairLoss`: itself where both bounds are their own reverse, or either order is meant."""
        if self.either_order:
            return self
        lower, upper = self.lower.reversed(), self.upper.reversed()
        same = lower is self.lower and upper is self.upper
        return self if same else EnclosedLoss(lower, upper, self.largest)


class MixtureComponent(NamedTuple):
    """One part: ln of its probability under P, the shift ln(w/v), nats, finite, and its own loss."""

    log_weight: float
    shift: float
    loss: PairLoss


@dataclass(frozen=True)
class LossMixture(KnownLoss):
    """The loss of a public mixture. The weights add up to 1 under P, and so do their e**-shift multiples under Q."""

    parts: tuple[MixtureComponent, ...]

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return all(part.loss.exact for part in self.parts)

    def supremum(self) -> float:
        """See `PairLoss`."""
        return max(part.shift + part.loss.supremum() for part in self.parts)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`: the weighted sum of the parts'."""
        ends = np.array([part.loss.log_delta_bounds(epsilon - part.shift) for part in self.parts])
        low, high = (ends + np.array([[part.log_weight] for part in self.parts])).T
        return min(0.0, log_sum(low)), min(0.0, log_sum(high))

    def reversed(self) -> LossMixture:
        """See `PairLoss`: itself where the parts are the same ones but for rounding, in any order."""
        parts = tuple(MixtureComponent(w - shift, -shift, loss.reversed()) for w, shift, loss in self.parts)
        listed = zip(sorted(self.parts, key=_place), sorted(parts, key=_place), strict=True)
        same = all(np.allclose(one[:2], two[:2], rtol=_ROUNDING, atol=0) and one[2] == two[2] for one, two in listed)
        return self if same else LossMixture(parts)

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`."""
        if all(cells_known(part.loss) for part in self.parts):
            return self
        if end is None:
            return None
        return mixture([(part.log_weight, part.shift, cells_bound(part.loss, end)) for part in self.parts])

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `KnownLoss`."""
        unmoved = all(part.shift == 0 for part in self.parts)
        mus = [cells_bound(part.loss, 1).dominating_gaussian()[0] for part in self.parts] if unmoved else [math.inf]
        return max(mus), False

    def divergence(self, alpha: float) -> Divergence | None:
        """See `PairLoss`: M is the mean of the parts' own, each times e**(c shift)."""
        if any(part.loss.known() is None for part in self.parts):
            return None
        logs = np.array([part.log_weight for part in self.parts])
        values = np.array([part.shift + divergence_of(part.loss, alpha)[0] for part in self.parts])
        if alpha == 1:
            return math.fsum(np.exp(logs) * values), False
        c, powers = alpha - 1, (alpha - 1) * values
        top = float((logs + powers).max())
        if top > 1:
            return (log_sum(logs + powers) + _ROUNDING * top) / c, False
        terms = np.exp(logs) * np.expm1(powers)
        return math.log1p(math.fsum(terms) + _ROUNDING * float(np.abs(terms).sum())) / c, False

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`."""
        found = [_masses(part, edges) for part in self.parts]
        return CellMasses(
            np.logaddexp.reduce([one.first for one in found]),
            np.logaddexp.reduce([one.second for one in found]),
            log_sum(np.array([one.infinite for one in found])),
            log_sum(np.array([one.missing for one in found])),
        )


def mixture(parts: Sequence[tuple[float, float, PairLoss]]) -> KnownLoss:
    """The loss of a public mixture: a `DiscreteLoss` where all parts are."""
    listed = [MixtureComponent(*part) for part in parts]
    pairs = [(part, known_atoms(part.loss)) for part in listed]
    known = [(part, atoms) for part, atoms in pairs if atoms is not None]
    if len(known) < len(pairs):
        return LossMixture(tuple(listed))
    return atoms_of(
        np.concatenate([atoms.losses + part.shift for part, atoms in known]),
        np.concatenate([atoms.log_probabilities + part.log_weight for part, atoms in known]),
        log_sum(np.array([atoms.log_infinite + part.log_weight for part, atoms in known])),
        log_sum(np.array([atoms.log_missing + part.log_weight - part.shift for part, atoms in known])),
        max((atoms.error for _, atoms in known), default=0.0),
    )


def _place(part: MixtureComponent) -> tuple[float, float]:
    return part.shift, part.log_weight


def _masses(part: MixtureComponent, edges: NDArray[np.float64]) -> CellMasses:
    """One part's masses, with its weight under P and under Q."""
    inner, other = cells_bound(part.loss, 0).masses(edges - part.shift), part.log_weight - part.shift
    return CellMasses(
        inner.first + part.log_weight, inner.second + other, inner.infinite + part.log_weight, inner.missing + other
    )
