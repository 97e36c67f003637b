"""What the toolkit says itself: the verdicts, and that neighbouring false claims are refuted."""

from __future__ import annotations

import pytest
from sympy import Rational, log, oo

from ldp_audit.claims.claim import Claim
from ldp_audit.claims.papers import load, own
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.settling import settle, settle_claim
from ldp_audit.claims.statement import Statement, at_most, equal, less, prints_as
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import T, Variable

PAPER = load("own")
EXPECTED = {claim.id: "PROVED" for claim in PAPER.claims} | {
    "PR-SEL": "ENUMERATED",
    "PR-EXP": "ENUMERATED",
    "PR-GAUSS": "PROSE",
}


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.id)
def test_each_ends_as_it_should_and_none_is_held_against_a_paper(claim: Claim) -> None:
    settled = settle_claim(claim)
    assert str(settled.verdict) == EXPECTED[claim.id]
    assert claim.source == "derived"
    for part in settled.all_parts():
        assert recheck_part(part.to_dict()) == part.verdict
        assert part.engine != "smt"


words = Variable("W", 2, oo)
few = Variable("n", words / (T + 2), words / 2)
FALSE = {
    "a profile that is too small": at_most(own.two_point().parts[0].left, (T - own.E) / (T + 2)),
    "a threshold that is too low is safe": at_most((words - few) / few, T),
    "half a word is passed at t = W": at_most(words / (Variable("t", words, oo) + 1), Rational(1, 2)),
    "24 bits fail from 17.32 on": prints_as(log(2**25 - 1), "17.32"),
    "k-RR has the two-point profile": equal(own.randomized_response().parts[0].left, (T - own.E) / (T + 1)),
    "an excess above one half": less(Rational(1, 2), log(Rational(3, 2))),
}


@pytest.mark.parametrize("statement", FALSE.values(), ids=FALSE.keys())
def test_neighbouring_false_claims_are_refuted(statement: Statement) -> None:
    assert settle(statement).verdict is Verdict.REFUTED
