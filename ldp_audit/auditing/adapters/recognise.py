"""Which adapter an object needs, by what it is; no library is imported to find out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, flattened, seeded_globals
from ldp_audit.auditing.adapters.command import from_command
from ldp_audit.auditing.adapters.diffprivlib_mechanism import from_diffprivlib
from ldp_audit.auditing.adapters.flower_mod import from_flower
from ldp_audit.auditing.adapters.function_of_one_value import called, from_function, how_it_takes_rng
from ldp_audit.auditing.adapters.mechanism import from_mechanism, has_sample
from ldp_audit.auditing.adapters.multi_freq_ldpy_client import from_multi_freq_ldpy
from ldp_audit.auditing.adapters.opendp_measurement import from_opendp
from ldp_audit.auditing.adapters.torch_callable import from_torch, takes_generator
from ldp_audit.auditing.adapters.url import from_url
from ldp_audit.auditing.program import DeclaredSampler, Sampler
from ldp_audit.numerics import whole

_OF_LIBRARY: dict[str, Callable[..., Sampler]] = {
    "opendp": from_opendp,
    "diffprivlib": from_diffprivlib,
    "multi_freq_ldpy": from_multi_freq_ldpy,
    "flwr": from_flower,
}

_ACCEPTED = (
    "accepted: a sampler (x, n, rng), a function f(x) or f(x, rng), an object with sample(x, rng=...), a torch module "
    "or a function with a parameter called generator, an OpenDP measurement, a diffprivlib mechanism, a "
    "multi-freq-ldpy client, a Flower mod, an object with one public method of one value; and a class, or a function "
    "without parameters, that makes one of these"
)


def as_sampler(
    target: Any = None, *arguments: Any, command: Any = None, url: Any = None, fresh: Any = None, **named: Any
) -> Sampler:
    """A sampler (x, n, rng) of whatever the target is.

    target: one of another library's objects (by the module of its class, of its bases, or of the function); an object
       with sample(x, rng=...); a callable that needs three arguments, which is a sampler and returned as it is, unless
       the third is called call_next, as a Flower mod's is; a torch module, or a function with a parameter called
       generator; else a function f(x) or f(x, rng). An object that is none of these, with exactly one public method
       that could be, stands for that method; a class, or a function without parameters, for what it makes.
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
        return adapt(value, *arguments, **named)
    one = made(target)
    adapter = _adapter_for(one)
    if adapter is None and (arguments or named):
        raise ValueError(f"a sampler (x, n, rng) takes no further arguments, got {(*arguments, *named)!r:.200}")
    sampler = one if adapter is None else adapter(one, *arguments, **named)
    anew = isinstance(target, type) or _is_factory(target)
    if not anew or (isinstance(sampler, DeclaredSampler) and not isinstance(sampler, AdaptedSampler)):
        return sampler
    adapted = sampler if isinstance(sampler, AdaptedSampler) else AdaptedSampler(sampler)
    return replace(adapted, made=partial(as_sampler, target, *arguments, **named))


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
    if _libraries(target) & _OF_LIBRARY.keys() or has_sample(target) or callable(target):
        return target
    methods = _methods(target)
    if len(methods) > 1:
        kind = type(target).__qualname__
        raise ValueError(
            f"target must have one public method of one value, got {target!r:.200} with {', '.join(methods)}: "
            f"name one, such as {kind}.{methods[0]}, or a function without parameters that returns it of a new object"
        )
    return getattr(target, methods[0]) if methods else target


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
    if adapter is from_function:
        return partial(_asked_one_by_one, name, how_it_takes_rng(method))
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
    return [name for name in names if needed[name] and needed[name][1:] in ([], ["rng"], ["n", "rng"])]


def _adapter_for(target: Any) -> Callable[..., Sampler] | None:
    """None for what is a sampler already."""
    libraries = _libraries(target)
    for library, adapter in _OF_LIBRARY.items():
        if library in libraries and not isinstance(target, type):
            return adapter
    if has_sample(target):
        return from_mechanism
    if isinstance(target, type) or not callable(target):
        raise ValueError(f"target must be something to draw from, got {target!r:.200}; {_ACCEPTED}")
    if _is_method_of_a_class(target):
        raise ValueError(
            f"target must be the method of an object, got {target.__qualname__}, which is its class's; {_ACCEPTED}"
        )
    if "torch" in libraries or takes_generator(target):
        return from_torch
    needed = _needed(target)
    if len(needed) == 3:
        return from_flower if needed[2] == "call_next" else None
    if len(needed) > 3:
        raise ValueError(f"target must not need the arguments ({', '.join(needed)}); {_ACCEPTED}")
    return from_function


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
