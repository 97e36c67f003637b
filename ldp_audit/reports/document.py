"""report.json: the settled claims as one plain document, the source of every other form of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldp_audit.claims.claim import Claim, Paper
from ldp_audit.claims.language.statement import describe_variable
from ldp_audit.claims.manifest import counted, manifest
from ldp_audit.claims.settled_file import tool
from ldp_audit.claims.settling import SettledClaim
from ldp_audit.claims.verdict import Verdict
from ldp_audit.figure import Figure
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.reports.wording import domain

SCHEMA_VERSION = 1


def build(
    pairs: Sequence[tuple[Paper, Sequence[SettledClaim]]],
    figures: Sequence[tuple[str, Figure]] = (),
    failed: Sequence[str] = (),
) -> dict[str, Any]:
    """The whole report as JSON-ready data.

    pairs: papers with their settled claims, in order.   figures: each with its paper's key.
    failed: errors of malformed claims, which could not be settled.
    """
    claims = [claim_record(paper, one) for paper, group in pairs for one in group]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": tool(),
        "papers": [paper_record(paper) for paper, _ in pairs],
        **counted(claims),
        "manifest": manifest(claims),
        "failed": list(failed),
        "claims": claims,
        "figures": [{"paper": key, **figure.to_dict()} for key, figure in figures],
    }


def is_own(report: dict[str, Any]) -> bool:
    """Whether it is about things of the reader's own, rather than the shipped ones."""
    made = report.get("made")  # by `ldp-audit report` alone
    return bool(made and made["own"])


def of_paper(report: dict[str, Any], key: str) -> dict[str, Any]:
    """The part of a report on one paper, as a report."""
    claims = [claim for claim in report["claims"] if claim["paper"] == key]
    return {
        **report,
        "papers": [paper for paper in report["papers"] if paper["key"] == key],
        **counted(claims),
        "manifest": [one for one in report["manifest"] if one["paper"] == key],
        "claims": claims,
        "figures": [figure for figure in report["figures"] if figure["paper"] == key],
    }


def paper_record(paper: Paper) -> dict[str, Any]:
    """A paper's name, its publication, the mechanisms of its claims, and what a summary shows of it first."""
    words = {"key": paper.key, "title": paper.title, "authors": paper.authors, "venue": paper.venue}
    first = {"telling": list(paper.telling), "protocol": paper.protocol}
    return words | {"mechanisms": [_mechanism_record(law) for law in paper.mechanisms]} | first


def _mechanism_record(law: SymbolicChannel | SymbolicWeights) -> dict[str, Any]:
    """A mechanism's definition, typeset, and the domains of its variables, the private ones first."""
    private = law.inputs if isinstance(law, SymbolicChannel) else ()
    others = [one for one in law.variables() if one not in private]
    domains = {what: [_domain(one) for one in of] for what, of in (("private", private), ("public", others))}
    return {"name": law.name, "latex": law.latex(), **domains}


def _domain(variable: Variable) -> str:
    known = [variable, *(variable.argument.free_symbols if variable.argument is not None else ())]
    return domain(describe_variable(variable, known))


def claim_record(paper: Paper, settled: SettledClaim) -> dict[str, Any]:
    """One claim with its verdict and all evidence for it."""
    claim = settled.claim
    refuted = next((part.evidence for part in settled.parts if part.verdict is Verdict.REFUTED), None)
    record = _stated(paper, claim, {name: [part.to_dict() for part in group] for name, group in settled.groups.items()})
    if record["corrected"] is not None:
        verdict = settled.correction_verdict()
        record["corrected"]["verdict"] = None if verdict is None else str(verdict)
    return record | {
        "verdict": str(settled.verdict),
        "engine": _engines(settled),
        "seconds": round(settled.seconds, 4),
        "counterexample": refuted,
    }


def _experiment(name: str) -> list[str]:
    from ldp_audit.training.reproduction.judgement import evidence  # numpy and scipy, which few claims need

    return evidence(name)


def stated_record(paper: Paper, claim: Claim) -> dict[str, Any]:
    """One claim without the results of settling it."""
    return _stated(paper, claim, {name: [one.to_dict() for one in group] for name, group in claim.groups().items()})


def _stated(paper: Paper, claim: Claim, groups: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    corrected = claim.corrected
    return {
        "id": claim.id,
        "name": claim.name,
        "paper": paper.key,
        "place": claim.place,
        "source": claim.source,
        "statement": claim.says,
        "latex": claim.latex,
        "assumptions": list(claim.assumptions),
        "rests_on": list(claim.rests_on),
        "condition": claim.condition.says if claim.condition else None,
        "reading": claim.reading,
        "another": claim.another.says if claim.another else None,
        "looked": claim.looked,
        "corrected": {"statement": corrected.says, "latex": corrected.latex} if corrected else None,
        "evidence": {**groups, "argument": claim.argument, "sizes": claim.sizes},
        "experiments": [line for name in claim.experiments for line in _experiment(name)],
    }


def _engines(settled: SettledClaim) -> str:
    """The engines on which the verdict rests, without repetition; "argument" for prose alone."""
    resting = (part for name, group in settled.groups.items() if name not in ("another", "corrected") for part in group)
    names = dict.fromkeys(part.engine for part in resting)
    return ", ".join(names) or ("argument" if settled.claim.argument else "none")
