"""Amplification by sampling records or clients, against enumeration in fractions and against quadrature."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, privacy_loss
from ldp_audit.accounting.subsample import sampled_clients, subsample
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, DiscreteLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import known_bound
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.losses.subsampled_loss import subsampled
from ldp_audit.mechanisms import FiniteChannel, Gaussian, Laplace, RandomizedResponse
from tests.accounting.sampled_experiments import (
    Channel,
    Data,
    Law,
    each_reported,
    geometric_count,
    hockey_stick,
    poisson,
    randomized_response,
    shown,
    with_replacement,
    without_replacement,
)
from tests.together import together

T = Fraction(3)
EPSILON = math.log(3)
LEVELS = [Fraction(1), Fraction(21, 20), Fraction(6, 5), Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(4)]
BELOW_ONE = [Fraction(1, 5), Fraction(2, 3), Fraction(9, 10)]


def present(sample: Data) -> int:
    """Whether a 1 is in the sample."""
    return int(any(sample))


def total(sample: Data) -> int:
    return min(2, sum(sample))


CHANNELS: dict[str, tuple[Channel, RandomizedResponse]] = {
    "presence": (randomized_response(T, 2, present), RandomizedResponse(EPSILON)),
    "total": (randomized_response(T, 3, total), RandomizedResponse(EPSILON, 3)),
    "reports": (each_reported(T), RandomizedResponse(EPSILON)),
}


def direction_delta(law: PairLoss, t: Fraction) -> float:
    low, high = law.log_delta_bounds(math.log(t))
    assert low == high
    return math.exp(low)


def assert_dominates(law: PairLoss, first: Law, second: Law, levels: list[Fraction]) -> None:
    """At every epsilon, negative ones too: composition needs them."""
    for t in levels:
        exact = hockey_stick(first, second, t)
        upper = math.exp(law.log_delta_bounds(math.log(t))[1])
        assert upper >= float(exact) * (1 - 1e-12) - 1e-15, (t, exact, upper)


def assert_attained(law: PairLoss, first: Law, second: Law, levels: list[Fraction]) -> None:
    for t in levels:
        assert direction_delta(law, t) == pytest.approx(float(hockey_stick(first, second, t)), rel=1e-12, abs=1e-15)


def replaced(n: int) -> Iterator[tuple[Data, Data]]:
    """All data of n bits and their neighbours with the first record replaced."""
    for data in product((0, 1), repeat=n):
        yield data, (1 - data[0], *data[1:])


@together(
    ("name", "rate"), itertools.product(["presence", "total"], [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
)
def test_no_data_exceed_the_poisson_loss_in_either_direction(name: str, rate: Fraction) -> None:
    channel, mechanism = CHANNELS[name]
    remove, add = subsample(mechanism, rate=float(rate)).directions
    for n in (1, 2):
        for data in product((0, 1), repeat=n):
            first, second = (shown(poisson(records, rate), channel) for records in (data, data[1:]))
            assert_dominates(remove, first, second, LEVELS + BELOW_ONE)
            assert_dominates(add, second, first, LEVELS + BELOW_ONE)


@together(
    ("rate", "name"), itertools.product([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)], ["presence", "total"])
)
def test_the_poisson_loss_is_attained_in_both_directions(name: str, rate: Fraction) -> None:
    channel, mechanism = CHANNELS[name]
    first, second = (shown(poisson(data, rate), channel) for data in ((1, 0, 0), (0, 0)))
    remove, add = subsample(mechanism, rate=float(rate)).directions
    assert_attained(remove, first, second, LEVELS + BELOW_ONE)
    assert_attained(add, second, first, LEVELS + BELOW_ONE)


def test_swapped_directions_are_seen() -> None:
    """The false twin of the test above: each direction fails as the other's."""
    channel, mechanism = CHANNELS["presence"]
    rate = Fraction(1, 10)
    first, second = (shown(poisson(data, rate), channel) for data in ((1, 0, 0), (0, 0)))
    remove, add = subsample(mechanism, rate=float(rate)).directions
    with pytest.raises(AssertionError):
        assert_dominates(add, first, second, LEVELS)
    with pytest.raises(AssertionError):
        assert_attained(remove, second, first, LEVELS)
    with pytest.raises(AssertionError):  # at t < 1 it is the other way round
        assert_dominates(remove, second, first, BELOW_ONE)


@together(
    ("name", "n", "k"),
    [(name, n, k) for name in sorted(CHANNELS) for n, k in [(1, 1), (2, 1), (3, 1), (3, 2), (4, 3), (4, 4)]],
)
def test_no_data_exceed_the_loss_without_replacement(name: str, n: int, k: int) -> None:
    channel, mechanism = CHANNELS[name]
    (law,) = subsample(mechanism, kind="without", n=n, k=k, adjacency="replace").directions
    for data, other in replaced(n):
        first, second = (shown(without_replacement(records, k), channel) for records in (data, other))
        assert_dominates(law, first, second, LEVELS + BELOW_ONE)


@together(
    ("n", "k", "name"),
    [(n, k, name) for n, k in [(2, 1), (3, 2), (4, 1), (4, 3), (5, 2), (4, 4)] for name in ["presence", "total"]],
)
def test_the_loss_without_replacement_is_attained(name: str, n: int, k: int) -> None:
    channel, mechanism = CHANNELS[name]
    zeros = (0,) * (n - 1)
    first, second = (shown(without_replacement((x, *zeros), k), channel) for x in (1, 0))
    (law,) = subsample(mechanism, kind="without", n=n, k=k, adjacency="replace").directions
    assert_attained(law, first, second, LEVELS)
    assert_attained(law.reversed(), first, second, LEVELS)
    if k < n:
        fewer = shown(without_replacement(zeros, k), channel)
        remove, add = subsample(mechanism, kind="without", n=n, k=k).directions
        assert_attained(remove, first, fewer, LEVELS + BELOW_ONE)
        assert_attained(add, fewer, first, LEVELS + BELOW_ONE)


@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 2), (3, 1), (3, 3), (3, 4)])
def test_no_data_exceed_the_loss_with_replacement(n: int, k: int) -> None:
    loss = subsample(RandomizedResponse(EPSILON), kind="with", n=n, k=k, adjacency="replace")
    for channel in (geometric_count(T, k), each_reported(T), CHANNELS["presence"][0]):
        for data, other in replaced(n):
            first, second = (shown(with_replacement(records, k), channel) for records in (data, other))
            assert_dominates(loss.directions[0], first, second, [*LEVELS, *BELOW_ONE, T**2, T**3 / 2])


@pytest.mark.parametrize(("n", "k"), [(2, 2), (2, 3), (3, 3), (4, 2), (3, 5)])
def test_no_data_exceed_the_loss_with_replacement_and_a_record_removed(n: int, k: int) -> None:
    """At every epsilon, in both directions."""
    levels = [*LEVELS, *BELOW_ONE, T**2, T**3 / 2]
    remove, add = subsample(RandomizedResponse(EPSILON), kind="with", n=n, k=k).directions
    for data in product((0, 1), repeat=n):
        for channel in (geometric_count(T, k), each_reported(T)):
            one, other = (shown(with_replacement(records, k), channel) for records in (data, data[1:]))
            assert_dominates(remove, one, other, levels)
            assert_dominates(add, other, one, levels)


def test_replacement_composes_where_one_pair_and_its_reverse_do_not() -> None:
    """Two rounds, the second of which looks for the other of the two records: neither pair's square bounds it."""
    n, k = 4, 1
    one, other = (shown(without_replacement((x, 0, 0, 0), k), CHANNELS["presence"][0]) for x in (1, 0))
    pair, mirror = (one, other), (other, one)
    first, second = (
        {(x, y): p * q for x, p in a.items() for y, q in b.items()} for a, b in zip(pair, mirror, strict=True)
    )
    loss = subsample(RandomizedResponse(EPSILON), kind="without", n=n, k=k, adjacency="replace")
    levels = [Fraction(i, 50) for i in range(50, 90)]
    (twice,) = compose([(loss, 2)]).directions
    assert_dominates(twice, first, second, levels)
    alone = subsampled(privacy_loss(RandomizedResponse(EPSILON)).directions[0], SamplingRate.without_replacement(n, k))
    for law in (alone, alone.reversed()):
        (squared,) = compose([(PrivacyLoss((law,)), 2)]).directions
        with pytest.raises(AssertionError):
            assert_dominates(squared, first, second, levels)


LAWS: dict[str, PairLoss] = {
    "gaussian": GaussianLoss(1.5),
    "laplace": LaplaceLoss(1.0),
    "randomised response": privacy_loss(RandomizedResponse(1.0, 3)).directions[0],
    "improper": DiscreteLoss.of_laws({0: 0.5, 1: 0.4, 2: 0.1}, {0: 0.3, 1: 0.5, 3: 0.2}),
}


rates = st.floats(1e-6, 1 - 1e-6)
levels = st.floats(0, 3)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(LAWS)), rates, rates, levels)
def test_a_sample_of_a_sample_is_a_sample_of_the_product(name: str, one: float, two: float, epsilon: float) -> None:
    twice = subsample(subsample(PrivacyLoss((LAWS[name], LAWS[name].reversed())), rate=one), rate=two)
    once = subsample(PrivacyLoss((LAWS[name], LAWS[name].reversed())), rate=one * two)
    assert twice.log_delta_bounds(epsilon) == pytest.approx(once.log_delta_bounds(epsilon), rel=1e-9, abs=1e-9)


@together(("one", "two"), [(1e-9, 1e-9), (1e-9, 0.5), (0.5, 0.5), (1 - 1e-12, 1 - 1e-9), (1.0, 0.3)])
def test_a_sample_of_a_sample_keeps_the_digits_of_its_chances(one: float, two: float) -> None:
    rate, both = SamplingRate.of_chance(one).again(SamplingRate.of_chance(two)), Fraction(one) * Fraction(two)
    assert math.exp(rate.log_drawn) == pytest.approx(float(both), rel=1e-14)
    assert math.expm1(rate.log_left_out) == pytest.approx(float(-both), rel=1e-14)
    assert math.exp(rate.log_left_out) == pytest.approx(float(1 - both), rel=1e-14)


NOISES = Gaussian(1.0, replaced=1.0), Laplace(1.0, replaced=1.0)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([*NOISES, RandomizedResponse(1.0)]), rates, rates, levels)
def test_more_sampling_spends_less_and_never_more_than_the_mechanism(
    m: Any, one: float, two: float, level: float
) -> None:
    low, high = sorted((one, two))
    deltas = [subsample(m, rate=rate).delta(level) for rate in (low, high)]
    assert deltas[0] <= deltas[1] * (1 + 1e-12) <= privacy_loss(m).delta(level) * (1 + 2e-12)
    assert deltas[1] <= high * privacy_loss(m).delta(0.0) * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([Gaussian(1.0, replaced=2.0), Laplace(1.0, replaced=1.5), RandomizedResponse(1.0, 3)]),
    st.sampled_from(
        [
            {"rate": 0.2},
            {"rate": 0.2, "adjacency": "replace"},
            {"kind": "without", "n": 10, "k": 3},
            {"kind": "with", "n": 10, "k": 3, "adjacency": "replace"},
        ]
    ),
    st.tuples(levels, levels, levels),
)
def test_profiles_fall_and_are_convex_in_the_ratio(m: Any, how: dict[str, Any], points: tuple[float, ...]) -> None:
    loss = subsample(m, **how)
    for end in (0, 1):
        a, b, c = sorted(math.exp(x) for x in points)
        low, middle, high = (loss.delta_bounds(math.log(x))[end] for x in (a, b, c))
        assert low >= middle * (1 - 1e-12) >= high * (1 - 2e-12)
        if c > a:
            assert middle <= low + (high - low) * (b - a) / (c - a) + 1e-13


@pytest.mark.parametrize("how", [{"rate": 0.0}, {"kind": "without", "n": 5, "k": 0}, {"kind": "with", "n": 1, "k": 0}])
@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize("m", [Gaussian(1.0, replaced=1.0), RandomizedResponse(math.inf), RandomizedResponse(1.0)])
def test_nobody_drawn_spends_nothing(m: Any, how: dict[str, Any], adjacency: Any) -> None:
    loss = subsample(m, adjacency=adjacency, **how)
    assert loss.exact
    assert loss.supremum() == loss.delta(0.0) == loss.epsilon(delta=0.0) == 0


@together("m", [*NOISES, RandomizedResponse(50.0), RandomizedResponse(math.inf)])
def test_everybody_drawn_spends_what_the_mechanism_does(m: Any) -> None:
    for loss in (subsample(m, rate=1.0), subsample(m, kind="without", n=9, k=9, adjacency="replace")):
        for level in (0.0, 1.0, 30.0):
            assert loss.log_delta_bounds(level) == pytest.approx(privacy_loss(m).log_delta_bounds(level), rel=1e-12)


@together(("rate", "epsilon"), itertools.product([1e-30, 1e-9, 0.5, 1 - 1e-9], [0.0, 1e-9, 1.0, 50.0, math.inf]))
def test_the_ends_of_both_parameters(rate: float, epsilon: float) -> None:
    """The closed form q (t0 - 1)/(t0 + 1) of delta(0), and ln(1 + q (t0 - 1)), to 12 digits each."""
    loss = subsample(RandomizedResponse(epsilon), rate=rate)
    at_zero, top = rate * math.tanh(epsilon / 2), math.log1p(rate * math.expm1(min(epsilon, 100)))
    assert loss.delta(0.0) == pytest.approx(at_zero, rel=1e-12)
    if epsilon == math.inf:
        assert loss.supremum() == math.inf
        assert loss.delta(1e6) == pytest.approx(rate, rel=1e-12)
    else:
        back = -math.log1p(rate * math.expm1(-epsilon))
        assert loss.supremum() == pytest.approx(max(top, back), rel=1e-12)
        assert loss.epsilon(delta=0.0) == loss.supremum()


def test_without_replacement_keeps_the_digits_of_the_few_left_out() -> None:
    """1 - k/n as a float would lose half of them."""
    n = 10**9
    loss = subsample(RandomizedResponse(math.inf), kind="without", n=n, k=n - 1)
    assert loss.directions[1].supremum() == pytest.approx(math.log(n), rel=1e-15)


def test_identity_with_replacement_shows_whether_the_record_was_drawn() -> None:
    """A mechanism that shows everything shows no more with two copies."""
    loss = subsample(RandomizedResponse(math.inf), kind="with", n=5, k=7, adjacency="replace")
    assert loss.delta(3.0) == pytest.approx(1 - 0.8**7, rel=1e-12)


@together(
    ("m", "n", "k"),
    [
        (m, n, k)
        for m in [*NOISES, RandomizedResponse(1.0), RandomizedResponse(1.0, 5)]
        for n, k in [(10**9, 10**3), (10, 10**4), (1, 5), (1, 10**9), (10**12, 10**12)]
    ],
)
def test_large_numbers_of_draws_with_replacement(m: Any, n: int, k: int) -> None:
    loss = subsample(m, kind="with", n=n, k=k, adjacency="replace")
    low, high = loss.delta_bounds(0.0)
    drawn = -math.expm1(k * math.log1p(-1 / n)) if n > 1 else 1.0
    assert low <= high * (1 + 1e-12) <= drawn * (1 + 2e-12)
    assert low > 0
    assert loss.delta(0.5) <= high
    assert loss.supremum() == math.inf if isinstance(m, Gaussian) else loss.supremum() <= (k + 1) * (1 + 1e-12)


def test_sampling_keeps_both_bounds_of_what_is_known_from_both_sides() -> None:
    lower, upper = LaplaceLoss(1.0), LaplaceLoss(1.2)
    base = PrivacyLoss((EnclosedLoss(lower, upper),))
    for how in ({"rate": 0.3}, {"kind": "without", "n": 10, "k": 3, "adjacency": "replace"}):
        low, high = subsample(base, **how).delta_bounds(0.1)
        ends = [subsample(PrivacyLoss((law,)), **how).delta(0.1) for law in (lower, upper)]
        assert [low, high] == pytest.approx(ends, rel=1e-14)


def test_noise_on_a_sum_is_asked_for_what_the_relation_needs() -> None:
    """A loss of 6.71 once answered where 9.42 was meant."""
    drawn: tuple[dict[str, Any], ...] = (
        {"rate": 0.1, "adjacency": "replace"},
        {"kind": "without", "n": 9, "k": 1},
        {"kind": "with", "n": 9, "k": 1},
    )
    for noise, how in product((Gaussian(1.1), Laplace(1.1), Gaussian(1.1).implemented()), drawn):
        with pytest.raises(ValueError, match=r"replaced must be stated|a record present or absent alone"):
            subsample(noise, **how)
    known = subsample(Gaussian(1.1), rate=0.1)
    for needs in (lambda: subsample(known, kind="without", n=9, k=1), lambda: privacy_loss(known, "replace")):
        with pytest.raises(ValueError, match="neighbours by replace, got one by add/remove"):
            needs()
    with pytest.raises(ValueError, match="same neighbours"):
        compose([(known, 1), (subsample(RandomizedResponse(1.0), rate=0.1, adjacency="replace"), 1)])
    assert compose([(known, 1), (RandomizedResponse(1.0), 1)]).adjacency == "add/remove"


def test_a_loss_of_replaced_records_is_none_of_a_record_more_or_less() -> None:
    """From the loss of replaced = 0.5 alone, 9.7e-15 was the exact delta(1), where 1.79e-6 is attained."""
    noise = Gaussian(1.0, sensitivity=1.0, replaced=0.5)
    how: dict[str, Any] = {"rate": 0.05, "adjacency": "replace"}
    loss = privacy_loss(noise, "replace")
    sampled = subsample(RandomizedResponse(1.0), **how)
    for one in (loss, compose([(loss, 2)]), compose([(loss, 1), (RandomizedResponse(1.0), 1)]), sampled):
        with pytest.raises(ValueError, match=r"give the noise itself.*product of the rates; got a loss by replace"):
            subsample(one, **how)
    first, second, out = (stats.norm(place) for place in (1.0, 0.5, 0.0))
    # P - e Q is positive beyond one report: the test of that half-line attains its delta
    ends = np.arange(3, 8, 0.01)
    attained = 0.05 * np.max(first.sf(ends) - math.e * second.sf(ends) - 19 * (math.e - 1) * out.sf(ends))
    assert attained == pytest.approx(1.786e-6, rel=1e-3)
    assert subsample(noise, **how).delta(1.0) >= attained
    both = Gaussian(1.0, sensitivity=math.sqrt(2), replaced=math.sqrt(0.5))  # two steps on one sample
    assert subsample(both, **how).delta(1.0) >= 2.016e-4
    apart: dict[str, Any] = {"kind": "without", "n": 100, "k": 5, "adjacency": "replace"}
    assert subsample(loss, **apart).delta(1.0) == subsample(noise, **apart).delta(1.0)
    answers = compose([(RandomizedResponse(1.0), 2)])
    assert subsample(answers, **how).delta(0.0) == pytest.approx(0.05 * answers.delta(0.0), rel=1e-12)


def test_sampled_training_with_a_record_replaced() -> None:
    """10,000 steps of DP-SGD whose clipped sum a replaced record moves by 2, against a convolution of 4e6 cells."""
    one = subsample(Gaussian(1.1, sensitivity=1.0, replaced=2.0), rate=0.01, adjacency="replace")
    low, high = compose([(one, 10_000)]).epsilon_bounds(1e-5)
    assert low - 1e-5 <= 9.422295 <= high + 1e-5
    assert high - low < 1e-5


def test_the_secret_and_the_relation_are_among_the_assumptions() -> None:
    loss = subsample(RandomizedResponse(1.0), rate=0.1)
    assert any("secret" in one for one in loss.assumptions)
    assert any("with and without" in one for one in loss.assumptions)


@together(
    ("arguments", "words"),
    [
        ({"kind": "sometimes", "rate": 0.1}, "kind must be"),
        ({"rate": 0.1, "adjacency": "add"}, "adjacency must be"),
        ({}, "takes rate"),
        ({"rate": 1.1}, "takes rate"),
        ({"rate": math.nan}, "takes rate"),
        ({"rate": True}, "takes rate"),
        ({"rate": 0.1, "n": 3}, "takes rate"),
        ({"kind": "without", "rate": 0.1, "n": 3, "k": 1}, "no rate"),
        ({"kind": "without", "n": 3}, "k must be a whole number"),
        ({"kind": "without", "n": 0, "k": 0}, "n must be a whole number"),
        ({"kind": "without", "n": 3, "k": 3}, "k <= n - 1"),
        ({"kind": "without", "n": 3, "k": 4, "adjacency": "replace"}, "k <= n for replace"),
        ({"kind": "with", "n": 1, "k": 1}, "n >= 2"),
        ({"kind": "with", "n": 2, "k": 1.5}, "k must be a whole number"),
        ({"kind": "with", "n": 2, "k": 10**13}, "k must be a whole number"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        subsample(RandomizedResponse(1.0), **arguments)


def test_a_loss_with_two_directions_is_none_of_replacement() -> None:
    lopsided = replace(subsample(RandomizedResponse(1.0), rate=0.1), adjacency=None)
    with pytest.raises(ValueError, match="its own reverse"):
        subsample(lopsided, kind="without", n=5, k=2, adjacency="replace")
    for epsilon in (1.0, 1e-3):
        one_way = PrivacyLoss(subsample(RandomizedResponse(epsilon), rate=0.1).directions[:1])
        with pytest.raises(ValueError, match="its own reverse"):
            subsample(one_way, kind="without", n=5, k=2, adjacency="replace")
    law = DiscreteLoss.of_laws(dict(enumerate((0.099, 0.001, 0.6, 0.3))), dict(enumerate((0.3, 0.3, 0.1, 0.3))))
    for one in (law, law.reversed()):  # which agree at small epsilons
        with pytest.raises(ValueError, match="its own reverse"):
            subsample(one, kind="without", n=10, k=2, adjacency="replace")
        with pytest.raises(ValueError, match="its own reverse"):
            subsample(PrivacyLoss((one,)), rate=0.5)
    with pytest.raises(ValueError, match="two directions, or one"):
        subsample(PrivacyLoss((ZERO_LOSS, INFINITE_LOSS, ZERO_LOSS)), rate=0.1)


@together(("adjacency", "n"), itertools.product(["add/remove", "replace"], [2, 10**8]))
def test_so_many_draws_that_copies_are_no_longer_distinguished_are_counted_and_composed(n: int, adjacency: Any) -> None:
    loss = subsample(RandomizedResponse(0.01), kind="with", n=n, k=10**8, adjacency=adjacency)
    low, high = loss.epsilon_bounds(1e-5)
    assert 0 < low <= high <= 1e6
    for law in loss.directions if n > 2 else ():  # which a grid asks for where many losses are composed
        masses = known_bound(law, 1).masses(np.array([-1.0, 0.0, 1.0]))  # type: ignore[attr-defined]
        assert np.logaddexp.reduce(masses.first) == pytest.approx(0.0, abs=1e-9)


REPORT = RandomizedResponse(1.0)


def test_who_selects_the_clients_learns_as_much_as_without_sampling() -> None:
    """LDP-FL's cloud; a wrong answer here would claim amplification that does not exist."""
    loss = sampled_clients(REPORT, clients=100, selected=10, observer="selects")
    assert loss.directions == privacy_loss(REPORT).directions
    assert any("hides nobody" in one for one in loss.assumptions)
    assert any("client" in one for one in loss.assumptions)


@pytest.mark.parametrize("adjacency", ["replace", "add/remove"])
def test_who_sees_the_result_alone_learns_what_the_sample_shows(adjacency: Any) -> None:
    loss = sampled_clients(REPORT, clients=100, fraction=0.1, observer="sees the result", adjacency=adjacency)
    wanted = subsample(REPORT, kind="without", n=100, k=10, adjacency=adjacency)
    assert loss.delta(0.05) == wanted.delta(0.05) < privacy_loss(REPORT).delta(0.05)
    assert any("secret" in one for one in loss.assumptions)
    assert any("all selected clients' reports together" in one for one in loss.assumptions)


def test_fractions_and_numbers_are_the_same() -> None:
    for clients, fraction, selected in ((100, 0.29, 29), (3, 1 / 3, 1), (10, 0.0, 0), (10, 1.0, 10)):
        one, two = (
            sampled_clients(REPORT, clients=clients, observer="sees the result", **how)
            for how in ({"fraction": fraction}, {"selected": selected})
        )
        assert one.delta(0.01) == two.delta(0.01)


@pytest.mark.parametrize("observer", ["selects", "sees the result"])
def test_nobody_selected_spends_nothing(observer: Any) -> None:
    assert sampled_clients(REPORT, clients=5, selected=0, observer=observer).supremum() == 0


@together(
    ("arguments", "words"),
    [
        ({"clients": 0, "selected": 0}, "clients must"),
        ({"clients": 5}, "one of selected and fraction"),
        ({"clients": 5, "selected": 1, "fraction": 0.2}, "one of selected and fraction"),
        ({"clients": 5, "selected": 6}, "selected must"),
        ({"clients": 5, "selected": 1.0}, "selected must"),
        ({"clients": 5, "fraction": 0.3}, "fraction must"),
        ({"clients": 5, "fraction": math.nan}, "fraction must"),
        ({"clients": 5, "fraction": 1.2}, "fraction must"),
        ({"clients": 10**9, "fraction": 4e-10}, "fraction must"),  # once taken as none of them, and epsilon as 0
        ({"clients": 10**9, "fraction": 1.4e-9}, "fraction must"),
        ({"clients": 5, "selected": 1, "adjacency": "swap"}, "adjacency must be add/remove or replace, got 'swap'"),
        ({"clients": 5, "selected": 1, "observer": "cloud"}, "observer must"),
    ],
)
def test_bad_numbers_of_clients_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sampled_clients(REPORT, **{"observer": "selects", **arguments})


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
def test_no_selected_client_spends_nothing(adjacency: Any) -> None:
    noise = privacy_loss(Gaussian(1.0, replaced=2.0), adjacency)
    nobody = sampled_clients(noise, clients=10, selected=0, observer="selects")
    assert (nobody.epsilon(1e-5), nobody.adjacency) == (0.0, adjacency)
    assert nobody.assumptions == sampled_clients(noise, clients=10, selected=1, observer="selects").assumptions


def test_rounds_of_samples_with_a_record_replaced_are_no_dearer_than_any_mechanism_makes_them() -> None:
    """At most 0.07235, by linear programming over all 1-LDP mechanisms, chosen anew in each of three rounds."""
    step = subsample(RandomizedResponse(1.0), kind="without", n=2, k=1, adjacency="replace")
    assert step.exact
    rounds = compose([(step, 3)])
    low, high = rounds.delta_bounds(1.1162)
    assert low <= 0.07235 <= high
    assert not rounds.exact


def test_sums_of_a_channel_whose_orders_differ_are_sampled() -> None:
    channel = FiniteChannel([["9/10", "1/10"], ["1/2", "1/2"]])
    assert subsample(channel, rate=0.1).exact
    for kind, size in (("poisson", {"rate": 0.1}), ("without", {"n": 100, "k": 10})):
        low, high = subsample(compose([(channel, 5)]), kind=kind, **size).epsilon_bounds(1e-3)
        assert 5.3 < low <= high < 5.4, kind
