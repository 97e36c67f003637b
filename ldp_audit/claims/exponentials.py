"""One variable for all exponentials of one exponent, and one for each logarithm, wherever they meet in a statement.

EPSILON, T = e**epsilon, ROOT_T = e**(epsilon/2), exp(c EPSILON) and a user's variable with `exp_of` are one quantity in
different letters. A statement in which several of them occur is rewritten: for each monomial m among the exponents, with
rational coefficients c_1, c_2, ... of greatest common divisor g, every e**(c_i m) becomes a whole power of the one
variable e**(g m). So T and ROOT_T together are ROOT_T**2 and ROOT_T, exp(-EPSILON) is 1/T, and exp(x) of a variable x is
a variable of its own that is linked to x. What was e**0.5 and e**1 is then algebra; and where the exponent occurs
outside of exponentials too, the statement's variables say so (`Statement.to_dict`), so that the checker sees the link.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import gcd, lcm

from sympy import Add, Expr, Integer, Mul, Pow, Rational, exp, expand, log, oo

from ldp_audit.mechanisms.variable import (
    EPSILON,
    ROOT_T,
    Variable,
    T,
    ranges_over_all_exponentials,
    substitute_domain,
    variables_of,
)


def unified(expressions: Sequence[Expr]) -> list[Expr]:
    """The expressions with one exponential for each exponent, and their variables' domains likewise.

    Expressions without exp, log or two linked variables come back as they are.
    """
    variables = variables_of(expressions)
    ends = [end for v in variables for end in (v.lower, v.upper) if not end.is_infinite]
    linked = [v for v in variables if v.exp_of is not None]
    atoms = [node for side in (*expressions, *ends) for node in side.atoms(exp, log, Pow)]
    nodes = [node for node in atoms if _is_exponential(node)]
    logarithms = [node for node in atoms if isinstance(node, log) and node not in nodes and node.free_symbols]
    if len(linked) < 2 and not nodes and not logarithms:
        return list(expressions)
    rates: dict[Expr, set[Rational]] = {}
    for node in nodes:
        _gather(_exponent(node), rates)
    for variable in linked:
        _gather(variable.exp_of, rates)
    chosen: dict[Expr, Variable] = {}
    for monomial in sorted(rates, key=str):  # sets have no order of their own
        chosen[monomial] = _variable(monomial, _common(rates[monomial]), linked, [*variables, *chosen.values()])
    swap = {v: _power(v.exp_of, chosen) for v in linked if v not in chosen.values() and ranges_over_all_exponentials(v)}
    return _Rewriting(chosen, swap, variables).of_all(expressions)


def _is_exponential(node: Expr) -> bool:
    """Whether it is e**(something with symbols), a linked variable to such a power, or the logarithm of one."""
    if isinstance(node, exp):
        return bool(node.exp.free_symbols)
    if isinstance(node, log):
        return _logarithm(node.args[0]) is not None  # pyright: ignore[reportArgumentType]
    return isinstance(node.base, Variable) and node.base.exp_of is not None and bool(node.exp.free_symbols)


def _exponent(node: Expr) -> Expr:
    if isinstance(node, exp):
        return node.exp
    if isinstance(node, log):
        return Integer(0)  # it becomes an exponent, not a power
    return node.base.exp_of * node.exp


def _logarithm(argument: Expr) -> Expr | None:
    """The logarithm of a product of powers of linked variables; None for anything else."""
    total: Expr = Integer(0)
    for factor in Mul.make_args(argument):
        base, power = factor.as_base_exp()
        if isinstance(factor, exp):
            total += factor.exp
        elif isinstance(base, Variable) and base.exp_of is not None:
            total += base.exp_of * power
        else:
            return None
    return total


def _gather(exponent: Expr, rates: dict[Expr, set[Rational]]) -> None:
    for term in Add.make_args(expand(exponent)):
        coefficient, monomial = term.as_coeff_Mul()
        if isinstance(coefficient, Rational) and monomial.free_symbols:
            rates.setdefault(monomial, set()).add(abs(coefficient))


def _common(steps: set[Rational]) -> Rational:
    """The greatest number of which all of them are whole multiples."""
    return Rational(gcd(*(int(step.p) for step in steps)), lcm(*(int(step.q) for step in steps)))


def _variable(monomial: Expr, step: Rational, linked: Sequence[Variable], others: Sequence[Variable]) -> Variable:
    """e**(step * monomial): a variable of the statement, T or ROOT_T, or a new one."""
    for known in (*linked, T, ROOT_T):
        if known.exp_of == step * monomial and (known in linked or known.name not in {v.name for v in others}):
            return known
    name = "exp_" + re.sub(r"\W+", "_", str(step * monomial)).strip("_")
    while name in {v.name for v in others}:
        name += "_"
    lower, upper = (exp(step * end) for end in _range(monomial))
    below, above = isinstance(lower, Rational), isinstance(upper, Rational) or upper == oo
    is_open = isinstance(monomial, Variable) and (monomial.lower_open, monomial.upper_open) or (True, True)
    sides = {(False, False): "", (True, False): "left", (False, True): "right", (True, True): "both"}
    # An end such as e**2 is no rational number: then the variable has the wider end, and its exponent keeps it inside.
    return Variable(
        name,
        lower if below else 0,
        upper if above else oo,
        open=sides[is_open[0] or not below, is_open[1] or not above],  # type: ignore[arg-type]
        exp_of=step * monomial,
        latex=rf"e^{{{step * monomial}}}",
    )


def _range(monomial: Expr) -> tuple[Expr, Expr]:
    constant = isinstance(monomial, Variable) and monomial.lower.is_number is not False
    if constant and monomial.lower.is_number and monomial.upper.is_number:  # pyright: ignore[reportAttributeAccessIssue]
        return monomial.lower, monomial.upper  # pyright: ignore[reportAttributeAccessIssue]
    return -oo, oo


def _power(exponent: Expr, chosen: dict[Expr, Variable]) -> Expr:
    """e**exponent as a product of powers of the chosen variables."""
    factors: list[Expr] = []
    for term in Add.make_args(expand(exponent)):
        coefficient, monomial = term.as_coeff_Mul()
        if monomial in chosen:
            unit = chosen[monomial].exp_of / monomial  # pyright: ignore[reportOptionalOperand]
            factors.append(chosen[monomial] ** (coefficient / unit))
        else:
            factors.append(exp(term))
    return Mul(*factors)


class _Rewriting:
    """The replacements, carried through expressions and through the domains of the variables that they mention."""

    def __init__(self, chosen: dict[Expr, Variable], swap: dict[Variable, Expr], variables: list[Variable]) -> None:
        self._chosen, self._swap = chosen, dict(swap)
        self._logarithms: dict[Expr, Variable] = {}
        self._names = {variable.name for variable in variables}
        for variable in variables:  # each after those that its domain mentions
            if variable not in self._swap:
                moved = self._moved(variable)
                if moved != variable:
                    self._swap[variable] = moved

    def of_all(self, expressions: Sequence[Expr]) -> list[Expr]:
        return [self.of(one) for one in expressions]

    def of(self, expression: Expr) -> Expr:
        """The expression rewritten; what has nothing to replace is left untouched, as it was written."""
        if expression in self._swap:
            return self._swap[expression]  # pyright: ignore[reportArgumentType]
        if not expression.args:
            return expression
        if isinstance(expression, log) and expression.free_symbols:
            return self._of_logarithm(expression)
        if isinstance(expression, (exp, Pow)) and _is_exponential(expression):
            return self.of(_power(_exponent(expression), self._chosen))
        parts = [self.of(part) if isinstance(part, Expr) else part for part in expression.args]
        same = all(one is other for one, other in zip(parts, expression.args, strict=True))
        return expression if same else expression.func(*parts)

    def _of_logarithm(self, expression: Expr) -> Expr:
        inner = _logarithm(expression.args[0])  # type: ignore[arg-type]
        if inner is not None:
            return self.of(inner)
        argument = self.of(expression.args[0])  # type: ignore[arg-type]
        if argument not in self._logarithms:
            name = f"log_{len(self._logarithms) + 1}"
            while name in self._names:
                name += "_"
            self._logarithms[argument] = Variable(name, -oo, oo, log_of=argument, latex=rf"\ln({argument})")
        return self._logarithms[argument]

    def _moved(self, variable: Variable) -> Variable:
        return substitute_domain(variable, self.of)
