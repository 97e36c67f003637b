"""The search for a crossing: never on the wrong side, within the tolerance, in few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.calibrate import Steps

Height = Callable[[float], float]

FALLING: dict[str, tuple[Height, float, float]] = {
    "straight in ln value": (lambda x: -2.3 * math.log(x / 7.7), 1e-12, 1e12),
    "bent": (lambda x: 3 - x**1.7, 1e-6, 1e6),
    "infinite on the safe side": (lambda x: math.inf if x < 2 else -math.log(x - 1.9), 0.1, 100.0),
    "a step": (lambda x: 1.0 if x <= 3.123456789 else -1.0, 1.0, 10.0),
    "steps": (lambda x: 10.5 - math.ceil(x), 0.5, 300.0),
    "singular next to an end": (lambda x: math.log(-math.log(x - 1) / 13) if 1 < x < 2 else -5.0, 1 + 1e-15, 1.5),
    "flat": (lambda x: 1e-9 * (5 - x), 0.01, 1000.0),
    "negative": (lambda x: -3 - x, -1e5, -1e-5),
    "through 0": (lambda x: 1e-3 - x, -1.0, 2.0),
}


def _narrowed(
    height: Height, safe: float, unsafe: float, tolerance: float, *, whole: bool = False
) -> tuple[Steps, int]:
    steps = Steps({x: height(x) for x in (safe, unsafe)}, safe, unsafe, tolerance, whole)
    looks = 0
    while (between := steps.between()) is not None:
        looks += 1
        assert min(steps.safe, steps.unsafe) < between < max(steps.safe, steps.unsafe)
        steps.add(between, height(between), safe=height(between) >= 0)
        assert looks < 200
    return steps, looks


@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-12])
def test_a_crossing_is_closed_in_from_both_sides(name: str, tolerance: float) -> None:
    height, low, high = FALLING[name]
    steps, _ = _narrowed(height, low, high, tolerance)
    assert steps.unsafe is not None
    assert height(steps.safe) >= 0 > height(steps.unsafe)
    assert abs(steps.unsafe - steps.safe) <= tolerance * min(abs(steps.safe), abs(steps.unsafe)) * (1 + 1e-9)


@pytest.mark.parametrize(("name", "most"), [("straight in ln value", 3), ("bent", 12), ("steps", 60), ("a step", 60)])
def test_smooth_functions_take_few_looks_and_others_no_more_than_some_halvings(name: str, most: int) -> None:
    height, low, high = FALLING[name]
    assert _narrowed(height, low, high, 1e-6)[1] <= most


@settings(max_examples=60)
@given(st.floats(1, 1e9), st.floats(0.1, 5), st.integers(0, 3))
def test_whole_numbers_end_at_neighbours(crossing: float, slope: float, kind: int) -> None:
    of: list[Height] = [
        lambda x: slope * math.log(crossing / x),
        lambda x: slope * (crossing - x),
        lambda x: 1.0 if x <= crossing else -1.0,
        lambda x: math.inf if x <= crossing else -slope * math.log(x),
    ]
    high = 2 * 10**9
    steps, looks = _narrowed(of[kind], 1, high, 1e-6, whole=True)
    assert steps.safe == math.floor(crossing)
    assert steps.unsafe == steps.safe + 1
    assert looks <= 100


@pytest.mark.parametrize("way", [1, -1])
def test_steps_ahead_reach_beyond_the_crossing_and_never_beyond_the_end(way: int) -> None:
    """From either side, with and without finite heights."""
    for here in (1.0, 90.0, 99.999, 1e4):
        for height in (lambda x: 2 * math.log(100 / x), lambda x: math.inf if x < 50 else math.log(100 / x)):
            falling = height if way > 0 else (lambda x, of=height: -of(x))
            steps = Steps({here: falling(here)}, here, None, 1e-6, whole=False)
            end = 1e6 if (falling(here) >= 0) == (way > 0) else 1e-6
            at, looks = here, 0
            while (falling(at) >= 0) == (falling(here) >= 0) and at != end:
                before, at = at, steps.ahead(at, end)
                assert before < at <= end or end <= at < before
                steps.heights[at] = falling(at)
                looks += 1
            assert at != end
            assert looks <= 25
    whole = Steps({1: math.inf}, 1, None, 1e-6, whole=True)
    assert whole.ahead(1, 10**9) == 2
    at, seen = -(10**9), []
    while at < 2:  # through 0, in few steps
        at = Steps({at: math.inf}, at, None, 1e-6, whole=True).ahead(at, 10**9)
        seen.append(at)
    assert seen[-3:] == [0, 1, 2]
    assert len(seen) < 40
    assert Steps({3: math.inf}, 3, None, 1e-6, whole=True).ahead(3, 4) == 4
