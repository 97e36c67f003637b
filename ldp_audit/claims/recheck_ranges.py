"""Ranges of expressions: an interval that contains all values, from the numbers that bound the variables.

A file of the independent checker, with the standard library alone.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Container, Mapping
from fractions import Fraction
from typing import NamedTuple


class Range(NamedTuple):
    """An interval that contains all values of an expression; None is infinite. Open: the end itself is no value."""

    low: Fraction | None = None
    low_open: bool = True
    high: Fraction | None = None
    high_open: bool = True

    def negative(self) -> Range:
        """The range of the negative."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return Range(low, self.high_open, high, self.low_open)

    def is_at_least_0(self) -> bool:
        """Whether no value is negative."""
        return self.low is not None and self.low >= 0

    def is_positive(self) -> bool:
        """Whether all values are positive."""
        return self.low is not None and (self.low > 0 or (self.low == 0 and self.low_open))

    def __add__(self, other: Range) -> Range:  # type: ignore[override]
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Range(low, self.low_open or other.low_open, high, self.high_open or other.high_open)

    def __mul__(self, other: Range) -> Range:  # type: ignore[override]
        if not self.is_at_least_0() or not other.is_at_least_0():
            if self.negative().is_at_least_0():
                return (self.negative() * other).negative()
            return (self * other.negative()).negative() if other.negative().is_at_least_0() else Range()
        low = self.low * other.low  # type: ignore[operator]
        strict = self.low_open or other.low_open if low else self.is_positive() and other.is_positive()
        if self.high is None or other.high is None:
            return Range(low, strict)
        return Range(low, strict, self.high * other.high, high_open=False)

    def inverse(self) -> Range:
        """The range of 1 divided by a positive expression."""
        low = Fraction(0) if self.high is None else 1 / self.high
        high = 1 / self.low if self.low else None
        return Range(low, self.high is None or self.high_open, high, high is None or self.low_open)


_ANY, _AT_LEAST_0, _POSITIVE = Range(), Range(Fraction(0), low_open=False), Range(Fraction(0))


def range_of(node: ast.expr, scope: Mapping[str, Range]) -> Range:
    """A range of the expression.   scope: the ranges of its variables."""
    match node:
        case ast.Constant(value=int(number)):
            return Range(Fraction(number), low_open=False, high=Fraction(number), high_open=False)
        case ast.Name(id=name) if name in scope:
            return scope[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return range_of(inner, scope).negative()
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return range_of(left, scope) + range_of(right, scope)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return range_of(left, scope) + range_of(right, scope).negative()
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return range_of(left, scope) * range_of(right, scope)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            below = range_of(right, scope)
            if below.is_positive():
                return range_of(left, scope) * below.inverse()
            negative = below.negative()
            return (range_of(left, scope) * negative.inverse()).negative() if negative.is_positive() else _ANY
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _range_of_power(range_of(left, scope), right, scope)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _range_of_function(name, [range_of(one, scope) for one in args if not isinstance(one, ast.Tuple)])
    return _ANY


def range_of_variable(
    lower: tuple[ast.expr | None, bool],
    upper: tuple[ast.expr | None, bool],
    scope: Mapping[str, Range],
    *,
    integer: bool,
    exponential: bool,
) -> Range:
    """The range of a variable between two ends, each an expression (None: infinite) and whether it is excluded.

    scope: the ranges of earlier variables.   integer: it is whole.   exponential: it is positive.
    """
    low, low_open, high, high_open = Range()
    if lower[0] is not None:
        low, below, *_ = range_of(lower[0], scope)
        low_open = lower[1] or below
    if upper[0] is not None:
        _, _, high, above = range_of(upper[0], scope)
        high_open = upper[1] or above
    if integer:  # the next whole number inside
        if low is not None:
            low, low_open = Fraction(math.floor(low) + 1 if low_open else math.ceil(low)), False
        if high is not None:
            high, high_open = Fraction(math.ceil(high) - 1 if high_open else math.floor(high)), False
    if exponential and (low is None or low < 0):
        low, low_open = Fraction(0), True
    return Range(low, low_open, high, high_open)


def _range_of_power(base: Range, exponent: ast.expr, scope: Mapping[str, Range]) -> Range:
    match exponent:
        case ast.Constant(value=int(power)) if 0 < power < 100:
            if power % 2 == 0 and not base.is_at_least_0():
                base = base.negative() if base.negative().is_at_least_0() else _AT_LEAST_0
            found = base
            for _ in range(power - 1):
                found = found * base
            return found
    if range_of(exponent, scope).is_at_least_0():
        if base.low is not None and base.low >= 1:
            return Range(Fraction(1), low_open=False)
        if base.low is not None and base.high is not None and base.low >= -1 and base.high <= 1:
            least = 0 if base.low >= 0 else -1  # a negative base has whole exponents
            return Range(Fraction(least), low_open=False, high=Fraction(1), high_open=False)
    return _POSITIVE if base.is_positive() else _AT_LEAST_0 if base.is_at_least_0() else _ANY


def _range_of_logarithm(x: Range) -> Range:
    low, low_open = (Fraction(0), x.low > 1 or x.low_open) if x.low is not None and x.low >= 1 else (None, True)
    high, high_open = (Fraction(0), x.high < 1 or x.high_open) if x.high is not None and x.high <= 1 else (None, True)
    return Range(low, low_open, high, high_open)


def _range_of_function(name: str, inner: list[Range]) -> Range:
    if name == "exp" and inner:  # e**x is at least 1 + x, and at most 1 for x at most 0
        (x,) = inner
        below = Range(1 + x.low, x.low_open or x.low > 0) if x.low is not None and x.low >= 0 else _POSITIVE
        at_most_1 = x.high is not None and x.high <= 0
        return Range(*below[:2], Fraction(1), x.high_open) if at_most_1 and x.high == 0 else below
    if name == "log" and inner:
        return _range_of_logarithm(inner[0])
    if name in ("erf", "sign") and inner:
        low = 0 if inner[0].is_at_least_0() else -1
        return Range(Fraction(low), low_open=False, high=Fraction(1), high_open=False)
    if name == "sqrt" and inner:
        return _POSITIVE if inner[0].is_positive() else _AT_LEAST_0
    if name == "cosh":
        return Range(Fraction(1), low_open=False)
    if name in ("sinh", "tanh", "coth") and inner and inner[0].is_positive():
        return _POSITIVE
    if name == "Abs" and inner:
        x = inner[0] if inner[0].is_at_least_0() else inner[0].negative()
        return x if x.is_at_least_0() else _AT_LEAST_0
    if name == "Max" and inner:
        lows = [(one.low, one.low_open) for one in inner if one.low is not None]
        low = max((low for low, _ in lows), default=None)
        return Range(low, all(is_open for one, is_open in lows if one == low))
    if name in ("binomial", "Ind", "Alone"):
        return _AT_LEAST_0
    if name == "factorial":
        return Range(Fraction(1), low_open=False)
    if name == "Pi":
        return Range(Fraction(3), high=Fraction(22, 7))
    return _ANY


def is_defined(node: ast.expr, scope: Mapping[str, Range], whole: Container[str]) -> bool:
    """Whether the ranges of its parts show that an expression is defined.   whole: variables that are whole numbers."""
    for part in ast.walk(node):
        match part:
            case ast.BinOp(op=ast.Div(), right=right):
                span = range_of(right, scope)
                shown = span.is_positive() or span.negative().is_positive()
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                span, power = range_of(base, scope), range_of(exponent, scope)
                named = [one for one in ast.walk(exponent) if isinstance(one, ast.Name | ast.Div | ast.Pow | ast.Call)]
                counted = power.is_at_least_0() and all(isinstance(n, ast.Name) and n.id in whole for n in named)
                shown = counted or span.is_positive() or (span.is_at_least_0() and power.is_positive())
            case ast.Call(func=ast.Name(id="log"), args=[inner]):
                shown = range_of(inner, scope).is_positive()
            case ast.Call(func=ast.Name(id="sqrt"), args=[inner]):
                shown = range_of(inner, scope).is_at_least_0()
            case ast.Call(func=ast.Name(id=name)):
                shown = name in ("exp", "erf", "Abs", "Max", "Min", "Ind", "Ceil", "sign")
            case _:
                shown = True
        if not shown:
            return False
    return True
