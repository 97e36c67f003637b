"""Shared fixtures: the example paper settled once a session, and the option for the full-size checks."""

from __future__ import annotations

import copy
import gc
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ldp_audit import registry
from ldp_audit.claims.claim import Paper
from ldp_audit.claims.settling import SettledClaim, settle_claim
from ldp_audit.reports import document
from tests.covering import covering, numbered
from tests.example_paper import ENTRY_POINTS, PAPER
from tests.together import Length

REPOSITORY = Path(__file__).parents[1]

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
    """Without `--slow`: nothing of full size, and of every product of parameters a share that holds all pairs."""
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
def _example_document() -> dict:
    return written_and_read([(PAPER, [settle_claim(claim) for claim in PAPER.claims])])


def written_and_read(settled: Sequence[tuple[Paper, Sequence[SettledClaim]]]) -> dict:
    """The report of settled papers with their figures, as it is read back from JSON."""
    figures = [(paper.key, one) for paper, _ in settled if paper.figures for one in paper.figures()]
    return json.loads(json.dumps(document.build(settled, figures)))


@pytest.fixture
def paper_report(_example_document: dict) -> dict:
    """The report of the example paper; a copy, so that a test may change it."""
    return copy.deepcopy(_example_document)


@pytest.fixture
def example_installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example paper and its protocols are found by name, in processes that the test starts too."""
    site = tmp_path_factory.mktemp("site")
    package = site / "example_paper-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: example-paper\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(REPOSITORY)]), prepend=os.pathsep)
    registry.entries.cache_clear()
    yield
    monkeypatch.undo()
    registry.entries.cache_clear()
