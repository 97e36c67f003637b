"""Hockey-stick divergences of finite distributions to float precision, also where P - e**epsilon Q nearly cancels.

Double-double arithmetic: probabilities and e**epsilon are sums of two floats, and the rounding error of a product is
exact (Dekker 1971), so no digit is lost before the difference is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpz
from numpy.typing import NDArray

Doubled = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Numbers as unevaluated sums of two floats: the nearest float, and the remainder."""

_DIGITS = 256
"""Bits in which e**level is computed before it becomes a double-double."""

_SPLITTER = 2.0**27 + 1
"""Veltkamp's constant for 53-bit floats."""


def doubled(numerators: Sequence[int], denominators: Sequence[int]) -> Doubled:
    """The quotients of integers, each a probability, as double-doubles; shape (n,) twice."""
    nearest = [above / below for above, below in zip(numerators, denominators, strict=True)]
    remainder = [
        float(Fraction(above * scale - part * below, below * scale))
        for above, below, (part, scale) in zip(
            numerators, denominators, (one.as_integer_ratio() for one in nearest), strict=True
        )
    ]
    return np.array(nearest, dtype=np.float64), np.array(remainder, dtype=np.float64)


def hockey_stick(first: Doubled, second: Doubled, level: float) -> NDArray[np.float64]:
    """The sum over the last axis of (P - e**level Q)_+; the two distributions broadcast.

    level: nats, >= 0, finite. Probabilities below about 1e-290 have fewer digits.
    """
    factor, exponent = _power(min(level, 1000.0))  # beyond 1000 every float Q > 0 has t Q > P
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product, error = _product(factor[0], second[0])
        error = error + (factor[0] * second[1] + factor[1] * second[0])
        gaps = (first[0] - np.ldexp(product, exponent)) + (first[1] - np.ldexp(error, exponent))
    return np.fmax(gaps, 0.0).sum(axis=-1)  # an overflowing product contributes 0


def _power(level: float) -> tuple[tuple[float, float], int]:
    """e**level as (nearest + remainder) * 2**exponent, with nearest in [1, 2]."""
    with ctx.workprec(_DIGITS):
        exponent = int((arb(level) / arb(2).log()).mid().floor().unique_fmpz() or 0)
        factor = arb(level).exp() / fmpz(2) ** exponent
        nearest = float(factor.mid())
        return (nearest, float((factor - nearest).mid())), exponent


def _product(one: float, many: NDArray[np.float64]) -> Doubled:
    product = one * many
    (one_high, one_low), (high, low) = _split(np.float64(one)), _split(many)
    return product, one_low * low - (((product - one_high * high) - one_low * high) - one_high * low)


def _split(number: NDArray[np.float64] | np.float64) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Veltkamp's split into two halves of at most 26 bits, whose products are exact."""
    shifted = _SPLITTER * number
    high = shifted - (shifted - number)
    return np.asarray(high), np.asarray(number - high)
