"""The independent checker: verifies the evidence of every part of a report.json from the file alone.

It shares no code with the engines and needs only the standard library: whoever distrusts the search need read only this
file. Polynomials are multiplied out again over the rationals and points are evaluated again. docs/verdicts.md has the
rules; recheck_report.py puts the verdicts of whole claims together again from what `part` returns.
"""

import ast
import math
import operator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import product


class RefusedError(Exception):
    """The evidence does not show what the report says."""


def require(fact, complaint):
    if not fact:
        raise RefusedError(complaint)


# Intervals are pairs of fractions; the ends are equal where arithmetic is exact.
def hull(*numbers):
    return min(numbers), max(numbers)


def quotient(a, b):
    require(b[0] > 0 or b[1] < 0, "a number is divided by what may be zero")
    return hull(*(x / y for x in a for y in b))


def increasing(function, a):
    """exp or ln by `decimal`, where they are correctly rounded: outwards in the 60th digit."""
    ends = []
    for end, way, onwards in ((a[0], ROUND_FLOOR, "next_minus"), (a[1], ROUND_CEILING, "next_plus")):
        context = Context(prec=60, rounding=way)
        argument = context.divide(Decimal(end.numerator), Decimal(end.denominator))
        ends.append(Fraction(getattr(context, onwards)(getattr(context, function)(argument))))
    return hull(*ends)


INTERVALS = {
    int: lambda n: (Fraction(n), Fraction(n)),
    ast.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ast.Mult: lambda a, b: hull(*(x * y for x in a for y in b)),
    ast.Div: quotient,
    "exp": lambda a: increasing("exp", a),
    "log": lambda a: increasing("ln", a),
    "sqrt": lambda a: power(a, Fraction(1, 2), INTERVALS),
    "Max": lambda *args: tuple(map(max, zip(*args, strict=True))),
    "Min": lambda *args: tuple(map(min, zip(*args, strict=True))),
    "Abs": lambda a: a if a[0] >= 0 else (max(Fraction(0), -a[1]), max(-a[0], a[1])),
    "Ind": lambda a, b: hull(*map(Fraction, (a[0] == a[1] == b[0] == b[1], a[0] <= b[1] and b[0] <= a[1]))),
}
RELATIONS = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, "<": operator.lt}


# Ratios are pairs (top, bottom) of polynomials {((name, power), ...): coefficient}.
def total(p, q):
    return {m: c for m in {**p, **q} if (c := p.get(m, 0) + q.get(m, 0))}


def times(p, q):
    result = {}
    for (m, a), (n, b) in product(p.items(), q.items()):
        powers = dict(m)
        for name, exponent in n:
            powers[name] = powers.get(name, 0) + exponent
        key = tuple(sorted(powers.items()))
        result[key] = result.get(key, 0) + a * b
    return {m: c for m, c in result.items() if c}


def ratio_sum(a, b):
    if a[1] == b[1]:
        return total(a[0], b[0]), a[1]
    return total(times(a[0], b[1]), times(b[0], a[1])), times(a[1], b[1])


def same(a, b):
    return times(a[0], b[1]) == times(b[0], a[1])


RATIOS = {
    int: lambda n: ({(): Fraction(n)} if n else {}, {(): Fraction(1)}),
    ast.Add: ratio_sum,
    ast.Mult: lambda a, b: (times(a[0], b[0]), times(a[1], b[1])),
    ast.Div: lambda a, b: (times(a[0], b[1]), times(a[1], b[0])),
}


def power(base, exponent, algebra):
    if exponent.denominator != 1:
        logarithm = any(base) and INTERVALS[ast.Mult](INTERVALS["log"](base), (exponent, exponent))
        return INTERVALS["exp"](logarithm) if logarithm else base
    result = algebra[int](1)
    for bit in f"{abs(int(exponent)):b}":
        result = algebra[ast.Mult](result, result)
        result = algebra[ast.Mult](result, base) if bit == "1" else result
    return result if exponent >= 0 else algebra[ast.Div](algebra[int](1), result)


def evaluate(text, env, algebra, nonzero=None):
    """The value of an arithmetic expression; a divisor must be made of what is listed as nonzero, if it is given."""

    def walk(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return algebra[int](node.value)
        if isinstance(node, ast.Name):
            return env[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return algebra[ast.Mult](algebra[int](-1), walk(node.operand))
        if isinstance(node, ast.Call):
            return algebra[node.func.id](*map(walk, node.args))
        if isinstance(node.op, ast.Sub):
            return algebra[ast.Add](walk(node.left), algebra[ast.Mult](algebra[int](-1), walk(node.right)))
        if isinstance(node.op, ast.Pow):
            exponent = evaluate(ast.unparse(node.right), {}, INTERVALS)[0]
            require(exponent > 0 or apart(node.left), f"{ast.unparse(node)!r} may divide by zero")
            return power(walk(node.left), exponent, algebra)
        require(not isinstance(node.op, ast.Div) or apart(node.right), f"{ast.unparse(node)!r} may divide by zero")
        return algebra[type(node.op)](walk(node.left), walk(node.right))

    def apart(node):
        """Whether a divisor is a product of powers of what is known not to vanish."""
        if nonzero is None or isinstance(node, ast.Constant):
            return nonzero is None or node.value != 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Pow):
            return apart(node.left) and (isinstance(node.op, ast.Pow) or apart(node.right))
        value = walk(node)
        return any(same(form, value) or same(form, RATIOS[ast.Mult](RATIOS[int](-1), value)) for form in nonzero)

    return walk(ast.parse(text, mode="eval").body)


def sign(node, opens):
    """Of a form: 2 if positive for all positive slacks, 1 if not negative, 0 if its shape does not tell."""
    if not isinstance(node, ast.BinOp):
        return opens.get(node.id, 0) if isinstance(node, ast.Name) else 1 + (node.value > 0)
    if isinstance(node.op, ast.Pow):
        return sign(node.left, opens) or int(node.right.value % 2 == 0)
    left, right = sign(node.left, opens), sign(node.right, opens)
    added, multiplied = max(left, right) * (left * right > 0), min(left, right)
    return {ast.Add: added, ast.Mult: multiplied, ast.Div: left * (right == 2)}.get(type(node.op), 0)


def holds(left, relation, right, env, printed=None):
    """Whether the relation holds for these values, after a comparison with the sides' values as they are printed."""
    a, b = (evaluate(side, env, INTERVALS) for side in (left, right))
    for value, text in ((a, printed["left"]), (b, printed["right"])) if printed else ():
        low, high = hull(*map(Fraction, text if isinstance(text, list) else [text]))
        near = low <= value[1] and value[0] <= high and high - low < Fraction(1, 10**6)
        require(near, f"{text} is printed where about {float(value[0])} is found")
    require((a[0] == a[1] and b[0] == b[1]) or a[1] < b[0] or b[1] < a[0], "the two sides are too close to tell apart")
    return RELATIONS[relation](a[0], b[0])


def ends(v):
    """A domain as two relations; None where an end is infinite."""
    lower, upper = (("<" if v[side] else "<=") for side in ("lower_open", "upper_open"))
    return v["lower"] and (v["lower"], lower, v["name"]), v["upper"] and (v["name"], upper, v["upper"])


def inside(variables, point):
    """The values of all variables at a point, after a check that it lies in the domain."""
    env = {name: INTERVALS[int](number) for name, number in point.items()}
    for name, v in variables.items():
        if "exp_of" in v:
            env[name] = INTERVALS["exp"](evaluate(v["exp_of"], env, INTERVALS))
        require(all(holds(*end, env) for end in ends(v) if end), f"{name} leaves its domain")
        require(not v.get("integer") or env[name][0].denominator == 1, f"{name} is not whole")
    return env


def everywhere(left, relation, right, variables, evidence, path):
    """Check that the evidence shows the relation on the whole domain, names on the path replaced by expressions."""
    if evidence["kind"] == "halves":
        v, at = variables[evidence["variable"]], evidence["at"]
        for half, end in (("below", {"upper": at, "upper_open": False}), ("above", {"lower": at, "lower_open": False})):
            everywhere(left, relation, right, {**variables, v["name"]: {**v, **end}}, evidence[half], path)
        return
    env = {name: ({((name, 1),): Fraction(1)}, {(): Fraction(1)}) for name in variables}
    opens, texts = {}, [left, right]
    path = {**{n: v["lower"] for n, v in variables.items() if v["lower"] and v["lower"] == v["upper"]}, **path}
    for name, text in path.items():
        env[name] = evaluate(text, env, RATIOS)
    for name, v in variables.items():
        slacks = {"lo_": v["lower"] and f"{name} - ({v['lower']})", "hi_": v["upper"] and f"{v['upper']} - {name}"}
        opens |= {f"lo_{name}": 1 + v["lower_open"], f"hi_{name}": 1 + v["upper_open"]}
        if "exp_of" in v and "taylor" in evidence:
            require(evidence["taylor"] % 2, "only Taylor polynomials of odd degree lie below the exponential")
            terms = [f"({v['exp_of']})**{k}/{math.factorial(k)}" for k in range(1, evidence["taylor"] + 1)]
            slacks, opens[f"lo_{name}"] = {"lo_": " - ".join([name, "1", *terms])}, 1
        for prefix, text in slacks.items() if name not in path else ():
            require(prefix + name not in variables, f"{prefix}{name} is the name of a variable and of a slack")
            texts += [text] * (text is not None)
            env |= {prefix + name: evaluate(text, env, RATIOS)} if text else {}
    claimed = [evidence["gap"], *evidence["divisors"]]
    signs = [sign(ast.parse(text, mode="eval").body, opens) for text in claimed]
    require({*signs[1:]} <= {2}, "the form of a divisor does not show that it never vanishes")
    forms = [evaluate(text, env, RATIOS) for text in claimed]
    values = [evaluate(text, env, RATIOS, forms[1:]) for text in (*texts, *path.values())]
    gap, back = (ratio_sum(b, RATIOS[ast.Mult](RATIOS[int](-1), a)) for a, b in (values[:2], values[1::-1]))
    require(same(gap, forms[0]) or (relation == "!=" and same(back, forms[0])), "the form does not expand to the gap")
    shown = {"==": not gap[0], "<=": signs[0] >= 1}.get(relation, signs[0] == 2)
    require(shown, "the form of the gap does not show the relation")


def part(s):
    """The verdict that the evidence of one part shows; RefusedError where it shows none."""
    evidence, variables, quantifier = s["evidence"], {v["name"]: v for v in s["variables"]}, s["quantifier"]
    kind, left, relation, right = evidence["kind"], s["left"], s["relation"], s["right"]

    def proved(a, relation, b, proof, path):
        seen = [{**variables[name], "name": name} for name in proof["inside"]]
        inside({v["name"]: {k: x for k, x in v.items() if k != "exp_of"} for v in seen}, proof["inside"])
        everywhere(a, relation, b, variables, proof, path)

    if kind in ("undecided", "smt", "value"):
        shown = kind == "smt" or (kind == "value" and holds(left, relation, right, {}, evidence))
        return "PROVED" if shown else {"undecided": "UNDECIDED"}.get(kind, "REFUTED")
    if kind == "counterexample" and quantifier == "for all":
        require(not holds(left, relation, right, inside(variables, evidence["point"]), evidence), "it holds there")
    elif kind == "example" and quantifier == "there is":
        require(holds(left, relation, right, inside(variables, evidence["point"]), evidence), "it does not hold there")
    elif kind == "denial" and quantifier == "there is":
        sides = (left, right) if relation in ("==", "!=") else (right, left)
        proved(sides[0], {"==": "!=", "!=": "==", "<=": "<"}.get(relation, "<="), sides[1], evidence["proof"], {})
    elif kind == "constant" and quantifier == "one constant for all":
        require(Fraction(evidence["constant"]) > 0, "the constant is not positive")
        proved(left, relation, right, evidence["proof"], {s["constant"]: evidence["constant"]})
    elif kind == "escape" and quantifier == "one constant for all":
        bounds = [end for v in s["variables"] if v["name"] != s["constant"] for end in ends(v) if end]
        for bound, proof in zip([*bounds, (right, "<", left)], [*evidence["inside"], evidence["proof"]], strict=True):
            proved(*bound, proof, evidence["path"])
    else:
        require(kind in ("identity", "certificate", "halves") and quantifier == "for all", "wrong kind of evidence")
        proved(left, relation, right, evidence, {})
    return "REFUTED" if kind in ("counterexample", "denial", "escape") else "PROVED"
