"""The page on image data says what the loaders do."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from pathlib import Path

from ldp_audit.training.data import DATASETS
from tests.together import together

PAGE = (Path(__file__).parents[3] / "docs" / "data-images.md").read_text(encoding="utf-8")
IMAGES = [name for name, source in DATASETS.items() if source.kind == "images"]


def test_the_snippet_prints_what_the_page_says() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block, {})
    assert printed.getvalue().split() == re.findall(r"# prints (.*)", block)[0].split()


@together("name", IMAGES)
def test_every_data_set_is_in_a_table_with_its_options(name: str) -> None:
    """Would catch a data set or an option that nobody wrote about."""
    loader = DATASETS[name].loader
    options = [key for key, one in inspect.signature(loader).parameters.items() if one.kind is one.KEYWORD_ONLY]
    rows = [row for row in PAGE.splitlines() if row.startswith("|") and f"`{name}`" in row.split("|")[1]]
    assert len(rows) == 1
    for option in options:
        assert f"`{option}`" in rows[0] or "likewise" in rows[0]
