"""Shuffled reports: LDP-FL's numbers, the worst-case neighbourhood against all others, and the stated precision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, privacy_loss
from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.accounting.shuffling.anonymous_counts import exact_laws
from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstNeighbourhood, one_end
from ldp_audit.losses.discrete_loss import DiscreteLoss
from ldp_audit.mechanisms import (
    FiniteChannel,
    Gaussian,
    Laplace,
    PerturbedSampling,
    Piecewise,
    RandomizedResponse,
    TwoPoint,
)
from tests.together import together

DELTA = 1e-5
ONE_WEIGHT = [
    (100, 1.0, "one end", 0.4078),
    (200, 4.0, "one end", 3.99962),
    (500, 10.0, "one end", 9.99999),
    (100, 1.0, "center", 0.3127),
    (200, 4.0, "center", 0.4859),
    (500, 10.0, "center", 0.3038),
]


@together(("n", "epsilon", "others", "central"), ONE_WEIGHT)
def test_one_weight_at_the_paper_s_sizes(n: int, epsilon: float, others: Any, central: float) -> None:
    loss = shuffle(TwoPoint(epsilon), n, others=others)
    assert loss.exact
    assert loss.epsilon(DELTA) == pytest.approx(central, rel=2e-4)


@together(("n", "epsilon"), [(100, 1.0), (200, 4.0), (500, 10.0)])
def test_the_worst_neighbourhood_has_all_others_at_one_end_there(n: int, epsilon: float) -> None:
    """Found by the maximum over every split of the others, which is proved to contain the worst."""
    low, high = shuffle(TwoPoint(epsilon), n).epsilon_bounds(DELTA)
    placed = shuffle(TwoPoint(epsilon), n, others="one end").epsilon(DELTA)
    assert low <= placed * (1 + 1e-9)
    assert high == pytest.approx(placed, rel=1e-9)
    assert low == pytest.approx(placed, rel=1e-9)


COMPOSED = [
    (100, 1.0, 100, 4.70, 4.0),
]
LONG = [
    (200, 4.0, 100, 60.8, 6.3),
    (500, 10.0, 100, 1000.0, 3.9),
    (100, 1.0, 10**4, 98.8, 81),
    (100, 1.0, 10**5, 688.9, 551),
    (200, 4.0, 10**4, 2417, 150),
    (200, 4.0, 10**5, 21730, 1112),
    (500, 10.0, 10**4, 97737, 77),
    (500, 10.0, 10**5, 971760, 520),
]


@pytest.mark.parametrize(("n", "epsilon", "counts", "worst", "friendliest"), COMPOSED)
def test_a_hundred_counts_at_the_paper_s_sizes(
    n: int, epsilon: float, counts: int, worst: float, friendliest: float
) -> None:
    check_composed(n, epsilon, counts, worst, friendliest)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon", "counts", "worst", "friendliest"), LONG)
def test_many_counts_at_the_paper_s_sizes(
    n: int, epsilon: float, counts: int, worst: float, friendliest: float
) -> None:
    check_composed(n, epsilon, counts, worst, friendliest)


def check_composed(n: int, epsilon: float, counts: int, worst: float, friendliest: float) -> None:
    """The friendliest neighbourhood, against the normal limit to half a percent."""
    for others, expected, margin in (("one end", worst, 4e-3), ("center", friendliest, 2e-2)):
        loss = compose([(shuffle(TwoPoint(epsilon), n, others=others), counts)])
        low, high = loss.epsilon_bounds(DELTA)
        assert low <= high <= low * (1 + 1e-4)
        assert high == pytest.approx(expected, rel=margin)


def test_the_worst_case_composes_from_both_sides() -> None:
    low, high = compose([(shuffle(TwoPoint(1.0), 100), 100)], width=1e-2).epsilon_bounds(DELTA)
    placed = compose([(shuffle(TwoPoint(1.0), 100, others="one end"), 100)]).epsilon_bounds(DELTA)
    assert low == pytest.approx(placed[0], rel=1e-4)
    assert placed[0] <= high <= placed[1] * 1.03


@pytest.mark.parametrize("t", [Fraction(3), Fraction(11, 10), Fraction(40)])
@pytest.mark.parametrize("n", [2, 4, 6])
def test_no_neighbourhood_on_a_grid_beats_the_bounds(t: Fraction, n: int) -> None:
    """Others at the ends and at three places between, client 1 as well: would catch a maximum that misses a split."""
    low, high = 1 / (t + 1), t / (t + 1)
    places = [low + (high - low) * Fraction(i, 4) for i in range(5)]
    law = WorstNeighbourhood(math.log(t), n)
    for level in (Fraction(1), 1 + (t - 1) / 10, (1 + t) / 2):
        worst = max(
            delta(exact_laws(first, second, list(others)), level)
            for others in itertools.combinations_with_replacement(places if n <= 4 else (low, high), n - 1)
            for first, second in itertools.permutations((low, places[2], high), 2)
        )
        bounds = law.log_delta_bounds(math.log(level))
        assert math.exp(bounds[0]) <= float(worst) <= math.exp(bounds[1])
        assert bounds[1] - bounds[0] < 1e-11


def delta(laws: tuple[dict[Any, Fraction], dict[Any, Fraction]], level: Fraction) -> Fraction:
    first, second = laws
    return sum((max(Fraction(0), p - level * second.get(k, Fraction(0))) for k, p in first.items()), Fraction(0))


def test_one_end_is_not_always_the_worst() -> None:
    """Of three clients at t = 3 and e**epsilon = 1.1 a split is worse: why all splits are evaluated."""
    levels = np.linspace(0.01, 1.05, 40)
    worst, placed = WorstNeighbourhood(math.log(3), 3), one_end(math.log(3), 3)
    ends = [max(placed.log_delta_bounds(x)[0], placed.reversed().log_delta_bounds(x)[0]) for x in levels]
    assert any(worst.log_delta_bounds(x)[0] > end + 1e-6 for x, end in zip(levels, ends, strict=True))


@pytest.mark.parametrize("level", [0.02, 0.1, 0.3])
def test_blocks_of_splits_lie_above_all_their_splits(level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    single = WorstNeighbourhood(1.0, 250).log_delta_bounds(level)
    monkeypatch.setattr("ldp_audit.accounting.shuffling.worst_neighbourhood.MOST_ONE_BY_ONE", 10)
    blocks = WorstNeighbourhood(1.0, 250).log_delta_bounds(level)
    assert blocks[0] <= single[1]
    assert single[0] <= blocks[1]
    assert blocks[1] - single[1] < 0.5


@settings(max_examples=40)
@given(st.floats(0.01, 6), st.integers(2, 60), st.floats(0, 0.999))
def test_every_neighbourhood_lies_below_the_worst_and_the_bounds_are_in_order(
    epsilon: float, n: int, share: float
) -> None:
    level = share * epsilon
    low, high = shuffle(TwoPoint(epsilon), n).log_delta_bounds(level)
    assert low <= high
    chances = np.random.default_rng(n).uniform(
        1 / (math.exp(epsilon) + 1), math.exp(epsilon) / (math.exp(epsilon) + 1), n - 1
    )
    for others in ("one end", "center", chances):
        assert shuffle(TwoPoint(epsilon), n, others=others).log_delta_bounds(level)[0] <= high + 1e-9


def test_larger_crowds() -> None:
    """With all others at one end, enclosed within two percent; at full size 0.127, 0.0101 and 0.0028."""
    for n, central in ((1000, 0.1266), (2000, 0.08617)):
        low, high = shuffle(TwoPoint(1.0), n).epsilon_bounds(1e-6)
        assert low <= shuffle(TwoPoint(1.0), n, others="one end").epsilon(1e-6)
        assert low == pytest.approx(central, rel=1e-3)
        assert low <= high <= 1.02 * low


@pytest.mark.slow
def test_a_million_clients_and_ten() -> None:
    for n, central, margin in ((10**5, 0.010142, 1.02), (10**6, 0.002849, 1.02), (10**7, 0.000779, 1.3)):
        low, high = shuffle(TwoPoint(1.0), n).epsilon_bounds(1e-6)
        assert low == pytest.approx(central, rel=1e-3)
        assert low <= high <= margin * low


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(1.0, 3),
        RandomizedResponse(2.0, 8),
        Piecewise(1.0),
        Laplace(1.0, replaced=1.0),
        PerturbedSampling(1.0, 6, 2),
    ],
    ids=repr,
)
def test_other_mechanisms_are_enclosed(mechanism: Any) -> None:
    loss = shuffle(mechanism, 30)
    assert not loss.exact
    low, high = loss.epsilon_bounds(1e-3)
    assert 0 < low <= high < mechanism.exact_epsilon()
    assert loss.epsilon(0.0) == pytest.approx(mechanism.exact_epsilon(), rel=1e-12)
    composed = compose([(loss, 3)]).epsilon_bounds(1e-3)
    assert low <= composed[1]
    assert composed[0] <= composed[1] <= 3 * mechanism.exact_epsilon() * (1 + 1e-9)


def test_noise_is_shuffled_between_values_as_far_apart_as_a_replaced_one() -> None:
    """The count of reports below 1, of a client at 0 or at 2 among 99 at 2, is one test against the bound."""
    loss = shuffle(Laplace(1.0, sensitivity=1.0, replaced=2.0), n=100)
    near, far = 1 - math.exp(-1) / 2, math.exp(-1) / 2
    rest = stats.binom.pmf(np.arange(101), 99, far)
    more = np.append(0, rest[:-1])
    counts = [chance * more + (1 - chance) * rest for chance in (near, far)]
    for level in (0.3, 0.6, 0.7):
        attained = max(float(np.maximum(p - math.exp(level) * q, 0).sum()) for p, q in (counts, counts[::-1]))
        assert loss.delta(level) >= attained
    assert loss.supremum() == pytest.approx(2, rel=1e-12)
    with pytest.raises(ValueError, match="replaced must be stated"):
        shuffle(Laplace(1.0), 100)


def test_shuffled_reports_are_of_replaced_values() -> None:
    loss = shuffle(RandomizedResponse(1.0), 1000)
    assert loss.adjacency == shuffle(TwoPoint(1.0), 1).adjacency == "replace"
    with pytest.raises(ValueError, match="some by add/remove and others by replace"):
        compose([(loss, 1), (Gaussian(2.0), 1)])


def test_one_report_is_not_shuffled() -> None:
    for mechanism in (TwoPoint(1.0), RandomizedResponse(0.5, 4), Laplace(1.0, replaced=1.0)):
        assert shuffle(mechanism, 1).epsilon(1e-3) == privacy_loss(mechanism).epsilon(1e-3)
    placed = shuffle(TwoPoint(1.0), 1, others="one end").epsilon(1e-3)
    assert placed == pytest.approx(privacy_loss(TwoPoint(1.0)).epsilon(1e-3), rel=1e-12)


def test_two_clients_in_fractions() -> None:
    """t = 3, the other at the lower end: delta(ln 3/2) from the counts 0, 1, 2."""
    found = shuffle(RandomizedResponse(math.log(3)), 2, others="one end").delta(math.log(1.5))
    laws = exact_laws(Fraction(3, 4), Fraction(1, 4), [Fraction(1, 4)])
    assert found == pytest.approx(float(max(delta(laws, Fraction(3, 2)), delta(laws[::-1], Fraction(3, 2)))), rel=1e-12)


def test_the_pure_epsilon_stays_whatever_the_crowd() -> None:
    for n in (2, 100, 5000):
        assert shuffle(TwoPoint(1.0), n, others="one end").epsilon(0.0) == pytest.approx(1.0, rel=1e-12)
        assert shuffle(TwoPoint(1.0), n).epsilon(0.0) == 1.0


def test_a_tiny_part_of_larger_ratio_lends_the_rest_no_larger_one() -> None:
    """Nearly all loss is below 49.1 nats, and 1e-10 at 55.3: the lower bound at delta 0.1 was 54.3."""
    first = [Fraction(1, 2), Fraction(1, 10**10)]
    second = [Fraction(1, 4 * 10**21), Fraction(1, 10**34)]
    pair = [*first, 1 - sum(first)], [*second, 1 - sum(second)]
    truth = 0.0
    for other, (one, two) in itertools.product(pair, (pair, pair[::-1])):
        counts: list[dict[Any, Fraction]] = [{}, {}]
        for law, count in zip((one, two), counts, strict=True):
            for i, j in itertools.product(range(3), repeat=2):
                key = min(i, j), max(i, j)
                count[key] = count.get(key, Fraction(0)) + law[i] * other[j]
        truth = max(truth, float(delta((counts[0], counts[1]), Fraction(math.exp(50)))))
    assert 0 < truth < 1e-10
    loss = shuffle(FiniteChannel(pair), 2)
    assert loss.delta_bounds(50.0)[0] <= truth <= loss.delta_bounds(50.0)[1]
    assert loss.epsilon_bounds(0.1)[0] < 50
    known = shuffle(PerturbedSampling(55.0, 6, 2), 2)
    assert known.delta_bounds(50.0)[0] > 0.4, "one ratio alone still has its event"


@together("n", [1, 2, 200])
def test_extreme_epsilons(n: int) -> None:
    assert shuffle(RandomizedResponse(0.0), n).delta(0.0) == 0
    assert shuffle(RandomizedResponse(1e-9), n).delta(0.0) <= 5.1e-10
    assert shuffle(RandomizedResponse(1e-9), n).delta_bounds(0.0)[0] > 0
    assert shuffle(RandomizedResponse(50.0), n).epsilon(1e-5) == pytest.approx(50 - 1e-5, rel=1e-9)


@dataclass(frozen=True)
class Bare:
    """Any object with an epsilon."""

    def exact_epsilon(self) -> float:
        return 1.0


def test_an_epsilon_is_enough_for_an_upper_bound() -> None:
    low, high = shuffle(Bare(), 1000).epsilon_bounds(1e-6)
    assert low == 0
    assert high == pytest.approx(0.18241, rel=1e-3)


def test_the_loss_of_one_order_of_two_inputs_is_refused() -> None:
    """(.499, .001, .5) against (.5, .3, .2) has 0.92 in this order, ln 300 in the other, as of the channel."""
    second, first = (0.5, 0.3, 0.2), (0.499, 0.001, 0.5)
    law = DiscreteLoss.of_laws(dict(enumerate(first)), dict(enumerate(second)))
    for one in (law, law.reversed(), PrivacyLoss((law,))):
        for n in (1, 100):
            with pytest.raises(ValueError, match="as a FiniteChannel"):
                shuffle(one, n)
    assert shuffle(FiniteChannel([first, second]), 1).epsilon(0.0) == pytest.approx(math.log(300), rel=1e-12)


def test_what_is_no_local_randomizer_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite one may name their sender"):
        shuffle(Gaussian(1.0, replaced=1.0), 100)
    with pytest.raises(ValueError, match="infinite one may name their sender"):
        shuffle(TwoPoint(math.inf), 100)
    with pytest.raises(ValueError, match="mechanism must have exact_epsilon"):
        shuffle(1.0, 100)
    for n in (0, -1, 2.0, True, 10**9):
        with pytest.raises(ValueError, match="n must be a whole number"):
            shuffle(TwoPoint(1.0), n)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="others must be 'worst'"):
        shuffle(Piecewise(1.0), 10, others="one end")
    with pytest.raises(ValueError, match="others must be"):
        shuffle(TwoPoint(1.0), 10, others="friends")  # type: ignore[arg-type]


@together(
    ("epsilon", "mechanism"),
    itertools.product(
        [80.0, 349.0, 351.0, 700.0], [TwoPoint, Piecewise, lambda epsilon: RandomizedResponse(epsilon, 5)]
    ),
)
def test_huge_epsilons_have_a_loss_that_composes(mechanism: Callable[[float], Any], epsilon: float) -> None:
    """Probabilities whose squares underflow, and complements lost to rounding."""
    loss = shuffle(mechanism(epsilon), 6)
    low, high = loss.delta_bounds(epsilon / 2)
    assert 0 <= low <= high <= 1
    low, high = compose([(loss, 2)]).epsilon_bounds(1e-5)
    assert 0 <= low <= high <= 2 * epsilon * (1 + 1e-12)
    assert high >= 1.5 * epsilon, "among five others hardly anything is hidden"


def test_a_huge_epsilon_tells_at_least_what_a_smaller_one_does() -> None:
    smaller, larger = (shuffle(TwoPoint(epsilon), 6) for epsilon in (350.0, 360.0))
    assert larger.delta_bounds(100.0)[0] >= smaller.delta_bounds(100.0)[0] > 0.1
    with pytest.raises(ValueError, match="epsilon of at most 350 where others are placed"):
        shuffle(TwoPoint(360.0), 6, others="one end")
