"""Table 3's gains and losses from results."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from ldp_audit.training.fedsel.plan import PRESETS, FedSel, beside_the_paper, gains_and_losses
from ldp_audit.training.sweep import jobs_of
from tests.together import together


def run(solution: str, accuracies: list[float], model: str = "svm") -> dict[str, object]:
    settings = {"solution": solution, "model": model, "epsilon": 2.0, "folds": 2}
    return {"settings": settings, "seed": 1, "rounds": [{"accuracies": [0.0] * 4}, {"accuracies": accuracies}]}


def test_gain_and_loss_have_the_papers_signs_and_units() -> None:
    """Catches swapped terms, shares for percents, another model's runs, and another round's accuracies."""
    runs = [
        run("PM", [0.5, 0.5, 0.6, 0.6]),
        run("PS-PM", [0.6, 0.6, 0.7, 0.7]),
        run("PS-PM-C", [0.65, 0.65, 0.7, 0.7]),
        run("PS-PM-C", [0.1] * 4, model="logistic"),
        run("PE-PM", [0.6] * 4),
    ]
    found = gains_and_losses({"runs": runs}, "svm")
    assert set(found) == {"PS"}
    assert found["PS"].gain.percent == pytest.approx(12.5)
    assert found["PS"].loss.percent == pytest.approx(2.5)
    assert found["PS"].gain.error == pytest.approx(2.5)


def test_one_repeat_has_no_error() -> None:
    """Catches an error of 0 from one number."""
    runs = [run(name, [0.5, 0.7]) for name in ("PM", "PS-PM", "PS-PM-C")]
    assert math.isnan(gains_and_losses({"runs": runs}, "svm")["PS"].gain.error)


ACCURACIES = {
    "PM": 0.5,
    "EXP-PM": 0.61,
    "EXP-PM-C": 0.62,
    "PE-PM": 0.71,
    "PE-PM-C": 0.73,
    "PS-PM": 0.81,
    "PS-PM-C": 0.84,
}
"""Gains of 12, 23 and 34 points, losses of 1, 2 and 3; the SVM's accuracies are 0.1 lower, its controls 0.2."""


def table_3(data: str, **changed: Any) -> dict[str, Any]:
    """The preset's runs at one learning rate, with made-up accuracies."""
    runs = []
    for job in jobs_of(FedSel, PRESETS.presets["table-3"], 0)[:14]:
        settings = dataclasses.asdict(FedSel(**{**job.settings, "repeats": 2, **changed}))
        svm, control = settings["model"] == "svm", settings["solution"].endswith("-C")
        mean = ACCURACIES[settings["solution"]] - svm * (0.2 if control else 0.1)
        accuracies = [mean + wobble for wobble in (-0.01, -0.01, 0.0, 0.01, 0.01, 0.03, 0.0, -0.01, 0.0, -0.02)]
        runs.append({"settings": settings, "seed": job.seed, "rounds": [{"accuracies": accuracies}]})
    return {"runs": runs, "data": {"name": data}}


@together(
    ("data", "logistic", "svm"),
    [
        ("bank", (2.4197, -0.157, 3.2338, 0.0464, 2.5525, 0.1463), (4.3823, 0.4436, 3.4369, 0.2530, 4.0244, 0.0164)),
        ("adult", (5.5745, 0.2935, 5.6445, 1.3096, 6.0535, 0.8091), (5.5361, 0.1949, 5.6057, 0.9550, 5.1442, 0.3852)),
        ("kdd99", (2.0471, 0.5091, 2.5148, 0.2322, 2.0171, 0.3428), (1.85629, -0.1625, 2.2168, 0.2288, 1.8291, 0.4465)),
        ("syn-l", (8.6074, 0.3517, 5.410, 1.192, 5.975, 0.4970), (7.1950, 2.1593, 3.7704, 0.8533, 5.065, 2.0816)),
    ],
)
def test_every_cell_of_table_3_stands_beside_its_own_number(
    data: str, logistic: tuple[float, ...], svm: tuple[float, ...]
) -> None:
    """Catches gain for loss, one selection for another, one model for the other, and another data set's row."""
    rows = beside_the_paper(table_3(data))
    assert {row.what: row.printed for row in rows} == {
        f"{model}, {selection}, {word}": printed
        for model, cells in (("logistic", logistic), ("svm", svm))
        for (selection, word), printed in zip(
            [(selection, word) for selection in ("EXP", "PE", "PS") for word in ("gain", "loss")], cells, strict=True
        )
    }
    measured = [12, 1, 23, 2, 34, 3, 2, -9, 13, -8, 24, -7]
    assert [row.measured for row in rows] == pytest.approx(measured)
    assert {(row.place, row.unit) for row in rows} == {("Table 3", "points")}


@together(
    "changed",
    [{"mu": 0.5}, {"epochs": 2}, {"k": 3}, {"share": 0.1}, {"users": 500}, {"folds": 10}, {"corrected": True}],
)
def test_other_settings_than_the_papers_stand_beside_nothing(changed: dict[str, Any]) -> None:
    """Catches printed numbers beside another experiment's."""
    assert beside_the_paper(table_3("bank", **changed)) == []


def test_other_data_and_other_epsilons_stand_beside_nothing() -> None:
    """Catches the table's numbers beside the embedded data, and beside another budget."""
    assert beside_the_paper(table_3("synthetic")) == []
    assert beside_the_paper(table_3("bank", epsilon=1.0)) == []


def test_each_learning_rate_has_its_rows() -> None:
    """Catches an exception after the last run, and a mean over learning rates, which the paper does not name."""
    both = table_3("bank", learning_rate=0.1)
    both["runs"] += table_3("bank", learning_rate=1.0)["runs"]
    rows = beside_the_paper(both)
    assert len(rows) == 24
    assert {row.what.split("gain")[-1] for row in rows if "gain" in row.what} == {
        ", learning_rate 0.1",
        ", learning_rate 1",
    }


def test_equal_repeats_have_no_interval() -> None:
    """Catches a certainty from two equal numbers, such as two models that say the same of all records."""
    rows = beside_the_paper(table_3("bank"))
    assert {(row.low, row.high) for row in rows} == {(None, None)}


def test_repeats_that_differ_have_students_interval() -> None:
    """Catches another quantile, and a share for points: differences of 10 and 12 points, t(0.975; 1) = 12.706205."""
    runs = [run(*one) for one in (("PM", [0.5] * 4), ("PS-PM", [0.6] * 4), ("PS-PM-C", [0.6, 0.6, 0.62, 0.62]))]
    gain = gains_and_losses({"runs": runs}, "svm")["PS"].gain
    half = 12.706205 * 1.0
    assert (gain.low, gain.percent, gain.high) == pytest.approx((11 - half, 11, 11 + half), rel=1e-5)


def test_printed_gains_exceed_printed_losses() -> None:
    """Catches slips in copying: the paper's text says so of every row."""
    rows = PRESETS.document["table-3"]["rows"]
    assert len(rows) == 8
    assert all(row[one][0] > row[one][1] for row in rows for one in ("EXP", "PE", "PS"))


@together(
    ("positive", "idle"),
    [
        (None, []),
        (0.55, ["EXP, gain", "PE, gain", "PS, gain"]),
        (0.35, ["EXP, gain", "EXP, loss", "PE, gain", "PS, gain"]),
    ],
)
def test_a_difference_from_a_method_that_learnt_nothing_says_so(positive: float | None, idle: list[str]) -> None:
    """Catches a gain over a flat PM that is below one answer for all: PM has 0.5, EXP-PM 0.61 and its control 0.62."""
    rows = beside_the_paper({**table_3("adult"), "data": {"name": "adult", "positive": positive}})
    logistic = {row.what.removeprefix("logistic, "): row.idle for row in rows if row.what.startswith("logistic")}
    assert [what for what, why in logistic.items() if why] == idle
    if idle:
        share = 100 * max(positive or 0, 1 - (positive or 0))
        assert logistic["PE, gain"] == f"PM learnt nothing: 50.00%, a constant answer has {share:.2f}%"
