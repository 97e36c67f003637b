"""Noise on whole numbers: inputs, noise and reports are integers, so that a sampler can be exact."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import array_api_compat.numpy as numpy_namespace
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.inputs import array_of, numbers_of, single, whole_numbers
from ldp_audit.mechanisms.mechanism import AdditiveNoise, Parameter
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.numerics import whole

MOST_APART = 10**6
"""The largest sensitivity: so many values its loss may have."""

MOST_INPUT = 2**53
"""The largest size of an input: up to here floats hold all whole numbers."""

_MOST_LISTED = 10**6
"""The most likely reports that are listed."""

STEPS = Parameter("sensitivity", Variable("D", 1, MOST_APART, integer=True), typical=(1, 10))
"""How far apart inputs of neighbours are: a whole number."""


class IntegerNoise(FinitePrecision, AdditiveNoise):
    """x + noise for whole numbers x, at most `sensitivity` apart; reports are int64, whatever the dtype of x.

    The sampler is exact, so the mechanism is its own finite-precision distribution.
    sensitivity, replaced: see `AdditiveNoise`; whole numbers.
    """

    sensitivity: int
    replaced: int | None
    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.replaced is not None:
            whole(self.replaced, "replaced", 1)
        super().__post_init__()
        if self.replaced is not None:
            object.__setattr__(self, "replaced", int(self.replaced))

    @abstractmethod
    def moved(self, distance: float) -> PairLoss:
        """See `AdditiveNoise`; a whole number."""

    @abstractmethod
    def noise(self, shape: tuple[int, ...], source: Source) -> Any:
        """Independent draws of the noise alone; int64, of that shape."""

    @abstractmethod
    def log_mass(self, away: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln P(noise = z) at whole numbers z."""

    @abstractmethod
    def reach(self) -> int:
        """A size that noise exceeds with a chance below 1e-17."""

    def worst_pair(self) -> tuple[int, int]:
        """0 and the sensitivity."""
        return 0, self.sensitivity

    def domain(self) -> tuple[float, float]:
        """The interval between the inputs of the worst pair."""
        low, high = self.worst_pair()
        return float(low), float(high)

    def inputs(self, count: int) -> NDArray[np.int64]:
        """See base: whole numbers only."""
        return np.unique(np.rint(np.linspace(*self.domain(), count)).astype(np.int64))

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at x, nats; broadcasts; -inf unless y is a whole number."""
        given, center = numbers_of("y", y).astype(np.float64), self._whole(x)
        known = np.isfinite(given) & (given == np.floor(given))
        return np.where(known, self.log_mass(np.where(known, given, 0.0) - center), -np.inf)[()]

    def likely_reports(self, x: Any) -> Sequence[Any] | None:
        """See base; None for more than 10**6."""
        listed, reach = self.reports(), self.reach()
        if listed is not None or 2 * reach > _MOST_LISTED:
            return listed
        near = int(single(x, self)) + np.arange(-reach, reach + 1)
        return near[self.log_prob(near, x) > -np.inf].tolist()

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return self._whole(x)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each whole number; int64."""
        center = source.xp.astype(self.checked(x, source.xp), source.xp.int64)
        return center + self.noise(tuple(center.shape), source)

    def checked(self, x: Any, xp: Any) -> Any:
        """The inputs; ValueError unless they are whole numbers of size at most 2**53."""
        return whole_numbers("x", x, -MOST_INPUT, MOST_INPUT, xp)

    def _whole(self, x: ArrayLike) -> NDArray[np.float64]:
        given = array_of("x", x)
        return np.asarray(self.checked(given, numpy_namespace)).astype(np.float64)
