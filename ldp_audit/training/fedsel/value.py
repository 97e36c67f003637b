"""The value mechanisms on tensors: clip to [-1, 1], perturb; and their exact second moments.

Variances are those of `ldp_audit.mechanisms`; all three are V(0) + (V(1) - V(0)) x**2, which lets tensors use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from ldp_audit.mechanisms import Hybrid, Piecewise, TwoPoint

MECHANISMS: dict[str, Any] = {"PM": Piecewise, "HM": Hybrid, "DUCHI": TwoPoint}
"""By the name in a solution; each takes its epsilon."""


class Perturbed(NamedTuple):
    """report: what is sent.   clipped: where the value lay outside [-1, 1]. Both of the values' shape."""

    report: torch.Tensor
    clipped: torch.Tensor


@dataclass(frozen=True)
class Quadratic:
    """E[report**2 | x] = at_zero + slope x**2, for x in [-1, 1]."""

    at_zero: float
    slope: float

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Shape of x."""
        return self.at_zero + self.slope * x * x


def perturb(mechanism: Any, values: torch.Tensor, generator: torch.Generator) -> Perturbed:
    """Each value clipped and perturbed: without the clip no epsilon is finite."""
    return Perturbed(mechanism.sample(values.clamp(-1, 1), rng=generator), values.abs() > 1)


def second_moment(mechanism: Any) -> Quadratic:
    """Of an unbiased value mechanism on [-1, 1]; ValueError where its variance is no such quadratic."""
    zero, half, one = (float(mechanism.variance(x)) for x in (0.0, 0.5, 1.0))
    if abs(half - (zero + (one - zero) / 4)) > 1e-9 * max(zero, one):
        raise ValueError(f"mechanism must have a variance of the form a + b x**2, got {mechanism!r}")
    return Quadratic(zero, 1 + one - zero)
