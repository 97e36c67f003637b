r"""The characteristic function of one of very many losses near one frequency, by few numbers.

Near the frequency c, with the bins B of the losses x and their centres b,

    sum of m e**(i (c + z) x) = sum over B of e**(i z b) times the sum over k < K of (i z)**k M(B, k),
    M(B, k) = sum over x in B of m e**(i c x) (x - b)**k / k!,

up to the sum of m |z (x - b)|**K / K!, at most 2e-16 where |z| is no more than 2 over a bin's width. So a frequency
costs some numbers for each bin, however many losses lie in it. The bins' sums serve a fast transform too (`windows`).

Around 0 the function is kept less 1: its errors are then those of a small number, and a billion losses need that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.frequencies.tilted_atoms import Numbers, TiltedAtoms

EPS = 2.0**-52
TERMS = 18
"""K."""
_FEW = 64
"""So many losses are their own bins."""
_BLOCK = 2**20
"""Frequencies times bins at once."""
_LEAST = 1e-300

Complex = NDArray[np.complex128]


class Moments(NamedTuple):
    """The sums M(B, k), shape (b, K).   places: the bins' centres in units of their width, shape (b,).

    left_out: a bound on what the sums miss, over |z|**K.
    """

    places: NDArray[np.int64]
    sums: NDArray[Any]
    left_out: float


class Expansion(NamedTuple):
    """The characteristic function of one law around the frequency `middle`; less 1 where that is 0.

    centres: nats, shape (b,).   unit: nats, in which the sums and what they miss have their losses, as powers of tiny
    ones are no floats.   sums: shape (b, K), or (b, 1) for bins of one loss.   left_out: see `Moments`.
    operations: how many roundings a value may have.   part: the law.
    """

    middle: float
    centres: Numbers
    unit: float
    sums: Complex
    left_out: float
    operations: float
    part: TiltedAtoms

    def sizes(self, frequencies: Numbers) -> Numbers:
        """Upper ends of the function's sizes; shape of `frequencies`, (n,)."""
        values, errors = self._values(frequencies)
        return np.abs(values + (self.middle == 0)) + errors

    def logs(self, frequencies: Numbers) -> tuple[Complex, Numbers]:
        """The function's logarithms, and bounds on their errors."""
        values, errors = self._values(frequencies)
        if self.middle == 0:
            sizes = np.maximum(np.abs(1 + values), _LEAST)
            more = 2 * values.real + values.real**2 + values.imag**2
            logs = np.log1p(np.maximum(more, math.nextafter(-1, 0))) / 2 + 1j * np.arctan2(values.imag, 1 + values.real)
        else:
            sizes = np.maximum(np.abs(values), _LEAST)
            logs = np.log(np.where(sizes > _LEAST, values, _LEAST))
        return logs, errors / sizes + 4 * EPS * np.abs(logs)

    def _values(self, frequencies: Numbers) -> tuple[Complex, Numbers]:
        """The values, and bounds on their errors."""
        size = max(1, _BLOCK // self.centres.size)
        away = frequencies - self.middle
        found = [self._sums(away[start : start + size]) for start in range(0, away.size, size)]
        errors = self.left_out * (self.unit * np.abs(away)) ** TERMS + self._rounding(self.middle + np.abs(away))
        return np.concatenate(found), errors

    def _rounding(self, frequencies: Numbers) -> Numbers:
        angles = self.part.turning * frequencies
        if self.middle:
            return EPS * (self.operations + 12 * angles) + 3 * self.part.rounding
        # 1 was taken off for masses that add up to 1
        wrong = np.minimum(2 * self.part.rounding, self.part.turned * frequencies)
        return 3 * (EPS * (3 * self.operations + 4) * np.minimum(1.0, angles) + wrong) + self.part.missed

    def _sums(self, away: Numbers) -> Complex:
        angles = np.multiply.outer(away, self.centres)
        turns = np.exp(1j * angles)
        first = 2j * np.sin(angles / 2) * np.exp(0.5j * angles) if self.middle == 0 else turns
        found = (first * self.sums[:, 0]).sum(axis=1)
        if self.sums.shape[1] > 1:
            powers = np.power.outer(1j * self.unit * away, np.arange(1, TERMS))
            found += ((turns @ self.sums[:, 1:]) * powers).sum(axis=1)
        return found


def moments(away: Numbers, weights: NDArray[Any], width: float) -> Moments:
    """Of losses in ascending order, in bins of this width around its multiples; weights are real or complex."""
    places = np.round(away / width).astype(np.int64)
    starts = np.flatnonzero(np.diff(places, prepend=places[0] - 1))
    offsets = away - width * places
    sums = np.empty((starts.size, TERMS), dtype=weights.dtype)
    power = weights.copy()
    for k in range(TERMS):
        sums[:, k] = np.add.reduceat(power, starts)
        power *= offsets / (k + 1)
    return Moments(places[starts], sums, float(np.abs(power).sum()))


def expansion(part: TiltedAtoms, middle: float, reach: float) -> Expansion:
    """Of one law, for frequencies at most `reach` from the middle."""
    weights = np.asarray(part.masses * np.exp(1j * middle * part.away), dtype=np.complex128)
    operations = 16 + 4 * math.log2(part.masses.size + 1)
    if part.away.size <= _FEW:
        return Expansion(middle, part.away, 0.0, weights[:, None], 0.0, operations, part)
    width = 2 / reach
    found = moments(part.away / width, weights, 1.0)
    # the terms of all k add up to at most e of the mass, and to as much of 2 |w x| where 1 is taken off
    operations = 3 * (operations + found.places.size + TERMS)
    centres: Numbers = width * found.places.astype(np.float64)
    return Expansion(middle, centres, width, found.sums, found.left_out, operations, part)
