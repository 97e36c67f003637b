"""Renyi divergences of subsampled losses and sums: against integrals at 20 digits, and never below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
from mpmath import binomial, exp, inf, log, mp, mpf, quad, sqrt

from ldp_audit.accounting import compose, privacy_loss, shuffle, subsample
from ldp_audit.accounting.conversion.gaussian_dp import gdp_of
from ldp_audit.accounting.conversion.renyi import laplace_renyi, renyi_divergence, renyi_to_epsilon, zcdp_of
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.enclosed_loss import mixture
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import Gaussian, Laplace, Piecewise, RandomizedResponse, TwoPoint
from tests.together import together

Density = Callable[[mpf], mpf]


@pytest.fixture(autouse=True)
def _twenty_digits() -> Iterator[None]:
    with mp.workdps(20):
        yield


def gaussian(at: float) -> Density:
    return lambda x: exp(-((x - mpf(at)) ** 2) / 2) / sqrt(2 * mp.pi)


def laplace(at: float, epsilon: float) -> Density:
    return lambda x: mpf(epsilon) / 2 * exp(-mpf(epsilon) * abs(x - at))


def divergence(first: Density, second: Density, alpha: float, places: list[float]) -> float:
    """The divergence of order alpha, by quadrature between these places and beyond."""
    between = [-inf, *places, inf]
    if alpha == 1:
        return float(quad(lambda x: first(x) * log(first(x) / second(x)), [-40, *places, 40]))
    whole = quad(lambda x: second(x) * (first(x) / second(x)) ** mpf(alpha), between)
    return float(log(whole) / (mpf(alpha) - 1))


def mixed(rate: float, first: Density, second: Density) -> Density:
    return lambda x: (1 - mpf(rate)) * second(x) + mpf(rate) * first(x)


@pytest.mark.covering(1)
@pytest.mark.parametrize("alpha", [1.0, 1.001, 1.5, 2.0, 7.3, 30.0])
@pytest.mark.parametrize(("rate", "mu"), [(1e-3, 1.0), (0.01, 0.5), (0.5, 2.0), (0.999, 1.0)])
def test_sampled_gaussian_noise_has_the_divergence_of_its_integral(rate: float, mu: float, alpha: float) -> None:
    """Would catch an infinite bound for an infinite supremum."""
    both = [mixed(rate, gaussian(mu), gaussian(0.0)), gaussian(0.0)]
    places = [mu / 2, mu, alpha * mu]
    truth = [divergence(both[0], both[1], alpha, places), divergence(both[1], both[0], alpha, [-alpha * mu, 0, mu / 2])]
    loss = subsample(Gaussian(1 / mu), rate=rate)
    for law, exact in zip(loss.directions, truth, strict=True):
        found = renyi_divergence(law, alpha)
        assert found.kind == "upper"
        assert exact <= found.value * (1 + 1e-13)
        assert found.value == pytest.approx(exact, rel=3e-5)
    assert renyi_divergence(loss, alpha).value == max(renyi_divergence(law, alpha).value for law in loss.directions)


@together(
    ("alpha", "rate", "sigma"),
    [
        (alpha, rate, sigma)
        for alpha in [2, 3, 8, 64, 256]
        for rate, sigma in [(1e-9, 1.0), (0.01, 1.0), (0.1, 20.0), (1e-3, 0.3)]
    ],
)
def test_whole_orders_have_the_binomial_sum_of_moments(rate: float, sigma: float, alpha: int) -> None:
    """Mironov, Talwar, Zhang (2019), Section 3.3; the first direction is the larger."""
    with mp.workdps(40):  # the sum is 1 and next to nothing
        q, step = mpf(rate), 1 / (2 * mpf(sigma) ** 2)
        terms = [binomial(alpha, j) * (1 - q) ** (alpha - j) * q**j * exp((j * j - j) * step) for j in range(alpha + 1)]
        exact = float(log(sum(terms)) / (alpha - 1))
    found = renyi_divergence(subsample(Gaussian(sigma), rate=rate), alpha).value
    assert exact * (1 - 1e-13) <= found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("rate", "epsilon"), [(0.01, 1.0), (0.5, 3.0)])
def test_sampled_laplace_noise_is_bounded_near_its_integral(rate: float, epsilon: float) -> None:
    """Would catch an infinite bound where the supremum is rounded down."""
    base = laplace(1.0, epsilon), laplace(0.0, epsilon)
    law = subsample(Laplace(1 / epsilon), rate=rate).directions[0]
    for alpha in (1.0, 1.5, 2.0, 32.0):
        exact = divergence(mixed(rate, *base), base[1], alpha, [0.0, 1.0])
        assert exact <= renyi_divergence(law, alpha).value * (1 + 1e-13) <= exact * (1 + 1e-4)


REPLACED = subsample(Gaussian(2.0, replaced=1.0), rate=0.3, adjacency="replace")
"""Of two tests, as its list of atoms takes a second."""


@pytest.mark.parametrize(
    ("loss", "rate", "mu"),
    [
        (REPLACED, 0.3, 0.5),
        pytest.param(
            subsample(Gaussian(1.0, replaced=1.0), rate=0.01, adjacency="replace"), 0.01, 1.0, marks=pytest.mark.slow
        ),
    ],
    ids=["often", "seldom"],
)
def test_a_replaced_record_is_bounded_near_the_pair_that_dominates(loss: PrivacyLoss, rate: float, mu: float) -> None:
    """The losses above 0 of the mixture, their reverse, and 0."""
    for alpha in (1.0, 4.0):
        exact = _of_replaced(rate, mu, alpha)
        assert exact <= renyi_divergence(loss, alpha).value * (1 + 1e-12) <= exact * (1 + 1e-2)


def _of_replaced(rate: float, mu: float, alpha: float) -> float:
    def gain(x: mpf) -> mpf:
        w = 1 - mpf(rate) + mpf(rate) * exp(mu * x - mpf(mu) ** 2 / 2)
        if alpha == 1:
            return gaussian(0.0)(x) * (w - 1) * log(w)
        return gaussian(0.0)(x) * (w ** mpf(alpha) - w + w ** (1 - mpf(alpha)) - 1)

    whole = quad(gain, [mu / 2, mu, alpha * mu + 1, alpha * mu + 20, inf])
    return float(whole if alpha == 1 else log(1 + whole) / (mpf(alpha) - 1))


WITH_REPLACEMENT = subsample(Gaussian(1.0, replaced=1.0), kind="with", n=10, k=3)
"""Of two tests, as its list of atoms takes a second."""


@pytest.mark.parametrize("alpha", [20.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_draws_with_replacement_are_bounded(alpha: float) -> None:
    chances = [binomial(3, j) * mpf(0.1) ** j * mpf(0.9) ** (3 - j) for j in range(4)]

    def first(x: mpf) -> mpf:
        return sum(chance * gaussian(j)(x) for j, chance in enumerate(chances))

    exact = divergence(first, gaussian(0.0), alpha, [0.5, 3.0, 3 * alpha])
    found = renyi_divergence(WITH_REPLACEMENT.directions[0], alpha).value
    assert exact <= found <= exact * 10  # each number of copies by itself


@pytest.mark.parametrize("alpha", [1.0, 1.5, 3.0, 1e4])
def test_the_divergences_of_a_sum_add_up(alpha: float) -> None:
    """Would catch a sum that is listed as one loss, which overflows for losses down to -1000."""
    items = [(Laplace(1.0), 1000), (Gaussian(2.0), 3), (RandomizedResponse(0.5), 7)]
    alone = [(times, renyi_divergence(privacy_loss(one), alpha)) for one, times in items]
    found = renyi_divergence(compose(items), alpha)
    assert found.kind == "exact"
    assert found.value == pytest.approx(sum(times * one.value for times, one in alone), rel=1e-13)
    sampled = subsample(Gaussian(1.0), rate=0.01), subsample(Laplace(1.0), rate=0.1)
    many = renyi_divergence(compose([(sampled[0], 50), (sampled[1], 5)]), alpha)
    parts = [max(renyi_divergence(one.directions[i], alpha).value for i in (0, 1)) for one in sampled]
    assert many.kind == "upper"
    assert many.value <= (50 * parts[0] + 5 * parts[1]) * (1 + 1e-13)


@together("alpha", [1.0, 1 + 1e-9, 1.5, 3.0, 1e4])
def test_a_public_mixture_has_the_mean_of_the_moments(alpha: float) -> None:
    law = mixture([(math.log(0.3), 0.2, GaussianLoss(0.5)), (math.log(0.7), log_rest(), LaplaceLoss(1.0))])
    if alpha - 1 < 1e-6:
        exact = 0.3 * (0.2 + 0.125) + 0.7 * (log_rest() + laplace_renyi(1.0, 1.0).value)
    else:
        c = mpf(alpha) - 1
        moments = exp(c * (mpf(0.2) + mpf(alpha) / 8)), exp(c * (log_rest() + mpf(laplace_renyi(1.0, alpha).value)))
        exact = float(log(mpf(0.3) * moments[0] + mpf(0.7) * moments[1]) / c)
    assert renyi_divergence(law, alpha).value == pytest.approx(exact, rel=1e-6)


def log_rest() -> float:
    """The other part's shift, with which Q's masses add up to 1."""
    return math.log(0.7 / (1 - 0.3 * math.exp(-0.2)))


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(subsample(Gaussian(1.0), rate=0.01), marks=pytest.mark.slow),
        REPLACED,
        subsample(Laplace(0.5), rate=0.2),
        pytest.param(WITH_REPLACEMENT, marks=pytest.mark.slow),
        compose([(subsample(Gaussian(1.0), rate=0.01), 100), (Gaussian(3.0), 2)]),
        shuffle(TwoPoint(1.0), n=50),
        compose([(Piecewise(1.0), 3), (Gaussian(3.0), 2)]),
    ],
    ids=["sampled", "replaced", "sampled Laplace", "with replacement", "sum", "shuffled", "others"],
)
def test_what_divergences_say_is_no_less_than_what_the_loss_itself_says(loss: PrivacyLoss) -> None:
    rho = zcdp_of(loss).value
    for alpha in (1.0, 1.01, 2.0, 9.0, 100.0, 1e6):
        assert renyi_divergence(loss, alpha).value <= rho * alpha * (1 + 1e-9)
    for delta in (1e-9, 1e-4, 0.1):
        bound = renyi_to_epsilon(lambda alpha: renyi_divergence(loss, alpha).value, delta).value
        assert loss.epsilon_bounds(delta)[0] <= bound < math.inf


def test_the_rho_of_sampled_noise_is_that_of_all_records() -> None:
    """Large orders see no sampling. Would catch a supremum over a few orders alone."""
    assert zcdp_of(subsample(Gaussian(1.0), rate=0.01)).value == pytest.approx(0.5, rel=1e-4)
    both = compose([(Gaussian(2.0), 3), (Laplace(1.0), 10)])
    assert zcdp_of(both).value >= 0.375 + 10 * laplace_renyi(1.0, 1.0).value


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
def test_the_mu_of_sampled_noise_is_that_of_all_records(adjacency: str) -> None:
    """No smaller mu holds at large epsilons, whatever the rate. Would catch an infinite one."""
    loss = subsample(Gaussian(2.0, replaced=1.0), rate=0.01, adjacency=adjacency)  # type: ignore[arg-type]
    assert gdp_of(loss).value == pytest.approx(0.5, rel=1e-11)
    assert loss.log_delta_bounds(1000.0)[0] > GaussianLoss(0.49).log_delta_bounds(1000.0)[1]
    together = gdp_of(compose([(loss, 100), (GaussianLoss(1.0), 3)]))
    assert (together.kind, together.value) == ("upper", pytest.approx(math.sqrt(28)))


def test_the_mu_of_many_noises_is_no_less_than_any_test_shows() -> None:
    """Would catch an overflow."""
    loss = compose([(Laplace(1.0), 1000)])
    mu = gdp_of(loss).value
    assert mu <= math.sqrt(1000) * gdp_of(privacy_loss(Laplace(1.0))).value * (1 + 2e-12)  # rounded up twice
    for level in (0.0, 100.0, 400.0, 700.0, 990.0):
        assert loss.log_delta_bounds(level)[0] <= GaussianLoss(mu).log_delta_bounds(level)[1]


@together("alpha", [1.0, 1.5, 2.0])
def test_tiny_losses_are_bounded_near_their_order(alpha: float) -> None:
    """Would catch a rounding of 1e-16 divided by 1e-5 at order 1. The divergence is about alpha (q mu)**2 / 2."""
    found = renyi_divergence(subsample(Gaussian(1 / 1.6e-4), rate=3.5e-5), alpha).value
    assert found == pytest.approx(alpha * (3.5e-5 * 1.6e-4) ** 2 / 2, rel=1.0)
    assert found >= alpha * (3.5e-5 * 1.6e-4) ** 2 / 2
