"""Which adapter an object needs, by what it is; no library is imported to find out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, flattened, seeded_globals
from ldp_audit.auditing.adapters.arrays import arrayed
from ldp_audit.auditing.adapters.command import from_command
from ldp_audit.auditing.adapters.diffprivlib_mechanism import from_diffprivlib
from ldp_audit.auditing.adapters.flower_mod import from_flower
from ldp_audit.auditing.adapters.function_of_one_value import (
    COUNTS,
    called,
    from_function,
    how_it_takes_rng,
    written_name,
)
from ldp_audit.auditing.adapters.mechanism import from_mechanism, has_sample
from ldp_audit.auditing.adapters.multi_freq_ldpy_client import from_multi_freq_ldpy
from ldp_audit.auditing.adapters.opendp_measurement import from_opendp
from ldp_audit.auditing.adapters.sampler import DeclaredSampler, Sampler
from ldp_audit.auditing.adapters.scipy_distribution import from_scipy, is_by_input
from ldp_audit.auditing.adapters.torch_callable import from_torch, takes_generator
from ldp_audit.auditing.adapters.url import from_url
from ldp_audit.numerics import count_of, whole

_OF_LIBRARY: dict[str, Callable[..., Sampler]] = {
    "opendp": from_opendp,
    "diffprivlib": from_diffprivlib,
    "multi_freq_ldpy": from_multi_freq_ldpy,
    "flwr": from_flower,
    "scipy": from_scipy,
}

_SYMBOLS = "ldp_audit.mechanisms.channel"
"""The module of channels of symbols, which is not loaded for programs without them."""

_ACCEPTED = (
    "accepted: a sampler (x, n, rng), a function f(x) or f(x, rng) or f(x, n), an object with sample(x, rng=...), a "
    "torch module or a function with a parameter called generator, an OpenDP measurement, a diffprivlib mechanism, a "
    "multi-freq-ldpy client, a Flower mod, a dictionary of SciPy's frozen distributions, an object with one public "
    "method of one value; and a class, or a function without parameters, that makes one of these"
)


def sampler_of(program: Any) -> Sampler:
    """What `audit`, `fit` and the assertions ask for outputs: a sampler as it is, else what `as_sampler` makes of it.

    A function of any arguments, which tells nothing, is a sampler, and so is what is called with three, whatever
    methods it has besides. Raises ValueError for everything else, with the line to write where one is known.
    """
    if isinstance(program, FunctionType):
        parameters = inspect.signature(program).parameters.values()
        if parameters and all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
            return program
    try:
        return program if _is_sampler(program) else as_sampler(program)
    except ValueError as error:
        name, _, says = str(error).partition(" must ")
        raise ValueError(f"sampler must {says}" if name == "target" else f"sampler: {error}") from None


def _is_sampler(program: Any) -> bool:
    """Whether it is an object that needs x, n and rng to be called, and is none of another library's."""
    if (
        isinstance(program, type | FunctionType)
        or not callable(program)
        or not isinstance(program.__call__, MethodType)
    ):
        return False
    if _libraries(program) & {*_OF_LIBRARY, "torch"}:
        return False
    needed = _needed(program)
    return len(needed) == 3 and needed[2] != "call_next"


def as_sampler(
    target: Any = None, *arguments: Any, command: Any = None, url: Any = None, fresh: Any = None, **named: Any
) -> Sampler:
    """A sampler (x, n, rng) of whatever the target is.

    target: one of another library's objects (by the module of its class, of its bases, or of the function); an object
       with sample(x, rng=...); a callable that needs three arguments, which is a sampler and returned as it is, unless
       the third is called call_next, as a Flower mod's is; a torch module, or a function with a parameter called
       generator; a dictionary with a frozen distribution of SciPy's for each input; else a function f(x), f(x, rng) or
       f(x, n). An object that is none of these, with exactly one public method that could be, stands for that method;
       a class, or a function without parameters, for what it makes.
    arguments, named: for the adapter, such as errors="output" of `from_function`.
    command, url, fresh: instead of a target, a program in any language (`from_command`), a service (`from_url`), or
       what makes a new client for each output (`from_factory`).
    Raises ValueError for everything else.
    """
    others = {"command": (from_command, command), "url": (from_url, url), "fresh": (from_factory, fresh)}
    given = [name for name, (_, value) in others.items() if value is not None]
    if len(given) > 1 or (given and target is not None):
        both = " and ".join([*given, "target"][:2])
        raise ValueError(f"target, command, url and fresh exclude each other, got {both}")
    for name in given:
        adapt, value = others[name]
        found = adapt(value, *arguments, **named)
        return replace(found, of=value) if isinstance(found, AdaptedSampler) else found
    one: Any = made(target)
    adapter = _adapter_for(one)
    if adapter is None and (arguments or named):
        raise ValueError(f"a sampler (x, n, rng) takes no further arguments, got {(*arguments, *named)!r:.200}")
    sampler = one if adapter is None else adapter(one, *arguments, **named)
    anew = isinstance(target, type) or _is_factory(target)
    if adapter is None and not anew:
        return one
    if isinstance(sampler, DeclaredSampler) and not isinstance(sampler, AdaptedSampler):
        return sampler
    adapted = sampler if isinstance(sampler, AdaptedSampler) else AdaptedSampler(sampler)
    return replace(adapted, of=target, made=partial(as_sampler, target, *arguments, **named) if anew else adapted.made)


def made(target: Any) -> Any:
    """What a class or a factory makes; of an object that cannot be drawn from itself, its one method of one value."""
    if isinstance(target, type) or _is_factory(target):
        needed = _needed(target, named=True) if isinstance(target, type) else []
        if needed:
            raise ValueError(
                f"target must be something to draw from, got {target!r:.200}, which needs ({', '.join(needed)}): name "
                f"an object of it, or a function without parameters that makes one; {_ACCEPTED}"
            )
        try:
            target = target()
        except Exception as error:
            raise ValueError(f"target {target!r:.200} cannot make what is to be audited: {error!r:.300}") from error
    known = _libraries(target) & _OF_LIBRARY.keys() or is_by_input(target)
    if known or has_sample(target) or callable(target) or arrayed(target) is not target or _is_plain(target):
        return target
    methods = _methods(target)
    if len(methods) > 1:
        kind = type(target).__qualname__
        raise ValueError(
            f"target must have one public method of one value, got {target!r:.200} with {', '.join(methods)}: "
            f"name one, such as {kind}.{methods[0]}, or a function without parameters that returns it of a new object"
        )
    return getattr(target, methods[0]) if methods else target


def _is_plain(target: Any) -> bool:
    """Whether it is a value of Python's own or of numpy's, or a channel of symbols: their methods are no client's."""
    return type(target).__module__ in ("builtins", "numpy", _SYMBOLS)


def from_factory(make: Callable[..., Any], *, reports: int = 1) -> AdaptedSampler:
    """A sampler each of whose outputs is of a new client, as its server meets it: for clients that remember.

        as_sampler(fresh=Client, reports=2)

    make: a class or a function that needs nothing, or rng alone, a numpy.random.Generator; it makes what `as_sampler`
       takes.   reports: how many the client gives on the one input; two or more of them are one output, a tuple.
    """
    needed = _needed(make, named=True) if callable(make) else None
    if needed not in ([], ["rng"]):
        how = "is none" if needed is None else f"needs ({', '.join(needed)})"
        raise ValueError(
            f"fresh must be a class or function that makes a client, alone or from rng; {make!r:.200} {how}"
        )
    takes_rng = "rng" in inspect.signature(make).parameters
    whole(reports, "reports", 1)
    return AdaptedSampler(partial(_draw_fresh, make, reports, takes_rng=takes_rng), repeatable=takes_rng)


def _draw_fresh(
    make: Callable[..., Any], reports: int, x: Any, n: int, rng: np.random.Generator, *, takes_rng: bool
) -> list[Any]:
    outputs: list[Any] = []
    ways: dict[type, _Way] = {}  # of each class of clients, to be looked at once
    with seeded_globals(rng):
        for _ in range(n):
            client = make(rng=rng) if takes_rng else make()
            if type(client) not in ways:
                ways[type(client)] = _way_of(client)
            found = list(ways[type(client)](client, x, reports, rng))
            outputs.append(found[0] if reports == 1 else flattened(tuple(found)))
    return outputs


_Way = Callable[[Any, Any, int, np.random.Generator], Any]
"""(client, x, reports, rng) -> the client's reports."""


def _way_of(client: Any) -> _Way:
    """How clients of this class are asked, so that signatures are looked at once."""
    method = made(client)
    adapter = _adapter_for(method)
    name = "__call__" if method is client else method.__name__
    takes = how_it_takes_rng(method) if adapter is from_function else None
    if takes is not None and takes != "count" and not inspect.isgeneratorfunction(method):
        return partial(_asked_one_by_one, name, takes)
    return partial(_asked_at_once, name) if adapter is None else _asked_by_its_adapter


def _asked_one_by_one(name: str, takes: str, client: Any, x: Any, reports: int, rng: np.random.Generator) -> Any:
    return called(getattr(client, name), takes, x, reports, rng)


def _asked_at_once(name: str, client: Any, x: Any, reports: int, rng: np.random.Generator) -> Any:
    return getattr(client, name)(x, reports, rng)


def _asked_by_its_adapter(client: Any, x: Any, reports: int, rng: np.random.Generator) -> Any:
    return as_sampler(client)(x, reports, rng)


def _is_factory(target: Any) -> bool:
    """Whether it is called without arguments."""
    try:
        return callable(target) and not inspect.signature(target).parameters
    except (TypeError, ValueError):
        return False


def _methods(target: Any) -> list[str]:
    """The names of the public methods of one value, perhaps with rng, or with n and rng. No property is evaluated."""
    kinds = (FunctionType, staticmethod, classmethod)
    names = [name for name in dir(type(target)) if not name.startswith("_")]
    names = [name for name in names if isinstance(inspect.getattr_static(type(target), name), kinds)]
    needed = {name: _needed(getattr(target, name), named=True) for name in names}
    return [name for name in names if needed[name] and needed[name][1:] in ([], ["rng"], ["n"], ["n", "rng"])]


def _adapter_for(target: Any) -> Callable[..., Sampler] | None:
    """None for what is a sampler already."""
    if isinstance(target, DeclaredSampler):
        return None
    libraries = {"scipy"} if is_by_input(target) else _libraries(target)
    for library, adapter in _OF_LIBRARY.items():
        if library in libraries and not isinstance(target, type):
            return adapter
    if has_sample(target):
        return from_mechanism
    if isinstance(target, type) or not callable(target):
        raise ValueError(f"target must be something to draw from, got {target!r:.200}{_line(target)}; {_ACCEPTED}")
    return from_torch if "torch" in libraries else _adapter_for_function(target)


def _adapter_for_function(target: Callable[..., Any]) -> Callable[..., Sampler] | None:
    """By its parameters."""
    owner = target.__self__ if isinstance(target, MethodType | BuiltinMethodType) else None
    if isinstance(owner, np.random.Generator | np.random.RandomState):
        line = f"lambda x, n, rng: rng.{target.__name__}(x, size=n)"
        raise ValueError(f"target must take an input, got a method of {owner!r:.60}: write {line}; {_ACCEPTED}")
    if _is_method_of_a_class(target):
        raise ValueError(
            f"target must be the method of an object, got {target.__qualname__}, which is its class's; {_ACCEPTED}"
        )
    needed = _needed(target)
    if len(needed) == 3:
        return from_flower if needed[2] == "call_next" else None
    if len(needed) > 3:
        line = f"from functools import partial; partial({written_name(target)}, {needed[-1]}=...)"
        raise ValueError(f"target must not need the arguments ({', '.join(needed)}); fix some: {line}; {_ACCEPTED}")
    if _is_counted(target):
        return None
    return from_torch if takes_generator(target) else from_function


def _is_counted(target: Any) -> bool:
    """Whether it is a sampler (x, n, rng) that gives a default to some of these: its second argument is a count."""
    parameters = inspect.signature(target).parameters.values()
    placed = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(placed) >= 3 and placed[1] in COUNTS


def _line(target: Any) -> str:
    """The line to write instead of what cannot be drawn from; "" where none is known."""
    if isinstance(target, str) and "(" in target:
        name = target.partition("(")[0]
        return f": write from ldp_audit.mechanisms import {name}; {target}"
    if isinstance(target, str) and ":" in target:
        module, _, name = target.partition(":")
        return f": write from {module.removesuffix('.py').replace('/', '.')} import {name}; {name}"
    if type(target).__module__ == _SYMBOLS:
        return ": put numbers in, such as channel.bind(epsilon=1)"
    if isinstance(target, Iterator):
        return ": it runs once only; hand over the function that makes it, or one that yields outputs, f(x)"
    if not isinstance(target, Mapping) and (count_of(target) or arrayed(target) is not target):
        scores = "from ldp_audit.auditing import audit_scores; audit_scores(members, non_members, ...)"
        matrix = "from ldp_audit.mechanisms import FiniteChannel; FiniteChannel(matrix)"
        return f": for outputs that are there already, {scores}; for a matrix of probabilities, {matrix}"
    return ""


def _is_method_of_a_class(target: Any) -> bool:
    """Whether it is Class.method, whose first parameter is an object of the class."""
    if not inspect.isfunction(target) or [*inspect.signature(target).parameters][:1] != ["self"]:
        return False
    return target.__qualname__.split(".")[-2:-1] not in ([], ["<locals>"])


def _libraries(target: Any) -> set[str]:
    """The packages that the target, its class, or a base of it come from; of a partial, what it calls."""
    while hasattr(target, "func") and hasattr(target, "keywords"):
        target = target.func
    modules = [getattr(target, "__module__", None), *(one.__module__ for one in type(target).__mro__)]
    return {module.partition(".")[0] for module in modules if isinstance(module, str)}


def _needed(target: Callable[..., Any], *, named: bool = False) -> list[str]:
    """The names of the arguments that must be given, by position; those that are given by name alone, on request."""
    one = inspect.Parameter
    kinds = (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, *((one.KEYWORD_ONLY,) if named else ()))
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        raise ValueError(
            f"target must tell its parameters, got {target!r:.200}; call it in a function of your own; {_ACCEPTED}"
        ) from None
    return [p.name for p in parameters if p.kind in kinds and p.default is p.empty]
