"""The other libraries' blocks of docs/coming-from.md print what the page says, where that version is installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.meta.snippets import Snippet, run_program, snippets_of

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
THEIRS = {block.why_not: block for block in snippets_of(PAGE) if block.why_not is not None}


def test_each_library_has_a_block_with_its_version_and_what_it_prints() -> None:
    assert len(THEIRS) == 3
    for name, block in THEIRS.items():
        assert re.fullmatch(r"(dp-accounting|opacus|opendp) \d+\.\d+\.\d+", name)
        assert "# prints " in block.body


@pytest.mark.parametrize(("name", "block"), THEIRS.items(), ids=THEIRS)
def test_a_block_prints_what_the_page_says(name: str, block: Snippet, tmp_path: Path) -> None:
    package, wanted = name.split()
    try:
        found = version(package)
    except PackageNotFoundError:
        found = "none"
    if found != wanted:
        pytest.skip(f"{name} is not installed, but {found}")
    run_program(block.body, tmp_path)
