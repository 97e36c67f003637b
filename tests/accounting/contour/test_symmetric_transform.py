"""Sums of losses of replaced records on samples of Gaussian noise: M, its fall and delta against integrals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy.special import log_ndtr, ndtr

from ldp_audit.accounting import compose, subsample
from ldp_audit.accounting.contour import panel_rule, symmetric_transform
from ldp_audit.accounting.contour.contour_loss import ContourLoss
from ldp_audit.accounting.contour.separated_loss import SeparatedLoss
from ldp_audit.accounting.contour.simple_ends import SimpleEnds
from ldp_audit.accounting.contour.smooth_part import EVERY, SmoothPart
from ldp_audit.accounting.contour.symmetric_transform import SymmetricTransform
from ldp_audit.accounting.contour.transforms import transform_of
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate
from ldp_audit.accounting.sampling.symmetric_loss import SymmetricLoss
from ldp_audit.mechanisms import Gaussian

CUT = SmoothPart(high=3.0, blur=0.1)


@pytest.fixture(autouse=True)
def _digits():
    before, ctx.dps = ctx.dps, 40
    yield
    ctx.dps = before


def moments(mu: float, rate: float, s: acb, part: SmoothPart = EVERY, *, zero: bool = True) -> acb:
    """M by a certified integral, pieces of half a deviation each."""
    q, m, blur = arb(rate), arb(mu), arb(part.blur)

    def integrand(x: acb, _: bool) -> acb:
        log = (1 - q + q * (m * x - m * m / 2).exp()).log()
        weight = acb(1) if part.whole else ((x - arb(part.high)) / blur / arb(2).sqrt()).erfc() / 2
        density = (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        return density * (weight * ((1 + s) * log).exp() + (-s * log).exp())

    c = float(s.real)
    edges = mu / 2 + 0.5 * np.arange(0, 2 * (16 + max(0.0, (1 + c) * mu, -c * mu)))
    found = acb(0)
    for a, b in itertools.pairwise(edges):
        found += acb.integral(integrand, acb(float(a)), acb(float(b)), rel_tol=arb(10) ** -25)
    return found + ((1 - q) * (m / arb(8).sqrt()).erf() if zero else 0)


def summed(sigma: float, rate: float, times: int) -> ContourLoss:
    law = compose([(subsample(Gaussian(sigma), rate=rate, adjacency="replace"), times)]).directions[0]
    assert isinstance(law, ContourLoss)
    return law


def one_delta(mu: float, rate: float, levels: np.ndarray) -> np.ndarray:
    """delta of one loss, from its closed form."""
    size = np.abs(levels)
    level = np.log1p(np.expm1(size) / rate)
    found = rate * (ndtr(mu / 2 - level / mu) - np.exp(level + log_ndtr(-mu / 2 - level / mu)))
    return np.where(levels < 0, -np.expm1(-size) + np.exp(-size) * found, found)


def two_delta(mu: float, rate: float, level: float) -> float:
    """delta of two losses: the one's, at the levels that the other leaves."""
    kink = math.log1p(math.expm1(level) / rate) / mu + mu / 2
    edges = np.unique(np.concatenate([mu / 2 + np.arange(0, 24 + mu) / 2, [kink]]))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = np.diff(edges) / 2
    x = ((edges[1:] + edges[:-1]) / 2)[:, None] + half[:, None] * nodes
    masses = half[:, None] * weights * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
    losing = (masses * np.exp(loss) * one_delta(mu, rate, level - loss)).sum()
    gaining = (masses * one_delta(mu, rate, level + loss)).sum()
    none = (1 - rate) * math.erf(mu / math.sqrt(8))
    return float(losing + gaining + none * one_delta(mu, rate, np.array([level]))[0])


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.01), (1.0, 0.5), (1e-3, 0.02), (6.0, 0.1)])
@pytest.mark.parametrize(("part", "zero"), [(EVERY, True), (EVERY, False), (CUT, True), (CUT, False)])
def test_moments_are_right_to_their_error(mu, rate, part, zero):
    if not part.whole and mu > 1:
        part = SmoothPart(high=mu / 2 + 3, blur=0.1)
    transform = SymmetricTransform(mu, SamplingRate.of_chance(rate), part, zero)
    y = np.array([0.0, 3 / max(1.0, mu)])
    for c in (-1.0, -0.3, 0.01, 3.0):
        values = transform.at(c, y)
        assert values is not None
        assert values.error.max() < 1e-7
        for j in range(y.size):
            true = moments(mu, rate, acb(c, float(y[j])), part, zero=zero).log()
            gap = acb(values.log[j].real, values.log[j].imag) - true
            assert abs(float(gap.real)) <= values.error[j]
            assert abs(math.remainder(float(gap.imag), 2 * math.pi)) <= values.error[j]


def test_the_excess_over_one_keeps_its_digits():
    transform = SymmetricTransform(1e-6, SamplingRate.of_chance(1e-9))
    values = transform.at(1e9, np.zeros(1))
    assert values is not None
    true = moments(1e-6, 1e-9, acb(1e9)).log()
    assert abs(float((acb(values.log[0].real) - true).real)) <= values.error[0] < 1e-6 * values.log[0].real < 1e-16


def test_the_rules_own_error_is_counted(monkeypatch):
    """Coarse panels are wrong by more than rounding is, and say so."""
    monkeypatch.setattr(panel_rule, "_DIGITS", 12.0)
    transform = SymmetricTransform(1.0, SamplingRate.of_chance(0.3))
    wrong = []
    for c in (0.5, 2.0, 5.0, 9.0):
        values = transform.at(c, np.array([0.0, 5.0]))
        assert values is not None
        for j, y in enumerate((0.0, 5.0)):
            gap = acb(values.log[j].real, values.log[j].imag) - moments(1.0, 0.3, acb(c, y)).log()
            wrong.append(math.hypot(float(gap.real), math.remainder(float(gap.imag), 2 * math.pi)))
            assert wrong[-1] <= 1.5 * values.error[j]
    assert max(wrong) > 1e-11


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.5), (0.1, 1e-3), (6.0, 0.1)])
@pytest.mark.parametrize("part", [EVERY, CUT])
@pytest.mark.parametrize("zero", [True, False])
def test_no_value_further_out_is_above_the_bound(mu, rate, part, zero):
    if not part.whole and mu > 1:
        part = SmoothPart(high=mu / 2 + 3, blur=0.1)
    transform = SymmetricTransform(mu, SamplingRate.of_chance(rate), part, zero)
    heights = np.geomspace(1e-3, 40, 60) / (mu * rate)
    for c in (-0.4, 0.1, 2.0):
        values = transform.at(c, heights)
        assert values is not None
        sizes = values.log.real - values.error
        for k in (0, 15, 30, 45, 58):
            assert transform.log_beyond(c, float(heights[k])) >= sizes[k:].max()
        # it falls, to what the loss 0 leaves
        last = transform.log_beyond(c, 1e4 / (mu * rate))
        whole = transform.at(c, np.zeros(1))
        assert whole is not None
        assert last < max(float(whole.log[0].real) - 9, transform.log_zero + 1e-3 if zero else -math.inf)


def test_falls_near_the_axis_serve_many_losses():
    """A bound no better than M(c) would leave 10**9 losses without a line."""
    transform = SymmetricTransform(1.0, SamplingRate.of_chance(0.01))
    whole = transform.at(1e-3, np.zeros(1))
    assert whole is not None
    fallen = float(whole.log[0].real) - transform.log_beyond(1e-3, 0.1)
    variance = 2 * float(moments(1.0, 0.01, acb(1)).log().real) / 2
    assert 0.1 * variance * 0.01 < fallen < 0.5 * variance * 0.01


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.1), (1.0, 0.5), (10.0, 0.1)])
def test_two_losses_have_the_delta_of_a_double_integral(sigma, rate):
    law = summed(sigma, rate, 2)
    for share in (0.0, 1.0, 10.0):
        level = share * rate / sigma
        true = math.log(two_delta(1 / sigma, rate, level))
        low, high = law.log_delta_bounds(level)
        assert low - 1e-11 <= true <= high + 1e-11
        assert high - low < 2e-5 if level == 0 else high - low < 2e-6


def test_noise_so_small_that_values_show_the_record_is_told_by_their_number():
    for mu, rate in ((40.0, 0.01), (1000.0, 1e-6)):
        law = SymmetricLoss(MixedLoss(GaussianLoss(mu), SamplingRate.of_chance(rate)))
        separated = SeparatedLoss(mu, SamplingRate.of_chance(rate), back=False, times=1, symmetric=True)
        for level in (0.0, 1.0, 0.3 * mu * mu, 0.5 * mu * mu):
            found = separated.log_delta_bounds(level)
            assert found is not None
            low, high = law.log_delta_bounds(level)
            assert found[0] <= high
            assert low <= found[1] < found[0] + 1e-9
    two = SeparatedLoss(26.0, SamplingRate.of_chance(0.01), back=False, times=2, symmetric=True)
    found, true = two.log_delta_bounds(5.0), math.log(two_delta(26.0, 0.01, 5.0))
    assert found is not None
    assert found[0] - 1e-11 <= true <= found[1] + 1e-11
    assert found[1] - found[0] < 1e-9


@pytest.mark.parametrize(("sigma", "rate", "times"), [(2.0, 0.3, 12), (1.0, 0.5, 40)])
def test_contours_meet_the_grid(sigma, rate, times):
    law = summed(sigma, rate, times)
    for level in (1.0, 3.0):
        low, high = law.log_delta_bounds(level)
        below, above = law.grid.log_delta_bounds(level)
        assert low <= above
        assert below <= high
        assert above - below < 1e-3
        assert high - low < 1e-8


@pytest.mark.parametrize(("rate", "times"), [(1e-3, 1000), (0.01, 100), (0.5, 10**6)])
def test_replaced_records_cost_no_less_than_added_or_removed_ones(rate, times):
    noise = Gaussian(1.0)
    other = compose([(subsample(noise, rate=rate), times)])
    law, both = summed(1.0, rate, times), [one for one in other.directions if isinstance(one, ContourLoss)]
    assert len(both) == 2
    level = compose([(subsample(noise, rate=rate, adjacency="replace"), times)]).epsilon(1e-6)
    for share in (0.9, 1.0, 1.1):
        low, high = law.log_delta_bounds(share * level)
        assert high - low < 1e-7
        for one in both:
            assert one.plan.line(share * level) is not None or one.plan.transform is not law.plan.transform
            assert max(way(share * level)[0][0] for way in one.ways) <= high


def test_more_losses_and_more_records_cost_more():
    levels = [[summed(1.0, rate, times).log_delta_bounds(1.0) for rate in (0.01, 0.011)] for times in (100, 101, 10**4)]
    for row in levels:
        assert row[0][1] < row[1][0]
    for first, second in itertools.pairwise(levels):
        assert first[0][1] < second[0][0]


def test_levels_below_zero_are_those_above_reflected():
    law = summed(1.0, 0.2, 5)
    low, high = law.log_delta_bounds(0.7)
    below, above = law.log_delta_bounds(-0.7)
    for end, other in ((low, below), (high, above)):
        assert math.exp(other) == pytest.approx(1 - math.exp(-0.7) + math.exp(-0.7 + end), rel=1e-14)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("times", [10, 10**9])
def test_extremes_have_narrow_ends(sigma, times):
    loss = compose([(subsample(Gaussian(sigma), rate=0.01, adjacency="replace"), times)])
    for delta in (1e-6, 1e-300):
        low, high = loss.epsilon_bounds(delta)
        assert low <= high <= low * (1 + 1e-6)
        law = loss.directions[0]
        assert isinstance(law, ContourLoss)
        if high:
            certain = SimpleEnds(law.grid.parts, law.largest())
            assert certain.log_delta_bounds(high)[0] <= math.log(delta) <= certain.log_delta_bounds(low)[1]


def test_samples_without_replacement_and_sums_with_other_noises_are_told_as_well():
    replaced = subsample(Gaussian(2.0), kind="without", n=1000, k=10, adjacency="replace")
    same = subsample(Gaussian(2.0), rate=0.01, adjacency="replace")
    ends = [compose([(one, 500)]).epsilon_bounds(1e-8) for one in (replaced, same)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-10)
    mixed = compose([(replaced, 500), (Gaussian(20.0), 4)])
    low, high = mixed.epsilon_bounds(1e-8)
    assert ends[0][0] < low <= high < low * (1 + 1e-6)
    assert isinstance(transform_of(replaced.directions[0]), symmetric_transform.SymmetricTransform)
