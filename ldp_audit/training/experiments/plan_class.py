"""The plan that a pipeline's name stands for, and what its module offers beside it.

A name is a shipped pipeline's ("ldp-fl") or "module:Class", a plan of the user's.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

from ldp_audit.mechanisms.named_object import named_object
from ldp_audit.training.experiments.comparison import Comparing
from ldp_audit.training.experiments.findings import Question
from ldp_audit.training.experiments.sweep import Sweep
from ldp_audit.training.pipeline import PIPELINES


def plan_class(name: str) -> type:
    """The dataclass of settings. Raises ValueError for a name that leads to none."""
    target = PIPELINES.get(name, name)
    if ":" not in target:
        raise ValueError(f"pipeline must be one of {', '.join(PIPELINES)}, or module:Class, got {name!r}")
    found = named_object(target, f"pipeline {name!r}")
    if (
        not isinstance(found, type)
        or not dataclasses.is_dataclass(found)
        or not callable(getattr(found, "start", None))
    ):
        raise ValueError(f"pipeline {name!r} must be a dataclass of settings with a method start, got {found!r:.100}")
    return found


def findings_of(plan: type) -> tuple[Question, ...]:
    """The pipeline's FINDINGS; empty where it has none."""
    return tuple(_offered(plan, "FINDINGS", "findings", ()))


def comparing_of(plan: type) -> Comparing:
    """The pipeline's `beside_the_paper`; no rows where it has none."""
    found: Comparing | None = _offered(plan, "beside_the_paper", "printed", None)
    return found or (lambda _: [])


def demonstration_of(plan: type) -> tuple[Sweep, ...]:
    """The pipeline's DEMONSTRATION; one run of its defaults where it has none."""
    return _sweeps(_offered(plan, "DEMONSTRATION", "presets", (Sweep(),)))


def preset_of(plan: type, name: str) -> tuple[Sweep, ...]:
    """The sweeps of a preset. Raises ValueError, with the presets that there are, for an unknown one."""
    presets = presets_of(plan)
    if name not in presets:
        known = ", ".join(presets) or "none, for this pipeline"
        raise ValueError(f"preset must be one of {known}, got {name!r}")
    return _sweeps(presets[name])


def presets_of(plan: type) -> dict[str, Any]:
    """The pipeline's presets by name; empty where it has none."""
    offered = _offered(plan, "presets", "presets", dict)
    presets: Any = offered() if callable(offered) else offered
    return dict(presets)


def _offered(plan: type, name: str, sibling: str, default: Any) -> Any:
    """What the plan's module, or the module of that name beside it, defines."""
    module = sys.modules[plan.__module__]
    if hasattr(module, name):
        return getattr(module, name)
    package = plan.__module__.rpartition(".")[0]
    beside = f"{package}.{sibling}"
    if package and importlib.util.find_spec(beside) is not None:
        return getattr(importlib.import_module(beside), name, default)
    return default


def _sweeps(value: Any) -> tuple[Sweep, ...]:
    """Sweeps, one sweep, a plan, or its settings."""
    if isinstance(value, Sweep):
        return (value,)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (Sweep(dataclasses.asdict(value)),)
    if isinstance(value, dict):
        return (Sweep(value),)
    if isinstance(value, Sequence):
        return tuple(one for part in value for one in _sweeps(part))
    raise ValueError(f"sweeps must be Sweep objects, got {value!r:.100}")
