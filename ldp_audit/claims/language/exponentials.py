"""One variable for all exponentials of one exponent, and one for each logarithm, in a statement.

EPSILON, T = e**epsilon, ROOT_T = e**(epsilon/2), exp(c EPSILON) and a user's variable with `exp_of` are related. A
statement with several of them is rewritten: for each monomial m among the exponents, with rational coefficients c_1,
c_2, ... of greatest common divisor g, every e**(c_i m) becomes an integer power of the variable e**(g m). So T and
ROOT_T become ROOT_T**2 and ROOT_T, exp(-EPSILON) becomes 1/T, and exp(x) of a variable x becomes a variable linked to
x. The result is algebra in these; if the exponent occurs outside exponentials too, the statement's variables record the
link (`Statement.to_dict`) for the checker. Monomials that always occur in one proportion, as in
e**(a (a - 1) epsilon**2/2), count as one. If both sides are products of exponentials, their exponents are compared
instead.
"""

# (SymPy's type annotations cover neither nodes nor arithmetic.)

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import gcd, lcm
from typing import Any

from sympy import (
    Add,
    Dummy,
    Expr,
    Integer,
    Mul,
    Pow,
    Rational,
    cancel,
    exp,
    expand_mul,
    log,
    oo,
    sqrt,
)

from ldp_audit.claims.language.closed_forms import by_exponentials, certain, without_binomials
from ldp_audit.mechanisms.variable import (
    OPEN_ENDS,
    ROOT_T,
    T,
    Variable,
    ranges_over_all_exponentials,
    substitute_domain,
    unused,
    variables_of,
)


def unified(
    sides: Sequence[Expr], bounding: Sequence[Variable] = ()
) -> tuple[list[Expr], tuple[Variable, ...], dict[Variable, Expr]]:
    """Both sides with one exponential for each exponent, and their variables' domains likewise; the variables that are
    in neither side, but bound those that are; and variables in terms of new ones, which are square roots of them.

    bounding: such variables of the given sides. The rewriting adds those that it removes: eps in [0, 1] with
    eps = ln t bounds t in exp(eps) <= 3, which becomes t <= 3.

    Hyperbolic functions are rewritten by exp, integer rounding by Ceil, sums by their closed forms, and binomial
    coefficients as multiples of one, which must cancel. Sides with none of these, no logarithm and no two linked
    variables are unchanged. Raises ValueError for a sum without a closed form, and for binomials that remain.
    """
    given = variables_of([*sides, *bounding])
    dependent = [v for v in given if _depends_on_others(v) and not _is_bounded_by_its_exponent(v, given)]
    closed = without_binomials([by_exponentials(one) for one in sides])
    expressions, roots = _without_roots([*closed, *dependent])
    found, domains = _rewritten(expressions, len(closed))
    present, known = {*variables_of(found)}, {v.name for v in bounding}
    removed = [v for v in variables_of(domains) if v not in present and _depends_on_others(v)]
    return found, tuple(v for v in removed if v.name in known or not _is_implied(v)), roots


def _depends_on_others(variable: Variable) -> bool:
    """Whether its domain depends on other variables, or its value on an exponent that has a domain of its own."""
    linked = variable.argument is not None and not ranges_over_all_exponentials(variable)
    return linked or bool(variable.lower.free_symbols | variable.upper.free_symbols)


def _is_bounded_by_its_exponent(variable: Variable, among: Sequence[Variable]) -> bool:
    """Whether it takes all values of its exponential, and the exponent's variables are there to say which."""
    exponent: Any = variable.exp_of
    return ranges_over_all_exponentials(variable) and exponent.free_symbols <= {*among}


def _is_implied(variable: Variable) -> bool:
    """Whether an exponential or a logarithm certainly lies in its range wherever its argument is in its domain."""
    argument, lower, upper = variable.argument, variable.lower, variable.upper
    if argument is None or variable.integer_valued or not (lower.is_number and upper.is_number):
        return False
    if variable.log_of is not None:
        return lower == -oo and upper == oo and certain(argument > 0)
    above = lower <= 0 or certain(argument > log(lower) if variable.lower_open else argument >= log(lower))
    if not above or upper <= 0:
        return False
    return upper == oo or certain(argument < log(upper) if variable.upper_open else argument <= log(upper))


def _rewritten(expressions: list[Expr], count: int) -> tuple[list[Expr], list[Expr]]:
    """Both sides, and after so many expressions the variables whose domains depend on others, with one exponential for
    each exponent."""
    variables = variables_of(expressions)
    ends = [end for v in variables for end in (v.lower, v.upper) if not end.is_infinite]
    linked = [v for v in variables if v.exp_of is not None]
    powers = {node for side in (*expressions, *ends) for node in side.atoms(exp, log, Pow) if node.free_symbols}
    nodes = sorted((node for node in powers if isinstance(node, log) or _is_power(node)), key=str)
    if len(linked) < 2 and not nodes:
        return expressions[:count], expressions[count:]
    letters = _Letters(variables)
    rates: dict[Expr, set[Rational]] = {}
    exponents = [*(letters.exponent(node) for node in nodes), *(v.exp_of for v in linked)]
    letters.group(exponents)
    for exponent in exponents:
        _gather(letters.grouped(exponent), rates)
    chosen: dict[Expr, Variable] = {}
    for monomial in sorted(rates, key=str):  # sets are unordered
        if isinstance(monomial, Variable) and monomial.log_of is not None:
            continue  # the exponential of a logarithm is its argument
        whole, others = letters.ungrouped(monomial), [*letters.all(), *chosen.values()]
        chosen[monomial] = _variable(whole, _common(rates[monomial]), linked, others)
    units: dict[Expr, Expr] = {monomial: _common(rates[monomial]) for monomial in chosen}
    chosen = {m: v if v in linked else _between(v, m, chosen, units) for m, v in chosen.items()}
    swap = {
        v: _power(letters.grouped(v.exp_of), chosen, units)
        for v in linked
        if v not in chosen.values() and ranges_over_all_exponentials(v)
    }
    rewritten = _Rewriting(letters, chosen, units, swap, variables).of_all(expressions)
    found = _without_logarithm(rewritten[:count], chosen, units)
    several = len({v for one in found for v in one.free_symbols}) > 1
    apart = _exponents_apart(found[:2], letters) if several else None
    bounded = {v for v in linked if not ranges_over_all_exponentials(v)}  # by more than their exponents' domains
    kept = apart is None or bounded - {*variables_of(apart)}
    return found if kept else [*apart, *found[2:]], rewritten[count:]  # type: ignore[misc]


def _without_logarithm(sides: list[Expr], chosen: dict[Expr, Variable], units: dict[Expr, Expr]) -> list[Expr]:
    """ln u <= c m as u <= e**(c m), if that is a power of a letter that occurs in u; else unchanged."""
    gap = expand_mul(sides[1] - sides[0]) if len(sides) == 2 else Integer(0)
    logarithms = [v for v in gap.free_symbols if isinstance(v, Variable) and v.log_of is not None]
    if len(logarithms) != 1 or gap.coeff(logarithms[0]) not in (1, -1):
        return sides
    (one,), inside = logarithms, logarithms[0].log_of
    sign = gap.coeff(one)
    rest = expand_mul(gap - sign * one)
    terms = [term.as_coeff_Mul() for term in Add.make_args(rest)]
    known = all(m in chosen and chosen[m] in inside.free_symbols and c.is_Rational for c, m in terms)  # type: ignore[union-attr]
    if not known or not certain(inside > 0):  # type: ignore[operator]
        return sides
    power = _power(rest, chosen, units)
    return [inside, power] if sign == -1 else [1 / power, inside]  # type: ignore[list-item]


def _exponents_apart(sides: list[Expr], letters: _Letters) -> list[Expr] | None:
    """The exponents of both sides after removing common factors that are positive on the whole domain; None if the
    rest is not purely exponential."""
    if len(sides) != 2:
        return None
    left, right = (Counter(Mul.make_args(side)) for side in sides)
    shared = left & right
    exponents = [_exponent_of(Mul(*(side - shared).elements()), letters) for side in (left, right)]
    known = [one for one in exponents if one is not None]
    return known if len(known) == 2 and all(f.is_positive or certain(f > 0) for f in shared) else None


def _exponent_of(side: Expr, letters: _Letters) -> Expr | None:
    """The exponent of a product of powers of exponentials; these are ordered as their exponents. None for anything
    else."""
    total: Expr = Integer(0)
    for factor in Mul.make_args(side):
        base, power = factor.as_base_exp()
        exponent = base.exp_of if _is_letter(base) else letters.known(base)
        if exponent is None or not power.is_Rational:
            return None
        total += exponent * power
    return total


def _without_roots(expressions: list[Expr]) -> tuple[list[Expr], dict[Any, Expr]]:
    """Letters for square roots: of a product of powers of variables, and of a v + b for one variable v; and each such
    variable in terms of its letter.

    Each variable is expressed by its letter r: r**2, or (r**2 - b)/a. Everything is unchanged if one is integer-valued
    or an exponential, if other domains depend on it, if it occurs under two different roots, or if a new bound is not
    rational.
    """
    nodes = {node for side in expressions for node in side.atoms(Pow) if node.exp.is_Rational and node.exp.q == 2}
    roots: dict[Expr, Expr] = {}
    swap: dict[Expr, Expr] = {}
    for base in sorted({node.base for node in nodes if node.base.free_symbols}, key=str):
        factors = [factor.as_base_exp() for factor in Mul.make_args(base)]
        parts = factors if all(isinstance(v, Variable) and n.is_Integer for v, n in factors) else [(base, Integer(1))]
        found = [_root(part, expressions) for part, _ in parts]
        letters = [one for one in found if one is not None]
        if len(letters) < len(parts) or any(swap.get(v, value) != value for v, value, _ in letters):
            return expressions, {}
        swap |= {v: value for v, value, _ in letters}
        roots[base] = Mul(*(letter**n for (_, _, letter), (_, n) in zip(letters, parts, strict=True)))
    powers = {node: roots[node.base] ** (2 * node.exp) for node in nodes if node.base in roots}
    return [side.xreplace(powers).xreplace(swap) for side in expressions], swap


def _root(base: Expr, expressions: Sequence[Expr]) -> tuple[Variable, Expr, Variable] | None:
    """For a base a v + b, a > 0: the variable v, its replacement, and the root; None if there is none."""
    v, *others = sorted(base.free_symbols, key=str)
    if others or not isinstance(v, Variable) or v.integer_valued or v.argument is not None:
        return None
    for other in variables_of(expressions):
        if other != v and any(v in part.free_symbols for part in (other.lower, other.upper, other.argument or other)):
            return None
    slope, rest = base.coeff(v, 1), base.coeff(v, 0)
    if not (slope.is_Rational and rest.is_Rational and slope > 0 and expand_mul(slope * v + rest - base) == 0):
        return None
    ends = [sqrt(slope * end + rest) if end.is_finite else end for end in (v.lower, v.upper)]
    if not all(end.is_Rational or end == oo for end in ends):
        return None
    name = unused(f"root_{v.name}", variables_of(expressions))
    letter = Variable(name, *ends, open=OPEN_ENDS[v.lower_open, v.upper_open])  # type: ignore[arg-type]
    return v, (letter**2 - rest) / slope, letter


def _is_power(node: Expr) -> bool:
    """Whether it is e**(something with symbols), or such a power of a positive base; or a root of an exponential."""
    if isinstance(node, exp):
        return bool(node.exp.free_symbols)
    if isinstance(node, Pow) and node.exp.is_Rational and not node.exp.is_Integer:
        return _is_letter(node.base) and ranges_over_all_exponentials(node.base)
    if not (isinstance(node, Pow) and node.exp.free_symbols):
        return False
    return _is_letter(node.base) or bool(node.base.free_symbols and certain(node.base > 0))


def _is_letter(base: Expr) -> bool:
    """Whether it represents an exponential."""
    return isinstance(base, Variable) and base.exp_of is not None


def _first_of(whole: Expr) -> Expr:
    """The monomial of a group by which it is found."""
    return next(term.as_coeff_Mul()[1] for term in Add.make_args(whole) if term.as_coeff_Mul()[0] == 1)


class _Letters:
    """The variables of a statement, and those that represent logarithms of non-exponentials in it."""

    def __init__(self, variables: list[Variable]) -> None:
        self._variables = variables
        self._logarithms: dict[Expr, Variable] = {}
        self._groups: dict[Dummy, Expr] = {}

    def group(self, exponents: Sequence[Expr]) -> None:
        """Find the products of variables that occur in all exponents in one proportion, if at all."""
        rows = [dict(term.as_coeff_Mul()[::-1] for term in Add.make_args(expand_mul(one))) for one in exponents]
        known = {m for row in rows for m in row if m.free_symbols and not m.is_Symbol and row[m].is_Rational}
        alike: dict[tuple[Any, ...], list[Expr]] = {}
        for monomial in sorted(known, key=str):
            column = [row.get(monomial, Integer(0)) for row in rows]
            scale = next(one for one in column if one != 0)
            alike.setdefault(tuple(one / scale for one in column), []).append(monomial)
        for first, *others in alike.values():
            row = next(row for row in rows if first in row)
            if others:
                whole = Add(*(monomial * row[monomial] / row[first] for monomial in (first, *others)))
                self._groups[Dummy("group")] = whole

    def grouped(self, exponent: Expr) -> Expr:
        """The exponent with a symbol for each group, which is one monomial from then on."""
        for group, whole in self._groups.items():
            share = expand_mul(exponent).coeff(_first_of(whole))
            if share.is_Rational and share != 0:
                exponent = expand_mul(exponent - share * whole) + share * group
        return exponent

    def ungrouped(self, monomial: Expr) -> Expr:
        """A monomial, or the sum that a group's symbol stands for."""
        return self._groups.get(monomial, monomial)  # type: ignore[call-overload]

    def all(self) -> list[Variable]:
        return [*self._variables, *self._logarithms.values()]

    def exponent(self, node: Expr) -> Expr:
        """The exponent of a power of e or of another base; 0 for a logarithm, which becomes an exponent itself."""
        if isinstance(node, log):
            self.logarithm(node.args[0])  # type: ignore[arg-type]
            return Integer(0)
        inner = sorted((one for one in node.exp.atoms(log) if one.free_symbols), key=str)
        power = node.exp.xreplace({one: self.logarithm(one.args[0], apart=True) for one in inner})  # type: ignore[arg-type]
        return expand_mul(power if isinstance(node, exp) else power * self.logarithm(node.base, apart=True))

    def logarithm(self, argument: Expr, *, apart: bool = False) -> Expr:
        """The exponents of exponentials, plus the logarithm of the rest.

        apart: one logarithm for each positive factor of the rest, so that powers of products match those of factors.
        """
        total: Expr = Integer(0)
        rest: list[tuple[Expr, Expr]] = []
        for factor in Mul.make_args(cancel(argument)):
            base, power = factor.as_base_exp()
            if isinstance(factor, exp):
                total += factor.exp
            elif _is_letter(base) and ranges_over_all_exponentials(base):
                total += base.exp_of * power
            else:
                rest.append((base, power))
        # A single factor that is no power has the same logarithm either way.
        asked = rest if apart or (len(rest) == 1 and rest[0][1] != 1) else []
        alone = [(base, power) for base, power in asked if base.free_symbols and certain(base > 0)]
        total += Add(*(power * self._variable(base) for base, power in alone))
        left = Mul(*(base**power for base, power in rest if (base, power) not in alone))
        return total if left == 1 else total + self._variable(left)

    def known(self, argument: Expr) -> Variable | None:
        """The logarithm of an expression that is also a base of powers; None if there is none."""
        return self._logarithms.get(argument)

    def _variable(self, argument: Expr) -> Variable:
        if argument not in self._logarithms:
            name = unused(f"log_{len(self._logarithms) + 1}", self._variables)
            self._logarithms[argument] = Variable(name, -oo, oo, log_of=argument, latex=rf"\ln({argument})")
        return self._logarithms[argument]


def _gather(exponent: Expr, rates: dict[Expr, set[Rational]]) -> None:
    for term in Add.make_args(expand_mul(exponent)):
        coefficient, monomial = term.as_coeff_Mul()
        if isinstance(coefficient, Rational) and monomial.free_symbols:
            rates.setdefault(monomial, set()).add(abs(coefficient))


def _common(steps: set[Rational]) -> Rational:
    """The greatest number of which all are integer multiples."""
    return Rational(gcd(*(int(step.p) for step in steps)), lcm(*(int(step.q) for step in steps)))


def _variable(monomial: Expr, step: Rational, linked: Sequence[Variable], others: Sequence[Variable]) -> Variable:
    """e**(step * monomial): a variable of the statement, T or ROOT_T, or a new one."""
    for known in (*linked, T, ROOT_T):
        if known.exp_of == step * monomial and (known in linked or known.name not in {v.name for v in others}):
            return known
    name = unused("exp_" + re.sub(r"\W+", "_", str(step * monomial)).strip("_"), others)
    lower, upper = (exp(step * end) for end in _range(monomial))
    below, above = isinstance(lower, Rational), isinstance(upper, Rational) or upper == oo
    is_open = (isinstance(monomial, Variable) and (monomial.lower_open, monomial.upper_open)) or (True, True)
    # A bound such as e**2 is irrational: the variable has a wider bound, and its exponent keeps it inside.
    return Variable(
        name,
        lower if below else 0,
        upper if above else oo,
        open=OPEN_ENDS[is_open[0] or not below, is_open[1] or not above],  # type: ignore[arg-type]
        exp_of=step * monomial,
        latex=rf"e^{{{step * monomial}}}",
    )


def _between(letter: Variable, monomial: Expr, chosen: dict[Expr, Variable], units: dict[Expr, Expr]) -> Variable:
    """A new letter whose exponent is bounded by another letter's, is bounded by that letter: e**x <= e**y for x <=
    y."""
    if not isinstance(monomial, Variable):
        return letter
    step = letter.exp_of / monomial  # type: ignore[operator]
    ends = [letter.lower, letter.upper]
    is_open = [letter.lower_open, letter.upper_open]
    for side, (end, end_open) in enumerate(
        [(monomial.lower, monomial.lower_open), (monomial.upper, monomial.upper_open)]
    ):
        terms = [term.as_coeff_Mul() for term in Add.make_args(expand_mul(end))]
        known = not end.is_number and all(m in chosen and m != monomial and c.is_Rational for c, m in terms)
        if end == 0 or known:
            ends[side], is_open[side] = _power(expand_mul(step * end), chosen, units) if known else Integer(1), end_open
    options: Any = {"open": OPEN_ENDS[is_open[0], is_open[1]], "exp_of": letter.exp_of, "latex": letter.latex}
    return Variable(letter.name, *ends, **options)


def _range(monomial: Expr) -> tuple[Expr, Expr]:
    constant = isinstance(monomial, Variable) and monomial.lower.is_number is not False
    if constant and monomial.lower.is_number and monomial.upper.is_number:
        return monomial.lower, monomial.upper
    return -oo, oo


def _power(exponent: Expr, chosen: dict[Expr, Variable], units: dict[Expr, Expr]) -> Expr:
    """e**exponent as a product of powers of the chosen variables, each of which is e**(its unit times its monomial)."""
    factors: list[Expr] = []
    for term in Add.make_args(expand_mul(exponent)):
        coefficient, monomial = term.as_coeff_Mul()
        if isinstance(monomial, Variable) and monomial.log_of is not None:
            factors.append(monomial.log_of**coefficient)
        elif monomial in chosen:
            factors.append(chosen[monomial] ** (coefficient / units[monomial]))
        else:
            factors.append(exp(term))
    return Mul(*factors)


class _Rewriting:
    """The replacements in expressions and in the domains of the variables that these contain."""

    def __init__(
        self,
        letters: _Letters,
        chosen: dict[Expr, Variable],
        units: dict[Expr, Expr],
        swap: dict[Variable, Expr],
        variables: list[Variable],
    ) -> None:
        self._units = units
        self._letters, self._chosen, self._swap = letters, chosen, dict(swap)
        for variable in [*variables, *(v for v in letters.all() if v not in variables)]:
            if variable not in self._swap:  # each after those in its domain
                moved = substitute_domain(variable, self.of)
                if moved != variable:
                    self._swap[variable] = moved
        for monomial, variable in chosen.items():
            moved = substitute_domain(variable, self.of)
            if moved != variable:  # an exponent that contains a logarithm of what was rewritten
                self._swap[variable] = moved
                self._chosen[monomial] = moved

    def of_all(self, expressions: Sequence[Expr]) -> list[Expr]:
        return [self.of(one) for one in expressions]

    def of(self, expression: Expr) -> Expr:
        """The rewritten expression; unchanged, and not re-evaluated, if there is nothing to replace."""
        if expression in self._swap:
            return self._swap[expression]
        if not expression.args:
            return expression
        if isinstance(expression, log) and expression.free_symbols:
            return self.of(self._letters.logarithm(expression.args[0]))  # type: ignore[arg-type]
        if isinstance(expression, (exp, Pow)) and _is_power(expression):
            power = _power(self._letters.grouped(self._letters.exponent(expression)), self._chosen, self._units)
            return power if power == expression else self.of(power)
        parts = [self.of(part) if isinstance(part, Expr) else part for part in expression.args]
        same = all(one is other for one, other in zip(parts, expression.args, strict=True))
        return expression if same else expression.func(*parts)
