"""Additive tables of what is new in each coordinate: its residual from a linear regression on the coordinates before.

Outputs that build on each other (running sums, the rounds of an adaptive protocol, the reports of one client) hide
independent noise in coordinates that depend on each other. Their residuals, the factors of Cholesky's decomposition of
the covariance, are that noise again, and the likelihood ratio is a sum over them (`Additive`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.additive import Additive
from ldp_audit.auditing.scores.learning import correlated, correlations, one_thread
from ldp_audit.auditing.scores.said import literal
from ldp_audit.auditing.scores.score import CODED, Score, finite

_MOST = 64  # coordinates
_FEW = 1000
_FARTHEST = 1e9  # standard deviations
_GRID = 2.0**-30  # of a residual's standard deviation, so that rounding is no noise
_RIDGE = 1e-9


@dataclass(frozen=True)
class Residuals(Score):
    """The additive score of `rows` times (y - centre), row by row, clipped at 1e9 and to the nearest 2**-30.

    rows: lower triangular, in units of each residual's standard deviation.   What is undefined (inf - inf) counts as 0.
    """

    KIND: ClassVar[str] = "residuals"
    COMPLETE: ClassVar[bool] = False
    centre: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]
    table: Additive

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Residuals]:
        """One for each additive table; none for many coordinates, for uncorrelated ones, or where values repeat."""
        dimension = first.shape[1]
        if dimension > _MOST or any(len(np.unique(column)) < len(column) // 2 for column in first[:_FEW].T):
            return []
        if not correlated(first, second):
            return []
        with np.errstate(all="ignore"), one_thread():
            means = [sample.mean(axis=0) for sample in (first, second)]
            spread = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
            correlation = correlations(spread)
            if not np.isfinite(correlation).all():
                return []
            lower = np.linalg.cholesky(correlation + _RIDGE * np.eye(dimension))
            rows = np.linalg.inv(lower) / np.sqrt(np.diag(spread))
        centre = tuple(map(float, (means[0] + means[1]) / 2))
        fixed = tuple(tuple(map(float, row[: place + 1])) for place, row in enumerate(rows))
        bare = Residuals(centre, fixed, Additive((), (), ()))
        tables = Additive.learn(bare.residuals(first), bare.residuals(second), rng)
        return [Residuals(centre, fixed, table) for table in tables]

    def residuals(self, numbers: np.ndarray) -> np.ndarray:
        """Shape (n, d)."""
        found = np.zeros_like(numbers)
        with np.errstate(all="ignore"):
            centred = numbers - np.array(self.centre)
            for place, row in enumerate(self.rows):
                found[:, place] = np.einsum("ij,j", centred[:, : place + 1], np.array(row))
        found = np.where(np.isnan(found), 0.0, np.clip(found, -_FARTHEST, _FARTHEST))
        return np.rint(found / _GRID) * _GRID

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        return self.table.of(self.residuals(numbers))

    def describe(self) -> str:
        """See `Score`."""
        return f"additive score of the residuals of {len(self.rows)} coordinates, each on those before it"

    def source(self) -> tuple[list[str], str]:
        """See `Score`. Sums may be rounded otherwise than by `of`, by 2**-30 of a standard deviation."""
        rows = [f"    [{', '.join(map(literal, row))}]," for row in self.rows]
        lines = [*CODED, f"centre = [{', '.join(map(literal, self.centre))}]", "rows = [", *rows, "]"]
        lines += [
            "centred = [coded(number) - middle for number, middle in zip(y, centre)]",
            "sums = [sum(weight * number for weight, number in zip(row, centred)) for row in rows]",
            f"clipped = [0.0 if one != one else min(max(one, -{_FARTHEST}), {_FARTHEST}) for one in sums]",
            f"y = [round(one / {_GRID}) * {_GRID} for one in clipped]",
        ]
        more, expression = self.table.source()
        return lines + more, expression

    def fits(self) -> bool:
        """See `Score`: row j has j + 1 numbers, and the table is of as many coordinates."""
        sizes = [*map(len, self.rows)] == [*range(1, len(self.centre) + 1)]
        return sizes and finite(self.centre, *self.rows) and max(self.table.places) < len(self.rows)
