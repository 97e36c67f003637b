"""Composition theorems for mechanisms of which only (epsilon, delta) is known, each by its source.

`optimal` is the truth for the class: no smaller epsilon holds for every T mechanisms of (epsilon, delta), adaptively
chosen. The others are formulas that papers use, never below it; where a mechanism's own loss is known, `compose` gives
less. Every theorem's own slack d is solved for, so that all numbers are at one total delta.

Sources: Dwork, McSherry, Nissim, Smith (TCC 2006) for the sum; Dwork, Rothblum, Vadhan, "Boosting and differential
privacy" (FOCS 2010), Theorem III.3; Kairouz, Oh, Viswanath, "The composition theorem for differential privacy" (ICML
2015), Theorems 3.3 and 3.4.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ldp_audit.accounting.conversion.converted import Converted
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.binomial_loss import MOST_TIMES, BinomialLoss
from ldp_audit.losses.budget_arguments import level, share, whole
from ldp_audit.losses.finite_losses import EVERYTHING, NOTHING
from ldp_audit.losses.loss import ImproperLoss, LossLaw
from ldp_audit.numerics import log_lacking

_SUM = "the sum; Dwork, McSherry, Nissim, Smith (2006)"
_STRONG = "Dwork, Rothblum, Vadhan (2010), Theorem III.3"
_FORMULA = "Kairouz, Oh, Viswanath (2015), Theorem 3.4"
_OPTIMAL = "Kairouz, Oh, Viswanath (2015), Theorem 3.3"


def basic(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> Converted:
    """T epsilon, at the total delta T each_delta; infinity where that is more than `delta`.

    epsilon: of each mechanism, nats, >= 0.   times: T, 1 .. 10**18.   delta: in all.   each_delta: of each mechanism.
    Raises ValueError for anything else; so do all functions here.
    """
    times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
    enough = times * Fraction(each_delta) <= Fraction(delta)
    return Converted(_sum(epsilon, times) if enough else math.inf, "upper", _SUM)  # rounded up already


def advanced(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> Converted:
    """epsilon sqrt(2 T ln(1/d)) + T epsilon (e**epsilon - 1), d = delta - T each_delta > 0. As `basic` otherwise."""
    times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
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
    times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
    if delta == 1:
        return Converted.upper(0.0, _FORMULA)
    left = _log_kept(delta) - times * _log_kept(each_delta)  # ln(1 - d)
    if left > 0:
        return Converted.upper(math.inf, _FORMULA)
    root, log_slack = math.sqrt(times) * epsilon, log_lacking(left)
    if left == 0 or math.isinf(epsilon) or root == 0:
        return Converted.upper(_sum(epsilon, times), _FORMULA)
    mean, ratio = root * root * (math.tanh(epsilon / 2) / epsilon), math.log(root) - log_slack
    ends = max(1.0, ratio) + math.log1p(math.exp(-abs(ratio - 1.0))), -log_slack  # ln(e + e**ratio), and ln(1/d)
    return Converted.upper(min(_sum(epsilon, times), *(mean + root * math.sqrt(2 * end) for end in ends)), _FORMULA)


def optimal(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> Converted:
    """The least epsilon that holds for every T such mechanisms, exactly: a binomial sum. As `basic` otherwise."""
    times, delta, each_delta = _checked(epsilon, times, delta, each_delta)
    return Converted.exact(optimal_loss(epsilon, times, each_delta=each_delta).epsilon(delta), _OPTIMAL)


def optimal_loss(epsilon: float, times: int, *, each_delta: float = 0.0) -> PrivacyLoss:
    """The loss that dominates every T mechanisms of (epsilon, each_delta), and that some T of them have.

    One is infinite with probability each_delta, and else that of randomised response on two values.
    """
    times, _, each_delta = _checked(epsilon, times, 0.0, each_delta)
    known = (f"each of {times} mechanisms has epsilon {epsilon:g} and delta {each_delta:g}, and no more is known",)
    log_finite = times * _log_kept(each_delta)
    common: LossLaw = BinomialLoss(epsilon, -epsilon, times) if 0 < epsilon < math.inf else NOTHING
    if math.isinf(epsilon) or log_finite == -math.inf:
        return PrivacyLoss((EVERYTHING,), known)
    return PrivacyLoss((ImproperLoss(common, log_finite, log_finite) if log_finite < 0 else common,), known)


def compared(epsilon: float, times: int, delta: float, *, each_delta: float = 0.0) -> dict[str, Converted]:
    """All of them by name, for a table; arguments as `basic` takes them."""
    named = {"basic": basic, "advanced": advanced, "advanced, improved": advanced_improved, "optimal": optimal}
    return {name: theorem(epsilon, times, delta, each_delta=each_delta) for name, theorem in named.items()}


def _sum(epsilon: float, times: int) -> float:
    return BinomialLoss(epsilon, -epsilon, times).largest() if 0 < epsilon < math.inf else epsilon


def _log_kept(delta: float) -> float:
    return math.log1p(-delta) if delta < 1 else -math.inf


def _checked(epsilon: float, times: int, delta: float, each_delta: float) -> tuple[int, float, float]:
    """The last three as plain numbers; ValueError where one of the four is none."""
    level(epsilon)
    return whole(times, "times", 1, MOST_TIMES), share(delta, "delta"), share(each_delta, "each_delta")
