"""Sums of Laplace noises on samples: moments against arb, delta against integrals of closed forms and the grid."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flint import acb, arb, ctx

from ldp_audit.accounting import compose, subsample
from ldp_audit.accounting.contour import laplace_fall
from ldp_audit.accounting.contour.contour_loss import ContourLoss
from ldp_audit.accounting.contour.erlang_gains import log_mean_gains
from ldp_audit.accounting.contour.few_between import FewBetween
from ldp_audit.accounting.contour.panel_rule import PanelRule
from ldp_audit.accounting.contour.sampled_laplace_transform import SampledLaplaceTransform
from ldp_audit.accounting.contour.separated_laplace import SeparatedLaplace
from ldp_audit.accounting.grids.grid_loss import compose_on_grid
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_TRUTH = 1e-9
"""To which share of itself the integral below knows delta."""


@pytest.fixture(autouse=True)
def _digits():
    before, ctx.dps = ctx.dps, 40
    yield
    ctx.dps = before


def _one(epsilon: float, rate: float, *, back: bool) -> SampledLaplaceTransform:
    return SampledLaplaceTransform(epsilon, SamplingRate.of_chance(rate), back)


def _law(epsilon: float, rate: float, *, back: bool) -> MixedLoss:
    return MixedLoss(LaplaceLoss(epsilon), SamplingRate.of_chance(rate), not back)


def _parts(one: SampledLaplaceTransform, rate: float, s: acb) -> tuple[acb, acb]:
    """What the two single values add to M(s), and what those between do, by arb's own integrals."""
    q, t = arb(rate), arb(one.epsilon)
    power = -s if one.back else 1 + s

    def log_mixed(z):
        return (1 - q + q * z.exp()).log()

    ends = (power * log_mixed(acb(-t))).exp() / 2 + (power * log_mixed(acb(t)) - t).exp() / 2
    pieces = max(1, math.ceil(one.epsilon / 4))
    edges = [t * k / pieces for k in range(-pieces, pieces + 1)]
    between = acb(0)
    for left, right in itertools.pairwise(edges):
        between += acb.integral(
            lambda z, _: (power * log_mixed(z) - (z + t) / 2).exp() / 4, left, right, rel_tol=arb(10) ** -30
        )
    return ends, between


_CASES = [
    # pure epsilon, rate, back, a real part, and a large imaginary one
    (1.0, 0.01, False, 6.0, 40.0),
    (1.0, 0.01, True, 6.0, 40.0),
    (1e-6, 0.5, False, 1e5, 3e6),
    (1e-6, 1e-9, True, 1e12, 1e15),
    (10.0, 1e-9, False, 1e5, 1e6),
    (20.0, 0.5, False, 0.5, 5.0),
    (20.0, 1e-3, False, 0.5, 5.0),
    (3.0, 0.999, True, 2.0, 20.0),
    (3.0, 0.999, True, -0.5, 20.0),
    (300.0, 1e-9, False, 0.05, 1.0),
]


@pytest.mark.parametrize("case", _CASES)
def test_values_are_as_right_as_they_say(case):
    """Would catch a wrong mass, panels that are too long, and rounding that is not counted."""
    epsilon, rate, back, c, top = case
    one = _one(epsilon, rate, back=back)
    y = top * np.array([0.0, 0.003, 0.2, 0.71, 1.0])
    whole, ends, between = one.at(c, y), one.ends_at(c, y), one.between_at(c, y)
    assert whole is not None
    assert between is not None
    for i, height in enumerate(y):
        truth = _parts(one, rate, acb(arb(c), arb(float(height))))
        log = whole.log[i]
        assert whole.error[i] < 1e-6
        assert abs((acb(log.real, log.imag).exp() / (truth[0] + truth[1])).log()) <= arb(float(whole.error[i]))
        for found, exact in zip((ends, between), truth, strict=True):
            away = acb(found.sums[i].real, found.sums[i].imag) - exact * (-arb(found.top)).exp()
            assert abs(away) <= arb(float(found.error[i]))
            assert found.error[i] < 1e-6


@pytest.mark.parametrize("case", _CASES)
def test_far_out_the_values_stay_below_the_bound(case):
    """Would catch a window that is too wide for its variance, a missing end of an integral by parts, a bad unit."""
    epsilon, rate, back, c, top = case
    one = _one(epsilon, rate, back=back)
    found = one.at(c, np.zeros(1))
    assert found is not None
    bounds = []
    for start in (0.0005 * top, 0.03 * top, top):
        bounds.append(one.log_beyond(c, start))
        below = one.log_between_beyond(c, start)
        for further in (1.0, 1.17, 2.1):
            ends, between = _parts(one, rate, acb(arb(c), arb(start * further)))
            assert abs(ends + between).log() <= arb(bounds[-1])
            assert abs(between).log() <= arb(below)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < found.log[0].real


@pytest.mark.parametrize(
    ("epsilon", "rate", "c"), [(1.0, 0.3, 2.0), (6.0, 0.01, 0.3), (30.0, 1e-3, 0.5), (0.05, 0.5, 9.0)]
)
@pytest.mark.parametrize("back", [True, False])
def test_the_bound_holds_at_every_further_point(epsilon, rate, c, back):
    """Where the single values are in phase again M rises. Would catch a bound that forgets that."""
    one = _one(epsilon, rate, back=back)
    reach = float(np.ptp(one.single_values()[0]))
    y = np.linspace(0.0, 60 / reach, 3000)
    found = one.at(c, y)
    assert found is not None
    worst = np.maximum.accumulate(found.log.real[::-1])[::-1]
    bounds = np.array([one.log_beyond(c, float(height)) for height in y[1::30]])
    assert np.all(worst[1::30] <= bounds + 1e-12)
    assert bounds[0] < found.log[0].real


def test_forgetting_what_the_rule_is_wrong_by_is_caught(monkeypatch):
    """The planted bug: panels three times as long, and their error counts as nothing."""
    one, y = _one(6.0, 0.5, back=False), np.array([0.0, 30.0])
    monkeypatch.setattr("ldp_audit.accounting.contour.panel_rule._DIGITS", 4.0)
    monkeypatch.setattr(PanelRule, "log_wrong", lambda *_: -90.0)
    found = one.between_at(1.0, y)
    assert found is not None
    truth = _parts(one, 0.5, acb(arb(1), arb(30)))[1] * (-arb(found.top)).exp()
    assert abs(acb(found.sums[1].real, found.sums[1].imag) - truth) > arb(float(found.error[1]))


def test_forgetting_the_ends_of_an_integral_by_parts_is_caught(monkeypatch):
    """The planted bug: what lies between the single values is taken for next to nothing as soon as it turns."""
    one = _one(2.0, 0.3, back=False)
    monkeypatch.setattr(laplace_fall, "_parts", lambda logs, *_: np.full_like(logs, 1e-6))
    ends, between = _parts(one, 0.3, acb(arb(1), arb(9)))
    assert abs(between).log() > arb(one.log_between_beyond(1.0, 9.0))
    assert abs(ends + between).log() > arb(one.log_beyond(1.0, 9.0))


def _log_delta_of_two(law: MixedLoss, epsilon: float, level: float) -> float:
    """Of two such losses: over the first one's values, the integral of the second's closed form."""
    way = 1 if law.record_first else -1

    def gains(z):
        losses = way * law.rate.mixed(z)
        logs = np.array([law.log_delta_bounds(level - float(loss))[0] for loss in losses])
        return logs + (losses if way > 0 else 0.0)

    sharp = [level - way * float(law.rate.mixed(np.array(z))) for z in (-epsilon, epsilon)]
    places = law.rate.unmixed(way * np.array(sharp))
    near = [place + side * 4.0**-k for place in places[np.isfinite(places)] for k in range(18) for side in (-1, 0, 1)]
    edges = np.unique(
        np.clip([*np.linspace(-epsilon, epsilon, max(9, math.ceil(2 * epsilon))), *near], -epsilon, epsilon)
    )
    halves = np.diff(edges)[:, None] / 2
    z = ((edges[1:] + edges[:-1])[:, None] / 2 + halves * _NODES).ravel()
    between = np.log((halves * _WEIGHTS).ravel()) - (z + epsilon) / 2 - math.log(4) + gains(z)
    ends = gains(np.array([-epsilon, epsilon])) - math.log(2) - np.array([0.0, epsilon])
    return float(np.logaddexp.reduce([*between, *ends]))


@pytest.mark.parametrize(
    ("epsilon", "rate", "share"),
    [
        # for small ones a line takes a second
        (1.0, 0.5, 0.3),
        (0.01, 1e-3, 0.8),
        (1e-3, 0.9, 0.3),
        *((*case, share) for case in [(60.0, 0.3), (100.0, 1e-9), (300.0, 1e-3), (8.0, 0.1)] for share in (0.3, 0.8)),
    ],
)
@pytest.mark.parametrize("back", [True, False])
def test_two_losses_enclose_the_integral_of_the_closed_form(epsilon, rate, back, share):
    """Every way by itself. Would catch a number of draws left out, a wrong closed form, a bound that is none."""
    law = _law(epsilon, rate, back=back)
    loss = compose([(subsample(Laplace(1 / epsilon), rate=rate), 2)]).directions[back]
    assert isinstance(loss, ContourLoss)
    level = share * loss.largest()
    truth = _log_delta_of_two(law, epsilon, level)
    slack = _TRUTH * (1 + 1e-2 * abs(truth))
    ends = [way(level)[0] for way in loss.ways]
    assert all(low <= truth + slack for low, _ in ends)
    assert all(truth <= high + slack for _, high in ends)
    if not 1 < epsilon < 50:
        assert max(low for low, _ in ends) > truth - 1e-6
        assert min(high for _, high in ends) < truth + 1e-6


_SUMS = {
    "many": [(subsample(Laplace(2.0), rate=0.3), 200)],
    "large": [(subsample(Laplace(0.2), rate=0.05), 3000)],
    "beside noise": [(subsample(Laplace(1.0), rate=0.1), 50), (Gaussian(5.0), 3)],
    "beside all kinds": [
        (subsample(Laplace(1.0), n=100, k=5, kind="without"), 60),
        (subsample(Gaussian(1.0), rate=0.05), 40),
        (Laplace(8.0), 20),
        (RandomizedResponse(0.2), 10),
    ],
}


@pytest.mark.parametrize("name", _SUMS)
@pytest.mark.parametrize("delta", [1e-2, 1e-9])
def test_the_grid_encloses_the_contour(name, delta):
    """Two ways with nothing in common, each direction by itself. Would catch directions taken for each other."""
    loss = compose(_SUMS[name], width=1e-2)
    level = loss.epsilon(delta)
    for law in loss.directions:
        assert isinstance(law, ContourLoss)
        low, high = law.log_delta_bounds(level)
        grid_low, grid_high = law.grid.log_delta_bounds(level)
        assert grid_low <= low <= high <= grid_high
        assert high - low <= 1e-7 or level >= law.largest()


@pytest.mark.parametrize("back", [True, False])
@pytest.mark.parametrize(("epsilon", "rate", "times"), [(0.01, 0.3, 300), (1e-3, 0.01, 2000), (0.4, 0.5, 12)])
def test_few_values_between_are_told_as_the_grid_tells_them(epsilon, rate, times, back):
    """Would catch a binomial chance that is wrong, and terms of the sum over counts that are left out."""
    few = FewBetween(_one(epsilon, rate, back=back), times)
    grid = compose_on_grid([(_law(epsilon, rate, back=back), times)])
    assert few.serves
    for share in (0.05, 0.3):
        level = share * rate * epsilon * math.sqrt(times)
        (low, high), _ = few.log_delta_ends(level)
        grid_low, grid_high = grid.log_delta_bounds(level)
        assert grid_low <= high + 1e-12
        assert low <= grid_high + 1e-12
        assert max(high, grid_high) - min(low, grid_low) < 1e-4


@pytest.mark.parametrize("counts", [(1, 2, 5), (40, 41)])
def test_mean_gains_are_those_of_the_closed_form(counts):
    """Against sums of hypergeometric functions with 40 digits. Would catch a recurrence that loses its digits."""
    for gap in (1e-6, 0.3, 4.0, 35.0):
        found = log_mean_gains(np.array(counts, dtype=np.float64), np.full(len(counts), gap))
        for count, log in zip(counts, found, strict=True):
            g, total = arb(gap), arb(1) - (-2 * arb(gap)).exp()
            for j in range(1, count + 1):
                inner = g.gamma_lower(j, 1) if hasattr(g, "gamma_lower") else None
                above = inner if inner is not None else arb(acb(g).gamma_lower(j, 1).real)
                held = (-2 * g).exp() * g**j / arb(j + 1).gamma() * arb(acb(g).hypgeom_1f1(j, j + 1).real)
                total += arb(math.comb(count, j)) * (above - held)
            truth = (total / arb(2) ** count).log()
            assert abs(arb(float(log)) - truth) < arb(1e-10)


@pytest.mark.parametrize(("times", "back"), [(3, False), (20, True), (50, False)])
def test_values_that_show_what_was_drawn_are_told_as_the_grid_tells_them(times, back):
    """Would catch a shift that is forgotten, and values between hidden and shown that count for nothing."""
    told = SeparatedLaplace(150.0, SamplingRate.of_chance(0.05), back, times)
    grid = compose_on_grid([(_law(150.0, 0.05, back=back), times)], width=1e-2)
    largest = grid.largest()
    for level in (0.2 * largest, 0.6 * largest) if back else (120.0, 290.0):
        found = told.log_delta_bounds(level)
        assert found is not None
        low, high = grid.log_delta_bounds(level)
        assert low - 1e-9 <= found[1]
        assert found[0] <= high + 1e-9
        assert found[1] - found[0] < 1e-6
    assert SeparatedLaplace(5.0, SamplingRate.of_chance(0.05), back=False, times=10).log_delta_bounds(1.0) is None


def test_values_that_show_what_was_drawn_are_told_where_nearly_all_are_drawn():
    """Would catch one less the number of values not drawn that seem to be, as a factor, where these are many."""
    rate = 0.9999999969517143
    told = SeparatedLaplace(55.8, SamplingRate.of_chance(rate), back=False, times=1000)
    found = told.log_delta_bounds(54800.0)
    assert found is not None
    drawn, noises = 1000 * math.log(rate), compose([(Laplace(1 / 55.8), 1000)]).directions[0]
    assert found[0] <= noises.log_delta_bounds(54800.0)[1]
    assert found[1] >= noises.log_delta_bounds(54800.0 - drawn)[0] + drawn
    loss = compose([(subsample(Laplace(1 / 55.8), rate=rate), 1000)])
    low, high = loss.epsilon_bounds(1e-6)
    assert 0.98 * 55800 <= low <= high <= min(loss.largest(), low * (1 + 1e-6))


@pytest.mark.parametrize("rate", [4.6693862674648754e-89, 1e-30, 1e-150])
def test_back_a_tiny_delta_lies_between_its_ends(rate):
    """All losses are as good as the largest one. Would catch a logarithm whose own rounding is left out."""
    told = SeparatedLaplace(3000.0, SamplingRate.of_chance(rate), back=True, times=3).log_delta_bounds(0.0)
    assert told is not None
    truth = (3 * arb(rate)).log()  # but for a share q
    assert arb(told[0]) < truth
    assert truth < arb(told[1])


def test_a_share_that_no_float_tells_has_a_density_all_the_same():
    """Would catch the logarithm of a share that was rounded to 0."""
    one = _one(600.0, 1e-290, back=False)
    assert math.isfinite(one.log_densest)
    assert abs(one.log_densest - (290 * math.log(10) + 600 - math.log(4))) < 1e-6


@pytest.mark.parametrize(
    ("scale", "rate", "times", "delta"),
    [
        (1.0, 1e-3, 10**9, 1e-6),
        (1.0, 0.5, 10**6, 1e-300),
        (1e6, 1e-3, 10**9, 1e-6),
        (1e3, 0.5, 20, 1e-6),
        (1e-3, 1e-9, 10**9, 1e-6),
        (0.1, 1e-9, 10**9, 1e-6),
    ],
)
def test_at_the_ends_epsilon_is_known_and_lies_between_simple_bounds(scale, rate, times, delta):
    """Would catch ends on the wrong side of one round, of no sampling at all, or of fewer rounds."""
    one = subsample(Laplace(scale), rate=rate)
    loss = compose([(one, times)])
    low, high = loss.epsilon_bounds(delta)
    assert 0 < low <= high <= low * (1 + 2e-6)
    assert high <= loss.largest()
    assert one.epsilon_bounds(delta)[0] <= high
    if scale >= 1:
        assert low <= compose([(Laplace(scale), times)]).epsilon(delta)
    assert compose([(one, times // 2)]).epsilon_bounds(delta)[0] <= high
    assert low <= compose([(subsample(Laplace(scale), rate=min(0.999, 1.5 * rate)), times)]).epsilon_bounds(delta)[1]


def test_large_losses_that_are_rare_fall_without_a_warning() -> None:
    low, high = compose([(subsample(Laplace(1 / 700), rate=1e-5), 10**6)]).epsilon_bounds(1e-6)
    assert 0 < low <= high < math.inf
