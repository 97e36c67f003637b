"""Pure epsilon: its conversion to other notions of privacy.

Randomised response on two values, with probabilities e**e0 and 1 over e**e0 + 1, dominates every mechanism of pure
epsilon e0 (Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015, Theorem 3.3). So its
bounds hold for all, and none of the numbers here that are marked exact can be lowered for the whole class.
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.special import ndtri_exp

from ldp_audit.accounting.conversion.renyi import response_renyi
from ldp_audit.accounting.converted import Converted
from ldp_audit.numerics import log_of_delta, nonnegative

_DOMINATED = "Kairouz, Oh, Viswanath (2015), Theorem 3.3: randomised response is the worst"


def pure_to_delta(pure: float, epsilon: float) -> Converted:
    """The least delta at this epsilon for every mechanism of pure epsilon `pure`, nats: (e**e0 - e**e)/(e**e0 + 1).

    Exact. Raises ValueError unless both are >= 0.
    """
    top, asked = nonnegative(pure, "pure"), nonnegative(epsilon)
    if math.isinf(top):
        return Converted.delta(0.0, "exact", _DOMINATED)
    log = math.log(-math.expm1(asked - top)) - math.log1p(math.exp(-top)) if asked < top else -math.inf
    return Converted.delta(log, "exact", _DOMINATED)


def pure_to_epsilon(pure: float, delta: float | None = None, *, log_delta: float | None = None) -> Converted:
    """The least epsilon at this delta for every mechanism of pure epsilon `pure`, nats.

    Exact, to 1e-15 of `pure`. Raises ValueError for a negative `pure` and for what is no delta.
    """
    top, allowed = nonnegative(pure, "pure"), math.exp(log_of_delta(delta, log_delta))
    spent = allowed * (1 + math.exp(-top))
    if math.isinf(top):
        return Converted.exact(0.0 if allowed == 1 else math.inf, _DOMINATED)
    return Converted.exact(max(0.0, top + math.log1p(-spent)) if spent < 1 else 0.0, _DOMINATED)


def pure_to_renyi(pure: float, alpha: float) -> Converted:
    """The largest Renyi divergence of this order, nats; exact. See `renyi.response_renyi`."""
    return replace(response_renyi(pure, alpha), source=_DOMINATED)


def pure_to_zcdp(pure: float) -> Converted:
    """The least rho, nats: e0 tanh(e0/2). Exact.

    With s = alpha - 1/2 the divergence of randomised response is the mean of e0 tanh(x e0) over x in [1/2, s]; as tanh
    is concave, tanh(x e0) <= 2 x tanh(e0/2) there, and the mean is at most alpha e0 tanh(e0/2). Order 1 attains it.
    """
    top = nonnegative(pure, "pure")
    return Converted.exact(top * math.tanh(top / 2), "randomised response at order 1, and tanh is concave", of=top)


def pure_to_zcdp_by_square(pure: float) -> Converted:
    """The usual rho, nats: e0**2 / 2; above `pure_to_zcdp`, and much so for e0 above 1."""
    top = nonnegative(pure, "pure")
    return Converted.upper(top * top / 2, "Bun, Steinke (2016), Proposition 1.4", of=top)


def pure_to_gdp(pure: float) -> Converted:
    """The least mu of Gaussian differential privacy that every mechanism of this pure epsilon has. Exact.

    The curve of randomised response has its corner where both errors are 1/(1 + e**e0); mu = -2 Phi^-1 of that.
    """
    top = nonnegative(pure, "pure")
    if top < 1e-4:  # Phi^-1(1/2 - y) = -sqrt(2 pi) y (1 + O(y**2)), where the tail's logarithm has lost its digits
        half = math.tanh(top / 2) / 2
        value = 2 * math.sqrt(2 * math.pi) * half * (1 + math.pi * half * half / 3)
    else:
        value = -2 * float(ndtri_exp(-top - math.log1p(math.exp(-top))))
    return Converted.exact(value, _DOMINATED, of=top)
