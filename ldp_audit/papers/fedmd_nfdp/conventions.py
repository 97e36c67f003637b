"""FedMD-NFDP's own accounting, and of FedMD with noise (Theorems 1 and 2, Table 2), with the verdicts on it."""

from __future__ import annotations

import math

from scipy.special import ndtri

from ldp_audit.accounting.protocols.paper_claims import PaperClaim, only_step
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.mechanisms import Gaussian, SubsampleRelease
from ldp_audit.papers.fedmd_nfdp.claims.table_2 import TABLE_2 as PRINTED

VERDICTS = {
    "NF-FLAT": "VACUOUS",
    "NF-LDPnoise": "PROVED",
    "NF-LDPorder": "PROSE",
    "NF-T1": "PROVED",
    "NF-T2": "PROVED",
    "NF-TAB2k": "REFUTED",
    "NF-TAB2ln": "REFUTED",
    "NF-VAC": "VACUOUS",
}
"""The engines' verdicts, by claim; a test holds them to what the engines reach."""

TABLE_2 = {(n, k): (float(epsilon), float(delta)) for (_, n, k), (epsilon, delta, _) in PRINTED.items()}
"""FedMD-NFDP's epsilon and delta as printed, by the records n and the sample's size k."""


def _on(*claims: str) -> dict[str, str]:
    return {claim: VERDICTS[claim] for claim in claims}


def fedmd_ldp(protocol: Protocol) -> tuple[PaperClaim, ...]:
    """Orders of magnitude for noise on the scores.

    Raises ValueError for other noise than Gaussian, and for several steps.
    """
    step, mechanism = only_step(protocol), protocol.mechanisms[0]
    if not isinstance(mechanism, Gaussian):
        raise ValueError(f"FedMD-LDP's accounting needs Gaussian noise, got {mechanism!r}")
    queries = protocol.times(step)
    mu = mechanism.sensitivity / mechanism.sigma * math.sqrt(queries)
    noises = (
        PaperClaim(
            f"FedMD-NFDP's guarantee on {data} would need a huge noise",
            0.0,
            delta,
            _on("NF-LDPnoise"),
            f"sigma = {math.sqrt(queries) / (2 * float(ndtri((1 + delta) / 2))):.4g} sensitivities a query give that.",
        )
        for data, delta in (("FEMNIST", 0.0062), ("CIFAR-10", 0.0583))
    )
    return (
        PaperClaim(
            "over all queries and rounds, epsilon is 10^4 to 10^7 at FedMD-NFDP's delta",
            None,
            0.0583,
            _on("NF-LDPorder"),
            f"Neither noise nor epsilon of a query is given. With this noise mu = {mu:.6g}.",
        ),
        *noises,
    )


def fedmd_nfdp(protocol: Protocol) -> tuple[PaperClaim, ...]:
    """One draw's epsilon and delta by the theorems, and as Table 2 prints them.

    Raises ValueError for another mechanism, and for several steps.
    """
    only_step(protocol)
    release = protocol.mechanisms[0]
    if not isinstance(release, SubsampleRelease):
        raise ValueError(f"FedMD-NFDP's accounting needs a SubsampleRelease, got {release!r}")
    n, k = release.n, release.k
    if release.replacement:
        words, epsilon, theorem = "k ln((n+1)/n), 1 - ((n-1)/n)^k", k * math.log1p(1 / n), "NF-T2"
        delta = -math.expm1(k * math.log1p(-1 / n)) if n > 1 else float(k > 0)
    else:
        words, epsilon, delta, theorem = "ln((n+1)/(n+1-k)), k/n", -math.log1p(-k / (n + 1)), k / n, "NF-T1"
    theory = PaperClaim(
        f"one draw is ({words})-DP",
        epsilon,
        delta,
        _on(theorem, "NF-FLAT", "NF-VAC"),
        f"(0, {delta:.4g}) holds as well, and no smaller delta at any epsilon: a sampled record is shown as it is.",
    )
    if not release.replacement or (n, k) not in TABLE_2:
        return (theory,)
    claims = ("NF-TAB2ln", "NF-TAB2k") if k == 16 else ("NF-TAB2ln",)
    other = " and the numbers are those of k = 18" if k == 16 else ""
    return theory, PaperClaim(
        "Table 2 prints",
        *TABLE_2[n, k],
        _on(*claims),
        f"With the logarithm to base 10{other}; natural: {epsilon:.4f}.",
    )
