"""Recipes: width asserted, fields coded in order, errors that name the record, and printed as data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ldp_audit.training.data import DATASETS, adult, bank, kdd99
from ldp_audit.training.data import recipe as module
from ldp_audit.training.data.recipe import LeftOut, OneHot, Recipe, Scaled, Target
from tests.together import together

RECIPES = [adult.RECIPE, bank.RECIPE, bank.WITHOUT_DURATION, kdd99.RECIPE]
DOCS = Path(__file__).parents[3] / "docs" / "data-tables.md"
SMALL = Recipe(
    "small",
    "Ours.",
    (Scaled("v", 0, 10), LeftOut("id", "it is a name"), OneHot.of("colour", "red green")),
    Target("y", ("no",), ("yes",)),
    3,
)


@together(("recipe", "width"), [(adult.RECIPE, 123), (bank.RECIPE, 32), (kdd99.RECIPE, 114)])
def test_the_papers_widths_result(recipe: Recipe, width: int) -> None:
    """Would catch a category added or lost; the widths are FedSel's, section 5.1."""
    assert recipe.width == len(recipe.outputs) == width


def test_the_docs_list_every_table_and_its_width() -> None:
    """Would catch a table that the docs do not tell of, and a width that changed."""
    rows = [line for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    for name, source in DATASETS.items():
        if source.kind == "table":
            assert any(f"`{name}`" in row.split("|")[1] for row in rows), name
    for recipe in RECIPES:
        about = next(row for row in rows if f"`{recipe.name}`" in row)
        assert f" {recipe.width} " in about.replace(",", " "), recipe.name


@together("recipe", RECIPES)
def test_another_width_is_refused_and_names_are_distinct(recipe: Recipe) -> None:
    """Would catch an assertion of the width that never fails, and two columns of one name."""
    with pytest.raises(ValueError, match=f"must give {recipe.width + 1} columns, got {recipe.width}"):
        replace(recipe, width=recipe.width + 1)
    with pytest.raises(ValueError, match=f"got {recipe.width - len(recipe.columns[0].outputs)}"):
        replace(recipe, columns=recipe.columns[1:])
    assert len(set(recipe.outputs)) == recipe.width


@together("recipe", RECIPES)
def test_a_recipe_prints_every_field_and_its_columns(recipe: Recipe) -> None:
    """Would catch a printed recipe that says something else than what is done."""
    lines = recipe.describe().splitlines()
    assert recipe.source in lines[0]
    assert [line.split()[0] for line in lines[1:]] == list(recipe.fields)
    assert sum(int(line.split()[1]) for line in lines[1:-1]) == recipe.width


def test_fields_become_columns_in_order() -> None:
    """Would catch columns under the wrong name, and labels of the wrong sign."""
    table = SMALL.table([("line 1", ["10", "Ann", "green", "no"]), ("line 2", ["5", "Bob", "red", "yes"])])
    assert table.columns == ("v", "colour=red", "colour=green")
    assert table.x.tolist() == [[1, 0, 1], [0, 1, 0]]
    assert table.y.tolist() == [-1, 1]


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch records lost or doubled where a chunk ends."""
    records = [(f"line {n}", [str(n % 11), "", "red", "no"]) for n in range(10)]
    whole = SMALL.table(records)
    for size in (1, 3, 5, 10):
        monkeypatch.setattr(module, "_CHUNK", size)
        assert (SMALL.table(iter(records)).x == whole.x).all()


@together(
    ("place", "value", "message"),
    [
        (0, "11", "v must be a number from 0 to 10, got 11"),
        (0, "nan", "v must be a finite number, got 'nan'"),
        (2, "blue", "colour must be one of red, green, got 'blue'"),
        (3, "maybe", "y must be one of no, yes, got 'maybe'"),
    ],
)
def test_an_error_names_the_record(place: int, value: str, message: str) -> None:
    """Would catch an error that leaves the user to look for the line."""
    records = [(f"line {n}", ["1", "", "red", "no"]) for n in range(20)]
    records[13][1][place] = value
    with pytest.raises(ValueError, match=f"^line 13: {message}$"):
        SMALL.table(records)


def test_no_records_are_refused() -> None:
    """Would catch a concatenation of nothing."""
    with pytest.raises(ValueError, match="small must have at least one record"):
        SMALL.table([])
