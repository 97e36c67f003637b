"""The inputs of frequency mechanisms: the values 0 .. k-1."""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy as numpy_namespace
from sympy import oo

from ldp_audit.mechanisms.inputs import whole_numbers
from ldp_audit.mechanisms.mechanism import Parameter
from ldp_audit.mechanisms.variable import Variable

VALUES = Parameter("k", Variable("k", 2, oo, integer=True), typical=(2, 40))
"""The number of values."""


def values_of(x: Any, k: int, xp: Any = numpy_namespace) -> Any:
    """The array, every element a whole number in 0..k-1; ValueError otherwise."""
    return whole_numbers("x", x, 0, k - 1, xp)
