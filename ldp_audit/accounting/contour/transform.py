r"""The moment-generating function of one loss on a vertical line: what a law must tell for `ContourLoss`.

M(s) = E[e**(s L)], for s = c + i y with c >= 0; where it is finite, |M(s)| <= M(c).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

EPS = 2.0**-52

VAGUE = 1.0
"""An error from which on a logarithm says nothing but how large the value is at most."""


class Values(NamedTuple):
    """ln M at some points, in any branch, and a bound on its errors; shape (m,) each.

    |M| is at most e**(Re log + error); where the error is below `VAGUE`, e**log is right up to a factor e**w, |w| at
    most the error.
    """

    log: NDArray[np.complex128]
    error: NDArray[np.float64]


class Transform(Protocol):
    """M of one loss."""

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """ln M(c + i y).   y: >= 0, ascending, shape (m,).   None where it takes too many numbers, or is too large."""
        ...

    def about(self, c: float) -> float:
        """About ln M(c), for choosing tilts: no bound's truth rests on it. Infinite where it cannot be told."""
        ...

    def log_beyond(self, c: float, y: float) -> float:
        """ln of an upper bound of |M(c + i x)| for all x >= y, for y >= 0; infinite where none is known."""
        ...

    def log_limit(self, c: float) -> float:
        """About ln of what |M(c + i y)| does not fall below for large y, for choosing lines; minus infinity for 0."""
        ...


def log_at_most(transform: Transform, c: float) -> float:
    """An upper bound of ln M(c); infinite where it cannot be told. Of M(0), 0 but for the rounding of the masses."""
    found = transform.at(c, np.zeros(1))
    value = math.inf if found is None else float(found.log[0].real) + float(found.error[0])
    return value if value == value else math.inf


def from_excess(excess: NDArray[np.complex128], error: NDArray[np.float64]) -> Values:
    """The values 1 + excess, each excess right to the error."""
    real, imaginary = excess.real, excess.imag
    size = np.hypot(1 + real, imaginary)
    known = error < 0.25 * size
    with np.errstate(divide="ignore"):
        near = 0.5 * np.log1p(np.maximum(real * (2 + real) + imaginary**2, -1.0))
        height = np.where(size > 0.5, near, np.log(size))
    turn = np.arctan2(imaginary, 1 + real)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = 1.5 * error / size + 4 * EPS * (np.abs(height) + np.abs(turn) + np.hypot(real, imaginary) / size)
        most = np.log(size + error)
    return Values(np.where(known, height + 1j * turn, most - VAGUE), np.where(known, wrong, VAGUE))


def from_scaled(sums: NDArray[np.complex128], error: NDArray[np.float64], top: float) -> Values:
    """The values e**top times these sums, each sum right to the error."""
    size = np.abs(sums)
    known = error < 0.25 * size
    with np.errstate(divide="ignore", invalid="ignore"):
        height = np.log(size)
        wrong = 1.5 * error / size + 4 * EPS * (np.abs(height) + abs(top) + 4)
        most = np.log(size + error)
    log = np.asarray(top + np.where(known, height + 1j * np.angle(sums), most - VAGUE), dtype=np.complex128)
    return Values(log, np.where(known, wrong, VAGUE))
