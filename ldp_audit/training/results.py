"""The JSON document that `ldp-audit train` writes: runs, sweep points, spends, audits and findings.

    {"schema_version": 1, "kind": "training", "tool": {"name", "version", "python", "torch"},
     "pipeline": "ldp-fl", "seed": the root seed, "data": data.describe() and its digest,
     "runs":     [{"settings": all fields, "seed", "rounds": [{"round", "accuracy", ...}], "seconds", "device"}, ...],
     "points":   [{"settings": the varied fields, "accuracy": {"mean", "low", "high", "repeats", "over"}}, ...],
     "spend":    [{"settings": a point's, ... see spend.py}, ...],
     "audit":    [{"settings": a point's, ... see canary.audit_run}, ...], or None without --audit,
     "findings": [{"key", "says", "verdict", "numbers", "error_rate", "place", "note"}, ...],
     "printed":  [the fields of a Row, ...]}

A run's device tells on which device, with how many threads and in which version of torch it ran; "not_repeatable" names
the operations, if there are any, for which torch has no deterministic algorithm there.

The accuracy of a run is that of its last round. A point's interval is Student's at 95% over its repeats. For a single
run of several batched trainings ("accuracies") it is over these; if they are folds of a cross-validation (a setting of
that name), whose training records overlap, the variance is corrected as in Nadeau and Bengio (2003). There is no
interval for a single number, nor for a few equal ones. Infinities are written as text.
"""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any

from ldp_audit.training.sweep import Presets

SCHEMA_VERSION = 1
_TAIL = 0.025
_ROUNDING = 1e-12
"""A standard deviation below this share of the values is rounding error of equal values."""


def build(
    pipeline: str,
    seed: int,
    data: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    spend: Sequence[Mapping[str, Any] | None] = (),
    audits: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The document without findings and published results, which are computed from it.

    data: the data set's description.   runs: in the order of the sweep.   spend: of each point, in the order of
        `points_of`; None if nothing is private.   audits: likewise, or None for no audits.
    """
    points = points_of(runs)
    pairs = list(zip(points, spend, strict=True)) if spend else []
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "training",
        "tool": tool(),
        "pipeline": pipeline,
        "seed": seed,
        "data": dict(data),
        "runs": [dict(run) for run in runs],
        "points": points,
        "spend": [{"settings": point["settings"], **one} for point, one in pairs if one is not None],
        "audit": audits and [{"settings": point["settings"], **one} for point, one in zip(points, audits, strict=True)],
        "findings": [],
        "printed": [],
        "doubts": [],
    }


def points_of(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points in the order of their first runs: settings that vary among the runs, and the accuracy."""
    varied = varied_fields(runs)
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(tuple(map(repr, run["settings"].values())), []).append(run)
    return [
        {"settings": {name: group[0]["settings"][name] for name in varied}, "accuracy": accuracy_of(group)}
        for group in groups.values()
    ]


def varied_fields(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fields with more than one value among the runs, in the plan's order."""
    names = runs[0]["settings"] if runs else {}
    return [name for name in names if len({repr(run["settings"][name]) for run in runs}) > 1]


def runs_at(results: Mapping[str, Any], point: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The runs of a point."""
    wanted = point["settings"].items()
    return [run for run in results["runs"] if all(run["settings"][name] == value for name, value in wanted)]


def accuracy_of(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean accuracy of the runs of one point, with its 95% interval."""
    last = [run["rounds"][-1] for run in runs]
    values, over, overlap = [record["accuracy"] for record in last], "runs", 0.0
    if len(last) == 1 and len(last[0].get("accuracies", ())) > 1:
        folds = runs[0]["settings"].get("folds")
        values, over = last[0]["accuracies"], "folds" if folds else "batched trainings"
        overlap = 1 / (folds - 1) if folds else 0.0
    low, mean, high = interval(values, _TAIL, overlap=overlap)
    return {
        "mean": mean,
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "repeats": len(values),
        "over": over,
    }


def interval(values: Sequence[float], error_rate: float, *, overlap: float = 0.0) -> tuple[float, float, float]:
    """(low, mean, high) by Student's t: each bound misses the true mean with probability error_rate.

    error_rate: in (0, 0.5).   overlap: test records over training records for folds of a cross-validation; 0 for
        independent runs. The bounds are infinite for fewer than two values; the
        mean of none is NaN. n equal values estimate no variance, and accuracies are shares of few records: their bounds
        are infinite unless 2**-n <= error_rate, the probability that all n lie on one side of their median.
    """
    from scipy.special import stdtrit

    if not 0 < error_rate < 0.5:
        raise ValueError(f"error_rate must be in (0, 0.5), got {error_rate!r}")
    count = len(values)
    if count < 2:
        return -math.inf, values[0] if values else math.nan, math.inf
    mean = statistics.fmean(values)
    deviation = statistics.stdev(values)
    if deviation <= _ROUNDING * max(map(abs, values)) and 2.0**-count > error_rate:
        return -math.inf, mean, math.inf
    spread = deviation * math.sqrt(1 / count + overlap)
    half = float(stdtrit(count - 1, 1 - error_rate)) * spread
    return mean - half, mean, mean + half


def words(settings: Mapping[str, Any]) -> str:
    """A point's settings on one line."""
    return ", ".join(f"{name} {_short(value)}" for name, value in settings.items()) or "the defaults"


def _short(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def tool() -> dict[str, str]:
    """What made a document: our version, Python's and torch's."""
    import torch

    return {
        "name": "ldp-audit",
        "version": version("claimed-epsilon"),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }


@dataclass(frozen=True)
class Row:
    """One published number beside its measurement.

    place: the paper's table.   what: the cell, in words.   unit: "accuracy", a share, or "points", hundredths of it.
    printed, measured: in that unit.   low, high: 95% interval of the measured mean; None for a single run.
    values: of each run, or of each repeat of a cross-validation; measured is their mean.
    other: how the runs' data differ from the paper's, if they do.
    idle: of a difference, which of its two methods learnt nothing, if one did not.
    """

    place: str
    what: str
    unit: str
    printed: float
    measured: float
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()
    other: str = ""
    idle: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "values": list(self.values)}


Comparing = Callable[[Mapping[str, Any]], list[Row]]
"""The type of a pipeline's `beside_the_paper`."""


def beside(presets: Presets) -> Comparing:
    """Compare results with a paper's [[printed]] tables: the cells of the results' data set for which there are runs.

    A table's `set`, and the settings that `said` names, hold for all of its cells; a cell's own settings are its keys
    other than `what` and `value`. swept: a setting that must vary among the table's runs, so that a cell is not
    compared with another cell's run.   other: how the data sets of `data` differ from the paper's, if they do.
    """

    def compared(results: Mapping[str, Any]) -> list[Row]:
        rows: list[Row] = []
        for table in presets.printed:
            if results["data"]["name"] not in table["data"] or not _swept(results, table):
                continue
            for cell in table["cells"]:
                own = {name: value for name, value in cell.items() if name not in ("what", "value")}
                found = accuracy_rows(results, table["place"], cell["what"], cell["value"], **table["set"], **own)
                rows += [replace(row, other=table.get("other", "")) for row in found]
        return rows

    return compared


def _swept(results: Mapping[str, Any], table: Mapping[str, Any]) -> bool:
    name = table.get("swept")
    found = {
        run["settings"][name]
        for run in results["runs"]
        if name and all(run["settings"][one] == table["set"][one] for one in table["said"])
    }
    return name is None or len(found) > 1


def accuracy_rows(results: Mapping[str, Any], place: str, what: str, printed: float, **settings: Any) -> list[Row]:
    """One row for each point with these settings; none if no run has them.

    If the runs also differ in other settings, each combination has a row that names them.
    """
    runs = [run for run in results["runs"] if all(run["settings"].get(name) == v for name, v in settings.items())]
    rows = []
    for more, part in apart(runs):
        found = accuracy_of(part)
        values = tuple(run["rounds"][-1]["accuracy"] for run in part)
        rows.append(Row(place, what + more, "accuracy", printed, found["mean"], found["low"], found["high"], values))
    return rows


def apart(runs: Sequence[Mapping[str, Any]], within: Collection[str] = ()) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Group runs by their settings except those in `within`, in the order of their first runs.

    Returns for each group the settings that distinguish it, as words to append ("" for the only group), and its runs.
    """
    names = [name for name in varied_fields(runs) if name not in within]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(repr([run["settings"][name] for name in names]), []).append(run)
    told = [{name: group[0]["settings"][name] for name in names} for group in groups.values()]
    return [(f", {words(more)}" if more else "", group) for more, group in zip(told, groups.values(), strict=True)]
