"""The law of a vector whose coordinates are independent given the input: a law for each coordinate.

    ln P(y | x) = sum over j of ln P_j(y_j | encode(x)_j)

One-time RAPPOR with d bits is d times randomised response, encode(x) being the bits that the hashes of x set
(Erlingsson, Pihur, Korolova, "RAPPOR", CCS 2014); noise on each coordinate of a vector is another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.auditing.declared.law_score import Law, log_ratio


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
        laws = tuple(self.laws)
        if not laws:
            raise ValueError("laws must be one or more, got none")
        for law in laws:
            if not callable(getattr(law, "log_prob", None)):
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
        if n is not None and n < 0:
            raise ValueError(f"n must be at least 0, got {n!r}")
        rows = 1 if n is None else n
        columns = [_drawn(law, value, rows, rng) for law, value in zip(self.laws, self.encoded(x), strict=True)]
        drawn = np.stack(columns, axis=1)
        return drawn[0] if n is None else drawn

    def _vectors(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64)
        if y.shape[-1:] != (self.dimension,):
            raise ValueError(f"y must have shape (..., {self.dimension}), got {y.shape}")
        return y

    def _groups(self, *encoded: tuple[Any, ...]) -> list[tuple[Law, tuple[Any, ...], list[int]]]:
        """Coordinates that have one law and the same inputs, numbers: a single call evaluates them all."""
        found: dict[Any, tuple[Law, tuple[Any, ...], list[int]]] = {}
        for place, (law, *values) in enumerate(zip(self.laws, *encoded, strict=True)):
            simple = all(isinstance(value, int | float | np.number) for value in values)
            key = (id(law), *map(float, values)) if simple else place
            found.setdefault(key, (law, tuple(values), []))[2].append(place)
        return list(found.values())


def _drawn(law: Any, x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    if not callable(getattr(law, "sample", None)):
        raise ValueError(f"laws must have sample(x, rng=rng) to draw from, got {law!r:.200}")
    return np.asarray(law.sample(np.broadcast_to(np.asarray(x), (n, *np.shape(x))).copy(), rng=rng), dtype=np.float64)
