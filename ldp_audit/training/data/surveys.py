"""The survey data of statsmodels, FAIR and RANDHIE, coded by recipes of this project.

FAIR: extramarital affairs in a magazine's survey of 6,366 married women (Fair 1978), 18 columns: a question that local
privacy is made for, as people answer it truthfully only if the answer cannot be held against them.

RANDHIE: visits to a doctor, from the RAND Health Insurance Experiment; 20,190 records, 9 columns, enough for local
privacy at a few nats. The insurance plan was drawn by lot, so the fields say little about the visits: no model is much
more accurate than the larger class.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ldp_audit.training.data.recipe import OneHot, Recipe, Scaled, Target
from ldp_audit.training.datasets import Table
from ldp_audit.training.pipeline import check_choice

_OCCUPATIONS = "1 2 3 4 5 6"

FAIR = Recipe(
    name="fair",
    source="Our recipe for statsmodels' fair.",
    columns=(
        Scaled("rate_marriage", 1, 5),
        Scaled("age", 17.5, 42),
        Scaled("yrs_married", 0, 23),
        Scaled("children", 0, 5.5),
        Scaled("religious", 1, 4),
        Scaled("educ", 9, 20),
        OneHot.of("occupation", _OCCUPATIONS),
        OneHot.of("occupation_husb", _OCCUPATIONS),
    ),
    target=Target("affairs", ("0",), ("1",)),
    width=18,
)

RANDHIE = Recipe(
    name="randhie",
    source="Our recipe for statsmodels' randhie.",
    columns=(
        Scaled("lncoins", 0, 4.61512),
        Scaled("idp", 0, 1, "ratio"),
        Scaled("lpi", 0, 7.2),
        Scaled("fmde", 0, 8.3),
        Scaled("physlm", 0, 1, "ratio"),
        Scaled("disea", 0, 58.6),
        Scaled("hlthg", 0, 1, "ratio"),
        Scaled("hlthf", 0, 1, "ratio"),
        Scaled("hlthp", 0, 1, "ratio"),
    ),
    target=Target("mdvis", ("0",), ("1",)),
    width=9,
)

_MORE_THAN = {"any": 0, "many": 1}


def fair() -> Table:
    """6,366 records of 18 columns; +1 for any time spent in an affair, 32%.

    Raises ValueError if statsmodels is not installed.
    """
    return survey_table("fair", FAIR, above=0)


def randhie(*, visits: str = "many") -> Table:
    """20,190 records of 9 columns.

    visits: the meaning of +1: "many", more than one visit (50%; one is the median), or "any", at least one (69%).
    Raises ValueError for another word, and if statsmodels is not installed.
    """
    check_choice("visits", visits, tuple(_MORE_THAN))
    return survey_table("randhie", RANDHIE, above=_MORE_THAN[visits])


def survey_table(module: str, recipe: Recipe, *, above: float) -> Table:
    """The table of one of statsmodels' data sets.

    module: its name there, such as "fair".   recipe: for its fields; a category's values are written as whole numbers.
    above: the target is "1" if the field is greater than this, else "0".
    Raises ValueError if statsmodels is not installed, or its data do not match the recipe.
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
