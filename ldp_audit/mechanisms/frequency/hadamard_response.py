"""Hadamard response: the report tells a coefficient of the value's Walsh-Hadamard transform.

With K a power of 2, value v and column j, the entry of the Hadamard matrix is (-1)**parity(v & j). "bit": a uniform
column of K >= k, and the parity of the value in it, kept with probability t / (t + 1). "columns": a column of K >= k +
1, likelier by t = e**epsilon where the parity of v + 1 is even, which half of the columns have. Either way two values
agree on half of the columns, a report is of few bytes, and frequencies come from one fast transform.

Sources: Acharya, Sun, Zhang, "Hadamard Response" (AISTATS 2019), Section 4, for the columns (one block); Bassily,
Nissim, Stemmer, Thakurta (NeurIPS 2017) and Cormode, Kulkarni, Srivastava (VLDB 2019) for one bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.frequency.values import VALUES, OfValues, labels_of, values_of
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.staircase import Logs, Staircase
from ldp_audit.mechanisms.supports import Supports, report_rows
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights

_HALF = Variable("N", 1, oo, integer=True)

HADAMARD_RESPONSE = SymbolicWeights(
    "Hadamard response",
    [
        ("a report of the value's half", _HALF, T / (_HALF * (T + 1))),
        ("a report of the other half", _HALF, 1 / (_HALF * (T + 1))),
    ],
)
"""N of the 2 N reports belong to a value."""
_LISTED = 500
"""The most reports that are listed."""


@dataclass(frozen=True)
class HadamardResponse(OfValues, Staircase):
    """Values 0 .. k-1; the report is (column, bit), int64, one more axis of length 2 at the end, or a column alone.

    epsilon: nats, > 0, finite.   k: a whole number >= 2.   kind: "bit", or "columns", whose report is a column alone.
    Raises ValueError for anything else.
    """

    epsilon: float
    k: int
    kind: Literal["bit", "columns"] = "bit"

    parameters = (BUDGET, VALUES)
    example = FamilyExample(
        "HadamardResponse(epsilon=1, k=3)",
        "N: half of the reports, of which each value has its own; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in ("bit", "columns"):
            raise ValueError(f'kind must be "bit" or "columns", got {self.kind!r}')

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in the number of reports and t = e**epsilon."""
        return HADAMARD_RESPONSE

    def columns(self) -> int:
        """K, the least power of 2 with a row for each value; without the row of ones, where columns alone are told."""
        return 2 ** (self.k - (self.kind == "bit")).bit_length()

    def sides(self) -> tuple[int, int]:
        """As many reports of the value's half as of the other."""
        half = self.columns() if self.kind == "bit" else self.columns() // 2
        return half, half

    def only_first(self) -> int:
        """Half of a half: two rows agree in half of the columns."""
        return self.sides()[0] // 2

    def third_favours(self) -> Sequence[Fraction]:
        """Half of each part, as the bit makes three rows independent; without it, where two rows agree: their product.

        The rows of the first three values are 1, 2 and 3.
        """
        quarter, none = Fraction(sum(self.sides()), 4), Fraction(0)
        found = (quarter / 2,) * 4 if self.kind == "bit" else (quarter, none, none, quarter)
        return found if self.k > 2 else ()

    def supports(self) -> Supports:
        """See base: a report supports the values of whose half it is, the own one and half of the others."""
        return Supports(self.k, expit(self.epsilon), expit(-self.epsilon), 0.5, self._count)

    def reports(self) -> Sequence[Any] | None:
        """All reports, where they are few."""
        if self.columns() > _LISTED // 2:
            return None
        return range(self.columns()) if self.kind == "columns" else list(product(range(self.columns()), (0, 1)))

    def log_prob_by_side(self, y: ArrayLike, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y, shape (..., 2) or (...), at the value x, shape (...); broadcasts."""
        told, values = numbers_of("y", y), values_of(numbers_of("x", x), self.k).astype(np.int64)
        if self.kind == "columns":
            told = np.stack([told, np.zeros_like(told)], axis=-1)
        if told.ndim == 0 or told.shape[-1] != 2:
            raise ValueError(f"y must be pairs (column, bit), of shape (..., 2), got shape {told.shape}")
        known = np.all((told >= 0) & (told < [self.columns(), 2]) & (told == np.floor(told)), axis=-1)
        whole = np.where(known[..., None], told, 0).astype(np.int64)
        own = self._parity(values, whole[..., 0]) == whole[..., 1]
        return np.where(known, np.where(own, logs[0], logs[1]), -np.inf)[()]

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The values, and their shape."""
        return labels_of(x, self.k)

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """A uniform report of the value's half where `favoured` holds, else of the other half."""
        xp, shape = source.xp, tuple(x.shape)
        column = source.below(self.columns(), shape)
        if self.kind == "columns":
            if favoured is None:
                return column
            row = x + 1
            wrong = (self._parity(x, column) == 0) != favoured
            return xp.where(wrong, column ^ (row & -row), column)  # which pairs the columns of both halves
        if favoured is None:
            return xp.stack([column, source.below(2, shape)], axis=-1)
        bit = self._parity(x, column)
        return xp.stack([column, xp.where(favoured, bit, 1 - bit)], axis=-1)

    def _parity(self, x: Any, column: Any) -> Any:
        """Of the ones that the value's row number has in common with the column's."""
        found = (x if self.kind == "bit" else x + 1) & column
        for shift in (32, 16, 8, 4, 2, 1):
            found = found ^ (found >> shift)
        return found & 1

    def _count(self, reports: ArrayLike) -> tuple[int, NDArray[np.int64]]:
        """(n + sum over columns of signed counts times the matrix) / 2, by the fast transform."""
        size = self.columns()
        if self.kind == "columns":
            rows = report_rows(np.asarray(reports)[..., None], [size - 1])
            signed = np.bincount(rows[:, 0], minlength=size)
        else:
            rows = report_rows(reports, [size - 1, 1])
            signed = np.bincount(rows[:, 0], minlength=size) - 2 * np.bincount(rows[rows[:, 1] == 1, 0], minlength=size)
        first = 0 if self.kind == "bit" else 1
        return len(rows), (len(rows) + _transform(signed)[first : first + self.k]) // 2


def _transform(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The Walsh-Hadamard transform, sum_j values[j] (-1)**parity(i & j), exact; the length is a power of 2."""
    found, half = values, 1
    while half < len(values):
        pairs = found.reshape(-1, 2, half)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return found
