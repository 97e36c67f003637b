"""LDP-FL's adaptive range: each layer of a model is perturbed within a range of its own.

If the server derives a layer's center c and radius r from the averaged, perturbed weights of the previous round, (c, r)
is public post-processing and costs nothing. If a client derives it from its own weights, its two possible reports, c -
r A and c + r A, reveal the range: epsilon is infinite, and delta(e) = 1 for every e.

With one client a round the averaged weights are reports c -+ r A, half whose spread is r A: the rule `LayerRange.of`
then multiplies the radius by A in every round in which both reports occur.

Source: Sun, Qian, Chen (IJCAI 2021), Algorithm 1 and "Adaptive Range Setting"; the rule for (c, r) is not given there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import as_array, as_reports, finite, finite_numbers, in_interval, numbers_of
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import BUDGET, check_parameters
from ldp_audit.mechanisms.randomness import NumpySource, source_of
from ldp_audit.mechanisms.values.two_point import TwoPoint
from ldp_audit.numerics import between, listed


@dataclass(frozen=True)
class LayerRange:
    """A public center and radius for each layer, to clip and perturb its weights.

    centers, radii: one for each layer, finite, radii > 0.
    names: the layers' names, where weights are mappings; without names they are sequences.
    Raises ValueError for anything else.
    """

    centers: tuple[float, ...]
    radii: tuple[float, ...]
    names: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("centers", "radii"):
            numbers = listed(getattr(self, name), name, "one number a layer")
            finite = tuple(between(one, name, "finite numbers", math.isfinite) for one in numbers)
            object.__setattr__(self, name, finite)
        names = None if self.names is None else tuple(listed(self.names, "names", "one name a layer, or None"))
        object.__setattr__(self, "names", names)
        if not len(self.centers) == len(self.radii) == len(self.centers if names is None else set(names)):
            raise ValueError(
                "centers, radii and names must be one a layer, the names different, "
                f"got {len(self.centers)} centers, {len(self.radii)} radii, names={names!r}"
            )
        self._mechanisms(1.0)

    @classmethod
    def of(cls, weights: Mapping[Any, Any] | Iterable[Any], *, floor: float = 0.0) -> LayerRange:
        """The midpoint and the half-width of the range of each layer of the averaged weights.

        weights: a mapping from names to arrays or tensors, or a list of them; finite, none of them empty.
        floor: the least radius, >= 0, for (nearly) constant layers; with 0 a constant layer is a ValueError.
        """
        floor = between(floor, "floor", "a finite number >= 0", lambda one: 0 <= one < math.inf)
        of = "a mapping or a list of arrays"
        named = dict(weights) if isinstance(weights, Mapping) else dict(enumerate(listed(weights, "weights", of)))
        ranges = [_range_of(f"weights[{name!r}]", layer, floor) for name, layer in named.items()]
        names = tuple(named) if isinstance(weights, Mapping) else None
        return cls(tuple(center for center, _ in ranges), tuple(radius for _, radius in ranges), names)

    def mechanism(self, epsilon: float) -> Any:
        """The two-point mechanism of each layer, with epsilon for each weight; a mapping or a list, as named."""
        return self._arranged(self._mechanisms(epsilon))

    def clip(self, layers: Any) -> Any:
        """The weights clipped to their layers' ranges, as in LDP-FL's Section 5. Shapes and floating dtypes kept."""
        return self._arranged([_clipped(name, w, m) for name, w, m in self._matched(layers, 1.0)])

    def perturb(self, layers: Any, epsilon: float, *, rng: Any, clip: bool = False) -> Any:
        """One report for each weight of each layer; a mapping or a list like `layers`.

        layers: a client's weights, as in `of`: arrays, or tensors with a torch generator.
        epsilon: nats, for every single weight.   rng: a numpy.random.Generator or a torch.Generator.
        clip: whether weights outside their layer's range are clipped; otherwise they are a ValueError.
        """
        prepare = _clipped if clip else _checked
        return self._arranged([m.sample(prepare(name, w, m), rng=rng) for name, w, m in self._matched(layers, epsilon)])

    def _mechanisms(self, epsilon: float) -> list[TwoPoint]:
        return [TwoPoint(epsilon, center, radius) for center, radius in zip(self.centers, self.radii, strict=True)]

    def _matched(self, layers: Any, epsilon: float) -> list[tuple[str, Any, TwoPoint]]:
        """Each layer with its name for messages and its mechanism; ValueError unless they match the range's layers."""
        if self.names is not None:
            if not isinstance(layers, Mapping) or set(layers) != set(self.names):
                raise ValueError(f"layers must be a mapping with the names {self.names!r}, got {_outline(layers)}")
            named = {name: layers[name] for name in self.names}
        else:
            of = f"a sequence of {len(self.centers)} arrays"
            named = {} if isinstance(layers, Mapping) else dict(enumerate(listed(layers, "layers", of)))
            if len(named) != len(self.centers):
                raise ValueError(f"layers must be {of}, got {_outline(layers)}")
        labelled = [(f"layers[{name!r}]", as_array(f"layers[{name!r}]", layer)) for name, layer in named.items()]
        return [(*one, mechanism) for one, mechanism in zip(labelled, self._mechanisms(epsilon), strict=True)]

    def _arranged(self, found: Sequence[Any]) -> Any:
        return list(found) if self.names is None else dict(zip(self.names, found, strict=True))


@dataclass(frozen=True)
class ClientRange:
    """The same rule applied by the client to its own weights, which is not private.

    Inputs are layers, vectors of n >= 2 numbers that are not all equal; the two-point mechanism on the layer's own
    range reports each number.

    epsilon: nats, > 0, finite, as claimed for each weight.
    bits: word length of the finite-precision distribution; the ideal one if None. Raises ValueError for anything else.
    """

    epsilon: float
    bits: int | None = None

    parameters = (BUDGET,)

    def __post_init__(self) -> None:
        check_parameters(self)
        self._unit()

    def exact_epsilon(self) -> float:
        """Infinity: different ranges have different supports."""
        return math.inf

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two layers of two weights, of radius 1 and 2: reports in {-A, A} and in {-2A, 2A}."""
        return np.array([-1.0, 1.0]), np.array([-2.0, 2.0])

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """1 at every epsilon; shape of `epsilon`, nats, >= 0."""
        return np.ones_like(levels(epsilon))[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the reports y at the layer x, both of shape (..., n); -inf off the support."""
        reports, (center, radius, position) = numbers_of("y", y), _standardised(finite("x", x))
        low, high = self._unit().outputs()
        lower, upper = (as_reports(center + radius * end, reports) for end in (low, high))
        at = np.where(reports == upper, high, np.where(reports == lower, low, np.nan))
        return np.sum(self._unit().log_prob(at, position), axis=-1)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[report | x], x for the ideal distribution. Shape (..., n)."""
        center, radius, position = _standardised(finite("x", x))
        return np.asarray(center + radius * self._unit().mean(position))

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var[report | x] of each weight. Shape (..., n)."""
        _, radius, position = _standardised(finite("x", x))
        return np.asarray(radius**2 * self._unit().variance(position))

    def implemented(self, bits: int = 64) -> ClientRange:
        """The finite-precision distribution that `sample` draws from, no more private."""
        return ClientRange(self.epsilon, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """Reports of the layers x, shape (..., n); shape, floating dtype and device of x."""
        source = source_of(rng)
        layer = source.array("x", x)
        center, radius, position = _standardised(layer, source.xp)
        return as_reports(center + radius * self._unit().sample(position, rng=rng), layer, source.xp)

    def _unit(self) -> Any:
        ideal = TwoPoint(self.epsilon)
        return ideal if self.bits is None else ideal.implemented(self.bits)


def _range_of(name: str, weights: Any, floor: float) -> tuple[float, float]:
    """Center and radius such that center -+ radius, in floating point, enclose all weights."""
    values = as_array(name, weights)
    if not is_torch_array(values):
        values = numbers_of(name, values)
    if math.prod(values.shape) == 0:
        raise ValueError(f"{name} must have at least one weight, got shape {tuple(values.shape)}")
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{name} must be finite numbers, got some from {low!r} to {high!r}")
    center = low / 2 + high / 2
    radius = max(center - low, high - center, floor)
    if radius == 0:
        raise ValueError(f"{name} must not be constant where floor is 0, got {low!r} throughout; give a floor > 0")
    while center - radius > low or center + radius < high:
        radius = math.nextafter(radius, math.inf)
    return center, radius


def _checked(name: str, weights: Any, mechanism: TwoPoint) -> Any:
    return in_interval(name, weights, *mechanism.domain(), array_api_compat.array_namespace(weights))


def _clipped(name: str, weights: Any, mechanism: TwoPoint) -> Any:
    xp = array_api_compat.array_namespace(weights)
    return as_reports(xp.clip(finite_numbers(name, weights, xp), *mechanism.domain()), weights, xp)


def _standardised(x: Any, xp: Any = NumpySource.xp) -> tuple[Any, Any, Any]:
    """Center and radius of each layer, shape (..., 1), and its weights scaled to [-1, 1]; float64."""
    wide = finite_numbers("x", x, xp)
    if wide.ndim == 0 or wide.shape[-1] < 2:
        raise ValueError(f"x must be layers of shape (..., n) with n >= 2, got shape {tuple(wide.shape)}")
    low, high = xp.min(wide, axis=-1, keepdims=True), xp.max(wide, axis=-1, keepdims=True)
    center, radius = low / 2 + high / 2, high / 2 - low / 2
    if not bool(xp.all(radius > 0)):
        raise ValueError("x must have no layer whose weights are all equal: its range is empty")
    return center, radius, xp.clip((wide - center) / radius, -1.0, 1.0)


def _outline(layers: Any) -> str:
    if isinstance(layers, Mapping):
        return f"a mapping with the names {tuple(layers)!r}"
    return f"{type(layers).__name__} of {len(layers)}" if isinstance(layers, Sized) else repr(layers)
