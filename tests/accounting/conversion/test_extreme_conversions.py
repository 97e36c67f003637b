"""Conversions at the limits of floats: no false 0 from above, no exception, and bad curves refused by name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import norm

from ldp_audit.accounting import privacy_loss, subsample
from ldp_audit.accounting.conversion.conversions import (
    Converted,
    gaussian_renyi,
    gaussian_zcdp,
    gdp_of,
    gdp_to_delta,
    gdp_to_epsilon,
    gdp_within,
    laplace_renyi,
    laplace_zcdp,
    pure_to_gdp,
    pure_to_renyi,
    pure_to_zcdp,
    pure_to_zcdp_by_square,
    renyi_divergence,
    renyi_to_delta,
    renyi_to_epsilon,
    response_renyi,
    zcdp_of,
    zcdp_to_delta,
    zcdp_to_epsilon,
)
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.together import together

TINY = 1e-200


@together(
    "found",
    [
        lambda: zcdp_of(privacy_loss(RandomizedResponse(TINY))),
        lambda: zcdp_of(privacy_loss(Gaussian(1 / TINY))),
        lambda: zcdp_of(privacy_loss(Laplace(1 / TINY))),
        lambda: renyi_divergence(privacy_loss(Gaussian(1 / TINY)), 2.0),
        lambda: renyi_divergence(privacy_loss(RandomizedResponse(TINY)), 1.0),
        lambda: renyi_divergence(privacy_loss(RandomizedResponse(TINY)), 1 + 1e-9),
        lambda: pure_to_zcdp(TINY),
        lambda: pure_to_zcdp_by_square(TINY),
        lambda: pure_to_renyi(TINY, 2),
        lambda: gaussian_zcdp(TINY),
        lambda: gaussian_renyi(TINY, 2),
        lambda: response_renyi(TINY, 2),
        lambda: response_renyi(1e-310, 1 + 1e-15),
        lambda: laplace_renyi(TINY, 3.0),
        lambda: laplace_zcdp(TINY),
        lambda: pure_to_gdp(5e-324),
    ],
)
def test_what_lies_below_all_floats_is_an_upper_bound_above_zero(found: Callable[[], Converted]) -> None:
    assert found().kind == "upper"
    assert 0 < found().value < 1e-300


def test_a_true_zero_stays_exact() -> None:
    for found in (gaussian_zcdp(0), gaussian_renyi(0, math.inf), pure_to_zcdp(0), laplace_zcdp(0), pure_to_gdp(0)):
        assert (found.value, found.kind) == (0, "exact")
    assert pure_to_zcdp_by_square(0).value == 0


def test_many_uses_of_what_one_float_cannot_hold_are_not_lost() -> None:
    """10**18 times e0**2 / 2 = 5e-331 in all 5e-313, of which one share underflows."""
    epsilon = 1e-165
    truth = mpf(10) ** 18 * mpf(epsilon) ** 2 / 2
    found = renyi_divergence(BinomialLoss(epsilon, -epsilon, 10**18), 1.0)
    assert found.kind == "upper"
    assert mpf(found.value) >= truth


@together(("alpha", "mu"), itertools.product([1.0, 1 + 1e-12, 2.0, 1e100, 1e160], [1e-162, 1e-155, 1e-100, 1e160]))
def test_gaussian_divergences_are_not_below_the_truth_at_any_size(mu: float, alpha: float) -> None:
    with mp.workdps(60):
        truth = mpf(alpha) * mpf(mu) ** 2 / 2
        for found in (gaussian_renyi(mu, alpha), renyi_divergence(GaussianLoss(mu), alpha)):
            value = mpf(found.value)
            assert value >= truth * (1 - mpf(10) ** -12)
            assert value >= truth if found.kind == "upper" else value <= truth * (1 + mpf(10) ** -12)


@together(("epsilon", "alpha"), itertools.product([1e-170, 1e-161, 1e-150], [1.0, 1 + 1e-6, 2.0, 1e9]))
def test_small_pure_losses_keep_their_divergence(epsilon: float, alpha: float) -> None:
    """alpha e**2 / 2, as alpha e is small; the excess of its exponential over 1 may underflow."""
    with mp.workdps(60):
        truth = mpf(alpha) * mpf(epsilon) ** 2 / 2
        loss = privacy_loss(RandomizedResponse(epsilon))
        for found in (response_renyi(epsilon, alpha), renyi_divergence(loss, alpha)):
            doubt = mpf(10) ** -12 if found.kind == "exact" else 0
            assert truth * (1 - doubt) <= mpf(found.value) <= truth * (1 + mpf(10) ** -11) + mpf(10) ** -322


def test_what_lies_above_all_floats_is_infinite_from_above() -> None:
    for found in (
        gaussian_zcdp(1e200),
        gaussian_renyi(1e200, 2),
        pure_to_zcdp_by_square(1e200),
        renyi_divergence(privacy_loss(Gaussian(TINY)), 2.0),
        zcdp_of(privacy_loss(Gaussian(TINY))),
        gdp_to_epsilon(1e200, 0.1),
    ):
        assert (found.value, found.kind) == (math.inf, "upper")
    assert laplace_renyi(1e200, 1e200).value == 1e200
    assert gdp_to_epsilon(1.0, 0.0).kind == "exact"


@together(
    ("mu", "log_delta", "epsilon"),
    [
        (1e100, math.log(1e-300), 5e199),  # mu**2 / 2, and deviations that are nothing beside it
        (1e-200, math.log(1e-300), 2.112967328e-199),
        (1e-200, -1e300, math.sqrt(2) * 1e-50),
    ],
)
def test_gaussian_noise_of_any_size(mu: float, log_delta: float, epsilon: float) -> None:
    assert gdp_to_epsilon(mu, log_delta=log_delta).value == pytest.approx(epsilon, rel=1e-9)
    assert GaussianLoss(mu).log_delta_bounds(gdp_to_epsilon(mu, log_delta=log_delta).value)[1] <= log_delta


@together(("mu", "epsilon"), [(1.0, 1e200), (1e-320, 1.0), (1e-200, 1e200), (1e-300, 1e-100)])
def test_a_gaussian_delta_below_every_logarithm_is_no_zero(mu: float, epsilon: float) -> None:
    assert gdp_to_delta(mu, epsilon).value > 0
    low, high = GaussianLoss(mu).log_delta_bounds(epsilon)
    assert low <= high
    assert math.isfinite(high)
    assert GaussianLoss(mu).log_delta_bounds(math.inf) == (-math.inf, -math.inf)


@together(("mu", "x"), itertools.product([1e-3, 1.0, 1e6], [1e8, 9e8, 1.1e9, 1e12]))
def test_far_gaussian_tails_agree_with_mills_ratio(mu: float, x: float) -> None:
    """ln phi(x) (R(x) - R(x + mu)), R by its continued fraction in 60 digits."""
    epsilon = mu * (x + mu / 2)
    with mp.workdps(60):
        place = mpf(epsilon) / mpf(mu) - mpf(mu) / 2

        def ratio(u: mpf) -> mpf:
            return 1 / (u + 1 / (u + 2 / (u + 3 / u)))

        exact = mp.log(ratio(place) - ratio(place + mpf(mu))) - place**2 / 2 - mp.log(2 * mp.pi) / 2
    assert GaussianLoss(mu).log_delta_bounds(epsilon)[1] == pytest.approx(float(exact), rel=1e-14)


@together(
    ("epsilon", "log_delta"), [(1e308, math.log(0.5)), (1e308, -690.0), (1.0, -1e10), (1.0, -1e300), (1e-300, -1.0)]
)
def test_the_noise_within_an_extreme_budget_meets_it(epsilon: float, log_delta: float) -> None:
    mu = gdp_within(epsilon, log_delta=log_delta).value
    assert mu > 0
    assert GaussianLoss(mu).log_delta_bounds(epsilon)[1] <= log_delta
    assert GaussianLoss(mu * (1 + 1e-11)).log_delta_bounds(epsilon)[1] > log_delta


def test_concentrated_privacy_of_any_size_converts() -> None:
    assert zcdp_to_delta(1e200, 1e250, simple=True).log_value == pytest.approx(-2.5e299)
    assert zcdp_to_delta(5e-324, 1e50, simple=True).value > 0
    assert zcdp_to_epsilon(1e-320, 1 - 1e-6, simple=True).value >= 2 * math.sqrt(1e-320) * 1e-3
    rho = zcdp_of(privacy_loss(RandomizedResponse(TINY))).value
    assert zcdp_to_epsilon(rho, 1e-300).value >= privacy_loss(RandomizedResponse(TINY)).epsilon(1e-300)
    assert zcdp_to_epsilon(rho, 1e-300, simple=True).value >= TINY


def test_a_curve_that_ends_is_used_up_to_its_end() -> None:
    """Renyi privacy of orders below 10 alone."""
    found = renyi_to_epsilon(lambda alpha: alpha if alpha < 10 else math.inf, 1e-30)
    assert found.value <= renyi_to_epsilon(lambda alpha: alpha, 1e-30, orders=[9.9]).value
    assert renyi_to_delta(lambda alpha: alpha if alpha < 10 else math.inf, 30.0).value < 1e-70
    assert renyi_to_epsilon(lambda _: math.inf, 0.1).value == math.inf
    assert renyi_to_delta(lambda _: math.inf, 1.0).value == 1
    assert renyi_to_epsilon(lambda alpha: 1e300 * alpha, 0.1).value >= 1e300


def steps(alpha: float) -> float:
    return alpha


@together(
    ("ask", "message"),
    [
        (lambda: renyi_to_epsilon(steps, 0.1, orders=[1.0]), r"orders must be numbers above 1, .* got \[1.0\]"),
        (lambda: renyi_to_epsilon(steps, 0.1, orders=[]), r"orders must be numbers above 1, .* got \[\]"),
        (lambda: renyi_to_delta(steps, 0.1, orders=[2.0, 1]), r"orders must be numbers above 1, .* got \[2.0, 1\]"),
        (lambda: renyi_to_delta(steps, 0.1, orders=3), "orders must be numbers above 1, .* got 3"),  # type: ignore[arg-type]
        (lambda: renyi_to_epsilon(lambda _: math.nan, 0.1), "curve must give a number at every order, got nan"),
        (lambda: renyi_to_delta(lambda _: "a", 0.1), "curve must give a number at every order, got 'a'"),  # type: ignore[arg-type, return-value]
        (lambda: renyi_to_delta(3, 0.1), "curve must be a function from an order to a divergence, got 3"),  # type: ignore[arg-type]
        (lambda: response_renyi(1.0, 2.0, k=2.5), "k must be a whole number >= 2, got 2.5"),  # type: ignore[arg-type]
        (lambda: response_renyi(1.0, 2.0, k=1), "k must be a whole number >= 2, got 1"),
    ],
)
def test_bad_orders_and_curves_are_refused_by_name(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert response_renyi(1.0, 2.0, k=np.int64(3)) == response_renyi(1.0, 2.0, k=3)  # type: ignore[arg-type]
    assert gdp_of(GaussianLoss(1.0)).kind == "exact"


@pytest.mark.parametrize("direction", [0, 1])
def test_a_tail_beyond_a_list_needs_the_whole_mu(direction):
    """Of N(0, 1) against its sample at 1%, the test "below 20" alone needs a mu of 0.76; the list ends before it."""
    x = 20.0
    miss, right = norm.sf(x), 0.99 * norm.sf(x) + 0.01 * norm.sf(x - 1)
    loss = subsample(Gaussian(1.0), rate=0.01).directions[direction]
    assert gdp_of(loss).value >= norm.isf(miss) - norm.isf(right) > 0.75
