"""The independent checker: verifies the evidence of every part of a report.json, with the standard library alone.

It shares no code with the engines: whoever distrusts the search need read only this file, recheck_functions.py,
recheck_ranges.py and recheck_alone.py. `part` takes one formal statement with its evidence and returns the verdict that
the evidence shows; recheck_report.py derives the verdicts of claims from these.

A statement relates two expressions over a domain, which is a list of variables. A variable has two ends, each missing,
included or excluded, in terms of variables before it; it may be whole; and it may be linked: the exponential or the
logarithm of an expression in variables before it. Expressions are Python's arithmetic, parsed and never run.

There are two kinds of rules. `RULES` has those that show a relation on a whole domain: each takes a `Universal` and
evidence, and returns if the evidence shows it. `VERDICTS` has those for a quantified statement. Whatever is not shown
raises `RefusedError`, and so does whatever is not proved to be defined: a divisor that may be zero, the logarithm of
what may not be positive.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ldp_audit.claims.recheck_alone import alone
from ldp_audit.claims.recheck_functions import (
    INTERVALS,
    RATIOS,
    Algebra,
    Interval,
    Ratio,
    begin,
    by,
    constant,
    derivative,
    generator,
    hull,
    is_number,
    minus,
    negative,
    number,
    over,
    require,
    same,
    take,
    times,
)
from ldp_audit.claims.recheck_functions import RefusedError as RefusedError
from ldp_audit.claims.recheck_ranges import Range, is_defined, range_of, range_of_variable

INTERVALS["sqrt"] = lambda a: power(a, Fraction(1, 2), INTERVALS)
INTERVALS["sign"] = lambda a: hull(*(Fraction((end > 0) - (end < 0)) for end in a))
INTERVALS["Alone"] = alone
EXACT: Algebra = {key: function for key, function in INTERVALS.items() if not isinstance(key, str)}
"""Intervals without functions: from rational points it computes rational points."""
TOTAL = frozenset({"exp", "erf", "Abs", "Max", "Min", "Ind", "Ceil", "sign"})
"""Functions that are defined for all real arguments."""
RELATIONS = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, "<": operator.lt}
NEGATIONS = {"==": "!=", "!=": "==", "<=": "<", "<": "<="}
"""The negation of an inequality has its sides exchanged, too."""
LARGEST_POWER, LARGEST_EXPONENT = 200, 10**5
"""Larger exponents are refused, of polynomials and of numbers: the engines use none."""
MOST_TERMS_OF_EXP = 99
"""Bound on the degree of a Taylor polynomial."""

# --- Expressions -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2**10)
def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def parsed(text: Any) -> ast.expr:
    """The syntax tree of an expression. Only plain ASCII, in which what is read is what is meant; no comments."""
    require(isinstance(text, str) and text.isascii() and "#" not in text, "an expression is no plain text")
    take(1 + len(text) // 4)
    return _tree(text)


@lru_cache(maxsize=2**10)
def _names(text: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(_tree(text)) if isinstance(node, ast.Name)) - INTERVALS.keys()


def names(text: str) -> frozenset[str]:
    """The variables of an expression."""
    parsed(text)
    return _names(text)


def spine(node: ast.expr) -> tuple[ast.expr, list[ast.BinOp]]:
    """The leftmost operand, and the operations on it, innermost first: a long sum is deep on its left side."""
    operations: list[ast.BinOp] = []
    while isinstance(node, ast.BinOp):
        operations.append(node)
        node = node.left
    return node, operations[::-1]


def evaluate(text: str | ast.expr, env: Mapping[str, Any], algebra: Algebra) -> Any:
    """The value of an expression, as text or parsed: an interval that contains it, or a rational function.

    A rational function's value is that of the expression wherever the expression is defined; see `undivided`.
    """

    def walk(node: ast.expr) -> Any:
        first, operations = spine(node)
        value = operand(first)
        for operation in operations:
            value = combined(operation, value)
        return value

    def operand(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return algebra[int](node.value)
        if isinstance(node, ast.Name):
            require(node.id in env, f"{node.id!r} is unknown")
            return env[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return algebra[ast.Mult](algebra[int](-1), walk(node.operand))
        require(isinstance(node, ast.Call) and not node.keywords, "something is not arithmetic")
        return called(node.func.id, [walk(argument) for argument in node.args])  # type: ignore[attr-defined]

    def combined(node: ast.BinOp, left: Any) -> Any:
        if isinstance(node.op, ast.Sub):
            return algebra[ast.Add](left, algebra[ast.Mult](algebra[int](-1), walk(node.right)))
        if isinstance(node.op, ast.Pow):
            largest = LARGEST_POWER if algebra is RATIOS else LARGEST_EXPONENT
            return power(left, exponent_of(node, env if algebra is INTERVALS else {}, largest), algebra)
        require(type(node.op) in algebra, "something is not arithmetic")
        return algebra[type(node.op)](left, walk(node.right))

    def called(function: str, values: Sequence[Any]) -> Any:
        if algebra is not RATIOS:
            require(function in algebra, f"{function!r} is no function here")
            return algebra[function](*values)
        require(all(map(is_number, values)), "a function of what is no number")
        points = [(Fraction(top.get((), 0), bottom[()]),) * 2 for top, bottom in values]
        low, high = INTERVALS[function](*points)
        require(low == high, "a function without an exact value")
        return constant(low)

    return walk(parsed(text) if isinstance(text, str) else text)


def exponent_of(node: ast.BinOp, env: Mapping[str, Interval], largest: int) -> Fraction:
    """The exponent of a power, an exact number."""
    low, high = evaluate(node.right, env, INTERVALS)
    require(low == high and abs(high) < largest, f"{high} is a bad exponent")
    return low


def power(base: Any, exponent: Fraction, algebra: Algebra) -> Any:
    """The base to the exponent. 0**0 is 1, as for the engines, and 0 has no negative power.

    A fractional power is exp(exponent ln base), of a positive interval, or of 0 itself with a positive exponent; that
    of the square of a rational number is exact.
    """
    if exponent.denominator != 1:
        require(algebra is INTERVALS and (any(base) or exponent > 0), "a root where there is none")
        if not any(base):
            return base
        root = Fraction(math.isqrt(max(0, base[0].numerator)), math.isqrt(base[0].denominator))
        if base[0] == base[1] == root**2 and exponent.denominator == 2:
            return power((root, root), 2 * exponent, algebra)
        return INTERVALS["exp"](INTERVALS[ast.Mult](INTERVALS["log"](base), (exponent, exponent)))
    result = algebra[int](1)
    for bit in f"{abs(int(exponent)):b}":
        result = algebra[ast.Mult](result, result)
        result = algebra[ast.Mult](result, base) if bit == "1" else result
    return result if exponent >= 0 else algebra[ast.Div](algebra[int](1), result)


def divisors(node: ast.expr) -> Iterator[ast.expr]:
    """What must not be zero if the expression is to be defined: divisors, and bases of powers 0, -1, -2, ...

    Refuses functions that are not defined everywhere, and fractional powers, of anything but numbers.
    """
    first, operations = spine(node)
    if isinstance(first, ast.UnaryOp):
        yield from divisors(first.operand)
    elif isinstance(first, ast.Call):
        if not (isinstance(first.func, ast.Name) and first.func.id in TOTAL):
            evaluate(first, {}, INTERVALS)
        for argument in first.args:
            yield from divisors(argument)
    for operation in operations:
        if isinstance(operation.op, ast.Pow):
            exponent = exponent_of(operation, {}, LARGEST_EXPONENT)
            if exponent.denominator != 1:
                evaluate(operation, {}, INTERVALS)
            elif exponent <= 0:
                yield operation.left
        else:
            yield from divisors(operation.right)
            if isinstance(operation.op, ast.Div):
                yield operation.right


def undivided(text: str, env: Mapping[str, Ratio], nonzero: Sequence[Ratio]) -> None:
    """Check that an expression is defined: each divisor is a product of powers of numbers other than 0 and of what is
    `nonzero`, up to sign."""

    def apart(node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return apart(node.left)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return apart(node.left) and apart(node.right)
        value = evaluate(node, env, RATIOS)
        if value[0] and is_number(value):
            return True
        return any(same(known, one) for one in (value, negative(value)) for known in nonzero)

    for node in divisors(parsed(text)):
        require(apart(node), f"{ast.unparse(node)!r} may be zero")


def put(text: str, name: str, value: str) -> str:
    """The expression with a value in place of a variable. (Every word of an expression is a name: it has no texts.)"""
    return re.sub(rf"\b{name}\b", f"({value})", text)


def put_for(text: str, part: ast.expr, name: str) -> str:
    """The expression with a variable in place of a part."""
    wanted = ast.dump(part)

    class Replaced(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return ast.Name(name) if ast.dump(node) == wanted else super().visit(node)

    parsed(text)
    return ast.unparse(Replaced().visit(ast.parse(text, mode="eval")))


# --- Domains ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DomainVariable:
    """A variable of a domain.

    lower, upper: expressions in earlier variables; None for none.   integer: it is a whole number.
    exp_of, log_of: it is the exponential or the logarithm of this, and lies between its ends too.
    moved: a number was put into its exponent, while its case is looked at.
    number: the irrational number that it stands for.
    """

    name: str
    lower: str | None
    upper: str | None
    lower_open: bool
    upper_open: bool
    integer: bool
    exp_of: str | None
    log_of: str | None
    moved: bool = False
    number: str | None = None

    @property
    def function(self) -> str | None:
        """The function of its argument that it is: "exp" or "log"; None if it is free."""
        return "exp" if self.exp_of is not None else "log" if self.log_of is not None else None

    @property
    def argument(self) -> str:
        """The expression whose exponential or logarithm it is; RefusedError for a free variable."""
        return require(self.exp_of if self.log_of is None else self.log_of, f"{self.name} is free")

    @property
    def is_free(self) -> bool:
        """Whether no expression determines it."""
        return self.function is None

    def ends(self) -> list[Relation]:
        """Its domain, as relations of expressions."""
        found = []
        if self.lower is not None:
            found.append((self.lower, "<" if self.lower_open else "<=", self.name))
        if self.upper is not None:
            found.append((self.name, "<" if self.upper_open else "<=", self.upper))
        return found

    def texts(self) -> list[str]:
        """The expressions in its domain and its link."""
        return [text for text in (self.lower, self.upper, self.exp_of, self.log_of) if text is not None]

    def mapped(self, change: Callable[[str], str]) -> DomainVariable:
        """The variable with these expressions changed."""
        parts = (self.lower, self.upper, self.exp_of, self.log_of)
        lower, upper, exp_of, log_of = (None if text is None else change(text) for text in parts)
        return replace(self, lower=lower, upper=upper, exp_of=exp_of, log_of=log_of)


Domain = dict[str, DomainVariable]
Relation = tuple[str, str, str]
"""An expression, "<=" or "<", and another expression."""


def declared(s: Mapping[str, Any]) -> Domain:
    """The variables of a statement by name.

    Refuses a name that is no plain identifier or that a function or a slack (`lo_x`, `hi_x`) has, a variable whose
    domain contains others than earlier ones, two links, and a linked variable that is whole.
    """
    domain: Domain = {}
    for v in s["variables"]:
        own = v["name"]
        plain = re.fullmatch(r"(?!lo_|hi_)[A-Za-z][A-Za-z0-9_]*", own) and own not in {*domain, *INTERVALS}
        flags = {flag: v.get(flag, False) for flag in ("lower_open", "upper_open", "integer")}
        read = DomainVariable(own, v["lower"], v["upper"], **flags, exp_of=v.get("exp_of"), log_of=v.get("log_of"))
        take(len(domain))
        known = all(names(text) <= domain.keys() for text in read.texts())
        known = known and not {"exp_of", "log_of"} <= v.keys() and (read.is_free or not read.integer)
        known = known and all(v[link] is not None for link in {"exp_of", "log_of"} & v.keys())
        require(
            plain and all(type(flag) is bool for flag in flags.values()) and known,
            f"the variable {own!r} is not well declared",
        )
        domain[own] = read
    return domain


def reached(texts: Iterable[str], domain: Domain) -> list[str]:
    """The variables of the expressions, and those of their domains and links, in the domain's order."""
    found: set[str] = set()
    waiting = [name for text in texts for name in names(text)]
    while waiting:
        name = waiting.pop()
        if name in domain and name not in found:
            found.add(name)
            waiting += [needed for text in domain[name].texts() for needed in names(text)]
    return [name for name in domain if name in found]


def holds(left: str, relation: str, right: str, env: Mapping[str, Interval], printed: Any = None) -> bool:
    """Whether the relation holds for these values, which must match the sides' printed values."""
    a, b = (evaluate(side, env, INTERVALS) for side in (left, right))
    for value, text in ((a, printed["left"]), (b, printed["right"])) if printed else ():
        low, high = hull(*map(number, text if isinstance(text, list) else [text]))
        near = low <= value[1] and value[0] <= high and high - low < Fraction(1, 10**6)
        require(near, f"{text} is printed where another value is found")
    require((a[0] == a[1] and b[0] == b[1]) or a[1] < b[0] or b[1] < a[0], "the two sides are too close to tell apart")
    return RELATIONS[relation](a[0], b[0])


def inside(domain: Domain, point: Mapping[str, Any]) -> dict[str, Interval]:
    """The values of all variables at a point, after a check that it lies in the domain: that is not empty, then.

    point: the values of the free variables; the others follow.
    """
    require(point.keys() == {name for name, v in domain.items() if v.is_free}, "not a value for each variable")
    env: dict[str, Interval] = {}
    for name, v in domain.items():
        if v.is_free:
            env[name] = INTERVALS[int](point[name])
        else:
            env[name] = INTERVALS[v.function](evaluate(v.argument, env, INTERVALS))
        require(all(holds(*end, env) for end in v.ends()), f"{name} leaves its domain")
        require(not v.integer or env[name][0].denominator == 1, f"{name} is not whole")
    return env


# --- Relations on a whole domain -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Universal:
    """left RELATION right at all points of a domain.

    given: expressions for some variables; it is only claimed where these have these values.
    premises: relations of expressions; it is only claimed where they hold.
    """

    left: str
    relation: str
    right: str
    domain: Domain
    given: Mapping[str, str] = field(default_factory=dict)
    premises: tuple[Relation, ...] = ()

    def about(self, left: str, relation: str, right: str) -> Universal:
        """Another relation on the same domain."""
        return replace(self, left=left, relation=relation, right=right)

    def mapped(self, change: Callable[[str], str], domain: Domain) -> Universal:
        """The relation with its expressions changed, on another domain."""
        given = {name: change(text) for name, text in self.given.items()}
        premises = tuple((change(left), relation, change(right)) for left, relation, right in self.premises)
        return Universal(change(self.left), self.relation, change(self.right), domain, given, premises)

    def at(self, name: str, value: str) -> Universal:
        """The relation with a number in place of a variable, in the domains of the others as well."""

        def change(text: str) -> str:
            return put(text, name, value)

        rest = {n: v.mapped(change) for n, v in self.domain.items() if n != name}
        rest = {n: replace(v, moved=v.moved or v.exp_of != self.domain[n].exp_of) for n, v in rest.items()}
        return self.mapped(change, rest)


Evidence = Mapping[str, Any]


def everywhere(claim: Universal, evidence: Evidence) -> None:
    """Check that the evidence shows the relation on the whole domain, and both sides defined there."""
    rule = require(RULES.get(evidence["kind"]), f"{evidence['kind']!r} shows nothing on a whole domain")
    rule(claim, evidence)


def by_halves(claim: Universal, evidence: Evidence) -> None:
    """The domain is cut at an expression `at` in earlier variables, and each half, which has the cut, has its proof.

    x <= at or at <= x at every point, so that the halves cover the domain. The end that the cut replaces is forgotten:
    a half may be larger than its share, never smaller. Its other end stays as open or closed as it was. A whole number
    that is not at most a whole number is at least the next one.
    """
    v, at, before = claim.domain[evidence["variable"]], evidence["at"], list(claim.domain)
    require(names(at) <= {*before[: before.index(v.name)]}, "a domain is cut at what comes after it")
    onwards = str(int(at) + 1) if v.integer and re.fullmatch("-?[0-9]{1,9}", at) else at
    below, above = replace(v, upper=at, upper_open=False), replace(v, lower=onwards, lower_open=False)
    for half, cut in (("below", below), ("above", above)):
        everywhere(replace(claim, domain={**claim.domain, v.name: cut}), evidence[half])


def by_cases(claim: Universal, evidence: Evidence) -> None:
    """A whole number between two rational ends takes finitely many values, and each has a proof.

    All whole numbers from the lower end, rounded down, to the upper one, rounded up, are held against the ends as they
    are, open or closed: exactly those inside must be there. The value is put in place of the variable everywhere.
    """
    own, proofs = claim.domain[evidence["variable"]], evidence["proofs"]
    first, last = (evaluate(require(end, "no end"), {}, EXACT)[0] for end in (own.lower, own.upper))
    values = range(math.floor(first), math.ceil(last) + 1)[: len(proofs) + 3]  # cut off, it is still too many
    whole = {str(k) for k in values if all(holds(*end, {own.name: INTERVALS[int](k)}) for end in own.ends())}
    require(own.integer and proofs.keys() == whole, f"not every {own.name} is there")
    require(own.name not in claim.given, f"{own.name} is given")
    for value, proof in proofs.items():
        everywhere(claim.at(own.name, value), proof)


def by_terms(claim: Universal, evidence: Evidence) -> None:
    """A new variable in place of each of some terms, between ends that hold all values of the term.

    The relation for all values between the ends holds for those that the term takes. A number is enclosed by interval
    arithmetic, and replaced in the domains too; a term with variables lies in the range that its form shows
    (recheck_ranges.py), which must show that it is defined as well; and Ceil(e) in e <= Ceil(e) < e + 1. That a root is
    a root counts as two premises.
    """
    roots: tuple[Relation, ...] = ()
    for name, read in evidence["letters"].items():
        node, text = parsed(read["is"]), read["is"]
        own = re.fullmatch(r"term_\d+_*", name) and name not in claim.domain
        require(own and names(text) <= claim.domain.keys(), "a term of what is unknown")
        v, domain = _letter(name, read), claim.domain
        if names(text):
            _require_range(node, v, claim, read.get("defined"))
            domain = {**domain, name: v}
        else:
            low, high = evaluate(node, {}, INTERVALS)
            _require_within(Range(low, low_open=False, high=high, high_open=False), v)
            v = replace(v, number=text)
            domain = {name: v, **{n: u.mapped(_putting(node, name)) for n, u in domain.items()}}
        claim = claim.mapped(_putting(node, name), domain)
        roots += _as_a_root(node, name)
    everywhere(replace(claim, premises=(*claim.premises, *roots)), evidence["proof"])


def _letter(name: str, read: Mapping[str, Any]) -> DomainVariable:
    """The variable that stands for a term, with the ends that the evidence gives it."""
    ends = {key: read[key] for key in ("lower", "upper", "lower_open", "upper_open")}
    flags = ends["lower_open"], ends["upper_open"]
    require(all(type(flag) is bool for flag in flags), f"the ends of {name} are not well declared")
    return DomainVariable(name, **ends, integer=False, exp_of=None, log_of=None)


def _as_a_root(node: ast.expr, name: str) -> tuple[Relation, ...]:
    """name**q = u**p for the term u**(p/q), which is defined: two premises. None for other terms."""
    match node:
        case ast.Call(func=ast.Name(id="sqrt"), args=[inner]):
            base, exponent = inner, Fraction(1, 2)
        case ast.BinOp(left=base, op=ast.Pow(), right=right) if not names(ast.unparse(right)):
            exponent = exponent_of(node, {}, LARGEST_POWER)  # type: ignore[arg-type]
        case _:
            return ()
    plain = names(ast.unparse(base)) or not any(isinstance(one, ast.Call | ast.Pow) for one in ast.walk(base))
    if exponent <= 0 or exponent.denominator >= LARGEST_POWER or not plain:
        return ()
    power, root = f"{name}**{exponent.denominator}", f"({ast.unparse(base)})**{exponent.numerator}"
    return (power, "<=", root), (root, "<=", power)


def _require_range(node: ast.expr, v: DomainVariable, claim: Universal, defined: Evidence | None) -> None:
    """RefusedError unless a term lies between the ends, and is defined: by its range, or by a proof about its root."""
    is_step = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Ceil"
    if is_step:
        ends = [ast.dump(parsed(end)) for end in (v.lower, v.upper)]
        inner = ast.dump(node.args[0]), ast.dump(parsed(f"({v.lower}) + 1"))  # type: ignore[attr-defined]
        require((*ends, v.lower_open, v.upper_open) == (*inner, False, True), "a step of another kind")
        return
    ranges = ranges_of(claim.domain)
    if defined is not None:
        is_root = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("sqrt", "log")
        relation = require(is_root and {"sqrt": "<=", "log": "<"}[node.func.id], "no root")  # type: ignore[attr-defined]
        everywhere(claim.about("0", relation, ast.unparse(node.args[0])), defined)  # type: ignore[attr-defined]
    else:
        whole = {n for n, u in claim.domain.items() if u.integer}
        require(is_defined(node, ranges, whole), "a term that may be undefined")
    _require_within(range_of(node, ranges), v)


def ranges_of(domain: Domain) -> dict[str, Range]:
    """The range of each variable."""
    found: dict[str, Range] = {}
    for name, v in domain.items():
        lower, upper = (None if end is None else parsed(end) for end in (v.lower, v.upper))
        is_exponential = v.function == "exp"
        found[name] = range_of_variable(
            (lower, v.lower_open), (upper, v.upper_open), found, integer=v.integer, exponential=is_exponential
        )
    return found


def _require_within(span: Range, v: DomainVariable) -> None:
    """RefusedError unless all of a range lies between the ends, which are numbers, of a variable."""
    lower, upper = (None if end is None else evaluate(end, {}, EXACT)[0] for end in (v.lower, v.upper))
    above = lower is None or (
        span.low is not None and (span.low > lower or (span.low == lower and (span.low_open or not v.lower_open)))
    )
    below = upper is None or (
        span.high is not None and (span.high < upper or (span.high == upper and (span.high_open or not v.upper_open)))
    )
    require(above and below, f"{v.name} may lie outside of its ends")


def _putting(node: ast.expr, name: str) -> Callable[[str], str]:
    return lambda text: put_for(text, node, name)


def by_induction(claim: Universal, evidence: Evidence) -> None:
    """A whole number n without an upper end: the relation at the first n; and at n + 1 if it holds at n.

    No other domain depends on n. For the step a letter stands for each B**n, and B**(c n + d), with whole c and d, is a
    power of the letter times one of B; at n + 1 the letter is B times what it is at n. So B may be anything that
    does not contain n, as n >= 0; where B or the letter is divided by, it is shown not to be 0. The letter lies in the
    range of B**n. Premises are not used: at the first n they may fail, where nothing would be shown to start from.
    """
    claim = replace(claim, premises=())
    own, powers = claim.domain[evidence["variable"]], evidence["powers"]
    first = evaluate(require(own.lower, "no end"), {}, EXACT)[0]
    first = math.floor(first) + 1 if own.lower_open else math.ceil(first)
    alone = own.integer and own.upper is None and own.is_free and own.name not in claim.given and first >= 0
    others = {n: v for n, v in claim.domain.items() if n != own.name}
    require(alone and not any(own.name in names(t) for v in others.values() for t in v.texts()), "no such induction")
    require(not any(own.name in names(text) for text in claim.given.values()), "a path that depends on it")
    everywhere(claim.at(own.name, str(first)), evidence["start"])
    n = replace(own, lower=str(first), lower_open=False)
    domain: Domain = {own.name: n, **others}
    spans = ranges_of(domain)
    for name, read in powers.items():
        known = re.fullmatch(r"power_\d+_*", name) and name not in domain
        require(known and names(read["base"]) <= others.keys(), "a power of what is unknown")
        v = _letter(name, read)
        _require_within(range_of(parsed(f"({read['base']})**{own.name}"), spans), v)
        domain = {**domain, name: v}

    def folded(text: str) -> str:
        return _with_powers(text, own.name, first, {name: read["base"] for name, read in powers.items()})

    def onwards(text: str) -> str:
        for name, read in powers.items():
            text = put(text, name, f"{name}*({read['base']})")
        return put(text, own.name, f"{own.name} + 1")

    here = folded(claim.left), claim.relation, folded(claim.right)
    require(claim.relation in ("<=", "<"), "an induction on no inequality")
    step = Universal(onwards(here[0]), claim.relation, onwards(here[2]), domain, dict(claim.given), (here,))
    everywhere(step, evidence["step"])


def _with_powers(text: str, n: str, first: int, letters: Mapping[str, str]) -> str:
    """The expression with B**(c n + d) as letter**c B**d, where the letter is B**n; RefusedError for others of n."""
    bases = {ast.dump(parsed(base)): name for name, base in letters.items()}

    class Folded(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
            if not (isinstance(node.op, ast.Pow) and n in names(ast.unparse(node.right))):
                return self.generic_visit(node)  # type: ignore[return-value]
            top, bottom = evaluate(node.right, {n: generator(n)}, RATIOS)
            c, d = (Fraction(top.get(m, 0)) / bottom.get((), 1) for m in (((n, 1),), ()))
            linear = top.keys() <= {(), ((n, 1),)} and bottom.keys() == {()} and c.denominator == d.denominator == 1
            require(linear and (c < 0 or c * first + d >= 0), "an exponent of another kind")
            name = require(bases.get(ast.dump(node.left)), "a power without a letter")
            factors = [f"({base})**{abs(k)}" for base, k in ((name, c), (ast.unparse(node.left), d)) if k > 0]
            below = [f"({base})**{abs(k)}" for base, k in ((name, c), (ast.unparse(node.left), d)) if k < 0]
            return parsed("*".join(factors or ["1"]) + (f"/({'*'.join(below)})" if below else ""))

    parsed(text)
    return ast.unparse(Folded().visit(ast.parse(text, mode="eval")))


def by_box(claim: Universal, evidence: Evidence) -> None:  # noqa: ARG001  (a box has no evidence but its kind)
    """Interval arithmetic on the whole domain separates the two sides.

    Each free variable is enclosed by the hull of its ends, closed even where they are open, and a linked one by the
    function of its argument: the domain is inside of this box. Interval arithmetic refuses a division by what contains
    0, in the ends of a linked variable too, which it does not use. Two enclosures that touch show `<=` alone.
    """
    box: dict[str, Interval] = {}
    for name, v in claim.domain.items():
        require(not v.is_free or None not in (v.lower, v.upper), f"{name} has no end")
        found = {text: evaluate(text, box, INTERVALS) for text in v.texts()}
        sides = found.values() if v.is_free else [found[v.argument]]
        hulled = hull(*(end for side in sides for end in side))
        box[name] = hulled if v.is_free else INTERVALS[v.function](hulled)
    a, b = (evaluate(side, box, INTERVALS) for side in (claim.left, claim.right))
    shown = {"<=": a[1] <= b[0], "<": a[1] < b[0], "!=": a[1] < b[0] or b[1] < a[0]}.get(claim.relation)
    require(shown and not claim.given, "the box does not tell the two sides apart")


def by_form(claim: Universal, evidence: Evidence) -> None:
    """right - left expands to a form whose shape shows its sign (`sign`): 0, not negative, or positive.

    `==` needs the difference to be the zero polynomial, `<=` a form that is not negative, `<` and `!=` a positive one
    (`!=` in either direction). As rational functions the form and the difference agree wherever both are defined, and
    `Slacks` and `sign` refuse what is not defined on the whole domain.
    """
    slacks = Slacks(claim, evidence)
    gap = evidence.get("gap", "0")
    shape, form = sign(parsed(gap), slacks.signs), evaluate(gap, slacks.env, RATIOS)
    fits = same(slacks.gap, form) or (claim.relation == "!=" and same(negative(slacks.gap), form))
    require(fits, "the form does not expand to the gap")
    shown = {"==": not slacks.gap[0], "<=": shape >= 1, "<": shape == 2, "!=": shape == 2}[claim.relation]
    require(shown, "the form of the gap does not show the relation")


def sign(node: ast.expr, signs: Mapping[str, int]) -> int:
    """The sign of a form on the whole domain: 2 if positive, 1 if not negative, 0 if its shape does not decide.

    signs: 2 for the slacks of open ends, 1 for those that may be 0; other names have any sign. A product is as
    positive as its least factor; a sum without undecided terms as its most positive one. Divisors must be positive,
    also inside an even power: a form is defined on the whole domain.
    """
    first, operations = spine(node)
    found = 0
    if isinstance(first, ast.Constant):
        found = 2 if type(first.value) is int and first.value > 0 else 1
    elif isinstance(first, ast.Name):
        found = signs.get(first.id, 0)
    else:
        require(isinstance(first, ast.UnaryOp), "a form has another shape")
        sign(first.operand, signs)  # type: ignore[attr-defined]
    for operation in operations:
        right = sign(operation.right, signs)
        if isinstance(operation.op, ast.Pow):
            exponent = operation.right.value if isinstance(operation.right, ast.Constant) else None
            require(type(exponent) is int and exponent > 0, "a form has only powers 1, 2, 3, ...")
            found = found or int(exponent % 2 == 0)  # type: ignore[operator]
        elif isinstance(operation.op, ast.Div):
            require(right == 2, "a form divides by what may be zero")
        elif isinstance(operation.op, ast.Mult):
            found = min(found, right)
        else:
            found = max(found, right) if isinstance(operation.op, ast.Add) and found and right else 0
    return found


class Slacks:
    """What is known of a domain, as rational functions: the slacks of its variables, with their signs.

    * A variable x has `lo_x` = x - lower and `hi_x` = upper - x: not negative, and positive where the end is open.
    * Where the evidence has `taylor` m, odd, e**a has the slacks `lo` = e**a - P(a), P the Taylor polynomial of exp of
      degree m, and `hi` = 1 - e**a P(-a), in place of those of its ends: P <= exp everywhere, as the remainder
      exp(z) a**(m+1)/(m+1)! has an even power; and so e**a P(-a) <= e**a e**-a. Both are 0 at a = 0: never positive.
    * ln u has `lo` = ln u - (1 - 1/u) and `hi` = u - 1 - ln u where u > 0. Both are 0 at u = 1: never positive, and its
      own ends are not used.
    * A variable whose two ends are one expression has that value, and no slacks.
    * The premise a <= b has `lo_given_0` = b - a, the next one `lo_given_1`, and so on: positive for a < b.

    What is checked when it is made: all that the two sides reach is defined. Each divisor must be one of the evidence's
    `divisors` up to sign, each a positive form; and of a domain's divisors only forms in the slacks of *earlier*
    variables count. Otherwise the slacks of y <= 1/x could show that x is not 0, or those of ln u that u > 0.

    env: the rational functions of variables and slacks.   signs: as `sign` needs them.   gap: right - left.
    """

    def __init__(self, claim: Universal, evidence: Evidence) -> None:
        self.domain, self.taylor = claim.domain, evidence.get("taylor", 0)
        require(
            type(self.taylor) is int
            and (self.taylor == 0 or (self.taylor % 2 and 0 < self.taylor < MOST_TERMS_OF_EXP)),
            "only odd Taylor polynomials lie below exp",
        )
        single = {n: v.lower for n, v in self.domain.items() if v.lower is not None and _is_same(v.lower, v.upper)}
        self.given: dict[str, str] = {**single, **claim.given}
        used = {name for text in (evidence.get("gap", "0"), *evidence["divisors"]) for name in names(text)}
        premises = {f"lo_given_{place}": one for place, one in enumerate(claim.premises)}
        premises = {name: one for name, one in premises.items() if name in used}
        of_premises = [side for one in premises.values() for side in (one[0], one[2])]
        self.needed = reached([claim.left, claim.right, *of_premises, *self.given.values()], self.domain)
        self.powers = known_powers(self.domain, self.given)
        self.env: dict[str, Ratio] = {}
        self.signs: dict[str, int] = {}
        for name, v in self.domain.items():
            if name in self.given:
                self.env[name] = evaluate(self.given[name], self.env, RATIOS)
            else:
                self.env[name] = self.powers.get(name, generator(name))
            if name in self.needed and name not in self.powers:
                self._add(v)
        for name, (lower, relation, upper) in premises.items():
            low, high = (evaluate(side, self.env, RATIOS) for side in (lower, upper))
            self.env[name], self.signs[name] = minus(high, low), 1 + (relation == "<")
        self.texts: list[str] = evidence["divisors"]
        require(
            all(sign(parsed(text), self.signs) == 2 for text in self.texts),
            "the form of a divisor does not show that it never vanishes",
        )
        self.forms = [evaluate(text, self.env, RATIOS) for text in self.texts]
        self._check_defined([claim.left, claim.right], of_premises)
        left, right = (evaluate(side, self.env, RATIOS) for side in (claim.left, claim.right))
        self.gap = minus(right, left)

    def _add(self, v: DomainVariable) -> None:
        """The slacks of a variable."""
        here, lower, upper = self.env[v.name], f"lo_{v.name}", f"hi_{v.name}"
        if v.function == "log":
            u = evaluate(v.argument, self.env, RATIOS)
            self.env[lower] = minus(here, minus(constant(1), over(constant(1), u)))
            self.env[upper] = minus(minus(u, constant(1)), here)
            self.signs |= {lower: 1, upper: 1}
        elif v.function == "exp" and self.taylor:
            below, back = (series(sided, self.taylor) for sided in (v.argument, f"-({v.argument})"))
            self.env[lower] = minus(here, evaluate(below, self.env, RATIOS))
            self.env[upper] = minus(constant(1), by(here, evaluate(back, self.env, RATIOS)))
            self.signs |= {lower: 1, upper: 1}
        elif v.name not in self.given:
            if v.lower is not None:
                self.env[lower] = minus(here, evaluate(v.lower, self.env, RATIOS))
                self.signs[lower] = 1 + v.lower_open
            if v.upper is not None:
                self.env[upper] = minus(evaluate(v.upper, self.env, RATIOS), here)
                self.signs[upper] = 1 + v.upper_open

    def _check_defined(self, sides: Sequence[str], premises: Sequence[str]) -> None:
        """What is shown by a premise, or by the slack of a later variable, does not show that it is defined itself."""
        places = {name: place for place, name in enumerate(self.domain)}
        depths = [
            max((places.get(re.sub("^(lo|hi)_", "", name), len(places)) for name in names(text)), default=-1)
            for text in self.texts
        ]
        bare = [form for form, depth in zip(self.forms, depths, strict=True) if depth < len(places)]
        for text in premises:
            undivided(text, self.env, [*bare, *self.powers.values()])
        for name in self.needed:
            v = self.domain[name]
            earlier = [form for form, depth in zip(self.forms, depths, strict=True) if depth < places[name]]
            known = [*earlier, *self.powers.values()]
            for text in v.texts():
                undivided(text, self.env, known)
            if v.function == "log":
                u = evaluate(v.argument, self.env, RATIOS)
                require(any(same(u, form) for form in earlier), "a logarithm of what may not be positive")
        for text in (*sides, *self.given.values()):
            undivided(text, self.env, [*self.forms, *self.powers.values()])


def _is_same(one: str, other: str | None) -> bool:
    """Whether two ends are one text, or one number."""
    if other is None or one == other or names(one) or names(other):
        return one == other
    low, high = evaluate(one, {}, INTERVALS)
    return low == high and evaluate(other, {}, INTERVALS) == (low, high)


def series(text: str, degree: int) -> str:
    """The Taylor polynomial of exp at an expression."""
    return " + ".join(["1", *(f"({text})**{k}/{math.factorial(k)}" for k in range(1, degree + 1))])


def known_powers(domain: Domain, given: Mapping[str, str]) -> dict[str, Ratio]:
    """Exponentials that are 1, or powers of others, since a number was put into their exponents.

    e**a = 1 if a is the zero polynomial, and e**a = (e**b)**k if a = k b for a whole number k.
    """
    found: dict[str, Ratio] = {}
    exponents: dict[str, Ratio] = {}
    linked = [n for n, v in domain.items() if v.exp_of is not None and n not in given]
    bare, moved = {name: generator(name) for name in domain}, [n for n in linked if domain[n].moved]
    for name in [n for n in linked if moved and n not in moved] + moved:
        try:
            undivided(domain[name].argument, bare, [])
            own = evaluate(domain[name].argument, bare, RATIOS)
        except RefusedError:  # a function, or a divisor, of what is no number yet
            continue
        twin = next(((n, k) for n, u in exponents.items() if (k := multiple(own, u))), None)
        if name in moved and twin is not None:
            found[name] = power(bare[twin[0]], Fraction(twin[1]), RATIOS)
        elif name in moved and not own[0]:
            found[name] = constant(1)
        else:
            exponents[name] = own
    return found


def multiple(u: Ratio, v: Ratio) -> int:
    """The whole number k with u = k v; 0 if there is none."""
    top, bottom = times(u[0], v[1]), times(v[0], u[1])
    k = Fraction(next(iter(top.values()), 0)) / bottom.get(next(iter(top), ()), 1)
    return int(k) if k.denominator == 1 and top == {m: k * c for m, c in bottom.items()} else 0


def by_rise(claim: Universal, evidence: Evidence) -> None:
    """right - left = factor * function with factor > 0, where the function begins right and its derivative keeps it.

    The variable x moves from its end `from` ("lower", unless said otherwise) and is free, real and bounded there; no
    other domain moves with it. Let f be the function with all other free variables fixed. Then f(x) = f(begin) + the
    integral of f' from there to x, as f is continuous up to the beginning, even if that is excluded (below). If
    f(begin) >= 0 and f' >= 0 inside, f(x) >= 0. It is > 0 if f(begin) > 0; or if x never is at the beginning, as
    that end is open, and f' > 0. From "upper" the sign of f' is opposite.

    Continuous: a divisor of f must not vanish at the beginning, where the slacks of x and of all that moves with it may
    be 0 although they are positive on the domain. Inside: the point must stay in the domain while x moves, so a linked
    variable that moves has no end that it could cross (`_never_leaves`). At the beginning a linked variable is e**0,
    ln 1, or one that is known not to move and has the same argument. Premises need not hold on the way: none is used.
    """
    near = reached([claim.left, claim.right, evidence["factor"], evidence["function"]], claim.domain)
    claim = replace(claim, domain={name: claim.domain[name] for name in near}, premises=())
    slacks, x, side = Slacks(claim, evidence), evidence["variable"], evidence.get("from", "lower")
    domain, env = claim.domain, slacks.env
    v = domain[x]
    require(side in ("lower", "upper") and not slacks.given and v.is_free, "a rise of another kind")
    first, is_open = (v.lower, v.lower_open) if side == "lower" else (v.upper, v.upper_open)
    first = require(None if v.integer else first, f"{x} has no beginning")
    leaning = {n for n, u in domain.items() for end in (u.lower, u.upper) if end and x in reached([end], domain)}
    require(not leaning and claim.relation in ("<=", "<"), f"the domain of {leaning} moves with {x}")
    # The linked variables that move with x, with their derivatives: each after those in its argument.
    rates: dict[str, Ratio] = {}
    for name, u in domain.items():
        if not u.is_free:
            argument = evaluate(u.argument, env, RATIOS)
            rate = derivative(argument, x, rates)
            if rate[0]:
                require(_never_leaves(u, argument, domain), f"{name} is kept from its value at the beginning")
                rates[name] = by(rate, env[name]) if u.function == "exp" else over(rate, argument)
    closed = {**slacks.signs, **{end + name: 1 for name in (x, *rates) for end in ("lo_", "hi_")}}
    known = [form for text, form in zip(slacks.texts, slacks.forms, strict=True) if _is_positive(text, closed)]
    known += [env[name] for name, u in domain.items() if u.function == "exp"]
    for text in (first, evidence["function"], *(domain[name].argument for name in rates)):
        undivided(text, env, known)
    at = {**env, x: evaluate(first, env, RATIOS)}
    for name in rates:
        at[name] = _at_the_beginning(domain[name], at, env, {n: u for n, u in domain.items() if n not in rates})
    require(names(evidence["factor"]) | names(evidence["function"]) <= domain.keys(), "a slack has no derivative")
    factor, function = (evaluate(evidence[key], env, RATIOS) for key in ("factor", "function"))
    start, slope = evidence["start"], evidence["slope"]
    require(same(slacks.gap, by(factor, function)), "factor and function are not the gap")
    along = derivative(function, x, rates)
    rising = negative(along) if side == "upper" else along
    require(same(evaluate(slope["function"], env, RATIOS), rising), "the derivative is another")
    value = evaluate(evidence["function"], at, RATIOS)
    require(same(evaluate(start["function"], env, RATIOS), value), "it begins with another value")
    strict = {start["relation"], slope["relation"]} if is_open else {start["relation"]}
    require(claim.relation == "<=" or "<" in strict, "nothing shows that the sides differ")
    everywhere(claim.about("0", "<", evidence["factor"]), evidence["positive"])
    for one in (start, slope):
        require(one["relation"] in ("<=", "<"), "not an inequality")
        everywhere(claim.about("0", one["relation"], one["function"]), one["proof"])


def _is_positive(text: str, signs: Mapping[str, int]) -> bool:
    try:
        return sign(parsed(text), signs) == 2
    except RefusedError:  # a divisor inside of it is not
        return False


def _never_leaves(u: DomainVariable, argument: Ratio, domain: Domain) -> bool:
    """Whether a linked variable stays within its ends while its argument moves.

    It has no upper end; and no lower one, or that of every exponential, 0; or 1, where the argument is a polynomial
    with positive coefficients in variables from 0 on: such an argument is positive inside if it is so at all.
    """
    if u.upper is not None or u.lower is None or (u.function == "exp" and u.lower == "0"):
        return u.upper is None
    top, bottom = argument
    grows = all(c > 0 and all(domain[n].lower == "0" for n, _ in m) for m, c in top.items())
    return u.function == "exp" and u.lower == "1" and grows and bottom.keys() == {()} and bottom[()] > 0


def _at_the_beginning(u: DomainVariable, at: Mapping[str, Ratio], env: Mapping[str, Ratio], still: Domain) -> Ratio:
    """The value of a linked variable where x begins: known, or that of one which does not move, or of a number."""
    there = evaluate(u.argument, at, RATIOS)
    if same(there, constant(0 if u.function == "exp" else 1)):
        return constant(1 if u.function == "exp" else 0)
    for name, other in still.items():
        known = parsed(other.number or "0")
        is_log = u.function == "log" and isinstance(known, ast.Call) and known.func.id == "log"  # type: ignore[attr-defined]
        if is_log and same(evaluate(known.args[0], {}, RATIOS), there):  # type: ignore[attr-defined]
            return env[name]
    others = (n for n, other in still.items() if other.function == u.function)
    alike = next((n for n in others if same(evaluate(still[n].argument, env, RATIOS), there)), None)
    return env[require(alike, f"{u.name} is none that is known at the beginning")]


RULES: dict[str, Callable[[Universal, Evidence], None]] = {
    "identity": by_form,
    "certificate": by_form,
    "halves": by_halves,
    "cases": by_cases,
    "terms": by_terms,
    "induction": by_induction,
    "box": by_box,
    "rise": by_rise,
}
"""By the kind of the evidence."""

# --- Verdicts on statements ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportedStatement:
    """A formal statement with its evidence, as a report has it."""

    quantifier: str
    left: str
    relation: str
    right: str
    domain: Domain
    constant: str | None
    evidence: Evidence
    premises: tuple[Relation, ...] = ()

    def near(self) -> Domain:
        """The variables that the sides reach: a relation for all their values needs no others."""
        of_premises = [side for one in self.premises for side in (one[0], one[2])]
        kept = reached([self.left, self.right, *of_premises], self.domain)
        return {name: self.domain[name] for name in kept}

    def inside(self, point: Mapping[str, Any]) -> dict[str, Interval]:
        """The values of all variables at a point of the domain at which the premises hold."""
        env = inside(self.domain, point)
        require(all(holds(*one, env) for one in self.premises), "a premise does not hold there")
        return env


def part(s: Mapping[str, Any]) -> str:
    """The verdict that the evidence of one part shows; RefusedError if it shows none."""
    begin()
    domain = declared(s)
    read = {key: s[key] for key in ("quantifier", "left", "relation", "right", "evidence")}
    premises = tuple((left, relation, right) for left, relation, right in s.get("given", ()))
    statement = ReportedStatement(**read, domain=domain, constant=s.get("constant"), premises=premises)
    every = (statement.left, statement.right, *(side for one in premises for side in (one[0], one[2])))
    known = all(names(side) <= domain.keys() for side in every) and all(one[1] in ("<=", "<") for one in premises)
    require(known and statement.relation in RELATIONS, "not a well-formed statement")
    if statement.evidence["kind"] == "undecided":
        return "UNDECIDED"
    rule = VERDICTS.get((statement.quantifier, statement.evidence["kind"]))
    return require(rule, "the wrong evidence")(statement)


def from_values(s: ReportedStatement) -> str:
    """A statement about numbers is what both sides' values say."""
    require(not s.domain and not s.premises, "values of variables")
    return "PROVED" if holds(s.left, s.relation, s.right, {}, s.evidence) else "REFUTED"


def from_counterexample(s: ReportedStatement) -> str:
    """One point of the domain at which the relation fails refutes that it holds everywhere."""
    require(not holds(s.left, s.relation, s.right, s.inside(s.evidence["point"]), s.evidence), "it holds there")
    return "REFUTED"


def from_example(s: ReportedStatement) -> str:
    """One point of the domain at which the relation holds proves that there is one."""
    require(holds(s.left, s.relation, s.right, s.inside(s.evidence["point"]), s.evidence), "it does not there")
    return "PROVED"


def from_proof(s: ReportedStatement) -> str:
    """A relation on a domain that is not empty."""
    s.inside(s.evidence["inside"])
    everywhere(Universal(s.left, s.relation, s.right, s.near(), premises=s.premises), s.evidence)
    return "PROVED"


def from_solver(s: ReportedStatement) -> str:
    """z3's answer cannot be verified, but the relation must not fail at the point that shows the domain not empty."""
    at = s.inside(s.evidence["inside"])
    a, b = (evaluate(side, at, INTERVALS) for side in (s.left, s.right))
    undecided = a != b and a[0] <= b[1] and b[0] <= a[1]
    require(undecided or holds(s.left, s.relation, s.right, at), "it fails at the point of its own domain")
    return "PROVED"


def from_denial(s: ReportedStatement) -> str:
    """There is no point at which the relation holds if its negation holds at all points of a domain not empty."""
    sides = (s.left, s.right) if s.relation in ("==", "!=") else (s.right, s.left)
    negated = replace(s, left=sides[0], relation=NEGATIONS[s.relation], right=sides[1], evidence=s.evidence["proof"])
    (from_solver if negated.evidence["kind"] == "smt" else from_proof)(negated)
    return "REFUTED"


def any_positive(s: ReportedStatement) -> str:
    """The constant of "there is one constant for all": any number > 0, whatever the other variables are."""
    require(not s.premises, "a constant under a premise")
    own = s.domain[require(s.constant, "there is no constant")]
    free = own.is_free and not own.integer and own.ends() == [("0", "<", own.name)]
    require(free and own.name == next(iter(s.domain)), f"{own.name} is not any number > 0")
    return own.name


def from_constant(s: ReportedStatement) -> str:
    """With the evidence's constant the relation holds at all points of a domain that is not empty."""
    K, value, proof = any_positive(s), s.evidence["constant"], s.evidence["proof"]
    inside(s.domain, {**proof["inside"], K: value})
    everywhere(Universal(s.left, s.relation, s.right, s.domain, {K: value}), proof)
    return "PROVED"


def from_escape(s: ReportedStatement) -> str:
    """Whatever the constant K > 0, the relation fails at one point: the path gives its free variables, in terms of K.

    Shown for all K: each end of each variable's domain (without assuming these ends), and right < left. A whole number
    is the same for all K. Linked variables follow from the path, and their arguments are defined on it.
    """
    K, path, near = any_positive(s), s.evidence["path"], s.near()
    require(path.keys() == {n for n, v in s.domain.items() if v.is_free} - {K}, "the path does not give each variable")
    whole = all(re.fullmatch("[0-9]+", path[n]) for n in path if s.domain[n].integer)
    require(s.relation == "<=" and whole and all(names(text) <= {K} for text in path.values()), "not a path in K")
    loose = {n: v if n == K else replace(v, lower=None, upper=None) for n, v in s.domain.items()}
    bounds = [end for name, v in s.domain.items() if name != K for end in v.ends()]
    shown = {name for end in bounds for name in reached([end[0], end[2]], loose)} | near.keys()
    for name in loose.keys() - shown:
        if not loose[name].is_free:
            require(loose[name].function == "exp", "a logarithm may be undefined on the path")
            undivided(loose[name].argument, {n: generator(n) for n in loose}, [])
    relations = [*bounds, (s.right, "<", s.left)]
    for (left, relation, right), proof in zip(relations, [*s.evidence["inside"], s.evidence["proof"]], strict=True):
        everywhere(Universal(left, relation, right, loose, path), proof)
    return "REFUTED"


def root_of(s: ReportedStatement) -> None:
    """Check that both sides are equal at a point of the domain: at a root of a factor of right - left.

    Along one free variable, which no other domain contains, with the others at a point: right - left is a product of
    polynomials in it, one of which has opposite signs at two numbers. Both lie in the domain, and so does all between.
    """
    x, (low, high), rest = s.evidence["variable"], s.evidence["between"], s.evidence["point"]
    v = s.domain[x]
    require(v.is_free and not v.integer and not s.premises, "a root of another kind")
    require(not any(x in names(text) for u in s.domain.values() for text in u.texts()), f"a domain moves with {x}")
    for end in (low, high):
        inside(s.domain, {**rest, x: end})

    def at(text: str) -> Ratio:
        for name, value in rest.items():
            text = put(text, name, value)
        undivided(text, {x: generator(x)}, [])
        return evaluate(text, {x: generator(x)}, RATIOS)

    factor, cofactor, gap = at(s.evidence["factor"]), at(s.evidence["cofactor"]), minus(at(s.right), at(s.left))
    require(same(gap, by(factor, cofactor)), "the product of the factors is not the gap")
    ends = [evaluate(s.evidence["factor"], {x: INTERVALS[int](end)}, INTERVALS) for end in (low, high)]
    require(ends[0][1] < 0 < ends[1][0] or ends[1][1] < 0 < ends[0][0], "the factor does not change its sign")


def from_root(s: ReportedStatement) -> str:
    """Where both sides are equal, a strict inequality fails, and one that is not strict holds."""
    root_of(s)
    shown = {("for all", "<"): "REFUTED", ("for all", "!="): "REFUTED", ("there is", "=="): "PROVED"}
    return require({**shown, ("there is", "<="): "PROVED"}.get((s.quantifier, s.relation)), "a root shows nothing here")


def from_part(s: ReportedStatement) -> str:
    """Where one variable has one value, at which the domain is not empty, the relation fails at all points."""
    inside(s.domain, s.evidence["inside"])
    x, value = s.evidence["variable"], s.evidence["inside"][s.evidence["variable"]]
    require(not s.premises and s.domain[x].is_free and s.quantifier == "for all", "a part of another kind")
    sides = (s.left, s.right) if s.relation in ("==", "!=") else (s.right, s.left)
    denied = Universal(sides[0], NEGATIONS[s.relation], sides[1], s.near())
    everywhere(denied.at(x, value), s.evidence["proof"])
    return "REFUTED"


VERDICTS: dict[tuple[str, str], Callable[[ReportedStatement], str]] = {
    ("for all", "value"): from_values,
    ("there is", "value"): from_values,
    ("for all", "counterexample"): from_counterexample,
    ("there is", "example"): from_example,
    ("for all", "root"): from_root,
    ("for all", "part"): from_part,
    ("there is", "root"): from_root,
    ("for all", "smt"): from_solver,
    **{("for all", kind): from_proof for kind in RULES},
    ("there is", "denial"): from_denial,
    ("one constant for all", "constant"): from_constant,
    ("one constant for all", "escape"): from_escape,
}
"""By the quantifier and the kind of the evidence."""
