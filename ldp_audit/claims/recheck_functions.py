"""The checker's arithmetic: functions on intervals, polynomials, and a limit on the cost of checking one part.

The second file of the independent checker (`recheck.py` is the first): only the standard library, and no code shared
with the engines. An interval is a pair of fractions, low and high, equal if arithmetic is exact. Every function (exp,
ln, erf, pi, Max, Min, Abs, Ind, and the roundings Fl and Ceil) returns an interval that contains all its values.
Polynomials over the rationals, and their quotients, are exact.
Polynomials and fractions grow with every power and product, so a short text can demand unlimited memory: steps are
counted, and a report that would take hours is refused.
"""

from __future__ import annotations

import ast
import decimal
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

Interval = tuple[Fraction, Fraction]
Algebra = Mapping[Hashable, Callable[..., Any]]
"""Numbers, sums, products and quotients by the node of Python's syntax tree; functions by name."""


class RefusedError(Exception):
    """The evidence does not show what the report claims."""


def require(fact: Any, complaint: str) -> Any:
    """Return the value if it is true; RefusedError with the complaint otherwise."""
    if not fact:
        raise RefusedError(complaint)
    return fact


EFFORT = 2 * 10**7
"""Limit on the steps of one part, about a microsecond each; the engines' evidence takes a tenth of it."""
_taken = [0]


def begin() -> None:
    """Start counting the steps of a part."""
    _taken[0] = 0


def take(steps: int, bits: int = 0) -> None:
    """Count steps on numbers of this many bits; RefusedError above `EFFORT`."""
    _taken[0] += steps * (1 + (bits // 1000) ** 2)
    require(_taken[0] <= EFFORT, "it takes too long to check")


def size(numbers: Iterable[Fraction | int]) -> int:
    """Bits of the longest number."""
    return max((x.numerator.bit_length() + x.denominator.bit_length() for x in numbers), default=0)


def number(given: Any) -> Fraction:
    """A number of the report; as a text 1e999999999 would exhaust the memory."""
    require(not isinstance(given, str) or len(given.lower().partition("e")[2]) < 6, "a number's exponent is too long")
    return Fraction(given)


def hull(*numbers: Fraction) -> Interval:
    """The smallest interval around the numbers."""
    return min(numbers), max(numbers)


def increasing(function: str, a: Interval) -> Interval:
    """exp or ln by `decimal`, which rounds them correctly: outward in the 60th digit; exact at exp 0 and ln 1."""
    ends = []
    take(1, size(a))
    for end, way, onwards in ((a[0], decimal.ROUND_FLOOR, "next_minus"), (a[1], decimal.ROUND_CEILING, "next_plus")):
        context = decimal.Context(prec=60, rounding=way, Emin=-9999, Emax=99999)
        argument = context.divide(decimal.Decimal(end.numerator), decimal.Decimal(end.denominator))
        value = getattr(context, function)(argument)
        is_exact = end == (function == "ln")  # the neighbour of 0 would have ten thousand digits
        ends.append(Fraction(value if is_exact else getattr(context, onwards)(value)))
    return hull(*ends)


def rounded(a: Interval, digits: Interval) -> Interval:
    """Fl: both bounds rounded to this many significant bits, ties to even, exponents unbounded; Fl is monotone."""
    require(digits[0] == digits[1] and digits[0] in range(1, 200), f"{digits[0]} is no number of bits")
    return _float(a[0], int(digits[0])), _float(a[1], int(digits[0]))


def _float(x: Fraction, bits: int) -> Fraction:
    scale = Fraction(2) ** (bits - x.numerator.bit_length() + x.denominator.bit_length())
    scale /= 2 if abs(x) * scale >= 2**bits else 1  # now |x| scale has `bits` digits before the point
    return round(x * scale) / scale  # Python rounds the half of a Fraction to even


def indicator(a: Interval, b: Interval) -> Interval:
    """Ind: 1 if the two are certainly equal, 0 if they certainly differ, else [0, 1]."""
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
    """erf, increasing: its Taylor series at each bound, in units of 2**-300; from 10 on it is >= 1 - 1e-40."""
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
    lost = Fraction(1, 2**100)  # exceeds the first omitted term, 2**-240, plus 1000 roundings of up to 2**-145
    low, high = increasing("ln", (_PI, _PI + Fraction(1, 10**59)))
    scale = increasing("exp", (-high / 2, -low / 2))
    value = 2 * Fraction(total, unit)
    return max(Fraction(0), (value - lost) * scale[0]), (value + lost) * scale[1]


def whole(a: Interval) -> int:
    """The whole number that an interval is; RefusedError for others, and for large ones."""
    require(a[0] == a[1] and a[0].denominator == 1 and abs(a[0]) < 10**4, "not a moderate whole number")
    return int(a[0])


def _binomial(n: Interval, k: Interval) -> Interval:
    top, chosen = whole(n), whole(k)
    require(top >= 0, "a binomial coefficient of a negative number")
    take(top)
    return hull(Fraction(math.comb(top, chosen) if chosen >= 0 else 0))


def _factorial(n: Interval) -> Interval:
    require(whole(n) >= 0, "the factorial of a negative number")
    take(whole(n))
    return hull(Fraction(math.factorial(whole(n))))


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
    "factorial": _factorial,
    "binomial": _binomial,
}
"""Operations by the node of Python's syntax tree, functions by name."""

Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, Fraction | int]
"""Coefficients other than 0 by monomial; a monomial is sorted pairs of a name and a positive power."""
Ratio = tuple[Polynomial, Polynomial]
"""Top and bottom; the bottom is not the zero polynomial. Two ratios have equal values wherever both are defined if they
are the `same`."""

ONE: Polynomial = {(): 1}


def total(p: Polynomial, q: Polynomial) -> Polynomial:
    """p + q."""
    take(1 + (len(p) + len(q)) // 4, size((*p.values(), *q.values())))
    return {m: c for m in {**p, **q} if (c := p.get(m, 0) + q.get(m, 0))}


@lru_cache(maxsize=2**14)
def merged(m: Monomial, n: Monomial) -> Monomial:
    """The product of two monomials."""
    powers = dict(m)
    powers.update((name, powers.get(name, 0) + exponent) for name, exponent in n)
    return tuple(sorted(powers.items()))


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    """p q."""
    take(16 * len(p) * len(q), size((*p.values(), *q.values())))
    result: Polynomial = {}
    for (m, a), (n, b) in product(p.items(), q.items()):
        key = merged(m, n)
        result[key] = result.get(key, 0) + a * b
    return {m: c for m, c in result.items() if c}


def constant(value: Fraction | int) -> Ratio:
    """A number as a ratio."""
    return ({(): value} if value else {}), ONE


def generator(name: str) -> Ratio:
    """A variable as a ratio."""
    return {((name, 1),): 1}, ONE


def plus(a: Ratio, b: Ratio) -> Ratio:
    """a + b."""
    if a[1] == b[1]:
        return total(a[0], b[0]), a[1]
    return total(times(a[0], b[1]), times(b[0], a[1])), times(a[1], b[1])


def by(a: Ratio, b: Ratio) -> Ratio:
    """a b."""
    return times(a[0], b[0]), times(a[1], b[1])


def over(a: Ratio, b: Ratio) -> Ratio:
    """a / b; RefusedError if b is zero everywhere."""
    return times(a[0], b[1]), times(a[1], require(b[0], "a division by zero"))


def negative(a: Ratio) -> Ratio:
    """-a."""
    return {m: -c for m, c in a[0].items()}, a[1]


def minus(a: Ratio, b: Ratio) -> Ratio:
    """a - b."""
    return plus(a, negative(b))


def same(a: Ratio, b: Ratio) -> bool:
    """Whether the two are one rational function."""
    return times(a[0], b[1]) == times(b[0], a[1])


def is_number(a: Ratio) -> bool:
    """Whether it has no variables."""
    return {*a[0], *a[1]} <= {()}


def derivative(ratio: Ratio, x: str, rates: Mapping[str, Ratio]) -> Ratio:
    """The derivative in x; the names in `rates` are functions of x with these derivatives."""

    def along(polynomial: Polynomial) -> Ratio:
        found = constant(0)
        for monomial, c in polynomial.items():
            for name, exponent in monomial:
                if name == x or name in rates:
                    rest = tuple((n, e - (n == name)) for n, e in monomial if e > 1 or n != name)
                    one: Ratio = {rest: c * exponent}, ONE
                    found = plus(found, one if name == x else by(one, rates[name]))
        return found

    top, bottom = ((part, ONE) for part in ratio)
    gained, lost = by(along(ratio[0]), bottom), by(top, along(ratio[1]))
    return over(minus(gained, lost), by(bottom, bottom))


RATIOS: Algebra = {int: constant, ast.Add: plus, ast.Mult: by, ast.Div: over}
