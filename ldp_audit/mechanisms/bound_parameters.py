"""Numbers for the parameters of a symbolic channel, checked against their domains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import mpmath
from sympy import Dummy, Expr, lambdify

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import Variable

DIGITS = 600
"""The precision of everything that is computed from them."""
NOTHING = mpmath.mpf(10) ** -300
"""What is smaller is rounding: it stands for 0."""


def parameter_numbers(channel: SymbolicChannel, values: Mapping[str, float]) -> dict[Variable, Any]:
    """Each parameter's number, in many digits; those that are e**(...) follow from their exponent's."""
    parameters = [v for v in channel.variables() if v not in channel.inputs]
    exponents = {e for v in parameters if v.exp_of is not None for e in v.exp_of.free_symbols}
    known = {v.name: v for v in [*parameters, *exponents] if isinstance(v, Variable)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"{channel.name!r} has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    with mpmath.workdps(DIGITS):
        given: dict[Variable, Any] = {known[name]: mpmath.mpf(value) for name, value in values.items()}
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
    return {variable: given[variable] for variable in parameters}


def function_of(expression: Expr, inputs: Sequence[Variable], parameters: Mapping[Variable, Any]) -> Callable[..., Any]:
    """The expression as a function of the inputs, in as many digits as there are when it is called."""
    function = compiled([*inputs, *parameters], expression)

    def value(*x: Any) -> Any:
        try:
            found = mpmath.mpf(function(*x, *parameters.values()))
        except (ZeroDivisionError, TypeError) as error:
            raise ValueError(f"{expression} has no real value at {', '.join(map(str, map(float, x)))}") from error
        return mpmath.mpf(0) if abs(found) < NOTHING else found

    return value


def compiled(variables: Iterable[Variable], expression: Expr) -> Callable[..., Any]:
    """The expression as a function of the variables, whatever they are called."""
    places: dict[Any, Any] = {variable: Dummy() for variable in variables}
    return lambdify(list(places.values()), expression.xreplace(places), "mpmath")


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
