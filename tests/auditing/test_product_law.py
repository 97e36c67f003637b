import math

import numpy as np
import pytest

from ldp_audit.auditing.grey_box import ProductLaw
from ldp_audit.auditing.scores.law_score import LawScore
from ldp_audit.mechanisms import FiniteChannel, Laplace, Piecewise, RandomizedResponse
from tests.frequency import assert_frequency
from tests.together import together


def _bits(x):
    return [(x >> place) & 1 for place in range(4)]


MIXED = ProductLaw([Laplace(1.0), RandomizedResponse(1.0), Piecewise(2.0), RandomizedResponse(1.0)])


def test_the_log_probability_is_the_sum_over_coordinates():
    x, y = (0.5, 1, -0.25, 0), MIXED.sample((0.5, 1, -0.25, 0), rng=np.random.default_rng(0), n=20)
    expected = sum(law.log_prob(y[:, j], x[j]) for j, law in enumerate(MIXED.laws))
    assert MIXED.log_prob(y, x) == pytest.approx(expected)
    assert MIXED.log_prob(y[3], x) == pytest.approx(expected[3])


def test_coordinates_that_share_a_law_are_evaluated_as_one_by_one():
    shared = RandomizedResponse(1.0)
    together, apart = ProductLaw([shared] * 4, _bits), ProductLaw([RandomizedResponse(1.0) for _ in range(4)], _bits)
    y = np.random.default_rng(0).integers(0, 2, (50, 4))
    assert together.log_prob(y, 5) == pytest.approx(apart.log_prob(y, 5))
    assert together.log_ratio(y, 5, 6) == pytest.approx(apart.log_prob(y, 5) - apart.log_prob(y, 6))


def test_the_ratio_is_the_difference_of_log_probabilities():
    first, second = (0.5, 1, -0.25, 0), (0.25, 0, -0.25, 0)
    y = MIXED.sample(first, rng=np.random.default_rng(0), n=50)
    expected = MIXED.log_prob(y, first) - MIXED.log_prob(y, second)
    assert LawScore(MIXED, (first, second)).of(y) == pytest.approx(expected, abs=1e-8)


def test_a_coordinate_that_rules_out_an_input_decides_and_two_that_disagree_say_nothing():
    channel = FiniteChannel([["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    law = ProductLaw([channel, channel, RandomizedResponse(1.0)])
    y = np.array([[0, 1, 1], [2, 1, 0], [0, 2, 0], [1, 1, 1]])
    found = law.log_ratio(y, (0, 0, 0), (1, 1, 1))
    assert found == pytest.approx([math.inf, -math.inf, 0.0, -1.0])


def test_one_number_is_the_input_of_every_coordinate():
    law = ProductLaw([Laplace(1.0)] * 3)
    assert law.encoded(2.0) == (2.0, 2.0, 2.0)
    assert law.encoded((1, 2, 3)) == (1, 2, 3)


def test_coordinates_whose_inputs_are_the_same_carry_nothing():
    law = ProductLaw([RandomizedResponse(1.0)] * 4, _bits)
    assert law.carries(0b0011, 0b0101).tolist() == [False, True, True, False]


def test_samples_follow_the_law_jointly():
    law, n = ProductLaw([RandomizedResponse(math.log(3))] * 4, _bits), 20_000
    drawn = law.sample(0b0011, rng=np.random.default_rng(0), n=n)
    assert drawn.shape == (n, 4)
    assert law.sample(0b0011, rng=np.random.default_rng(0)).shape == (4,)
    for pattern in ((1, 1, 0, 0), (0, 1, 1, 0)):
        probability = math.exp(law.log_prob(np.array(pattern), 0b0011))
        assert_frequency(int((drawn == pattern).all(axis=1).sum()), n, probability)


class NoSampler:
    def log_prob(self, y, x):
        return np.zeros(np.shape(y))


@together(
    ("call", "message"),
    [
        (lambda: ProductLaw([]), "laws must be one or more"),
        (lambda: ProductLaw([3]), r"laws must have log_prob\(y, x\), got 3"),
        (lambda: MIXED.encoded((1, 2)), r"x must be 4 inputs, one a coordinate, got \(1, 2\)"),
        (lambda: ProductLaw([Laplace(1.0)] * 5, _bits).encoded(3), r"encode\(3\) must be 5 inputs"),
        (lambda: MIXED.log_prob(np.zeros((5, 3)), 0), r"y must have shape \(..., 4\), got \(5, 3\)"),
        (lambda: ProductLaw([NoSampler()]).sample(0, rng=np.random.default_rng(0)), "laws must have sample"),
        (lambda: MIXED.sample(0, rng=np.random.default_rng(0), n=-1), "n must be a whole number in 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
