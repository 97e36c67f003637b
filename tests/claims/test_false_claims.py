"""No engine proves what is false: lists of 20 claims and more with a sign, a factor, a bound or a domain changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ldp_audit.claims import Statement, recheck
from ldp_audit.claims.engines import certificate, enumeration, escape, evaluate, interval, smt
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from tests.claims.false_claims import COUNTS, CURVES, IDENTITIES, INEQUALITIES, NUMBERS, ORDERS, ROUNDED, brute_force

UNIVERSAL = IDENTITIES + INEQUALITIES
ALL = UNIVERSAL + ORDERS + NUMBERS + CURVES + COUNTS + ROUNDED


def name(statement: Statement) -> str:
    return f"{statement.left} {statement.relation} {statement.right}"[:70]


def test_there_are_twenty_for_each_engine() -> None:
    assert min(map(len, (IDENTITIES, INEQUALITIES, ORDERS, NUMBERS, CURVES, COUNTS, ROUNDED, UNIVERSAL))) >= 20


def test_they_are_false_by_brute_force() -> None:
    assert [name(claim) for claim in UNIVERSAL if not brute_force(claim)] == []


@pytest.mark.parametrize(
    ("proved", "claims"),
    [
        pytest.param(certificate.prove_equality, IDENTITIES, id="identity"),
        pytest.param(certificate.prove, INEQUALITIES, id="certificate"),
        pytest.param(lambda claim: smt.settle(claim).holds is True or None, UNIVERSAL, id="smt"),
        pytest.param(lambda claim: escape.prove(claim, certificate.prove), ORDERS, id="escape"),
        pytest.param(lambda claim: evaluate.settle(claim)[0] is True or None, NUMBERS, id="recompute"),
        pytest.param(interval.prove, CURVES + INEQUALITIES, id="interval"),
        pytest.param(lambda claim: enumeration.prove(claim, _certified), COUNTS, id="enumeration"),
    ],
)
def test_no_engine_proves_them(proved: Callable[[Statement], object], claims: list[Statement]) -> None:
    assert [name(claim) for claim in claims if proved(claim) is not None] == []


def _certified(claim: Statement, most: int) -> dict | None:
    if claim.relation == "==":
        return certificate.prove_equality(claim)
    return certificate.prove_whole(claim) or enumeration.prove(claim, _certified, most)


def test_all_engines_together_refute_nearly_all_with_evidence_that_the_checker_accepts() -> None:
    """And none of them is proved; every rounding in the wrong direction is refuted."""
    settled = [(claim, settle(claim)) for claim in ALL]
    refuted = [claim for claim, one in settled if one.verdict is Verdict.REFUTED]
    rest = {name(claim): one.verdict for claim, one in settled if one.verdict is not Verdict.REFUTED}
    assert set(rest.values()) <= {Verdict.UNDECIDED}, rest
    assert [name(claim) for claim, one in settled if recheck.part(one.to_dict()) != one.verdict] == []
    assert [name(claim) for claim in ROUNDED if claim not in refuted] == []
    assert len(refuted) >= 0.9 * len(ALL), rest
