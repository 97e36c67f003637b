"""What a program returned, read once: numbers, labels, a mixture of both, or vectors."""

from __future__ import annotations

import math
import sys
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.arrays import arrayed, as_numpy, is_tensor, refuse_masked
from ldp_audit.auditing.scores.score import coded, cut

Label = str | int | bool | None
"""A label as it is compared and written into JSON; other objects stand for themselves by their repr."""

_EXACT = 2.0**53
"""float64 holds every whole number up to here."""


@dataclass(frozen=True)
class Outputs:
    """n outputs of one call.

    numbers: float64, shape (n,), NaN where the output is a label; or shape (n, d) for vectors; None if all are labels.
    -0.0 and NaN that a program returned are numbers of their own (`scores.score.coded`).
    labels:  object array, shape (n,), `NOT_A_LABEL` where the output is a number; None if all are numbers.
    """

    numbers: np.ndarray | None
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.numbers if self.numbers is not None else self.labels)  # type: ignore[arg-type]

    @property
    def shape(self) -> str:
        """In words, to be compared between calls. Labels may come and go; numbers and vectors may not change places."""
        if self.numbers is not None and self.numbers.ndim == 2:
            return f"vectors of {self.numbers.shape[1]}"
        return "numbers or labels"

    @property
    def dimension(self) -> int:
        """How many coordinates an output has."""
        return self.numbers.shape[1] if self.numbers is not None and self.numbers.ndim == 2 else 1

    @property
    def known_numbers(self) -> np.ndarray:
        """The numbers, where some are known to be there."""
        if self.numbers is None:
            raise ValueError("these outputs are labels alone")
        return self.numbers

    def part(self, first: int, last: int | None = None) -> Outputs:
        """The outputs first .. last - 1."""
        return Outputs(
            None if self.numbers is None else self.numbers[first:last],
            None if self.labels is None else self.labels[first:last],
        )


class _NotALabel:
    def __repr__(self) -> str:
        return "NOT_A_LABEL"


NOT_A_LABEL = _NotALabel()


def read(raw: Any, n: int, *, whole_rows: bool = False) -> Outputs:
    """The outputs of a call for n of them. Raises ValueError that says what was returned instead.

    whole_rows: whether a row is a label, as where rows have several lengths; else rows of one length are vectors.
    """
    refuse_masked(raw)
    if not isinstance(raw, np.ndarray):
        raw = listed(raw, n)
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "O" and raw.ndim > 1:
        raw = raw.tolist()
    array = raw if isinstance(raw, np.ndarray) else _objects(raw) if whole_rows else _array_of(raw)
    if array.ndim == 0 or len(array) != n:
        count = "a single value" if array.ndim == 0 else f"{len(array)} outputs"
        raise ValueError(f"it returned {count}, {n} were asked for")
    if array.dtype.kind in "biuf":
        return _numeric(array, raw)
    if array.dtype.kind in "US" and array.ndim == 1:
        return Outputs(None, array.astype(str).astype(object))
    if array.dtype.kind == "O" and array.ndim == 1:
        return _mixed(array)
    raise ValueError(f"it returned an array of dtype {array.dtype} and shape {array.shape}; accepted: numbers, labels")


def listed(raw: Any, n: int) -> Any:
    """What is no array of numpy: a tensor as an array, and all else as a list."""
    raw = _without_tensors(arrayed(raw))
    if isinstance(raw, np.ndarray):
        return raw
    if isinstance(raw, str | bytes) or not isinstance(raw, Iterable):
        raise ValueError(f"it returned {cut(raw)}, not {n} outputs")
    return _without_tensors(list(raw))


def concatenated(parts: Iterable[Outputs]) -> Outputs:
    """The outputs of several calls in a row."""
    parts = list(parts)
    sizes = [len(part) for part in parts]
    labels: np.ndarray | None = None
    if any(part.labels is not None for part in parts):
        labels = np.full(sum(sizes), NOT_A_LABEL, dtype=object)
        for part, end in zip(parts, np.cumsum(sizes), strict=True):
            if part.labels is not None:
                labels[end - len(part) : end] = part.labels
    if all(part.numbers is None for part in parts):
        return Outputs(None, labels)
    known = [part.numbers if part.numbers is not None else np.full(len(part), math.nan) for part in parts]
    return Outputs(np.concatenate(known), labels)


def unrepeated(samples: Iterable[Outputs]) -> float:
    """The share of these outputs that are labels which come once among all of them; 0 where there are none.

    About as often, a fresh output is a label that was never seen (Good and Turing; Good 1953), which no event holds.
    """
    samples = list(samples)
    times = Counter(label for one in samples if one.labels is not None for label in one.labels)
    del times[NOT_A_LABEL]
    total = sum(map(len, samples))
    return sum(count == 1 for count in times.values()) / total if total else 0.0


def _without_tensors(raw: Any) -> Any:
    """A tensor of torch's, and those in a list, and other libraries' arrays in it, as arrays of numpy."""
    if not isinstance(raw, list):
        return as_numpy(raw) if is_tensor(raw) else raw
    kinds = {type(value): value for value in raw}.values()
    if not any(is_tensor(value) or arrayed(value) is not value for value in kinds):
        return raw
    return [as_numpy(value)[()] if is_tensor(value) else _scalar(arrayed(value)) for value in raw]


def _scalar(value: Any) -> Any:
    """An array of no dimension as the number that it holds; all else as it is."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _array_of(values: list[Any]) -> np.ndarray:
    """A list as an array; one of objects where its elements are no numbers, or not all of one length."""
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in values):
        return np.asarray(values)
    refuse_masked(*values)
    if values and all(isinstance(value, list | tuple | np.ndarray) for value in values):
        try:
            array = np.asarray(values)
        except ValueError:
            array = None
        if array is not None and array.dtype.kind in "biuf" and array.ndim == 2:
            return array
    return _objects(values)


def _objects(values: list[Any]) -> np.ndarray:
    """One dimension, also of rows of one length."""
    return np.fromiter(values, dtype=object, count=len(values))


def of_several_lengths(raw: Any) -> bool:
    """Whether these outputs are rows, lists or tuples, that are not all of one length."""
    rows = isinstance(raw, list | tuple) and bool(raw) and all(isinstance(row, list | tuple) for row in raw)
    return rows and len({*map(len, raw)}) > 1


def plain(value: Any) -> Any:
    """Scalars, arrays, tensors, complex numbers, memory, mappings and objects as numbers, lists and dictionaries.

    An object is its class and attributes, whatever its text tells of them. Raises ValueError for what holds values in
    another way, as tables and sparse matrices do: their text may leave some out; and for what has no text but its
    address.
    """
    if type(value) in PLAIN or isinstance(value, str | bytes | bytearray | list | tuple | set | frozenset):
        return value
    if is_tensor(value):
        value = as_numpy(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, deque):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    opaque = isinstance(value, Iterable) and not isinstance(value, range | Enum) and type(value) not in PLAIN
    found = {} if opaque or callable(value) else attributes(value)
    if found:
        return {"class": type(value).__qualname__, **found}
    if opaque or callable(value) or type(value).__repr__ is object.__repr__:
        raise ValueError(
            f"it returned {cut(value)}, which cannot be compared; accepted: numbers, labels, vectors, and rows and "
            "dictionaries of these"
        )
    return value


def attributes(value: Any) -> dict[str, Any]:
    """Those of an object; none of what Python brings along, such as a date, whose text tells all of it."""
    of_python: Any = next(
        kind for kind in type(value).__mro__ if kind.__module__.partition(".")[0] in sys.stdlib_module_names
    )  # such as Decimal, of which it is a kind
    if of_python is type(value) or isinstance(value, Enum):
        return {}
    state: Any = object.__getstate__(value)
    found: dict[str, Any] = {}
    for part in state if isinstance(state, tuple) else (state,):  # a pair with slots
        found |= part or {}
    plainly = of_python.__repr__ is not object.__repr__
    return found | {"value": of_python.__repr__(value)} if found and plainly else found


PLAIN = frozenset({int, float, bool, str, bytes, list, tuple, dict, set, type(None)})
"""Types of what `plain` leaves as it is."""


def _numeric(array: np.ndarray, given: Any) -> Outputs:
    """given: what the array was made of, which may hold whole numbers that it has rounded."""
    numbers = array.astype(np.float64)  # a copy: a program may fill the same array again in its next call
    if not isinstance(given, np.ndarray) or given.dtype.kind in "iu":
        _refuse_rounding(numbers, given)
    if rounds(array, numbers):
        raise ValueError(f"it returned {WIDE} ({array.dtype}); accepted: numbers that float64 holds, or rows of two")
    if array.ndim == 2 and array.shape[1] == 1:
        numbers = numbers[:, 0]
    elif array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise ValueError(f"it returned an array of shape {array.shape}; accepted: (n,) and (n, d)")
    return Outputs(coded(numbers))


WIDE = "numbers of more digits than float64 has"


def rounds(array: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether `numbers`, the array in float64, have lost digits of numbers that are wider than float64."""
    wide = array.dtype.kind == "f" and array.dtype.itemsize > numbers.dtype.itemsize
    return wide and bool(np.any((numbers != array) & ~np.isnan(array)))


def _refuse_rounding(numbers: np.ndarray, given: Any) -> None:
    """Of two whole numbers that float64 rounds to one, an audit would see one."""
    if np.max(np.abs(numbers), initial=0.0) < _EXACT:
        return
    for place in np.argwhere(np.abs(numbers) >= _EXACT):
        value = reduce(getitem, place.tolist(), given)
        if isinstance(value, int | np.integer) and int(value) != float(numbers[tuple(place)]):
            raise _rounded(value)


def _rounded(value: int | np.integer) -> ValueError:
    return ValueError(
        f"it returned {cut(int(value))}, a whole number that float64 would round; accepted: a row of two numbers "
        "instead, such as (v // 2**32, v % 2**32), or text; of the seed of a hash, what the server computes with it: "
        "for each input v, whether hash(v, seed) is the value that was sent"
    )


def _mixed(array: np.ndarray) -> Outputs:
    numbers = np.full(len(array), math.nan)
    labels = np.full(len(array), NOT_A_LABEL, dtype=object)
    for place, value in enumerate(map(_alone, array)):
        if isinstance(value, float | int | np.number | np.bool_):  # true and false are 1 and 0 in every batch
            numbers[place] = _number(value)
        else:
            labels[place] = canonical(value)
    if np.isnan(numbers).all():
        return Outputs(None, labels)
    return Outputs(numbers, labels if any(label is not NOT_A_LABEL for label in labels) else None)


def _alone(value: Any) -> Any:
    """A number in a row of its own is that number, as it is where all outputs of a call are such rows."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    if isinstance(value, list | tuple | np.ndarray) and len(value) == 1:
        return value[0] if isinstance(value[0], bool | int | float | np.number | np.bool_) else value
    return value


def _number(value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise _rounded(value) from None
    if isinstance(value, int | np.integer) and int(value) != number:
        raise _rounded(value)
    if isinstance(value, np.floating) and value != number and not math.isnan(number):
        raise ValueError(f"it returned {WIDE} ({value!r}); accepted: numbers that float64 holds, or rows of two")
    return float(coded(np.array(number)[None])[0])


def canonical(value: Any) -> Label:
    """An object as a label: equal objects have equal labels, and the label can be written into JSON."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_member, value))) + "}"
    if isinstance(value, list | tuple | np.ndarray):
        return "(" + ", ".join(map(_member, value)) + ")"
    found = plain(value)
    if not isinstance(value, Hashable):
        raise ValueError(f"it returned {cut(value)}, which cannot be compared; accepted: numbers, labels, vectors")
    if isinstance(found, dict):
        members = ", ".join(f"{_member(key)}: {_member(one)}" for key, one in found.items())
        return f"{type(value).__name__}({members})"
    return repr(value) if found is value else canonical(found)


def _member(value: Any) -> str:
    """A member of a set or tuple: 1 and 1.0 are equal, 1 and "1" are not, nor 0.0 and -0.0."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer() and repr(plain) != "-0.0":
        plain = int(plain)
    return repr(plain) if plain is None or isinstance(plain, str | bool | int | float) else str(canonical(plain))
