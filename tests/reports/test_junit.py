"""junit.xml: verdicts as test cases."""

from __future__ import annotations

import copy
from xml.etree.ElementTree import Element, fromstring

import pytest

from ldp_audit.reports import junit
from tests.reports.whole_report import HOSTILE, hostile_report, whole_report, without_sections


def cases(text: str) -> dict[tuple[str, str], Element]:
    found = fromstring(text.encode()).iter("testcase")
    return {(one.attrib["classname"], one.attrib["name"].partition(":")[0]): one for one in found}


def part(case: Element, path: str) -> Element:
    found = case.find(path)
    assert found is not None
    return found


def test_every_claim_is_a_case_and_none_fails_unasked() -> None:
    report = without_sections(whole_report())
    found = cases(junit.render(report))
    assert list(found) == [(claim["paper"], claim["id"]) for claim in report["claims"]]
    assert not any(one.find("failure") is not None for one in found.values())
    assert found["a", "t-2"].find("skipped") is not None
    verdicts = [part(one, "properties/property[@name='verdict']").attrib["value"] for one in found.values()]
    assert verdicts == [claim["verdict"] for claim in report["claims"]]


@pytest.mark.parametrize(("fail_on", "failing"), [("refuted", {"T-2"}), ("undecided", {"T-2", "T-1"})])
def test_what_fails_is_what_is_asked_for(fail_on: str, failing: set[str]) -> None:
    report = without_sections(whole_report())
    report["claims"][0]["verdict"] = "UNDECIDED"
    text = junit.render(report, fail_on)
    failed = {key for key, one in cases(text).items() if one.find("failure") is not None}
    assert failed == {("a", name) for name in failing}
    assert all(junit.fails(claim, fail_on) == ((claim["paper"], claim["id"]) in failed) for claim in report["claims"])
    suites = fromstring(text.encode()).findall("testsuite")
    assert [int(one.attrib["failures"]) for one in suites] == [len(failing), 0]


@pytest.mark.parametrize(("verdict", "failing"), [("REFUTED", 1), ("UNDECIDED", 0), ("PROVED", 0)])
def test_a_correction_fails_as_its_claim_does(verdict: str, failing: int) -> None:
    """Would catch a false "what is true instead" of a claim that is proved."""
    report = without_sections(whole_report())
    (claim,) = (one for one in report["claims"] if one["corrected"])
    claim["verdict"], claim["corrected"]["verdict"] = "PROVED", verdict
    failures = [one.find("failure") for one in cases(junit.render(report, "refuted")).values()]
    found = [one for one in failures if one is not None]
    assert [one.attrib["type"] for one in found] == [f"correction {verdict}"] * failing
    assert junit.fails(claim, "undecided") == (verdict != "PROVED")


def test_a_damaged_conversions_reading_never_fails() -> None:
    report = without_sections(whole_report())
    claim = copy.deepcopy(report["claims"][1])
    assert junit.fails(claim, "refuted")
    claim["source"] = "damaged conversion"
    assert not junit.fails(claim, "refuted")


def test_markup_and_characters_that_xml_cannot_hold_stay_text() -> None:
    report = hostile_report()
    report["claims"][0]["statement"] = "nul \0, escape \x1b, lone \ud800, fine \u00e9"
    first, second = list(cases(junit.render(report, "refuted")).values())[:2]
    assert first.attrib["name"].endswith("nul \ufffd, escape \ufffd, lone \ufffd, fine \u00e9")
    assert HOSTILE in part(second, "failure").attrib["message"]


def test_audits_follow_the_claims_and_fail_where_they_are_violated() -> None:
    """The audits of all sections; what is not refuted, or holds, never fails."""
    report = whole_report()
    found = [(one.suite, one.verdict) for one in junit.audited(report)]
    assert found == [("implementation", "violated"), ("implementation", "not refuted"), ("audits", "violated")]
    suites = fromstring(junit.render(report, "refuted").encode()).findall("testsuite")
    assert [(one.attrib["name"], one.attrib["failures"]) for one in suites][-2:] == [
        ("implementation", "1"),
        ("audits", "1"),
    ]
    assert junit.gate({**report, "claims": []}, "refuted")
    assert not junit.gate({**report, "claims": []}, None)
    assert not junit.gate({**without_sections(report), "claims": []}, "undecided")
