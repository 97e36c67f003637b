"""The choice of a mechanism: errors by hand, budgets that are met and not by much less, and questions that are none."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit import choose
from ldp_audit.accounting import compose, shuffle
from ldp_audit.accounting.choose import Choices
from ldp_audit.cli.command_line import run_command
from ldp_audit.mechanisms import FiniteChannel, Laplace, RandomizedResponse, TwoPoint, UnaryEncoding
from tests.together import together


def row(found: Choices, name: str) -> Any:
    return next(one for one in found.rows if one.name == name)


def test_errors_of_frequencies_are_those_of_the_formulas() -> None:
    """Wang et al. 2017: n times the variance near 0, and the term f (1 - p - q) / (p - q) that comes with f."""
    found = choose(users=1000, answers=20, epsilon=1.0)
    t, k, n = math.e, 20, 1000
    own, other = t / (t + k - 1), 1 / (t + k - 1)
    at = [(other * (1 - other) + f * (own * (1 - own) - other * (1 - other))) / (own - other) ** 2 for f in (1 / k, 1)]
    response = row(found, "randomised response")
    assert response.typical == pytest.approx(math.sqrt(at[0] / n))
    assert response.worst == pytest.approx(math.sqrt(at[1] / n))
    encoding = row(found, "unary encoding, optimised")
    assert encoding.typical == pytest.approx(math.sqrt((4 * t / (t - 1) ** 2 + 1 / k) / n))
    assert encoding.worst == pytest.approx(math.sqrt((4 * t / (t - 1) ** 2 + 1) / n))
    assert [one.bits for one in found.rows] == pytest.approx(
        [math.log2(math.comb(20, 5)), 20, math.log2(4**5 * 4), 20, 6, math.log2(20)]
    )
    assert [one.typical for one in found.rows] == sorted(one.typical for one in found.rows)
    assert found.best is None
    assert found.verdict().startswith("no mechanism is usable here: the least typical error is 0.0573")


def test_errors_of_means_are_those_of_the_variances() -> None:
    found = choose(users=400, numeric=True, epsilon=1.0)
    two_points, inputs = TwoPoint(1.0), np.linspace(-1, 1, 101)
    assert row(found, "two points").worst == pytest.approx(math.sqrt(float(two_points.variance(0.0)) / 400))
    assert row(found, "two points").typical == pytest.approx(math.sqrt(two_points.variance(inputs).mean() / 400))
    assert row(found, "Laplace noise").worst == pytest.approx(math.sqrt(2 * 2.0**2 / 400))
    vectors = choose(users=400, numeric=True, dimension=4, epsilon=1.0)
    assert {one.name.partition(",")[0] for one in vectors.rows} == {
        "Duchi's vector mechanism",
        "two points",
        "piecewise",
        "hybrid",
    }
    assert vectors.best is not None


@together(("shuffled", "reports"), [(False, 5), (True, 1)])
def test_the_budget_is_met_and_a_little_more_exceeds_it(shuffled: bool, reports: int) -> None:
    """Of every row, by the accountant, anew."""
    found = choose(users=500, answers=4, epsilon=2.0, delta=1e-5, reports=reports, shuffled=shuffled)
    assert not found.left_out
    for one in found.rows:
        build = {
            "randomised response": lambda epsilon: RandomizedResponse(epsilon, 4),
            "unary encoding, optimised": lambda epsilon: UnaryEncoding(epsilon, 4),
        }.get(one.name)
        for mechanism, within in (
            (one.mechanism, True),
            *([(build(one.report_epsilon * 1.001), False)] if build else []),
        ):
            report: Any = shuffle(mechanism, n=500) if shuffled else mechanism
            spent = compose([(report, reports)]).epsilon(1e-5)
            assert (spent <= 2.0) == within
        assert one.spent <= 2.0


def test_without_a_delta_reports_share_epsilon() -> None:
    found = choose(users=500, answers=4, epsilon=2.0, reports=4)
    assert {one.report_epsilon for one in found.rows} == {0.5}
    assert {one.spent for one in found.rows} == {2.0}


def test_candidates_of_ones_own_are_compared_alike_and_what_does_not_fit_is_left_out_by_name() -> None:
    """Thresholded Laplace noise on bits spends less than it claims, so that it is calibrated; a channel tells none."""

    def thresholded(epsilon: float) -> UnaryEncoding:
        half = math.exp(-0.75 * epsilon / 2) / 2
        return UnaryEncoding.of(1 - math.exp(-0.25 * epsilon / 2) / 2, half, 4)

    matrix = [["3/4", "1/4"], ["1/4", "3/4"]]
    found = choose(
        users=10_000,
        answers=4,
        epsilon=1.0,
        candidates={"mine": thresholded, "channel": lambda _: FiniteChannel(matrix)},
    )
    mine = row(found, "mine")
    assert mine.report_epsilon > 1.0
    assert 1.0 - 1e-3 < mine.mechanism.exact_epsilon() <= 1.0
    assert "cannot be met" in found.left_out["channel"]  # ln 3 > 1, whatever is asked of it
    found = choose(users=10, answers=2, epsilon=2.0, candidates={"channel": lambda _: FiniteChannel(matrix)})
    assert "reports must support values" in found.left_out["channel"]
    assert "channel was left out: reports must support values" in found.describe()
    assert found.best is None
    assert "none meets the budget" in found.verdict()
    biased = choose(users=10, numeric=True, epsilon=2.0, candidates={"moved": lambda e: TwoPoint(e, 0.5, 1.5)})
    assert biased.rows  # still unbiased
    wrong = choose(users=10, numeric=True, epsilon=2.0, candidates={"response": lambda e: RandomizedResponse(e, 2)})
    assert "response" in wrong.left_out


@together(
    ("given", "message"),
    [
        ({"users": 0, "answers": 4}, r"users must be a whole number >= 1, got 0"),
        ({"users": 10, "answers": 1}, r"answers must be a whole number >= 2, got 1"),
        ({"users": 10}, r"answers must be given, or numeric=True, and not both"),
        ({"users": 10, "answers": 4, "numeric": True}, r"answers must be given, or numeric=True, and not both"),
        ({"users": 10, "answers": 4, "dimension": 3}, r"dimension must be 1 for frequencies, got 3"),
        ({"users": 10, "numeric": True, "dimension": 0}, r"dimension must be a whole number >= 1, got 0"),
        ({"users": 10, "answers": 4, "reports": 0}, r"reports must be a whole number >= 1, got 0"),
        ({"users": 10, "answers": 4, "epsilon": 0.0}, r"epsilon must be a finite number > 0, got 0"),
        ({"users": 10, "answers": 4, "epsilon": math.nan}, r"epsilon must be a finite number > 0, got nan"),
        ({"users": 10, "answers": 4, "epsilon": math.inf}, r"epsilon must be a finite number > 0, got inf"),
        ({"users": 10, "answers": 4, "delta": 1.0}, r"delta must be a number >= 0 and < 1, got 1"),
        ({"users": 10, "answers": 4, "delta": math.nan}, r"delta must be a number >= 0 and < 1, got nan"),
        (
            {"users": 10, "answers": 4, "shuffled": True},
            r"delta must be a number > 0 and < 1 where reports are shuffled",
        ),
    ],
)
def test_bad_input_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose(**{"epsilon": 1.0, **given})


def test_the_command_prints_the_table_and_exits_by_what_is_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["choose", "--users", "1000", "--answers", "20", "--epsilon", "1", "--quiet"]
    assert run_command([*words, "--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.svg")]) == 1
    printed = capsys.readouterr().out
    assert "frequencies of 20 answers from 1000 users, once, each in their own hands, epsilon 1" in printed
    assert "no mechanism is usable here" in printed
    data = json.loads((tmp_path / "a.json").read_text())
    assert len(data["rows"]) == printed.count("\n") - 3
    assert data["rows"][0]["mechanism"] == "SubsetSelection(epsilon=1.0, k=20, w=5)"
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert run_command([*words[:2], "100000", *words[3:]]) == 0
    assert "subset selection has the least typical error, 0.00573" in capsys.readouterr().out
    assert run_command([*words, "--shuffled"]) == 2
    assert "delta must be a number > 0 and < 1 where reports are shuffled, got 0.0" in capsys.readouterr().err


def test_a_mean_under_noise_has_the_sensitivity_of_the_whole_range() -> None:
    """Inputs -1 and 1 are 2 apart: noise for neighbours 1 apart would spend twice the budget."""
    noise = row(choose(users=10, numeric=True, epsilon=0.7), "Laplace noise").mechanism
    assert isinstance(noise, Laplace)
    assert noise.exact_epsilon() == pytest.approx(0.7)
    assert noise.worst_pair() == (0.0, 2.0)
    shuffled = choose(users=200, numeric=True, epsilon=0.7, delta=1e-5, shuffled=True)
    assert not shuffled.left_out
    assert all(one.report_epsilon > 0.7 for one in shuffled.rows)
