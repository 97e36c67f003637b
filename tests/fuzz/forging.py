"""Forged parts: honest records of every kind of evidence, damaged where a proof is delicate, for the checker to refuse.

What the checker accepts all the same is evaluated, by code of its own (exact fractions, and balls of flint where there
is an exponential), at many points of the record's domain, corners and whole numbers first. A part is falsely accepted
if a point violates what the checker says, or if a side is not defined at a point of the domain.

`python -m tests.fuzz.forging --count 30000 --seed 0` prints how many were forged, accepted and falsely accepted.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from flint import arb, fmpq
from sympy import Rational, erf, exp, log, oo, pi, sqrt

from ldp_audit.claims import at_most, differ, equal, less, order, recheck, somewhere
from ldp_audit.claims.language.rounding import next_whole, rounded
from ldp_audit.claims.settling import settle
from ldp_audit.mechanisms.variable import Variable

Record = dict[str, Any]
Number = Fraction | arb
Point = dict[str, Number]

POINTS = 150
"""At so many points an accepted part is evaluated."""
EDITS = 3
"""At most so many changes make a forged part of an honest one."""


@cache
def honest() -> tuple[Record, ...]:
    """Settled statements, at least one for each kind of evidence and for each sort of slack."""
    x, y = Variable("x", 0, 1), Variable("y", 0, 1, open="both")
    u, v, w = (Variable(name, 0, oo, open="left") for name in "uvw")
    e, z = Variable("e", 0, oo), Variable("z", -oo, oo)
    t = Variable("t", 1, oo, open="left", exp_of=u)
    n, k = Variable("n", 1, 5, integer=True), Variable("k", 0, oo, integer=True)
    m = Variable("m", 0, n, integer=True)
    K = Variable("K", 0, oo, open="left")
    h = Variable("h", 0, Rational(1, 2))
    above = Variable("a", x, x + 1, open="right")
    statements = [
        equal((x + 1) * (x - 1), x**2 - 1),
        equal(1 / (u + 1) + u / (u + 1), 1),
        at_most(x**2, x),
        at_most(x * y, x),
        less(x * y, 1),
        less(0, 1 / u),
        less(x, above + u),
        at_most(0, (above - x) * (x + 1 - above)),
        differ(u + v, 0),
        at_most((1 - y) / (1 + y), 1),
        at_most(0, (z - 1) ** 2),
        at_most(log(u), u - 1),
        at_most(1 - 1 / v, log(v)),
        less(log(u), u),
        at_most(1 + e, exp(e)),
        less(1, t + u),
        less(t * (1 - u), 1 + u),
        at_most(h * (1 - h), Rational(1, 4)),
        at_most(z * (1 - abs(z)), Rational(1, 4)),
        at_most(2 * z, z**2 + 1),
        at_most(2**n, 32),
        less(Rational(1, 3) ** n, Rational(1, 2)),
        at_most(m * (n - m), 7),
        differ(3 * n, 10),
        at_most(exp(x), 3),
        less(erf(x) + exp(-x), 2),
        differ(exp(x), Rational(1, 2)),
        less(rounded(x, 24), 2),
        less(1 + u + u**2 / 2, exp(u)),
        at_most(log(1 + w), w),
        less(log(1 + w), w),
        at_most(2 * (exp(e) - 1), e * (exp(e) + 1)),
        less(next_whole(u), u + 1),
        at_most(v, next_whole(v)),
        at_most(k + 1, 2**k),
        at_most(k, k**2),
        at_most(3 * u, pi * u),
        at_most(v + sqrt(u * v + 1), 2 * v + sqrt(u * v + 1)),
        at_most(2 * x, 1, given=(less(x, y), at_most(2 * y, 1))),
        at_most(x, Rational(1, 2)),
        less(log(u), u - 1),
        equal(n, 3),
        somewhere(less(x, Rational(1, 2))),
        somewhere(equal(n**2, 16)),
        somewhere(less(x, 0)),
        somewhere(equal(u, -v)),
        somewhere(less(u - 1, log(u))),
        order(x, K, constant=K),
        order(u / (1 + u), K, constant=K),
        order(u, K, constant=K),
        order(1 / u, K * u, constant=K),
        order(n * u, K * n, constant=K),
        less(exp(1), 3),
        equal(Rational(1, 3) + Rational(1, 6), Rational(1, 2)),
        at_most(4, 3),
    ]
    return tuple(json.loads(json.dumps(settle(one).to_dict())) for one in statements)


def kinds(evidence: Any) -> set[str]:
    """All kinds of evidence in a record's evidence."""
    parts = list(evidence.values()) if isinstance(evidence, dict) else evidence if isinstance(evidence, list) else []
    own = {evidence["kind"]} if isinstance(evidence, dict) and "kind" in evidence else set()
    return own.union(*map(kinds, parts))


# --- Forging ---------------------------------------------------------------------------------------------------------


def forged(records: tuple[Record, ...], dice: random.Random) -> Record:
    """An honest record with one to `EDITS` changes."""
    record = copy.deepcopy(dice.choice(records))
    for _ in range(dice.randint(1, EDITS)):
        dice.choices(*zip(*WAYS.items(), strict=True))[0](record, records, dice)
    return record


def _relation(record: Record, _: Any, dice: random.Random) -> None:
    nearest = {"<=": "<", "<": "<=", "==": "<=", "!=": "<"}[record["relation"]]
    record["relation"] = dice.choice([nearest, nearest, "==", "!=", "<", "<="])


def _end(record: Record, _: Any, dice: random.Random) -> None:
    if record["variables"]:
        side = dice.choice(["lower_open", "upper_open"])
        v = dice.choice(record["variables"])
        v[side] = not v[side]


def _bound(record: Record, _: Any, dice: random.Random) -> None:
    if record["variables"]:
        place = dice.randrange(len(record["variables"]))
        v, side = record["variables"][place], dice.choice(["lower", "upper"])
        step = dice.choice(["1", "1/2", "1/100", "-1", "-1/2", "-1/100"])
        earlier = [one["name"] for one in record["variables"][:place]]
        fresh = ["0", "1", "-1", "1/2", "3/2", *earlier, *(f"1/{name}" for name in earlier)]
        moved = f"({v[side]}) + {step}" if v[side] is not None else dice.choice(fresh)
        v[side] = dice.choice([moved, moved, None, dice.choice(fresh)])


def _kind_of_variable(record: Record, _: Any, dice: random.Random) -> None:
    if record["variables"]:
        place = dice.randrange(len(record["variables"]))
        v, earlier = record["variables"][place], [one["name"] for one in record["variables"][:place]]
        link = dice.choice(["exp_of", "log_of"])
        if dice.random() < 0.6 or not earlier:
            v["integer"] = not v.get("integer", False)
        elif link in v:
            v[link] = dice.choice([f"2*({v[link]})", f"-({v[link]})", f"({v[link]}) - 1", f"1/({v[link]})"])
        else:
            v[link] = dice.choice(earlier)


def _side(record: Record, _: Any, dice: random.Random) -> None:
    if dice.random() < 0.15:
        record["left"], record["right"] = record["right"], record["left"]
        return
    side = dice.choice(["left", "right"])
    names = [v["name"] for v in record["variables"]] or ["1"]
    step = dice.choice(["1", "1/2", "1/10**6", dice.choice(names), f"0/{dice.choice(names)}"])
    text = record[side]
    changed = [
        f"({text}) {dice.choice('+-')} {step}",
        f"({text})*{dice.choice(['2', '1/2', '-1'])}",
        _digit(text, dice),
    ]
    record[side] = dice.choice(changed)


def _quantifier(record: Record, _: Any, dice: random.Random) -> None:
    record["quantifier"] = dice.choice(["for all", "there is"])


def _evidence(record: Record, records: tuple[Record, ...], dice: random.Random) -> None:
    """A text, a degree or a number of the evidence becomes another."""
    places = list(_leaves(record["evidence"]))
    if not places:
        return
    parent, key = dice.choice(places)
    value, names = parent[key], [v["name"] for v in record["variables"]]
    if isinstance(value, int):
        parent[key] = value + dice.choice([-2, -1, 1, 2])
        return
    slacks = [end + name for name in names for end in ("lo_", "hi_")] or ["1"]
    texts = [other[k] for other, k in places if isinstance(other[k], str)]
    changed: list[str] = [
        _digit(value, dice),
        re.sub("lo_|hi_", lambda one: {"lo_": "hi_", "hi_": "lo_"}[one[0]], value),
        re.sub(r"\b[a-z]+_?\w*\b", lambda one: dice.choice([one[0], *slacks, *names]), value),
        dice.choice(texts),
        f"({value})*{dice.choice(slacks)}",
        f"({value})/({dice.choice(slacks)})",
        f"({value}) + {dice.choice([*slacks, '1', '1/100'])}",
        f"({value})**2",
        dice.choice(["0", "1", "1/2", "<", "<=", "lower", "upper", *RULE_NAMES]),
    ]
    parent[key] = dice.choice(changed)


def _shape(record: Record, records: tuple[Record, ...], dice: random.Random) -> None:
    """Evidence of another record, or of a part of this one; divisors dropped; a gap that fits by construction."""
    evidence, roll = record["evidence"], dice.random()
    if roll < 0.3:
        record["evidence"] = {**copy.deepcopy(dice.choice(records)["evidence"]), "inside": evidence.get("inside", {})}
    elif roll < 0.5 and "divisors" in evidence:
        evidence["divisors"] = [one for one in evidence["divisors"] if dice.random() < 0.5]
    elif roll < 0.7:
        evidence["taylor"] = dice.choice([0, 1, 3, 2])
    else:
        _fit(record, dice)


def _fit(record: Record, dice: random.Random) -> None:
    """A certificate whose gap is one slack, of a statement that this slack expands to, with any relation."""
    if not record["variables"]:
        return
    v, side = dice.choice(record["variables"]), dice.choice(["lo_", "hi_"])
    ends = {"lo_": (v["lower"], v["name"]), "hi_": (v["name"], v["upper"])}
    if "log_of" in v:
        ends = {"lo_": (f"1 - 1/({v['log_of']})", v["name"]), "hi_": (v["name"], f"({v['log_of']}) - 1")}
    elif "exp_of" in v and dice.random() < 0.7:
        ends = {"lo_": (f"1 + ({v['exp_of']})", v["name"]), "hi_": (f"{v['name']}*(1 - ({v['exp_of']}))", "1")}
        record["evidence"]["taylor"] = 1
    if None not in ends[side]:
        record["left"], record["right"] = ends[side]
        divisors = [f"lo_{one['name']}" for one in record["variables"] if dice.random() < 0.5]
        record["evidence"] |= {"kind": "certificate", "gap": side + v["name"], "divisors": divisors}
        record["quantifier"] = "for all"


Way = Callable[[Record, tuple[Record, ...], random.Random], None]
WAYS: dict[Way, int] = {
    _relation: 4,
    _end: 4,
    _bound: 3,
    _kind_of_variable: 2,
    _side: 3,
    _quantifier: 1,
    _evidence: 4,
    _shape: 4,
}
"""Changes, with how often each is made."""
RULE_NAMES = (*recheck.RULES, "counterexample", "example", "denial", "constant", "escape", "value")


def _digit(text: str, dice: random.Random) -> str:
    """The text with one of its whole numbers changed by 1."""
    found = list(re.finditer(r"(?<![\w.])\d+", text))
    if not found:
        return text
    one = dice.choice(found)
    return f"{text[: one.start()]}{max(0, int(one[0]) + dice.choice([-1, 1]))}{text[one.end() :]}"


def _leaves(node: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, dict | list):
            yield from _leaves(value)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            yield node, key


# --- The truth -------------------------------------------------------------------------------------------------------


class UndefinedError(Exception):
    """The expression has no value at the point."""


def value(text: str | ast.expr, point: Point) -> Number:
    """The value of an expression: a fraction, or a ball around it. UndefinedError where there is none."""
    node = ast.parse(text, mode="eval").body if isinstance(text, str) else text
    if isinstance(node, ast.Constant):
        return Fraction(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return point[node.id]
    if isinstance(node, ast.UnaryOp):
        return -value(node.operand, point)
    if isinstance(node, ast.Call):
        return _function(node.func.id, [value(one, point) for one in node.args])  # type: ignore[attr-defined]
    assert isinstance(node, ast.BinOp)
    a, b = value(node.left, point), value(node.right, point)
    if isinstance(node.op, ast.Pow):
        return _power(a, b)
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        left: Any = a
        right: Any = b
    else:
        left, right = _ball(a), _ball(b)
    if isinstance(node.op, ast.Div):
        if right == 0:
            raise UndefinedError(ast.unparse(node))
        return left / right
    return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[type(node.op)]


def _power(a: Number, b: Number) -> Number:
    assert isinstance(b, Fraction)
    if b.denominator == 1 and abs(b) < 1000:
        if a == 0 and b < 0:
            raise UndefinedError("a power of 0")
        return a ** int(b)
    if a == 0 and b > 0:
        return Fraction(0)
    return _ball(a) ** _ball(b)


def _function(name: str, values: list[Number]) -> Number:
    if all(isinstance(one, Fraction) for one in values):
        known: dict[str, Callable[..., Any]] = {
            "Abs": abs, "Max": max, "Min": min, "Ind": lambda a, b: Fraction(a == b),
            "Ceil": lambda a: Fraction(math.ceil(a)), "Fl": _float,
        }  # fmt: skip
        if name in known:
            return known[name](*values)
        if (name, *values) in {("exp", 0): 1, ("log", 1): 0}:
            return Fraction({"exp": 1, "log": 0}[name])
    balls = [_ball(one) for one in values]
    if name in ("log", "sqrt") and not balls[0] > 0:
        if balls[0] <= 0:
            raise UndefinedError(f"{name} of {values[0]}")
        return arb("nan")
    known = {"exp": arb.exp, "log": arb.log, "erf": arb.erf, "sqrt": arb.sqrt, "Abs": abs, "Pi": arb.pi}
    known |= {"Max": arb.max, "Min": arb.min}
    return known[name](*balls) if name in known else arb("nan")  # an undecided step


def _float(x: Fraction, bits: Fraction) -> Fraction:
    if not x:
        return x
    exponent = math.floor(math.log2(abs(x))) + 1
    exponent += (abs(x) >= Fraction(2) ** exponent) - (abs(x) < Fraction(2) ** (exponent - 1))
    scale = Fraction(2) ** (int(bits) - exponent)
    return round(x * scale) / scale


def _ball(number: Number) -> arb:
    return arb(fmpq(number.numerator, number.denominator)) if isinstance(number, Fraction) else number


def related(a: Number, relation: str, b: Number) -> bool | None:
    """Whether the relation holds; None if the balls leave it open."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return {"==": a == b, "!=": a != b, "<=": a <= b, "<": a < b}[relation]
    gap = _ball(b) - _ball(a)
    if gap > 0:
        return relation != "=="
    if gap < 0:
        return relation == "!="
    return None


def located(record: Record, chosen: Callable[[Record, Point], Fraction | None], strange: list[str]) -> Point | None:
    """A point of the domain; None if the choice leaves it, or if balls leave that open.

    strange: gets the names of variables whose domain or link is not defined, at values of earlier ones in theirs.
    """
    point: Point = {}
    for v in record["variables"]:
        try:
            if "exp_of" in v or "log_of" in v:
                function, text = ("exp", v["exp_of"]) if "exp_of" in v else ("log", v["log_of"])
                here: Number | None = _function(function, [value(text, point)])
            else:
                here = chosen(v, point)
            if here is None:
                return None
            point[v["name"]] = here
            ends = [(v["lower"], v["lower_open"], -1), (v["upper"], v["upper_open"], 1)]
            for end, is_open, way in ends:
                pair = (here, None if end is None else value(end, point))
                sides = pair if way > 0 else pair[::-1]
                if end is not None and related(sides[0], "<" if is_open else "<=", sides[1]) is not True:  # type: ignore[arg-type]
                    return None
            if v.get("integer") and not (isinstance(here, Fraction) and here.denominator == 1):
                return None
        except UndefinedError:
            strange.append(v["name"])
            return None
    return point


SIMPLE = [
    Fraction(one) for one in ("0", "1", "-1", "2", "-2", "1/2", "-1/2", "3", "5", "10", "1/100", "100", "-3", "3/2")
]


def _some(dice: random.Random) -> Callable[[Record, Point], Fraction | None]:
    """Ends and whole numbers mostly, then simple fractions, then any."""

    def choose(v: Record, point: Point) -> Fraction | None:
        ends = [value(end, point) for end in (v["lower"], v["upper"]) if end is not None]
        exact = [end for end in ends if isinstance(end, Fraction)]
        if exact and dice.random() < 0.35:
            return dice.choice(exact)
        near = dice.choice([Fraction(1), Fraction(1, 2), Fraction(1, 1000), Fraction(dice.randint(1, 99), 100)])
        if len(exact) == 2 and dice.random() < 0.5:
            return exact[0] + (exact[1] - exact[0]) * Fraction(dice.randint(0, 100), 100)
        if exact and dice.random() < 0.4:
            end = dice.choice(exact)
            return end + near if end == exact[0] and v["lower"] is not None else end - near
        if exact and v.get("integer") and dice.random() < 0.7:
            return Fraction(round(exact[0]) + dice.randint(-1, 6))
        return dice.choice(SIMPLE)

    return choose


def is_false(record: Record, verdict: str, dice: random.Random) -> str:
    """A point that shows what the checker said to be false, or "" if none was found."""
    evidence, quantifier = record["evidence"], record["quantifier"]
    if quantifier == "one constant for all":
        return _constant_is_false(record, verdict, dice)
    if evidence["kind"] in ("counterexample", "example", "value"):
        point = located(record, lambda v, _: Fraction(evidence.get("point", {})[v["name"]]), [])
        wanted = evidence["kind"] == "example" or (evidence["kind"] == "value" and verdict == "PROVED")
        held = None if point is None else _held(record, point)
        return "" if held is wanted else f"at its own point it is {held}"
    return _universal_is_false(record, negated=verdict == "REFUTED", dice=dice)


def _universal_is_false(
    record: Record, *, negated: bool, dice: random.Random, fixed: dict[str, Fraction] | None = None
) -> str:
    near = recheck.reached([record["left"], record["right"]], recheck.declared(record))
    simple = _some(dice)

    def choose(v: Record, point: Point) -> Fraction | None:
        return (fixed or {}).get(v["name"]) or simple(v, point)

    strange: list[str] = []
    for _ in range(POINTS):
        point = located(record, choose, strange)
        if set(strange) & set(near):
            return f"{strange} has no domain somewhere"
        if point is None:
            continue
        try:
            premises = [
                {**record, "left": low, "relation": how, "right": high} for low, how, high in record.get("given", ())
            ]
            if not all(_held(one, point) is True for one in premises):
                continue
            if _held(record, point) is negated:
                return f"{'holds' if negated else 'fails'} at {point}"
        except UndefinedError as error:
            return f"{error} is not defined at {point}"
    return ""


def _constant_is_false(record: Record, verdict: str, dice: random.Random) -> str:
    K, evidence = record["constant"], record["evidence"]
    if verdict == "PROVED":
        fixed = {K: Fraction(evidence["constant"])}
        return _universal_is_false(record, negated=False, dice=dice, fixed=fixed)
    for constant in map(Fraction, ("1/7", "1", "2", "50")):
        path = {name: value(text, {K: constant}) for name, text in evidence["path"].items()} | {K: constant}
        point = located(record, lambda v, _, path=path: path[v["name"]], [])
        if point is None or _held(record, point) is not False:
            return f"it does not escape at {path}"
    return ""


def _held(record: Record, point: Point) -> bool | None:
    return related(value(record["left"], point), record["relation"], value(record["right"], point))


# --- The harness -----------------------------------------------------------------------------------------------------


def forge(count: int, seed: int, most: int = sys.maxsize) -> tuple[Counter[str], list[tuple[Record, str]]]:
    """So many forged parts: how many were refused, accepted by kind, and those falsely accepted, with what is wrong.

    most: end at so many of the latter.
    """
    dice, records = random.Random(seed), honest()
    found: Counter[str] = Counter()
    false: list[tuple[Record, str]] = []
    for _ in range(count):
        record = forged(records, dice)
        try:
            verdict = recheck.part(record)
        except Exception:  # noqa: BLE001  (a refusal, in whatever words)
            found["refused"] += 1
            continue
        if verdict == "UNDECIDED":
            found["undecided"] += 1
            continue
        found["accepted"] += 1
        found[f"accepted {record['evidence']['kind']}"] += 1
        wrong = is_false(record, verdict, dice)
        if wrong:
            found["falsely accepted"] += 1
            false.append((record, f"{verdict}: {wrong}"))
            if len(false) == most:
                break
    return found, false


def main() -> None:
    """Print the counts, and each part that was falsely accepted; exit 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found, false = forge(options.count, options.seed)
    for record, wrong in false:
        sys.stdout.write(f"{wrong}\n  {json.dumps(record)}\n")
    sys.stdout.write(f"{options.count} forged parts, seed {options.seed}: {dict(found.most_common())}\n")
    sys.exit(int(bool(false)))


if __name__ == "__main__":
    main()
