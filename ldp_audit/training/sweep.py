"""Sweeps over a plan's fields: all combinations of values, repeated with several seeds.

A paper's own settings are data: the file `presets.toml` that it registers for its pipeline (`read_presets`).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tomllib
import types
import typing
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ldp_audit import registry
from ldp_audit.accounting.converted import plain
from ldp_audit.numerics import meant, whole

MAX_RUNS = 100_000
"""Largest number of runs of an experiment; more are taken for a typing error, and their list alone would fill the
memory."""


@dataclass(frozen=True)
class Sweep:
    """All combinations of the values of some fields.

    settings: fields with one value.   varied: the values of each varied field, in order.
    repeats: runs of each combination, >= 1.   doubts: for a suspect setting of the paper's, why it is.
    Raises ValueError for a field in both, and for one without values.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    varied: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    repeats: int = 1
    doubts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.repeats, int) or isinstance(self.repeats, bool) or self.repeats < 1:
            raise ValueError(f"repeats must be a whole number >= 1, got {self.repeats!r}")
        for name, values in self.varied.items():
            if name in self.settings:
                raise ValueError(f"field {name!r} must be either set or swept, got both")
            if isinstance(values, str) or not len(values):
                raise ValueError(f"sweep of {name!r} must have one value or more, got {values!r}")
            if len(set(values)) < len(values):
                raise ValueError(f"sweep of {name!r} must have each value once, got {list(values)!r}")

    @property
    def count(self) -> int:
        """Number of runs."""
        return math.prod(map(len, self.varied.values())) * self.repeats

    def combinations(self) -> list[dict[str, Any]]:
        """The settings of each point; the last varied field changes fastest."""
        names = list(self.varied)
        return [
            {**self.settings, **dict(zip(names, values, strict=True))}
            for values in itertools.product(*self.varied.values())
        ]

    def changed(self, fixed: Mapping[str, Any], varied: Mapping[str, Sequence[Any]], repeats: int | None) -> Sweep:
        """The same with these fields in the place of its own, and so many repeats; None leaves them.

        Raises ValueError for a field that is both fixed and varied.
        """
        both = fixed.keys() & varied.keys()
        if both:
            raise ValueError(f"field {min(both)!r} must be either set or swept, got both")
        return Sweep(
            {name: value for name, value in {**self.settings, **fixed}.items() if name not in varied},
            {**{name: values for name, values in self.varied.items() if name not in fixed}, **varied},
            self.repeats if repeats is None else repeats,
            {name: doubt for name, doubt in self.doubts.items() if name not in fixed and name not in varied},
        )


def doubts_of(sweeps: Sequence[Sweep]) -> list[str]:
    """Why settings of these sweeps are suspect."""
    return list(dict.fromkeys(doubt for sweep in sweeps for doubt in sweep.doubts.values()))


@dataclass(frozen=True)
class Presets:
    """The content of a `presets.toml`.

    demonstration: sweeps for the pipeline's findings.   presets: sweeps by name.   printed: the tables [[printed]],
        with their data sets, settings and cells (`results.beside`).   document: the file, with None for the text
        "none".
    """

    demonstration: tuple[Sweep, ...]
    presets: Mapping[str, tuple[Sweep, ...]]
    printed: tuple[Mapping[str, Any], ...]
    document: Mapping[str, Any]


@lru_cache
def read_presets(pipeline: str) -> Presets:
    """The presets that are registered for a pipeline; without any, the demonstration is one run of its defaults."""
    if pipeline not in registry.entries(registry.PRESETS):
        return Presets((Sweep(),), {}, (), {})
    return presets_of_text((registry.folder(registry.PRESETS, pipeline) / "presets.toml").read_text(encoding="utf-8"))


def presets_of_text(text: str) -> Presets:
    """Parse the text of a `presets.toml`.

        repeats = 10                                      # default of every sweep; 1 if absent
        [settings.mnist]                                  # of a plan; `base` names a table that it extends
        doubts = { radius = "..." }                       # why a setting is suspect; not extended
        [[demonstration]]                                 # a sweep: base, set, vary, repeats
        [presets]
        name = [{ base = "mnist", set = { fraction = 0.5 }, vary = { epsilon = [1.0, inf] } }]
        [[printed]]                                       # place, data, base, said, set, swept, other, cells

    TOML has no null: as on the command line, the text "none" is None. Other tables belong to the pipeline.
    Raises ValueError for an unknown key of a sweep or of [[printed]], and for an unknown base.
    """
    document = _with_none(tomllib.loads(text))
    settings: dict[str | None, dict[str, Any]] = {None: {}}
    doubts: dict[str | None, dict[str, str]] = {None: {}}

    def based(table: Mapping[str, Any]) -> dict[str, Any]:
        base = table.get("base")
        if base not in settings:
            raise ValueError(f"base must be one of [settings], {', '.join(map(str, list(settings)[1:]))}, got {base!r}")
        return settings[base]

    for name, table in document.get("settings", {}).items():
        doubts[name] = table.get("doubts", {})
        settings[name] = {
            **based(table),
            **{one: value for one, value in table.items() if one not in ("base", "doubts")},
        }

    def sweep(table: Mapping[str, Any]) -> Sweep:
        _check_keys("a sweep", table, _SWEEP_KEYS)
        varied = {name: tuple(values) for name, values in table.get("vary", {}).items()}
        suspect = Sweep(based(table), {}, table.get("repeats", document.get("repeats", 1)), doubts[table.get("base")])
        return suspect.changed(table.get("set", {}), varied, None)

    def cells(table: Mapping[str, Any]) -> dict[str, Any]:
        _check_keys("[[printed]]", table, _PRINTED_KEYS)
        return {**table, "set": {name: based(table)[name] for name in table["said"]} | table["set"]}

    return Presets(
        tuple(map(sweep, document.get("demonstration", ()))),
        {name: tuple(map(sweep, tables)) for name, tables in document.get("presets", {}).items()},
        tuple(map(cells, document.get("printed", ()))),
        document,
    )


_SWEEP_KEYS = ("base", "set", "vary", "repeats")
_PRINTED_KEYS = ("place", "data", "base", "said", "set", "swept", "other", "cells")


def _check_keys(what: str, table: Mapping[str, Any], accepted: Sequence[str]) -> None:
    for key in table:
        if key not in accepted:
            raise ValueError(f"{what} has an unknown key {key!r}; accepted: {', '.join(accepted)}")


def _with_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_none(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_none(part) for part in value]
    return None if value == "none" else value


@dataclass(frozen=True)
class Job:
    """One run of a sweep: all fields of its plan, and its seed."""

    settings: Mapping[str, Any]
    seed: int

    def __str__(self) -> str:
        return f"{', '.join(f'{name} {value}' for name, value in self.settings.items())}; seed {self.seed}"


def jobs_of(plan: type, sweeps: Sequence[Sweep], seed: int) -> list[Job]:
    """Every distinct run of the sweeps, validated by building its plan.

    The seed of a repeat depends on the root seed and the repeat's number only, so that all points are compared on
    common random numbers. Raises ValueError for unknown fields and for values that the plan refuses.
    """
    found: dict[tuple[Any, ...], Job] = {}
    asked = sum(sweep.count for sweep in sweeps)
    if asked > MAX_RUNS:
        raise ValueError(f"sweeps must ask for at most {MAX_RUNS} runs, got {asked}")
    for sweep in sweeps:
        for settings in sweep.combinations():
            check_fields(plan, settings)
            whole = dataclasses.asdict(plan(**settings))
            for repeat in range(sweep.repeats):
                job = Job(whole, repeat_seed(seed, repeat))
                found.setdefault((*whole.values(), job.seed), job)
    return list(found.values())


def repeat_seed(seed: int, repeat: int) -> int:
    """The seed of a repeat's run, below 2**53, which JSON stores exactly."""
    state = np.random.SeedSequence(whole(seed, "seed", 0), spawn_key=(zlib.crc32(b"repeat"), repeat)).generate_state(
        1, np.uint64
    )
    return int(state[0]) >> 11


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """JSON-ready settings: infinities as text, numpy's numbers as Python's."""
    own = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    return {name: plain(value) if isinstance(value, float) else value for name, value in own.items()}


def check_fields(plan: type, names: Mapping[str, Any] | Sequence[str]) -> None:
    """Raise ValueError, listing the plan's fields, for a name that is not one of them."""
    known = [one.name for one in dataclasses.fields(plan)]
    for name in names:
        if name not in known:
            raise ValueError(f"field must be one of {', '.join(known)}, got {name!r}{meant(name, known)}")


def read_value(plan: type, name: str, text: str) -> Any:
    """A field's value from the command line, parsed by the field's annotation. ValueError if it does not fit."""
    check_fields(plan, [name])
    kinds = _kinds(typing.get_type_hints(plan)[name])
    for kind in kinds:
        try:
            return _READERS[kind](text)
        except ValueError:
            continue
    accepted = " or ".join(_WORDS[kind] for kind in kinds)
    raise ValueError(f"{name} must be {accepted}, got {text!r}")


def _kinds(annotation: Any) -> list[type]:
    """The scalar types that an annotation allows, the most restrictive first."""
    if typing.get_origin(annotation) is typing.Literal:
        found = {type(value) for value in typing.get_args(annotation)}
    elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
        found = {kind for part in typing.get_args(annotation) for kind in _kinds(part)}
    else:
        found = {annotation}
    return [kind for kind in _READERS if kind in found] or [str]


def _none(text: str) -> None:
    if text.lower() != "none":
        raise ValueError(text)


def _bool(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def _int(text: str) -> int:
    """A whole number, also as 1e5."""
    number = float(text) if not text.strip().lstrip("+-").isdigit() else int(text)
    if math.isinf(number) or number != int(number):
        raise ValueError(text)
    return int(number)


def _float(text: str) -> float:
    number = float(text)
    if number != number:
        raise ValueError(text)
    return number


_READERS: dict[type, Any] = {type(None): _none, bool: _bool, int: _int, float: _float, str: str}
_WORDS: dict[type, str] = {
    type(None): "none",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
