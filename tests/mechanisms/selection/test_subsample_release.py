"""NFDP's sampling against exact enumeration of all samples, at every neighbour and in both directions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import SubsampleRelease
from tests.frequency import assert_frequency
from tests.together import together

SIZES = [(n, k, False) for n in range(1, 6) for k in range(n + 1)] + [
    (n, k, True) for n in range(1, 5) for k in range(4)
]
LEVELS = [Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(3)]


def law(records: tuple, k: int, replacement: bool) -> dict | None:
    """The sample's exact law, as a multiset; None where k records cannot be drawn."""
    if (not replacement and k > len(records)) or (replacement and k and not records):
        return None
    samples = product(records, repeat=k) if replacement else combinations(records, k)
    counts = Counter(tuple(sorted(sample)) for sample in samples)
    total = sum(counts.values())
    return {sample: Fraction(count, total) for sample, count in counts.items()}


def divergence(p: dict, q: dict, t: Fraction) -> Fraction:
    return sum((max(Fraction(0), p.get(y, Fraction(0)) - t * q.get(y, Fraction(0))) for y in {*p, *q}), Fraction(0))


@together(("n", "k", "replacement"), SIZES)
def test_the_profile_is_the_largest_over_all_neighbours(n: int, k: int, replacement: bool) -> None:
    """A record removed, or replaced; in both orders."""
    m, data = SubsampleRelease(n, k, replacement), tuple(range(n))
    here = law(data, k, replacement)
    assert here is not None
    for t in LEVELS:
        largest = Fraction(0)
        for neighbour in (data[1:], (*data[1:], n)):
            there = law(neighbour, k, replacement)
            if there is not None:
                largest = max(largest, divergence(here, there, t), divergence(there, here, t))
        assert m.delta(math.log(t)) == pytest.approx(float(largest) if largest else m.inclusion(), rel=1e-12, abs=1e-15)


@together("replacement", [False, True])
def test_the_profile_is_flat_and_the_epsilon_vacuous(replacement: bool) -> None:
    m = SubsampleRelease(300, 18, replacement)
    assert len(set(m.delta([0.0, 1.0, math.log(1e9)]))) == 1
    assert m.exact_epsilon() == math.inf
    assert SubsampleRelease(300, 0, replacement).exact_epsilon() == 0
    assert SubsampleRelease(300, 0, replacement).delta(0.0) == 0


def test_the_published_pair() -> None:
    assert SubsampleRelease(2880, 18, replacement=True).published() == pytest.approx((0.006249, 0.006231), abs=1e-6)
    assert SubsampleRelease(300, 300).published() == (pytest.approx(math.log(301)), 1.0)


LARGE = [
    (n, k, replacement)
    for n in (1, 2, 1000, 10**9)
    for k in sorted({0, 1, 2, 7, n // 2, n - 1, n})
    for replacement in (False, True)
    if 0 <= k <= n or (replacement and k <= 7)
]


@together(("n", "k", "replacement"), LARGE)
def test_the_ends_of_n_and_k(n: int, k: int, replacement: bool) -> None:
    """At 60 digits."""
    m = SubsampleRelease(n, k, replacement)
    with mpmath.workdps(60):

        def left_out(size: int) -> mpmath.mpf:
            return mpmath.power(1 - mpmath.mpf(1) / size, k) if replacement else 1 - mpmath.mpf(k) / size

        assert m.inclusion() == pytest.approx(float(1 - left_out(n)), rel=1e-14, abs=0)
        assert m.delta([0.0, 5.0]).tolist() == [m.inclusion()] * 2
        published = float(-mpmath.log(left_out(n + 1)))
    assert m.published()[0] == pytest.approx(published, rel=1e-14, abs=0)


@together(("n", "k", "replacement"), SIZES)
def test_log_prob_is_that_of_the_ordered_draws(n: int, k: int, replacement: bool) -> None:
    """All samples of the data and one label more, in every order; also at both neighbours' sizes."""
    m = SubsampleRelease(n, k, replacement)
    for size in (n - 1, n, n + 1):
        if size < (min(k, 1) if replacement else k):
            with pytest.raises(ValueError, match=f"x must hold {n} records, or one more or less, and {k} to draw"):
                m.log_prob(np.zeros(k, dtype=int), size)
            continue
        possible = list(product(range(size), repeat=k) if replacement else permutations(range(size), k))
        samples = list(product(range(size + 1), repeat=k))
        logs = m.log_prob(np.array(samples, dtype=int).reshape(len(samples), k), size)
        expected = {sample: -math.log(len(possible)) for sample in possible}
        assert logs == pytest.approx(np.array([expected.get(one, -math.inf) for one in samples]), rel=1e-14, abs=0)


def test_labels_may_be_any_numbers_or_texts() -> None:
    m = SubsampleRelease(3, 2)
    assert m.log_prob(["b", "c"], ["a", "b", "c"]) == pytest.approx(-math.log(6))
    assert m.log_prob([[["b", "b"]], [["x", "a"]]], ["a", "b", "c"]).tolist() == [[-math.inf], [-math.inf]]
    assert m.log_prob([[7.5, -1.0], [7.5, 0.0]], [7.5, -1.0, 3.0]) == pytest.approx([-math.log(6), -math.inf])
    assert m.log_prob([0.5, 1.0], 3) == -math.inf
    assert SubsampleRelease(3, 2, replacement=True).log_prob([1, 1], 3) == pytest.approx(-2 * math.log(3))


@together("k", [1, 2, 1000])
def test_log_prob_keeps_its_digits_for_large_data(k: int) -> None:
    exact = -math.fsum(math.log(10**9 - i) for i in range(k))
    assert SubsampleRelease(10**9, k).log_prob(np.arange(k), 10**9) == pytest.approx(exact, rel=1e-14, abs=0)
    exact = -k * math.log(10**9)
    assert SubsampleRelease(10**9, k, replacement=True).log_prob(np.zeros(k), 10**9) == pytest.approx(
        exact, rel=1e-14, abs=0
    )


@together(
    ("x", "y", "message"),
    [
        (7, [0, 1], "x must hold 5 records, or one more or less, and 2 to draw; got 7"),
        ([1, 1, 2, 3, 4], [1, 2], "x must be a whole number of records, or an array of different labels"),
        (-5, [0, 1], "x must be a whole number of records"),
        (5.0, [0, 1], "x must be a whole number of records"),
        ([1.0, 2.0, 3.0, 4.0, math.nan], [1, 2], "x must be a whole number of records"),
        (5, [0, 1, 2], r"y must have shape \(..., 2\), got \(3,\)"),
        (5, 1, r"y must have shape \(..., 2\), got \(\)"),
        (5, ["0", "1"], "y must be labels as in x, numbers, got dtype"),
        (list("abcde"), [0, 1], "y must be labels as in x, texts, got dtype"),
    ],
)
def test_what_is_no_sample_or_data_is_named(x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SubsampleRelease(5, 2).log_prob(y, x)


@together(
    ("n", "k", "replacement", "library"),
    [
        *((4, 2, False, library) for library in ("numpy", "torch")),
        *((3, 2, True, library) for library in ("numpy", "torch")),
        (3, 3, False, "numpy"),
        (4, 3, False, "numpy"),
        (2, 1, True, "torch"),
    ],
)
def test_every_ordered_sample_is_equally_likely(n: int, k: int, replacement: bool, library: str) -> None:
    """False alarm 1e-6 a sample; with 3000 draws of 24 samples, half or twice the probability is missed below 1e-4."""
    m, trials = SubsampleRelease(n, k, replacement), 3000
    x: Any = np.arange(n) if library == "numpy" else torch.arange(n)
    rng: Any = np.random.default_rng(5) if library == "numpy" else torch.Generator().manual_seed(5)
    counts = Counter(tuple(m.sample(x, rng=rng).tolist()) for _ in range(trials))
    possible = list(product(range(n), repeat=k) if replacement else permutations(range(n), k))
    assert set(counts) <= set(possible)
    for sample in possible:
        assert_frequency(counts[sample], trials, math.exp(m.log_prob(sample, n)))


@together(("n", "k"), [(1, 0), (1, 1), (10, 5), (10, 6), (20_000, 5000), (20_000, 20_000), (1_000_000, 3)])
def test_no_record_is_drawn_twice(n: int, k: int) -> None:
    for x, rng in ((np.arange(n), np.random.default_rng(6)), (torch.arange(n), torch.Generator().manual_seed(6))):
        drawn = SubsampleRelease(n, k).sample(x, rng=rng)
        assert drawn.shape == (k,)
        assert drawn.dtype == x.dtype
        assert len(set(drawn.tolist())) == k


class ShortWords(np.random.Generator):
    """A generator whose words have three bits that vary, so that many agree."""

    def integers(self, *arguments: Any, **options: Any) -> Any:
        return super().integers(*arguments, **options) >> np.uint64(61)


def test_keys_that_agree_are_drawn_again() -> None:
    """All orders of four records stay equally likely, false alarm 1e-6; sorting tied keys favours the earlier ones."""
    m, rng, trials = SubsampleRelease(4, 4), ShortWords(np.random.PCG64(8)), 3000
    counts = Counter(tuple(m.sample(np.arange(4), rng=rng).tolist()) for _ in range(trials))
    for order in permutations(range(4)):
        assert_frequency(counts[order], trials, 1 / 24)


def test_records_of_any_shape_keep_their_kind() -> None:
    images = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
    drawn = SubsampleRelease(6, 4).sample(images, rng=np.random.default_rng(0))
    assert (drawn.shape, drawn.dtype) == ((4, 2, 2), np.float32)
    assert all(any(np.array_equal(one, image) for image in images) for one in drawn)
    tensors = SubsampleRelease(6, 2, replacement=True).sample(torch.tensor(images), rng=torch.Generator())
    assert (tensors.shape, tensors.dtype) == (torch.Size((2, 2, 2)), torch.float32)
    assert SubsampleRelease(3, 1).sample(["a", "b", "c"], rng=np.random.default_rng(0))[0] in {"a", "b", "c"}


def test_nothing_is_rounded_by_the_sampler() -> None:
    m = SubsampleRelease(10, 3)
    assert m.implemented() is m
    with pytest.raises(ValueError, match="bits must be a whole number >= 2 and <= 64, got 65"):
        m.implemented(65)


@together(
    ("arguments", "message"),
    [
        ((0, 0), "n must be a whole number >= 1, got 0"),
        ((5, -1), "k must be a whole number >= 0, got -1"),
        ((5, 6), "k must be at most n = 5 without replacement, got 6"),
        ((5, 1, 1), "replacement must be True or False, got 1"),
    ],
)
def test_bad_parameters_are_named(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SubsampleRelease(*arguments)


def test_bad_questions_are_named() -> None:
    m = SubsampleRelease(5, 2)
    with pytest.raises(ValueError, match="x must hold 5 records"):
        m.sample(np.arange(4), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"rng must be a numpy.random.Generator or a torch.Generator, got None"):
        m.sample(np.arange(5), rng=None)
