"""Where what was written is defined: no divisor is 0, logarithms are of positive numbers, and roots of numbers that are
not negative, also within sums and integrals.

A file of the independent checker, with the standard library alone. `conditions` lists what must hold, without what the
range of an expression shows (`range_of`): the rest needs proofs of its own.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ldp_audit.claims.recheck_functions import RefusedError, begin, require
from ldp_audit.claims.recheck_values import is_infinite, limit_of, parsed, value_of

Record = Mapping[str, Any]
"""A part of a report, or a variable of it."""


Relation = Literal["!=", "<", "<="]


class SideCondition(NamedTuple):
    """An expression that must not be 0 ("!="), must be positive ("<"), or must not be negative ("<=").

    variables: by name, among them those of the sums and integrals around it.
    """

    text: str
    relation: Relation
    variables: dict[str, Record]

    def __str__(self) -> str:
        return f"{self.text} {'!= 0' if self.relation == '!=' else '> 0' if self.relation == '<' else '>= 0'}"

    def written(self) -> dict[str, Any]:
        """Both sides and the variables, as `written` of a part."""
        sides = (self.text, "0") if self.relation == "!=" else ("0", self.text)
        return {"variables": list(self.variables.values()), "left": sides[0], "right": sides[1]}

    def is_shown_by(self, other: SideCondition) -> bool:
        """Whether another one is about the same expression, at least as strong, on the same domain."""
        strong = other.relation == self.relation or other.relation == "<"
        return strong and self.text == other.text and self.variables == other.variables


def as_condition(s: Record) -> SideCondition:
    """The condition that a part states, as it was written."""
    source, relation = s["written"], s["relation"]
    sides = source["left"], source["right"]
    zero = sides[1] if relation == "!=" else sides[0]
    require(s["quantifier"] == "for all" and zero == "0" and relation in ("!=", "<", "<="), "a part that shows nothing")
    return SideCondition(sides[0] if relation == "!=" else sides[1], relation, _scope(source["variables"]))


def conditions(s: Record) -> list[SideCondition]:
    """What must hold so that the sides as written, and their variables' bounds, are defined on the whole domain.

    Without what the ranges of the expressions show.
    """
    source = s.get("written", s)
    scope = _scope(source["variables"])
    texts = [source["left"], source["right"]]
    texts += [text for v in scope.values() for text in (v["lower"], v["upper"], v.get("exp_of")) if text is not None]
    found: dict[str, SideCondition] = {}
    for text in texts:
        for condition in _conditions(parsed(text), scope):
            key = repr(condition)  # sums over an index of one name may have other ends
            if key not in found and not _is_plain(condition):
                found[key] = condition
    return list(found.values())


def _scope(variables: list[Record]) -> dict[str, Record]:
    return {variable["name"]: variable for variable in variables}


def _conditions(node: ast.expr, scope: dict[str, Record]) -> Iterator[SideCondition]:
    match node:
        case ast.Call(func=ast.Name(id="Sum" | "Integral" as kind), args=[term, *limits]):
            for limit in reversed(limits):
                name, low, high = limit_of(limit)
                for end in (low, high):
                    if not is_infinite(end):
                        yield from _conditions(end, scope)
                own = name
                while own in scope:
                    own += "_"
                ends = [None if is_infinite(end) else ast.unparse(end) for end in (low, high)]
                is_open = [end is None or kind == "Integral" for end in ends]
                record = {"name": own, "lower": ends[0], "lower_open": is_open[0]}
                record |= {"upper": ends[1], "upper_open": is_open[1]}
                scope = {**scope, own: record | ({"integer": True} if kind == "Sum" else {})}
                term = _renamed(term, name, own)
            yield from _conditions(term, scope)
            return
        case ast.BinOp(op=ast.Div(), right=right):
            yield SideCondition(ast.unparse(right), "!=", scope)
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            yield from _of_power(base, exponent, scope)
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _OF_FUNCTIONS:
            yield SideCondition(ast.unparse(inner), _OF_FUNCTIONS[name], scope)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not isinstance(child, ast.Name | ast.Constant):
            yield from _conditions(child, scope)


_OF_FUNCTIONS: dict[str, Relation] = {"log": "<", "sqrt": "<=", "factorial": "<=", "coth": "!="}
"""How 0 must stand to the argument."""


def _of_power(base: ast.expr, exponent: ast.expr, scope: dict[str, Record]) -> Iterator[SideCondition]:
    """A base must be positive; not negative for positive exponents; for whole exponents at most it must not be 0."""
    span = range_of(exponent, scope)
    rises = span.low is not None and (span.low > 0 or (span.low == 0 and span.low_open))
    text = ast.unparse(base)
    if _is_whole(exponent, scope):
        if not (span.low is not None and span.low >= 0):
            yield SideCondition(text, "!=", scope)
    else:
        yield SideCondition(text, "<=" if rises else "<", scope)


def _is_whole(node: ast.expr, scope: Mapping[str, Record]) -> bool:
    """Whether an expression only has whole values, as its form shows."""
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.Name(id=name):
            v = scope.get(name, {})
            fixed = v.get("lower") is not None and v.get("lower") == v.get("upper")
            return bool(v.get("integer")) or (fixed and _is_whole(parsed(v["lower"]), scope))
        case ast.UnaryOp(operand=inner):
            return _is_whole(inner, scope)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _is_whole(left, scope) and _is_whole(right, scope)
        case ast.Call(func=ast.Name(id="Abs" | "Max" | "Min"), args=args):
            return all(_is_whole(one, scope) for one in args)
        case ast.Call(func=ast.Name(id="floor" | "ceiling" | "Ceil" | "binomial" | "factorial")):
            return True
    return False


def _renamed(node: ast.expr, name: str, own: str) -> ast.expr:
    """The expression with another name in the place of one, but not within sums and integrals over that name."""

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.copy_location(ast.Name(own, node.ctx), node) if node.id == name else node

    return node if own == name else Rename().visit(ast.parse(ast.unparse(node), mode="eval").body)


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


def _is_plain(condition: SideCondition) -> bool:
    """Whether the range of its expression shows a condition, or its value if it is a number."""
    node = parsed(condition.text)
    if _has_sign(node, condition.relation, condition.variables):
        return True
    try:
        begin()
        low, high = value_of(node, {})
    except (RefusedError, ArithmeticError):  # it has variables, or no value
        return False
    return low > 0 or (condition.relation == "<=" and low >= 0) or (condition.relation == "!=" and high < 0)


def _has_sign(node: ast.expr, relation: str, scope: Mapping[str, Record]) -> bool:
    span = range_of(node, scope)
    if relation == "<=":
        return span.is_at_least_0()
    if span.is_positive() or (relation == "!=" and span.negative().is_positive()):
        return True
    match node:  # a product is not 0 if no factor is; nor is a power or a quotient
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right) if relation == "!=":
            return _has_sign(left, "!=", scope) and _has_sign(right, "!=", scope)
        case ast.BinOp(left=left, op=ast.Pow()) | ast.UnaryOp(operand=left) if relation == "!=":
            return _has_sign(left, "!=", scope)
    return False


def range_of(node: ast.expr, scope: Mapping[str, Record]) -> Range:
    """A range of the expression, from the numbers that bound its variables."""
    match node:
        case ast.Constant(value=int(number)):
            return Range(Fraction(number), low_open=False, high=Fraction(number), high_open=False)
        case ast.Name(id=name) if name in scope:
            return _range_of_variable(scope[name], scope)
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


def _range_of_variable(variable: Record, scope: Mapping[str, Record]) -> Range:
    low, low_open, high, high_open = None, True, None, True
    if variable["lower"] is not None:
        low, below, *_ = range_of(parsed(variable["lower"]), scope)
        low_open = variable["lower_open"] or below
    if variable["upper"] is not None:
        _, _, high, above = range_of(parsed(variable["upper"]), scope)
        high_open = variable["upper_open"] or above
    if variable.get("integer"):  # the next whole number inside
        if low is not None:
            low, low_open = Fraction(math.floor(low) + 1 if low_open else math.ceil(low)), False
        if high is not None:
            high, high_open = Fraction(math.ceil(high) - 1 if high_open else math.floor(high)), False
    if "exp_of" in variable and (low is None or low < 0):
        low, low_open = Fraction(0), True
    return Range(low, low_open, high, high_open)


def _range_of_power(base: Range, exponent: ast.expr, scope: Mapping[str, Record]) -> Range:
    match exponent:
        case ast.Constant(value=int(power)) if 0 < power < 100:
            if power % 2 == 0 and not base.is_at_least_0():
                base = base.negative() if base.negative().is_at_least_0() else _AT_LEAST_0
            found = base
            for _ in range(power - 1):
                found = found * base
            return found
    if base.low is not None and base.low >= 1 and range_of(exponent, scope).is_at_least_0():
        return Range(Fraction(1), low_open=False)
    return _POSITIVE if base.is_positive() else _AT_LEAST_0 if base.is_at_least_0() else _ANY


def _range_of_function(name: str, inner: list[Range]) -> Range:
    if name == "exp" and inner:  # e**x is at least 1 + x, and at most 1 for x at most 0
        (x,) = inner
        below = Range(1 + x.low, x.low_open or x.low > 0) if x.low is not None and x.low >= 0 else _POSITIVE
        at_most_1 = x.high is not None and x.high <= 0
        return Range(*below[:2], Fraction(1), x.high_open) if at_most_1 and x.high == 0 else below
    if name == "log" and inner and inner[0].low is not None and inner[0].low >= 1:
        return Range(Fraction(0), inner[0].low > 1 or inner[0].low_open)
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
