"""Recheck a whole report: each part's evidence by the independent checker, then each claim's verdict from its parts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ldp_audit.claims import recheck, recheck_written
from ldp_audit.claims.manifest import GROUPS, complaints
from ldp_audit.claims.verdict import Verdict, claim_verdict, combine

_SHOWN = 300
_SUMMARY = "summary"


@dataclass(frozen=True)
class Rechecked:
    """The outcome for one claim.

    complaint: why it is refused; empty if accepted.   unverified: parts that rest on a solver alone.
    """

    id: str
    verdict: str
    complaint: str = ""
    unverified: int = 0


def recheck_claims(report: dict[str, Any], seconds: float = math.inf) -> Iterator[Rechecked]:
    """One outcome per claim, and one per complaint about the manifest.

    seconds: for the whole report; claims beyond it are refused. Raises ValueError for another kind of document.
    """
    started = time.monotonic()
    if isinstance(report, dict) and report.get("claims") == []:
        raise ValueError("the report holds no claims")
    if not isinstance(report, dict) or report.get("schema_version") != 1 or not isinstance(report.get("claims"), list):
        raise ValueError('not a report: expected {"schema_version": 1, "claims": [...]}')
    listed = list(_listed(report))
    yield from (one for one in listed if one.id != _SUMMARY)
    for claim in report["claims"]:
        name, verdict = (_shown(claim.get(key, "?")) if isinstance(claim, dict) else "?" for key in ("id", "verdict"))
        try:
            recheck.require(time.monotonic() - started < seconds, f"it was not reached in {seconds:g} s")
            yield Rechecked(name, verdict, unverified=_claim(claim))
        except recheck.RefusedError as refusal:
            yield Rechecked(name, verdict, _shown(refusal))
        except Exception as error:  # noqa: BLE001  (whatever malformed evidence runs into is a reason to refuse it)
            yield Rechecked(name, verdict, f"malformed evidence ({type(error).__name__}: {_shown(error)})")
    yield from (one for one in listed if one.id == _SUMMARY)  # which follows from the claims


def _listed(report: dict[str, Any]) -> Iterator[Rechecked]:
    """Complaints about the report from its manifest."""
    try:
        for name, complaint in complaints(report):
            yield Rechecked(_shown(name), "", complaint)
    except (AttributeError, KeyError, TypeError) as error:
        yield Rechecked("manifest", "", f"malformed ({type(error).__name__}: {_shown(error)})")


def _shown(value: object) -> str:
    """The text for a terminal: without control characters, and truncated."""
    text = str(value) if isinstance(value, str | Exception) else type(value).__name__
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in cut)


def _claim(claim: dict[str, Any]) -> int:
    evidence = claim["evidence"]
    found = {group: [_part(part) for part in evidence[group]] for group in GROUPS}
    if evidence["condition"] or evidence["narrower"] or claim["condition"] is not None:
        _restricts(evidence)
    argued, sizes = bool(evidence["argument"]), bool(evidence["sizes"])
    conditional = found["condition"] + found["narrower"]
    verdict = claim_verdict(found["parts"], conditional, found["void"], sizes=sizes, argued=argued)
    recheck.require(verdict == claim["verdict"], f"the parts show {verdict}, the report says {claim['verdict']}")
    if claim["corrected"] is not None:
        correction = combine(found["corrected"]) if found["corrected"] else None
        recheck.require(
            correction == claim["corrected"]["verdict"], "the verdict on its correction is not what is shown"
        )
    refuted = [part["evidence"] for part in evidence["parts"] if part["verdict"] == Verdict.REFUTED]
    shown = refuted[0] if refuted else None
    recheck.require(claim["counterexample"] == shown, "the counterexample shown is not the one in the evidence")
    resting = [part for group in GROUPS if group not in ("another", "corrected") for part in evidence[group]]
    engines = ", ".join(dict.fromkeys(part["engine"] for part in resting))
    engines = engines or ("argument" if argued else "none")
    recheck.require(claim["engine"] == engines, f"the parts are by {engines}, the report says {claim['engine']}")
    return sum(by_solver_alone(part["evidence"]) for group in GROUPS for part in evidence[group])


def _restricts(evidence: dict[str, Any]) -> None:
    """Check that a condition's parts are the claim's own, on a domain proved to lie inside the claim's.

    A variable of a part is unchanged, or has an additional link to an exponent; or the parts called narrower prove that
    its new values lie within its old bounds.
    """
    own, under = evidence["parts"], evidence["condition"]
    recheck.require(len(own) == len(under), "the condition has not as many parts as the claim")
    for part, restricted in zip(own, under, strict=True):
        for key in ("left", "relation", "right", "quantifier", "constant", "given"):
            recheck.require(part.get(key) == restricted.get(key), f"the condition changes the {key} of a part")
        after = recheck.declared(restricted)
        for name, old in recheck.declared(part).items():
            recheck.require(name in after, f"{name} is gone under the condition")
            new = after[name]
            linked = replace(old, exp_of=new.exp_of) if old.is_free else old
            if new not in (old, linked):
                kept = old.is_free or (old.exp_of, old.log_of) == (new.exp_of, new.log_of)
                recheck.require(kept and _stays_whole(old, new, after), f"{name} is another kind of variable")
                for bound in old.ends():
                    shown = any(_shows(one, bound, after) for one in evidence["narrower"])
                    recheck.require(shown, f"it is not shown that the condition restricts {name}")


def _stays_whole(old: recheck.DomainVariable, new: recheck.DomainVariable, after: recheck.Domain) -> bool:
    """Whether a whole number still is one: by its kind, or as both its bounds are one whole number."""
    if not old.integer or new.integer:
        return True
    end = new.lower
    fixed = end is not None and end == new.upper and not {"/", "."} & {*end}
    return fixed and all(name in after and after[name].integer for name in recheck.names(end))


def _shows(part: dict[str, Any], bound: tuple[str, str, str], after: recheck.Domain) -> bool:
    """Whether a proved part states the bound for variables with the condition's domains."""
    own = recheck.declared(part)
    alike = all(after.get(name, variable) == variable for name, variable in own.items())
    everywhere = part["quantifier"] == "for all" and not part.get("given")
    return alike and everywhere and (part["left"], part["relation"], part["right"]) == bound


def by_solver_alone(evidence: dict[str, Any]) -> bool:
    """Whether a solver is the only evidence of a part."""
    return "smt" in (evidence["kind"], evidence.get("proof", {}).get("kind"))


_ENGINES = {
    "value": {"recompute"},
    "identity": {"identity"},
    "certificate": {"certificate"},
    "constant": {"certificate"},
    "escape": {"certificate"},
    "rise": {"rise"},
    "induction": {"induction"},
    "box": {"interval"},
    "smt": {"smt"},
    "root": {"root"},
    "part": {"tie"},
    "counterexample": {"search", "smt"},
    "example": {"search", "smt"},
    "undecided": {"none", "recompute"},
}


def engines_of(part: dict[str, Any]) -> set[str]:
    """The engines that leave such evidence; for halves and cases its leaves tell which."""
    evidence = part["evidence"]
    while evidence["kind"] in ("denial", "terms"):
        evidence = evidence["proof"]
    if evidence["kind"] not in ("halves", "cases"):
        return _ENGINES[evidence["kind"]]
    leaves = _leaves(evidence)
    if "induction" in leaves:
        return {"induction"}
    boxes = leaves == {"box"}
    if evidence["kind"] == "cases":
        return {"enumeration", "interval"} if boxes else {"enumeration"}
    linked = any({"exp_of", "log_of"} & variable.keys() for variable in part["variables"])
    return {"interval"} if boxes else {"rise"} if linked else {"certificate"}


def _leaves(evidence: dict[str, Any]) -> set[str]:
    inner = [evidence[half] for half in ("below", "above") if half in evidence]
    inner += evidence.get("proofs", {}).values()
    inner += [evidence["proof"]] if evidence["kind"] == "terms" else []
    return set().union(*map(_leaves, inner)) if inner else {evidence["kind"]}


def is_told_by_settling(claim: dict[str, Any]) -> bool:
    """Whether only settling the claim again tells all that its page shows.

    So it is where a part is undecided, or rests on a solver's word, or has evidence that two engines leave.
    """
    parts = [part for group in GROUPS for part in claim["evidence"][group]]
    return any(by_solver_alone(part["evidence"]) or len(engines_of(part)) > 1 for part in parts)


def _part(part: dict[str, Any]) -> Verdict:
    recheck.require(part["engine"] in engines_of(part), f"{part['engine']} leaves no such evidence")
    verdict = recheck_written.verified(part)
    recheck.require(verdict == part["verdict"], f"{part['label']!r}: the evidence shows {verdict}")
    return Verdict(verdict)
