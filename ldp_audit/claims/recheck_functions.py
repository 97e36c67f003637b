"""What the checker computes with: functions on intervals, and what checking one part may take.

The second file of the independent checker (`recheck.py` is the first): the standard library alone, and no code shared
with the engines. An interval is a pair of fractions, low and high; the ends are equal where arithmetic is exact. Every
function (exp, ln, erf, pi, Max, Min, Abs, Ind, and the roundings Fl and Ceil) returns an interval that holds all its
values. Polynomials and fractions grow with every power and product, so that a short text can ask for more than any
machine has: steps are counted, and a report that would keep the checker busy for hours is refused.
"""

from __future__ import annotations

import ast
import decimal
import math
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

Interval = tuple[Fraction, Fraction]


class RefusedError(Exception):
    """The evidence does not show what the report says."""


def require(fact: Any, complaint: str) -> Any:
    """The fact, if it is one; RefusedError with the complaint if not."""
    if not fact:
        raise RefusedError(complaint)
    return fact


EFFORT = 2 * 10**7
"""Steps that checking one part may take, about a microsecond each; what the engines find takes a tenth of it."""
_taken = [0]


def begin() -> None:
    """A part's steps are counted from here."""
    _taken[0] = 0


def take(steps: int, bits: int = 0) -> None:
    """Count steps on numbers of so many bits; RefusedError once a part has taken too many."""
    _taken[0] += steps * (1 + (bits // 1000) ** 2)
    require(_taken[0] <= EFFORT, "it takes too long to check")


def size(numbers: Iterable[Fraction]) -> int:
    """Bits of the longest of them."""
    return max((x.numerator.bit_length() + x.denominator.bit_length() for x in numbers), default=0)


def number(given: Any) -> Fraction:
    """A number of the report, which may be a text: 1e999999999 would take all memory."""
    require(not isinstance(given, str) or len(given.lower().partition("e")[2]) < 6, "a number's exponent is too long")
    return Fraction(given)


def hull(*numbers: Fraction) -> Interval:
    """The smallest interval around the numbers."""
    return min(numbers), max(numbers)


def increasing(function: str, a: Interval) -> Interval:
    """exp or ln by `decimal`, where they are correctly rounded: outwards in the 60th digit."""
    ends = []
    take(1, size(a))
    for end, way, onwards in ((a[0], decimal.ROUND_FLOOR, "next_minus"), (a[1], decimal.ROUND_CEILING, "next_plus")):
        context = decimal.Context(prec=60, rounding=way, Emin=-9999, Emax=99999)
        argument = context.divide(decimal.Decimal(end.numerator), decimal.Decimal(end.denominator))
        value = getattr(context, function)(argument)
        is_exact = function == "ln" and argument == 1  # the number beside 0 would have ten thousand digits
        ends.append(Fraction(value if is_exact else getattr(context, onwards)(value)))
    return hull(*ends)


def rounded(a: Interval, digits: Interval) -> Interval:
    """Fl: both ends as binary floats of so many significant bits, ties to even, exponents unbounded; it never falls."""
    require(digits[0] == digits[1] and digits[0] in range(1, 200), f"{digits[0]} is no number of bits")
    return _float(a[0], int(digits[0])), _float(a[1], int(digits[0]))


def _float(x: Fraction, bits: int) -> Fraction:
    scale = Fraction(2) ** (bits - x.numerator.bit_length() + x.denominator.bit_length())
    scale /= 2 if abs(x) * scale >= 2**bits else 1  # now |x| scale has `bits` digits before the point
    return round(x * scale) / scale  # Python rounds the half of a Fraction to even


def indicator(a: Interval, b: Interval) -> Interval:
    """Ind: 1 where the two are certainly equal, 0 where they are certainly not, else anything between."""
    return hull(*map(Fraction, (a[0] == a[1] == b[0] == b[1], a[0] <= b[1] and b[0] <= a[1])))


def absolute(a: Interval) -> Interval:
    """Abs."""
    return a if a[0] >= 0 else (max(Fraction(0), -a[1]), max(-a[0], a[1]))


def _counted(operation: Callable[[Interval, Interval], Interval]) -> Callable[[Interval, Interval], Interval]:
    def carried_out(a: Interval, b: Interval) -> Interval:
        take(4, size((*a, *b)))
        return operation(a, b)

    return carried_out


_PI = Fraction(314159265358979323846264338327950288419716939937510582097494, 10**59)


def error_function(a: Interval) -> Interval:
    """erf, which grows: its Taylor series at each end, in units of 2**-300; from 10 on it is 1 less 1e-40 at least."""
    (low, _), (_, high) = (_erf(end) if end >= 0 else (-_erf(-end)[1], -_erf(-end)[0]) for end in a)
    return low, high


def _erf(x: Fraction) -> Interval:
    if x > 10:
        return Fraction(10**40 - 1, 10**40), Fraction(1)
    take(2000)
    unit, total, n = 2**300, 0, 0
    term = x.numerator * unit // x.denominator  # x**(2 n + 1) / n!, rounded down; e**100 < 2**145 at most
    while n <= 2 * x * x or term >> 60:
        total += (-1) ** n * (term // (2 * n + 1))
        n += 1
        term = term * x.numerator**2 // (x.denominator**2 * n)
    lost = Fraction(1, 2**100)  # more than the first term left out, 2**-240, and than 1000 roundings of up to 2**-145
    low, high = increasing("ln", (_PI, _PI + Fraction(1, 10**59)))
    scale = increasing("exp", (-high / 2, -low / 2))
    value = 2 * Fraction(total, unit)
    return max(Fraction(0), (value - lost) * scale[0]), (value + lost) * scale[1]


INTERVALS: dict[Hashable, Callable[..., Interval]] = {
    int: lambda n: (number(n), number(n)),
    ast.Add: _counted(lambda a, b: (a[0] + b[0], a[1] + b[1])),
    ast.Mult: _counted(lambda a, b: hull(*(x * y for x in a for y in b))),
    ast.Div: _counted(
        lambda a, b: hull(*(x / y for x in a for y in b if require(b[0] > 0 or b[1] < 0, "a division by zero")))
    ),
    "exp": lambda a: increasing("exp", a),
    "log": lambda a: increasing("ln", a),
    "Max": lambda *args: (max(a[0] for a in args), max(a[1] for a in args)),
    "Min": lambda *args: (min(a[0] for a in args), min(a[1] for a in args)),
    "Abs": absolute,
    "Ind": indicator,
    "erf": error_function,
    "Pi": lambda: (_PI, _PI + Fraction(1, 10**59)),
    "Fl": rounded,
    "Ceil": lambda a: (Fraction(math.ceil(a[0])), Fraction(math.ceil(a[1]))),
}
"""Operations by the node of Python's syntax tree, functions by name."""
