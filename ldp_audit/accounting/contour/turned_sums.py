r"""Sums of e**(i y x) - 1 over many x, for many y: of evenly spaced y by far fewer exponentials than there are pairs.

For y = (m a + b) h with a, b < m and u = e**(i h m a x) - 1, v = e**(i h b x) - 1 the term is u v + u + v, so that the
sums are products of matrices; what is near 0 keeps its digits, since each term is made of such.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

TOGETHER = 32
"""So many terms are added one after the other: the sums' rounding is that of so many, and of as many such sums."""
_FEW = 64
_AT_ONCE = 2**19


def turned_sums(weights: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.complex128]:
    """The sum over x of weight (e**(i y x) - 1) for each y, right to some 10 eps (1 + |y x|) of each |e**(i y x) - 1|.

    weights, x: shape (n,).   y: 0, h, 2 h, ..., or any few numbers, shape (m,).
    """
    if y.size < _FEW or not np.array_equal(y, y[1] * np.arange(y.size, dtype=np.float64)):
        return _one_by_one(weights, x, y)
    side = math.isqrt(y.size - 1) + 1
    found = np.zeros((side, side), dtype=np.complex128)
    near, far = y[:side], y[1] * side * np.arange(side, dtype=np.float64)
    for first in range(0, x.size, TOGETHER):
        some, weight = x[first : first + TOGETHER], weights[first : first + TOGETHER, None]
        fine = _turned(np.multiply.outer(some, near))
        coarse = weight * _turned(np.multiply.outer(some, far))
        found += coarse.T @ fine + coarse.sum(axis=0)[:, None] + (weight * fine).sum(axis=0)
    return found.ravel()[: y.size]


def _one_by_one(weights: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.complex128]:
    found = np.empty(y.size, dtype=np.complex128)
    rows = max(1, _AT_ONCE // max(1, x.size))
    for first in range(0, y.size, rows):
        found[first : first + rows] = (weights * _turned(np.multiply.outer(y[first : first + rows], x))).sum(axis=1)
    return found


def _turned(angles: NDArray[np.float64]) -> NDArray[np.complex128]:
    """e**(i angle) - 1."""
    found = np.empty(angles.shape, dtype=np.complex128)
    half = np.sin(angles / 2)
    found.real = -2 * half * half
    found.imag = 2 * half * np.cos(angles / 2)
    return found
