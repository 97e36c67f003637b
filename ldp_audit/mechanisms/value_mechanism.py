"""What the composed mechanisms ask of the value mechanism inside them, and what they derive from it.

Any object with these methods will do; the shipped ones are `TwoPoint`, `Piecewise`, `Hybrid` and `Laplace`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import array_api_compat.numpy as numpy_namespace
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import finite_numbers, in_interval
from ldp_audit.mechanisms.mechanism import Mechanism


class ValueMechanism(Protocol):
    """A mechanism on the numbers of one interval.

    The shipped ones, and any `Mechanism`, say the interval themselves (`domain`); additive noise of sensitivity D is
    used on [-D/2, D/2]. Of another object it is read off `clip(x)`, which moves numbers into it.
    """

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats; infinity where there is none."""
        ...

    def delta(self, epsilon: ArrayLike) -> Any:
        """The privacy profile, the supremum over ordered pairs of inputs; shape of `epsilon`, nats, >= 0."""
        ...

    def worst_pair(self) -> tuple[float, float]:
        """Inputs that attain both: the interval's two ends; for additive noise any two as far apart."""
        ...

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> Any:
        """Log mass or log density of the report y at the input x; broadcasts."""
        ...

    def mean(self, x: ArrayLike) -> Any:
        """E[report | x]; shape of x."""
        ...

    def variance(self, x: ArrayLike) -> Any:
        """Var[report | x]; shape of x."""
        ...

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per input; numpy arrays with a numpy generator, tensors with a torch generator."""
        ...


@runtime_checkable
class Implementable(Protocol):
    """What knows the finite-precision distribution that it draws from, as every `Mechanism` does."""

    def implemented(self, bits: int) -> Any:
        """That distribution, with words of so many bits."""
        ...


@dataclass(frozen=True)
class ImplementedFactory:
    """Makes what a factory's value mechanism draws from with decisions of so many bits.

    factory: epsilon -> value mechanism.   bits: as `implemented` takes them.
    """

    factory: Any
    bits: int

    def __call__(self, epsilon: float) -> Any:
        """The implemented mechanism; ValueError where the factory's has none."""
        return implemented("value", self.factory(epsilon), self.bits)


def implemented(name: str, mechanism: Any, bits: int) -> Any:
    """mechanism.implemented(bits); ValueError, naming the argument, where the mechanism does not offer it."""
    if not isinstance(mechanism, Implementable):
        raise ValueError(f"{name} must offer implemented(bits) for this, got {mechanism!r}")
    return mechanism.implemented(bits)


def require_methods(name: str, mechanism: Any, *methods: str) -> None:
    """ValueError, naming the argument, unless the mechanism has all these methods."""
    missing = [method for method in methods if not callable(getattr(mechanism, method, None))]
    if missing:
        raise ValueError(f"{name} must be a mechanism with {', '.join(methods)}, got {mechanism!r}: no {missing[0]}")


def require_value(name: str, mechanism: Any) -> None:
    """ValueError, naming the argument, for what is no value mechanism."""
    methods = ("exact_epsilon", "delta", "worst_pair", "log_prob", "mean", "variance", "sample")
    require_methods(name, mechanism, *methods, *([] if isinstance(mechanism, Mechanism) else ["clip"]))
    low, high = domain_of(mechanism)
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"{name} must take the numbers of an interval, got {mechanism!r} with [{low!r}, {high!r}]")


def domain_of(value: Any) -> tuple[float, float]:
    """The ends of the value mechanism's inputs; see `ValueMechanism`."""
    if isinstance(value, Mechanism):
        return value.domain()
    low, high = value.clip(np.array([-np.inf, np.inf]))
    return float(low), float(high)


def worst_ends(value: Any) -> tuple[float, float]:
    """The ends of `domain_of` in the order of the mechanism's worst pair."""
    low, high = domain_of(value)
    first, second = value.worst_pair()
    return (high, low) if first > second else (low, high)


def in_domain(name: str, x: Any, value: Any, *, clip: bool, xp: Any = numpy_namespace) -> Any:
    """float64 inputs for the value mechanism, all inside its domain; shape of x.

    clip: move those outside to the nearest end; otherwise they are a ValueError. Numbers that are not finite always
    are. A narrow dtype's rounding of an end counts as that end.
    """
    low, high = domain_of(value)
    wide = finite_numbers(name, x, xp) if clip else xp.astype(in_interval(name, x, low, high, xp), xp.float64)
    return xp.clip(wide, low, high)


def signed_delta(value: Any, level: NDArray[np.float64]) -> NDArray[np.float64]:
    """The profile continued to negative levels, delta(-e) = 1 - e**-e (1 - delta(e)); shape of `level`, nats.

    A hockey-stick divergence at a negative level is that of the reversed pair at the positive one, and the supremum
    runs over pairs in both orders, so this is exact. 0 at infinity, 1 at minus infinity.
    """
    distance = np.abs(level)
    known = np.isfinite(distance)
    at_distance = np.where(known, value.delta(np.where(known, distance, 0.0)), 0.0)
    return np.where(level >= 0, at_distance, -np.expm1(np.minimum(level, 0.0)) + np.exp(-distance) * at_distance)
