"""What the toolkit says itself: the verdicts, and that neighbouring false claims are refuted."""

from __future__ import annotations

import pytest
from sympy import Rational, log, oo

from ldp_audit.claims import Statement, at_most, equal, less, prints_as
from ldp_audit.claims.papers import load, own
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import T, Variable
from tests.settled_papers import settled_paper

PAPER = load("own")
EXPECTED = {claim.id: "PROVED" for claim in PAPER.claims} | {
    "PR-SEL": "ENUMERATED",
    "PR-EXP": "ENUMERATED",
    "PR-GAUSS": "PROSE",
}


def test_each_ends_as_it_should_and_none_is_held_against_a_paper() -> None:
    settled = settled_paper("own")
    assert {one.claim.id: str(one.verdict) for one in settled} == EXPECTED
    assert {one.claim.source for one in settled} == {"derived"}
    parts = [(one.claim.id, part) for one in settled for part in one.all_parts()]
    assert [name for name, part in parts if recheck_part(part.to_dict()) != part.verdict] == []
    assert [name for name, part in parts if part.engine == "smt"] == []


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
