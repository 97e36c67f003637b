"""Calibration at extreme arguments: one clear refusal each, and answers wherever there is one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ldp_audit.accounting.calibrate import Calibrated, calibrate
from ldp_audit.accounting.calibrated_parameters import (
    calibrate_gaussian,
    calibrate_laplace,
    calibrate_local_epsilon,
    calibrate_rounds,
    calibrate_subsample,
)
from ldp_audit.accounting.conversion.conversions import gdp_within
from ldp_audit.mechanisms import RandomizedResponse

RESPONSE = RandomizedResponse(1.0)


def search(**changes: object) -> Calibrated:
    return calibrate(RandomizedResponse, **{"epsilon": 1.0, "low": 0.1, "high": 2.0, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: calibrate_local_epsilon(0, 1.0), r"times must be a whole number in 1 .. 10\*\*18, got 0"),
        (lambda: calibrate_local_epsilon(10**400, 1.0), "times must be a whole number in .*, got a number of 1329"),
        (lambda: calibrate_local_epsilon(10, "1"), "epsilon must be a number >= 0, got '1'"),
        (lambda: calibrate_local_epsilon(10, 1.0, "a"), r"delta must lie in \[0, 1\], got 'a'"),
        (lambda: calibrate_local_epsilon(10, 1.0, high=-1), "high must be a finite number > 0, got -1"),
        (lambda: calibrate_gaussian("1", 1, 1.0, 1e-6), "sensitivity must be a finite number > 0, got '1'"),
        (lambda: calibrate_gaussian(True, 1, 1.0, 1e-6), "sensitivity must be a finite number > 0, got True"),
        (lambda: calibrate_gaussian(0, 1, 1.0, 1e-6), "sensitivity must be a finite number > 0, got 0"),
        (lambda: calibrate_gaussian(1, 10**400, 1.0, 1e-6), "times must be a whole number in .*, got a number of 1329"),
        (lambda: calibrate_gaussian(1, -1, 1.0, 1e-6), "times must be a whole number >= 1, got -1"),
        (lambda: calibrate_gaussian(1, 0, 1.0, 1e-6), "times must be a whole number >= 1, got 0"),
        (lambda: calibrate_gaussian(1, 2.5, 1.0, 1e-6), "times must be a whole number >= 1, got 2.5"),
        (lambda: calibrate_gaussian(1e300, 10**30, 1.0, 1e-6), r"sensitivity sqrt\(times\) must be a finite number"),
        (lambda: calibrate_laplace(1, 0, 1.0), "times must be a whole number >= 1, got 0"),
        (lambda: calibrate_laplace(1e300, 10**9, 1.0), "sensitivity times / epsilon must be a finite number > 0"),
        (lambda: calibrate_rounds(RESPONSE, 1.0, most=1), "most must be a whole number >= 2, got 1"),
        (lambda: calibrate_subsample(RESPONSE, 1, 0.5), r"n must be a whole number in 2 .. 10\*\*12, got 1"),
        (
            lambda: calibrate_subsample(RESPONSE, 2, 0.5, adjacency="add/remove"),
            r"n must be a whole number in 3 .. 10\*\*12, got 2",
        ),
        (lambda: calibrate_subsample(RESPONSE, 9, 0.5, kind="poisson"), "kind must be without or with, .*'poisson'"),
        (lambda: search(tolerance="a"), r"tolerance must lie in \[1e-13, 1\), got 'a'"),
        (lambda: search(near=[1], increasing=True), r"near must be a number and needs increasing, got \[1\] and True"),
        (lambda: search(high=10**400), "high must be a finite number, got a number of 1329 bits"),
        (lambda: search(low="a"), "low must be a finite number, got 'a'"),
    ],
)
def test_what_is_no_argument_is_refused_by_name(ask: Callable[[], Calibrated], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_numbers_of_numpy_are_numbers() -> None:
    given, plain = calibrate_local_epsilon(np.int64(10), np.float64(1.0)), calibrate_local_epsilon(10, 1.0)  # type: ignore[arg-type]
    assert given == plain
    assert calibrate_rounds(RESPONSE, 5.0, most=np.int64(100)).value == 5  # type: ignore[arg-type]
    assert calibrate_subsample(RESPONSE, np.int64(100), 0.3).value == 20  # type: ignore[arg-type]
    assert search(low=np.float32(0.5), high=np.int64(2)).value == pytest.approx(1)


@pytest.mark.parametrize("sensitivity", [1e-300, 1e300])
def test_the_unit_of_the_noise_may_be_any(sensitivity: float) -> None:
    exact = sensitivity / gdp_within(1.0, 1e-6).value
    assert calibrate_gaussian(sensitivity, 1, 1.0, 1e-6).value == pytest.approx(exact, rel=1e-6)
    assert calibrate_laplace(sensitivity, 10, 1.0).value == pytest.approx(10 * sensitivity, rel=2e-6)


def test_so_many_reports_that_the_noise_is_above_a_billion_billions() -> None:
    exact = 1e15 / gdp_within(1.0, 1e-6).value
    assert calibrate_gaussian(1.0, 10**30, 1.0, 1e-6).value == pytest.approx(exact, rel=1e-6)


def test_a_delta_alone_is_met_however_small() -> None:
    found = calibrate_local_epsilon(10, 0.0, 1e-290)
    assert found.spent == 0
    assert found.spent_delta <= 1e-290
    assert found.value >= 2e-291  # delta(0) of ten reports is at most five times one epsilon


def test_a_budget_without_end_is_met_by_any_noise() -> None:
    assert calibrate_laplace(1.0, 1, math.inf).met_everywhere
    assert calibrate_gaussian(1.0, 1, math.inf, 0.1).met_everywhere


@pytest.mark.parametrize("delta", [1e-13, 1e-6, 0.1])
def test_monotone_spending_is_not_remarked_upon(delta: float) -> None:
    """From an end of the range so far off that the values' distances from it are the same float."""
    found = calibrate_gaussian(1.0, 1, 1.0, delta)
    assert not any("monotone" in note for note in found.notes)
