"""Results and figures of a sweep: what a document holds, and that figures show its numbers."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from ldp_audit.figure import Figure
from ldp_audit.reports import training_page
from ldp_audit.training import results
from ldp_audit.training.figures import figures, layer_figure


def run(epsilon: Any, kind: str, seed: int, last: float, **more: Any) -> dict[str, Any]:
    return {
        "settings": {"epsilon": epsilon, "kind": kind, "rounds": 2},
        "seed": seed,
        "rounds": [{"round": 1, "accuracy": last / 2}, {"round": 2, "accuracy": last, **more}],
        "seconds": 1.5,
        "device": {"device": "cpu", "name": "cpu", "threads": 1, "torch": "2"},
    }


def layers(size: int, ratio: float) -> dict[str, Any]:
    return {
        "variance": 0.01 * ratio,
        "variance_exact": 0.01,
        "variance_sd": 0.001,
        "weights": size,
        "lemma_3": {"low": 0.0, "high": 0.02, "holds": True, "measured_z": 0.0 if ratio < 2 else 9.0},
    }


RUNS = [
    run(epsilon, kind, seed, accuracy, layers={"first": layers(100, 1.05), "last": layers(10, 0.9)})
    for (epsilon, kind, seed, accuracy) in [
        (0.5, "a", 1, 0.4),
        (0.5, "a", 2, 0.5),
        (8.0, "a", 1, 0.6),
        (8.0, "a", 2, 0.8),
        (0.5, "b", 1, 0.3),
        (8.0, "b", 1, 0.35),
        ("inf", "a", 1, 0.9),
    ]
]
SPENT = {
    "delta": 1e-5,
    "protocol": {"adjacency": "replace"},
    "everything": {"pure": 4.0, "by_name": [2.0, 2.5], "shuffled": [0.5, 0.75]},
    "claimed": {"epsilon": 0.5, "delta": 0.0, "says": "so", "claims": {}},
    "least_delta": 0.0,
}
SPEND = [SPENT, copy.deepcopy(SPENT), None, None, None]
DATA = {"name": "points", "kind": "table", "records": 9}


@pytest.fixture
def document() -> dict[str, Any]:
    return results.build("toy", 3, DATA, RUNS, SPEND)


def test_points_are_the_varied_fields_with_mean_and_interval(document: dict[str, Any]) -> None:
    assert [one["settings"] for one in document["points"]] == [
        {"epsilon": 0.5, "kind": "a"},
        {"epsilon": 8.0, "kind": "a"},
        {"epsilon": 0.5, "kind": "b"},
        {"epsilon": 8.0, "kind": "b"},
        {"epsilon": "inf", "kind": "a"},
    ]
    first = document["points"][0]["accuracy"]
    half = 12.7062047 * 0.05  # t(0.975; 1) times the mean's standard error
    assert (first["mean"], first["low"], first["high"]) == pytest.approx((0.45, 0.45 - half, 0.45 + half))
    assert (first["repeats"], first["over"]) == (2, "runs")
    assert document["points"][2]["accuracy"] == {"mean": 0.3, "low": None, "high": None, "repeats": 1, "over": "runs"}


def test_the_document_has_the_parts_of_its_schema(document: dict[str, Any]) -> None:
    assert set(document) == {
        "schema_version",
        "kind",
        "tool",
        "pipeline",
        "seed",
        "data",
        "runs",
        "points",
        "doubts",
        "spend",
        "audit",
        "findings",
        "printed",
    }
    assert (document["schema_version"], document["kind"]) == (1, "training")
    assert set(document["tool"]) == {"name", "version", "python", "torch"}
    assert [one["settings"] for one in document["spend"]] == [one["settings"] for one in document["points"][:2]]


def test_a_few_equal_accuracies_have_no_interval() -> None:
    """An error bar of no height, as if two equal numbers left no doubt."""
    accuracy = results.accuracy_of([run(1.0, "a", seed, 0.5) for seed in (1, 2, 3)])
    assert (accuracy["low"], accuracy["mean"], accuracy["high"]) == (None, 0.5, None)


def test_a_batched_run_has_the_interval_of_its_accuracies() -> None:
    accuracy = results.accuracy_of([run(1.0, "a", 1, 0.5, accuracies=[0.4, 0.5, 0.6])])
    assert (accuracy["repeats"], accuracy["over"]) == (3, "batched trainings")
    assert accuracy["high"] == pytest.approx(0.5 + 4.30265 * 0.1 / math.sqrt(3), rel=1e-5)


def named(document: dict[str, Any], name: str) -> Figure:
    return next(figure for figure in figures(document) if figure.name == name)


def test_accuracy_against_a_number_has_a_curve_for_each_other_setting(document: dict[str, Any]) -> None:
    names = [figure.name for figure in figures(document)]
    assert names == ["accuracy-epsilon", "accuracy-rounds", "variance-layers", "accuracy-spend"]  # kind is no number
    figure = named(document, "accuracy-epsilon")
    (panel,) = figure.panels
    drawn = {one.label: one for one in panel.series if one.label}
    assert set(drawn) == {"kind a", "kind a, epsilon inf", "kind b"}
    assert (list(drawn["kind a"].x), list(drawn["kind a"].y)) == ([0.5, 8.0], pytest.approx([0.45, 0.7]))
    assert list(drawn["kind a, epsilon inf"].y) == [0.9, 0.9]
    (bars,) = [one for one in panel.series if one.style == "intervals"]
    ends = [document["points"][i]["accuracy"] for i in (0, 1)]
    assert list(bars.y) == [one["low"] for one in ends]
    assert list(bars.upper) == [one["high"] for one in ends]
    assert not panel.x_log
    assert "kind a: from 0.450 at 0.5 to 0.700 at 8" in figure.alt


def test_one_curve_has_a_band() -> None:
    document = results.build("toy", 3, DATA, RUNS[:4])
    assert [one.style for one in named(document, "accuracy-epsilon").panels[0].series] == ["band", "line"]


def test_a_wide_range_is_on_a_logarithmic_axis() -> None:
    document = results.build("toy", 3, DATA, [run(epsilon, "a", 1, 0.5) for epsilon in (0.1, 8.0)])
    assert named(document, "accuracy-epsilon").panels[0].x_log


def test_accuracy_over_the_rounds_is_the_mean_of_the_repeats(document: dict[str, Any]) -> None:
    series = named(document, "accuracy-rounds").panels[0].series
    assert (list(series[0].x), list(series[0].y)) == ([1, 2], pytest.approx([0.225, 0.45]))
    last = document["points"][0]["accuracy"]
    assert series[1].style == "intervals"
    assert (series[1].y[-1], series[1].upper[-1]) == (last["low"], last["high"])
    assert [one.style for one in series].count("intervals") == 2, "points of one run have no bars"


def test_rounds_without_evaluation_are_left_out() -> None:
    runs = [run(1.0, "a", seed, 0.5) for seed in (1, 2)]
    for one in runs:
        one["rounds"] = [{"round": 1}, *({"round": n, "accuracy": n / 10} for n in (2, 4)), {"round": 5}]
        one["rounds"].append({"round": 6, "accuracy": 0.6})
    (series,) = named(results.build("toy", 3, DATA, runs), "accuracy-rounds").panels[0].series
    assert (list(series.x), list(series.y)) == ([2, 4, 6], pytest.approx([0.2, 0.4, 0.6]))


def test_there_is_no_figure_of_one_point() -> None:
    """Would catch a frame with a dot in it."""
    alone = run(0.5, "a", 1, 0.4, layers={"first": layers(100, 1.05)})
    alone["rounds"] = alone["rounds"][1:]
    assert figures(results.build("toy", 3, DATA, [alone], [SPENT])) == []


def test_accuracy_against_the_exact_spend_stands_beside_the_papers(document: dict[str, Any]) -> None:
    figure = named(document, "accuracy-spend")
    marks = [one for one in figure.panels[0].series if one.style == "points"]
    assert [list(one.x) for one in marks] == [[2.5, 2.5], [0.75, 0.75], [0.5, 0.5]]
    assert [list(one.y) for one in marks] == [pytest.approx([0.45, 0.7])] * 3
    assert [one.label for one in marks] == [
        "exact, reports by name",
        "exact, without names, at most",
        "the paper's claim",
    ]
    assert not figure.panels[0].x_log
    assert "delta = 1e-05" in figure.caption
    assert "3 of 5 points have no such number." in figure.caption


def test_layers_are_drawn_against_their_prediction_and_outliers_are_counted(document: dict[str, Any]) -> None:
    figure = named(document, "variance-layers")
    assert "Beyond three standard deviations: 0 of 14" in figure.caption
    assert "three standard deviations of them, in 14 of 14" in figure.caption
    against, ratios = figure.panels
    assert list(against.series[0].y) == pytest.approx([0.0105] * 7)
    assert [one.label for one in against.series] == ["first", "last", "equal"]
    band = ratios.series[0]
    assert (list(band.x), list(band.y), list(band.upper)) == (
        [10, 100],
        pytest.approx([0.7] * 2),
        pytest.approx([1.3] * 2),
    )
    wrong = copy.deepcopy(document)
    for one in wrong["runs"]:
        one["rounds"][-1]["layers"]["first"] = layers(100, 2.05)
    caption = named(wrong, "variance-layers").caption
    assert "Beyond three standard deviations: 7 of 14" in caption
    assert "three standard deviations of them, in 7 of 14" in caption
    assert layer_figure({"runs": [run(1.0, "a", 1, 0.5, layers={})]}) is None


def test_the_page_has_every_number_and_escapes_every_text(document: dict[str, Any]) -> None:
    document["findings"] = [
        {
            "key": "a<b",
            "says": "a | b",
            "verdict": "opposite",
            "numbers": {"mean": 0.25, "more": {"x": None}},
            "error_rate": 0.01,
            "place": "Fig. 3",
            "note": "Smaller here.",
        }
    ]
    promise = {"by": "exact", "says": "", "epsilon": "inf", "delta": 0.0, "epsilon_lower": 0.5, "verdict": "consistent"}
    document["audit"] = [
        {"settings": {"epsilon": 0.5}, "observers": [{"observer": "server", "promised": [promise]}], "why_not": None},
        {"settings": {"epsilon": "inf"}, "observers": [], "why_not": "nothing is private"},
    ]
    files = training_page.rendered(document, figures(document))
    page = files["report.md"]
    assert "| 0.5 | a | 0.4500 ± 0.6353 | 2 | 2 to 2.5 | 0.5 to 0.75 | 0.5 |" in page
    assert "| 0.5 | b | 0.3000 | 1 | no promise |  |  |" in page
    assert "| a\\<b | opposite | 0.01 | a \\| b (Fig. 3): mean 0.25, more x none. Smaller here. |" in page
    assert "| epsilon 0.5 | server | 0.5 | infinite | exact | consistent |" in page
    assert "| epsilon inf | nothing is private |" in page
    for figure in figures(document):
        assert f"(figures/{figure.name}.svg)" in page
        assert files[f"figures/{figure.name}.svg"].startswith("<svg")
    assert "a&lt;b" in files["report.html"]
    assert "a<b" not in files["report.html"]
    assert files["report.html"].count("<svg") == 4
