"""What was written, held against what was proved: a file of the independent checker, with the standard library alone.

Before a statement is proved it is rewritten: exponentials of one exponent become powers of one variable, sums and integrals
get closed forms, square roots become variables. A proof is about the result. So a part of a report also has its two
sides as they were written, with the variables that these contain, and the checker asks of them

* that they are defined wherever their variables may be: every divisor is not 0, every logarithm is of a positive number,
  every root of one that is not negative, also within sums and integrals. The range of an expression shows most of that
  (`_range`); the rest needs a proof of its own, among the part's `defined`;
* that they agree with the verdict at `POINTS` points of their domain, its corners and whole numbers first: what is
  proved must not fail, and what is refuted must not hold. Sides that are the same rational functions of the proof's
  variables, with each exponential as a power of one of them, are the same everywhere (`_identical`).

Values are intervals that contain the exact one. Only infinite sums and integrals are estimated: an error there can
refuse a report, and verify none that would be refused otherwise.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from ldp_audit.claims import recheck
from ldp_audit.claims.recheck_functions import INTERVALS, Interval, RefusedError, begin, hull, require

Env = Mapping[str, Interval]
Record = Mapping[str, Any]
"""A part of a report, or a variable of it."""

POINTS = 40
"""The most points at which a rewritten statement is compared."""
_TRIED, _FEW = 200, 12
"""Candidates for them, as some lie outside of the domain or are too close to call; where there are integrals or infinite
sums, fewer: each of their values is made of hundreds."""
_CLOSE = Fraction(1, 50)
"""Sides whose intervals overlap count as compared where these are narrower than this, beside their size or 1."""
_TERMS, _CELLS, _PANELS = 300, 200, 4
"""The most terms of a sum; the cells of an integral; the panels in a piece of length 1 of an infinite one."""


def verified(s: Record) -> str:
    """The verdict of a part by its evidence (`recheck.part`), if what was written is defined and agrees with it.

    Raises RefusedError otherwise.
    """
    verdict = agreeing(s)
    if verdict != "UNDECIDED":
        require_defined(s)
    return verdict


def require_defined(s: Record) -> None:
    """Raise RefusedError unless what was written is defined on its whole domain, by its ranges and the proofs beside it."""
    proofs = [(_as_condition(one), _shown(one)) for one in s.get("defined", ())]
    for condition in conditions(s):
        shown = any(outcome == "PROVED" and condition.is_shown_by(one) for one, outcome in proofs)
        require(shown, f"nothing shows that {condition} wherever it was written")


def agreeing(s: Record) -> str:
    """The verdict of a part by its evidence, if what was written agrees with it. Raises RefusedError otherwise."""
    verdict = recheck.part(dict(s))
    found = comparison(s, verdict)
    require(s.get("compared") == found, "what was written was not compared as it says")
    return verdict


def _shown(s: Record) -> str:
    """The verdict on a condition; it need not be compared if its sides are those of its proof."""
    return recheck.part(dict(s)) if "compared" not in s and identical(s) else agreeing(s)


def comparison(s: Record, verdict: str) -> dict[str, Any] | None:
    """At how many points the statement as written agrees with the verdict, and whether it is shown to be the same.

    None where nothing was rewritten. Raises RefusedError for a point at which it certainly does not agree.
    """
    if "written" not in s or verdict == "UNDECIDED":
        return None
    compared = 0
    hard = any(word in s["written"][side] for word in ("Integral", "oo") for side in ("left", "right"))
    for point in islice(_points_of(s, verdict), _FEW if hard else _TRIED):
        outcome = _agrees(s, point, expected=verdict == "PROVED")
        if outcome is False:
            where = ", ".join(f"{name} = {_short(value)}" for name, value in point.items())
            raise RefusedError(f"{verdict}, but what was written says otherwise at {where}")
        compared += outcome is True
        if compared == POINTS:
            break
    return {"points": compared, "identical": identical(s)}


def _short(value: Interval) -> str:
    return str(value[0]) if value[0] == value[1] else f"{Decimal(value[0].numerator) / value[0].denominator:.6g}"


def _points_of(s: Record, verdict: str) -> Iterator[dict[str, Interval]]:
    """Where the written statement must be as the verdict says: at the point of the evidence, or everywhere."""
    variables, evidence = _scope(s["written"]["variables"]), s["evidence"]
    if (verdict == "REFUTED") == (s["quantifier"] == "there is"):
        constant = s.get("constant")
        fixed = {constant: evidence["constant"]} if constant else {}
        yield from points(variables, fixed)
    elif evidence["kind"] in ("counterexample", "example"):
        given = {name: evidence["point"][name] for name in evidence["point"] if name in variables}
        given |= evidence.get("written", {})
        free = {name for name, variable in variables.items() if recheck.link(dict(variable)) is None}
        if given.keys() == free:
            point: dict[str, Interval] = {}
            for name, variable in variables.items():
                value = value_of(given[name], {}) if name in given else _linked(variable, point)
                require(_lies_inside(variable, value, point) is not False, f"{name} leaves the domain that was written")
                point[name] = value
            yield point


def _agrees(s: Record, point: Env, *, expected: bool) -> bool | None:
    """Whether the relation between the written sides is as expected at a point; None where that is not decided."""
    try:
        begin()
        left, right = (value_of(s["written"][side], point) for side in ("left", "right"))
    except (RefusedError, ArithmeticError):
        return None
    if (truth := _compared(left, s["relation"], right)) is not None:
        return truth == expected
    size = max(1, *map(abs, (*left, *right)))
    return True if max(left[1] - left[0], right[1] - right[0]) < _CLOSE * size else None


def _compared(a: Interval, relation: str, b: Interval) -> bool | None:
    """Whether a RELATION b for all values of the two intervals; None where some differ in that."""
    if (a[0] == a[1] and b[0] == b[1]) or a[1] < b[0] or b[1] < a[0]:
        return recheck.RELATIONS[relation](a[0], b[0])
    return True if relation == "<=" and a[1] <= b[0] else False if relation == "<" and b[1] <= a[0] else None


# -- Values at a point -----------------------------------------------------------------------------------------------


def value_of(text: str | ast.expr, env: Env) -> Interval:
    """An interval around the value of an expression; RefusedError where there is none, or none that is known."""
    node = _parsed(text) if isinstance(text, str) else text
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
def _parsed(text: str) -> ast.expr:
    require(isinstance(text, str) and text.isascii() and "#" not in text, "an expression is no plain text")
    return ast.parse(text, mode="eval").body


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _power(base: Interval, exponent: Interval) -> Interval:
    if exponent[0] == exponent[1] and abs(exponent[0]) < 10**5:
        return recheck.power(base, exponent[0], INTERVALS)
    return _exp(INTERVALS[ast.Mult](exponent, INTERVALS["log"](base)))


def _exp(a: Interval) -> Interval:
    return INTERVALS["exp"](a) if any(a) else (Fraction(1), Fraction(1))


def _ratio_of_exponentials(sign_above: int, sign_below: int) -> Callable[[Interval], Interval]:
    """(e**a + sign_above e**-a) / (e**a + sign_below e**-a), which is monotone where a does not change its sign."""

    def found(a: Interval) -> Interval:
        square = _exp(INTERVALS[ast.Mult](a, hull(Fraction(2))))
        above, below = (INTERVALS[ast.Add](square, hull(Fraction(sign))) for sign in (sign_above, sign_below))
        return INTERVALS[ast.Div](above, below)

    return found


def _half_sum(sign: int) -> Callable[[Interval], Interval]:
    def found(a: Interval) -> Interval:
        back = INTERVALS[ast.Mult](_exp(_negative(a)), hull(Fraction(sign)))
        return INTERVALS[ast.Mult](INTERVALS[ast.Add](_exp(a), back), hull(Fraction(1, 2)))

    return found


def _whole(a: Interval) -> int:
    require(a[0] == a[1] and a[0].denominator == 1 and abs(a[0]) < 10**4, "not a moderate whole number")
    return int(a[0])


def _binomial(n: Interval, k: Interval) -> Interval:
    top, chosen = _whole(n), _whole(k)
    require(top >= 0, "a binomial coefficient of a negative number")
    return hull(Fraction(math.comb(top, chosen) if chosen >= 0 else 0))


_FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "exp": _exp,
    "cosh": _half_sum(1),
    "sinh": _half_sum(-1),
    "tanh": _ratio_of_exponentials(-1, 1),
    "coth": _ratio_of_exponentials(1, -1),
    "floor": lambda a: (Fraction(math.floor(a[0])), Fraction(math.floor(a[1]))),
    "ceiling": lambda a: (Fraction(math.ceil(a[0])), Fraction(math.ceil(a[1]))),
    "sign": lambda a: hull(*(Fraction((end > 0) - (end < 0)) for end in a)),
    "factorial": lambda a: hull(Fraction(math.factorial(_whole(a)))),
    "binomial": _binomial,
}
"""Functions that only occur in what was written, and exp, whose value at 0 is exact here."""


def _added(term: ast.expr, limits: list[ast.expr], env: Env) -> Interval:
    """A sum, the last limit first; an infinite one until its terms are negligible."""
    if not limits:
        return value_of(term, env)
    *inner, limit = limits
    name, low, high = _limit(limit)

    def at(index: int) -> Interval:
        return _added(term, inner, {**env, name: hull(Fraction(index))})

    if not (_is_infinite(low) or _is_infinite(high)):
        first, last = _whole(value_of(low, env)), _whole(value_of(high, env))
        require(-1 <= last - first < _TERMS, "a sum of too many terms, or of fewer than none")
        return _total(at(index) for index in range(first, last + 1))
    sides: list[Interval] = []
    start = 0 if _is_infinite(low) and _is_infinite(high) else _whole(value_of(high if _is_infinite(low) else low, env))
    for step, wanted in ((1, _is_infinite(high)), (-1, _is_infinite(low))):
        if wanted:
            begins = start - 1 if step == -1 and _is_infinite(high) else start
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
    Simpson's rule on pieces of length 1 until they are negligible, give or take what trapezoids give otherwise."""
    name, low, high = _limit(limit)
    if _is_infinite(low) and _is_infinite(high):
        zero = ast.Constant(0)
        halves = (ast.Tuple([ast.Name(name), low, zero]), ast.Tuple([ast.Name(name), zero, high]))
        return _total(_integrated(term, half, env) for half in halves)

    def at(value: Interval) -> Interval:
        return value_of(term, {**env, name: value})

    def piece(begins: Fraction) -> Interval:
        heights = [at(hull(begins + Fraction(place, 2 * _PANELS))) for place in range(2 * _PANELS + 1)]
        middle, ends, rest = _total(heights[1::2]), _total([heights[0], heights[-1]]), _total(heights[2:-1:2])
        simpson, trapezoids = (
            sum((weight * part[0] for weight, part in zip(weights, (ends, middle, rest), strict=True)), Fraction(0))
            / (6 * _PANELS)
            for weights in ((1, 4, 2), (Fraction(3, 2), 3, 3))
        )
        return simpson - abs(simpson - trapezoids), simpson + abs(simpson - trapezoids)

    if _is_infinite(high) or _is_infinite(low):
        way, end = (1, value_of(low, env)) if _is_infinite(high) else (-1, value_of(high, env))
        begins = end[0] if way == 1 else end[0] - 1
        pieces = (piece(begins + way * place) for place in range(_TERMS))
        return _until_negligible(pieces, Fraction(1, 10**6), Fraction(1, 200))
    first, last = (value_of(end, env) for end in (low, high))
    step = (last[1] - first[0]) / _CELLS
    edges = [first[0] + step * place for place in range(_CELLS + 1)]
    return _total(INTERVALS[ast.Mult](hull(step), at((one, one + step))) for one in edges[:-1])


def _limit(limit: ast.expr) -> tuple[str, ast.expr, ast.expr]:
    match limit:
        case ast.Tuple(elts=[ast.Name(id=name), low, high]):
            return name, low, high
    raise RefusedError("a sum or an integral without its two ends")


def _is_infinite(node: ast.expr) -> bool:
    bare = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(bare, ast.Name) and bare.id == "oo"


# -- Points of a domain ----------------------------------------------------------------------------------------------


def points(variables: Mapping[str, Record], fixed: Mapping[str, str]) -> Iterator[dict[str, Interval]]:
    """Points that certainly lie in the domain: first the corner at which every variable has its first
    choice (`_choices`), then those with one variable elsewhere, then mixed ones."""
    free = [name for name, variable in variables.items() if recheck.link(dict(variable)) is None and name not in fixed]
    ranks = [dict.fromkeys(free, 0), *({**dict.fromkeys(free, 0), name: rank} for rank in range(1, 9) for name in free)]
    state = 1
    while len(ranks) < _TRIED and free:
        mixed = {}
        for name in free:
            state = state * 6364136223846793005 + 1442695040888963407 & 2**64 - 1  # Knuth's linear congruences
            mixed[name] = (state >> 33) % 40
        ranks.append(mixed)
    seen = set()
    for rank in ranks[:_TRIED]:
        point = _point(variables, fixed, rank)
        if point is not None and (key := tuple(point.values())) not in seen:
            seen.add(key)
            yield point


def _point(
    variables: Mapping[str, Record], fixed: Mapping[str, str], ranks: Mapping[str, int]
) -> dict[str, Interval] | None:
    point: dict[str, Interval] = {}
    begin()
    try:
        for name, variable in variables.items():
            if name in fixed:
                value = value_of(fixed[name], {})
            elif name in ranks:
                choices = _choices(variable, point)
                if not choices:
                    return None
                value = hull(choices[ranks[name] % len(choices)])
            else:
                value = _linked(variable, point)
            if name not in ranks and not _lies_inside(variable, value, point):
                return None
            point[name] = value
    except (RefusedError, ArithmeticError):
        return None
    return point


def _linked(variable: Record, env: Env) -> Interval:
    function, argument = require(recheck.link(dict(variable)), f"{variable['name']} has no value")
    value = value_of(argument, env)
    return _exp(value) if function == "exp" else INTERVALS["log"](value)


def _lies_inside(variable: Record, value: Interval, env: Env) -> bool | None:
    """Whether the value is in the variable's domain; None where that is not decided."""
    found: bool | None = not variable.get("integer") or (value[0] == value[1] and value[0].denominator == 1)
    for side in ("lower", "upper"):
        if variable[side] is not None and found is not False:
            relation, end = "<" if variable[f"{side}_open"] else "<=", value_of(variable[side], env)
            ordered = _compared(*((end, relation, value) if side == "lower" else (value, relation, end)))
            found = ordered if ordered is not True else found
    return found


def _choices(variable: Record, env: Env) -> list[Fraction]:
    """Values of a variable, given those before it: the ends that belong to its domain, whole numbers, fractions."""
    low, high = (None if variable[side] is None else value_of(variable[side], env) for side in ("lower", "upper"))
    if low is not None and high is not None:
        width = high[1] - low[0]
        whole = [Fraction(math.ceil(low[1]) + place) for place in range(min(8, max(0, math.floor(width) + 1)))]
        parts = [
            Fraction(1, 2),
            Fraction(1, 7),
            Fraction(1, 100),
            Fraction(99, 100),
            *(Fraction(k, 29) for k in range(1, 29)),
        ]
        found = [low[0], high[1], *whole, Fraction(math.floor(high[0])), *(low[0] + width * part for part in parts)]
    elif low is not None or high is not None:
        end, way = (low[1], 1) if low is not None else (high[0], -1)  # type: ignore[index]
        first = math.ceil(end) if way == 1 else math.floor(end)
        whole = [Fraction(first + way * place) for place in (0, 1, 2, 3, 4, 9, 17)]
        parts = [Fraction(1, 2), Fraction(1, 1000), *(Fraction(k**3, 700) for k in range(1, 32))]
        found = [end, *whole, *(end + way * part for part in parts)]
    else:
        found = [Fraction(part) for part in (0, 1, -1, 2, -2, 9)] + [Fraction(k**3, 700) for k in range(-20, 21)]
    if variable.get("integer"):
        found = [Fraction(round(one)) for one in found]
    above, below = ("<" if variable[f"{side}_open"] else "<=" for side in ("lower", "upper"))
    return [
        one
        for one in dict.fromkeys(found)
        if (low is None or _compared(low, above, (one, one)) is True)
        and (high is None or _compared((one, one), below, high) is True)
    ]


# -- Where it is defined ---------------------------------------------------------------------------------------------


class Condition(NamedTuple):
    """An expression that must not be 0 ("!="), must be positive ("<"), or must not be negative ("<=").

    within: the variables of sums and integrals around it, with their ends.   variables: all, by name.
    """

    text: str
    relation: str
    variables: dict[str, Record]

    def __str__(self) -> str:
        return f"{self.text} {'!= 0' if self.relation == '!=' else '> 0' if self.relation == '<' else '>= 0'}"

    def written(self) -> dict[str, Any]:
        """Both sides and the variables, as `written` of a part."""
        sides = (self.text, "0") if self.relation == "!=" else ("0", self.text)
        return {"variables": list(self.variables.values()), "left": sides[0], "right": sides[1]}

    def is_shown_by(self, other: Condition) -> bool:
        """Whether another one is about the same expression, at least as strong, on the same domain."""
        strong = other.relation == self.relation or other.relation == "<"
        return strong and self.text == other.text and self.variables == other.variables


def _as_condition(s: Record) -> Condition:
    """The condition that a part states, as it was written."""
    source, relation = s["written"], s["relation"]
    sides = source["left"], source["right"]
    zero = sides[1] if relation == "!=" else sides[0]
    require(s["quantifier"] == "for all" and zero == "0" and relation in ("!=", "<", "<="), "a part that shows nothing")
    return Condition(sides[0] if relation == "!=" else sides[1], relation, _scope(source["variables"]))


def conditions(s: Record) -> list[Condition]:
    """What must hold so that the sides as written, and their variables' bounds, are defined on the whole domain; without
    what the ranges of the expressions show."""
    source = s.get("written", s)
    scope = _scope(source["variables"])
    texts = [source["left"], source["right"]]
    texts += [text for v in scope.values() for text in (v["lower"], v["upper"], v.get("exp_of")) if text is not None]
    found: dict[tuple[str, ...], Condition] = {}
    for text in texts:
        for condition in _conditions(_parsed(text), scope):
            key = str(condition), *sorted(condition.variables)
            if key not in found and not _is_plain(condition):
                found[key] = condition
    return list(found.values())


def _scope(variables: list[Record]) -> dict[str, Record]:
    return {variable["name"]: variable for variable in variables}


def _conditions(node: ast.expr, scope: dict[str, Record]) -> Iterator[Condition]:
    match node:
        case ast.Call(func=ast.Name(id="Sum" | "Integral" as kind), args=[term, *limits]):
            for limit in reversed(limits):
                name, low, high = _limit(limit)
                for end in (low, high):
                    if not _is_infinite(end):
                        yield from _conditions(end, scope)
                own = name
                while own in scope:
                    own += "_"
                ends = [None if _is_infinite(end) else ast.unparse(end) for end in (low, high)]
                is_open = [end is None or kind == "Integral" for end in ends]
                record = {"name": own, "lower": ends[0], "lower_open": is_open[0]}
                record |= {"upper": ends[1], "upper_open": is_open[1]}
                scope = {**scope, own: record | ({"integer": True} if kind == "Sum" else {})}
                term = _renamed(term, name, own)
            yield from _conditions(term, scope)
            return
        case ast.BinOp(op=ast.Div(), right=right):
            yield Condition(ast.unparse(right), "!=", scope)
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            yield from _of_power(base, exponent, scope)
        case ast.Call(func=ast.Name(id="log"), args=[inner]):
            yield Condition(ast.unparse(inner), "<", scope)
        case ast.Call(func=ast.Name(id="sqrt" | "factorial"), args=[inner]):
            yield Condition(ast.unparse(inner), "<=", scope)
        case ast.Call(func=ast.Name(id="coth"), args=[inner]):
            yield Condition(ast.unparse(inner), "!=", scope)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not isinstance(child, ast.Name | ast.Constant):
            yield from _conditions(child, scope)


def _of_power(base: ast.expr, exponent: ast.expr, scope: dict[str, Record]) -> Iterator[Condition]:
    """A base must be positive; not negative for positive exponents; for whole exponents at most it must not be 0."""
    span = _range(exponent, scope)
    rises = span.low is not None and (span.low > 0 or (span.low == 0 and span.low_open))
    text = ast.unparse(base)
    if _is_whole(exponent, scope):
        if not (span.low is not None and span.low >= 0):
            yield Condition(text, "!=", scope)
    else:
        yield Condition(text, "<=" if rises else "<", scope)


def _is_whole(node: ast.expr, scope: Mapping[str, Record]) -> bool:
    """Whether an expression only has whole values, as its form shows."""
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.Name(id=name):
            v = scope.get(name, {})
            fixed = v.get("lower") is not None and v.get("lower") == v.get("upper")
            return bool(v.get("integer")) or (fixed and _is_whole(_parsed(v["lower"]), scope))
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
        def visit_Name(self, one: ast.Name) -> ast.Name:
            return ast.copy_location(ast.Name(own, one.ctx), one) if one.id == name else one

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
        return Range(low, strict, self.high * other.high, False)

    def inverse(self) -> Range:
        """The range of 1 divided by a positive expression."""
        low = Fraction(0) if self.high is None else 1 / self.high
        high = 1 / self.low if self.low else None
        return Range(low, self.high is None or self.high_open, high, high is None or self.low_open)


_ANY, _AT_LEAST_0, _POSITIVE = Range(), Range(Fraction(0), False), Range(Fraction(0), True)


def _is_plain(condition: Condition) -> bool:
    """Whether the range of its expression shows a condition, or its value if it is a number."""
    node = _parsed(condition.text)
    if _has_sign(node, condition.relation, condition.variables):
        return True
    try:
        begin()
        low, high = value_of(node, {})
    except (RefusedError, ArithmeticError):  # it has variables, or no value
        return False
    return low > 0 or (condition.relation == "<=" and low >= 0) or (condition.relation == "!=" and high < 0)


def _has_sign(node: ast.expr, relation: str, scope: Mapping[str, Record]) -> bool:
    span = _range(node, scope)
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


def _range(node: ast.expr, scope: Mapping[str, Record]) -> Range:
    """A range of the expression, from the numbers that bound its variables."""
    match node:
        case ast.Constant(value=int(number)):
            return Range(Fraction(number), False, Fraction(number), False)
        case ast.Name(id=name) if name in scope:
            return _range_of_variable(scope[name], scope)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _range(inner, scope).negative()
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _range(left, scope) + _range(right, scope)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _range(left, scope) + _range(right, scope).negative()
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _range(left, scope) * _range(right, scope)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            below = _range(right, scope)
            if below.is_positive():
                return _range(left, scope) * below.inverse()
            negative = below.negative()
            return (_range(left, scope) * negative.inverse()).negative() if negative.is_positive() else _ANY
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _range_of_power(_range(left, scope), right, scope)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _range_of_function(name, [_range(one, scope) for one in args if not isinstance(one, ast.Tuple)])
    return _ANY


def _range_of_variable(variable: Record, scope: Mapping[str, Record]) -> Range:
    low, low_open, high, high_open = None, True, None, True
    if variable["lower"] is not None:
        low, below, *_ = _range(_parsed(variable["lower"]), scope)
        low_open = variable["lower_open"] or below
    if variable["upper"] is not None:
        _, _, high, above = _range(_parsed(variable["upper"]), scope)
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
    if base.low is not None and base.low >= 1 and _range(exponent, scope).is_at_least_0():
        return Range(Fraction(1), False)
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
        return Range(Fraction(1), False)
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
        return Range(Fraction(1), False)
    if name == "Pi":
        return Range(Fraction(3), True, Fraction(22, 7), True)
    return _ANY


# -- The same by an identity ------------------------------------------------------------------------------------------


def identical(s: Record) -> bool:
    """Whether both sides are the written ones, with each exponential as a product of powers of the proof's variables."""
    links = {v["name"]: v["exp_of"] for v in s["written"]["variables"] if "exp_of" in v}
    proof = {v["name"] for v in s["variables"]}
    try:
        begin()
        exponents = {name: _rational(_parsed(text), {}) for name, text in links.items()}
        letters = {name: exponents[name] for name in exponents if name in proof}
        others = {name: _as_power(exponents[name], letters) for name in exponents if name not in proof}
        for side in ("left", "right"):
            written, proved = (_rational(_parsed(one[side]), others, letters) for one in (s["written"], s))
            if not recheck.same(written, proved):
                return False
    except (RefusedError, ArithmeticError):
        return False
    return True


def _rational(node: ast.expr, known: Mapping[str, Any], letters: Mapping[str, Any] | None = None) -> Any:
    """An expression as a quotient of polynomials (`recheck.RATIOS`).   known: of some variables.   letters: the exponents
    of the variables that stand for exponentials, if there are any."""
    algebra = recheck.RATIOS

    def of(inner: ast.expr) -> Any:
        return _rational(inner, known, letters)

    match node:
        case ast.Constant(value=int(number)):
            return algebra[int](number)
        case ast.Name(id=name):
            return known[name] if name in known else ({((name, 1),): 1}, {(): 1})
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return algebra[ast.Mult](algebra[int](-1), of(inner))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return algebra[ast.Add](of(left), algebra[ast.Mult](algebra[int](-1), of(right)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            exponent, top = value_of(right, {})
            require(exponent == top and exponent.denominator == 1 and abs(exponent) < 200, "a power of another kind")
            return recheck.power(of(left), exponent, algebra)
        case ast.BinOp(left=left, op=op, right=right):
            return algebra[type(op)](of(left), of(right))
        case ast.Call(func=ast.Name(id="exp"), args=[inner]) if letters is not None:
            return _as_power(of(inner), letters)
        case ast.Call(func=ast.Name(id="cosh" | "sinh" | "tanh" | "coth" as name), args=[inner]) if letters is not None:
            one, back = (_as_power(of(way), letters) for way in (inner, ast.UnaryOp(ast.USub(), inner)))
            back_negative = algebra[ast.Mult](algebra[int](-1), back)
            both, apart = algebra[ast.Add](one, back), algebra[ast.Add](one, back_negative)
            above, below = (apart, both) if name == "tanh" else (both, apart)
            if name in ("tanh", "coth"):
                return algebra[ast.Div](above, below)
            return algebra[ast.Div](both if name == "cosh" else apart, algebra[int](2))
    raise RefusedError("not a rational function of exponentials")


def _as_power(exponent: Any, letters: Mapping[str, Any]) -> Any:
    """e**exponent, as a product of whole powers of letters."""
    top, bottom = exponent
    found = recheck.RATIOS[int](1)
    for monomial, coefficient in top.items():
        term = {monomial: coefficient}, bottom
        powers = ((name, recheck.multiple(term, own)) for name, own in letters.items())
        name, times = require(
            next((one for one in powers if one[1]), None), "an exponential that is no power of another"
        )
        letter = {((name, 1),): 1}, {(): 1}
        found = recheck.RATIOS[ast.Mult](found, recheck.power(letter, Fraction(times), recheck.RATIOS))
    return found
