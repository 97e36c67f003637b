"""What is known exactly of one mechanism, as plain data: epsilon, profile, worst pair, moments there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

LEVELS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


def summarise(mechanism: Any, levels: Sequence[float] = LEVELS) -> dict[str, Any]:
    """The summary, JSON-ready; infinities are written "inf".

    Raises ValueError for an object that has no exact epsilon or profile, and for levels that are none.
    """
    missing = [name for name in ("exact_epsilon", "delta", "worst_pair") if not hasattr(mechanism, name)]
    if missing:
        raise ValueError(f"{mechanism!r} is no mechanism of known law: it has no {', '.join(missing)}")
    pair = mechanism.worst_pair()
    profile = np.atleast_1d(mechanism.delta(list(levels)))
    return {
        "mechanism": repr(mechanism),
        "exact_epsilon": _plain(mechanism.exact_epsilon()),
        "claimed_epsilon": _plain(getattr(mechanism, "epsilon", None)),
        "implemented_epsilon": _implemented(mechanism),
        "worst_pair": [_plain(x) for x in pair],
        "moments": _moments(mechanism, pair),
        "profile": [{"epsilon": _plain(e), "delta": _plain(d)} for e, d in zip(levels, profile, strict=True)],
    }


def _implemented(mechanism: Any) -> Any:
    """The sampler's own epsilon, where there is a sampler that knows it."""
    if not hasattr(mechanism, "implemented"):
        return None
    try:
        return _plain(mechanism.implemented().exact_epsilon())
    except ValueError:  # a form that is not sampled
        return None


def _moments(mechanism: Any, pair: Sequence[Any]) -> list[dict[str, Any]]:
    """Mean and variance at the worst pair, for mechanisms whose reports are numbers."""
    if not (hasattr(mechanism, "mean") and hasattr(mechanism, "variance")):
        return []
    try:
        return [
            {"input": _plain(x), "mean": _plain(mechanism.mean(x)), "variance": _plain(mechanism.variance(x))}
            for x in pair
        ]
    except ValueError:  # labels that are no numbers have no moments
        return []


def _plain(value: Any) -> Any:
    """Python's own numbers, texts and lists."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > 16 else [_plain(one) for one in value.tolist()]
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, float) and math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return number
