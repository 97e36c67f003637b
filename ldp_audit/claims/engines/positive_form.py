"""Positive forms: an expression rewritten such that its sign is evident, which is what a proof consists of here.

A variable x in [lower, upper] has two slacks, lo_x = x - lower and hi_x = upper - x, both >= 0 on the domain (> 0 at an
open bound). A form is positive if it is built from slacks, positive numbers and even powers by +, * and / only. To find
one, x is written as (lower hi_x + upper lo_x) / (lo_x + hi_x), or as lower + lo_x or upper - hi_x if the other bound is
infinite; the result is factored, and lo_x + hi_x is replaced by the width, upper - lower. An unbounded variable is kept
and may occur in even powers. A variable that is e**e has the slack lo_x = x - (1 + e + ... + e**m/m!), m odd, which is
positive for every real e; or else hi_x = 1 - x P(-e) with the same polynomial P, as x P(-e) <= 1. One that is ln(u) has
lo_x = x - (1 - 1/u), or hi_x = u - 1 - x.

A premise a <= b has the slack lo_given_0 = b - a, >= 0 wherever it holds. A term of b - a is eliminated from the gap by
it: what is left, and what lo_given_0 is multiplied by, must have positive forms.

Not every slack need be used: a bounded variable may be written by its lower slack only, by its upper one, or be kept.
This helps if the width may vanish (w in [c - rho r, c + rho r], rho >= 0) or the statement needs one bound only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import comb, factorial
from typing import Literal

from flint import fmpq, fmpq_mpoly
from sympy import Expr, Rational, Symbol

from ldp_audit.claims.engines.rational import Ratio, Ring, text
from ldp_audit.claims.language.statement import Premise, Statement, is_linked
from ldp_audit.mechanisms.variable import Variable, in_order

_MOST_TERMS = 2000
"""A longer polynomial takes minutes to factor, and has no positive form in practice: of some thousand proofs with
linked exponentials none has more than a hundred terms."""
_MOST_LEADS, _MOST_ELIMINATIONS, _MOST_DIVISIONS = 6, 30, 20
"""Terms of a premise that are tried as the one to eliminate; choices for all premises; steps of one division."""


@dataclass(frozen=True)
class Form:
    """A positive form of an expression or of its negative.

    text: the form, in slacks.   sign: 2 and -2: the expression is never zero; 1 and -1: it may be.
    """

    text: str
    sign: int


@dataclass(frozen=True)
class _Factors:
    """constant * product of polynomial ** power; powers may be negative."""

    constant: fmpq
    powers: Mapping[str, tuple[fmpq_mpoly, int]]


@dataclass(frozen=True)
class _Premise:
    """right - left of a premise.   slacks: its name, by 1; and by -1 that of its negative, if that is a premise too."""

    ratio: Ratio
    slacks: dict[int, str]
    is_strict: bool


Ends = Literal["both", "lower", "upper", "none"]


class SlackSubstitution:
    """The variables of a domain in terms of their slacks; collects the divisors that must not vanish.

    degree: of the Taylor polynomial below a linked exponential; odd, or 0 to use its own bounds only.
    ends: by name, the slacks with which a bounded variable is written; both by default.
    premises: relations that may be used.
    """

    def __init__(
        self,
        variables: list[Variable],
        degree: int = 1,
        ends: Mapping[str, Ends] | None = None,
        premises: Sequence[Premise] = (),
    ) -> None:
        self._ends = ends or {}
        self.divisors: list[Ratio] = []
        self._known: dict[str, Form] = {}
        self._degree = degree
        self._among = variables
        self._open: dict[str, bool] = {}
        self._bounded: list[str] = []
        names = [name for variable in variables for name in self._declare(variable)]
        self._ring = Ring(names)
        self._environment: dict[Symbol, Ratio] = {}
        self._width_ratios: dict[str, Ratio] = {}
        self._widths: dict[str, _Factors] = {}
        for variable in in_order(variables, lambda one: is_linked(one, variables)):
            self._environment[variable] = self._written(variable)
            for end in (variable.lower, variable.upper):  # all of them, to collect every divisor in a domain
                if not end.is_infinite:
                    self.write(end)
        self._of_domains = len(self.divisors)
        self._premises = self._read(premises)

    def _read(self, premises: Sequence[Premise]) -> list[_Premise]:
        """The premises; one that is followed by its reverse is an equality."""
        found: list[_Premise] = []
        for place, one in enumerate(premises):
            ratio, slack = self.write(one.right) - self.write(one.left), f"lo_given_{place}"
            if found and found[-1].slacks.keys() == {1} and (found[-1].ratio + ratio).numerator.is_zero():
                found[-1].slacks[-1] = slack
            elif not ratio.numerator.is_zero():
                found.append(_Premise(ratio, {1: slack}, is_strict=one.relation == "<"))
        return found

    def define(self, variables: list[Variable], path: Mapping[Variable, Expr]) -> None:
        """Give the variables of the statement from which the path comes; KeyError if the path needs others."""
        own = {str(variable): value for variable, value in self._environment.items()}
        for variable in variables:
            self._environment[variable] = self.write(path[variable]) if variable in path else own[variable.name]

    def write(self, expression: Expr) -> Ratio:
        """The expression in slacks."""
        return self._ring.convert(expression, self._environment, self.divisors)

    def gap(self, statement: Statement) -> Ratio:
        """right - left, in slacks; collects the divisors of both sides, and those that cancelled."""
        self.divisors.extend(map(self.write, statement.divisors))
        return self.write(statement.right) - self.write(statement.left)

    def form(self, ratio: Ratio, bounded: Sequence[str] | None = None) -> Form | None:
        """A positive form of the ratio or of its negative; None if none was found.

        bounded: the variables whose width may be used to show that a factor cannot vanish; all by default.
        """
        usable = self._bounded if bounded is None else bounded
        if ratio.numerator.is_zero():
            return Form("0", 1)
        if is_long(ratio):
            return None
        factors = self._factors(ratio)
        sign, above, below = 2 if factors.constant > 0 else -2, [], []
        for polynomial, power in factors.powers.values():
            factor = self._polynomial_form(polynomial, usable) or self._known.get(text(polynomial))
            if factor is None and power % 2 == 0 and power > 0:
                factor = Form(text(polynomial), 1)
            if factor is None or (power < 0 and abs(factor.sign) == 1):
                return None
            if factor.sign < 0 and power % 2:
                sign = -sign
            if abs(factor.sign) == 1 and abs(sign) == 2:
                sign //= 2
            (above if power > 0 else below).append(_power(factor.text, abs(power)))
        size = abs(Fraction(int(factors.constant.p), int(factors.constant.q)))
        return Form(_quotient([str(size.numerator), *above], [str(size.denominator), *below]), sign)

    def form_by_premises(self, statement: Statement) -> Form | None:
        """A positive form of right - left with slacks of premises; None if none was found.

        The gap is multiplied by the premises' denominators, and perhaps by what makes squares of it: the gap with the
        sign of one variable turned.
        """
        gap, one = statement.right - statement.left, self._ring.constant(1)
        known = {v for one in statement.given for v in (one.left - one.right).free_symbols}
        turned = [
            gap.subs(v, -v)
            for v in statement.variables()
            if v in known and gap.has(v) and not is_linked(v, self._among)
        ]
        scale = one
        for below in dict.fromkeys(text(premise.ratio.denominator) for premise in self._premises):
            scale *= next(
                Ratio(p.ratio.denominator, one.numerator) for p in self._premises if text(p.ratio.denominator) == below
            )
        for multiplier in (one, *map(self.write, turned)):
            if (multiplier * scale).numerator.is_zero():
                continue
            whole = self.write(gap) * multiplier * scale
            times = Ratio(whole.denominator, one.numerator) * multiplier * scale
            form = None if is_long(whole) or is_long(times) else self.form(one / times)
            if form is None or form.sign != 2:
                continue
            leads = [self._leads(premise, whole.numerator) for premise in self._premises]
            for chosen in islice(product(*leads), _MOST_ELIMINATIONS):
                above = self._eliminated(whole.numerator, chosen)
                if above is not None:
                    return Form(_quotient([f"({above.text})", _power(form.text, 1)], []), above.sign)
        return None

    def _leads(self, premise: _Premise, polynomial: fmpq_mpoly) -> list[tuple[int, ...] | None]:
        """The terms of a premise that divide one of the polynomial's, those of the highest degree first; or none."""
        terms = sorted(premise.ratio.numerator.monoms(), key=sum, reverse=True)
        present = [one for one in terms if any(_divides(one, powers) for powers in polynomial.monoms())]
        return [*present[:_MOST_LEADS], None]

    def _eliminated(self, polynomial: fmpq_mpoly, leads: Sequence[tuple[int, ...] | None]) -> Form | None:
        """The polynomial as multiples of premises and a rest: each premise eliminates one of its terms, if any."""
        rest, parts, sign = polynomial, list[str](), 1
        for premise, lead in zip(self._premises, leads, strict=True):
            if lead is None:
                continue
            times, rest = self._divided(rest, premise.ratio.numerator, lead)
            for way, slack in premise.slacks.items():
                form = self._shown(self._of_one_sign(times, way) if len(premise.slacks) > 1 else times)
                below = self._shown(premise.ratio.denominator)
                if form is None or below is None:
                    return None
                if form.text != "0":
                    parts.append(_quotient([_power(form.text, 1), _power(below.text, 1), slack], []))
                    sign = max(sign, form.sign if premise.is_strict and below.sign == 2 else 1)
        left = self._shown(rest)
        if left is None or not parts:
            return None
        parts += [] if left.text == "0" else [left.text]
        return Form(" + ".join(parts), max(sign, left.sign if left.text != "0" else 1))

    def _of_one_sign(self, polynomial: fmpq_mpoly, way: int) -> fmpq_mpoly:
        """The sum of the terms whose coefficients have this sign, without it."""
        total = self._ring.constant(0).numerator
        for powers, coefficient in polynomial.terms():
            if coefficient * way > 0:
                named = {name: int(power) for name, power in zip(self._ring.names, powers, strict=False)}
                total = total + self._monomial(named) * (coefficient * way)
        return total

    def _shown(self, polynomial: fmpq_mpoly) -> Form | None:
        """A form of what is not negative; None otherwise."""
        form = self.form(Ratio(polynomial, self._ring.constant(1).numerator))
        return form if form is not None and form.sign > 0 else None

    def _divided(
        self, polynomial: fmpq_mpoly, divisor: fmpq_mpoly, lead: tuple[int, ...]
    ) -> tuple[fmpq_mpoly, fmpq_mpoly]:
        """Quotient and rest, the term of these powers being the divisor's first; unchanged if that has no end."""
        quotient, rest, coefficient = self._ring.constant(0).numerator, polynomial, divisor[lead]
        for _ in range(_MOST_DIVISIONS):
            found = next((one for one in rest.terms() if _divides(lead, one[0])), None)
            if found is None:
                return quotient, rest
            powers = {name: int(a) - int(b) for name, a, b in zip(self._ring.names, found[0], lead, strict=False)}
            factor = self._monomial(powers) * (found[1] / coefficient)
            quotient, rest = quotient + factor, rest - factor * divisor
        return self._ring.constant(0).numerator, polynomial

    def divisor_forms(self) -> list[Form] | None:
        """Positive forms of all divisors or their negatives, none of which can vanish; None if one may."""
        forms: list[Form] = []
        for divisor in self.divisors:
            form = self.form(divisor)
            if form is None or abs(form.sign) != 2:
                return None
            forms.append(form)
        return forms

    def add_forms(self, forms: Sequence[Form]) -> None:
        """Add forms of the divisors that were found in other slacks: a factor may have none in these."""
        own = self.divisors[self._of_domains :]  # the domains' divisors come first, and differ with the slacks
        for ratio, form in zip(own, forms[len(forms) - len(own) :], strict=False):
            below = self.form(Ratio(ratio.denominator, self._ring.constant(1).numerator))
            if below is not None and abs(below.sign) == 2:
                sign = form.sign if below.sign > 0 else -form.sign
                self._known[text(ratio.numerator)] = Form(f"({form.text})*({below.text})", sign)

    def _is_linked(self, variable: Variable) -> bool:
        """Whether the variable is written by its exponent or logarithm; at degree 0 it is written by its own bounds."""
        return is_linked(variable, self._among) and (variable.exp_of is None or self._degree > 0)

    def _declare(self, variable: Variable) -> list[str]:
        name = variable.name
        if self._is_linked(variable):
            side = "hi" if self._ends.get(name) == "upper" else "lo"
            self._open[f"{side}_{name}"] = False
            return [f"{side}_{name}"]
        if variable.lower == variable.upper:
            return []
        below, above = not variable.lower.is_infinite, not variable.upper.is_infinite
        if self._ends.get(name, "both") != "both":
            below, above = self._ends[name] == "lower", self._ends[name] == "upper"
        if not below and not above:
            return [name]
        ends = [f"lo_{name}"] * below + [f"hi_{name}"] * above
        self._open.update({f"lo_{name}": variable.lower_open, f"hi_{name}": variable.upper_open})
        self._bounded.extend([name] * (below and above))
        return ends

    def _written(self, variable: Variable) -> Ratio:
        name = variable.name
        if self._is_linked(variable) and variable.log_of is not None:
            argument = self.write(variable.log_of)
            self.divisors.append(argument)
            if self._ends.get(name) == "upper":
                return argument - self._ring.constant(1) - self._ring.generator(f"hi_{name}")
            return self._ring.constant(1) - self._ring.constant(1) / argument + self._ring.generator(f"lo_{name}")
        if self._is_linked(variable) and variable.exp_of is not None:
            if self._ends.get(name) == "upper":
                below = self.write(taylor(-variable.exp_of, self._degree))
                self.divisors.append(below)
                return (self._ring.constant(1) - self._ring.generator(f"hi_{name}")) / below
            return self.write(taylor(variable.exp_of, self._degree)) + self._ring.generator(f"lo_{name}")
        if variable.lower == variable.upper:
            return self.write(variable.lower)
        has = [side for side in ("lo", "hi") if f"{side}_{name}" in self._ring.names]
        if not has:
            return self._ring.generator(name)
        if has == ["lo"]:
            return self.write(variable.lower) + self._ring.generator(f"lo_{name}")
        if has == ["hi"]:
            return self.write(variable.upper) - self._ring.generator(f"hi_{name}")
        lower, upper = self.write(variable.lower), self.write(variable.upper)
        lo, hi = self._ring.generator(f"lo_{name}"), self._ring.generator(f"hi_{name}")
        self._width_ratios[name] = upper - lower
        self._widths[name] = self._factors(upper - lower)
        return (lower * hi + upper * lo) / (lo + hi)

    def _factors(self, ratio: Ratio) -> _Factors:
        """The ratio factored, with every lo_x + hi_x replaced by the width."""
        constant, powers = fmpq(1), {}

        def multiply(polynomial: fmpq_mpoly, power: int) -> None:
            key = text(polynomial)
            total = powers.get(key, (polynomial, 0))[1] + power
            powers.pop(key, None)
            if total:
                powers[key] = (polynomial, total)

        widths = {text(self._sum_of_slacks(name)): width for name, width in self._widths.items()}
        for polynomial, side in ((ratio.numerator, 1), (ratio.denominator, -1)):
            leading, factors = polynomial.factor()
            constant *= leading**side
            for factor, multiplicity in factors:
                width = widths.get(text(factor))
                if width is None:
                    multiply(factor, side * int(multiplicity))
                    continue
                constant *= width.constant ** (side * int(multiplicity))
                for part, power in width.powers.values():
                    multiply(part, side * int(multiplicity) * power)
        return _Factors(constant, powers)

    def _sum_of_slacks(self, name: str) -> fmpq_mpoly:
        return (self._ring.generator(f"lo_{name}") + self._ring.generator(f"hi_{name}")).numerator

    def _polynomial_form(self, polynomial: fmpq_mpoly, bounded: Sequence[str]) -> Form | None:
        """A form if all coefficients have one sign, with even powers of unbounded variables."""
        coefficients = [coefficient for _, coefficient in polynomial.terms()]
        negative = all(coefficient < 0 for coefficient in coefficients)
        if not negative and not all(coefficient > 0 for coefficient in coefficients):
            return None
        if any(
            power % 2
            for powers, _ in polynomial.terms()
            for name, power in self._named(powers)
            if name not in self._open
        ):
            return None
        positive = -polynomial if negative else polynomial
        certain = any(self._never_zero(powers) for powers, _ in positive.terms())
        raised = None if certain else self._raised(positive, bounded)
        sign = 2 if certain or raised else 1
        return Form(raised or text(positive), -sign if negative else sign)

    def _raised(self, polynomial: fmpq_mpoly, bounded: Sequence[str]) -> str | None:
        """The same polynomial with a multiple of (lo_x + hi_x)**m replaced by width**m, so that it cannot vanish."""
        for place, name in enumerate(bounded):
            lo, hi = f"lo_{name}", f"hi_{name}"
            width = self.form(self._width_ratios[name], bounded[:place])
            if width is None or width.sign != 2:
                continue
            groups: dict[tuple[tuple[str, int], ...], dict[int, fmpq]] = {}
            degree = 0
            for powers, coefficient in polynomial.terms():
                named = dict(self._named(powers))
                degree = max(degree, named.get(lo, 0) + named.get(hi, 0))
                others = tuple((n, p) for n, p in named.items() if n not in (lo, hi) and p)
                groups.setdefault(others, {})[named.get(lo, 0)] = coefficient
            for others, row in groups.items():
                least = min(row.get(k, fmpq(0)) / comb(degree, k) for k in range(degree + 1))
                if degree and least > 0 and all(self._open.get(n, False) for n, _ in others):
                    monomial = self._monomial(dict(others))
                    rest = polynomial - least * monomial * self._sum_of_slacks(name) ** degree
                    taken = _quotient([_power(text(least * monomial), 1), _power(width.text, degree)], [])
                    return f"{taken} + {text(rest)}"
        return None

    def _monomial(self, powers: Mapping[str, int]) -> fmpq_mpoly:
        return self._ring.monomial(powers)

    def _never_zero(self, powers: tuple[int, ...]) -> bool:
        return all(power == 0 or self._open.get(name, False) for name, power in self._named(powers))

    def _named(self, powers: tuple[int, ...]) -> list[tuple[str, int]]:
        return [(name, int(power)) for name, power in zip(self._ring.names, powers, strict=False)]


def _divides(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def is_long(ratio: Ratio) -> bool:
    """Whether no form of it is looked for."""
    return len(ratio.numerator) + len(ratio.denominator) > _MOST_TERMS


def taylor(exponent: Expr, degree: int) -> Expr:
    """1 + e + e**2/2 + ... + e**degree/degree!; below e**e for every real e if the degree is odd."""
    return sum((exponent**k / factorial(k) for k in range(1, degree + 1)), Rational(1))


def _power(form: str, power: int) -> str:
    base = form if form.isidentifier() or form.isdecimal() else f"({form})"
    return base if power == 1 else f"{base}**{power}"


def _quotient(above: list[str], below: list[str]) -> str:
    top = [part for part in above if part != "1"] or ["1"]
    bottom = [part for part in below if part != "1"]
    if not bottom:
        return "*".join(top)
    return f"{'*'.join(top)}/{bottom[0] if len(bottom) == 1 else '(' + '*'.join(bottom) + ')'}"
