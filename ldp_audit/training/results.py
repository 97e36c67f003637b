"""What `ldp-audit train` writes: one JSON document of the runs, their points, what they spend and what they show.

    {"schema_version": 1, "kind": "training", "tool": {"name", "version", "python", "torch"},
     "pipeline": "ldp-fl", "seed": the root seed, "data": data.describe() and its digest,
     "runs":     [{"settings": all fields, "seed", "rounds": [{"round", "accuracy", ...}], "seconds", "device"}, ...],
     "points":   [{"settings": the varied fields, "accuracy": {"mean", "low", "high", "repeats", "over"}}, ...],
     "spend":    [{"settings": a point's, ... see spend.py}, ...],
     "audit":    [{"settings": a point's, ... see canary.audit_run}, ...], or None without --audit,
     "findings": [{"key", "says", "verdict", "numbers", "error_rate", "place", "note"}, ...],
     "printed":  [{"place", "what", "unit", "printed", "measured", "low", "high"}, ...]}: see Row

An accuracy is the last round's. Its interval is Student's at 95%, over the repeats; where a point has one run of
several batched trainings ("accuracies"), over these, and where they are the folds of a cross-validation (a setting of
that name), whose training records overlap, with Nadeau and Bengio's correction (2003); None for one number alone, or
for a few equal ones.
Infinities are written as text.
"""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from ldp_audit.training.sweep import Paper

SCHEMA_VERSION = 1
_EACH_END = 0.025
_SAME = 1e-12
"""A spread below this share of the values is the rounding of equal ones."""


def build(
    pipeline: str,
    seed: int,
    data: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    spend: Sequence[Mapping[str, Any] | None] = (),
    audits: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The document, without findings and comparisons, which are made from it.

    data: the data set's description.   runs: in the order of the sweep.   spend: of each point, in the order of
    `points_of`; None where nothing is private.   audits: likewise, or none at all.
    """
    points = points_of(runs)
    pairs = list(zip(points, spend, strict=True)) if spend else []
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "training",
        "tool": _tool(),
        "pipeline": pipeline,
        "seed": seed,
        "data": dict(data),
        "runs": [dict(run) for run in runs],
        "points": points,
        "spend": [{"settings": point["settings"], **one} for point, one in pairs if one is not None],
        "audit": audits and [{"settings": point["settings"], **one} for point, one in zip(points, audits, strict=True)],
        "findings": [],
        "printed": [],
    }


def points_of(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points in the order of their first runs: the fields that vary among the runs, and the accuracy."""
    varied = varied_fields(runs)
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(tuple(map(repr, run["settings"].values())), []).append(run)
    return [
        {"settings": {name: group[0]["settings"][name] for name in varied}, "accuracy": accuracy_of(group)}
        for group in groups.values()
    ]


def varied_fields(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fields that are not the same in all runs, in the plan's order."""
    names = runs[0]["settings"] if runs else {}
    return [name for name in names if len({repr(run["settings"][name]) for run in runs}) > 1]


def runs_at(results: Mapping[str, Any], point: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The runs of a point."""
    wanted = point["settings"].items()
    return [run for run in results["runs"] if all(run["settings"][name] == value for name, value in wanted)]


def accuracy_of(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean and 95% interval of the runs of one point."""
    last = [run["rounds"][-1] for run in runs]
    values, over, overlap = [record["accuracy"] for record in last], "runs", 0.0
    if len(last) == 1 and len(last[0].get("accuracies", ())) > 1:
        folds = runs[0]["settings"].get("folds")
        values, over = last[0]["accuracies"], "folds" if folds else "batched trainings"
        overlap = 1 / (folds - 1) if folds else 0.0
    low, mean, high = interval(values, _EACH_END, overlap=overlap)
    return {
        "mean": mean,
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "repeats": len(values),
        "over": over,
    }


def interval(values: Sequence[float], error_rate: float, *, overlap: float = 0.0) -> tuple[float, float, float]:
    """(low, mean, high): each end is beyond the true mean with probability error_rate; Student's t.

    error_rate: in (0, 0.5).   overlap: see `greater`. Infinite ends for fewer than two values, NaN mean for none.
    Equal values have no spread to judge by, and accuracies are shares of few records: n equal ones have infinite ends
    unless 2**-n <= error_rate, the chance that all of n lie on one side of their median.
    """
    from scipy.special import stdtrit

    if not 0 < error_rate < 0.5:
        raise ValueError(f"error_rate must be in (0, 0.5), got {error_rate!r}")
    count = len(values)
    if count < 2:
        return -math.inf, values[0] if values else math.nan, math.inf
    mean = statistics.fmean(values)
    deviation = statistics.stdev(values)
    if deviation <= _SAME * max(map(abs, values)) and 2.0**-count > error_rate:
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


def _tool() -> dict[str, str]:
    import torch

    return {
        "name": "ldp-audit",
        "version": version("ldp-audit"),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }


@dataclass(frozen=True)
class Row:
    """One printed number.

    place: the table.   what: the cell, in words.   unit: "accuracy", a share, or "points", hundredths of it.
    printed, measured: in that unit.   low, high: a 95% interval of the measured one; None for one number alone.
    """

    place: str
    what: str
    unit: str
    printed: float
    measured: float
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


Comparing = Callable[[Mapping[str, Any]], list[Row]]
"""One pipeline's `beside_the_paper`."""


def beside(paper: Paper) -> Comparing:
    """The comparison with a paper's [[printed]] tables: the cells of the results' data set that were run.

    A table's `set`, and the settings that `said` names, hold for all of its cells; a cell's own settings are its keys
    but for `what` and `value`. swept: a setting that must vary among the table's runs, lest a cell stand for another.
    """

    def compared(results: Mapping[str, Any]) -> list[Row]:
        rows: list[Row] = []
        for table in paper.printed:
            if results["data"]["name"] not in table["data"] or not _swept(results, table):
                continue
            for cell in table["cells"]:
                own = {name: value for name, value in cell.items() if name not in ("what", "value")}
                rows += accuracy_rows(results, table["place"], cell["what"], cell["value"], **table["set"], **own)
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
    """The row of the point with these settings; none where no run has them.

    Where the runs that have them differ in other settings too, a row for each point, with what it differs in.
    """
    runs = [run for run in results["runs"] if all(run["settings"].get(name) == v for name, v in settings.items())]
    rows = []
    for more, part in apart(runs):
        found = accuracy_of(part)
        rows.append(Row(place, what + more, "accuracy", printed, found["mean"], found["low"], found["high"]))
    return rows


def apart(runs: Sequence[Mapping[str, Any]], within: Collection[str] = ()) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Runs by their settings, those in `within` left aside, in the order of their first runs.

    Returns for each group in what it differs from the others, as words to append, "" for the only one, and its runs.
    """
    names = [name for name in varied_fields(runs) if name not in within]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(repr([run["settings"][name] for name in names]), []).append(run)
    told = [{name: group[0]["settings"][name] for name in names} for group in groups.values()]
    return [(f", {words(more)}" if more else "", group) for more, group in zip(told, groups.values(), strict=True)]
