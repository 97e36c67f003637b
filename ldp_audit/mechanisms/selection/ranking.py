"""Inputs and outputs of FedSel's selections: rankings, top-k sets, an index or None.

Inputs may be numpy arrays, lists, or tensors; results belong to the same library and device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import array_api_compat.numpy as numpy_namespace
import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.mechanisms.mechanism import BUDGET, Parameter
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.staircase import Logs, Staircase
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.numerics import as_float

DIMENSION = Parameter("d", Variable("d", 2, oo, integer=True), typical=(2, 100))
SET_SIZE = Parameter("k", Variable("k", 1, oo, integer=True), typical=(1, 10))

TOP = Variable("k", 1, DIMENSION.variable - 1, integer=True)
"""The size of the top set; with k = d there would be only one input."""

NONE = -1
"""The report None (of FedSel's PE) in arrays."""


def top_set(magnitudes: Any, k: int) -> Any:
    """The k largest of each row as a status vector; ties go to the larger index.

    magnitudes: shape (..., d), finite.   returns: booleans, shape (..., d).
    Raises ValueError for values that are not finite, and for k outside 1..d.
    """
    xp, values = _finite_rows(magnitudes)
    d = values.shape[-1]
    if not (as_float(k).is_integer() and 1 <= k <= d):
        raise ValueError(f"k must be a whole number from 1 to d = {d}, got {k!r}")
    k = int(k)
    least = xp.sort(values, axis=-1)[..., d - k : d - k + 1]
    above, tied = values > least, values == least
    room = k - xp.sum(above, axis=-1, keepdims=True, dtype=xp.int64)  # places for the last of the tied
    from_left = xp.cumulative_sum(tied, axis=-1, dtype=xp.int64)
    return above | (tied & (from_left > from_left[..., -1:] - room))


def ranking(magnitudes: Any) -> Any:
    """The ranks 1 .. d of each row of finite magnitudes, ties by index; int64, shape (..., d). ValueError else."""
    xp, values = _finite_rows(magnitudes)
    d = values.shape[-1]
    order = xp.reshape(xp.argsort(values, axis=-1, stable=True), (-1, d))
    rows = xp.arange(order.shape[0], dtype=order.dtype, device=device(order))[:, None]
    ranks = xp.empty(order.shape, dtype=xp.int64, device=device(order))
    ranks[rows, order] = xp.broadcast_to(xp.arange(1, d + 1, dtype=xp.int64, device=device(order)), order.shape)
    return xp.reshape(ranks, values.shape)


def _finite_rows(magnitudes: Any) -> tuple[Any, Any]:
    """Their namespace, and the magnitudes as an array of rows; ValueError unless they are finite numbers."""
    xp, values = _with_namespace(magnitudes)
    if values.ndim == 0 or not xp.isdtype(values.dtype, ("real floating", "integral")):
        raise ValueError(f"magnitudes must be finite numbers of shape (..., d), got {magnitudes!r}")
    good = xp.isfinite(values)
    if not bool(xp.all(good)):
        raise ValueError(f"magnitudes must be finite numbers of shape (..., d), got {values[~good][0].item()!r}")
    return xp, values


def require_ranking(x: Any, d: int) -> Any:
    """Rankings, permutations of 1 .. d, shape (..., d), as int64; ValueError for anything else. Takes linear time."""
    xp, given = _with_namespace(x)
    if not xp.isdtype(given.dtype, "integral") or given.ndim == 0 or given.shape[-1] != d:
        raise ValueError(
            f"x must be whole numbers of shape (..., {d}), got {given.dtype} of shape {tuple(given.shape)}"
        )
    ranks = xp.astype(given, xp.int64)
    inside = (ranks >= 1) & (ranks <= d)
    if not bool(xp.all(inside)):
        raise ValueError(f"x must be rankings, permutations of 1..{d}, got {given[~inside][0].item()!r} in one")
    rows = xp.reshape(ranks, (-1, d)) - 1
    first = xp.arange(rows.shape[0], dtype=xp.int64, device=device(rows)) * d
    seen = xp.zeros_like(xp.reshape(rows, (-1,)), dtype=xp.bool)
    seen[first[:, None] + rows] = True
    if not bool(xp.all(seen)):
        missing = int(xp.argmin(xp.astype(seen, xp.uint8))) % d + 1
        raise ValueError(f"x must be rankings, permutations of 1..{d}, got one without {missing}")
    return ranks


def require_status(x: Any, d: int, k: int) -> Any:
    """Status vectors of shape (..., d) with exactly k ones, as booleans; ValueError for anything else."""
    xp, given = _with_namespace(x)
    if not xp.isdtype(given.dtype, ("bool", "integral")):
        raise ValueError(f"x must be status vectors of zeros and ones, got dtype {given.dtype}")
    status = xp.astype(given, xp.bool)
    if not xp.isdtype(given.dtype, "bool") and not bool(xp.all(good := given == xp.astype(status, given.dtype))):
        raise ValueError(f"x must be status vectors of zeros and ones, got {given[~good][0].item()!r} in one")
    accepted = f"x must have shape (..., {d}) with exactly {k} ones in each vector"
    if status.ndim == 0 or status.shape[-1] != d:
        raise ValueError(f"{accepted}, got shape {tuple(status.shape)}")
    ones = xp.sum(status, axis=-1, dtype=xp.int64)
    if bool(xp.any(ones != k)):
        raise ValueError(f"{accepted}, got one with {ones[ones != k][0].item()}")
    return status


class SetSelection(Staircase):
    """A selection of an index from a set of k among d, or from outside it, or (for some) of None.

    Inputs are status vectors of length d with exactly k ones, booleans or whole numbers, shape (..., d); a sample is
    int64 of shape (...), -1 for None.
    """

    d: int
    k: int

    parameters = (BUDGET, DIMENSION, SET_SIZE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k >= self.d:  # k = d would leave a single input
            raise ValueError(f"k must be a whole number from 1 to d - 1 = {self.d - 1}, got {self.k!r}")

    def sides(self) -> tuple[int, int]:
        """k and d - k."""
        return self.k, self.d - self.k

    def worst_pair(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Two sets with the smallest intersection: the first k indices and the last k."""
        first = np.arange(self.d) < self.k
        return first, first[::-1].copy()

    def only_first(self) -> int:
        """min(k, d - k)."""
        return min(self.sides())

    def reports(self) -> Sequence[int | None]:
        """The indices, and None where it may be reported."""
        return [*range(self.d), *([None] if self.none_log_prob() > -math.inf else [])]

    def log_prob_by_side(self, y: Any, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y (or None), shape (...), at the set x, shape (..., d); broadcasts."""
        chosen, status = indices(y, self.d), require_status(array_of("x", x), self.d, self.k)
        inside, outside, none = logs
        return np.where(chosen < 0, none, np.where(at_index(chosen, status), inside, outside))[()]

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The sets as booleans, and their number as a shape."""
        status = require_status(x, self.d, self.k)
        return status, tuple(status.shape[:-1])

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """An index of the set where `favoured` holds, else one outside it. Takes 4 bytes of memory for each entry."""
        if favoured is None:
            return source.below(self.d, x.shape[:-1])
        xp, counts = source.xp, source.xp.int32 if self.d < 2**31 else source.xp.int64
        shape = favoured.shape
        place = xp.where(favoured, source.below(self.k, shape), source.below(self.d - self.k, shape))
        passed = xp.cumulative_sum(x == favoured[..., None], axis=-1, dtype=counts)
        return xp.sum(passed <= xp.astype(place, counts)[..., None], axis=-1, dtype=xp.int64)


def indices(y: Any, d: int) -> NDArray[np.int64]:
    """Reported indices, None as -1; ValueError for anything but these and 0 .. d-1."""
    given = array_of("y", y)
    if given.dtype == object:
        given = np.array([NONE if one is None else one for one in given.flat]).reshape(given.shape)
    whole = given.dtype.kind in "iu" or (given.dtype.kind == "f" and np.all(given == np.floor(given)))
    if not whole or np.any((given < NONE) | (given >= d)):
        raise ValueError(f"y must be an index in 0..{d - 1}, or None, got {y!r}")
    return given.astype(np.int64)


def log_prob_by_rank(y: Any, x: ArrayLike, logs: NDArray[np.float64]) -> NDArray[np.float64] | np.float64:
    """Log probability of y at x, given `logs` of the coordinates of rank 1 .. d; broadcasts; -inf for None."""
    chosen, ranks = indices(y, len(logs)), require_ranking(array_of("x", x), len(logs))
    return np.where(chosen < 0, -np.inf, logs[at_index(chosen, ranks) - 1])[()]


def at_index(chosen: NDArray[np.int64], vectors: NDArray) -> NDArray:
    """The entry of each vector, shape (..., d), at its index, shape (...); broadcasts. The first one for -1."""
    shape = np.broadcast_shapes(chosen.shape, vectors.shape[:-1])
    wide = np.broadcast_to(vectors, (*shape, vectors.shape[-1]))
    return np.take_along_axis(wide, np.broadcast_to(np.maximum(chosen, 0), shape)[..., None], axis=-1)[..., 0]


def _with_namespace(x: Any) -> tuple[Any, Any]:
    """The array API namespace of x, and x as an array; numpy's for lists and numbers."""
    return (array_namespace(x), x) if is_array_api_obj(x) else (numpy_namespace, array_of("x", x))
