"""The chance that a record is in the sample, and what that does to a privacy loss: ln(1 - q + q e**L).

The loss of a mechanism that sees a record only with the chance q: amplification by sampling, exactly.

For a pair (P, Q), P with the record, sampling makes ((1 - q) Q + q P, Q). Its loss is ln(1 - q + q e**L), and

    delta(t) = q delta_base(1 + (t - 1)/q)                                 from the data with the record,
    delta(t) = (1 - t (1 - q))_+ delta_mirror(t q / (1 - t (1 - q)))       from the data without it,

where t = e**epsilon and delta_mirror is that of (Q, P). The two differ. Sources: Balle, Barthe, Gaboardi, "Privacy
amplification by subsampling" (NeurIPS 2018), Theorem 2; Zhu, Dong, Wang (AISTATS 2022), on dominating pairs.

The loss under neighbours that come in both orders, from one that is right at epsilon >= 0.

Where any pair may come as (P, Q) and as (Q, P) the profile at t < 1 follows from that at 1/t: delta(t) = 1 - t + t
delta(1/t). Sampling with replaced records has the profile of ((1 - q) Q + q P, Q) at t >= 1 alone, so neither that pair
nor its mirror dominates; the pair that does has the former's losses above 0, the latter's below, and 0 for the rest.
Source: Zhu, Dong, Wang (AISTATS 2022), the remark on subsampling and replacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.binomial_loss import BinomialLoss
from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.enclosed_loss import BracketedLoss, ends_of, is_known, known_end
from ldp_audit.losses.finite_losses import NOTHING, as_atoms, atoms_of, symmetric_law
from ldp_audit.losses.hulls import dominated_atoms, dominating_atoms
from ldp_audit.losses.loss import CellMasses, DiscretisableLaw, LossLaw, of_mirrored
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.numerics import log_lacking, log_ratio


@dataclass(frozen=True)
class SamplingRate:
    """ln of the chance q that a record is drawn, and of 1 - q: both, since neither says the other to all digits."""

    log_drawn: float
    log_left_out: float

    @classmethod
    def of_chance(cls, rate: float) -> SamplingRate:
        """Of a number in [0, 1]."""
        drawn = math.log(rate) if rate > 0 else -math.inf
        return cls(drawn, math.log1p(-rate) if rate < 1 else -math.inf)

    @classmethod
    def without_replacement(cls, n: int, k: int, rounds: int = 1) -> SamplingRate:
        """Drawn at least once when k of n records are drawn, afresh each round."""
        left_out = rounds * log_ratio(n - k, n) if k < n else -math.inf
        return cls(log_ratio(k, n) if rounds == 1 and k else log_lacking(left_out), left_out)

    @classmethod
    def with_replacement(cls, n: int, k: int, rounds: int = 1) -> SamplingRate:
        """Drawn at least once by k draws from n records, each from all of them, in each round."""
        left_out = rounds * k * log_ratio(n - 1, n) if n > 1 else (-math.inf if k else 0.0)
        return cls(log_lacking(left_out), left_out)

    def again(self, rate: SamplingRate) -> SamplingRate:
        """Of a sample of the sample, drawn by the other rate: the product."""
        log_drawn = self.log_drawn + rate.log_drawn
        if log_drawn < -math.log(2):
            return SamplingRate(log_drawn, log_lacking(log_drawn))
        return SamplingRate(log_drawn, float(np.logaddexp(rate.log_left_out, rate.log_drawn + self.log_left_out)))

    @property
    def drawn(self) -> float:
        """q itself."""
        return math.exp(self.log_drawn)

    def mixed(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(1 - q + q e**L), right to a few units in the last place of itself, also for tiny q and L near 0.

        losses: nats, infinities too, any shape. For 0 < q < 1.
        """
        losses = np.asarray(losses, dtype=np.float64)
        near = self.drawn * np.expm1(np.minimum(losses, 0.0))
        below = np.where(
            near > -0.5, np.log1p(np.maximum(near, -0.5)), np.logaddexp(self.log_left_out, self.log_drawn + losses)
        )
        return np.where(losses > 0, np.logaddexp(0.0, _log_expm1(losses) + self.log_drawn), below)

    def unmixed(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of `mixed`; -inf at and below ln(1 - q), where it takes no value."""
        losses = np.asarray(losses, dtype=np.float64)
        lower = np.minimum(losses, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.where(lower < 0, np.expm1(lower) * np.exp(-self.log_drawn), 0.0)
        far = self.log_left_out - self.log_drawn + _log_expm1(lower - self.log_left_out)
        below = np.where(near > -0.5, np.log1p(np.maximum(near, -0.5)), far)
        return np.where(losses > 0, np.logaddexp(0.0, _log_expm1(losses) - self.log_drawn), below)


def _log_expm1(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(e**v - 1); -inf where that is not positive."""
    positive = np.maximum(values, 0.0)
    with np.errstate(divide="ignore"):
        return positive + np.log(-np.expm1(-positive))


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
