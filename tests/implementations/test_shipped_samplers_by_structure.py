"""The shipped samplers where not every word can be tried: by structure, or by what decides a report.

By structure, with 64 bits and through numpy's shortcut: TwoPoint, RandomizedResponse. For Laplace as it is used, on a
fine grid: equal sums give equal reports, whatever the input (`test_shipped_noise.py` has its whole law on coarse ones).
The shortcuts of Piecewise and Hybrid are compared with whole words in tests/mechanisms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.implementations import implementation
from ldp_audit.mechanisms import Hybrid, Laplace, Piecewise, RandomizedResponse, TwoPoint
from ldp_audit.mechanisms.noise import laplace
from tests.implementations.scripted_generators import whole_words_decide
from tests.implementations.shipped_runs import (
    Draw,
    every_epsilon,
    every_float,
    reachable,
)


@pytest.mark.covering(1)
@every_float
@pytest.mark.parametrize("scale", [0.02, 1.0, 100.0])
def test_laplace_reports_are_a_function_of_the_sum_alone(monkeypatch: Any, dtype: Any, scale: float) -> None:
    """Input and noise in whole spacings: a sum has one report, to the bit, at either of two inputs.

    Sums near 0, across powers of two, and of the size of the noise's tail; so an output that one input reaches every
    other input reaches too, whatever the dtype rounds away.
    """
    m = Laplace(scale).implemented()
    far = m.worst_pair()[1]
    tail = np.array([sign * (2**power + more) for power in range(46) for more in (-1, 0, 1) for sign in (-1, 1)])
    sums = np.concatenate([np.arange(-2000, 2001), tail])
    sums = sums[np.abs(sums) * float(m.grid().spacing()) < 2.0**14]

    def reports(x: float, steps: int) -> Any:
        noise = sums - steps
        convert = torch.from_numpy if isinstance(dtype, torch.dtype) else np.asarray
        monkeypatch.setattr(laplace, "discrete_laplace", lambda *_: convert(noise.copy()))
        many = np.full(len(sums), x)
        if isinstance(dtype, torch.dtype):
            found = m.sample(torch.from_numpy(many).to(dtype), rng=torch.Generator().manual_seed(1))
            return found.double().numpy()
        return m.sample(many.astype(dtype), rng=np.random.default_rng(1)).astype(np.float64)

    ends = [(x, int(x / m.grid().spacing())) for x in (0.0, -0.0, far, -far)]
    assert all(reachable(x, dtype) == x for x, _ in ends)
    first, *others = [reports(x, steps).view(np.int64) for x, steps in ends]
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.covering(1)
@every_float
@every_epsilon
@pytest.mark.parametrize(
    ("center", "radius"),
    [(0.3, 0.7), *(pytest.param(*place, marks=pytest.mark.slow) for place in ((0.0, 1.0), (-5.0, 1.2)))],
)
def test_two_point_with_64_bits_by_structure(
    monkeypatch: Any, draw: Draw, epsilon: float, dtype: Any, center: float, radius: float
) -> None:
    """Through numpy's short words, and the whole words of float16 and torch: the threshold is found to the word."""
    m, current = TwoPoint(epsilon, center, radius), []
    whole_words_decide(monkeypatch, lambda: current[-1])

    def mapped(x: float, words: Any) -> Any:
        current.append((words ^ np.uint64(2**63)).view(np.int64))
        return draw(m, x, len(words), dtype, [(("words", 64), words)])

    low, high = m.domain()
    found = implementation(
        mapped, (low, high, center), 64, words=True, monotone=True, claimed_epsilon=epsilon, samples=500
    )
    assert (found.method, found.verdict) == ("monotone", "holds"), found.describe()
    law = m.implemented()
    if {reachable(low, dtype), reachable(high, dtype)} == {low, high}:
        assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@pytest.mark.covering(1)
@every_epsilon
@pytest.mark.parametrize("dtype", [np.int64, np.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("k", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_randomized_response_with_64_bits_by_structure(
    monkeypatch: Any, draw: Draw, epsilon: float, dtype: Any, k: int
) -> None:
    """Short words, rare lies, whole words. Words are turned so that the lies come first, and every label is one run."""
    m, current = RandomizedResponse(epsilon, k), []
    whole_words_decide(monkeypatch, lambda: current[-1])
    each = m.implemented().each() or 1
    start = ((k - 1) // 2 - k + 1) * each + 2**63

    def mapped(x: float, words: Any) -> Any:
        turned = words + np.uint64(start)
        current.append((turned ^ np.uint64(2**63)).view(np.int64))
        return np.asarray(draw(m, x, len(words), dtype, [(("words", 64), turned)]).tolist(), dtype=object).astype(str)

    found = implementation(
        mapped, (0, 1, k - 1)[:k], 64, words=True, monotone=True, claimed_epsilon=epsilon, samples=500
    )
    assert (found.method, found.verdict) == ("monotone", "holds"), found.describe()
    assert found.epsilon == pytest.approx(m.implemented().exact_epsilon(), rel=1e-12)


@pytest.mark.covering(1)
@pytest.mark.parametrize("epsilon", [0.01, 4.0, 10.0, 50.0])
@every_float
def test_a_label_written_as_minus_zero_is_the_label_zero(epsilon: float, dtype: Any) -> None:
    """-0.0 is a label too. Its sign must not come out: a report -0.0 would say that the input was not 1."""
    m, zero = RandomizedResponse(epsilon, 3), np.full(2000, -0.0)
    if isinstance(dtype, torch.dtype):
        reports = m.sample(torch.from_numpy(zero).to(dtype), rng=torch.Generator().manual_seed(0)).double().numpy()
    else:
        reports = m.sample(zero.astype(dtype), rng=np.random.default_rng(0))
    assert not np.any(np.signbit(reports))


def test_no_input_of_the_widest_range_loses_a_report() -> None:
    """Where the range is wider than the largest float no threshold can be interpolated: refused, or done right."""
    try:
        m = TwoPoint(50.0, 0.0, 1e308).implemented(53)
    except ValueError:
        return
    with np.errstate(all="ignore"):
        reports = m.sample(np.full(2000, 0.95e308), rng=np.random.default_rng(0))
    assert np.mean(reports > 0) > 0.9


@pytest.mark.covering(1)
@every_float
@every_epsilon
def test_no_input_is_refused_and_no_report_is_infinite(epsilon: float, dtype: Any) -> None:
    """Values from end to end, ends included, as the dtype rounds them; reports are finite and without a signed zero."""
    for m in (
        TwoPoint(epsilon),
        TwoPoint(epsilon, 0.3, 0.1),
        Piecewise(epsilon),
        Hybrid(epsilon),
        Laplace(1 / epsilon),
    ):
        low, high = m.domain() if isinstance(m, TwoPoint) else (-1.0, 1.0)
        x = np.concatenate([np.linspace(low, high, 200), [low, high, -0.0 if low < 0 else low]])
        if isinstance(dtype, torch.dtype):
            found = m.sample(torch.from_numpy(x).to(dtype), rng=torch.Generator().manual_seed(3)).double().numpy()
        else:
            found = m.sample(x.astype(dtype), rng=np.random.default_rng(3)).astype(np.float64)
        assert np.all(np.isfinite(found))
        assert not np.any(np.signbit(found) & (found == 0))
        assert not math.isnan(found.sum())
