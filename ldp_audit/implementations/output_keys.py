"""Integer keys of outputs, equal if and only if an observer sees the same output, and ordered as the outputs.

The key of a floating-point number is its bit pattern, made monotone, so that -0.0 and 0.0 are two outputs and all NaNs
are one, the last. Whole numbers and booleans are their own keys, rows of numbers have the keys of their columns side by
side, and labels are numbered in order of appearance.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np

from ldp_audit.auditing.outputs import canonical
from ldp_audit.auditing.result import shown

_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
"""The bit pattern of infinity; larger ones, without the sign, are NaNs."""
_PLAIN = (np.ndarray, np.matrix, np.memmap)
_KNOWN_BY_TEXT = {"builtins", "datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid"}
"""Modules whose objects are distinguished by their text."""
_PACKED = 8  # bytes of the longest row whose key is one unsigned number


@dataclass(frozen=True)
class Kind:
    """The kind of the outputs.   dtype: a number's, or "label".   columns: of a row; None for single outputs."""

    dtype: str
    columns: int | None = None

    def describe(self) -> str:
        """The kind in words, for messages."""
        return self.dtype if self.columns is None else f"rows of {self.columns} {self.dtype}"


class OutputKeys:
    """Converts a map's outputs, all of one kind, to keys, and keys to outputs."""

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self._numbers: dict[Any, int] = {}
        self._labels: list[Any] = []

    @property
    def ordered(self) -> bool:
        """Whether outputs are single numbers, and so ordered."""
        return self.kind is not None and self.kind.columns is None and self.kind.dtype not in ("label", "bool")

    def read(self, raw: Any, m: int) -> np.ndarray:
        """The keys of m outputs, shape (m,). Raises ValueError for unreadable ones, and for another kind."""
        array, dtype = _array_of(raw, as_labels=self.kind is not None and self.kind.dtype == "label")
        if array.ndim == 0 or len(array) != m:
            count = "a single value" if array.ndim == 0 else f"{len(array)} outputs"
            raise ValueError(f"it returned {count} for {m} words")
        if dtype == "label":
            if array.ndim != 1:
                raise ValueError(f"it returned labels of shape {array.shape}; accepted: ({m},)")
        elif array.ndim not in (1, 2) or array.shape[1:] == (0,):
            raise ValueError(f"it returned an array of shape {array.shape}; accepted: ({m},) and ({m}, d)")
        self._note(Kind(dtype, array.shape[1] if array.ndim == 2 else None))
        if dtype == "label":
            return self._label_keys(array)
        keys = _ordered(np.ascontiguousarray(array), dtype)
        return keys if keys.ndim == 1 else _side_by_side(keys)

    def output(self, key: Any) -> Any:
        """The output of a key: a number of its dtype (bfloat16: a float), a label, or a tuple of a row's numbers."""
        if self.kind is None:
            raise ValueError("no output has been read")
        if self.kind.dtype == "label":
            return self._labels[int(key)]
        if self.kind.columns is None:
            return _number(key, self.kind.dtype)
        width = np.dtype(_key_dtype(self.kind.dtype))
        if np.asarray(key).dtype.kind == "V":
            columns = np.frombuffer(bytes(key), dtype=width.newbyteorder(">")).astype(width)
        else:
            shifts = [8 * width.itemsize * place for place in reversed(range(self.kind.columns))]
            mask = (1 << 8 * width.itemsize) - 1
            columns = np.array([int(key) >> shift & mask for shift in shifts], dtype=f"u{width.itemsize}").view(width)
        return tuple(_number(column, self.kind.dtype) for column in columns)

    def _note(self, kind: Kind) -> None:
        if self.kind is not None and self.kind != kind:
            raise ValueError(
                f"it returned {kind.describe()} after {self.kind.describe()}; outputs must be of one kind "
                "(numbers beside labels: return an array of dtype object)"
            )
        self.kind = kind

    def _label_keys(self, array: np.ndarray) -> np.ndarray:
        if array.dtype.kind in "US":  # each distinct text is looked up once
            texts, places = np.unique(array, return_inverse=True)
            return self._label_keys(texts.astype(object))[places]
        return np.fromiter((self._number_of(value) for value in array), dtype=np.uint32, count=len(array))

    def _number_of(self, value: Any) -> int:
        identity = _identity(value)
        number = self._numbers.setdefault(identity, len(self._labels))
        if number == len(self._labels):
            self._labels.append(value)
        return number


def same(first: np.ndarray, second: np.ndarray) -> int | None:
    """The position of the first difference between two arrays of keys of one length; None where they are equal."""
    differs = first != second
    return int(np.argmax(differs)) if differs.any() else None


def _array_of(raw: Any, *, as_labels: bool) -> tuple[np.ndarray, str]:
    """A map's result as bit patterns or objects (if `as_labels`, also numbers in a list), and its dtype's name."""
    if isinstance(raw, np.ndarray):
        check_plain(raw)
    if type(raw).__module__.partition(".")[0] == "torch":
        array, name = _from_torch(raw)
    elif isinstance(raw, str | bytes) or not isinstance(raw, Iterable):
        raise ValueError(f"it returned {shown(raw)}, not an array of outputs")
    else:
        array = raw if isinstance(raw, np.ndarray) else _listed(list(raw), as_labels=as_labels)
        name = array.dtype.name
    if array.dtype.kind in "biu" or name in _INFINITY:  # bfloat16 is given by integers with its bits
        return array, name
    if array.dtype.kind in "USO":
        return array, "label"
    accepted = "float16, float32, float64, bfloat16, whole numbers, booleans, labels"
    raise ValueError(f"it returned an array of dtype {name}; accepted: {accepted}")


def _from_torch(tensor: Any) -> tuple[np.ndarray, str]:
    name = str(getattr(tensor, "dtype", type(tensor).__name__)).removeprefix("torch.")
    tensor = tensor.detach().cpu() if hasattr(tensor, "detach") else tensor
    if name == "bfloat16":
        import torch

        return tensor.contiguous().view(torch.int16).numpy(), name
    try:
        return tensor.numpy(), name
    except (AttributeError, TypeError, RuntimeError) as error:
        raise ValueError(f"it returned a torch {name}, which cannot be read: {error}") from None


def _listed(values: list[Any], *, as_labels: bool) -> np.ndarray:
    """A list as numbers where all its members are numbers of one type, or rows of such; else as labels."""
    array = None if as_labels else array_of_numbers(values)
    return objects(values) if array is None else array


def array_of_numbers(values: list[Any] | tuple[Any, ...]) -> np.ndarray | None:
    """Numbers, or rows of numbers, of one type as an array that represents them exactly; else None.

    None for True beside 1, 1 beside 1.0, integers of more than 64 bits, rows of several lengths, labels.
    """
    rows = {type(value) for value in values} <= {list} or {type(value) for value in values} <= {tuple}
    kinds = {_number_kind(value) for value in (chain.from_iterable(values) if rows else values)}
    if len(kinds) != 1 or None in kinds:
        return None
    (kind,) = kinds
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError, TypeError, RuntimeError):
        return None
    exact = array.dtype.kind in "iu" if kind == "int" else array.dtype.name == str(kind).removeprefix("torch.")
    return array if exact and array.dtype.kind in "biuf" and array.ndim in (1, 2) else None


def check_plain(array: np.ndarray) -> None:
    """ValueError for masked arrays and other subclasses with data beyond their entries, such as units."""
    if type(array) not in _PLAIN:
        name = type(array).__name__
        raise ValueError(
            f"it returned a masked array or another kind of array, {name}, of which its numbers are not all"
        )


def objects(values: Iterable[Any]) -> np.ndarray:
    """The values in an array of dtype object, shape (m,)."""
    values = list(values)
    return np.fromiter(values, dtype=object, count=len(values))


def _number_kind(value: Any) -> str | None:
    """The type of a number: int, or the dtype's name (of an array or tensor, its entries'); None for anything else."""
    if type(value) in (bool, int, float):
        return {bool: "bool", int: "int", float: "float64"}[type(value)]
    if isinstance(value, np.generic) or type(value) in _PLAIN:
        return value.dtype.name
    return str(value.dtype) if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "dtype") else None


def _key_dtype(dtype: str) -> str:
    """The dtype of a number's key: unsigned and of the same width for floats; else its own."""
    if dtype == "bool":
        return "uint8"
    return f"uint{8 * _width(dtype)}" if dtype in _INFINITY else dtype


def _width(dtype: str) -> int:
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def _ordered(array: np.ndarray, dtype: str) -> np.ndarray:
    if dtype not in _INFINITY:
        return array.astype(_key_dtype(dtype))
    bits = 8 * _width(dtype)
    unsigned, signed = f"u{bits // 8}", f"i{bits // 8}"
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    sign = np.array(1 << bits - 1, dtype=unsigned)
    patterns = array.view(unsigned)
    keys = (array.view(signed) >> (bits - 1)).view(unsigned)  # all ones for negative numbers, else 0
    keys |= sign
    keys ^= patterns
    nans = (patterns & ~sign) > _INFINITY[dtype]
    if nans.any():
        keys[nans] = ~np.array(0, dtype=unsigned)
    return keys


def _side_by_side(keys: np.ndarray) -> np.ndarray:
    """One key for each row: an integer where the columns fit into one, else their bytes."""
    width, columns = keys.dtype.itemsize, keys.shape[1]
    if width * columns > _PACKED:
        wide = np.ascontiguousarray(keys.astype(keys.dtype.newbyteorder(">")))
        return wide.view(f"V{width * columns}")[:, 0]
    packed = np.zeros(len(keys), dtype=np.uint64)
    for column in keys.view(f"u{width}").T:
        packed = packed << np.uint64(8 * width if columns > 1 else 0) | column
    return packed


def _number(key: Any, dtype: str) -> Any:
    if dtype not in _INFINITY:
        return np.asarray(key).astype(dtype)[()]
    bits = 8 * _width(dtype)
    key, sign = int(key), 1 << bits - 1
    pattern = key ^ sign if key & sign else ~key & (2 * sign - 1)
    if dtype == "bfloat16":
        return float(np.array(pattern << 16, dtype=np.uint32).view(np.float32))
    return np.array(pattern, dtype=f"u{bits // 8}").view(dtype)[()]


def _identity(value: Any) -> Hashable:
    """The type and value of a label, floats by their bits; ValueError for objects without a known unique text."""
    kind = type(value)
    if isinstance(value, Enum):
        return kind, value.name, _identity(value.value)
    if value is None or kind in (str, bytes, bool, int):
        return kind, value
    if kind is float:
        return kind, "nan" if value != value else struct.pack("d", value)
    if isinstance(value, np.ndarray):
        check_plain(value)
    if isinstance(value, np.generic):
        item = value.item()
        if type(item) is kind:
            raise ValueError(f"it returned a {kind.__name__}, which cannot be read exactly")
        return kind, value.dtype.str, _identity(item)
    if isinstance(value, np.ndarray):
        return kind, value.shape, value.dtype.str, _identity(value.tolist())
    if isinstance(value, set | frozenset):
        return kind, frozenset(map(_identity, value))
    parts = _parts(value)
    return (kind, _text(value)) if parts is None else (kind, tuple(map(_identity, parts)))


def _parts(value: Any) -> list[Any] | None:
    """The members of a container, in order; None for anything else."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, dict):
        return list(value.items())
    return [getattr(value, one.name) for one in fields(value)] if is_dataclass(value) else None


def _text(value: Any) -> str:
    text, kind = str(canonical(value)), type(value)  # refuses text that differs between equal objects
    if kind.__module__.partition(".")[0] not in _KNOWN_BY_TEXT:
        raise ValueError(
            f"it returned an object of class {kind.__name__}, of which only the text is known; "
            "return numbers, text, or tuples of those"
        )
    return text
