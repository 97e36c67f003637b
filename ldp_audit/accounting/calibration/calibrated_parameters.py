"""Usual questions to `calibrate`: the local epsilon, the noise, the rounds, or the sample that a budget allows.

Each is one call of it. Where several reports are composed, each may depend on the earlier ones.
"""

from __future__ import annotations

import math
from typing import Any

from ldp_audit.accounting.calibration.calibrate import Calibrated, calibrate
from ldp_audit.accounting.compose import compose
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.sampling.subsample import Adjacency, Kind, subsample
from ldp_audit.mechanisms.laplace import Laplace

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
    )


def calibrate_laplace(
    sensitivity: float, times: int, epsilon: float, delta: float = 0.0, *, tolerance: float = 1e-6
) -> Calibrated:
    """The least scale of Laplace noise with which so many reports meet the budget.

    sensitivity: in l1, of one report. At delta = 0 that is times sensitivity/epsilon; never more is needed.
    """
    unit = _unit(sensitivity)
    largest = unit * times / epsilon if epsilon > 0 else unit * _WIDEST
    return calibrate(
        lambda scale: compose([(Laplace(scale, unit), times)]),
        epsilon=epsilon,
        delta=delta,
        low=largest / max(1e3, 2.0 * times),
        high=largest * (1 + 2 * tolerance),
        increasing=False,
        tolerance=tolerance,
    )


def calibrate_rounds(mechanism: Any, epsilon: float, delta: float = 0.0, *, most: int = 10**9) -> Calibrated:
    """The largest number of reports of one mechanism that meet the budget.

    mechanism: a mechanism, or the `PrivacyLoss` of one round.   most: no more are looked for, >= 2.
    """
    return calibrate(
        lambda rounds: compose([(mechanism, rounds)]),
        epsilon=epsilon,
        delta=delta,
        low=1,
        high=most,
        increasing=True,
        whole=True,
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
    return calibrate(
        lambda k: subsample(mechanism, n=n, k=k, kind=kind, adjacency=adjacency),
        epsilon=epsilon,
        delta=delta,
        low=1,
        high=n - 1 if (kind, adjacency) == ("without", "add/remove") else n,
        increasing=True,
        whole=True,
    )


def _unit(sensitivity: float) -> float:
    if not (sensitivity > 0 and math.isfinite(sensitivity)):
        raise ValueError(f"sensitivity must be positive and finite, got {sensitivity!r}")
    return float(sensitivity)
