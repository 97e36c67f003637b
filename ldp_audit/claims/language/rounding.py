"""Rounding in statements: Fl(x, p) is x as a binary float of p significant bits, Ceil(x) the next whole number.

Fl rounds to the nearest float, and a tie to the even one (IEEE 754's default). p is 8 for bfloat16, 11 for half, 24 for
float32, 53 for float64. Exponents are unbounded: a statement in which a real float would overflow, or fall among the
subnormals, is not about that dtype, and `in_normal_range` says whether a number does neither.
A float program is written as a chain: one Fl around each operation.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

from sympy import Expr, Function, Integer

from ldp_audit.mechanisms.variable import exact

_EXPONENTS = {8: (-126, 127), 11: (-14, 15), 24: (-126, 127), 53: (-1022, 1023)}
"""Significant bits: the least and the largest exponent of a normal number of bfloat16, half, float32, float64."""


class Fl(Function):
    """Fl(x, p): x rounded to p significant bits, ties to even, exponents unbounded. It is left as it is written."""

    @classmethod
    def eval(cls, _x: Expr, digits: Expr) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Refuse digits that are no positive whole number."""
        if not (isinstance(digits, Integer) and digits > 0):
            raise ValueError(f"digits must be a positive whole number of bits, got {digits!r}")

    def _latex(self, printer: Any) -> str:
        return rf"\mathrm{{fl}}_{{{self.args[1]}}}\left({printer.doprint(self.args[0])}\right)"


class Ceil(Function):
    """Ceil(x): the least whole number that is at least x. It is left as it is written."""

    @classmethod
    def eval(cls, _x: Expr) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One argument, never evaluated here: engines and checker do that, each its own way."""

    def _latex(self, printer: Any) -> str:
        return rf"\left\lceil {printer.doprint(self.args[0])}\right\rceil"


def rounded(x: Any, digits: int) -> Fl:
    """Fl(x, digits) of whatever SymPy reads as an exact number or expression.

    digits: significant bits, a positive whole number.   Raises ValueError for others, and for inexact numbers.
    """
    return cast("Fl", Fl(exact(x), digits))


def next_whole(x: Any) -> Ceil:
    """Ceil(x) of whatever SymPy reads as an exact number or expression. Raises ValueError for inexact numbers."""
    return cast("Ceil", Ceil(exact(x)))


def nearest(number: Fraction, digits: int) -> Fraction:
    """The number rounded to so many significant bits, ties to even; the definition of Fl on rationals."""
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
    """The least whole number that is at least this; the definition of Ceil on rationals."""
    return Fraction(math.ceil(number))


def in_normal_range(number: Fraction, digits: int) -> bool:
    """Whether a dtype of so many bits holds a number of this size: neither overflow nor a subnormal; 0 is held.

    Raises ValueError for digits of no dtype.
    """
    if digits not in _EXPONENTS:
        raise ValueError(f"digits must be one of {', '.join(map(str, _EXPONENTS))}, got {digits!r}")
    least, largest = _EXPONENTS[digits]
    return not number or Fraction(2) ** least <= abs(number) < Fraction(2) ** (largest + 1)
