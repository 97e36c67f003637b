"""A diffprivlib mechanism, as a sampler."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, one_by_one


def from_diffprivlib(mechanism: Any) -> AdaptedSampler:
    """A sampler that calls mechanism.randomise once for each output.

    mechanism: a DPMechanism, or a DPTransformer around one.

    With random_state=None, its default, a mechanism draws from the operating system; it is audited so, and the
    sampler is not `repeatable`. With a random_state, each call makes the mechanism anew from its arguments, with a
    RandomState that is seeded from rng: which random_state it was does not matter.
    """
    if not callable(getattr(mechanism, "randomise", None)) or isinstance(mechanism, type):
        raise ValueError(f"mechanism must be a diffprivlib mechanism, with randomise(value), got {mechanism!r:.200}")
    seeded = getattr(_innermost(mechanism), "random_state", None) is not None
    return AdaptedSampler(partial(_draw_seeded if seeded else _draw, mechanism), repeatable=seeded)


def _innermost(mechanism: Any) -> Any:
    """The mechanism that all transformers are around."""
    while hasattr(mechanism, "parent"):
        mechanism = mechanism.parent
    return mechanism


def _draw(mechanism: Any, x: Any, n: int, rng: np.random.Generator) -> list[Any]:  # noqa: ARG001  (no seed is taken)
    return one_by_one(mechanism.randomise, n, x)


def _draw_seeded(mechanism: Any, x: Any, n: int, rng: np.random.Generator) -> list[Any]:
    words = rng.integers(0, 2**32, 8, dtype=np.uint32)
    return one_by_one(_with_state(mechanism, np.random.RandomState(np.random.MT19937(words))).randomise, n, x)


def _with_state(mechanism: Any, state: np.random.RandomState) -> Any:
    """The same mechanism on another source: made anew, since a copy would keep the source that it has."""
    if hasattr(mechanism, "parent"):
        changed = mechanism.copy()
        changed.parent = _with_state(mechanism.parent, state)
        return changed
    names = inspect.getfullargspec(type(mechanism)).kwonlyargs  # each is an attribute: its repr relies on it
    return type(mechanism)(**{name: getattr(mechanism, name) for name in names} | {"random_state": state})
