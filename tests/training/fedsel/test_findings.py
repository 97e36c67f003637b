"""The findings: seen, not seen and opposite, each on made-up results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldp_audit.training.fedsel.plan import (
    FINDINGS,
    PAPER,
    FedSel,
    beats_flat,
    gain_above_loss,
    repeat_means,
    top_beats_random,
)
from ldp_audit.training.sweep import jobs_of
from tests.together import together


def results(means: dict[str, float], spread: float = 0.01, repeats: int = 10) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    runs = []
    for name, mean in means.items():
        values = mean + spread * rng.standard_normal((repeats, 1)) + 0.02 * rng.permuted(np.linspace(-1, 1, 5))
        settings = {"solution": name, "epsilon": 2.0, "learning_rate": 0.1, "folds": 5, "mu": 0.1, "epochs": 1}
        runs.append({"settings": settings, "seed": 3, "rounds": [{"accuracies": values.ravel().tolist()}]})
    return {"runs": runs}


ALL = {"EXP-PM": 0.7, "PE-PM": 0.7, "PS-PM": 0.7}


@together(("flat", "verdict"), [(0.6, "seen"), (0.7, "not seen"), (0.8, "opposite")])
def test_each_verdict_is_given(flat: float, verdict: str) -> None:
    """Catches a verdict that cannot come out: differences of 20 standard errors, or of none."""
    found = beats_flat(results({**ALL, "PM": flat}))
    assert found is not None
    assert found.verdict == verdict
    assert found.numbers["PS-PM against PM"]["mean"] == pytest.approx(0.7 - flat, abs=0.02)


def test_one_selection_that_does_not_beat_is_enough() -> None:
    """Catches a finding about three selections that is told from one."""
    found = beats_flat(results({**ALL, "PE-PM": 0.6, "PM": 0.6}))
    assert found is not None
    assert found.verdict == "not seen"


def test_gain_and_loss_are_table_3s() -> None:
    """Catches swapped terms."""
    controls = {f"{name}-C": 0.75 for name in ALL}
    found = gain_above_loss(results({**ALL, **controls, "PM": 0.6}, spread=1e-6))
    assert found is not None
    assert found.verdict == "seen"
    shown = found.numbers["PE"]
    assert shown["gain"] == pytest.approx(0.15, abs=1e-4)
    assert shown["loss"] == pytest.approx(0.05, abs=1e-4)
    assert shown["mean"] == pytest.approx(shown["gain"] - shown["loss"])


def test_gain_and_loss_of_one_selection_are_not_those_of_three() -> None:
    """Catches a finding about three selections that is told from one."""
    assert gain_above_loss(results({**ALL, "PE-PM-C": 0.75, "PM": 0.6})) is None


def test_findings_without_runs_say_nothing() -> None:
    """Catches a verdict from no data."""
    assert [question(results({"NP": 0.9})) for question in FINDINGS] == [None] * len(FINDINGS)
    assert top_beats_random(results({"NP-K": 0.9})) is None


def test_folds_are_averaged_before_the_test() -> None:
    """Catches folds taken as independent: one repeat is one number, and decides nothing."""
    one = results({"NP-K": 0.9, "NP-RS": 0.6}, repeats=1)
    assert len(repeat_means(one, solution="NP-K")) == 1
    found = top_beats_random(one)
    assert found is not None
    assert found.verdict == "not tested"


def test_the_exact_trade_stands_beside_where_the_dimensions_are_known() -> None:
    """Catches a finding that fails on results without their data, and a ratio that is left out."""
    document = results({**ALL, "PM": 0.6})
    found = beats_flat({**document, "data": {"columns": 100}})
    assert found is not None
    assert found.numbers["PS-PM against PM"]["signal ratio"] < 1
    other = results({**ALL, "PM": 0.6})["runs"]
    for runs, model in ((document["runs"], "logistic"), (other, "svm")):
        for run in runs:
            run["settings"]["model"] = model
    found = beats_flat({"runs": document["runs"] + other, "data": {"columns": 100}})
    assert found is not None
    assert [one["signal ratio"] < 1 for one in found.numbers.values()] == [True] * 6


@together("changed", [{"epochs": 2}, {"corrected": True}])
def test_the_trade_is_left_out_where_its_formula_does_not_hold(changed: dict[str, Any]) -> None:
    """Catches the ratio of one report with all of epsilon beside runs of several, or of another PE."""
    document = results({**ALL, "PM": 0.6})
    for run in document["runs"]:
        run["settings"] |= changed
    found = beats_flat({**document, "data": {"columns": 100}})
    assert found is not None
    assert "signal ratio" not in found.numbers["PE-PM against PM"]


@together("flat", [0.6, 0.8])
@together(("positive", "learnt"), [(0.3, False), (0.7, False), (0.5, True), (None, True)])
def test_models_that_learnt_nothing_are_not_compared(positive: float | None, learnt: bool, flat: float) -> None:
    """Catches a verdict on solutions whose models answer one class for all: 0.7 of the records have it, and 0.7 right.

    Such a model is above or below flat PM's for reasons of the data alone.
    """
    runs = results({**ALL, **{f"{name}-C": 0.75 for name in ALL}, "PM": flat}, spread=1e-6)["runs"]
    document = {"runs": runs, "data": {"columns": 100, "positive": positive}}
    verdict = "not seen" if not learnt else "seen" if flat < 0.7 else "opposite"
    for question in (beats_flat, gain_above_loss):
        found = question(document)
        assert found is not None
        assert found.verdict == verdict
        assert ("Nothing learnt" in found.note) != learnt
        told = {one["verdict"] for one in found.numbers.values()}
        assert told == ({verdict} if learnt else {"nothing learnt"})


def test_a_learning_rate_at_which_nothing_was_learnt_is_left_out_alone() -> None:
    """Catches a verdict from the rate that was too small, and one on rates that were mixed."""
    small, large = results({**ALL, "PM": 0.8}, spread=1e-6), results(dict.fromkeys(ALL, 0.8) | {"PM": 0.75})
    for run in large["runs"]:
        run["settings"]["learning_rate"] = 10.0
    found = beats_flat({"runs": small["runs"] + large["runs"], "data": {"columns": 100, "positive": 0.7}})
    assert found is not None
    assert found.verdict == "seen"
    told = {name: one["verdict"] for name, one in found.numbers.items()}
    assert told == {
        f"learning_rate = {rate}, {one} against PM": verdict
        for rate, verdict in ((0.1, "nothing learnt"), (10.0, "seen"))
        for one in ALL
    }


def test_models_of_one_sweep_are_compared_within_themselves() -> None:
    """Catches a sweep over the models that fails, and pairs of different models: the SVM's runs are the worse ones."""
    logistic, svm = results({**ALL, "PM": 0.6}), results({name: mean - 0.4 for name, mean in ALL.items()} | {"PM": 0.2})
    for name, document in (("logistic", logistic), ("svm", svm)):
        for run in document["runs"]:
            run["settings"]["model"] = name
    found = beats_flat({"runs": logistic["runs"] + svm["runs"]})
    assert found is not None
    assert found.verdict == "seen"
    assert sorted(found.numbers) == sorted(
        f"model = {model}, {one} against PM" for model in ("logistic", "svm") for one in ALL
    )
    found = beats_flat({"runs": logistic["runs"] + svm["runs"][:-1]})
    assert found is not None
    assert len(found.numbers) == 3


def test_two_runs_of_one_point_are_refused() -> None:
    """Catches a point that mixes settings."""
    twice = results({"NP-K": 0.9})
    with pytest.raises(ValueError, match="must name one point"):
        repeat_means({"runs": twice["runs"] * 2}, solution="NP-K")


def test_table_3_is_two_models_at_three_rates() -> None:
    """Catches a solution that is missing: seven of them each."""
    assert len(jobs_of(FedSel, PAPER.presets["table-3"], 0)) == 42
