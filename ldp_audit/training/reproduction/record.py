"""The papers' experiments at full size, and the record of each that was run.

`experiments.toml` in a paper's folder lists its experiments ([[experiment]], the fields of `Experiment`), and what it
prints that none of them repeats ([[not-run]]). A record, `records/NAME.json` beside it, holds the results of
`ldp-audit train` without what was measured beside accuracy and spend: for each run its settings, its seed, its accuracy
after every round and its seconds, and its device if that is another than the first run's; for each point its exact
spend; the data, the device and the versions. What is said of a record is about the points all of whose repeats it has.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ldp_audit import registry
from ldp_audit.training.data import DATASETS
from ldp_audit.training.pipeline import plan_class, sweeps_of
from ldp_audit.training.results import points_of, runs_at, varied_fields
from ldp_audit.training.sweep import Sweep

_DIGITS = 6
"""Decimals of a recorded accuracy; test sets have at most 48,842 records."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper.

    name: of its record.   says: what it repeats.   pipeline, preset, set, vary, repeats: see `sweeps_of`.
    data: a data set that `ldp-audit data` fetches, or one without files.
    margin: points by which a figure may differ and still be the same.
    differs: what is not as in the paper, in sentences, but for the number of repeats.
    choosing: the number of repeats of a cross-validation that choose the learning rates; the others are reported.
    paper_repeats: of which the paper's figures are means; None if it does not say.
    paper_protocol: the registered protocol in whose account the paper's last sentence is the epsilon that it prints for
        a run, by the run's settings, such as "name-{k}"; None if it prints none.
    home: the entry point of the paper's experiments.
    """

    name: str
    says: str
    pipeline: str
    preset: str
    data: str
    repeats: int
    margin: float
    differs: Sequence[str]
    choosing: int = 0
    paper_repeats: int | None = None
    paper_protocol: str | None = None
    home: str = ""
    set: Mapping[str, Any] = field(default_factory=dict)
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def records(self) -> Traversable:
        """The folder of the paper's records."""
        return registry.folder(registry.EXPERIMENTS, self.home) / "records"

    def sweeps(self) -> list[Sweep]:
        """Its sweeps."""
        varied = {name: tuple(values) for name, values in self.vary.items()}
        return sweeps_of(plan_class(self.pipeline), self.preset, self.set, varied, self.repeats)

    def told(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """A run's settings by which the experiment's points differ, and those that it sets itself."""
        sweeps = self.sweeps()
        varied = {name for sweep in sweeps for name in sweep.varied}
        fixed = [{name: repr(value) for name, value in one.settings.items()} for one in sweeps]
        apart = {name for one in fixed for name in one if any(one[name] != other.get(name) for other in fixed)}
        return {name: value for name, value in run["settings"].items() if name in varied | apart or name in self.set}

    def folder(self, folders: Path) -> Path | None:
        """Where its data's files are among the data sets' folders; None for data without files."""
        return folders / self.data if DATASETS[self.data].files else None

    def differences(self) -> list[str]:
        """What is not as in the paper, or is not said there, in sentences."""
        here = self.repeats - self.choosing
        if self.paper_repeats is None:
            return [
                *self.differs,
                f"The paper does not say of how many repeats its figures are; here they are of {here}.",
            ]
        fewer = [f"Fewer repeats than the paper's: {here}, where it has {self.paper_repeats}."]
        return [*self.differs, *(fewer if here < self.paper_repeats else [])]

    @property
    def margin_words(self) -> str:
        """The margin in words."""
        return f"margin {self.margin:g} point{'' if self.margin == 1 else 's'}"

    def command(self) -> str:
        """The command line that runs it alone."""
        words = ["ldp-audit train", self.pipeline, "--preset", self.preset, "--data", self.data]
        words += [] if (folder := self.folder(Path("data"))) is None else ["--folder", folder.as_posix()]
        words += [f"--set {name}={value:g}" for name, value in self.set.items()]
        words += [f"--sweep {name}={','.join(f'{value:g}' for value in values)}" for name, values in self.vary.items()]
        return " ".join([*words, "--repeats", str(self.repeats), "--out", self.name])


@dataclass(frozen=True)
class NotRun:
    """What a paper prints and no experiment repeats.   reason: why not."""

    says: str
    reason: str


@cache
def experiments() -> tuple[Experiment, ...]:
    """All experiments, in the order in which they are run."""
    return tuple(Experiment(**one, home=home) for home, tables in _tables() for one in tables.get("experiment", ()))


def not_run() -> tuple[NotRun, ...]:
    """What no experiment repeats."""
    return tuple(NotRun(**one) for _, tables in _tables() for one in tables.get("not-run", ()))


def _tables() -> list[tuple[str, dict[str, Any]]]:
    """Each paper's experiments.toml, by its entry point."""

    def read(home: str) -> dict[str, Any]:
        file = registry.folder(registry.EXPERIMENTS, home) / "experiments.toml"
        return tomllib.loads(file.read_text(encoding="utf-8"))

    return list(registry.usable(registry.EXPERIMENTS, read).items())


def experiment_named(name: str) -> Experiment:
    """The experiment with this name. Raises ValueError, listing all, for an unknown one."""
    known = {one.name: one for one in experiments()}
    if name not in known:
        raise ValueError(f"experiment must be one of {', '.join(known)}, got {name!r}")
    return known[name]


def written(record: Mapping[str, Any]) -> str:
    """A record as text, with a line for each run and each spend."""
    lists = {name: record[name] for name in ("runs", "spend")}
    text = json.dumps({**record, **{name: [] for name in lists}}, indent=1, allow_nan=False)
    for name, items in lists.items():
        lines = ",\n".join(json.dumps(item, allow_nan=False) for item in items)
        text = text.replace(f'"{name}": []', f'"{name}": [\n{lines}\n ]')
    return text + "\n"


def condensed(results: Mapping[str, Any]) -> dict[str, Any]:
    """The record of an experiment's results."""
    runs = results["runs"]
    varied, device = varied_fields(runs), runs[0]["device"]
    return {
        **{name: results[name] for name in ("schema_version", "tool", "pipeline", "seed", "data")},
        "device": device,
        "settings": {name: value for name, value in runs[0]["settings"].items() if name not in varied},
        "runs": [
            _condensed_run(run, varied) | ({} if run["device"] == device else {"device": run["device"]}) for run in runs
        ],
        "spend": [
            {name: one[name] for name in ("settings", "delta", "claimed", "everything")}
            | {"adjacency": one["protocol"]["adjacency"]}
            for one in results["spend"]
        ],
    }


def _condensed_run(run: Mapping[str, Any], varied: Sequence[str]) -> dict[str, Any]:
    last = run["rounds"][-1]
    found: dict[str, Any] = {
        "settings": {name: run["settings"][name] for name in varied},
        "seed": run["seed"],
        "seconds": round(run["seconds"], 1),
        "rounds": [round(one["accuracy"], _DIGITS) for one in run["rounds"]],
    }
    if "accuracies" in last:
        found["accuracies"] = [round(one, _DIGITS) for one in last["accuracies"]]
    if "layers" in last:
        found["layers"] = list(last["layers"])
    return found


def expanded(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record in the form of results, as far as a pipeline's findings and published figures need it."""
    runs = [
        {
            "settings": {**record["settings"], **run["settings"]},
            "seed": run["seed"],
            "seconds": run["seconds"],
            "device": run.get("device", record["device"]),
            "rounds": [{"round": number, "accuracy": one} for number, one in enumerate(run["rounds"], start=1)],
        }
        for run in record["runs"]
    ]
    for run, short in zip(runs, record["runs"], strict=True):
        run["rounds"][-1] |= {name: short[name] for name in ("accuracies", "layers") if name in short}
    return {**record, "runs": runs, "points": points_of(runs)}


@cache
def recorded(name: str, folder: Traversable | None = None) -> dict[str, Any] | None:
    """An experiment's record in the form of results, its complete points alone; None if there is none.

    folder: of the records; None: the paper's own.
    """
    folders = [folder] if folder is not None else [one.records for one in experiments() if one.name == name]
    files = [file for one in folders if (file := one / f"{name}.json").is_file()]
    known = expanded(json.loads(files[0].read_text(encoding="utf-8"))) if files else None
    return None if known is None else complete(known, max(sweep.repeats for sweep in experiment_named(name).sweeps()))


def complete(results: Mapping[str, Any], repeats: int) -> dict[str, Any] | None:
    """The results at the points that have so many runs; None if there is no such point."""
    counts = Counter(repr(run["settings"]) for run in results["runs"])
    runs = [run for run in results["runs"] if counts[repr(run["settings"])] >= repeats]
    if not runs:
        return None
    varied = varied_fields(runs)
    spend = [(runs_at({"runs": runs}, one), one) for one in results["spend"]]
    told = [{**one, "settings": {name: at[0]["settings"][name] for name in varied}} for at, one in spend if at]
    return {**results, "runs": runs, "points": points_of(runs), "spend": told}
