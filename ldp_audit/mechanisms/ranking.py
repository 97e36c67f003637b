"""Inputs and outputs of FedSel's selections: rankings, top-k sets, an index or None."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.parameter import Parameter
from ldp_audit.mechanisms.variable import Variable

DIMENSION = Parameter("d", Variable("d", 2, oo, integer=True), typical=(2, 100))
SET_SIZE = Parameter("k", Variable("k", 1, oo, integer=True), typical=(1, 10))

NONE = -1
"""How arrays of reports write "no index" (FedSel's PE may report none)."""


def top_set(magnitudes: ArrayLike, k: int) -> NDArray[np.bool_]:
    """The k largest of each row as a status vector; ties go to the larger index, so that there are exactly k.

    magnitudes: shape (..., d), finite.   returns: shape (..., d).
    Raises ValueError for values that are not finite, and for k outside 1..d.
    """
    ranks = ranking(magnitudes)
    d = ranks.shape[-1]
    if not 1 <= k <= d:
        raise ValueError(f"k must be a whole number from 1 to d = {d}, got {k!r}")
    return ranks > d - k


def ranking(magnitudes: ArrayLike) -> NDArray[np.int64]:
    """The ranks 1 .. d of each row, ascending; ties are ranked by index. Shape (..., d)."""
    values = np.asarray(magnitudes, dtype=np.float64)
    if values.ndim == 0 or not np.all(np.isfinite(values)):
        raise ValueError(f"magnitudes must be finite numbers of shape (..., d), got {magnitudes!r}")
    order = np.argsort(values, axis=-1, kind="stable")
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(1, values.shape[-1] + 1), values.shape), axis=-1)
    return ranks


def require_status(x: ArrayLike, d: int, k: int) -> NDArray[np.bool_]:
    """Status vectors of shape (..., d) with exactly k ones; ValueError for anything else."""
    status = np.asarray(x)
    if status.dtype != np.bool_ and not (status.dtype.kind in "iu" and np.all((status == 0) | (status == 1))):
        raise ValueError(f"x must be status vectors of zeros and ones, got dtype {status.dtype}")
    status = status.astype(np.bool_)
    if status.ndim == 0 or status.shape[-1] != d or np.any(status.sum(axis=-1) != k):
        raise ValueError(f"x must have shape (..., {d}) with exactly {k} ones in each vector, got shape {status.shape}")
    return status


def indices(y: ArrayLike, d: int) -> NDArray[np.int64]:
    """Reported indices; None and NONE both mean that there is none. ValueError outside 0..d-1."""
    given = np.asarray(y)
    found = np.vectorize(lambda one: NONE if one is None else one, otypes=[np.int64])(given) if given.size else given
    if np.any((found < NONE) | (found >= d)):
        raise ValueError(f"y must be an index in 0..{d - 1}, or None, got {y!r}")
    return np.asarray(found, dtype=np.int64)


def is_member(chosen: NDArray[np.int64], status: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each index, shape (...), is in its set, shape (..., d); broadcasts. False where there is no index."""
    shape = np.broadcast_shapes(chosen.shape, status.shape[:-1])
    chosen, status = np.broadcast_to(chosen, shape), np.broadcast_to(status, (*shape, status.shape[-1]))
    found = np.take_along_axis(status, np.maximum(chosen, 0)[..., None], axis=-1)[..., 0]
    return found & (chosen >= 0)


def draw_members(status: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """A uniform member of each row's set; every row has equally many, at least one. Shape (...)."""
    rows = status.reshape(-1, status.shape[-1])
    size = int(rows[0].sum()) if len(rows) else 0
    members = np.nonzero(rows)[1].reshape(len(rows), size)
    chosen = rng.integers(0, max(size, 1), size=len(rows))
    return members[np.arange(len(rows)), chosen].reshape(status.shape[:-1])


def require_proper_subset(d: int, k: int) -> None:
    """ValueError unless 1 <= k <= d - 1: with k = d there is only one input."""
    if k >= d:
        raise ValueError(f"k must be a whole number from 1 to d - 1 = {d - 1}, got {k!r}")


def furthest_sets(d: int, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The first k indices against the last k."""
    first = np.arange(d) < k
    return first, first[::-1].copy()
