"""Renyi divergences, and what a bound on them says about (epsilon, delta).

D_alpha(P || Q) = ln E_P[e**((alpha - 1) L)] / (alpha - 1), L the privacy loss; order 1 is its mean, the divergence of
Kullback and Leibler, and order infinity its supremum (Mironov, CSF 2017, Definitions 3 and 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Real

import numpy as np

from ldp_audit.accounting.conversion.converted import Converted
from ldp_audit.accounting.conversion.law_divergence import divergence_of, laplace_divergence, of_excess
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.budget_arguments import level, log_of_delta, order, whole
from ldp_audit.losses.loss import PairLoss
from ldp_audit.numerics import least_between

Curve = Callable[[float], float]
"""A bound on the divergence at each order."""

_DEFINITION = "Mironov (2017), Definition 3"
_NOISE = "Mironov (2017), Proposition 7"
_SIMPLE = "Mironov (2017), Proposition 3"
_TIGHTER = "Canonne, Kamath, Steinke (2020), Proposition 12; Balle et al. (2020), Theorem 21"
_ORDERS = 1 + np.logspace(-6, 12, 73)
"""Where the best order is looked for first."""
_HUGE = 1e200


def renyi_divergence(loss: PrivacyLoss | PairLoss, alpha: float) -> Converted:
    """The divergence of order alpha, nats: the larger of the directions'.

    Exact for finitely many losses, for Gaussian and Laplace noise, and for sums of these; for any other law an upper
    end (`law_divergence`): within 1e-4 of itself for noise on a sample, by rate or without replacement, else that of a
    law that dominates it.
    alpha: >= 1; infinity gives the pure epsilon. Raises ValueError for anything else.
    """
    asked = order(alpha)
    laws = laws_of(loss)
    found = [divergence_of(law, asked) for law in laws]
    value = max(0.0, *(one for one, _ in found))
    if all(exact for _, exact in found):
        return Converted.exact(value, _DEFINITION)
    return Converted.upper(value, f"{_DEFINITION}, from above")


def response_renyi(epsilon: float, alpha: float, k: int = 2) -> Converted:
    """Of randomised response on k values, nats; exact: ln((t**a + t**(1 - a) + k - 2) / (t + k - 1)) / (a - 1).

    Written with hyperbolic sines, t**a + t**(1 - a) - t - 1 = 4 sqrt(t) sinh(a e/2) sinh((a - 1) e/2), so that nothing
    cancels. Raises ValueError unless epsilon >= 0, alpha >= 1, and k is a whole number >= 2.
    """
    top, asked = level(epsilon), order(alpha)
    whole(k, "k", 2)
    if top in (0.0, math.inf) or math.isinf(asked):
        return Converted.exact(top, _DEFINITION)
    log_others = math.log(k - 1)
    if asked > 1 and top > log_others + 5:
        return Converted.exact(_near_top(top, asked, k), _DEFINITION)
    log_all = float(np.logaddexp(top, log_others))
    if asked == 1:
        return Converted.exact(top * math.exp(top + math.log(-math.expm1(-top)) - log_all), _DEFINITION, of=top)
    log_rest = math.log(4) + top / 2 + _log_sinh(asked * top / 2) + _log_sinh((asked - 1) * top / 2) - log_all
    return Converted.exact(min(top, of_excess(log_rest, asked - 1)), _DEFINITION, of=top)


def _near_top(top: float, alpha: float, k: float) -> float:
    """What randomised response lacks of its epsilon, e + ln(1 - c)/(a - 1), for t far above k: c is small then.

    c = (1 - t**(2 - 2a) + (k - 2)(1 - t**(1 - a))) / (t + k - 1).
    """
    lack = -math.expm1(-2 * (alpha - 1) * top) - (k - 2) * math.expm1(-(alpha - 1) * top)
    share = math.exp(-top)
    return top + math.log1p(-share * lack / (1 + (k - 1) * share)) / (alpha - 1)


def gaussian_renyi(mu: float, alpha: float) -> Converted:
    """Of unit normal laws whose means are mu apart, nats; exact: alpha mu**2 / 2."""
    asked, shift = order(alpha), level(mu, "mu")
    if shift == 0 or math.isinf(asked):
        return Converted.exact(math.inf if shift else 0.0, _NOISE)
    return Converted.exact(asked * shift * shift / 2, _NOISE, of=shift)


def laplace_renyi(epsilon: float, alpha: float) -> Converted:
    """Of Laplace noise whose pure epsilon is this, nats; exact.

    ln(a/(2a - 1) e**((a - 1) e) + (a - 1)/(2a - 1) e**(-a e)) / (a - 1); at order 1, e + e**-e - 1.
    """
    top, asked = level(epsilon), order(alpha)
    if math.isinf(asked) or top in (0.0, math.inf):
        return Converted.exact(top, _DEFINITION)
    return Converted.exact(laplace_divergence(top, asked), "Mironov (2017), Proposition 6", of=top)


def renyi_to_epsilon(
    curve: Curve,
    delta: float | None = None,
    *,
    log_delta: float | None = None,
    orders: Iterable[float] | None = None,
    simple: bool = False,
) -> Converted:
    """An epsilon at this delta, nats, for a mechanism whose divergence of order alpha is at most curve(alpha).

    orders: those that may be used, each above 1; all of them, and the best one looked for, unless given.
    simple: Mironov's formula instead of the tighter one. An upper end. Raises ValueError for bad numbers, the curve's
    too: they may be infinite, but must be numbers.
    """
    target, curve = log_of_delta(delta, log_delta), _checked(curve)

    def at(alpha: float) -> float:
        if math.isinf(alpha):
            return curve(alpha)
        plain = curve(alpha) - target / (alpha - 1)
        return plain if simple else plain + math.log1p(-1 / alpha) - math.log(alpha) / (alpha - 1)

    if target == 0:
        return Converted.upper(0.0, "delta = 1 allows everything")
    value = min(_least(at, orders), curve(math.inf) if orders is None else math.inf)
    return Converted.upper(max(0.0, value), _SIMPLE if simple else _TIGHTER)


def renyi_to_delta(curve: Curve, epsilon: float, *, orders: Iterable[float] | None = None) -> Converted:
    """A delta at this epsilon for a mechanism whose divergence of order alpha is at most curve(alpha); an upper end.

    The smallest over the orders of e**((a - 1)(curve(a) - epsilon)) (1 - 1/a)**a / (a - 1). Errors as above.
    """
    asked, curve = level(epsilon), _checked(curve)

    def at(alpha: float) -> float:
        gap = curve(alpha) - asked
        if math.isinf(alpha):
            return -math.inf if gap <= 0 else 0.0
        return (alpha - 1) * gap + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

    if math.isinf(asked):
        return Converted.delta(-math.inf if math.isfinite(curve(2.0)) else 0.0, "upper", _TIGHTER)
    value = min(_least(at, orders), at(math.inf) if orders is None else 0.0, 0.0)
    return Converted.delta(value, "upper", _TIGHTER)


def laws_of(loss: PrivacyLoss | PairLoss) -> tuple[PairLoss, ...]:
    """The directions' laws. Raises ValueError for what is no loss."""
    laws = loss.directions if isinstance(loss, PrivacyLoss) else (loss,)
    if not all(isinstance(law, PairLoss) for law in laws):
        raise ValueError(f"loss must be a PrivacyLoss or a law of losses, got {loss!r}")
    return laws


def _log_sinh(x: float) -> float:
    """For x >= 0."""
    if x == 0:
        return -math.inf
    return x + math.log(-math.expm1(-2 * x)) - math.log(2)


def _least(value: Curve, orders: Iterable[float] | None) -> float:
    """The least of the values; any order's is valid, so a search that stops early is still right."""
    if orders is not None:
        return min(value(alpha) for alpha in _listed(orders))
    found = [value(float(alpha)) for alpha in _ORDERS]
    best = int(np.argmin(found))
    ends = np.log(_ORDERS[[max(0, best - 1), min(best + 1, _ORDERS.size - 1)]] - 1)
    near = least_between(
        # whose differences must be floats
        lambda z: min(max(value(1 + math.exp(z)), -_HUGE), _HUGE),
        *map(float, ends),
        xtol=1e-9,
    )
    return min(found[best], near) if near < _HUGE else found[best]


def _listed(orders: Iterable[float]) -> list[float]:
    """ValueError unless they are numbers above 1, one at least."""
    listed = list(orders) if isinstance(orders, Iterable) and not isinstance(orders, str) else []
    if not listed or not all(order(alpha) > 1 for alpha in listed):
        raise ValueError(f"orders must be numbers above 1, one at least, got {orders!r}")
    return [float(alpha) for alpha in listed]


def _checked(curve: Curve) -> Curve:
    """The same, but an error where it gives no number."""
    if not callable(curve):
        raise ValueError(f"curve must be a function from an order to a divergence, got {curve!r}")

    def at(alpha: float) -> float:
        value = curve(alpha)
        if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
            raise ValueError(f"curve must give a number at every order, got {value!r} at {alpha!r}")
        return float(value)

    return at
