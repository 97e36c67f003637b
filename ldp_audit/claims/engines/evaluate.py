"""Evaluation at one point: exact over the rationals, by outward-rounded balls elsewhere; also of statements about
numbers.

A statement without variables is settled by its two sides' values: reports call this engine recompute.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from math import comb, isqrt
from math import factorial as of_whole
from typing import Any

from flint import arb, ctx, fmpq
from sympy import (
    Abs,
    Add,
    Expr,
    Max,
    Min,
    Mul,
    Piecewise,
    Pow,
    Rational,
    S,
    Symbol,
    binomial,
    erf,
    exp,
    factorial,
    log,
    sign,
)

from ldp_audit.claims.language.alone import Alone, counted
from ldp_audit.claims.language.rounding import Ceil, Fl, nearest, up
from ldp_audit.claims.language.statement import Relation, Statement
from ldp_audit.mechanisms.channel import Ind
from ldp_audit.mechanisms.variable import Variable

ctx.prec = 160  # precision of the balls: far finer than any gap that a report prints

Point = Mapping[Symbol, Fraction]
Value = Fraction | arb

_EXACT: dict[type, Callable[..., Any]] = {
    Abs: abs,
    Max: max,
    Min: min,
    Ind: lambda a, b: Fraction(a == b),
    Fl: lambda x, digits: nearest(x, int(digits)),
    Ceil: up,
    sign: lambda x: Fraction((x > 0) - (x < 0)),
    binomial: lambda n, k: Fraction(_binomial(n, k)),
    factorial: lambda n: Fraction(_factorial(n)),
    Alone: lambda bits, x, y: Fraction(counted(int(bits), x, y)),
}
_BALL: dict[type, Callable[..., Any]] = {
    Abs: abs,
    Max: lambda *balls: reduce(arb.max, balls),
    Min: lambda *balls: reduce(arb.min, balls),
    exp: arb.exp,
    log: arb.log,
    erf: arb.erf,
    Ind: lambda a, b: (
        arb(int(a.overlaps(b))) if not a.overlaps(b) or (a.is_exact() and b.is_exact()) else arb(0.5, 0.5)
    ),
    Fl: lambda x, digits: _between(*(nearest(end, int(digits.unique_fmpz())) for end in bounds_of(x))),
    Ceil: lambda x: _between(*map(up, bounds_of(x))),
    sign: lambda x: _between(*(Fraction((end > 0) - (end < 0)) for end in bounds_of(x))),
    Alone: lambda bits, x, y: arb(counted(int(bits.unique_fmpz()), bounds_of(x)[0], bounds_of(y)[0])),
}
_STEPS = (Fl, Ceil, sign)
"""Monotone functions with jumps at rationals: their value is rational at every irrational argument."""
_PRECISIONS = (160, 640, 2560)
"""Precisions of the balls around a step function's argument, until both bounds are on one step."""


_LARGEST, _LARGEST_FACTORIAL = 10**5, 10**3
"""Larger exponents are evaluated by balls; larger factorials and binomial coefficients not at all."""
_MAX_EXACT_BITS, _MAX_BITS = 512, 10_000
"""Bits of a denominator above which a number is written as decimals, or not written at all."""


class NotRationalError(ValueError):
    """The expression has no rational value that exact arithmetic can compute."""


def value(expression: Expr, point: Point) -> Value:
    """The value at the point: a Fraction if exact arithmetic computes one, else a ball that encloses it.

    Raises ZeroDivisionError where the expression is undefined, TypeError for an unknown function.
    """
    if expression in point:
        return point[expression]  # type: ignore[index]  (most are variables)
    try:
        return exact_value(expression, point)
    except NotRationalError:
        return enclosure(expression, point)


def exact_value(expression: Expr, point: Point) -> Fraction:
    """The rational value at the point; NotRationalError if there is none."""
    return _as_fraction(_rational(expression, point))


def _rational(expression: Expr, point: Point) -> fmpq:
    if isinstance(expression, Rational):
        return fmpq(int(expression.p), int(expression.q))
    if isinstance(expression, Symbol):
        if expression not in point:  # determined by an exponent
            if not isinstance(expression, Variable) or expression.argument is None:
                raise NotRationalError(expression)
            function = exp if expression.exp_of is not None else log
            return _at_its_end(function, _rational(expression.argument, point), expression)
        return fmpq(point[expression].numerator, point[expression].denominator)
    try:
        values = [_rational(part, point) for part in expression.args if isinstance(part, Expr)]
    except NotRationalError:
        if isinstance(expression, _STEPS):
            found = _on_one_step(expression, point)
            return fmpq(found.numerator, found.denominator)
        raise
    if isinstance(expression, Add):
        return sum(values, fmpq(0))
    if isinstance(expression, Mul):
        return reduce(operator.mul, values)
    if isinstance(expression, Pow):
        base, exponent = values
        return _power(base, exponent, expression)
    if isinstance(expression, (exp, log, erf)):
        return _at_its_end(type(expression), values[0], expression)
    if not values:
        raise NotRationalError(expression)
    found = _function(_EXACT, expression)(*map(_as_fraction, values))
    return fmpq(found.numerator, found.denominator)


def _power(base: fmpq, exponent: fmpq, expression: Expr) -> fmpq:
    if exponent.q == 1 and abs(exponent) < _LARGEST:
        return base ** int(exponent.p)
    if exponent.q == 2 and base >= 0 and (base or exponent > 0) and abs(exponent) < _LARGEST:
        root = fmpq(isqrt(int(base.p)), isqrt(int(base.q)))
        if root * root == base:
            return root ** int(exponent.p)
    raise NotRationalError(expression)


def _at_its_end(function: type, argument: fmpq, expression: Expr) -> fmpq:
    """exp 0 = 1, ln 1 = 0 and erf 0 = 0, the only rational values at rational arguments."""
    if argument == (function is log):
        return fmpq(function is exp)
    raise NotRationalError(expression)


def _as_fraction(number: fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _on_one_step(expression: Expr, point: Point) -> Fraction:
    """The value of a step function at an irrational argument; NotRationalError if that is too close to a jump."""
    rest = [exact_value(part, point) for part in expression.args[1:]]  # type: ignore[arg-type]
    step = _function(_EXACT, expression)
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            low, high = (step(end, *rest) for end in bounds_of(enclosure(expression.args[0], point)))  # type: ignore[arg-type]
        if low == high:
            return low
    raise NotRationalError(expression)


def holds_at(statement: Statement, point: Point) -> bool | None:
    """Whether the relation holds at the point; None if it is undefined or too large, or the balls overlap."""
    try:
        left, right = value(statement.left, point), value(statement.right, point)
    except (ZeroDivisionError, OverflowError):
        return None
    return compare(left, statement.relation, right)


def is_given(statement: Statement, point: Point) -> bool:
    """Whether all that is given certainly holds at the point."""
    try:
        sides = [(value(one.left, point), one.relation, value(one.right, point)) for one in statement.given]
    except ZeroDivisionError:
        return False
    return all(compare(*one) for one in sides)


def is_defined(expression: Expr, point: Point) -> bool:
    """Whether the expression has a finite real value at the point, which may be too large to be computed."""
    try:
        found = value(expression, point)
    except ZeroDivisionError:
        return False
    except OverflowError:
        return True
    return isinstance(found, Fraction) or found.is_finite()


def compare(left: Value, relation: Relation, right: Value) -> bool | None:
    """left RELATION right; None if the balls overlap."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return {"==": left == right, "!=": left != right, "<=": left <= right, "<": left < right}[relation]
    gap = as_ball(right) - as_ball(left)
    if not gap.is_finite():
        return None
    if gap > 0:
        return relation != "=="
    if gap < 0:
        return relation == "!="
    return None


def inside_domain(variables: list[Variable], point: Point) -> bool:
    """Whether the point lies in every variable's domain, given the variables that exponents determine."""
    for variable in variables:
        here = value(variable, point)
        if variable.integer_valued and not (isinstance(here, Fraction) and here.denominator == 1):
            return False
        if variable.lower.is_finite is not False:
            lower = value(variable.lower, point)
            if compare(lower, "<" if variable.lower_open else "<=", here) is not True:
                return False
        if variable.upper.is_finite is not False:
            upper = value(variable.upper, point)
            if compare(here, "<" if variable.upper_open else "<=", upper) is not True:
                return False
    return True


def bounds_of(ball: Value) -> tuple[Fraction, Fraction]:
    """Rational lower and upper bounds of a value."""
    if isinstance(ball, Fraction):
        return ball, ball
    if not ball.is_finite():
        raise ZeroDivisionError("the value is not finite")
    return _fraction(ball.lower()), _fraction(ball.upper())


def enclosure(expression: Expr, point: Mapping[Any, Value]) -> arb:
    """A ball around all values of the expression for variables in their fractions or balls."""
    if isinstance(expression, Rational):
        return arb(fmpq(int(expression.p), int(expression.q)))
    if isinstance(expression, Symbol):
        if expression in point:
            return as_ball(point[expression])
        if isinstance(expression, Variable) and expression.argument is not None:
            inner = enclosure(expression.argument, point)
            return inner.log() if expression.exp_of is None else inner.exp()
        raise KeyError(expression)
    balls = [enclosure(part, point) for part in expression.args if isinstance(part, Expr)]
    if isinstance(expression, Add):
        return reduce(operator.add, balls)
    if isinstance(expression, Mul):
        return reduce(operator.mul, balls)
    if isinstance(expression, Pow):
        return balls[0] ** balls[1]
    if not balls:
        return arb(0) + _constant(expression)
    return _function(_BALL, expression)(*balls)


def _constant(expression: Expr) -> arb:
    if expression is S.Pi:
        return arb.pi()
    if expression is not S.Exp1:
        if not expression.is_finite:
            raise TypeError("a part divides by zero, perhaps as a sum with a pole; write a range without it")
        known = "write it by rationals, E, pi, roots, exp, log or erf"
        if isinstance(expression, Piecewise):
            known = "write cases by Ind, Piecewise((a, Eq(x, y)), (b, True)) as b + (a - b)*Ind(x, y)"
        raise TypeError(f"constant {expression} is not one that the engines evaluate; {known}")
    return arb.const_e()


def _function(table: dict[type, Callable[..., Any]], expression: Expr) -> Callable[..., Any]:
    for kind, evaluate in table.items():
        if isinstance(expression, kind):
            return evaluate
    if table is _EXACT and not any(isinstance(expression, kind) for kind in _BALL):
        known = "exp, log, erf, sqrt, Abs, Max, Min, sign, binomial, factorial, Ind, Fl, Ceil, Alone"
        function = type(expression).__name__
        raise TypeError(
            f"function {function} is not one that the engines evaluate; known: {known}; write it out, or as a Variable"
        )
    raise NotRationalError(expression)


def as_ball(number: Value) -> arb:
    """The number as a ball."""
    return number if isinstance(number, arb) else arb(fmpq(number.numerator, number.denominator))


def _between(low: Fraction, high: Fraction) -> arb:
    return as_ball(low) if low == high else as_ball(low).union(as_ball(high))


def _binomial(n: Fraction, k: Fraction) -> int:
    if not (n.denominator == k.denominator == 1 and n >= 0):
        raise NotRationalError(f"binomial({n}, {k})")
    if n >= _LARGEST_FACTORIAL:
        raise OverflowError(f"binomial({n}, {k}) is too large to be written down")
    return comb(int(n), int(k)) if k >= 0 else 0


def _factorial(n: Fraction) -> int:
    if not (n.denominator == 1 and n >= 0):
        raise NotRationalError(f"factorial({n})")
    if n >= _LARGEST_FACTORIAL:
        raise OverflowError(f"factorial({n}) is too large to be written down")
    return of_whole(int(n))


def _fraction(end: arb) -> Fraction:
    mantissa, exponent = (int(part) for part in end.mid().man_exp())
    if abs(exponent) > _LARGEST:
        raise OverflowError("a number is too large to be written down")
    return Fraction(mantissa << max(0, exponent), 1 << max(0, -exponent))


def settle(statement: Statement) -> tuple[bool | None, dict[str, Any]]:
    """Whether the relation between the two numbers holds (None: the balls overlap), and the two numbers.

    Raises ZeroDivisionError if a side is undefined.
    """
    left, right = value(statement.left, {}), value(statement.right, {})
    evidence = {"kind": "value", "left": written(left), "right": written(right)}
    return compare(left, statement.relation, right), evidence


def written(number: Value) -> str | list[str]:
    """A rational as it is; an irrational, or one with very many digits, as 18-digit decimal lower and upper bounds."""
    if isinstance(number, Fraction) and number.denominator.bit_length() < _MAX_EXACT_BITS:
        if number.numerator.bit_length() > _MAX_BITS:
            raise OverflowError("a number is too large to be written down")
        return str(number)
    low, high = bounds_of(number)
    if low == high == 0:  # a factor was 0
        return "0"
    scale = 10**18
    return [_decimal(low * scale // 1), _decimal(-(-high * scale // 1))]


def _decimal(scaled: int) -> str:
    if scaled.bit_length() > _MAX_BITS:
        raise OverflowError("a number is too large to be written down")
    sign = "-" if scaled < 0 else ""
    whole, part = divmod(abs(scaled), 10**18)
    return f"{sign}{whole}.{part:018d}"
