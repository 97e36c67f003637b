"""The workflows for a public host parse, and call what is there."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CALLS = {"check": ".ci/run", "release": ".ci/run", "nightly": "make nightly"}
"""What each workflow is for."""
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def missing(command: str) -> str | None:
    """The program or target of ours that a step's command calls and that is not there, or None."""
    first, *rest = command.split()
    if first == "make":
        return None if re.search(rf"^{rest[0]}:", MAKEFILE, re.MULTILINE) else rest[0]
    if "/" in first:
        return None if os.access(ROOT / first, os.X_OK) else first
    return None if first == "test" else first


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_what_is_there(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert CALLS[path.stem] in commands
    assert [one for command in commands if (one := missing(command))] == []
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    pinned = re.compile(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+)")
    assert all((ROOT / one / "action.yml").exists() if one.startswith("./") else pinned.fullmatch(one) for one in used)
    assert workflow["permissions"] == {"contents": "read"}


def test_a_call_of_what_is_not_there_is_found() -> None:
    assert [missing("make nothing"), missing(".ci/walk"), missing("pipx run x")] == ["nothing", ".ci/walk", "pipx"]


def test_every_python_that_the_package_names_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    check = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8"))
    named = {one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)}
    assert named <= set(check["jobs"]["check"]["strategy"]["matrix"]["python"])


def test_a_night_fits_into_the_time_of_its_job() -> None:
    """Six hours are the most that a hosted job has; installing and the report take some minutes more than the steps."""
    spec = importlib.util.spec_from_file_location("nightly", ROOT / "benchmarks" / "nightly.py")
    assert spec is not None
    assert spec.loader is not None
    nightly = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(nightly)
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8"))
    minutes = workflow["jobs"]["nightly"]["timeout-minutes"]
    assert sum(step.limit for step in nightly.STEPS.values()) / 60 + 15 <= minutes <= 360
