"""Wang et al.: neighbouring false claims are not proved."""

from __future__ import annotations

from sympy import Rational, log

from ldp_audit.claims import Statement, at_most, equal, less
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import oo
from ldp_audit.papers.wang import claims as wang
from tests.together import together

s, x = wang.s, wang.x
MIXED, HYBRID = wang.mixed_variance(), wang.hybrid_variance()
FALSE = {
    "PM's variance without its constant": equal(wang.piecewise_variance(), x**2 / (s - 1)),
    "PM is better than Duchi's from 1.28 on": less(
        wang.piecewise_worst().subs(s, wang.between(Rational("1.89"), oo)),
        wang.duchi_worst().subs(s, wang.between(Rational("1.89"), oo)),
    ),
    "the hybrid with half PM is level in x": equal(MIXED.subs(wang.MIXING, Rational(1, 2)).diff(x), 0),
    "mixing pays from 0.60 on": at_most(
        HYBRID.subs(s, wang.between(Rational("1.35"), oo)),
        wang.duchi_worst().subs(s, wang.between(Rational("1.35"), oo)),
    ),
    "a smaller alpha is better": at_most(MIXED.subs({wang.MIXING: 0, x: 0}), HYBRID),
    "epsilon* is above 0.6094": less(Rational("0.6094"), 2 * log(wang.ABOVE_STAR)),
}


@together("statement", FALSE.values())
def test_neighbouring_false_claims_are_refuted(statement: Statement) -> None:
    assert settle(statement).verdict is Verdict.REFUTED
