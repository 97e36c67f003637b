"""Amplification by subsampling, exactly: the loss of a mechanism that sees a record only with probability q.

For a pair (P, Q), P with the record, sampling makes ((1 - q) Q + q P, Q). Its loss is ln(1 - q + q e**L), and

    delta(t) = q delta_base(1 + (t - 1)/q)                                 from the data with the record,
    delta(t) = (1 - t (1 - q))_+ delta_reversed(t q / (1 - t (1 - q)))     from the data without it,

where t = e**epsilon and delta_reversed is that of (Q, P). The two differ. Sources: Balle, Barthe, Gaboardi, "Privacy
amplification by subsampling" (NeurIPS 2018), Theorem 2; Zhu, Dong, Wang (AISTATS 2022), Theorem 11.

Symmetric neighbours (`symmetric`). Where any pair may come as (P, Q) and as (Q, P) the profile at t < 1 follows from
that at 1/t: delta(t) = 1 - t + t delta(1/t). Sampling with replaced records has the profile of ((1 - q) Q + q P, Q) at
t >= 1 alone, so neither that pair nor its reverse dominates; the pair that does has the former's losses above 0, the
latter's below, and 0 for the rest (Zhu, Dong, Wang, AISTATS 2022, the remark on subsampling and replacement).

A sampled record of a noisy sum, replaced (`ReplacedLoss`). Let N_v be noise around v, where the other sampled records
add up to 0. The data with one record and with another have the reports P = (1 - q) N_0 + q N_v and Q = (1 - q) N_0 + q
N_w, for some v and w of norm at most s, and at most r <= 2 s apart. At t >= 1 the pair of v = s and w = s - r, on a
line, dominates all others. Proof: let A be any set of reports, and b = N_v(A). Then

    P(A) - t Q(A) = q b - (1 - q) (t - 1) N_0(A) - q t N_w(A).

By the trade-off between noise at distances s and r, N_0(A) and N_w(A) are at least what they are for the half-line H of
that b where v = s and w = s - r: the likelihood ratio of noise on a line rises with the report, so H is the best test
in both cases. The factors of both are negative. Neighbours come in both orders, so the profile at t < 1 follows as
above. For r = 2 s the pair is its own reverse, and dominates at all t.

With c = (1 - q) (t - 1)/q, at the report x where c e**-l + t e**-m = 1 for the losses l(x) of N_s against N_0 and m(x)
against N_(s-r), H is (x, inf), and

    delta(t) = q (c e**-l delta_s(l) + t e**-m delta_r(m)),

with the noise's own delta at the distances s and r. Nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import ZERO_LOSS, DiscreteLoss, atoms_of, symmetric_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import (
    atoms_above,
    atoms_below,
    cells_bound,
    divergence_of,
    dominating_divergence,
    known_bound,
)
from ldp_audit.losses.loss import (
    Atoms,
    CellMasses,
    Divergence,
    KnownLoss,
    PairLoss,
    Transform,
    cells_known,
    known_atoms,
    log_delta_from_reversed,
    log_expm1,
    side,
)
from ldp_audit.losses.noise_losses import NoiseLoss
from ldp_audit.losses.sampled_gaussian import SampledGaussian
from ldp_audit.losses.sampling_rate import SamplingRate

_MOST_ATOMS = 2**18
_LEAST_ORDERS = (1e-5, 1e-2, 0.5)
"""Of alpha - 1 where a divergence is an integral: divergences rise with the order, so the larger order's is a bound."""
_LARGEST = 1e6
"""Nats: beyond, the two masses of a value, e**-loss of each other, have lost their digits, and cells have them still.

Of a loss that is a list there are no other cells: it is sampled value by value, or its bound would be its supremum.
"""


def subsampled(loss: PairLoss, rate: SamplingRate) -> PairLoss:
    """The loss of ((1 - q) Q + q P, Q) from that of (P, Q): exact where that is, discrete where that is."""
    if rate.log_drawn == -math.inf:
        return ZERO_LOSS
    if rate.log_left_out == -math.inf:
        return loss
    sides = loss.sides()
    if sides.upper is not loss:
        return EnclosedLoss(subsampled(sides.lower, rate), subsampled(sides.upper, rate), sides.largest)
    atoms = known_atoms(loss, _MOST_ATOMS)
    if atoms is None or (not isinstance(loss, DiscreteLoss) and np.abs(atoms.losses).max(initial=0.0) > _LARGEST):
        return SubsampledLoss.of_record(loss, rate)
    return _subsampled_values(atoms, rate)


@dataclass(frozen=True)
class SubsampledLoss(KnownLoss):
    """The loss of ((1 - q) Q + q P, Q), or of (Q, (1 - q) Q + q P).

    base: the loss of (P, Q), or of (Q, P).   rate: with 0 < q < 1.   record_first: which of the two pairs it is.
    """

    base: PairLoss
    rate: SamplingRate
    record_first: bool = True

    @classmethod
    def of_record(cls, base: PairLoss, rate: SamplingRate) -> SubsampledLoss:
        """Of ((1 - q) Q + q P, Q); a sample of a sample is one sample."""
        if isinstance(base, SubsampledLoss) and base.record_first:
            return cls(base.base, base.rate.again(rate))
        return cls(base, rate)

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

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`; discrete beside a base that is a sum, or not known."""
        if cells_known(self.base):
            return self
        return None if end is None else self._enclosed[end]

    def transform(self) -> Transform | None:
        """See `KnownLoss`; of subsampled Gaussian noise."""
        return self._transform

    @cached_property
    def _transform(self) -> Transform | None:
        mu, same = self._known_base.dominating_gaussian()
        return SampledGaussian(mu, self.rate, back=not self.record_first) if same else None

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `KnownLoss`: that of the base."""
        return self._known_base.dominating_gaussian()[0], False

    def divergence(self, alpha: float) -> Divergence | None:
        """See `PairLoss`: an integral with a certified error, at most the base's own (Mironov et al. 2019)."""
        if self.known() is None:
            return None
        transform, most = self._transform, divergence_of(self.base, alpha)[0]
        if transform is None:
            return min(dominating_divergence(self, alpha), most), False
        # for tiny losses rounding dominates at orders near 1, and a larger order's divergence is no smaller
        orders = {max(alpha - 1, least) for least in _LEAST_ORDERS}
        return min(most, *(transform.log_mean(c) / c for c in orders)), False

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`; from those of the base."""
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

    @property
    def _known_base(self) -> KnownLoss:
        return cells_bound(self.base, 0)

    @cached_property
    def _enclosed(self) -> tuple[KnownLoss, KnownLoss]:
        bases = [cells_bound(self.base, end) for end in (0, 1)]
        if self.record_first:
            lower, upper = (subsampled(base, self.rate) for base in bases)
        else:
            lower, upper = (subsampled(base.reversed(), self.rate).reversed() for base in bases)
        return known_bound(lower, 0), known_bound(upper, 1)

    @property
    def _sign(self) -> int:
        return 1 if self.record_first else -1

    def _base_masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """The base's masses; edges at -inf come first, those at inf last, and cells beyond them are empty."""
        finite = np.isfinite(edges)
        found = self._known_base.masses(edges[finite] if finite.any() else np.zeros(1))
        ends = int(np.count_nonzero(edges == -math.inf)), int(np.count_nonzero(edges == math.inf))

        def placed(side: NDArray[np.float64]) -> NDArray[np.float64]:
            whole = side if finite.any() else np.logaddexp.reduce(side, keepdims=True)
            return np.pad(whole, ends, constant_values=-math.inf)

        return found._replace(first=placed(found.first), second=placed(found.second))


def _subsampled_values(base: Atoms, rate: SamplingRate) -> KnownLoss:
    losses = np.append(rate.subsampled(base.losses), rate.log_left_out)
    second = np.append(base.log_probabilities - base.losses, base.log_missing)
    # ln(1 - q + q e**L) moves by no more than L, and a mass of the mixture by no larger factor than P's and Q's
    return atoms_of(losses, second + losses, base.log_infinite + rate.log_drawn, error=base.error)


def symmetric(loss: PairLoss) -> PairLoss:
    """The larger of both orders of neighbours: its own reverse, it agrees with this loss at epsilon >= 0.

    loss: with P(loss > 0) + Q(loss > 0) <= 1, as mixtures of a symmetric loss have.
    returns: exact for one report where this loss is. No pair need have it, so a sum lies between that of this loss and
        that of a loss which is this one in either order.
    """
    if loss.reversed() is loss:
        return loss
    sides = loss.sides()
    if sides.upper is not loss:
        return EnclosedLoss(sides.lower, _in_either_order(sides.upper), sides.largest, either_order=True)
    atoms = known_atoms(loss, _MOST_ATOMS)
    if atoms is not None and atoms.error:  # a loss may lie on the other side of 0
        return EnclosedLoss(loss, _in_either_order(atoms_above(loss)), either_order=True)
    return EnclosedLoss(loss, _in_either_order(loss), largest=True, either_order=True)


def _in_either_order(loss: PairLoss, *, below: bool = False) -> PairLoss:
    """The loss that is its own reverse and has the positive values of this one, or of one that dominates it.

    below: the loss is a lower bound, whose two masses may slightly exceed 1; all of them are then scaled down.
    """
    if loss.reversed() is loss:
        return loss
    upper = side(loss, 1)
    atoms = known_atoms(upper, _MOST_ATOMS)
    if atoms is None:
        return SymmetricLoss(upper)
    if atoms.error:
        return _in_either_order((atoms_below if below else atoms_above)(loss), below=below)
    above = atoms.losses > 0
    losses, logs, log_infinite = atoms.losses[above], atoms.log_probabilities[above], atoms.log_infinite
    if below:
        excess = max(0.0, float(np.logaddexp.reduce([*logs, *(logs - losses), log_infinite])))
        logs, log_infinite = logs - excess, log_infinite - excess
    return symmetric_loss(losses, logs, infinite=math.exp(log_infinite))


@dataclass(frozen=True)
class SymmetricLoss(KnownLoss):
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

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: as the upper half."""
        if cells_known(self.upper):
            return self
        return None if end is None else _in_either_order(cells_bound(self.upper, end), below=not end).known(end)

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `KnownLoss`: that of the upper half."""
        return cells_bound(self.upper, 1).dominating_gaussian()[0], False

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`."""
        upper = cells_bound(self.upper, 1)
        return _joined_masses(edges, upper.masses, upper.masses)


_Masses = Callable[[NDArray[np.float64]], CellMasses]


def _joined_masses(edges: NDArray[np.float64], masses_above: _Masses, reversed_above: _Masses) -> CellMasses:
    """The masses of a loss from its own above 0, and its reverse's: both beyond the first of some edges >= 0."""
    positive, at = edges[edges > 0], int(np.searchsorted(edges, 0.0))
    above = masses_above(np.append(0.0, positive))
    # a cell of negative losses has its right edge, and so its reverse has its left one
    opposite = np.nextafter(-edges[edges < 0][::-1], 0.0)
    below = reversed_above(np.append(0.0, opposite))
    found = []
    for high, low, infinite in (
        (above.first, below.second, above.infinite),
        (above.second, below.first, below.infinite),
    ):
        rest = 1 - math.fsum(np.exp(high[1:])) - math.fsum(np.exp(low[1:])) - math.exp(infinite)
        # the last cell below 0 and the first above meet in the cell of 0, unless 0 is an edge
        cells = np.full(edges.size + 1, -math.inf)
        cells[: at + 1] = low[:0:-1]
        where = np.arange(edges.size + 1 - (high.size - 1), edges.size + 1)
        cells[where] = np.logaddexp(cells[where], high[1:])
        cells[at] = np.logaddexp(cells[at], math.log(rest) if rest > 0 else -math.inf)
        found.append(cells)
    return CellMasses(found[0], found[1], above.infinite, below.infinite)


@dataclass(frozen=True)
class ReplacedLoss(KnownLoss):
    """The loss of a noisy sum over a Poisson sample, between data with one record and with another in its place.

    first, second: the loss of the noise, moved by either record if the other's data lack it: at epsilon >= 0 the first
    counts, and below 0 the second.   replaced: moved by both, the farthest.   rate: with 0 < q < 1.
    It is the loss of a pair if the records lie on either side of 0, so that the distances of the two add up; it
    dominates all pairs of records of no longer distances if both are the longest.
    """

    first: NoiseLoss
    second: NoiseLoss
    replaced: NoiseLoss
    rate: SamplingRate

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return True

    def supremum(self) -> float:
        """See `PairLoss`."""
        top, least = self.first.supremum(), self.first.supremum() - self.replaced.supremum()
        return math.inf if top == math.inf else float(np.subtract(*self.rate.subsampled(np.array([top, least]))))

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same at epsilon >= 0, but for logarithms beyond the range of floats."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.reversed().log_delta_bounds(-epsilon))
        if epsilon >= self.supremum():
            return -math.inf, -math.inf
        report, parts = self._reports(np.array([epsilon])), []
        for noise, log in zip((self.first, self.replaced), self._factors(np.array([epsilon])), strict=True):
            loss = float(noise.at(report)[0])
            parts.append([float(log[0]) - loss + end for end in noise.log_delta_bounds(loss)])
        low, high = (self.rate.log_drawn + float(np.logaddexp(*ends)) for ends in zip(*parts, strict=True))
        return low, high

    def reversed(self) -> ReplacedLoss:
        """See `PairLoss`."""
        return self if self.first == self.second else replace(self, first=self.second, second=self.first)

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `KnownLoss`: that of every record drawn, by joint convexity."""
        return self.replaced.dominating_gaussian()[0], False

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`."""
        return _joined_masses(edges, self._masses_above, self.reversed()._masses_above)  # noqa: SLF001  (of the same class)

    def _masses_above(self, edges: NDArray[np.float64]) -> CellMasses:
        """The masses for edges >= 0, but for those up to the first of them."""
        reports, cells = self._reports(edges), self.first.noise_cells
        absent = self.rate.log_left_out + cells(reports + self.first.shift)
        drawn = (self.rate.log_drawn + cells(reports + away) for away in (0.0, self.replaced.shift))
        first, second = (np.logaddexp(absent, one) for one in drawn)
        return CellMasses(first, second, -math.inf, -math.inf)

    def _factors(self, losses: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """ln c and ln t."""
        return self.rate.log_left_out - self.rate.log_drawn + log_expm1(losses), losses

    def _reports(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest report of at most this loss, >= 0."""
        return self.first.report_of(self.replaced.shift, *self._factors(losses))
