"""A function of one value, f(x) or f(x, rng), or of a value and a count, f(x, n), as a sampler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from itertools import islice
from types import FunctionType
from typing import Any, Literal

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, one_by_one, seeded_globals

_ACCEPTED = "accepted: f(x), f(x, rng), f(x, n)"

COUNTS = ("n", "size", "count", "samples", "n_samples", "num_samples")
"""Names of a second argument that says how many outputs are wanted, as no generator and no parameter is called."""

_BUDGETS = ("epsilon", "eps")
"""Names of one that no generator is meant by."""


def from_function(f: Callable[..., Any], *, errors: Literal["raise", "output"] = "raise") -> AdaptedSampler:
    """A sampler that calls f once for each output.

    f: f(x, rng), where rng is a numpy.random.Generator and is either called so or is the second that f needs; or f(x).
       It returns a number, a label, None, or a vector: numbers in arrays, lists or tuples, nested or not. A generator
       function yields outputs, and is called once for n of them. f(x, n), whose second argument is called so (or as
       one of `COUNTS`), returns n outputs.
    errors: what an exception is. "raise": a failure of the audit. "output": the label "error: ValueError", or
       whichever it is: a program that fails on some inputs alone shows which they are. Not for vectors, which cannot be
       mixed with labels.

    f(x) and f(x, n) draw their randomness where they like: numpy's, Python's, numba's and torch's shared generators are
    seeded from rng meanwhile, but f may hold one of its own, or ask the operating system. So they do not count as
    repeatable.
    """
    if errors not in ("raise", "output"):
        raise ValueError(f'errors must be "raise" or "output", got {errors!r}')
    if not callable(f) or isinstance(f, type):
        raise ValueError(f"f must be a function of one value, got {f!r:.200}; {_ACCEPTED}")
    if inspect.iscoroutinefunction(f):
        raise ValueError(f"f must be no coroutine, got {f!r:.200}: call asyncio.run(f(x)) in a function; {_ACCEPTED}")
    takes = how_it_takes_rng(f)
    if inspect.isgeneratorfunction(f) or takes == "count":
        if errors != "raise":
            raise ValueError(f'errors must be "raise" for what gives many outputs a call, got {errors!r}')
        return AdaptedSampler(partial(_many, f, takes), repeatable=takes in ("position", "keyword"))
    program = f if errors == "raise" else partial(_or_error, f)
    return AdaptedSampler(partial(one_value_draw, program, takes), repeatable=takes != "none")


def one_value_draw(f: Callable[..., Any], takes: str, x: Any, n: int, rng: np.random.Generator) -> list[Any]:
    """n outputs on input x by n calls of f.   takes: how f takes rng."""
    if takes != "none":
        return called(f, takes, x, n, rng)
    with seeded_globals(rng):
        return called(f, takes, x, n, rng)


def _many(f: Callable[..., Any], takes: str, x: Any, n: int, rng: np.random.Generator) -> Any:
    """n outputs on input x by one call of f, which returns or yields them."""
    if takes in ("position", "keyword"):
        return list(islice(f(x, rng) if takes == "position" else f(x, rng=rng), n))
    with seeded_globals(rng):
        return f(x, n) if takes == "count" else list(islice(f(x), n))


def called(f: Callable[..., Any], takes: str, x: Any, n: int, rng: np.random.Generator) -> list[Any]:
    """See `one_value_draw`; shared generators are left as they are."""
    if takes == "position":
        return one_by_one(f, n, x, rng)
    return one_by_one(partial(f, rng=rng) if takes == "keyword" else f, n, x)


def _or_error(f: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    try:
        return f(*arguments, **named)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is an output)
        return f"error: {type(error).__name__}"


def how_it_takes_rng(f: Callable[..., Any]) -> Literal["position", "keyword", "count", "none"]:
    """By its parameters; "count" for f(x, n). ValueError for what is no function of one value."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return "none"
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in placed if p.default is p.empty]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    if (not placed and not any(p.kind is p.VAR_POSITIONAL for p in parameters)) or len(needed) > 2:
        raise ValueError(f"f must take one value, got a function of {_names(parameters)}; {_ACCEPTED}")
    unknown = [p for p in named if p.default is p.empty and p.name != "rng"]
    if unknown:
        raise ValueError(f"f must need nothing but a value and rng, got one that needs {_names(unknown)}; {_ACCEPTED}")
    if len(needed) == 2 and needed[1].name in _BUDGETS:
        name = needed[1].name
        line = f"from functools import partial; partial({written_name(f)}, {name}=1.0)"
        raise ValueError(f"f must need nothing but a value and rng, got one that needs {name}: {line}; {_ACCEPTED}")
    if len(needed) == 2:
        return "count" if needed[1].name in COUNTS else "position"
    return "keyword" if any(p.name == "rng" for p in [*placed[1:], *named]) else "none"


def _names(parameters: Any) -> str:
    return "(" + ", ".join(p.name for p in parameters) + ")"


def written_name(f: Any) -> str:
    """The name of a function, for a line to write; f for what has none."""
    return f.__name__ if isinstance(f, FunctionType) and f.__name__ != "<lambda>" else "f"
