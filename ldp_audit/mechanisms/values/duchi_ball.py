"""Duchi's mechanism for vectors in the unit ball: report a vector of length B, more often on the input's side.

Definition: an input x with |x| <= 1 is rounded to v = x/|x| with probability (1 + |x|)/2, else to -x/|x|. With
probability t/(t + 1), t = e**epsilon, the report is uniform on the half {z: <z, v> > 0} of the sphere of radius B =
sqrt(pi) Gamma((d + 1)/2)/Gamma(d/2) (t + 1)/(t - 1), else on the other half; this makes the mean x.

Source: Duchi, Jordan, Wainwright, "Minimax Optimal Procedures for Locally Private Estimation", JASA 113 (2018), Section
4.2.3, l2 ball.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Parameter
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.staircase import FiniteStaircase, Logs, Staircase
from ldp_audit.mechanisms.values.sphere import (
    OFF,
    as_vectors,
    cap_moments,
    first_directions,
    have_length,
    require_lengths,
    with_lengths,
)
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights

DUCHI_BALL = SymbolicWeights(
    "Duchi's mechanism for vectors in the ball",
    [
        ("a vector on v's side", 1, T / (T + 1)),
        ("another vector", 1, 1 / (T + 1)),
    ],
)
"""Instead of numbers of outputs and the probability of each, areas and densities with respect to them, in units of half
the sphere."""


@dataclass(frozen=True)
class DuchiBall(Staircase):
    """Inputs are vectors of length at most 1, shape (..., d); reports have length B, and that shape and dtype.

    Inputs longer than 1 by up to 1% are scaled to it. A density (`log_prob`) is with respect to the uniform
    distribution on the reports. Samples have at most epsilon, by construction: see `draw`.

    epsilon: nats, > 0, finite.   d: 1 .. 100,000. Raises ValueError for anything else.
    """

    epsilon: float
    d: int

    parameters = (BUDGET, Parameter("d", Variable("d", 1, 100_000, integer=True), typical=(1, 50)))
    example = FamilyExample(
        "DuchiBall(epsilon=1, d=4)",
        "v: the input, rounded to the sphere; areas are in units of half the sphere; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in t."""
        return DUCHI_BALL

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs, those longer than 1 scaled to it. Shape of x, float64."""
        wide, lengths = with_lengths("x", array_of("x", x), self.d)
        return wide / np.maximum(lengths, 1.0)[..., None]

    def reach(self) -> float:
        """B, the length of a report."""
        return 1 / (2 * cap_moments(0.0, self.d)[0] * math.tanh(self.epsilon / 2))

    def sides(self) -> tuple[Fraction, Fraction]:
        """Half of the sphere, twice."""
        return Fraction(1, 2), Fraction(1, 2)

    def only_first(self) -> Fraction:
        """All on v's side, as the second input is opposite; those within the ball have mixtures of two such laws."""
        return Fraction(1, 2)

    def third_favours(self) -> Sequence[Fraction]:
        """Half of each half: of a vector at a right angle to both."""
        return () if self.d == 1 else (Fraction(0), Fraction(1, 4), Fraction(1, 4), Fraction(0))

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two opposite vectors of length 1, which attain exact_epsilon() and delta()."""
        first = np.zeros(self.d)
        first[0] = 1.0
        return first, -first

    def log_prob_by_side(self, y: ArrayLike, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """`log_prob`, for given log densities on v's side and on the other."""
        (inputs, sizes), (given, lengths) = self._inside(array_of("x", x)), with_lengths("y", array_of("y", y), self.d)
        sign = np.sign(np.sum(given * inputs, axis=-1))
        with np.errstate(divide="ignore"):
            found = np.logaddexp(np.log((1 + sign * sizes) / 2) + logs[0], np.log((1 - sign * sizes) / 2) + logs[1])
        return np.where(have_length(y, lengths, self.reach(), self.d), found, -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """x: no bias. Shape (..., d)."""
        return self._inside(array_of("x", x))[0]

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var of each coordinate, B**2/d - x_j**2, as that of z_j**2 is the same on both halves. Shape (..., d)."""
        return self.reach() ** 2 / self.d - self.mean(x) ** 2

    def implemented(self, bits: int = 64) -> FiniteDuchiBall:
        """The finite-precision distribution of `sample`. ValueError unless bits are 2..64."""
        return FiniteDuchiBall(self, bits)

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The vectors, and their number as a shape."""
        self._inside(x, array_namespace(x))
        return x, tuple(x.shape[:-1])

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """A random direction, or its opposite, whichever lies on the drawn side, as a report.

        The direction knows no input. So z is reported with at least 1 - p and at most p times the probability that z or
        -z is drawn, p = t/(t + 1), whatever in floats decides the side; where <z, x> is 0, with half of it.
        """
        xp = source.xp
        inputs, sizes = (
            xp.reshape(one, shape) for one, shape in zip(self._inside(x, xp), ((-1, self.d), (-1,)), strict=True)
        )
        drawn = first_directions(inputs.shape, source, None)
        if favoured is None:
            return as_vectors(drawn, self.reach(), x, xp)
        near = xp.reshape(favoured, (-1,))
        rounded = xp.astype(source.words(sizes.shape, 53), xp.float64) < sizes * 2.0**52
        towards = xp.sum(drawn * inputs, axis=-1)
        positive = xp.where(towards == 0, source.words(sizes.shape, 1) == 0, towards > 0)
        turn = (positive != near) != ~rounded
        return as_vectors(xp.where(turn[:, None], -drawn, drawn), self.reach(), x, xp)

    def _inside(self, x: Any, xp: Any = None) -> tuple[Any, Any]:
        """The vectors, float64, and their lengths, at most 1; ValueError for longer ones."""
        space = array_namespace(x) if xp is None else xp
        wide, lengths = with_lengths("x", x, self.d, space)
        require_lengths(lengths, lengths <= 1 + OFF, f"of length at most 1, to {OFF:.0%}", space)
        longest = space.clip(lengths, 1.0, 1 + OFF)
        return wide / longest[..., None], space.clip(lengths, 0.0, 1.0)


@dataclass(frozen=True)
class FiniteDuchiBall(FiniteStaircase):
    """Duchi's mechanism for the ball with probabilities in whole words, and the ideal mechanism's B."""

    mechanism: DuchiBall

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[report | x], x up to rounding. Shape (..., d)."""
        inside, outside, _ = self.probabilities()
        m = self.mechanism
        return m.reach() * cap_moments(0.0, m.d)[0] * float(inside - outside) * m.mean(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var of each coordinate. Shape (..., d)."""
        return self.mechanism.reach() ** 2 / self.mechanism.d - self.mean(x) ** 2
