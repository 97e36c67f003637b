"""Table 1's numbers stand beside the runs of its own setting, and beside no others."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from ldp_audit.training.ldp_fl.plan import PRESETS, LdpFl, beside_the_paper
from ldp_audit.training.sweep import jobs_of
from tests.together import together

TABLE_1 = {
    ("mnist", 5.0): (0.9634, 0.9606),
    ("mnist", 10.0): (0.9639, 0.9611),
    ("fmnist", 5.0): (0.8595, 0.8754),
    ("fmnist", 10.0): (0.8610, 0.8757),
    ("cifar-10", 5.0): (0.1354, 0.5889),
    ("cifar-10", 10.0): (0.1428, 0.6037),
}
"""The paper's accuracies by (data, epsilon): (fixed, adaptive)."""


def results(name: str, preset: str, **changed: Any) -> dict[str, Any]:
    """One run a point, whose accuracy says which point it is."""
    runs = []
    for job in jobs_of(LdpFl, PRESETS.presets[preset], 0):
        settings = {**asdict(LdpFl(**job.settings)), **changed}
        accuracy = settings["epsilon"] / 100 + (settings["ranges"] == "adaptive") / 2
        runs.append({"settings": settings, "seed": job.seed, "rounds": [{"round": 1, "accuracy": accuracy}]})
    return {"data": {"name": name}, "runs": runs}


@together(("name", "data"), [("mnist", "mnist"), ("fashion-mnist", "fmnist"), ("cifar-10", "cifar-10")])
def test_every_cell_stands_beside_its_own_point(name: str, data: str) -> None:
    rows = [row for row in beside_the_paper(results(name, f"table-1-{data}")) if row.place == "Table 1"]
    assert len(rows) == 4
    for row in rows:
        ranges, epsilon = row.what.split(", epsilon = ")
        fixed, adaptive = TABLE_1[data, float(epsilon)]
        assert row.printed == (adaptive if ranges == "adaptive" else fixed)
        assert row.measured == pytest.approx(float(epsilon) / 100 + (ranges == "adaptive") / 2)


HEADLINES = {"mnist": (1.0, 0.9624), "fmnist": (4.0, 0.8626), "cifar-10": (10.0, 0.6146)}
"""Section 5.2: epsilon and accuracy by data."""


@together("data", HEADLINES)
def test_the_headline_of_section_5_stands_beside_the_preset(data: str) -> None:
    epsilon, accuracy = HEADLINES[data]
    (row,) = [row for row in beside_the_paper(results(data, data)) if row.place == "Section 5.2"]
    assert (row.what, row.printed) == (f"epsilon = {epsilon:g}", accuracy)
    assert row.measured == pytest.approx(epsilon / 100 + (data == "cifar-10") / 2)


@together("changed", [{"n": 50}, {"rounds": 3}, {"fraction": 0.5}, {"radius": 0.2}, {"perturb": False}])
def test_no_number_stands_beside_another_setting(changed: dict[str, Any]) -> None:
    assert beside_the_paper(results("mnist", "table-1-mnist", **changed)) == []


def test_other_data_have_no_table() -> None:
    assert beside_the_paper(results("digits", "table-1-mnist")) == []
