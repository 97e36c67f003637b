"""One-hot coding: a column of 0 and 1 for each value of a category, or for each interval of a number.

The values are listed in the recipe and not taken from the file: the width does not depend on which records are there,
and a client can code its own record alone, as local privacy asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.scaled import numbers


@dataclass(frozen=True)
class OneHot:
    """A category's columns.

    name: of the field.   values: those that get a column, in order, at least one.
    without: those that get none, so that all columns are 0: unknown ones, or the one that the others are held against.
    merged: (value, the value that it is coded as) for those too rare for a column.
    Raises ValueError where a value is named twice.
    """

    name: str
    values: tuple[str, ...]
    without: tuple[str, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()
    _places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places = {value: place for place, value in enumerate(self.values)}
        places |= dict.fromkeys(self.without, -1)
        for value, other in self.merged:
            if other not in places:
                raise ValueError(f"{self.name}: merged must name known values, got {other!r}")
            places[value] = places[other]
        if len(places) != len(self.values) + len(self.without) + len(self.merged) or not self.values:
            raise ValueError(f"{self.name}: values must be one or more different ones, got {self.values!r}")
        object.__setattr__(self, "_places", places)

    @classmethod
    def of(cls, name: str, values: str, *, without: str = "", merged: tuple[tuple[str, str], ...] = ()) -> OneHot:
        """Likewise, with the values written in a row, separated by spaces."""
        return cls(name, tuple(values.split()), tuple(without.split()), merged)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(f"{self.name}={value}" for value in self.values)

    def encode(self, values: Sequence[str]) -> NDArray[np.float64]:
        """The columns, shape (n, width).   values: n of the known ones; ValueError for any other."""
        try:
            places = np.array([self._places[value] for value in values], dtype=np.int64)
        except KeyError as error:
            known = ", ".join(self._places)
            raise ValueError(f"{self.name} must be one of {known}, got {error.args[0]!r}") from None
        return (places[:, None] == np.arange(len(self.values))).astype(np.float64)

    def describe(self) -> str:
        """The coding in words."""
        left = f", none for {', '.join(self.without)}" if self.without else ""
        coded = "".join(f", {value} as {other}" for value, other in self.merged)
        return f"one-hot of {len(self.values)} values{left}{coded}"


@dataclass(frozen=True)
class Intervals:
    """A number's columns: which interval it lies in.

    name: of the field.   edges: ascending; the first interval is all below edges[0], the last all from edges[-1] up.
    Raises ValueError where the edges do not ascend.
    """

    name: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.edges or any(not low < high for low, high in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError(f"{self.name}: edges must be ascending, got {self.edges!r}")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The columns' names."""
        between = [f"{low:g}..{high:g}" for low, high in zip(self.edges, self.edges[1:], strict=False)]
        names = [f"<{self.edges[0]:g}", *between, f">={self.edges[-1]:g}"]
        return tuple(f"{self.name}:{name}" for name in names)

    def encode(self, values: Sequence[str]) -> NDArray[np.float64]:
        """The columns, shape (n, width).   values: n finite numbers; ValueError otherwise."""
        places = np.searchsorted(self.edges, numbers(self.name, values), side="right")
        return (places[:, None] == np.arange(len(self.edges) + 1)).astype(np.float64)

    def describe(self) -> str:
        """The coding in words."""
        return f"one-hot of {len(self.edges) + 1} intervals, from {', '.join(f'{edge:.10g}' for edge in self.edges)} up"
