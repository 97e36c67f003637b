"""What every score offers, and how its numbers are written to JSON and read back."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain, pairwise
from types import UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

import numpy as np

MINUS_ZERO, NOT_A_NUMBER = -sys.float_info.min, -sys.float_info.max
"""What stands for -0.0, which is equal to 0.0, and for NaN, which is not even equal to itself: whoever receives an
output can tell both from all else. So they have places of their own among the numbers, just below 0.0 and at the lower
end, where cells, half-lines and scores find them."""

CODED = [
    "def coded(number):  # -0.0 and NaN have places of their own, just below 0 and below all numbers",
    f"    return {NOT_A_NUMBER!r} if number != number else {MINUS_ZERO!r} if str(number) == '-0.0' else number",
]
"""The same as statements of Python, for `Score.source`."""

_INFINITE = {"inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Score(ABC):
    """A function of an output that a confidence bound may be computed with, once it is fixed.

    A learner (`learn(first, second, rng)` on two samples, arrays of shape (n, d)) returns the scores it proposes; few,
    as each is tried. It must not fail on constant columns, on n = 1, on huge or infinite values.
    Fields are whole numbers >= 0, numbers (not NaN), names, scores, and tuples of these.
    """

    KIND: ClassVar[str]
    COMPLETE: ClassVar[bool] = True
    """Whether `describe` says all of it, so that a person can count an event of it."""

    TRUTH: ClassVar[bool] = False
    """Whether it is 1 where a condition holds, and 0 elsewhere; `says` and `source` are then of the condition."""

    @abstractmethod
    def of(self, numbers: np.ndarray) -> np.ndarray:
        """numbers: float64, shape (n,) or (n, d).   returns: float64, shape (n,), without NaN."""

    @abstractmethod
    def describe(self) -> str:
        """Short words for a witness, such as y[3]."""

    def says(self, intervals: Sequence[tuple[float, float]]) -> str | None:  # noqa: ARG002
        """That it lies in these intervals, where there are better words than "low <= score < high"."""
        return None

    def source(self) -> tuple[list[str], str] | None:
        """Statements of Python, and then an expression that is the score of y, or of a row y[0], y[1], ...

        The same number as `of` computes, from an output as the program returned it. None where there is none.
        """
        return None

    def fits(self) -> bool:
        """Whether the fields, which have the right types, go together."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """For JSON: {"kind": KIND, ...} with plain numbers, text and lists."""
        return {"kind": self.KIND} | {one.name: _written(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What `to_dict` wrote. Raises ValueError for anything else."""
        kinds = get_type_hints(cls)
        found = cls(*(read(data.get(one.name), kinds[one.name], f"{cls.KIND}'s {one.name}") for one in fields(cls)))
        if not found.fits():
            raise ValueError(f"{cls.KIND}'s fields must go together, got {data!r:.200}")
        return found


def coded(numbers: np.ndarray) -> np.ndarray:
    """float64 numbers in which `MINUS_ZERO` and `NOT_A_NUMBER` stand for -0.0 and NaN; changed in place."""
    zeros = numbers == 0
    if zeros.any():
        numbers[zeros & np.signbit(numbers)] = MINUS_ZERO
    missing = np.isnan(numbers)
    if missing.any():
        numbers[missing] = NOT_A_NUMBER
    return numbers


def decoded(numbers: np.ndarray) -> np.ndarray:
    """The numbers as the program returned them."""
    found = np.where(numbers == MINUS_ZERO, -0.0, numbers)
    return np.where(found == NOT_A_NUMBER, np.nan, found)


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    if isinstance(value, Score):
        return value.to_dict()
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def read(value: Any, kind: Any, name: str) -> Any:
    """A value of this type as JSON holds it. Raises ValueError that names it for anything else."""
    if isinstance(kind, UnionType):
        return None if value is None else read(value, get_args(kind)[0], name)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, got {value!r:.200}")
        return tuple(read(one, get_args(kind)[0], name) for one in value)
    if kind is int:
        return read_place(value, name)
    if kind is float:
        number = _INFINITE.get(value) if isinstance(value, str) else value
        wide = isinstance(number, int) and abs(number) > 2**1000
        if isinstance(number, bool) or not isinstance(number, int | float) or wide or math.isnan(number):
            raise ValueError(f'{name} must be numbers, "inf" or "-inf", got {value!r:.80}')
        return float(number)
    if not isinstance(value, str if kind is str else dict):
        raise ValueError(f"{name} must be another value than {value!r:.200}")
    return value if kind is str else kind.from_dict(value)


def read_place(data: Any, name: str) -> int:
    """A whole number >= 0. Raises ValueError that names it for anything else."""
    if isinstance(data, bool) or not isinstance(data, int) or data < 0:
        raise ValueError(f"{name} must be a whole number >= 0, got {data!r:.200}")
    return data


def ascend(*edges: Sequence[float]) -> bool:
    """Whether numbers do, in each of these."""
    return all(low < high for one in edges for low, high in pairwise(one))


def finite(*numbers: Sequence[float]) -> bool:
    """Whether all of them are."""
    return all(map(math.isfinite, chain.from_iterable(numbers)))


def cut(value: Any, most: int = 80) -> str:
    """Anything in a message: one line, of so many characters at most."""
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[:most] + "..."
