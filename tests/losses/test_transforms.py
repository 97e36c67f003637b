"""Moment-generating functions on vertical lines against sums and closed forms with 40 digits, by python-flint's arb."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from flint import acb, arb, ctx

from ldp_audit.losses.discrete_loss import BinomialLoss, DiscreteLoss
from ldp_audit.losses.loss import VAGUE, Transform, Values, from_excess
from ldp_audit.losses.noise_losses import GaussianTransform, LaplaceTransform
from ldp_audit.losses.sampled_gaussian import SampledGaussian
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.losses.subsampled_loss import SubsampledLoss
from tests.together import together

_MOMENTS = Callable[[acb], acb]
_THREE = DiscreteLoss(np.array([-0.4, 0.1, 0.6]), np.log([0.35, 0.25, 0.4]))


@pytest.fixture(autouse=True)
def _digits():
    before, ctx.dps = ctx.dps, 40
    yield
    ctx.dps = before


def _gaussian(mu: float) -> _MOMENTS:
    return lambda s: (s * (s + 1) * arb(mu) ** 2 / 2).exp()


def _laplace(epsilon: float) -> _MOMENTS:
    top, half = arb(epsilon), arb(1) / 2
    return lambda s: (-top / 2).exp() * (((s + half) * top).cosh() + ((s + half) * top).sinh() / (2 * (s + half)))


def _atoms(law: DiscreteLoss) -> _MOMENTS:
    pairs = [
        (arb(float(loss)), arb(float(log)).exp()) for loss, log in zip(law.losses, law.log_probabilities, strict=True)
    ]
    return lambda s: sum((mass * (s * loss).exp() for loss, mass in pairs), acb(0))


def _response(epsilon: float) -> _MOMENTS:
    top = arb(epsilon)
    return lambda s: (((s + 1) * top).exp() + (-s * top).exp()) / (1 + top.exp())


def _sampled(mu: float, rate: float, *, back: bool) -> _MOMENTS:
    """By a trapezoid rule with an error far below the fortieth digit."""

    def moments(s: acb) -> acb:
        q, m = arb(rate), arb(mu)
        power, total = (-s if back else 1 + s), acb(0)
        tilt = mu * (float(s.real.mid()) + 1)
        reach = 12 + (tilt if not back or rate * tilt > 1 else 0)
        step = arb(1) / (16 + math.ceil(6 * mu))
        last = math.ceil(reach / float(step.mid()))
        for k in range(-last, last + 1):
            x = step * k
            w = 1 - q + q * (m * x - m * m / 2).exp()
            total += (power * w.log() - x * x / 2).exp()
        return total * step / (2 * arb.pi()).sqrt()

    return moments


def _known(found: Values | None) -> Values:
    assert found is not None
    return found


_CASES: list[tuple[Transform, _MOMENTS, float, float]] = [
    (GaussianTransform(0.7), _gaussian(0.7), 2.0, 5.0),
    (GaussianTransform(1e-4), _gaussian(1e-4), 1e3, 1e4),
    (LaplaceTransform(1.0), _laplace(1.0), 0.8, 9.0),
    (LaplaceTransform(1e-4), _laplace(1e-4), 1.5, 4.0),
    (LaplaceTransform(8.0), _laplace(8.0), 0.1, 3.0),
    (LaplaceTransform(900.0), _laplace(900.0), 0.3, 1.5),
    (SampledGaussian(1.0, SamplingRate.of_chance(0.01), back=False), _sampled(1.0, 0.01, back=False), 6.0, 40.0),
    (SampledGaussian(1.0, SamplingRate.of_chance(0.01), back=True), _sampled(1.0, 0.01, back=True), 6.0, 40.0),
    (SampledGaussian(0.05, SamplingRate.of_chance(0.3), back=False), _sampled(0.05, 0.3, back=False), 30.0, 90.0),
    (SampledGaussian(3.0, SamplingRate.of_chance(0.9), back=True), _sampled(3.0, 0.9, back=True), 0.3, 2.0),
    (SampledGaussian(0.2, SamplingRate.of_chance(1e-5), back=False), _sampled(0.2, 1e-5, back=False), 3.0, 9.0),
    # values beyond 7 count for nothing under this tilt, but what they lack of 1 does
    (SampledGaussian(1.0, SamplingRate.of_chance(1e-9), back=True), _sampled(1.0, 1e-9, back=True), 3.3e7, 2e7),
]
"""A transform, the truth, a real part, and a large imaginary one."""
_UNBOUNDED = [
    (BinomialLoss(0.3, -0.3, 1).transform(), _response(0.3), 2.0, 7.0),
    (_THREE.transform(), _atoms(_THREE), 1.0, 5.0),
]
"""And those of atoms, which need not fall off."""


@together("case", range(len(_CASES + _UNBOUNDED)))
def test_values_are_as_right_as_they_say(case):
    """Would catch a quadrature rule of too long a step, points left out, uncounted rounding, a wrong formula."""
    transform, truth, c, top = (_CASES + _UNBOUNDED)[case]
    assert transform is not None
    y = top * np.array([0.0, 0.003, 0.2, 0.71, 1.0])
    found = _known(transform.at(c, y))
    for height, log, error in zip(y, found.log, found.error, strict=True):
        value = truth(acb(arb(c), arb(float(height))))
        assert error < 1e-10
        away = (acb(float(log.real), float(log.imag)).exp() / value).log()
        assert abs(away) <= arb(float(error))


@together("case", range(len(_CASES)))
def test_far_out_the_values_stay_below_the_bound(case):
    """Would catch a bound that is too small, and one that never decays."""
    transform, truth, c, top = _CASES[case]
    bounds = []
    for start in (0.05 * top, 0.4 * top, top):
        bound = transform.log_tail_bound(c, start)
        bounds.append(bound)
        for further in (1.0, 1.13, 1.9, 3.7):
            value = truth(acb(arb(c), arb(start * further)))
            assert abs(value).log() <= arb(bound)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < transform.log_tail_bound(c, 0.02 * top) < math.inf


@together(("epsilon", "c"), [(1.0, 0.8), (0.1, 1.5), (3.0, 0.05), (0.02, 20.0)])
def test_the_bound_of_laplace_noise_holds_at_every_further_point(epsilon, c):
    """Where the two atoms are in phase again the value rises. Would catch a bound without that."""
    transform = LaplaceTransform(epsilon)
    y = np.linspace(0.01, 40 / epsilon, 40_000)
    sizes = _known(transform.at(c, y)).log.real
    worst = np.maximum.accumulate(sizes[::-1])[::-1]
    for place in range(0, y.size, 500):
        assert worst[place] <= transform.log_tail_bound(c, float(y[place])) + 1e-13


def test_the_bound_of_tiny_shifts_serves_many_tiny_losses():
    """A million losses: e**-40 needs a bound right to 1e-6 of ln M. Would catch one from too coarse a path."""
    transform = SampledGaussian(1.0, SamplingRate.of_chance(0.001), back=False)
    c, y = 1.0, 12.0 / (0.0013 * math.sqrt(1e6))
    fallen = transform.log_tail_bound(c, y) - float(_known(transform.at(c, np.zeros(1))).log[0].real)
    assert 1e6 * fallen < -20


def test_what_overflows_is_no_number():
    """Would catch an overflow that passes for a number, and a sum of too many terms."""
    assert LaplaceTransform(900.0).log_tail_bound(1.0, 0.0) == math.inf
    sampled = SampledGaussian(40.0, SamplingRate.of_chance(0.5), back=False)
    assert sampled.at(1e3, np.zeros(1)) is None
    assert sampled.log_tail_bound(1e3, 1.0) == math.inf
    assert SubsampledLoss(BinomialLoss(0.1, -0.1, 10**6), SamplingRate.of_chance(0.5)).transform() is None
    assert DiscreteLoss(np.zeros(1), np.log([0.5]), math.log(0.5)).transform() is None


def test_an_excess_whose_error_is_as_large_as_the_value_says_only_how_large_it_can_be():
    """Would catch the logarithm of pure rounding."""
    found: Values = from_excess(np.array([-1 + 1e-6j, 0.5 + 0j]), np.array([1e-3, 1e-16]))
    assert found.error[0] == VAGUE
    assert math.exp(found.log[0].real + found.error[0]) >= 1e-3 + 1e-6
    assert found.error[1] < 1e-15
    assert found.log[1] == pytest.approx(math.log(1.5), rel=1e-15)
