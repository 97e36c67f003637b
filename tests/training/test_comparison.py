"""Printed numbers beside runs: the right runs, each point by itself, and never an exception after hours of training."""

from __future__ import annotations

from typing import Any

import pytest

from ldp_audit.training.results import accuracy_rows, apart


def run(accuracy: float, seed: int = 1, **settings: Any) -> dict[str, Any]:
    return {"settings": settings, "seed": seed, "rounds": [{"accuracy": 0.0}, {"accuracy": accuracy}]}


def test_a_row_has_the_mean_of_its_runs_and_students_interval() -> None:
    """Catches another point's runs, a first round's accuracy, and a normal quantile: t(0.975; 2) = 4.302653."""
    runs = [run(value, seed, k=16) for seed, value in enumerate((0.5, 0.6, 0.7))] + [run(0.9, k=60)]
    (row,) = accuracy_rows({"runs": runs}, "Table 2", "k = 16", 0.8, k=16)
    assert (row.place, row.what, row.unit, row.printed) == ("Table 2", "k = 16", "accuracy", 0.8)
    half = 4.302653 * 0.1 / 3**0.5
    assert (row.low, row.measured, row.high) == pytest.approx((0.6 - half, 0.6, 0.6 + half), rel=1e-6)
    assert accuracy_rows({"runs": runs}, "Table 2", "k = 300", 0.9, k=300) == []


def test_one_run_has_no_interval() -> None:
    """Catches an interval from one number."""
    (row,) = accuracy_rows({"runs": [run(0.5, k=16)]}, "Table 2", "k = 16", 0.8, k=16)
    assert (row.low, row.measured, row.high) == (None, 0.5, None)


def test_points_that_differ_elsewhere_have_a_row_each() -> None:
    """Catches a mean over two settings, and an exception that loses a finished sweep over something else."""
    runs = [run(0.5, k=16, rate=0.1), run(0.7, k=16, rate=0.2), run(0.9, k=60, rate=0.1)]
    rows = accuracy_rows({"runs": runs}, "Table 2", "k = 16", 0.8, k=16)
    assert [(row.what, row.measured) for row in rows] == [("k = 16, rate 0.1", 0.5), ("k = 16, rate 0.2", 0.7)]


def test_settings_that_read_alike_are_not_mixed() -> None:
    """Catches points told apart by their rounded words."""
    runs = [run(0.5, rate=0.1), run(0.7, rate=0.1 + 1e-9)]
    assert [len(group) for _, group in apart(runs)] == [1, 1]
    assert [more for more, _ in apart(runs, within=("rate",))] == [""]
    assert apart([]) == []
