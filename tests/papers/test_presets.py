"""Every paper's presets and printed tables are settings of its plan."""

from __future__ import annotations

from ldp_audit.training.pipeline import PIPELINES, demonstration_of, plan_class, presets_of
from ldp_audit.training.sweep import check_fields, jobs_of, read_presets
from tests.together import together


@together("pipeline", PIPELINES)
def test_every_preset_is_made_of_plans(pipeline: str) -> None:
    """A ready command that fails at its start: a field or a value that the plan does not know."""
    plan = plan_class(pipeline)
    for sweeps in (demonstration_of(plan), *presets_of(plan).values()):
        assert len(jobs_of(plan, sweeps, 1)) == sum(sweep.count for sweep in sweeps)


@together("pipeline", PIPELINES)
def test_every_printed_number_is_of_settings_of_the_plan(pipeline: str) -> None:
    """A misspelt setting, with which no run would ever stand beside the paper's number."""
    plan = plan_class(pipeline)
    for table in read_presets(pipeline).printed:
        for cell in table["cells"]:
            own = {name: value for name, value in cell.items() if name not in ("what", "value")}
            check_fields(plan, {**table["set"], **own})
            assert 0 < cell["value"] < 1
