"""Common calibrations: the local epsilon, the noise, the rounds, or the sample that a budget allows.

Each is one call of `calibrate`. Where several reports are composed, each may depend on the earlier ones.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from ldp_audit.accounting.calibrate import Calibrated, calibrate
from ldp_audit.accounting.converted import Converted
from ldp_audit.accounting.privacy_loss import PrivacyLoss, adjacency_of, check_adjacency, compose, privacy_loss
from ldp_audit.accounting.subsample import MOST_RECORDS, Kind, subsample
from ldp_audit.losses.discrete_loss import MOST_TIMES, BinomialLoss
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms.laplace import Laplace
from ldp_audit.mechanisms.mechanism import Adjacency
from ldp_audit.numerics import log_of_delta, nonnegative, positive, root, whole

_LARGE = 700.0
_WIDEST = 1e12
"""Scales of noise are searched from the reciprocal of this to this multiple of all sensitivities together."""
_SOURCE = "Balle, Wang (2018), Theorem 8; Dong, Roth, Su (2022), Corollary 1"
_ENOUGH = 1e3
"""A ln delta lower than this, below the target and again, is cut."""
_ABOVE = 1 + 1e-3
"""The factor by which the range of a scale exceeds a sufficient one, against rounding."""


def calibrate_local_epsilon(
    times: int, epsilon: float, delta: float = 0.0, *, high: float = 100.0, tolerance: float = 1e-6
) -> Calibrated:
    """The largest pure epsilon, nats, of which `times` reports of any mechanism meet the budget.

    Randomised response on two values is the worst of that epsilon (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3).
    times: reports, 1 .. 10**18.   high: the end of the search.
    """
    reports, top = whole(times, "times", 1, MOST_TIMES), positive(high, "high")
    allowed = max(nonnegative(epsilon), math.exp(log_of_delta(delta, None)))
    return calibrate(
        lambda local: PrivacyLoss((BinomialLoss(local, -local, reports),)),
        epsilon=epsilon,
        delta=delta,
        # pure composition, and delta <= times local/2
        low=min(max(allowed / (2 * reports), sys.float_info.min), top / 2),
        high=top,
        increasing=True,
        tolerance=tolerance,
        near=max(epsilon / reports, _normal(epsilon, delta) / math.sqrt(reports)),
    )


def calibrate_gaussian(
    sensitivity: float, times: int, epsilon: float, delta: float, *, tolerance: float = 1e-6
) -> Calibrated:
    """The least standard deviation of Gaussian noise with which `times` reports meet the budget.

    sensitivity: in l2, of one report, > 0.   times: reports, >= 1.
    """
    together = positive(sensitivity, "sensitivity") * math.sqrt(whole(times, "times"))
    return calibrate(
        lambda sigma: PrivacyLoss((GaussianLoss(together / sigma),)),
        epsilon=epsilon,
        delta=delta,
        low=max(positive(together, "sensitivity sqrt(times)") / _WIDEST, sys.float_info.min),
        high=min(together * _WIDEST, sys.float_info.max),
        increasing=False,
        tolerance=tolerance,
        near=_scale(together, epsilon, delta),
    )


def calibrate_laplace(
    sensitivity: float, times: int, epsilon: float, delta: float = 0.0, *, tolerance: float = 1e-6
) -> Calibrated:
    """The least scale of Laplace noise with which `times` reports meet the budget.

    sensitivity: in l1, of one report, > 0.   times: reports, >= 1.
    At delta = 0 that is times sensitivity/epsilon; never more is needed.
    """
    unit, reports, asked = positive(sensitivity, "sensitivity"), whole(times, "times"), nonnegative(epsilon)
    largest = max(unit * reports / asked, unit / _WIDEST) if asked > 0 else unit * _WIDEST
    near = min(largest, _scale(unit * math.sqrt(reports), epsilon, delta))
    return calibrate(
        lambda scale: compose([(Laplace(scale, unit), reports)]),
        epsilon=epsilon,
        delta=delta,
        low=max(min(largest / max(1e3, 2.0 * reports), near / 1e3), sys.float_info.min),
        high=positive(largest, "sensitivity times / epsilon") * _ABOVE,
        increasing=False,
        tolerance=tolerance,
        near=near,
    )


def calibrate_rounds(mechanism: Any, epsilon: float, delta: float = 0.0, *, most: int = 10**9) -> Calibrated:
    """The largest number of reports of one mechanism that meet the budget.

    mechanism: a mechanism, or the `PrivacyLoss` of one round.   most: the end of the search, >= 2.
    """
    loss, last = privacy_loss(mechanism), whole(most, "most", 2)
    largest, mu = loss.supremum(), _normal(epsilon, delta)
    # so many reports of that pure epsilon; or, each being at worst like noise of as many deviations
    near = max(epsilon / largest, mu / largest * (mu / largest)) if 0 < largest < math.inf else 1.0
    return calibrate(
        lambda rounds: compose([(loss, rounds)]),
        epsilon=epsilon,
        delta=delta,
        low=1,
        high=last,
        increasing=True,
        whole=True,
        near=near,
    )


def calibrate_subsample(
    mechanism: Any,
    n: int,
    epsilon: float,
    delta: float = 0.0,
    *,
    kind: Kind = "without",
    adjacency: Adjacency | None = None,
) -> Calibrated:
    """The largest k of n that may be sampled for a mechanism whose result meets the budget.

    Without replacement under add/remove k stays below n, as one record fewer leaves no sample of n.
    mechanism, adjacency: as `subsample` has them; by default "add/remove" for noise on sums, and else "replace".
    kind: "without" or "with".   n: the records, 2 .. 10**12, or from 3 on without replacement under add/remove.
    """
    if kind not in ("without", "with"):
        raise ValueError(f"kind must be without or with, which have a k, got {kind!r}")
    asked = check_adjacency(adjacency_of(mechanism) or "replace" if adjacency is None else adjacency)
    one_less = (kind, asked) == ("without", "add/remove")
    loss, records = privacy_loss(mechanism, "replace"), whole(n, "n", 3 if one_less else 2, MOST_RECORDS)
    # the share that a pure budget allows: with the chance p a ratio t becomes 1 + p (t - 1)
    share = math.expm1(min(nonnegative(epsilon), _LARGE)) / math.expm1(min(loss.supremum(), _LARGE) or _LARGE)
    return calibrate(
        lambda k: subsample(loss, n=records, k=k, kind=kind, adjacency=asked),
        epsilon=epsilon,
        delta=delta,
        low=1,
        high=records - one_less,
        increasing=True,
        whole=True,
        near=records * share,
    )


def gdp_within(epsilon: float, delta: float | None = None, *, log_delta: float | None = None) -> Converted:
    """The largest mu whose Gaussian privacy meets a budget: noise of sensitivity/mu. Exact, rounded down.

    That (epsilon, delta) holds does not make a mechanism mu-GDP; for that see `gdp_of`.
    """
    asked, target = nonnegative(epsilon), log_of_delta(delta, log_delta)
    if target == 0 or math.isinf(asked):
        return Converted.exact(math.inf, _SOURCE)
    if target == -math.inf:
        return Converted.exact(0.0, _SOURCE)

    low = _surely_within(asked, target)
    if low == 0:
        return Converted.lower(0.0, _SOURCE)

    def excess(mu: float) -> float:
        return max(2 * target - _ENOUGH, GaussianLoss(mu).log_delta_bounds(asked)[1]) - target

    while excess(2 * low) <= 0:
        low *= 2
    found = low * root(lambda share: excess(low * share), 1.0, 2.0, xtol=1e-14, rtol=1e-14)
    step = 1e-13
    while excess(found * (1 - step)) > 0:
        step *= 4
    mu = found * (1 - step)
    return Converted.exact(mu, _SOURCE) if mu >= sys.float_info.min else Converted.lower(mu, _SOURCE)


def _surely_within(epsilon: float, target: float) -> float:
    """A mu whose delta is below e**target: delta <= delta(0) <= mu/sqrt(2 pi), and delta <= e**(-x**2/2), x > 0.

    A little less, against the rounding of x for huge mu.
    """
    by_distance = 0.99 * math.sqrt(2 * math.pi) * math.exp(target)
    width = math.sqrt(2) * math.sqrt(-target)
    return (1 - 1e-9) * max(by_distance, epsilon / (width / 2 + math.hypot(width / 2, math.sqrt(epsilon / 2))))


def _normal(epsilon: float, delta: float) -> float:
    """mu of the normal pair that just meets the budget, or 0 where there is none: a hint."""
    usual = nonnegative(epsilon) < math.inf and -math.inf < log_of_delta(delta, None) < 0
    return gdp_within(epsilon, delta).value if usual else 0.0


def _scale(distance: float, epsilon: float, delta: float) -> float:
    """The deviation of Gaussian noise with which a distance just meets the budget; the largest where none does."""
    mu = _normal(epsilon, delta)
    return min(distance / mu, distance * _WIDEST) if mu > 0 else distance * _WIDEST
