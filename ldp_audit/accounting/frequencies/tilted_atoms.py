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
from flint import arb, ctx
from numpy.typing import NDArray

from ldp_audit.accounting.grids.loss_sketch import sketch
from ldp_audit.accounting.grids.saddle import Saddle, saddle_of
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.rounded_atoms import rounding_of

_EPS = 2.0**-52
_RARE = -50.0
"""ln of the tilted mass of an atom, times the number of losses, below which it is left out."""
_SURE = 25.0
_PRECISION = 160


class TiltedAtoms(NamedTuple):
    """One law of a tilted sum.

    away: losses less the centre, nats, shape (m,).   masses: tilted, same shape; they may lack `missed` of 1.
    believed, rounding: bounds on the relative errors of the masses, in the mean: of those given, of those here.
    """

    away: NDArray[np.float64]
    masses: NDArray[np.float64]
    times: int
    missed: float
    believed: float
    rounding: float


class TiltedSum(NamedTuple):
    """A sum of losses under a tilt.

    log_sum: K of the sum, and centre: the sum of the centres, nats, both to some 40 digits.
    shift: by how many nats the losses may be rounded, in all.   deviation: of the tilted sum, nats.
    """

    theta: float
    parts: tuple[TiltedAtoms, ...]
    log_sum: arb
    centre: Fraction
    shift: float
    deviation: float


@dataclass(frozen=True, eq=False)
class AtomSum:
    """The sum of losses of finitely many values, never infinite, each so many times."""

    laws: tuple[tuple[LossAtoms, int], ...]

    def tilt_of_mean(self, level: float) -> float | None:
        """The tilt > 0 whose mean lies at this level, to some digits, or 0; None where there is none that is usual."""
        return self._saddle.tilt_of_mean(level)

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
        if not above <= mean - 7 * deviation:
            return -math.inf
        slope = (mean - above) / deviation**2
        log_tail = math.inf
        for _ in range(6):
            logs = (times * (_log_mean_power_of(law, -slope) + 1e-14) for law, times in self.laws)
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
        with ctx.workprec(_PRECISION):
            log_sum = arb(0)
            for law, times in self.laws:
                part, middle = _part(law, times, theta, _RARE - math.log(count))
                parts.append(part)
                centre += times * Fraction(middle)
                log_sum += times * _log_mean_power(law, theta)
        shift = math.fsum(
            times * (6 * _EPS * float(np.abs(law.losses).max()) + rounding_of(law)) for law, times in self.laws
        )
        return TiltedSum(theta, tuple(parts), log_sum, centre, shift, self.deviation(theta))

    @cached_property
    def _saddle(self) -> Saddle:
        return saddle_of([sketch(law) for law, _ in self.laws], [times for _, times in self.laws])


def _tilted(law: LossAtoms, theta: float) -> NDArray[np.float64]:
    raised = law.log_probabilities + theta * law.losses
    masses = np.exp(raised - raised.max())
    return masses / masses.sum()


def _log_mean_power_of(law: LossAtoms, theta: float) -> float:
    """The same in floats."""
    raised = law.log_probabilities + theta * law.losses
    return float(np.logaddexp.reduce(raised))


def _part(law: LossAtoms, times: int, theta: float, floor: float) -> tuple[TiltedAtoms, float]:
    """The law and its centre."""
    masses = _tilted(law, theta)
    kept = masses > math.exp(floor)
    middle = float(masses @ law.losses)
    believed = _EPS * (4 + 2 * np.abs(law.log_probabilities))
    rounding = _EPS * (16 + 2 * np.abs(law.log_probabilities) + 4 * theta * np.abs(law.losses))
    part = TiltedAtoms(
        law.losses[kept] - middle,
        masses[kept],
        times,
        float(masses[~kept].sum()),
        float(masses @ believed),
        float(masses @ rounding),
    )
    return part, middle


def _log_mean_power(law: LossAtoms, theta: float) -> arb:
    """ln of the mean of e**(theta loss), to many digits."""
    top = float((law.log_probabilities + theta * law.losses).max())
    total = arb(0)
    for loss, log in zip(law.losses.tolist(), law.log_probabilities.tolist(), strict=True):
        if log + theta * loss > top - 120:
            total += (arb(log) + arb(theta) * arb(loss) - top).exp()
    return total.log() + top
