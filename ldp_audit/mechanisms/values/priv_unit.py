"""PrivUnit: a unit vector is reported as a random one, more often from a cap around it than from the other directions.

Definition: for a unit vector x of R^d, v is uniform on the cap {v: |v| = 1, <v, x> >= gamma} with probability p, else
uniform on the rest of the sphere; reported is v/m, with m = E[<v, x>], which makes the mean x. With A the cap's share
of the sphere's area the exact epsilon is ln(p/(1 - p)) + ln((1 - A)/A), attained by opposite vectors. So p = t A/(t A +
1 - A), t = e**epsilon, and the variance 1/m**2 - 1, summed over the coordinates, is least where gamma = m.

Source: Bhowmick, Duchi, Freudiger, Kapoor, Rogers, "Protection Against Reconstruction and Its Applications in Private
Federated Learning" (2018), Algorithm 1, whose p and gamma are replaced by the best ones for the exact epsilon, as in
Asi, Feldman, Talwar, "Optimal Algorithms for Mean Estimation under Local Differential Privacy" (ICML 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from sympy import Rational

from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Parameter
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.staircase import FiniteStaircase, Logs, Staircase
from ldp_audit.mechanisms.values.sphere import (
    OFF,
    area_error,
    as_vectors,
    cap_area,
    cap_moments,
    first_directions,
    have_length,
    require_lengths,
    with_lengths,
)
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.numerics import root

_CAP = Variable("A", 0, Rational(1, 2), open="left")

PRIV_UNIT = SymbolicWeights(
    "PrivUnit",
    [
        ("a vector in the cap around the input", _CAP, T / ((T - 1) * _CAP + 1)),
        ("another vector", 1 - _CAP, 1 / ((T - 1) * _CAP + 1)),
    ],
)
"""A is the cap's share of the sphere; instead of a number of outputs and the probability of each, shares and densities
with respect to the uniform distribution."""

SMALLEST_CAP = 2.0**-12
"""The least share of a cap: a sampler tries about as many directions as its inverse. Up to an epsilon of 11 it hardly
binds; beyond, the variance exceeds the least one, by factors of up to 1.05 at 12, 1.3 at 14, 1.9 at 16."""


@dataclass(frozen=True)
class PrivUnit(Staircase):
    """Inputs are unit vectors of R^d, shape (..., d); reports are vectors of length 1/m, of that shape and dtype.

    Inputs whose length is within 1% of 1 are scaled to it. A density (`log_prob`) is with respect to the uniform
    distribution on the reports. Samples have at most epsilon, by construction: see `FiniteStaircase` and `draw`. Where
    epsilon is less than the slack costs, which is 1e-7 to 3e-4 by d, they ignore their input.

    epsilon: nats, > 0, finite.   d: 2 .. 100,000. Raises ValueError for anything else.
    """

    epsilon: float
    d: int

    parameters = (BUDGET, Parameter("d", Variable("d", 2, 100_000, integer=True), typical=(2, 50)))
    example = FamilyExample(
        "PrivUnit(epsilon=1, d=4)",
        "A: the share of the sphere's area in the cap around the input; densities are with respect to the uniform "
        "distribution on the sphere; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in t and the share A of the cap."""
        return PRIV_UNIT

    def gamma(self) -> float:
        """The height of the cap, that of the least variance among those of a share of at least `SMALLEST_CAP`."""
        return best_height(self.epsilon, self.d)

    def area(self) -> float:
        """A, the cap's share of the sphere; at most 1/2."""
        return cap_area(self.gamma(), self.d)

    def reach(self) -> float:
        """1/m, the length of a report; m = (p/A - (1 - p)/(1 - A)) times the integral of <v, x> over the cap."""
        return 1 / (cap_moments(self.gamma(), self.d)[0] * -math.expm1(-self.epsilon) * self._densities()[0])

    def sides(self) -> tuple[Fraction, Fraction]:
        """The shares of the cap and of the rest of the sphere."""
        return Fraction(self.area()), 1 - Fraction(self.area())

    def slack(self) -> Fraction:
        """See `area_error`."""
        return Fraction(area_error(self.gamma(), self.d))

    def only_first(self) -> Fraction:
        """The whole cap: as gamma > 0, it does not meet that of the opposite vector.

        Two inputs at any angle have losses of epsilon and -epsilon where one of their caps does not meet the other, so
        disjoint ones are the worst pair at every epsilon.
        """
        return Fraction(self.area())

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two opposite vectors, which attain exact_epsilon() and delta()."""
        first = np.zeros(self.d)
        first[0] = 1.0
        return first, -first

    def log_prob_by_side(self, y: ArrayLike, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """`log_prob`, for given log densities in the cap and outside."""
        units, (given, lengths) = self._units(array_of("x", x)), with_lengths("y", array_of("y", y), self.d)
        known, near = have_length(y, lengths, self.reach(), self.d), np.sum(given * units, axis=-1)
        near = near >= self.gamma() * lengths
        return np.where(known, np.where(near, logs[0], logs[1]), -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """x, scaled to length 1: no bias. Shape (..., d)."""
        return self._units(array_of("x", x))

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var of each coordinate; their sum is 1/m**2 - 1. Shape (..., d)."""
        return self.spread(x, *self._densities())

    def spread(self, x: ArrayLike, inside: float, outside: float) -> NDArray[np.float64]:
        """The variances for given densities in the cap and outside, and the ideal m.

        With u = <v, x>, E[v_j**2] is E[u**2] x_j**2 + (1 - E[u**2]) (1 - x_j**2)/(d - 1).
        """
        first, second = cap_moments(self.gamma(), self.d)
        along = (inside - outside) * second + outside / self.d
        squares = self.mean(x) ** 2
        around = along * squares + (1 - along) * (1 - squares) / (self.d - 1)
        return self.reach() ** 2 * (around - ((inside - outside) * first) ** 2 * squares)

    def implemented(self, bits: int = 64) -> FinitePrivUnit:
        """The finite-precision distribution of `sample`. ValueError unless bits are 2..64."""
        return FinitePrivUnit(self, bits)

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The vectors, and their number as a shape."""
        xp = array_namespace(x)
        self._units(x, xp)
        return x, tuple(x.shape[:-1])

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """A random direction of the drawn side, as a report.

        Directions are drawn, independently of x, until one lies on that side. So a direction v, drawn with probability
        P(v), is reported with P(v) p/P(cap) or P(v) (1 - p)/(1 - P(cap)): what its low-order bits are depends on no
        input, and P(cap), which floats make depend on x a little, is within `slack` of A. That holds for whatever
        decides the side as long as its error has the bound in `area_error`. How long it takes tells the side.
        """
        xp = source.xp
        units = xp.reshape(self._units(x, xp), (-1, self.d))
        if favoured is None:
            return as_vectors(first_directions(units.shape, source, None), self.reach(), x, xp)
        near = xp.reshape(favoured, (-1,))

        def suit(drawn: Any, at: Any) -> Any:
            return (xp.sum(drawn * units[at][:, None, :], axis=-1) >= self.gamma()) == near[at][:, None]

        return as_vectors(first_directions(units.shape, source, suit), self.reach(), x, xp)

    def _units(self, x: Any, xp: Any = None) -> Any:
        """The vectors scaled to length 1, float64; ValueError unless their lengths are near it."""
        space = array_namespace(x) if xp is None else xp
        wide, lengths = with_lengths("x", x, self.d, space)
        require_lengths(lengths, space.abs(lengths - 1) <= OFF, f"of length 1, to {OFF:.0%}", space)
        return wide / lengths[..., None]

    def _densities(self) -> tuple[float, float]:
        """p/A and (1 - p)/(1 - A), with respect to the uniform distribution."""
        decay = math.exp(-self.epsilon)
        total = decay + self.area() * -math.expm1(-self.epsilon)
        return 1 / total, decay / total


@dataclass(frozen=True)
class FinitePrivUnit(FiniteStaircase):
    """PrivUnit with probabilities of its sides in whole words, and the ideal mechanism's m.

    Its epsilon and profile are upper bounds (`FiniteStaircase`, `area_error`); its densities and moments are those of
    exactly uniform directions.
    """

    mechanism: PrivUnit

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[report | x]: x, shrunk by what the slack costs. Shape (..., d).

        For d up to 100 by at most 1e-4 (relative) at epsilon .01 and 1e-6 at 1; up to 10,000 by 2e-3 and 2e-5; for
        100,000 by 1.2% and 1.3e-4.
        """
        inside, outside, _ = (float(one) for one in self.probabilities())
        m = self.mechanism
        return m.reach() * cap_moments(m.gamma(), m.d)[0] * (inside - outside) * m.mean(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var of each coordinate. Shape (..., d)."""
        inside, outside, _ = (float(one) for one in self.probabilities())
        return self.mechanism.spread(x, inside, outside)


@lru_cache(maxsize=256)
def best_height(epsilon: float, d: int) -> float:
    """The zero of gamma (1/t + A (1 - 1/t)) - S (1 - 1/t), S the integral of <v, x> over the cap; the largest at most.

    Its derivative in gamma is 1/t + A (1 - 1/t) > 0, and where it is 0, that of m = S (1 - 1/t)/(1/t + A (1 - 1/t)) is.
    """
    highest = math.sqrt(1 - float(betaincinv((d - 1) / 2, 0.5, 2 * SMALLEST_CAP)))
    decay, more = math.exp(-epsilon), -math.expm1(-epsilon)

    def slope(height: float) -> float:
        return height * (decay + cap_area(height, d) * more) - cap_moments(height, d)[0] * more

    return highest if slope(highest) < 0 else root(slope, 0.0, highest, xtol=1e-300)
