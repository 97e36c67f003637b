"""Numbers for the parameters of a symbolic distribution, checked against their domains, with 1000 digits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mpmath
import numpy as np
from sympy import Dummy, Expr, cancel, lambdify

from ldp_audit.mechanisms.density import SymbolicDistribution
from ldp_audit.mechanisms.variable import Variable

DIGITS = 1000
"""Decimal digits of all computations on a channel at given parameter values."""


def parameter_values(channel: SymbolicDistribution, values: Mapping[str, float]) -> dict[Variable, Any]:
    """The value of each parameter in high precision; exponentials follow from their exponents."""
    parameters = [v for v in channel.variables() if v not in channel.inputs]
    exponents = {e for v in parameters if v.exp_of is not None for e in v.exp_of.free_symbols}
    known = {v.name: v for v in [*parameters, *exponents] if isinstance(v, Variable)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"{channel.name!r} has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    with mpmath.workdps(DIGITS):
        given: dict[Variable, Any] = {known[name]: _number(name, value) for name, value in values.items()}
        for variable in parameters:
            if variable.exp_of is not None and variable.exp_of.free_symbols <= set(given):
                if variable in given:
                    raise ValueError(
                        f"give {variable.name} or {variable.exp_of}, not both, for {variable.name} = e**(...)"
                    )
                given[variable] = mpmath.exp(compiled(given, variable.exp_of)(*given.values()))
        missing = sorted(variable.name for variable in parameters if variable not in given)
        if missing:
            raise ValueError(f"{channel.name!r} needs a number for {', '.join(missing)}, got {dict(values)!r}")
        for variable, number in given.items():
            _require_inside(variable, number, given)
        _require_agreement(given)
    return {variable: given[variable] for variable in parameters}


def _number(name: str, value: Any) -> Any:
    """The value in high precision; ValueError, naming the parameter, for what is no number."""
    try:
        if not isinstance(value, bool | np.bool_ | str):
            return mpmath.mpf(value)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} must be a number, got {value!r}")


def _require_agreement(given: Mapping[Variable, Any]) -> None:
    """Raise ValueError for exponentials of one unknown, and logarithms, that contradict each other as floats do not."""
    linked = [(v, v.exp_of) for v in given if v.exp_of is not None]
    for (first, one), (second, other) in itertools.combinations(linked, 2):
        unknown = (one.free_symbols & other.free_symbols) - set(given)
        # Where the unknown has no number, both exponents are multiples of it.
        if unknown and not _same(given[first], given[second] ** float(cancel(one / other))):
            raise ValueError(
                f"{first} = e**({one}) and {second} = e**({other}) must agree, got {float(given[first])!r} and "
                f"{float(given[second])!r}; give {', '.join(sorted(map(str, unknown)))} instead"
            )
    for variable in given:
        inner = variable.log_of
        if inner is not None and inner.free_symbols <= set(given):
            wanted = compiled(given, inner)(*given.values())
            if not _same(mpmath.exp(given[variable]), wanted):
                raise ValueError(
                    f"{variable} must be log({inner}), got {float(given[variable])!r} and {float(wanted)!r}"
                )


def _same(one: Any, other: Any) -> bool:
    return bool(abs(one - other) <= mpmath.mpf(2) ** -44 * abs(one))


def _require_inside(variable: Variable, number: Any, given: Mapping[Variable, Any]) -> None:
    low, high = (compiled(given, end)(*given.values()) for end in (variable.lower, variable.upper))
    above = number > low if variable.lower_open else number >= low
    below = number < high if variable.upper_open else number <= high
    whole = not variable.integer_valued or number == mpmath.floor(number)
    if not (above and below and whole):
        kind = "a whole number" if variable.integer_valued else "a number"
        signs = "<" if variable.lower_open else "<=", "<" if variable.upper_open else "<="
        accepted = f"{variable.lower} {signs[0]} {variable.name} {signs[1]} {variable.upper}"
        raise ValueError(f"{variable.name} must be {kind} with {accepted}, got {float(number)!r}")


def compiled(variables: Iterable[Variable], expression: Expr) -> Callable[..., Any]:
    """The expression as a function of the variables, under any names."""
    places: dict[Any, Any] = {variable: Dummy() for variable in variables}
    return lambdify(list(places.values()), expression.xreplace(places), [{"Ind": lambda a, b: int(a == b)}, "mpmath"])
