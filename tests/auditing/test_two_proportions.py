"""The confidence region of two proportions: exact where it can be enumerated, simulated where not, and tight."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from ldp_audit.auditing.bounds import Counts, Region, lower_limit, upper_limit
from tests.frequency import assert_at_most
from tests.together import together

ERROR = 0.05
P_SHARE, Q_SHARE, CUT, Q_FLOOR = 0.001, 0.0005, 4.0, 0.7


def bound(x: int, n: int, y: int, m: int, *, error: float = ERROR, design: float = 1.0, delta: float = 0.0) -> float:
    return Region(Counts(x, n, y, m), error, design, delta).epsilon_lower(delta)


def by_brute_force(x: int, n: int, y: int, m: int, design: float, design_delta: float) -> tuple[np.ndarray, ...]:
    """All (p, q) of a fine grid that the definition leaves in the region: exact tails, no cells, no monotonicity."""
    p, q = np.linspace(0, 1, 801)[1:, None], np.linspace(0, 1, 801)[None, 1:]
    ratio = math.exp(design)
    of_line = np.maximum((p - design_delta) / ratio, Q_FLOOR * p / ratio)
    first, second = p * (1 - p) / n, ratio**2 * of_line * (1 - of_line) / m
    share = np.divide(first, first + second, out=np.zeros_like(p), where=first + second > 0)
    one = np.sqrt(share) * np.maximum(special.ndtri(stats.binom.cdf(x - 1, n, p)), -CUT)  # 1 - P(X >= x)
    two = np.sqrt(1 - share) * special.ndtri(stats.binom.sf(y, m, q))
    left = ERROR * (1 - P_SHARE - Q_SHARE) / (1 + special.ndtr(-CUT))
    inside = ~(one + two >= -special.ndtri(left))
    inside &= (stats.binom.sf(x - 1, n, p) >= ERROR * P_SHARE) & (stats.binom.cdf(y, m, q) >= ERROR * Q_SHARE)
    return tuple(np.broadcast_to(one, inside.shape)[inside] for one in (p, q))


@together(
    ("counts", "design", "delta"),
    [
        ((9, 12, 2, 12), 1.0, 0.0),
        ((12, 12, 0, 12), 2.0, 0.0),
        ((7, 8, 5, 40), 1.0, 0.0),
        ((30, 40, 1, 8), 4.0, 0.0),
        ((1, 1, 0, 1), 1.0, 0.0),
        ((0, 5, 0, 5), 1.0, 0.0),
        ((18, 20, 3, 20), 1.0, 0.2),
        ((50, 60, 5, 60), 0.0, 0.5),
        ((40, 60, 5, 60), 1.0, 0.65),  # the observed share is hardly above the design's delta
        ((60, 60, 30, 60), 0.7, 0.0),
    ],
)
def test_both_bounds_are_the_infimum_over_the_region_as_it_is_defined(
    counts: tuple[int, int, int, int], design: float, delta: float
) -> None:
    region = Region(Counts(*counts), ERROR, design, delta)
    p, q = by_brute_force(*counts, design, delta)
    with np.errstate(divide="ignore"):
        epsilons = np.log(np.maximum(p - delta, 0) / q)
    least = max(0.0, float(epsilons.min()))
    found = region.epsilon_lower(delta)
    assert found <= least
    assert found >= least - 0.05  # the grid's steps of 1/800, and the region's own fineness
    for epsilon in (0.0, 0.5, design):
        exact = max(0.0, float((p - math.exp(epsilon) * q).min()))
        assert exact - 0.02 <= region.delta_lower(epsilon) <= exact


@cache
def table(n: int, m: int, design: float, delta: float) -> np.ndarray:
    """The bound for all counts, shape (n + 1, m + 1)."""
    regions = [[Region(Counts(x, n, y, m), ERROR, design, delta, 0.02) for y in range(m + 1)] for x in range(n + 1)]
    return np.array([[region.epsilon_lower(delta) for region in row] for row in regions])


@together(("n", "m", "design", "delta"), [(12, 12, 1.0, 0.0), (8, 20, 1.0, 0.0), (14, 8, 0.5, 0.2)])
def test_the_bound_exceeds_the_truth_with_at_most_the_stated_probability_whatever_p_and_q(
    n: int, m: int, design: float, delta: float
) -> None:
    """Exact: the probabilities of all counts are added up; nothing is simulated."""
    bounds, worst = table(n, m, design, delta), 0.0
    for q in np.concatenate([[1e-6, 1e-3], np.linspace(0.01, 1, 50)]):
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
            p = math.exp(epsilon) * q + delta
            if p <= 1:
                mass = np.outer(stats.binom.pmf(range(n + 1), n, p), stats.binom.pmf(range(m + 1), m, q))
                worst = max(worst, float(mass[bounds > epsilon].sum()))
    assert 0.005 < worst <= ERROR  # and it is no bound that never exceeds anything


@together("epsilon", [0.0, 1.0, 4.0])
@together("n", [100, 10_000, 1_000_000])
def test_the_bound_exceeds_the_truth_no_more_often_than_stated(n: int, epsilon: float) -> None:
    """500 simulated nulls; fails for nothing with probability at most FALSE_ALARM."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    rng = np.random.default_rng([n, round(10 * epsilon)])
    draws = zip(rng.binomial(n, p, 500).tolist(), rng.binomial(n, 1 - p, 500).tolist(), strict=True)
    hits = sum(_exceeds(x, n, y, epsilon) for x, y in draws)
    assert_at_most(hits, 500, ERROR)


@cache
def _exceeds(x: int, n: int, y: int, epsilon: float) -> bool:
    """Whether the bound is above epsilon; the fine bound is worked out where a coarse one does not settle it."""
    if x == 0 or y == 0:
        return Region(Counts(x, n, y, n), ERROR, epsilon).epsilon_lower() > epsilon
    if math.log(x / y) <= epsilon + 0.8 * _deviation(x, n, y):
        return False  # no bound comes so near to the observed ratio, which the next test says
    coarse = Region(Counts(x, n, y, n), ERROR, epsilon, fineness=0.1).epsilon_lower()
    near = coarse > epsilon - 0.12 * _deviation(x, n, y)
    return coarse > epsilon or (near and Region(Counts(x, n, y, n), ERROR, epsilon).epsilon_lower() > epsilon)


def _deviation(x: int, n: int, y: int) -> float:
    """Of the log ratio of the two frequencies."""
    return math.sqrt((1 - x / n) / x + (1 - y / n) / y)


@together("epsilon", [0.1, 1.0, 4.0])
@together("n", [100, 10_000, 1_000_000])
def test_no_bound_comes_within_a_deviation_of_what_was_observed(n: int, epsilon: float) -> None:
    for p in (0.5, math.exp(epsilon) / (1 + math.exp(epsilon))):
        x, y = round(n * p), max(1, round(n * p * math.exp(-epsilon)))
        assert bound(x, n, y, n, design=epsilon) <= max(0.0, math.log(x / y) - _deviation(x, n, y))


def two_limits(counts: Counts) -> float:
    """The usual bound: two Clopper-Pearson limits, each at half of the error."""
    low = lower_limit(counts.hits, counts.trials, ERROR / 2)
    return math.log(low / upper_limit(counts.other_hits, counts.other_trials, ERROR / 2))


@together(
    ("epsilon", "values", "share"),
    [(0.1, 2, 0.75), (0.5, 2, 0.75), (1.0, 2, 0.75), (2.0, 2, 0.75), (2.0, 10, 0.75), (4.0, 2, 0.87)],
)
@together("n", [100_000, 1_000_000])
def test_the_gap_is_at_most_three_quarters_of_that_of_two_separate_limits(
    n: int, epsilon: float, values: int, share: float
) -> None:
    assert gap_beside_that_of_two_limits(n, epsilon, values) <= share


@together("n", [100_000, 1_000_000])
def test_the_gap_of_randomised_response_at_2_is_near_its_limit(n: int) -> None:
    """No test does better than 0.7459 there in the limit of many samples: 1.645 hypot(a, b) / (1.96 (a + b)), where
    a and b are the deviations of ln p and ln q. With weights that depend on q, not p, it is 0.76 for 100,000."""
    assert 0.7459 < gap_beside_that_of_two_limits(n, 2.0, 2) <= 0.75


def gap_beside_that_of_two_limits(n: int, epsilon: float, values: int) -> float:
    """For k-ary randomised response and the event that the value is kept, at the expected counts."""
    p = math.exp(epsilon) / (values - 1 + math.exp(epsilon))
    counts = Counts(round(n * p), n, round(n * p * math.exp(-epsilon)), n)
    truth = math.log(counts.hits / counts.other_hits)
    return (truth - Region(counts, ERROR, epsilon).epsilon_lower()) / (truth - two_limits(counts))


@given(st.data(), st.integers(1, 60), st.integers(1, 60), st.sampled_from((0.0, 1.0, 4.0)), st.sampled_from((0.0, 0.3)))
@settings(max_examples=60)
def test_more_hits_never_lower_the_bound_nor_do_fewer_other_hits(
    data: st.DataObject, n: int, m: int, design: float, delta: float
) -> None:
    """What power.py relies on. How far the search of the infimum stops short may differ by its fineness, 0.004."""
    x, y = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, m))
    found = bound(x, n, y, m, design=design, delta=delta)
    gain = max((x + 0.5) / (n + 1) - delta, 0.5 / (n + 1))
    slack = 0.01 * math.sqrt(1 / (gain * n) + 1 / y) + 1e-9
    assert bound(x + 1, n, y, m, design=design, delta=delta) >= found - slack
    assert bound(x, n, y - 1, m, design=design, delta=delta) >= found - slack


@given(st.data(), st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from((0.0, 1.0, 4.0, math.inf)))
@settings(max_examples=40)
@example(None, 1, 1, 1.0)
def test_no_bound_is_above_what_was_observed(data: st.DataObject | None, n: int, m: int, design: float) -> None:
    x, y = (1, 0) if data is None else (data.draw(st.integers(0, n)), data.draw(st.integers(0, m)))
    region = Region(Counts(x, n, y, m), ERROR, design, fineness=0.05)
    observed = math.log(x * m / (y * n)) if x and y else (math.inf if x else 0.0)
    assert 0 <= region.epsilon_lower() <= max(0.0, observed)
    assert 0 <= region.delta_lower(1.0) <= max(0.0, x / n - math.e * y / m)


@given(st.data(), st.integers(1, 500), st.floats(0.0, 5.0))
@settings(max_examples=40)
def test_both_bounds_say_the_same_of_a_claim(data: st.DataObject, n: int, epsilon: float) -> None:
    """delta_lower(epsilon) above delta, and epsilon_lower(delta) above epsilon, up to the fineness of either."""
    region = Region(Counts(data.draw(st.integers(0, n)), n, data.draw(st.integers(0, n)), n), ERROR)
    delta = region.delta_lower(epsilon)
    assert region.epsilon_lower(min(1.0, delta + 0.05)) <= epsilon
    if delta > 0.05:
        assert region.epsilon_lower(delta - 0.05) >= epsilon


@given(st.data(), st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from((0.0, 1.0, 4.0)))
@settings(max_examples=60)
def test_a_bound_exceeds_whatever_lies_below_it(data: st.DataObject, n: int, m: int, design: float) -> None:
    """`exceeds` stops sooner; with a fineness of 0.05 deviations it and the bound differ by no more than that."""
    x, y = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    region = Region(Counts(x, n, y, m), ERROR, design, fineness=0.05)
    (p, q), found = region.counts.smoothed, region.epsilon_lower()
    slack = 0.051 * math.sqrt((1 - p) / p / n + (1 - q) / q / m)
    assert not region.exceeds(found + slack)
    assert found <= slack or region.exceeds(found - slack)


@given(st.data(), st.integers(1, 10**4), st.integers(1, 10**4), st.sampled_from((0.01, 0.3, 0.9)))
@settings(max_examples=60)
def test_a_bound_at_a_delta_exceeds_whatever_lies_below_it(data: st.DataObject, n: int, m: int, delta: float) -> None:
    x, y = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    region = Region(Counts(x, n, y, m), ERROR, 1.0, delta, fineness=0.05)
    (p, q), found = region.counts.smoothed, region.epsilon_lower(delta)
    gain = max(p - delta, math.sqrt(p * (1 - p) / n))
    slack = 0.051 * math.sqrt(p * (1 - p) / n / gain**2 + (1 - q) / q / m)
    assert not region.exceeds(found + slack, delta)
    assert found <= slack or region.exceeds(found - slack, delta)


def test_where_nothing_was_seen_nothing_is_known() -> None:
    assert bound(0, 100, 0, 100) == 0
    assert bound(0, 100, 100, 100) == 0
    assert bound(100, 100, 100, 100) == 0
    assert bound(1, 1, 0, 1) == 0
    assert Region(Counts(0, 100, 0, 100), ERROR).delta_lower(0.0) == 0


def test_an_event_that_always_and_never_happens_has_a_great_bound() -> None:
    for n in (10**3, 10**6):
        found = bound(n, n, 0, n, design=math.log(n / 3))
        assert math.log(n / 5) < found < math.log(n / 3) + 0.1  # the rule of three: q may be 3/n
        assert Region(Counts(n, n, 0, n), ERROR).delta_lower(0.0) > 1 - 14 / n  # p may be 1 - 10/n


def test_a_great_delta_leaves_nothing_and_an_infinite_epsilon_too() -> None:
    region = Region(Counts(900, 1000, 100, 1000), ERROR)
    assert region.epsilon_lower(1.0) == 0
    assert region.epsilon_lower(0.95) == 0
    assert 0 < region.epsilon_lower(0.5) < region.epsilon_lower(0.0)
    assert region.delta_lower(math.inf) == 0
    assert region.delta_lower(800.0) == 0
    assert 0 < region.delta_lower(1.0) < region.delta_lower(0.0) < 0.8
    assert Region(Counts(900, 1000, 100, 1000), ERROR, math.inf).epsilon_lower() > 1.5


def test_the_bounds_are_quick_at_every_error_and_delta() -> None:
    """A search that splits cells for nothing would take hours here, and all of the memory.

    So it did for few trials beside many, where q is cut off far below, at 20 deviations.
    """
    equal = [Counts(682, 6_784, 0, 6_784), Counts(150_000, 200_000, 1, 7), Counts(500, 1000, 0, 10**9)]
    unequal = [
        (Counts(10, 30, 13_088, 110_070), 0.0),
        (Counts(43, 66, 54_286, 541_458), 0.1),
        (Counts(6, 16, 76_899, 6_591_893), 0.1),
    ]
    for counts, design in [*((one, 1.5) for one in equal), *unequal]:
        for error in (0.5, 0.4, 0.0316, 0.0019, 5e-11, 1.9e-12):
            region = Region(counts, error, design, 0.1 if counts in equal else 0.0)
            slack = 0.002 / math.sqrt(min(counts.trials, counts.other_trials))
            assert region.epsilon_lower(0.1) <= region.epsilon_lower(0.0) + slack
            assert region.delta_lower(1.0) <= region.delta_lower(0.1) + slack


def test_unequal_trials_give_a_bound_between_those_of_equal_ones() -> None:
    few, mixed, many = (bound(n * 3 // 4, n, m // 4, m) for n, m in ((1000, 1000), (100_000, 1000), (100_000, 100_000)))
    assert few < mixed < many


def test_a_design_far_off_is_sound_and_costs_tightness() -> None:
    found = [bound(75_000, 100_000, 25_000, 100_000, design=design) for design in (0.0, 1.1, 8.0)]
    assert max(found) == found[1]
    assert all(1 < one < math.log(3) for one in found)


def test_the_limits_of_one_proportion_are_clopper_and_pearsons() -> None:
    for hits, trials in ((0, 10), (3, 10), (10, 10), (500, 10**6)):
        low, high = lower_limit(hits, trials, 0.025), upper_limit(hits, trials, 0.025)
        exact = stats.binomtest(hits, trials).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((exact.low, exact.high), rel=1e-9)


def test_counts_add_up_and_say_their_frequencies() -> None:
    total = Counts(1, 2, 3, 4) + Counts(10, 20, 30, 40)
    assert total == Counts(11, 22, 33, 44)
    assert total.frequencies == (0.5, 0.75)


@together(
    ("counts", "says"),
    [
        ((1, 0, 0, 1), "trials must be a whole number >= 1, got 0"),
        ((1, 1, 0, 0), "other_trials must be a whole number >= 1, got 0"),
        ((2, 1, 0, 1), r"hits must be a whole number in 0 \.\. 1, got 2"),
        ((-1, 1, 0, 1), r"hits must be a whole number in 0 \.\. 1, got -1"),
        ((0, 1, 2, 1), r"other_hits must be a whole number in 0 \.\. 1, got 2"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int, int, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Counts(*counts)


@together("error", [0.0, 0.51, 1.0, -0.1, math.nan])
def test_an_error_outside_of_0_and_a_half_is_refused(error: float) -> None:
    """Above a half the cells' ends are not their worst points, and the bound would be too high."""
    with pytest.raises(ValueError, match=r"error must be in \(0, 0.5\]"):
        Region(Counts(1, 2, 1, 2), error)


def test_designs_deltas_and_epsilons_out_of_range_are_refused() -> None:
    region = Region(Counts(1, 2, 1, 2), ERROR)
    for design, delta in ((-1.0, 0.0), (math.nan, 0.0), (1.0, 1.0), (1.0, -0.1)):
        with pytest.raises(ValueError, match=r"design_epsilon must be a number >= 0|design_delta must be in"):
            Region(Counts(1, 2, 1, 2), ERROR, design, delta)
    for delta in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r"delta must be in \[0, 1\]"):
            region.epsilon_lower(delta)
    for epsilon in (-0.1, math.nan):
        with pytest.raises(ValueError, match="epsilon must be a number >= 0"):
            region.delta_lower(epsilon)
