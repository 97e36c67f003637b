"""Usual questions to `calibrate`: the local epsilon, the noise, the rounds, or the sample that a budget allows.

Each is one call of it. Where several reports are composed, each may depend on the earlier ones.
"""

from __future__ import annotations

import math
from typing import Any

from ldp_audit.accounting.budget_arguments import level, log_of_delta
from ldp_audit.accounting.calibration.calibrate import Calibrated, calibrate
from ldp_audit.accounting.compose import compose
from ldp_audit.accounting.conversion.gaussian_dp import gdp_within
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.sampling.subsample import Adjacency, Kind, subsample
from ldp_audit.mechanisms.laplace import Laplace

_LARGE = 700.0
_WIDEST = 1e12
"""Noise is looked for from its reciprocal to this many sensitivities."""


def calibrate_local_epsilon(
    times: int, epsilon: float, delta: float = 0.0, *, high: float = 100.0, tolerance: float = 1e-6
) -> Calibrated:
    """The largest pure epsilon of a report, nats, of which so many together meet the budget, whatever the mechanism.

    Randomised response on two values is the worst of that epsilon (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3).
    times: reports, >= 1.   high: none larger is looked for.
    """
    return calibrate(
        lambda local: PrivacyLoss((BinomialLoss(local, -local, times),)),
        epsilon=epsilon,
        delta=delta,
        low=min(max(epsilon, delta, 1e-12) / (2 * times), high / 2),  # pure composition, and delta <= times local/2
        high=high,
        increasing=True,
        tolerance=tolerance,
        near=max(epsilon / times, _normal(epsilon, delta) / math.sqrt(times)),
    )


def calibrate_gaussian(
    sensitivity: float, times: int, epsilon: float, delta: float, *, tolerance: float = 1e-6
) -> Calibrated:
    """The least standard deviation of Gaussian noise with which so many reports meet the budget.

    sensitivity: in l2, of one report.
    """
    unit = _unit(sensitivity)
    return calibrate(
        lambda sigma: PrivacyLoss((GaussianLoss(unit * math.sqrt(times) / sigma),)),
        epsilon=epsilon,
        delta=delta,
        low=unit / _WIDEST,
        high=unit * _WIDEST,
        increasing=False,
        tolerance=tolerance,
        near=_scale(unit * math.sqrt(times), epsilon, delta),
    )


def calibrate_laplace(
    sensitivity: float, times: int, epsilon: float, delta: float = 0.0, *, tolerance: float = 1e-6
) -> Calibrated:
    """The least scale of Laplace noise with which so many reports meet the budget.

    sensitivity: in l1, of one report. At delta = 0 that is times sensitivity/epsilon; never more is needed.
    """
    unit = _unit(sensitivity)
    largest = unit * times / epsilon if epsilon > 0 else unit * _WIDEST
    near = min(largest, _scale(unit * math.sqrt(times), epsilon, delta))
    return calibrate(
        lambda scale: compose([(Laplace(scale, unit), times)]),
        epsilon=epsilon,
        delta=delta,
        low=min(largest / max(1e3, 2.0 * times), near / 1e3),
        high=largest * (1 + 2 * tolerance),
        increasing=False,
        tolerance=tolerance,
        near=near,
    )


def calibrate_rounds(mechanism: Any, epsilon: float, delta: float = 0.0, *, most: int = 10**9) -> Calibrated:
    """The largest number of reports of one mechanism that meet the budget.

    mechanism: a mechanism, or the `PrivacyLoss` of one round.   most: no more are looked for, >= 2.
    """
    loss = privacy_loss(mechanism)
    largest, mu = loss.largest(), _normal(epsilon, delta)
    # so many reports of that pure epsilon; or, each being at worst like noise of as many deviations
    near = max(epsilon / largest, mu / largest * (mu / largest)) if 0 < largest < math.inf else 1.0
    return calibrate(
        lambda rounds: compose([(loss, rounds)]),
        epsilon=epsilon,
        delta=delta,
        low=1,
        high=most,
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
    adjacency: Adjacency = "replace",
) -> Calibrated:
    """The largest k of n that may be sampled for a mechanism whose result meets the budget.

    Without replacement under add/remove k stays below n, as one record fewer leaves no sample of n.
    mechanism, kind, adjacency: as `subsample` has them.   n: the records, >= 2.
    """
    loss = privacy_loss(mechanism)
    # the share that a pure budget allows: with the chance p a ratio t becomes 1 + p (t - 1)
    share = math.expm1(min(level(epsilon), _LARGE)) / math.expm1(min(loss.largest(), _LARGE) or _LARGE)
    return calibrate(
        lambda k: subsample(loss, n=n, k=k, kind=kind, adjacency=adjacency),
        epsilon=epsilon,
        delta=delta,
        low=1,
        high=n - 1 if (kind, adjacency) == ("without", "add/remove") else n,
        increasing=True,
        whole=True,
        near=n * share,
    )


def _normal(epsilon: float, delta: float) -> float:
    """mu of the normal pair that just meets the budget, or 0 where there is none: a hint."""
    usual = level(epsilon) < math.inf and -math.inf < log_of_delta(delta, None) < 0
    return gdp_within(epsilon, delta).value if usual else 0.0


def _scale(distance: float, epsilon: float, delta: float) -> float:
    """The deviation of Gaussian noise with which a distance just meets the budget; the largest where none does."""
    mu = _normal(epsilon, delta)
    return min(distance / mu, distance * _WIDEST) if mu > 0 else distance * _WIDEST


def _unit(sensitivity: float) -> float:
    if not (sensitivity > 0 and math.isfinite(sensitivity)):
        raise ValueError(f"sensitivity must be positive and finite, got {sensitivity!r}")
    return float(sensitivity)
