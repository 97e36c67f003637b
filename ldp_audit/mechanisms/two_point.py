r"""The two-point mechanism: Duchi, Jordan and Wainwright's one-dimensional report, moved and scaled.

Definition, with t = e**epsilon and A = (t + 1) / (t - 1): an input w in [c - r, c + r] is reported as

    c + r A   with probability  ((w - c)(t - 1) + r (t + 1)) / (2 r (t + 1)),
    c - r A   otherwise.

Source: LDP-FL (Sun, Qian, Chen, IJCAI 2021), eq. (2); Duchi et al., JASA 113 (2018), for c = 0, r = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.clipping import clip
from ldp_audit.mechanisms.inputs import array_of, in_interval, numbers_of, report_dtype
from ldp_audit.mechanisms.log_space import excess, expit, levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.two_point_words import TwoPointWords
from ldp_audit.mechanisms.variable import EPSILON, T, Variable

CENTER = Variable("c", -oo, oo)
RADIUS = Variable("r", 0, oo, open="left")
WEIGHT = Variable("w", CENTER - RADIUS, CENTER + RADIUS)

A = (T + 1) / (T - 1)
"""Reports lie at c - r A and c + r A."""

TWO_POINT = SymbolicChannel(
    "two-point mechanism",
    inputs=WEIGHT,
    public=(CENTER, RADIUS),
    atoms=[
        (CENTER + RADIUS * A, ((WEIGHT - CENTER) * (T - 1) + RADIUS * (T + 1)) / (2 * RADIUS * (T + 1))),
        (CENTER - RADIUS * A, (-(WEIGHT - CENTER) * (T - 1) + RADIUS * (T + 1)) / (2 * RADIUS * (T + 1))),
    ],
)


@dataclass(frozen=True)
class TwoPoint:
    """LDP-FL's eq. (2): report one of two values, so that the mean is the input.

    epsilon: nats, > 0; infinity is accepted and reports center +- radius.
    center: finite.   radius: > 0, finite. Inputs lie in [center - radius, center + radius].
    Raises ValueError for anything else.
    """

    epsilon: float
    center: float = 0.0
    radius: float = 1.0

    parameters = (
        Parameter("epsilon", EPSILON, typical=(0.1, 10.0), infinite=True),
        Parameter("center", CENTER, typical=(-2.0, 2.0)),
        Parameter("radius", RADIUS, typical=(0.01, 3.0)),
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        low, high = self.domain()
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(
                f"center and radius must give an interval of floats, got center={self.center!r}, radius={self.radius!r}"
            )

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in w, c, r and t = e**epsilon."""
        return TWO_POINT

    def domain(self) -> tuple[float, float]:
        """The ends of the inputs' range, as floating point computes them."""
        return self.center - self.radius, self.center + self.radius

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs moved into the range, as LDP-FL's Section 5 does before it perturbs. Shape and dtype of x."""
        return clip(x, *self.domain())

    def outputs(self) -> tuple[float, float]:
        """The two reports, the lower one first: center -+ radius A, with A = 1 / tanh(epsilon / 2)."""
        reach = self.radius / math.tanh(self.epsilon / 2)
        return self.center - reach, self.center + reach

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon, whatever center and radius are (LDP-FL, Theorem 1)."""
        return self.epsilon

    def worst_pair(self) -> tuple[float, float]:
        """The inputs that attain exact_epsilon() and delta(): the two ends of the range."""
        low, high = self.domain()
        return high, low

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Hockey-stick divergence sup over inputs, (t - e**epsilon)_+ / (t + 1); shape of `epsilon`, nats, >= 0.

        Raises ValueError where an epsilon is negative or NaN.
        """
        return (excess(levels(epsilon), self.epsilon) * expit(self.epsilon))[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, nats; broadcasts; -inf where y is not one of the reports."""
        y, (above, below) = numbers_of("y", y), self._shares(x)
        low, high = (np.asarray(value, dtype=report_dtype(y)) for value in self.outputs())
        rare, common = expit(-self.epsilon), expit(self.epsilon)
        plus, minus = common * above + rare * below, rare * above + common * below
        with np.errstate(divide="ignore"):  # a probability near 1 is known best by what it lacks
            log_plus = np.where(plus > minus, np.log1p(-np.minimum(minus, 0.5)), np.log(plus))
            log_minus = np.where(minus > plus, np.log1p(-np.minimum(plus, 0.5)), np.log(minus))
        return np.where(y == high, log_plus, np.where(y == low, log_minus, -np.inf))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x] = x: no bias (LDP-FL, Lemma 1). Shape of x."""
        self._shares(x)
        return numbers_of("x", x).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x] = r**2 A**2 - (x - c)**2, without its cancellation at the ends. Shape of x.

        LDP-FL's Lemma 2 prints r**2 A**2, the value at x = c.
        """
        above, below = self._shares(x)
        half = self.epsilon / 2
        excess = 0.0 if half > 350 else self.radius / math.sinh(half)  # r**2 (A**2 - 1) = (r / sinh)**2
        return (excess * excess + 4 * (self.radius * self.radius) * above * below)[()]

    def implemented(self, bits: int = 64) -> TwoPointWords:
        """What a sampler with decisions of so many bits draws from, as a mechanism. ValueError unless 2..64."""
        return TwoPointWords(self, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per input; shape, floating dtype and device of x.

        x: array or tensor, inside the range.   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Draws from `implemented()`: decisions of 64 bits, with an epsilon of at most the claimed one.
        """
        return self.implemented().sample(x, rng=rng)

    def _shares(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How far x lies above the lower end and below the upper one, in shares of the range; they add up to 1.

        The ends are those that floating point computes (`domain()`), so that the shares there are exactly 0 and 1.
        """
        low, high = self.domain()
        wide = in_interval("x", array_of("x", x), low, high).astype(np.float64)
        return (wide - low) / (high - low), (high - wide) / (high - low)
