"""Reports of vectors by few coordinates: their indices and values."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import array_api_compat
from sympy import Expr, Integer

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.inputs import as_array, report_dtype
from ldp_audit.mechanisms.variable import substituted


class SparseReport(NamedTuple):
    """The reported indices (-1: none) and their values (0 without an index), of the same shape."""

    index: Any
    value: Any


def two_parts(name: str, report: Any) -> tuple[Any, Any]:
    """The report's index and value; ValueError, naming the argument, unless it is a pair."""
    if not isinstance(report, tuple | list) or len(report) != 2:
        raise ValueError(f"{name} must be a report, a pair of index and value, got {report!r}")
    return report[0], report[1]


def thinned(law: SymbolicChannel, name: str, share: Expr, scale: Expr) -> SymbolicChannel:
    """The distribution of one coordinate of a sparse report: `scale` times a report with probability `share`, else 0.

    A density's variable is the coordinate's value. Raises ValueError for variables of one name and two domains.
    """
    swap = {OUTPUT: OUTPUT / scale}
    atoms = [(Integer(0), 1 - share)] + [(scale * atom.output, share * atom.probability) for atom in law.atoms]
    pieces = [
        (scale * piece.lower, scale * piece.upper, share * substituted(piece.density, swap) / scale)
        for piece in law.pieces
    ]
    return SymbolicChannel(name, law.inputs, atoms, pieces, public=law.public)


def scattered(index: Any, value: Any, d: int, scale: float = 1.0) -> Any:
    """Dense vectors: `scale` times the values at their indices, and zeros elsewhere.

    index, value: shape (..., m), numpy or torch; the indices of a vector differ; -1 is skipped.
    returns: shape (..., d), floating dtype and device of `value`. Raises ValueError for an index outside -1 .. d-1.
    """
    index, value = as_array("index", index), as_array("value", value)
    xp = array_api_compat.array_namespace(value)
    if index.shape != value.shape:
        raise ValueError(f"index and value must have one shape, got {tuple(index.shape)} and {tuple(value.shape)}")
    if not xp.isdtype(index.dtype, "integral") or not bool(xp.all((index >= -1) & (index < d))):
        raise ValueError(f"index must be whole numbers in -1..{d - 1}, got {index!r}")
    rows, device = math.prod(index.shape[:-1]), array_api_compat.device(value)
    value = xp.astype(value, report_dtype(value, xp))
    dense = xp.zeros((rows * d,), dtype=value.dtype, device=device)
    starts = xp.reshape(xp.arange(rows, dtype=xp.int64, device=device) * d, (*index.shape[:-1], 1))
    kept = index >= 0
    dense[(starts + index)[kept]] = value[kept] * scale
    return xp.reshape(dense, (*index.shape[:-1], d))
