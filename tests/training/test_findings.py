"""Findings: each verdict is seen, and a finding that is not there is claimed as seldom as is stated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.training.findings import Finding, Verdict, accuracies, all_of, greater, measured, paired, rising, within
from ldp_audit.training.pipeline import judge
from ldp_audit.training.results import interval
from tests.frequency import assert_frequency
from tests.together import together

RESULTS: dict[str, Any] = {
    "runs": [
        {"settings": {"epsilon": epsilon, "n": n}, "seed": seed, "rounds": [{"accuracy": 0.0}, {"accuracy": value}]}
        for (epsilon, n, seed, value) in [
            (1.0, 10, 1, 0.5),
            (1.0, 10, 2, 0.6),
            (2.0, 10, 1, 0.7),
            (2.0, 10, 2, 0.75),
            ("inf", 10, 1, 0.9),
            (2.0, 20, 1, 0.8),
        ]
    ]
}


def test_accuracies_are_the_last_rounds_of_the_runs_with_these_settings() -> None:
    assert accuracies(RESULTS, epsilon=1.0) == {1: 0.5, 2: 0.6}
    assert accuracies(RESULTS, epsilon=2.0, n=10) == {1: 0.7, 2: 0.75}
    assert accuracies(RESULTS, epsilon=math.inf) == {1: 0.9}
    assert accuracies(RESULTS, epsilon=3.0) == {}
    assert measured(RESULTS, lambda run: len(run["rounds"]), epsilon=1.0) == {1: 2, 2: 2}
    with pytest.raises(ValueError, match=r"settings must name one point of the sweep, got \{'epsilon': 2.0\}"):
        accuracies(RESULTS, epsilon=2.0)


def test_runs_are_compared_with_those_of_the_same_seed() -> None:
    assert paired({1: 0.5, 2: 0.6, 3: 1.0}, {2: 0.5, 1: 0.1}) == pytest.approx([0.4, 0.1])


def test_the_interval_is_students() -> None:
    """Against the table of Student's distribution: t(0.975; 3) = 3.182446."""
    low, mean, high = interval([1.0, 2.0, 3.0, 4.0], 0.025)
    half = 3.182446 * math.sqrt(5 / 3) / 2
    assert (low, mean, high) == pytest.approx((2.5 - half, 2.5, 2.5 + half), rel=1e-6)
    wider = interval([1.0, 2.0, 3.0, 4.0], 0.025, overlap=0.25)
    assert wider[2] - 2.5 == pytest.approx(half * math.sqrt(2), rel=1e-6)
    assert interval([1.0], 0.025) == (-math.inf, 1.0, math.inf)
    for rate in (0.0, 0.5, math.nan):
        with pytest.raises(ValueError, match=r"error_rate must be in \(0, 0.5\)"):
            interval([1.0, 2.0], rate)


@together(
    ("differences", "verdict"),
    [
        ([0.1, 0.12, 0.09], "seen"),
        ([-0.1, -0.12, -0.09], "opposite"),
        ([0.1, -0.12, 0.09], "not seen"),
        ([0.1], "not tested"),
        ([], "not tested"),
        ([0.0, 0.0, 0.0], "not seen"),
    ],
)
def test_greater_has_three_verdicts(differences: list[float], verdict: str) -> None:
    found, numbers = greater(differences, 0.01)
    assert found == verdict
    assert numbers["pairs"] == len(differences)
    assert all(value is None or math.isfinite(value) for value in numbers.values())


@together(
    ("differences", "verdict"),
    [
        ([0.001, -0.002, 0.0, 0.001], "seen"),
        ([0.1, 0.11, 0.09, 0.1], "opposite"),
        ([-0.1, -0.11, -0.09, -0.1], "opposite"),
        ([0.1, -0.1, 0.05, -0.02], "not seen"),
        ([0.0], "not tested"),
    ],
)
def test_within_has_three_verdicts(differences: list[float], verdict: str) -> None:
    found, numbers = within(differences, 0.02, 0.01)
    assert (found, numbers["margin"]) == (verdict, 0.02)
    with pytest.raises(ValueError, match="margin must be > 0, got 0"):
        within(differences, 0, 0.01)


@together(("count", "seen"), [(2, False), (6, False), (7, True)])
def test_equal_differences_decide_only_where_there_are_many(count: int, seen: bool) -> None:
    """Catches certainty from two equal accuracies, which are shares of few records: 2**-7 < 0.01 < 2**-6.

    The last one differs by rounding alone.
    """
    ends = interval([0.1] * (count - 1) + [0.3 - 0.2], 0.01)
    assert ends == pytest.approx((0.1, 0.1, 0.1) if seen else (-math.inf, 0.1, math.inf))
    verdict = "seen" if seen else "not seen"
    assert greater([0.1] * count, 0.01)[0] == verdict
    assert within([0.0] * count, 0.05, 0.01)[0] == verdict


def test_a_small_margin_is_surely_missed_at_the_stated_rate() -> None:
    """4000 experiments of 5 runs, no difference, a margin of a millionth: "opposite" comes 5% of the time.

    With the whole rate on either side it would come 10% of the time: the test fails with certainty, practically.
    """
    rng, trials = np.random.default_rng(5), 4000
    verdicts = [within(list(row), 1e-6, 0.05)[0] for row in rng.standard_normal((trials, 5))]
    assert_frequency(verdicts.count("opposite"), trials, 0.05)


def test_levels_are_shown_for_the_runs_that_are_compared() -> None:
    """Catches means over seeds that one level alone has."""
    runs = [{1: 0.1, 2: 0.12, 3: 0.9}, {1: 0.3, 2: 0.32}]
    assert rising([1, 2], runs, 0.01)[1]["means"] == pytest.approx({"1": 0.11, "2": 0.31})
    assert rising([1, 2], [{1: 0.1}, {2: 0.2}], 0.01)[1]["means"] == {}


def test_rising_has_three_verdicts() -> None:
    up = [{1: 0.1, 2: 0.12, 3: 0.1}, {1: 0.3, 2: 0.3, 3: 0.31}, {1: 0.5, 2: 0.53, 3: 0.5}]
    verdict, numbers = rising([1, 2, 8], up, 0.01)
    assert verdict == "seen"
    assert numbers["slope per level"]["mean"] == pytest.approx(0.605 / 3)
    assert numbers["means"]["8"] == pytest.approx(0.51)
    assert rising([1, 2, 8], up[::-1], 0.01)[0] == "opposite"
    assert rising([1, 2, 8], [up[0], up[2], up[0]], 0.01)[0] == "not seen"
    with pytest.raises(ValueError, match=r"levels must be two or more, ascending, one a set of runs, got \[2, 1\]"):
        rising([2, 1], up[:2], 0.01)


def test_what_is_not_there_is_seen_at_the_stated_rate() -> None:
    """4000 experiments of 5 runs without a difference, error rate 5%: "seen" and "opposite" come 5% of the time each.

    A normal quantile in place of Student's would say so 8.7% of the time: the test fails with certainty, practically.
    """
    rng, trials = np.random.default_rng(4), 4000
    verdicts = [greater(list(row), 0.05)[0] for row in rng.standard_normal((trials, 5))]
    for verdict in ("seen", "opposite"):
        assert_frequency(verdicts.count(verdict), trials, 0.05)


@together(
    ("verdicts", "verdict"),
    [
        (["seen", "seen"], "seen"),
        (["seen", "not seen"], "not seen"),
        (["seen", "not tested"], "not tested"),
        (["seen", "opposite"], "opposite"),
        (["seen", "not compared"], "seen"),
        (["not seen", "not compared"], "not seen"),
        (["not compared", "not tested"], "not tested"),
        (["not compared", "not compared"], "not compared"),
    ],
)
def test_a_finding_of_parts_is_about_those_that_are_compared(verdicts: list[Verdict], verdict: str) -> None:
    """Catches a verdict out of no comparison, and one that a part without a verdict decides."""
    assert all_of(verdicts, opposite="opposite" in verdicts) == verdict


def test_findings_without_runs_are_left_out() -> None:
    finding = Finding("key", "says", "seen", {"mean": 1.0}, 0.01, place="Table 1")
    assert judge([lambda _: None, lambda _: finding], RESULTS) == [finding]
    assert finding.to_dict() == {
        "key": "key",
        "says": "says",
        "verdict": "seen",
        "numbers": {"mean": 1.0},
        "error_rate": 0.01,
        "place": "Table 1",
        "note": "",
    }
