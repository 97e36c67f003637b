"""Rounding in statements: Fl(x, p) is x as a binary float with p significant bits, Ceil(x) the least whole number >= x.

Fl rounds to the nearest float, ties to even (IEEE 754's default). p is 8 for bfloat16, 11 for half, 24 for float32, 53
for float64. Exponents are unbounded: a statement in which a real float would overflow, or be subnormal, is not about
that dtype, and `in_normal_range` decides this.

A float program is a chain with one Fl around each operation.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

from sympy import Expr, Function, Integer

from ldp_audit.mechanisms.variable import exact

_EXPONENTS = {8: (-126, 127), 11: (-14, 15), 24: (-126, 127), 53: (-1022, 1023)}
"""From significant bits to the least and the largest exponent of a normal number: bfloat16, half, float32, float64."""


class Fl(Function):
    """Fl(x, p): x rounded to p significant bits, ties to even, exponents unbounded. SymPy does not evaluate it."""

    @classmethod
    def eval(cls, _x: Expr, digits: Expr) -> None:
        """Refuse a precision that is no positive whole number."""
        if not (isinstance(digits, Integer) and digits > 0):
            raise ValueError(f"digits must be a positive whole number of bits, got {digits!r}")

    def _latex(self, printer: Any) -> str:
        return rf"\mathrm{{fl}}_{{{self.args[1]}}}\left({printer.doprint(self.args[0])}\right)"


class Ceil(Function):
    """Ceil(x): the least whole number >= x. SymPy does not evaluate it."""

    @classmethod
    def eval(cls, _x: Expr) -> None:
        """Accept one argument without evaluation: engines and checker evaluate it, each by its own method."""

    def _latex(self, printer: Any) -> str:
        return rf"\left\lceil {printer.doprint(self.args[0])}\right\rceil"


def rounded(x: Any, digits: int) -> Fl:
    """Fl(x, digits) of a number or expression that SymPy reads as exact.

    digits: significant bits, a positive whole number.   Raises ValueError for others, and for inexact numbers.
    """
    return cast("Fl", Fl(exact(x), digits))


def next_whole(x: Any) -> Ceil:
    """Ceil(x) of a number or expression that SymPy reads as exact. Raises ValueError for inexact numbers."""
    return cast("Ceil", Ceil(exact(x)))


def nearest(number: Fraction, digits: int) -> Fraction:
    """The number rounded to this many significant bits, ties to even; the definition of Fl on rationals."""
    if not number:
        return number
    top, bottom = number.numerator, number.denominator
    exponent = top.bit_length() - bottom.bit_length()
    exponent -= abs(top) << max(0, -exponent) < bottom << max(0, exponent)
    shift = exponent + 1 - digits  # now 2**exponent <= |number| < 2**(exponent + 1), and its last bit is 2**shift
    bottom <<= max(0, shift)
    whole, rest = divmod(top << max(0, -shift), bottom)
    whole += 2 * rest > bottom or (2 * rest == bottom and whole % 2)
    return Fraction(whole << max(0, shift), 1 << max(0, -shift))


def up(number: Fraction) -> Fraction:
    """The least whole number >= this; the definition of Ceil on rationals."""
    return Fraction(math.ceil(number))


def in_normal_range(number: Fraction, digits: int) -> bool:
    """Whether a dtype with this precision represents a number of this size without overflow or subnormals; 0 is in
    range.

    Raises ValueError for a precision of no dtype.
    """
    if digits not in _EXPONENTS:
        raise ValueError(f"digits must be one of {', '.join(map(str, _EXPONENTS))}, got {digits!r}")
    least, largest = _EXPONENTS[digits]
    return not number or Fraction(2) ** least <= abs(number) < Fraction(2) ** (largest + 1)
