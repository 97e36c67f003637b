"""Additive noise on a sum over records, and how far one record moves that sum: two sensitivities.

A record that is present or absent moves the sum by at most `sensitivity`; one that is replaced by another, by at most
`replaced`, which is at most twice that, as a replaced record leaves and another comes. A sum of vectors of norm at most
1 has 1 and 2; a count has 1 and 1. Only who knows the sum knows the second one, so it is not guessed.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import NoiseLoss
from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.inputs import finite
from ldp_audit.mechanisms.mechanism import Adjacency, Mechanism, Parameter
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.numerics import as_float, shown

INPUT = Variable("x", -oo, oo)
SENSITIVITY = Parameter("sensitivity", Variable("D", 0, oo, open="left"), typical=(0.1, 2.0))


class AdditiveNoise(Mechanism):
    """x + noise, for inputs at most `sensitivity` apart: with a record, and without it.

    sensitivity, replaced: > 0, finite; replaced, at most twice the sensitivity, is how far a replaced record moves x.
    None where that is not known; neighbours are then those with a record and without it alone. The profile, epsilon and
    the samplers are those for inputs `sensitivity` apart.
    """

    sensitivity: float
    replaced: float | None
    adjacency: ClassVar[Adjacency | None] = "add/remove"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replaced is None:
            return
        distance = as_float(self.replaced)
        if not 0 < distance <= 2 * self.sensitivity:
            raise ValueError(
                f"replaced must be a number > 0, at most twice the sensitivity {self.sensitivity!r}, as a record that "
                f"is replaced leaves and another comes; got {shown(self.replaced)}"
            )
        object.__setattr__(self, "replaced", distance)

    def __repr__(self) -> str:
        given = ((one.name, getattr(self, one.name)) for one in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"

    @abstractmethod
    def moved(self, distance: float) -> NoiseLoss:
        """The loss between two inputs at this distance, > 0."""

    def pair_loss(self) -> PairLoss:
        """See base; with a record, and without it."""
        return self.moved(self.sensitivity)

    def replaced_loss(self) -> PairLoss:
        """See base."""
        if self.replaced is None:
            raise ValueError(
                f"replaced must be stated where a record is replaced by another: how far that moves the sum, at most "
                f"{2 * self.sensitivity!r}, as in {repr(self)[:-1]}, replaced=...)"
            )
        return self.moved(self.replaced)

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs at distance `sensitivity`."""
        return 0.0, self.sensitivity

    def domain(self) -> tuple[float, float]:
        """An interval of length `sensitivity` around 0."""
        return -self.sensitivity / 2, self.sensitivity / 2

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return finite("x", x)[()]


class FinitePrecisionNoise(FinitePrecision):
    """The distribution that a sampler of additive noise draws from."""

    mechanism: Any
    adjacency: ClassVar[Adjacency | None] = "add/remove"

    def replaced_loss(self) -> PairLoss:
        """See base; where both sensitivities are one, as the sampler's profile is that of the first."""
        if self.mechanism.replaced != self.mechanism.sensitivity:
            raise ValueError(f"{self!r} is known for a record present or absent alone; take its mechanism")
        return self.pair_loss()

    def domain(self) -> tuple[float, float]:
        """See `mechanism`."""
        return self.mechanism.domain()
