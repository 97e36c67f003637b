"""The protection of private records and its privacy spend: NFDP's one sample, and FedMD-LDP's noise on each query.

A query is one public image's vector of scores. Whatever a record changes in the model, two vectors of softmax or argmax
scores differ by at most 2 in l1 and sqrt(2) in l2; logits are unbounded, so each vector is scaled down to a norm of at
most c, and two of them differ by at most 2c. Rounds x images such queries compose adaptively.

Parties' sizes are public; if they differ, the guarantee is that of the smallest party, whose records have the largest
sampling probability.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Sections 3 and 5.1; the paper gives no scale of the noise.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch

from ldp_audit.accounting import calibrate, compose, nfdp
from ldp_audit.accounting.protocols.paper_claims import installed
from ldp_audit.accounting.protocols.protocol import Protocol, Step
from ldp_audit.mechanisms import Gaussian, Laplace, SubsampleRelease
from ldp_audit.training.fedmd_nfdp.settings import FedMdSettings

_SOURCE = "Sun, Lyu, FedMD-NFDP (IJCAI 2021), Algorithm 1"


def sampling_of(plan: FedMdSettings, records: int) -> SubsampleRelease | None:
    """How a party with this many records samples its training records; None if it uses all.

    Raises ValueError for more draws without replacement than records.
    """
    if not plan.samples:
        return None
    replacement = plan.method != "nfdp-without"
    if plan.k > records and not replacement:
        raise ValueError(f"k must be at most the {records} records of a party without replacement, got {plan.k!r}")
    return SubsampleRelease(n=records, k=plan.k, replacement=replacement)


def budget_of(plan: FedMdSettings, records: int) -> tuple[float, float]:
    """(epsilon, delta) of FedMD-LDP: the plan's, or Theorem 2's for k draws from this many records."""
    if plan.budget_epsilon is not None and plan.budget_delta is not None:
        return float(plan.budget_epsilon), float(plan.budget_delta)
    return SubsampleRelease(n=records, k=plan.k, replacement=True).published()


def protocol_of(plan: FedMdSettings, records: int, noise: Gaussian | Laplace | None) -> Protocol | None:
    """The protocol of the whole run; None if nothing protects the records, or nothing is released."""
    release = sampling_of(plan, records) if plan.communicates else None
    if release is not None:
        return Protocol(
            f"FedMD-NFDP, n = {records}, k = {plan.k}",
            (Step(release, times=(1,), name="the sample that is trained on"),),
            unit="record",
            adjacency="add/remove",
            rounds=plan.rounds,
            paper=installed("fedmd-nfdp"),
            source=_SOURCE,
            notes=("One draw, kept for all rounds: everything after it is post-processing (NF-POST).",),
        )
    if noise is None:
        return None
    return Protocol(
        f"FedMD-LDP, {plan.scores}, {plan.noise} noise",
        (Step(noise, times=("rounds", "queries"), name="a public image's scores"),),
        unit="record",
        adjacency="replace",
        rounds=plan.rounds,
        queries=plan.public_per_round,
        paper=installed("fedmd-ldp") if isinstance(noise, Gaussian) else None,
        source=_SOURCE,
        notes=("Two score vectors differ by at most the sensitivity, whatever records the model has seen.",),
    )


def sampling_record(release: SubsampleRelease) -> dict[str, Any]:
    """n, k, the exact spend of the sample (epsilon 0), and the paper's pair; JSON-ready."""
    published_epsilon, published_delta = release.published()
    exact = nfdp(release.n, release.k, replacement=release.replacement)
    return {
        "n": release.n,
        "k": release.k,
        "replacement": release.replacement,
        "exact": {"epsilon": 0.0, "delta": exact.delta(0.0)},
        "paper": {
            "epsilon": published_epsilon if math.isfinite(published_epsilon) else "inf",
            "delta": published_delta,
        },
    }


Noise = Gaussian | Laplace

_ROUNDING = 1e-5


def sensitivity(noise: str, scores: str, clip_norm: float) -> float:
    """The largest distance of two score vectors: in l2 for Gaussian noise, in l1 for Laplace.

    For float32 numbers: a softmax or clipped vector may exceed the ideal norm by some ulps of 6e-8.
    """
    if scores == "argmax":
        return math.sqrt(2) if noise == "gaussian" else 2.0
    exact = 2 * clip_norm if scores == "logits" else math.sqrt(2) if noise == "gaussian" else 2.0
    return exact * (1 + _ROUNDING)


@lru_cache(maxsize=64)
def calibrated(noise: str, reach: float, queries: int, epsilon: float, delta: float) -> Noise:
    """The least noise with which this many queries of this sensitivity together satisfy (epsilon, delta).

    Within 1e-6 of it (Gaussian) or 1e-3 (Laplace, whose composition is numerical), on the safe side.
    Raises ValueError for a budget that no noise satisfies.
    """
    if not max(epsilon, delta) > 0 or delta >= 1 or (noise == "gaussian" and delta == 0):
        raise ValueError(f"budget must allow {noise} noise, got epsilon = {epsilon!r}, delta = {delta!r}")

    def spent(size: float) -> object:
        return compose([(_noise(noise, size, reach), queries)])

    low, high = _range(noise, reach, queries, epsilon, delta)
    tolerance = 1e-6 if noise == "gaussian" else 1e-3
    found = calibrate(spent, epsilon=epsilon, delta=delta, low=low, high=high, increasing=False, tolerance=tolerance)
    return _noise(noise, found.value, reach)


def bounded(scores: torch.Tensor, noise: str, clip_norm: float) -> tuple[torch.Tensor, float]:
    """Scale vectors of shape (images, classes) down to a norm of at most clip_norm; also the share of longer ones.

    The norm is l2 for Gaussian noise, l1 for Laplace, as the sensitivity is.
    """
    norms = torch.linalg.vector_norm(scores, ord=2 if noise == "gaussian" else 1, dim=1, keepdim=True)
    longer = norms > clip_norm
    factor = torch.where(longer, clip_norm / norms.clamp(min=clip_norm), torch.ones_like(norms))
    return scores * factor, float(longer.double().mean())


def noisy(scores: torch.Tensor, noise: Noise, generator: torch.Generator) -> torch.Tensor:
    """The scores with independent noise on each number."""
    return noise.sample(scores, rng=generator)


def agreement(reports: torch.Tensor, scores: torch.Tensor) -> float:
    """The share of images, of shape (images, classes), whose largest score is unchanged by the noise."""
    return float((reports.argmax(dim=1) == scores.argmax(dim=1)).double().mean())


def exact_variance(noise: Noise) -> float:
    """The variance of one number's noise."""
    return float(noise.variance(0.0))


def _noise(noise: str, size: float, reach: float) -> Noise:
    kind = Gaussian if noise == "gaussian" else Laplace
    return kind(size, sensitivity=reach, replaced=reach)


def _range(noise: str, reach: float, queries: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Bounds on the noise size: necessary for a single query, and sufficient for all queries.

    Laplace: one query's delta, 1 - e**((epsilon - D/b)/2); and pure composition, or half of it as a total variation.
    Gaussian: mu = sqrt(N) D / sigma has delta(0) <= mu / sqrt(2 pi); the lower bound is far below any sensible request.
    """
    if noise == "laplace":
        return reach / (epsilon - 2 * math.log1p(-delta)) * (1 - 1e-9), reach * queries / max(epsilon, delta)
    enough = reach * math.sqrt(queries) / delta
    return enough * 1e-9, enough
