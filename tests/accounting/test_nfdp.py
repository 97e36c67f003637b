"""Noise-free differential privacy: releasing a sample, against the enumeration of all samples in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.privacy_loss import compose, privacy_loss
from ldp_audit.accounting.subsample import nfdp, subsample
from ldp_audit.mechanisms import Gaussian, RandomizedResponse, SubsampleRelease
from tests.accounting.sampled_experiments import (
    Data,
    Law,
    hockey_stick,
    shown,
    with_replacement,
    without_replacement,
)
from tests.together import together

SIZES = [
    (n, k, replacement) for n in range(1, 7) for k in range(5) for replacement in (False, True) if replacement or k <= n
]
LEVELS = [Fraction(1, 4), Fraction(2, 3), Fraction(1), Fraction(5, 4), Fraction(3), Fraction(10**9)]


def released(data: Data, k: int, *, replacement: bool) -> Law:
    """All samples, without the order of the draws, with their probabilities."""
    draws = with_replacement(data, k) if replacement else without_replacement(data, k)
    return shown(draws, lambda sample: {tuple(sorted(sample)): Fraction(1)})


def assert_profile(law: Any, first: Law, second: Law) -> None:
    for t in LEVELS:
        low, high = law.log_delta_bounds(math.log(t))
        assert low == high
        assert math.exp(low) == pytest.approx(float(hockey_stick(first, second, t)), rel=1e-12, abs=1e-15)


@together(("n", "k", "replacement"), SIZES)
def test_the_loss_is_that_of_all_samples(n: int, k: int, replacement: bool) -> None:
    data = tuple(range(n))
    both = {"replacement": replacement}
    own, other = (released(records, k, **both) for records in (data, (n, *data[1:])))
    (law,) = nfdp(n, k, adjacency="replace", **both).directions
    assert_profile(law, own, other)
    assert_profile(law.reversed(), own, other)
    remove, add = nfdp(n, k, **both).directions
    if n - 1 >= (min(k, 1) if replacement else k):
        fewer = released(data[1:], k, **both)
        assert_profile(remove, own, fewer)
        assert_profile(add, fewer, own)
        if k:
            with pytest.raises(AssertionError):  # the false twin: directions swapped
                assert_profile(remove, fewer, own)


@together(("n", "k", "replacement"), [(n, k, r) for n, k, r in SIZES if n < 6])
def test_a_record_more_never_tells_more_than_a_record_less(n: int, k: int, replacement: bool) -> None:
    data = tuple(range(n))
    own, more = (released(records, k, replacement=replacement) for records in (data, (*data, n)))
    remove, add = nfdp(n, k, replacement=replacement).directions
    for t in LEVELS:
        for law, pair in ((remove, (more, own)), (add, (own, more))):
            assert math.exp(law.log_delta_bounds(math.log(t))[1]) >= float(hockey_stick(*pair, t)) * (1 - 1e-12)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_it_is_the_mechanisms_profile_and_that_of_sampling_what_shows_everything(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 10**9))
    replacement = data.draw(st.booleans())
    k = data.draw(st.integers(0, 2 * n if replacement else n))
    level = data.draw(st.floats(0, 1e3))
    mechanism = SubsampleRelease(n, k, replacement)
    for adjacency in ("add/remove", "replace"):
        loss = nfdp(n, k, replacement=replacement, adjacency=adjacency)
        assert loss.exact
        assert loss.delta(level) == pytest.approx(float(mechanism.delta(level)), rel=1e-12)
        if adjacency == "add/remove" and (n == 1 if replacement else k == n) and k:
            continue  # the data without the record cannot answer, which `subsample` refuses
        kind = "with" if replacement else "without"
        same = subsample(RandomizedResponse(math.inf), kind=kind, n=n, k=k, adjacency=adjacency)
        assert same.delta_bounds(level) == pytest.approx(loss.delta_bounds(level), rel=1e-11)
    back = nfdp(n, k, replacement=replacement).directions[1]
    draws, taken = (k, 1) if replacement else (min(k, 1), k)  # each of them leaves the record out with 1 - taken/n
    left_out = 0.0 if not draws else -math.inf if taken == n else draws * math.log1p(-taken / n)
    if not replacement and n / 2 < k < n:
        left_out = math.log((n - k) / n)
    wanted = -math.expm1(min(level + left_out, 0.0))
    assert math.exp(back.log_delta_bounds(level)[0]) == pytest.approx(wanted, rel=1e-12, abs=1e-16)
    assert privacy_loss(mechanism).delta(level) == pytest.approx(float(mechanism.delta(level)), rel=1e-12)


@together(("adjacency", "replacement"), itertools.product(["add/remove", "replace"], [False, True]))
def test_the_ends(replacement: bool, adjacency: Any) -> None:
    def delta(n: int, k: int) -> float:
        return nfdp(n, k, replacement=replacement, adjacency=adjacency).delta(2.0)

    n = 10**9
    assert delta(1, 0) == delta(n, 0) == 0
    assert delta(1, 1) == 1
    assert delta(n, 1) == pytest.approx(1e-9, rel=1e-12)
    assert delta(n, n) == (pytest.approx(-math.expm1(n * math.log1p(-1 / n)), rel=1e-12) if replacement else 1)
    left = nfdp(n, n - 1, adjacency=adjacency).directions[-1].log_delta_bounds(-30.0)[0]
    assert left == pytest.approx(0.0, abs=1e-9)
    assert nfdp(n, 1, replacement=replacement, adjacency=adjacency).supremum() == math.inf


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize(("n", "k", "replacement"), [(4, 1, False), (3, 2, True), (100, 10, False), (10**9, 5, False)])
@pytest.mark.parametrize("rounds", [1, 2, 5, 10**6])
def test_fresh_rounds_release_a_record_once_or_more(
    n: int, k: int, replacement: bool, rounds: int, adjacency: Any
) -> None:
    loss = nfdp(n, k, replacement=replacement, adjacency=adjacency, rounds=rounds)
    left_out = k * math.log1p(-1 / n) if replacement else math.log1p(-k / n)
    assert loss.delta(5.0) == pytest.approx(-math.expm1(rounds * left_out), rel=1e-12)
    composed = compose([(nfdp(n, k, replacement=replacement, adjacency=adjacency), rounds)])
    for one, two in zip(loss.directions, composed.directions, strict=True):
        for level in (-0.5, 0.0, 0.2, 3.0):
            assert one.log_delta_bounds(level) == pytest.approx(two.log_delta_bounds(level), rel=1e-9, abs=1e-12)


def test_two_rounds_against_all_pairs_of_samples() -> None:
    n, k = 3, 1
    data = tuple(range(n))
    own, fewer = (released(records, k, replacement=False) for records in (data, data[1:]))
    first, second = ({(x, y): p * q for x, p in law.items() for y, q in law.items()} for law in (own, fewer))
    remove, add = nfdp(n, k, rounds=2).directions
    assert_profile(remove, first, second)
    assert_profile(add, second, first)
    with pytest.raises(AssertionError):  # one draw, used twice, is another thing
        assert_profile(nfdp(n, k).directions[0], first, second)


@together(
    ("arguments", "words"),
    [
        ({"n": 0, "k": 0}, "n must"),
        ({"n": 2, "k": 3}, "k must"),
        ({"n": 2, "k": -1}, "k must"),
        ({"n": 2, "k": 1, "rounds": 0}, "rounds must"),
        ({"n": 2, "k": 1, "rounds": True}, "rounds must"),
        ({"n": 2, "k": 1, "adjacency": "both"}, "adjacency must"),
        ({"n": 2, "k": 1, "replacement": 1}, "replacement must"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nfdp(**arguments)


@together("replacement", [False, True])
def test_the_mechanism_has_the_loss_of_its_neighbours(replacement: bool) -> None:
    """Would catch the loss of a replaced record in the place of a removed one's, whose sums are smaller."""
    release, noise = SubsampleRelease(10, 3, replacement), Gaussian(1.0)
    assert (release.adjacency, len(privacy_loss(release).directions)) == ("add/remove", 2)
    for adjacency in ("add/remove", "replace"):
        law, own = privacy_loss(release, adjacency), nfdp(10, 3, replacement=replacement, adjacency=adjacency)
        for level in (0.0, 0.1, 0.5, 3.0):
            assert law.delta_bounds(level) == own.delta_bounds(level)
    summed, wanted = (compose([(one, 1), (noise, 1)]) for one in (release, nfdp(10, 3, replacement=replacement)))
    assert summed.epsilon_bounds(0.31) == wanted.epsilon_bounds(0.31)
    assert not any("local reports" in one for one in summed.assumptions)
