"""Privacy losses with finitely many values, exactly.

`DiscreteLoss` is a list of losses and probabilities: what every finite mechanism and every grid has. `BinomialLoss` is
the sum of T two-valued losses, for T up to 10**18: if one report has the loss a with probability p, and b < a with
probability q, under P, the sum is T b + K (a - b) with K binomial, and

    delta(epsilon) = sum over k of C(T, k) p**k q**(T - k) (1 - e**(epsilon - T b - k (a - b)))_+.

The first positive term and the distance of its loss from epsilon are exact, as losses are the fractions that their
floats are; `log_sum_of_gains` adds the terms. Randomised response on two values and the two-point mechanism have such a
loss, and it dominates every mechanism of the same pure epsilon (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3). A
group of j records has at most the two losses j e0 and -j e0 if one record's are at most e0.

Neighbours of local privacy come in both orders, so the dominating pair is its own reverse: a loss l of probability p
under P comes with the loss -l of probability p e**-l, and the rest has loss 0 (`symmetric_loss`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.binomial import Binomial, log_binomial, log_sum_of_gains
from ldp_audit.losses.divergence import log_gains, log_mean, of_excess
from ldp_audit.losses.loss import (
    EPS,
    Atoms,
    CellMasses,
    Divergence,
    KnownLoss,
    LossWithInfinity,
    Transform,
    Values,
    from_excess,
    log_finite,
    log_sum,
    merged,
)
from ldp_audit.numerics import as_float, between, instance, log1mexp, log_ratio, nonnegative, probability, shown, whole

_SLACK = 1e-9
_MASSES, _SAME = 1e-12, 1e-13
"""The shares by which masses, and losses, of a loss that is its own reverse may be rounded."""
_MOST_ATOMS = 1000
"""Longer lists have no transform."""
_NEAR_ONE, _WHOLE = -0.1, 1e-12
"""ln of a delta that is near 1, and the rounding of masses that add up to 1."""


@dataclass(frozen=True, eq=False)
class DiscreteLoss(KnownLoss):
    """A loss that takes each of these values with these probabilities under P; under Q they weigh e**-loss of that.

    losses: nats, ascending, finite, shape (m,).   log_probabilities: ln P(loss), same shape.
    log_infinite: ln P(loss = inf).
    log_missing: ln of Q's mass outside the support of P; by default 1 less Q's masses, beyond rounding.
    error: nats, by which each loss may be wrong beyond its last digits, and so ln of each mass under P and under Q.
    Raises ValueError where shapes or order are wrong, where P's masses do not add up to 1, or Q's exceed it.
    """

    losses: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]
    log_infinite: float = -math.inf
    log_missing: float | None = None
    error: float = 0.0

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return not self.error

    def __post_init__(self) -> None:
        try:
            losses, logs = (np.asarray(a, dtype=np.float64) for a in (self.losses, self.log_probabilities))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"losses and log_probabilities must be real numbers: {error}") from None
        if losses.ndim != 1 or losses.shape != logs.shape:
            raise ValueError(f"losses and log_probabilities must be of one length, got {losses.shape} and {logs.shape}")
        if not np.all(np.isfinite(losses)) or np.any(np.diff(losses) <= 0):
            raise ValueError("losses must be finite and ascending; an infinite loss is given by log_infinite")
        missing = -math.inf if self.log_missing is None else self.log_missing
        for name, end in (("log_infinite", self.log_infinite), ("log_missing", missing)):
            between(end, name, "a number <= 0", lambda log: log <= _SLACK)
        nonnegative(self.error, "error")
        total = log_sum(np.append(logs, self.log_infinite))
        other = log_sum(logs - losses)
        if not abs(total) <= _SLACK or not other <= _SLACK:
            raise ValueError(f"masses must be 1 in all under P, at most 1 under Q, got ln {total!r}, ln {other!r}")
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "log_probabilities", logs)
        if self.log_missing is None:
            object.__setattr__(self, "log_missing", _lack(other, losses.size))

    @classmethod
    def of_laws(cls, first: Mapping[Any, float], second: Mapping[Any, float]) -> DiscreteLoss:
        """The loss between two distributions {outcome: probability}; equal ratios become one atom.

        Raises ValueError as the class.
        """
        for name, law in (("first", first), ("second", second)):
            instance(law, Mapping, name, "probabilities by outcome")
            for mass in law.values():
                if mass and not probability(mass, name):
                    raise ValueError(f"{name} must have probabilities of 0 or at least 5e-324, got {shown(mass)}")
            total = math.fsum(map(float, law.values()))
            if abs(total - 1) > _SLACK:
                raise ValueError(f"{name} must have probabilities that add up to 1, got {total!r} in all")
        masses: dict[float, list[float]] = {}
        missing = [float(q) for outcome, q in second.items() if q > 0 and not first.get(outcome, 0) > 0]
        infinite = [float(p) for outcome, p in first.items() if p > 0 and not second.get(outcome, 0) > 0]
        shared = {outcome: q for outcome, q in second.items() if q > 0 and first.get(outcome, 0) > 0}
        for outcome, q in shared.items():
            masses.setdefault(math.log(first[outcome] / q), []).append(float(first[outcome]))
        losses = sorted(masses)
        logs = np.log([math.fsum(masses[loss]) for loss in losses]) if losses else np.empty(0)
        finite, known = [mass for group in masses.values() for mass in group], [float(q) for q in shared.values()]
        return cls(np.array(losses), logs, _log_rest(infinite, finite), _log_rest(missing, known))

    def supremum(self) -> float:
        """See `PairLoss`."""
        bounded = self.log_infinite == -math.inf and self.losses.size
        return float(self.losses[-1]) + self.error if bounded else math.inf

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; rounded losses are moved down and up by their error."""
        if not self.error:
            value = self._log_delta(epsilon)
            return value, value
        low, high = self._log_delta(epsilon + self.error), self._log_delta(epsilon - self.error)
        masses = _MASSES + self.error
        return _share_moved(low, -masses), min(0.0, _share_moved(high, masses))

    def _log_delta(self, epsilon: float) -> float:
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        above = self.losses[first:]
        with np.errstate(divide="ignore"):
            gains = self.log_probabilities[first:] + np.log(-np.expm1(epsilon - above))
        value = log_sum(np.append(gains, self.log_infinite))
        if value > _NEAR_ONE:  # 1 - delta has its own digits, if the masses add up to 1
            lacking = log_sum(self.log_probabilities + np.minimum(0.0, epsilon - self.losses))
            return log1mexp(lacking) if abs(np.logaddexp(value, lacking)) < _WHOLE else value
        return value

    def reversed(self) -> DiscreteLoss:
        """See `PairLoss`: the negative losses, weighed by Q; itself where these are the same but for rounding."""
        weights = self.log_probabilities - self.losses
        if (
            np.allclose(-self.losses[::-1], self.losses, rtol=_SAME, atol=2 * EPS)
            and np.allclose(weights[::-1], self.log_probabilities, rtol=4 * EPS, atol=_MASSES)
            and (self.missing == self.log_infinite or abs(self.missing - self.log_infinite) < _MASSES)
        ):
            return self
        return DiscreteLoss(-self.losses[::-1], weights[::-1], self.missing, self.log_infinite, self.error)

    def __eq__(self, other: object) -> bool:
        return type(other) is DiscreteLoss and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[bytes, bytes, float, float]:
        return self.losses.tobytes(), self.log_probabilities.tobytes(), self.log_infinite, self.error

    def atoms(self, most: int = 1000) -> Atoms:  # noqa: ARG002
        """See `KnownLoss`: all, however many."""
        return Atoms(self.losses, self.log_probabilities, self.log_infinite, self.missing, self.error)

    def finite_part(self) -> tuple[KnownLoss, float, float]:
        """See `KnownLoss`."""
        if self.log_infinite == self.missing == -math.inf:
            return self, 0.0, 0.0
        first = log_finite(self.log_probabilities, self.log_infinite)
        second = log_finite(self.log_probabilities - self.losses, self.missing)
        if -math.inf in (first, second) or not self.losses.size:
            return ZERO_LOSS, -math.inf, -math.inf
        return atoms_of(self.losses - (first - second), self.log_probabilities - first, error=self.error), first, second

    def transform(self) -> Transform | None:
        """See `KnownLoss`."""
        bounded = self.log_infinite == -math.inf and self.exact
        return AtomsTransform(self, whole=False) if bounded and 0 < self.losses.size <= _MOST_ATOMS else None

    def divergence(self, alpha: float) -> Divergence:
        """See `PairLoss`."""
        if math.isinf(alpha * self.supremum()):
            return self.supremum(), self.exact
        if alpha * self.error > _LARGEST_POWER:
            return self.supremum(), False
        if alpha == 1:
            mean = math.exp(log_mean(self.losses, self.log_probabilities, self.missing))
            return math.exp(self.error) * (mean + self.error + math.expm1(self.error)), self.exact
        value = of_excess(self.log_excess(alpha - 1), alpha - 1)
        return (min(value, self.supremum()) if self.error else value), self.exact

    def log_excess(self, c: float) -> float:
        """ln(M(c) - 1), c > 0, where M(c) = E[e**(c L)]; with p the probability of inf, ln(M(c) - 1 + (1 + c) p).

        Losses that may be wrong by r have e**r delta(e - r) at most, in both orders. With a = c + 1,

            M(c) - 1 = a c int_0^inf (e**(c e) delta(e) + e**(-a e) delta_back(e)) de

        is then at most e**(a r) (M(c) - 1 + c (a r + e**(a r) - 1)) of the losses that are listed.
        """
        mean = log_mean(self.losses, self.log_probabilities, self.missing)
        found = float(np.logaddexp(math.log(c) + mean, log_sum(self.log_probabilities + log_gains(c * self.losses))))
        if not self.error:
            return found
        moved = (1 + c) * self.error
        return moved + float(np.logaddexp(found, math.log(c * (moved + math.expm1(moved)))))

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`; of the losses as they are listed: one that may be wrong may lie in another cell."""
        cells = np.searchsorted(edges, self.losses, side="left")
        weights = self.log_probabilities - self.losses
        return CellMasses(
            _by_cell(cells, self.log_probabilities, edges.size + 1),
            _by_cell(cells, weights, edges.size + 1),
            self.log_infinite,
            self.missing,
        )

    @property
    def missing(self) -> float:
        """ln of Q's mass outside the support of P."""
        return -math.inf if self.log_missing is None else self.log_missing


LossAtoms = DiscreteLoss
"""The earlier name of `DiscreteLoss`."""


def _lack(log_total: float, atoms: int) -> float:
    """ln of 1 less the masses; -inf where they are 1 within rounding."""
    return log1mexp(log_total) if -math.expm1(log_total) > 1e-14 * max(1, atoms) else -math.inf


def _log_rest(rest: list[float], shared: list[float]) -> float:
    """ln of the sum of `rest`; computed from `shared` where it rounds to 1."""
    total, other = math.fsum(rest), math.fsum(shared)
    if total <= 0:
        return -math.inf
    return log1mexp(math.log(other)) if 0 < other < 1e-9 and abs(total - 1) < 2e-9 else math.log(total)


def _by_cell(cells: NDArray[np.int64], logs: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Log-sums by cell, shape (size,)."""
    found = np.full(size, -math.inf)
    np.logaddexp.at(found, cells, logs)
    return found


def _share_moved(log_delta: float, by: float) -> float:
    """ln delta if the smaller of delta and 1 - delta changes by this share."""
    return log_delta + by if log_delta < -0.1 else log1mexp(min(0.0, log1mexp(log_delta) - by))


MOST_TIMES = 10**18
_NEAR_CERTAIN, _MOST_LISTED = -1e-3, 1000
"""ln of a delta from which on 1 - delta is computed from the list of losses, and the longest such list."""


@dataclass(frozen=True)
class BinomialLoss(KnownLoss):
    """The sum of `times` losses that each take the value `high` or `low`.

    high, low: nats, finite, low < 0 < high.   times: 1 .. 10**18. P's and Q's probabilities follow from the two values,
    as both add up to 1. delta is right to 1e-12 of itself for the given losses, or ln delta to 3e-14 of itself where it
    is below -100; a unit in the last place of epsilon moves delta by more than that from about 10**12 times on. Raises
    ValueError for anything else.
    """

    high: float
    low: float
    times: int

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return True

    def __post_init__(self) -> None:
        if not -math.inf < as_float(self.low) < 0 < as_float(self.high) < math.inf:
            raise ValueError(f"low < 0 < high must be finite losses, got low={self.low!r}, high={self.high!r}")
        object.__setattr__(self, "times", whole(self.times, "times", 1, MOST_TIMES))
        if math.isinf(self.times * (self.high - self.low)):
            raise ValueError(f"the sum of all losses must be in the range of floats, got {self!r}")

    def supremum(self) -> float:
        """See `PairLoss`: every report has the larger loss. The exact product, rounded up."""
        exact = self.times * Fraction(self.high)
        nearest = float(exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    def log_probability(self) -> tuple[float, float]:
        """ln P(high) and ln P(low) of one report: P(high) = (1 - e**low) / (1 - e**(low - high)).

        The one near 0 is computed from the other, to have all digits when multiplied by `times`.
        """
        span = math.expm1(self.low - self.high)  # ratios first: logarithms of tiny losses would lose digits
        high, low = math.log(math.expm1(self.low) / span), self.low + math.log(math.expm1(-self.high) / span)
        return (math.log1p(-math.exp(low)), low) if high > low else (high, math.log1p(-math.exp(high)))

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same."""
        value = self._log_delta(epsilon)
        return value, value

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`; of a single report."""
        return self._atoms.masses(edges)

    def summands(self) -> Sequence[tuple[KnownLoss, int]]:
        """See `KnownLoss`."""
        return ((self if self.times == 1 else BinomialLoss(self.high, self.low, 1), self.times),)

    def repeated(self, times: int) -> BinomialLoss:
        """See `KnownLoss`."""
        return BinomialLoss(self.high, self.low, self.times * times)

    def transform(self) -> Transform | None:
        """See `KnownLoss`; of a single report."""
        return AtomsTransform(self._atoms, whole=True) if self.times == 1 else None

    def divergence(self, alpha: float) -> Divergence | None:
        """See `PairLoss`; of a single report."""
        return self._atoms.divergence(alpha) if self.times == 1 else None

    def reversed(self) -> BinomialLoss:
        """See `PairLoss`."""
        return self if self.low == -self.high else BinomialLoss(-self.low, -self.high, self.times)

    def atoms(self, most: int = 1000) -> Atoms | None:
        """See `KnownLoss`."""
        return self._atoms.atoms() if self.times < most else None

    @cached_property
    def _atoms(self) -> DiscreteLoss:
        logs = np.array(self.log_probability()[::-1])
        counts = np.arange(self.times + 1, dtype=np.float64)
        if self.times > 1:
            logs = log_binomial(counts, float(self.times), *self.log_probability())
        return DiscreteLoss(counts * self.high + (self.times - counts) * self.low, logs, log_missing=-math.inf)

    @cached_property
    def _binomial(self) -> Binomial:
        return Binomial(self.times, self.high, self.low, self.log_probability())

    def _log_delta(self, epsilon: float) -> float:
        if math.isinf(epsilon):
            return 0.0 if epsilon < 0 else -math.inf
        gap = Fraction(self.high) - Fraction(self.low)
        lowest = self.times * Fraction(self.low) - Fraction(epsilon)
        first = max(0, math.floor(-lowest / gap) + 1)
        if first > self.times:
            return -math.inf
        value = min(0.0, log_sum_of_gains(self._binomial, first, float(lowest + first * gap), float(gap)))
        if value > _NEAR_CERTAIN and self.times <= _MOST_LISTED:  # 1 - delta has its own digits there
            return min(0.0, self._atoms.log_delta_bounds(epsilon)[0])
        return value


ZERO_LOSS = DiscreteLoss(np.zeros(1), np.zeros(1))
"""The loss of an output that does not depend on the input: always 0."""
INFINITE_LOSS = DiscreteLoss(np.empty(0), np.empty(0), 0.0, 0.0)
"""The loss of an output that shows the input: always infinite."""
_ROUNDING = 2e-15


def symmetric_loss(
    losses: ArrayLike,
    log_probabilities: ArrayLike,
    *,
    infinite: float | Fraction = 0,
    rest: float | Fraction | None = None,
) -> KnownLoss:
    """The loss with these positive values, their reversed ones, and 0.

    losses: nats, > 0, finite, in any order, shape (m,).   log_probabilities: under P, same shape.
    infinite: the probability of an infinite loss, likewise under both.   rest: that of 0; by default all that is left.
    returns: a `BinomialLoss`, which composes best, for two values.
    """
    if infinite:
        if infinite == 1:
            return INFINITE_LOSS
        common = math.log1p(-max(float(infinite), 5e-324)) if infinite < 0.5 else _log(1 - Fraction(infinite))
        left = None if rest is None else rest / (1 - infinite)
        return LossWithInfinity(
            symmetric_loss(losses, np.asarray(log_probabilities) - common, rest=left), common, common
        )
    upper, logs = (np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (losses, log_probabilities))
    upper, logs = merged(upper[logs > -math.inf], logs[logs > -math.inf])
    if not upper.size:
        return ZERO_LOSS
    left = float(1 - math.fsum([*np.exp(logs), *np.exp(logs - upper)]) if rest is None else rest)
    if upper.size == 1 and left <= (_ROUNDING if rest is None else 0):
        return BinomialLoss(float(upper[0]), -float(upper[0]), 1)
    middle = [left] if left > 0 else []
    return DiscreteLoss(
        np.concatenate([-upper[::-1], np.zeros(len(middle)), upper]),
        np.concatenate([(logs - upper)[::-1], np.log(middle), logs]),
        log_missing=-math.inf,
    )


def _log(mass: Fraction) -> float:
    """ln of a fraction, also of one below all floats."""
    return log_ratio(mass.numerator, mass.denominator)


def atoms_of(
    losses: NDArray[np.float64],
    logs: NDArray[np.float64],
    log_infinite: float = -math.inf,
    log_missing: float = -math.inf,
    error: float = 0.0,
) -> KnownLoss:
    """The loss with these values, in any order; values that differ by rounding alone are merged.

    error: nats, by which each value may be rounded beyond its last digits.
    returns: a `BinomialLoss`, which composes best, for two values.
    """
    common = log_finite(logs, log_infinite)
    if log_infinite > -math.inf or log_missing > -math.inf:
        other = log_finite(logs - losses, log_missing)
        if -math.inf in (common, other) or not losses.size:
            return INFINITE_LOSS
        return LossWithInfinity(atoms_of(losses - (common - other), logs - common, error=error), common, other)
    losses, logs = merged(losses[logs > -math.inf], logs[logs > -math.inf])
    if losses.size == 1 and error <= _WHOLE:
        return ZERO_LOSS
    if losses.size == 2 and losses[0] < 0 < losses[1] and error <= _WHOLE:
        return BinomialLoss(float(losses[1]), float(losses[0]), 1)
    return DiscreteLoss(losses, logs, log_missing=-math.inf, error=error)


def pure_loss(epsilon: float) -> KnownLoss:
    """The loss that dominates every mechanism of this pure epsilon, nats, >= 0 or infinite."""
    if epsilon == 0:
        return ZERO_LOSS
    return BinomialLoss(epsilon, -epsilon, 1) if math.isfinite(epsilon) else INFINITE_LOSS


MOST_COMBINATIONS = 100_000
_LARGE = 1e3
"""Losses whose rounding moves delta by more than 1e-12 of itself."""


def sum_of_losses(losses: Sequence[tuple[KnownLoss, int]]) -> KnownLoss | None:
    """The sum of independent losses as the list of all combinations; for losses that are never infinite.

    returns: exact up to losses of 1000 nats, bounded beyond; None where a loss has no finite list of values, or the
    combinations would be too many.
    """
    lists = [loss.atoms(MOST_COMBINATIONS) for loss, _ in losses]
    if None in lists or least_support_size(losses) > MOST_COMBINATIONS:
        return None
    total, steps, given = ZERO_LOSS.atoms(), 2, 0.0
    for (loss, times), single in zip(losses, lists, strict=True):
        power = _power(loss, times)
        together = None if power is None else _sums(total, power)
        if together is None:
            return None
        total = together
        steps += times.bit_length()
        given += times * single.error if single else 0.0
    largest = float(np.max(np.abs(total.losses)))
    own = 2 * steps * math.ulp(largest) if largest > _LARGE else 0.0
    return atoms_of(total.losses, total.log_probabilities, error=own + given * (1 + 1e-9))


def least_support_size(losses: Sequence[tuple[KnownLoss, int]]) -> int:
    """A lower bound on the number of values of a sum; a loss without a list counts as one value.

    |A + B| >= |A| + |B| - 1 for sets of numbers, as a_1 + b_1 < ... < a_m + b_1 < ... < a_m + b_n. (Sums that differ by
    rounding alone are merged, so there may be fewer in the end: such a sum is left to other methods.)
    """
    known = ((loss.atoms(MOST_COMBINATIONS), times) for loss, times in losses)
    return 1 + sum(times * (atoms.losses.size - 1) for atoms, times in known if atoms is not None)


def _power(loss: KnownLoss, times: int) -> Atoms | None:
    """The sum of `times` equal losses, by doubling where there is no closed form."""
    closed = loss.repeated(times)
    if closed is not None:
        return closed.atoms(MOST_COMBINATIONS)
    base, total = loss.atoms(MOST_COMBINATIONS), ZERO_LOSS.atoms()
    while base is not None and times:
        if times % 2:
            more = _sums(total, base)
            if more is None:
                return None
            total = more
        times //= 2
        if times:
            base = _sums(base, base)
    return None if base is None else total


def _sums(one: Atoms, two: Atoms) -> Atoms | None:
    """The sum of two independent losses; None if it has too many values."""
    if one.losses.size * two.losses.size > MOST_COMBINATIONS:
        return None
    losses = np.add.outer(one.losses, two.losses).ravel()
    logs = np.add.outer(one.log_probabilities, two.log_probabilities).ravel()
    return Atoms(*merged(losses, logs), -math.inf, -math.inf, 0.0)


_MOST_NUMBERS = 2**22
_LARGEST_POWER = 300.0


@dataclass(frozen=True, eq=False)
class AtomsTransform(Transform):
    """The transform of a loss with finitely many values, which need not decay.

    The masses are assumed right to 2**-52 (64 + 4 |ln mass|) of themselves.

    atoms: no loss is infinite.   whole: whether the true masses add up to exactly 1.
    """

    atoms: DiscreteLoss
    whole: bool

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        losses, logs = self.atoms.losses, self.atoms.log_probabilities
        farthest = float(np.abs(losses).max())
        if y.size * losses.size > _MOST_NUMBERS or c * farthest > _LARGEST_POWER:
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

    def log_limit(self, c: float) -> float:
        """See `Transform`; it nearly returns to its value at y = 0."""
        return self.log_mean(c)

    def log_tail_bound(self, c: float, y: float) -> float:  # noqa: ARG002
        """See `Transform`: no more than M(c)."""
        return self.log_mean(c)
