"""Pickles of byte tables, read without the pickle module: nothing in the file can name code that runs.

A pickle is a program for a stack machine. This one implements the instructions of a protocol-2 pickle of dicts, lists,
numbers, strings and numpy tables of unsigned bytes, and refuses all others. The functions that such a pickle calls (two
of numpy's, and one of codecs' if Python 3 wrote it) are recognised by name and emulated: none is imported or called,
and an array is built only after its size was compared with its bytes.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MAX_INSTRUCTIONS = 1_000_000  # instructions; CIFAR-100's training half has about 200,000
_RECONSTRUCT = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")


class ByteTable:
    """A numpy table of unsigned bytes.   values: shape (rows, columns); None until the pickle fills it."""

    values: NDArray[np.uint8] | None = None


def read_pickle(data: bytes) -> Any:
    """The value of a pickle: dicts, lists, tuples, numbers, bytes, texts and `ByteTable`s.

    Strings of Python 2 are bytes. Raises ValueError for anything else, before any of it is built.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    stream = io.BytesIO(data)
    try:
        for _ in range(_MAX_INSTRUCTIONS):
            name, argument = _instruction(stream)
            if name == "STOP":
                break
            _step(name, argument, stack, memo)
        else:
            raise ValueError(f"must have at most {_MAX_INSTRUCTIONS} instructions")
    except (IndexError, KeyError) as error:
        raise ValueError("uses values that it never made") from error
    if len(stack) != 1 or stream.read(1):
        raise ValueError("must hold one value and nothing after it")
    return stack[0]


class _Mark:
    """The start of a run of values on the stack."""


class _Named(NamedTuple):
    """A function or class that the pickle names, as its name only."""

    name: str


class _ByteType:
    """numpy's type of unsigned bytes."""


def _instruction(stream: io.BytesIO) -> tuple[str, Any]:
    """The next instruction and its argument. Raises ValueError for unsupported ones before reading the argument."""
    code = stream.read(1).decode("latin-1")
    if not code:
        raise ValueError("must have an end, which is missing")
    found = _CODES.get(code)
    if found is None or found.name not in _KNOWN:
        raise ValueError(f"must be a plain one of protocol 2, found {found.name if found else repr(code)}")
    return found.name, found.arg.reader(stream) if found.arg else None


def _step(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """Carry out one instruction."""
    if name in _MAKES:
        stack.append(_MAKES[name]())
    elif name in _PUSHES:
        stack.append(argument)
    elif name in _STRINGS:
        stack.append(argument.encode("latin-1"))  # pickletools decodes Python 2's strings as latin-1
    elif name in _PUTS:
        memo[argument] = stack[-1]
    elif name in _GETS:
        stack.append(memo[argument])
    elif name in _ACTS:
        _ACTS[name](stack)
    elif name == "GLOBAL":
        stack.append(_named(argument))
    elif argument != 2:  # PROTO
        raise ValueError(f"must be a plain one of protocol 2, found PROTO {argument}")


def _named(name: str) -> _Named:
    if name not in (*_RECONSTRUCT, "numpy ndarray", "numpy dtype", "_codecs encode"):
        raise ValueError(f"must name nothing but numpy's arrays, found {name.replace(' ', '.')[:80]!r}")
    return _Named(name)


def _reduce(stack: list[Any]) -> None:
    """A call of one of three functions, each emulated here."""
    arguments, called = stack.pop(), stack.pop()
    match called, arguments:
        case _Named(name), (_Named("numpy ndarray"), *_) if name in _RECONSTRUCT:
            stack.append(ByteTable())
        case _Named("numpy dtype"), (b"u1" | "u1", *_):
            stack.append(_ByteType())
        case _Named("_codecs encode"), (str(text), "latin1" | b"latin1"):
            stack.append(text.encode("latin-1"))
        case _:
            raise ValueError("must make nothing but arrays of unsigned bytes")


def _build(stack: list[Any]) -> None:
    """The state of an array or a type."""
    state = stack.pop()
    match stack[-1], state:
        case _ByteType(), _:
            return
        case ByteTable() as table, (1, (int(rows), int(columns)), _ByteType(), bool(by_column), bytes(values)):
            if min(rows, columns) < 0 or rows * columns != len(values):
                raise ValueError(f"says that an array has {rows} x {columns} bytes, found {len(values)}"[:120])
            order = "F" if by_column else "C"
            table.values = np.frombuffer(values, np.uint8).reshape((rows, columns), order=order)
        case _:
            raise ValueError("must fill nothing but tables of unsigned bytes")


def _popped(stack: list[Any], count: int) -> list[Any]:
    """Pop the last `count` values."""
    if count > len(stack):
        raise IndexError
    values = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return values


def _popped_run(stack: list[Any]) -> list[Any]:
    """Pop the values above the last mark, and the mark."""
    count = next((above for above, value in enumerate(reversed(stack)) if isinstance(value, _Mark)), len(stack))
    run = _popped(stack, count)
    stack.pop()
    return run


def _extend(stack: list[Any], values: list[Any]) -> None:
    if not isinstance(stack[-1], list):
        raise ValueError("must append to lists only")
    stack[-1].extend(values)


def _enter(stack: list[Any], values: list[Any]) -> None:
    """Update a dict with string keys only: a deeply nested tuple could take forever to hash."""
    keys = values[::2]
    if not isinstance(stack[-1], dict) or len(values) % 2 or not all(isinstance(key, bytes | str) for key in keys):
        raise ValueError("must enter strings into dicts only")
    stack[-1].update(zip(keys, values[1::2], strict=True))


_PUSHES = ("BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE")
_STRINGS = ("SHORT_BINSTRING", "BINSTRING")
_PUTS = ("BINPUT", "LONG_BINPUT")
_GETS = ("BINGET", "LONG_BINGET")

_MAKES: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "MARK": _Mark,
}
"""Values that instructions without an argument push."""

_ACTS: dict[str, Callable[[list[Any]], None]] = {
    "TUPLE1": lambda stack: stack.append(tuple(_popped(stack, 1))),
    "TUPLE2": lambda stack: stack.append(tuple(_popped(stack, 2))),
    "TUPLE3": lambda stack: stack.append(tuple(_popped(stack, 3))),
    "TUPLE": lambda stack: stack.append(tuple(_popped_run(stack))),
    "APPEND": lambda stack: _extend(stack, _popped(stack, 1)),
    "APPENDS": lambda stack: _extend(stack, _popped_run(stack)),
    "SETITEM": lambda stack: _enter(stack, _popped(stack, 2)),
    "SETITEMS": lambda stack: _enter(stack, _popped_run(stack)),
    "REDUCE": _reduce,
    "BUILD": _build,
}
"""Instructions that work on the values on the stack."""

_KNOWN = frozenset((*_PUSHES, *_STRINGS, *_PUTS, *_GETS, *_MAKES, *_ACTS, "GLOBAL", "PROTO", "STOP"))
_CODES = {one.code: one for one in pickletools.opcodes}
