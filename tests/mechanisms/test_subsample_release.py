"""NFDP's sampling against exact enumeration of all samples, at every neighbour and in both directions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from ldp_audit.mechanisms import SubsampleRelease
from tests.frequency import assert_frequency

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


@pytest.mark.parametrize(("n", "k", "replacement"), SIZES)
def test_every_neighbour_in_both_directions(n: int, k: int, replacement: bool) -> None:
    m = SubsampleRelease(n, k, replacement)
    data = tuple(range(n))
    neighbours = {"remove": data[1:], "add": (*data, n), "substitute": (*data[1:], n)}
    here = law(data, k, replacement)
    assert here is not None
    largest = Fraction(0)
    for name, neighbour in neighbours.items():
        there = law(neighbour, k, replacement)
        if there is None:
            continue
        back = {"remove": "removed", "add": "added", "substitute": "substitute"}[name]
        for t in LEVELS:
            for direction, value in ((name, divergence(here, there, t)), (back, divergence(there, here, t))):
                assert m.pair_delta(direction, math.log(t)) == pytest.approx(float(value), rel=1e-12, abs=1e-15)  # type: ignore[arg-type]
                largest = max(largest, value)
    assert m.delta(0.0) >= float(largest) * (1 - 1e-12)


@pytest.mark.parametrize("replacement", [False, True])
def test_the_profile_is_flat_and_the_epsilon_vacuous(replacement: bool) -> None:
    m = SubsampleRelease(300, 18, replacement)
    assert len(set(m.delta([0.0, 1.0, math.log(1e9)]))) == 1
    assert m.exact_epsilon() == math.inf
    assert SubsampleRelease(300, 0, replacement).exact_epsilon() == 0
    assert SubsampleRelease(300, 0, replacement).delta(0.0) == 0


def test_the_published_pair() -> None:
    assert SubsampleRelease(2880, 18, replacement=True).published() == pytest.approx((0.006249, 0.006231), abs=1e-6)
    assert SubsampleRelease(300, 300).published() == (pytest.approx(math.log(301)), 1.0)


@pytest.mark.parametrize("n", [1, 10**9])
def test_the_ends_of_n(n: int) -> None:
    for k in (0, 1, n):
        for replacement in (False, True):
            delta = float(SubsampleRelease(n, k, replacement).delta(0.0))
            exact = -math.expm1(k * math.log1p(-1 / n)) if replacement and n > 1 else min(k / n, 1.0)
            assert delta == pytest.approx(exact, rel=1e-12)


def test_the_sampler_includes_a_record_as_often_as_it_says() -> None:
    """False alarm 1e-6."""
    rng, trials = np.random.default_rng(5), 4000
    for replacement in (False, True):
        m = SubsampleRelease(10, 4, replacement)
        hits = sum(3 in m.sample(np.arange(10), rng=rng) for _ in range(trials))
        assert_frequency(hits, trials, m.inclusion())


@pytest.mark.parametrize(
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
    with pytest.raises(ValueError, match="direction must be remove"):
        m.pair_delta("sideways", 0.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="x must hold 5 records"):
        m.sample(np.arange(4), rng=np.random.default_rng(0))
