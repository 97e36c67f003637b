"""Discrete Laplace noise without any rounding: P(z) in proportion to e**(-|z|/t), for whole t.

After Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (NeurIPS 2020), Algorithms 1 and 2:
every decision compares uniform whole numbers. The size of z is A t/8 + B with P(A >= a) = e**(-a/8), and B in
0 .. t/8 - 1 with probability in proportion to e**(-B/t), independent of A; the sign is uniform, and -0 is drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx, fmpz
from numpy.typing import NDArray

from ldp_audit.mechanisms.randomness import WORDS, Source

PARTS = 8
"""t is a multiple of this."""

_HALF = 2**63


def discrete_laplace(t: int, shape: Sequence[int], source: Source) -> Any:
    """Independent draws; int64, of that shape.

    t: a multiple of 8, at most 2**54; then |z| < 2**62 but for a chance below e**-255.
    """
    xp, part = source.xp, t // PARTS

    def signed(count: int) -> tuple[Any, Any]:
        size = tails((count,), source) * part + _until_kept(lambda n: _within_part(n, t, source), count, source)
        minus = source.words((count,), 1) < 0
        return xp.where(minus, -size, size), ~minus | (size != 0)

    return xp.reshape(_until_kept(signed, int(np.prod(shape, dtype=np.int64)), source), tuple(shape))


def decays(numerators: Any, denominator: int, source: Source) -> Any:
    """True with probability e**(-n/d) exactly, for each n in 0 .. d (Algorithm 1 of the paper); shape (count,).

    Coins of probability n/d, n/(2d), n/(3d), ... are tossed up to the first that fails, coin K: the chance that K is
    odd is 1 - n/d + (n/d)**2/2! - ... A coin of probability n/(kd) is a uniform number below d that is less than n,
    and one below k that is 0.
    """
    xp = source.xp
    outcome = source.below(denominator, numerators.shape) >= numerators
    tossing, k = xp.nonzero(~outcome)[0], 2
    while tossing.shape[0]:
        outcome[tossing] = k % 2 == 1  # for those that fail now; the others get theirs later
        head = source.below(denominator, tossing.shape) < numerators[tossing]
        tossing, k = tossing[head & (source.below(k, tossing.shape) == 0)], k + 1
    return outcome


def tails(shape: Sequence[int], source: Source) -> Any:
    """Whole numbers A >= 0 with P(A >= a) = e**(-a/8) exactly; int64, of that shape.

    A counts the a >= 1 with R < e**(-a/8), for a uniform real R of which 64 bits are drawn; they leave the count open
    where they are the first 64 bits of one of those powers, and only then are more drawn.
    """
    xp, ends = source.xp, _ends()
    words = source.words(shape)
    table = source.constant(ends, xp.int64)
    place = xp.searchsorted(table, words)
    found = len(ends) - 1 - place
    open_still = xp.nonzero(xp.reshape(table[place] == words, (-1,)))[0]
    if open_still.shape[0]:
        flat, drawn = xp.reshape(found, (-1,)), xp.reshape(words, (-1,))
        for at in open_still.tolist():
            flat[at] = _settled(int(drawn[at]) + _HALF, source)
        found = xp.reshape(flat, tuple(shape))
    return found


def _within_part(count: int, t: int, source: Source) -> tuple[Any, Any]:
    """B, and whether it is kept."""
    drawn = source.below(t // PARTS, (count,))
    return drawn, decays(drawn, t, source)


def _until_kept(draw: Callable[[int], tuple[Any, Any]], count: int, source: Source) -> Any:
    """So many values, each drawn again until it is kept."""
    values, kept = draw(count)
    waiting = source.xp.nonzero(~kept)[0]
    while waiting.shape[0]:
        values[waiting], kept = draw(waiting.shape[0])
        waiting = waiting[~kept]
    return values


@lru_cache(maxsize=1)
def _ends() -> NDArray[np.int64]:
    """The first 64 bits of 0 and of every e**(-a/8) that has a 1 among them, ascending, as signed words.

    Behind them, so that a place can be looked up for every word, the largest word.
    """
    with ctx.workprec(256):
        powers = [(arb(-a) / PARTS).exp() for a in range(int(PARTS * 64 * math.log(2)), 0, -1)]
        ends = [0, *(int((power * WORDS).floor().unique_fmpz() or 0) for power in powers)]
    return np.array([*(end - _HALF for end in ends), _HALF - 1], dtype=np.int64)


def _settled(first: int, source: Source) -> int:
    """A, for a real number whose first 64 bits are these; more are drawn until they tell."""
    value, bits = first, 64
    while True:
        value, bits = value * WORDS + int(source.words(())) + _HALF, bits + 64
        with ctx.workprec(bits + 64):
            counts = [_count(fmpz(end), bits) for end in (value, value + 1)]
        if counts[0] is not None and counts[0] == counts[1]:
            return counts[0]


def _count(numerator: fmpz, bits: int) -> int | None:
    """floor(-8 ln R) for R = numerator / 2**bits; None where the precision does not tell."""
    if numerator == 0:
        return None
    found = (-PARTS * (arb(numerator) / fmpz(2) ** bits).log()).floor().unique_fmpz()
    return None if found is None else int(found)
