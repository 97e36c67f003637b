r"""The piecewise mechanism (PM): a density that is high on an interval around the input and low elsewhere.

Definition, with s = e**(epsilon/2), C = (s + 1)/(s - 1): an input x in [-1, 1] has the inner interval [l, r],
l = (s x - 1)/(s - 1), r = (s x + 1)/(s - 1), of length C - 1, inside [-C, C]. The density is p = s (s - 1)/(2 (s + 1))
on it and p / e**epsilon on the rest of [-C, C].

Source: Wang et al. (ICDE 2019), Algorithm 2. A sampler that writes l + u (C - 1) in floats shows the input in its
low-order bits and has no finite epsilon; ours draws from a grid (`piecewise_grid.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.clipping import clip
from ldp_audit.mechanisms.inputs import array_of, in_interval, numbers_of
from ldp_audit.mechanisms.log_space import excess, expit, levels
from ldp_audit.mechanisms.parameter import BUDGET, check_parameters
from ldp_audit.mechanisms.piecewise_grid import PiecewiseGrid
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
class Piecewise:
    """Inputs in [-1, 1], outputs in [-C, C].

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)

    def __post_init__(self) -> None:
        check_parameters(self)

    def reach(self) -> float:
        """C = (s + 1)/(s - 1) = 1/tanh(epsilon/4)."""
        return 1 / math.tanh(self.epsilon / 4)

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and s = e**(epsilon/2)."""
        return PIECEWISE

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats; any two different inputs attain it."""
        return self.epsilon

    def worst_pair(self) -> tuple[float, float]:
        """The two ends: their inner intervals do not meet, so they attain delta() as well."""
        return 1.0, -1.0

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs moved into [-1, 1]. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(t - e**epsilon)_+ / (t + s); shape of `epsilon`, nats, >= 0."""
        return (excess(levels(epsilon), self.epsilon) * expit(self.epsilon / 2))[()]

    def inner(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends l and r of the inner interval; shape of x."""
        values, half = _inputs(x), self._inner_length() / 2
        return values - half * (1 - values), values + half * (1 + values)

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts; -inf outside [-C, C]."""
        reports, (left, right) = numbers_of("y", y).astype(np.float64), self.inner(x)
        high = self.epsilon / 2 + math.log(math.tanh(self.epsilon / 4) / 2)
        low = np.where(np.abs(reports) <= self.reach(), high - self.epsilon, -np.inf)
        return np.where((reports >= left) & (reports <= right) & (np.abs(reports) <= self.reach()), high, low)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return _inputs(x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x**2/(s - 1) + (s + 3)/(3 (s - 1)**2); largest at the ends, 4 s/(3 (s - 1)**2). Shape of x."""
        length = self._inner_length()  # 2/(s - 1); so (s + 3)/(s - 1)**2 is length/2 + length**2
        return np.asarray(_inputs(x) ** 2 * length / 2 + (length / 2 + length * length) / 3)[()]

    def implemented(self, bits: int = 64) -> PiecewiseGrid:
        """What a sampler with decisions of so many bits draws from, as a mechanism. ValueError unless 2..64."""
        return PiecewiseGrid.of(self.epsilon, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per input, on a fixed grid of outputs; shape, floating dtype and device of x.

        x: array or tensor, in [-1, 1].   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Draws from `implemented()`: PM's mean but for the rounding of a place, its variance to a few parts in 10,000,
        and an epsilon of at most the claimed one.
        """
        return self.implemented().sample(x, rng=rng)

    def _inner_length(self) -> float:
        """C - 1 = 2/(s - 1), without its cancellation for large epsilon."""
        return 2 * math.exp(-self.epsilon / 2) / -math.expm1(-self.epsilon / 2)


def _inputs(x: ArrayLike) -> NDArray[np.float64]:
    return in_interval("x", array_of("x", x), -1, 1).astype(np.float64)
