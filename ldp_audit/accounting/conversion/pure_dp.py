"""Pure epsilon: its conversion to other notions of privacy, and its composition for unknown mechanisms.

Randomised response on two values, with probabilities e**e0 and 1 over e**e0 + 1, dominates every mechanism of pure
epsilon e0 (Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015, Theorem 3.3). So its
bounds hold for all, and none of the numbers here that are marked exact can be lowered for the whole class.

Composition theorems for mechanisms of which only (epsilon, delta) is known, each by its source: `optimal` is exact for
the class, no smaller epsilon holds for every T of them, adaptively chosen. The others are formulas that papers use,
never below it; where a mechanism's own loss is known, `compose` gives less. Every theorem's own slack d is solved for,
so that all numbers are at one total delta. Sources: Dwork, McSherry, Nissim, Smith (TCC 2006) for the sum; Dwork,
Rothblum, Vadhan, "Boosting and differential privacy" (FOCS 2010), Theorem III.3; Kairouz, Oh, Viswanath (ICML 2015),
Theorems 3.3 and 3.4.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from scipy.special import ndtri_exp

from ldp_audit.accounting.conversion.renyi import response_renyi
from ldp_audit.accounting.converted import Converted
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, MOST_TIMES, ZERO_LOSS, BinomialLoss
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.numerics import log1mexp, log_of_delta, nonnegative, probability, whole

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


_SUM = "the sum; Dwork, McSherry, Nissim, Smith (2006)"
_STRONG = "Dwork, Rothblum, Vadhan (2010), Theorem III.3"
_FORMULA = "Kairouz, Oh, Viswanath (2015), Theorem 3.4"
_OPTIMAL = "Kairouz, Oh, Viswanath (2015), Theorem 3.3"


def basic(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> Converted:
    """T epsilon, at the total delta T each_delta; infinity where that is more than `delta`.

    epsilon: of each mechanism, nats, >= 0.   times: T, 1 .. 10**18.   delta: in all.   each_delta: of each mechanism.
    Raises ValueError for anything else; so do all functions here.
    """
    epsilon, times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
    enough = times * Fraction(each_delta) <= Fraction(delta)
    return Converted(_sum(epsilon, times) if enough else math.inf, "upper", _SUM)  # rounded up already


def advanced(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> Converted:
    """epsilon sqrt(2 T ln(1/d)) + T epsilon (e**epsilon - 1), d = delta - T each_delta > 0. As `basic` otherwise."""
    epsilon, times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
    slack = float(Fraction(delta) - times * Fraction(each_delta))
    if slack <= 0 or epsilon > 700:
        return Converted.upper(math.inf, _STRONG)
    return Converted.upper(
        epsilon * math.sqrt(-2 * times * math.log(slack)) + times * epsilon * math.expm1(epsilon), _STRONG
    )


def advanced_improved(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> Converted:
    """The least of T epsilon, m + epsilon sqrt(2 T ln(e + epsilon sqrt(T)/d)) and m + epsilon sqrt(2 T ln(1/d)).

    m = T epsilon tanh(epsilon / 2), and 1 - delta = (1 - each_delta)**T (1 - d). As `basic` otherwise.
    """
    epsilon, times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
    if delta == 1:
        return Converted.upper(0.0, _FORMULA)
    left = _log_kept(delta) - times * _log_kept(each_delta)  # ln(1 - d)
    if left > 0:
        return Converted.upper(math.inf, _FORMULA)
    root, log_slack = math.sqrt(times) * epsilon, log1mexp(left)
    if left == 0 or math.isinf(epsilon) or root == 0:
        return Converted.upper(_sum(epsilon, times), _FORMULA)
    mean, ratio = root * root * (math.tanh(epsilon / 2) / epsilon), math.log(root) - log_slack
    ends = max(1.0, ratio) + math.log1p(math.exp(-abs(ratio - 1.0))), -log_slack  # ln(e + e**ratio), and ln(1/d)
    return Converted.upper(min(_sum(epsilon, times), *(mean + root * math.sqrt(2 * end) for end in ends)), _FORMULA)


def optimal(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> Converted:
    """The least epsilon that holds for every T such mechanisms, exactly: a binomial sum. As `basic` otherwise."""
    epsilon, times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
    return Converted.exact(optimal_loss(epsilon, times, each_delta=each_delta).epsilon(delta), _OPTIMAL)


def optimal_loss(epsilon: float, times: int, *, each_delta: float = 0.0) -> PrivacyLoss:
    """The loss that dominates every T mechanisms of (epsilon, each_delta), and that some T of them have.

    One is infinite with probability each_delta, and else that of randomised response on two values.
    """
    epsilon, times, _, each_delta = _checked(epsilon, times, 0.0, each_delta)
    known = (f"each of {times} mechanisms has epsilon {epsilon:g} and delta {each_delta:g}, and no more is known",)
    log_finite = times * _log_kept(each_delta)
    common: PairLoss = BinomialLoss(epsilon, -epsilon, times) if 0 < epsilon < math.inf else ZERO_LOSS
    if math.isinf(epsilon) or log_finite == -math.inf:
        return PrivacyLoss((INFINITE_LOSS,), known)
    return PrivacyLoss((LossWithInfinity(common, log_finite, log_finite) if log_finite < 0 else common,), known)


def compared(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> dict[str, Converted]:
    """All of them by name, for a table; arguments as `basic` takes them."""
    named = {"basic": basic, "advanced": advanced, "advanced, improved": advanced_improved, "optimal": optimal}
    return {name: theorem(epsilon, times, delta, each_delta=each_delta) for name, theorem in named.items()}


def _sum(epsilon: float, times: int) -> float:
    return BinomialLoss(epsilon, -epsilon, times).supremum() if 0 < epsilon < math.inf else epsilon


def _log_kept(delta: float) -> float:
    return math.log1p(-delta) if delta < 1 else -math.inf


def _checked(epsilon: float, times: int, delta: float, each_delta: float) -> tuple[float, int, float, float]:
    """All four as plain numbers; ValueError where one is invalid."""
    count, share = whole(times, "times", 1, MOST_TIMES), probability(each_delta, "each_delta")
    return nonnegative(epsilon), count, probability(delta, "delta"), share
