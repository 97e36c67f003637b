"""Every certified bound against the truth, and the truth against a second way of finding it."""

from __future__ import annotations

import math
from itertools import islice

import mpmath
import pytest
from flint import arb

from tests.truth import parts
from tests.truth.__main__ import Record, describe, main, run, table
from tests.truth.cases import FAMILIES, Case, case, family_of
from tests.truth.questions import DeltaAt, EpsilonAt, Question, Truth
from tests.truth.transform import Cumulant, SmoothSum, of_laplace, of_normal, of_outcomes, of_sampled_normal
from tests.truth.truths import (
    Copies,
    Divergence,
    Laplace,
    LaplaceBeside,
    ManyResponses,
    Normal,
    Outcomes,
    Sampled,
    SampledNormalBeside,
    binomial,
)

FEW, MANY = 47, 2000
AT_LENGTH = {"sampled normal sum", "smooth sum"}
KEPT = 0.8
"""Of wrong bounds in a family, the share that must be seen: a few differ from the truth by less than rounding."""


def _wrong(records: list[Record]) -> list[str]:
    return [describe(one) for one in records if one.judgement.status in ("WRONG", "too long")]


def test_bounds_enclose_the_truth() -> None:
    records = [run(case(number)) for number in range(FEW)]
    assert not _wrong(records), "\n".join([*_wrong(records), table(records)])
    assert {one.case.family for one in records} == set(FAMILIES)


@pytest.mark.slow
def test_all_bounds_enclose_the_truth() -> None:
    records = [run(case(number)) for number in range(MANY)]
    assert not _wrong(records), "\n".join([*_wrong(records), table(records)])


def _of_family(family: str, count: int) -> list[Case]:
    numbers = (number for number in range(10_000) if family_of(number) == family)
    return [case(number, seed=1) for number in islice(numbers, count)]


@pytest.mark.parametrize(
    "family",
    [pytest.param(one, marks=pytest.mark.slow if one in AT_LENGTH else ()) for one in FAMILIES],
)
def test_wrong_bounds_are_seen(family: str) -> None:
    """An upper bound that is too small by a millionth of itself, and a lower bound that is too large by as much."""
    answers = ((one.question, answer) for one in _of_family(family, 4) for answer in one.question.wrong())
    seen = [question.judge(answer).status == "WRONG" for question, answer in islice(answers, 2)]
    assert len(seen) >= 2
    assert sum(seen) >= KEPT * len(seen)


def test_rounding_is_no_failure() -> None:
    truth = Truth((Normal(arb(1)),), 1.0)
    delta = float(truth.at(1.0)[0].mid())
    question = DeltaAt(truth, 1.0)
    assert question.judge((delta * (1 - 1e-15), delta * (1 - 1e-15))).status == "rounding"
    assert question.judge((delta * (1 - 1e-9), delta * (1 - 1e-9))).status == "WRONG"
    assert question.judge((delta, delta * 0.5)).status == "WRONG"
    assert question.judge((0.0, 1.0)).status == "right"


def test_infinite_epsilons_are_judged() -> None:
    finite, released = Truth(parts.response(1.0).directions, 1.0), Truth((Outcomes.of([(0.5, 0.0), (0.5, 1.0)]),))
    some: tuple[tuple[Question, tuple[float, float], str], ...] = (
        (EpsilonAt(finite, 0.0), (1.0, 1.0), "right"),
        (EpsilonAt(finite, 0.0), (0.9, 0.9), "WRONG"),
        (EpsilonAt(finite, 0.0), (math.inf, math.inf), "WRONG"),
        (EpsilonAt(released, 0.1), (math.inf, math.inf), "right"),
        (EpsilonAt(released, 0.1), (0.0, 40.0), "WRONG"),
    )
    assert [question.judge(answer).status for question, answer, _ in some] == [status for _, _, status in some]


def _by_quadrature(first: object, second: object, gamma: float, places: list[float]) -> float:
    """The integral of max(0, P - gamma Q) by mpmath, between places where it may have kinks."""
    f, g = (lambda x, one=one: mpmath.mpf(one(x)) for one in (first, second))
    with mpmath.workdps(30):
        return float(mpmath.quad(lambda x: max(mpmath.mpf(0), f(x) - gamma * g(x)), places))


def _normal(mu: float) -> object:
    return lambda x: mpmath.npdf(x, mu, 1)


def _laplace(center: float) -> object:
    return lambda x: mpmath.exp(-abs(x - center)) / 2


@pytest.mark.parametrize("gamma", [1.0, 1.7, 4.0])
def test_divergences_are_integrals(gamma: float) -> None:
    root, middle = math.log(gamma) / 1.2 + 0.6, (1.2 - math.log(gamma)) / 2
    drawn = math.log((gamma - 0.7) / 0.3) / 1.2 + 0.6
    cases: list[tuple[Divergence, float]] = [
        (Normal(arb(1.2)), _by_quadrature(_normal(1.2), _normal(0), gamma, [-12, root, 12])),
        (Laplace(arb(1.2)), _by_quadrature(_laplace(0), _laplace(1.2), gamma, [-60, 0, max(0, middle), 1.2, 60])),
        (
            Sampled(Normal(arb(1.2)), arb(0.3)),
            _by_quadrature(lambda x: 0.7 * _normal(0)(x) + 0.3 * _normal(1.2)(x), _normal(0), gamma, [-12, drawn, 12]),  # type: ignore[operator]
        ),
        (
            Copies(tuple(binomial(1, arb(0.3))), arb(1.2), laplace=False),
            float(Sampled(Normal(arb(1.2)), arb(0.3)).at(arb(gamma)).mid()),
        ),
    ]
    for divergence, expected in cases:
        assert math.isclose(float(divergence.at(arb(gamma)).mid()), expected, rel_tol=1e-9, abs_tol=1e-15)


def test_reversed_pairs_keep_the_identity() -> None:
    """H(Q, P; gamma) = 1 - gamma + gamma H(P, Q; 1/gamma), for every kind of pair."""
    noise, rr = Normal(arb(0.8)), parts.response(0.7, 3).outcomes[0]
    weights = tuple(binomial(3, arb(0.2)))
    pairs: list[Divergence] = [
        rr.sampled(0.3),
        Sampled(noise, arb(0.3)),
        parts.beside(Sampled(noise, arb(0.3)), rr.power(2)),
        LaplaceBeside(arb(0.5), noise),
        LaplaceBeside(arb(0.5), LaplaceBeside(arb(0.4), Laplace(arb(1.1)))),
        Copies(weights, arb(0.8), laplace=False),
        Copies(weights, arb(0.8), laplace=True),
    ]
    for pair in pairs:
        for gamma in (arb(0.9), arb(1.3), arb(1.9)):
            other = 1 - gamma + gamma * pair.at(1 / gamma)
            assert abs(pair.back().at(gamma) - other) < 1e-20, pair


def test_transforms_agree_with_integrals() -> None:
    finite, noise, shift = parts.hybrid(0.9).outcomes[0], Normal(arb(0.7)), arb(0.9)
    beside = SampledNormalBeside(arb(0.3), arb(1.1), noise)
    pairs: list[tuple[list[tuple[Cumulant, int]], Divergence]] = [
        ([(of_outcomes(finite), 2)], parts.beside(finite.power(2), noise)),
        ([(of_laplace(0.9), 1)], LaplaceBeside(shift, noise)),
        ([(of_sampled_normal(0.3, 1.1, swapped=False), 1)], beside),
        ([(of_sampled_normal(0.3, 1.1, swapped=True), 1)], beside.back()),
    ]
    responses = parts.response(0.8).outcomes[0]
    pairs.append(([(of_outcomes(responses), 150)], parts.beside(responses.power(150), noise)))
    for cumulants, pair in pairs:
        total = SmoothSum(((of_normal(0.7), 1),), tuple(cumulants))
        for epsilon in (0.0, 0.5, 3.0, 39.59, 45.59):
            assert total.delta(epsilon).overlaps(pair.delta(epsilon)), (pair, epsilon)


def test_many_responses_are_a_power() -> None:
    some, pair = ManyResponses(0.1, 150), parts.response(0.1).outcomes[0].power(150)
    for epsilon in (0.0, 2.0, 14.9):
        assert some.delta(epsilon).overlaps(pair.delta(epsilon))


def test_program_runs_one_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--case", "0"]) == 0
    assert "case 0" in capsys.readouterr().out
