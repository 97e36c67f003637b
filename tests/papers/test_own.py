"""What the toolkit says itself: neighbouring false claims are refuted."""

from __future__ import annotations

from sympy import Rational, log, oo

from ldp_audit.claims import Statement, at_most, equal, less, prints_as
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.papers.own import claims as own
from tests.together import together

words = Variable("W", 2, oo)
few = Variable("n", words / (T + 2), words / 2)
grown = Variable("x", 1, oo)
smallest = Variable("a", 1 / grown**2, 1)
FALSE = {
    "a profile that is too small": at_most(own.two_point().parts[0].left, (T - own.E) / (T + 2)),
    "a threshold that is too low is safe": at_most((words - few) / few, T),
    "half a word is passed at t = W": at_most(words / (Variable("t", words, oo) + 1), Rational(1, 2)),
    "24 bits fail from 17.32 on": prints_as(log(2**25 - 1), "17.32"),
    "k-RR has the two-point profile": equal(own.randomized_response().parts[0].left, (T - own.E) / (T + 1)),
    "a move's variance is the middle's": at_most((smallest * grown**2 - 1) * (1 - smallest), grown - 2 + 1 / grown),
    "an excess above one half": less(Rational(1, 2), log(Rational(3, 2))),
}


@together("statement", FALSE.values())
def test_neighbouring_false_claims_are_refuted(statement: Statement) -> None:
    assert settle(statement).verdict is Verdict.REFUTED
