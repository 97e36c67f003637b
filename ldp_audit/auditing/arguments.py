"""The arguments that audits, fits, plans and searches take, checked in one place."""

from __future__ import annotations

import math

from ldp_audit.numerics import MOST_TIMES, as_float, shown, whole


def check_arguments(claimed_epsilon: float | None, claimed_delta: float, samples: int, confidence: float) -> None:
    """ValueError that names the argument, its value and what is accepted."""
    check_claim(claimed_epsilon, claimed_delta)
    check_count("samples", samples, 10)
    check_confidence(confidence)


def check_claim(claimed_epsilon: float | None, claimed_delta: float) -> None:
    """ValueError unless claimed_epsilon is None or a number >= 0, inf included, and claimed_delta is in [0, 1)."""
    if claimed_epsilon is not None and not (is_number(claimed_epsilon) and 0 <= claimed_epsilon <= math.inf):
        raise ValueError(f"claimed_epsilon must be a number >= 0, or None, got {shown(claimed_epsilon)}")
    if not (is_number(claimed_delta) and 0 <= claimed_delta < 1):
        raise ValueError(f"claimed_delta must be in [0, 1), got {shown(claimed_delta)}")


def check_confidence(confidence: float) -> None:
    """ValueError outside [0.5, 1). Below 0.5 the cells of `Region` would not enclose what they are said to."""
    if not (is_number(confidence) and 0.5 <= confidence < 1):
        raise ValueError(f"confidence must be in [0.5, 1), got {shown(confidence)}")


def check_seed(seed: int) -> None:
    """ValueError for anything but a whole number >= 0."""
    __tracebackhide__ = True
    check_count("seed", seed, 0)


def check_count(name: str, value: int, least: int, most: int = MOST_TIMES) -> None:
    """ValueError for anything but a whole number in least .. most."""
    __tracebackhide__ = True
    whole(value, name, least, most)


def count_of(inputs: object) -> int:
    """How many inputs these are; 0 for a text, and for what has no length."""
    try:
        return 0 if isinstance(inputs, str | bytes) else len(inputs)  # type: ignore[arg-type]
    except TypeError:  # of a single number in an array
        return 0


def is_number(value: object) -> bool:
    """Whether it is a real number in the range of floats, inf included; true and false are none."""
    return not math.isnan(as_float(value))
