"""All shipped papers: each part says something, and no paper is accused before its kindest reading was tried."""

from __future__ import annotations

import pytest

from ldp_audit.claims import at_most, equal
from ldp_audit.claims.claim import Claim, Condition, Correction, Reading
from ldp_audit.claims.loading import paper_keys
from ldp_audit.claims.settling import SettledClaim, says_nothing, settle_claim
from ldp_audit.claims.verdict import Verdict, combine
from ldp_audit.mechanisms.variable import Variable
from tests.papers.conftest import SettledPaper
from tests.together import together

AGAINST = (Verdict.REFUTED, Verdict.CONDITIONAL, Verdict.VACUOUS)


def idle(settled: SettledClaim) -> list[str]:
    """The labels of all parts, of whatever group, whose two sides are one expression."""
    return [part.statement.label for part in settled.all_parts() if says_nothing(part.statement)]


def unlooked(settled: SettledClaim) -> bool:
    """Whether something is held against a paper without a word on where another meaning was looked for.

    Without another reading, that word must be that there is no other one.
    """
    claim = settled.claim
    told = claim.looked.strip() if claim.another else "no other" in claim.looked
    return claim.source == "paper" and settled.verdict in AGAINST and not told


@pytest.fixture(scope="module")
def settled(settled_paper: SettledPaper) -> list[SettledClaim]:
    return [one for key in paper_keys() for one in settled_paper(key)]


def test_every_part_says_something(settled: list[SettledClaim]) -> None:
    """Would catch a part that SymPy has worked out to `x == x`, on which no verdict may rest."""
    assert {one.claim.id: labels for one in settled if (labels := idle(one))} == {}


def test_what_is_held_against_a_paper_says_where_it_was_looked(settled: list[SettledClaim]) -> None:
    assert [one.claim.id for one in settled if unlooked(one)] == []


def test_another_reading_is_another_one_and_is_shown_with_where_it_was_looked_for(settled: list[SettledClaim]) -> None:
    both = [(one.claim, one.claim.another) for one in settled if one.claim.another]
    assert both
    assert [claim.id for claim, another in both if another.parts == claim.parts or not claim.looked.strip()] == []


def test_no_paper_is_refuted_where_another_reading_of_its_words_holds(settled: list[SettledClaim]) -> None:
    """The kindest reading is the claim's own; where another one is entered, it is a stricter one, or fails as well."""
    other = [(one, combine([part.verdict for part in one.groups["another"]])) for one in settled if one.claim.another]
    assert [one.claim.id for one, verdict in other if verdict is Verdict.PROVED] == []
    assert [one.claim.id for one, _ in other if one.verdict is Verdict.PROVED and not one.claim.reading] == []
    assert {one.verdict for one, _ in other} == {Verdict.PROVED, Verdict.REFUTED}


x, y = Variable("x", 0, 1), Variable("y", 0, 2)


@together(
    "claim",
    [
        Claim("T-1", "here", "an identity", parts=(equal(2 * x - x, x, "x is x"),)),
        Claim("T-2", "here", "in a correction", parts=(at_most(x, 2),), corrected=Correction("", "", (at_most(x, x),))),
        Claim("T-3", "here", "in a reading", parts=(at_most(x, 2),), another=Reading("", (equal(x, x),))),
    ],
)
def test_a_part_that_says_nothing_is_found(claim: Claim) -> None:
    assert len(idle(settle_claim(claim))) == 1


def test_a_verdict_against_a_paper_without_a_word_is_found() -> None:
    silent = Claim("T-4", "here", "y is at most 1", parts=(at_most(y, 1),))
    condition = Condition("y is at most 1", (Variable("y", 0, 1),))
    assert unlooked(settle_claim(silent))
    assert unlooked(settle_claim(Claim("T-5", "here", "y is at most 1", parts=silent.parts, condition=condition)))
    assert not unlooked(settle_claim(Claim("T-6", "here", "ours", parts=silent.parts, source="derived")))
    assert not unlooked(
        settle_claim(Claim("T-7", "here", "told", parts=silent.parts, looked="Section 1; no other reading"))
    )
    assert unlooked(settle_claim(Claim("T-8", "here", "half told", parts=silent.parts, looked="Section 1")))
