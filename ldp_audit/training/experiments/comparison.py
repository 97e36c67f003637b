"""A paper's printed numbers beside what these runs gave: a row for each that the results have runs for.

A pipeline offers `beside_the_paper(results) -> rows`, in its plan's module or in `printed.py` beside it, which gives
rows for the paper's own data sets alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ldp_audit.training.experiments.results import accuracy_of


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

    Raises ValueError where the runs that have them differ in other settings too.
    """
    runs = [run for run in results["runs"] if all(run["settings"].get(name) == v for name, v in settings.items())]
    if not runs:
        return []
    if len({repr(run["settings"]) for run in runs}) > 1:
        raise ValueError(f"{place}, {what}: the settings {settings!r} name more than one point")
    found = accuracy_of(runs)
    return [Row(place, what, "accuracy", printed, found["mean"], found["low"], found["high"])]
