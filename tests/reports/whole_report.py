"""Small whole reports for the tests: an ordinary one, and one in which every text is hostile."""

from __future__ import annotations

import copy
from typing import Any

from ldp_audit.claims import at_most, equal
from ldp_audit.claims.claim import Claim, Condition, Correction, Paper
from ldp_audit.claims.settling import settle_claim
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.reports import document

HOSTILE = (
    "<script>alert(1)</script> & \"q\" '</style>' <img src=x onerror=alert(2)> "
    "| `code` [a](javascript:x) # *b* {{ 7*7 }}"
)


def whole_report() -> dict[str, Any]:
    """Two papers, each verdict but few, and something in every section."""
    return _report("plain words")


def hostile_report() -> dict[str, Any]:
    """The same with markup in every text, in ids, in keys and in names."""
    return _report(HOSTILE)


def _report(words: str) -> dict[str, Any]:
    x = Variable("x", 0, 1)
    hostile = words == HOSTILE
    claims = (
        Claim(f"T-{words}" if hostile else "T-1", words, f"Holds: {words}", r"x \le 1", parts=(at_most(x, 1, words),)),
        Claim(
            "T-2",
            f"Lemma of {words}",
            f"Fails: {words}",
            r"x < \text{" + words.replace("{", "(").replace("}", ")") + "}",
            parts=(at_most(x, 0, words), equal(x, x, words)),
            corrected=Correction(f"Instead: {words}", "x", (at_most(x, 1, words),)),
            assumptions=(words,),
            rests_on=(words,),
            argument=words,
            name=words[-32:],
        ),
        Claim("T-2b", words, "Only if", parts=(at_most(x, 0),), condition=Condition(words, (Variable("x", 0, 0),))),
        Claim("../../T", words, "An id that is a path", argument=words),
        Claim("t-2", words, "An id that differs in a capital", argument=words, source="damaged conversion"),
    )
    more = Claim("FP-1", words, f"A program: {words}", parts=(at_most(x, 1),), source="derived")
    papers = [Paper(f"a/{words}" if hostile else "a", f"First {words}", words, words, claims)]
    papers.append(Paper("b", f"Second {words}", claims=(more, Claim("T-2", words, "The other's id", argument=words))))
    pairs = [(paper, [settle_claim(claim) for claim in paper.claims]) for paper in papers]
    panel = Panel(words, words, words, (Series(words, [0, 1], [0, 1]),))
    figure = Figure("curve", f"Figure {words}", f"Caption {words}", f"Alternative {words}", (panel,))
    return {
        **document.build(pairs, [(papers[0].key, figure)]),
        "made": {
            "own": False,
            "command": f"ldp-audit report {words}",
            "date": words,
            "inputs": [{"file": words, "bytes": 12345, "sha256": "0a" * 32}],
        },
        "mechanisms": [{**_mechanism(words), "figure": {**figure.to_dict(), "name": "mechanism-1"}}],
        "implementation": [_program(words, "violated"), _program(words, "not refuted")],
        "audits": [_audit(words)],
        "accounting": [{**_account(words), "figure": {**figure.to_dict(), "name": "rounds-1"}}],
        "training": [{"results": _training(words), "figures": [{**figure.to_dict(), "name": "training-1-curve"}]}],
    }


def _mechanism(words: str) -> dict[str, Any]:
    return {
        "name": f"Name {words}",
        "example": f"Example({words})",
        "summary": words,
        "letters": words,
        "law": r"\frac{1}{2}",
        "epsilon_latex": r"\epsilon",
        "bias_latex": "0",
        "variance_latex": "",
        "composed": "",
        "source": words,
        "exact_epsilon": 1.25,
        "claimed_epsilon": 1.0,
        "implemented_epsilon": "inf",
        "worst_pair": [words, [1.0, 2.0]],
        "moments": [{"input": 1.0, "mean": 1.5, "variance": 2.5, "bias": 0.5}],
    }


def _program(words: str, verdict: str) -> dict[str, Any]:
    return {
        "program": f"Program({words}, {verdict})",
        "dtype": words,
        "inputs": [0.0, 1.0],
        "verdict": verdict,
        "method": "sampled",
        "exact": False,
        "claimed_epsilon": 1.0,
        "claimed_delta": 0.0625,
        "epsilon": "inf",
        "delta_at_claim": 0.5,
        "exclusive_share": 0.25,
        "example": words,
    }


def _audit(words: str) -> dict[str, Any]:
    return {
        "kind": "audit",
        "target": f"target:{words}",
        "about": words,
        "verdict": "violated",
        "epsilon_lower": 3.5,
        "delta_lower": 0.125,
        "claimed_epsilon": 1.0,
        "claimed_delta": 0.0,
        "confidence": 0.999,
        "witness": {"words": words},
        "detectable_epsilon": "inf",
        "coverage_floor": 0.0625,
        "samples_used": 123456,
        "seed": 7,
        "notes": [words],
    }


def _account(words: str) -> dict[str, Any]:
    spent = {"name": f"everything {words}", "uses": 20000, "pure": "inf", "by_name": [1.0, 2.0], "shuffled": [0.5, 0.5]}
    return {
        "key": words,
        "claimed": {"epsilon": 0.75, "delta": 0.03125, "says": words, "claims": {"T-2": "REFUTED"}},
        "protocol": {"name": f"Protocol {words}", "source": words, "unit": words, "adjacency": words, "notes": [words]},
        "delta": 1e-5,
        "steps": [spent],
        "scopes": [spent],
        "totals": [
            {"key": "basic", "says": words, "epsilon": 20000.5, "lower": None, "delta": 0.0},
            {"key": "exact", "says": words, "epsilon": 2.0, "lower": 1.0, "delta": 1e-5},
        ],
        "paper": [
            {
                "says": words,
                "epsilon": 0.75,
                "delta": 0.0,
                "claims": {"T-2": "REFUTED", words: "PROVED"},
                "instead": words,
            }
        ],
        "least_delta": 0.0,
        "meaning": [words],
        "assumptions": [words],
    }


def _training(words: str) -> dict[str, Any]:
    spend = {
        "settings": {words: 1.0},
        "delta": 1e-5,
        "protocol": {"adjacency": words},
        "everything": {"by_name": [4.0, 4.0], "shuffled": None},
        "claimed": {"epsilon": 1.0, "delta": 0.0},
    }
    accuracy = {"mean": 0.8125, "low": 0.75, "high": 0.875, "repeats": 3, "over": "runs"}
    device = {"name": words, "threads": 1, "torch": words}
    finding = {"key": words, "says": words, "verdict": "seen", "numbers": {words: 1.0}, "error_rate": 0.05}
    return {
        "tool": {"name": "ldp-audit", "version": words},
        "pipeline": words,
        "seed": 1,
        "data": {"name": words, "digest": "0", "kind": words},
        "runs": [{"settings": {words: 1.0}, "seed": 1, "seconds": 2.0, "device": device}],
        "points": [
            {"settings": {words: 1.0}, "accuracy": accuracy},
            {"settings": {words: None}, "accuracy": {**accuracy, "mean": 0.9375}},
        ],
        "spend": [spend],
        "audit": None,
        "findings": [{**finding, "place": words, "note": words}],
        "printed": [],
    }


EMPTY: dict[str, list[Any]] = {
    name: [] for name in ("mechanisms", "implementation", "audits", "accounting", "training", "figures")
}


def without_sections(report: dict[str, Any]) -> dict[str, Any]:
    """The same with nothing but its claims."""
    return {**copy.deepcopy(report), **EMPTY}


def of_ones_own(report: dict[str, Any]) -> dict[str, Any]:
    """The same as a reader's own: their mechanism first."""
    own = copy.deepcopy(report)
    own["made"]["own"] = True
    words = own["made"]["date"]
    figure = {**own["figures"][0], "name": "own-mechanism-1"}
    solved = {"at": [{"epsilon": 1.0, "exact_epsilon": "inf", "worst_pair": [0.0, [1.0, 2.0]]}], "figure": figure}
    law = {"name": words, "latex": "x", "private": [words], "public": [words], "mean_latex": "y", "variance_latex": "z"}
    own["papers"][0]["mechanisms"] = [{**law, **solved}, {**law, "why_not": words}]
    return own


def audits_alone(report: dict[str, Any]) -> dict[str, Any]:
    """The audits of a report, as a document."""
    return {**of_ones_own(report), **document.build([]), **EMPTY, "audits": copy.deepcopy(report["audits"])}
