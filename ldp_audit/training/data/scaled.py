"""Numbers scaled into [-1, 1] by bounds that the recipe declares.

The bounds are not the file's own least and greatest value: those would leak from one record to all others, and a client
that codes its own record cannot know them. A number beyond its bounds is an error; none is clipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.text_lines import shown


@dataclass(frozen=True)
class Scaled:
    """A number's column.

    name: of the field.   low, high: the bounds, low < high.
    how: "centred": affine, from -1 at low to 1 at high; "ratio": divided by the greater of |low| and |high|, so that 0
    stays 0; "log": sign(v) log(1 + |v|), then as "ratio", for amounts and counts over many orders of magnitude.
    Raises ValueError where the bounds do not ascend.
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
    """A column for values that have an order: the first is -1, the last 1, the others evenly between.

    name: of the field.   values: two or more, in order.   Raises ValueError for fewer, or for one named twice.
    """

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.values) < 2 or len(set(self.values)) != len(self.values):
            raise ValueError(f"{self.name}: values must be two or more different ones, got {self.values!r}")

    @classmethod
    def of(cls, name: str, values: str) -> Ordinal:
        """Likewise, with the values written in a row, separated by spaces."""
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
    """The values as numbers, shape (n,); ValueError, naming the first that is none or is not finite."""
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
