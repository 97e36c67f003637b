"""Exact sampling of discrete Laplace noise: P(z) proportional to e**(-|z| s/t), for integers s and t.

After Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (NeurIPS 2020), Algorithms 1 and 2,
with comparisons of uniform integers only. |z| is the whole part of (A t/8 + B)/s with P(A >= a) = e**(-a/8), and B in
0 .. t/8 - 1 with probability proportional to e**(-B/t), independent of A; so P(|z| >= k) = P(A t/8 + B >= k s) =
e**(-k s/t). The sign is uniform, and -0 is redrawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx, fmpz
from numpy.typing import NDArray

from ldp_audit.mechanisms.randomness import WORDS, Source

PARTS = 8
"""t is a multiple of this."""

_HALF = 2**63

_NARROWEST, _WIDEST, _FINEST = -30, 52, 62
"""log2 of the least and the largest scale that is sampled, and of the largest s of t/s."""


def discrete_laplace(t: int, shape: Sequence[int], source: Source, s: int = 1) -> Any:
    """Independent draws of scale t/s; int64, of that shape.

    t: a multiple of 8, at most 2**54; P(|z| >= 2**62) < e**-255.   s: 1 .. 2**62.
    """
    return either_sign(lambda count: geometric(t, count, source, s), shape, source)


def geometric(t: int, count: int, source: Source, s: int = 1) -> Any:
    """Whole numbers u >= 0 with P(u >= k) = e**(-k s/t); int64, shape (count,).   t, s: see `discrete_laplace`."""
    parts = tails((count,), source)
    return put_together(parts, until_kept(lambda n: _within_part(n, t, source), count, source), t, s)


def put_together(parts: Any, within: Any, t: int, s: int) -> Any:
    """The geometric number of whole eighths of t, and of what is left of one, in units of s."""
    fine = parts * (t // PARTS) + within
    return fine if s == 1 else fine // s


def either_sign(sizes: Callable[[int], Any], shape: Sequence[int], source: Source) -> Any:
    """Sizes with uniform signs, -0 drawn again; int64, of that shape.   sizes: draws so many, shape (count,)."""
    xp = source.xp

    def signed(count: int) -> tuple[Any, Any]:
        size = sizes(count)
        minus = source.words((count,), 1) < 0
        return xp.where(minus, -size, size), ~minus | (size != 0)

    return xp.reshape(until_kept(signed, int(np.prod(shape, dtype=np.int64)), source), tuple(shape))


def quotient_above(scale: float) -> tuple[int, int]:
    """t and s for `discrete_laplace`, with t/s the scale rounded up by 2**-50 of itself, or by 2**-59 if that is more.

    t/s is a float. ValueError for a scale outside 2**-30 .. 2**52.
    """
    if not 2.0**_NARROWEST <= scale <= 2.0**_WIDEST:
        raise ValueError(f"scale must lie in 2**{_NARROWEST} .. 2**{_WIDEST} to be sampled, got {scale!r}")
    s = 2 ** min(_FINEST, _WIDEST + 2 - math.frexp(scale)[1])
    return math.ceil(Fraction(scale) * s / PARTS) * PARTS, s


def decays(numerators: Any, denominator: int, source: Source) -> Any:
    """True with probability e**(-n/d) exactly, for each n in 0 .. d (Algorithm 1 of the paper); shape (count,).

    Coins of probability n/d, n/(2d), n/(3d), ... are tossed until one fails, the K-th: P(K odd) = 1 - n/d + (n/d)**2/2!
    - ... A coin of probability n/(kd) is true if a uniform integer below d is less than n and one below k is 0.
    """
    xp = source.xp
    outcome = source.below(denominator, numerators.shape) >= numerators
    tossing, k = xp.nonzero(~outcome)[0], 2
    while tossing.shape[0]:
        outcome[tossing] = k % 2 == 1  # final for those that fail in this round
        head = source.below(denominator, tossing.shape) < numerators[tossing]
        tossing, k = tossing[head & (source.below(k, tossing.shape) == 0)], k + 1
    return outcome


def tails(shape: Sequence[int], source: Source) -> Any:
    """Whole numbers A >= 0 with P(A >= a) = e**(-a/8) exactly; int64, of that shape.

    A is the number of a >= 1 with R < e**(-a/8), for a uniform real R of which 64 bits are drawn, and more only if
    these are the first 64 bits of one of the powers.
    """
    xp, boundaries = source.xp, _boundaries()
    words = source.words(shape)
    table = source.constant(boundaries, xp.int64)
    place = xp.searchsorted(table, words)
    found = len(boundaries) - 1 - place
    open_still = xp.nonzero(xp.reshape(table[place] == words, (-1,)))[0]
    if open_still.shape[0]:
        flat, drawn = xp.reshape(found, (-1,)), xp.reshape(words, (-1,))
        for at in open_still.tolist():
            flat[at] = _settled(int(drawn[at]) + _HALF, source)
        found = xp.reshape(flat, tuple(shape))
    return found


def _within_part(count: int, t: int, source: Source) -> tuple[Any, Any]:
    """B, and whether rejection sampling accepts it."""
    drawn = source.below(t // PARTS, (count,))
    return drawn, decays(drawn, t, source)


def until_kept(draw: Callable[[int], tuple[Any, Any]], count: int, source: Source) -> Any:
    """So many values, each drawn again until it is kept.   draw: so many values, and whether each is kept."""
    values, kept = draw(count)
    waiting = source.xp.nonzero(~kept)[0]
    while waiting.shape[0]:
        values[waiting], kept = draw(waiting.shape[0])
        waiting = waiting[~kept]
    return values


@lru_cache(maxsize=1)
def _boundaries() -> NDArray[np.int64]:
    """Signed words of the first 64 bits of 0 and of every e**(-a/8) >= 2**-64, ascending, and the largest word."""
    with ctx.workprec(256):
        powers = [(arb(-a) / PARTS).exp() for a in range(int(PARTS * 64 * math.log(2)), 0, -1)]
        boundaries = [0, *(int((power * WORDS).floor().unique_fmpz() or 0) for power in powers)]
    return np.array([*(first - _HALF for first in boundaries), _HALF - 1], dtype=np.int64)


def _settled(first: int, source: Source) -> int:
    """A, for a real number with these first 64 bits; further bits are drawn until it is determined."""
    value, bits = first, 64
    while True:
        value, bits = value * WORDS + int(source.words(())) + _HALF, bits + 64
        with ctx.workprec(bits + 64):
            counts = [_count(fmpz(end), bits) for end in (value, value + 1)]
        if counts[0] is not None and counts[0] == counts[1]:
            return counts[0]


def _count(numerator: fmpz, bits: int) -> int | None:
    """floor(-8 ln R) for R = numerator / 2**bits; None where the precision does not determine it."""
    if numerator == 0:
        return None
    found = (-PARTS * (arb(numerator) / fmpz(2) ** bits).log()).floor().unique_fmpz()
    return None if found is None else int(found)
