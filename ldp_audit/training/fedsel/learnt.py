"""Whether FedSel's models learnt anything in runs that are to be compared: if not, they compare nothing.

At one learning rate FedSel's mean step is smaller than the flat solution's by the factor of the selected coordinate's
probability, about 1 / d, and there is no intercept. Where the rate is too small for it, every model answers the more
frequent class, and its accuracy is that class's share: above or below a competitor's for reasons of the data alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from ldp_audit.training.fedsel.solution import SELECTIONS

_LITTLE = 1e-3
"""Less than this above the share, and a model has as good as learnt nothing."""


def nothing_learnt(results: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether no run of EXP-PM, PE-PM or PS-PM with these settings does better than one answer for all records.

    False where the results do not say how often either label is, and where there is no such run.
    """
    share, names = one_answer(results), [f"{one}-PM" for one in SELECTIONS]
    found = [
        statistics.fmean(run["rounds"][-1]["accuracies"])
        for run in results["runs"]
        if run["settings"]["solution"] in names
        and all(run["settings"].get(name) == value for name, value in settings.items())
    ]
    return share is not None and bool(found) and max(found) <= share + _LITTLE


def one_answer(results: Mapping[str, Any]) -> float | None:
    """The accuracy of always answering the more frequent class."""
    positive = results.get("data", {}).get("positive")
    return None if positive is None else max(positive, 1 - positive)
