"""Detection of randomness from other sources than the given generator, which cannot be replayed.

Checked are numpy's and Python's shared generators, torch's for the CPU, and calls of the operating system through
`os.urandom`, `secrets`, `uuid.uuid4`, or for the seed of a new numpy generator. A draw or a seed changes the state of a
shared generator; before a state is restored through the library's own function it is checked too. Not detected: a
clock, a compiled library's own generator, and functions of `os` that were imported by name before.

Also checked are generators that the program holds: in globals that it names, closures, defaults, attributes and
containers. A change of their state between two checks means that they were used.
"""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Self
from unittest.mock import patch

import numpy as np

_MOST, _MOST_OF_ONE = 5000, 500  # most objects that are searched, and of one container, so that none hides the others
_LIBRARIES = ("ldp_audit", "numpy", "torch")  # whose functions hold no generators but those that are checked anyway
_SKIPPED = (str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, type)


@dataclass(frozen=True)
class _Shared:
    """A generator of the whole process.   home, setter: the location of the library's function that sets its state."""

    name: str
    home: Any
    setter: str
    state: Callable[[], Any]


class OutsideRandomness:
    """A context; `seen` names the sources used, as a predicate, or is None.   on_torch: check torch's too."""

    def __init__(self, *, on_torch: bool = False) -> None:
        self.seen: str | None = None
        self._shared = [
            _Shared("numpy's", np.random, "set_state", _numpy_state),
            _Shared("Python's", random, "setstate", random.getstate),
        ]
        torch = sys.modules.get("torch")
        if on_torch and torch is not None:
            state = torch.default_generator.get_state
            self._shared.append(_Shared("torch's", torch, "set_rng_state", lambda: state().numpy().tobytes()))
        self._stack = ExitStack()
        self._known: dict[str, Any] = {}

    def __enter__(self) -> Self:
        for one in self._shared:
            self._known[one.name] = one.state()
            self._stack.enter_context(patch.object(one.home, one.setter, self._watched(one)))
        for home, name in ((os, "urandom"), (random, "_urandom"), (os, "getrandom")):
            if hasattr(home, name):
                self._stack.enter_context(patch.object(home, name, self._asked(getattr(home, name))))
        return self

    def __exit__(self, *details: Any) -> None:
        self._stack.close()
        for one in self._shared:
            self._compare(one)

    def _watched(self, one: _Shared) -> Callable[..., Any]:
        real = getattr(one.home, one.setter)

        def set_state(*arguments: Any, **named: Any) -> Any:
            self._compare(one)
            result = real(*arguments, **named)
            self._known[one.name] = one.state()
            return result

        return set_state

    def _compare(self, one: _Shared) -> None:
        if one.state() != self._known[one.name]:
            self.seen = self.seen or f"it draws from {one.name} shared generator, or seeds it"

    def _asked(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def urandom(*arguments: Any, **named: Any) -> Any:
            if not _importing():
                self.seen = self.seen or "it asks the operating system for random bytes, or for a seed"
            return real(*arguments, **named)

        return urandom


def _importing() -> bool:
    """Whether a module is being imported: its draws are the same for all calls."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def _numpy_state() -> tuple[Any, ...]:
    name, words, *rest = np.random.get_state()
    return name, np.asarray(words).tobytes(), *rest


class OwnGenerators:
    """The generators reachable from a program, and their present states."""

    def __init__(self, program: Any) -> None:
        self._found = [(one, _state(one)) for one in _reached(program) if _is_generator(one)]

    def moved(self) -> bool:
        """Whether one of them has changed its state since."""
        return any(_state(one) != before for one, before in self._found)


def _reached(program: Any) -> Iterator[Any]:
    waiting, known = [program], {id(program): program}
    for one in waiting:  # extended in the loop
        yield one
        for other in _members(one):
            if id(other) not in known and len(known) < _MOST and not isinstance(other, _SKIPPED):
                known[id(other)] = other
                waiting.append(other)


def _members(one: Any) -> Iterator[Any]:
    if isinstance(one, FunctionType):
        yield from _of_function(one)
    elif isinstance(one, MethodType):
        yield from (one.__self__, one.__func__)
    elif isinstance(one, partial):
        yield from (one.func, *one.args, *one.keywords.values())
    elif type(one).__module__ == "functools":  # contents of a cache
        yield from gc.get_referents(one)[:_MOST_OF_ONE]
    elif isinstance(one, dict):
        yield from list(one.values())[:_MOST_OF_ONE]
    elif isinstance(one, list | tuple | set | frozenset):
        yield from list(one)[:_MOST_OF_ONE]
    elif not isinstance(one, ModuleType | CodeType) and not _is_generator(one):
        yield from list(getattr(one, "__dict__", {}).values())
        for kind in type(one).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            yield from (getattr(one, name, None) for name in ((slots,) if isinstance(slots, str) else slots))
            if kind.__module__ != "builtins":
                yield from (part for part in list(vars(kind).values()) if isinstance(part, FunctionType))
                yield from (part for part in list(vars(kind).values()) if _is_generator(part))


def _of_function(function: FunctionType) -> Iterator[Any]:
    """The objects of its closure and defaults, and, unless it is a library's, those that its code names in modules."""
    library = (function.__module__ or "").partition(".")[0] in _LIBRARIES
    names = set() if library else set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            yield from (vars(value)[part] for part in names & vars(value).keys())
        else:
            yield value
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # an empty closure cell
            continue
    yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    yield from list(vars(function).values())


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_generator(one: Any) -> bool:
    torch = sys.modules.get("torch")
    kinds = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
    return isinstance(one, kinds) or (torch is not None and isinstance(one, torch.Generator))


def _state(one: Any) -> Any:
    """The state that a draw changes, in a comparable form."""
    if isinstance(one, np.random.Generator):
        return pickle.dumps(one.bit_generator.state)
    if isinstance(one, np.random.BitGenerator):
        return pickle.dumps(one.state)
    if isinstance(one, np.random.RandomState):
        return pickle.dumps(one.get_state(legacy=False))
    if isinstance(one, random.Random):
        return None if isinstance(one, random.SystemRandom) else one.getstate()
    return one.get_state().cpu().numpy().tobytes()
