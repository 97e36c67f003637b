"""Which adapter an object needs, by what it is; no library is imported to find out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ldp_audit.auditing.adapters.diffprivlib_mechanism import from_diffprivlib
from ldp_audit.auditing.adapters.flower_mod import from_flower
from ldp_audit.auditing.adapters.function_of_one_value import from_function
from ldp_audit.auditing.adapters.mechanism import from_mechanism, has_sample
from ldp_audit.auditing.adapters.multi_freq_ldpy_client import from_multi_freq_ldpy
from ldp_audit.auditing.adapters.opendp_measurement import from_opendp
from ldp_audit.auditing.adapters.torch_callable import from_torch, takes_generator
from ldp_audit.auditing.program import Sampler

_OF_LIBRARY: dict[str, Callable[..., Sampler]] = {
    "opendp": from_opendp,
    "diffprivlib": from_diffprivlib,
    "multi_freq_ldpy": from_multi_freq_ldpy,
    "flwr": from_flower,
}

_ACCEPTED = (
    "accepted: a sampler (x, n, rng), a function f(x) or f(x, rng), an object with sample(x, rng=...), a torch module "
    "or a function with a parameter called generator, an OpenDP measurement, a diffprivlib mechanism, a "
    "multi-freq-ldpy client, a Flower mod"
)


def as_sampler(target: Any, *arguments: Any, **named: Any) -> Sampler:
    """A sampler (x, n, rng) of whatever the target is.

    target: one of another library's objects (by the module of its class, of its bases, or of the function); an object
       with sample(x, rng=...); a callable that needs three arguments, which is a sampler and returned as it is, unless
       the third is called call_next, as a Flower mod's is; a torch module, or a function with a parameter called
       generator; else a function f(x) or f(x, rng).
    arguments, named: for the adapter, such as errors="output" of `from_function`.
    Raises ValueError for everything else.
    """
    adapter = _adapter_for(target)
    if adapter is not None:
        return adapter(target, *arguments, **named)
    if arguments or named:
        raise ValueError(f"a sampler (x, n, rng) takes no further arguments, got {(*arguments, *named)!r:.200}")
    return target


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
    if "torch" in libraries or takes_generator(target):
        return from_torch
    needed = _needed(target)
    if len(needed) == 3:
        return from_flower if needed[2] == "call_next" else None
    if len(needed) > 3:
        raise ValueError(f"target must not need the arguments ({', '.join(needed)}); {_ACCEPTED}")
    return from_function


def _libraries(target: Any) -> set[str]:
    """The packages that the target, its class, or a base of it come from; of a partial, what it calls."""
    while hasattr(target, "func") and hasattr(target, "keywords"):
        target = target.func
    modules = [getattr(target, "__module__", None), *(one.__module__ for one in type(target).__mro__)]
    return {module.partition(".")[0] for module in modules if isinstance(module, str)}


def _needed(target: Callable[..., Any]) -> list[str]:
    """The names of the arguments that must be given, by position."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        raise ValueError(
            f"target must tell its parameters, got {target!r:.200}; call it in a function of your own; {_ACCEPTED}"
        ) from None
    placed = (p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return [p.name for p in placed if p.default is p.empty]
