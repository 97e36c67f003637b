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
_OWN = 2
"""And so many times as many as there would be bins."""
_BLOCK = 2**18
"""Frequencies times bins at once."""
_LITTLE, _LONGEST_RUN = 2**14, 64
"""Of fewer frequencies times bins each turn is found by itself; else so many neighbours, at most, share all but a step.
"""
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
        """Upper ends of the function's sizes; shape of `frequencies`, (n,), or (n, r) for rows of the same steps."""
        values, errors = self._values(frequencies)
        return np.abs(values + (self.middle == 0)) + (errors + 2 * EPS)

    def logs(self, frequencies: Numbers, step: float | None = None) -> tuple[Complex, Numbers]:
        """The function's logarithms, and bounds on their errors.

        step: if given, all frequencies are (j + 1/2) step.
        """
        values, errors = self._values(frequencies, step)
        if self.middle == 0:
            sizes = np.maximum(np.abs(1 + values), _LEAST)
            more = 2 * values.real + values.real**2 + values.imag**2
            logs = np.log1p(np.maximum(more, math.nextafter(-1, 0))) / 2 + 1j * np.arctan2(values.imag, 1 + values.real)
        else:
            sizes = np.maximum(np.abs(values), _LEAST)
            logs = np.log(np.where(sizes > _LEAST, values, _LEAST))
        return logs, errors / sizes + 4 * EPS * np.abs(logs)

    def _values(self, frequencies: Numbers, step: float | None = None) -> tuple[Complex, Numbers]:
        """The values, and bounds on their errors."""
        away = frequencies - self.middle
        if away.size * self.centres.size < _LITTLE or (step is None and away.ndim == 1):
            values = self._sums(away.ravel(), np.zeros(1)).reshape(away.shape)
        elif step is None:
            values = self._sums(away[:, 0], away[0] - away[0, 0])
        else:
            places = np.round(frequencies / step - 0.5).astype(np.int64)
            run = min(_LONGEST_RUN, math.isqrt(places.size))
            runs, rows = np.unique(places // run, return_inverse=True)
            firsts = np.asarray((run * runs + 0.5) * step - self.middle, dtype=np.float64)
            values = self._sums(firsts, step * np.arange(run, dtype=np.float64))[rows, places % run]
        errors = self.left_out * (self.unit * np.abs(away)) ** TERMS + self._rounding(self.middle + np.abs(away))
        return values, errors

    def _rounding(self, frequencies: Numbers) -> Numbers:
        angles = self.part.turning * frequencies
        if self.middle:
            return EPS * (self.operations + 12 * angles) + 3 * self.part.rounding
        # 1 was taken off for masses that add up to 1
        wrong = np.minimum(2 * self.part.rounding, self.part.turned * frequencies)
        return 3 * (EPS * (3 * self.operations + 4) * np.minimum(1.0, angles) + wrong) + self.part.missed

    def _sums(self, firsts: Numbers, steps: Numbers) -> Complex:
        """At all sums of a first and a step, away from the middle, of one sign where that is 0; shape (n, r).

        Turns of sums are products of turns, and those of all bins at once are products of matrices.
        """
        size = max(1, _BLOCK // self.centres.size)
        later = np.multiply.outer(steps, self.centres)
        blocks = [self._block(firsts[start : start + size], steps, later) for start in range(0, firsts.size, size)]
        return np.concatenate(blocks)

    def _block(self, firsts: Numbers, steps: Numbers, later: Numbers) -> Complex:
        """The same, of not too many. later: the steps' angles, shape (r, b)."""
        angles = np.multiply.outer(firsts, self.centres)
        turns = _less_one(angles) if self.middle == 0 else np.exp(1j * angles)
        of_steps = np.exp(1j * later)
        found = turns @ (of_steps * self.sums[:, 0]).T
        if self.middle == 0:  # uv - 1 = (u - 1) v + (v - 1)
            found += _less_one(later) @ self.sums[:, 0]
            turns += 1
        if self.sums.shape[1] > 1:
            for column, (step, turn) in enumerate(zip(steps.tolist(), of_steps, strict=True)):
                powers = np.power.outer(1j * self.unit * (firsts + step), np.arange(1, TERMS))
                found[:, column] += ((turns @ (turn[:, None] * self.sums[:, 1:])) * powers).sum(axis=1)
        return found


def _less_one(angles: Numbers) -> Complex:
    """e**(i angle) - 1, to all digits."""
    return 2j * np.sin(angles / 2) * np.exp(0.5j * angles)


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
        return Expansion(middle, part.away, 0.0, weights[:, None], 0.0, operations + _FEW, part)
    width = 2 / reach
    bins = np.count_nonzero(np.diff(np.round(part.away / width))) + 1
    if part.away.size <= _OWN * bins:
        return Expansion(middle, part.away, 0.0, weights[:, None], 0.0, 3 * (operations + part.away.size), part)
    found = moments(part.away / width, weights, 1.0)
    # the terms of all k add up to at most e of the mass, and to as much of 2 |w x| where 1 is taken off
    operations = 3 * (operations + found.places.size + TERMS)
    centres: Numbers = width * found.places.astype(np.float64)
    return Expansion(middle, centres, width, found.sums, found.left_out, operations, part)
