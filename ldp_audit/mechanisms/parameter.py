"""Declaration of a mechanism's parameter: symbol and domain, from which its check, message and test values follow."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
from sympy import oo

from ldp_audit.mechanisms.variable import EPSILON, Variable


@dataclass(frozen=True)
class Parameter:
    """A named real parameter with a constant domain.

    name: of the argument.   variable: its symbol in the definition, with constant bounds.
    typical: a range from which tests and examples draw.   infinite: whether +inf is accepted, as a limit.
    """

    name: str
    variable: Variable
    typical: tuple[float, float]
    infinite: bool = False

    def check(self, value: Any) -> float:
        """The value as a float, or an int for whole numbers; ValueError, naming argument, value and domain, else."""
        number = _as_float(value)
        if math.isnan(number) or not self._inside(number):
            raise ValueError(f"{self.name} must be {self.domain()}, got {_shown(value)}")
        if self.variable.lower_open and number - float(self.variable.lower) < sys.float_info.min:
            raise ValueError(f"{self.name} must be {self.domain()}, by {sys.float_info.min!r} at least, got {value!r}")
        if self.variable.integer_valued:
            if number != int(number):
                raise ValueError(f"{self.name} must be {self.domain()}, got {value!r}")
            return int(value)  # not of the float, which is rounded from 2**53 on
        return number

    def domain(self) -> str:
        """The domain in words, for messages."""
        bounds = []
        if self.variable.lower.is_finite:
            bounds.append(f"{'>' if self.variable.lower_open else '>='} {self.variable.lower}")
        if self.variable.upper.is_finite:
            bounds.append(f"{'<' if self.variable.upper_open else '<='} {self.variable.upper}")
        kind = "a number" if self.infinite else "a finite number"
        kind = "a whole number" if self.variable.integer_valued else kind
        return " ".join([kind, " and ".join(bounds)]).strip()

    def _inside(self, number: float) -> bool:
        if math.isinf(number):
            return self.infinite and number > 0
        lower, upper = float(self.variable.lower), float(self.variable.upper)
        above = number > lower if self.variable.lower_open else number >= lower
        below = number < upper if self.variable.upper_open else number <= upper
        return above and below


def _as_float(value: Any) -> float:
    """The number as a float; NaN for what is no number, for bool, and beyond the range of floats."""
    if isinstance(value, bool | np.bool_ | str | bytes) or not isinstance(value, SupportsFloat):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _shown(value: Any) -> str:
    huge = isinstance(value, int) and value.bit_length() > 1024
    return "a whole number beyond the range of floats" if huge else repr(value)


BUDGET = Parameter("epsilon", EPSILON, typical=(0.1, 10.0))
"""A positive, finite epsilon."""

LENGTH = Parameter("d", Variable("d", 1, oo, integer=True), typical=(1, 50))
"""The length of a vector."""


def check_parameters(mechanism: Any) -> None:
    """Check each declared parameter, and store its value as a float or int."""
    for parameter in mechanism.parameters:
        object.__setattr__(mechanism, parameter.name, parameter.check(getattr(mechanism, parameter.name)))
