"""Which p and y share a rule: one is made for all that are about as large, so that it serves a whole search."""

from __future__ import annotations

import math

MOST_KEPT = 64
"""Rules of one transform."""
_HEIGHTS = 2
"""How many rules there are between y and 2 y."""
_LOWEST = -1000


def place_of(y: float) -> int:
    """The place of y >= 0 among those at which rules change; the lowest is that of 0 and what is as good."""
    return max(_LOWEST, math.ceil(_HEIGHTS * math.log2(y))) if y > 0 else _LOWEST


def largest_at(place: int) -> float:
    """The largest y at this place."""
    return 2.0 ** (place / _HEIGHTS) if place > _LOWEST else 0.0


def bracket(power: float, apart: float) -> tuple[float, float]:
    """The |p| that share a rule with this one: an octave, or a piece of it no longer than `apart`; 0 has its own."""
    if not power:
        return 0.0, 0.0
    low = 2.0 ** math.floor(math.log2(power))
    pieces = 2.0 ** max(0, math.ceil(math.log2(low / apart)))
    piece = math.floor((power / low - 1) * pieces)
    return low * (1 + piece / pieces), low * (1 + (piece + 1) / pieces)
