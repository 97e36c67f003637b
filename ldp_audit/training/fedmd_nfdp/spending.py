"""What a run spends: the one draw of NFDP, or all noisy queries of FedMD-LDP; and the budget that these are to meet.

Parties' sizes are public; where they differ, the guarantee is that of the smallest party, whose records are the most
likely to be drawn.
"""

from __future__ import annotations

import math
from typing import Any

from ldp_audit.accounting import nfdp
from ldp_audit.accounting.protocols.protocol import Protocol, Step
from ldp_audit.mechanisms import Gaussian, Laplace, SubsampleRelease
from ldp_audit.training.fedmd_nfdp.plan import FedMd

_SOURCE = "Sun, Lyu, FedMD-NFDP (IJCAI 2021), Algorithm 1"


def sampling_of(plan: FedMd, records: int) -> SubsampleRelease | None:
    """How a party of so many records draws those that it trains on; None where it uses all.

    Raises ValueError for more draws without replacement than records.
    """
    if not plan.samples:
        return None
    replacement = plan.method != "nfdp-without"
    if plan.k > records and not replacement:
        raise ValueError(f"k must be at most the {records} records of a party without replacement, got {plan.k!r}")
    return SubsampleRelease(n=records, k=plan.k, replacement=replacement)


def budget_of(plan: FedMd, records: int) -> tuple[float, float]:
    """(epsilon, delta) of FedMD-LDP: the plan's, or what Theorem 2 states for k draws from so many records."""
    if plan.budget_epsilon is not None and plan.budget_delta is not None:
        return float(plan.budget_epsilon), float(plan.budget_delta)
    return SubsampleRelease(n=records, k=plan.k, replacement=True).published()


def protocol_of(plan: FedMd, records: int, noise: Gaussian | Laplace | None) -> Protocol | None:
    """The whole run, as `accounting` describes a protocol; None where nothing protects or nothing is released."""
    release = sampling_of(plan, records) if plan.communicates else None
    if release is not None:
        return Protocol(
            f"FedMD-NFDP, n = {records}, k = {plan.k}",
            (Step(release, times=(1,), name="the sample that is trained on"),),
            unit="record",
            adjacency="add/remove",
            rounds=plan.rounds,
            paper="fedmd-nfdp",
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
        paper="fedmd-ldp" if isinstance(noise, Gaussian) else None,
        source=_SOURCE,
        notes=("Two score vectors differ by at most the sensitivity, whatever records the model has seen.",),
    )


def sampling_record(release: SubsampleRelease) -> dict[str, Any]:
    """n, k, what one draw spends exactly (epsilon 0), and the pair that the paper states; JSON-ready."""
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
