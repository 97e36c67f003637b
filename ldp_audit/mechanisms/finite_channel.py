"""Any finite channel, given by its matrix: rows are inputs, columns outputs, entries probabilities."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.randomness import WORDS, require_generator, words

_TOLERANCE = 1e-9
"""How far a row of floats may be from 1; the row is used as it is."""


@dataclass(frozen=True, eq=False)
class FiniteChannel:
    """P(output j | input i) = matrix[i][j].

    matrix: shape (inputs, outputs); numbers, fractions or texts such as "1/3".
    outputs: the reports' labels, one a column; 0, 1, ... if not given.
    Raises ValueError for entries that are no probabilities, and for rows that do not add up to 1 within 1e-9.
    """

    matrix: Any
    outputs: Sequence[Any] | None = None
    _table: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        table = _as_table(self.matrix)
        labels = list(range(table.shape[1])) if self.outputs is None else list(self.outputs)
        if len(labels) != table.shape[1] or len(set(labels)) != len(labels):
            raise ValueError(f"outputs must be {table.shape[1]} different labels, got {self.outputs!r}")
        object.__setattr__(self, "outputs", tuple(labels))
        object.__setattr__(self, "_table", table)

    @classmethod
    def from_file(cls, path: str | Path) -> FiniteChannel:
        """Read a .csv of numbers or fractions, or an .npz with `matrix` and perhaps `outputs` (never unpickled).

        Raises ValueError that names the file and what is wrong with it.
        """
        path = Path(path)
        if path.suffix not in (".csv", ".npz"):
            raise ValueError(f"a channel file must end in .csv or .npz, got {path.name!r}")
        try:
            if path.suffix == ".csv":
                with path.open(newline="", encoding="utf-8") as file:
                    return cls([row for row in csv.reader(file) if row])
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return cls(archive["matrix"], archive["outputs"].tolist() if "outputs" in archive else None)
        except (ValueError, KeyError, EOFError, csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: {error}") from error
        except Exception as error:  # a damaged archive fails in many ways
            if isinstance(error, OSError):
                raise
            raise ValueError(f"{path} is no .npz archive: {error}") from error

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats; infinity where the supports of two inputs differ."""
        logs = self._log_table()
        return max(float(np.max(_gaps(logs, row))) for row in logs)

    def worst_pair(self) -> tuple[int, int]:
        """The inputs that attain exact_epsilon(), by their row numbers."""
        logs = self._log_table()
        best = [np.max(_gaps(logs, row), axis=1) for row in logs]
        first, second = np.unravel_index(int(np.argmax(best)), (len(logs), len(logs)))
        return int(first), int(second)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The hockey-stick divergence, largest over ordered pairs of inputs; shape of `epsilon`, nats, >= 0."""
        asked = levels(epsilon)
        found = [max(self._row_delta(row, float(level)) for row in self._table) for level in asked.flat]
        return np.array(found, dtype=np.float64).reshape(asked.shape)[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the label y at the input (row) x, shape of x; -inf for a label that is no output."""
        rows = self._rows(x)
        if y not in self._labels():
            return np.full(rows.shape, -np.inf)[()]
        return self._log_table()[rows, self._labels().index(y)][()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]; shape of x. ValueError if the labels are not numbers."""
        return (self._table @ self._numbers())[self._rows(x)][()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]; shape of x. ValueError if the labels are not numbers."""
        away = (self._numbers() - (self._table @ self._numbers())[:, None]) ** 2
        return (self._table * away).sum(axis=1)[self._rows(x)][()]

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray:
        """One label for each input (row); shape of x. What is implemented is `implemented_epsilon()`."""
        generator, rows = require_generator(rng), self._rows(x)
        drawn, ends, last = words(generator, rows.shape), self._ends(), self._last_outputs()
        chosen = np.zeros(rows.shape, dtype=np.int64)
        for row in np.unique(rows):
            inner = np.array(ends[row][: last[row]], dtype=np.uint64)
            chosen[rows == row] = np.searchsorted(inner, drawn[rows == row], side="right")
        return np.asarray(self._labels())[chosen]

    def implemented_epsilon(self) -> float:
        """The exact epsilon of `sample`: of the whole numbers of 64-bit words that lead to each output."""
        counts = [[end - start for start, end in zip([0, *row], row, strict=False)] for row in self._ends()]
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(counts, dtype=np.float64))
        return max(float(np.max(_gaps(logs, row))) for row in logs)

    def _ends(self) -> list[list[int]]:
        """For each input, below which word each output's share ends; what is left goes to the last with mass."""
        shares = np.minimum(np.cumsum(self._table, axis=1), 1.0)
        return [
            [WORDS if j >= last else int(share * float(WORDS)) for j, share in enumerate(row)]
            for row, last in zip(shares, self._last_outputs(), strict=True)
        ]

    def _last_outputs(self) -> NDArray[np.int64]:
        """For each input, the last output that has mass."""
        return np.array([np.max(np.flatnonzero(row)) for row in self._table])

    def _row_delta(self, row: NDArray[np.float64], level: float) -> float:
        if np.isinf(level):
            return float(np.max(np.where(self._table == 0, row, 0.0).sum(axis=1)))
        return float(np.max(np.maximum(row - np.exp(level) * self._table, 0.0).sum(axis=1)))

    def _log_table(self) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.log(self._table)

    def _labels(self) -> list[Any]:
        return list(self.outputs or ())

    def _numbers(self) -> NDArray[np.float64]:
        try:
            return np.array(self._labels(), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"moments need numbers as outputs, got {self.outputs!r}") from None

    def _rows(self, x: ArrayLike) -> NDArray[np.int64]:
        rows = np.asarray(x)
        if rows.dtype.kind not in "iu" or np.any((rows < 0) | (rows >= len(self._table))):
            raise ValueError(f"x must be row numbers in 0..{len(self._table) - 1}, got {x!r}")
        return rows.astype(np.int64)


def _as_table(matrix: Any) -> NDArray[np.float64]:
    try:
        rows = [[_number(entry) for entry in row] for row in matrix]
        table = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"matrix must be rows of numbers of one length: {error}") from None
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"matrix must have at least one row and one column, got shape {table.shape}")
    bad = ~((table >= 0) & (table <= 1))
    if np.any(bad):
        i, j = (int(where[0]) for where in np.nonzero(bad))
        raise ValueError(f"matrix entries must be probabilities, got {table[i, j].item()!r} in row {i}, column {j}")
    sums = table.sum(axis=1)
    if np.any(np.abs(sums - 1) > _TOLERANCE):
        i = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(f"matrix rows must add up to 1, got {sums[i].item()!r} in row {i}")
    return table


def _number(entry: Any) -> float:
    return float(Fraction(entry.strip())) if isinstance(entry, str) else float(entry)


def _gaps(logs: NDArray[np.float64], row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log ratios of one row to every row; an output that neither can give is no difference."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(row - logs, nan=0.0, posinf=np.inf, neginf=-np.inf)
