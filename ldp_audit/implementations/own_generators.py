"""Generators that a program holds: as globals that it names, in closures, defaults, attributes and containers.

What such a generator gives is no word that is played back. One that has moved between two looks was drawn from.
"""

from __future__ import annotations

import gc
import pickle
import random
import sys
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_MOST = 5000  # objects that are looked at
_SKIPPED = (str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, type)


class OwnGenerators:
    """The generators that can be reached from a program, and their states now."""

    def __init__(self, program: Any) -> None:
        self._found = [(one, _state(one)) for one in _reached(program) if _is_generator(one)]

    def moved(self) -> bool:
        """Whether one of them has been drawn from, or seeded, since."""
        return any(_state(one) != before for one, before in self._found)


def _reached(program: Any) -> Iterator[Any]:
    """The program and what it refers to, nearest first."""
    waiting, known = [program], {id(program): program}
    for one in waiting:  # grows meanwhile
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
    elif type(one).__module__ == "functools":  # what a cache holds
        yield from gc.get_referents(one)
    elif isinstance(one, dict):
        yield from list(one.values())[:_MOST]
    elif isinstance(one, list | tuple | set | frozenset):
        yield from list(one)[:_MOST]
    elif not isinstance(one, ModuleType | CodeType) and not _is_generator(one):
        yield from list(getattr(one, "__dict__", {}).values())
        for kind in type(one).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            yield from (getattr(one, name, None) for name in ((slots,) if isinstance(slots, str) else slots))
            if kind.__module__ != "builtins":
                yield from (part for part in list(vars(kind).values()) if isinstance(part, FunctionType))
                yield from (part for part in list(vars(kind).values()) if _is_generator(part))


def _of_function(function: FunctionType) -> Iterator[Any]:
    """What its code names in its module, or in a module that it names, and what it keeps."""
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            yield from (vars(value)[part] for part in names & vars(value).keys())
        else:
            yield value
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
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
    """What a draw changes, as something that can be compared."""
    if isinstance(one, np.random.Generator):
        return pickle.dumps(one.bit_generator.state)
    if isinstance(one, np.random.BitGenerator):
        return pickle.dumps(one.state)
    if isinstance(one, np.random.RandomState):
        return pickle.dumps(one.get_state(legacy=False))
    if isinstance(one, random.Random):
        return None if isinstance(one, random.SystemRandom) else one.getstate()
    return one.get_state().cpu().numpy().tobytes()
