"""LDP-FL settled once a session, and its report."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import pytest

from ldp_audit.claims.settling import SettledClaim
from ldp_audit.papers.ldp_fl.claims import PAPER
from tests.conftest import written_and_read
from tests.papers.conftest import SettledPaper


@pytest.fixture(scope="session")
def ldp_fl_settled(settled_paper: SettledPaper) -> Sequence[SettledClaim]:
    return settled_paper(PAPER.key)


@pytest.fixture(scope="session")
def _ldp_fl_document(ldp_fl_settled: Sequence[SettledClaim]) -> dict:
    return written_and_read([(PAPER, ldp_fl_settled)])


@pytest.fixture
def paper_report(_ldp_fl_document: dict) -> dict:
    """The report of LDP-FL in place of the example paper's; a copy, so that a test may change it."""
    return copy.deepcopy(_ldp_fl_document)
