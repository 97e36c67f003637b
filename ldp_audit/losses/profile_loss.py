"""The loss of a mechanism of which only the profile delta(epsilon) is known, between two discrete losses.

With t = e**epsilon a profile is a convex function h(t), and each convex, non-increasing h with h(0) = 1 and h(t) >= 1 -
t is the profile of a pair (Zhu, Dong, Wang, AISTATS 2022, Proposition 8). Between epsilons where it is known it lies
below its chords and above its neighbours' chords, prolonged. The chords are the profile of a discrete loss that
dominates; the lower hull of the prolonged ones is that of a discrete loss that is dominated. Composition keeps both
orders.

Neighbours come in both orders, so h(1/t) = 1 - 1/t + h(t)/t, and epsilons above 0 determine the profile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, symmetric_loss
from ldp_audit.losses.hulls import POINTS, atoms_above, atoms_below, levels_of
from ldp_audit.losses.loss import KnownLoss, LossWithInfinity, PairLoss, log_delta_from_reversed
from ldp_audit.numerics import as_float, refuse_class

_ROUNDING = 1e-13
_RISE = 1e-12
"""Rounding may make a profile rise by this much."""
_LEFT = 1e-9
"""Rounding, or a stated integral's error, may leave this much of delta at the pure epsilon."""
_UNKNOWN = 1e-300
"""A profile may underflow to 0 below this."""


@dataclass(frozen=True, eq=False)
class ProfileLoss(PairLoss):
    """The loss of a mechanism from its stated profile, taken to be exact; its own reverse.

    mechanism: an object with `delta(epsilon)`, which takes arrays, and `exact_epsilon()`.
    """

    mechanism: Any

    def supremum(self) -> float:
        """See `PairLoss`."""
        return stated_epsilon(self.mechanism)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the bounds differ by rounding, or where the stated profile underflows."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.log_delta_bounds(-epsilon))
        value = stated_delta(self.mechanism, epsilon)
        if value > 0:
            return math.log(value) - _ROUNDING, min(0.0, math.log(value) + _ROUNDING)
        return -math.inf, -math.inf if epsilon >= self.supremum() else math.log(_UNKNOWN)

    def reversed(self) -> ProfileLoss:
        """See `PairLoss`: the same."""
        return self

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: the discrete losses of the two hulls."""
        return None if end is None else self._enclosures[end]

    @cached_property
    def _enclosures(self) -> tuple[KnownLoss, KnownLoss]:
        levels = [float(level) for level in levels_of(self, POINTS) if level >= 0]
        for one, two in pairwise((level, stated_delta(self.mechanism, level)) for level in levels):
            if two[1] > one[1] + _RISE:
                raise ValueError(
                    f"mechanism must have a delta that does not rise with epsilon, got delta({one[0]!r}) = {one[1]!r} "
                    f"and delta({two[0]!r}) = {two[1]!r}"
                )
        return atoms_below(self, POINTS), atoms_above(self, count=POINTS)


def loss_of_profile(mechanism: Any) -> PairLoss:
    """The loss of a mechanism of which only the profile is known; ValueError for an object that states none.

    A profile that is one chord belongs to a loss of three values, as the middle of the chord shows; a flat one to a
    mechanism that shows its input with some probability, and nothing else.
    """
    refuse_class(mechanism, "mechanism")
    if not all(callable(getattr(mechanism, name, None)) for name in ("delta", "exact_epsilon")):
        raise ValueError(f"mechanism must have delta and exact_epsilon, or be a loss, got {mechanism!r}")
    top, start = stated_epsilon(mechanism), stated_delta(mechanism, 0.0)
    if math.isfinite(top) and stated_delta(mechanism, top) > _LEFT:
        raise ValueError(
            f"mechanism must have a delta of 0 at its exact_epsilon(), got delta({top!r}) = "
            f"{stated_delta(mechanism, top)!r} of {type(mechanism).__name__}"
        )
    if top == 0:
        return ZERO_LOSS
    if math.isfinite(top) and start > 0:
        mass = start / -math.expm1(-top)
        level = chord_middle(top)
        if math.isclose(stated_delta(mechanism, level), mass * -math.expm1(level - top), rel_tol=_ROUNDING):
            return symmetric_loss([top], [math.log(mass)])
    elif 0 < start == stated_delta(mechanism, math.inf):
        return INFINITE_LOSS if start == 1 else LossWithInfinity(ZERO_LOSS, math.log1p(-start), math.log1p(-start))
    return ProfileLoss(mechanism)


def chord_middle(top: float) -> float:
    """The epsilon in the middle of the profile's chord in e**epsilon, from 0 to top: ln((1 + e**top)/2), top > 0.

    A convex profile whose middle lies below the chord by a share of itself lies below it elsewhere by that share of its
    value at 0 at most, so here alone one point determines whether it is the chord. At top/2, of which e**(top/2) is a
    tiny part of e**top, a profile that falls to 0 early looks like its chord.
    """
    return top + math.log1p(math.expm1(-top) / 2)


def stated_delta(mechanism: Any, epsilon: float) -> float:
    """The delta that an object states. Raises ValueError unless it is a probability."""
    value, said = _read(mechanism.delta(epsilon))
    if not 0 <= value <= 1:
        raise ValueError(
            f"mechanism must have a delta in [0, 1], got delta({epsilon!r}) = {said!r} of {type(mechanism).__name__}"
        )
    return value


def stated_epsilon(mechanism: Any) -> float:
    """The pure epsilon that an object states. Raises ValueError unless it is >= 0; infinity is allowed."""
    value, said = _read(mechanism.exact_epsilon())
    if not value >= 0:
        raise ValueError(f"mechanism must have an exact_epsilon() >= 0, got {said!r} of {type(mechanism).__name__}")
    return value


def _read(stated: Any) -> tuple[float, Any]:
    """A stated number, not a number for anything else; and what an error shows, a float without numpy's name."""
    value = as_float(np.asarray(stated)[()])
    return value, value if isinstance(stated, float) else stated
