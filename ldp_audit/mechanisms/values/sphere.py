"""The sphere of R^d: areas of caps, and uniform directions with a bound on how far the areas are off in floats.

The cap {v: <v, x> >= g} of the unit sphere, g >= 0, has the share A(g) = I_(1 - g**2)((d - 1)/2, 1/2)/2 of its area (I
the regularised incomplete beta function), and the integral of <v, x> over it is B(d/2, 1/2) (1 - g**2)**((d - 1)/2)/(2
pi) times the area of the sphere. That of <v, x>**2 is I_(1 - g**2)((d - 1)/2, 3/2)/(2 d).

Directions are those of normal vectors, of which a pair of coordinates is made from two random words (Box, Muller 1958).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import beta, betainc, gammaincc

from ldp_audit.mechanisms.inputs import array_of, as_reports, report_dtype, vectors
from ldp_audit.mechanisms.randomness import NumpySource, Source


def cap_area(height: float, d: int) -> float:
    """A(height), the share of the cap <v, x> >= height; height -1 .. 1, d >= 2."""
    area = float(betainc((d - 1) / 2, 0.5, (1 - height) * (1 + height))) / 2
    return area if height >= 0 else 1 - area


def cap_moments(height: float, d: int) -> tuple[float, float]:
    """The integrals of <v, x> and of its square over the cap, in units of the sphere's area; height 0 .. 1."""
    inside = (1 - height) * (1 + height)
    first = float(beta(d / 2, 0.5)) / (2 * math.pi) * math.exp((d - 1) / 2 * math.log(inside))
    return first, float(betainc((d - 1) / 2, 1.5, inside)) / (2 * d)


def directions(shape: tuple[int, ...], d: int, source: Source) -> tuple[Any, Any]:
    """Directions, float64 of shape (*shape, d), and whether each may be used: not if the normal vector is too short.

    A normal vector g is refused unless |g|**2 >= d/16. What is drawn depends on nothing but the random words.
    """
    xp, pairs = source.xp, (d + 1) // 2
    uniform = (xp.astype(source.words((*shape, pairs), 62) + 2**61, xp.float64) + 0.5) * 2.0**-62
    angle = (xp.astype(source.words((*shape, pairs), 53), xp.float64) + 0.5) * (math.pi * 2.0**-52)
    radius = xp.sqrt(-2 * xp.log(uniform))
    normal = xp.concat([radius * xp.cos(angle), radius * xp.sin(angle)], axis=-1)[..., :d]
    squares = xp.sum(normal * normal, axis=-1)
    usable = squares >= d / 16
    return normal / xp.sqrt(xp.where(usable, squares, xp.ones_like(squares)))[..., None], usable


_NUMBERS = 2**18
"""Random numbers drawn at once, about."""


def first_directions(shape: tuple[int, int], source: Source, suit: Callable[[Any, Any], Any] | None) -> Any:
    """For each of n places the first direction that suits it, of those drawn for it; float64 of that shape, (n, d).

    suit: maps k directions for each of m places, shape (m, k, d), and the places' numbers, shape (m,), to truth values,
    shape (m, k); None where all suit. A direction that does is reported with the probability that `directions` has it,
    divided by that of all that do.
    """
    xp, (count, d) = source.xp, shape
    found, waiting = source.constant(np.zeros(shape), xp.float64), source.constant(np.arange(count), xp.int64)
    at_once = max(1, _NUMBERS // d)
    while waiting.shape[0]:
        tried, later = waiting[:at_once], waiting[at_once:]
        drawn, good = directions((tried.shape[0], max(1, at_once // tried.shape[0])), d, source)
        good = good if suit is None else good & suit(drawn, tried)
        done, one = xp.any(good, axis=-1), xp.argmax(xp.astype(good, xp.int64), axis=-1)
        found[tried[done]] = drawn[done, one[done]]
        waiting = xp.concat([tried[~done], later])
    return found


OFF = 0.01
"""How far the length of an input may be beyond what is accepted: what bfloat16 rounds, and more."""


def with_lengths(name: str, x: Any, d: int, xp: Any = NumpySource.xp) -> tuple[Any, Any]:
    """Vectors as float64, shape (..., d), and their lengths, shape (...); ValueError for others."""
    wide = xp.astype(vectors(name, x, d, -math.inf, math.inf, xp), xp.float64)
    return wide, xp.sqrt(xp.sum(wide * wide, axis=-1))


def require_lengths(lengths: Any, good: Any, accepted: str, xp: Any) -> None:
    """ValueError with the first length that is not good."""
    if not bool(xp.all(good)):
        worst = xp.reshape(lengths, (-1,))[~xp.reshape(good, (-1,))][0].item()
        raise ValueError(f"x must be vectors {accepted}, got one of length {worst!r}; scale it first")


def have_length(y: ArrayLike, lengths: NDArray[np.float64], reach: float, d: int) -> NDArray[np.bool_]:
    """Whether reports have this length, to the rounding of their dtype."""
    return np.abs(lengths / reach - 1) <= (8 + math.sqrt(d)) * np.finfo(report_dtype(array_of("y", y))).eps


def as_vectors(units: Any, reach: float, x: Any, xp: Any) -> Any:
    """Directions as reports of a length, in the shape and dtype of the inputs; ValueError where it cannot hold them."""
    largest = as_reports(units[:1, :1] * 0 + reach, x, xp)
    return xp.astype(xp.reshape(units, x.shape) * reach, largest.dtype)


UNUSUAL = 2.0**-33
"""The chance that a pair's first uniform number is below 2**-34, or its radius below 2**-17, is less."""

PAIR_ERROR = 2.0**-29
"""How far a pair then is from the ideal one."""

AREA_ERROR = 2.0**-34
"""Of SciPy's incomplete beta functions, which are 2e-12 off at 100,000 dimensions; of all three in `area_error`."""


@lru_cache(maxsize=256)
def area_error(height: float, d: int) -> float:
    """A bound on the difference between A(height) and the probability that <v, x> >= height as `directions` has it.

    It holds for every unit vector x, where <v, x> is computed with an error of at most (d + 10) 2**-50, and assumes
    that log, sqrt, sin and cos of the library have errors of at most 2**-40 (absolute for sin and cos, else
    relative).

    Proof. Couple each word with a uniform number U in its interval of length 2**-62 (the first of a pair) or
    2**-53, and so with a pair of exact normal numbers. Unless U < 2**-34 or the radius R < 2**-17, whose chance is
    `UNUSUAL`, ln U is off by at most 1.01 (2**-62/U + 2**-52), hence R by twice that over R: at most 2**-29.8, at U
    = 2**-34; and the angle by 2**-49; the library adds 7 (2**-41 + 2**-39). That is less than `PAIR_ERROR` in all.
    So with the exact normal vector G, |g - G| <= r = sqrt(pairs) 2**-29, unless one of the pairs is unusual.
    Refused is then what has |G| below sqrt(d)/4, unless |G| is within r (and rounding) of it, for which the chance
    is at most twice that, as |G| has a density below 1. Let E be the chance of all these exceptions. Other
    directions are off by at most 2 r/|g| <= 8 r/sqrt(d), so that <v, x> is off by t, that and its rounding. As the
    direction of G is independent of |G|, the probability lies between (A(height + t) N - E)/(N + E) and (A(height -
    t) N + E)/(N - E), N = P(|G| >= sqrt(d)/4) >= .93; with E <= 1/4 these differ from A(height + t) and A(height -
    t) by at most 4 E.
    """
    pairs = (d + 1) // 2
    moved = math.sqrt(pairs) * PAIR_ERROR
    exceptions = pairs * UNUSUAL + 2 * (moved + math.sqrt(d) * (d + 10) * 2.0**-51)
    turned = 8 * moved / math.sqrt(d) + (d + 10) * 2.0**-50
    if exceptions > 0.25 or float(gammaincc(d / 2, d / 32)) < 0.9:
        raise ValueError(f"d must be less for directions in floats, got {d}")
    between = cap_area(max(-1.0, height - turned), d) - cap_area(min(1.0, height + turned), d)
    return between + 4 * exceptions + AREA_ERROR
