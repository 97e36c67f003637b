"""report.json: the settled claims as one plain document, from which every other form of the report is made."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ldp_audit.accounting.figure import Figure
from ldp_audit.claims.claim import Claim, Paper
from ldp_audit.claims.settle import Settled, SettledClaim
from ldp_audit.claims.verdict import Verdict

SCHEMA_VERSION = 1
_ENGINES_FROM = ("sympy", "python-flint", "z3-solver")


def build(pairs: Sequence[tuple[Paper, Sequence[SettledClaim]]], figures: Sequence[Figure] = ()) -> dict[str, Any]:
    """The whole report as JSON-ready data.

    pairs: papers with their settled claims, in order.   figures: with their numbers.
    """
    claims = [claim_record(paper, one) for paper, group in pairs for one in group]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "ldp-audit", "version": _version("ldp-audit"), "python": platform.python_version()}
        | {name: _version(name) for name in _ENGINES_FROM},
        "papers": [paper_record(paper) for paper, _ in pairs],
        "summary": {str(kind): count for kind, count in _counts(pairs).items()},
        "not_the_papers": sum(one.claim.source != "paper" for _, group in pairs for one in group),
        "claims": claims,
        "figures": [figure.to_dict() for figure in figures],
    }


def paper_record(paper: Paper) -> dict[str, str]:
    """A paper's name and where it was published."""
    return {"key": paper.key, "title": paper.title, "authors": paper.authors, "venue": paper.venue}


def claim_record(paper: Paper, settled: SettledClaim) -> dict[str, Any]:
    """One claim with its verdict and everything that the verdict rests on."""
    claim = settled.claim
    refuted = next((part.evidence for part in settled.parts if part.verdict is Verdict.REFUTED), None)
    return {
        "id": claim.id,
        "paper": paper.key,
        "place": claim.place,
        "source": claim.source,
        "statement": claim.says,
        "latex": claim.latex,
        "assumptions": list(claim.assumptions),
        "rests_on": list(claim.rests_on),
        "verdict": str(settled.verdict),
        "engine": _engines(settled),
        "seconds": round(settled.seconds, 4),
        "counterexample": refuted,
        "condition": claim.condition.says if claim.condition else None,
        "corrected": _correction(claim, settled),
        "evidence": {
            "parts": _records(settled.parts),
            "condition": _records(settled.condition),
            "void": _records(settled.void),
            "corrected": _records(settled.corrected),
            "argument": claim.argument,
            "sizes": claim.sizes,
        },
    }


def _correction(claim: Claim, settled: SettledClaim) -> dict[str, Any] | None:
    if claim.corrected is None:
        return None
    verdict = settled.correction_verdict()
    return {
        "statement": claim.corrected.says,
        "latex": claim.corrected.latex,
        "verdict": None if verdict is None else str(verdict),
    }


def _records(parts: Sequence[Settled]) -> list[dict[str, Any]]:
    return [part.to_dict() for part in parts]


def _engines(settled: SettledClaim) -> str:
    """The engines that the verdict rests on, without repeats; "argument" for prose alone."""
    names = dict.fromkeys(part.engine for part in settled.parts + settled.condition + settled.void)
    return ", ".join(names) or ("argument" if settled.claim.argument else "none")


def _counts(pairs: Sequence[tuple[Paper, Sequence[SettledClaim]]]) -> Counter[Verdict]:
    """Of the papers' own claims: a scanner's error or a quantification of ours is not held against them."""
    return Counter(one.verdict for _, group in pairs for one in group if one.claim.source == "paper")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
