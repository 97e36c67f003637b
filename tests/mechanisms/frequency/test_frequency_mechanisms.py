"""Mechanisms that tell frequencies: what each says of values, against its law; variances against the literature."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ldp_audit.mechanisms import (
    Gaussian,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from ldp_audit.mechanisms.mechanism import summed_delta
from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.supports import FrequencyEstimate
from tests.frequency import assert_frequency
from tests.together import together

SMALL: list[Any] = [
    RandomizedResponse(1.0, 5),
    UnaryEncoding(1.0, 4),
    UnaryEncoding(0.3, 4, "symmetric"),
    UnaryEncoding.of(0.75, 0.125, 3),
    LocalHashing(1.0, 3, 2),
    LocalHashing(2.0, 5, 3),
    LocalHashing(0.5, 4, 4),
    LocalHashing(1.0, 3, 6),
    SubsetSelection(1.0, 5, 2),
    SubsetSelection(1.0, 2),
    SubsetSelection(3.0, 6, 5),
    HadamardResponse(1.0, 5),
    HadamardResponse(1.0, 2),
    HadamardResponse(2.0, 5, "columns"),
    HadamardResponse(2.0, 3, "columns"),
]
"""With few reports, all of which are listed; even, odd, prime and composite sizes."""


def law(m: Any, x: int) -> np.ndarray:
    """The probabilities of all reports."""
    return np.exp([float(m.log_prob(y, x)) for y in m.reports()])


def supported(m: Any) -> np.ndarray:
    """Whether each report supports each value, by counting it alone; shape (reports, k)."""
    return np.array([m.supports().count(np.asarray([y]))[1] for y in m.reports()])


@together("m", SMALL)
def test_every_pair_of_values_has_the_exact_epsilon_and_the_profile(m: Any) -> None:
    """Brute force over all pairs, in both orders."""
    rows = [law(m, x) for x in range(m.k)]
    for p, q in itertools.permutations(rows, 2):
        assert p.sum() == pytest.approx(1, rel=1e-12)
        assert np.max(np.log(p / q)) == pytest.approx(m.exact_epsilon(), rel=1e-12)
        for level in (0.0, 0.2, 0.9):
            divergence = np.maximum(p - math.exp(level) * q, 0).sum()
            assert divergence == pytest.approx(float(m.delta(level)), rel=1e-10, abs=1e-15)
            assert float(summed_delta(m, level)) == pytest.approx(divergence, rel=1e-10, abs=1e-15)


@together("m", SMALL)
def test_the_probabilities_of_support_are_those_of_the_law(m: Any) -> None:
    """The own value's and every other one's: 1 in 10**12, so that a count of a neighbouring value is seen."""
    found, seen = m.supports(), supported(m)
    assert set(np.unique(seen)) <= {0, 1}
    for x, v in itertools.product(range(m.k), repeat=2):
        chance = float(law(m, x) @ seen[:, v])
        assert chance == pytest.approx(found.own if x == v else found.other, rel=1e-12)
    assert found.own + found.missed == pytest.approx(1, rel=1e-15)


@together("m", SMALL)
def test_the_estimate_is_unbiased_and_has_the_stated_variance(m: Any) -> None:
    """One report of each value, over all reports; those of n clients are independent, and their estimates a mean."""
    estimates = np.array([m.estimate(np.asarray([y])).frequencies for y in m.reports()])
    for x in range(m.k):
        mean, truth = law(m, x) @ estimates, (np.arange(m.k) == x).astype(np.float64)
        assert mean == pytest.approx(truth, abs=1e-10)
        assert law(m, x) @ (estimates - mean) ** 2 == pytest.approx(m.frequency_variance(1, truth), rel=1e-10)
    shares = np.linspace(0, 1, 5)
    at_ends = m.frequency_variance(1, [0.0, 1.0])
    assert m.frequency_variance(40, shares) == pytest.approx(((1 - shares) * at_ends[0] + shares * at_ends[1]) / 40)


def test_the_estimate_of_two_reports_is_the_mean_of_the_estimates_of_each() -> None:
    for m in SMALL:
        first, second = m.reports()[0], m.reports()[-1]
        alone = [m.estimate(np.asarray([y])).frequencies for y in (first, second)]
        assert m.estimate(np.asarray([first, second])).frequencies == pytest.approx(np.mean(alone, axis=0), abs=1e-12)


def _ye_barg(t: Any, k: int, w: int) -> Any:
    """n times the variance at frequency 0, from the probabilities that a set has one value, and two."""
    inside = w * t / (w * t + k - w)
    other = (inside * (w - 1) + (1 - inside) * w) / (k - 1)
    return other * (1 - other) / (inside - other) ** 2


LITERATURE: list[tuple[Callable[[float, int], Any], Callable[[Any, int, Any], Any]]] = [
    (RandomizedResponse, lambda t, k, _: (k - 2 + t) / (t - 1) ** 2),
    (UnaryEncoding, lambda t, _k, _: 4 * t / (t - 1) ** 2),
    (lambda e, k: UnaryEncoding(e, k, "symmetric"), lambda t, _k, _: mpmath.sqrt(t) / (mpmath.sqrt(t) - 1) ** 2),
    (LocalHashing, lambda t, _k, m: (t - 1 + m.g) ** 2 / ((t - 1) ** 2 * (m.g - 1))),
    (lambda e, k: LocalHashing(e, k, 2), lambda t, _k, _: (t + 1) ** 2 / (t - 1) ** 2),
    (HadamardResponse, lambda t, _k, _: (t + 1) ** 2 / (t - 1) ** 2),
    (lambda e, k: HadamardResponse(e, k, "columns"), lambda t, _k, _: (t + 1) ** 2 / (t - 1) ** 2),
    (SubsetSelection, lambda t, k, m: _ye_barg(t, k, m.w)),
]
"""n times the variance of the estimate of a frequency near 0: Wang et al. 2017, Table 1; Acharya et al. 2019; Ye and
Barg 2018."""


@together(("build", "formula"), LITERATURE)
def test_the_variance_of_a_rare_value_is_that_of_the_literature(build: Any, formula: Any) -> None:
    for epsilon, k in itertools.product((0.1, 1.0, 4.0, 10.0), (2, 20, 1024)):
        m = build(epsilon, k)
        with mpmath.workdps(40):
            expected = float(formula(mpmath.exp(epsilon), k, m))
        assert m.frequency_variance(1) == pytest.approx(expected, rel=1e-9)
        assert m.frequency_variance(250) == pytest.approx(expected / 250, rel=1e-9)


def test_the_chosen_size_of_a_set_has_the_least_variance() -> None:
    for epsilon, k in itertools.product((0.2, 1.0, 3.0), (2, 7, 30)):
        best = float(SubsetSelection(epsilon, k).frequency_variance(1))
        assert best <= min(float(SubsetSelection(epsilon, k, w).frequency_variance(1)) for w in range(1, k)) * (
            1 + 1e-12
        )


@together("g", [2, 3, 4, 6, 9, 15, 25, 35])
def test_hashes_of_two_values_agree_for_exactly_one_seed_in_g(g: int) -> None:
    """All seeds. A family whose differences are no units, such as digits in base g for a composite g, fails."""
    k = 12
    m = LocalHashing(1.0, k, g)
    if m.seeds() > 2**16:
        m, k = LocalHashing(1.0, 3, g), 3
    table = m.hash(np.arange(m.seeds())[:, None], np.arange(k))
    assert table.min() >= 0
    assert table.max() < g
    for a, b in itertools.combinations(range(k), 2):
        assert np.count_nonzero(table[:, a] == table[:, b]) * g == m.seeds()


@together("size", [(2, 1), (1000, 269), (1000, 999), (20_000, 5379)])
def test_the_bits_of_a_set_are_those_of_the_number_of_sets(size: tuple[int, int]) -> None:
    k, w = size
    assert SubsetSelection(1.0, k, w).report_bits() == pytest.approx(math.log2(math.comb(k, w)), rel=1e-12)


def test_of_a_million_values_the_bits_of_a_set_do_not_take_its_binomial_coefficient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which took 14 seconds, of each of five calls."""
    monkeypatch.setattr(math, "comb", None)
    assert SubsetSelection(1.0, 10**6).report_bits() == pytest.approx(839_938, rel=1e-3)


def test_the_number_of_hashes_is_near_the_best_one_and_its_seeds_fit() -> None:
    for epsilon, k in itertools.product((0.01, 1.0, 2.0, 4.7, 6.0, 50.0), (2, 3, 100, 1024, 10**6)):
        m = LocalHashing(epsilon, k)
        assert m.seeds() <= 2**62
        assert abs(m.g - min(math.exp(epsilon) + 1, max(k, 2), 2**20)) <= 2
    with pytest.raises(ValueError, match=r"g must have at most 2\*\*62 seeds for 1024 values, got 128"):
        LocalHashing(1.0, 1024, 128)


GIVEN = [
    *(UnaryEncoding(epsilon, 3, kind) for epsilon in (0.01, 1.0, 50.0) for kind in ("optimised", "symmetric")),
    *(UnaryEncoding.of(*pair, 3) for pair in ((0.5, 0.25), (0.999, 1e-12), (0.3, 0.2999999), (1e-9, 1e-12))),
]


@together("m", GIVEN)
@together("bits", [2, 3, 24, 64])
def test_the_words_of_bits_never_exceed_the_claimed_ratio(m: UnaryEncoding, bits: int) -> None:
    """Exact fractions; one word fewer for another's bit, or more for the own, exceeds it."""
    own, other = m.implemented(bits).counts()
    total = 2**bits
    assert 0 < other <= own < total
    with mpmath.workdps(60):
        ratio = Fraction(own * (total - other), (total - own) * other)
        if m.kind == "given":
            p, q = Fraction(m.p), Fraction(m.q)  # type: ignore[arg-type]
            assert ratio <= p * (1 - q) / ((1 - p) * q)
        else:
            assert mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) <= mpmath.mpf(m.epsilon)
        if own > other > 1:
            less = mpmath.mpf(own * (total - other + 1)) / ((total - own) * (other - 1))
            symmetric = mpmath.mpf(total - other + 1) ** 2 / (other - 1) ** 2
            assert mpmath.log(symmetric if m.kind == "symmetric" else less) > mpmath.mpf(m.epsilon) * (1 - 1e-15)


class _Near(NumpySource):
    """Words at and around the limits: 16 bits that do not decide, and then every side of the limit."""

    def __init__(self, prefixes: np.ndarray, words: np.ndarray) -> None:
        super().__init__(np.random.default_rng(0))
        self.prefixes, self.given = prefixes, words

    def short_words(self, count: int) -> np.ndarray:
        return np.resize(self.prefixes, count).copy()

    def lengthened(self, short: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.resize(self.given, at.shape)


@together("kind", ["optimised", "symmetric"])
def test_where_16_bits_do_not_decide_the_whole_word_does(kind: Any) -> None:
    law = UnaryEncoding(1.3, 2, kind).implemented()
    own, other = (count - 2**63 for count in law.counts())
    for word in (own - 1, own, own + 1, other - 1, other, other + 1):
        source = _Near(np.array([word >> 48], np.int16), np.array([word]))
        drawn = law.draw(np.array([0, 1, 1]), source)
        expected = [[word < own, word < other], [word < other, word < own], [word < other, word < own]]
        assert drawn.tolist() == [[int(one) for one in row] for row in expected]


WIDE = [
    UnaryEncoding(1.0, 300),
    UnaryEncoding(1.0, 300, "symmetric"),
    LocalHashing(1.0, 300),
    SubsetSelection(1.0, 300),
    HadamardResponse(1.0, 300),
    HadamardResponse(1.0, 300, "columns"),
]


@together("m", WIDE)
@together("library", ["numpy", "torch"])
def test_estimates_of_many_values_are_near_their_truth(m: Any, library: str) -> None:
    """Each count of support is a sum of Bernoulli variables: false alarm 1e-6 for each of six values.

    A bit of a neighbouring value counted instead is seen for the frequent value with certainty.
    """
    values = np.repeat([0, 7, 299], [3000, 2000, 1000])
    if library == "torch":
        reports = m.sample(torch.from_numpy(values), rng=torch.Generator().manual_seed(5))
    else:
        reports = m.sample(values, rng=np.random.default_rng(5))
    found = m.supports()
    n, counts = found.count(reports)
    assert n == len(values)
    for v, true in ((0, 3000), (7, 2000), (299, 1000), (1, 0), (8, 0), (298, 0)):
        assert_between(int(counts[v]), [(true, found.own), (n - true, found.other)])


def assert_between(count: int, parts: list[tuple[int, float]]) -> None:
    """A sum of independent Bernoulli variables, by Bernstein's inequality, at a false-alarm rate of 1e-6."""
    mean = sum(times * chance for times, chance in parts)
    variance = sum(times * chance * (1 - chance) for times, chance in parts)
    tail = math.log(2e6)
    assert abs(count - mean) <= math.sqrt(2 * variance * tail + (tail / 3) ** 2) + tail / 3


def test_a_wrong_count_is_seen() -> None:
    """The test above fails for reports of the neighbouring value."""
    m, values = UnaryEncoding(1.0, 300), np.repeat([1, 8, 298], [3000, 2000, 1000])
    _, counts = m.supports().count(m.sample(values, rng=np.random.default_rng(5)))
    with pytest.raises(AssertionError):
        assert_between(int(counts[0]), [(3000, m.supports().own), (3000, m.supports().other)])


@together("m", SMALL)
def test_sampled_reports_have_their_probabilities(m: Any) -> None:
    """False alarm 1e-6 for each report."""
    trials = 20_000
    drawn = m.sample(np.ones(trials, np.int64), rng=np.random.default_rng(3)).reshape(trials, -1)
    for y, chance in zip(m.reports(), law(m, 1), strict=True):
        assert_frequency(int(np.all(drawn == np.ravel(y), axis=1).sum()), trials, float(chance))


@given(st.lists(st.floats(-0.5, 1.0), min_size=2, max_size=6))
def test_the_step_norm_sub_is_the_projection_on_the_simplex(shares: list[float]) -> None:
    """Against a general minimiser, and by its own property: no farther from any point of the simplex."""
    given_shares = np.array(shares)
    found = FrequencyEstimate(10, given_shares, np.zeros(len(shares)), 0.1).consistent("norm-sub").frequencies
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    uniform = np.full(len(shares), 1 / len(shares))
    best = minimize(
        lambda point: ((point - given_shares) ** 2).sum(),
        uniform,
        bounds=[(0, 1)] * len(shares),
        constraints=[{"type": "eq", "fun": lambda point: point.sum() - 1}],
    )
    assert ((found - given_shares) ** 2).sum() <= best.fun + 1e-9
    for corner in (*np.eye(len(shares)), uniform):
        assert np.linalg.norm(found - corner) <= np.linalg.norm(given_shares - corner) + 1e-12


def test_the_other_steps_and_the_sentence_of_an_estimate() -> None:
    estimate = FrequencyEstimate(10, np.array([-0.2, 0.5, 0.9]), np.full(3, 0.1), 0.25)
    assert estimate.consistent("clip").frequencies.tolist() == [0.0, 0.5, 0.9]
    assert estimate.consistent("norm").frequencies == pytest.approx(np.array([-0.8, 1.3, 2.5]) / 3)
    assert estimate.counts == pytest.approx([-2.0, 5.0, 9.0])
    assert str(estimate) == "frequencies -0.2, 0.5, 0.9; standard error at most 0.25 from 10 reports"
    assert "and 10 more" in str(replace(estimate, frequencies=np.zeros(20)))
    with pytest.raises(ValueError, match=r'step must be "clip", "norm" or "norm-sub", got \'sum\''):
        estimate.consistent("sum")  # type: ignore[arg-type]


@together(
    ("build", "message"),
    [
        (lambda: UnaryEncoding(0.0, 3), r"epsilon must be a finite number > 0"),
        (lambda: UnaryEncoding(1.0, 1), r"k must be a whole number >= 2, got 1"),
        (lambda: UnaryEncoding(1.0, 3, "best"), r"kind must be .*, got 'best'"),  # type: ignore[arg-type]
        (lambda: UnaryEncoding(1.0, 3, "given"), r"p and q must be given where kind is"),
        (lambda: UnaryEncoding(1.0, 3, p=0.5, q=0.1), r"p and q must be given where kind is"),
        (lambda: UnaryEncoding(1.0, 3, "given", 0.5, 0.1), r"epsilon must be 2.197\d*, that of p and q, got 1.0"),
        (lambda: UnaryEncoding.of(0.2, 0.5, 3), r"0 < q < p < 1, got 0.2 and 0.5"),
        (lambda: UnaryEncoding.of(1.0, 0.5, 3), r"0 < q < p < 1, got 1.0 and 0.5"),
        (lambda: UnaryEncoding(1.0, 3).sample([3], rng=np.random.default_rng(0)), r"x must be whole numbers in 0..2"),
        (lambda: UnaryEncoding(1.0, 3).log_prob([1, 0], 0), r"y must be bits of shape \(..., 3\), got shape \(2,\)"),
        (lambda: UnaryEncoding(1.0, 3).estimate([[0, 2, 1]]), r"reports must be whole numbers in 0..1"),
        (lambda: UnaryEncoding(1.0, 3).estimate([[0, 1]]), r"reports must have shape \(n, 3\), got \(1, 2\)"),
        (lambda: UnaryEncoding(1.0, 3).estimate([]), r"reports must be one or more, got none"),
        (lambda: UnaryEncoding(1.0, 3).estimate([[0.0, math.nan, 1.0]]), r"reports must be whole numbers in 0..1"),
        (lambda: RandomizedResponse(1.0, 3).estimate([3]), r"reports must be whole numbers in 0..2, got 3"),
        (lambda: RandomizedResponse(0.0, 3).estimate([1]), r"tell no frequencies: epsilon is 0"),
        (lambda: RandomizedResponse(1.0, 3).frequency_variance(0), r"n must be a whole number >= 1, got 0"),
        (lambda: RandomizedResponse(1.0, 3).frequency_variance(5, 1.5), r"frequency must lie in \[0.0, 1.0\], got 1.5"),
        (lambda: Gaussian(1.0).frequency_variance(5), r"reports must support values to estimate their frequencies"),
        (lambda: LocalHashing(1.0, 3, 1), r"g must be a whole number >= 2"),
        (lambda: LocalHashing(1.0, 3).estimate([[0, 9]]), r"reports must be whole numbers in 0..2, got 9"),
        (lambda: LocalHashing(1.0, 3).log_prob([1], 0), r"y must be pairs \(seed, hash\)"),
        (lambda: SubsetSelection(1.0, 3, 3), r"w must be a whole number in 1 .. 2, got 3"),
        (
            lambda: SubsetSelection(1.0, 5, 2).estimate([[2, 1]]),
            r"reports must be 2 different values each, in ascending",
        ),
        (lambda: HadamardResponse(1.0, 3, "row"), r"kind must be .*, got 'row'"),  # type: ignore[arg-type]
        (lambda: HadamardResponse(1.0, 3).estimate([[0, 2]]), r"reports must be whole numbers in 0..1, got 2"),
        (lambda: HadamardResponse(1.0, 3).log_prob(1, 0), r"y must be pairs \(column, bit\)"),
    ],
)
def test_bad_input_is_named(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_reports_that_are_none_have_no_probability() -> None:
    for m, y in (
        (UnaryEncoding(1.0, 2), [0.5, 1]),
        (LocalHashing(1.0, 3, 2), [0, 2]),
        (SubsetSelection(1.0, 4, 2), [2, 1]),
        (HadamardResponse(1.0, 3), [4, 0]),
        (HadamardResponse(1.0, 3, "columns"), 4),
    ):
        assert m.log_prob(y, 0) == -math.inf
