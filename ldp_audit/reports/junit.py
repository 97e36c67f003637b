"""junit.xml: one test case for each claim, so that CI shows verdicts beside tests.

A case fails only on request: refuted claims with `--fail-on refuted`, undecided ones too with `--fail-on undecided`.
Otherwise a refuted claim is a result and its case passes. A correction fails as its claim does. Claims that no engine
settled are skipped. The reading of a damaged conversion never fails. Every case has its verdict as a property and its
evidence in words as output.
"""

from __future__ import annotations

import io
import re
from typing import Any

from junitparser import Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite

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
    root = JUnitXml("ldp-audit")
    for paper in report["papers"]:
        suite = TestSuite(_text(paper["key"]))
        suite.add_testcases([_case(one, fail_on) for one in report["claims"] if one["paper"] == paper["key"]])
        root.add_testsuite(suite)
    root.update_statistics()
    file = io.BytesIO()
    root.write(file, pretty=True)
    return file.getvalue().decode()


def _case(claim: dict[str, Any], fail_on: str | None) -> TestCase:
    case = TestCase(_text(f"{claim['id']}: {claim['statement']}"), _text(claim["paper"]), round(claim["seconds"], 4))
    properties = Properties()
    for key in ("verdict", "place", "source", "engine"):
        properties.add_property(Property(key, _text(str(claim[key]))))
    case.append(properties)
    if fails(claim, fail_on):
        own = claim["verdict"] in FAILING[fail_on]  # type: ignore[index]
        kind = claim["verdict"] if own else f"correction {claim['corrected']['verdict']}"
        case.result = Failure(_message(claim), kind)
    elif claim["verdict"] in _NOT_SETTLED:
        case.result = Skipped(wording.VERDICTS[claim["verdict"]])
    case.system_out = _text(_evidence(claim))
    return case


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
