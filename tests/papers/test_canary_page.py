"""The table of docs/training-bounds.md against the audits that it says it is from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from ldp_audit.training.canary import audit_run
from ldp_audit.training.data import load
from ldp_audit.training.fedmd_nfdp.plan import FedMd
from ldp_audit.training.fedsel.plan import FedSel
from ldp_audit.training.ldp_fl.plan import LdpFl
from tests.together import together

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "training-bounds.md"
_NUMBER = re.compile(r"(?<![\w-])\d+(?:\.(\d+))?(?!\w)")

Cell = list[float | str]
"""Its numbers in order, and its verdict."""


def printed() -> list[list[str]]:
    """The rows of the page's table: run, observer, at least, of at most, exactly promised, paper."""
    after = _PAGE.read_text(encoding="utf-8").partition("| run | observer | at least |")[2]
    rows = [line.strip("|").split("|") for line in after.partition("\n\n")[0].splitlines()[2:]]
    return [[cell.strip() for cell in row] for row in rows]


def agrees(cell: str, right: Cell) -> bool:
    """Whether the cell has these numbers, within one of the last decimal, and this verdict."""
    numbers = [one for one in right if not isinstance(one, str)]
    words = [one for one in right if isinstance(one, str)]
    shown = list(_NUMBER.finditer(cell.replace("1e-5", "0.00001")))
    near = [abs(float(one[0]) - number) <= _last(one[1]) for one, number in zip(shown, numbers, strict=False)]
    return len(shown) == len(numbers) and all(near) and all(word in cell for word in words)


def _last(decimals: str | None) -> float:
    """One of the last decimal; whole numbers must be the nearest."""
    return 10.0 ** -len(decimals) if decimals else 0.5


def cells(observer: dict[str, Any]) -> list[Cell]:
    """What the four cells of an observer's row must say."""
    by = {one["by"]: one for one in observer["promised"]}
    exact, paper = by["exact"], by.get("paper")
    if observer["delta_lower"] is not None:  # FedMD-NFDP: a delta, at an epsilon
        return [
            [observer["delta_lower"], 0.0],
            [],
            [exact["delta"]],
            [paper["delta"], paper["epsilon"], paper["verdict"]] if paper else [],
        ]
    return [
        [observer["epsilon_lower"]],
        [observer["most_that_could_be_seen"]],
        [exact["epsilon"], *([exact["delta"]] if exact["delta"] else [])],
        [paper["epsilon"], paper["verdict"]] if paper else [],
    ]


@pytest.mark.parametrize(
    ("plan", "rows"),
    [
        pytest.param(LdpFl(), slice(0, 3), marks=pytest.mark.slow),
        pytest.param(FedSel(), slice(3, 4), marks=pytest.mark.slow),
        pytest.param(FedMd(), slice(4, 5), marks=pytest.mark.slow),
    ],
)
def test_the_table_says_what_the_audit_of_these_plans_says(plan: Any, rows: slice) -> None:
    """Catches a table that has grown old. The seed is fixed; one in the last decimal is left for other processors."""
    found = audit_run(plan, load(plan.embedded), 3, device=torch.device("cpu"))["observers"]
    table = printed()
    assert len(table) == 5
    assert len(found) == len(table[rows])
    for row, observer in zip(table[rows], found, strict=True):
        for cell, right in zip(row[2:], cells(observer), strict=True):
            assert agrees(cell, right), (row[:2], cell, right)


@together(("plan", "rows"), [(FedSel(), slice(3, 4)), (FedMd(), slice(4, 5))])
def test_the_table_has_the_promises_of_these_plans(plan: Any, rows: slice) -> None:
    """What the audit compares its bounds with: the last two columns, without the verdicts."""
    run = plan.start(load(plan.embedded), seed=3, device=torch.device("cpu"))
    for row, canary in zip(printed()[rows], run.canaries(), strict=True):
        by = {one.by: one for one in canary.promises}
        deltas = [by["exact"].delta] if by["exact"].delta else []
        paper = [by["paper"].delta, by["paper"].epsilon] if by["exact"].epsilon == 0 else [by["paper"].epsilon]
        assert agrees(row[4], [*([by["exact"].epsilon] if by["exact"].epsilon else []), *deltas]), row
        assert agrees(row[5], paper), row


def test_another_number_another_verdict_and_a_number_too_many_are_seen() -> None:
    """The comparison itself."""
    assert agrees("30.3 at delta 1e-5", [30.25, 1e-5])
    assert agrees("2, consistent", [2.0, "consistent"])
    for cell, right in (
        ("3, violated", [2.0, "violated"]),
        ("epsilon 5.6", [5.76]),
        ("2, violated", [2.0, "consistent"]),
        ("2 at delta 1e-5", [2.0]),
        ("", [1.0]),
    ):
        assert not agrees(cell, right)
