"""The published schema of report.json is one, refuses what is something else, and has the code's words."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import jsonschema

from ldp_audit.claims.claim import Source
from ldp_audit.claims.language.statement import Quantifier, Relation
from ldp_audit.claims.verdict import Verdict
from ldp_audit.figure import Style
from tests.reports.in_text import SCHEMA, misfits
from tests.reports.whole_report import hostile_report, whole_report
from tests.together import together


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_key_of_a_report_is_described(paper_report: dict[str, Any]) -> None:
    reports = (paper_report, whole_report(), hostile_report())
    assert [misfits(json.loads(json.dumps(report))) for report in reports] == [[], [], []]


@together(
    ("change", "complaint"),
    [
        (lambda report: report.pop("manifest"), r"\$: 'manifest' is a required property"),
        (lambda report: report["claims"][0].update(verdict="MAYBE"), r"\$.claims\[0\].verdict: 'MAYBE'"),
        (lambda report: report["claims"][0].update(sure=True), r"\$.claims\[0\]: .*'sure' was unexpected"),
        (lambda report: report["accounting"][0].update(delta="0"), r"\$.accounting\[0\].delta: '0' is not"),
    ],
)
def test_a_report_that_is_something_else_is_refused(change: Any, complaint: str) -> None:
    report = json.loads(json.dumps(whole_report()))
    change(report)
    (found,) = misfits(report)
    assert re.match(complaint, found)


def test_the_words_of_the_schema_are_those_of_the_code() -> None:
    parts = {name: SCHEMA["$defs"][name].get("properties") for name in SCHEMA["$defs"]}
    series = parts["figure"]["panels"]["items"]["properties"]["series"]["items"]["properties"]
    for schema, words in [
        (SCHEMA["$defs"]["verdict"], Verdict),
        (parts["claim"]["source"], get_args(Source)),
        (parts["part"]["quantifier"], get_args(Quantifier)),
        (parts["part"]["relation"], get_args(Relation)),
        (series["style"], get_args(Style)),
    ]:
        assert set(schema["enum"]) == {str(word) for word in words}
