"""Moment bounds: the worst neighbourhood's divergences against fractions, and sums that no neighbourhood exceeds."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.conversion.renyi import renyi_divergence
from ldp_audit.accounting.shuffling.anonymous_counts import exact_laws
from ldp_audit.accounting.shuffling.count_loss import placed_count
from ldp_audit.accounting.shuffling.pooled_reports import ShuffledReports
from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstDivergence, WorstNeighbourhood
from ldp_audit.losses.composition import composed
from ldp_audit.losses.discrete_loss import ZERO_LOSS, BinomialLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import known_bounds
from ldp_audit.losses.loss import PairLoss, side
from ldp_audit.losses.moment_bound import (
    MomentBound,
    _log_lack,
)
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.log_space import expit


def placed(epsilon0: float, n: int, upper: int) -> PairLoss:
    """The count's loss with this number of others at the upper end."""
    high = expit(epsilon0)
    return placed_count(n, epsilon0, [high] * upper + [expit(-epsilon0)] * (n - 1 - upper))


@pytest.mark.parametrize("t", [Fraction(3), Fraction(21, 20), Fraction(60)])
@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("alpha", [2, 3, 9])
def test_the_worst_divergence_is_that_of_the_fractions(t: Fraction, n: int, alpha: int) -> None:
    """Over all splits, client 1 either way round: would catch a split that is left out."""
    low, high = 1 / (t + 1), t / (t + 1)
    sums = []
    for upper in range(n):
        for pair in ((high, low), (low, high)):
            first, second = exact_laws(*pair, [high] * upper + [low] * (n - 1 - upper))
            sums.append(sum((p**alpha / second[k] ** (alpha - 1) for k, p in first.items()), Fraction(0)))
    truth = math.log(max(sums)) / (alpha - 1)
    found = WorstDivergence(math.log(t), n).divergence(alpha)
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 2e-10)


@pytest.mark.parametrize(("epsilon0", "n"), [(1e-9, 30), (1.0, 200), (12.0, 40), (60.0, 10), (1.0, 1024)])
def test_it_is_an_upper_bound_of_every_split_s(epsilon0: float, n: int) -> None:
    moments = WorstDivergence(epsilon0, n)
    for alpha in (1 + 1e-6, 1.5, 4.0, 1e3):
        found = moments.divergence(alpha)
        for upper in {0, 1, n // 3, n - 1}:
            for law in (placed(epsilon0, n, upper), placed(epsilon0, n, upper).reversed()):
                assert found >= renyi_divergence(law, alpha).value * (1 - 1e-9)
        assert found <= epsilon0


@settings(max_examples=2, deadline=None)
@given(st.floats(0.01, 6), st.integers(2, 40), st.integers(2, 3000), st.data())
def test_no_mixture_of_neighbourhoods_exceeds_the_sum_s_bound(
    epsilon0: float, n: int, times: int, data: st.DataObject
) -> None:
    """Two neighbourhoods, either way round: their exact sum against the moment bound."""
    law = WorstNeighbourhood(epsilon0, n)
    bound = MomentBound.of_sum(BinomialLoss(epsilon0, -epsilon0, times), [(law, times)])
    assert isinstance(bound, MomentBound)
    first = data.draw(st.integers(0, times))
    one, two = (placed(epsilon0, n, data.draw(st.integers(0, n - 1))) for _ in range(2))
    if data.draw(st.booleans()):
        one = one.reversed()
    mixed = composed([(part, count) for part, count in ((one, first), (two, times - first)) if count])
    for share in (0.0, 0.01, 0.1, 0.4):
        level = share * times * epsilon0
        assert mixed.log_delta_bounds(level)[0] <= bound.log_delta_bounds(level)[1] + 1e-9


def test_what_orders_add_keeps_its_digits() -> None:
    """Would catch the difference of two logarithms times the order, which at 2**40 loses 4e-3 of ln delta."""
    with mpmath.workdps(60):
        for k in range(-640, 641, 40):
            order = mpmath.mpf(2) ** (mpmath.mpf(k) / 16)
            truth = (order + 1) * mpmath.log(1 - 1 / (order + 1)) - mpmath.log(order)
            assert _log_lack(k) == pytest.approx(float(truth), rel=1e-14, abs=1e-14)


def test_of_very_many_counts_it_is_far_below_the_dominating_loss() -> None:
    law = WorstNeighbourhood(4.0, 50)
    dominating = composed([(known_bounds(law)[1], 5_000)])
    bound = MomentBound.of_sum(dominating, [(law, 5_000)])
    typical = composed([(law.placing, 5_000)])
    level = bound.epsilon_near(math.log(1e-5))  # type: ignore[attr-defined]
    assert bound.log_delta_bounds(level)[1] < -5
    assert dominating.log_delta_bounds(level)[0] > -1e-3
    assert typical.log_delta_bounds(0.99 * level)[0] > -20


def test_where_the_dominating_loss_is_nearer_it_is_what_counts() -> None:
    law = WorstNeighbourhood(1.0, 200)
    dominating = composed([(known_bounds(law)[1], 3)])
    bound = MomentBound.of_sum(dominating, [(law, 3)])
    for level in (-0.1, 0.0, 0.1, 0.5, 2.9, 3.0):
        assert bound.log_delta_bounds(level) == (-math.inf, pytest.approx(dominating.log_delta_bounds(level)[1]))
    assert bound.supremum() == dominating.supremum()


def test_only_sums_of_losses_whose_divergences_are_known_have_it() -> None:
    law, upper = WorstNeighbourhood(1.0, 20), GaussianLoss(3.0)
    assert MomentBound.of_sum(upper, [(law, 1)]) is upper
    assert MomentBound.of_sum(upper, [(WorstNeighbourhood(1.0, 5000), 7)]) is upper
    assert MomentBound.of_sum(upper, [(law, 5), (ShuffledReports(Blanket.of_laplace(1.0), 1.0, 20), 1)]) is upper
    assert MomentBound.of_sum(upper, [(GaussianLoss(1.0), 5)]) is upper
    found = MomentBound.of_sum(upper, [(law, 1), (GaussianLoss(1.0), 1)])
    assert isinstance(found, MomentBound)


def test_a_sum_of_sums_has_the_parts_of_both() -> None:
    law = WorstNeighbourhood(2.0, 15)
    inner = MomentBound.of_sum(composed([(known_bounds(law)[1], 4)]), [(law, 4)])
    outer = MomentBound.of_sum(composed([(known_bounds(law)[1], 40)]), [(EnclosedLoss(ZERO_LOSS, inner), 10)])
    assert isinstance(outer, MomentBound)
    assert outer.parts == ((law, 40),)
    assert outer.reversed().parts == outer.parts
    assert known_bounds(EnclosedLoss(ZERO_LOSS, inner))[1] is inner.loss  # type: ignore[attr-defined]


def test_one_bound_of_an_enclosed_loss_is_computed_alone() -> None:
    law = WorstNeighbourhood(1.0, 10)
    nested = EnclosedLoss(EnclosedLoss(ZERO_LOSS, law), law)
    assert side(nested, 0) is ZERO_LOSS
    assert side(nested, 1) is law
    assert side(law, 0) is law
