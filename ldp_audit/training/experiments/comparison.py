"""A paper's printed numbers beside what these runs gave: a row for each that the results have runs for.

A pipeline offers `beside_the_paper(results) -> rows`, in its plan's module or in `printed.py` beside it, which gives
rows for the paper's own data sets alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ldp_audit.training.experiments.results import accuracy_of, varied_fields, words


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
