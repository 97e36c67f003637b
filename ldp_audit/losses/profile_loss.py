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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, symmetric_loss
from ldp_audit.losses.loss import KnownLoss, LossWithInfinity, PairLoss, log_delta_from_reversed
from ldp_audit.numerics import as_float, refuse_class

Points = NDArray[np.float64]

_POINTS, _HIGHEST = 2000, 600.0
_APART, _FEWEST = 5e-7, 10
"""Nats between two points, of which rounding is less than 1e-9; and so few points are not worth their rounding."""
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
        if (top := self.supremum()) < _FEWEST * _APART:  # one chord above, and nothing below
            start = max(_UNKNOWN, stated_delta(self.mechanism, 0.0)) * (1 + _ROUNDING)
            return ZERO_LOSS, symmetric_loss([top * (1 + _ROUNDING)], [math.log(start) - math.log(-math.expm1(-top))])
        levels = self._levels()
        values, least = np.exp([self.log_delta_bounds(float(level))[1] for level in levels]), 0.0
        if np.any(rises := np.diff(values) > _RISE):
            i = int(np.argmax(rises))
            raise ValueError(
                f"mechanism must have a delta that does not rise with epsilon, got delta({float(levels[i])!r}) = "
                f"{float(values[i])!r} and delta({float(levels[i + 1])!r}) = {float(values[i + 1])!r}"
            )
        if levels[-1] < self.supremum():  # the rest counts as an infinite loss above, and as none below
            least = stated_delta(self.mechanism, math.inf)
        else:  # the supremum may be rounded down
            levels[-1], values[-1] = math.nextafter(levels[-1], math.inf), 0.0
        lower = _below(np.exp(levels), values * (1 - 2 * _ROUNDING), least)
        return _loss_of_points(*lower, below=True), _loss_of_points(np.exp(levels), values)

    def _levels(self) -> NDArray[np.float64]:
        """Epsilons evenly spaced up to the supremum, or to where delta is negligible."""
        top = self.supremum()
        if top > _HIGHEST:
            top = 1.0
            while top < _HIGHEST and stated_delta(self.mechanism, top) > 1e-30 + stated_delta(self.mechanism, 2 * top):
                top = min(_HIGHEST, 1.5 * top)
        return np.linspace(0.0, top, min(_POINTS, int(top / _APART)))


def pair_loss_of(mechanism: Any) -> PairLoss:
    """The loss of the pair that dominates a mechanism: its own, or that of its stated profile.

    mechanism: a `Mechanism`, a loss, or any object with `delta(epsilon)` and `exact_epsilon()`, whose values are
    trusted; ValueError for others.
    """
    if isinstance(mechanism, PairLoss):
        return mechanism
    refuse_class(mechanism, "mechanism")
    own: Callable[[], PairLoss] | None = getattr(mechanism, "pair_loss", None)
    if own is not None:
        return own()
    if not all(callable(getattr(mechanism, name, None)) for name in ("delta", "exact_epsilon")):
        raise ValueError(f"mechanism must have delta and exact_epsilon, or be a loss, got {mechanism!r}")
    return loss_of_profile(mechanism)


def loss_of_profile(mechanism: Any) -> PairLoss:
    """The loss of a mechanism of which only the profile is known.

    A profile that is one chord belongs to a loss of three values, as the middle of the chord shows; a flat one to a
    mechanism that shows its input with some probability, and nothing else.
    """
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


def _loss_of_points(ratios: Points, values: Points, *, below: bool = False) -> KnownLoss:
    """The loss whose profile joins these points and is constant after the last; ratios t ascend from 1.

    below: rounding may have made a first slope steeper than symmetry allows; it is then limited to that.
    """
    ratios, values = _hull(ratios, np.minimum(1.0, values * (1 + _ROUNDING)))
    slopes = np.append(np.diff(values) / np.diff(ratios), 0.0)
    if below:
        slopes = np.maximum(slopes, (values[0] - 1) / 2)
    second = np.diff(slopes)  # the mass under Q of each loss but the first, 0
    losses, kept = np.log(ratios[1:]), second > 0
    logs = losses[kept] + np.log(second[kept])
    return symmetric_loss(losses[kept], logs, infinite=float(values[-1]))


def _below(ratios: Points, values: Points, least: float) -> tuple[Points, Points]:
    """The lower hull of the prolonged chords: between two points, those of the chords before and after.

    Before the first point comes the steepest slope that symmetry allows there; after the last one a constant.
    """
    slopes = np.diff(values) / np.diff(ratios)
    steepest = (values[0] - 1) / 2 * (1 - 10 * _ROUNDING)  # in a first step that short, the values' rounding is more
    before = np.append(steepest, slopes[:-1])
    after = np.append(slopes[1:], 0.0)
    width = np.diff(ratios)
    # a crossing lies a step beyond the left point, where the line from the left meets the one from the right
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (values[1:] - values[:-1] - after * width) / (before - after)
    step = np.clip(np.where(np.isfinite(step), step, width), 0.0, width)
    found = np.maximum(values[:-1] + before * step, np.append(values[1:-1], least) - after * (width - step))
    ends = np.append(values[:-1], least)
    x, y = np.append(ratios, ratios[:-1] + step), np.append(ends, found)
    order = np.argsort(x, kind="stable")
    return x[order], np.maximum(np.minimum.accumulate(y[order]), least)


def _hull(x: Points, y: Points) -> tuple[Points, Points]:
    """The corners of the points' lower hull, from the first to the last x."""
    kept: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        if kept and point[0] <= kept[-1][0]:
            continue
        while len(kept) > 1 and _slope(kept[-1], point) <= _slope(kept[-2], kept[-1]):
            kept.pop()
        kept.append(point)
    corners = np.array(kept)
    return corners[:, 0], corners[:, 1]


def _slope(one: tuple[float, float], two: tuple[float, float]) -> float:
    return (two[1] - one[1]) / (two[0] - one[0])
