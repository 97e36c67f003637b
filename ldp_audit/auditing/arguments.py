"""The arguments that every audit takes, checked in one place."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np


def check_arguments(claimed_epsilon: float | None, claimed_delta: float, samples: int, confidence: float) -> None:
    """ValueError that names the argument, its value and what is accepted."""
    for name, value in (
        ("claimed_epsilon", claimed_epsilon),
        ("claimed_delta", claimed_delta),
        ("confidence", confidence),
    ):
        if not (_is_number(value) or (name == "claimed_epsilon" and value is None)):
            raise ValueError(f"{name} must be a number, got {value!r}")
    if claimed_epsilon is not None and not 0 <= claimed_epsilon <= math.inf:
        raise ValueError(f"claimed_epsilon must be a number >= 0, or None, got {claimed_epsilon!r}")
    if not 0 <= claimed_delta < 1:
        raise ValueError(f"claimed_delta must be in [0, 1), got {claimed_delta!r}")
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 10:
        raise ValueError(f"samples must be a whole number >= 10, got {samples!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
