"""Composition by inversion of the characteristic function: bounds against closed forms, sums and the grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.accounting import compose, subsample
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses import inversion
from ldp_audit.losses.composition import InvertedSum, inverted_sum
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.losses.grid_loss import GridLoss, compose_on_grid
from ldp_audit.losses.inversion import ChernoffBound, TrapezoidRule
from ldp_audit.losses.noise_losses import GaussianLoss, GaussianTransform
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.together import together

_ROUNDING = 1e-12
"""To which share of itself the closed form is known, in ln delta."""


def _inverted(laws) -> InvertedSum:
    found = inverted_sum(compose_on_grid(laws))
    assert isinstance(found, InvertedSum)
    return found


def _line(loss: InvertedSum, level: float) -> TrapezoidRule:
    found = loss.plan.rule(level)
    assert found is not None
    return found


@pytest.mark.parametrize("times", [1, 2, 1000, 10**9])
@pytest.mark.parametrize("mu", [1e-4, 0.02])
@pytest.mark.parametrize("log_delta", [math.log(0.9), math.log(0.3), math.log(1e-6), -230.0, -690.0])
def test_gaussian_compositions_enclose_the_closed_form(times, mu, log_delta):
    """Would catch a bound on the wrong side, and error bounds a thousand times too generous."""
    exact = GaussianLoss(mu * math.sqrt(times))
    level, _ = PrivacyLoss((exact,)).epsilon_bounds(log_delta=log_delta)
    low, high = _line(_inverted([(GaussianLoss(mu), times)]), level).log_delta_bounds(level)
    truth, _ = exact.log_delta_bounds(level)
    slack = _ROUNDING * (1 + abs(truth))
    assert low <= truth + slack
    assert truth <= high + slack
    assert high - low <= 1e-9 * (1 + abs(truth))


@together("level", [-3.0, -0.5, 0.0, 0.2, 4.0, 13.0, 40.0])
def test_epsilons_on_either_side_of_the_mean_enclose_the_closed_form(level):
    """Would catch a tilt that is valid on one side alone."""
    loss, exact = _inverted([(GaussianLoss(0.05), 400)]), GaussianLoss(1.0)
    low, high = loss.log_delta_bounds(level)
    truth, _ = exact.log_delta_bounds(level)
    assert low <= truth + _ROUNDING * (1 + abs(truth))
    assert truth <= high + _ROUNDING * (1 + abs(truth))


_SUMS = {
    "sampled": [(subsample(Gaussian(1.0), rate=0.05), 300)],
    "sampled seldom": [(subsample(Gaussian(0.8), rate=0.01), 2000)],
    "noises": [(Laplace(5.0), 300), (Gaussian(10.0), 20)],
    "noise and responses": [(Gaussian(3.0), 2), (RandomizedResponse(0.2), 50), (RandomizedResponse(0.3), 20)],
    "three values": [(Gaussian(2.0), 1), (RandomizedResponse(0.4, k=3), 30)],
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", _SUMS)
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_grid_encloses_the_inverted(name, delta):
    """Two methods with nothing in common, each direction by itself."""
    loss = compose(_SUMS[name], width=1e-2)
    level = loss.epsilon(delta)
    for law in loss.directions:
        assert isinstance(law, InvertedSum)
        assert law.plan.rule(level) is not None
        low, high = law.log_delta_bounds(level)
        grid_low, grid_high = law.grid.log_delta_bounds(level)
        assert grid_low <= low <= high <= grid_high
        assert high - low <= 1e-8


@pytest.mark.parametrize("parts", [_SUMS["sampled"], _SUMS["noises"]])
def test_epsilons_in_any_order_fall_and_are_convex(parts):
    """Would catch two neighbouring rules that are inconsistent, and a rule that depends on earlier questions."""
    law = compose(parts).directions[0]
    levels = np.linspace(-1, 12, 70)
    ends = np.exp([law.log_delta_bounds(float(level)) for level in levels])
    again = compose(parts).directions[0]
    assert [again.log_delta_bounds(float(level)) for level in levels[::-3]] == [
        law.log_delta_bounds(float(level)) for level in levels[::-3]
    ]
    x, low, high = np.exp(levels), ends[:, 0], ends[:, 1]
    assert np.all(low[1:] <= high[:-1])
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    assert np.all(low[1:-1] <= (1 - share) * high[:-2] + share * high[2:])


def test_sums_are_composed_again_and_reversed_part_by_part():
    """Would catch times or a direction that are lost."""
    half = compose([(subsample(Gaussian(1.0), rate=0.05), 150)])
    whole = compose(_SUMS["sampled"])
    assert compose([(half, 2)]).epsilon_bounds(1e-6) == whole.epsilon_bounds(1e-6)
    away, back = whole.directions
    for level in (0.0, 1.0):
        assert away.reversed().log_delta_bounds(level) == back.log_delta_bounds(level)
    assert away.supremum() == math.inf
    assert back.supremum() == pytest.approx(-300 * math.log1p(-0.05))


def test_sums_that_do_not_fall_off_are_left_to_the_grid():
    """Few unequal noises, and atoms alone. Would catch an integral truncated too early."""
    few = [(Laplace(1.0), 2), (Laplace(2.0), 1)]
    responses = [(RandomizedResponse(0.1), 1000), (RandomizedResponse(1 / 3), 300)]
    for parts in (few, responses):
        assert isinstance(compose(parts).directions[0], GridLoss)


@together(
    "part",
    [
        Laplace(1.0),
        Laplace(1e4),
        subsample(Gaussian(1.0), rate=0.01),
        subsample(Gaussian(30.0), rate=1e-3),
    ],
)
def test_a_billion_losses_have_bounds_that_are_not_vacuous(part):
    """Would catch rounding that grows with the number of losses until no digit is left, as on a grid."""
    low, high = compose([(part, 10**9)]).epsilon_bounds(1e-6)
    assert 0 < low <= high <= low * (1 + 1e-7)


def test_bounds_beyond_every_float_are_still_near():
    """delta about e**-45000. Would catch an underflow to a false 0."""
    loss, exact = _inverted([(GaussianLoss(1 / 30), 100)]), GaussianLoss(1 / 3)
    truth, _ = exact.log_delta_bounds(100.0)
    low, high = loss.log_delta_bounds(100.0)
    assert truth < -40_000
    assert low <= truth <= high <= low + 1e-3


def test_bounded_losses_end_where_they_end():
    """Would catch an epsilon at or above the supremum that is treated as any other."""
    loss = compose([(Laplace(10.0), 1000)], width=1e-2).directions[0]
    assert loss.supremum() == pytest.approx(100)
    assert loss.log_delta_bounds(101.0) == (-math.inf, -math.inf)
    assert loss.log_delta_bounds(-math.inf) == (0.0, 0.0)
    low, high = loss.log_delta_bounds(99.99)
    assert -math.inf < low <= high < -400
    with pytest.raises(ValueError, match="epsilon"):
        loss.log_delta_bounds(math.nan)


def _coarse(level: float) -> tuple[float, float, float]:
    """The bounds and the truth of a rule as short and coarse as `_PRECISE` allows."""
    low, high = _line(_inverted([(GaussianLoss(0.05), 400)]), level).log_delta_bounds(level)
    return low, high, GaussianLoss(1.0).log_delta_bounds(level)[0]


_LEVELS = (0.3, 0.9, 2.0, 3.1, 4.4, 6.0)


def test_a_coarse_rule_has_wide_bounds_that_enclose_the_truth(monkeypatch):
    """Would catch an error that is covered by another's bound as long as both are small."""
    monkeypatch.setattr(inversion, "_PRECISE", 1.0)
    monkeypatch.setattr(inversion, "AWAY", 0.1)
    ends = [_coarse(level) for level in _LEVELS]
    assert all(low <= truth <= high for low, high, truth in ends)
    assert all(high - low > 1e-6 for low, high, _ in ends)


def test_forgetting_what_comes_with_delta_is_caught(monkeypatch):
    """The planted bug: no aliasing error."""
    monkeypatch.setattr(inversion, "_PRECISE", 1.0)
    monkeypatch.setattr(inversion, "AWAY", 0.1)
    monkeypatch.setattr(GaussianTransform, "log_tail_bound", lambda *_: -1e6)
    monkeypatch.setattr(inversion, "_SHORTEST", 8.0)
    monkeypatch.setattr(TrapezoidRule, "log_aliasing", lambda *_: -1e6)
    assert any(low > truth for low, _, truth in map(_coarse, _LEVELS))


def test_forgetting_what_is_cut_off_is_caught(monkeypatch):
    """The planted bug: no truncation error."""
    monkeypatch.setattr(inversion, "_SHORTEST", 1.5)
    monkeypatch.setattr(GaussianTransform, "log_tail_bound", lambda *_: -1e6)
    assert any(not low <= truth <= high for low, high, truth in map(_coarse, _LEVELS))


def test_two_valued_losses_with_noise_enclose_their_sum_over_counts():
    """The truth is a sum of closed forms. Would catch an atom's mass that is rounded wrongly."""
    one = BinomialLoss(0.3, -0.3, 1)
    loss, noise = _inverted([(GaussianLoss(0.7), 1), (one, 25)]), GaussianLoss(0.7)
    counts = BinomialLoss(0.3, -0.3, 25).atoms()
    assert counts is not None
    for level in (0.5, 3.0, 6.0):
        gains = [noise.log_delta_bounds(level - float(shift))[0] for shift in counts.losses]
        truth = float(np.logaddexp.reduce(counts.log_probabilities + gains))
        low, high = loss.log_delta_bounds(level)
        assert low <= truth + 1e-12
        assert truth <= high + 1e-12
        assert high - low < 1e-9


def test_epsilons_that_no_rule_bounds_have_an_upper_bound_all_the_same():
    """e**(c 700) overflows: a smaller tilt bounds delta. Would catch an upper bound of 1 everywhere."""
    loss = compose([(RandomizedResponse(700.0), 1), (Gaussian(1.0), 1)], width=1e-2)
    law = loss.directions[0]
    assert isinstance(law, InvertedSum)
    assert law.plan.rule(3e3) is None
    low, high = law.log_delta_bounds(3e3)
    # the loss is at most 700 more than that of the noise
    assert low <= GaussianLoss(1.0).log_delta_bounds(3e3 - 700)[0] <= high < -700
    lower, upper = loss.epsilon_bounds(1e-6)
    truth = 700 + PrivacyLoss((GaussianLoss(1.0),)).epsilon(1e-6)  # the response shows 700 but for e**-700
    assert lower <= truth <= upper < 1000


def test_noise_whose_square_is_no_float_is_no_number():
    """Would catch an overflow."""
    assert GaussianTransform(1e200).at(1.0, np.zeros(1)) is None
    assert GaussianTransform(1e200).log_tail_bound(1.0, 100.0) == math.inf


def test_a_bound_by_one_tilt_is_not_below_the_truth_by_rounding():
    """A loss of nearly one value, where Chernoff is tight. Would catch uncounted rounding."""
    for tilt in (1e3, 1e7, 1e11):
        level = 20.0 - math.log1p(1 / tilt)
        truth = -math.log1p(tilt)  # ln(1 - e**(level - 20))
        found = ChernoffBound(tilt, tilt * 20.0).log_delta(level)
        assert truth <= found <= truth + 1e-14 * tilt * 100
