"""Laws of vectors whose coordinates are independent given the input, and where such a law cuts a coordinate.

The events are {ratio >= c}, the log-likelihood ratio cut at different levels c. Search samples of the program on x give
p = P(ratio >= c | x). The law gives p/q without the noise of a second sample, as q = E[1_{ratio >= c} e**-ratio | x];
so that the best of many cuts does not win by luck.

A `ProductLaw` is that of a vector whose coordinates are independent given the input, one law a coordinate:

    ln P(y | x) = sum over j of ln P_j(y_j | encode(x)_j)

One-time RAPPOR with d bits is d times randomised response, encode(x) being the bits that the hashes of x set
(Erlingsson, Pihur, Korolova, "RAPPOR", CCS 2014); noise on each coordinate of a vector is another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ldp_audit.auditing.scores.law_score import Law, log_ratio
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.numerics import is_number, listed, whole

_AGREES = 3.0  # standard deviations between what was seen and what the law says of the event
_MOST_CUTS = 64


@dataclass(frozen=True)
class Cuts:
    """Values in ascending order with their ratios, and for each level the gain ln(p/q) and its variance in the test."""

    values: np.ndarray
    ratios: np.ndarray
    levels: np.ndarray
    gains: np.ndarray
    variances: np.ndarray


def cuts_of(values: np.ndarray, ratios: np.ndarray, likelier: np.ndarray, trials: int) -> Cuts:
    """values: distinct, ascending, shape (k,).   ratios: theirs, nats, infinite ones allowed.
    likelier: the sample on x, among the values.   trials: of each input, that the test will have.
    """
    times = np.bincount(np.searchsorted(values, likelier), minlength=len(values))
    with np.errstate(over="ignore"):
        weights = times * np.exp(np.where(times > 0, -ratios, 0.0))
    order = np.argsort(-ratios, kind="stable")
    levels = _levels(ratios[order])
    ends = np.searchsorted(-ratios[order], -levels, side="right") - 1
    hits, other = np.cumsum(times[order])[ends], np.cumsum(weights[order])[ends]
    p = np.clip(hits, 0.5, len(likelier) - 0.5) / len(likelier)
    q = np.clip(p * other / np.maximum(hits, 0.5), 1 / trials, 1.0)
    gains = np.where(hits > 0, np.log(p / q), -math.inf)
    return Cuts(values, ratios, levels, gains, ((1 - p) / p + (1 - q) / q) / trials)


def _levels(descending: np.ndarray) -> np.ndarray:
    """Distinct ratios; of many those at equal shares, and those at ranks 1, 2, 4 ..., where events are rare."""
    distinct = np.unique(descending)[::-1]
    if len(distinct) <= _MOST_CUTS:
        return distinct
    even = np.linspace(0, len(distinct) - 1, _MOST_CUTS).astype(int)
    rare = 2 ** np.arange(int(math.log2(len(distinct))))
    return distinct[np.unique(np.concatenate([even, rare]))]


@runtime_checkable
class SampledLaw(Law, Protocol):
    """A law that can be drawn from."""

    def sample(self, x: Any, *, rng: np.random.Generator) -> Any:
        """One output on each of the inputs x."""
        ...


@dataclass(frozen=True)
class ProductLaw:
    """Coordinate j of an output follows laws[j] at encode(x)[j], independently of the others.

    laws:   one a coordinate, one or more.
    encode: x -> the inputs of the coordinates, as many as laws. None: x is that vector already, or one number, which
        every coordinate gets.
    Raises ValueError for no laws, and for what has no log_prob.
    """

    laws: Sequence[Law]
    encode: Callable[[Any], Sequence[Any] | np.ndarray] | None = None

    def __post_init__(self) -> None:
        laws = tuple(listed(self.laws, "laws", "a sequence of laws"))
        if not laws:
            raise ValueError("laws must be one or more, got none")
        for law in laws:
            if not isinstance(law, Law):
                raise ValueError(f"laws must have log_prob(y, x), got {law!r:.200}")
        object.__setattr__(self, "laws", laws)

    @property
    def dimension(self) -> int:
        """How many coordinates an output has."""
        return len(self.laws)

    def encoded(self, x: Any) -> tuple[Any, ...]:
        """The inputs of the coordinates. Raises ValueError where there are not as many as laws."""
        found = x if self.encode is None else self.encode(x)
        if self.encode is None and np.ndim(found) == 0:
            return (found,) * self.dimension
        if np.ndim(found) == 0 or len(found) != self.dimension:
            source = "x" if self.encode is None else f"encode({x!r:.80})"
            raise ValueError(f"{source} must be {self.dimension} inputs, one a coordinate, got {found!r:.200}")
        return tuple(found)

    def log_prob(self, y: Any, x: Any) -> np.ndarray:
        """Log probability or density, nats, of outputs y, shape (..., d), on the one input x. returns: shape (...)."""
        y = self._vectors(y)
        total = np.zeros(y.shape[:-1])
        for law, (value,), places in self._groups(self.encoded(x)):
            part = y[..., places]
            total += np.reshape(law.log_prob(part.ravel(), value), part.shape).sum(axis=-1)
        return total[()]

    def log_ratio(self, y: Any, x: Any, other: Any) -> np.ndarray:
        """ln P(y | x) - ln P(y | other), shape (n, d) to (n,): of the coordinates whose inputs differ, each as
        `law_score.log_ratio` says it; 0 where one coordinate rules out x, and another the other input.
        """
        y = self._vectors(y)
        total = np.zeros(len(y))
        with np.errstate(invalid="ignore"):
            for law, (one, two), places in self._groups(self.encoded(x), self.encoded(other)):
                if not np.array_equal(one, two):
                    part = y[:, places]
                    total += log_ratio(law, part.ravel(), one, two).reshape(part.shape).sum(axis=1)
        return np.where(np.isnan(total), 0.0, total)

    def coordinate_log_ratio(self, place: int, y: np.ndarray, x: Any, other: Any) -> np.ndarray:
        """ln P_j(y_j | x) - ln P_j(y_j | other) of one coordinate, j = place. y: shape (n,). returns: shape (n,)."""
        return log_ratio(self.laws[place], y, self.encoded(x)[place], self.encoded(other)[place])

    def carries(self, x: Any, other: Any) -> np.ndarray:
        """Whether a coordinate's input differs between the two; boolean, shape (d,)."""
        pairs = zip(self.encoded(x), self.encoded(other), strict=True)
        return np.array([not np.array_equal(a, b) for a, b in pairs])

    def sample(self, x: Any, *, rng: np.random.Generator, n: int | None = None) -> np.ndarray:
        """One output, shape (d,), or n of them, shape (n, d), on the one input x; from the samplers of the laws.

        Raises ValueError where a law has none.
        """
        rows = 1 if n is None else whole(n, "n", 0, 2**40)
        columns = [_drawn(law, value, rows, rng) for law, value in zip(self.laws, self.encoded(x), strict=True)]
        drawn = np.stack(columns, axis=1)
        return drawn[0] if n is None else drawn

    def _vectors(self, y: Any) -> np.ndarray:
        y = numbers_of("y", y).astype(np.float64)
        if y.shape[-1:] != (self.dimension,):
            raise ValueError(f"y must have shape (..., {self.dimension}), got {y.shape}")
        return y

    def _groups(self, *encoded: tuple[Any, ...]) -> list[tuple[Law, tuple[Any, ...], list[int]]]:
        """Coordinates that have one law and the same inputs, numbers: a single call evaluates them all."""
        found: dict[Any, tuple[Law, tuple[Any, ...], list[int]]] = {}
        for place, (law, *values) in enumerate(zip(self.laws, *encoded, strict=True)):
            simple = all(is_number(value) for value in values)
            key = (id(law), *map(float, values)) if simple else place
            found.setdefault(key, (law, tuple(values), []))[2].append(place)
        return list(found.values())


def _drawn(law: Any, x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    if not isinstance(law, SampledLaw):
        raise ValueError(f"laws must have sample(x, rng=rng) to draw from, got {law!r:.200}")
    return np.asarray(law.sample(np.broadcast_to(np.asarray(x), (n, *np.shape(x))).copy(), rng=rng), dtype=np.float64)
