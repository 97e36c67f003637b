"""junit.xml: one test case for each claim and each audit, so that CI shows verdicts beside tests.

A case fails only on request: refuted claims and violated audits with `--fail-on refuted`; with `--fail-on undecided`
also claims that are undecided and audits that could have found nothing. Otherwise a refuted claim is a result and its
case passes. A correction fails as its claim does. Claims that no engine settled and audits without power are skipped.
The reading of a damaged conversion never fails. Audits are those of programs by their outputs or by all their random
words, and those of a training by its canaries. Every case has its verdict as a property and its evidence in words as
output.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from junitparser import Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite

from ldp_audit.reports import wording

FAILING: dict[str, frozenset[str]] = {
    "refuted": frozenset({"REFUTED", "violated"}),
    "undecided": frozenset({"REFUTED", "violated", "UNDECIDED", "inconclusive"}),
}
"""Failing verdicts for each value of `--fail-on`."""

_NOT_SETTLED = ("UNDECIDED", "PROSE", "inconclusive")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fails(claim: dict[str, Any], fail_on: str | None) -> bool:
    """Whether this claim fails."""
    verdicts = {claim["verdict"], claim["corrected"] and claim["corrected"]["verdict"]}
    counted = fail_on is not None and not verdicts.isdisjoint(FAILING[fail_on])
    return counted and claim["source"] != "damaged conversion"


def gate(report: dict[str, Any], fail_on: str | None) -> bool:
    """Whether anything in the report fails: a claim, or an audit."""
    if fail_on is None:
        return False
    audits = any(one.verdict in FAILING[fail_on] for one in audited(report))
    return audits or any(fails(claim, fail_on) for claim in report["claims"])


class ShownAudit(NamedTuple):
    """One audit of a report.

    suite: the section that shows it.   name: the program.   verdict: None without a claim.   words: what was found.
    """

    suite: str
    name: str
    verdict: str | None
    words: str


def audited(report: dict[str, Any]) -> Iterator[ShownAudit]:
    """Every audit in the report, in the order of its sections."""
    for one in report.get("implementation", ()):
        words = f"epsilon {one['epsilon']}, {one['claimed_epsilon']} claimed at delta {one['claimed_delta']}"
        yield ShownAudit("implementation", f"{one['program']} in {one['dtype']}", one["verdict"], words)
    for one in report.get("audits", ()):
        exact = one["kind"] == "implementation"
        least = f"epsilon is {'' if exact else 'at least '}{one['epsilon' if exact else 'epsilon_lower']}"
        claimed = "no claim" if one["claimed_epsilon"] is None else f"{one['claimed_epsilon']} claimed"
        seen = "" if exact else f"\nwitness: {one['witness']['words']}"
        yield ShownAudit("audits", one["target"], one["verdict"], f"{least}, {claimed}{seen}")
    for place, one in enumerate(report.get("training", ()), start=1):
        for audit in one["results"]["audit"] or ():
            point = ", ".join(f"{name} {value}" for name, value in audit["settings"].items()) or "the run"
            bounds = [f"{seen['observer']}: epsilon at least {seen['epsilon_lower']}" for seen in audit["observers"]]
            yield ShownAudit(f"training-{place}", point, audit["verdict"], "\n".join(bounds))


def render(report: dict[str, Any], fail_on: str | None = None) -> str:
    """The file: a suite for each paper, in order; then one for each section that has audits."""
    root = JUnitXml("ldp-audit")
    for paper in report["papers"]:
        suite = TestSuite(_text(paper["key"]))
        suite.add_testcases([_case(one, fail_on) for one in report["claims"] if one["paper"] == paper["key"]])
        root.add_testsuite(suite)
    found = list(audited(report))
    for name in dict.fromkeys(one.suite for one in found):
        suite = TestSuite(_text(name))
        suite.add_testcases([_audit_case(one, fail_on) for one in found if one.suite == name])
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


def _audit_case(audit: ShownAudit, fail_on: str | None) -> TestCase:
    case = TestCase(_text(audit.name), _text(audit.suite))
    properties, verdict = Properties(), audit.verdict or "no claim"
    properties.add_property(Property("verdict", _text(verdict)))
    case.append(properties)
    if fail_on is not None and verdict in FAILING[fail_on]:
        case.result = Failure(_text(f"{verdict}: {audit.words}"), _text(verdict))
    elif verdict in _NOT_SETTLED:
        case.result = Skipped("the audit could not have found a violation")
    case.system_out = _text(audit.words)
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
