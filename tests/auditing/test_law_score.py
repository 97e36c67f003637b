import json
import math

import numpy as np
import pytest

from ldp_audit import audit
from ldp_audit.auditing.choice import Judge, Sample, choose_score
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import read
from ldp_audit.auditing.scores.law_score import LawScore, log_ratio
from ldp_audit.mechanisms import FiniteChannel, Laplace, PerturbedEncoding, Piecewise, RandomizedResponse
from tests.together import together


def test_the_ratio_of_a_laplace_law_is_the_formula():
    y = np.array([-3.0, 0.0, 0.25, 1.0, 7.0])
    expected = (np.abs(y - 1) - np.abs(y)) / 2
    assert LawScore(Laplace(2.0), (0, 1)).of(y) == pytest.approx(expected, abs=1e-9)


def test_a_plateau_is_one_value_in_spite_of_rounding():
    y = np.random.default_rng(0).uniform(-2000, 0, 1000)
    assert len(np.unique(LawScore(Laplace(0.3), (0, 1)).of(y))) == 1


def test_supports_that_differ_give_infinite_ratios_and_never_nan():
    channel = FiniteChannel([["1/2", "1/2", 0, 0], [0, "1/2", "1/2", 0]])
    found = LawScore(channel, (0, 1)).of(np.array([0.0, 1.0, 2.0, 3.0, 17.0]))
    assert found.tolist() == [math.inf, 0.0, -math.inf, 0.0, 0.0]


def test_an_infinite_output_under_a_law_of_finite_ones_says_nothing():
    found = LawScore(Laplace(1.0), (0, 1)).of(np.array([-math.inf, -1.0, math.inf]))
    assert found.tolist() == [0.0, 1.0, 0.0]


def test_the_input_may_be_a_vector_of_which_each_coordinate_gets_noise():
    law, pair = Laplace(2.0), (np.zeros(3), np.ones(3))
    y = np.random.default_rng(0).normal(size=(50, 3))
    expected = (np.abs(y - 1) - np.abs(y)).sum(axis=1) / 2
    assert LawScore(law, pair).of(y) == pytest.approx(expected, abs=1e-9)


def test_long_samples_are_scored_in_parts_with_the_same_result(monkeypatch):
    y = np.random.default_rng(0).normal(size=(1000, 3))
    score = LawScore(Laplace(2.0), (np.zeros(3), np.ones(3)))
    whole = score.of(y)
    monkeypatch.setattr("ldp_audit.auditing.scores.law_score._VALUES", 100)
    assert np.array_equal(score.of(y), whole)


def test_labels_among_numbers_stay_labels():
    law = PerturbedEncoding(1.0, d=4, k=1)
    pair = (np.array([1, 0, 0, 0]), np.array([0, 1, 0, 0]))
    outputs = read([0, None, 1, 2], 4)
    score = LawScore(law, pair)
    found = score.of(outputs.known_numbers)
    assert np.isnan(found[1])
    assert found[0] > 0 > found[2]
    assert found[3] == 0
    assert Event(((0.0, math.inf),), (None,), score).contains(outputs).tolist() == [True, True, False, True]


@together("value", [math.nan, math.inf])
def test_a_law_that_gives_no_log_probability_is_refused(value):
    class Broken:
        def log_prob(self, y, x):
            return np.full(len(y), value)

    with pytest.raises(ValueError, match="log_prob must give numbers below inf"):
        log_ratio(Broken(), np.zeros(3), 0, 1)


def test_a_law_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"log_prob must give shape \(5,\)"):
        log_ratio(RandomizedResponse(1.0), np.zeros((5, 2)), np.zeros((5, 1)), np.zeros((2, 5, 2)))


def test_a_law_that_cannot_be_evaluated_says_why():
    with pytest.raises(ValueError, match="x must be whole numbers"):
        LawScore(RandomizedResponse(1.0), (0, 7)).of(np.zeros(3))


def test_the_score_is_written_as_a_description_and_not_read_back():
    score = LawScore(Laplace(2.0), (0, np.ones(2)))
    written = json.loads(json.dumps(score.to_dict()))
    assert written == {"kind": "law", "law": "Laplace(scale=2.0, sensitivity=1.0)", "inputs": ["0", "array([1., 1.])"]}
    with pytest.raises(ValueError, match=r"needs the law itself, Laplace\(scale=2.0"):
        LawScore.from_dict(written)


def _sample(draw, x, rng):
    return Sample(*(read(draw(x, n, rng), n) for n in (2000, 2000, 4000)))


def test_the_search_takes_the_event_that_only_one_input_can_cause():
    channel = FiniteChannel([["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    rng = np.random.default_rng(0)
    first, second = (_sample(lambda x, n, rng: channel.sample(np.full(n, x), rng=rng), x, rng) for x in (0, 1))
    found = choose_score(first, second, Judge(10**5, 0.05, 0.0), rng, scores=(LawScore(channel, (0, 1)),))
    alone = 2 if found.swapped else 0
    assert found.event.contains(read([0, 1, 2], 3)).tolist() == [value == alone for value in range(3)]


def _bound(sampler, law, pair, samples, error):
    return audit(sampler, pair, samples=samples, confidence=1 - error, law=law, stateless=True).epsilon_lower


@together("law", [Laplace(1.0), Piecewise(1.0)])
def test_the_law_finds_an_event_that_shows_nearly_all_of_its_epsilon(law):
    # Error 1e-6: the chance that the bound exceeds 1. The lower end is 12 standard deviations of the estimate away.
    bound = _bound(lambda x, n, rng: law.sample(np.full(n, float(x)), rng=rng), law, law.worst_pair(), 200_000, 1e-6)
    assert 0.94 < bound <= 1


class _OfTwenty:
    """Laplace noise of scale 20 on each of 20 coordinates, all of which show the input."""

    def log_prob(self, y, x):
        return Laplace(20.0).log_prob(np.asarray(y), float(x))


def test_many_weak_coordinates_are_seen_together():
    # Twenty Laplaces of 1/20 each: no coordinate alone can show more than 0.05. Error 1e-6, as above.
    bound = _bound(lambda x, n, rng: rng.laplace(x, 20.0, (n, 20)), _OfTwenty(), (0, 1), 100_000, 1e-6)
    assert 0.25 < bound <= 1


def test_a_wrong_law_costs_tightness_and_no_validity():
    # The program has epsilon 1/2, the law says 1; an error of 1e-6 is the chance that the bound exceeds 1/2.
    truth = Laplace(2.0)
    bound = _bound(lambda x, n, rng: truth.sample(np.full(n, float(x)), rng=rng), Laplace(1.0), (0, 1), 200_000, 1e-6)
    assert 0.4 < bound <= 0.5
