"""Laws of finitely many losses from what is known of a mechanism: a symmetric law from its upper half.

The neighbours of local privacy come in both orders, so the dominating pair looks the same from both sides: a loss l of
probability p under P comes with the loss -l of probability p e**-l. What is left has the loss 0.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.improper_loss import ImproperLoss, log_finite, log_lacking
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.laws.rounded_atoms import rounding_of, with_rounding
from ldp_audit.mechanisms.randomness import log_ratio

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
) -> LossLaw:
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
) -> LossLaw:
    """The law of these atoms, in any order; those that differ by rounding alone become one."""
    common = log_finite(logs, log_infinite)
    if log_infinite > -math.inf or log_missing > -math.inf:
        other = log_finite(logs - losses, log_missing)
        if -math.inf in (common, other) or not losses.size:
            return EVERYTHING
        return ImproperLoss(atoms_of(losses - (common - other), logs - common), common, other)
    losses, logs = merged(losses[logs > -math.inf], logs[logs > -math.inf])
    if losses.size == 1:
        return NOTHING
    if losses.size == 2 and losses[0] < 0 < losses[1]:
        return BinomialLoss(float(losses[1]), float(losses[0]), 1)
    return LossAtoms(losses, logs, log_missing=-math.inf)


def as_atoms(law: LossLaw, most: int = 1000) -> LossAtoms | None:
    """The law as a list of its losses; None where that has no end or more than so many."""
    if isinstance(law, LossAtoms):
        return law
    if isinstance(law, BinomialLoss) and law.times < most:
        return law.atoms()
    if isinstance(law, ImproperLoss) and (common := as_atoms(law.common, most)) is not None:
        atoms = LossAtoms(
            common.losses + law.shift,
            common.log_probabilities + law.log_first,
            log_lacking(law.log_first),
            log_lacking(law.log_second),
        )
        return with_rounding(atoms, rounding_of(common))
    return None


def log_sum(logs: NDArray[np.float64]) -> float:
    """ln of the sum of e**logs; minus infinity for none."""
    return float(np.logaddexp.reduce(logs)) if logs.size else -math.inf


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
