"""Estimates of a mean: which mechanisms give one, that its errors are those of the law, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.mechanisms import (
    DiscreteLaplace,
    DuchiVector,
    FiniteChannel,
    Gaussian,
    Hybrid,
    Laplace,
    PerturbedSampling,
    Piecewise,
    SubsampleRelease,
    TwoPoint,
)
from tests.together import together

TELLING: list[tuple[Any, Any]] = [
    (TwoPoint(1.0), 0.3),
    (TwoPoint(1.0, 0.5, 2.0), 1.7),
    (Piecewise(1.0), -0.6),
    (Hybrid(2.0), 0.3),
    (Laplace(1.0), 0.25),
    (Gaussian(2.0), -0.5),
    (DuchiVector(1.0, 4), np.array([0.5, -0.5, 1.0, 0.0])),
]


@together(("m", "x"), TELLING)
def test_a_mean_is_within_its_error_and_the_worst_error_is_the_largest(m: Any, x: Any) -> None:
    """Seven standard errors for each coordinate: below 1e-11 each, by the normal law that 20,000 reports nearly have.

    A mean of the reports of -x is more than twenty away.
    """
    n = 20_000
    reports = m.sample(np.broadcast_to(x, (n, *np.shape(x))).copy(), rng=np.random.default_rng(4))
    found = m.estimate(reports)
    exact = np.sqrt(m.variance(x) / n)
    assert found.n == n
    assert np.all(np.abs(found.mean - x) <= 7 * exact)
    assert found.standard_error == pytest.approx(exact, rel=0.1)
    assert np.all(exact <= found.worst_standard_error * (1 + 1e-12))
    assert found.worst_standard_error == pytest.approx(
        max(float(np.max(np.sqrt(m.variance(one) / n))) for one in ([*m.inputs(9)] if np.ndim(x) == 0 else [0 * x])),
        rel=0.01,
    )


def test_one_report_has_the_worst_error() -> None:
    found = TwoPoint(1.0).estimate([2.163953413738653])
    assert (
        found.standard_error == found.worst_standard_error == pytest.approx(math.sqrt(float(TwoPoint(1.0).variance(0))))
    )
    assert str(found) == "mean 2.163953413738653; standard error at most 2.16 from 1 reports"


@together(
    ("m", "reports", "message"),
    [
        (TwoPoint(1.0), [], r"reports must be one or more, of shape \('n',\), got shape \(0,\)"),
        (TwoPoint(1.0), [[1.0, 2.0]], r"reports must be one or more, of shape \('n',\), got shape \(1, 2\)"),
        (DuchiVector(1.0, 2), [1.0, 2.0], r"reports must be one or more, of shape \('n', 2\), got shape \(2,\)"),
        (TwoPoint(1.0), [math.nan], r"reports must be finite numbers"),
        (TwoPoint(1.0), ["a"], r"reports must be real numbers"),
        (
            FiniteChannel([[0.5, 0.5], [0.25, 0.75]]),
            [0, 1],
            r"have their input as their mean, to be estimated from; got F",
        ),
        (PerturbedSampling(1.0, 4, 2), [0, 1], r"reports must support values, or have their input as their mean"),
        (SubsampleRelease(5, 2), [0, 1], r"reports must support values, or have their input as their mean"),
        (DiscreteLaplace(1.0, lower=0, upper=1), [0, 1], r"reports must support values, or have their input"),
    ],
)
def test_what_tells_no_mean_is_refused(m: Any, reports: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        m.estimate(reports)
