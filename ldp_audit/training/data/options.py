"""Checks of the image loaders' options, which may come from a command line as any number or text."""

from __future__ import annotations


def check_flag(name: str, value: object) -> None:
    """Raise ValueError unless the value is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")


def check_share(name: str, value: object) -> None:
    """Raise ValueError unless the value is a number above 0 and below 1."""
    if not isinstance(value, float) or not 0 < value < 1:  # a NaN fails too
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")


def check_count(name: str, value: object) -> None:
    """Raise ValueError unless the value is a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
