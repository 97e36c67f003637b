"""Tables 2 to 4 beside made-up results: every cell gets its own point, and other points get none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ldp_audit.training.fedmd_nfdp.plan import PRESETS, FedMd, beside_the_paper
from ldp_audit.training.sweep import jobs_of
from tests.together import together

Settings = dict[str, Any]
SETTINGS = PRESETS.document["settings"]["paper"]


def made_up(data: str, points: Iterable[Settings]) -> dict[str, Any]:
    """One run a point, whose accuracy is its place in 1000ths: which one a row shows can be told."""
    runs = [
        {"settings": dataclasses.asdict(FedMd(**one)), "seed": 1, "rounds": [{"accuracy": place / 1000}]}
        for place, one in enumerate(points)
    ]
    return {"runs": runs, "data": {"name": data}, "points": []}


def of_preset(data: str, preset: str) -> dict[str, Any]:
    """The preset's points, the first repeat of each."""
    jobs = jobs_of(FedMd, PRESETS.presets[preset], seed=0)
    return made_up(data, {repr(job.settings): job.settings for job in jobs}.values())


def shown(results: dict[str, Any]) -> dict[str, tuple[float, Settings]]:
    """What each row prints, and the settings of the run whose accuracy it shows."""
    rows = beside_the_paper(results)
    assert len({(row.place, row.what) for row in rows}) == len(rows)
    return {f"{row.place}, {row.what}": (row.printed, settings_of(results, row.measured)) for row in rows}


def settings_of(results: dict[str, Any], accuracy: float) -> Settings:
    return results["runs"][round(accuracy * 1000)]["settings"]


@together(
    ("data", "preset", "cells"),
    [
        ("mnist-emnist", "table-2-femnist", {16: 0.8064, 60: 0.8806, 300: 0.9356, 2880: 0.9663}),
        ("cifar-10-100", "table-2-cifar-10", {16: 0.7440, 60: 0.8158, 120: 0.8357, 300: 0.8738}),
    ],
)
def test_table_2_has_its_sizes_and_baselines(data: str, preset: str, cells: dict[int, float]) -> None:
    """Catches a size's accuracy beside another's, and a baseline's beside FedMD-NFDP's at the same k."""
    found = shown(of_preset(data, preset))
    for k, printed in cells.items():
        number, settings = found.pop(f"Table 2, k = {k}, with replacement")
        assert (number, settings["k"], settings["method"]) == (printed, k, "nfdp-with")
    baselines = {"np": (0.9615, 0.8688), "centralised": (0.9800, 0.8883)}
    for method, printed in baselines.items():
        number, settings = found.pop(f"Table 2, {method}")
        assert (number, settings["method"]) == (printed[data == "cifar-10-100"], method)
    assert found == {}


@together(
    ("data", "preset", "k", "both"),
    [
        ("mnist-emnist", "replacement-femnist", 300, (0.9356, 0.9363)),
        ("cifar-10-100", "replacement-cifar-10", 60, (0.8158, 0.8113)),
    ],
)
def test_both_ways_of_sampling_are_told_apart(data: str, preset: str, k: int, both: tuple[float, float]) -> None:
    """Catches with for without."""
    found = shown(of_preset(data, preset))
    told = [(number, settings["method"], settings["k"]) for number, settings in found.values()]
    assert told == [(both[0], "nfdp-with", k), (both[1], "nfdp-without", k)]


@together(
    ("data", "preset", "printed"),
    [
        ("mnist-emnist", "table-3-femnist", (0.7499, 0.7502, 0.7558, 0.8074, 0.8064, 0.8158)),
        ("cifar-10-100", "table-3-cifar-10", (0.6979, 0.7002, 0.7001, 0.7455, 0.7488, 0.7512)),
    ],
)
def test_table_3_has_its_scores_and_parties(data: str, preset: str, printed: tuple[float, ...]) -> None:
    """Catches swapped scores, and five parties for ten."""
    found = {name: cell for name, cell in shown(of_preset(data, preset)).items() if name.startswith("Table 3")}
    told = {(cell["scores"], cell["parties"]): number for number, cell in found.values()}
    scores = [(one, parties) for parties in (5, 10) for one in ("logits", "softmax", "argmax")]
    assert told == dict(zip(scores, printed, strict=True))
    assert all(settings["k"] == 16 for _, settings in found.values())


@together(
    ("data", "preset", "split", "printed"),
    [
        ("mnist-femnist", "table-4-femnist", "writers", 0.7836),
        ("cifar-10-100-coarse", "table-4-cifar-10", "subclasses", 0.5318),
    ],
)
def test_table_4_is_of_the_data_that_differ(data: str, preset: str, split: str, printed: float) -> None:
    """Catches an IID run beside the number of the others' data."""
    results = of_preset(data, preset)
    results["runs"] += made_up(data, [{**SETTINGS, "scores": "argmax"}])["runs"]
    ((number, settings),) = shown(results).values()
    assert (number, settings["split"], settings["scores"]) == (printed, split, "argmax")


@together(
    ("data", "changed"),
    [
        ("mnist-emnist", {"public_classes": 5}),
        ("mnist-emnist", {"rounds": 2}),
        ("mnist-emnist", {"public_per_round": 200}),
        ("mnist-emnist", {"parties": 5}),
        ("mnist-emnist", {"k": 17}),
        ("mnist-emnist", {"split": "classes"}),
        ("mnist-femnist", {}),
        ("cifar-10-100-coarse", {}),
        ("digits", {}),
    ],
)
def test_another_task_stands_beside_no_printed_number(data: str, changed: Settings) -> None:
    """Catches printed numbers beside runs on other classes, other data, or with settings that the paper has not."""
    assert len(beside_the_paper(made_up("mnist-emnist", [SETTINGS]))) == 1
    assert beside_the_paper(made_up(data, [{**SETTINGS, **changed}])) == []


def test_a_sweep_over_something_else_has_a_row_for_each_value() -> None:
    """Catches an exception after the last run, which would lose the results."""
    rows = beside_the_paper(made_up("mnist-emnist", [{**SETTINGS, "revisit_epochs": epochs} for epochs in (1, 2)]))
    assert [row.what for row in rows] == [f"k = 16, with replacement, revisit_epochs {epochs}" for epochs in (1, 2)]
    assert beside_the_paper({"runs": [], "data": {"name": "mnist-emnist"}, "points": []}) == []
