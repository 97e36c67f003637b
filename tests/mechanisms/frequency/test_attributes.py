"""Several attributes: the laws of whole tuples by enumeration, over all pairs of tuples, and exact errors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from ldp_audit.mechanisms import (
    FakeData,
    HadamardResponse,
    HistogramEncoding,
    Laplace,
    LocalHashing,
    Piecewise,
    RandomizedResponse,
    SampledAttribute,
    SubsetSelection,
    Tuple,
    UnaryEncoding,
)
from ldp_audit.mechanisms.frequency.attributes import Attributes
from tests.frequency import assert_frequency
from tests.together import together

AMPLIFIED = math.log(2 * (math.e - 1) + 1)
"""The source's budget for each of two attributes at epsilon 1."""


def response(*arguments: tuple[float, int]) -> list[Any]:
    return [RandomizedResponse(*one) for one in arguments]


SMALL: list[Attributes] = [
    Tuple(response((1.0, 2), (0.5, 3))),
    Tuple([UnaryEncoding(1.0, 2), RandomizedResponse(0.3, 3)]),
    Tuple([LocalHashing(1.0, 3, 2), HadamardResponse(0.5, 3), RandomizedResponse(2.0, 2)]),
    SampledAttribute(response((1.0, 2), (0.5, 3), (1.0, 4))),
    SampledAttribute([UnaryEncoding(1.0, 2), RandomizedResponse(0.3, 3), SubsetSelection(1.5, 3)]),
    FakeData(response((1.0, 2), (1.0, 2))),
    FakeData(response((1.0, 2), (0.5, 3), (2.0, 4))),
    FakeData(response((AMPLIFIED, 3), (AMPLIFIED, 3))),
    FakeData(response((1.0, 3), (1.0, 3), (1.0, 3))),
    FakeData(response((3.0, 2), (0.0, 5))),
    FakeData(response((1.5, 4))),
]


def tuples(m: Attributes) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(one.k) for one in m.mechanisms)))


def law(m: Attributes, x: Any) -> np.ndarray:
    """The probabilities of all reports, as the definitions of the literature have them, from the attributes' own."""
    found = []
    for y in m.reports() or []:
        index, parts = (y[0], y[1:]) if isinstance(m, SampledAttribute) else (None, y)
        own = [math.exp(float(one.log_prob(*at))) for one, *at in zip(m.mechanisms, parts, x, strict=True)]
        if isinstance(m, Tuple):
            found.append(math.prod(own))
        elif index is not None:
            found.append(own[index] / len(own))
        else:
            fakes = [1 / one.k for one in m.mechanisms]
            mixed = [math.prod([*fakes[:j], one, *fakes[j + 1 :]]) for j, one in enumerate(own)]
            found.append(sum(mixed) / len(own))
    return np.array(found)


@together("m", SMALL)
def test_the_law_epsilon_and_profile_are_those_of_all_pairs_of_tuples(m: Attributes) -> None:
    """Brute force in both orders; for the hidden attribute also over pairs that differ in one alone."""
    rows = {x: law(m, x) for x in tuples(m)}
    largest, one_differs, levels = 0.0, 0.0, {0.0: 0.0, 0.2: 0.0, 0.7: 0.0, 0.9 * m.exact_epsilon(): 0.0}
    for x, p in rows.items():
        assert p.sum() == pytest.approx(1, rel=1e-12)
        assert [float(m.log_prob(y, x)) for y in m.reports() or []] == pytest.approx(np.log(p), rel=1e-11)
        for other, q in rows.items():
            ratio = float(np.max(np.log(p / q)))
            largest = max(largest, ratio)
            if sum(a != b for a, b in zip(x, other, strict=True)) == 1:
                one_differs = max(one_differs, ratio)
            for level in levels:
                levels[level] = max(levels[level], float(np.maximum(p - math.exp(level) * q, 0).sum()))
    assert m.exact_epsilon() == pytest.approx(largest, rel=1e-12)
    for level, divergence in levels.items():
        assert float(m.delta(level)) == pytest.approx(divergence, rel=1e-9, abs=1e-14)
        low, high = (math.exp(end) for end in m.pair_loss().log_delta_bounds(level))
        assert low * (1 - 1e-9) - 1e-14 <= divergence <= high * (1 + 1e-9) + 1e-14
    if isinstance(m, FakeData):
        assert m.attribute_epsilon() == pytest.approx(one_differs, rel=1e-12)
        assert m.attribute_epsilon() <= m.exact_epsilon()


def test_what_multi_freq_ldpy_claims_and_spends() -> None:
    """Its budget of two attributes at epsilon 1; docs/findings.md has 1.49 of [3, 3], its report 1.19 of [10, 2]."""
    equal, unequal = (
        FakeData(response((AMPLIFIED, first), (AMPLIFIED, second))) for first, second in ((3, 3), (10, 2))
    )
    assert equal.attribute_epsilon() == pytest.approx(1, rel=1e-12)
    assert equal.exact_epsilon() == pytest.approx(AMPLIFIED, rel=1e-12) == pytest.approx(1.49, abs=5e-3)
    assert unequal.attribute_epsilon() == pytest.approx(1.19, abs=5e-3)


def test_many_attributes_have_a_profile_by_their_counts() -> None:
    """Twelve equal ones and one more are 3 * 91 combinations; delta at 0 is the mean of theirs where d = 1."""
    m = FakeData(response(*[(1.0, 4)] * 12, (2.0, 5)))
    assert m.losses().positive.max() == pytest.approx(m.exact_epsilon(), rel=1e-12)  # type: ignore[union-attr]
    assert 0 < m.delta(0.0) < RandomizedResponse(2.0, 5).delta(0.0)
    lone = FakeData(response((1.0, 4)))
    assert lone.delta([0.0, 0.5]) == pytest.approx(RandomizedResponse(1.0, 4).delta([0.0, 0.5]), rel=1e-12)
    with pytest.raises(ValueError, match="mechanisms must have at most 1000000 combinations of labels"):
        FakeData(response(*[(1.0 + 0.1 * j, 4) for j in range(20)])).delta(0.0)


def test_responses_without_lies_tell_all() -> None:
    m = FakeData(response((math.inf, 2), (math.inf, 3)))
    assert m.exact_epsilon() == m.attribute_epsilon() == math.inf
    rows = law(m, (0, 0)), law(m, (1, 1))
    for level in (0.0, 1.0, 30.0):
        assert float(m.delta(level)) == pytest.approx(np.maximum(rows[0] - math.exp(level) * rows[1], 0).sum())
    mixed = FakeData(response((math.inf, 2), (1.0, 3)))
    assert mixed.exact_epsilon() == pytest.approx(float(np.max(np.log(law(mixed, (0, 0)) / law(mixed, (1, 1))))))


TELLING = [one for one in SMALL if not isinstance(one, SampledAttribute) and one.mechanisms[-1].exact_epsilon()]


@together("m", TELLING)
def test_estimates_are_unbiased_with_the_stated_variance(m: Attributes) -> None:
    """One report of each tuple, over all reports: those of n people are independent, and their estimate a mean."""
    listed = [[np.asarray([part]) for part in y] for y in m.reports() or []]
    found = [m.estimate(one) for one in listed]
    for x in tuples(m):
        p = law(m, x)
        for j, one in enumerate(m.mechanisms):
            shares, truth = np.array([each[j].frequencies for each in found]), np.eye(one.k)[x[j]]
            assert p @ shares == pytest.approx(truth, abs=1e-10)
            told = m.attribute_supports()[j] if isinstance(m, FakeData) else one.supports()
            assert p @ (shares - truth) ** 2 == pytest.approx(told.variance(1, truth), rel=1e-9)


@together("mechanism", [RandomizedResponse(1.0, 3), UnaryEncoding(0.5, 3), HistogramEncoding(1.0, 3)])
def test_a_sampled_attribute_s_error_has_the_variance_of_sampling_people(mechanism: Any) -> None:
    """n_j of n people without replacement, by the hypergeometric law; the worst over a grid of frequencies."""
    n, sampled = 12, 5
    m = SampledAttribute([mechanism, RandomizedResponse(1.0, 2)])
    x = np.stack([np.arange(n) % 3, np.arange(n) % 2], axis=-1)
    index, first, second = m.sample(x, rng=np.random.default_rng(2))
    index = (np.arange(n) >= sampled).astype(np.int64)
    first, second = mechanism.sample(x[:, 0], rng=np.random.default_rng(3)), second % 2
    found = m.estimate((index, first, second))[0]
    assert found.frequencies == pytest.approx(mechanism.estimate(first[:sampled]).frequencies)
    assert found.n == sampled

    def variance(owners: int) -> float:
        """Of people who have the value; numbers add noise of one variance."""
        total, had = 0.0, np.arange(sampled + 1)
        weights = stats.hypergeom(n, owners, sampled).pmf(had)
        for weight, count in zip(weights, had.tolist(), strict=True):
            noise = float(mechanism.frequency_variance(sampled, count / sampled))
            total += weight * (noise + (count / sampled - owners / n) ** 2)
        return total

    clipped = np.clip(found.frequencies, 0, 1)
    sampling = (n - sampled) / (sampled * (n - 1))
    expected = mechanism.frequency_variance(sampled, clipped) + sampling * clipped * (1 - clipped)
    assert found.standard_error == pytest.approx(np.sqrt(expected))
    for owners in range(n + 1):
        share = owners / n
        stated = float(mechanism.frequency_variance(sampled, share)) + sampling * share * (1 - share)
        assert stated == pytest.approx(variance(owners), rel=1e-9)
    grid = np.linspace(0, 1, 1001)
    errors = np.sqrt(mechanism.frequency_variance(sampled, grid) + sampling * grid * (1 - grid))
    assert found.worst_standard_error == pytest.approx(errors.max(), rel=1e-6)
    assert found.worst_standard_error >= errors.max() * (1 - 1e-12)


@together("library", ["numpy", "torch"])
@together("m", SMALL)
def test_samples_have_these_probabilities(m: Attributes, library: str) -> None:
    """False alarm 1e-6 for each of up to 40 reports, the likeliest."""
    x, trials = tuple(one.k - 1 for one in m.mechanisms), 20_000
    inputs = np.broadcast_to(np.array(x), (trials, len(x))).copy()
    if library == "torch":
        drawn = m.sample(torch.from_numpy(inputs), rng=torch.Generator().manual_seed(5))
    else:
        drawn = m.sample(inputs, rng=np.random.default_rng(5))
    rows = np.concatenate([np.asarray(part).reshape(trials, -1) for part in drawn], axis=1)
    p, listed = law(m, x), m.reports() or []
    for place in np.argsort(-p)[:40].tolist():
        key = np.concatenate([np.ravel(part) for part in listed[place]])
        assert_frequency(int(np.all(rows == key, axis=1).sum()), trials, p[place])


def test_a_sampler_that_tells_which_attribute_is_true_is_noticed() -> None:
    """Planted: fakes of a half of the labels, and an index that is always 0."""
    m = FakeData(response((1.0, 2), (1.0, 4)))
    reports = m.sample(np.zeros((20_000, 2), np.int64), rng=np.random.default_rng(0))
    p = law(m, (0, 0))[0]
    assert_frequency(int(((reports[0] == 0) & (reports[1] == 0)).sum()), 20_000, p)
    for planted in (reports[1] // 2, np.random.default_rng(1).integers(0, 4, 20_000)):
        with pytest.raises(AssertionError, match="where"):
            assert_frequency(int(((reports[0] == 0) & (planted == 0)).sum()), 20_000, p)


@together("m", SMALL)
def test_what_is_implemented_has_at_most_the_exact_epsilon(m: Attributes) -> None:
    for bits in (3, 8, 64):
        assert m.implemented(bits).exact_epsilon() <= m.exact_epsilon() + 1e-15
    assert m.implemented_epsilon() == pytest.approx(m.exact_epsilon(), rel=1e-9)


def test_attributes_of_different_kinds_are_a_tuple_of_arrays() -> None:
    m = Tuple([Piecewise(1.0), UnaryEncoding(1.0, 3), FakeData(response((1.0, 2), (1.0, 2)))])
    x = (np.zeros(4), np.array([0, 1, 2, 2], np.int8), np.zeros((4, 2), np.int64))
    number, bits, labels = m.sample(x, rng=np.random.default_rng(0))
    assert (number.dtype, bits.shape, len(labels)) == (np.float64, (4, 3), 2)
    assert m.log_prob((number, bits, labels), x).shape == (4,)
    assert m.exact_epsilon() == pytest.approx(3.0)
    assert m.reports() is None
    assert m.report_bits() == 64 + 3 + 2
    assert repr(m).startswith("Tuple([Piecewise(epsilon=1.0), ")
    split = Tuple([RandomizedResponse(0.1, 2)] * 3)
    assert split.exact_epsilon() >= 3 * 0.1  # in exact arithmetic, three times the float


@together(
    ("act", "match"),
    [
        (lambda: Tuple([]), "mechanisms must be one or more, got none"),
        (
            lambda: Tuple([Laplace(1.0)]),
            r"mechanisms must be local, any two of whose inputs are neighbours, got Laplace",
        ),
        (lambda: Tuple([3]), "mechanisms must be local, .* got 3"),
        (lambda: Tuple(3), "mechanisms must be a sequence of mechanisms, got 3"),  # type: ignore[arg-type]
        (lambda: FakeData([UnaryEncoding(1.0, 2)]), "mechanisms must be randomised responses, got UnaryEncoding"),
        (lambda: SampledAttribute([SMALL[0]]), "mechanisms must take single numbers or values, got Tuple"),
        (
            lambda: SMALL[0].sample([[0]], rng=np.random.default_rng(0)),
            r"x must have shape \(\.\.\., 2\), or be a tuple",
        ),
        (
            lambda: SMALL[0].sample((0, 1, 1), rng=np.random.default_rng(0)),
            "x must have the values of 2 attributes, got 3",
        ),
        (lambda: SMALL[0].sample([[0, 3]], rng=np.random.default_rng(0)), r"x must be whole numbers in 0\.\.2, got 3"),
        (lambda: SMALL[0].log_prob((0,), (0, 0)), "y must be a tuple of 2 arrays, got 1 of them"),
        (lambda: SMALL[0].estimate(np.zeros(2)), "reports must be a tuple of 2 arrays, got array"),
        (lambda: SMALL[3].estimate(([3], [0], [0], [0])), r"reports must be whole numbers in 0\.\.2, got 3"),
        (lambda: SMALL[3].estimate(([1], [0], [0], [0])), "reports must be one or more, got none"),
        (lambda: SMALL[3].estimate(([1], [0], [0, 1], [0])), "reports must be of one axis, got shapes"),
    ],
)
def test_what_is_refused(act: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        act()


def test_reports_that_are_none_have_no_probability() -> None:
    sampled, fake = SMALL[3], SMALL[5]
    for y in ((0, 0, 1, 0), (3, 0, 0, 0), (0, 2, 0, 0)):
        assert sampled.log_prob(y, (0, 0, 0)) == -math.inf
    for y in ((0, 2), (0.5, 0), (-1, 0)):
        assert fake.log_prob(y, (0, 0)) == -math.inf
