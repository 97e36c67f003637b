"""The trade-off curve of a mechanism: f(alpha), the least miss rate of any test whose false-alarm rate is alpha.

A test that decides whether an output came from P or from Q has two errors: alpha, that it says P where it was Q, and
beta, that it says Q where it was P. The least beta for each alpha is a convex, falling curve f. For finitely many
losses its corners are, by Neyman and Pearson, the tests "P if the loss exceeds c" (`TradeOffCurve`). In general it is
the dual of the profile (Dong, Roth, Su, "Gaussian Differential Privacy", JRSS B 2022, Definition 2 and Proposition 6):
with t = e**epsilon over all real epsilon,

    f(alpha) = sup over t of (1 - delta(t) - t alpha),      delta(t) = sup over alpha of (1 - f(alpha) - t alpha).

Each t gives a line below f, so few of them give a lower bound. From above: delta, convex in t, lies above its chords
prolonged into the next cell, and 1 - delta - t alpha is then largest at a known t or where two of them meet. A t < 1 is
evaluated on the reversed loss: there 1 - delta(t) is t (1 - delta'(1/t)), which keeps its digits, and the maximum is at
the same place, as (line - alpha)/t' is monotone in t' = 1/t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from ldp_audit.losses.hulls import levels_of
from ldp_audit.losses.loss import Atoms, PairLoss, attained, known_atoms, side
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.mechanisms.log_space import levels as levels_of_profile

_MOST_ATOMS = 200_000
_COARSE, _FINE = 100, 1500
_FEW, _ZOOMS, _BETWEEN = 8, 3, 18
_FARTHEST = 700.0
"""Epsilons beyond are left out: e**epsilon would overflow."""


_Rates = NDArray[np.float64] | np.float64
_Value = Callable[[NDArray[np.float64], NDArray[np.float64], _Rates], NDArray[np.float64]]


class TradeOffBounds(NamedTuple):
    """A lower (pessimistic) and an upper (optimistic) bound of f, each of the shape of alpha."""

    lower: NDArray[np.float64] | np.float64
    upper: NDArray[np.float64] | np.float64


def trade_off_bounds(directions: Iterable[PairLoss], alpha: ArrayLike) -> TradeOffBounds:
    """f between the worst neighbours, in whichever order they are worse.

    The bounds are the same, to 1e-12, for finitely many losses of one pair and for Gaussian noise. Of a channel whose
    worst pair depends on the epsilon, or on the number of reports, the upper bound is that of one pair of inputs.
    directions: the loss of a pair each.   alpha: false-alarm rates in [0, 1]; ValueError for anything else.
    """
    rates = rates_of(alpha)
    ends = [_of_pair(pair, rates) for pair in directions]
    lower, upper = (np.minimum.reduce([one[end] for one in ends]) for end in (0, 1))
    return TradeOffBounds(lower[()], upper[()])


def trade_off_from_below(mechanism: Any, alpha: ArrayLike, levels: ArrayLike) -> NDArray[np.float64]:
    """f at each alpha, from a symmetric profile at finitely many epsilons: never above the true curve (pessimistic).

    mechanism: anything with `delta(epsilon)` that takes arrays.   alpha: in [0, 1].   levels: epsilons, nats, >= 0.
    returns: shape of alpha. Raises ValueError for an alpha that is no rate.
    """
    rates = rates_of(alpha)
    asked = np.atleast_1d(levels_of_profile(levels))
    left = 1 - np.atleast_1d(mechanism.delta(asked))
    steep = left - np.exp(asked) * rates[..., None]
    flat = np.exp(-asked) * (left - rates[..., None])
    return np.maximum(0.0, np.maximum(steep, flat).max(axis=-1))


def _of_pair(loss: PairLoss, rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if reached := attained(loss):
        low = _of_pair(side(loss, 1), rates)[0]
        return low, np.maximum(low, np.minimum.reduce([_of_pair(one, rates)[1] for one in reached]))
    mu, gaussian = (math.inf, False) if (known := loss.known()) is None else known.dominating_gaussian()
    if gaussian:
        found = np.asarray(ndtr(-ndtri(rates) - mu))
        return found, found
    atoms = known_atoms(loss, _MOST_ATOMS)
    if atoms is not None and not atoms.error:
        found = np.asarray(TradeOffCurve.of_atoms(atoms)(rates))
        return found, found
    sides = [_side(one, rates, value) for one, value in ((loss, _at_least_one), (loss.reversed(), _at_most_one))]
    lower, upper = (np.maximum(*ends) for ends in zip(*sides, strict=True))
    return lower, np.maximum(lower, np.minimum(upper, 1 - rates))


def _side(loss: PairLoss, rates: NDArray[np.float64], value: _Value) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds on the supremum over the epsilons >= 0 of one loss."""
    levels, logs = _looked_at(loss, rates, value)
    scale, kept = np.unique(np.exp(levels), return_index=True)  # epsilons near 0 may have one t
    low, high = np.exp(logs[kept].T)
    heights, places = _meetings(scale, low, high)
    last = math.exp(loss.log_delta_bounds(math.inf)[0])  # behind the last epsilon delta may fall to its limit
    heights, places = np.append(heights, last), np.append(places, scale[-1])
    return _highest(high, scale, rates, value), _highest(heights, places, rates, value)


def _at_least_one(delta: NDArray[np.float64], t: NDArray[np.float64], rate: _Rates) -> NDArray[np.float64]:
    """The line of a t >= 1 at this rate."""
    return 1 - delta - t * rate


def _at_most_one(delta: NDArray[np.float64], t: NDArray[np.float64], rate: _Rates) -> NDArray[np.float64]:
    """The line of 1/t <= 1, from the reversed loss's delta at t: 1 - delta(1/t) is its (1 - delta(t))/t.

    So a small f keeps its digits.
    """
    return (1 - delta - rate) / t


def _looked_at(
    loss: PairLoss, rates: NDArray[np.float64], value: _Value
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Epsilons >= 0, and bounds on ln delta there, shape (m, 2): many for a curve, for few rates those that matter."""
    few = rates.size <= _FEW
    levels = levels_of(loss, _COARSE if few else _FINE)
    levels = levels[(levels >= 0) & (levels < _FARTHEST)]
    logs = np.array([loss.log_delta_bounds(float(level)) for level in levels])
    for _ in range(_ZOOMS if few else 0):
        best = value(np.exp(logs[:, 1]), np.exp(levels), rates.reshape(-1, 1)).argmax(axis=1)
        left, right = levels[np.maximum(best - 1, 0)], levels[np.minimum(best + 1, levels.size - 1)]
        more = np.setdiff1d(np.linspace(left, right, _BETWEEN), levels)
        new = [loss.log_delta_bounds(float(level)) for level in more]
        order = np.argsort(np.append(levels, more))
        levels, logs = np.append(levels, more)[order], np.concatenate([logs, np.reshape(new, (-1, 2))])[order]
    return levels, logs


def _highest(
    deltas: NDArray[np.float64], t: NDArray[np.float64], rates: NDArray[np.float64], value: _Value
) -> NDArray[np.float64]:
    """The largest value over all t, or 0, at each rate."""
    best = [max(0.0, float(np.max(value(deltas, t, rate)))) for rate in rates.flat]
    return np.array(best).reshape(rates.shape)


def _meetings(
    t: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corners of a curve below delta: known points, and where prolonged chords meet in each cell.

    The chord that comes from the left falls at most as fast as from `high` to `low` there; the one from the right, at
    least as fast as from `low` to `high`. At the ends delta has slopes of -1 and 0 at most.
    """
    rises = np.diff(t)
    from_left = np.concatenate([[-1.0], (low[1:] - high[:-1]) / rises])[:-1]
    from_right = np.concatenate([(high[1:] - low[:-1]) / rises, [0.0]])[1:]
    from_right = np.minimum(from_right, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (low[1:] - low[:-1] - from_right * rises) / (from_left - from_right)
    step = np.clip(np.nan_to_num(step, nan=0.0, posinf=0.0, neginf=0.0), 0.0, rises)
    left = low[:-1] + from_left * step
    right = low[1:] + from_right * (step - rises)
    meeting = np.maximum(0.0, np.minimum(left, right))
    return np.concatenate([low, meeting]), np.concatenate([t, t[:-1] + step])


@dataclass(frozen=True, eq=False)
class TradeOffCurve:
    """A curve by its corners, between which it is straight.

    alphas: ascending, in [0, 1].   betas: falling, in [0, 1], the last 0; both of shape (m,).
    """

    alphas: NDArray[np.float64]
    betas: NDArray[np.float64]

    @classmethod
    def of_atoms(cls, loss: Atoms) -> TradeOffCurve:
        """The exact curve, up to rounding: each corner adds the outputs of one more loss to the test's P."""
        first = np.exp(loss.log_probabilities)
        second = np.exp(loss.log_probabilities - loss.losses)
        alphas = np.concatenate([[0.0], np.cumsum(second[::-1])])
        betas = np.concatenate([np.cumsum(first)[::-1], [0.0]])
        return cls(np.minimum(alphas, 1.0), np.minimum(betas, 1.0))

    def __call__(self, alpha: ArrayLike) -> NDArray[np.float64] | np.float64:
        """f at each false-alarm rate; shape of alpha. Raises ValueError for one that is no rate."""
        rates = rates_of(alpha)
        # the first corners' rates may round to 0, where np.interp takes the last of them
        return np.where(rates == 0, self.betas[0], np.interp(rates, self.alphas, self.betas))[()]


def rates_of(alpha: ArrayLike) -> NDArray[np.float64]:
    """As floats. Raises ValueError unless all are in [0, 1]."""
    rates = numbers_of("alpha", alpha, "real numbers in [0, 1]").astype(np.float64)
    if not np.all((rates >= 0) & (rates <= 1)):
        raise ValueError(f"alpha must lie in [0, 1], got {alpha!r}")
    return rates
