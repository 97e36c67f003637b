"""The value mechanism inside a composed mechanism: its interface, and what is derived from it.

Any object with these methods is accepted; the shipped ones are `TwoPoint`, `Piecewise`, `Hybrid` and `Laplace`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import array_api_compat.numpy as numpy_namespace
import numpy as np
from numpy.typing import ArrayLike

from ldp_audit.mechanisms.inputs import finite_numbers, in_interval
from ldp_audit.mechanisms.mechanism import Mechanism


class ValueMechanism(Protocol):
    """A mechanism on the numbers of one interval.

    The interval is `domain()`, [-D/2, D/2] for additive noise of sensitivity D; for others the range of `clip(x)`.
    """

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats; infinity where there is none."""
        ...

    def delta(self, epsilon: ArrayLike) -> Any:
        """The privacy profile, supremum over ordered pairs of inputs; shape of `epsilon`, nats, >= 0."""
        ...

    def worst_pair(self) -> tuple[float, float]:
        """Inputs that attain both: the endpoints of the interval; for additive noise any two at its length."""
        ...

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> Any:
        """Log probability or log density of the report y at the input x; broadcasts."""
        ...

    def mean(self, x: ArrayLike) -> Any:
        """E[report | x]; shape of x."""
        ...

    def variance(self, x: ArrayLike) -> Any:
        """Var[report | x]; shape of x."""
        ...

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report for each input; numpy arrays with a numpy generator, tensors with a torch generator."""
        ...


@runtime_checkable
class Implementable(Protocol):
    """A mechanism that knows the finite-precision distribution of its samples."""

    def implemented(self, bits: int) -> Any:
        """That distribution, for `bits`-bit words."""
        ...


@dataclass(frozen=True)
class ImplementedFactory:
    """Maps epsilon to the finite-precision distribution of `factory(epsilon)`, for `bits`-bit words."""

    factory: Any
    bits: int

    def __call__(self, epsilon: float) -> Any:
        """The finite-precision distribution; ValueError where the factory's mechanism has none."""
        return implemented("value", self.factory(epsilon), self.bits)


def implemented(name: str, mechanism: Any, bits: int) -> Any:
    """mechanism.implemented(bits); ValueError, naming the argument, where it has no such method."""
    if not isinstance(mechanism, Implementable):
        raise ValueError(f"{name} must offer implemented(bits) for this, got {mechanism!r}")
    return mechanism.implemented(bits)


def require_methods(name: str, mechanism: Any, *methods: str) -> None:
    """ValueError, naming the argument, unless the mechanism has all these methods."""
    missing = [method for method in methods if not callable(getattr(mechanism, method, None))]
    if missing:
        raise ValueError(f"{name} must be a mechanism with {', '.join(methods)}, got {mechanism!r}: no {missing[0]}")


def require_value(name: str, mechanism: Any) -> None:
    """ValueError, naming the argument, unless the mechanism is a value mechanism."""
    methods = ("exact_epsilon", "delta", "worst_pair", "log_prob", "mean", "variance", "sample")
    require_methods(name, mechanism, *methods, *([] if isinstance(mechanism, Mechanism) else ["clip"]))
    low, high = domain_of(mechanism)
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"{name} must take the numbers of an interval, got {mechanism!r} with [{low!r}, {high!r}]")


def domain_of(value: Any) -> tuple[float, float]:
    """The lower and upper bound of the value mechanism's inputs; see `ValueMechanism`."""
    if isinstance(value, Mechanism):
        return value.domain()
    low, high = value.clip(np.array([-np.inf, np.inf]))
    return float(low), float(high)


def worst_ends(value: Any) -> tuple[float, float]:
    """The bounds of `domain_of` in the order of the mechanism's worst pair."""
    low, high = domain_of(value)
    first, second = value.worst_pair()
    return (high, low) if first > second else (low, high)


def in_domain(name: str, x: Any, value: Any, *, clip: bool, xp: Any = numpy_namespace) -> Any:
    """float64 inputs for the value mechanism, all inside its domain; shape of x.

    clip: clip finite values to the domain; otherwise values outside are a ValueError, as are values that are not
        finite. A bound rounded to a narrower dtype counts as the bound.
    """
    low, high = domain_of(value)
    wide = finite_numbers(name, x, xp) if clip else xp.astype(in_interval(name, x, low, high, xp), xp.float64)
    return xp.clip(wide, low, high)
