"""The findings: seen, not seen and opposite, each on made-up results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldp_audit.training.fedsel.plan import (
    FINDINGS,
    beats_flat,
    repeat_means,
    rises_with_epsilon,
    top_beats_random,
)
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


@together(
    ("flat", "positive", "verdict", "idle"),
    [
        (0.6, None, "seen", []),
        (0.6, 0.5, "seen", []),
        (0.75, 0.5, "opposite", []),
        (0.6, 0.35, "not compared", ["PM"]),
        (0.65, 0.3, "not compared", ["EXP-PM", "PM", "PE-PM", "PS-PM"]),
        (0.8, 0.7, "not compared", ["EXP-PM", "PE-PM", "PS-PM"]),
    ],
)
def test_methods_are_not_compared_where_either_learnt_nothing(
    flat: float, positive: float | None, verdict: str, idle: list[str]
) -> None:
    """Catches a verdict on a method that is no better than one answer for all, be it FedSel's or the flat one.

    Such a method is above or below another for reasons of the data alone. EXP-PM and its like have 0.7.
    """
    runs = results({**ALL, "PM": flat}, spread=1e-6)["runs"]
    found = beats_flat({"runs": runs, "data": {"columns": 100, "positive": positive}})
    assert found is not None
    assert found.verdict == verdict
    assert ("Not compared" in found.note) == bool(idle)
    assert {one["verdict"] for one in found.numbers.values()} == {verdict}
    whys = "; ".join(one.get("why", "") for one in found.numbers.values())
    assert {why.split(" learnt nothing")[0] for why in whys.split("; ") if why} == set(idle)
    if verdict == "not compared" and "PM" in idle:
        share = 100 * max(positive or 0, 1 - (positive or 0))
        assert f"PM learnt nothing: {100 * flat:.2f}%, a constant answer has {share:.2f}%" in whys
    for one in found.numbers.values():
        assert one["accuracies"] == pytest.approx([0.7, flat], abs=1e-3)
        assert one.get("constant answer") == (None if positive is None else max(positive, 1 - positive))


def test_a_tenth_of_a_point_above_a_constant_answer_is_not_learning() -> None:
    """Catches a lucky record taken for learning; a finding that an accuracy rises may start at nothing."""
    flat = results({**ALL, "PM": 0.6}, spread=1e-6)["runs"]
    for share, verdict in ((0.5985, "seen"), (0.5995, "not compared")):
        found = beats_flat({"runs": flat, "data": {"columns": 100, "positive": share}})
        assert found is not None
        assert found.verdict == verdict
    rising = [results({"PS-PM": mean}, spread=1e-6)["runs"][0] for mean in (0.5, 0.6, 0.7)]
    for run, epsilon in zip(rising, (0.5, 2.0, 8.0), strict=True):
        run["settings"]["epsilon"] = epsilon
    found = rises_with_epsilon({"runs": rising, "data": {"positive": 0.5}})
    assert found is not None
    assert found.verdict == "seen"


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
        for rate, verdict in ((0.1, "not compared"), (10.0, "seen"))
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
