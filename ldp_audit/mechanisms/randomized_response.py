"""Randomised response on k values: report the true value with probability t / (t + k - 1), else another, uniformly.

Sources: Warner (1965) for k = 2; Kairouz, Oh, Viswanath (2014) for k values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.log_space import excess, expit, levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.randomness import WORDS, log_ratio, rarer_words, require_generator, words
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
        y, x = np.asarray(y), self._values(x)
        known = (y >= 0) & (y < self.k) & (y == np.floor(y))
        truth = -math.log1p((self.k - 1) * math.exp(-self.epsilon))
        return np.where(known, np.where(y == x, truth, truth - self.epsilon), -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x] of the label as a number. Shape of x."""
        x = self._values(x)
        lie = self._share_of_a_lie()
        return (x * (1 - self.k * lie) + lie * self.k * (self.k - 1) / 2)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x] of the label as a number, from the squared distances to the mean. Shape of x."""
        mean, lie = np.asarray(self.mean(x))[..., None], self._share_of_a_lie()
        labels, x = np.arange(self.k), self._values(x)
        away = (labels - mean) ** 2
        at_truth = np.take_along_axis(away, x.astype(np.int64)[..., None], axis=-1)[..., 0]
        return (lie * away.sum(axis=-1) + (1 - self.k * lie) * at_truth)[()]

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray:
        """One report per value; shape and dtype of x.

        A 64-bit word decides whether to lie; the lie's share is rounded up, so that the implemented epsilon is at most
        the claimed one. Which lie is a second, unbiased draw.
        """
        generator, values = require_generator(rng), self._values(x)
        if self._is_uniform():
            return generator.integers(0, self.k, size=values.shape).astype(np.asarray(x).dtype)
        lies = words(generator, values.shape) < np.uint64(rarer_words(self.epsilon, self.k - 1))
        shift = generator.integers(1, self.k, size=values.shape)
        return np.where(lies, (values + shift) % self.k, values).astype(np.asarray(x).dtype)

    def implemented_epsilon(self) -> float:
        """The exact epsilon of `sample`: ln((2**64 - lies) (k - 1) / lies), at most exact_epsilon()."""
        if self._is_uniform():
            return 0.0
        lies = rarer_words(self.epsilon, self.k - 1)
        return log_ratio((WORDS - lies) * (self.k - 1), lies)

    def _is_uniform(self) -> bool:
        """Below the grid's resolution the sampler is uniform: epsilon 0 is at most epsilon."""
        return self.epsilon < 1e-17

    def _share_of_truth(self) -> float:
        return expit(self.epsilon - math.log(self.k - 1))

    def _share_of_a_lie(self) -> float:
        return expit(math.log(self.k - 1) - self.epsilon) / (self.k - 1)

    def _values(self, x: ArrayLike) -> NDArray:
        values = np.asarray(x)
        if values.dtype.kind not in "iuf":
            raise ValueError(f"x must be whole numbers in 0..{self.k - 1}, got dtype {values.dtype}")
        bad = ~((values >= 0) & (values < self.k) & (values == np.floor(values)))
        if np.any(bad):
            raise ValueError(f"x must be whole numbers in 0..{self.k - 1}, got {values[bad].flat[0].item()!r}")
        return values
