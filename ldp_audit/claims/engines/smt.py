"""SMT: z3 decides the polynomial statement; a model counts if it gives an exact rational counterexample.

Exponentials and logarithms are free numbers within their simplest bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import z3
from flint import fmpq_mpoly
from sympy import Abs, Expr, Max, Min, Symbol, exp, log

from ldp_audit.claims.engines.evaluate import Point, holds_at, inside_domain, is_given
from ldp_audit.claims.engines.rational import NotRationalFunctionError, Ratio, Ring
from ldp_audit.claims.language.statement import Statement, is_linked
from ldp_audit.mechanisms.channel import Ind
from ldp_audit.mechanisms.variable import Variable

EFFORT = 2_000_000
"""z3's rlimit, which counts steps, so that the answer does not depend on the machine's load."""

MOST_MILLISECONDS = 4_000
"""Limit on single algebraic steps of z3, which take minutes in some processes; the answer is then "unknown"."""


@dataclass(frozen=True)
class Solved:
    """z3's result.

    holds: True if no point of the domain violates the statement, with the evidence; False with a point that does; None
        with the reason if undecided.
    """

    holds: bool | None
    evidence: dict[str, Any] = field(default_factory=dict)
    point: Point | None = None
    reason: str = ""


def settle(statement: Statement) -> Solved:
    """Ask z3 for a point of the domain that violates the statement."""
    variables = statement.variables()
    linked = any(is_linked(variable, variables) for variable in variables)
    try:
        translation = _Translation(statement)
    except (NotRationalFunctionError, ZeroDivisionError) as error:
        return Solved(holds=None, reason=str(error))
    if translation.check(translation.some_divisor_vanishes()) != z3.unsat:
        return Solved(holds=None, reason="it could not be shown that nothing is divided by zero")
    answer = translation.check(translation.violation())
    if answer == z3.unsat:
        evidence = {"kind": "smt", "solver": f"z3 {z3.get_version_string()}", "smtlib": translation.smtlib()}
        return Solved(holds=True, evidence=evidence)
    if linked:
        return Solved(holds=None, reason="an exponential links two of its variables")
    point = translation.point() if answer == z3.sat else None
    inside = point is not None and inside_domain(variables, point) and is_given(statement, point)
    if inside and holds_at(statement, point) is False:  # type: ignore[arg-type]
        return Solved(holds=False, point=point)
    return Solved(holds=None, reason=f"z3 answers {answer}")


class _Translation:
    """A statement's domain, divisors and negated relation, as polynomial constraints (untyped, as z3 is)."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._variables = statement.variables()
        self._extra: dict[Expr, str] = {}
        premises = [side for one in statement.given for side in (one.left, one.right)]
        for expression in [statement.left, statement.right, *premises, *_ends(self._variables)]:
            for node in expression.atoms(Max, Min, Abs, Ind, exp, log):
                self._extra.setdefault(node, f"_value_{len(self._extra)}")  # no Variable starts with an underscore
        self._ring = Ring([*(v.name for v in self._variables), *self._extra.values()])
        self._real = {name: z3.Real(name) for name in self._ring.names}
        self._environment: dict[Symbol, Ratio] = {v: self._ring.generator(v.name) for v in self._variables}
        self._divisors: list[Ratio] = []
        self._solver = z3.Solver()
        self._solver.set("rlimit", EFFORT)
        self._solver.set("timeout", MOST_MILLISECONDS)
        self._gap = self._ratio(statement.right) - self._ratio(statement.left)
        for node, name in self._extra.items():
            self._solver.add(self._definition(node, self._ring.generator(name)))
        for one in statement.given:
            above = self._ratio(one.right) - self._ratio(one.left)
            self._solver.add(self._positive(above) if one.relation == "<" else z3.Not(self._negative(above)))
        for variable in self._variables:
            self._solver.add(*self._domain(variable))
            if variable.argument is not None and is_linked(variable, self._variables):
                self._solver.add(*self._near_its_argument(variable, variable.argument))

    def check(self, goal: Any) -> z3.CheckSatResult:
        self._solver.push()
        self._solver.add(goal)
        answer = self._solver.check()
        if answer == z3.unknown and "interrupted" in self._solver.reason_unknown():
            raise KeyboardInterrupt  # z3 catches Ctrl-C, and Python does not receive it
        self._model = self._solver.model() if answer == z3.sat else None
        self._text = self._solver.to_smt2()
        self._solver.pop()
        return answer

    def smtlib(self) -> str:
        return self._text

    def some_divisor_vanishes(self) -> Any:
        return z3.Or(*[self._polynomial(divisor.numerator) == 0 for divisor in self._divisors])

    def violation(self) -> Any:
        relation = self._statement.relation
        if relation in ("==", "!="):
            numerator = self._polynomial(self._gap.numerator)
            return numerator != 0 if relation == "==" else numerator == 0
        return self._negative(self._gap) if relation == "<=" else z3.Not(self._positive(self._gap))

    def point(self) -> Point | None:
        """The model, if it is rational."""
        point: dict[Symbol, Fraction] = {}
        for variable in self._variables:
            number: Any = self._model.eval(self._real[variable.name], model_completion=True)  # type: ignore[union-attr]
            if not z3.is_rational_value(number):
                number = number.approx(12)  # an algebraic number: a rational one nearby may suffice
            try:
                point[variable] = Fraction(number.numerator_as_long(), number.denominator_as_long())
            except ValueError:  # thousands of digits
                return None
        return point

    def _ratio(self, expression: Expr) -> Ratio:
        return self._ring.convert(expression, self._environment, self._divisors, self._named)

    def _named(self, node: Expr) -> Ratio:
        if node not in self._extra:
            raise NotRationalFunctionError(f"{node} is no rational function of its variables")
        return self._ring.generator(self._extra[node])

    def _definition(self, node: Expr, result: Ratio) -> Any:
        if isinstance(node, (exp, log)):
            raise NotRationalFunctionError(f"{node} is transcendental")
        parts = [self._ratio(part) for part in node.args if isinstance(part, Expr)]
        if isinstance(node, Ind):
            same = self._polynomial((parts[0] - parts[1]).numerator) == 0
            return self._polynomial(result.numerator) == z3.If(same, z3.RealVal(1), z3.RealVal(0))
        if isinstance(node, Abs):
            parts.append(self._ring.constant(0) - parts[0])
        sign = -1 if isinstance(node, Min) else 1
        gaps = [(result - part) * self._ring.constant(sign) for part in parts]
        one_of = z3.Or(*[self._polynomial(gap.numerator) == 0 for gap in gaps])
        return z3.And(one_of, *[z3.Not(self._negative(gap)) for gap in gaps])

    def _domain(self, variable: Variable) -> list[Any]:
        here, bounds = self._environment[variable], []
        if not variable.lower.is_infinite:
            above = here - self._ratio(variable.lower)
            bounds.append(self._positive(above) if variable.lower_open else z3.Not(self._negative(above)))
        if not variable.upper.is_infinite:
            below = self._ratio(variable.upper) - here
            bounds.append(self._positive(below) if variable.upper_open else z3.Not(self._negative(below)))
        return bounds

    def _near_its_argument(self, variable: Variable, argument: Expr) -> list[Any]:
        """Bounds of t = e**e: t >= 1 + e and t (1 - e) <= 1; and of ln u likewise.

        A point that satisfies these need not satisfy the equation, so only a proof counts.
        """
        here, inner, one = self._environment[variable], self._ratio(argument), self._ring.constant(1)
        above, exponent = (here, inner) if variable.exp_of is not None else (inner, here)
        bounds = [above - one - exponent, one - above * (one - exponent)]
        return [self._positive(above), *(z3.Not(self._negative(bound)) for bound in bounds)]

    def _positive(self, ratio: Ratio) -> Any:
        return self._polynomial(ratio.numerator * ratio.denominator) > 0

    def _negative(self, ratio: Ratio) -> Any:
        return self._polynomial(ratio.numerator * ratio.denominator) < 0

    def _polynomial(self, polynomial: fmpq_mpoly) -> Any:
        total: Any = z3.RealVal(0)
        for exponents, coefficient in polynomial.to_dict().items():
            term: Any = z3.RealVal(str(coefficient))
            for name, power in zip(self._ring.names, exponents, strict=False):
                for _ in range(int(power)):
                    term = term * self._real[name]
            total = total + term
        return total


def _ends(variables: list[Variable]) -> list[Expr]:
    return [end for v in variables for end in (v.lower, v.upper) if not end.is_infinite]
