r"""FedMD-LDP: each party adds noise to its scores, calibrated to a budget for all queries of all rounds.

A query is one public image's vector of scores. Whatever a record changes in the model, two vectors of softmax or argmax
scores differ by at most 2 in l1 and sqrt(2) in l2; logits have no bound, so each vector is scaled down to a norm of at
most c, and two of them differ by at most 2c. Rounds x images such queries compose, adaptively.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Sections 3 and 5.1; the paper gives no scale.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch

from ldp_audit.mechanisms import Gaussian, Laplace

Noise = Gaussian | Laplace

_ROUNDING = 1e-5


def sensitivity(noise: str, scores: str, clip_norm: float) -> float:
    """The largest distance of two score vectors: in l2 for Gaussian noise, in l1 for Laplace.

    That of float32 numbers: a softmax or a clipped vector may be longer than the ideal one by some ulps of 6e-8.
    """
    if scores == "argmax":
        return math.sqrt(2) if noise == "gaussian" else 2.0
    exact = 2 * clip_norm if scores == "logits" else math.sqrt(2) if noise == "gaussian" else 2.0
    return exact * (1 + _ROUNDING)


@lru_cache(maxsize=64)
def calibrated(noise: str, reach: float, queries: int, epsilon: float, delta: float) -> Noise:
    """The least noise with which so many queries of this sensitivity stay within (epsilon, delta) together.

    Within 1e-6 of it (Gaussian) or 1e-3 (Laplace, whose composition is numerical), on the safe side.
    Raises ValueError for a budget that no noise meets.
    """
    from ldp_audit.accounting import calibrate, compose

    if not max(epsilon, delta) > 0 or (noise == "gaussian" and delta == 0):
        raise ValueError(f"budget must allow {noise} noise, got epsilon = {epsilon!r}, delta = {delta!r}")

    def spent(size: float) -> object:
        return compose([(_noise(noise, size, reach), queries)])

    low, high = _range(noise, reach, queries, epsilon, delta)
    tolerance = 1e-6 if noise == "gaussian" else 1e-3
    found = calibrate(spent, epsilon=epsilon, delta=delta, low=low, high=high, increasing=False, tolerance=tolerance)
    return _noise(noise, found.value, reach)


def bounded(scores: torch.Tensor, noise: str, clip_norm: float) -> tuple[torch.Tensor, float]:
    """Vectors of shape (images, classes) scaled down to a norm of at most clip_norm, and the share that were longer.

    The norm is l2 for Gaussian noise, l1 for Laplace, as the sensitivity is.
    """
    norms = torch.linalg.vector_norm(scores, ord=2 if noise == "gaussian" else 1, dim=1, keepdim=True)
    longer = norms > clip_norm
    factor = torch.where(longer, clip_norm / norms.clamp(min=clip_norm), torch.ones_like(norms))
    return scores * factor, float(longer.double().mean())


def noisy(scores: torch.Tensor, noise: Noise, generator: torch.Generator) -> torch.Tensor:
    """The scores as they leave the party: noise of its own on each number, drawn anew from the generator."""
    return noise.sample(scores, rng=generator)


def agreement(reports: torch.Tensor, scores: torch.Tensor) -> float:
    """The share of images, of shape (images, classes), whose largest score is still the largest."""
    return float((reports.argmax(dim=1) == scores.argmax(dim=1)).double().mean())


def exact_variance(noise: Noise) -> float:
    """Of one number's noise."""
    return float(noise.variance(0.0))


def _noise(noise: str, size: float, reach: float) -> Noise:
    return Gaussian(sigma=size, sensitivity=reach) if noise == "gaussian" else Laplace(scale=size, sensitivity=reach)


def _range(noise: str, reach: float, queries: int, epsilon: float, delta: float) -> tuple[float, float]:
    """A size that may do for a single query at best, and one that surely suffices for all.

    Laplace: one query's delta, 1 - e**((epsilon - D/b)/2); and pure composition, or half of it as a total variation.
    Gaussian: mu = sqrt(N) D / sigma has delta(0) <= mu / sqrt(2 pi); the lower end is far below what can be asked for.
    """
    if noise == "laplace":
        return reach / (epsilon - 2 * math.log1p(-delta)) * (1 - 1e-9), reach * queries / max(epsilon, delta)
    enough = reach * math.sqrt(queries) / delta
    return enough * 1e-9, enough
