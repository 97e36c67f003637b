"""The loss of every mechanism of the toolkit has the mechanism's own profile."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Rational

from ldp_audit.accounting import DiscreteLoss, PrivacyLoss, compose, privacy_loss, subsample
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.losses.hulls import known_bounds
from ldp_audit.losses.profile_loss import ProfileLoss
from ldp_audit.mechanisms import (
    DuchiVector,
    ExponentialSelection,
    FiniteChannel,
    Gaussian,
    Hybrid,
    Laplace,
    PerturbedEncoding,
    PerturbedSampling,
    Piecewise,
    RandomizedResponse,
    SubsampleRelease,
    SymbolicChannel,
    T,
    TwoPoint,
    TwoStage,
    Variable,
)
from ldp_audit.mechanisms.catalogue import ENTRIES
from ldp_audit.mechanisms.mechanism import Losses, Mechanism
from ldp_audit.mechanisms.values.coordinate_sampling import CoordinateSampling
from ldp_audit.mechanisms.values.layer_range import ClientRange
from tests.together import together

OTHERS = [
    RandomizedResponse(0.0),
    RandomizedResponse(math.inf, 5),
    RandomizedResponse(1e-9, 40),
    RandomizedResponse(50.0, 3),
    TwoPoint(1e-9),
    TwoPoint(50.0),
    TwoPoint(math.inf),
    Piecewise(1e-6),
    Piecewise(20.0),
    Hybrid(0.5),
    Hybrid(8.0),
    Laplace(1e-6),
    Laplace(1e6),
    Gaussian(100.0),
    Gaussian(0.1),
    ExponentialSelection(3.0, 2),
    ExponentialSelection(1.0, 1001),
    PerturbedEncoding(2.0, 10, 5),
    PerturbedSampling(2.0, 1000, 7),
    DuchiVector(1.0, 4, printed=True),
    DuchiVector(1.0, 301),
    SubsampleRelease(10, 0),
    SubsampleRelease(10, 10),
    SubsampleRelease(10**6, 3, replacement=True),
    TwoStage(PerturbedEncoding(1.0, 5, 2), Piecewise(2.0)),
    TwoStage(PerturbedEncoding(1.0, 4, 2), TwoPoint(0.3)),
    TwoStage(ExponentialSelection(1.0, 6), Laplace(1.0)),
    CoordinateSampling(Piecewise, 3.0, 7, 3),
    ClientRange(1.0),
    FiniteChannel([["1/2", "1/4", "1/4"], ["1/8", "1/2", "3/8"], ["1/3", "1/3", "1/3"]]),
    FiniteChannel([[0.5, 0.5, 0], [0.25, 0.25, 0.5], [0.1, 0.3, 0.6]]),
    FiniteChannel([[1.0]]),
    FiniteChannel([[0.5, 0.5], [0.5, 0.5]]),
    FiniteChannel([["1e-40", Fraction(1) - Fraction(1, 10**40)], [Fraction(1) - Fraction(1, 10**60), "1e-60"]]),
]


def implemented() -> list[Any]:
    """The distributions that the catalogue's mechanisms, and some others, sample from; also with few bits."""
    found = [entry.mechanism().implemented() for entry in ENTRIES]
    return [*found, TwoPoint(1.0).implemented(4), Hybrid(1.0).implemented(8), RandomizedResponse(1.0, 7).implemented(5)]


ALL = [*(entry.mechanism() for entry in ENTRIES), *OTHERS, *implemented()]


def levels(mechanism: Any) -> np.ndarray:
    top = mechanism.exact_epsilon()
    inner = np.linspace(0, min(top, 12.0), 25)
    return np.append(inner, [top, 1.01 * top]) if math.isfinite(top) else inner


@together("mechanism", ALL)
def test_delta_is_the_mechanisms_own_at_every_epsilon(mechanism):
    """Would catch a wrong atom, a lost infinite loss, and a pair that does not dominate."""
    loss = privacy_loss(mechanism)
    for level in levels(mechanism):
        wanted = float(mechanism.delta(float(level)))
        assert loss.delta(float(level)) == pytest.approx(wanted, rel=1e-12, abs=1e-299)
        low, high = loss.delta_bounds(float(level))
        assert low <= high
        if not loss.exact:
            assert high >= wanted


@together("mechanism", ALL)
def test_epsilon_at_delta_zero_is_the_exact_epsilon(mechanism):
    assert privacy_loss(mechanism).epsilon(0.0) == pytest.approx(mechanism.exact_epsilon(), rel=1e-14)


@together("mechanism", ALL)
def test_neighbours_come_in_both_orders_so_each_loss_is_its_own_reverse(mechanism):
    """delta(-e) = 1 - e**-e + e**-e delta(e): would catch a loss that is right above 0 alone.

    Of a record that is there or not, the loss may be another one in the other order, which is then the second.
    """
    law, *other = privacy_loss(mechanism).directions
    assert law.reversed() is law if not other else mechanism.adjacency == "add/remove"
    for level in (0.0, 0.1, 0.9, 3.0):
        forward = math.exp(law.log_delta_bounds(level)[1])
        for one in other or (law, law.reversed()):
            back = math.exp(one.log_delta_bounds(-level)[1])
            assert back == pytest.approx(1 - math.exp(-level) * (1 - forward), rel=1e-12, abs=1e-14)


def test_a_pair_that_agrees_with_its_reverse_at_small_epsilons_alone_counts_in_both_orders() -> None:
    """Up to epsilon 1 the two profiles are the same; beyond, only one has the loss ln 300, of probability 0.3."""
    first, second = (0.3, 0.3, 0.1, 0.3), (0.099, 0.001, 0.6, 0.3)
    law = DiscreteLoss.of_laws(dict(enumerate(first)), dict(enumerate(second)))
    wanted = sum(max(0.0, p - math.exp(2) * q) for p, q in zip(first, second, strict=True))
    for one in (law, law.reversed()):
        loss = privacy_loss(one)
        assert loss.delta(2.0) == pytest.approx(wanted, rel=1e-12)
        assert loss.epsilon(0.0) == pytest.approx(math.log(300), rel=1e-14)
        assert compose([(one, 3)]).epsilon(1e-4) == pytest.approx(3 * math.log(300), rel=1e-3)
    # the first distribution is that with the record
    for one, ratio in ((law, 300.0), (law.reversed(), 6.0)):
        assert subsample(one, rate=0.5).epsilon(0.0) == pytest.approx(math.log(0.5 + 0.5 * ratio), rel=1e-12)


def test_a_wrong_distribution_would_be_seen():
    loss = privacy_loss(RandomizedResponse(1.0, 3))
    assert loss.delta(0.5) != pytest.approx(float(RandomizedResponse(1.0, 4).delta(0.5)), rel=1e-3)


class Reveal(Mechanism):
    """A user's mechanism whose report shows the input with probability 3/10."""

    def worst_pair(self) -> tuple[int, int]:
        return 0, 1

    def log_prob(self, y: Any, x: Any, /) -> np.ndarray:
        return np.log(np.where(np.asarray(y) == "nothing", 0.7, 0.3 * (np.asarray(y) == x)))

    def implemented(self, bits: int = 64) -> Reveal:
        return self

    def losses(self) -> Losses:
        return Losses([math.inf], [math.log(0.3)])


def test_an_infinite_loss_of_some_probability_is_composed():
    once, twice = privacy_loss(Reveal()), compose([(Reveal(), 2)])
    assert once.epsilon_bounds(delta=0.01) == (math.inf, math.inf)
    assert once.delta_bounds(5.0) == pytest.approx((0.3, 0.3))
    assert once.delta_bounds(5.0)[1] >= 0.3
    assert twice.delta_bounds(5.0) == pytest.approx((0.51, 0.51))


@together(
    ("mechanism", "kind"),
    [
        (RandomizedResponse(1.0), BinomialLoss),
        (TwoPoint(2.0), BinomialLoss),
        (RandomizedResponse(1.0, 3), DiscreteLoss),
    ],
)
def test_two_values_are_known_as_two_values(mechanism, kind):
    assert isinstance(privacy_loss(mechanism).directions[0], kind)


matrices = st.integers(2, 4).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 20), min_size=columns, max_size=columns).filter(any), min_size=2, max_size=5
    )
)


@settings(max_examples=60)
@given(matrices, st.floats(0, 4))
def test_any_finite_channel_is_dominated_exactly(weights, level):
    """Would catch a hull that leaves out a pair of rows, or has a wrong corner."""
    channel = FiniteChannel([[Fraction(w, sum(row)) for w in row] for row in weights])
    loss = privacy_loss(channel)
    wanted = float(channel.delta(level))
    assert loss.delta(level) == pytest.approx(wanted, rel=1e-12, abs=1e-14)
    assert loss.epsilon(0.0) == pytest.approx(channel.exact_epsilon(), rel=1e-14)


def test_a_channel_of_many_rows_is_dominated_and_one_of_too_many_pairs_is_refused() -> None:
    """Would catch a test between two rows that is left out because another row reaches higher elsewhere."""
    channel = FiniteChannel(np.random.default_rng(0).dirichlet(np.full(12, 2.0), 60))
    loss, asked = privacy_loss(channel), np.linspace(0, channel.exact_epsilon(), 9)[:-1]
    np.testing.assert_allclose([loss.delta(level) for level in asked], channel.delta(asked), rtol=1e-10)
    share = np.linspace(0.4, 0.6, 32_000)
    with pytest.raises(ValueError, match=r"at most 2e\+09 pairs .* got 32000 inputs and 2 outputs"):
        privacy_loss(FiniteChannel(np.column_stack([share, 1 - share])))


def test_the_pairs_of_a_channel_may_each_be_the_worst_at_some_epsilon():
    """The hull of two pairs is the largest of both, and above either somewhere."""
    channel = FiniteChannel([[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.6, 0.39, 0.01]])
    loss = privacy_loss(channel)
    for level in np.linspace(0, 3.6, 50):
        assert loss.delta(level) == pytest.approx(float(channel.delta(level)), rel=1e-12, abs=1e-16)


def test_rows_that_nearly_agree_keep_their_digits():
    """Would catch ratios taken as floats: the loss is about 2e-12."""
    channel = FiniteChannel(
        [[Fraction(1, 2) + Fraction(1, 10**12), Fraction(1, 2) - Fraction(1, 10**12)], ["1/2", "1/2"]]
    )
    loss = privacy_loss(channel)
    assert loss.delta(0.0) == pytest.approx(1e-12, rel=1e-13)
    assert loss.delta(1e-12) == pytest.approx(float(channel.delta(1e-12)), rel=1e-12)


class ByProfile:
    """A user's own object: randomised response on three values, by its profile alone."""

    def exact_epsilon(self) -> float:
        return 1.0

    def delta(self, epsilon: Any) -> Any:
        return RandomizedResponse(1.0, 3).delta(epsilon)


class Quadratic:
    """A profile that is no chord: that of Laplace noise."""

    def __repr__(self) -> str:  # names a test
        return "Quadratic()"

    def exact_epsilon(self) -> float:
        return 2.0

    def delta(self, epsilon: Any) -> Any:
        return Laplace(0.5).delta(epsilon)


def test_an_object_with_a_profile_is_enough():
    assert isinstance(privacy_loss(ByProfile()).directions[0], DiscreteLoss)
    loss = privacy_loss(Quadratic())
    assert isinstance(loss.directions[0], ProfileLoss)
    assert 0 <= loss.delta(0.7) - float(Laplace(0.5).delta(0.7)) < 1e-12
    assert loss.epsilon(0.1) == pytest.approx(privacy_loss(Laplace(0.5)).epsilon(0.1), rel=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        Quadratic(),
        Laplace(1.0).implemented(),
        pytest.param(Gaussian(2.0).implemented(), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_a_profile_lies_between_the_two_losses_that_enclose_it(mechanism):
    """Would catch a chord from below or a tangent from above, also at negative epsilons and for the reversed loss."""
    (law,) = privacy_loss(mechanism).directions
    lower, upper = known_bounds(law)
    for level in [*np.linspace(-6, 6, 21), 1e-4, 1.99]:
        least, most = map(math.exp, law.log_delta_bounds(float(level)))  # which differ by their rounding
        ends = [math.exp(one.log_delta_bounds(float(level))[0]) for one in (lower, upper)]
        assert ends[0] * (1 - 4e-16) <= most
        assert least <= ends[1] * (1 + 4e-16)
        assert ends[1] - ends[0] < 1e-4 * max(most, 0.01)
        mirrored = [math.exp(one.reversed().log_delta_bounds(float(level))[0]) for one in (lower, upper)]
        assert mirrored == pytest.approx(ends, rel=1e-9, abs=1e-12)


def test_a_symbolic_distribution_of_the_users_own_needs_no_further_code():
    w, t = Variable("w", -1, 1), T
    upper = Rational(1, 2) + w * (t - 1) / (2 * (t + 1))
    bound = SymbolicChannel("mine", inputs=w, atoms=[(1, upper), (0, 1 - upper)]).bind(epsilon=1.0)
    assert privacy_loss(bound).directions == (BinomialLoss(1.0, -1.0, 1),)
    grid = bound.implemented()
    assert privacy_loss(grid).epsilon(0.0) == pytest.approx(grid.exact_epsilon(), rel=1e-14)


def test_a_loss_is_its_own_loss():
    loss = privacy_loss(TwoPoint(1.0))
    assert privacy_loss(loss) is loss
    assert privacy_loss(loss.directions[0]).directions == loss.directions


@together("thing", [None, 1.0, "RandomizedResponse(1)", object()])
def test_what_is_no_mechanism_is_refused(thing):
    with pytest.raises(ValueError, match=r"mechanism must have delta and exact_epsilon|a promised epsilon is Pure"):
        privacy_loss(thing)


def test_a_channel_is_that_of_the_numbers_that_it_was_made_of() -> None:
    """Rows that can be read once gave a loss of 0, and a table that was filled again the loss of its new numbers."""
    rows = [[0.7, 0.3], [0.2, 0.8]]
    table = np.array(rows)
    made = [FiniteChannel(map(float, row) for row in rows), FiniteChannel(table), FiniteChannel(rows)]
    table[:], rows[0][0] = 0.5, 0.9
    for channel in made:
        assert privacy_loss(channel).epsilon(0.0) == pytest.approx(math.log(3.5), rel=1e-14)
        assert channel.exact_epsilon() == pytest.approx(math.log(3.5), rel=1e-14)


def test_what_states_no_numbers_is_refused_by_name() -> None:
    class Mine:
        def delta(self, epsilon: float) -> list[float]:
            return [epsilon]

        def exact_epsilon(self) -> None:
            return None

    with pytest.raises(ValueError, match=r"must be an instance, such as RandomizedResponse\(\.\.\.\), got the class"):
        privacy_loss(RandomizedResponse)
    with pytest.raises(ValueError, match=r"must have an exact_epsilon\(\) >= 0, got None of Mine"):
        privacy_loss(Mine())


def test_a_loss_of_one_pair_counts_in_both_orders():
    """(.9, .1) against (.5, .5): the largest ratio is 5, of the second, and .75/.55 ... of its sample of a half."""
    pair = DiscreteLoss.of_laws({0: 0.9, 1: 0.1}, {0: 0.5, 1: 0.5})
    assert privacy_loss(pair).supremum() == pytest.approx(math.log(5))
    sampled = subsample(pair, rate=0.5)
    assert sampled.epsilon(0.0) == pytest.approx(math.log(0.5 / 0.3))
    with pytest.raises(ValueError, match="two directions, or one that is its own reverse"):
        subsample(PrivacyLoss((pair,)), rate=0.5)
