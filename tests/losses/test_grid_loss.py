"""Composition on a grid: certified bounds against closed forms, exact sums, inversion integrals, and itself."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses import discretisation, grid_plan
from ldp_audit.losses.discrete_loss import BinomialLoss, DiscreteLoss
from ldp_audit.losses.grid_loss import GridLoss, compose_on_grid
from ldp_audit.losses.loss import LossWithInfinity
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.profile_loss import ProfileLoss
from ldp_audit.mechanisms import Laplace
from tests.accounting.contour_integral import exact_log_delta, gaussian_moments, laplace_moments
from tests.together import together

_DIGITS = 1e-11
"""How exactly the sums that serve as the truth are known, in ln delta."""


def _epsilon_bounds(law, delta=None, **levels):
    return PrivacyLoss((law,)).epsilon_bounds(delta, **levels)


def _two(high: float) -> BinomialLoss:
    return BinomialLoss(high, -high, 1)


def _exact_sum(laws) -> DiscreteLoss:
    """All combinations."""
    losses, logs, finite = np.zeros(1), np.zeros(1), 0.0
    for law, times in laws:
        for _ in range(times):
            losses = np.add.outer(losses, law.losses).ravel()
            logs = np.add.outer(logs, law.log_probabilities).ravel()
        finite += times * math.log1p(-math.exp(law.log_infinite))
    order = np.argsort(losses, kind="stable")
    losses, logs = losses[order], logs[order]
    infinite = math.log(-math.expm1(finite)) if finite < 0 else -math.inf
    places = np.concatenate([[True], np.diff(losses) > 0])
    masses = np.full(int(places.sum()), -math.inf)
    np.logaddexp.at(masses, np.cumsum(places) - 1, logs)
    return DiscreteLoss(losses[places], masses, infinite, log_missing=-math.inf)


@pytest.mark.parametrize("times", [1, 2, 1000, 100_000])
@pytest.mark.parametrize("log_delta", [math.log(0.3), math.log(1e-6), math.log(1e-12), math.log(1e-100), -690.0])
def test_gaussian_compositions_enclose_the_closed_form(times, log_delta):
    """Would catch a bound on the wrong side, and an interval wider than `width`."""
    mu = 1 / 100
    low, high = _epsilon_bounds(compose_on_grid([(GaussianLoss(mu), times)]), log_delta=log_delta)
    (truth, _) = _epsilon_bounds(GaussianLoss(mu * math.sqrt(times)), log_delta=log_delta)
    assert low <= truth <= high
    assert high - low <= 1e-4


def test_a_thousand_gaussians_of_sigma_30():
    """The case of the requirement, with its width."""
    low, high = _epsilon_bounds(compose_on_grid([(GaussianLoss(1 / 30), 1000)]), 1e-6)
    truth, _ = _epsilon_bounds(GaussianLoss(math.sqrt(1000) / 30), 1e-6)
    assert low <= truth <= high < low + 1e-5


@pytest.mark.parametrize(("epsilon", "times", "level"), [(0.1, 1000, 18.95), (1.0, 100, 71.5), (0.1, 10_000, 94.2358)])
def test_laplace_compositions_enclose_the_contour_integral(epsilon, times, level):
    """Would catch an error that the closed form of the Gaussian hides: atoms, a bounded loss."""
    low, high = compose_on_grid([(LaplaceLoss(epsilon), times)]).log_delta_bounds(level)
    truth = exact_log_delta([(laplace_moments(epsilon), times)], level)
    assert low <= truth <= high <= low + 1e-4


def test_mixed_noises_enclose_the_contour_integral():
    """Would catch a loss that is counted in the wrong group."""
    sigmas, scales = range(20, 25), range(10, 14)
    laws = [*((GaussianLoss(1 / s), 20) for s in sigmas), *((LaplaceLoss(1 / s), 15) for s in scales)]
    moments = [*((gaussian_moments(1 / s), 20) for s in sigmas), *((laplace_moments(1 / s), 15) for s in scales)]
    loss = compose_on_grid(laws)
    for level in (0.5, 6.0):
        low, high = loss.log_delta_bounds(level)
        assert low <= exact_log_delta(moments, level) <= high <= low + 1e-2


@together(("times", "share"), itertools.product([1, 2, 3, 100, 10_000, 1_000_000], [0.0, 0.3, 0.9, 0.999]))
def test_two_values_on_their_own_lattice_are_all_but_exact(times, share):
    """Would catch a spacing that is not found, and rounding that grows with the number of losses."""
    exact = BinomialLoss(0.1, -0.1, times)
    level = share * exact.supremum()
    low, high = compose_on_grid([(_two(0.1), times)]).log_delta_bounds(level)
    truth, _ = exact.log_delta_bounds(level)
    assert low <= truth + _DIGITS
    assert truth <= high + _DIGITS
    assert high - low <= 1e-7 * max(1.0, times / 1e4) * max(1.0, -truth)


def test_two_values_treated_as_any_loss_enclose_the_binomial_sum():
    """A loss without a spacing keeps them off theirs. Would catch a lower bound that assumes smoothness."""
    high, times = 0.1 * math.sqrt(2), 300
    nearly_nothing = DiscreteLoss(np.array([-1e-9, 1e-10 * math.pi, 1e-9]), np.log([0.3, 0.3, 0.4]))
    loss = compose_on_grid([(_two(high), times), (nearly_nothing, 1)])
    for level in (0.0, 8.0, 40.0):
        truth = [BinomialLoss(high, -high, times).log_delta_bounds(level + way * 1e-9)[0] for way in (1, -1)]
        low, up = loss.log_delta_bounds(level)
        assert low <= truth[1]
        assert truth[0] <= up


def test_responses_of_nothing_in_common_enclose_their_combinations():
    """Two binomial sums, term by term. Would catch a spacing of their own moved the wrong way."""
    one, two = BinomialLoss(0.1 * math.sqrt(2), -0.1 * math.sqrt(2), 60), BinomialLoss(0.1, -0.1, 40)
    exact = _exact_sum([(one.atoms(), 1), (two.atoms(), 1)])
    loss = compose_on_grid([(one, 1), (two, 1)])
    for level in (-1.0, 0.0, 1.0, 3.3, 7.0, 12.0, 12.48):
        low, high = loss.log_delta_bounds(level)
        truth, _ = exact.log_delta_bounds(level)
        assert low <= truth + _DIGITS
        assert truth <= high + _DIGITS
    assert np.ptp(_epsilon_bounds(loss, 1e-6)) <= 1e-4


@st.composite
def _small_laws(draw):
    size = draw(st.integers(1, 4))
    weights = st.lists(st.integers(0, 50), min_size=size, max_size=size)
    first, second = draw(weights), draw(weights)
    assume(any(p and q for p, q in zip(first, second, strict=True)))
    laws = [{i: w / sum(side) for i, w in enumerate(side)} for side in (first, second)]
    return DiscreteLoss.of_laws(*laws)


@given(st.lists(st.tuples(_small_laws(), st.integers(1, 3)), min_size=1, max_size=3), st.booleans(), st.data())
@settings(max_examples=50)
def test_small_losses_enclose_all_their_combinations(laws, coarse, data):
    """At, near and between the kinks, with infinite losses, on fine and coarse grids. Would catch a forgotten error."""
    exact = _exact_sum(laws)
    assume(exact.losses.size <= 5000)
    loss = compose_on_grid(laws, width=0.1, points=1024) if coarse else compose_on_grid(laws, points=2**16)
    kink = data.draw(st.sampled_from(list(exact.losses)))
    for level in (float(kink), float(kink) + 1e-4, float(kink) - 1e-3, 0.0, data.draw(st.floats(-5, 15))):
        low, high = loss.log_delta_bounds(level)
        truth, _ = exact.log_delta_bounds(level)
        assert low <= truth + _DIGITS * (1 + (0 if math.isinf(truth) else abs(truth)))
        assert truth <= high + _DIGITS


@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 3, 0, 2)])
def test_the_order_of_the_losses_changes_nothing_but_rounding(order):
    """Would catch a group that depends on those before it."""
    laws = [(GaussianLoss(0.05), 50), (LaplaceLoss(0.1), 40), (_two(0.07), 30), (_two(0.1 * math.sqrt(3)), 5)]
    given_, moved = (
        compose_on_grid(one, points=2**14).log_delta_bounds(1.5) for one in (laws, [laws[i] for i in order])
    )
    assert moved == pytest.approx(given_, rel=1e-9)


def test_equal_losses_may_be_listed_apart_and_results_composed_again():
    """Would catch times that are lost in a nested composition."""
    whole = compose_on_grid([(GaussianLoss(0.05), 50), (LaplaceLoss(0.1), 40)])
    half = compose_on_grid([(GaussianLoss(0.05), 10), (LaplaceLoss(0.1), 20), (GaussianLoss(0.05), 15)])
    again = compose_on_grid([(half, 2)])
    assert sorted(times for _, times in again.parts) == sorted(times for _, times in whole.parts)
    assert again.log_delta_bounds(1.0) == pytest.approx(whole.log_delta_bounds(1.0), rel=1e-12)


def test_finer_grids_give_upper_bounds_that_fall_and_the_truth_stays_inside():
    """Would catch an invalid upper bound."""
    law, level = [(GaussianLoss(0.05), 200)], 2.5
    truth, _ = GaussianLoss(0.05 * math.sqrt(200)).log_delta_bounds(level)
    ends = [compose_on_grid(law, points=points).log_delta_bounds(level) for points in (1024, 4096, 16384, 65536)]
    assert all(low <= truth <= high for low, high in ends)
    uppers, lowers = [high for _, high in ends], [low for low, _ in ends]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers)


def test_the_profile_falls_and_is_convex_between_its_bounds():
    """Would catch two neighbouring tilts that are inconsistent."""
    loss = compose_on_grid([(LaplaceLoss(0.1), 300)], points=2**15)
    levels = np.linspace(-2, 20, 200)
    ends = np.exp([loss.log_delta_bounds(float(level)) for level in levels])
    assert np.all(ends[1:, 0] <= ends[:-1, 1])
    x, low, high = np.exp(levels), ends[:, 0], ends[:, 1]
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    assert np.all(low[1:-1] <= (1 - share) * high[:-2] + share * high[2:])


def test_infinite_losses_compose_by_the_chance_of_none():
    """Would catch an infinite mass that is added up, or counted twice."""
    missing = math.log1p(-1e-8)
    loss = compose_on_grid([(LossWithInfinity(GaussianLoss(0.03), missing, missing), 1000)])
    exact = math.log(-math.expm1(1000 * missing))
    assert loss.log_delta_bounds(math.inf) == pytest.approx((exact, exact), rel=1e-9)
    low, high = loss.log_delta_bounds(3.0)
    common = GaussianLoss(0.03 * math.sqrt(1000)).log_delta_bounds(3.0)[0]
    truth = np.logaddexp(exact, 1000 * missing + common)
    assert low <= truth <= high <= low + 1e-3
    assert loss.supremum() == math.inf
    assert _epsilon_bounds(loss, 0.9e-5) == (math.inf, math.inf)


def test_the_ends_of_the_range():
    """Would catch a wrong answer for one loss, for certain difference, at and beyond the supremum."""
    nothing = compose_on_grid([(DiscreteLoss(np.zeros(1), np.zeros(1)), 1000)])
    assert nothing.log_delta_bounds(0.0) == (-math.inf, -math.inf)
    assert nothing.log_delta_bounds(-1.0) == pytest.approx((math.log(-math.expm1(-1)),) * 2)
    everything = compose_on_grid([(DiscreteLoss(np.empty(0), np.empty(0), 0.0), 3)])
    assert everything.log_delta_bounds(50.0) == (0.0, 0.0)
    shifted = compose_on_grid([(DiscreteLoss(np.array([0.3]), np.zeros(1)), 10)])
    assert shifted.log_delta_bounds(2.9) == pytest.approx((math.log(-math.expm1(-0.1)),) * 2)
    assert shifted.log_delta_bounds(3.1) == (-math.inf, -math.inf)
    noise = compose_on_grid([(LaplaceLoss(0.1), 1000)], points=2**14)
    assert noise.log_delta_bounds(100.0) == (-math.inf, -math.inf)
    assert noise.log_delta_bounds(-math.inf) == (0.0, 0.0)
    low, high = noise.log_delta_bounds(99.99999999)
    assert -math.inf < low < high < -600


def test_far_beyond_every_float_the_bounds_are_still_near():
    """delta about e**-22000. Would catch an underflow to a false 0."""
    low, high = compose_on_grid([(GaussianLoss(1 / 30), 100)], points=2**18).log_delta_bounds(70.0)
    truth, _ = GaussianLoss(math.sqrt(100) / 30).log_delta_bounds(70.0)
    assert truth < -20_000
    assert low <= truth <= high <= low + 0.5


@together("scale", [1e-9, 1e-3, 50.0])
def test_losses_of_any_size(scale):
    """Would catch a spacing or a rounding error in absolute nats."""
    one, two = BinomialLoss(scale, -scale, 9), BinomialLoss(scale / math.sqrt(2), -scale / math.sqrt(2), 7)
    exact = _exact_sum([(one.atoms(), 1), (two.atoms(), 1)])
    loss = compose_on_grid([(one, 1), (two, 1)])
    for share in (0.0, 0.2, 0.6):
        level = share * exact.supremum()
        low, high = loss.log_delta_bounds(level)
        truth, _ = exact.log_delta_bounds(level)
        assert low <= truth + _DIGITS
        assert truth <= high + _DIGITS
        assert high - low <= 1e-2 * max(1.0, scale)


def test_an_answer_depends_on_the_question_alone():
    """Would catch a cache with a wrong key."""
    laws = [(LaplaceLoss(0.1), 100)]
    levels = [0.5, 7.5, 2.0, 5.5, 3.0, 9.0]
    used = compose_on_grid(laws, points=2**14)
    for level in levels:
        used.log_delta_bounds(level)
    for level in levels:
        assert used.log_delta_bounds(level) == compose_on_grid(laws, points=2**14).log_delta_bounds(level)


def test_the_reversed_loss_is_made_of_the_reversed_parts():
    """Would catch a grid that is flipped, or a direction that is lost."""
    law = DiscreteLoss(np.array([-0.2, 0.5]), np.log([0.6, 0.4]))
    exact = _exact_sum([(law.reversed(), 4)])
    low, high = compose_on_grid([(law, 4)]).reversed().log_delta_bounds(0.1)
    truth, _ = exact.log_delta_bounds(0.1)
    assert low <= truth + _DIGITS
    assert truth <= high + _DIGITS


@pytest.mark.slow
def test_memory_stays_below_a_gigabyte():
    """A million losses of two kinds. Would catch a grid that grows with their number."""
    tracemalloc.start()
    low, high = _epsilon_bounds(compose_on_grid([(LaplaceLoss(0.01), 10**6), (GaussianLoss(0.003), 10**5)]), 1e-6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e9
    assert 0 < high - low < 1e-3


@together(
    ("laws", "settings_", "word"),
    [
        ([], {}, "losses"),
        ([(GaussianLoss(1.0), 0)], {}, "times"),
        ([(GaussianLoss(1.0), 1.5)], {}, "times"),
        ([(GaussianLoss(1.0), True)], {}, "times"),
        ([(ProfileLoss(Laplace(1.0)), 1)], {}, "losses"),
        ([(GaussianLoss(1.0), 1)], {"width": 0.0}, "width"),
        ([(GaussianLoss(1.0), 1)], {"width": math.nan}, "width"),
        ([(GaussianLoss(1.0), 1)], {"points": 10}, "points"),
        ([(GaussianLoss(1.0), 1)], {"points": 1e6}, "points"),
    ],
)
def test_bad_input_is_named(laws, settings_, word):
    """Would catch bad input that is answered."""
    with pytest.raises(ValueError, match=word):
        compose_on_grid(laws, **settings_)


def test_an_epsilon_that_is_no_number_is_refused():
    """Would catch a silent nan."""
    with pytest.raises(ValueError, match="epsilon"):
        compose_on_grid([(GaussianLoss(1.0), 1)]).log_delta_bounds(math.nan)


def _kinks(loss: GridLoss, exact: DiscreteLoss) -> list[tuple[float, float, float]]:
    levels = [float(level) for level in exact.losses[len(exact.losses) // 2 : -1]]
    return [(*loss.log_delta_bounds(level), exact.log_delta_bounds(level)[0]) for level in levels]


def _off_lattice(monkeypatch) -> tuple[GridLoss, DiscreteLoss]:
    """Losses that lie between the points of a coarse grid."""
    monkeypatch.setattr(grid_plan, "common_spacing", lambda _: None)
    law = DiscreteLoss(np.array([-0.31, 0.013, 0.27]), np.log([0.25, 0.35, 0.4]))
    return compose_on_grid([(law, 4)], points=1024, width=1.0), _exact_sum([(law, 4)])


def test_a_lower_bound_that_forgets_the_moves_is_caught(monkeypatch):
    """The planted bug: no losses count as moved. The check of the lower bound must see it."""
    loss, exact = _off_lattice(monkeypatch)
    assert all(low <= truth <= high for low, high, truth in _kinks(loss, exact))
    monkeypatch.setattr(discretisation, "one_move", lambda _: discretisation.Moves())
    loss, exact = _off_lattice(monkeypatch)
    assert any(low > truth for low, _, truth in _kinks(loss, exact))


def test_a_spread_bound_of_too_small_a_share_is_caught(monkeypatch):
    """The planted bug: the bound takes a hundredth of the second difference. The check must see it."""
    monkeypatch.setattr(discretisation, "_second_difference", lambda *_: 0.0)
    loss, exact = _off_lattice(monkeypatch)
    assert any(low > truth for low, _, truth in _kinks(loss, exact))


def test_rounding_to_the_nearest_point_is_caught(monkeypatch):
    """The planted bug: each loss moves to the nearest point. The check of the upper bound must see it."""
    rounded = discretisation._of_atoms  # noqa: SLF001

    def nearest(losses, logs, spacing, theta, error):
        moved = losses[0] + spacing * np.round((losses - losses[0]) / spacing - 1e-3 * np.arange(losses.size))
        return rounded(moved, logs, spacing, theta, error)

    monkeypatch.setattr(discretisation, "_of_atoms", nearest)
    loss, exact = _off_lattice(monkeypatch)
    assert any(not low <= truth <= high for low, high, truth in _kinks(loss, exact))


def test_the_crude_bound_is_a_lower_one():
    """The bound without an FFT. Would catch one above the truth, or none."""
    loss = compose_on_grid([(GaussianLoss(0.3), 20)])
    exact = GaussianLoss(0.3 * math.sqrt(20))
    for level in (0.0, 1.0, 10.0):
        crude = loss._crude(level)  # noqa: SLF001
        assert -math.inf < crude <= exact.log_delta_bounds(level)[0]


def test_one_move_of_any_length_is_a_number():
    """Would catch an overflow on grids of huge losses, and a jump between the two formulas."""
    for spacing in (0.1, 1.0, 1000.0):
        assert discretisation.one_move(spacing).log_variance == pytest.approx(2 * math.log(math.cosh(spacing / 2)))
    for spacing in (599.9, 600.1, 1e9):
        assert discretisation.one_move(spacing).log_variance == pytest.approx(spacing - math.log(4), rel=1e-15)


def test_rare_losses_of_ten_thousands_of_nats_have_a_lower_bound_between_their_numbers():
    """Between j and j + 1 of them delta is the chance of more than j.

    Steps of a nat are too long for the bound by second differences: would catch bounds 100 nats of ln delta apart.
    """
    large = 30_000 + 9.7 * np.arange(1, 41) + np.sin(np.arange(40))
    first = np.append(0.9, np.full(40, 0.1 / 40))
    losses = np.append(math.log(0.9), large)
    law = compose_on_grid([(DiscreteLoss(losses, np.log(first)), 50)])
    for j, level in ((0, 100.0), (4, 140_000.0), (12, 382_000.0)):
        exact = math.log1p(-math.fsum(math.comb(50, i) * 0.1**i * 0.9 ** (50 - i) for i in range(j + 1)))
        low, high = law.log_delta_bounds(level)
        assert exact - 1e-3 < low <= exact + 1e-12
        assert exact - 1e-12 <= high < exact + 1e-3
    low, high = _epsilon_bounds(law, 1e-6)
    assert low < high < low * (1 + 1e-3)


def test_epsilons_near_the_largest_float_have_the_bounds_of_smaller_ones() -> None:
    """Products with the tilt overflowed, and the lower bound of a delta of practically 0 was 1."""
    total = compose_on_grid([(LaplaceLoss(1.0), 10), (GaussianLoss(1 / 3), 1)])
    for epsilon in (1e290, 8e307, 1e308):
        low, high = total.log_delta_bounds(epsilon)
        assert low <= high < -700
