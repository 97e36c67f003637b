"""The noisy maximum: its law with Laplace noise against integrals and by hand, its profile, and its sampler."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit.accounting import compose
from ldp_audit.mechanisms import ExponentialMechanism, Laplace, NoisyMaximum, PermuteAndFlip
from ldp_audit.mechanisms.randomness import NumpySource
from tests.frequency import assert_frequency
from tests.mechanisms.selection.score_pairs import assert_no_pair_is_worse, best_of_levels
from tests.together import together

EPSILONS = (0.01, 0.3, 1.0, 5.0, 50.0)
SCORES = np.array([0.2, 0.19, 0.0, 0.21, -3.0])
NOISES = ("laplace", "exponential", "gumbel")


def integrated(scores: list[float], i: int) -> float:
    """ln P(i) for scores in scales, by mpmath on short pieces."""

    def density(z: Any) -> Any:
        return mpmath.exp(-abs(z)) / 2

    def below(z: Any) -> Any:
        return mpmath.exp(z) / 2 if z < 0 else 1 - mpmath.exp(-z) / 2

    def integrand(x: Any) -> Any:
        return density(x - scores[i]) * mpmath.fprod(below(x - u) for j, u in enumerate(scores) if j != i)

    with mpmath.workdps(20):
        ends = sorted({*scores, min(scores) - 40, max(scores) + 60})
        points = [a + (b - a) * k / n for a, b in pairwise(ends) for n in [math.ceil(b - a)] for k in range(n)]
        parts = [mpmath.quad(integrand, piece) for piece in pairwise([*points, ends[-1]])]
        return float(mpmath.log(mpmath.fsum(parts)))


@together("scores", [[0.0, -1.0, -2.5], [0.0, -1e-9, -0.01, -7.0]])
def test_the_law_with_laplace_noise_is_the_integral(scores: list[float]) -> None:
    m = NoisyMaximum(2.0, len(scores))
    wanted = [integrated(scores, i) for i in range(len(scores))]
    assert m.log_prob(np.arange(len(scores)), scores) == pytest.approx(wanted, abs=1e-12)


@together("gap", [0.0, 0.5, 3.0, 40.9, 41.1, 300.0, 1e6])
def test_of_two_candidates_the_law_is_a_closed_form(gap: float) -> None:
    """P(the other) = e**-g (2 + g)/4, whose logarithm keeps its digits however far it is behind."""
    m = NoisyMaximum(0.5, 2, sensitivity=3.0)
    scores = [0.0, -gap * m.scale()]
    behind = math.log(2 + gap) - math.log(4) - gap
    assert m.log_prob(1, scores) == pytest.approx(behind, rel=1e-13)
    assert m.log_prob(0, scores) == pytest.approx(math.log1p(-math.exp(behind)), rel=1e-12)
    law = m.symbolic()
    assert float(law.classes[1].probability.subs({law.variables()[0]: 2})) == pytest.approx(math.exp(-2))


@together("n", [3, 30, 1000])
def test_probabilities_add_up_to_one_and_equal_scores_are_equally_likely(n: int) -> None:
    m, rng = NoisyMaximum(2.0, n), np.random.default_rng(0)
    for spread in (0.1, 5.0, 300.0):
        assert np.exp(m.log_prob(np.arange(n), rng.normal(size=n) * spread)).sum() == pytest.approx(1, abs=1e-12)
    assert m.log_prob(np.arange(n), np.zeros(n)) == pytest.approx(np.full(n, -math.log(n)), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
def test_probabilities_add_up_where_one_score_is_far_behind_close_ones(epsilon: float) -> None:
    """A candidate's own score, rounded past the end of a long piece, counted as below it: the sum came out as 1.12."""
    rng = np.random.default_rng(0)
    for far in 10.0 ** np.arange(1.0, 9.0):
        for scores in rng.normal(size=(10, 3)) * [[1.0, 1.0, far]]:
            assert np.exp(NoisyMaximum(epsilon, 3).log_prob(range(3), scores)).sum() == pytest.approx(1, rel=1e-11)


def test_more_candidates_are_sampled_but_not_integrated() -> None:
    m = NoisyMaximum(1.0, 1001)
    with pytest.raises(ValueError, match=r"^candidates must be at most 1000 for the probabilities .* got 1001"):
        m.log_prob(0, np.zeros(1001))
    assert 0 <= m.sample(np.zeros(1001), rng=np.random.default_rng(0)) <= 1000
    with pytest.raises(ValueError, match=r"^candidates must be 2 for a definition in symbols"):
        m.symbolic()


@together(("noise", "same"), [("gumbel", ExponentialMechanism), ("exponential", PermuteAndFlip)])
def test_other_noises_are_other_mechanisms(noise: Any, same: Any) -> None:
    m, other = NoisyMaximum(1.3, 5, 0.3, noise), same(1.3, 5, 0.3)
    assert np.array_equal(m.log_prob(np.arange(5), SCORES), other.log_prob(np.arange(5), SCORES))
    assert np.array_equal(m.delta([0.0, 0.7]), other.delta([0.0, 0.7]))
    assert all(np.array_equal(a, b) for a, b in zip(m.worst_pair(), other.worst_pair(), strict=True))
    assert m.exact_epsilon() == other.exact_epsilon() == 1.3
    assert m.symbolic() == other.symbolic()


def test_the_largest_score_with_gumbel_noise_is_drawn_as_often_as_the_exponential_mechanism_says() -> None:
    rng, trials = np.random.default_rng(0), 40_000
    m = NoisyMaximum(1.0, 5, 0.3, "gumbel")
    drawn = (SCORES + m.scale() * rng.gumbel(size=(trials, 5))).argmax(axis=-1)
    for y in range(5):
        assert_frequency(int((drawn == y).sum()), trials, math.exp(m.log_prob(y, SCORES)))


def test_with_two_candidates_and_laplace_noise_epsilon_is_approached_and_not_attained() -> None:
    m = NoisyMaximum(2.0, 2)
    told = [float(m.log_prob(1, [b, 0.0]) - m.log_prob(1, [b + 1, -1.0])) for b in (0.0, 10.0, 1e3, 1e7)]
    assert told == sorted(told)
    assert told[0] < 1.6
    assert told[-1] < 2.0 == m.exact_epsilon()
    assert told[-1] == pytest.approx(2.0, abs=1e-6)


@together("epsilon", EPSILONS)
def test_of_two_candidates_the_profile_is_the_best_of_many_pairs(epsilon: float) -> None:
    """Of 60 gaps: the best comes close, and none exceeds it."""
    m = NoisyMaximum(epsilon, 2, sensitivity=2.0)
    for level in (0.0, 0.3 * epsilon, 0.9 * epsilon):
        found = [
            best_of_levels(m, np.array([-behind, 0.0]), np.array([-behind - 2, 2.0]), level)
            for behind in np.linspace(-0.5 * epsilon, 12, 60) * m.scale()
        ]
        delta = float(m.delta(level))
        assert 0.93 * delta < max(found) <= delta * (1 + 1e-9)
    assert m.delta([0.0, epsilon]).tolist()[1] == 0


@together("epsilon", EPSILONS)
@together("n", [2, 3, 6])
def test_no_pair_of_neighbours_is_worse(n: int, epsilon: float) -> None:
    """60 random pairs, moved by the whole sensitivity in each coordinate."""
    assert_no_pair_is_worse(NoisyMaximum(epsilon, n, 0.5), count=60)


def test_with_laplace_noise_the_range_is_not_bounded_by_epsilon() -> None:
    """Two of four equal scores against the other two: more than the exponential mechanism's profile, from four on."""
    m, groups = NoisyMaximum(0.1, 4), np.array([0.5, 0.5, -0.5, -0.5])
    found = best_of_levels(m, groups, -groups, 0.0)
    assert float(ExponentialMechanism(0.1, 4).delta(0.0)) * 1.1 < found < float(m.delta(0.0))


def test_a_sum_of_reports_is_bounded_on_both_sides() -> None:
    """By Laplace noise for many candidates; for two less, and more than what one pair shows."""
    many, two = (compose([(NoisyMaximum(0.2, n), 50)]).epsilon_bounds(1e-6) for n in (100, 2))
    assert many[1] == pytest.approx(compose([(Laplace(5.0), 50)]).epsilon(1e-6), rel=1e-9)
    assert two[0] < two[1] < 0.6 * many[1]


@together("library", ["numpy", "torch"])
@together("noise", NOISES)
@together("epsilon", [0.01, 1.0, 50.0])
def test_the_sampler_draws_from_the_law(epsilon: float, noise: Any, library: str) -> None:
    """False alarm 1e-6 each; with 40,000 draws a probability off by 0.02 is missed below 1e-4."""
    m, trials = NoisyMaximum(epsilon, 5, 0.3, noise), 40_000
    batch = np.tile(SCORES, (trials, 1))
    if library == "torch":
        drawn = np.asarray(m.sample(torch.from_numpy(batch), rng=torch.Generator().manual_seed(5)))
    else:
        drawn = m.sample(batch, rng=np.random.default_rng(5))
    for y in range(5):
        assert_frequency(int((drawn == y).sum()), trials, math.exp(m.log_prob(y, SCORES)))


def exact_on_the_grid(gaps: np.ndarray, width: int) -> np.ndarray:
    """P(i) with discrete Laplace noise of a small scale, the first of equal maxima: a sum over its values."""
    z = np.arange(-60 * width, 60 * width + 1)
    mass = np.exp(-np.abs(z) / width) * math.tanh(0.5 / width)
    found = np.zeros(len(gaps))
    for i, gap in enumerate(gaps):
        product = mass.copy()
        for j, other in enumerate(gaps):
            if j != i:
                least = z - gap + other - (j < i)  # the other one's noise must be at most this
                product *= np.cumsum(mass)[np.clip(least + 60 * width, 0, 120 * width)] * (least >= -60 * width)
        found[i] = product.sum()
    return found


def test_noise_on_the_grid_is_what_the_slack_says() -> None:
    """At a scale of 16 steps, exactly: within 2/t nats of the continuous law, and epsilon at most 2 (m + 2)/t."""
    width, n, m = 16, 3, 5
    ideal = NoisyMaximum(2 * (m + 2) / width, n, sensitivity=m + 2.0)
    rng, told = np.random.default_rng(1), 0.0
    for _ in range(200):
        first = rng.integers(-30, 31, n)
        second = first + rng.choice([-m, m], n)
        laws = [exact_on_the_grid(one.max() - one, width) for one in (first, second)]
        for one, law in zip((first, second), laws, strict=True):
            assert law.sum() == pytest.approx(1, abs=1e-9)
            assert np.abs(np.log(law) - ideal.log_prob(np.arange(n), one)).max() <= 2 / width
        told = max(told, float(np.abs(np.log(laws[0] / laws[1])).max()))
        for level in (0.0, 0.3):
            assert np.maximum(laws[0] - math.exp(level) * laws[1], 0).sum() <= float(ideal.delta(level))
    assert 0.7 * 2 * m / width < told <= 2 * m / width * (1 + 1e-9)
    drawn = ideal.form().select(np.tile([0, 3, 7], (40_000, 1)), width, NumpySource(np.random.default_rng(4)))
    for y, chance in enumerate(exact_on_the_grid(np.array([0, 3, 7]), width)):
        assert_frequency(int((drawn == y).sum()), 40_000, float(chance))


@together("noise", ["Laplace", "", None, 3, ["laplace"]])
def test_a_noise_that_is_none_is_refused(noise: Any) -> None:
    with pytest.raises(ValueError, match=r"^noise must be one of 'laplace', 'exponential', 'gumbel', got "):
        NoisyMaximum(1.0, 3, noise=noise)
