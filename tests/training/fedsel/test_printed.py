"""Table 3's gains and losses from results."""

from __future__ import annotations

import math

import pytest

from ldp_audit.training.fedsel.printed import PRINTED, gains_and_losses


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


def test_printed_gains_exceed_printed_losses() -> None:
    """Catches slips in copying: the paper's text says so of every row."""
    assert all(row[i] > row[i + 1] for row in PRINTED.values() for i in (0, 2, 4))
    assert {len(row) for row in PRINTED.values()} == {6}
