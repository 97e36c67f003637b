"""Sums and binomial coefficients in closed form, so that the engines see rational terms and exponentials alone.

SymPy sums and simplifies; here it is seen to that the result holds on the whole domain, or the expression is refused.
"""

# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportReturnType=false, reportOptionalMemberAccess=false
# pyright: reportOptionalOperand=false, reportAssignmentType=false
# (SymPy's own types know neither what a node is nor what arithmetic gives.)

from __future__ import annotations

from typing import Any

from sympy import (
    Abs,
    Add,
    Dummy,
    Expr,
    Integer,
    Mul,
    Not,
    Piecewise,
    Pow,
    Sum,
    binomial,
    cancel,
    ceiling,
    combsimp,
    cosh,
    coth,
    exp,
    expand_func,
    expand_mul,
    factorial,
    floor,
    gamma,
    oo,
    simplify,
    sinh,
    tanh,
)

from ldp_audit.claims.rounding import Ceil
from ldp_audit.mechanisms.variable import Variable, variables_of


def by_exponentials(expression: Expr) -> Expr:
    """Hyperbolic functions by exp, whole steps by Ceil, and sums by their closed form.

    Raises ValueError for a sum without one.
    """
    if expression.has(cosh, sinh, tanh, coth):
        expression = expression.rewrite([cosh, sinh, tanh, coth], exp)
    expression = expression.replace(ceiling, Ceil).replace(floor, lambda inner: -Ceil(-inner))
    return expression.replace(Sum, _closed) if expression.has(Sum) else expression


def _closed(term: Expr, *limits: Any) -> Expr:
    """A sum in closed form; of one that depends on a case (a ratio of 1), the only case in the variables' domains."""
    rates: dict[Expr, Expr] = {}
    for _, low, high in limits:
        if low.is_finite is not False and high.is_finite is not False and not _is_at_least(expand_mul(high - low), -1):
            raise ValueError(f"{Sum(term, *limits)} may run from {low} down to {high}, which has no one meaning")
    if len(limits) == 1:  # SymPy sums u**j, but not exp(-c j)
        index = limits[0][0]
        powers = {
            one: exp(one.exp * one.base.exp_of)
            for one in term.atoms(Pow)
            if isinstance(one.base, Variable) and one.base.exp_of
        }
        by_rates = term.xreplace(powers).replace(exp, lambda power: _geometric(power, index, rates))
        found = _two_sided(by_rates, *limits[0]).doit()
    else:
        found = Sum(term, *limits).doit()
    for cases in found.atoms(Piecewise):
        found = found.xreplace({cases: _only_case(cases)})
    found = found.xreplace({letter: rate for rate, letter in rates.items()})
    if found.has(Sum, Piecewise):
        raise ValueError(f"{Sum(term, *limits)} has no closed form that holds on the whole domain; write it out")
    return found


def _geometric(power: Expr, index: Expr, rates: dict[Expr, Expr]) -> Expr:
    """exp(c index + rest) by a letter for exp(c), kept in the rates, where c has no index in it; else as it is."""
    size = next((node for node in power.atoms(Abs) if node.has(index)), index)
    slope = power.expand().coeff(size, 1) if size.has(index) else Integer(0)
    rest = expand_mul(power - slope * size)
    if slope == 0 or slope.has(index) or rest.has(index):
        return exp(power)
    ends = (0, 1) if certain(slope < 0) else (1, oo) if certain(slope > 0) else None
    if ends is None:
        return exp(power)
    letter = Variable(f"rate_{len(rates)}", *ends, open="both")
    return exp(rest) * rates.setdefault(exp(slope), letter) ** size


def _two_sided(term: Expr, index: Expr, lower: Expr, upper: Expr) -> Expr:
    """The sum of terms with |index - c|, lower - 1 <= c <= upper + 1, cut at c: c itself, and both sides of it."""
    whole = Sum(term, (index, lower, upper))
    sizes = {node for node in term.atoms(Abs) if node.has(index)}
    if len(sizes) != 1:
        return whole
    (size,) = sizes
    c = expand_mul(index - size.args[0] * size.args[0].coeff(index, 1))
    steps = [c - lower, upper - c]
    whole_steps = all(part.is_Integer or part.is_Symbol for term in Add.make_args(c) for part in Mul.make_args(term))
    if c.has(index) or not whole_steps or not all(v.integer_valued for v in variables_of([c])):
        return whole
    if any(step.is_finite is not False and not _is_at_least(step, -1) for step in steps):
        return whole
    away = Dummy("away", integer=True, positive=True)
    sides = [term.xreplace({size: away}).subs(index, c + way * away) for way in (-1, 1)]
    sums = [Sum(side, (away, 1, step)).doit() for side, step in zip(sides, steps, strict=True)]
    return Add(term.xreplace({size: Integer(0)}).subs(index, c), *sums)


def _is_at_least(expression: Expr, least: int) -> bool:
    """Whether an expression that is linear in each variable is that much all over their domains; False if unknown."""
    for v in reversed(variables_of([expression])):
        slope = expression.diff(v)
        if not slope.is_number:
            return False
        expression = expand_mul(expression.subs(v, v.lower if slope.is_nonnegative else v.upper))
    return bool(expression >= least)


def without_binomials(expressions: list[Expr]) -> list[Expr]:
    """Binomial coefficients in symbols as rational multiples of one of them, which must cancel: ValueError if not."""
    expressions = [one.replace(binomial, lambda n, k: expand_func(binomial(n, k))) for one in expressions]
    nodes = sorted({node for one in expressions for node in one.atoms(binomial)}, key=str)
    if not nodes:
        return expressions
    for base in nodes:
        n, k = base.args
        ratios = {node: combsimp(node / base) for node in nodes}
        if any(ratio.has(binomial, gamma, factorial) for ratio in ratios.values()):
            break
        if not (_is_at_least(k, 0) and _is_at_least(expand_mul(n - k), 0)):
            continue  # where it is 0, the others are no multiples of it
        letter = Dummy("binomial", positive=True)
        found = [cancel(one.xreplace({node: r * letter for node, r in ratios.items()})) for one in expressions]
        parts = [one.as_coeff_exponent(letter) for one in found if one != 0]
        if len({power for _, power in parts}) < 2 and not any(rest.has(letter) for rest, _ in parts):
            return [one.subs(letter, 1) for one in found]
    raise ValueError(f"the binomial coefficients {', '.join(map(str, nodes))} do not cancel; write them out")


def _only_case(cases: Piecewise) -> Expr:
    """The first value whose condition certainly holds, if those before it certainly do not; else all of them still."""
    for value, when in cases.args:
        if certain(when):
            return value
        if not certain(Not(when)):
            return cases
    return cases


def certain(condition: Any) -> bool:
    """Whether a condition holds all over the domain, with each variable in terms of a number that is only positive."""
    swap = {}
    for v in condition.free_symbols:
        if not isinstance(v, Variable) or not (v.lower.is_Rational or v.upper.is_Rational):
            continue
        above = Dummy(positive=True)
        if v.lower.is_Rational and v.upper.is_Rational and v.lower_open and v.upper_open:
            swap[v] = v.lower + (v.upper - v.lower) * above / (1 + above)
        elif v.lower.is_Rational:
            swap[v] = v.lower + (above if v.lower_open else Dummy(nonnegative=True, integer=v.integer_valued or None))
        else:
            swap[v] = v.upper - (above if v.upper_open else Dummy(nonnegative=True))
    return bool(simplify(condition.subs(swap)) == True)  # noqa: E712  (SymPy's own truth)
