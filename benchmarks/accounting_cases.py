"""The accounting benchmark's cases, as plain data for us and every peer; the standard library alone.

A part is (kind, parameters, times). Kinds, with sensitivity 1:
rr: binary randomised response, (epsilon,).   laplace: Laplace noise, (scale,).   gaussian: Gaussian noise, (sigma,).
sampled: Gaussian noise on a Poisson sample, (rate, sigma), where neighbours differ by one record, added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass

Part = tuple[str, tuple[float, ...], int]


@dataclass(frozen=True)
class Case:
    """A composition, and the delta at which epsilon is computed."""

    parts: tuple[Part, ...]
    delta: float

    @property
    def mixed(self) -> bool:
        """Whether different mechanisms are composed."""
        return len(self.parts) > 1


def _rr(times: int, delta: float = 1e-6) -> Case:
    return Case((("rr", (0.1,), times),), delta)


_ALIGNED = (("rr", (0.1,), 1000), ("rr", (0.25,), 300), ("rr", (0.7,), 20))  # losses that are multiples of 0.05
_RESPONSES = (("rr", (0.1,), 1000), ("rr", (1 / 3,), 300), ("rr", (0.5**0.5,), 20))  # and of nothing in common
_NOISES = (("gaussian", (20.0,), 100), ("laplace", (10.0,), 200), ("rr", (0.1,), 300))
_TRAINING = (("sampled", (0.01, 1.0), 1000), ("gaussian", (5.0,), 1), ("laplace", (2.0,), 1))

CASES = {
    "RR 0.1 x 1e2": _rr(10**2),
    "RR 0.1 x 1e4": _rr(10**4),
    "RR 0.1 x 1e6": _rr(10**6),
    "RR 0.1 x 1e4, 1e-10": _rr(10**4, 1e-10),
    "RR 0.1 x 1e4, 1e-15": _rr(10**4, 1e-15),
    "Gaussian 50 x 1e3": Case((("gaussian", (50.0,), 1000),), 1e-6),
    "Gaussian 500 x 1e6": Case((("gaussian", (500.0,), 10**6),), 1e-6),
    "Laplace 1 x 1e2": Case((("laplace", (1.0,), 100),), 1e-6),
    "Laplace 10 x 1e4": Case((("laplace", (10.0,), 10**4),), 1e-6),
    "Laplace 10 x 1e4, 1e-10": Case((("laplace", (10.0,), 10**4),), 1e-10),
    "sampled Gaussian 0.01, 1 x 1e3": Case((("sampled", (0.01, 1.0), 1000),), 1e-6),
    "sampled Gaussian 0.01, 1 x 1e4": Case((("sampled", (0.01, 1.0), 10**4),), 1e-6),
    "3 RR, aligned": Case(_ALIGNED, 1e-6),
    "3 RR": Case(_RESPONSES, 1e-6),
    "3 RR, 1e-10": Case(_RESPONSES, 1e-10),
    "Gaussian, Laplace, RR": Case(_NOISES, 1e-6),
    "Gaussian, Laplace, RR, 1e-10": Case(_NOISES, 1e-10),
    "Gaussian, Laplace, RR, 1e-15": Case(_NOISES, 1e-15),
    "sampled 1e3, Gaussian, Laplace": Case(_TRAINING, 1e-6),
    "sampled 1e4, RR": Case((("sampled", (0.01, 1.0), 10**4), ("rr", (0.1,), 100)), 1e-6),
}
