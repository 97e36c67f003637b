"""A declared law as a score: the exact log-likelihood ratio of an output on two inputs.

By Neyman and Pearson, no event of the same probability on x' is likelier on x than {y: ln P(y|x) - ln P(y|x') >= c}, so
for a program that follows its law nothing has to be learned. For one that does not, the score is still a fixed function
of the output, and a bound from its event holds all the same: the law guides the search and is not believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Protocol, runtime_checkable

import numpy as np

from ldp_audit.auditing.scores.score import MINUS_ZERO, Score, cut

_DECIMALS = 10  # of the ratio, nats; so that a plateau is one value in spite of rounding
_VALUES = 2**18  # numbers that a law is evaluated at in one call: what it holds meanwhile fits into a cache


@runtime_checkable
class Law(Protocol):
    """An exact law of a program's outputs, as the mechanisms of `ldp_audit.mechanisms` are.

    For tests of fit it may also be one of those in `law_cells`.
    """

    def log_prob(self, y: Any, x: Any) -> Any:
        """Log probability or density, nats, of outputs y, shape (n,) or (n, d), on the input x; -inf where impossible.

        returns: shape (n,); shape (n, d) is read as d independent coordinates.
        """
        ...


@dataclass(frozen=True)
class LawScore(Score):
    """ln P(y | first input) - ln P(y | second input) under the law.

    +-inf where one input alone can give the output, 0 where the law says that neither can.
    """

    KIND: ClassVar[str] = "law"
    COMPLETE: ClassVar[bool] = False
    law: Law
    pair: tuple[Any, Any]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`. A number that is NaN, which stands where a label is, stays NaN."""
        found = np.full(len(numbers), np.nan)
        rows = max(1, _VALUES // max(1, numbers[:1].size))
        for first in range(0, len(numbers), rows):
            part = numbers[first : first + rows]
            known = ~np.isnan(part) if part.ndim == 1 else np.ones(len(part), dtype=bool)
            if known.any():
                found[first : first + rows][known] = log_ratio(self.law, part[known], *self.pair)
        return found

    def describe(self) -> str:
        """See `Score`."""
        return "ln P(y|x)/P(y|x') of the declared law"

    def to_dict(self) -> dict[str, Any]:
        """See `Score`. A description: the law itself is a program, which no file holds."""
        return {"kind": self.KIND, "law": cut(self.law, 200), "inputs": [cut(x, 200) for x in self.pair]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> NoReturn:
        """Refused: the ratio cannot be computed without the law."""
        raise ValueError(
            f"score must be one that can be read from a file; this one needs the law itself, {data.get('law')!s:.200}: "
            "give that law to the audit again"
        )


def log_ratio(law: Law, y: np.ndarray, x: Any, other: Any) -> np.ndarray:
    """ln P(y | x) - ln P(y | other), nats, shape (n,), without NaN; rounded to ten decimals.

    y: float64, shape (n,) or (n, d), without NaN.   x, other: inputs, as the law takes them.
    A law knows one zero.
    Raises ValueError where the law cannot be evaluated.
    """
    y = np.where(y == MINUS_ZERO, 0.0, y)
    first, second = _logs(law, y, x), _logs(law, y, other)
    with np.errstate(invalid="ignore"):
        ratio = first - second
    return np.round(np.where(np.isnan(ratio), 0.0, ratio), _DECIMALS)


def _logs(law: Law, y: np.ndarray, x: Any) -> np.ndarray:
    """Shape (n,). Laws that accept finite reports alone give none to infinite ones."""
    finite = np.isfinite(y) if y.ndim == 1 else np.isfinite(y).all(axis=1)
    try:
        return _one_a_row(law.log_prob(y, x), y)
    except ValueError:
        if finite.all():
            raise
    found = np.full(len(y), -np.inf)
    found[finite] = _one_a_row(law.log_prob(y[finite], x), y[finite])
    return found


def _one_a_row(logs: Any, y: np.ndarray) -> np.ndarray:
    logs = np.asarray(logs, dtype=np.float64)
    if logs.shape == y.shape and y.ndim == 2:
        logs = logs.sum(axis=1)
    if logs.shape != (len(y),):
        raise ValueError(f"law's log_prob must give shape ({len(y)},) for y of shape {y.shape}, got {logs.shape}")
    if np.isnan(logs).any() or (logs == np.inf).any():
        raise ValueError(f"law's log_prob must give numbers below inf, got {logs[~(logs < np.inf)][0]} for some output")
    return logs
