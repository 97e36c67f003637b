"""Shared fixtures: LDP-FL settled once a session, and the option for the full-size checks."""

from __future__ import annotations

import copy
import gc
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from ldp_audit.claims.loading import load_paper
from ldp_audit.claims.settling import SettledClaim, settle_claim
from ldp_audit.reports import document
from tests.covering import covering, numbered
from tests.together import Length

SettledPaper = Callable[[str], Sequence[SettledClaim]]

settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the checks at their full size too")


def pytest_configure(config: pytest.Config) -> None:
    """With `--slow` tables of dear rows run at full length too."""
    Length.full = config.getoption("--slow")


def pytest_collection() -> None:
    """What is made while tests are collected lives to the end: the garbage collector need not look through it."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `--slow`: nothing of full size, and of every product of parameters a share that holds all pairs.

    Tests of settled papers come first: of two processes, one settles them.
    """
    items.sort(key=lambda item: not (isinstance(item, pytest.Function) and "settled_paper" in item.fixturenames))
    if config.getoption("--slow"):
        return
    left_out = {item for item in items if "slow" in item.keywords}
    products: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item not in left_out:
            products[item.nodeid.partition("[")[0]].append(item)
    for cases in products.values():
        mark = cases[0].get_closest_marker("covering")
        chosen = covering(numbered(cases), *(mark.args if mark else ()))
        left_out |= set(cases) - {cases[place] for place in chosen}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


@pytest.fixture(scope="session")
def settled_paper() -> SettledPaper:
    """The claims of a shipped paper, by its key, settled once. A test that changes evidence must copy it."""
    return cache(lambda key: tuple(map(settle_claim, load_paper(key).claims)))


@pytest.fixture(scope="session")
def ldp_fl_settled(settled_paper: SettledPaper) -> Sequence[SettledClaim]:
    return settled_paper("ldp-fl")


@pytest.fixture(scope="session")
def _ldp_fl_document(ldp_fl_settled: Sequence[SettledClaim]) -> dict:
    paper = load_paper("ldp-fl")
    assert paper.figures is not None
    return json.loads(
        json.dumps(document.build([(paper, ldp_fl_settled)], [(paper.key, one) for one in paper.figures()]))
    )


@pytest.fixture
def ldp_fl_report(_ldp_fl_document: dict) -> dict:
    """The report as it is read back from JSON; a copy, so that a test may change it."""
    return copy.deepcopy(_ldp_fl_document)
