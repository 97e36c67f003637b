"""What a law's outputs are: finitely many, very many numbers, or a density with or without atoms.

A law is a mechanism of `ldp_audit.mechanisms`, or an object with `log_prob(y, x)`, the log of a mass or of a density,
nats, and one of

    outputs         finitely many reports: a sequence, or a method without arguments; log_prob is a mass there
    breakpoints(x)  ascending finite numbers, between which the density is smooth and beyond which it has no mass worth
                    1e-12; log_prob takes an array of y. With `outputs` too, those are atoms beside the density.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ldp_audit.auditing.events.cells_of_densities import Density
from ldp_audit.auditing.outputs import cut

MOST_CELLS = 1024
"""More outputs than this, if they are numbers, are counted in intervals."""

_ACCEPTED = (
    "accepted: an object with log_prob(y, x) and outputs or breakpoints(x), or a mechanism (of a symbolic channel: "
    f"bound) whose reports are numbers, labels, or vectors of at most {MOST_CELLS} possible values"
)


def require_law(law: Any) -> None:
    """ValueError unless there is a log_prob."""
    if not callable(getattr(law, "log_prob", None)):
        raise ValueError(f"law must have log_prob(y, x), got {cut(law)}; {_ACCEPTED}")


def outputs_of(law: Any) -> list[tuple[Any, ...]]:
    """All outputs, each with the names that mean the same. ValueError if the law does not say."""
    from ldp_audit import mechanisms

    plain = _ideal(law)
    if isinstance(plain, mechanisms.RandomizedResponse):
        return [(y,) for y in range(plain.k)]
    if isinstance(plain, mechanisms.ExponentialSelection | mechanisms.PerturbedSampling):
        return [(y,) for y in range(plain.d)]
    if isinstance(plain, mechanisms.PerturbedEncoding):
        return [*((y,) for y in range(plain.d)), (None, -1)]
    if isinstance(plain, mechanisms.DuchiVector) and plain.d <= math.log2(MOST_CELLS):
        ends = (-plain.reach(), plain.reach())
        return [(corner,) for corner in itertools.product(ends, repeat=plain.d)]
    if (outputs := _given(law)) is None:
        raise ValueError(f"law must say what its outputs are, got {cut(law)}; {_ACCEPTED}")
    return [(y.item() if isinstance(y, np.generic) else y,) for y in outputs]


def _given(law: Any) -> Sequence[Any] | None:
    """What the law itself says."""
    outputs = getattr(law, "outputs", None)
    outputs = outputs() if callable(outputs) else outputs
    if outputs is None or isinstance(outputs, str | bytes) or not hasattr(outputs, "__iter__"):
        return None
    return list(outputs)


def _ideal(law: Any) -> Any:
    """The mechanism that an `implemented()` law has the outputs of; the law itself for others."""
    from ldp_audit.mechanisms.duchi_vector_words import DuchiVectorWords
    from ldp_audit.mechanisms.exponential_selection_words import ExponentialSelectionWords
    from ldp_audit.mechanisms.randomized_response_words import RandomizedResponseWords
    from ldp_audit.mechanisms.selection_words import SelectionWords

    words = DuchiVectorWords | ExponentialSelectionWords | RandomizedResponseWords | SelectionWords
    return law.mechanism if isinstance(law, words) else law


def many_points(law: Any, x: Any) -> np.ndarray | None:
    """The outputs of a law on a grid, ascending, float64; None where they are not many numbers."""
    from ldp_audit.mechanisms.gaussian_grid import GaussianGrid
    from ldp_audit.mechanisms.hybrid_words import HybridWords

    if isinstance(law, HybridWords):
        return np.sort(np.concatenate([law.piecewise().outputs(), law.points().outputs()]))
    if isinstance(law, GaussianGrid):
        reach = len(law.counts()) // 2 + 1
        steps = law.grid.between(x)[0] + np.arange(-reach, reach + 1)
        return (steps * law.grid.cells).astype(np.float64) * math.ldexp(1.0, law.grid.exponent)
    outputs = _given(law)
    if outputs is None or len(outputs) <= MOST_CELLS or not all(map(is_number, outputs)):
        return None
    return np.sort(np.asarray(outputs, dtype=np.float64))


def density_of(law: Any, x: Any) -> Density | None:
    """The law as a density with atoms; None if it has none."""
    from ldp_audit import mechanisms
    from ldp_audit.mechanisms.laplace_grid import LaplaceGrid

    if isinstance(law, mechanisms.BoundChannel):
        return _flat(law, x) if law.channel.pieces else None
    if isinstance(law, LaplaceGrid):  # 2**40 points a scale: no test tells them from the density
        law = law.mechanism
    if (knots := _knots(law, x)) is None:
        return None
    atoms = mechanisms.TwoPoint(law.epsilon).outputs() if isinstance(law, mechanisms.Hybrid) else _given(law) or ()
    ends = np.unique(np.asarray(knots, dtype=np.float64))
    if len(ends) < 2 or not np.isfinite(ends).all():
        raise ValueError(f"law's breakpoints must be two or more finite numbers, got {cut(knots)}")
    masses = masses_of(law, x, atoms)
    return Density(vectorised(law, x), ends, tuple(zip(map(float, atoms), masses.tolist(), strict=True)))


def _knots(law: Any, x: Any) -> Sequence[float] | np.ndarray | None:
    from ldp_audit import mechanisms

    known = mechanisms.Laplace | mechanisms.Gaussian | mechanisms.Piecewise | mechanisms.Hybrid
    if isinstance(law, known) and np.ndim(x) != 0:
        raise ValueError(f"inputs must be single numbers for {cut(law)}, got {cut(x)}")
    if isinstance(law, mechanisms.Laplace):
        return float(x) + law.scale * np.array([-40.0, -15.0, -4.0, 0.0, 4.0, 15.0, 40.0])
    if isinstance(law, mechanisms.Gaussian):
        return float(x) + law.sigma * np.array([-9.0, -5.0, -2.0, 0.0, 2.0, 5.0, 9.0])
    if isinstance(law, mechanisms.Piecewise | mechanisms.Hybrid):
        piecewise = mechanisms.Piecewise(law.epsilon)
        left, right = piecewise.inner(x)
        return [-piecewise.reach(), float(left), float(right), piecewise.reach()]
    return law.breakpoints(x) if callable(getattr(law, "breakpoints", None)) else None


def vectorised(law: Any, x: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The law's log_prob at x, of an array of outputs."""

    def log_density(y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            found = np.asarray(law.log_prob(y, x), dtype=np.float64)
        if found.shape != y.shape:
            raise ValueError(f"law's log_prob must take an array of y, got shape {found.shape} for {y.shape}")
        return found

    return log_density


def _flat(law: Any, x: Any) -> Density:
    """A bound channel with flat pieces: its probabilities, densities and ends at the input."""
    law.log_prob(0.0, *(x if isinstance(x, tuple | list) else (x,)))  # refuses inputs outside the domain
    probabilities, pieces = law.law_at(x if isinstance(x, tuple | list) else (x,))
    ends = np.array([float(pieces[0][0]), *(float(high) for _, high, _ in pieces)])
    with np.errstate(divide="ignore"):
        logs = np.concatenate([[-math.inf], np.log([float(height) for _, _, height in pieces]), [-math.inf]])

    def log_density(y: np.ndarray) -> np.ndarray:
        return logs[np.searchsorted(ends, y, side="right")]

    return Density(log_density, np.unique(ends), tuple(zip(law.outputs(), map(float, probabilities), strict=True)))


def masses_of(law: Any, x: Any, outputs: Sequence[Any]) -> np.ndarray:
    """The probability of each output."""
    with np.errstate(divide="ignore"):
        logs = [float(np.asarray(_log_prob(law, y, x))) for y in outputs]
    return np.exp(np.array(logs))


def _log_prob(law: Any, y: Any, x: Any) -> Any:
    """law.log_prob at the input x; a channel with several inputs takes them one by one."""
    from ldp_audit.mechanisms.bound_channel import BoundChannel
    from ldp_audit.mechanisms.bound_sampling import GridChannel

    inputs = x if isinstance(law, BoundChannel | GridChannel) and isinstance(x, tuple | list) else (x,)
    return law.log_prob(y, *inputs)


def is_number(y: Any) -> bool:
    """Whether an output is read as a number; true and false are."""
    return isinstance(y, bool | int | float | np.number)
