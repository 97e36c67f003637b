r"""delta of a sum of losses by the trapezoid rule along one line, with every error bounded.

With s = c + i y, c > 0, the function f(epsilon) = e**(c epsilon) delta(epsilon) has the Fourier transform
F(y) = M(s)/(s (s + 1)). By Poisson's summation formula, for any step h and with P = 2 pi/h,

    e**(-c epsilon) (h/(2 pi)) sum over all whole j of F(j h) e**(-i j h epsilon)
        = delta(epsilon) + sum over k != 0 of e**(c k P) delta(epsilon + k P).

* What comes with delta is never negative. As delta(e) <= M(t) e**(-t e) t**t/(1 + t)**(1 + t) for every t >= 0, it is
  at most that at epsilon times r/(1 - r), r = e**(-|c - t| P), for one t < c (k < 0) and another t > c (k > 0).
* The terms with |j| > J add up to at most B/(pi y), y = J h, B a bound on |M| from there on.
* Rounding: of M as its `Transform` says, of the sum as added in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.inversion.transform import EPS, VAGUE, Values

_LARGEST_POWER = 600.0


@dataclass(frozen=True, eq=False)
class Tangent:
    """A tilt t >= 0 and an upper bound of ln M(t): a Chernoff bound on delta."""

    tilt: float
    log_mean: float

    def log_delta(self, epsilon: float) -> float:
        """ln of an upper bound of delta(epsilon)."""
        t = self.tilt
        most = -t * math.log1p(1 / t) - math.log1p(t) if t > 0 else 0.0
        rounding = 4 * EPS * (1 + abs(self.log_mean) + abs(most) + abs(t * epsilon))
        return self.log_mean + most - t * epsilon + rounding


@dataclass(frozen=True, eq=False)
class InversionLine:
    """The sum along one line.

    c: > 0.   step: h, of few bits, so that all y are exact.   top: a real number near ln M(c).
    values: M(s)/(s (s + 1)) e**-top at y = 0, h, 2 h, ..., shape (m,), halved at 0.
    height: the sum of the values' absolute values.   error: of the errors of the values, and that of rounding.
    turn: the sum of |value| y.   log_beyond: ln of B e**-top/(pi y).
    tangents: some tilts, c not among them.
    """

    c: float
    step: float
    top: float
    values: NDArray[np.complex128]
    height: float
    error: float
    turn: float
    log_beyond: float
    tangents: Sequence[Tangent]

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """ln of a lower and of an upper bound of delta(epsilon)."""
        turns = self.step * np.arange(self.values.size) * epsilon
        real = self.values.real * np.cos(turns) + self.values.imag * np.sin(turns)
        found = self.step / math.pi * float(real.sum())
        wrong = self.step / math.pi * (self.error + 4 * EPS * abs(epsilon) * self.turn) + math.exp(self.log_beyond)
        scale = self.top - self.c * epsilon
        slack = 4 * EPS * (8 + abs(self.top) + abs(self.c * epsilon))
        more = math.exp(min(600.0, self.log_more(epsilon) - scale + slack))
        upper, lower = found + wrong, found - wrong - more
        high = math.log(upper) + scale + slack if upper > 0 else -math.inf
        low = math.log(lower) + scale - slack if lower > 0 else -math.inf
        return low, min([high, 0.0, *(tangent.log_delta(epsilon) for tangent in self.tangents)])

    def log_more(self, epsilon: float) -> float:
        """ln of the most that comes with delta(epsilon)."""
        period = 2 * math.pi / self.step
        found = {-1: math.inf, 1: math.inf}
        for tangent in self.tangents:
            side, gap = (1 if tangent.tilt > self.c else -1), abs(tangent.tilt - self.c) * period * (1 - 4 * EPS)
            here = tangent.log_delta(epsilon) - gap - math.log(-math.expm1(-gap))
            found[side] = min(found[side], here)
        return float(np.logaddexp(found[-1], found[1]))


def inversion_line(
    c: float, step: float, values: Values, log_beyond: float, tangents: Sequence[Tangent]
) -> InversionLine | None:
    """The line through c; None where its values are too large for floats.

    values: ln M at y = 0, h, 2 h, ...   log_beyond: ln of a bound on |M| from the last y on.
    """
    y = step * np.arange(values.log.size)
    s, top = c + 1j * y, float(values.log[0].real)
    heights = values.log.real - top
    wrong = values.error + 4 * EPS * (16 + np.abs(values.log) + abs(top))
    known = wrong < VAGUE
    if float((heights + np.where(known, 0.0, wrong)).max()) > _LARGEST_POWER:
        return None
    counted = np.where(known, np.exp(np.where(known, heights, 0.0) + 1j * values.log.imag) / (s * (s + 1)), 0.0)
    counted[0] /= 2
    size = np.abs(counted)
    # of what is vague only its size is known
    most = np.exp(np.where(known, 0.0, heights + wrong)) / np.abs(s * (s + 1))
    errors = np.where(known, size * np.expm1(np.minimum(wrong, VAGUE)), most)
    height = float(size.sum())
    return InversionLine(
        c,
        step,
        top,
        counted,
        height,
        float(errors.sum()) + 64 * EPS * height,
        float((size * y).sum()),
        log_beyond - top - math.log(math.pi * float(y[-1])),
        tangents,
    )
