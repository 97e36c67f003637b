"""Wang et al.: the verdicts, and that neighbouring false claims are not proved."""

from __future__ import annotations

import pytest
from sympy import Rational, log

from ldp_audit.claims import Statement, at_most, equal, less
from ldp_audit.claims.papers import load, wang
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import oo
from tests.settled_papers import settled_paper

PAPER = load("wang")
EXPECTED = {
    "WG-DUCHI": "PROVED",
    "WG-PM": "PROVED",
    "WG-PMworst": "PROVED",
    "WG-PMdom": "PROVED",
    "WG-PMvsDuchi1": "PROVED",
    "WG-CROSS": "PROVED",
    "WG-HMstar": "PROVED",
    "WG-HM": "PROVED",
    "WG-HMldp": "PROVED",
    "WG-HMopt": "PROVED",
    "WG-HMpm": "PROVED",
    "WG-DUCHId": "REFUTED",
    "WG-DUCHIdfix": "PROVED",
    "WG-MULTI": "ENUMERATED",
}
"""From the inventory; the engines reach them by themselves."""


def test_the_verdicts_are_those_of_the_inventory() -> None:
    settled = settled_paper("wang")
    assert {one.claim.id: str(one.verdict) for one in settled} == EXPECTED
    assert [one.claim.id for one in settled if one.correction_verdict() not in (None, Verdict.PROVED)] == []
    parts = [(one.claim.id, part) for one in settled for part in one.all_parts()]
    assert [name for name, part in parts if recheck_part(part.to_dict()) != part.verdict] == []
    assert [name for name, part in parts if part.engine == "smt"] == []


s, x = wang.s, wang.x
MIXED, HYBRID = wang.mixed_variance(), wang.hybrid_variance()
FALSE = {
    "PM's variance without its constant": equal(wang.piecewise_variance, x**2 / (s - 1)),
    "PM is better than Duchi's from 1.28 on": less(
        wang.piecewise_worst.subs(s, wang.between(Rational("1.89"), oo)),
        wang.duchi_worst.subs(s, wang.between(Rational("1.89"), oo)),
    ),
    "the hybrid with half PM is level in x": equal(MIXED.subs(wang.MIXING, Rational(1, 2)).diff(x), 0),
    "mixing pays from 0.60 on": at_most(
        HYBRID.subs(s, wang.between(Rational("1.35"), oo)),
        wang.duchi_worst.subs(s, wang.between(Rational("1.35"), oo)),
    ),
    "a smaller alpha is better": at_most(MIXED.subs({wang.MIXING: 0, x: 0}), HYBRID),
    "epsilon* is above 0.6094": less(Rational("0.6094"), 2 * log(wang.ABOVE_STAR)),
}


@pytest.mark.parametrize("statement", FALSE.values(), ids=FALSE.keys())
def test_neighbouring_false_claims_are_refuted(statement: Statement) -> None:
    assert settle(statement).verdict is Verdict.REFUTED
