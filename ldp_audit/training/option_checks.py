"""Checks of what a user sets: a plan's fields and a loader's options, which may come as any number or text.

Each raises ValueError, naming the option, what is accepted, and the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def check_flag(name: str, value: object) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")


def check_choice(name: str, value: object, accepted: Sequence[str]) -> None:
    """One of these words."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")


def check_whole(name: str, value: object, least: int) -> None:
    """A whole number of at least so much."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")


def check_number(name: str, value: object, accepted: str, fits: Callable[[float], bool]) -> None:
    """A number that fits; `accepted` says which do."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
        raise ValueError(f"{name} must be {accepted}, got {value!r}")


def check_share(name: str, value: object) -> None:
    """A fraction above 0 and below 1."""
    if not isinstance(value, float) or not 0 < value < 1:  # a NaN fails too
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")
