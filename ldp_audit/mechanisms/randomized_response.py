"""Randomised response on k values: report the true value with probability t / (t + k - 1), else another, uniformly.

Sources: Warner (1965) for k = 2; Kairouz, Oh, Viswanath (2014) for k values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.inputs import array_of, numbers_of, whole_numbers
from ldp_audit.mechanisms.log_space import excess, expit, levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.randomized_response_words import RandomizedResponseWords
from ldp_audit.mechanisms.variable import EPSILON, T, Variable


@dataclass(frozen=True)
class RandomizedResponse:
    """Values 0 .. k-1.

    epsilon: nats, >= 0 (0: uniform reports, a channel but no estimator); infinity reports the value itself.
    k: number of values, a whole number >= 2.
    Raises ValueError for anything else.
    """

    epsilon: float
    k: int = 2

    parameters = (
        Parameter("epsilon", Variable("epsilon", 0, oo, latex=EPSILON.latex), typical=(0.1, 10.0), infinite=True),
        Parameter("k", Variable("k", 2, oo, integer=True), typical=(2, 40)),
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def symbolic(self) -> SymbolicChannel:
        """The definition for this k, in x and t = e**epsilon."""
        x = Variable("x", 0, self.k - 1, integer=True)
        return SymbolicChannel(
            f"randomised response on {self.k} values",
            inputs=x,
            atoms=[(y, (1 + (T - 1) * Ind(x, y)) / (T + self.k - 1)) for y in range(self.k)],
        )

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats."""
        return self.epsilon

    def worst_pair(self) -> tuple[int, int]:
        """Inputs that attain it: any two, here 0 and 1."""
        return 0, 1

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(t - e**epsilon)_+ / (t + k - 1); shape of `epsilon`, nats, >= 0."""
        return (excess(levels(epsilon), self.epsilon) * self._share_of_truth())[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the value x, nats; broadcasts; -inf where y is no value."""
        y, x = numbers_of("y", y), self._values(x)
        known = (y >= 0) & (y < self.k) & (y == np.floor(y))
        truth = -math.log1p((self.k - 1) * math.exp(-self.epsilon))
        return np.where(known, np.where(y == x, truth, truth - self.epsilon), -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x] of the label as a number. Shape of x."""
        uniform, kept = self._mixture()
        return (kept * self._values(x).astype(np.float64) + uniform * (self.k - 1) / 2)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x] of the label as a number: q ((k**2 - 1) / 12 + (1 - q) (x - (k - 1) / 2)**2). Shape of x.

        q = k / (t + k - 1) is the share of a uniform label in the law, the rest being the value itself.
        """
        uniform, kept = self._mixture()
        away = self._values(x).astype(np.float64) - (self.k - 1) / 2
        with np.errstate(over="ignore"):  # infinity beyond 10**154 values
            return (uniform * ((self.k - 1.0) * (self.k + 1.0) / 12 + kept * away**2))[()]

    def implemented(self, bits: int = 64) -> RandomizedResponseWords:
        """What a sampler with decisions of so many bits draws from, as a mechanism. ValueError unless 2..64."""
        return RandomizedResponseWords(self, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per value; shape, dtype and device of x.

        x: array or tensor of whole numbers in 0 .. k-1.   rng: a numpy.random.Generator, or a torch.Generator for
        tensors. Draws from `implemented()`: words of 64 bits, with an epsilon of at most the claimed one.
        Raises ValueError where the dtype of x cannot hold every label.
        """
        return self.implemented().sample(x, rng=rng)

    def _mixture(self) -> tuple[float, float]:
        """The law as a mixture: the share of a uniform label, k / (t + k - 1), and of the value itself."""
        lies = expit(math.log(self.k - 1) - self.epsilon)
        return lies * self.k / (self.k - 1), -math.expm1(-self.epsilon) * self._share_of_truth()

    def _share_of_truth(self) -> float:
        return expit(self.epsilon - math.log(self.k - 1))

    def _values(self, x: ArrayLike) -> NDArray:
        return whole_numbers("x", array_of("x", x), 0, self.k - 1)
