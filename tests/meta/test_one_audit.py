"""Every audit is one pipeline: its results are made in one place, and its stopping rules are alike."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import ldp_audit
from ldp_audit.auditing.audit_program import FixedSize, audit
from ldp_audit.auditing.looks import Looks
from ldp_audit.auditing.sequential import Betting

PACKAGE = Path(ldp_audit.__file__).parent
ONE_SCREEN = 45
"""Lines of code."""


def calls_of(name: str, source: str) -> int:
    """How often a text calls this name."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sum(isinstance(one, ast.Name) and one.id == name for one in calls)


def test_a_result_is_made_in_one_place() -> None:
    """Would catch a verdict that does not ask whether outputs depend on each other, or whether anything was seen."""
    found = {path.name: calls_of("AuditResult", path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert {name: count for name, count in found.items() if count} == {"evidence.py": 1}
    assert calls_of("AuditResult", "a = AuditResult(1)\nb = other.AuditResult\nAuditResult()") == 2


@pytest.mark.parametrize("rule", [FixedSize, Looks, Betting], ids=lambda one: one.__name__)
def test_a_stopping_rule_searches_counts_and_gives_evidence(rule: type) -> None:
    assert [name for name, one in vars(rule).items() if inspect.isfunction(one) and name[0] != "_"] == [
        "search",
        "count",
        "evidence",
    ]


def test_an_audit_reads_on_one_screen() -> None:
    (function,) = ast.parse(inspect.getsource(audit)).body
    assert isinstance(function, ast.FunctionDef)
    first, last = function.body[1], function.body[-1]  # behind the docstring
    assert last.end_lineno is not None
    assert last.end_lineno - first.lineno < ONE_SCREEN
