"""Closed forms of sums, integrals and binomial coefficients, so that engines see only rational terms and exponentials.

SymPy sums and simplifies; integrals of powers times exponentials come from their antiderivative. A closed form that
does not hold on the whole domain is refused.
"""

# (SymPy's type annotations cover neither nodes nor arithmetic.)

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sympy import (
    Abs,
    Add,
    Dummy,
    Expr,
    Integer,
    Integral,
    Mul,
    Not,
    Piecewise,
    Poly,
    Pow,
    Rational,
    Sum,
    binomial,
    cancel,
    ceiling,
    combsimp,
    cosh,
    coth,
    exp,
    expand,
    expand_func,
    expand_mul,
    factorial,
    ff,
    floor,
    gamma,
    log,
    oo,
    sign,
    simplify,
    sinh,
    tanh,
)

from ldp_audit.claims.language.rounding import Ceil
from ldp_audit.mechanisms.variable import Variable, in_order, unused, variables_of

_FEW_TERMS, _FEW_MISSING = 30, 3
"""Most terms of a sum that are added one by one to check its closed form; terms that a binomial sum may lack."""


def by_exponentials(expression: Expr) -> Expr:
    """Rewrite hyperbolic functions by exp, integer rounding by Ceil, and sums and integrals by their closed forms.

    Raises ValueError for a sum or an integral without a closed form.
    """
    if expression.has(cosh, sinh, tanh, coth):
        expression = expression.rewrite([cosh, sinh, tanh, coth], exp)
    expression = expression.replace(ceiling, Ceil).replace(floor, lambda inner: -Ceil(-inner))
    expression = expression.replace(Sum, _closed) if expression.has(Sum) else expression
    return expression.replace(Integral, _integrated) if expression.has(Integral) else expression


def _integrated(term: Expr, *limits: Any) -> Expr:
    """The integral of powers of a variable times exponentials of it, split where an Abs or a sign changes.

    The order of the split points must follow from the domains. Raises ValueError for any other integrand.
    """
    whole = Integral(term, *limits)
    if len(limits) != 1 or len(limits[0]) != 3:
        raise ValueError(f"{whole} must be over one variable with both ends")
    z, low, high = limits[0]
    turns = {node: _solved(node.args[0], z) for node in term.atoms(Abs, sign) if node.has(z)}
    cuts: list[Expr] = []
    for cut in dict.fromkeys([low, high, *turns.values()]):
        place = next((i for i, other in enumerate(cuts) if _lies_before(cut, other)), len(cuts))
        if not all(_lies_before(other, cut) for other in cuts[:place]):
            raise ValueError(
                f"{whole}: the order of {cut} and {', '.join(map(str, cuts))} must follow from their domains; "
                "write the integral in parts"
            )
        cuts.insert(place, cut)
    first, last = cuts.index(low), cuts.index(high)
    if first > last:
        raise ValueError(f"{whole} must not run backwards")
    parts = []
    for place in range(first, last):
        side = {
            node: 1 if (cuts.index(c) <= place) == bool(node.args[0].coeff(z, 1) > 0) else -1
            for node, c in turns.items()
        }
        inside = {node: way if isinstance(node, sign) else way * node.args[0] for node, way in side.items()}
        parts.append(_between_cuts(term.xreplace(inside), z, cuts[place], cuts[place + 1], whole))
    return Add(*parts)


def _solved(argument: Expr, z: Expr) -> Expr:
    slope, rest = argument.expand().coeff(z, 1), argument.expand().coeff(z, 0)
    if not slope.is_Rational or slope == 0 or expand_mul(slope * z + rest - argument) != 0:
        raise ValueError(f"Abs or sign of {argument} must be of a multiple of {z}, plus what does not mention it")
    return expand_mul(-rest / slope)


def _lies_before(one: Expr, other: Expr) -> bool:
    if -oo in (one, other) or oo in (one, other):
        return one == -oo or other == oo
    return _is_at_least(expand_mul(other - one), 0)


def _between_cuts(term: Expr, z: Expr, low: Expr, high: Expr, whole: Expr) -> Expr:
    """Term by term: the antiderivative of z**k exp(a z) is exp(a z) sum_i (-1)**i k!/(k-i)! z**(k-i)/a**(i+1)."""
    letters = [one for one in term.atoms(Pow) if isinstance(one.base, Variable) and one.base.exp_of and one.exp.has(z)]
    term = term.xreplace({one: exp(one.exp * one.base.exp_of) for one in letters})
    outside, term = term.as_independent(z, as_Add=False)
    found: list[Expr] = []
    for part in Add.make_args(expand(term, deep=True)):
        constant, factors = part.as_independent(z, as_Add=False)
        constant *= outside
        rate, power = Integer(0), Integer(0)
        for factor in Mul.make_args(factors):
            base, exponent = factor.as_base_exp()
            slope = factor.exp.coeff(z, 1) if isinstance(factor, exp) else Integer(0)
            if slope != 0 and factor.exp == slope * z:
                rate += slope
            elif base == z and exponent.is_Integer and exponent >= 0:
                power += exponent
            elif factor != 1:
                raise ValueError(f"{whole} has a factor {factor}, and no closed form; write it out, or a bound for it")
        grows = rate != 0 and certain(rate > 0)
        if rate != 0 and not grows and not certain(rate < 0):
            raise ValueError(f"{whole}: the sign of {rate} must follow from the domains; write one claim for each sign")
        if rate == 0:
            steps = [z ** (power + 1) / (power + 1)]
        else:
            steps = [
                (-1) ** i * ff(power, i) * z ** (power - i) * exp(rate * z) / rate ** (i + 1) for i in range(power + 1)
            ]
        for end, way in ((high, 1), (low, -1)):
            if not end.is_infinite:
                found.append(way * constant * Add(*steps).subs(z, end))
            elif rate == 0 or grows is (end == oo):
                raise ValueError(f"{whole} is infinite")
    return Add(*found)


@lru_cache(maxsize=256)  # SymPy takes a second for the total of a noise, which `is_private` asks three times
def _closed(term: Expr, *limits: Any) -> Expr:
    """A sum in closed form; of a case distinction (a ratio of 1), the only case in the variables' domains.

    Raises ValueError where there is none, or where it is not the sum of the terms at the smallest whole numbers.
    """
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
        whole = _over_a_binomial(term.xreplace(powers), *limits[0])
        if whole is not None and all(_adds_up(term, limits, whole, at) for at in _smallest(term, limits)):
            return whole
        by_rates = term.xreplace(powers).replace(exp, lambda power: _geometric(power, index, rates, term.free_symbols))
        whole = _two_sided(by_rates, *limits[0])
    else:
        whole = Sum(term, *limits)
    try:
        found = whole.doit()
    except (RecursionError, TypeError):  # SymPy's, on sums that diverge or divide by zero
        found = whole
    for cases in found.atoms(Piecewise):
        found = found.xreplace({cases: _only_case(cases)})
    found = found.xreplace({letter: rate for rate, letter in rates.items()})
    if found.has(Sum, Piecewise) or not all(_adds_up(term, limits, found, at) for at in _smallest(term, limits)):
        raise ValueError(f"{Sum(term, *limits)} has no closed form that holds on the whole domain; write it out")
    return found


def _over_a_binomial(term: Expr, index: Expr, lower: Expr, upper: Expr) -> Expr | None:
    """sum_j C(n, j) X**j Y**(n - j) P(j) for a polynomial P, from its factorial moments; None for other sums.

    A few terms may be missing at either end, and C(n, j)/(j + 1) is C(n + 1, j + 1)/(n + 1).
    """
    tops = {one.args[0] for one in term.atoms(binomial) if one.has(index)}
    n = next(iter(tops)) if len(tops) == 1 else None
    if n is None or lower not in range(_FEW_MISSING) or n - upper not in range(_FEW_MISSING):
        return None
    parts = Add.make_args(
        term
        if term.is_Mul and not any(one.is_Add and one.has(index) and not one.is_polynomial(index) for one in term.args)
        else expand_mul(term)
    )
    sums = [_over_all_of_a_binomial(part, index, n) for part in parts]
    if None in sums:
        return None
    missing = [*range(lower), *(n - away for away in range(n - upper))]
    return Add(*sums, *(-term.subs(index, place) for place in missing))  # type: ignore[arg-type]


def _over_all_of_a_binomial(term: Expr, index: Expr, upper: Expr) -> Expr | None:
    """The sum from 0 to n. The moment of order r, of j (j - 1) ... (j - r + 1), is n (n - 1) ... (n - r + 1) X**r
    (X + Y)**(n - r); that of 1/(j + 1) is ((X + Y)**(n + 1) - Y**(n + 1))/((n + 1) X)."""
    over_next = term.has(1 / (index + 1))
    read = _read_as_binomial(term * (index + 1) if over_next else term, index, upper)
    if read is None:
        return None
    constant, X, Y, polynomial = read
    both = expand_mul(X + Y)
    if both == 0:
        return None
    if over_next:
        if polynomial != 1 or not (X.is_nonzero or certain(X > 0) or certain(X < 0)):
            return None
        return constant * (both ** (upper + 1) - Y ** (upper + 1)) / ((upper + 1) * X)
    total, left = Integer(0), Poly(expand(polynomial), index)
    while not left.is_zero:  # in falling factorials, the highest first
        r, lead = left.degree(), left.LC()
        if r > 0 and both != 1 and not certain(both > 0):
            return None
        total += lead * ff(upper, r) * X**r * (both ** (upper - r) if both != 1 else 1)
        left = left - Poly(expand(lead * expand_func(ff(index, r))), index)
    return constant * expand_func(total)


def _read_as_binomial(term: Expr, index: Expr, upper: Expr) -> tuple[Expr, Expr, Expr, Expr] | None:
    """The constant, X, Y and the polynomial of a term with one binomial coefficient; None for others."""
    constant, factors = term.as_independent(index, as_Add=False)
    X, Y, polynomial, found = Integer(1), Integer(1), Integer(1), 0
    for factor in Mul.make_args(factors):
        base, power = (exp(1), factor.exp) if isinstance(factor, exp) else factor.as_base_exp()
        slope, rest = power.expand().coeff(index, 1), power.expand().coeff(index, 0)
        if factor in (binomial(upper, index), binomial(upper, upper - index)):
            found += 1
        elif factor.is_polynomial(index):
            polynomial *= factor
        elif base.has(index) or expand_mul(slope * index + rest - power) != 0:
            return None
        elif slope == -1 and expand_mul(rest - upper) == 0 and not isinstance(factor, exp):
            Y *= base
        elif isinstance(factor, exp) or (slope.is_Integer and (slope > 0 or certain(base > 0))):
            X, constant = X * base**slope, constant * base**rest
        else:
            return None
    return (constant, X, Y, polynomial) if found == 1 else None


def _smallest(term: Expr, limits: Any) -> list[dict[Any, Expr]]:
    """Points at which the ends of a sum have their smallest values, where closed forms for general ends may fail.

    The empty list for ends without whole-number variables, and for infinite sums. Other variables have one value each.
    """
    ends = [end for _, *both in limits for end in both]
    symbols = Add(term, *(end for end in ends if end.is_finite is not False)).free_symbols - {one[0] for one in limits}
    counted = {v for end in ends for v in end.free_symbols if isinstance(v, Variable) and v.integer_valued}
    if not counted or any(end.is_infinite for end in ends) or not all(isinstance(one, Variable) for one in symbols):
        return []
    points: list[dict[Any, Expr]] = [{}]
    known = variables_of([*symbols, *(v.argument for v in symbols if v.argument is not None)])
    for v in in_order(known, linked=lambda _: True):
        few = max(2, 6 - len(counted)) if v in counted else 1
        points = [{**at, v: value} for at in points for value in _values(v, at, few)]
    return points


def _values(v: Variable, at: dict[Any, Expr], few: int) -> list[Expr]:
    """The smallest values of a whole-number variable, or one value in the domain of another, beside the given ones."""
    if v.argument is not None:
        return [(exp if v.exp_of is not None else log)(v.argument.subs(at))]
    low, high = v.lower.subs(at), v.upper.subs(at)
    if v.integer_valued:
        first = -2 if low.is_infinite else floor(low) + 1 if v.lower_open else ceiling(low)
        return [first + i for i in range(few) if first + i < high or (first + i == high and not v.upper_open)]
    if low.is_finite and high.is_finite:
        return [low + (high - low) * Rational(2, 7)]
    return [low + Rational(5, 7) if low.is_finite else high - Rational(5, 7) if high.is_finite else Rational(5, 7)]


def _adds_up(term: Expr, limits: Any, found: Expr, at: dict[Any, Expr]) -> bool:
    """Whether the closed form is the sum of the terms at a point, in 30 digits; sums of many terms are not added."""
    added = _added(term.subs(at), [limit.subs(at) for limit in limits])
    difference = Integer(0) if added is None else (added - found.subs(at)).evalf(30)
    return bool(difference.is_number and difference.is_finite and abs(difference) < Rational(1, 10**15))


def _added(term: Expr, limits: Any) -> Expr | None:
    """The sum term by term; None for ends that are no whole numbers, or too far apart."""
    if not limits:
        return term
    *inner, (index, low, high) = limits
    if not (low.is_Integer and high.is_Integer and high - low < _FEW_TERMS):
        return None
    parts = [_added(term.subs(index, i), [limit.subs(index, i) for limit in inner]) for i in range(low, high + 1)]
    return None if None in parts else Add(*parts)


def _geometric(power: Expr, index: Expr, rates: dict[Expr, Expr], taken: set[Any]) -> Expr:
    """exp(c index + rest) with a letter for exp(c), recorded in the rates, if c does not contain the index; else
    unchanged."""
    size = next((node for node in power.atoms(Abs) if node.has(index)), index)
    slope = power.expand().coeff(size, 1) if size.has(index) else Integer(0)
    rest = expand_mul(power - slope * size)
    if slope == 0 or slope.has(index) or rest.has(index):
        return exp(power)
    ends = (0, 1) if certain(slope < 0) else (1, oo) if certain(slope > 0) else None
    if ends is None:
        return exp(power)
    letter = Variable(unused("rate_0", taken | {*rates.values()}), *ends, open="both")
    return exp(rest) * rates.setdefault(exp(slope), letter) ** size


def _two_sided(term: Expr, index: Expr, lower: Expr, upper: Expr) -> Expr:
    """The sum of terms with |index - c|, lower - 1 <= c <= upper + 1, split at c: the term at c, and both sides of
    it."""
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
    """Whether an expression is at least this on the domains of its variables; False if unknown.

    A variable in which it is linear, with a slope of one sign, is at one of its ends.
    """
    for v in reversed(variables_of([expression])):
        slope = simplify(expression.diff(v))
        if slope.has(v) or (not (rises := certain(slope >= 0)) and not certain(slope <= 0)):
            continue
        end = v.lower if rises else v.upper
        if slope != 0 and end.is_infinite:
            return False
        expression = expand_mul(expression.subs(v, end))
    return certain(simplify(expression) >= least)


def without_binomials(expressions: list[Expr]) -> list[Expr]:
    """Symbolic binomial coefficients as rational multiples of one of them, if that cancels; else unchanged."""
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
            continue  # where it is 0, the others are not multiples of it
        letter = Dummy("binomial", positive=True)
        found = [cancel(one.xreplace({node: r * letter for node, r in ratios.items()})) for one in expressions]
        parts = [one.as_coeff_exponent(letter) for one in found if one != 0]
        if len({power for _, power in parts}) < 2 and not any(rest.has(letter) for rest, _ in parts):
            return [one.subs(letter, 1) for one in found]
    return expressions


def _only_case(cases: Piecewise) -> Expr:
    """The first value whose condition certainly holds, if those before it certainly do not; else all cases."""
    for value, when in cases.args:
        if certain(when):
            return value
        if not certain(Not(when)):
            return cases
    return cases


def certain(condition: Any) -> bool:
    """Whether a condition holds on the whole domain, with each variable in terms of a positive number."""
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
