"""What a report's pages show beside proofs, for a comparison with its source: statements, papers, figures, engines.

A claim's statement is its words and its formal parts with their domains, group by group. The manifest lists the claims
with the number of their parts and a digest of the statement; `against` compares them word by word with those that a
paper's own functions build, and papers and figures too. What only settling a claim again can tell, `settled_otherwise`
compares. Uses only the standard library, as the rest of the checker.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

GROUPS = ("parts", "another", "condition", "narrower", "void", "corrected")
"""The groups of formal statements in a claim's "evidence"."""

_OF_THE_SOURCE = ("name", "place", "source", "statement", "latex", "assumptions", "rests_on")
_OF_THE_READING = ("reading", "condition", "another", "looked", "experiments")
_WORDS = (*_OF_THE_SOURCE, *_OF_THE_READING)
_FORMAL = ("label", "sides", "quantifier", "constant", "variables", "left", "relation", "right", "given", "written")


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


def counted(claims: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The verdicts on the papers' own claims, most frequent first, and the number of other claims."""
    own = Counter(claim["verdict"] for claim in claims if claim["source"] == "paper")
    return {"summary": dict(own.most_common()), "not_the_papers": len(claims) - own.total()}


_CLAIMS = {"schema_version", "tool", "papers", "summary", "not_the_papers", "manifest", "failed", "claims", "figures"}
"""The keys of a report about claims. A whole report has further sections, which nothing here can compute again."""


def digests_of_sections(report: Mapping[str, Any]) -> dict[str, str]:
    """SHA-256 of each section that is not about claims (audits, accounts, training, ...)."""
    return {key: digest(value) for key, value in report.items() if key not in {*_CLAIMS, "sections"}}


def digest(data: Any) -> str:
    """SHA-256 of JSON-ready data, independent of the order of keys."""
    plain = json.loads(json.dumps(data))  # a number as a key becomes a text, and is sorted as one
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def complaints(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Ids and complaints: claims of the manifest that are missing from the report, duplicated or changed, and claims
    outside the manifest; a summary that does not count the claims; and sections that are not those of their digests."""
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
    for key, value in counted(claims).items():
        if report.get(key) != value:
            yield key, f"the report has {_short(report.get(key))}, its claims make {_short(value)}"
    if (report.get("sections") or {}) != digests_of_sections(report):
        yield "sections", "what is not about claims is not what its digests say"


def against(report: dict[str, Any], source: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Ids and the differences of the report from its source, word by word.

    source: "claims" as a report would hold them before they are settled, "papers" and "figures".
    """
    source = json.loads(json.dumps(source))
    made = {(claim["paper"], claim["id"]): stated(claim) for claim in source["claims"]}
    seen = set()
    for claim in report["claims"]:
        key = (claim["paper"], claim["id"])
        seen.add(key)
        if key not in made:
            yield claim["id"], "the source has no such claim"
            continue
        found, wanted = stated(claim), made[key]
        for what in wanted:
            if found[what] != wanted[what]:
                yield claim["id"], _difference(what, found[what], wanted[what])
    for _, name in made.keys() - seen:
        yield name, "the source has it, the report has not"
    for what in ("papers", "figures"):
        if report[what] != source[what]:
            yield what, _difference(what, report[what], source[what])
    if report["failed"]:
        yield "failed", f"the report says that claims were not settled: {_short(report['failed'])}"


def settled_otherwise(claim: dict[str, Any], again: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The claim's id and the differences from the same claim settled again: verdicts, engines, and what no checker
    can verify, which is a solver's word and why a part is undecided."""
    again = json.loads(json.dumps(again))
    for key in ("verdict", "engine"):
        if claim[key] != again[key]:
            yield claim["id"], _difference(f"settled again, its {key}", claim[key], again[key])
    for group in GROUPS:
        for place, (part, other) in enumerate(zip(claim["evidence"][group], again["evidence"][group], strict=False)):
            mine, wanted = _unverified(part), _unverified(other)
            if mine != wanted:
                yield claim["id"], _difference(f"settled again, formal {group}, number {place + 1}", mine, wanted)


def _unverified(part: Mapping[str, Any]) -> dict[str, Any]:
    """What no checker verifies of a part; not the solver's input, which no page shows and which has arbitrary names."""
    found = {key: part[key] for key in ("verdict", "engine")}
    if "smt" in (part["evidence"]["kind"], part["evidence"].get("proof", {}).get("kind")):
        proof = part["evidence"].get("proof", part["evidence"])
        return found | {"evidence": {key: value for key, value in proof.items() if key != "smtlib"}}
    return found | ({"evidence": part["evidence"]} if part["evidence"]["kind"] == "undecided" else {})


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
