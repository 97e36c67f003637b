"""The papers' own accounting of their protocols, each sentence beside the verdict on it.

A statement is repeated here as the paper's, with its own numbers; `ldp_audit.claims` settles it under the id that is
named, and `ldp-audit check --only ID` shows the proof or the counterexample. The tests hold the verdicts below to those
that the engines reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtri

from ldp_audit.accounting.protocols.protocol import PaperKey, Protocol, Step
from ldp_audit.mechanisms import ExponentialSelection, Gaussian, PerturbedEncoding, PerturbedSampling, SubsampleRelease
from ldp_audit.numerics import as_float

VERDICTS = {
    "LF-CURSE": "REFUTED",
    "LF-EPSTOT": "REFUTED",
    "LF-MODEL": "REFUTED",
    "LF-SEQ": "PROVED",
    "LF-UNLINK": "REFUTED",
    "FS-EPOCH": "PROVED",
    "FS-L1": "PROVED",
    "FS-L2": "REFUTED",
    "FS-L3": "PROVED",
    "FS-MUB": "PROVED",
    "FS-T31": "PROVED",
    "FS-T31pe": "REFUTED",
    "NF-FLAT": "VACUOUS",
    "NF-LDPnoise": "PROVED",
    "NF-LDPorder": "PROSE",
    "NF-T1": "PROVED",
    "NF-T2": "PROVED",
    "NF-TAB2k": "REFUTED",
    "NF-TAB2ln": "REFUTED",
    "NF-VAC": "VACUOUS",
}
"""The engines' verdicts, by claim."""

TABLE_2 = {
    (2880, 16): (0.0027, 0.0062),
    (2880, 60): (0.0090, 0.0206),
    (2880, 300): (0.0452, 0.0989),
    (2880, 2880): (0.4342, 0.6321),
    (300, 16): (0.0260, 0.0583),
    (300, 60): (0.0867, 0.1815),
    (300, 120): (0.1734, 0.3301),
    (300, 300): (0.4336, 0.6327),
}
"""FedMD-NFDP's epsilon and delta as printed, by the records n and the sample's size k."""


@dataclass(frozen=True)
class PaperClaim:
    """One sentence of a paper's own accounting.

    epsilon: nats; None where the paper gives an order of magnitude alone.   delta: at which; 0 for pure epsilon.
    claims: ids of `ldp_audit.claims`.   instead: the correction, where the sentence does not hold, or not alone.
    """

    says: str
    epsilon: float | None
    delta: float
    claims: tuple[str, ...]
    instead: str = ""

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts on the claims, in their order."""
        return tuple(VERDICTS[claim] for claim in self.claims)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "says": self.says,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "claims": dict(zip(self.claims, self.verdicts, strict=True)),
            "instead": self.instead,
        }


def paper_claims(protocol: Protocol) -> tuple[PaperClaim, ...]:
    """The paper's own accounting of this protocol; empty where it names no paper.

    Raises ValueError where the protocol lacks a quantity of the paper's formulas.
    """
    return () if protocol.paper is None else _CONVENTIONS[protocol.paper](protocol)


def _ldp_fl(protocol: Protocol) -> tuple[PaperClaim, ...]:
    step = _only(protocol)
    epsilon = as_float(getattr(protocol.mechanisms[0], "epsilon", None))
    if math.isnan(epsilon):
        raise ValueError(f"LDP-FL's accounting needs a mechanism with an epsilon, got {protocol.mechanisms[0]!r:.200}")
    every, a_round = protocol.times(step), protocol.times(step, without=("rounds",))
    return (
        PaperClaim("without shuffling, the budget grows to T d epsilon", every * epsilon, 0.0, ("LF-SEQ",)),
        PaperClaim(
            "model shuffling reduces it to d epsilon",
            a_round * epsilon,
            0.0,
            ("LF-MODEL",),
            "The pure epsilon stays T d epsilon, for any number of clients.",
        ),
        PaperClaim(
            "parameter shuffling leaves epsilon, for nothing can be linked",
            epsilon,
            0.0,
            ("LF-UNLINK", "LF-CURSE", "LF-EPSTOT"),
            "The anonymous counts add up over weights and rounds; see 'shuffled' above.",
        ),
    )


def _fedsel(protocol: Protocol) -> tuple[PaperClaim, ...]:
    if protocol.split is None:
        raise ValueError("FedSel's accounting needs a [split]")
    budgets, whole = protocol.budgets(), protocol.split.epsilon
    selection = next(
        (m for s, m in zip(protocol.steps, protocol.mechanisms, strict=True) if s.stage == "selection"), None
    )
    published = isinstance(selection, PerturbedEncoding)
    by_kind = ((PerturbedEncoding, "FS-L2"), (ExponentialSelection, "FS-L1"), (PerturbedSampling, "FS-L3"))
    stage = tuple(claim for kind, claim in by_kind if isinstance(selection, kind))
    exact = f"Exactly {selection.exact_epsilon():.6g}." if published else ""
    if protocol.split.mu is not None:
        how = f"mu epsilon/E (mu = {protocol.split.mu:g})"
    else:
        how = f"what the value stage leaves, at most {protocol.split.threshold:g} of an epoch"
    more = "More, by the excess of PE's selection." if published else ""
    return (
        PaperClaim(f"the selection spends {how}", budgets["selection"], 0.0, (*stage, "FS-MUB"), exact),
        PaperClaim(
            "selection and value together spend epsilon/E an epoch",
            whole / protocol.epochs,
            0.0,
            ("FS-T31pe",) if published else ("FS-T31",),
            more,
        ),
        PaperClaim(
            "E epochs spend epsilon",
            whole,
            0.0,
            ("FS-EPOCH",),
            "If each record takes part once an epoch and each stage has the epsilon it claims.",
        ),
    )


def _fedmd_ldp(protocol: Protocol) -> tuple[PaperClaim, ...]:
    step, mechanism = _only(protocol), protocol.mechanisms[0]
    if not isinstance(mechanism, Gaussian):
        raise ValueError(f"FedMD-LDP's accounting needs Gaussian noise, got {mechanism!r}")
    queries = protocol.times(step)
    mu = mechanism.sensitivity / mechanism.sigma * math.sqrt(queries)
    noises = (
        PaperClaim(
            f"FedMD-NFDP's guarantee on {data} would need a huge noise",
            0.0,
            delta,
            ("NF-LDPnoise",),
            f"sigma = {math.sqrt(queries) / (2 * float(ndtri((1 + delta) / 2))):.4g} sensitivities a query give that.",
        )
        for data, delta in (("FEMNIST", 0.0062), ("CIFAR-10", 0.0583))
    )
    return (
        PaperClaim(
            "over all queries and rounds, epsilon is 10^4 to 10^7 at FedMD-NFDP's delta",
            None,
            0.0583,
            ("NF-LDPorder",),
            f"Neither noise nor epsilon of a query is given. With this noise mu = {mu:.6g}.",
        ),
        *noises,
    )


def _fedmd_nfdp(protocol: Protocol) -> tuple[PaperClaim, ...]:
    _only(protocol)
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
        (theorem, "NF-FLAT", "NF-VAC"),
        f"(0, {delta:.4g}) holds as well, and no smaller delta at any epsilon: a sampled record is shown as it is.",
    )
    if not release.replacement or (n, k) not in TABLE_2:
        return (theory,)
    claims = ("NF-TAB2ln", "NF-TAB2k") if k == 16 else ("NF-TAB2ln",)
    other = " and the numbers are those of k = 18" if k == 16 else ""
    return theory, PaperClaim(
        "Table 2 prints",
        *TABLE_2[n, k],
        claims,
        f"With the logarithm to base 10{other}; natural: {epsilon:.4f}.",
    )


def _only(protocol: Protocol) -> Step:
    steps = list(protocol.steps)
    if len(steps) > 1:
        raise ValueError(f"the accounting of paper {protocol.paper!r} knows one step, got {len(steps)}")
    return steps[0]


_CONVENTIONS: dict[PaperKey, Callable[[Protocol], tuple[PaperClaim, ...]]] = {
    "ldp-fl": _ldp_fl,
    "fedsel": _fedsel,
    "fedmd-ldp": _fedmd_ldp,
    "fedmd-nfdp": _fedmd_nfdp,
}
