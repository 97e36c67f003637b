"""ADULT from UCI's files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldp_audit.training import data
from ldp_audit.training.datasets import Table
from tests.together import together
from tests.training.data.table_files import ADULT_RECORD, write_adult

A9A_COLUMNS = (2, 6, 17, 22, 36, 41, 50, 66, 67, 73, 74, 76, 80, 95)
"""ADULT_RECORD in LIBSVM's a9a, whose columns count from 1, worked out by hand from the order of adult.names."""


def _load(name: str, folder: Path, **options) -> Table:
    table = data.load(name, folder, **options)
    assert isinstance(table, Table)
    return table


def test_both_files_are_read_to_the_full_width(tmp_path: Path) -> None:
    """Would catch the first line of adult.test read as a record, and labels with a full stop unknown."""
    records = write_adult(tmp_path)
    table = _load("adult", tmp_path)
    assert table.x.shape == (2 * records, 123)
    assert table.x.any(axis=0).all(), "every column is some record's"
    assert set(np.unique(table.x)) == {0.0, 1.0}
    assert (table.x[:records] == table.x[records:]).all()
    assert set(table.y) == {-1, 1}


def test_halves_can_be_read_alone(tmp_path: Path) -> None:
    """Would catch a half that needs the other's file."""
    records = write_adult(tmp_path)
    (tmp_path / "adult.test").unlink()
    assert len(_load("adult", tmp_path, half="train").x) == records
    with pytest.raises(ValueError, match=r"expected adult\.test in .* found adult\.data"):
        _load("adult", tmp_path)
    with pytest.raises(ValueError, match="half must be one of all, train, test, got 'valid'"):
        _load("adult", tmp_path, half="valid")


def test_the_recipe_gives_the_columns_of_a9a(tmp_path: Path) -> None:
    """Would catch a column out of LIBSVM's order, and an interval that begins elsewhere."""
    (tmp_path / "adult.data").write_text(ADULT_RECORD + "\n")
    ours = _load("adult", tmp_path, half="train")
    assert (np.flatnonzero(ours.x[0]) + 1).tolist() == list(A9A_COLUMNS)
    assert ours.x.sum() == 14
    assert ours.y.tolist() == [1]


def test_unknown_fields_have_no_column(tmp_path: Path) -> None:
    """Would catch a category "?" of its own, which would make 126 columns."""
    (tmp_path / "adult.data").write_text(
        ADULT_RECORD.replace("Private", "?").replace("Sales", "?").replace("Cuba", "?")
    )
    assert _load("adult", tmp_path, half="train").x.sum() == 11


@together(
    ("old", "new", "message"),
    [
        ("Private", "Privat", r"adult\.data, line 2: workclass must be one of Private, .*, got 'Privat'"),
        ("30,", "x,", r"line 2: age must be a finite number, got 'x'"),
        ("30,", "nan,", r"line 2: age must be a finite number, got 'nan'"),
        (", Cuba", "", r"line 2 must hold 15 values separated by ',' \(age to income\), found 14"),
        (",", ";", r"line 2 must hold 15 values separated by ',' .*, found 1"),
        (">50K", "1", r"line 2: income must be one of <=50K, >50K, got '1'"),
        (">50K", ">50K..", r"line 2: income must be one of <=50K, >50K, got '>50K\.'"),
    ],
)
def test_a_damaged_line_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Would catch a record coded as something that it is not."""
    assert old in ADULT_RECORD
    (tmp_path / "adult.data").write_text(f"{ADULT_RECORD}\n{ADULT_RECORD.replace(old, new)}\n")
    with pytest.raises(ValueError, match=message):
        _load("adult", tmp_path, half="train")
