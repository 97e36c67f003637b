"""Laws of finitely many losses from what is known of a mechanism: a symmetric law from its upper half.

The neighbours of local privacy come in both orders, so the dominating pair looks the same from both sides: a loss l of
probability p under P comes with the loss -l of probability p e**-l. What is left has the loss 0.

The loss of the worst mechanism of a pure epsilon: all that is known of some groups of records.

A group of j records has at most the two losses j e0 and -j e0 if one record's are at most e0.

The sum of independent losses with few values, as the list of all combinations, exactly but for their rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.binomial_loss import BinomialLoss
from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.loss import ImproperLoss, PairLoss, log_finite
from ldp_audit.numerics import log_ratio

NOTHING = LossAtoms(np.zeros(1), np.zeros(1))
"""The loss of what depends on no input: always 0."""

EVERYTHING = LossAtoms(np.empty(0), np.empty(0), 0.0, 0.0)
"""The loss of what shows its input: always infinite."""

_ROUNDING = 2e-15
_NEAR, _USUAL = 8e-16, 64.0
"""Losses differ by rounding alone within so much of themselves, or of so many times the law's usual loss."""


def symmetric_law(
    losses: ArrayLike,
    log_probabilities: ArrayLike,
    *,
    infinite: float | Fraction = 0,
    rest: float | Fraction | None = None,
) -> PairLoss:
    """The law with these positive losses, their mirror images, and 0.

    losses: nats, > 0, finite, in any order, shape (m,).   log_probabilities: under P, same shape.
    infinite: the probability of an infinite loss, likewise under both.   rest: that of 0; if not given, what is left.
    returns: two values as a `BinomialLoss`, which composes best.
    """
    if infinite:
        if infinite == 1:
            return EVERYTHING
        common = math.log1p(-max(float(infinite), 5e-324)) if infinite < 0.5 else _log(1 - Fraction(infinite))
        left = None if rest is None else rest / (1 - infinite)
        return ImproperLoss(symmetric_law(losses, np.asarray(log_probabilities) - common, rest=left), common, common)
    upper, logs = (np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (losses, log_probabilities))
    upper, logs = merged(upper[logs > -math.inf], logs[logs > -math.inf])
    if not upper.size:
        return NOTHING
    left = float(1 - math.fsum([*np.exp(logs), *np.exp(logs - upper)]) if rest is None else rest)
    if upper.size == 1 and left <= (_ROUNDING if rest is None else 0):
        return BinomialLoss(float(upper[0]), -float(upper[0]), 1)
    middle = [left] if left > 0 else []
    return LossAtoms(
        np.concatenate([-upper[::-1], np.zeros(len(middle)), upper]),
        np.concatenate([(logs - upper)[::-1], np.log(middle), logs]),
        log_missing=-math.inf,
    )


def _log(mass: Fraction) -> float:
    """Also of one that no float holds."""
    return log_ratio(mass.numerator, mass.denominator)


def atoms_of(
    losses: NDArray[np.float64],
    logs: NDArray[np.float64],
    log_infinite: float = -math.inf,
    log_missing: float = -math.inf,
    error: float = 0.0,
) -> PairLoss:
    """The loss with these values, in any order, those that differ by rounding alone as one.

    error: nats, to which each value is right beyond its last digits.
    returns: two values as a `BinomialLoss`, which composes best.
    """
    common = log_finite(logs, log_infinite)
    if log_infinite > -math.inf or log_missing > -math.inf:
        other = log_finite(logs - losses, log_missing)
        if -math.inf in (common, other) or not losses.size:
            return EVERYTHING
        return ImproperLoss(atoms_of(losses - (common - other), logs - common, error=error), common, other)
    losses, logs = merged(losses[logs > -math.inf], logs[logs > -math.inf])
    if losses.size == 1:
        return NOTHING
    if losses.size == 2 and losses[0] < 0 < losses[1]:
        return BinomialLoss(float(losses[1]), float(losses[0]), 1)
    return LossAtoms(losses, logs, log_missing=-math.inf, error=error)


def merged(losses: NDArray[np.float64], logs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The atoms in ascending order, those that differ by rounding alone as one, whose two masses are the sums.

    That is a merging of outputs, so no divergence grows by it, and none falls by more than the rounding.
    """
    order = np.argsort(losses, kind="stable")
    losses, logs = losses[order], logs[order]
    sizes = np.abs(losses)
    # the sum below is at most 3 times the total variation, which so changes by 2e-13 of itself at most
    usual = _USUAL * float(np.exp(logs) @ np.minimum(sizes, 1.0))
    reach = _NEAR * np.maximum(sizes, min(float(np.max(sizes, initial=0.0)), usual))
    near = np.diff(losses) <= np.maximum(reach[1:], reach[:-1])
    if not near.any():
        return losses, logs
    if np.any(near[1:] & near[:-1]):
        near = _unchained(losses, reach, near)
    group = np.concatenate([[0], np.cumsum(~near)])
    first = np.full(group[-1] + 1, -math.inf)
    np.logaddexp.at(first, group, logs)
    base = losses[np.flatnonzero(np.concatenate([[True], ~near]))]
    offsets = np.bincount(group, np.exp(logs - first[group]) * (losses - base[group]))
    return base + offsets, first


def _unchained(losses: NDArray[np.float64], reach: NDArray[np.float64], near: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which losses join the one before: such that no group is wider than its first one's reach."""
    places = np.flatnonzero(near)
    begins = np.diff(places, prepend=-2) > 1  # of chains of near ones
    bases = places[begins][np.cumsum(begins) - 1]
    wide = losses[places + 1] - losses[bases] > np.maximum(reach[bases], reach[places + 1])
    if not wide.any():
        return near
    kept, base, begin = near.copy(), 0, -1
    for i, first in zip(places.tolist(), bases.tolist(), strict=True):
        if first != begin:
            base = begin = first
        if losses[i + 1] - losses[base] > max(reach[base], reach[i + 1]):
            kept[i], base = False, i + 1
    return kept


def pure_loss(epsilon: float) -> PairLoss:
    """The loss of the worst mechanism of a pure epsilon, nats, >= 0 or infinite."""
    if epsilon == 0:
        return NOTHING
    return BinomialLoss(epsilon, -epsilon, 1) if math.isfinite(epsilon) else EVERYTHING


MOST_COMBINATIONS = 100_000
_LARGE = 1e3
"""Losses whose rounding moves delta by more than 1e-12 of itself."""


def sum_of_losses(laws: Sequence[tuple[PairLoss, int]]) -> PairLoss | None:
    """The law of the sum, each loss so many times; never infinite ones only.

    returns: exact up to losses of 1000 nats, enclosed beyond; None where a loss has no finite list of values, or the
    combinations would be too many.
    """
    if _fewest(laws) > MOST_COMBINATIONS:
        return None
    total, steps, given = NOTHING, 2, 0.0
    for law, times in laws:
        single, power = law.atoms(MOST_COMBINATIONS), _power(law, times)
        together = None if power is None else _added(total, power)
        if together is None:
            return None
        total = together
        steps += times.bit_length()
        given += times * single.error if single else 0.0
    largest = float(np.max(np.abs(total.losses)))
    own = 2 * steps * math.ulp(largest) if largest > _LARGE else 0.0
    return atoms_of(total.losses, total.log_probabilities, error=own + given * (1 + 1e-9))


def _fewest(laws: Sequence[tuple[PairLoss, int]]) -> int:
    """So many different sums there are at least; a law with too many values, or no list of them, counts as one value.

    |A + B| >= |A| + |B| - 1 for sets of numbers, as a_1 + b_1 < ... < a_m + b_1 < ... < a_m + b_n. (Sums that differ by
    rounding alone are merged, so there may be fewer in the end: such a sum is left to other ways.)
    """
    known = ((law.atoms(MOST_COMBINATIONS), times) for law, times in laws)
    return 1 + sum(times * (atoms.losses.size - 1) for atoms, times in known if atoms is not None)


def _power(law: PairLoss, times: int) -> LossAtoms | None:
    """The sum of so many equal losses, by doubling where no closed form says it."""
    closed = law.repeated(times)
    if closed is not None:
        return closed.atoms(MOST_COMBINATIONS)
    base, total = law.atoms(MOST_COMBINATIONS), NOTHING
    while base is not None and times:
        if times % 2:
            more = _added(total, base)
            if more is None:
                return None
            total = more
        times //= 2
        if times:
            base = _added(base, base)
    return None if base is None else total


def _added(one: LossAtoms, two: LossAtoms) -> LossAtoms | None:
    """All sums of a loss of each; None if they are too many."""
    if one.losses.size * two.losses.size > MOST_COMBINATIONS:
        return None
    losses = np.add.outer(one.losses, two.losses).ravel()
    logs = np.add.outer(one.log_probabilities, two.log_probabilities).ravel()
    return LossAtoms(*merged(losses, logs), log_missing=float("-inf"))
