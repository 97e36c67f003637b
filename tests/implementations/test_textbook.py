"""Programs as they are published: what they compute, and the findings that the implementation auditor makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.auditing import textbook
from ldp_audit.auditing.textbook import (
    GeneratorSampler,
    TextbookBoxMuller,
    TextbookLaplace,
    TextbookPiecewise,
    TextbookSignedLaplace,
    TextbookTwoPoint,
)
from ldp_audit.implementations import implementation
from ldp_audit.implementations import textbook_findings as findings
from ldp_audit.mechanisms import TwoPoint
from tests.frequency import assert_frequency
from tests.together import together

PROGRAMS = [
    TextbookLaplace(),
    TextbookSignedLaplace(),
    TextbookTwoPoint(1.0, 0.25, 0.75),
    TextbookPiecewise(),
    TextbookBoxMuller(),
]
DTYPES = [np.float16, np.float32, np.float64, torch.float16, torch.bfloat16, torch.float32, torch.float64]

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: type(program).__name__)


def uniforms(program: Any, count: int, dtype: Any, seed: int = 0) -> list[Any]:
    """Multiples of 2**-8, exact in every dtype; never 0, where a logarithm is infinite."""
    drawn = np.random.default_rng(seed).integers(1, 256, (program.uniforms, count)) / 256
    return [torch.from_numpy(u).to(dtype) if isinstance(dtype, torch.dtype) else u.astype(dtype) for u in drawn]


@pytest.mark.covering(1)
@every_program
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_operations_stay_in_the_dtype_and_near_the_formula(program: Any, dtype: Any) -> None:
    """Against float64 on the same uniforms: a few roundings away, but for choices at an edge. Catches a wrong formula
    in one library, and an operation that slips into a wider dtype.
    """
    u = uniforms(program, 500, dtype)
    found = program(0.5, *u)
    assert found.dtype == u[0].dtype
    exact = program(0.5, *(np.asarray(one.double() if isinstance(one, torch.Tensor) else one, np.float64) for one in u))
    wide = np.asarray(found.double() if isinstance(found, torch.Tensor) else found, dtype=np.float64)
    eps = float(torch.finfo(dtype).eps if isinstance(dtype, torch.dtype) else np.finfo(dtype).eps)
    assert np.mean(np.abs(wide - exact) <= 20 * eps * (1 + np.abs(exact))) > 0.98


@every_program
def test_the_samplers_draw_from_the_ideal_law_but_for_rounding(program: Any) -> None:
    """The bugs are in the last bits: half of the law lies where it should. False alarm 1e-6 a test; with 40,000 draws a
    share off by 0.02 is missed with a chance below 1e-3.
    """
    reports = GeneratorSampler(program, "float64")(0.5, 40_000, np.random.default_rng(5))
    s = math.exp(0.5)
    reach = (s + 1) / (s - 1)
    right = (reach + 1) / 4 + (reach - 1) / 2
    point = TwoPoint(1.0, 0.25, 0.75)
    beyond, share = {
        TextbookLaplace: (1.5, 0.5 * math.exp(-1.0)),
        TextbookSignedLaplace: (1.5, 0.5 * math.exp(-1.0)),
        TextbookBoxMuller: (1.5, 0.5 * math.erfc(math.sqrt(0.5))),
        TextbookTwoPoint: (1.5, math.exp(point.log_prob(point.outputs()[1], 0.5))),
        TextbookPiecewise: (right, (reach - right) / (reach + 1) / (s + 1)),
    }[type(program)]
    assert_frequency(int(np.sum(reports > beyond)), len(reports), share)
    if isinstance(program, TextbookTwoPoint):
        assert sorted(set(reports.tolist())) == pytest.approx(point.outputs(), rel=1e-14)


def test_laplace_in_32_bits_gives_most_outputs_of_one_input_away() -> None:
    """The shares to four digits, and one output worked out by hand: its word leads there, and no word of the other."""
    found = findings.TextbookCase(TextbookLaplace(), "float32", (0.0, 1.0)).run()
    assert (found.method, found.verdict, found.epsilon) == ("enumerated", "violated", math.inf)
    pair = found.pairs[0]
    assert found.delta(1.0) == pytest.approx(0.791, abs=0.005)  # numpy's log and torch's differ in the third digit
    assert pair.share == found.delta(1.0) == found.delta(20.0)
    example = pair.exclusive[0].example
    assert example is not None
    u = np.array([example.word[0]], np.float32) * np.float32(2.0**-24)
    assert TextbookLaplace()(example.reached, u)[0] == np.float32(example.output)


@together(("dtype", "share"), [("bfloat16", 0.79297), ("float16", 0.80420)])
def test_laplace_in_narrow_dtypes_has_disjoint_outputs_elsewhere(dtype: str, share: float) -> None:
    found = findings.TextbookCase(TextbookLaplace(), dtype, (0.0, 1.0)).run()
    assert (found.method, found.epsilon) == ("enumerated", math.inf)
    assert found.delta(1.0) == pytest.approx(share, abs=0.02)
    assert found.delta(50.0) == found.delta(1.0)


@pytest.mark.slow
def test_laplace_in_64_bits_by_structure() -> None:
    """Outputs of one input that no word of the other reaches, found by bisection."""
    found = findings.TextbookCase(TextbookLaplace(), "float64", (0.0, 1.0)).run()
    assert (found.method, found.verdict, found.epsilon) == ("monotone", "violated", math.inf)
    assert found.delta(1.0) > 0.7


@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("program", "inputs", "least"),
    [
        (TextbookSignedLaplace(), (0.0, 1.0), 0.6),
        (TextbookPiecewise(), (-1.0, 1.0), 0.3),
        (TextbookPiecewise(), (0.3, 0.31), 0.1),
        (TextbookBoxMuller(), (0.0, 1.0), 0.35),
    ],
)
def test_two_uniforms_in_narrow_dtypes_have_no_epsilon(dtype: str, program: Any, inputs: Any, least: float) -> None:
    found = findings.TextbookCase(program, dtype, inputs).run()
    assert (found.method, found.verdict, found.epsilon) == ("enumerated", "violated", math.inf)
    assert least < found.delta(20.0) <= found.delta(1.0) < 0.75


@pytest.mark.parametrize(
    ("epsilon", "dtype", "bits", "implemented"),
    [
        (1.0, np.float16, 11, 0.99948358),
        (1.0, torch.bfloat16, 8, 0.99700211),
        (1.0, np.float32, 24, 1.0000000148),
        pytest.param(16.23007, np.float32, 24, 24 * math.log(2), marks=pytest.mark.slow),
        pytest.param(17.0, np.float32, 24, math.inf, marks=pytest.mark.slow),
        (6.3, torch.bfloat16, 8, math.inf),
        (7.7, np.float16, 11, math.inf),
    ],
)
def test_two_point_is_what_the_count_of_words_says(epsilon: float, dtype: Any, bits: int, implemented: float) -> None:
    """All words through the program, against ceil(2**bits p) from the formula; at 16.23 an excess of ln(3/2)."""
    found = implementation(TextbookTwoPoint(epsilon), (-1.0, 1.0), bits, dtype=dtype, claimed_epsilon=epsilon)
    assert found.epsilon == pytest.approx(implemented, rel=1e-7)
    like = torch.zeros(1, dtype=dtype) if isinstance(dtype, torch.dtype) else np.zeros(1, dtype)
    above, below = (
        min(2**bits, math.ceil(2**bits * float(TextbookTwoPoint(epsilon).probability(x, like)))) for x in (1.0, -1.0)
    )
    ratios = [(above, below), (2**bits - below, 2**bits - above)]
    by_count = max(math.log(a / b) if b else math.inf for a, b in ratios)
    assert found.epsilon == pytest.approx(by_count, rel=1e-12)
    assert found.verdict == ("violated" if implemented > epsilon else "holds")


def test_two_point_in_half_precision_answers_always_the_same_once_t_overflows() -> None:
    """e**12 is no half: p is NaN, and `u < NaN` never holds. No report tells anything, and nobody notices."""
    program = TextbookTwoPoint(12.0)
    assert np.isnan(program.probability(1.0, np.zeros(1, np.float16)))
    assert implementation(program, (-1.0, 1.0), 11, dtype=np.float16).epsilon == 0


def test_clipping_to_rounded_ends_leaves_the_range() -> None:
    """fl(1 + 0.001) - 1 is more than 0.001 in float32, and p is then above t/(t + 1): 1 from epsilon 10.66 on."""
    like = np.zeros(1, np.float32)
    below, above = (float(TextbookTwoPoint(e, 1.0, 0.001).probability(1.0 + 0.001, like)) for e in (10.6, 10.7))
    assert below <= 1 - 2.0**-24 < 1 <= above


def test_without_clipping_an_outlier_has_no_epsilon() -> None:
    inside = implementation(TextbookTwoPoint(1.0), (-1.0, 3.0), 11, dtype=np.float16).epsilon
    outside = implementation(TextbookTwoPoint(1.0, clip=False), (-1.0, 3.0), 11, dtype=np.float16).epsilon
    assert inside < 1 < outside == math.inf


NAMED = [name for name in textbook.__all__ if isinstance(getattr(textbook, name), GeneratorSampler)]


@together("name", NAMED)
def test_named_samplers_draw_reports_in_their_dtype(name: str) -> None:
    reports = getattr(textbook, name)(0.0, 9, np.random.default_rng(0))
    assert reports.shape == (9,)
    assert str(reports.dtype) == f"float{name[-2:]}"


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64', got 'float16'"):
        GeneratorSampler(TextbookLaplace(), "float16")
    for u in (0.5, np.arange(3), [0.5]):
        with pytest.raises(ValueError, match="u must be an array of floats"):
            TextbookLaplace()(0.0, u)
