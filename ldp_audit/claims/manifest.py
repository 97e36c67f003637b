"""The statements of a report's claims, without their verdicts, for a comparison with their source.

A claim's statement is its words and its formal parts with their domains, group by group. The manifest lists the claims
with the number of their parts and a digest of the statement; `against` compares statements word by word with those that
a paper's own functions build. Uses only the standard library, as the rest of the checker.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

GROUPS = ("parts", "another", "condition", "narrower", "void", "corrected")
"""The groups of formal statements in a claim's "evidence"."""

_WORDS = (
    "place",
    "source",
    "statement",
    "latex",
    "assumptions",
    "rests_on",
    "reading",
    "condition",
    "another",
    "looked",
)
_FORMAL = ("label", "quantifier", "constant", "variables", "left", "relation", "right", "written")


def stated(claim: dict[str, Any]) -> dict[str, Any]:
    """The statement of a claim in a report: words, sizes, argument, correction, and the formal parts."""
    evidence, corrected = claim["evidence"], claim["corrected"]
    found: dict[str, Any] = {word: claim[word] for word in _WORDS}
    found |= {"sizes": evidence["sizes"], "argument": evidence["argument"]}
    found["corrected"] = corrected and [corrected["statement"], corrected["latex"]]
    for group in GROUPS:
        found[f"formal {group}"] = [{key: part[key] for key in _FORMAL if key in part} for part in evidence[group]]
    return found


def manifest(claims: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each claim: paper, id, number of formal parts, and the SHA-256 of its statement."""
    return [
        {
            "paper": claim["paper"],
            "id": claim["id"],
            "parts": sum(len(claim["evidence"][group]) for group in GROUPS),
            "sha256": digest(stated(claim)),
        }
        for claim in claims
    ]


def digest(data: Any) -> str:
    """SHA-256 of JSON-ready data, independent of the order of keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def complaints(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Ids and complaints: claims of the manifest that are missing from the report, duplicated or changed, and claims
    outside the manifest."""
    listed, claims = report.get("manifest"), report["claims"]
    if not isinstance(listed, list):
        yield "manifest", "the report has none, so that nothing says which claims it should hold"
        return
    present = [(claim.get("paper"), claim.get("id")) for claim in claims if isinstance(claim, dict)]
    wanted = {(one["paper"], one["id"]): one for one in listed}
    for paper, name in wanted:
        if present.count((paper, name)) != 1:
            yield name, f"the manifest lists it once, the report has it {present.count((paper, name))} times"
    for claim in claims:
        one = wanted.get((claim.get("paper"), claim.get("id")))
        if one is None:
            yield str(claim.get("id")), "the manifest does not list it"
        elif sum(len(claim["evidence"][group]) for group in GROUPS) != one["parts"]:
            yield one["id"], f"it has not the {one['parts']} formal parts that the manifest counts"
        elif digest(stated(claim)) != one["sha256"]:
            yield one["id"], "its statement is not the one whose digest the manifest has"


def against(report: dict[str, Any], source: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Ids and the differences of the report's statements from those of the source, word by word.

    source: the claims as a report would hold them before they are settled; with `paper` and `id`.
    """
    made = {(claim["paper"], claim["id"]): stated(claim) for claim in source}
    seen = set()
    for claim in report["claims"]:
        key = (claim["paper"], claim["id"])
        seen.add(key)
        if key not in made:
            yield claim["id"], "the source has no such claim"
            continue
        found, wanted = stated(claim), json.loads(json.dumps(made[key]))
        for what in wanted:
            if found[what] != wanted[what]:
                yield claim["id"], _difference(what, found[what], wanted[what])
    for _, name in made.keys() - seen:
        yield name, "the source has it, the report has not"


def _difference(what: str, found: Any, wanted: Any) -> str:
    """The first place where the two differ."""
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        place = next(place for place, pair in enumerate(zip(found, wanted, strict=True)) if pair[0] != pair[1])
        return _difference(f"{what}, number {place + 1}", found[place], wanted[place])
    if isinstance(found, dict) and isinstance(wanted, dict):
        key = next(key for key in [*wanted, *found] if found.get(key) != wanted.get(key))
        return _difference(f"{what}, {key}", found.get(key), wanted.get(key))
    return f"{what}: the report has {_short(found)}, the source {_short(wanted)}"


def _short(data: Any) -> str:
    text = json.dumps(data)
    return text if len(text) <= 160 else text[:160] + "..."
