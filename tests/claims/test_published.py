"""Statements that papers print, and a false neighbour of each: which are settled, and is a verdict ever wrong?

The entries lie in `tests/claims/published/`, a module a theme. Whether an entry is true was found out without engines:
by thought, and by numbers in 120 digits, which is a test here as well. A false one fails at a point that it names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from mpmath import mp

from ldp_audit.claims.settling import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict, combine
from tests.claims.published import ENTRIES
from tests.claims.published.entry import DIGITS, Entry, contradiction, fails, parts_of

MOST_UNDECIDED = 0.05
"""The share of all statements, neighbours included, that may stay open."""
POINTS = 12
BY_ID = {entry.id: entry for entry in ENTRIES}
PUBLISHED = list(BY_ID)
TRUE = [entry.id for entry in ENTRIES if entry.holds]
FALSE = [entry.id for entry in ENTRIES if not entry.holds]
NOT_WRITTEN = (BadClaimError, TypeError, ValueError, NotImplementedError, AttributeError)
"""What building or settling raises for a construct that the engines do not know."""


@cache
def outcome(name: str, *, beside: bool) -> tuple[Verdict, str]:
    """The verdict on the entry, or on its neighbour, with the reason where there is none."""
    entry = BY_ID[name]
    build = entry.neighbour if beside else entry.statement
    assert build is not None
    try:
        settled = [settle(part) for part in parts_of(build)]
    except NOT_WRITTEN as error:
        return Verdict.UNDECIDED, f"{type(error).__name__}: {error}"
    reasons = [str(one.evidence.get("reason")) for one in settled if one.verdict is Verdict.UNDECIDED]
    return combine([one.verdict for one in settled]), "; ".join(reasons)


def everything() -> Iterator[tuple[Entry, bool]]:
    """All entries, each with its neighbour if it has one."""
    for entry in ENTRIES:
        yield entry, False
        if entry.holds:
            yield entry, True


def test_there_are_200_statements_of_ten_sources_and_each_true_one_has_a_neighbour() -> None:
    assert len(ENTRIES) >= 200
    assert len(BY_ID) == len(ENTRIES), "an id is used twice"
    assert len({entry.source for entry in ENTRIES}) >= 10
    assert all(entry.place and entry.words and entry.needs for entry in ENTRIES)


@pytest.mark.parametrize("name", TRUE)
def test_a_true_statement_is_never_refuted(name: str) -> None:
    verdict, _ = outcome(name, beside=False)
    assert verdict is not Verdict.REFUTED, f"{name} is true: {BY_ID[name].words}"


@pytest.mark.parametrize("name", TRUE)
def test_its_neighbour_is_never_proved(name: str) -> None:
    verdict, _ = outcome(name, beside=True)
    assert verdict is not Verdict.PROVED, f"the neighbour of {name} is false at {BY_ID[name].against}"


@pytest.mark.parametrize("name", FALSE)
def test_a_false_statement_is_never_proved(name: str) -> None:
    verdict, _ = outcome(name, beside=False)
    assert verdict is not Verdict.PROVED, f"{name} is false at {BY_ID[name].against}"


def test_at_most_one_in_twenty_is_left_undecided() -> None:
    every = list(everything())
    still_open = [
        f"{entry.id}{' (neighbour)' if beside else ''} needs {entry.needs}: {reason[:100]}"
        for entry, beside in every
        for verdict, reason in [outcome(entry.id, beside=beside)]
        if verdict is Verdict.UNDECIDED
    ]
    listed = "\n".join(still_open)
    assert len(still_open) <= MOST_UNDECIDED * len(every), f"{len(still_open)} of {len(every)} undecided:\n{listed}"


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_truth_of_every_entry_by_numbers(name: str) -> None:
    entry = BY_ID[name]
    with mp.workdps(DIGITS):
        if entry.holds:
            assert not contradiction(entry.statement, entry.shown, points=POINTS, seed=name)
        assert fails(entry.neighbour or entry.statement, entry.against), f"nothing fails at {entry.against}"


def test_the_numbers_contradict_what_is_false() -> None:
    """Else the test above could pass whatever is stated: held to be true, most neighbours fail at random points."""
    with mp.workdps(DIGITS):
        seen = [
            bool(contradiction(entry.neighbour, entry.shown, points=POINTS, seed=entry.id))
            for entry in ENTRIES
            if entry.neighbour is not None and not callable(entry.against)
        ]
    assert sum(seen) > 0.9 * len(seen)
