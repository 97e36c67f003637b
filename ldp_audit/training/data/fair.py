"""FAIR (statsmodels): did a married woman have an affair? A magazine's survey of 6,366 readers (Fair 1978), 18 columns.

A question that people answer truthfully only if nobody can hold it against them: what local privacy is for.
"""

from __future__ import annotations

from ldp_audit.training.data.datasets import Table
from ldp_audit.training.data.one_hot import OneHot
from ldp_audit.training.data.recipe import Recipe, Target
from ldp_audit.training.data.scaled import Scaled
from ldp_audit.training.data.survey import survey_table

_OCCUPATIONS = "1 2 3 4 5 6"

RECIPE = Recipe(
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


def load() -> Table:
    """6,366 records of 18 columns; +1 where any time was spent in an affair, 32%.

    Raises ValueError where statsmodels is not installed.
    """
    return survey_table("fair", RECIPE, above=0)
