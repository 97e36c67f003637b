"""Statements that papers print, and a false neighbour of each: which are settled, and is a verdict ever wrong?

The entries lie in `tests/claims/published/`, a module a theme. Whether an entry is true was found out without engines:
by thought, and by numbers in 120 digits, which is a test here as well. A false one fails at a point that it names.
"""

from __future__ import annotations

import pytest
from mpmath import mp

from ldp_audit.claims.settling import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict, combine
from tests.claims.published import ENTRIES, NEW
from tests.claims.published.entry import DIGITS, Entry, contradiction, fails, parts_of

MOST_UNDECIDED, MOST_UNDECIDED_OF_NEW = 0.05, 0.24
"""The shares of statements, neighbours included, that may stay open: of the first ones, and of those that were entered
on 2026-11-28, of which the engines of that day left .46."""
POINTS = 12
EVERY = 7
"""Without `--slow` one entry in so many is settled and held against numbers, a share of every theme; with it all."""
BY_ID = {entry.id: entry for entry in ENTRIES}
NOT_WRITTEN = (BadClaimError, TypeError, ValueError, NotImplementedError, AttributeError)
"""What building or settling raises for a construct that the engines do not know."""


@pytest.fixture
def entries(request: pytest.FixtureRequest) -> list[Entry]:
    return list(ENTRIES if request.config.getoption("--slow") else ENTRIES[::EVERY])


def outcome(entry: Entry, *, beside: bool) -> tuple[Verdict, str]:
    """The verdict on the entry, or on its neighbour, with the reason where there is none."""
    build = entry.neighbour if beside else entry.statement
    assert build is not None
    try:
        settled = [settle(part) for part in parts_of(build)]
    except NOT_WRITTEN as error:
        return Verdict.UNDECIDED, f"{type(error).__name__}: {error}"
    reasons = [str(one.evidence.get("reason")) for one in settled if one.verdict is Verdict.UNDECIDED]
    return combine([one.verdict for one in settled]), "; ".join(reasons)


def complaint(entry: Entry, *, beside: bool, verdict: Verdict) -> str:
    """What is wrong with a verdict: a true statement refuted, or a false one proved. Empty where nothing is."""
    if entry.holds and not beside:
        return f"{entry.id} is true: {entry.words}" if verdict is Verdict.REFUTED else ""
    which = "the neighbour of " if beside else ""
    return f"{which}{entry.id} is false at {entry.against}" if verdict is Verdict.PROVED else ""


def test_there_are_200_statements_of_ten_sources_and_each_true_one_has_a_neighbour() -> None:
    assert len(ENTRIES) >= 200
    assert len(BY_ID) == len(ENTRIES), "an id is used twice"
    assert len({entry.source for entry in ENTRIES}) >= 10
    assert all(entry.place and entry.words and entry.needs for entry in ENTRIES)
    assert all((entry.neighbour is not None) == entry.holds for entry in ENTRIES)


def test_no_verdict_is_wrong_and_at_most_one_in_twenty_is_left_undecided(entries: list[Entry]) -> None:
    asked = [(entry, beside) for entry in entries for beside in ((False, True) if entry.holds else (False,))]
    new = [entry for entry, _ in asked if entry in NEW]
    outcomes = [(entry, beside, *outcome(entry, beside=beside)) for entry, beside in asked]
    wrong = [complaint(entry, beside=beside, verdict=verdict) for entry, beside, verdict, _ in outcomes]
    assert [one for one in wrong if one] == []
    still_open = [
        f"{entry.id}{' (neighbour)' if beside else ''} needs {entry.needs}: {reason[:100]}"
        for entry, beside, verdict, reason in outcomes
        if verdict is Verdict.UNDECIDED
    ]
    listed = "\n".join(still_open)
    most = MOST_UNDECIDED * (len(asked) - len(new)) + MOST_UNDECIDED_OF_NEW * len(new)
    assert len(still_open) <= most, f"{len(still_open)} of {len(asked)} undecided:\n{listed}"


def test_what_cannot_be_written_yet_is_marked(entries: list[Entry]) -> None:
    """And nothing else is: a mark that stays would spare an entry its numbers."""
    assert [entry.id for entry in entries if entry.not_yet is builds(entry)] == []


def builds(entry: Entry) -> bool:
    try:
        for build in (entry.statement, entry.neighbour or entry.statement):
            parts_of(build)
    except NOT_WRITTEN:
        return False
    return True


def test_a_wrong_verdict_is_found() -> None:
    for entry in ENTRIES:
        assert complaint(entry, beside=False, verdict=Verdict.REFUTED if entry.holds else Verdict.PROVED)
        assert not complaint(entry, beside=False, verdict=Verdict.PROVED if entry.holds else Verdict.REFUTED)
        assert not complaint(entry, beside=False, verdict=Verdict.UNDECIDED)
        if entry.holds:
            assert complaint(entry, beside=True, verdict=Verdict.PROVED)
            assert not complaint(entry, beside=True, verdict=Verdict.REFUTED)


def test_the_truth_of_every_entry_by_numbers(entries: list[Entry]) -> None:
    entries = [entry for entry in entries if not entry.not_yet]
    with mp.workdps(DIGITS):
        contradicted = [
            entry.id
            for entry in entries
            if entry.holds and contradiction(entry.statement, entry.shown, points=POINTS, seed=entry.id)
        ]
        standing = [entry.id for entry in entries if not fails(entry.neighbour or entry.statement, entry.against)]
    assert (contradicted, standing) == ([], []), "true ones that numbers contradict; false ones that hold where named"


def test_the_numbers_contradict_what_is_false(entries: list[Entry]) -> None:
    """Else the test above could pass whatever is stated: held to be true, most neighbours fail at random points.

    Those that fail by a tie alone cannot: up to the noise of the digits they hold.
    """
    with mp.workdps(DIGITS):
        seen = [
            bool(contradiction(entry.neighbour, entry.shown, points=POINTS, seed=entry.id))
            for entry in entries
            if entry.neighbour is not None and not entry.not_yet and not callable(entry.against)
            if fails(entry.neighbour, entry.against, strictly=False)
        ]
    assert sum(seen) > 0.9 * len(seen)
