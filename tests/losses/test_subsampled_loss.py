"""Subsampled losses: against quadrature, and the masses of each against its profile."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, privacy_loss
from ldp_audit.accounting.subsample import subsample
from ldp_audit.losses.discrete_loss import BinomialLoss, DiscreteLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import dominating_atoms, known_bounds
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.subsampled_loss import (
    ReplacedLoss,
    SamplingRate,
    SubsampledLoss,
    SymmetricLoss,
    subsampled,
    symmetric,
)
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse, TwoPoint
from tests.together import together

LAWS: dict[str, PairLoss] = {
    "gaussian": GaussianLoss(1.5),
    "laplace": LaplaceLoss(1.0),
    "randomised response": privacy_loss(RandomizedResponse(1.0, 3)).directions[0],
    "improper": DiscreteLoss.of_laws({0: 0.5, 1: 0.4, 2: 0.1}, {0: 0.3, 1: 0.5, 3: 0.2}),
}


def log_normal(x: float) -> float:
    return -x * x / 2 - 0.5 * math.log(2 * math.pi)


def gaussian_log_delta(mu: float, rate: float, epsilon: float, *, remove: bool) -> float:
    """ln delta of sampled Gaussian noise by quadrature, scaled so that nothing underflows."""
    t = math.exp(epsilon)
    ratio_at = (t - 1 + rate) / rate if remove else (1 / t - 1 + rate) / rate
    crossing = math.log(ratio_at) / mu + mu / 2 if ratio_at > 0 else -math.inf

    def gain(x: float) -> float:
        ratio = 1 - rate + rate * math.exp(mu * x - mu * mu / 2)
        return ratio - t if remove else 1 - t * ratio

    start, end = (crossing, crossing + 40) if remove else (crossing - 40, crossing)
    near = crossing if (crossing > 0) == remove else 0.0
    scale = log_normal(near)
    points = sorted({min(max(p, start), end) for p in (0.0, mu, near)} - {start, end})
    pieces = [start, *points, end]
    value = sum(
        quad(lambda x: gain(x) * math.exp(log_normal(x) - scale), a, b, epsabs=0, epsrel=1e-12, limit=400)[0]
        for a, b in pairwise(pieces)
    )
    return scale + math.log(value)


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("rate", [1e-3, 0.1, 0.7])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_poisson_sampled_gaussian_noise_has_the_quadratures_delta(mu: float, rate: float, share: float) -> None:
    """share: of the largest epsilon at which the reverse direction has any delta."""
    remove, add = subsample(Gaussian(1 / mu), rate=rate).directions
    epsilon = share * -math.log1p(-rate)
    found = [law.log_delta_bounds(epsilon)[0] for law in (remove, add)]
    wanted = [gaussian_log_delta(mu, rate, epsilon, remove=way) for way in (True, False)]
    assert found == pytest.approx(wanted, abs=1e-9)
    if share:
        assert found[0] - found[1] > 1e-4, "the two directions differ, so that a swap would be seen"


@together("epsilon", [2.0, 10.0, 25.0])
def test_poisson_sampled_gaussian_noise_at_tiny_deltas(epsilon: float) -> None:
    loss = subsample(Gaussian(1.0), rate=1e-4)
    low, high = loss.log_delta_bounds(epsilon)
    assert low == high == pytest.approx(gaussian_log_delta(1.0, 1e-4, epsilon, remove=True), abs=1e-8)
    if epsilon == 25:
        assert low < -500
    assert loss.epsilon(log_delta=low) == pytest.approx(epsilon, abs=1e-9)


def exact_delta(mechanism: Any, epsilon: mpmath.mpf) -> mpmath.mpf:
    """The mechanism's profile at any epsilon, to the digits in use."""
    if isinstance(mechanism, Gaussian):
        mu = mpmath.mpf(1 / mechanism.sigma)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
    if isinstance(mechanism, Laplace):
        top = mpmath.mpf(1 / mechanism.scale)
        return max(mpmath.mpf(0), -mpmath.expm1(epsilon if epsilon <= -top else (epsilon - top) / 2))
    top, t = mpmath.exp(mpmath.mpf(mechanism.epsilon)), mpmath.exp(epsilon)
    return (max(0, top - t) + max(0, 1 - t * top)) / (top + 1)


@together(
    ("mechanism", "rate"),
    itertools.product([Gaussian(0.7), Gaussian(30.0), Laplace(1.0), Laplace(1e5)], [1e-9, 1e-3, 0.4, 0.999]),
)
def test_eleven_digits_of_delta_are_right(mechanism: Any, rate: float) -> None:
    """Against 50 digits, at epsilons on both sides of 0, in both directions."""
    assert_digits(mechanism, rate, 1e-11)


@together(("epsilon", "rate"), itertools.product([1e-9, 1e-3, 1.0, 30.0], [1e-9, 1e-3, 0.4, 0.999]))
def test_twelve_digits_of_finitely_many_losses_are_right(epsilon: float, rate: float) -> None:
    assert_digits(RandomizedResponse(epsilon), rate, 1e-12)


def assert_digits(mechanism: Any, rate: float, tolerance: float) -> None:
    remove, add = subsample(mechanism, rate=rate).directions
    scale = min(1.0, rate, remove.supremum(), add.supremum())
    with mpmath.workdps(50):
        q = mpmath.mpf(rate)
        for level in (-0.9 * scale, -0.01 * scale, 0.0, 0.3 * scale, 0.8 * scale):
            t = mpmath.exp(level)
            drawn, rest = 1 + (t - 1) / q, 1 - t * (1 - q)
            wanted = [q * exact_delta(mechanism, mpmath.log(drawn)) if drawn > 0 else 1 - t]
            wanted.append(rest * exact_delta(mechanism, mpmath.log(t * q / rest)) if rest > 0 else mpmath.mpf(0))
            for law, exact in zip((remove, add), wanted, strict=True):
                found = law.log_delta_bounds(level)
                assert found[0] == found[1]
                if exact > mpmath.mpf(10) ** -30:
                    assert abs(found[0] - float(mpmath.log(exact))) < tolerance


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_two_rounds_on_the_grid_enclose_the_double_integral(epsilon: float) -> None:
    """The first loss by quadrature, the second in closed form: would catch masses that contradict the profile."""
    rate, mu = 0.1, 1.0
    loss = subsample(Gaussian(1 / mu), rate=rate)
    for one, twice, sign in zip(loss.directions, compose([(loss, 2)]).directions, (1, -1), strict=True):

        def gain(x: float, law: PairLoss = one, way: int = sign) -> float:
            ratio = math.log1p(rate * math.expm1(mu * x - mu * mu / 2))
            weight = log_normal(x) + (ratio if way > 0 else 0.0)
            return math.exp(weight + law.log_delta_bounds(epsilon - way * ratio)[0])

        exact = sum(quad(gain, a, b, epsabs=1e-13, epsrel=1e-10)[0] for a, b in pairwise((-12, -3, 0, 2, 5, 14)))
        low, high = (math.exp(end) for end in twice.log_delta_bounds(epsilon))
        assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
        assert high - low < 1e-6


@pytest.mark.parametrize("name", sorted(LAWS))
@pytest.mark.parametrize("record_first", [True, False])
@pytest.mark.parametrize("rate", [1e-6, 0.2, 0.95])
def test_masses_of_cells_and_the_profile_agree(name: str, record_first: bool, rate: float) -> None:
    """Also on edges beyond the range of the loss, and for atoms, which the wrapper need not see but may."""
    law = SubsampledLoss(LAWS[name], SamplingRate.of_chance(rate), record_first)
    for edges in (np.linspace(-3, 3, 13), np.linspace(-rate, rate, 7), np.array([-9.0]), np.array([9.0])):
        assert_masses_agree(law, edges)


@together(
    ("name", "edges"),
    itertools.product(
        ["gaussian", "laplace", "randomised response"],
        [np.linspace(-2, 2, 9), np.linspace(-2, 2, 8), np.array([1.0]), np.array([-1.0, -0.5])],
    ),
)
def test_masses_of_the_symmetric_loss_and_its_profile_agree(name: str, edges: np.ndarray) -> None:
    assert_masses_agree(SymmetricLoss(SubsampledLoss(LAWS[name], SamplingRate.of_chance(0.3))), edges)


def assert_masses_agree(law: Any, edges: np.ndarray) -> None:
    first, second, infinite, missing = law.masses(edges)
    assert first.shape == second.shape == (edges.size + 1,)
    assert math.fsum([*np.exp(first), math.exp(infinite)]) == pytest.approx(1, abs=1e-13)
    assert math.fsum([*np.exp(second), math.exp(missing)]) == pytest.approx(1, abs=1e-13)
    for i, edge in enumerate(edges.tolist()):
        above = math.exp(infinite) + math.fsum(np.exp(first[i + 1 :]) - math.exp(edge) * np.exp(second[i + 1 :]))
        assert math.exp(law.log_delta_bounds(edge)[0]) == pytest.approx(above, abs=1e-13)
    back = law.reversed().masses(np.nextafter(-edges[::-1], -math.inf))  # the cells are closed at the other end
    assert np.exp(back.first) == pytest.approx(np.exp(second[::-1]), abs=1e-9)
    assert (back.infinite, back.missing) == (missing, infinite)


@together(("rate", "name"), itertools.product([1e-9, 0.3, 1 - 1e-9], ["randomised response", "improper"]))
def test_atoms_and_the_wrapper_say_the_same(name: str, rate: float) -> None:
    chance = SamplingRate.of_chance(rate)
    for law, way in (
        (subsampled(LAWS[name], chance), True),
        (subsampled(LAWS[name].reversed(), chance).reversed(), False),
    ):
        wrapper = (
            SubsampledLoss(LAWS[name], chance, way) if way else SubsampledLoss(LAWS[name].reversed().reversed(), chance)
        )
        wrapper = wrapper if way else SubsampledLoss(LAWS[name].reversed(), chance).reversed()
        assert law.supremum() == pytest.approx(wrapper.supremum(), rel=1e-12)
        for epsilon in (-0.5, -0.1 * rate, 0.0, 0.3 * rate, 0.1):
            assert law.log_delta_bounds(epsilon) == pytest.approx(
                wrapper.log_delta_bounds(epsilon), rel=1e-12, abs=1e-12
            )


def test_symmetric_leaves_a_symmetric_loss_as_it_is() -> None:
    law = symmetric(LAWS["randomised response"])
    for level in (-0.7, 0.0, 0.4):
        assert law.log_delta_bounds(level) == pytest.approx(
            LAWS["randomised response"].log_delta_bounds(level), rel=1e-13
        )


@pytest.mark.parametrize("record_first", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_base_without_masses_is_enclosed_for_composition(record_first: bool) -> None:
    """By its profile: a long sum of two-valued losses does not list its losses."""
    law = SubsampledLoss(BinomialLoss(1e-3, -1e-3, 150_000), SamplingRate.of_chance(0.2), record_first)
    lower, upper = known_bounds(law)
    for level in (-0.1, 0.0, 0.05, 0.15):
        found = [
            math.exp(one.log_delta_bounds(level)[end]) for one, end in ((lower, 0), (law, 0), (law, 1), (upper, 1))
        ]
        assert found == sorted(found)
        assert found[3] < found[1] * 1.01 + 1e-12
    if record_first:  # its mirror image is no upper half of a symmetric law
        assert known_bounds(SymmetricLoss(law))[1].log_delta_bounds(0.05)[1] >= law.log_delta_bounds(0.05)[1]
    same = SubsampledLoss(GaussianLoss(1.0), SamplingRate.of_chance(0.2), record_first)
    assert known_bounds(same) == (same, same)
    assert known_bounds(SymmetricLoss(same)) == (SymmetricLoss(same),) * 2


def test_both_bounds_of_an_enclosed_base_reach_composition() -> None:
    inner = EnclosedLoss(GaussianLoss(1.0), GaussianLoss(1.2))
    for law in (
        SubsampledLoss(inner, SamplingRate.of_chance(0.3)),
        SubsampledLoss(inner, SamplingRate.of_chance(0.3), False),
    ):
        lower, upper = known_bounds(law)
        for level in (-0.2, 0.0, 0.1):
            assert (lower.log_delta_bounds(level)[0], upper.log_delta_bounds(level)[1]) == law.log_delta_bounds(level)


def test_many_large_losses_are_mixed_without_losing_their_masses() -> None:
    """Would catch a list of them, which has no right digits: its masses do not add up to 1."""
    loss = subsample(PrivacyLoss((BinomialLoss(1000.0, -1000.0, 2 * 10**5),)), rate=0.3)
    low, high = loss.epsilon_bounds(1e-6)
    assert 2e8 + math.log(0.3) - 1e-6 < low <= high < 2e8 + math.log(0.3) + 1e-6


def replaced_profile(noise: str, rate: float, moved: tuple[float, float], epsilon: float) -> mpmath.mpf:
    """delta of ((1 - q) N_0 + q N_v, (1 - q) N_0 + q N_w) for v > w, at t >= 1, from the half-line where P > t Q."""
    density, tail = {
        "gaussian": (mpmath.npdf, lambda x: mpmath.ncdf(-x)),
        "laplace": (
            lambda x: mpmath.exp(-abs(x)) / 2,
            lambda x: mpmath.exp(-x) / 2 if x > 0 else 1 - mpmath.exp(x) / 2,
        ),
    }[noise]
    q, (v, w), t = mpmath.mpf(rate), map(mpmath.mpf, moved), mpmath.exp(mpmath.mpf(epsilon))

    def gain(part: Any, x: mpmath.mpf) -> mpmath.mpf:
        return (1 - q) * (1 - t) * part(x) + q * part(x - v) - q * t * part(x - w)

    low, high = mpmath.mpf(-60), mpmath.mpf(60)
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (low, middle) if gain(density, middle) > 0 else (middle, high)
    return gain(tail, high)


@pytest.mark.covering(1)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.99])
@pytest.mark.parametrize(
    ("present", "share"), [(0.01, 1.4), (1.0, 0.3), (1.0, 1.0), (1.0, 2.0), (3.0, 1.4), (3.0, 2.0)]
)
def test_a_replaced_record_of_a_sampled_sum(noise: str, rate: float, present: float, share: float) -> None:
    """Against the pair at the ends, and no less than pairs between; the masses have the same profile."""
    family = {"gaussian": GaussianLoss, "laplace": LaplaceLoss}[noise]
    one, both, chance = family(present), family(share * present), SamplingRate.of_chance(rate)
    loss = ReplacedLoss(one, one, both, chance)
    top = min(loss.supremum(), 8.0)
    ends = present, present - share * present
    with mpmath.workdps(40):
        for epsilon in (0.0, 1e-9, 0.1 * top, 0.5 * top, 0.9 * top):
            wanted = replaced_profile(noise, rate, ends, epsilon)
            if wanted > 1e-30:  # for which the reference has digits
                low, high = loss.log_delta_bounds(epsilon)
                assert low == high == pytest.approx(float(mpmath.log(wanted)), rel=1e-12, abs=1e-12)
                for inner in ((0.8 * ends[0], ends[1]), (ends[0], 0.9 * ends[1] + 0.1 * ends[0]), (-ends[1], -ends[0])):
                    assert replaced_profile(noise, rate, inner, epsilon) <= wanted * (1 + 1e-12)
    edges = top * np.array([-1.0, -0.9, -1e-3, 0.0, 1e-6, 0.3, 0.7, 1.0])
    assert_masses_agree(loss, edges)
    if 1 < share < 2:  # two records on either side of 0
        pair = ReplacedLoss(one, family((share - 1) * present), both, chance)
        assert_masses_agree(pair, edges)
        with mpmath.workdps(40):
            wanted = replaced_profile(noise, rate, (-ends[1], -ends[0]), 0.3 * top)
            if wanted > 1e-30:
                found = pair.reversed().log_delta_bounds(0.3 * top)[0]
                assert found == pytest.approx(float(mpmath.log(wanted)), rel=1e-12)


def test_a_list_of_large_losses_is_sampled_value_by_value() -> None:
    """Would catch a sampled sum of a million reports whose bound is its supremum, 2e6, where 9e5 is true."""
    listed = dominating_atoms(compose([(TwoPoint(1.0), 2 * 10**6)]).directions[0])
    assert listed.losses.max() > 1e6
    assert isinstance(subsampled(listed, SamplingRate.of_chance(0.1)), DiscreteLoss)
