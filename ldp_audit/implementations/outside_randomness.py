"""Randomness that a program may take from elsewhere than the generator it is handed: noticed, not played back.

Watched are numpy's and Python's shared generators, torch's for the CPU, and what asks the operating system through
`os.urandom`, `secrets`, `uuid.uuid4`, or for the seed of a new numpy generator. A shared generator that was drawn from
or seeded is in another state; one that is put back through its library's own function is looked at before that.
Not seen: a clock, a compiled library's own generator, and functions of `os` that were imported by name before.
"""

from __future__ import annotations

import inspect
import os
import random
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self
from unittest.mock import patch

import numpy as np


@dataclass(frozen=True)
class _Shared:
    """A generator of the whole process.   home, setter: where its library's function is that sets its state."""

    name: str
    home: Any
    setter: str
    state: Callable[[], Any]


class OutsideRandomness:
    """A context; `seen` then says what was drawn from, as the end of a sentence about a program, None if nothing.

    on_torch: whether torch's shared generator must not move either.
    """

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
    """Whether a module is being loaded, as libraries do late: what it draws then is the same for all calls."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def _numpy_state() -> tuple[Any, ...]:
    name, words, *rest = np.random.get_state()
    return name, np.asarray(words).tobytes(), *rest
