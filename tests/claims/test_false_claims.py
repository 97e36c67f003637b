"""No engine proves what is false: lists of 20 claims and more with a sign, a factor, a bound or a domain changed."""

from __future__ import annotations

import pytest

from ldp_audit.claims import recheck
from ldp_audit.claims.engines import certificate, enumeration, escape, identity, interval, recompute, smt
from ldp_audit.claims.settling import settle
from ldp_audit.claims.statement import Statement
from ldp_audit.claims.verdict import Verdict
from tests.claims.false_claims import COUNTS, CURVES, IDENTITIES, INEQUALITIES, NUMBERS, ORDERS, ROUNDED, brute_force

UNIVERSAL = IDENTITIES + INEQUALITIES
ALL = UNIVERSAL + ORDERS + NUMBERS + CURVES + COUNTS + ROUNDED


def name(statement: Statement) -> str:
    return f"{statement.left} {statement.relation} {statement.right}"[:70]


def test_there_are_twenty_for_each_engine() -> None:
    assert min(map(len, (IDENTITIES, INEQUALITIES, ORDERS, NUMBERS, CURVES, COUNTS, ROUNDED, UNIVERSAL))) >= 20


@pytest.mark.parametrize("claim", UNIVERSAL, ids=name)
def test_they_are_false_by_brute_force(claim: Statement) -> None:
    assert brute_force(claim)


@pytest.mark.parametrize("claim", IDENTITIES, ids=name)
def test_identity_does_not_prove_them(claim: Statement) -> None:
    assert identity.prove(claim) is None


@pytest.mark.parametrize("claim", INEQUALITIES, ids=name)
def test_certificate_does_not_prove_them(claim: Statement) -> None:
    assert certificate.prove(claim) is None


@pytest.mark.parametrize("claim", UNIVERSAL, ids=name)
def test_smt_does_not_prove_them(claim: Statement) -> None:
    assert smt.settle(claim).holds is not True


@pytest.mark.parametrize("claim", ORDERS, ids=name)
def test_no_constant_is_found_where_there_is_none(claim: Statement) -> None:
    assert escape.prove(claim, certificate.prove) is None


@pytest.mark.parametrize("claim", NUMBERS, ids=name)
def test_recompute_does_not_prove_them(claim: Statement) -> None:
    assert recompute.settle(claim)[0] is not True


@pytest.mark.parametrize("claim", CURVES + INEQUALITIES, ids=name)
def test_interval_does_not_prove_them(claim: Statement) -> None:
    assert interval.prove(claim) is None


@pytest.mark.parametrize("claim", COUNTS, ids=name)
def test_enumeration_does_not_prove_them(claim: Statement) -> None:
    assert enumeration.prove(claim, _certified) is None


@pytest.mark.parametrize("claim", ROUNDED, ids=name)
def test_no_engine_proves_a_rounding_in_the_wrong_direction(claim: Statement) -> None:
    assert settle(claim).verdict is Verdict.REFUTED


def _certified(claim: Statement, most: int) -> dict | None:
    if claim.relation == "==":
        return identity.prove(claim)
    return certificate.prove_whole(claim) or enumeration.prove(claim, _certified, most)


@pytest.mark.parametrize("claim", ALL, ids=name)
def test_all_engines_together_refute_them_with_evidence_that_the_checker_accepts(claim: Statement) -> None:
    settled = settle(claim)
    assert settled.verdict in (Verdict.REFUTED, Verdict.UNDECIDED)
    assert recheck.part(settled.to_dict()) == settled.verdict


def test_nearly_all_of_them_are_refuted_and_not_only_left_open() -> None:
    refuted = [claim for claim in ALL if settle(claim).verdict is Verdict.REFUTED]
    assert len(refuted) >= 0.9 * len(ALL)
