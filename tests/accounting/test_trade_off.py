"""The trade-off curve against the closed forms that are known."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from ldp_audit.accounting.profile_figure import profile_figure
from ldp_audit.accounting.trade_off import trade_off_from_below
from ldp_audit.mechanisms import Gaussian, RandomizedResponse, SubsampleRelease
from ldp_audit.reports.figures import svg


def test_randomised_response_has_the_curve_of_pure_epsilon() -> None:
    epsilon, alphas = 1.3, np.linspace(0, 1, 51)
    exact = np.maximum(0, np.maximum(1 - math.exp(epsilon) * alphas, math.exp(-epsilon) * (1 - alphas)))
    curve = trade_off_from_below(RandomizedResponse(epsilon), alphas, [0.0, 0.5, epsilon])
    assert curve == pytest.approx(exact, abs=1e-15)


def test_the_gaussian_curve_is_approached_from_below() -> None:
    normal, alphas = NormalDist(), np.linspace(0.01, 0.99, 30)
    exact = np.array([normal.cdf(normal.inv_cdf(1 - a) - 1) for a in alphas])
    curve = trade_off_from_below(Gaussian(1.0), alphas, np.linspace(0, 6, 400))
    assert np.all(curve <= exact + 1e-12)
    assert np.max(exact - curve) < 1e-4


def test_a_released_record_is_told_apart_without_false_alarms() -> None:
    curve = trade_off_from_below(SubsampleRelease(10, 4), [0.0, 0.6, 1.0], np.linspace(0, 20, 50))
    assert curve == pytest.approx([0.6, 0.0, 0.0], abs=1e-12)


def test_rates_must_be_rates() -> None:
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\]"):
        trade_off_from_below(RandomizedResponse(1.0), [1.5], [0.0])


@pytest.mark.parametrize("mechanism", [RandomizedResponse(1.0), Gaussian(1.0), SubsampleRelease(10, 4)])
def test_the_figure_is_drawn(mechanism: object) -> None:
    text = svg(profile_figure(mechanism).to_dict())
    assert all(word in text for word in ("Privacy profile", "Trade-off curve", "epsilon (nats)", "false-positive rate"))
