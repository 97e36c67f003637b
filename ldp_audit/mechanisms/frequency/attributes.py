"""Several attributes of one person, each with a mechanism of its own: their inputs and their reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

from ldp_audit.mechanisms.inputs import as_array
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.numerics import listed

_MOST_LISTED = 1000
"""The most reports that are listed."""


@dataclass(frozen=True)
class Attributes(Mechanism):
    """One value of each attribute; any two tuples of values are neighbours.

    Inputs are an array or tensor of shape (..., d), or a tuple of d arrays, where attributes have different dtypes or
    take vectors. A report is a tuple.

    mechanisms: at least one, of any two inputs. Raises ValueError for anything else.
    """

    mechanisms: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanisms", tuple(listed(self.mechanisms, "mechanisms", "a sequence of mechanisms")))
        if not self.mechanisms:
            raise ValueError("mechanisms must be one or more, got none")
        for one in self.mechanisms:
            if not isinstance(one, Mechanism) or one.adjacency is not None or not one.any_pair:
                raise ValueError(f"mechanisms must be local, any two of whose inputs are neighbours, got {one!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self.mechanisms))}])"

    def worst_pair(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The worst pair of every attribute."""
        first, second = zip(*(one.worst_pair() for one in self.mechanisms), strict=True)
        return first, second

    def implemented(self, bits: int = 64) -> Self:
        """The same of the attributes' finite-precision distributions. ValueError unless bits are 2..64."""
        return replace(self, mechanisms=[one.implemented(bits) for one in self.mechanisms])

    def columns(self, x: Any, array: Callable[[str, Any], Any] = as_array) -> list[Any]:
        """The inputs of each attribute; ValueError for another number of them.   array: makes an array of them."""
        d = len(self.mechanisms)
        if isinstance(x, tuple):
            if len(x) != d:
                raise ValueError(f"x must have the values of {d} attributes, got {len(x)}")
            return list(x)
        given = array("x", x)
        if given.ndim == 0 or given.shape[-1] != d:
            raise ValueError(f"x must have shape (..., {d}), or be a tuple of {d}, got shape {tuple(given.shape)}")
        return [given[..., place] for place in range(d)]


def parts_of(name: str, report: Any, count: int) -> list[Any]:
    """The parts of a report, or of several; ValueError, naming the argument, unless it is a tuple of so many."""
    if not isinstance(report, tuple | list) or len(report) != count:
        got = f"{len(report)} of them" if isinstance(report, tuple | list) else f"{report!r}"
        raise ValueError(f"{name} must be a tuple of {count} arrays, got {got}")
    return list(report)


def all_lists(mechanisms: tuple[Any, ...]) -> list[Any] | None:
    """The reports of each attribute, where all are listed and have at most 1000 combinations; else None."""
    found = [one.reports() for one in mechanisms]
    if any(one is None for one in found) or math.prod(map(len, found)) > _MOST_LISTED:
        return None
    return found


def all_tuples(mechanisms: tuple[Any, ...]) -> list[tuple[Any, ...]] | None:
    """All tuples of reports, where they are listed."""
    found = all_lists(mechanisms)
    return None if found is None else list(product(*found))
