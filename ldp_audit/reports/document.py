"""report.json: the settled claims as one plain document, from which every other form of the report is made."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ldp_audit.accounting.figure import Figure
from ldp_audit.claims.claim import Claim, Paper
from ldp_audit.claims.settling import Settled, SettledClaim
from ldp_audit.claims.verdict import Verdict

SCHEMA_VERSION = 1
_ENGINES_FROM = ("sympy", "python-flint", "z3-solver")


def build(
    pairs: Sequence[tuple[Paper, Sequence[SettledClaim]]], figures: Sequence[tuple[str, Figure]] = ()
) -> dict[str, Any]:
    """The whole report as JSON-ready data.

    pairs: papers with their settled claims, in order.   figures: each with its paper's key.
    """
    claims = [claim_record(paper, one) for paper, group in pairs for one in group]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "ldp-audit", "version": _version("ldp-audit"), "python": platform.python_version()}
        | {name: _version(name) for name in _ENGINES_FROM},
        "papers": [paper_record(paper) for paper, _ in pairs],
        **counted(claims),
        "claims": claims,
        "figures": [{"paper": key, **figure.to_dict()} for key, figure in figures],
    }


def of_paper(report: dict[str, Any], key: str) -> dict[str, Any]:
    """The part of a report that is one paper's, as a report."""
    claims = [claim for claim in report["claims"] if claim["paper"] == key]
    return {
        **report,
        "papers": [paper for paper in report["papers"] if paper["key"] == key],
        **counted(claims),
        "claims": claims,
        "figures": [figure for figure in report["figures"] if figure["paper"] == key],
    }


def counted(claims: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The verdicts on the papers' own claims, most frequent first, and how many claims are not theirs."""
    own = Counter(claim["verdict"] for claim in claims if claim["source"] == "paper")
    return {"summary": dict(own.most_common()), "not_the_papers": len(claims) - own.total()}


def paper_record(paper: Paper) -> dict[str, str]:
    """A paper's name and where it was published."""
    return {"key": paper.key, "title": paper.title, "authors": paper.authors, "venue": paper.venue}


def claim_record(paper: Paper, settled: SettledClaim) -> dict[str, Any]:
    """One claim with its verdict and everything that the verdict rests on."""
    claim = settled.claim
    refuted = next((part.evidence for part in settled.parts if part.verdict is Verdict.REFUTED), None)
    refuted = None if settled.verdict is Verdict.PROVED else refuted  # of a reading that is not the source's
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
        "kindest": claim.kindest.says if claim.kindest else None,
        "looked": claim.looked,
        "corrected": _correction(claim, settled),
        "evidence": {
            "parts": _records(settled.parts),
            "condition": _records(settled.condition),
            "narrower": _records(settled.narrower),
            "kindest": _records(settled.kindest),
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
    names = dict.fromkeys(part.engine for part in settled.all_parts()[: -len(settled.corrected) or None])
    return ", ".join(names) or ("argument" if settled.claim.argument else "none")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
