"""The piecewise mechanism (PM): a density that is high on an interval around the input and low elsewhere.

Definition, with s = e**(epsilon/2), C = (s + 1)/(s - 1): an input x in [-1, 1] has the inner interval [l, r], l = (s x
- 1)/(s - 1), r = (s x + 1)/(s - 1), of length C - 1, inside [-C, C]. The density is p = s (s - 1)/(2 (s + 1)) on it and
p / e**epsilon on the rest of [-C, C].

Source: Wang et al. (ICDE 2019), Algorithm 2. A sampler that computes l + u (C - 1) in floats leaks the input through
low-order bits and has infinite epsilon; ours draws from a grid (`PiecewiseGrid`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.inputs import array_of, clip, in_interval, numbers_of, report_dtype, single
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses, Mechanism
from ldp_audit.mechanisms.randomness import BITS
from ldp_audit.mechanisms.values.window_grid import WindowGrid, shared_out
from ldp_audit.mechanisms.variable import ROOT_T, Variable

INPUT = Variable("x", -1, 1)
REACH = (ROOT_T + 1) / (ROOT_T - 1)
"""C: reports lie in [-C, C]."""

_left, _right = (ROOT_T * INPUT - 1) / (ROOT_T - 1), (ROOT_T * INPUT + 1) / (ROOT_T - 1)
_high = ROOT_T * (ROOT_T - 1) / (2 * (ROOT_T + 1))
_low = (ROOT_T - 1) / (2 * ROOT_T * (ROOT_T + 1))

PIECEWISE = SymbolicChannel(
    "piecewise mechanism",
    inputs=INPUT,
    pieces=[(-REACH, _left, _low), (_left, _right, _high), (_right, REACH, _low)],
)


@dataclass(frozen=True)
class Piecewise(Mechanism):
    """Inputs in [-1, 1], outputs in [-C, C]; a sample has the shape and floating dtype of the inputs.

    Samples lie on a fixed grid (`PiecewiseGrid`), with PM's variance to a few parts in 10,000.

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)
    example = FamilyExample(
        "Piecewise(epsilon=1)",
        "x: the input; s = e^(epsilon/2)",
        worst=((1, {}), (0, {})),
    )

    def reach(self) -> float:
        """C = (s + 1)/(s - 1) = 1/tanh(epsilon/4)."""
        return 1 / math.tanh(self.epsilon / 4)

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and s = e**(epsilon/2)."""
        return PIECEWISE

    def losses(self) -> Losses:
        """epsilon, with probability t / (t + s): the inner intervals of the two endpoints are disjoint."""
        return Losses([self.epsilon], [-math.log1p(math.exp(-self.epsilon / 2))])

    def blanket(self) -> Blanket:
        """See base; all inner intervals have the length C - 1, of 2 C, and those of the ends are disjoint.

        That of 0 meets each of them by half of C - 3, if at all.
        """
        window, reach = expit(-self.epsilon / 2), self.reach()
        shared = max(0.0, (reach - 3) / (4 * reach))
        third = (0.0, shared, shared, window - 2 * shared)
        return Blanket.of_two_levels(self.epsilon, 0.0, window, math.tanh(self.epsilon / 4), third=third)

    def worst_pair(self) -> tuple[float, float]:
        """The two endpoints; their inner intervals are disjoint, so they also attain delta()."""
        return 1.0, -1.0

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs clipped to [-1, 1]. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def inner(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The inner interval (l, r); shape of x."""
        values, half = _inputs(x), self._inner_length() / 2
        return values - half * (1 - values), values + half * (1 + values)

    def breakpoints(self, x: Any) -> list[float]:
        """The endpoints of the inner interval and of the output range."""
        left, right = self.inner(single(x, self))
        return [-self.reach(), float(left), float(right), self.reach()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts; -inf outside [-C, C]."""
        given, (left, right) = numbers_of("y", y), self.inner(x)
        with np.errstate(over="ignore"):
            inside = np.abs(given) <= np.asarray(self.reach(), dtype=report_dtype(given))  # C as the dtype rounds it
        reports = given.astype(np.float64)
        high = self.epsilon / 2 + math.log(math.tanh(self.epsilon / 4) / 2)
        low = np.where(inside, high - self.epsilon, -np.inf)
        return np.where((reports >= left) & (reports <= right) & inside, high, low)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return _inputs(x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x**2/(s - 1) + (s + 3)/(3 (s - 1)**2), at most 4 s/(3 (s - 1)**2), at the endpoints. Shape of x."""
        length = self._inner_length()  # 2/(s - 1); so (s + 3)/(s - 1)**2 is length/2 + length**2
        return np.asarray(_inputs(x) ** 2 * length / 2 + (length / 2 + length * length) / 3)[()]

    def implemented(self, bits: int = 64) -> PiecewiseGrid:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return PiecewiseGrid.of(self.epsilon, bits)

    def _inner_length(self) -> float:
        """C - 1 = 2/(s - 1), without cancellation at large epsilon."""
        return 2 * math.exp(-self.epsilon / 2) / -math.expm1(-self.epsilon / 2)


def _inputs(x: ArrayLike) -> NDArray[np.float64]:
    return in_interval("x", array_of("x", x), -1, 1).astype(np.float64)


@dataclass(frozen=True)
class PiecewiseGrid(WindowGrid):
    """The finite-precision PM: see `WindowGrid`. The spacing of the reports makes the mean the input."""

    ends: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @classmethod
    def of(cls, epsilon: float, bits: int = 64) -> PiecewiseGrid:
        """The grid for an epsilon (nats, > 0) and `bits`-bit words. ValueError unless 2..64.

        A word has probability 2**-bits, so the grid is the same for all epsilon above bits ln 2.
        """
        kept = min(epsilon, BITS.check(bits) * math.log(2))
        return cls(*shared_out(kept, math.exp(kept / 2), bits), bits)

    def spacing(self) -> Fraction:
        """A step of the window is a step of 1 / half of the mean. 0 for one cell."""
        inside, outside = self.probabilities()
        return 1 / (self.half * self.inner * (inside - outside)) if self.half else Fraction(0)
