"""Frozen distributions of SciPy, one for each input, as a sampler."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, is_frozen

_ACCEPTED = "accepted: a dictionary with a frozen distribution for each input, such as {0: laplace(0), 1: laplace(1)}"


def from_scipy(distributions: Mapping[Any, Any]) -> AdaptedSampler:
    """A sampler that draws from the distribution of the input: distributions[x].rvs(size=n, random_state=rng).

    distributions: by input, each a frozen distribution of scipy.stats, of numbers or of vectors.
    Raises ValueError for a distribution alone, which does not say what the input does, with the line to write.
    """
    if not is_by_input(distributions):
        raise ValueError(f"distributions must be one for each input, got {_shown(distributions)}; {_ACCEPTED}")
    return AdaptedSampler(partial(_draw, dict(distributions)))


def is_by_input(target: Any) -> bool:
    """Whether it is a dictionary of frozen distributions."""
    return isinstance(target, Mapping) and bool(target) and all(map(is_frozen, target.values()))


def _shown(value: Any) -> str:
    """A distribution as it was written, and the line that adds it to the input; anything else as it is."""
    value = getattr(value, "__self__", value)  # of a method of it
    if not is_frozen(value) or not hasattr(value, "kwds"):
        return f"{value!r:.200}"
    words = [*map(repr, value.args), *(f"{name}={given!r}" for name, given in value.kwds.items())]
    made = f"{value.dist.name}({', '.join(words)})"
    line = f"lambda x, n, rng: x + {made}.rvs(size=n, random_state=rng)"
    return f"{made}, which has no input. If it is noise on x: from scipy.stats import {value.dist.name}; {line}"


def _draw(distributions: dict[Any, Any], x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    if x not in distributions:
        raise ValueError(f"there is no distribution of input {x!r:.100}; there are: {[*distributions]!r:.200}")
    rows = np.reshape(distributions[x].rvs(size=n, random_state=rng), (n, -1))  # SciPy drops the axis of a single row
    return rows[:, 0] if rows.shape[1] == 1 else rows
