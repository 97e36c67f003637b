"""report.json is what its published schema says."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any, get_args

import jsonschema
import pytest

from ldp_audit.figure import Style
from ldp_audit.claims.claim import Source
from ldp_audit.claims.language.statement import Quantifier, Relation
from ldp_audit.claims.verdict import Verdict
from tests.reports.whole_report import hostile_report, whole_report

SCHEMA = json.loads((files("ldp_audit.reports") / "report.schema.json").read_text(encoding="utf-8"))
OPEN = ("evidence", "audit")
"""What is described in part: evidence is for `recheck`, an audit is the result of another command."""


def closed(schema: Any) -> Any:
    """The schema without room for a key that it does not describe."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: one if key in OPEN and "properties" in one else closed(one) for key, one in schema.items()}
    return inner | ({"additionalProperties": False} if "required" in schema else {})


def problem(report: dict[str, Any]) -> str | None:
    found = jsonschema.Draft202012Validator(closed(SCHEMA)).iter_errors(json.loads(json.dumps(report)))
    return next((f"{one.json_path}: {one.message}" for one in found), None)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_key_of_a_report_is_described(ldp_fl_report: dict[str, Any]) -> None:
    assert [problem(report) for report in (ldp_fl_report, whole_report(), hostile_report())] == [None] * 3


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda report: report.pop("manifest"), r"\$: 'manifest' is a required property"),
        (lambda report: report["claims"][0].update(verdict="MAYBE"), r"\$.claims\[0\].verdict: 'MAYBE'"),
        (lambda report: report["claims"][0].update(sure=True), r"\$.claims\[0\]: .*'sure' was unexpected"),
        (lambda report: report["accounting"][0].update(delta="0"), r"\$.accounting\[0\].delta: '0' is not"),
    ],
)
def test_a_report_that_is_something_else_is_refused(change: Any, complaint: str) -> None:
    report = whole_report()
    change(report)
    assert re.match(complaint, problem(report) or "")


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
