"""The independent checker: verifies the evidence of every part of a report.json, with the standard library alone.

It shares no code with the engines: whoever distrusts the search need read only this file, recheck_functions.py
and recheck_alone.py. It expands polynomials over the rationals and evaluates points anew. docs/verdicts.md has the
rules; recheck_report.py derives the verdicts of claims from what `part` returns. (Formatted by hand: short.)"""
import ast, math, operator, re
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from ldp_audit.claims.recheck_alone import alone
from ldp_audit.claims.recheck_functions import INTERVALS, begin, hull, number, require, size, take
from ldp_audit.claims.recheck_functions import RefusedError as RefusedError

INTERVALS["sqrt"] = lambda a: power(a, Fraction(1, 2), INTERVALS)
INTERVALS["Alone"] = alone
EXACT = {key: function for key, function in INTERVALS.items() if not isinstance(key, str)}
RELATIONS = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, "<": operator.lt}

# Ratios are pairs (top, bottom) of polynomials {((name, power), ...): coefficient}, with a bottom that is not 0.
def total(p, q):
    take(1 + (len(p) + len(q)) // 4, size((*p.values(), *q.values())))
    return {m: c for m in {**p, **q} if (c := p.get(m, 0) + q.get(m, 0))}
@lru_cache(maxsize=2**14)
def merged(m, n):
    powers = dict(m)
    powers.update((name, powers.get(name, 0) + exponent) for name, exponent in n)
    return tuple(sorted(powers.items()))
def times(p, q):
    take(16 * len(p) * len(q), size((*p.values(), *q.values())))
    result = {}
    for (m, a), (n, b) in product(p.items(), q.items()):
        key = merged(m, n)
        result[key] = result.get(key, 0) + a * b
    return {m: c for m, c in result.items() if c}
def ratio_sum(a, b):
    alike = a[1] == b[1]
    return (total(a[0], b[0]), a[1]) if alike else (total(times(a[0], b[1]), times(b[0], a[1])), times(a[1], b[1]))
def same(a, b): return times(a[0], b[1]) == times(b[0], a[1])
RATIOS = {
    int: lambda n: ({(): n} if n else {}, {(): 1}),
    ast.Add: ratio_sum,
    ast.Mult: lambda a, b: (times(a[0], b[0]), times(a[1], b[1])),
    ast.Div: lambda a, b: (times(a[0], b[1]), times(a[1], require(b[0], "a division by zero"))),
}
def power(base, exponent, algebra):
    if exponent.denominator != 1:
        require(algebra is INTERVALS and (any(base) or exponent > 0), "a root where there is none")
        logarithm = any(base) and INTERVALS[ast.Mult](INTERVALS["log"](base), (exponent, exponent))
        return INTERVALS["exp"](logarithm) if logarithm else base
    result = algebra[int](1)
    for bit in f"{abs(int(exponent)):b}":
        result = algebra[ast.Mult](result, result)
        result = algebra[ast.Mult](result, base) if bit == "1" else result
    return result if exponent >= 0 else algebra[ast.Div](algebra[int](1), result)
tree = lru_cache(maxsize=2**10)(partial(ast.parse, mode="eval"))
def parsed(text):
    require(isinstance(text, str) and text.isascii() and "#" not in text, "an expression is no plain text")
    take(1 + len(text) // 4)
    return tree(text).body
def names(text): return {node.id for node in ast.walk(parsed(text)) if isinstance(node, ast.Name)} - INTERVALS.keys()
def difference(a, b, algebra): return algebra[ast.Add](a, algebra[ast.Mult](algebra[int](-1), b))
def evaluate(text, env, algebra, nonzero=None):
    """The value of an expression, as text or parsed; divisors must be products of `nonzero`, if given."""
    def walk(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return algebra[int](node.value)
        if isinstance(node, ast.Name):
            return env[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return difference(algebra[int](0), walk(node.operand), algebra)
        if isinstance(node, ast.Call) and not node.keywords and algebra is RATIOS:  # of numbers, with an exact value
            parts = list(map(walk, node.args))
            require(all({*top, *bottom} <= {()} for top, bottom in parts), "a function of what is no number")
            low, high = INTERVALS[node.func.id](*((Fraction(top.get((), 0), bottom[()]),) * 2 for top, bottom in parts))
            return RATIOS[int](require(low == high and (low,), "a function without an exact value")[0])
        if isinstance(node, ast.Call) and not node.keywords:
            return algebra[node.func.id](*map(walk, node.args))
        require(isinstance(node, ast.BinOp), "something is not arithmetic")
        if isinstance(node.op, ast.Sub):
            return difference(walk(node.left), walk(node.right), algebra)
        if isinstance(node.op, ast.Pow):
            exponent, top = evaluate(node.right, env if algebra is INTERVALS else {}, INTERVALS)
            require(exponent == top and abs(top) < (200 if algebra is RATIOS else 10**5), f"{top} is a bad exponent")
            require(exponent > 0 or apart(node.left), "a base may be zero")
            return power(walk(node.left), exponent, algebra)
        require(not isinstance(node.op, ast.Div) or apart(node.right), "a divisor may be zero")
        return algebra[type(node.op)](walk(node.left), walk(node.right))
    def apart(node):
        """True for a divisor that is a product of powers of expressions known not to vanish; refuses another."""
        if nonzero is None:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Pow):
            return apart(node.left) and (isinstance(node.op, ast.Pow) or apart(node.right))
        value = walk(node)
        known = [value] if value[0] and all(part.keys() == {()} for part in value) else nonzero  # a number but 0
        alike = any(same(form, value) or same(form, difference(algebra[int](0), value, algebra)) for form in known)
        return alike or require(alike, f"{ast.unparse(node)!r} may be zero")
    return walk(parsed(text) if isinstance(text, str) else text)

def sign(node, opens):
    """The sign of a form: 2 if positive for all positive slacks, 1 if not negative, 0 if its shape does not decide."""
    if not isinstance(node, ast.BinOp):
        return opens.get(getattr(node, "id", ""), 1 + (node.value > 0) if isinstance(node, ast.Constant) else 0)
    if isinstance(node.op, ast.Pow):
        require(type(node.right.value) is int and node.right.value > 0, "a form has only powers 1, 2, 3, ...")
        return sign(node.left, opens) or int(node.right.value % 2 == 0)
    left, right = sign(node.left, opens), sign(node.right, opens)
    added, multiplied = max(left, right) * (left * right > 0), min(left, right)
    return {ast.Add: added, ast.Mult: multiplied, ast.Div: left * (right == 2)}.get(type(node.op), 0)

def holds(left, relation, right, env, printed=None):
    """Whether the relation holds for these values, which must match the sides' printed values."""
    a, b = (evaluate(side, env, INTERVALS) for side in (left, right))
    for value, text in ((a, printed["left"]), (b, printed["right"])) if printed else ():
        low, high = hull(*map(number, text if isinstance(text, list) else [text]))
        near = low <= value[1] and value[0] <= high and high - low < Fraction(1, 10**6)
        require(near, f"{text} is printed where another value is found")
    require((a[0] == a[1] and b[0] == b[1]) or a[1] < b[0] or b[1] < a[0], "the two sides are too close to tell apart")
    return RELATIONS[relation](a[0], b[0])
def ends(v):
    low, high = ("<" if v[side] else "<=" for side in ("lower_open", "upper_open"))
    return [end for end in ((v["lower"], low, v["name"]), (v["name"], high, v["upper"])) if None not in end]
def link(v):
    """The function and the argument of a variable that is an exponential or a logarithm; None for another."""
    return next(((function, v[key]) for key, function in (("exp_of", "exp"), ("log_of", "log")) if key in v), None)
def declared(s):
    """The variables by name, after a check that each domain contains only earlier ones."""
    variables = {}
    for v in s["variables"]:
        own, linked = v["name"], link(v)
        texts = [text for text in (v["lower"], v["upper"], linked and linked[1]) if text is not None]
        plain = re.fullmatch(r"(?!lo_|hi_)[A-Za-z][A-Za-z0-9_]*", own) and own not in {*variables, *INTERVALS}
        flags = all(type(v.get(flag, False)) is bool for flag in ("lower_open", "upper_open", "integer"))
        take(len(variables))
        known = all(names(text) <= variables.keys() for text in texts) and not (v.get("integer") and linked)
        known = known and not {"exp_of", "log_of"} <= v.keys()
        require(plain and flags and known, f"the variable {own!r} is not well declared")
        variables[own] = v
    return variables
def inside(variables, point):
    """The values of all variables at a point, after a check that it lies in the domain."""
    require(point.keys() == {n for n, v in variables.items() if not link(v)}, "not a value for each variable")
    env = {}
    for name, v in variables.items():
        linked = link(v)
        env[name] = INTERVALS[linked[0]](evaluate(linked[1], env, INTERVALS)) if linked else INTERVALS[int](point[name])
        require(all(holds(*end, env) for end in ends(v)), f"{name} leaves its domain")
        require(not v.get("integer") or env[name][0].denominator == 1, f"{name} is not whole")
    return env

def everywhere(left, relation, right, variables, evidence, given):
    """Check that the evidence shows the relation on the whole domain, with some variables given as expressions."""
    if evidence["kind"] == "halves":
        v, at, before = variables[evidence["variable"]], evidence["at"], list(variables)
        require(names(at) <= {*before[: before.index(v["name"])]}, "a domain is cut at what comes after it")
        for half, end in (("below", {"upper": at, "upper_open": False}), ("above", {"lower": at, "lower_open": False})):
            everywhere(left, relation, right, {**variables, v["name"]: {**v, **end}}, evidence[half], given)
        return None
    if evidence["kind"] == "cases":
        own = evidence["variable"]
        first, last = (evaluate(variables[own][side], {}, EXACT)[0] for side in ("lower", "upper"))
        few = range(math.floor(first), math.ceil(last) + 1)[: len(evidence["proofs"]) + 3]  # truncated: still too many
        whole = {str(k) for k in few if all(holds(*end, {own: INTERVALS[int](k)}) for end in ends(variables[own]))}
        require(variables[own].get("integer") and evidence["proofs"].keys() == whole, f"not every {own} is there")
        for number, proof in evidence["proofs"].items():
            put = partial(re.sub, rf"\b{own}\b", f"({number})")
            rest = {n: {k: put(x) if isinstance(x, str) else x for k, x in v.items()} for n, v in variables.items()}
            del rest[own]
            for n in rest:
                rest[n]["moved"] = variables[n].get("moved") or rest[n].get("exp_of") != variables[n].get("exp_of")
            everywhere(put(left), relation, put(right), rest, proof, {n: put(text) for n, text in given.items()})
        return None
    if evidence["kind"] == "steps":
        for name, text in evidence["letters"].items():
            inner = text[len("Ceil("):-1]
            own = re.fullmatch(r"step_\d+_*", name) and name not in variables
            require(own and text == f"Ceil({inner})", "a step of another kind")
            require(len(parsed(text).args) == 1 and names(inner) <= variables.keys(), "a step of what is unknown")
            left, right = left.replace(text, name), right.replace(text, name)
            ends_of_it = {"lower": inner, "lower_open": False, "upper": f"{inner} + 1", "upper_open": True}
            variables = {**variables, name: {"name": name, **ends_of_it}}
        return everywhere(left, relation, right, variables, evidence["proof"], given)
    if evidence["kind"] == "box":
        box = {}
        for name, v in variables.items():
            linked = link(v)
            sides = [linked[1]] if linked else [v["lower"], v["upper"]]
            hulled = hull(*(end for side in sides for end in evaluate(side, box, INTERVALS)))
            box[name] = INTERVALS[linked[0]](hulled) if linked else hulled
        a, b = (evaluate(side, box, INTERVALS) for side in (left, right))
        shown = {"<=": a[1] <= b[0], "<": a[1] < b[0], "!=": a[1] < b[0] or b[1] < a[0]}.get(relation)
        return require(shown and not given, "the box does not tell the two sides apart")
    env, opens, positive, taylor = {}, {}, [], evidence.get("taylor", 0)
    given = {**{n: v["lower"] for n, v in variables.items() if v["lower"] and v["lower"] == v["upper"]}, **given}
    needed, powers = reached([left, right, *given.values()], variables), collapsed(variables, given)
    texts = [left, right, *given.values(), *(text for n in needed for end in ends(variables[n]) for text in end[::2])]
    for name, v in variables.items():
        itself = {((name, 1),): 1}, {(): 1}
        env[name] = evaluate(given[name], env, RATIOS) if name in given else powers.get(name, itself)
        if name in powers or (link(v) and name not in needed):
            continue  # it has no slacks: nothing shows that its exponential or logarithm is defined
        slacks = {"lo_": v["lower"], "hi_": v["upper"]} if name not in given else {}
        if "log_of" in v:
            u = evaluate(v["log_of"], env, RATIOS)
            texts, positive = [*texts, v["log_of"]], [*positive, u]
            slacks, below = {"hi_": f"{v['log_of']} - 1"}, difference(RATIOS[int](1), (u[1], u[0]), RATIOS)
            env["lo_" + name], opens["lo_" + name] = difference(env[name], below, RATIOS), 1
        if "exp_of" in v and taylor:
            require(type(taylor) is int and taylor % 2 and 0 < taylor < 99, "only odd Taylor polynomials lie below exp")
            texts, slacks = [*texts, v["exp_of"]], {"lo_": series(v["exp_of"], taylor)}
            # exp(-e) is at least its series too, so exp(e) times that series is at most 1.
            back = RATIOS[ast.Mult](env[name], evaluate(series(f"-({v['exp_of']})", taylor), env, RATIOS))
            env["hi_" + name], opens["hi_" + name] = difference(RATIOS[int](1), back, RATIOS), 1
        for prefix, text in slacks.items():
            if text is not None:
                gap = difference(env[name], evaluate(text, env, RATIOS), RATIOS)
                env[prefix + name] = gap if prefix == "lo_" else difference(RATIOS[int](0), gap, RATIOS)
                is_open = v["lower_open" if prefix == "lo_" else "upper_open"] and not ("exp_of" in v and taylor)
                opens[prefix + name] = 1 + is_open
    claimed = [evidence.get("gap", "0"), *evidence["divisors"]]
    signs = [sign(parsed(text), opens) for text in claimed]
    require({*signs[1:]} <= {2}, "the form of a divisor does not show that it never vanishes")
    forms = [evaluate(text, env, RATIOS) for text in claimed]
    values = [evaluate(text, env, RATIOS, [*forms[1:], *powers.values()]) for text in texts]
    require(all(any(same(u, form) for form in forms[1:]) for u in positive), "a logarithm of what may not be positive")
    gap, back = (difference(b, a, RATIOS) for a, b in (values[:2], values[1::-1]))
    if evidence["kind"] == "rise":  # at its beginning too, even if that is excluded, a divisor must not vanish
        closed = {**opens, "lo_" + evidence["variable"]: 1, "hi_" + evidence["variable"]: 1}
        still = [form for text, form in zip(claimed[1:], forms[1:], strict=True) if sign(parsed(text), closed) == 2]
        return rises(gap, relation, variables, evidence, given, env, still)
    require(same(gap, forms[0]) or (relation == "!=" and same(back, forms[0])), "the form does not expand to the gap")
    shown = {"==": not gap[0], "<=": signs[0] >= 1}.get(relation, signs[0] == 2)
    return require(shown, "the form of the gap does not show the relation")

def collapsed(variables, given):
    """Exponentials that are 1, or powers of others, as a number was put into their exponents."""
    found, exponents = {}, {}
    linked = [n for n, v in variables.items() if "exp_of" in v and n not in given]
    bare, moved = {n: ({((n, 1),): 1}, {(): 1}) for n in variables}, [n for n in linked if variables[n].get("moved")]
    for name in [n for n in linked if moved and n not in moved] + moved:
        try:
            own = evaluate(variables[name]["exp_of"], bare, RATIOS, [])
        except RefusedError:  # a function, or a divisor, of what is no number yet
            continue
        twin = next(((n, k) for n, u in exponents.items() if (k := multiple(own, u))), None)
        if name in moved and (twin or not own[0]):
            found[name] = power(bare[twin[0]], Fraction(twin[1]), RATIOS) if twin else RATIOS[int](1)
        else:
            exponents[name] = own
    return found
def multiple(u, v):
    """The whole number k with u = k v; 0 if there is none."""
    top, bottom = times(u[0], v[1]), times(v[0], u[1])
    k = Fraction(next(iter(top.values()), 0), bottom.get(next(iter(top), ()), 1))
    return int(k) if k.denominator == 1 and top == {m: k * c for m, c in bottom.items()} else 0
def reached(texts, variables):
    """The variables of the texts, and those of their domains."""
    found, waiting = set(), [name for text in texts for name in names(text)]
    while waiting:
        name = waiting.pop()
        if name in variables and name not in found:
            v, linked = variables[name], link(variables[name])
            found.add(name)
            waiting += [n for text in (v["lower"], v["upper"], linked and linked[1]) if text for n in names(text)]
    return [name for name in variables if name in found]
def series(text, degree):
    """The Taylor polynomial of exp; it lies below exp everywhere if its degree is odd."""
    return " + ".join(["1", *(f"({text})**{k}/{math.factorial(k)}" for k in range(1, degree + 1))])
def derivative(ratio, x, rates):
    """The derivative of a quotient in x; some names are functions of x with these derivatives."""
    def along(polynomial):
        found = {}, {(): 1}
        for monomial, c in polynomial.items():
            for name, power in monomial:
                if name == x or name in rates:
                    rest = tuple((n, e - (n == name)) for n, e in monomial if e > 1 or n != name)
                    one = {rest: c * power}, {(): 1}
                    found = ratio_sum(found, one if name == x else RATIOS[ast.Mult](one, rates[name]))
        return found
    top, bottom = ((part, {(): 1}) for part in ratio)
    lost = RATIOS[ast.Mult](top, along(ratio[1]))
    gained = RATIOS[ast.Mult](along(ratio[0]), bottom)
    return RATIOS[ast.Div](difference(gained, lost, RATIOS), RATIOS[ast.Mult](bottom, bottom))
def rises(gap, relation, variables, evidence, given, env, nonzero):
    """The gap is factor * function with a positive factor, and the function starts correctly and never falls.

    It starts at the lower bound of one variable, and its derivative in that variable is shown to keep the relation.
    """
    x, bare = evidence["variable"], lambda text: evaluate(text, env, RATIOS)
    v, linked = variables[x], {n: link(u) for n, u in variables.items() if link(u)}
    known = [*nonzero, *(env[n] for n, (function, _) in linked.items() if function == "exp")]
    own = partial(evaluate, env=env, algebra=RATIOS, nonzero=known)
    side, back = evidence.get("from", "lower"), evidence.get("from") == "upper"
    require(side in ("lower", "upper") and not given and x not in linked, "a rise of another kind")
    require(not v.get("integer") and v[side] is not None, f"{x} has no beginning")
    leaning = {n for n, u in variables.items() for e in (u["lower"], u["upper"]) if e and x in reached([e], variables)}
    require(not leaning and relation in ("<=", "<"), f"the domain of {leaning} moves with {x}")
    at, rates = {**env, x: own(v[side])}, {}
    for name, (function, text) in linked.items():
        u, argument = variables[name], own(text)
        rate = derivative(argument, x, rates)
        if rate[0]:
            grows = all(c > 0 and all(variables[n]["lower"] == "0" for n, _ in m) for m, c in argument[0].items())
            wide = u["lower"] in (None, "0") if function == "exp" else u["lower"] is None
            grows = grows and argument[1].keys() == {()} and argument[1][()] > 0
            wide = wide or (function == "exp" and u["lower"] == "1" and grows)
            require(u["upper"] is None and wide, f"{name} is kept from its value at the beginning")
            there, first = evaluate(text, at, RATIOS), RATIOS[int](0 if function == "exp" else 1)
            still = (n for n, (other, _) in linked.items() if n not in {*rates, name} and other == function)
            alike = [n for n in still if same(own(linked[n][1]), there)]
            require(same(there, first) or alike, f"{name} is none that is known at the beginning")
            rates[name] = RATIOS[ast.Mult](rate, env[name]) if function == "exp" else RATIOS[ast.Div](rate, argument)
            at[name] = difference(RATIOS[int](1), first, RATIOS) if same(there, first) else env[alike[0]]
    require(names(evidence["factor"]) | names(evidence["function"]) <= variables.keys(), "a slack has no derivative")
    function, slope, start = own(evidence["function"]), evidence["slope"], evidence["start"]
    require(same(gap, RATIOS[ast.Mult](bare(evidence["factor"]), function)), "factor and function are not the gap")
    along = derivative(function, x, rates)
    rising = difference(RATIOS[int](0), along, RATIOS) if back else along
    require(same(bare(slope["function"]), rising), "the derivative is another")
    require(same(bare(start["function"]), evaluate(evidence["function"], at, RATIOS)), "it begins with another value")
    strict = {start["relation"], slope["relation"]} if v[side + "_open"] else {start["relation"]}
    require(relation == "<=" or "<" in strict, "nothing shows that the sides differ")
    everywhere("0", "<", evidence["factor"], variables, evidence["positive"], given)
    for one in (start, slope):
        require(one["relation"] in ("<=", "<"), "not an inequality")
        everywhere("0", one["relation"], one["function"], variables, one["proof"], given)

def part(s):
    """The verdict that the evidence of one part shows; RefusedError if it shows none."""
    begin()
    evidence, variables, quantifier = s["evidence"], declared(s), s["quantifier"]
    kind, left, relation, right = evidence["kind"], s["left"], s["relation"], s["right"]
    near = {n: variables[n] for n in reached([left, right], variables)}  # a proof for all their values needs no others
    require(relation in RELATIONS and names(left) | names(right) <= variables.keys(), "not a well-formed statement")
    if kind == "undecided" or (kind == "value" and not variables and quantifier in ("for all", "there is")):
        verdicts = {True: "PROVED", False: "REFUTED", None: "UNDECIDED"}
        return verdicts[None if kind == "undecided" else holds(left, relation, right, {}, evidence)]
    if kind == "counterexample" and quantifier == "for all":
        require(not holds(left, relation, right, inside(variables, evidence["point"]), evidence), "it holds there")
    elif kind == "example" and quantifier == "there is":
        require(holds(left, relation, right, inside(variables, evidence["point"]), evidence), "it does not hold there")
    elif kind == "denial" and quantifier == "there is":
        sides = (left, right) if relation in ("==", "!=") else (right, left)
        opposite, proof = {"==": "!=", "!=": "==", "<=": "<"}.get(relation, "<="), evidence["proof"]
        inside(variables, proof["inside"])
        if proof["kind"] != "smt":
            everywhere(sides[0], opposite, sides[1], near, proof, {})
    elif kind in ("constant", "escape") and quantifier == "one constant for all":
        K, free = s["constant"], {n for n, v in variables.items() if not link(v)}
        require(ends(variables[K]) == [("0", "<", K)] and not variables[K].get("integer"), f"{K} is not any number > 0")
        if kind == "constant":
            inside(variables, {**evidence["proof"]["inside"], K: evidence["constant"]})
            everywhere(left, relation, right, variables, evidence["proof"], {K: evidence["constant"]})
            return "PROVED"
        path = evidence["path"]
        require(all(n in near for n, v in variables.items() if "log_of" in v), "a logarithm may be undefined on it")
        require(path.keys() == free - {K}, "the path does not give each variable")
        whole = all(path[name].isdigit() for name in path if variables[name].get("integer"))
        require(relation == "<=" and whole and all(names(text) <= {K} for text in path.values()), "not a path in K")
        loose = {n: v if n == K else {**v, "lower": None, "upper": None} for n, v in variables.items()}
        bounds = [end for name, v in variables.items() if name != K for end in ends(v)]
        for bound, proof in zip([*bounds, (right, "<", left)], [*evidence["inside"], evidence["proof"]], strict=True):
            everywhere(*bound, loose, proof, path)
    else:
        known = ("identity", "certificate", "halves", "cases", "box", "rise", "steps", "smt")
        require(kind in known and quantifier == "for all", "the wrong evidence")
        at = inside(variables, evidence["inside"])
        if kind == "smt":  # z3's answer cannot be verified, but the relation must not fail at the given point
            sides = [evaluate(side, at, INTERVALS) for side in (left, right)]
            open_still = sides[0] != sides[1] and sides[0][0] <= sides[1][1] and sides[1][0] <= sides[0][1]
            require(open_still or holds(left, relation, right, at), "it fails at the point of its own domain")
        else:
            everywhere(left, relation, right, near, evidence, {})
    return "REFUTED" if kind in ("counterexample", "denial", "escape") else "PROVED"
