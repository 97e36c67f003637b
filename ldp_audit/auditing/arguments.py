"""The arguments that audits, fits, plans and searches take, checked in one place."""

from __future__ import annotations

from ldp_audit.numerics import as_float, whole


def check_arguments(claimed_epsilon: float | None, claimed_delta: float, samples: int, confidence: float) -> None:
    """ValueError that names the argument, its value and what is accepted."""
    check_claim(claimed_epsilon, claimed_delta)
    check_count("samples", samples, 10)
    check_confidence(confidence)


def check_claim(claimed_epsilon: float | None, claimed_delta: float) -> None:
    """ValueError unless claimed_epsilon is None or a number >= 0, inf included, and claimed_delta is in [0, 1)."""
    if claimed_epsilon is not None and not as_float(claimed_epsilon) >= 0:
        raise ValueError(f"claimed_epsilon must be a number >= 0, or None, got {claimed_epsilon!r}")
    if not 0 <= as_float(claimed_delta) < 1:
        raise ValueError(f"claimed_delta must be in [0, 1), got {claimed_delta!r}")


def check_confidence(confidence: float) -> None:
    """ValueError outside [0.5, 1). Below 0.5 the cells of `Region` would not enclose what they are said to."""
    if not 0.5 <= as_float(confidence) < 1:
        raise ValueError(f"confidence must be in [0.5, 1), got {confidence!r}")


def check_seed(seed: int) -> None:
    """ValueError for anything but a whole number >= 0."""
    __tracebackhide__ = True
    check_count("seed", seed, 0)


def check_count(name: str, value: int, least: int) -> None:
    """ValueError for anything but a whole number >= least."""
    __tracebackhide__ = True
    whole(value, name, least)
