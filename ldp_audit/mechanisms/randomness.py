"""Random decisions as integer comparisons, so that what is implemented is known exactly."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

WORDS = 2**64
"""A decision compares one of this many equally likely words with a threshold."""

_HUGE = 100.0  # 2**64 / e**100 < 1e-24: the rarer side is left a single word


def require_generator(rng: object) -> np.random.Generator:
    """The generator itself; ValueError for anything but a numpy.random.Generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator, got {rng!r}")
    return rng


def words(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Fresh 64-bit words, uniform."""
    return rng.integers(0, WORDS, size=shape, dtype=np.uint64)


def log_ratio(first: int, second: int) -> float:
    """ln(first / second) of whole numbers, also where the two are nearly equal."""
    return math.log1p(float(Fraction(first - second, second)))


def rarer_words(epsilon: float, odds: Fraction | int = 1, total: int = WORDS) -> int:
    """How many of `total` words go to the side of probability odds / (t + odds), t = e**epsilon: at least one.

    They are rounded up, which keeps the ratio of the two sides' probabilities, times the odds, at or below t. Never
    more than the share at epsilon = 0, odds / (1 + odds), so that the ratio stays at or above 1.
    """
    fair = int(total * Fraction(odds) / (1 + Fraction(odds)))
    if epsilon > _HUGE:
        return max(1, min(fair, math.ceil(Fraction(odds) * total * Fraction(math.exp(-_HUGE)))))
    with localcontext() as context:
        context.prec = 60
        ratio = Decimal(Fraction(odds).numerator) / Decimal(Fraction(odds).denominator)
        share = total * ratio / (Decimal(epsilon).exp() + ratio)
        upwards = share * (1 + Decimal(10) ** -50)
        return max(1, min(fair, int(upwards.to_integral_value(ROUND_CEILING))))
