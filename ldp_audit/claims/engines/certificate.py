"""Certificate: an inequality on a domain by a positive form of right - left (`positive_form.py`); and an identity.

If the whole domain has no such form, it is bisected, at 0 or in the middle, and each half is tried. The form is the
evidence: the checker expands it and inspects its signs. Two rational functions are equal if the numerator of their
difference is the zero polynomial; the evidence then consists of forms of their divisors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any

from sympy import Expr, Integer

from ldp_audit.claims.engines.positive_form import Ends, Form, SlackSubstitution, is_long
from ldp_audit.claims.engines.rational import NotRationalFunctionError
from ldp_audit.claims.language.statement import Statement, is_linked, written
from ldp_audit.mechanisms.variable import Variable

_DEGREES = (0, 1, 3, 7, 11)
_CUTS = 2
_MAX_PLANS = 16
_MAX_BOTH_SLACKS = 6
"""With both slacks of more variables than this a form has too many terms to be useful."""
_MAX_HALVED = 4
_MAX_LINKED = 4
_MOST_WITH_PREMISES = 12
"""Choices of slacks in which premises are used: each takes many divisions."""

Plan = dict[str, Ends]


def prove(statement: Statement, cuts: int = _CUTS, least: int = 0) -> dict[str, Any] | None:
    """Evidence that the universal inequality holds on its whole domain, or None if this engine finds none.

    cuts: largest depth of bisection.   least: see `prove_whole`.
    """
    return prove_whole(statement, least) or prove_in_halves(statement, cuts)


def prove_equality(statement: Statement) -> dict[str, Any] | None:
    """Evidence that the universal equality holds, and is defined, on its whole domain; None if not found."""
    try:
        if not SlackSubstitution(statement.variables()).gap(statement).numerator.is_zero():
            return None
        shown = nonzero_divisors(statement)
    except (NotRationalFunctionError, ZeroDivisionError):
        return None
    return None if shown is None else {"kind": "identity", "gap": "0", **shown}


def nonzero_divisors(statement: Statement) -> dict[str, Any] | None:
    """Evidence that no divisor is 0: forms, in the first slacks that have them; None if there are none."""
    linked = any(is_linked(v, statement.variables()) for v in statement.variables())
    for degree in (0, 1) if linked else (1,):
        forms = divisor_forms(statement, degree)
        if forms is not None:
            return {"divisors": texts(forms), **({"taylor": degree} if linked and degree else {})}
    return None


def prove_whole(statement: Statement, least: int = 0) -> dict[str, Any] | None:
    """Evidence by one form for the whole domain, by premises if there is none without them.

    least: the lowest degree of Taylor polynomials; at 0 an exponential is only known by its bounds.
    """
    variables = statement.variables()
    for degree in (d for d in _DEGREES if d >= least) if _has_link(variables) else (1,):
        try:
            if is_long(SlackSubstitution(variables, degree, plans(variables)[0]).gap(statement)):
                return None  # and still longer at higher degrees
            known = divisor_forms(statement, degree)  # found in slacks that may not occur in the gap's own form
        except (NotRationalFunctionError, ZeroDivisionError):
            return None
        for ends in plans(variables, linked=degree > 0):
            evidence = _on(statement, degree, ends, known)
            if evidence is not None:
                return evidence
    return _by_premises(statement) if statement.given else None


def _by_premises(statement: Statement) -> dict[str, Any] | None:
    """Evidence by a form that uses premises, in the first few choices of slacks."""
    variables = statement.variables()
    for degree in (0, 1) if _has_link(variables) else (1,):
        try:
            known = divisor_forms(statement, degree, by_premises=True)
        except (NotRationalFunctionError, ZeroDivisionError):
            return None
        for ends in plans(variables, linked=degree > 0)[:_MOST_WITH_PREMISES]:
            evidence = _on(statement, degree, ends, known, by_premises=True)
            if evidence is not None:
                return evidence
    return None


def prove_in_halves(statement: Statement, cuts: int = _CUTS) -> dict[str, Any] | None:
    """Evidence by a form for each part of the domain, bisected at 0 or in the middle, at most `cuts` times."""
    variables = statement.variables()
    if cuts == 0 or _has_link(variables) or len(variables) > _MAX_HALVED:
        return None
    for variable in variables:
        middle = _middle(variable)
        if middle is None:
            continue
        below = Variable(variable.name, variable.lower, middle, open="left" if variable.lower_open else "")
        above = Variable(variable.name, middle, variable.upper, open="right" if variable.upper_open else "")
        first = prove(statement.at({variable: below}), cuts - 1)
        second = prove(statement.at({variable: above}), cuts - 1) if first is not None else None
        if second is not None:
            return {"kind": "halves", "variable": variable.name, "at": written(middle), "below": first, "above": second}
    return None


def _has_link(variables: list[Variable]) -> bool:
    return any(is_linked(variable, variables) for variable in variables)


def plans(variables: list[Variable], *, linked: bool = True) -> list[Plan]:
    """Choices of slacks for the bounded variables. One slack each gives the shortest forms, so it comes first.

    linked: whether exponentials, and not only logarithms, have slacks of their own.
    """
    free = [v.name for v in variables if is_linked(v, variables) and (linked or v.exp_of is None)]
    bounded = [
        v.name
        for v in variables
        if v.name not in free and not (v.lower.is_infinite or v.upper.is_infinite) and v.lower != v.upper
    ]

    def all_of(*choices: Ends, most: int = 27) -> list[Plan]:
        chosen = islice(product(choices, repeat=len(bounded)), most)
        return [dict(zip(bounded, ends, strict=True)) for ends in chosen]

    found = all_of("upper", "lower", most=_MAX_PLANS)
    found += all_of("both") if len(bounded) <= _MAX_BOTH_SLACKS else []
    found += all_of("upper", "lower", "both") if len(bounded) <= 3 else []
    found += all_of("none")
    found = [plan for place, plan in enumerate(found) if plan not in found[:place]]
    above: list[Ends] = ["lower", "upper"]
    chosen = [dict(zip(free, ends, strict=True)) for ends in islice(product(above, repeat=len(free)), _MAX_LINKED)]
    return [{**plan, **ends} for ends in chosen for plan in found]


def _on(
    statement: Statement,
    degree: int,
    ends: Mapping[str, Ends],
    known: Sequence[Form] | None,
    *,
    by_premises: bool = False,
) -> dict[str, Any] | None:
    try:
        premises = statement.given if by_premises else ()
        slacks = SlackSubstitution(statement.variables(), degree, ends, premises)
        gap = slacks.gap(statement)
        slacks.add_forms(known or ())
        form = slacks.form_by_premises(statement) if by_premises else slacks.form(gap)
        if form is None or not _shows(statement.relation, form.sign, form.text):
            return None
        divisors = slacks.divisor_forms() or known
    except (NotRationalFunctionError, ZeroDivisionError):
        return None
    if divisors is None:
        return None
    evidence = {"kind": "certificate", "gap": form.text, "divisors": texts(divisors)}
    return {**evidence, "taylor": degree} if degree and _has_link(statement.variables()) else evidence


def divisor_forms(statement: Statement, degree: int = 1, *, by_premises: bool = False) -> list[Form] | None:
    """Forms of all divisors of the statement and its domains, in the first slacks that have them.

    None if one may be zero.   by_premises: those of the premises, too.
    """
    premises = statement.given if by_premises else ()
    for ends in ({}, *plans(statement.variables(), linked=degree > 0)):
        slacks = SlackSubstitution(statement.variables(), degree, ends, premises)
        slacks.gap(statement)
        forms = slacks.divisor_forms()
        if forms is not None:
            return forms
    return None


def texts(forms: Sequence[Form]) -> list[str]:
    """The distinct texts of the evidence."""
    return list(dict.fromkeys(form.text for form in forms))


def _shows(relation: str, sign: int, form: str) -> bool:
    if form == "0":
        return relation == "<="
    return {"<=": sign > 0, "<": sign == 2, "!=": abs(sign) == 2}.get(relation, False)


def _middle(variable: Variable) -> Expr | None:
    below, above = variable.lower.is_infinite, variable.upper.is_infinite
    if below and above:
        return Integer(0)
    if not below and not above and variable.lower != variable.upper:
        return (variable.lower + variable.upper) / 2
    return None
