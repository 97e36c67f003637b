"""The inputs of frequency mechanisms: the values 0 .. k-1."""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy as numpy_namespace
import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sympy import oo

from ldp_audit.mechanisms.inputs import whole_numbers
from ldp_audit.mechanisms.mechanism import Mechanism, Parameter
from ldp_audit.mechanisms.variable import Variable

VALUES = Parameter("k", Variable("k", 2, oo, integer=True), typical=(2, 40))
"""The number of values."""


def values_of(x: Any, k: int, xp: Any = numpy_namespace) -> Any:
    """The array, every element a whole number in 0..k-1; ValueError otherwise."""
    return whole_numbers("x", x, 0, k - 1, xp)


def labels_of(x: Any, k: int) -> tuple[Any, tuple[int, ...]]:
    """The values of an array or a tensor as int64, and their shape; ValueError as `values_of`."""
    xp = array_namespace(x)
    return xp.astype(values_of(x, k, xp), xp.int64), tuple(x.shape)


class OfValues(Mechanism):
    """A mechanism on the values 0 .. k-1 that treats all alike."""

    k: int

    def inputs(self, count: int) -> NDArray[np.int64]:  # noqa: ARG002
        """See base: all of them."""
        return np.arange(self.k)

    def worst_pair(self) -> tuple[int, int]:
        """0 and 1; any two values attain the suprema."""
        return 0, 1
