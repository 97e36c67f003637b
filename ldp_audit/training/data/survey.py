"""The survey data that come with statsmodels: read through its public loader, coded by a recipe of ours."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ldp_audit.training.data.datasets import Table
from ldp_audit.training.data.recipe import Recipe


def survey_table(module: str, recipe: Recipe, *, above: float) -> Table:
    """The table of one of statsmodels' data sets.

    module: its name there, such as "fair".   recipe: for its fields; a category's values are written as whole numbers.
    above: the target is "1" where the field is greater than this, else "0".
    Raises ValueError where statsmodels is not installed, or its data are not as the recipe says.
    """
    try:
        frame: Any = import_module(f"statsmodels.datasets.{module}").load_pandas().data
    except ImportError as error:
        how = "pip install '.[training]', in a clone"
        raise ValueError(f"data {module!r} needs statsmodels: {how} ({error})") from None
    missing = [name for name in recipe.fields if name not in frame]
    if missing:
        raise ValueError(f"statsmodels' {module} must have the fields {', '.join(recipe.fields)}, lacks {missing}")
    return recipe.table(_records(module, frame, recipe, above))


def _records(module: str, frame: Any, recipe: Recipe, above: float) -> Iterator[tuple[str, list[str]]]:
    rows = zip(*(frame[name].tolist() for name in recipe.fields), strict=True)
    for number, (*features, target) in enumerate(rows, start=1):
        yield f"statsmodels' {module}, record {number}", [*map(_text, features), "1" if target > above else "0"]


def _text(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
