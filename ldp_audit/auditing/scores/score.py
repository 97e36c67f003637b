"""What every score offers, and how its numbers are written to JSON and read back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self

import numpy as np

_INFINITE = {"inf": math.inf, "-inf": -math.inf}


class Score(Protocol):
    """A function of an output that a confidence bound may be computed with, once it is fixed.

    A learner (`learn(first, second, rng)` on two samples, arrays of shape (n, d)) returns the scores it proposes; few,
    as each is tried. It must not fail on constant columns, on n = 1, on huge or infinite values.
    """

    KIND: ClassVar[str]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """numbers: float64, shape (n,) or (n, d).   returns: float64, shape (n,), without NaN."""
        ...

    def describe(self) -> str:
        """Short words for a witness, such as y[3]."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """For JSON: {"kind": KIND, ...} with plain numbers, text and lists."""
        ...

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What `to_dict` wrote. Raises ValueError for anything else."""
        ...


def written(numbers: Iterable[float]) -> list[float | str]:
    """A list of numbers for JSON."""
    return [number if math.isfinite(number) else str(number) for number in numbers]


def read_numbers(data: Any, name: str) -> tuple[float, ...]:
    """The numbers that `written` wrote. Raises ValueError that names them for anything else, NaN included."""
    if not isinstance(data, list):
        raise ValueError(f"{name} must be a list of numbers, got {data!r:.200}")
    return tuple(_number(value, name) for value in data)


def read_finite(data: Any, name: str) -> tuple[float, ...]:
    """Likewise, finite numbers only."""
    numbers = read_numbers(data, name)
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"{name} must be finite numbers, got {data!r:.200}")
    return numbers


def read_edges(data: Any, name: str) -> tuple[float, ...]:
    """Likewise, ascending numbers only."""
    numbers = read_numbers(data, name)
    if any(not low < high for low, high in pairwise(numbers)):
        raise ValueError(f"{name} must ascend, got {data!r:.200}")
    return numbers


def read_place(data: Any, name: str) -> int:
    """A whole number >= 0. Raises ValueError that names it for anything else."""
    if isinstance(data, bool) or not isinstance(data, int) or data < 0:
        raise ValueError(f"{name} must be a whole number >= 0, got {data!r:.200}")
    return data


def read_list(data: Any, name: str, length: int | None = None) -> list[Any]:
    """A list, of the length if one is given. Raises ValueError that names it for anything else."""
    if not isinstance(data, list) or length not in (None, len(data)):
        wanted = "a list" if length is None else f"a list of {length}"
        raise ValueError(f"{name} must be {wanted}, got {data!r:.200}")
    return data


def _number(value: Any, name: str) -> float:
    number = _INFINITE.get(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or math.isnan(number):
        raise ValueError(f'{name} must be numbers, "inf" or "-inf", got {value!r:.80}')
    return float(number)


def cut(value: Any, most: int = 80) -> str:
    """Anything in a message: one line, of so many characters at most."""
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[:most] + "..."
