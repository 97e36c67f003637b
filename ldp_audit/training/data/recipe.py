"""A recipe: how the fields of a table's records become numbers in [-1, 1] and a label. It is data, and prints as such.

Why [-1, 1]: FedSel clips the entries of gradients to [-1, 1] before it perturbs them, so how large the numbers are
decides how much of a gradient survives, and how it compares with the noise. For records in [-1, 1] the logistic and the
hinge loss have gradients in [-1, 1] up to the regulariser's, and clipping has nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.datasets import Table

_CHUNK = 8192


class Column(Protocol):
    """How one field is coded; see `one_hot` and `scaled`."""

    @property
    def name(self) -> str:
        """The field's."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that it gives."""
        ...

    def encode(self, values: Sequence[str]) -> NDArray[np.float64]:
        """The columns, shape (n, len(outputs)), in [-1, 1]; ValueError for a value that is not of the field."""
        ...

    def describe(self) -> str:
        """The coding in words."""
        ...


@dataclass(frozen=True)
class Target:
    """The field that is to be predicted.   name: of it.   negative, positive: its values that are -1 and +1."""

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
    """How a table is made.

    name: of the data set.   source: whose recipe it is, and how sure that is.
    columns: how each field is coded, in the file's order.   target: the field after them.
    width: how many columns must result; ValueError where it is another number.
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

        records: (where the record stands, its fields), at least one; read in chunks, so that the text is never held.
        Raises ValueError, naming the place, for a field that is not as the recipe says.
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
        """The recipe as text: a line for each field, with the number of columns that it gives."""
        rows = [f"{self.name}: {self.width} columns. {self.source}"]
        rows += [f"  {column.name:<28} {len(column.outputs):>3}  {column.describe()}" for column in self.columns]
        rows.append(f"  {self.target.name:<28} y    +1: {', '.join(self.target.positive)}; -1: all else that is known")
        return "\n".join(rows)

    def _encode_chunk(self, chunk: list[tuple[str, Sequence[str]]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        try:
            return self._encode([fields for _, fields in chunk])
        except ValueError:
            for where, fields in chunk:  # which record it was is looked for only when one was wrong
                try:
                    self._encode([fields])
                except ValueError as error:
                    raise ValueError(f"{where}: {error}") from None
            raise

    def _encode(self, records: list[Sequence[str]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        *features, target = zip(*records, strict=True)
        coded = [column.encode(values) for column, values in zip(self.columns, features, strict=True)]
        return np.concatenate(coded, axis=1), self.target.encode(target)
