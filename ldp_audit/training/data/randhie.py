"""RANDHIE (statsmodels): visits to a doctor, from the RAND Health Insurance Experiment; 20,190 records, 9 columns.

Health is sensitive, and 20,190 records are enough for local privacy at a few nats. The insurance plan was drawn by lot,
so that the fields say little about the visits: no model does much better than the larger class.
"""

from __future__ import annotations

from ldp_audit.training.data.datasets import Table
from ldp_audit.training.data.recipe import Recipe, Target
from ldp_audit.training.data.scaled import Scaled
from ldp_audit.training.data.survey import survey_table

RECIPE = Recipe(
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


def load(*, visits: str = "many") -> Table:
    """20,190 records of 9 columns.

    visits: what +1 is: "many", more than one visit (50%; one is the median), or "any", at least one (69%).
    Raises ValueError for another word, and where statsmodels is not installed.
    """
    if visits not in _MORE_THAN:
        raise ValueError(f"visits must be one of {', '.join(_MORE_THAN)}, got {visits!r}")
    return survey_table("randhie", RECIPE, above=_MORE_THAN[visits])
