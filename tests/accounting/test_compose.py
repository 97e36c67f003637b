"""Composition: against exact sums and closed forms, in any order, and what is refused."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import DiscreteLoss, PrivacyLoss, compose, privacy_loss, subsample
from ldp_audit.accounting.privacy_loss import ADAPTIVE, EITHER_WAY
from ldp_audit.losses.composition import composed
from ldp_audit.losses.discrete_loss import ZERO_LOSS, BinomialLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import LossWithInfinity
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms import (
    FiniteChannel,
    Gaussian,
    Laplace,
    PerturbedSampling,
    Piecewise,
    RandomizedResponse,
    SubsampleRelease,
    TwoPoint,
)
from ldp_audit.mechanisms.mechanism import Mechanism
from tests.together import together

CHANNELS = st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=2).map(
    lambda rows: [[Fraction(w, sum(row)) for w in row] for row in rows]
)


def product(laws):
    """The joint distribution of independent outcomes."""
    return {
        outcomes: math.prod(float(law[o]) for law, o in zip(laws, outcomes, strict=True))
        for outcomes in itertools.product(*(range(len(law)) for law in laws))
    }


def divergence(first, second, level):
    return math.fsum(max(0.0, p - math.exp(level) * second[o]) for o, p in first.items())


@settings(max_examples=40)
@given(st.lists(CHANNELS, min_size=1, max_size=3), st.floats(0, 3))
def test_few_losses_compose_to_the_product_distribution_exactly(channels, level):
    """Would catch a lost combination and a wrong merging. Both orders of a pair of rows are in play."""
    rows = [[dict(enumerate(row)) for row in channel] for channel in channels]
    laws = [DiscreteLoss.of_laws(*pair) for pair in rows]
    found = composed([(law, 1) for law in laws])
    wanted = divergence(product([pair[0] for pair in rows]), product([pair[1] for pair in rows]), level)
    assert math.exp(found.log_delta_bounds(level)[0]) == pytest.approx(wanted, rel=1e-11, abs=1e-14)
    assert found.exact


@settings(max_examples=40)
@given(st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.0]), min_size=1, max_size=4), st.randoms(), st.floats(0, 4))
def test_the_order_does_not_matter(epsilons, random, level):
    items = [(RandomizedResponse(e, k), 1 + i) for i, (e, k) in enumerate(zip(epsilons, (2, 3, 2, 5), strict=False))]
    shuffled = list(items)
    random.shuffle(shuffled)
    assert compose(items).delta(level) == pytest.approx(compose(shuffled).delta(level), rel=1e-12, abs=1e-300)


def test_the_same_two_valued_loss_is_one_binomial_sum_however_it_is_listed():
    for items in (
        [(RandomizedResponse(0.1), 10_000)],
        [(RandomizedResponse(0.1), 4_000), (TwoPoint(0.1, 5.0, 2.0), 6_000)],
        [(compose([(RandomizedResponse(0.1), 100)]), 100)],
        [
            (privacy_loss(RandomizedResponse(0.1)), 9_999),
            (FiniteChannel([[1.0, 0], [1, 0]]), 7),
            (RandomizedResponse(0.1), 1),
        ],
    ):
        loss = compose(items)
        assert loss.directions == (BinomialLoss(0.1, -0.1, 10_000),)
        assert loss.epsilon(1e-6) == pytest.approx(96.5718400331, rel=1e-10)
        assert loss.exact


def test_gaussian_noises_are_one_gaussian():
    loss = compose([(Gaussian(1.0), 9), (Gaussian(0.5, 2.0), 1)])
    assert loss.directions == (GaussianLoss(5.0),)
    huge = compose([(Gaussian(1e-200, 1.0), 4)]).directions[0]
    assert isinstance(huge, GaussianLoss)
    assert huge.mu == pytest.approx(2e200)


def test_once_is_the_loss_itself_and_nothing_spends_nothing():
    loss = privacy_loss(Piecewise(1.0))
    assert compose([(loss, 1)]) is loss
    assert compose([(Piecewise(1.0), 1), (TwoPoint(1.0), 0)]).delta(0.3) == loss.delta(0.3)
    for items in ([], [(TwoPoint(1.0), 0)], [(RandomizedResponse(0.0), 10**6)]):
        nothing = compose(items)
        assert (nothing.epsilon(0.0), nothing.delta(0.0), nothing.supremum()) == (0.0, 0.0, 0.0)


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_suprema_add_up(first, second):
    loss = compose([(RandomizedResponse(0.25, 3), first), (TwoPoint(0.5), second)])
    assert loss.supremum() == pytest.approx(0.25 * first + 0.5 * second, rel=1e-12)


def test_infinite_losses_survive_as_often_as_not_even_one_occurs():
    """1 - (1 - q)**T: would catch T q, and a lost infinite mass."""
    loss = compose([(SubsampleRelease(10**6, 1), 10**6), (RandomizedResponse(0.1), 5)])
    assert loss.epsilon(0.1) == math.inf
    assert loss.supremum() == math.inf
    assert loss.delta(1e6) == pytest.approx(-math.expm1(10**6 * math.log1p(-1e-6)), rel=1e-13)
    rare = compose([(SubsampleRelease(10**18, 1), 10**3)])
    assert rare.delta(50.0) == pytest.approx(1e-15, rel=1e-12)
    assert compose([(SubsampleRelease(2, 2), 3)]).delta(1e9) == 1.0


def test_two_values_and_an_infinite_one():
    """A loss of -0.5, 1 or infinity, three times: against the joint distribution."""
    first = {0: Fraction(1, 2), 1: Fraction(2, 5), 2: Fraction(1, 10)}
    second = {0: Fraction(1, 4), 1: Fraction(3, 5), 3: Fraction(3, 20)}
    law = composed([(DiscreteLoss.of_laws(first, second), 3)])
    assert isinstance(law, LossWithInfinity)
    assert isinstance(law.common, BinomialLoss)
    outcomes = list(itertools.product(range(4), repeat=3))
    for level in (-1.0, 0.0, 0.4, 2.0, 5.0):
        gains = (
            math.prod(float(first.get(o, 0)) for o in one)
            - math.exp(level) * math.prod(float(second.get(o, 0)) for o in one)
            for one in outcomes
        )
        assert math.exp(law.log_delta_bounds(level)[0]) == pytest.approx(
            math.fsum(max(0.0, g) for g in gains), rel=1e-12
        )


def two_directions(k: int, n: int) -> PrivacyLoss:
    """A record removed, or added: a sample that holds it shows it."""
    law = DiscreteLoss(np.array([math.log1p(-k / n)]), np.array([math.log1p(-k / n)]), math.log(k / n))
    return PrivacyLoss((law, law.reversed()), ("the number of records is public",))


def test_directions_are_composed_one_by_one():
    """Would catch a sum of one direction with the other, whose losses have opposite signs."""
    loss = compose([(two_directions(1, 10), 3), (RandomizedResponse(0.5), 2)])
    assert len(loss.directions) == 2
    shift = -3 * math.log1p(-0.1)
    single = compose([(RandomizedResponse(0.5), 2)]).directions[0]
    for level in (0.0, 0.3, 1.0, 1.3):
        removed, added = (math.exp(law.log_delta_bounds(level)[0]) for law in loss.directions)
        kept = 0.9**3
        assert removed == pytest.approx(
            1 - kept + kept * math.exp(single.log_delta_bounds(level + shift)[0]), rel=1e-12
        )
        assert added == pytest.approx(math.exp(single.log_delta_bounds(level - shift)[0]), rel=1e-12)
    assert loss.directions[1].supremum() == pytest.approx(1.0 + shift)


def test_assumptions_are_kept_and_adaptive_choice_is_stated():
    loss = compose([(two_directions(1, 10), 2), (two_directions(2, 10), 1)])
    assert loss.assumptions == ("the number of records is public", ADAPTIVE)


def test_local_reports_beside_noise_on_a_sum_are_sent_in_either_case():
    loss = compose([(Gaussian(1.0), 1), (TwoPoint(1.0), 2)])
    assert loss.adjacency == "add/remove"
    assert EITHER_WAY in loss.assumptions
    assert EITHER_WAY not in compose([(TwoPoint(1.0), 2)]).assumptions


def test_other_numbers_of_directions_are_refused():
    three = PrivacyLoss((ZERO_LOSS, ZERO_LOSS, ZERO_LOSS))
    with pytest.raises(ValueError, match="one direction each"):
        compose([(three, 1), (two_directions(1, 10), 1)])


@together("times", [-1, 1.5, True, math.nan, "3", None, 2.0])
def test_times_that_are_no_whole_numbers_are_refused(times):
    with pytest.raises(ValueError, match="times must be a whole number >= 0"):
        compose([(TwoPoint(1.0), times)])


@together("items", [[TwoPoint(1.0)], [(TwoPoint(1.0),)], [(TwoPoint(1.0), 1, 2)], [("what", 1)]])
def test_other_items_are_refused(items):
    with pytest.raises(ValueError, match=r"items must be pairs|mechanism must have"):
        compose(items)


def test_numpy_counts_are_counts():
    assert compose([(TwoPoint(1.0), np.int64(3))]).directions == (BinomialLoss(1.0, -1.0, 3),)


@pytest.mark.parametrize(
    ("items", "closed"),
    [
        ([(Laplace(1.0), 2)], None),
        ([(Piecewise(0.5), 3000)], None),
        ([(RandomizedResponse(0.1), 2000), (RandomizedResponse(0.2), 1000)], None),
        ([(Gaussian(1.0), 1), (RandomizedResponse(0.3), 20)], None),
        ([(PerturbedSampling(1.0, 10, 2), 400), (Laplace(2.0), 10)], None),
    ],
    ids=repr,
)
def test_mixed_compositions_are_enclosed(items, closed):
    """The bounds are in order, above each part alone, below the sum of all, and near to each other."""
    loss = compose(items)
    low, high = loss.epsilon_bounds(1e-6)
    alone = max(compose([item]).epsilon_bounds(1e-6)[0] for item in items)
    assert alone <= high
    assert low <= high <= low + 2e-4 * max(1.0, low)
    assert high <= loss.supremum() * (1 + 1e-12)


def test_a_laplace_twice_against_the_exact_convolution():
    """The sum of two losses with an atom at each end and a density between: integrated with the closed delta."""
    loss, law = compose([(Laplace(1.0), 2)]), privacy_loss(Laplace(1.0)).directions[0]
    for level in (0.1, 0.9, 1.5):
        nodes, weights = np.polynomial.legendre.leggauss(400)
        total = 0.5 * math.exp(law.log_delta_bounds(level - 1)[0]) + 0.5 * math.exp(-1) * math.exp(
            law.log_delta_bounds(level + 1)[0]
        )
        for low, high in itertools.pairwise(sorted({-1.0, 1.0, min(1.0, level + 1), max(-1.0, level - 1)})):
            y = low + (high - low) * (nodes + 1) / 2
            values = [math.exp(law.log_delta_bounds(level - float(one))[0]) for one in y]
            total += float(weights @ (np.exp((y - 1) / 2) / 4 * values)) * (high - low) / 2
        lower, upper = loss.delta_bounds(level)
        assert lower <= total * (1 + 1e-12)
        assert total <= upper * (1 + 1e-12)


def test_what_is_known_by_its_profile_alone_composes_between_two_bounds():
    grid = Laplace(1.0).implemented()
    loss = compose([(grid, 2), (RandomizedResponse(0.5), 3)])
    assert isinstance(loss.directions[0], EnclosedLoss)
    assert not loss.exact
    ideal = compose([(Laplace(1.0), 2), (RandomizedResponse(0.5), 3)])
    for level in (0.0, 0.5, 1.7):
        low, high = loss.delta_bounds(level)
        assert low <= high <= low + 1e-4
        assert low - 1e-9 <= ideal.delta(level)
        assert ideal.delta_bounds(level)[0] <= high + 1e-9
    mirrored = loss.directions[0].reversed()
    assert mirrored.supremum() == pytest.approx(3.5)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1])
def test_a_hundred_million_weights_a_thousand_million_times_take_no_time(epsilon):
    begin = time.perf_counter()
    found = compose([(RandomizedResponse(epsilon), 10**8 * 10**9)]).epsilon(1e-6)
    assert time.perf_counter() - begin < 1
    assert 0 < found < epsilon * 10**17


def test_a_wider_interval_holds_the_truth_and_the_narrower_one() -> None:
    """Catches a width that is ignored, and bounds that fail once the grid is coarse."""
    replaced = subsample(Laplace(20.0, replaced=2.0), rate=0.49, adjacency="replace")  # which only a grid tells
    parts = [(replaced, 1000), (GaussianLoss(0.05), 10)]
    ends = [compose(parts, width=width).epsilon_bounds(delta=1e-6) for width in (1e-4, 1e-2, 1e-1, 10.0)]
    for (low, high), (wider_low, wider_high) in itertools.pairwise(ends):
        assert wider_low <= low <= high <= wider_high
    assert ends[0][1] - ends[0][0] <= 1e-4
    assert 1e-6 < ends[2][1] - ends[2][0] <= 0.1


@together("width", [0.0, -1.0, math.nan, math.inf, True, "1"])
def test_a_width_that_is_none_is_named(width: object) -> None:
    with pytest.raises(ValueError, match="width must be > 0 and finite"):
        compose([(Laplace(10.0), 10)], width=width)


@pytest.mark.slow
def test_a_bound_that_never_falls_is_infinite_and_no_traceback() -> None:
    few = compose([(subsample(Laplace(1e-200), rate=0.5), 1), (Gaussian(sigma=1.0), 1)])
    low, high = few.epsilon_bounds(1e-6)
    assert 0 <= low < math.inf
    assert high == math.inf


@pytest.mark.slow
def test_a_loss_of_1e200_nats_beside_noise_has_an_upper_bound_all_the_same() -> None:
    """No grid holds both; one tilt does. Would catch a sum without a bound."""
    low, high = compose([(Laplace(1e-200), 1), (Gaussian(sigma=1.0), 1)]).epsilon_bounds(1e-6)
    assert 0 <= low <= 1e200 <= high <= 1e200 * (1 + 1e-9)


def test_an_epsilon_beyond_every_grid_has_a_delta_of_next_to_nothing() -> None:
    low, high = compose([(Laplace(1.0), 1), (Gaussian(sigma=1e6), 1)], width=1.0).delta_bounds(1e300)
    assert 0 <= low <= high <= 1e-300


def test_a_noise_whose_loss_is_no_float_is_named() -> None:
    with pytest.raises(ValueError, match="sensitivity over sigma must be at most 1e"):
        compose([(Laplace(1.0), 1), (Gaussian(sigma=1e-200), 1)])


class Uneven(Mechanism):
    """A user's own: two inputs whose distributions are no mirror images of each other."""

    rows: ClassVar = {0: (0.5, 0.3, 0.2), 1: (0.2, 0.2, 0.6)}

    def reports(self):
        return [0, 1, 2]

    def log_prob(self, y, x):
        return np.log(self.rows[x][y])

    def worst_pair(self):
        return 0, 1

    def implemented(self, bits=64):
        raise ValueError("not sampled")


def test_an_own_mechanism_that_lists_its_reports_is_the_channel_of_its_worst_pair():
    """Would catch sums of the larger of both directions' profiles called exact: 7.18 where the truth is above 6.76."""
    channel = FiniteChannel(list(Uneven.rows.values()))
    for times in (1, 10):
        own, known = (compose([(one, times)]) for one in (Uneven(), channel))
        assert own.exact == known.exact == (times == 1)
        assert own.epsilon_bounds(0.1) == pytest.approx(known.epsilon_bounds(0.1), rel=1e-12)
    stated = SimpleNamespace(delta=channel.delta, exact_epsilon=channel.exact_epsilon)
    assert "that of one pair of inputs" in compose([(stated, 10)]).assumptions[0]
