"""Sums of losses of finitely many values under an exponential tilt: means, deviations, tails.

Under the tilt theta an atom of the loss l and the mass p has the mass p e**(theta l - K), where K is the ln of their
sum. Atoms that have next to none of it are left out and counted; the others are centred.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.frequencies.condensed_atoms import condensed
from ldp_audit.accounting.grids.saddle import Saddle
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.rounded_atoms import rounding_of

_EPS = 2.0**-52
_RARE = -50.0
"""ln of the tilted mass of an atom, times the number of losses, below which it is left out."""
_SURE = 25.0
_FIRST, _GENTLE, _APART, _OCTAVE = 2.0, 4.0, 0.7, 8
"""The first tilt is this over the sum's deviation, one for levels below the mean a part of it. Others move the mean by
so many deviations at most from one to the next, and lie so close that there are so many below each."""
_STEEPEST = 1e18
_USUAL = 3.0
"""What is expected so often is usual."""
_ROUNDED_UP = 1 + 1e-9

Numbers = NDArray[np.float64]


class TiltedAtoms(NamedTuple):
    """One law of a tilted sum.

    away: losses less the centre, nats, ascending, shape (m,).   masses: tilted, same shape; they lack `missed` of 1.
    log_sum: ln of the mean of e**(theta (loss - centre)), not tilted.
    variance, turning: upper ends of the tilted means of away**2 and of |away|.
    believed, rounding: bounds on the relative errors of the masses, in the mean: of those given, of those here.
    turned: one on the mean of |away| times the latter, nats.
    """

    away: Numbers
    masses: Numbers
    times: int
    missed: float
    log_sum: float
    variance: float
    turning: float
    believed: float
    rounding: float
    turned: float


class TiltedSum(NamedTuple):
    """A sum of losses under a tilt.

    centre: the sum of the centres, nats.   log_sum: ln of the untilted mean of e**(theta (L - centre)) for the sum L.
    shift: by how many nats the losses may be rounded, in all.   deviation: about that of the tilted sum, nats.
    usual: the deviation of what is no rare event.
    """

    theta: float
    parts: tuple[TiltedAtoms, ...]
    centre: Fraction
    log_sum: float
    shift: float
    deviation: float
    usual: float


@dataclass(frozen=True, eq=False)
class AtomSum:
    """The sum of losses of finitely many values, never infinite, each so many times."""

    laws: tuple[tuple[LossAtoms, int], ...]

    def tilt_for(self, level: float) -> float | None:
        """A tilt > 0, one of not too many, whose mean lies at this level or near; None where none is usual.

        Below the mean and next to it that is one of two small ones.
        """
        theta = self._saddle.tilt_of_mean(level)
        if theta is None:
            return None
        if theta <= self._first:
            return self._first if theta else self._first / _GENTLE
        apart = min(_APART / max(self.deviation(theta), 1 / _STEEPEST), theta / _OCTAVE)
        apart = 2.0 ** math.floor(math.log2(apart))
        return apart * round(theta / apart)

    @cached_property
    def _first(self) -> float:
        """A tilt that moves the mean by some deviations at most."""
        deviation, mean = self._spread
        theta = _FIRST / max(deviation, 1 / _STEEPEST)
        while self.mean(theta) - mean > 2 * _FIRST * deviation:
            theta /= 2
        return theta

    def level_near(self, log_delta: float) -> float | None:
        """About the level with this ln delta, nats; None where there is none below the largest losses."""
        theta = self._saddle.tilt_of_log_delta(log_delta)
        return None if theta is None else self._saddle.at(theta).mean

    def log_delta_near(self, level: float) -> float:
        """About ln delta at a level, by the saddle-point approximation; minus infinity at the largest losses."""
        theta = self._saddle.tilt_of_mean(level)
        return -math.inf if theta is None else self._saddle.log_delta(theta)

    def deviation(self, theta: float) -> float:
        """Of the tilted sum, nats."""
        return math.sqrt(self._saddle.at(theta).variance)

    def mean(self, theta: float) -> float:
        """Of the tilted sum, nats."""
        return self._saddle.at(theta).mean

    def log_least(self, level: float) -> float:
        """A lower end of ln delta at a level far below the mean; minus infinity at others.

        delta(e) >= (1 - e**-x) P(L >= e + x), and what is missing of that is a tail (Chernoff).
        """
        deviation, mean = self._spread
        above = level + _SURE
        if not (deviation > 0 and above <= mean - 7 * deviation):
            return -math.inf
        slope = (mean - above) / deviation**2
        log_tail = math.inf
        for _ in range(6):
            logs = (times * (_log_mean_power(law, -slope) + 1e-14) for law, times in self.laws)
            log_tail, slope = min(log_tail, math.fsum(logs) + slope * above), slope / 2
        return 2 * math.log1p(-math.exp(max(log_tail, -_SURE))) if log_tail < -1 else -math.inf

    @cached_property
    def _spread(self) -> tuple[float, float]:
        """The deviation and the mean of the sum, nats."""
        return self.deviation(0.0), self.mean(0.0)

    def tilted(self, theta: float) -> TiltedSum:
        """The sum under a tilt."""
        count = sum(times for _, times in self.laws)
        parts, centre = [], Fraction(0)
        for law, times in self.laws:
            part, middle = _part(law, times, theta, _RARE - math.log(count))
            parts.append(part)
            centre += times * Fraction(middle)
        shift = math.fsum(
            times * (6 * _EPS * float(np.abs(law.losses).max()) + rounding_of(law)) for law, times in self.laws
        )
        log_sum = math.fsum(part.times * part.log_sum for part in parts)
        deviation = self.deviation(theta)
        usual = math.sqrt(math.fsum(part.times * _usual_variance(part) for part in parts)) or deviation
        return TiltedSum(theta, tuple(parts), centre, log_sum, shift, deviation, min(usual, deviation))

    @cached_property
    def _saddle(self) -> Saddle:
        rows = [condensed(law) for law, _ in self.laws]
        shape = len(rows), max(losses.size for losses, _ in rows)
        losses, logs = np.zeros(shape), np.full(shape, -math.inf)
        for place, (some, masses) in enumerate(rows):
            losses[place, : some.size], logs[place, : some.size] = some, masses
        return Saddle(losses, logs, np.array([times for _, times in self.laws], dtype=np.float64))


def _log_mean_power(law: LossAtoms, theta: float) -> float:
    """ln of the mean of e**(theta loss), in floats."""
    raised = law.log_probabilities + theta * law.losses
    top = float(raised.max())
    return top + math.log(float(np.exp(raised - top).sum()))


def _part(law: LossAtoms, times: int, theta: float, floor: float) -> tuple[TiltedAtoms, float]:
    """The law and its centre."""
    raised = law.log_probabilities + theta * law.losses
    masses = np.exp(raised - raised.max())
    middle = float((masses * law.losses).sum() / masses.sum())
    away = law.losses - middle  # with which the masses' exponents are no longer large
    raised = law.log_probabilities + theta * away
    top = float(raised.max())
    masses = np.exp(raised - top)
    total = float(masses.sum())
    masses /= total
    kept = masses > math.exp(floor)
    size = np.abs(away)
    wrong = _EPS * (4 + 2 * np.abs(law.log_probabilities))
    own = wrong + _EPS * (20 + math.log2(masses.size + 1) + abs(top) + 4 * theta * size)
    part = TiltedAtoms(
        away=away[kept],
        masses=masses[kept],
        times=times,
        missed=_ROUNDED_UP * float(masses[~kept].sum()),
        log_sum=top + math.log(total),
        variance=_ROUNDED_UP * float((masses * away**2).sum()),
        turning=_ROUNDED_UP * float((masses * size).sum()),
        believed=_ROUNDED_UP * float((masses * wrong).sum()),
        rounding=_ROUNDED_UP * float((masses * own).sum()),
        turned=_ROUNDED_UP * float((masses * own * size).sum()),
    )
    return part, middle


def _usual_variance(part: TiltedAtoms) -> float:
    """The tilted variance of one loss, as far as it comes from values that are expected several times."""
    usual = part.masses * part.times >= _USUAL
    masses, away = part.masses[usual], part.away[usual]
    if masses.size < 2:
        return 0.0
    mean = float((masses * away).sum() / masses.sum())
    return float((masses * (away - mean) ** 2).sum())
