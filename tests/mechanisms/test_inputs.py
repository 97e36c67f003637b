"""What is no number, whatever it is, is refused by a ValueError that names the argument."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import (
    CoordinateSampling,
    Hybrid,
    Piecewise,
    RandomProjection,
    SubsampleRelease,
    TwoPoint,
    TwoStage,
)
from ldp_audit.mechanisms.inputs import array_of, numbers_of, whole_numbers
from ldp_audit.mechanisms.torch_randomness import TorchSource
from tests.mechanisms.test_every_mechanism import MECHANISMS
from tests.together import together

every = together("name", MECHANISMS)
NO_NUMBERS: list[Any] = ["a", "1", b"1", 1j, None, True, [True], ..., [1, "a"], [[1], [1, 2]], np.array([1j])]


@together("value", [*NO_NUMBERS, 10**400])
def test_what_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be "):
        numbers_of("epsilon", value)


@every
def test_ragged_lists_and_sparse_tensors_are_refused_as_inputs(name: str) -> None:
    m, ragged = MECHANISMS[name], [[1], [1, 2]]
    with pytest.raises(ValueError, match=r"^x must be "):
        m.sample(ragged, rng=np.random.default_rng(1))
    for moment in (m.mean, m.variance):
        with pytest.raises(ValueError, match=r"^x must be |^moments need reports that are numbers"):
            moment(ragged)
    with pytest.raises(ValueError, match=r"^x must be a dense tensor"):
        m.sample(torch.zeros(3).to_sparse(), rng=torch.Generator())


@every
def test_hidden_values_and_other_byte_orders_are_refused_as_inputs(name: str) -> None:
    m, rng = MECHANISMS[name], np.random.default_rng(1)
    x = np.asarray(m.worst_pair()[0])
    hidden = np.ma.array(x[None], mask=np.ones((1, *x.shape), bool))
    for masked in (hidden, [hidden[0]]):
        with pytest.raises(ValueError, match=r"^x must have no hidden values, got a masked array"):
            m.sample(masked, rng=rng)
    if x.dtype.kind in "fi":
        with pytest.raises(ValueError, match=r"^x must have this machine's byte order, got dtype >"):
            m.sample(x.astype(x.dtype.newbyteorder(">")), rng=rng)


@together("name", ["TwoPoint", "Piecewise", "Hybrid", "Laplace", "Gaussian", "DuchiVector"])
def test_whole_numbers_of_every_width_are_their_values(name: str) -> None:
    m = MECHANISMS[name]
    zeros = torch.zeros((8, *np.shape(m.worst_pair()[0])))
    drawn = [
        m.sample(zeros.to(dtype), rng=torch.Generator().manual_seed(1)).tolist()
        for dtype in (torch.float64, torch.int64, torch.int8, torch.uint8)
    ]
    assert drawn == [drawn[0]] * 4
    assert whole_numbers("x", torch.tensor([200], dtype=torch.uint8), 0, 299, TorchSource.xp).tolist() == [200]


@together("name", ["TwoPoint", "Piecewise", "Hybrid"])
def test_numbers_outside_the_range_are_refused_not_clipped(name: str) -> None:
    m = MECHANISMS[name]
    for bad in ([1.5], [0.0, -2.0], math.nan, math.inf, np.float32([-1.01]), ["a"]):
        calls = (m.mean, m.variance, lambda x: m.log_prob(1.0, x), lambda x: m.sample(x, rng=np.random.default_rng(2)))
        for call in calls:
            with pytest.raises(ValueError, match=r"^x must lie in \[-1(.0)?, 1(.0)?\], got"):
                call(bad)
    with pytest.raises(ValueError, match=r"^x must lie in \[-1(.0)?, 1(.0)?\], got"):
        m.sample(torch.tensor([2.0]), rng=torch.Generator())
    with pytest.raises(ValueError, match="x has dtype float16, which cannot hold the reports"):
        replace(m, epsilon=1e-6).sample(np.zeros(3, np.float16), rng=np.random.default_rng(2))


@together("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn])
@together("name", ["TwoPoint", "RandomizedResponse", "Piecewise", "Laplace", "Gaussian"])
def test_dtypes_that_torch_does_not_calculate_with_are_refused(name: str, dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match=rf"^x must have a dtype that torch calculates with, got {dtype}"):
        MECHANISMS[name].sample(torch.zeros(3, dtype=dtype), rng=torch.Generator())


@together("m", [TwoPoint(1.0), Hybrid(1.0), Piecewise(1.0)])
def test_moments_take_tensors_that_require_a_gradient(m: Any) -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    assert np.array_equal(m.mean(x), m.mean([0.0, 1.0]))
    assert np.array_equal(m.variance(x), m.variance([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"^x must be "):
        m.mean(torch.zeros(2, dtype=torch.bfloat16))


@together("name", ["TwoPoint", "RandomizedResponse", "Piecewise", "Hybrid", "Laplace", "Gaussian"])
def test_reports_that_are_no_numbers_are_refused(name: str) -> None:
    for y in ("a", None, 1j, ..., [1, "a"], [[1], [1, 2]], np.array([1j])):
        with pytest.raises(ValueError, match=r"^y must be "):
            MECHANISMS[name].log_prob(y, MECHANISMS[name].worst_pair()[0])


@together("name", ["TwoStage", "CoordinateSampling", "RandomProjection"])
def test_reports_that_are_no_pairs_are_refused(name: str) -> None:
    m: CoordinateSampling | RandomProjection | TwoStage = MECHANISMS[name]
    for y in (1.0, None, "a", {}, set(), (), (1,), (1, 2, 3)):
        with pytest.raises(ValueError, match=r"^y must be a report, a pair of index and value"):
            m.log_prob(y, m.worst_pair()[0])
        with pytest.raises(ValueError, match=r"^report must be a report, a pair of index and value"):
            m.dense(y)


def test_exact_numbers_become_floats() -> None:
    assert numbers_of("x", [Fraction(1, 2), Decimal("0.25"), 2**70]).tolist() == [0.5, 0.25, 2.0**70]
    with pytest.raises(ValueError, match="x must be real numbers, got one beyond the range of floats"):
        numbers_of("x", [10**400])
    assert array_of("x", []).shape == (0,)


WRONG: list[Any] = [np.bool_(True), True, np.array([1.0]), "1", b"1", None, 1j, math.nan, 10**400, -(10**400), 10**5000]


@together("name", [name for name, m in MECHANISMS.items() if "epsilon" in {one.name for one in m.parameters}])
def test_budgets_and_sizes_that_are_no_numbers_are_refused(name: str) -> None:
    m = MECHANISMS[name]
    for value in (*WRONG, -1.0, *([0, 0.0] if name != "RandomizedResponse" else [])):
        with pytest.raises(ValueError, match=r"^epsilon must be a "):
            replace(m, epsilon=value)
        for size in {"k", "d"} & {one.name for one in fields(m)}:
            with pytest.raises(ValueError, match=rf"^{size} must be a whole number"):
                replace(m, **{size: value if value is not None else 0})
    if name not in ("TwoPoint", "RandomizedResponse"):
        with pytest.raises(ValueError, match=r"epsilon must be a finite number > 0( and <= 700)?, got inf"):
            replace(m, epsilon=math.inf)


def test_whole_parameters_keep_all_their_digits() -> None:
    assert SubsampleRelease(2**53 + 1, 1).n == 2**53 + 1
    assert SubsampleRelease(np.int64(2**53 + 1), 2.0).n == 2**53 + 1


@together("build", [TwoPoint, Piecewise, lambda epsilon: MECHANISMS["Hybrid"].__class__(epsilon)])
def test_a_budget_too_small_for_a_float_of_full_digits_is_refused_and_the_least_has_moments(build: Any) -> None:
    with pytest.raises(
        ValueError, match=r"epsilon must be a (finite )?number > 0, by 2\.2250738585072014e-308 at least"
    ):
        build(5e-324)
    assert build(1e-300).variance(0.5) == math.inf
