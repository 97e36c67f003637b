"""Where what was written is defined: no divisor is 0, logarithms are of positive numbers, and roots of numbers that are
not negative, also within sums and integrals.

A file of the independent checker, with the standard library alone. `conditions` lists what must hold, without what the
range of an expression shows (recheck_ranges.py): the rest needs proofs of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ldp_audit.claims import recheck
from ldp_audit.claims.recheck_functions import (
    RATIOS,
    RefusedError,
    begin,
    by,
    derivative,
    generator,
    is_number,
    minus,
    plus,
    require,
)
from ldp_audit.claims.recheck_ranges import Range, range_of, range_of_variable
from ldp_audit.claims.recheck_values import is_infinite, limit_of, parsed, value_of

Record = Mapping[str, Any]
"""A part of a report, or a variable of it."""


Relation = Literal["!=", "<", "<="]


class SideCondition(NamedTuple):
    """An expression that must not be 0 ("!="), must be positive ("<"), or must not be negative ("<=").

    variables: by name, among them those of the sums and integrals around it.
    given: relations of expressions; the condition is only needed where they hold.
    """

    text: str
    relation: Relation
    variables: dict[str, Record]
    given: tuple[tuple[str, str, str], ...] = ()

    def __str__(self) -> str:
        where = " and ".join(" ".join(one) for one in self.given)
        needed = "!= 0" if self.relation == "!=" else "> 0" if self.relation == "<" else ">= 0"
        return f"{self.text} {needed}{f', where {where}' if where else ''}"

    def written(self) -> dict[str, Any]:
        """Both sides, the variables and what is given, as `written` of a part."""
        sides = (self.text, "0") if self.relation == "!=" else ("0", self.text)
        record = {"variables": list(self.variables.values()), "left": sides[0], "right": sides[1]}
        return {**record, "given": [list(one) for one in self.given]} if self.given else record

    def is_shown_by(self, other: SideCondition) -> bool:
        """Whether another one is about the same expression, at least as strong, on the same domain or a larger one."""
        strong = other.relation == self.relation or other.relation == "<"
        return (
            strong and {*other.given} <= {*self.given} and self.text == other.text and self.variables == other.variables
        )


def as_condition(s: Record) -> SideCondition:
    """The condition that a part states, as it was written."""
    source, relation = s["written"], s["relation"]
    sides = source["left"], source["right"]
    zero = sides[1] if relation == "!=" else sides[0]
    require(s["quantifier"] == "for all" and zero == "0" and relation in ("!=", "<", "<="), "a part that shows nothing")
    text = sides[0] if relation == "!=" else sides[1]
    return SideCondition(text, relation, _scope(source["variables"]), _given(source))


def conditions(s: Record) -> list[SideCondition]:
    """What must hold so that the sides as written, and their variables' bounds, are defined on the whole domain.

    Without what the ranges of the expressions show. The sides need to be defined only where what is given holds.
    """
    source = s.get("written", s)
    scope, given = _scope(source["variables"]), _given(source)
    everywhere = [
        text for v in scope.values() for text in (v["lower"], v["upper"], v.get("exp_of")) if text is not None
    ]
    everywhere += [side for one in given for side in (one[0], one[2])]
    found: dict[str, SideCondition] = {}
    for texts, under in (([source["left"], source["right"]], given), (everywhere, ())):
        for condition in (one for text in texts for one in _conditions(parsed(text), scope)):
            key = repr(condition)  # sums over an index of one name may have other ends
            if key not in found and not _is_plain(condition):
                found[key] = condition._replace(given=under)
    return list(found.values())


def _given(source: Record) -> tuple[tuple[str, str, str], ...]:
    return tuple((left, relation, right) for left, relation, right in source.get("given", ()))


def _scope(variables: list[Record]) -> dict[str, Record]:
    return {variable["name"]: variable for variable in variables}


def _ranges(scope: Mapping[str, Record]) -> dict[str, Range]:
    """The range of each variable; one that comes before those in its ends has none there."""
    found: dict[str, Range] = {}
    for name, v in scope.items():
        lower, upper = ((None if v[end] is None else parsed(v[end]), v[f"{end}_open"]) for end in ("lower", "upper"))
        options = {"integer": bool(v.get("integer")), "exponential": "exp_of" in v}
        found[name] = range_of_variable(lower, upper, found, **options)
    return found


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
    span = range_of(exponent, _ranges(scope))
    rises = span.low is not None and (span.low > 0 or (span.low == 0 and span.low_open))
    text = ast.unparse(base)
    if _is_whole(exponent, scope):
        if not (span.is_at_least_0() or _is_never_negative(exponent, scope)):
            yield SideCondition(text, "!=", scope)
    else:
        yield SideCondition(text, "<=" if rises else "<", scope)


def _is_never_negative(node: ast.expr, scope: Mapping[str, Record]) -> bool:
    """Whether an expression that is linear in each variable is at least 0 at their ends, as n - j is for j <= n."""
    env = {name: generator(name) for name in scope}
    try:
        begin()
        least = recheck.evaluate(node, env, RATIOS)
        for name in reversed([*scope]):
            slope = derivative(least, name, {})
            if not slope[0]:
                continue
            require(is_number(slope), "not linear")
            rises = Fraction(slope[0][()]) / slope[1][()] > 0
            end = require(scope[name]["lower" if rises else "upper"], "no end")
            least = plus(minus(least, by(slope, env[name])), by(slope, recheck.evaluate(end, env, RATIOS)))
    except RefusedError:
        return False
    return is_number(least) and Fraction(least[0].get((), 0)) / least[1][()] >= 0


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


def _is_plain(condition: SideCondition) -> bool:
    """Whether the range of its expression shows a condition, or its value if it is a number."""
    node = parsed(condition.text)
    if _has_sign(node, condition.relation, _ranges(condition.variables)):
        return True
    try:
        begin()
        low, high = value_of(node, {})
    except (RefusedError, ArithmeticError):  # it has variables, or no value
        return False
    return low > 0 or (condition.relation == "<=" and low >= 0) or (condition.relation == "!=" and high < 0)


def _has_sign(node: ast.expr, relation: str, scope: Mapping[str, Range]) -> bool:
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
