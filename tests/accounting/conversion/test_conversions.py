"""Conversions between notions of privacy: against sums at 50 digits, and each upper bound above the exact profile."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import erfc, exp, log, mp, mpf, quad, sqrt, tanh

from ldp_audit.accounting import privacy_loss
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
    pure_to_delta,
    pure_to_epsilon,
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
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.discrete_loss import BinomialLoss, DiscreteLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import RandomizedResponse, SubsampleRelease
from tests.accounting.random_atoms import finite_losses, losses
from tests.together import together

LEVELS = (0.0, 1e-9, 0.1, 0.7, 1.5, 4.0, 50.0)
EPSILONS = (1e-9, 1e-3, 0.3, 1.0, 5.0, 50.0)
ORDERS = (1.0, 1 + 1e-6, 1.5, 2.0, 10.0, 1e4)


@pytest.fixture(autouse=True)
def _fifty_digits() -> Iterator[None]:
    with mp.workdps(50):
        yield


def log_of(found: Converted) -> float:
    assert found.log_value is not None
    return found.log_value


def response(epsilon: float) -> PrivacyLoss:
    return PrivacyLoss((BinomialLoss(epsilon, -epsilon, 1),))


def dominated(bound: object, loss: PrivacyLoss) -> bool:
    """Whether ln of the bound is at least ln of the exact delta, at every level."""
    return all(bound(e) >= loss.log_delta_bounds(e)[0] - 1e-11 for e in LEVELS)  # type: ignore[operator]


# --- pure epsilon


@together(("pure", "share"), itertools.product(EPSILONS, [0.0, 0.3, 0.999, 1.0, 2.0]))
def test_pure_epsilon_gives_the_delta_of_randomised_response(pure: float, share: float) -> None:
    top, asked = mpf(pure), mpf(pure * share)
    exact = max(mpf(0), (exp(top) - exp(asked)) / (exp(top) + 1))
    assert pure_to_delta(pure, pure * share).value == pytest.approx(float(exact), rel=1e-12, abs=0)


@together(("pure", "delta"), itertools.product(EPSILONS, [0.0, 1e-300, 1e-12, 1e-3, 0.4, 1.0]))
def test_pure_epsilon_gives_the_epsilon_of_randomised_response(pure: float, delta: float) -> None:
    inside = exp(mpf(pure)) - mpf(delta) * (exp(mpf(pure)) + 1)
    exact = float(max(mpf(0), log(inside))) if inside > 0 else 0.0
    assert pure_to_epsilon(pure, delta).value == pytest.approx(exact, abs=2e-15 * pure)


@together("pure", EPSILONS)
def test_the_least_rho_of_pure_epsilon_is_attained_and_no_order_exceeds_it(pure: float) -> None:
    rho = pure_to_zcdp(pure).value
    assert rho == pytest.approx(float(mpf(pure) * tanh(mpf(pure) / 2)), rel=1e-14)
    assert rho <= pure_to_zcdp_by_square(pure).value
    for alpha in ORDERS:
        assert response_renyi(pure, alpha).value <= alpha * rho * (1 + 1e-12)
    assert response_renyi(pure, 1.0).value == pytest.approx(rho, rel=1e-13)


@together("pure", EPSILONS)
def test_the_least_mu_of_pure_epsilon_is_that_of_randomised_response(pure: float) -> None:
    mu = pure_to_gdp(pure).value
    assert gdp_of(response(pure)).value == pytest.approx(mu, rel=1e-12)
    half = mpf(mu) / 2 / sqrt(mpf(2))
    assert float(erfc(half) / 2 * (1 + exp(mpf(pure)))) == pytest.approx(1, rel=1e-11)


@settings(max_examples=40)
@given(losses())
def test_no_mechanism_has_more_than_its_pure_epsilon_allows(loss: PrivacyLoss) -> None:
    pure = loss.supremum()
    assert dominated(lambda e: log_of(pure_to_delta(pure, e)), loss)
    if math.isfinite(pure):
        assert renyi_divergence(loss, 3.0).value <= pure_to_renyi(pure, 3.0).value * (1 + 1e-12) + 1e-15
        assert gdp_of(loss).value <= pure_to_gdp(pure).value * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("pure", [0.0, math.inf])
def test_pure_epsilon_at_its_ends(pure: float) -> None:
    assert pure_to_delta(pure, 1.0).value == (1.0 if pure else 0.0)
    assert pure_to_epsilon(pure, 1e-6).value == pure
    assert pure_to_zcdp(pure).value == pure_to_gdp(pure).value == pure_to_renyi(pure, 2.0).value == pure


# --- Renyi


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("k", [2, 7])
def test_the_divergence_of_randomised_response_at_50_digits(epsilon: float, alpha: float, k: int) -> None:
    t, a = exp(mpf(epsilon)), mpf(alpha)
    if alpha == 1:
        exact = (t - 1) * mpf(epsilon) / (t + k - 1)
    else:
        exact = log((t**a + t ** (1 - a) + k - 2) / (t + k - 1)) / (a - 1)
    assert response_renyi(epsilon, alpha, k).value == pytest.approx(float(exact), rel=1e-12)
    law = privacy_loss(RandomizedResponse(epsilon, k))
    assert renyi_divergence(law, alpha).value == pytest.approx(float(exact), rel=1e-11)


@together(("epsilon", "alpha"), itertools.product(EPSILONS, ORDERS))
def test_the_divergence_of_laplace_noise_at_50_digits(epsilon: float, alpha: float) -> None:
    e, a = mpf(epsilon), mpf(alpha)
    if alpha == 1:
        exact = e + exp(-e) - 1
    else:
        exact = log(a / (2 * a - 1) * exp((a - 1) * e) + (a - 1) / (2 * a - 1) * exp(-a * e)) / (a - 1)
    assert laplace_renyi(epsilon, alpha).value == pytest.approx(float(exact), rel=1e-12)


def test_the_divergences_of_noise_by_integration() -> None:
    def laplace(x: mpf, at: int) -> mpf:
        return exp(-abs(x - at)) / 2

    def normal(x: mpf, at: int) -> mpf:
        return exp(-((x - at) ** 2) / 2) / sqrt(2 * mp.pi)

    for density, value in ((laplace, laplace_renyi(1.0, 2.5)), (normal, gaussian_renyi(1.0, 2.5))):
        total = quad(lambda x, p=density: p(x, 0) ** 2.5 / p(x, 1) ** 1.5, [-60, -10, 0, 1, 10, 60])
        assert value.value == pytest.approx(float(log(total) / 1.5), rel=1e-12)


@settings(max_examples=40)
@given(losses(), st.sampled_from([1.0, 1.01, 2.0, 30.0]))
def test_the_divergence_of_atoms_is_their_sum(loss: PrivacyLoss, alpha: float) -> None:
    found = []
    for law in loss.directions:
        if law.supremum() == math.inf:
            found.append(math.inf)
            continue
        pairs = [(mpf(x), exp(mpf(y))) for x, y in zip(law.losses, law.log_probabilities, strict=True)]  # type: ignore[attr-defined]
        mass = sum(p for _, p in pairs)
        if alpha == 1:
            found.append(float(sum(p * x for x, p in pairs) / mass))
        else:
            found.append(float(log(sum(p * exp((mpf(alpha) - 1) * x) for x, p in pairs) / mass) / (mpf(alpha) - 1)))
    assert renyi_divergence(loss, alpha).value == pytest.approx(max(found), rel=1e-9, abs=1e-13)


def test_divergences_add_up_over_reports() -> None:
    one, many = BinomialLoss(0.1, -0.1, 1), BinomialLoss(0.1, -0.1, 10**9)
    assert renyi_divergence(many, 2.0).value == pytest.approx(1e9 * renyi_divergence(one, 2.0).value, rel=1e-13)


def test_a_loss_without_a_formula_is_bounded_from_above() -> None:
    class Unknown(PairLoss):
        @property
        def exact(self) -> bool:
            return True

        def supremum(self) -> float:
            return 1.0

        def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
            return LaplaceLoss(1.0).log_delta_bounds(epsilon)

        def reversed(self) -> Unknown:
            return self

    law: PairLoss = Unknown()
    for alpha in (1.0, 2.0, 20.0):
        found, exact = renyi_divergence(law, alpha), laplace_renyi(1.0, alpha).value
        assert found.kind == "upper"
        assert exact <= found.value <= exact * (1 + 1e-5)
    found, exact = gdp_of(law), gdp_of(LaplaceLoss(1.0))
    assert found.kind == "upper"
    assert found.value == pytest.approx(exact.value, rel=1e-6)


@settings(max_examples=15)
@given(losses())
def test_a_divergence_bound_is_never_below_the_profile(loss: PrivacyLoss) -> None:
    @cache
    def curve(alpha: float) -> float:
        return renyi_divergence(loss, alpha).value

    assert dominated(lambda e: log_of(renyi_to_delta(curve, e, orders=[1.01, 1.5, 2, 8, 64, 1e4])), loss)
    for delta in (0.0, 1e-300, 1e-6, 0.2):
        spent = renyi_to_epsilon(curve, delta, orders=[1.5, 2, 8, 64]).value
        assert spent >= loss.epsilon_bounds(delta)[0] * (1 - 1e-11)
        assert spent <= renyi_to_epsilon(curve, delta, orders=[1.5, 2, 8, 64], simple=True).value * (1 + 1e-9) + 1e-12


def test_a_divergence_that_is_too_small_is_no_bound() -> None:
    loss = response(1.0)
    assert not dominated(lambda e: log_of(renyi_to_delta(lambda a: 0.1 * renyi_divergence(loss, a).value, e)), loss)


def test_all_orders_of_pure_epsilon_find_pure_epsilon() -> None:
    found = renyi_to_epsilon(lambda alpha: response_renyi(1.0, alpha).value, 0.0)
    assert found.value == pytest.approx(1.0, rel=1e-11)
    assert renyi_to_delta(lambda alpha: response_renyi(1.0, alpha).value, 1.0).value == 0.0


# --- zCDP


@together(("rho", "delta"), itertools.product([1e-18, 1e-3, 0.5, 40.0], [1e-300, 1e-12, 1e-3, 0.3]))
def test_zcdp_is_never_below_the_gaussian_that_has_it(rho: float, delta: float) -> None:
    mu = math.sqrt(2 * rho)
    least = gdp_to_epsilon(mu, delta).value
    tight, simple = zcdp_to_epsilon(rho, delta).value, zcdp_to_epsilon(rho, delta, simple=True).value
    assert least * (1 - 1e-11) <= tight <= simple * (1 + 1e-9)
    assert gaussian_zcdp(mu).value == pytest.approx(rho)


def test_zcdp_conversion_is_at_the_best_order() -> None:
    """Half the rho would fall below the Gaussian that has the whole."""
    assert zcdp_to_epsilon(0.5, 1e-6).value == pytest.approx(5.2215344445, rel=1e-9)
    assert zcdp_to_epsilon(0.25, 1e-6).value < gdp_to_epsilon(1.0, 1e-6).value
    for epsilon in (1.0, 5.0, 30.0):
        assert gdp_to_delta(1.0, epsilon).value <= zcdp_to_delta(0.5, epsilon).value
        assert zcdp_to_delta(0.5, epsilon).value <= zcdp_to_delta(0.5, epsilon, simple=True).value


@settings(max_examples=5)
@given(finite_losses())
def test_the_rho_of_a_loss_covers_every_order_and_is_no_larger_than_need_be(loss: PrivacyLoss) -> None:
    rho = zcdp_of(loss).value
    orders = 1 + np.concatenate([np.logspace(-6, 5, 60), np.linspace(0.05, 10, 100)])
    shares = [renyi_divergence(loss, float(a)).value / a for a in orders]
    assert max(shares) <= rho * (1 + 1e-9) + 1e-15
    assert max(shares) >= 0.99 * rho - 1e-12
    assert dominated(lambda e: log_of(zcdp_to_delta(rho, e)), loss)


@together("epsilon", EPSILONS)
def test_the_rho_of_laplace_noise(epsilon: float) -> None:
    rho = laplace_zcdp(epsilon).value
    assert rho == pytest.approx(float(mpf(epsilon) + exp(-mpf(epsilon)) - 1), rel=1e-12)
    assert rho <= zcdp_of(LaplaceLoss(epsilon)).value <= rho * 1.0002


def test_zcdp_at_its_ends() -> None:
    assert zcdp_to_epsilon(0.0, 0.0).value == 0 == zcdp_to_delta(0.0, 0.0).value
    assert zcdp_to_epsilon(1.0, 0.0).value == math.inf == zcdp_to_epsilon(math.inf, 0.5).value
    assert zcdp_to_epsilon(1.0, 1.0).value == 0
    assert 0 < log_of(zcdp_to_delta(1e-3, 50.0)) * -1 < math.inf
    assert zcdp_to_epsilon(0.5, log_delta=-1e6).value == pytest.approx(0.5 + 2 * math.sqrt(0.5e6), rel=1e-3)
    assert zcdp_of(privacy_loss(RandomizedResponse(1.0))).value == pytest.approx(pure_to_zcdp(1.0).value, rel=1e-3)


# --- Gaussian


def gaussian_delta(mu: float, epsilon: float) -> mpf:
    m, e, root = mpf(mu), mpf(epsilon), sqrt(mpf(2))
    with mp.workdps(400):
        return erfc((e / m - m / 2) / root) / 2 - exp(e) * erfc((e / m + m / 2) / root) / 2


@together(("mu", "epsilon"), itertools.product([1e-6, 0.1, 1.0, 8.0], [0.0, 1e-9, 0.5, 5.0, 50.0]))
def test_the_gaussian_profile_at_50_digits(mu: float, epsilon: float) -> None:
    if (epsilon / mu) ** 2 > 1e6:
        assert gdp_to_delta(mu, epsilon).value == math.ulp(0.0)
        return
    exact = gaussian_delta(mu, epsilon)
    assert log_of(gdp_to_delta(mu, epsilon)) == pytest.approx(float(log(exact)), rel=1e-12, abs=1e-12)


@together(("epsilon", "delta"), itertools.product([0.0, 1e-9, 0.5, 5.0, 50.0], [1e-300, 1e-12, 1e-3, 0.9]))
def test_the_largest_mu_within_a_budget_meets_it_and_hardly_more_would(epsilon: float, delta: float) -> None:
    mu = gdp_within(epsilon, delta).value
    assert log_of(gdp_to_delta(mu, epsilon)) <= math.log(delta)
    assert log_of(gdp_to_delta(mu * (1 + 1e-11), epsilon)) > math.log(delta) - 1e-12
    if epsilon >= 0.5:
        assert gdp_to_epsilon(mu, delta).value == pytest.approx(epsilon, rel=1e-9)


def test_budgets_that_everything_or_nothing_meets() -> None:
    assert gdp_within(1.0, 0.0).value == 0
    assert gdp_within(math.inf, 0.1).value == gdp_within(1.0, 1.0).value == math.inf
    assert gdp_to_epsilon(1.0, 0.0).value == math.inf
    assert gdp_to_epsilon(0.0, 0.0).value == 0


@settings(max_examples=20)
@given(finite_losses())
def test_the_least_mu_of_a_loss_dominates_it_and_no_less_does(loss: PrivacyLoss) -> None:
    mu = gdp_of(loss).value
    if mu == 0:
        assert loss.delta(0.0) < 1e-15
        return
    fine = np.linspace(0, loss.supremum(), 60)
    assert all(gdp_to_delta(mu, float(e)).value >= loss.delta_bounds(float(e))[0] - 1e-12 for e in fine)
    less = GaussianLoss(0.9 * mu)
    both = [*fine, *-fine]
    assert any(
        less.log_delta_bounds(float(e))[0] < law.log_delta_bounds(float(e))[1] for law in loss.directions for e in both
    )


def test_a_released_record_has_no_mu() -> None:
    assert gdp_of(privacy_loss(SubsampleRelease(10, 4))).value == math.inf


# --- the result


def test_one_sided_numbers_are_rounded_outwards() -> None:
    assert Converted.upper(1.0, "").value > 1 > Converted.lower(1.0, "").value
    assert Converted.delta(-1e5, "upper", "").value == math.ulp(0.0)
    assert Converted.delta(-math.inf, "upper", "").value == 0
    assert Converted.delta(-1e-14, "upper", "").value == 1


def test_a_conversion_says_what_it_is() -> None:
    assert pure_to_delta(1.0, 0.5).describe().startswith("exactly 0.287649137 (Kairouz")
    assert zcdp_to_delta(0.5, 1e3).describe().startswith("at most e^-499")
    assert zcdp_to_epsilon(1.0, 0.0).to_dict()["value"] == "inf"


@together(
    ("call", "message"),
    [
        (lambda: pure_to_delta(-1.0, 0.5), "pure must be a number >= 0, got -1.0"),
        (lambda: pure_to_delta(1.0, math.nan), "epsilon must be a number >= 0, got nan"),
        (lambda: pure_to_epsilon(1.0, 1.5), r"delta must lie in \[0, 1\], got 1.5"),
        (lambda: pure_to_epsilon(1.0), "one of delta and log_delta must be given"),
        (lambda: gdp_within(1.0, 0.1, log_delta=-1.0), "one of delta and log_delta must be given"),
        (lambda: gdp_within(1.0, log_delta=1.0), "log_delta must be at most 0, got 1.0"),
        (lambda: response_renyi(1.0, 0.5), "alpha must be a number >= 1"),
        (lambda: response_renyi(1.0, 2.0, k=1), "k must be a whole number >= 2, got 1"),
        (lambda: zcdp_of(response(1.0), tolerance=2.0), "tolerance must lie between 0 and 1, got 2.0"),
    ],
)
def test_bad_numbers_are_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_the_least_mu_of_many_responses_is_at_most_that_of_their_sum() -> None:
    found, single = gdp_of(BinomialLoss(0.1, -0.1, 500**2)), gdp_of(BinomialLoss(0.1, -0.1, 1))
    assert found.kind == "upper"
    assert found.value == pytest.approx(500 * single.value, rel=1e-9)


def test_a_pair_has_the_rho_of_its_worse_order_and_the_divergences_of_its_own() -> None:
    """(.499, .001, .5) and (.5, .3, .2): only the second has the loss ln 300."""
    law = DiscreteLoss.of_laws({0: 0.499, 1: 0.001, 2: 0.5}, {0: 0.5, 1: 0.3, 2: 0.2})
    assert renyi_divergence(law.reversed(), math.inf).value == pytest.approx(math.log(300), rel=1e-14)
    assert renyi_divergence(law, math.inf).value == pytest.approx(math.log(2.5), rel=1e-14)
    for one in (law, law.reversed()):
        assert zcdp_of(one).value == pytest.approx(zcdp_of(PrivacyLoss((law, law.reversed()))).value, rel=1e-12)
    assert zcdp_of(law).value > 2.3
