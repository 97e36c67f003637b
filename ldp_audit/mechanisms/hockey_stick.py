"""Hockey-stick divergences of finite laws, right to all digits of a float also where P - e**epsilon Q nearly cancels.

Each probability is a pair of floats that add up to it (double-double arithmetic), and so is e**epsilon; a product of
two floats is split into its rounded value and the error of the rounding (Dekker 1971), so no digit of a difference is
lost before it is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpz
from numpy.typing import NDArray

Doubled = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Numbers as unevaluated sums of two floats: the nearest one, and what it lacks."""

_DIGITS = 256
_SPLITTER = 2.0**27 + 1


def doubled(numerators: Sequence[int], denominators: Sequence[int]) -> Doubled:
    """The quotients of whole numbers, each a probability; shape (n,) twice."""
    nearest = [above / below for above, below in zip(numerators, denominators, strict=True)]
    lacking = [
        float(Fraction(above * scale - part * below, below * scale))
        for above, below, (part, scale) in zip(
            numerators, denominators, (one.as_integer_ratio() for one in nearest), strict=True
        )
    ]
    return np.array(nearest, dtype=np.float64), np.array(lacking, dtype=np.float64)


def hockey_stick(first: Doubled, second: Doubled, level: float) -> NDArray[np.float64]:
    """The sum over the last axis of (P - e**level Q)_+; the two laws broadcast.

    level: nats, >= 0, finite. Probabilities below about 1e-290 count with fewer digits.
    """
    factor, exponent = _power(min(level, 1000.0))  # where no float Q > 0 leaves a gap any more
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product, error = _product(factor[0], second[0])
        error = error + (factor[0] * second[1] + factor[1] * second[0])
        gaps = (first[0] - np.ldexp(product, exponent)) + (first[1] - np.ldexp(error, exponent))
    return np.fmax(gaps, 0.0).sum(axis=-1)  # a product beyond the range of floats leaves no gap


def _power(level: float) -> tuple[tuple[float, float], int]:
    """e**level as (nearest + lacking) * 2**exponent, with nearest in [1, 2]."""
    with ctx.workprec(_DIGITS):
        exponent = int((arb(level) / arb(2).log()).mid().floor().unique_fmpz() or 0)
        factor = arb(level).exp() / fmpz(2) ** exponent
        nearest = float(factor.mid())
        return (nearest, float((factor - nearest).mid())), exponent


def _product(one: float, many: NDArray[np.float64]) -> Doubled:
    """one * many, and the error of its rounding."""
    product = one * many
    (one_high, one_low), (high, low) = _split(np.float64(one)), _split(many)
    return product, one_low * low - (((product - one_high * high) - one_low * high) - one_high * low)


def _split(number: NDArray[np.float64] | np.float64) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two halves of at most 26 bits, whose products are exact."""
    shifted = _SPLITTER * number
    high = shifted - (shifted - number)
    return np.asarray(high), np.asarray(number - high)
