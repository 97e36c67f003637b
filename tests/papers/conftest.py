"""Each paper settled once a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pytest

from ldp_audit.claims.loading import load_paper
from ldp_audit.claims.settling import SettledClaim, settle_claim

SettledPaper = Callable[[str], Sequence[SettledClaim]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of settled papers come first: of two processes, one settles them."""
    items.sort(key=lambda item: not (isinstance(item, pytest.Function) and "settled_paper" in item.fixturenames))


@pytest.fixture(scope="session")
def settled_paper() -> SettledPaper:
    """The claims of a shipped paper, by its key, settled once. A test that changes evidence must copy it."""
    return cache(lambda key: tuple(map(settle_claim, load_paper(key).claims)))
