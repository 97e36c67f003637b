"""A formal statement: a relation between two expressions, quantified over the variables' domains."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

from sympy import Abs, Add, Expr, Function, I, Integer, Pow, Rational, cancel, latex, nan, oo, sympify, zoo
from sympy.printing.str import StrPrinter

from ldp_audit.claims.language.exponentials import unified
from ldp_audit.mechanisms.variable import (
    Variable,
    exact,
    in_order,
    substitute_domain,
    substituted,
    variables_of,
)
from ldp_audit.numerics import instance

Relation = Literal["==", "!=", "<=", "<"]
Quantifier = Literal["for all", "there is", "one constant for all"]

NEGATION: dict[Relation, Relation] = {"==": "!=", "!=": "==", "<=": "<", "<": "<="}


@dataclass(frozen=True)
class Premise:
    """left RELATION right, "<=" or "<": a statement that has it is only about points at which it holds."""

    left: Expr
    relation: Relation
    right: Expr


@dataclass(frozen=True)
class Quantities:
    """What the numbers on the two sides are, in words, for a counterexample in a sentence.

    left, right: noun phrases, such as "the variance of a report"; right may be "", where it is a bound and no quantity.
    Of a ratio, where the right side is `factor` times a quantity: of: what has a size, such as "the output 1 has
    probability"; left, right: where it has which, such as "input w". Names of variables stand for their values.
    Raises ValueError for what is no text, and for a factor that is no expression.
    """

    left: str
    right: str = ""
    of: str = ""
    factor: Expr | None = None

    def __post_init__(self) -> None:
        for name, text in (("left", self.left), ("right", self.right), ("of", self.of)):
            instance(text, str, name, "words, as a text")
        if self.factor is not None:
            try:
                factor = exact(self.factor)
            except ValueError as error:
                raise ValueError(f"factor: {error}") from None
            instance(factor, Expr, "factor", "an expression, or None")
            object.__setattr__(self, "factor", factor)

    def to_dict(self) -> dict[str, str]:
        """JSON-ready."""
        more = {} if self.factor is None else {"of": self.of, "factor": written(self.factor)}
        return {"left": self.left, "right": self.right, **more}


@dataclass(frozen=True)
class Statement:
    """left RELATION right, for all values of its variables, or for some, or with one constant for all.

    left, right: SymPy expressions whose free symbols are Variables, which carry their domains.
    quantifier: "for all" (the default); "there is": at least one point of the domain satisfies it; "one constant for
        all": some value of `constant` suffices for all values of the other variables (O-statements).
    constant: the variable of an O-statement; positive.
    label: this part in words.
    given: inequalities or equalities that restrict the domain to the points at which they hold: an implication.
    bounding: variables that are in neither side any more, but bound those that are; the rewriting finds them.
    sides: what the numbers on both sides are; None where nobody has said.
    divisors: what the sides were divided by until it cancelled, as they are defined where that is not 0; `at` finds it.

    Exponentials of one exponent (EPSILON, T, ROOT_T, exp(c EPSILON), a variable with `exp_of`) become powers of one
    variable in both sides and in the domains (`exponentials.py`).
    Raises ValueError for a symbol without a domain, and for expressions that are not real.
    """

    left: Expr
    relation: Relation
    right: Expr
    label: str = ""
    quantifier: Quantifier = "for all"
    constant: Variable | None = None
    given: tuple[Premise, ...] = field(default=(), kw_only=True)
    bounding: tuple[Variable, ...] = field(default=(), kw_only=True)
    divisors: tuple[Expr, ...] = field(default=(), kw_only=True)
    sides: Quantities | None = field(default=None, kw_only=True, compare=False)
    wrote: tuple[Expr, ...] | None = field(default=None, kw_only=True, compare=False)
    """Both sides as they were given first, and both sides of each premise, if one was rewritten; else None."""
    roots: Mapping[Variable, Expr] = field(default_factory=dict, kw_only=True, compare=False)
    """Variables that were given, and are not in the sides, in terms of those that stand for square roots of them."""

    def __post_init__(self) -> None:
        for side in ("left", "right"):
            try:
                value = exact(getattr(self, side))
            except ValueError as error:
                raise ValueError(f"{side} side: {error}") from None
            # SymPy's assumptions are not used: on unevaluated sums they depend on the order of queries.
            if not isinstance(value, Expr) or value.is_Matrix or value.has(I, zoo, nan):
                raise ValueError(f"{side} side must be a finite real expression, got {getattr(self, side)!r}")
            object.__setattr__(self, side, value)
        object.__setattr__(self, "given", _premises(self.given))
        if self.given and self.constant is not None:
            raise ValueError("given belongs to no statement with one constant for all")
        given = (self.left, self.right, *(side for one in self.given for side in (one.left, one.right)))
        found, bounding, roots = unified(_without_single_values(given), self.bounding)
        object.__setattr__(self, "bounding", bounding)
        for side, value in zip(("left", "right"), found[:2], strict=True):
            if value.has(oo, -oo):  # only a sum may be infinite, and sums have closed forms by now
                raise ValueError(f"{side} side must be a finite real expression, got {getattr(self, side)!r}")
            object.__setattr__(self, side, value)
        pairs = zip(self.given, found[2::2], found[3::2], strict=True)
        object.__setattr__(self, "given", tuple(replace(one, left=low, right=high) for one, low, high in pairs))
        if tuple(found) != given:
            object.__setattr__(self, "wrote", self.wrote or given)
            object.__setattr__(self, "roots", {**{v: substituted(e, roots) for v, e in self.roots.items()}, **roots})
        instance(self.sides, (Quantities, type(None)), "sides", "Quantities, or None")
        self.variables()

    def _repr_latex_(self) -> str:
        """What a notebook shows: the statement, typeset."""
        signs = {"<=": r"\le", "<": "<", "==": "=", "!=": r"\ne"}
        sides = [(one.left, one.relation, one.right) for one in (*self.given, self)]
        *given, stated = [f"{latex(left)} {signs[relation]} {latex(right)}" for left, relation, right in sides]
        premises = rf" \quad\text{{where }} {', '.join(given)}" if given else ""
        return rf"$$ \text{{{self.quantifier}:}}\quad {stated}{premises} $$"

    def variables(self) -> list[Variable]:
        """The variables, each after those in its domain or link; the constant of an O-statement first."""
        return list(self._variables)

    @cached_property
    def _variables(self) -> list[Variable]:
        of_premises = [side for one in self.given for side in (one.left, one.right)]
        found = variables_of([self.left, self.right, *of_premises, *self.bounding, *self.divisors])
        found = in_order(found, lambda variable: is_linked(variable, found))
        if self.constant is not None:
            found = [self.constant, *(v for v in found if v != self.constant)]
        return found

    def negated(self) -> Statement:
        """The negation: 'for all' becomes 'there is', and vice versa."""
        if self.quantifier == "one constant for all":
            raise ValueError("an O-statement is denied by its escape, not by a relation")
        flipped = NEGATION[self.relation]
        sides, wrote = (self.left, self.right), self.wrote
        if self.relation in ("<=", "<"):
            sides, wrote = sides[::-1], wrote and (wrote[1], wrote[0], *wrote[2:])
        quantifier: Quantifier = "there is" if self.quantifier == "for all" else "for all"
        return replace(
            self, left=sides[0], relation=flipped, right=sides[1], quantifier=quantifier, wrote=wrote, sides=None
        )

    def at(self, values: Mapping[Variable, Any]) -> Statement:
        """The statement with some variables replaced, in its sides and in the domains of the others."""
        swap: dict[Any, Any] = {variable: sympify(value) for variable, value in values.items()}
        numbers, kept = all(value.is_Rational for value in swap.values()), list[Variable]()
        if numbers:
            kept += [v for v in self.variables() if v.exp_of is not None and substitute_domain(v, swap) == v]
        for variable in self.variables():
            if variable not in swap:
                moved = substitute_domain(variable, swap)
                if moved != variable:
                    swap[variable] = _as_power(moved, kept) if numbers else moved
        left, right = substituted(self.left, swap), substituted(self.right, swap)
        bounding = tuple(v for v in (swap.get(v, v) for v in self.bounding) if isinstance(v, Variable))
        before = (substituted(one, swap) for one in (*self.divisors, *_divisors(self.left, self.right)))
        still = _divisors(left, right)
        lost = tuple(dict.fromkeys(one for one in before if one not in still and one.free_symbols))
        wrote = None if self.wrote is None else self._written_at(swap)
        given = tuple(
            replace(one, left=substituted(one.left, swap), right=substituted(one.right, swap)) for one in self.given
        )
        sides = {"left": left, "right": right, "given": given}
        return replace(self, **sides, bounding=bounding, divisors=lost, wrote=wrote)

    def _written_at(self, swap: Mapping[Any, Any]) -> tuple[Expr, ...] | None:
        """All sides as given, with the same replacements; None where a number replaces an exponential they lack."""
        own = variables_of(self._as_written())
        for v in self.variables():
            lost = isinstance(v, Variable) and v in swap and v not in own and not isinstance(swap[v], Variable)
            if lost and v.argument is not None and v.argument.free_symbols & {*own}:
                return None
        moved = {**swap, **{v: substitute_domain(v, swap) for v in own if v not in swap}}
        return tuple(substituted(one, moved) for one in self._as_written())

    def _as_written(self) -> tuple[Expr, ...]:
        """Both sides, and both sides of each premise, as they were given."""
        return self.wrote or (self.left, self.right, *(side for one in self.given for side in (one.left, one.right)))

    def on_wider_domain(self) -> Statement:
        """The statement about its sides' variables alone; if it holds for all their values, so does this one."""
        return replace(self, bounding=(), wrote=None)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for report.json: strings in Python's arithmetic notation."""
        record: dict[str, Any] = {"label": self.label, "quantifier": self.quantifier}
        if self.constant is not None:
            record["constant"] = self.constant.name
        variables = self.variables()
        record["variables"] = [describe_variable(v, variables) for v in variables]
        alone = [v for v in variables if v.exp_of is not None and not is_linked(v, variables)]
        if alone:
            record["stand_for"] = {v.name: f"exp({written(v.exp_of)})" for v in alone}
        record["left"], record["relation"], record["right"] = written(self.left), self.relation, written(self.right)
        if self.sides is not None:
            record["sides"] = self.sides.to_dict()
        if self.given:
            record["given"] = [[written(one.left), one.relation, written(one.right)] for one in self.given]
        if self.wrote is not None:
            left, right, *others = map(written, self.wrote)
            own = self.written_variables()
            domains = [describe_variable(v, own) for v in own]
            pairs = zip(self.given, others[::2], others[1::2], strict=True)
            given = {"given": [[low, one.relation, high] for one, low, high in pairs]} if self.given else {}
            record["written"] = {"variables": domains, "left": left, "right": right, **given}
        return record

    def written_variables(self) -> list[Variable]:
        """The variables of the sides as they were given, and those that the proof has for their exponentials."""
        own = variables_of([*self._as_written(), *self.bounding])
        own = variables_of([*own, *(v.argument for v in own if v.argument is not None)])
        letters = [v for v in self.variables() if v.argument is not None and v.argument.free_symbols <= {*own}]
        found = variables_of([*own, *letters])
        return in_order(found, lambda variable: is_linked(variable, found))


def described_ends(variable: Variable) -> dict[str, Any]:
    """A variable's two ends in plain strings, None for infinite ones, and whether they are excluded."""
    record: dict[str, Any] = {}
    for side, end, is_open in (
        ("lower", variable.lower, variable.lower_open),
        ("upper", variable.upper, variable.upper_open),
    ):
        record |= {side: None if end in (oo, -oo) else written(end), f"{side}_open": is_open}
    return record


def describe_variable(variable: Variable, among: list[Variable]) -> dict[str, Any]:
    """A variable's domain in plain strings; its link to an exponent only if the exponent's variables are in the
    statement."""
    record = {"name": variable.name, **described_ends(variable)}
    if variable.integer_valued:
        record["integer"] = True
    if variable.argument is not None and is_linked(variable, among):
        record["log_of" if variable.exp_of is None else "exp_of"] = written(variable.argument)
    return record


def _as_power(moved: Variable, others: list[Variable]) -> Expr:
    """An exponential as 1 or a power of another, if a number in its exponent has made it so; else it joins the others.

    As variables that are linked to one exponent they would be compared by bounds alone.
    """
    if moved.exp_of is None:
        return moved
    if moved.exp_of == 0:
        return Integer(1)
    for other in others:
        if (times := cancel(moved.exp_of / other.exp_of)).is_Integer:
            return other**times
    others.append(moved)
    return moved


def _divisors(*sides: Expr) -> list[Expr]:
    """What the expressions divide by, in the order of its text."""
    return sorted({one.base for side in sides for one in side.atoms(Pow) if one.exp.is_negative}, key=str)


class _Arithmetic(StrPrinter):
    """SymPy's plain text, with e as exp(1) and pi as Pi(), as report.json's readers expect."""

    def _print_Exp1(self, _expression: Expr) -> str:  # noqa: N802
        return "exp(1)"

    def _print_Pi(self, _expression: Expr) -> str:  # noqa: N802
        return "Pi()"

    def _print_Dummy(self, expression: Expr) -> str:  # noqa: N802  (the index of a sum, without SymPy's underscore)
        return expression.name  # type: ignore[attr-defined]

    def _print_Add(self, expr: Expr, order: str | None = None) -> str:  # noqa: N802
        # SymPy orders terms by their numerical values, which are slow to compute for a long program.
        return super()._print_Add(expr, order="none" if expr.has(Function) else order)

    def _print_Function(self, expression: Expr) -> str:  # noqa: N802
        # Many statements share the parts of a program, a chain of functions.
        return f"{expression.func.__name__}({', '.join(map(written, expression.args))})"


@lru_cache(maxsize=4096)
def written(expression: Expr) -> str:
    """The expression in Python's arithmetic notation."""
    return _Arithmetic().doprint(expression)


def is_linked(variable: Variable, among: list[Variable]) -> bool:
    """Whether the statement determines the variable by an exponent or as a logarithm, as it contains that argument."""
    return variable.argument is not None and variable.argument.free_symbols <= set(among)


def _without_single_values(sides: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The expressions with numbers for variables that are one irrational one, as Variable("c", log(2), log(2)) is."""
    single = [v for v in variables_of(sides) if v.lower == v.upper and v.lower.is_number]
    known = {v: v.lower for v in single if not v.lower.is_Rational}
    return tuple(substituted(one, known) for one in sides) if known else sides


def _premises(given: Any) -> tuple[Premise, ...]:
    """Statements, and premises made of them before, as premises: an equality is two of them."""
    found: list[Premise] = []
    if not isinstance(given, tuple | list):
        raise ValueError(f"given must be a tuple of statements, as (at_most(x, y),), got {given!r}")
    for one in given:
        if isinstance(one, Premise):
            found.append(one)
            continue
        plain = isinstance(one, Statement) and one.quantifier == "for all" and not one.given
        if not plain or one.relation == "!=":
            raise ValueError(f"given must have statements of at_most, less or equal, got {one!r}")
        left, right = one.wrote or (one.left, one.right)
        found.append(Premise(left, "<" if one.relation == "<" else "<=", right))
        if one.relation == "==":
            found.append(Premise(right, "<=", left))
    return tuple(found)


Given = Sequence[Statement]
"""Statements that restrict another one to the points of its domain at which they hold."""


def equal(left: Any, right: Any, label: str = "", *, given: Given = (), sides: Quantities | None = None) -> Statement:
    """left == right, everywhere; or wherever what is given holds."""
    return Statement(left, "==", right, label, given=given, sides=sides)  # type: ignore[arg-type]


def differ(left: Any, right: Any, label: str = "", *, given: Given = ()) -> Statement:
    """left != right, everywhere; or wherever what is given holds."""
    return Statement(left, "!=", right, label, given=given)  # type: ignore[arg-type]


def at_most(left: Any, right: Any, label: str = "", *, given: Given = (), sides: Quantities | None = None) -> Statement:
    """left <= right, everywhere; or wherever what is given holds, as at_most(t, g, given=(at_most(t**2, g**2),))."""
    return Statement(left, "<=", right, label, given=given, sides=sides)  # type: ignore[arg-type]


def less(left: Any, right: Any, label: str = "", *, given: Given = (), sides: Quantities | None = None) -> Statement:
    """left < right, everywhere; or wherever what is given holds."""
    return Statement(left, "<", right, label, given=given, sides=sides)  # type: ignore[arg-type]


def somewhere(statement: Statement, label: str = "") -> Statement:
    """The relation holds for at least one point of the domain."""
    instance(statement, Statement, "statement", "a Statement")
    return replace(statement, quantifier="there is", label=label or statement.label)


def order(left: Any, right: Any, *, constant: Variable, label: str = "") -> Statement:
    """left = O(right) with its constant: one K > 0 with left <= right for all values of the others.

    right must contain the constant, e.g. `order(variance, K / EPSILON**2, constant=K)`.
    Raises ValueError if it does not, or if the constant does not range over (0, oo).
    """
    instance(constant, Variable, "constant", "a Variable")
    statement = Statement(left, "<=", right, label, "one constant for all", constant)
    if constant not in statement.right.free_symbols or constant in statement.left.free_symbols:
        raise ValueError(f"the constant {constant.name!r} must occur on the right side and only there")
    if constant.lower != 0 or constant.upper != oo:
        raise ValueError(f"the constant {constant.name!r} must range over (0, oo)")
    return statement


_PRINTED = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*(\.(?P<decimals>[0-9]*))?([eE](?P<exponent>[+-]?[0-9]{1,4}))?")


def prints_as(value: Any, printed: str, label: str = "") -> Statement:
    """A printed decimal is the value rounded to its last place (either way at a tie): |value - printed| <= half a unit.

    printed: digits as printed in the paper, such as "0.0062", "45", or "6.2e-5", whose last place is 1e-6.
    """
    digits = _PRINTED.fullmatch(printed) if isinstance(printed, str) else None
    if digits is None:
        raise ValueError(f"printed must be the digits of a number, such as '0.0062' or '6.2e-5', got {printed!r}")
    unit = Rational(10) ** (int(digits["exponent"] or 0) - len(digits["decimals"] or ""))
    number = Fraction(printed)
    try:
        instance(exact(value), Expr, "value", "an expression")
    except ValueError as error:
        raise ValueError(f"value: {error}") from None
    gap = Add(exact(value), -Rational(number), evaluate=False)  # the value stays unevaluated
    sides = Quantities(f"the distance from the printed {printed}", "half a unit of its last place")
    return at_most(Abs(gap, evaluate=False), unit / 2, label or f"prints as {printed}", sides=sides)
