"""A recipe: the coding of a table's fields as numbers in [-1, 1] and a label, as printable data.

Why [-1, 1]: FedSel clips the entries of gradients to [-1, 1] before perturbing them, so the scale of the records
decides how much of a gradient survives clipping, and its size relative to the noise. For records in [-1, 1] the
gradients of the logistic and the hinge loss are in [-1, 1] up to the regulariser's, and clipping changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.files import shown
from ldp_audit.training.datasets import Table

_CHUNK = 8192


class Column(Protocol):
    """The coding of one field: a number (`Scaled`, `Ordinal`), bits (`OneHot`, `Intervals`), or nothing (`LeftOut`)."""

    @property
    def name(self) -> str:
        """The field's name."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the resulting columns."""
        ...

    def encode(self, values: Sequence[str]) -> NDArray[np.float64]:
        """The columns, shape (n, len(outputs)), in [-1, 1]; ValueError for a value outside the field's domain."""
        ...

    def describe(self) -> str:
        """The coding in words."""
        ...


@dataclass(frozen=True)
class Target:
    """The label's field.   name: the field's.   negative, positive: its values that become -1 and +1."""

    name: str
    negative: tuple[str, ...]
    positive: tuple[str, ...]

    def encode(self, values: Sequence[str]) -> NDArray[np.int64]:
        """-1 or +1, shape (n,); ValueError for any other value."""
        signs = dict.fromkeys(self.negative, -1) | dict.fromkeys(self.positive, 1)
        try:
            return np.array([signs[value] for value in values], dtype=np.int64)
        except KeyError as error:
            raise ValueError(f"{self.name} must be one of {', '.join(signs)}, got {error.args[0]!r}") from None


@dataclass(frozen=True)
class Recipe:
    """The coding of a table.

    name: of the data set.   source: the recipe's author, and how certain it is.
    columns: the coding of each field, in the file's order.   target: the field after them.
    width: the resulting number of columns; ValueError for another number.
    """

    name: str
    source: str
    columns: tuple[Column, ...]
    target: Target
    width: int

    def __post_init__(self) -> None:
        if len(self.outputs) != self.width:
            raise ValueError(f"{self.name}: the recipe must give {self.width} columns, got {len(self.outputs)}")

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of a record's fields, the target last."""
        return (*(column.name for column in self.columns), self.target.name)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        return tuple(name for column in self.columns for name in column.outputs)

    def table(self, records: Iterable[tuple[str, Sequence[str]]]) -> Table:
        """The table of these records.

        records: (position of the record, its fields), at least one; read in chunks, so that the text is never in
            memory.
        Raises ValueError, naming the position, for a field that does not match the recipe.
        """
        stream, xs, ys = iter(records), [], []
        while chunk := list(islice(stream, _CHUNK)):
            x, y = self._encode_chunk(chunk)
            xs.append(x)
            ys.append(y)
        if not xs:
            raise ValueError(f"{self.name} must have at least one record, got none")
        return Table(self.name, np.concatenate(xs), np.concatenate(ys), self.outputs)

    def describe(self) -> str:
        """The recipe as text: one line per field, with its number of columns."""
        rows = [f"{self.name}: {self.width} columns. {self.source}"]
        rows += [f"  {column.name:<28} {len(column.outputs):>3}  {column.describe()}" for column in self.columns]
        rows.append(f"  {self.target.name:<28} y    +1: {', '.join(self.target.positive)}; -1: all else that is known")
        return "\n".join(rows)

    def _encode_chunk(self, chunk: list[tuple[str, Sequence[str]]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        try:
            return self._encode([fields for _, fields in chunk])
        except ValueError:
            for where, fields in chunk:  # the bad record is searched for only after an error
                try:
                    self._encode([fields])
                except ValueError as error:
                    raise ValueError(f"{where}: {error}") from None
            raise

    def _encode(self, records: list[Sequence[str]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        *features, target = zip(*records, strict=True)
        coded = [column.encode(values) for column, values in zip(self.columns, features, strict=True)]
        return np.concatenate(coded, axis=1), self.target.encode(target)


@dataclass(frozen=True)
class Scaled:
    """The column of a number.

    name: of the field.   low, high: the bounds, low < high.
    how: "centred": affine, from -1 at low to 1 at high; "ratio": divided by the greater of |low| and |high|, so that 0
        stays 0; "log": sign(v) log(1 + |v|), then as "ratio", for amounts and counts over many orders of magnitude.
    Raises ValueError if the bounds do not ascend.
    """

    name: str
    low: float
    high: float
    how: Literal["centred", "ratio", "log"] = "centred"

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"{self.name}: low must be below high, got {self.low!r} and {self.high!r}")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The column's name."""
        return (self.name,)

    def encode(self, values: Sequence[str] | Sequence[float]) -> NDArray[np.float64]:
        """The column, shape (n, 1), in [-1, 1].   values: n numbers within the bounds; ValueError otherwise."""
        found = numbers(self.name, values)
        outside = (found < self.low) | (found > self.high)
        if outside.any():
            got = found[outside][0]
            raise ValueError(f"{self.name} must be a number from {self.low:.12g} to {self.high:.12g}, got {got:.12g}")
        return self._scaled(found)[:, None]

    def describe(self) -> str:
        """The coding in words."""
        words = {
            "centred": "onto [-1, 1]",
            "ratio": "divided by the bound",
            "log": "sign(v) log(1 + |v|), then divided",
        }
        return f"{self.low:.12g} to {self.high:.12g}, {words[self.how]}"

    def _scaled(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.how == "centred":
            return 2 * ((found - self.low) / (self.high - self.low)) - 1
        greatest = max(abs(self.low), abs(self.high))
        if self.how == "ratio":
            return found / greatest
        return np.sign(found) * (np.log1p(np.abs(found)) / np.log1p(greatest))


@dataclass(frozen=True)
class Ordinal:
    """The column of an ordered category: -1 for the first value, 1 for the last, the others evenly between.

    name: of the field.   values: two or more, in order.   Raises ValueError for fewer, or for duplicates.
    """

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.values) < 2 or len(set(self.values)) != len(self.values):
            raise ValueError(f"{self.name}: values must be two or more different ones, got {self.values!r}")

    @classmethod
    def of(cls, name: str, values: str) -> Ordinal:
        """The same, with the values in one text, separated by spaces."""
        return cls(name, tuple(values.split()))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The column's name."""
        return (self.name,)

    def encode(self, values: Sequence[str]) -> NDArray[np.float64]:
        """The column, shape (n, 1), in [-1, 1].   values: n of the known ones; ValueError for any other."""
        places = dict(zip(self.values, np.linspace(-1, 1, len(self.values)), strict=True))
        try:
            return np.array([[places[value]] for value in values], dtype=np.float64).reshape(-1, 1)
        except KeyError as error:
            raise ValueError(f"{self.name} must be one of {', '.join(self.values)}, got {error.args[0]!r}") from None

    def describe(self) -> str:
        """The coding in words."""
        return f"{self.values[0]} = -1 to {self.values[-1]} = 1, evenly"


@dataclass(frozen=True)
class LeftOut:
    """A field without a column.   name: of the field.   why: the reason, for the reader."""

    name: str
    why: str

    @property
    def outputs(self) -> tuple[str, ...]:
        """No columns."""
        return ()

    def encode(self, values: Sequence[str]) -> NDArray[np.float64]:
        """Shape (n, 0)."""
        return np.empty((len(values), 0))

    def describe(self) -> str:
        """The coding in words."""
        return f"left out: {self.why}"


def numbers(name: str, values: Sequence[str] | Sequence[float]) -> NDArray[np.float64]:
    """The values as numbers, shape (n,). Raises ValueError, naming the first that is not a finite number."""
    found = _parsed(values)
    if found is None or not np.isfinite(found).all():
        bad = next(value for value in values if not _is_number(value))
        raise ValueError(f"{name} must be a finite number, got {shown(str(bad))}")
    return found


def _parsed(values: Sequence[str] | Sequence[float]) -> NDArray[np.float64] | None:
    if any("_" in value for value in values if isinstance(value, str)):  # Python reads 1_0 as 10
        return None
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        return None


def _is_number(value: str | float) -> bool:
    try:
        return bool(np.isfinite(float(value))) and "_" not in str(value)
    except ValueError:
        return False


@dataclass(frozen=True)
class OneHot:
    """The columns of a category.

    name: of the field.   values: those with a column, in order, at least one.
    without: those coded as zeros in all columns: unknown values, or the reference value.
    merged: (value, the value it is coded as) for values too rare for a column.
    Raises ValueError for duplicates.
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
        """The same, with the values in one text, separated by spaces."""
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
    """The columns of a number: membership in each interval.

    name: of the field.   edges: ascending; the first interval is below edges[0], the last from edges[-1] on.
    Raises ValueError if the edges do not ascend.
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
