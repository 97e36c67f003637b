"""The survey data that come with statsmodels: `fair` and `randhie`."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from ldp_audit.training import data
from ldp_audit.training.data import surveys
from ldp_audit.training.data.recipe import Scaled
from ldp_audit.training.datasets import Table
from tests.together import together


def _load(name: str, **options) -> Table:
    table = data.load(name, **options)
    assert isinstance(table, Table)
    return table


@together(
    ("name", "options", "shape", "positive"),
    [
        ("fair", {}, (6366, 18), 2053),
        ("randhie", {}, (20190, 9), 10065),
        ("randhie", {"visits": "any"}, (20190, 9), 13882),
    ],
)
def test_all_records_are_there(name: str, options: dict, shape: tuple[int, int], positive: int) -> None:
    """Would catch records lost, and a target on the wrong side of its threshold."""
    table = _load(name, **options)
    assert table.x.shape == shape
    assert int((table.y > 0).sum()) == positive
    assert np.abs(table.x).max() == 1


@pytest.mark.parametrize(("name", "least"), [("fair", 0.715), ("randhie", 0.595)])
def test_the_scaling_keeps_what_a_linear_model_learns_from(name: str, least: float) -> None:
    """Would catch a column lost or scaled to nothing; without any the larger class has 0.678 and 0.501.

    Deterministic: standardised columns reach 0.724 and 0.604 on the same folds.
    """
    table = _load(name)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(LogisticRegression(max_iter=1000), table.x, table.y, cv=folds).mean() > least


def test_an_occupation_is_one_of_six() -> None:
    """Would catch occupations read as numbers, "3" and "3.0" being two of them."""
    table = _load("fair")
    for start in ("occupation=", "occupation_husb="):
        block = table.x[:, [name.startswith(start) for name in table.columns]]
        assert block.shape[1] == 6
        assert (block.sum(axis=1) == 1).all()


def test_another_target_is_refused() -> None:
    """Would catch a misspelt target that gives the default."""
    with pytest.raises(ValueError, match="visits must be one of any, many, got 'few'"):
        _load("randhie", visits="few")
    with pytest.raises(ValueError, match="data 'fair' needs no folder"):
        data.load("fair", "somewhere")


def test_other_data_than_the_recipes_are_refused() -> None:
    """Would catch a later statsmodels whose fields or ranges differ."""
    with pytest.raises(ValueError, match=r"statsmodels' spector must have the fields rate_marriage, .* lacks"):
        surveys.survey_table("spector", surveys.FAIR, above=0)
    narrow = replace(surveys.FAIR, columns=(Scaled("rate_marriage", 1, 4), *surveys.FAIR.columns[1:]))
    with pytest.raises(ValueError, match=r"statsmodels' fair, record \d+: rate_marriage must be a number from 1 to 4"):
        surveys.survey_table("fair", narrow, above=0)


def test_a_missing_statsmodels_is_said_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a traceback where the extra is not installed."""
    monkeypatch.setitem(sys.modules, "statsmodels.datasets.fair", None)
    with pytest.raises(ValueError, match=r"data 'fair' needs statsmodels: pip install '\.\[training\]'"):
        _load("fair")
