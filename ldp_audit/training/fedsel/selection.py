"""The selections on tensors: what they see of the magnitudes, the index that they draw, and its exact law.

EXP, PE and PS are those of `ldp_audit.mechanisms`, drawn by their own samplers. Beside them two that are not random
in that way: `Largest`, the non-private top 1 (NP-K), and `Uniform`, where a selection has no budget at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from ldp_audit.mechanisms import ExponentialSelection, PerturbedEncoding, PerturbedSampling
from ldp_audit.mechanisms.randomness import source_of
from ldp_audit.mechanisms.ranking import ranking, top_set


@dataclass(frozen=True)
class Largest:
    """The coordinate of the largest magnitude, always.   d: how many there are."""

    d: int


@dataclass(frozen=True)
class Uniform:
    """A uniform coordinate, whatever the magnitudes.   d: how many there are."""

    d: int


def oracle(name: str, epsilon: float, d: int, k: int, *, corrected: bool) -> Any:
    """The selection of this name (EXP, PE, PS) with this budget; `Uniform` where the budget is 0.

    corrected: PE's report, and not only each of its bits, then has that epsilon.
    """
    if epsilon == 0:
        return Uniform(d)
    if name == "EXP":
        return ExponentialSelection(epsilon, d)
    if name == "PS":
        return PerturbedSampling(epsilon, d, k)
    return PerturbedEncoding.calibrated(epsilon, d, k) if corrected else PerturbedEncoding(epsilon, d, k)


def seen(mechanism: Any, vectors: torch.Tensor) -> torch.Tensor:
    """What the selection sees of vectors (..., d): their rankings, or who is in the top k. Shape (..., d)."""
    if isinstance(mechanism, ExponentialSelection):
        return ranking(vectors.abs())
    if isinstance(mechanism, Uniform):
        return torch.zeros_like(vectors, dtype=torch.bool)
    return top_set(vectors.abs(), 1 if isinstance(mechanism, Largest) else mechanism.k)


def draw(mechanism: Any, sight: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """An index for each, -1 for none; int64, shape (...)."""
    if isinstance(mechanism, Largest):
        return sight.to(torch.uint8).argmax(-1)
    if isinstance(mechanism, Uniform):
        return source_of(generator).below(mechanism.d, sight.shape[:-1])
    return mechanism.sample(sight, rng=generator)


def probabilities(mechanism: Any, sight: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """P(j | what is seen) of every coordinate, shape (..., d); what is missing from 1 is that of none."""
    return torch.tensor(_table(mechanism), dtype=dtype, device=sight.device)[sight.to(torch.int64)]


def nothing(mechanism: Any) -> float:
    """The probability of no index, whatever is seen."""
    return math.exp(mechanism.none_log_prob()) if hasattr(mechanism, "none_log_prob") else 0.0


def _table(mechanism: Any) -> list[float]:
    """The probability of an index by its rank, or by its status."""
    if isinstance(mechanism, Largest):
        return [0.0, 1.0]
    if isinstance(mechanism, Uniform):
        return [1 / mechanism.d]
    if isinstance(mechanism, ExponentialSelection):
        ranks = torch.as_tensor(mechanism.rank_log_probs()).exp().tolist()
        return [0.0, *ranks]
    inside, outside = torch.tensor(mechanism.index_log_probs(), dtype=torch.float64).exp().tolist()
    return [outside, inside]
