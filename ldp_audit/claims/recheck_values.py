"""What an expression as it was written is at a point: an interval, by the standard library alone.

A file of the independent checker. Beside a proof's functions (recheck_functions.py), what is written may have sums,
integrals, binomial coefficients and hyperbolic functions. Infinite sums and integrals are estimated, not enclosed: an
error there can refuse a report, and verify none that would be refused otherwise.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache

from ldp_audit.claims import recheck
from ldp_audit.claims.recheck_functions import INTERVALS, Interval, RefusedError, hull, require, whole

Env = Mapping[str, Interval]

_TERMS, _CELLS, _PANELS = 300, 200, 2
"""The most terms of a sum; the cells of an integral; the panels in a piece of an infinite one."""
_LENGTHS = tuple(Fraction(1, 4**power) for power in range(5))
"""The lengths of such pieces, one after the other until two estimates agree."""


def value_of(text: str | ast.expr, env: Env) -> Interval:
    """An interval around the value of an expression; RefusedError where there is none, or none that is known."""
    node = parsed(text) if isinstance(text, str) else text
    match node:
        case ast.Constant(value=int(number)):
            return INTERVALS[int](number)
        case ast.Name(id=name):
            return require(env.get(name), f"{name} has no value")
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _negative(value_of(inner, env))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return INTERVALS[ast.Add](value_of(left, env), _negative(value_of(right, env)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(value_of(left, env), value_of(right, env))
        case ast.BinOp(left=left, op=op, right=right):
            return INTERVALS[type(op)](value_of(left, env), value_of(right, env))
        case ast.Call(func=ast.Name(id="Sum"), args=[term, *limits]):
            return _added(term, limits, env)
        case ast.Call(func=ast.Name(id="Integral"), args=[term, limit]):
            return _integrated(term, limit, env)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            known = require(_FUNCTIONS.get(name) or INTERVALS.get(name), f"{name} is no known function")
            return known(*(value_of(one, env) for one in args))
    raise RefusedError("something is not arithmetic")


@lru_cache(maxsize=2**10)
def parsed(text: str) -> ast.expr:
    """The syntax tree of an expression in plain ASCII."""
    require(isinstance(text, str) and text.isascii() and "#" not in text, "an expression is no plain text")
    return ast.parse(text, mode="eval").body


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _power(base: Interval, exponent: Interval) -> Interval:
    if exponent[0] == exponent[1] and abs(exponent[0]) < 10**5:
        return recheck.power(base, exponent[0], INTERVALS)
    return INTERVALS["exp"](INTERVALS[ast.Mult](exponent, INTERVALS["log"](base)))


def _ratio_of_exponentials(sign_above: int, sign_below: int) -> Callable[[Interval], Interval]:
    """(e**a + sign_above e**-a) / (e**a + sign_below e**-a), which is monotone where a does not change its sign."""

    def found(a: Interval) -> Interval:
        square = INTERVALS["exp"](INTERVALS[ast.Mult](a, hull(Fraction(2))))
        above, below = (INTERVALS[ast.Add](square, hull(Fraction(sign))) for sign in (sign_above, sign_below))
        return INTERVALS[ast.Div](above, below)

    return found


def _half_sum(sign: int) -> Callable[[Interval], Interval]:
    def found(a: Interval) -> Interval:
        back = INTERVALS[ast.Mult](INTERVALS["exp"](_negative(a)), hull(Fraction(sign)))
        return INTERVALS[ast.Mult](INTERVALS[ast.Add](INTERVALS["exp"](a), back), hull(Fraction(1, 2)))

    return found


_FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "cosh": _half_sum(1),
    "sinh": _half_sum(-1),
    "tanh": _ratio_of_exponentials(-1, 1),
    "coth": _ratio_of_exponentials(1, -1),
    "floor": lambda a: (Fraction(math.floor(a[0])), Fraction(math.floor(a[1]))),
    "ceiling": lambda a: (Fraction(math.ceil(a[0])), Fraction(math.ceil(a[1]))),
}
"""Functions that only occur in what was written."""


def _added(term: ast.expr, limits: list[ast.expr], env: Env) -> Interval:
    """A sum, the last limit first; an infinite one until its terms are negligible."""
    if not limits:
        return value_of(term, env)
    *inner, limit = limits
    name, low, high = limit_of(limit)
    if not inner:
        term, env = _settled(term, name, env)

    def at(index: int) -> Interval:
        return _added(term, inner, {**env, name: hull(Fraction(index))})

    if not (is_infinite(low) or is_infinite(high)):
        first, last = whole(value_of(low, env)), whole(value_of(high, env))
        require(-1 <= last - first < _TERMS, "a sum of too many terms, or of fewer than none")
        return _total(at(index) for index in range(first, last + 1))
    sides: list[Interval] = []
    start = 0 if is_infinite(low) and is_infinite(high) else whole(value_of(high if is_infinite(low) else low, env))
    for step, wanted in ((1, is_infinite(high)), (-1, is_infinite(low))):
        if wanted:
            begins = start - 1 if step == -1 and is_infinite(high) else start
            terms = (at(begins + step * place) for place in range(_TERMS))
            sides.append(_until_negligible(terms, Fraction(1, 10**40), Fraction(1, 10**20)))
    return _total(sides)


def _until_negligible(terms: Iterator[Interval], least: Fraction, spread: Fraction) -> Interval:
    """An estimate of an infinite sum, which is left after ten terms in a row that become smaller, below `least` of it.

    spread: how far, beside its size, the estimate may be from the sum.
    """
    total, small, before = hull(Fraction(0)), 0, Fraction(0)
    for term in terms:
        total = INTERVALS[ast.Add](total, term)
        size = max(map(abs, term))
        small = small + 1 if size <= before and size <= least * max(map(abs, total)) else 0
        before = size
        if small == 10:
            apart = spread * max(map(abs, total))
            return total[0] - apart, total[1] + apart
    raise RefusedError("a sum whose terms do not become negligible")


def _total(terms: Iterable[Interval]) -> Interval:
    total = hull(Fraction(0))
    for term in terms:
        total = INTERVALS[ast.Add](total, term)
    return total


def _integrated(term: ast.expr, limit: ast.expr, env: Env) -> Interval:
    """An integral: its cells' lengths times the integrand's values in them; over an infinite range an estimate, by
    Simpson's rule on pieces until they are negligible, which are shorter until two estimates agree."""
    name, low, high = limit_of(limit)
    if is_infinite(low) and is_infinite(high):
        zero = ast.Constant(0)
        halves = (ast.Tuple([ast.Name(name), low, zero]), ast.Tuple([ast.Name(name), zero, high]))
        return _total(_integrated(term, half, env) for half in halves)
    term, env = _settled(term, name, env)

    def at(value: Interval) -> Interval:
        return value_of(term, {**env, name: value})

    def piece(begins: Fraction, length: Fraction) -> Interval:
        heights = [at(hull(begins + length * Fraction(place, 2 * _PANELS)))[0] for place in range(2 * _PANELS + 1)]
        middle, rest = sum(heights[1::2], Fraction(0)), sum(heights[2:-1:2], Fraction(0))
        simpson = length * (heights[0] + heights[-1] + 4 * middle + 2 * rest) / (6 * _PANELS)
        return simpson, simpson

    if is_infinite(high) or is_infinite(low):
        way, end = (1, value_of(low, env)) if is_infinite(high) else (-1, value_of(high, env))
        before: Interval | None = None
        for length in _LENGTHS:
            begins = end[0] if way == 1 else end[0] - length
            pieces = (piece(begins + way * length * place, length) for place in range(_TERMS))
            found = _until_negligible(pieces, Fraction(1, 10**6), Fraction(1, 200))
            if before is not None and found[0] <= before[1] and before[0] <= found[1]:
                return hull(*found, *before)
            before = found
        raise RefusedError("an integral whose estimates do not agree")
    first, last = (value_of(end, env) for end in (low, high))
    step = (last[1] - first[0]) / _CELLS
    edges = [first[0] + step * place for place in range(_CELLS + 1)]
    return _total(INTERVALS[ast.Mult](hull(step), at((one, one + step))) for one in edges[:-1])


def _settled(term: ast.expr, name: str, env: Env) -> tuple[ast.expr, Env]:
    """The term with a name for each largest part that does not depend on a variable, and all values by their names."""
    known = dict(env)

    def instead(node: ast.expr) -> ast.expr:
        if not any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node)):
            if isinstance(node, ast.Name | ast.Constant):
                return node
            called = f"# {len(known)}"  # no name of what was written
            known[called] = value_of(node, known)
            return ast.Name(called)
        match node:
            case ast.UnaryOp(op=op, operand=inner):
                return ast.UnaryOp(op, instead(inner))
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(instead(left), op, instead(right))
            case ast.Call(func=ast.Name(id=function) as of, args=args, keywords=[]) if function not in (
                "Sum",
                "Integral",
            ):
                return ast.Call(of, list(map(instead, args)), [])
        return node  # a sum within may have an index that is a variable outside of it

    return instead(term), known


def limit_of(limit: ast.expr) -> tuple[str, ast.expr, ast.expr]:
    """The index or variable of a sum or an integral, and its two ends."""
    match limit:
        case ast.Tuple(elts=[ast.Name(id=name), low, high]):
            return name, low, high
    raise RefusedError("a sum or an integral without its two ends")


def is_infinite(node: ast.expr) -> bool:
    """Whether an end is oo or -oo."""
    bare = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(bare, ast.Name) and bare.id == "oo"
