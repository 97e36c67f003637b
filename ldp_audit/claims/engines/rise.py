"""Rise: an inequality that holds at the start of a variable's range and whose derivative keeps it.

right - left is written as factor * function, with a positive factor and a function that is a polynomial in one variable
x and in integer powers of exponentials of it. The function is nonnegative everywhere if it is so at the lower bound of
x and its derivative in x is nonnegative (or at the upper bound, with a nonpositive derivative): two statements of the
same kind, which are settled recursively. The exponential whose coefficient has the lowest degree in x is moved into the
factor, so that derivatives make that coefficient vanish: (e**x - 1)/(e**x + 1) <= x/2 takes two, and so does cosh x <=
e**(x**2/2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from sympy import Add, Expr, Integer, Mul, cancel, expand, factor_list, fraction, nan, oo, simplify, together, zoo

from ldp_audit.claims.engines.certificate import nonzero_divisors
from ldp_audit.claims.engines.evaluate import NotRationalError
from ldp_audit.claims.engines.rational import NotRationalFunctionError
from ldp_audit.claims.engines.simplest import counterexample
from ldp_audit.claims.language.statement import Statement, is_linked, written
from ldp_audit.mechanisms.variable import Variable, substituted

_DEPTH, _MOST_STATEMENTS = 8, 30
"""How often derivatives of derivatives are taken, and how many statements are looked at in all."""
_TEST_POINTS = 40
"""Points at which a statement is tested before its proof."""

Prover = Callable[[Statement], dict[str, Any] | None]


@dataclass(frozen=True)
class _Direct:
    """Settles a statement without derivatives.   logarithms: the variables that stand for those of numbers."""

    prove: Prover
    logarithms: Mapping[Expr, Variable]

    def __call__(self, statement: Statement) -> dict[str, Any] | None:
        return self.prove(statement)


class _TooManyError(Exception):
    """A statement has led to too many others."""


def prove(
    statement: Statement, direct: Prover, logarithms: Mapping[Expr, Variable] = MappingProxyType({})
) -> dict[str, Any] | None:
    """Evidence that the universal inequality holds, or None if this engine finds none.

    direct: settles a statement without derivatives.   logarithms: by number, the variables that stand for them.
    """
    statement = replace(statement, given=())  # they need not hold on the way
    left = iter(range(_MOST_STATEMENTS))

    def counted(other: Statement) -> dict[str, Any] | None:
        if next(left, None) is None:
            raise _TooManyError
        return direct(other)

    try:
        return _prove(statement, _Direct(counted, logarithms), _DEPTH)
    except _TooManyError:
        return None


def _prove(statement: Statement, direct: _Direct, depth: int) -> dict[str, Any] | None:
    if statement.relation not in ("<=", "<") or depth == 0:
        return None
    variables = statement.variables()
    try:
        for x in _free(variables):
            for end in ("lower", "upper"):
                found = _along(statement, x, end, variables, direct, depth)
                if found is not None:
                    return found
        return _on_both_sides(statement, direct, depth)
    except (NotRationalFunctionError, NotRationalError, ZeroDivisionError):  # as the derivative of Abs, which is a sign
        return None


def _free(variables: list[Variable]) -> list[Variable]:
    """Variables that may vary alone: no domain moves with them, nor with an exponential or a logarithm of theirs."""
    in_domains = {one for other in variables for end in (other.lower, other.upper) for one in end.free_symbols}
    for _ in variables:  # a function may be one of a function
        in_domains |= {one for v in variables if v in in_domains and v.argument for one in v.argument.free_symbols}
    return [v for v in variables if not (is_linked(v, variables) or v.integer_valued or v in in_domains)]


def _on_both_sides(statement: Statement, direct: _Direct, depth: int) -> dict[str, Any] | None:
    """Evidence for an unbounded variable: from 0 upwards, and from 0 downwards."""
    variables = statement.variables()
    for x in _free(variables):
        if x.lower.is_infinite and x.upper.is_infinite and any(is_linked(v, variables) for v in variables):
            above, below = (statement.at({x: Variable(x.name, *ends)}) for ends in ((0, oo), (-oo, 0)))
            proofs = [
                counterexample(half, _TEST_POINTS) is None and (direct(half) or _prove(half, direct, depth - 1))
                for half in (below, above)
            ]
            if all(proofs):
                return {"kind": "halves", "variable": x.name, "at": "0", "below": proofs[0], "above": proofs[1]}
    return None


def _along(  # noqa: PLR0913, RUF100
    statement: Statement, x: Variable, end: str, variables: list[Variable], direct: _Direct, depth: int
) -> dict[str, Any] | None:
    begins, is_open = (x.lower, x.lower_open) if end == "lower" else (x.upper, x.upper_open)
    linked = [v for v in variables if is_linked(v, variables)]
    moving = {} if begins.is_infinite else _at_start(linked, x, begins, direct.logarithms)
    if not moving:
        return None
    plain = _undivided_gap(statement, x, end, direct)
    if plain is not None:
        return plain
    split = _split(statement, direct)
    if split is None:
        return None
    positive, proof, function, divisors = split
    unit = _lowest_degree_exponential(function, x, [v for v in moving if v.exp_of is not None])
    if unit != 1:
        positive, function = positive * unit, expand(function / unit)
        proof = direct(Statement(Integer(0), "<", positive))
        if proof is None:
            return None
    slope = _derivative(function, x, linked) * (1 if end == "lower" else -1)
    begin = substituted(function, {x: begins, **moving})
    strictly = [("<", "<="), *([("<=", "<")] if is_open else [])]
    wanted = [("<=", "<=")] if statement.relation == "<=" else strictly
    for at_start, along in wanted:
        start = _settled(Statement(Integer(0), at_start, _plain(begin)), direct, depth)  # type: ignore[arg-type]
        rising = start and _settled(Statement(Integer(0), along, _plain(slope)), direct, depth)  # type: ignore[arg-type]
        if rising:
            return {
                "kind": "rise",
                "variable": x.name,
                "from": end,
                **divisors,
                "factor": written(positive),
                "function": written(function),
                "positive": proof,
                "start": start,
                "slope": rising,
            }
    return None


def _undivided_gap(
    statement: Statement, x: Variable, end: str, direct: _Direct, depth: int = 2
) -> dict[str, Any] | None:
    """Evidence where right - left itself begins right, and its derivative along x has a form, or does so likewise."""
    linked = [v for v in statement.variables() if is_linked(v, statement.variables())]
    begins, is_open = (x.lower, x.lower_open) if end == "lower" else (x.upper, x.upper_open)
    moving, gap = _at_start(linked, x, begins, direct.logarithms), statement.right - statement.left
    divisors = nonzero_divisors(statement) if moving or not linked else None
    if divisors is None:
        return None
    begin = _plain(substituted(gap, {x: begins, **moving}))
    slope = _plain(_derivative(gap, x, linked) * (1 if end == "lower" else -1))
    if begin.has(nan, zoo, oo) or slope.has(nan, zoo, oo):  # undefined at the beginning
        return None
    strict = statement.relation == "<"
    for at_start, along in [("<", "<="), ("<=", "<")] if strict and is_open else [(statement.relation, "<=")]:
        start = _settled(Statement(Integer(0), at_start, begin), direct, 0)  # type: ignore[arg-type]
        turned = Statement(Integer(0), along, slope)  # type: ignore[arg-type]
        if start is None or (slope.free_symbols and counterexample(turned, _TEST_POINTS) is not None):
            continue
        proof = _settled(turned, direct, 0)
        if proof is None and depth > 0 and x in turned.variables():
            deeper = _undivided_gap(turned, x, end, direct, depth - 1)
            proof = deeper and {"function": written(slope), "relation": along, "proof": deeper}
        if proof is not None:
            found = {
                "kind": "rise",
                "variable": x.name,
                "from": end,
                **divisors,
                "factor": "1",
                "function": written(gap),
            }
            return {**found, "positive": _number(Integer(1)), "start": start, "slope": proof}
    return None


def _lowest_degree_exponential(function: Expr, x: Variable, exponentials: list[Variable]) -> Expr:
    """The product of exponentials whose coefficient in the function has the lowest degree in x; 1 if that is
    constant."""
    degrees: dict[Expr, int] = {}
    for term in Add.make_args(expand(function)):
        powers = term.as_powers_dict()
        unit = Mul(*(v ** powers[v] for v in exponentials if v in powers))
        degrees[unit] = max(degrees.get(unit, 0), int(powers.get(x, 0)))
    return min(degrees, key=lambda unit: (degrees[unit], unit != 1, str(unit)), default=Integer(1))


def _settled(statement: Statement, direct: _Direct, depth: int) -> dict[str, Any] | None:
    """The statement's function, relation and proof."""
    proof = None
    if not statement.variables():
        holds = statement.right > 0 or (statement.right == 0 and statement.relation == "<=")
        proof = _number(statement.right) if holds else None
    elif counterexample(statement, _TEST_POINTS) is None:
        proof = direct(statement) or (_prove(statement, direct, depth - 1) if depth > 0 else None)
    return proof and {"function": written(statement.right), "relation": statement.relation, "proof": proof}


def _split(statement: Statement, direct: _Direct) -> tuple[Expr, dict[str, Any], Expr, dict[str, Any]] | None:
    """right - left as a positive factor, with its proof, times a polynomial; and the divisors of both sides."""
    divisors = nonzero_divisors(statement)
    above, below = fraction(together(statement.right - statement.left))
    if divisors is None:
        return None
    of_above: Any = factor_list(expand(above))
    of_below: Any = factor_list(expand(below))
    (number, factors), (denominator, below_factors) = of_above, of_below
    sign = 1 if number / denominator > 0 else -1
    positive, rest = [abs(number / denominator)], [Integer(sign)]
    for one, power in [*factors, *((one, -power) for one, power in below_factors)]:
        if power % 2 == 0 and power > 0:
            rest.append(one**power)
            continue
        known = _sign(one, direct)
        if known:
            positive.append((one if known > 0 else -one) ** power)
            rest[0] = rest[0] * (1 if known > 0 or power % 2 == 0 else -1)
        elif power > 0:
            rest.append(one**power)
        else:
            return None
    product = Mul(*positive)
    proof = direct(Statement(Integer(0), "<", product)) if product.free_symbols else _number(product)
    return None if proof is None else (product, proof, expand(Mul(*rest)), divisors)


def _number(number: Expr) -> dict[str, Any]:
    """The certificate of a number, which is its own gap."""
    return {"kind": "certificate", "gap": str(number), "divisors": []}


def _sign(factor: Expr, direct: _Direct) -> int:
    """1 if the factor is positive on the whole domain, -1 if it is negative, 0 if unknown."""
    for sign in (1, -1):
        statement = Statement(Integer(0), "<", sign * factor)
        if counterexample(statement, 5) is None and direct(statement) is not None:
            return sign
    return 0


def _plain(expression: Expr) -> Expr:
    above, below = fraction(together(expression))
    return cancel(above / below)


def _at_start(
    linked: list[Variable], x: Variable, begins: Expr, numbers: Mapping[Expr, Variable]
) -> dict[Variable, Expr]:
    """The exponentials and logarithms that depend on x, at its bound; none if one is no known number there.

    One whose argument equals there that of another, which does not depend on x, is replaced by that other.
    """
    found: dict[Variable, Expr] = {}
    for variable in linked:  # each after those in its argument
        argument = variable.argument
        if argument is None or not argument.free_symbols & {x, *found}:
            continue
        at = simplify(substituted(argument, {x: begins, **found}))
        same = next((v for v in linked if v != variable and (v.exp_of or v.log_of) == at), None)
        if at == (0 if variable.exp_of is not None else 1):
            found[variable] = Integer(1 if variable.exp_of is not None else 0)
        elif variable.log_of is not None and at in numbers:
            found[variable] = numbers[at]
        elif same is not None and (same.exp_of is None) == (variable.exp_of is None) and x not in at.free_symbols:
            found[variable] = same
        else:
            return {}
    return found


def _derivative(function: Expr, x: Variable, linked: list[Variable]) -> Expr:
    total = function.diff(x)
    for place, variable in enumerate(linked):  # each after those in its argument
        rate = _derivative(variable.argument, x, linked[:place])  # type: ignore[arg-type]
        factor = variable if variable.exp_of is not None else 1 / variable.argument  # type: ignore[operator]
        total = total + function.diff(variable) * rate * factor
    return together(total)
