"""Notebooks print what is stored in them, the gallery's code draws what its page shows, and figures are described."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from tests.together import together

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SHORTEST = ROOT / "docs" / "notebooks" / "audit-a-program.ipynb"
SITE = runpy.run_path(str(ROOT / "docs" / "_site" / "notebooks.py"))
GALLERY = runpy.run_path(str(ROOT / "docs" / "_site" / "gallery.py"))
FIRST = list(GALLERY["entries"]())[:2]
LARGEST = 300_000
VARYING = re.compile(r"/(?:home|root|tmp|work)/|\b\d+(?:\.\d+)? (?:s|seconds)\b|\bin [\d.]+s\b")


@pytest.mark.parametrize("paths", [[SHORTEST], pytest.param(NOTEBOOKS, marks=pytest.mark.slow)], ids=["one", "all"])
def test_notebooks_print_what_is_stored_in_them_and_a_stale_one_is_found(paths: list[Path], tmp_path: Path) -> None:
    """One kernel runs all of them."""
    cell = {"cell_type": "code", "execution_count": 1, "id": "a", "metadata": {}, "source": "print(2)"}
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    uses = {**cell, "id": "b", "source": "'report' in dir()", "outputs": []}  # the namespace is empty
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    stale = {"cells": [cell, uses], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "stale.ipynb").write_text(json.dumps(stale), encoding="utf-8")
    assert SITE["printed"](stale) == ["['stdout']: 1\n"]
    *executed, other = SITE["executed"]([*paths, tmp_path / "stale.ipynb"])
    assert SITE["printed"](other) == ["['stdout']: 2\n", "['text/plain']: False"]
    for path, notebook in zip(paths, executed, strict=True):
        assert SITE["printed"](notebook) == SITE["printed"](json.loads(path.read_text(encoding="utf-8"))), path.name


@together("path", NOTEBOOKS)
def test_a_notebook_is_small_and_describes_its_figures(path: Path) -> None:
    assert path.stat().st_size < LARGEST
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        drawn = [one for one in cell.get("outputs", ()) if "image/png" in one.get("data", {})]
        assert bool(drawn) == bool(cell["metadata"].get("alt")), cell["source"]
    assert [text for text in SITE["printed"](notebook) if VARYING.search(text)] == []


def test_what_varies_is_found() -> None:
    for text in ("2 passed in 1.04s", "3 claims in 1.4 s", "in /tmp/x/y.py"):
        assert VARYING.search(text)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in GALLERY["entries"]()]
)
def test_a_block_of_the_gallery_draws_the_picture_below_it(name: str) -> None:
    code = GALLERY["entries"]()[name]
    assert GALLERY["picture"](name, code) == GALLERY["path"](name).read_text(encoding="utf-8"), "run `make docs`"
    lines = [line for line in code.splitlines() if line and not line.startswith(("import ", "from "))]
    assert len(lines) <= 8


def test_every_block_and_picture_of_the_gallery_is_an_entry() -> None:
    page = GALLERY["PAGE"].read_text(encoding="utf-8")
    assert page.count("```python\n") == page.count("](assets/gallery/") == len(GALLERY["entries"]())
    stored = {path.stem for path in (ROOT / "docs" / "assets" / "gallery").iterdir()}
    assert stored == set(GALLERY["entries"]())


def test_another_picture_is_found() -> None:
    code = "from matplotlib import pyplot\npyplot.plot([0, {}])"
    one, two = (GALLERY["picture"]("line", code.format(end)) for end in (1, 2))
    assert one != two
    assert one == GALLERY["picture"]("line", code.format(1))
