"""The published amplification bounds: their numbers, their conditions, and that none is below the truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from ldp_audit.accounting.shuffle import (
    balle_2019,
    blanket_share,
    compared,
    erlingsson_2019,
    feldman_2021,
    feldman_2023,
    shuffle,
)
from ldp_audit.mechanisms import DuchiVector, Laplace, Piecewise, RandomizedResponse, TwoPoint
from tests.together import together


def test_the_numbers_of_the_2021_bound() -> None:
    found = [feldman_2021(1.0, n, 1e-6) for n in (10**3, 10**5, 10**6)]
    assert found == pytest.approx([0.566201, 0.072555, 0.023497], rel=1e-5)


def test_the_2019_bound_is_its_formula() -> None:
    assert erlingsson_2019(0.3, 10**4, 1e-6) == pytest.approx(3.6 * math.sqrt(math.log(10**6)) / 100, rel=1e-12)


@together(("epsilon0", "n"), itertools.product([0.2, 1.0, 2.5], [1000, 10**4]))
def test_the_blanket_s_root_has_the_delta_that_was_asked_for(epsilon0: float, n: int) -> None:
    share, delta = 2 / (math.exp(epsilon0) + 1), 1e-6
    epsilon = balle_2019(epsilon0, n, delta, blanket=share)
    a, b = math.expm1(epsilon), share * math.expm1(epsilon0) * (math.exp(epsilon) + 1)
    found = b**2 / (4 * a * share * n) * (1 - share * (1 - math.exp(-2 * a**2 / b**2))) ** n
    assert found == pytest.approx(delta, rel=1e-8)


@pytest.mark.parametrize(("epsilon0", "n", "delta"), [(0.3, 2000, 1e-6), (1.0, 2000, 1e-8), (2.0, 3000, 1e-6)])
def test_no_bound_is_below_what_the_counts_give_away(epsilon0: float, n: int, delta: float) -> None:
    """Would catch a factor lost from a formula, and a numerical bound for the wrong pair."""
    attained = shuffle(TwoPoint(epsilon0), n, others="one end").epsilon(delta)
    rows = compared(epsilon0, n, delta)
    assert all(row.epsilon >= attained * (1 - 1e-9) for row in rows)
    assert min(row.epsilon for row in rows) <= 1.03 * attained
    assert all(row.epsilon == epsilon0 for row in rows if row.reason)


def test_the_paper_s_settings_lie_outside_every_theorem() -> None:
    """LF-AMPdom: no theorem applies at (100, 1), (200, 4), (500, 10), and the limit for epsilon agrees."""
    for n, epsilon0, limit in ((200, 4.0, "0.0238"), (500, 10.0, "0.9401")):
        published = compared(epsilon0, n, 1e-5)[:5]
        assert all(row.reason for row in published)
        assert limit in published[3].reason
    with pytest.raises(ValueError, match="needs epsilon0 <= ln"):
        feldman_2021(1.0, 100, 1e-5)


def test_each_condition_is_named() -> None:
    with pytest.raises(ValueError, match="needs n >= 1000"):
        erlingsson_2019(0.3, 999, 1e-6)
    with pytest.raises(ValueError, match="needs 0 < epsilon0 < 1/2"):
        erlingsson_2019(0.5, 1000, 1e-6)
    with pytest.raises(ValueError, match="needs delta < 1/100"):
        erlingsson_2019(0.3, 1000, 0.01)
    with pytest.raises(ValueError, match="needs epsilon0 <= ln"):
        feldman_2023(5.0, 1000, 1e-6)
    with pytest.raises(ValueError, match=r"= -inf"):
        feldman_2023(0.1, 2, 1e-6)
    with pytest.raises(ValueError, match="is too small"):
        balle_2019(4.0, 200, 1e-5)


@together(
    "bad",
    [
        *({"epsilon0": value} for value in (0.0, math.inf, 701, True, "1")),
        *({"n": value} for value in (0, True, 1.5, 10**400)),
        *({"delta": value} for value in (0.0, 1.0, math.nan, None)),
    ],
)
def test_numbers_that_mean_nothing_are_refused(bad: dict[str, float]) -> None:
    arguments = {"epsilon0": 1.0, "n": 1000, "delta": 1e-6} | bad
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must"):
        compared(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="blanket must lie"):
        balle_2019(1.0, 1000, 1e-6, blanket=0.0)


BOUNDS = [erlingsson_2019, balle_2019, feldman_2021, feldman_2023]


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
def test_any_kind_of_number_is_one(bound: Callable[..., float]) -> None:
    plain = bound(1 / 4, 10**5, 1 / 1024)
    assert bound(np.float32(1 / 4), np.int64(10**5), np.float64(1 / 1024)) == plain
    assert compared(np.int64(1), np.int64(100), 1e-6) == compared(1.0, 100, 1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
def test_the_smallest_numbers_are_answered(bound: Callable[..., float]) -> None:
    """Twice the inverse of the smallest delta overflows: would catch a "math domain error", and a limit of -inf."""
    found = [bound(1e-9, 10**8, delta) for delta in (1e-6, 1e-300, 5e-324)]
    assert 0 < found[0] < found[1] < found[2] < 1e-9
    lowest = shuffle(TwoPoint(1e-9), 10**8).epsilon_bounds(1e-300)[0]
    assert found[1] > lowest > 0


def test_more_clients_than_can_be_counted_leave_the_theorems() -> None:
    rows = compared(1.0, 10**9, 1e-6)
    assert all(row.epsilon < 1 for row in rows[1:5])
    assert all(row.epsilon == 1 and "at most 1e+08 clients" in row.reason for row in rows[5:])


def test_a_blanket_of_huge_epsilons_or_of_no_mechanism() -> None:
    """e**epsilon overflows there; the share is rounded down to 0, the safe side."""
    assert [blanket_share(mechanism) for mechanism in (TwoPoint(1e9), RandomizedResponse(math.inf, 5))] == [0, 0]
    assert 0 < blanket_share(TwoPoint(700.0)) < 1e-300
    with pytest.raises(ValueError, match="mechanism must have exact_epsilon"):
        blanket_share(1.0)


def test_a_single_report_is_not_shuffled() -> None:
    assert {row.epsilon for row in compared(1.0, 1, 1e-6)} == {1.0}


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_blankets_are_the_least_densities(epsilon: float) -> None:
    t = math.exp(epsilon)
    assert blanket_share(RandomizedResponse(epsilon, 5)) == pytest.approx(5 / (t + 4))
    assert blanket_share(RandomizedResponse(epsilon)) == blanket_share(TwoPoint(epsilon)) == pytest.approx(2 / (t + 1))
    lowest = Piecewise(epsilon)
    density = math.exp(float(lowest.log_prob(-lowest.reach(), 1.0)))
    assert blanket_share(lowest) == pytest.approx(density * 2 * lowest.reach(), rel=1e-9)
    assert blanket_share(Laplace(1 / epsilon)) == pytest.approx(math.exp(-epsilon / 2))
    assert blanket_share(DuchiVector(epsilon, 3)) == pytest.approx(1 / t)
