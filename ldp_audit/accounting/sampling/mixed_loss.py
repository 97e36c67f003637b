"""The loss of a mechanism that sees a record only with the chance q: amplification by sampling, exactly.

For a pair (P, Q), P with the record, sampling makes ((1 - q) Q + q P, Q). Its loss is ln(1 - q + q e**L), and

    delta(t) = q delta_base(1 + (t - 1)/q)                                 from the data with the record,
    delta(t) = (1 - t (1 - q))_+ delta_mirror(t q / (1 - t (1 - q)))       from the data without it,

where t = e**epsilon and delta_mirror is that of (Q, P). The two differ. Sources: Balle, Barthe, Gaboardi, "Privacy
amplification by subsampling" (NeurIPS 2018), Theorem 2; Zhu, Dong, Wang (AISTATS 2022), on dominating pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.bracketed_loss import BracketedLoss, ends_of, is_known
from ldp_audit.accounting.laws.finite_losses import NOTHING, as_atoms, atoms_of
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import CellMasses, DiscretisableLaw, LossLaw
from ldp_audit.accounting.laws.profile_hull import dominating_atoms
from ldp_audit.accounting.sampling.lower_hull import dominated_atoms
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

_MOST_ATOMS = 2**18
_LARGEST = 1e6
"""Nats: of larger losses a list's two masses, e**-loss of each other, have lost their digits."""


def mixed(law: LossLaw, rate: SamplingRate) -> LossLaw:
    """The loss of ((1 - q) Q + q P, Q) for the law of (P, Q): exact where that is, finitely many losses likewise."""
    if rate.log_drawn == -math.inf:
        return NOTHING
    if rate.log_left_out == -math.inf:
        return law
    if isinstance(law, MixedLoss) and law.record_first:
        return MixedLoss(law.base, law.rate.again(rate))
    if isinstance(law, BracketedLoss):
        return BracketedLoss(mixed(law.lower, rate), mixed(law.upper, rate))
    large = isinstance(law, BinomialLoss) and max(law.largest(), law.mirrored().largest()) > _LARGEST
    atoms = None if large else as_atoms(law, _MOST_ATOMS)
    return MixedLoss(law, rate) if atoms is None else _mixed_atoms(atoms, rate)


@dataclass(frozen=True)
class MixedLoss:
    """The loss of ((1 - q) Q + q P, Q), or of (Q, (1 - q) Q + q P), for a law of any kind.

    base: the law of (P, Q), or of (Q, P).   rate: with 0 < q < 1.   record_first: which of the two pairs it is.
    """

    base: LossLaw
    rate: SamplingRate
    record_first: bool = True

    @property
    def exact(self) -> bool:
        """See `LossLaw`: as the base."""
        return self.base.exact

    def largest(self) -> float:
        """See `LossLaw`."""
        return self._sign * float(self.rate.mixed(np.array(self._sign * self.base.largest())))

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; the ends are as far apart as the base's."""
        lowest = self.rate.log_left_out
        if self.record_first and epsilon <= lowest:  # no loss is below ln(1 - q)
            certain = math.log(-math.expm1(epsilon))
            return certain, certain
        if not self.record_first and epsilon >= -lowest:  # none is above its negative
            return -math.inf, -math.inf
        share = self.rate.log_drawn if self.record_first else math.log(-math.expm1(epsilon + lowest))
        low, high = self.base.log_delta_bounds(float(self.unmixed(np.array(epsilon))))
        return share + low, share + high

    def mirrored(self) -> MixedLoss:
        """The loss of the other pair."""
        return MixedLoss(self.base.mirrored(), self.rate, not self.record_first)

    @property
    def known(self) -> bool:
        """Whether its losses are: of a base that knows its own, and the masses of cells."""
        return is_known(self.base) and hasattr(self.base, "masses")

    def enclosed(self) -> tuple[LossLaw, LossLaw]:
        """Two laws that enclose this one; with finitely many losses for a base that knows its own."""
        return self._enclosed

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `DiscretisableLaw`; for a base that is one."""
        inner = self._base_masses(self.unmixed(edges))
        with_record, without = (inner.first, inner.second)[:: self._sign]
        drawn = np.logaddexp(without + self.rate.log_left_out, with_record + self.rate.log_drawn)
        only_with, only_without = (inner.infinite, inner.missing)[:: self._sign]
        left_out = only_without + self.rate.log_left_out
        # what comes only without the record has the one loss ln(1 - q) now
        cell = int(np.searchsorted(edges, self._sign * self.rate.log_left_out, side="left"))
        drawn[cell], without[cell] = np.logaddexp(drawn[cell], left_out), np.logaddexp(without[cell], only_without)
        shown = only_with + self.rate.log_drawn
        if self.record_first:
            return CellMasses(drawn, without, shown, -math.inf)
        return CellMasses(without, drawn, -math.inf, shown)

    def unmixed(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The base's losses for these, nats, same shape; infinite where there is none."""
        return self._sign * self.rate.unmixed(self._sign * losses)

    @cached_property
    def _enclosed(self) -> tuple[LossLaw, LossLaw]:
        lower, upper = ends_of(self.base)
        if is_known(self.base):
            lower, upper = dominated_atoms(lower), dominating_atoms(upper)
        return mixed_again(lower, self), mixed_again(upper, self)

    @property
    def _sign(self) -> int:
        return 1 if self.record_first else -1

    def _base_masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """The base's masses; edges at -inf come first, those at inf last, and cells beyond them are empty."""
        base: DiscretisableLaw = self.base  # type: ignore[assignment]
        finite = np.isfinite(edges)
        found = base.masses(edges[finite] if finite.any() else np.zeros(1))
        ends = int(np.count_nonzero(edges == -math.inf)), int(np.count_nonzero(edges == math.inf))

        def placed(side: NDArray[np.float64]) -> NDArray[np.float64]:
            whole = side if finite.any() else np.logaddexp.reduce(side, keepdims=True)
            return np.pad(whole, ends, constant_values=-math.inf)

        return found._replace(first=placed(found.first), second=placed(found.second))


def mixed_again(law: LossLaw, like: MixedLoss) -> LossLaw:
    """The loss of a law that takes the place of another one's base."""
    return mixed(law, like.rate) if like.record_first else mixed(law.mirrored(), like.rate).mirrored()


def _mixed_atoms(base: LossAtoms, rate: SamplingRate) -> LossLaw:
    losses = np.append(rate.mixed(base.losses), rate.log_left_out)
    second = np.append(base.log_probabilities - base.losses, base.missing)
    return atoms_of(losses, second + losses, base.log_infinite + rate.log_drawn)
