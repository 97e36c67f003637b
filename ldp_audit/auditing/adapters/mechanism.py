"""An object with sample(x, rng=...), as all shipped mechanisms have it, as a sampler."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, in_batches, one_by_one


def from_mechanism(mechanism: Any) -> AdaptedSampler:
    """A sampler of the mechanism's reports on x: a number, a vector, a ranking, a set's status vector, a data set.

    mechanism: sample(x, rng=...) takes an array of inputs, of shape (rows, *x.shape), and returns a report for each
    along the first axis; an array, or a tuple of them, such as indices and values. rng is a numpy.random.Generator.
    SubsampleRelease and ParameterShuffler, whose one input is a whole data set, are called once for each output.
    A channel of several inputs takes x as a tuple of them.
    """
    if not has_sample(mechanism):
        raise ValueError(f"mechanism must have a method sample(x, rng=...), got {mechanism!r:.200}")
    from ldp_audit.mechanisms import ParameterShuffler, SubsampleRelease

    if isinstance(mechanism, SubsampleRelease | ParameterShuffler):
        return AdaptedSampler(partial(_draw_one_by_one, mechanism))
    return AdaptedSampler(partial(_draw, mechanism))


def has_sample(candidate: Any) -> bool:
    """Whether it has a method sample that takes rng. Classes do not count: they have no parameters yet."""
    sample = getattr(candidate, "sample", None)
    if isinstance(candidate, type) or not callable(sample):
        return False
    try:
        return "rng" in inspect.signature(sample).parameters
    except (TypeError, ValueError):
        return False


def _draw(mechanism: Any, x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    several = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(mechanism.sample).parameters.values())
    inputs = [np.asarray(part) for part in (x if several and isinstance(x, tuple) else (x,))]

    def batch(rows: int) -> Any:
        return mechanism.sample(*(np.repeat(one[None], rows, axis=0) for one in inputs), rng=rng)

    return in_batches(batch, n, max(one.size for one in inputs))


def _draw_one_by_one(mechanism: Any, x: Any, n: int, rng: np.random.Generator) -> list[Any]:
    return one_by_one(partial(mechanism.sample, rng=rng), n, np.asarray(x))
