"""The presets of the figures have the competitors that these show, and the page has a command for each of its data."""

from __future__ import annotations

import re
from pathlib import Path

from ldp_audit.training.data import load
from ldp_audit.training.fedsel.plan import PRESETS, FedSel
from ldp_audit.training.fedsel.solution import solution
from ldp_audit.training.sweep import jobs_of
from tests.together import together
from tests.training.fedsel.tiny import started, table

PAGE = Path(__file__).parents[3] / "docs" / "training.md"


COMPETITORS = {
    "two-stage": {"NP", "PM", "EXP-PM-C", "PE-PM-C", "PS-PM-C"},
    "projection": {"PM", "PM-RP"},
    "values": {"PM", "HM", "DUCHI"},
    "selection": {"NP", "NP-RS", "NP-K"},
    "accumulation": {"PM", "EXP-PM-O", "PE-PM-O", "PS-PM-O"},
    "mu": {"PM"},
    "free-split": {"PM"},
    "time": {"PM"},
    "table-3": {"PM", "EXP-PM-C", "PE-PM-C", "PS-PM-C"},
}
"""Of each preset, the solutions that its figure shows beside FedSel's own."""

_OF_A_POINT = ("model", "epsilon", "learning_rate", "share")


@together("preset", sorted({*COMPETITORS, *PRESETS.presets}))
def test_each_preset_has_its_figures_competitors_at_every_point(preset: str) -> None:
    """Catches a figure of FedSel alone, and a competitor that is run at other budgets than what it competes with."""
    points: dict[tuple[object, ...], set[str]] = {}
    for job in jobs_of(FedSel, PRESETS.presets[preset], 0):
        points.setdefault(tuple(job.settings[name] for name in _OF_A_POINT), set()).add(job.settings["solution"])
    first, *others = points.values()
    assert all(solutions == first for solutions in others)
    assert first > COMPETITORS[preset]
    own = first - COMPETITORS[preset]
    assert {solution(name).kind for name in own} == {"selection" if preset == "selection" else "two-stage"}


def test_in_the_preset_of_times_every_record_reports_once() -> None:
    """Catches seconds that are of other reports than the page divides them by."""
    for job in jobs_of(FedSel, PRESETS.presets["time"], 0):
        run = started(table(40), **job.settings)
        assert run.rounds == 1
        assert run.advance(1)["users"] * len(run.models) == 40


COMMAND = re.compile(
    r"^ldp-audit train fedsel .*--data (syn-\w) --data-option c1=(\S+) --data-option c2=(\S+)", re.MULTILINE
)


def test_the_page_has_a_command_for_each_of_the_papers_synthetic_sets() -> None:
    """Catches a set that no command makes, and options that the data do not take."""
    both = {(name, c1, c2) for name in ("syn-l", "syn-h") for c1 in ("0.01", "0.1") for c2 in ("0.6", "0.9")}
    assert both <= set(COMMAND.findall(PAGE.read_text(encoding="utf-8")))
    names = {load(name, None, records=10, c1=float(c1), c2=float(c2)).name for name, c1, c2 in both}
    assert len(names) == 8


def test_table_3_is_two_models_at_three_rates() -> None:
    """Catches a solution that is missing: seven of them each."""
    assert len(jobs_of(FedSel, PRESETS.presets["table-3"], 0)) == 42


def test_the_preset_of_the_split_without_hyper_parameters_varies_the_batch_in_as_many_rounds() -> None:
    """Catches a comparison of batches that is one of training times: the paper stops after as many iterations."""
    runs = [
        started(table(1000), **{**job.settings, "repeats": 1})
        for job in jobs_of(FedSel, PRESETS.presets["free-split"], 0)
    ]
    assert {run.rounds for run in runs} == {10}
    assert {run.edges[1] for run in runs} == {8, 16, 40, 80}
