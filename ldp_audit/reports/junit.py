"""junit.xml: one test case for each claim, so that CI shows verdicts beside tests.

A case fails only on request: refuted claims with `--fail-on refuted`, undecided ones too with `--fail-on undecided`.
Otherwise a refuted claim is a result and its case passes. A correction fails as its claim does. Claims that no engine
settled are skipped. The reading of a damaged conversion never fails. Every case has its verdict as a property and its
evidence in words as output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ldp_audit.reports import wording

FAILING: dict[str, frozenset[str]] = {
    "refuted": frozenset({"REFUTED"}),
    "undecided": frozenset({"REFUTED", "UNDECIDED"}),
}
"""Failing verdicts for each value of `--fail-on`."""

_NOT_SETTLED = ("UNDECIDED", "PROSE")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fails(claim: dict[str, Any], fail_on: str | None) -> bool:
    """Whether this claim fails."""
    verdicts = {claim["verdict"], claim["corrected"] and claim["corrected"]["verdict"]}
    counted = fail_on is not None and not verdicts.isdisjoint(FAILING[fail_on])
    return counted and claim["source"] != "damaged conversion"


def render(report: dict[str, Any], fail_on: str | None = None) -> str:
    """The file: a suite for each paper, in order."""
    root = Element("testsuites", name="ldp-audit")
    for paper in report["papers"]:
        mine = [one for one in report["claims"] if one["paper"] == paper["key"]]
        _suite(root, paper, mine, fail_on)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, paper: dict[str, str], claims: Sequence[dict[str, Any]], fail_on: str | None) -> None:
    failed = [one for one in claims if fails(one, fail_on)]
    skipped = [one for one in claims if one["verdict"] in _NOT_SETTLED and one not in failed]
    suite = SubElement(root, "testsuite", name=_text(paper["key"]), tests=str(len(claims)), errors="0")
    suite.attrib |= {"failures": str(len(failed)), "skipped": str(len(skipped))}
    suite.set("time", f"{sum(one['seconds'] for one in claims):.4f}")
    for one in claims:
        name = _text(f"{one['id']}: {one['statement']}")
        case = SubElement(suite, "testcase", classname=_text(paper["key"]), name=name, time=f"{one['seconds']:.4f}")
        properties = SubElement(case, "properties")
        for key in ("verdict", "place", "source", "engine"):
            SubElement(properties, "property", name=key, value=_text(str(one[key])))
        if one in failed:
            own = one["verdict"] in FAILING[fail_on]  # type: ignore[index]
            kind = one["verdict"] if own else f"correction {one['corrected']['verdict']}"
            SubElement(case, "failure", message=_message(one), type=kind)
        elif one in skipped:
            SubElement(case, "skipped", message=wording.VERDICTS[one["verdict"]])
        SubElement(case, "system-out").text = _text(_evidence(one))


def _message(claim: dict[str, Any]) -> str:
    corrected, instead = claim["corrected"], ""
    if corrected:
        instead = f" Instead, {corrected['verdict'] or 'in words'}: {corrected['statement']}"
    return _text(f"{claim['verdict']}: {wording.VERDICTS[claim['verdict']]}.{instead}")


def _evidence(claim: dict[str, Any]) -> str:
    lines = [f"{wording.badge(claim)} {claim['place']}"]
    lines += [f"{part['label'] or 'part'}: {wording.explain(part)}" for part in claim["evidence"]["parts"]]
    return "\n".join(lines)


def _text(text: str) -> str:
    """The text without characters that XML cannot represent."""
    return _NOT_XML.sub("\ufffd", text)
