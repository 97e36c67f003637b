"""What may stand between a claim and its refutation: a narrower domain, or a kinder reading, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Rational, oo

from ldp_audit.claims import Claim, Condition, Paper, Reading, Verdict, at_most, equal, settle_claim
from ldp_audit.claims.recheck_report import recheck_claims
from ldp_audit.claims.settling import BadClaimError, says_nothing, settle
from ldp_audit.mechanisms.variable import EPSILON, ROOT_T, T, Variable
from ldp_audit.reports import document, html, markdown, wording
from tests.together import together

x = Variable("x", -2, 2)
c, r = Variable("c", -oo, oo), Variable("r", 0, oo, open="left")
w = Variable("w", c - 3 * r, c + 3 * r)


def claim(parts: Any, **more: Any) -> Claim:
    return Claim("C", "a place", "in words", parts=tuple(parts), **more)


def outcome(one: Claim) -> tuple[Verdict, dict[str, Any]]:
    settled = settle_claim(one)
    report = document.build([(Paper("p", "a paper", claims=(one,)), [settled])])
    complaints = [found.complaint for found in recheck_claims(report) if found.complaint]
    assert not complaints, complaints
    return settled.verdict, report


def test_a_claim_that_holds_on_a_narrower_domain_is_conditional() -> None:
    found, report = outcome(claim([at_most(x, 1)], condition=Condition("x is at most 1.", (Variable("x", 0, 1),))))
    assert found is Verdict.CONDITIONAL
    under = report["claims"][0]["evidence"]
    assert [(one["left"], one["right"]) for one in under["condition"]] == [("x", "1")]
    assert {one["verdict"] for one in under["narrower"]} == {"PROVED"}
    assert under["parts"][0]["evidence"]["point"]["x"] not in ("0", "1", "1/2")  # outside of the condition


def test_a_domain_that_depends_on_others_may_be_narrowed() -> None:
    narrow = Condition("The weight is within r.", (Variable("w", c - r, c + r),))
    assert outcome(claim([at_most((w - c) ** 2, r**2)], condition=narrow))[0] is Verdict.CONDITIONAL


def test_an_exponent_may_be_narrowed_where_only_the_exponential_occurs() -> None:
    small = Condition("epsilon is at most 1.", (Variable("epsilon", 0, 1, open="left"),))
    assert outcome(claim([at_most(T, 3)], condition=small))[0] is Verdict.CONDITIONAL
    assert outcome(claim([at_most(T, 1 + 2 * EPSILON)], condition=small))[0] is Verdict.CONDITIONAL
    assert outcome(claim([at_most(T, 2)], condition=small))[0] is Verdict.REFUTED


def test_a_variable_may_be_fixed() -> None:
    other = Variable("d", -oo, oo)
    fixed = Condition("The two centers are one.", (Variable("d", c, c),))
    assert outcome(claim([equal(other - c, 0)], condition=fixed))[0] is Verdict.CONDITIONAL


@together("domain", [(-5, 1), (3, 4), (-2, 3)])
def test_a_domain_that_is_not_narrower_is_no_condition(domain: tuple[int, int]) -> None:
    """Elsewhere the claim may hold; that says nothing of it."""
    elsewhere = Condition("x is elsewhere.", (Variable("x", *domain),))
    assert outcome(claim([at_most(x * (x - 2), 7)], condition=elsewhere))[0] is Verdict.REFUTED


def test_a_condition_cannot_be_about_anything_else() -> None:
    with pytest.raises(ValueError, match="must be variables with a narrower domain"):
        Condition("The moon is full.", (at_most(1, 2),))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be variables with a narrower domain"):
        Condition("Nothing.", ())
    moon = Condition("The moon is full.", (Variable("moon", 0, 1),))
    with pytest.raises(BadClaimError, match="names moon, which no part of the claim has"):
        settle_claim(claim([at_most(x, 1)], condition=moon))
    n = Variable("n", 0, 9, integer=True)
    for between in ((0, 1), (Rational(1, 2), Rational(1, 2))):
        broken = claim([at_most(n, 1)], condition=Condition("n is small.", (Variable("n", *between),)))
        with pytest.raises(BadClaimError, match="must stay a whole number"):
            settle_claim(broken)
    apart = claim(
        [at_most(T, 1 + 2 * EPSILON)], condition=Condition("t is small.", (Variable("t", 1, 2, open="left"),))
    )
    with pytest.raises(BadClaimError, match="t must stay what it is under a condition: exp_of=epsilon"):
        settle_claim(apart)


def test_another_reading_is_another_statement_and_never_the_verdict() -> None:
    """Before, parts of `kindest=` that are proved made a refuted claim PROVED, whatever they were about."""
    unrelated = Reading("x is meant up to a sign.", (at_most(x, 2),))
    found, report = outcome(claim([at_most(x, 1)], another=unrelated, looked="Section 2"))
    assert found is Verdict.REFUTED
    shown = report["claims"][0]
    assert shown["counterexample"] == shown["evidence"]["parts"][0]["evidence"]
    assert [part["verdict"] for part in shown["evidence"]["another"]] == ["PROVED"]
    for page in (markdown.claim_chapter(shown), html.render(report)):
        assert "x is meant up to a sign" in page
        assert "does not count for the verdict" in page
    strict = Reading("The words, strictly.", (at_most(x, 0),))
    assert outcome(claim([at_most(x, 2)], reading="x is meant so.", another=strict))[0] is Verdict.PROVED


def test_a_part_of_one_expression_twice_says_so() -> None:
    """SymPy works out what is written: a user's true claim may end so, and no shipped one does."""
    found, report = outcome(claim([equal(x, x)]))
    assert found is Verdict.PROVED
    assert "the same expression" in wording.explain(report["claims"][0]["evidence"]["parts"][0])
    assert says_nothing(equal(x * (T - 1) / (T - 1), x))
    assert not says_nothing(at_most(x, 2))
    assert not says_nothing(equal(ROOT_T**2, T))


def _forged(change: Any) -> list[str]:
    """The complaints about a conditional claim's report after a change."""
    import copy

    one = claim([at_most(x, 1)], condition=Condition("x is at most 1.", (Variable("x", 0, 1),)))
    report = copy.deepcopy(document.build([(Paper("p", "t", claims=(one,)), [settle_claim(one)])]))
    change(report["claims"][0]["evidence"])
    report["manifest"] = document.manifest(report["claims"])
    return [found.complaint for found in recheck_claims(report) if found.complaint]


def test_the_checker_derives_the_condition_again() -> None:
    def other_statement(evidence: dict[str, Any]) -> None:
        evidence["condition"][0] |= {"left": "0", "evidence": {**evidence["condition"][0]["evidence"], "gap": "1"}}

    def wider(evidence: dict[str, Any]) -> None:
        for part in (*evidence["condition"], *evidence["narrower"]):
            part["variables"][0]["lower"] = "-9"

    def unproved(evidence: dict[str, Any]) -> None:
        evidence["narrower"] = evidence["narrower"][:1]

    assert "changes the left of a part" in _forged(other_statement)[0]
    assert _forged(wider)
    assert "it is not shown that the condition restricts x" in _forged(unproved)[0]


@together("name", [33 * "x", "two\nlines", "a\ttab", None, 1])
def test_a_name_is_one_short_line(name: Any) -> None:
    with pytest.raises(ValueError, match="name of claim N must be one line of at most 32 characters"):
        Claim("N", "here", "named", name=name)
    assert Claim("N", "here", "named", name=32 * "x").name == 32 * "x"


def test_claims_are_made_one_at_a_time_and_fail_alone() -> None:
    made: list[str] = []

    def good() -> Claim:
        made.append("G")
        return Claim("G", "here", "good")

    def other() -> Claim:
        return Claim("X", "here", "of another id")

    claims = Paper("k", "t", claims={"G": good, "B": lambda: Claim("", "here", "no id"), "O": other}).claims
    assert (claims.ids, len(claims), made) == (("G", "B", "O"), 3, [])
    assert claims[0] is claims.named("G")
    assert made == ["G"]
    for name, message in (("B", "claim B cannot be built: a claim needs an id"), ("O", "as a Claim of this id")):
        with pytest.raises(ValueError, match=message):
            claims.named(name)
    assert [claim.id for claim in claims[:1]] == ["G"]
    assert claims.only(["O", "G"]).ids == ("G", "O")


def test_a_condition_changes_no_exponent() -> None:
    """e**(x/2) <= 2 on [0, 1] says nothing about e**x <= 2."""
    u = Variable("u", 0, 1)
    t, other = (Variable("v", 0, 3, exp_of=exponent) for exponent in (u, u / 2))
    with pytest.raises(BadClaimError, match="v must stay what it is under a condition: exp_of=u"):
        settle_claim(claim([at_most(t * u, 2 * u)], condition=Condition("v is e**(u/2)", (other,))))
    own, theirs = ([settle(at_most(one * u, 2 * u)).to_dict()] for one in (t, other))
    complaints = _forged(lambda evidence: evidence.update(parts=own, condition=theirs, narrower=[]))
    assert "v is another kind of variable" in complaints[0]
