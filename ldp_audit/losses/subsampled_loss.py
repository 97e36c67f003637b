"""Amplification by subsampling, exactly: the loss of a mechanism that sees a record only with probability q.

For a pair (P, Q), P with the record, sampling makes ((1 - q) Q + q P, Q). Its loss is ln(1 - q + q e**L), and

    delta(t) = q delta_base(1 + (t - 1)/q)                                 from the data with the record,
    delta(t) = (1 - t (1 - q))_+ delta_reversed(t q / (1 - t (1 - q)))     from the data without it,

where t = e**epsilon and delta_reversed is that of (Q, P). The two differ. Sources: Balle, Barthe, Gaboardi, "Privacy
amplification by subsampling" (NeurIPS 2018), Theorem 2; Zhu, Dong, Wang (AISTATS 2022), on dominating pairs.

Symmetric neighbours (`symmetric`). Where any pair may come as (P, Q) and as (Q, P) the profile at t < 1 follows from
that at 1/t: delta(t) = 1 - t + t delta(1/t). Sampling with replaced records has the profile of ((1 - q) Q + q P, Q) at
t >= 1 alone, so neither that pair nor its reverse dominates; the pair that does has the former's losses above 0, the
latter's below, and 0 for the rest (Zhu, Dong, Wang, AISTATS 2022, the remark on subsampling and replacement).

A sampled record of a noisy sum, replaced (`OpposedLoss`). Let N_v be the noise around v, the sum of the other records
being at 0, and let a record contribute a vector of norm at most a. The data with one record and with another have the
reports (1 - q) N_0 + q N_v and (1 - q) N_0 + q N_w, for some v and w of norm at most a. Of all such pairs that of v = a
and w = -a, on a line, dominates, at every t. Proof: let A be any set of reports, and alpha = N_0(A). By the trade-off
of N_0 and N_v, N_v(A) is at most N_a(H), and N_w(A) at least N_-a(H), for the same half-line H = (x, inf) with N_0(H) =
alpha: both are the best tests of their level, as the likelihood ratio rises with x. So P(A) - t Q(A) <= P_a(H) - t
Q_a(H). At the report x where the ratio of P_a and Q_a is t, let l be the loss of N_a against N_0 there, and m that of
N_0 against N_-a. With delta of the noise alone, both parts of

    delta(t) = q (delta_noise(l) + t e**-m delta_noise(m))

are positive, which keeps their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import ZERO_LOSS, DiscreteLoss, atoms_of, symmetric_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import dominated_atoms, dominating_atoms
from ldp_audit.losses.loss import CellMasses, Divergence, PairLoss, Transform, log_delta_from_reversed
from ldp_audit.losses.noise_losses import NoiseLoss
from ldp_audit.losses.sampled_gaussian import SampledGaussian
from ldp_audit.numerics import log1mexp, log_expm1, log_ratio


@dataclass(frozen=True)
class SamplingRate:
    """ln of the probability q that a record is drawn, and of 1 - q: neither gives the other to all digits."""

    log_drawn: float
    log_left_out: float

    @classmethod
    def of_chance(cls, rate: float) -> SamplingRate:
        """From a number in [0, 1]."""
        drawn = math.log(rate) if rate > 0 else -math.inf
        return cls(drawn, math.log1p(-rate) if rate < 1 else -math.inf)

    @classmethod
    def without_replacement(cls, n: int, k: int, rounds: int = 1) -> SamplingRate:
        """Drawn at least once when k of n records are drawn, afresh each round."""
        left_out = rounds * log_ratio(n - k, n) if k < n else -math.inf
        return cls(log_ratio(k, n) if rounds == 1 and k else log1mexp(left_out), left_out)

    @classmethod
    def with_replacement(cls, n: int, k: int, rounds: int = 1) -> SamplingRate:
        """Drawn at least once by k draws from n records, each from all of them, in each round."""
        left_out = rounds * k * log_ratio(n - 1, n) if n > 1 else (-math.inf if k else 0.0)
        return cls(log1mexp(left_out), left_out)

    def again(self, rate: SamplingRate) -> SamplingRate:
        """The rate of a sample of the sample: the product."""
        log_drawn = self.log_drawn + rate.log_drawn
        if log_drawn < -math.log(2):
            return SamplingRate(log_drawn, log1mexp(log_drawn))
        return SamplingRate(log_drawn, float(np.logaddexp(rate.log_left_out, rate.log_drawn + self.log_left_out)))

    @property
    def drawn(self) -> float:
        """q itself."""
        return math.exp(self.log_drawn)

    def subsampled(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(1 - q + q e**L), right to a few units in the last place of itself, also for tiny q and L near 0.

        losses: nats, infinities too, any shape. For 0 < q < 1.
        """
        losses = np.asarray(losses, dtype=np.float64)
        near = self.drawn * np.expm1(np.minimum(losses, 0.0))
        below = np.where(
            near > -0.5, np.log1p(np.maximum(near, -0.5)), np.logaddexp(self.log_left_out, self.log_drawn + losses)
        )
        return np.where(losses > 0, np.logaddexp(0.0, log_expm1(losses) + self.log_drawn), below)

    def inverse(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of `subsampled`; -inf at and below ln(1 - q), where there is none."""
        losses = np.asarray(losses, dtype=np.float64)
        lower = np.minimum(losses, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.where(lower < 0, np.expm1(lower) * np.exp(-self.log_drawn), 0.0)
        far = self.log_left_out - self.log_drawn + log_expm1(lower - self.log_left_out)
        below = np.where(near > -0.5, np.log1p(np.maximum(near, -0.5)), far)
        return np.where(losses > 0, np.logaddexp(0.0, log_expm1(losses) - self.log_drawn), below)


_MOST_ATOMS = 2**18
_LEAST_ORDERS = (1e-5, 1e-2, 0.5)
"""Of alpha - 1 where a divergence is an integral: divergences rise with the order, so the larger order's is a bound."""
_LARGEST = 1e6
"""Nats: beyond, the two masses of a list, e**-loss of each other, have lost their digits."""


def subsampled(loss: PairLoss, rate: SamplingRate) -> PairLoss:
    """The loss of ((1 - q) Q + q P, Q) from that of (P, Q): exact where that is, discrete where that is."""
    if rate.log_drawn == -math.inf:
        return ZERO_LOSS
    if rate.log_left_out == -math.inf:
        return loss
    if isinstance(loss, SubsampledLoss) and loss.record_first:
        return SubsampledLoss(loss.base, loss.rate.again(rate))
    lower, upper = loss.side(0), loss.side(1)
    if lower is not upper:
        return EnclosedLoss(subsampled(lower, rate), subsampled(upper, rate))
    atoms = loss.atoms(_MOST_ATOMS)
    if atoms is None or (atoms is not loss and np.abs(atoms.losses).max(initial=0.0) > _LARGEST):
        return SubsampledLoss(loss, rate)
    return _subsampled_values(atoms, rate)


@dataclass(frozen=True)
class SubsampledLoss(PairLoss):
    """The loss of ((1 - q) Q + q P, Q), or of (Q, (1 - q) Q + q P).

    base: the loss of (P, Q), or of (Q, P).   rate: with 0 < q < 1.   record_first: which of the two pairs it is.
    """

    base: PairLoss
    rate: SamplingRate
    record_first: bool = True

    @property
    def exact(self) -> bool:
        """See `PairLoss`: as the base."""
        return self.base.exact

    def supremum(self) -> float:
        """See `PairLoss`."""
        return self._sign * float(self.rate.subsampled(np.array(self._sign * self.base.supremum())))

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the bounds are as far apart as the base's."""
        lowest = self.rate.log_left_out
        if self.record_first and epsilon <= lowest:  # no loss is below ln(1 - q)
            certain = math.log(-math.expm1(epsilon))
            return certain, certain
        if not self.record_first and epsilon >= -lowest:  # none is above its negative
            return -math.inf, -math.inf
        share = self.rate.log_drawn if self.record_first else math.log(-math.expm1(epsilon + lowest))
        low, high = self.base.log_delta_bounds(float(self.base_losses(np.array(epsilon))))
        return share + low, share + high

    def reversed(self) -> SubsampledLoss:
        """See `PairLoss`."""
        return SubsampledLoss(self.base.reversed(), self.rate, not self.record_first)

    @property
    def known(self) -> bool:
        """See `PairLoss`: of a base that is known and discretisable."""
        return self.base.known and self.base.discretisable

    @property
    def discretisable(self) -> bool:
        """See `PairLoss`."""
        return self.base.discretisable

    def known_bound(self, end: int) -> PairLoss:
        """See `PairLoss`; discrete for a base that is known."""
        return self if self.known else self._enclosed[end]

    def transform(self) -> Transform | None:
        """See `PairLoss`; of subsampled Gaussian noise."""
        return self._transform

    @cached_property
    def _transform(self) -> Transform | None:
        mu, same = self.base.dominating_gaussian()
        return SampledGaussian(mu, self.rate, back=not self.record_first) if same else None

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `PairLoss`: that of the base."""
        return self.base.dominating_gaussian()[0], False

    def _divergence(self, alpha: float) -> Divergence:
        """An integral with a certified error, and never more than without sampling (Mironov, Talwar, Zhang 2019)."""
        transform = self._transform
        if transform is None:
            return min(super()._divergence(alpha)[0], self.base.divergence(alpha)[0]), False
        # for tiny losses rounding dominates at orders near 1, and a larger order's divergence is no smaller
        orders = {max(alpha - 1, least) for least in _LEAST_ORDERS}
        return min(self.base.divergence(alpha)[0], *(transform.log_mean(c) / c for c in orders)), False

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `PairLoss`; for a base that is discretisable."""
        inner = self._base_masses(self.base_losses(edges))
        with_record, without = (inner.first, inner.second)[:: self._sign]
        drawn = np.logaddexp(without + self.rate.log_left_out, with_record + self.rate.log_drawn)
        only_with, only_without = (inner.infinite, inner.missing)[:: self._sign]
        left_out = only_without + self.rate.log_left_out
        # outputs possible only without the record have the loss ln(1 - q)
        cell = int(np.searchsorted(edges, self._sign * self.rate.log_left_out, side="left"))
        drawn[cell], without[cell] = np.logaddexp(drawn[cell], left_out), np.logaddexp(without[cell], only_without)
        shown = only_with + self.rate.log_drawn
        if self.record_first:
            return CellMasses(drawn, without, shown, -math.inf)
        return CellMasses(without, drawn, -math.inf, shown)

    def base_losses(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The base's losses for these, nats, same shape; infinite where there is none."""
        return self._sign * self.rate.inverse(self._sign * losses)

    @cached_property
    def _enclosed(self) -> tuple[PairLoss, PairLoss]:
        lower, upper = self.base.known_bounds()
        if self.base.known:
            lower, upper = dominated_atoms(lower), dominating_atoms(upper)
        return subsampled_like(lower, self), subsampled_like(upper, self)

    @property
    def _sign(self) -> int:
        return 1 if self.record_first else -1

    def _base_masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """The base's masses; edges at -inf come first, those at inf last, and cells beyond them are empty."""
        base = self.base
        finite = np.isfinite(edges)
        found = base.masses(edges[finite] if finite.any() else np.zeros(1))
        ends = int(np.count_nonzero(edges == -math.inf)), int(np.count_nonzero(edges == math.inf))

        def placed(side: NDArray[np.float64]) -> NDArray[np.float64]:
            whole = side if finite.any() else np.logaddexp.reduce(side, keepdims=True)
            return np.pad(whole, ends, constant_values=-math.inf)

        return found._replace(first=placed(found.first), second=placed(found.second))


def subsampled_like(loss: PairLoss, like: SubsampledLoss) -> PairLoss:
    """The subsampled loss of another base."""
    return subsampled(loss, like.rate) if like.record_first else subsampled(loss.reversed(), like.rate).reversed()


def _subsampled_values(base: DiscreteLoss, rate: SamplingRate) -> PairLoss:
    losses = np.append(rate.subsampled(base.losses), rate.log_left_out)
    second = np.append(base.log_probabilities - base.losses, base.missing)
    return atoms_of(losses, second + losses, base.log_infinite + rate.log_drawn)


_BELOW_ZERO = -math.ulp(0.0)


def symmetric(loss: PairLoss, *, below: bool = False) -> PairLoss:
    """The loss that is its own reverse and agrees with this one at epsilon >= 0.

    loss: with P(loss > 0) + Q(loss > 0) <= 1, as mixtures of a symmetric loss have.
    below: the loss is a lower bound, whose two masses may slightly exceed 1; all of them are then scaled down.
    """
    lower, upper = loss.side(0), loss.side(1)
    if lower is not upper:
        return EnclosedLoss(symmetric(lower, below=True), symmetric(upper))
    if loss.reversed() is loss:
        return loss
    atoms = loss.atoms(_MOST_ATOMS)
    if atoms is None:
        return SymmetricLoss(loss)
    above = atoms.losses > 0
    losses, logs, log_infinite = atoms.losses[above], atoms.log_probabilities[above], atoms.log_infinite
    if below:
        excess = max(0.0, float(np.logaddexp.reduce([*logs, *(logs - losses), log_infinite])))
        logs, log_infinite = logs - excess, log_infinite - excess
    return symmetric_loss(losses, logs, infinite=math.exp(log_infinite))


@dataclass(frozen=True)
class SymmetricLoss(PairLoss):
    """The loss of `symmetric`, its own reverse.

    upper: the loss with which it agrees at epsilon >= 0.
    """

    upper: PairLoss

    @property
    def exact(self) -> bool:
        """See `PairLoss`: as the upper half."""
        return self.upper.exact

    def supremum(self) -> float:
        """See `PairLoss`."""
        return max(0.0, self.upper.supremum())

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`."""
        if epsilon >= 0:
            return self.upper.log_delta_bounds(epsilon)
        return log_delta_from_reversed(epsilon, self.upper.log_delta_bounds(-epsilon))

    def reversed(self) -> SymmetricLoss:
        """See `PairLoss`: the same."""
        return self

    @property
    def known(self) -> bool:
        """See `PairLoss`: as the upper half."""
        return self.upper.known

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `PairLoss`: that of the upper half."""
        return self.upper.dominating_gaussian()[0], False

    @property
    def discretisable(self) -> bool:
        """See `PairLoss`."""
        return self.upper.discretisable

    def known_bound(self, end: int) -> PairLoss:
        """See `PairLoss`."""
        return self if self.known else symmetric(self.upper.known_bound(end), below=not end)

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `PairLoss`; for an upper half that is discretisable."""
        negative, at = edges[edges < 0], int(np.searchsorted(edges, 0.0))
        upper = self.upper
        above = upper.masses(np.concatenate([[0.0], edges[edges > 0]]))
        below: CellMasses = upper.reversed().masses(np.append(negative, _BELOW_ZERO))  # type: ignore[attr-defined]
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


def opposed(noise: NoiseLoss, rate: SamplingRate) -> PairLoss:
    """The loss of `OpposedLoss`, for any rate."""
    if rate.log_drawn == -math.inf:
        return ZERO_LOSS
    return noise.group(2) if rate.log_left_out == -math.inf else OpposedLoss(noise, rate)


@dataclass(frozen=True)
class OpposedLoss(PairLoss):
    """The loss of ((1 - q) N_0 + q N_a, (1 - q) N_0 + q N_-a), its own reverse: a sampled record moves noise up, or down.

    noise: the loss of N_a against N_0.   rate: with 0 < q < 1.
    """

    noise: NoiseLoss
    rate: SamplingRate

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return True

    def supremum(self) -> float:
        """See `PairLoss`."""
        top = self.noise.supremum()
        high, low = self.rate.subsampled(np.array([top, -top]))
        return float(high - low)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same at epsilon >= 0."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.log_delta_bounds(-epsilon))
        if epsilon >= self.supremum():
            return -math.inf, -math.inf
        report = self._reports(np.array([epsilon]))
        above, below = float(self.noise.at(report)[0]), -float(self.noise.at(-report)[0])
        ends = zip(self.noise.log_delta_bounds(above), self.noise.log_delta_bounds(below), strict=True)
        low, high = (self.rate.log_drawn + float(np.logaddexp(one, epsilon - below + two)) for one, two in ends)
        return low, high

    def reversed(self) -> OpposedLoss:
        """See `PairLoss`: the same."""
        return self

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `PairLoss`: that of every record drawn, by joint convexity."""
        return 2 * self.noise.dominating_gaussian()[0], False

    @property
    def discretisable(self) -> bool:
        """See `PairLoss`."""
        return True

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `PairLoss`."""
        report, shift = self._reports(edges), self.noise.shift
        rest = self.rate.log_left_out + self.noise.noise_cells(report)
        moved = (self.rate.log_drawn + self.noise.noise_cells(report + away) for away in (-shift, shift))
        first, second = (np.logaddexp(rest, cells) for cells in moved)
        return CellMasses(first, second, -math.inf, -math.inf)

    def _reports(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest report of at most this loss."""
        return np.copysign(self.noise.opposed_reports(np.abs(losses), self.rate), losses)
