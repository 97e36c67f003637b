"""A mechanism's parameter, declared once: its symbol and domain give the check, the message and the tests' values."""

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

    name: the argument's name, as the user types it.
    variable: the symbol that stands for it in the definition, with its domain (constant ends).
    typical: a range from which tests and examples draw.
    infinite: whether +inf is accepted (the limit is then part of the definition).
    """

    name: str
    variable: Variable
    typical: tuple[float, float]
    infinite: bool = False

    def check(self, value: Any) -> float:
        """The value as a float, or as an int if only whole numbers are meant.

        Raises ValueError naming argument, value and domain if it lies outside.
        """
        number = _as_float(value)
        if math.isnan(number) or not self._inside(number):
            raise ValueError(f"{self.name} must be {self.domain()}, got {_shown(value)}")
        if self.variable.lower_open and number - float(self.variable.lower) < sys.float_info.min:
            raise ValueError(f"{self.name} must be {self.domain()}, by {sys.float_info.min!r} at least, got {value!r}")
        if self.variable.integer_valued:
            if number != int(number):
                raise ValueError(f"{self.name} must be {self.domain()}, got {value!r}")
            return int(value)  # of the value itself: a float would round whole numbers from 2**53 on
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
    """The number as a float; NaN for what is no number, for truth values, and for what lies beyond all floats."""
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
"""The epsilon of a mechanism that needs a positive, finite one."""

LENGTH = Parameter("d", Variable("d", 1, oo, integer=True), typical=(1, 50))
"""The length of a vector."""


def check_parameters(mechanism: Any) -> None:
    """Check each parameter that a frozen mechanism declares, and store it as the number that it is."""
    for parameter in mechanism.parameters:
        object.__setattr__(mechanism, parameter.name, parameter.check(getattr(mechanism, parameter.name)))
