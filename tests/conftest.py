"""Shared fixtures: LDP-FL settled once a session, and the option for the full-size checks."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, settings

from ldp_audit.claims import papers
from ldp_audit.claims.settling import SettledClaim, settle_claim
from ldp_audit.reports import document

settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the checks at their full size too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="full size: run with --slow"))


@pytest.fixture(scope="session")
def ldp_fl_settled() -> list[SettledClaim]:
    return [settle_claim(claim) for claim in papers.load("ldp-fl").claims]


@pytest.fixture(scope="session")
def _ldp_fl_document(ldp_fl_settled: list[SettledClaim]) -> dict:
    paper = papers.load("ldp-fl")
    assert paper.figures is not None
    return json.loads(
        json.dumps(document.build([(paper, ldp_fl_settled)], [(paper.key, one) for one in paper.figures()]))
    )


@pytest.fixture
def ldp_fl_report(_ldp_fl_document: dict) -> dict:
    """The report as it is read back from JSON; a copy, so that a test may change it."""
    return copy.deepcopy(_ldp_fl_document)
