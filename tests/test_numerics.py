"""Numbers of any numeric type are accepted and others refused in one way; a bounded cache drops the oldest first."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.accounting.subsample import nfdp
from ldp_audit.mechanisms import RandomizedResponse
from ldp_audit.numerics import BoundedCache, positive, probability, whole


@pytest.mark.parametrize("value", [5, np.int64(5), np.uint8(5), np.array(5)])
def test_whatever_is_a_whole_number_is_one(value: Any) -> None:
    assert whole(value, "n") == 5
    assert type(whole(value, "n")) is int


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_whatever_is_a_real_number_is_one(value: Any) -> None:
    assert probability(value, "rate") == positive(value, "scale") == 0.5
    assert type(probability(value, "rate")) is float


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "n must be a whole number in 1 .. 10, got True"),
        (np.True_, "n must be a whole number in 1 .. 10, got np.True_"),
        (5.0, "n must be a whole number in 1 .. 10, got 5.0"),
        ("5", "n must be a whole number in 1 .. 10, got '5'"),
        (None, "n must be a whole number in 1 .. 10, got None"),
        (0, "n must be a whole number in 1 .. 10, got 0"),
        (11, "n must be a whole number in 1 .. 10, got 11"),
        (10**400, "n must be a whole number in 1 .. 10, got a number of 1329 bits"),
    ],
)
def test_what_is_no_whole_number_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        whole(value, "n", 1, 10)


@pytest.mark.parametrize("value", [True, "0.5", None, float("nan"), -0.1, 1.1, 10**400])
def test_what_is_no_share_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\], got"):
        probability(value, "rate")


def test_whole_numbers_of_numpy_count_reports_rounds_and_uses() -> None:
    response = RandomizedResponse(1.0)
    assert shuffle(response, np.int64(5)).delta(0.5) == shuffle(response, 5).delta(0.5)  # type: ignore[arg-type]
    found = nfdp(np.int64(10), np.int64(3), rounds=np.int64(3))  # type: ignore[arg-type]
    assert found.delta(0.0) == nfdp(10, 3, rounds=3).delta(0.0)


def test_a_cached_value_is_computed_once_and_the_oldest_is_dropped_first() -> None:
    cache: BoundedCache[str, str | None] = BoundedCache(2)
    computed: list[str] = []

    def ask(key: str, value: str | None) -> str | None:
        def compute() -> str | None:
            computed.append(key)
            return value

        return cache.get(key, compute)

    assert [ask("a", "first"), ask("b", None), ask("a", "other"), ask("b", "other")] == ["first", None, "first", None]
    assert computed == ["a", "b"]
    assert ask("c", "third") == "third"
    assert ask("b", "other") is None
    assert ask("a", "again") == "again"
    assert computed == ["a", "b", "c", "a"]
