"""Eq. (2) as a floating-point program: its chain of roundings, and the number of random words that lead to a report.

    t = fl(e**epsilon),  p = fl(fl(fl(fl(w - c) fl(t - 1)) + fl(r fl(t + 1))) / fl(2 r fl(t + 1))),  report "+" where u
    < p

u is a multiple of 2**-b, each of the 2**b equally likely; b is also the precision of the dtype. Inputs are first
clipped to [fl(c - r), fl(c + r)]. One definition serves Fractions, for curves, and SymPy expressions, for claims.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from sympy import Expr, Max, Min, Rational, S, exp, log

from ldp_audit.claims.engines.evaluate import exact_value
from ldp_audit.claims.language.rounding import nearest, next_whole, rounded

DTYPES = {"bfloat16": 8, "half": 11, "float32": 24, "float64": 53}
"""Significant bits, and the bits of a uniform number, of each dtype (torch.rand's; numpy has no bfloat16)."""


@dataclass(frozen=True)
class FloatProgram:
    """The program at one epsilon, with all operations in one dtype.

    bits: of the dtype.   epsilon, center, radius: exact numbers, the last two of the dtype.
    """

    bits: int
    epsilon: Rational
    radius: Rational = S.One
    center: Rational = S.Zero

    @property
    def words(self) -> int:
        """The number of uniform words."""
        return 2**self.bits

    def upper_words(self, side: int) -> Expr:
        """The number of words with the upper report, at the upper end of the range (side 1) or the lower (-1)."""
        t = rounded(exp(self.epsilon), self.bits)
        p = probability(t, self.center, self.radius, side, lambda x: rounded(x, self.bits))
        return Min(self.words, Max(0, next_whole(p * self.words), evaluate=False), evaluate=False)

    def lower_words(self, side: int) -> Expr:
        """The number of words with the lower report."""
        return self.words - self.upper_words(side)

    def implemented(self) -> Expr:
        """The implemented epsilon, if finite: the larger log ratio of the two ends' words."""
        upper = self.upper_words(1) / self.upper_words(-1)
        lower = self.lower_words(-1) / self.lower_words(1)
        return Max(log(upper, evaluate=False), log(lower, evaluate=False), evaluate=False)


def probability(t: Any, center: Any, radius: Any, side: int, fl: Callable[[Any], Any]) -> Any:
    """The computed probability of the upper report at the end of the range on this side (1 or -1), given the rounding.

    t, center, radius: numbers of the dtype, all Fractions or all SymPy's, as `fl` takes and returns them.
    """
    offset = fl(fl(center + side * radius) - center)
    return fl(fl(fl(offset * fl(t - 1)) + fl(radius * fl(t + 1))) / fl(fl(2 * radius) * fl(t + 1)))


def implemented_epsilon(bits: int, epsilon: Fraction, radius: Fraction, center: Fraction = Fraction(0)) -> float:
    """The implemented epsilon in nats, from exact counts of words; inf if a report is possible at one end only."""

    def fl(x: Fraction) -> Fraction:
        return nearest(x, bits)

    t = exact_value(rounded(exp(_rational(epsilon)), bits), {})
    words = 2**bits
    above, below = (min(words, max(0, math.ceil(probability(t, center, radius, side, fl) * words))) for side in (1, -1))
    return max(_log_ratio(above, below), _log_ratio(words - below, words - above))


def _log_ratio(more: int, less: int) -> float:
    """|ln(more / less)| of two counts; inf if one is 0, and 0 if both are: a report that neither end gives."""
    if more == less == 0:
        return 0.0
    return abs(math.log(Fraction(more, less))) if more and less else math.inf


def exactly(number: str) -> Rational:
    """The number as a fraction, from a fraction or a decimal."""
    return _rational(Fraction(number))


def in_float32(decimal: str) -> Rational:
    """The float32 nearest to a decimal number, as a fraction."""
    return _rational(nearest(Fraction(decimal), DTYPES["float32"]))


def _rational(number: Fraction) -> Rational:
    return cast("Rational", Rational(number.numerator, number.denominator))
