"""The sparse vector technique and its wrong forms: the law by other integrals, epsilon from their worst pairs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.accounting import compose
from ldp_audit.mechanisms import FiniteChannel, RandomizedResponse, SparseVector
from tests.frequency import assert_frequency
from tests.together import together

WRONG = ("lyu-4", "lyu-5", "lyu-6")
ALL = ("correct", "lyu-1", "lyu-2", *WRONG)
ANSWERS = np.array([0.2, 1.5, -3.0, 0.5])


def reports(n: int, m: SparseVector) -> np.ndarray:
    """All that n queries can give."""
    found = set()
    for bits in itertools.product((0, 1), repeat=n):
        ones = [i for i, bit in enumerate(bits) if bit]
        end = ones[m.cutoff - 1] + 1 if m.noises().stops and len(ones) >= m.cutoff else n
        found.add(bits[:end] + (-1,) * (n - end))
    return np.array(sorted(found))


def integrated(y: np.ndarray, x: np.ndarray, m: SparseVector) -> float:
    """P(y) by Gauss's rule on 4,000 short pieces, written from the algorithms: a stretch for each threshold's noise."""
    scale, noise = (float(one) / m.epsilon for one in m.noises()[:2])
    ends = np.unique(np.concatenate([np.linspace(-50 * scale, 50 * scale, 4001), x - m.threshold]))
    half, (nodes, weights) = np.diff(ends)[:, None] / 2, np.polynomial.legendre.leggauss(8)
    rho = ends[:-1, None] + half * (1 + nodes)
    density = np.exp(-np.abs(rho) / scale) / (2 * scale) * half * weights

    def exceeds(i: int) -> np.ndarray:
        z = (m.threshold + rho - x[i]) / noise
        return np.where(z > 0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z)))

    parts, answered = [density.copy()], [i for i in range(len(y)) if y[i] != -1]
    for i in answered:
        parts[-1] *= exceeds(i) if y[i] else 1 - exceeds(i)
        if y[i] and m.noises().renewed and i != answered[-1]:
            parts.append(density.copy())
    return math.prod(float(part.sum()) for part in parts)


@together("variant", ["correct", "lyu-2", "lyu-4", "lyu-6"])
@together("epsilon", [0.01, 1.0, 50.0])
def test_the_law_is_the_integral_over_the_thresholds_noise(epsilon: float, variant: Any) -> None:
    for cutoff in (1, 2):
        m = SparseVector(epsilon, 0.5, cutoff, variant)
        ys = reports(4, m)
        logs = m.log_prob(ys, ANSWERS)
        assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
        for y, log in zip(ys, logs, strict=True):
            assert math.exp(log) == pytest.approx(integrated(y, ANSWERS, m), rel=1e-9, abs=1e-15)


@together("variant", ALL)
def test_the_first_answer_is_the_definition_in_symbols(variant: Any) -> None:
    m = SparseVector(0.7, 2.0, 3, variant)
    law, values = m.symbolic(), {"a": float(m.noises().threshold) / 0.7, "b": float(m.noises().query) / 0.7}
    for gap in (0.0, 0.3, 5.0):
        point = {v: values.get(v.name, gap) for v in law.variables()}
        assert float(law.classes[0].probability.subs(point)) == pytest.approx(
            math.exp(m.log_prob([1], [2.0 - gap])), rel=1e-12
        )


def test_answers_far_from_the_threshold_keep_their_digits() -> None:
    """Of one query g below: (b**2 e**(-g/b) - a**2 e**(-g/a)) / (2 (b**2 - a**2)), a = 2, b = 4; also among others."""
    m = SparseVector(1.0, 0.0)
    for gap in (100.0, 1e4, 1e6):
        wanted = math.log(16 / 24) - gap / 4 + math.log1p(-math.exp(-gap / 4) / 4)
        assert m.log_prob([1], [-gap]) == pytest.approx(wanted, rel=1e-13)
        assert m.log_prob([0, 1], [-1e9, -gap]) == pytest.approx(wanted, rel=1e-13)
    assert SparseVector(1.0, 0.0, variant="lyu-6").log_prob([1], [-1e6]) == pytest.approx(
        math.log((2 + 5e5) / 4) - 5e5, rel=1e-13
    )


@together(("y", "cutoff"), [([1, 0], 1), ([0, -1], 1), ([1, 1], 1), ([-1, 0], 1), ([1, -1], 2)])
def test_what_cannot_be_reported_has_no_probability(y: list[int], cutoff: int) -> None:
    assert SparseVector(1.0, 0.0, cutoff).log_prob(y, [0.0, 0.0]) == -math.inf


@together(("variant", "cutoff", "wanted"), [
    ("correct", 1, 1.0), ("lyu-1", 4, 1.0), ("lyu-2", 3, 1.0), ("lyu-4", 1, 7 / 4), ("lyu-4", 3, 19 / 4),
])  # fmt: skip
def test_epsilon_is_approached_by_more_and_more_queries(variant: Any, cutoff: int, wanted: float) -> None:
    """Lyu, Su, Li 2017: 1 and (1 + 6 c)/4 times what is claimed; `worst_pair` continued to 40 queries answered 0."""
    for epsilon in (0.01, 1.0, 5.0):
        m, told = SparseVector(epsilon, 2.0, cutoff, variant), []
        for zeros in (1, 4, 40):
            first = np.full((zeros + 1) * cutoff, 2.0)
            second = np.array(([3.0] * zeros + [1.0]) * cutoff)
            y = ([0] * zeros + [1]) * cutoff
            told.append(float(m.log_prob(y, first) - m.log_prob(y, second)))
        assert told == sorted(told)
        assert m.exact_epsilon() == pytest.approx(wanted * epsilon, rel=1e-15)
        assert 0.9999 * m.exact_epsilon() < told[-1] <= m.exact_epsilon() * (1 + 1e-12)
        worst = [m.log_prob(([0] * 4 + [1]) * cutoff, x) for x in m.worst_pair()]
        assert worst[0] - worst[1] == pytest.approx(told[1], rel=1e-12)


def test_without_noise_on_the_queries_a_report_excludes_the_neighbour() -> None:
    """Lyu, Su, Li 2017, on Algorithm 5."""
    m = SparseVector(1.0, 3.0, variant="lyu-5")
    first, second = m.worst_pair()
    assert math.exp(m.log_prob([0, 1], first)) == pytest.approx((1 - math.exp(-0.5)) / 2, rel=1e-12)
    assert m.log_prob([0, 1], second) == -math.inf
    assert m.exact_epsilon() == m.implemented().exact_epsilon() == math.inf
    drawn = m.sample(np.tile(second, (20_000, 1)), rng=np.random.default_rng(0))
    assert not np.any((drawn[:, 0] == 0) & (drawn[:, 1] == 1))


def test_without_a_cutoff_the_loss_grows_by_half_of_epsilon_a_query() -> None:
    """Lyu, Su, Li 2017, on Algorithm 6: m queries answered 0 and m answered 1 tell at least m epsilon / 2."""
    m = SparseVector(1.0, 0.0, variant="lyu-6")
    for count in (1, 8, 64):
        second = np.array([1.0] * count + [-1.0] * count)
        y = [0] * count + [1] * count
        assert m.log_prob(y, np.zeros(2 * count)) - m.log_prob(y, second) >= count / 2
    assert m.exact_epsilon() == math.inf
    assert m.delta([0.0, 10.0]).tolist() == [1.0, 1.0]


@together("variant", ["correct", "lyu-2", "lyu-4"])
@together("epsilon", [0.01, 1.0, 50.0])
def test_no_pair_of_neighbours_is_worse(epsilon: float, variant: Any) -> None:
    """Three random pairs, moved by 1 in each coordinate, over all reports; delta, too."""
    rng, m, told = np.random.default_rng(3), SparseVector(epsilon, 0.0, 2, variant), 0.0
    ys = reports(4, m)
    for spread in (0.1, 1, 10):
        first = rng.normal(size=4) * spread
        p, q = (m.log_prob(ys, x) for x in (first, first + rng.choice([-1, 1], 4)))
        told = max(told, float(np.abs(p - q).max()))
        for level in (0.0, 0.5 * epsilon):
            found = float(np.sum(np.exp(p) * -np.expm1(np.minimum(level + q - p, 0))))
            assert found <= float(m.delta(level)) * (1 + 1e-9)
    assert 0.2 * m.exact_epsilon() < told <= m.exact_epsilon() * (1 + 1e-9)


@together("epsilon", [0.01, 0.3, 1.0, 7.0, 50.0])
@together("cutoff", [1, 3, 100])
def test_the_grid_spends_at_most_epsilon(cutoff: int, epsilon: float) -> None:
    """In exact arithmetic; its steps are a power of two, so that neighbours are at most 1 / spacing steps apart."""
    for variant, budget in (("correct", 1), ("lyu-2", 1), ("lyu-4", Fraction(1 + 6 * cutoff, 4))):
        grid = SparseVector(epsilon, 0.0, cutoff, variant).implemented()
        steps, (first, second) = Fraction(2) ** -grid.exponent(), grid.widths()
        told = (cutoff if variant == "lyu-2" else 1) * steps / first + 2 * cutoff * steps / second
        assert Fraction(epsilon) * budget * Fraction(999, 1000) < told <= Fraction(epsilon) * budget
        assert grid.exact_epsilon() == pytest.approx(float(told), rel=1e-15)


@together("library", ["numpy", "torch"])
@together("variant", ALL)
def test_the_sampler_draws_from_the_law(variant: Any, library: str) -> None:
    """False alarm 1e-6 for each report; with 30,000 draws a probability off by 0.02 is missed below 1e-4."""
    trials = 30_000
    for epsilon, cutoff in ((1.0, 1), (5.0, 2)):
        m = SparseVector(epsilon, 0.5, cutoff, variant)
        batch = np.tile(ANSWERS, (trials, 1))
        if library == "torch":
            drawn = np.asarray(m.sample(torch.from_numpy(batch), rng=torch.Generator().manual_seed(5)))
        else:
            drawn = m.sample(batch, rng=np.random.default_rng(5))
        ys = reports(4, m)
        logs, found = m.log_prob(ys, ANSWERS), [int((drawn == y).all(axis=-1).sum()) for y in ys]
        for hits, log in zip(found, logs, strict=True):
            assert_frequency(hits, trials, math.exp(log))
        assert sum(found) == trials
        assert m.implemented().log_prob(ys[0], ANSWERS) == pytest.approx(logs[0], abs=1e-5)


def test_a_threshold_that_is_not_renewed_is_seen() -> None:
    m, trials = SparseVector(5.0, 0.5, 2, "lyu-2"), 30_000
    drawn = SparseVector(5.0, 0.5, 2).sample(np.tile(ANSWERS, (trials, 1)), rng=np.random.default_rng(5))
    hits, chance = int((drawn == [0, 1, 0, 1]).all(axis=-1).sum()), math.exp(m.log_prob([0, 1, 0, 1], ANSWERS))
    with pytest.raises(AssertionError, match="is expected"):
        assert_frequency(hits, trials, chance)


def test_sums_cost_at_most_those_of_randomised_response() -> None:
    """And at least those of whether the report of the worst pair was given."""
    m = SparseVector(0.1, 0.0)
    loss = compose([(m, 100)])
    assert loss.epsilon(1e-6) == pytest.approx(compose([(RandomizedResponse(0.1), 100)]).epsilon(1e-6))
    assert loss.epsilon(0.0) == pytest.approx(10.0)
    given = [math.exp(m.log_prob([0, 0, 0, 0, 1], x)) for x in m.worst_pair()]
    event = FiniteChannel([[p, 1 - p] for p in given])
    assert loss.epsilon_bounds(1e-6)[0] == pytest.approx(compose([(event, 100)]).epsilon_bounds(1e-6)[0], abs=0.02)
    assert loss.epsilon_bounds(1e-6)[0] > 0.5
    assert compose([(SparseVector(0.1, 0.0, 50), 2)]).epsilon_bounds(1e-6)[0] == 0  # 250 queries are not integrated
    assert compose([(SparseVector(0.1, 0.0, variant="lyu-6"), 2)]).epsilon(1e-6) == math.inf


@together(
    ("arguments", "message"),
    [
        ((0.0, 0.0), r"^epsilon must be a finite number > 0"),
        ((1.0, math.inf), r"^threshold must be a finite number"),
        ((1.0, 0.0, 0), r"^cutoff must be a whole number >= 1, got 0"),
        ((1.0, 0.0, 1, "lyu-3"), r"^variant must report 0 and 1, got 'lyu-3', .* no finite epsilon"),
        ((1.0, 0.0, 1, "lyu-7"), r"^variant must be one of 'correct', 'lyu-1', 'lyu-2', 'lyu-4', .* got 'lyu-7'"),
        ((1.0, 0.0, 1, ["correct"]), r"^variant must be one of"),
    ],
)
def test_arguments_that_are_none_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparseVector(*arguments)


@together("x", [1.0, [], [math.nan], [1e30], ["a"], [[1.0], [math.inf]]])
def test_answers_that_are_none_are_refused(x: Any) -> None:
    with pytest.raises(ValueError, match=r"^x must "):
        SparseVector(1.0, 0.0).sample(x, rng=np.random.default_rng(0))


def test_what_the_grid_and_the_integral_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^cutoff must be at most 2\*\*27, and 2\*\*27 epsilon, to be sampled"):
        SparseVector(1.0, 0.0, 2**29).implemented()
    with pytest.raises(ValueError, match=r"^threshold must lie within 2\*\*61 steps"):
        SparseVector(1.0, 1e30).implemented()
    with pytest.raises(ValueError, match=r"^x must be the answers of at most 200 queries .* got 201"):
        SparseVector(1.0, 0.0).log_prob(np.zeros(201), np.zeros(201))
    with pytest.raises(ValueError, match=r"^y must be whole numbers in -1..1"):
        SparseVector(1.0, 0.0).log_prob([2], [0.0])
    with pytest.raises(ValueError, match=r"^y must be reports of shape"):
        SparseVector(1.0, 0.0).log_prob(0, 0.0)
