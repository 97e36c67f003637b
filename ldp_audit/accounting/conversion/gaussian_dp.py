"""Gaussian differential privacy: no test does better than between two unit normal distributions mu apart.

Source: Dong, Roth, Su, "Gaussian Differential Privacy" (JRSS B 2022), Definition 4 and Corollary 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri_exp

from ldp_audit.accounting.conversion.renyi import pairs_of
from ldp_audit.accounting.converted import Converted
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.hulls import atoms_above, dominating_atoms
from ldp_audit.losses.loss import Atoms, PairLoss, known_atoms, side
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.numerics import log_of_delta, nonnegative

_PROFILE = "Balle, Wang (2018), Theorem 8; Dong, Roth, Su (2022), Corollary 1"
_CURVE = "Dong, Roth, Su (2022), Definition 4"
_MOST_ATOMS = 100_000
_NEAR = 0.05
"""A mu, in units of one over the quantile, from which down quantiles lose digits and a series replaces them."""


def gdp_to_delta(mu: float, epsilon: float) -> Converted:
    """The least delta at this epsilon for mu-Gaussian privacy. Exact, in logarithms too.

    Raises ValueError unless both are >= 0.
    """
    spent, asked = nonnegative(mu, "mu"), nonnegative(epsilon)
    if spent == 0 or math.isinf(spent):
        return Converted.delta(0.0 if spent else -math.inf, "exact", _PROFILE)
    return Converted.delta(GaussianLoss(spent).log_delta_bounds(asked)[1], "exact", _PROFILE)


def gdp_to_epsilon(mu: float, delta: float | None = None, *, log_delta: float | None = None) -> Converted:
    """The least epsilon at this delta for mu-Gaussian privacy, nats. Exact; infinite at delta = 0."""
    spent, target = nonnegative(mu, "mu"), log_of_delta(delta, log_delta)
    if spent == 0 or target == 0:
        return Converted.exact(0.0, _PROFILE)
    if math.isinf(spent):
        return Converted.exact(math.inf, _PROFILE)
    found = PrivacyLoss((GaussianLoss(spent),)).epsilon(log_delta=target)
    beyond = math.isinf(found) and math.isfinite(target)
    return Converted.upper(found, _PROFILE) if beyond else Converted.exact(found, _PROFILE)


def gdp_of(loss: PrivacyLoss | PairLoss) -> Converted:
    """The least mu of a loss: that of the best normal pair which no test between the neighbours beats.

    A curve with finitely many corners lies above the (convex) normal one if its corners do, so the corners decide.
    Exact for finitely many losses and for Gaussian noise; for other losses an upper bound: that of a discrete loss that
    dominates, of Gaussian noise without sampling (no smaller one will do), or the root of the summands' squares.
    Infinite where a loss may be infinite.
    """
    # the curve of a pair in the other order is the inverse one, and normal curves are their own
    losses = pairs_of(loss)
    found = [(pair, *_of_pair(pair)) for pair in losses]
    sure = max((mu for _, mu, exact in found if exact), default=0.0)
    if all(exact for _, _, exact in found):
        return Converted.exact(sure, _CURVE, of=max(pair.supremum() for pair in losses))
    others = (_by_atoms(pair, mu) for pair, mu, exact in found if not exact and mu > sure)
    return Converted.upper(max(sure, *others, 0.0), f"{_CURVE}, from above")


def _of_pair(loss: PairLoss) -> tuple[float, bool]:
    """A mu, and whether it is exact: else that of dominating noise, or of a sum's parts together."""
    upper = side(loss, 1)
    if upper is not loss:
        return _of_pair(upper)[0], False
    known, atoms = loss.known(), known_atoms(loss, _MOST_ATOMS)
    if atoms is not None and not atoms.error:
        return _of_atoms(atoms), True
    if known is not None and known.summands()[0][0] is loss:
        return known.dominating_gaussian()
    parts = loss.sides().summands if known is None else known.summands()
    if not parts:
        return math.inf, False
    return math.sqrt(math.fsum(times * gdp_of(one).value ** 2 for one, times in parts)), False


def _by_atoms(pair: PairLoss, mu: float) -> float:
    """The smaller of this mu and that of a dominating discrete loss, which takes a second."""
    if math.isinf(pair.supremum()) or math.isinf(pair.reversed().supremum()):
        return mu  # a list ends where the tails do not, whose mu may be larger
    listed = dominating_atoms(pair)
    return min(mu, _of_atoms((listed if listed.exact else atoms_above(listed)).atoms()))


def _of_atoms(loss: Atoms) -> float:
    """The largest Phi^-1(1 - alpha) - Phi^-1(beta) over the corners of the trade-off curve."""
    if loss.log_infinite > -math.inf or loss.log_missing > -math.inf:
        return math.inf
    if loss.losses.size < 2:
        return 0.0
    first, second = loss.log_probabilities, loss.log_probabilities - loss.losses
    false_alarm, miss = _normal(*_tails(second)), _normal(*_tails(first)[::-1])
    apart, middle = false_alarm + miss, (false_alarm - miss) / 2
    near = apart * np.maximum(1.0, np.abs(middle)) < _NEAR
    if near.any():
        apart[near] = _from_gains(loss, middle, apart)[near]
    return float(apart.max())


def _from_gains(loss: Atoms, middle: NDArray[np.float64], apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """mu where the two quantiles nearly agree, from the advantage Phi(m + mu/2) - Phi(m - mu/2) at each corner."""
    first, second = np.exp(loss.log_probabilities), np.exp(loss.log_probabilities - loss.losses)
    gains = np.where(loss.losses < -1, first - second, first * -np.expm1(-np.maximum(loss.losses, -1.0)))
    above, below = np.cumsum(gains[::-1])[::-1][1:], -np.cumsum(gains)[:-1]
    advantage = np.where(loss.losses[:-1] >= 0, above, below)  # whichever has terms of one sign
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        density = np.exp(-middle * middle / 2) / math.sqrt(2 * math.pi)
        square, second = apart * apart, middle * middle
        curve = 1 + square * (second - 1) / 24 + square * square * (second * second - 6 * second + 3) / 1920
        return advantage / (density * curve)


def _tails(logs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln of the masses above and up to each value but the last."""
    above = np.logaddexp.accumulate(logs[::-1])[::-1][1:]
    return above, np.logaddexp.accumulate(logs)[:-1]


def _normal(logs: NDArray[np.float64], log_rests: NDArray[np.float64]) -> NDArray[np.float64]:
    """-Phi^-1 of a probability, from its logarithm or that of its complement, whichever is smaller."""
    with np.errstate(divide="ignore"):
        small = -ndtri_exp(np.minimum(logs, -0.6))
        large = ndtri_exp(np.minimum(log_rests, -0.6))
    return np.where(logs < log_rests, small, large)
