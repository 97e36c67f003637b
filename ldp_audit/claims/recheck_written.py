"""What was written, held against what was proved: a file of the independent checker, with the standard library alone.

Before a statement is proved it is rewritten: exponentials of one exponent become powers of one variable, sums and
integrals get closed forms, square roots become variables. A proof is about the result. So a part of a report also has
its two sides as they were written, with the variables that these contain, and the checker asks of them

* that they are defined wherever their variables may be (recheck_defined.py), with proofs among the part's `defined`;
* that they agree with the verdict at `POINTS` points of their domain, its corners and whole numbers first: what is
  proved must not fail, and what is refuted must not hold. Sides that are the same rational functions of the proof's
  variables, with each exponential as a power of one of them, are the same everywhere (`identical`).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

from ldp_audit.claims import recheck
from ldp_audit.claims.recheck_defined import Record, as_condition, conditions
from ldp_audit.claims.recheck_functions import (
    INTERVALS,
    Interval,
    Ratio,
    RefusedError,
    begin,
    by,
    constant,
    generator,
    hull,
    minus,
    negative,
    over,
    plus,
    require,
    same,
)
from ldp_audit.claims.recheck_values import Env, parsed, value_of

POINTS = 40
"""The most points at which a rewritten statement is compared."""
_TRIED, _FEW = 200, 6
"""Candidates for them, as some lie outside of the domain or are too close to call; where there are integrals or
infinite sums, fewer: each of their values is made of hundreds."""
_CLOSE = Fraction(1, 50)
"""Sides whose intervals overlap count as compared where these are narrower than this, beside their size or 1."""


def verified(s: Record) -> str:
    """The verdict of a part by its evidence (`recheck.part`), if what was written is defined and agrees with it.

    Raises RefusedError otherwise.
    """
    verdict = agreeing(s)
    if verdict != "UNDECIDED":
        require_defined(s)
    return verdict


def require_defined(s: Record) -> None:
    """RefusedError unless what was written is defined on its whole domain, by ranges and by the proofs beside it."""
    proofs = [(as_condition(one), _shown(one)) for one in s.get("defined", ())]
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
    domain, evidence = _domain(s["written"]["variables"]), s["evidence"]
    if (verdict == "REFUTED") == (s["quantifier"] == "there is"):
        yield from points(domain, {s["constant"]: evidence["constant"]} if s.get("constant") else {})
    elif evidence["kind"] in ("counterexample", "example"):
        free = {name for name, v in domain.items() if v.is_free}
        single = {
            name: v.lower for name, v in domain.items() if v.is_free and v.lower is not None and v.lower == v.upper
        }
        known = {**single, **evidence["point"], **evidence.get("written", {})}
        given = {name: known[name] for name in free & known.keys()}
        if given.keys() == free:
            point: dict[str, Interval] = {}
            for name, v in domain.items():
                value = value_of(given[name], point) if v.is_free else _linked(v, point)
                require(_lies_inside(v, value, point) is not False, f"{name} leaves the domain that was written")
                point[name] = value
            holding = [_premise(one, point) for one in s["written"].get("given", ())]
            require(False not in holding, "what was given does not hold at the point")
            yield point


def _premise(given: Sequence[str], point: Env) -> bool | None:
    """Whether a relation that was given holds at a point; None where that is not decided."""
    left, relation, right = given
    return _compared(value_of(left, point), relation, value_of(right, point))


def _domain(variables: Sequence[Record]) -> recheck.Domain:
    """The variables by name; their bounds may have functions that no proof has."""
    flags = ("lower_open", "upper_open")
    return {
        v["name"]: recheck.DomainVariable(
            v["name"],
            v["lower"],
            v["upper"],
            **{flag: v[flag] for flag in flags},
            integer=v.get("integer", False),
            exp_of=v.get("exp_of"),
            log_of=v.get("log_of"),
        )
        for v in variables
    }


def _agrees(s: Record, point: Env, *, expected: bool) -> bool | None:
    """Whether the relation between the written sides is as expected at a point; None where that is not decided, and
    where what was given may not hold."""
    try:
        begin()
        if not all(_premise(one, point) for one in s["written"].get("given", ())):
            return None
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


def points(domain: recheck.Domain, fixed: Mapping[str, str]) -> Iterator[dict[str, Interval]]:
    """Points that certainly lie in the domain: first the corner at which every free variable has its first choice
    (`_choices`), then those with one variable elsewhere, then mixed ones.   fixed: the values of some variables."""
    free = [
        name
        for name, v in domain.items()
        if v.is_free and name not in fixed and (v.lower is None or v.lower != v.upper)
    ]
    first = dict.fromkeys(free, 0)
    ranks = [first, *({**first, name: rank} for rank in range(1, 9) for name in free)]
    state = 1
    while len(ranks) < _TRIED and free:
        mixed = {}
        for name in free:
            state = state * 6364136223846793005 + 1442695040888963407 & 2**64 - 1  # Knuth's linear congruences
            mixed[name] = (state >> 33) % 40
        ranks.append(mixed)
    seen = set()
    for rank in ranks[:_TRIED]:
        point = _point(domain, fixed, rank)
        if point is not None and (key := tuple(point.values())) not in seen:
            seen.add(key)
            yield point


def _point(domain: recheck.Domain, fixed: Mapping[str, str], ranks: Mapping[str, int]) -> dict[str, Interval] | None:
    point: dict[str, Interval] = {}
    begin()
    try:
        for name, v in domain.items():
            if name in ranks:
                choices = _choices(v, point)
                if not choices:
                    return None
                point[name] = hull(choices[ranks[name] % len(choices)])
                continue
            if v.is_free and name not in fixed:  # its two ends are one number, which need not be rational
                point[name] = value_of(v.lower, point)  # type: ignore[arg-type]
                continue
            value = value_of(fixed[name], {}) if name in fixed else _linked(v, point)
            if not _lies_inside(v, value, point):
                return None
            point[name] = value
    except (RefusedError, ArithmeticError):
        return None
    return point


def _linked(v: recheck.DomainVariable, env: Env) -> Interval:
    return INTERVALS[v.function](value_of(v.argument, env))


def _lies_inside(v: recheck.DomainVariable, value: Interval, env: Env) -> bool | None:
    """Whether the value is in the variable's domain; None where that is not decided."""
    if v.integer and not (value[0] == value[1] and value[0].denominator == 1):
        return False
    own = {**env, v.name: value}
    outcomes = [_compared(value_of(left, own), relation, value_of(right, own)) for left, relation, right in v.ends()]
    return False if False in outcomes else None if None in outcomes else True


def _choices(v: recheck.DomainVariable, env: Env) -> list[Fraction]:
    """Values of a variable, given those before it: the ends that belong to its domain, whole numbers, fractions."""
    low, high = (None if end is None else value_of(end, env) for end in (v.lower, v.upper))
    if low is not None and high is not None:
        width = high[1] - low[0]
        whole = [Fraction(math.ceil(low[1]) + place) for place in range(min(8, max(0, math.floor(width) + 1)))]
        parts = [Fraction(part) for part in ("1/2", "1/7", "1/100", "99/100")] + [Fraction(k, 29) for k in range(1, 29)]
        found = [low[0], high[1], *whole, Fraction(math.floor(high[0])), *(low[0] + width * part for part in parts)]
    elif low is not None or high is not None:
        end, way = (low[1], 1) if low is not None else (high[0], -1)  # type: ignore[index]
        first = math.ceil(end) if way == 1 else math.floor(end)
        whole = [Fraction(first + way * place) for place in (0, 1, 2, 3, 4, 9, 17)]
        parts = [Fraction(1, 2), Fraction(1, 1000), *(Fraction(k**3, 700) for k in range(1, 32))]
        found = [end, *whole, *(end + way * part for part in parts)]
    else:
        found = [Fraction(part) for part in (0, 1, -1, 2, -2, 9)] + [Fraction(k**3, 700) for k in range(-20, 21)]
    if v.integer:
        found = [Fraction(round(one)) for one in found]
    above, below = ("<" if is_open else "<=" for is_open in (v.lower_open, v.upper_open))
    return [
        one
        for one in dict.fromkeys(found)
        if (low is None or _compared(low, above, hull(one)) is True)
        and (high is None or _compared(hull(one), below, high) is True)
    ]


def identical(s: Record) -> bool:
    """Whether both sides are the written ones, with exponentials as products of powers of the proof's variables."""
    links = {v["name"]: v["exp_of"] for v in s["written"]["variables"] if "exp_of" in v}
    proof = {v["name"] for v in s["variables"]}
    try:
        begin()
        exponents = {name: _rational(parsed(text), {}, {}) for name, text in links.items()}
        letters = {name: exponents[name] for name in exponents if name in proof}
        others = {name: _as_power(exponents[name], letters) for name in exponents if name not in proof}
        pairs = [
            (_rational(parsed(before), others, letters), _rational(parsed(after), others, letters))
            for before, after in zip(_all_sides(s["written"]), _all_sides(s), strict=True)
        ]
        return all(same(written, proved) for written, proved in pairs)
    except (RefusedError, ArithmeticError, ValueError):
        return False


def _all_sides(s: Record) -> list[str]:
    return [s["left"], s["right"], *(side for one in s.get("given", ()) for side in (one[0], one[2]))]


def _rational(node: ast.expr, known: Mapping[str, Ratio], letters: Mapping[str, Ratio]) -> Ratio:
    """An expression as a quotient of polynomials.

    known: what some names are.   letters: the exponents of the names that stand for exponentials.
    """

    def of(inner: ast.expr) -> Ratio:
        return _rational(inner, known, letters)

    match node:
        case ast.Constant(value=int(number)):
            return constant(number)
        case ast.Name(id=name):
            return known.get(name) or generator(name)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return negative(of(inner))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            exponent, top = value_of(right, {})
            require(exponent == top and exponent.denominator == 1 and abs(exponent) < 200, "a power of another kind")
            return recheck.power(of(left), exponent, recheck.RATIOS)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            return _OPERATIONS[type(op)](of(left), of(right))
        case ast.Call(func=ast.Name(id="exp"), args=[inner]):
            return _as_power(of(inner), letters)
        case ast.Call(func=ast.Name(id="cosh" | "sinh" | "tanh" | "coth" as name), args=[inner]):
            one, back = (_as_power(exponent, letters) for exponent in (of(inner), negative(of(inner))))
            twice_cosh, twice_sinh = plus(one, back), minus(one, back)
            if name in ("tanh", "coth"):
                return over(twice_sinh, twice_cosh) if name == "tanh" else over(twice_cosh, twice_sinh)
            return over(twice_cosh if name == "cosh" else twice_sinh, constant(2))
    raise RefusedError("not a rational function of exponentials")


_OPERATIONS = {ast.Add: plus, ast.Sub: minus, ast.Mult: by, ast.Div: over}


def _as_power(exponent: Ratio, letters: Mapping[str, Ratio]) -> Ratio:
    """e**exponent, as a product of whole powers of letters."""
    top, bottom = exponent
    found = constant(1)
    for monomial, coefficient in top.items():
        term = {monomial: coefficient}, bottom
        powers = ((name, recheck.multiple(term, own)) for name, own in letters.items())
        name, times = require(
            next((one for one in powers if one[1]), None), "an exponential that is no power of another"
        )
        found = by(found, recheck.power(generator(name), Fraction(times), recheck.RATIOS))
    return found
