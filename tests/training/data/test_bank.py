"""BANK from UCI's bank-full.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldp_audit.training import data
from ldp_audit.training.data import bank
from ldp_audit.training.datasets import Table
from tests.together import together
from tests.training.data.table_files import BANK_RECORD, write_bank

HEADER = ";".join(f'"{name}"' for name in bank.RECIPE.fields)


def _load(folder: Path, text: str | None = None, **options) -> Table:
    if text is not None:
        (folder / "bank-full.csv").write_text(text)
    table = data.load("bank", folder, **options)
    assert isinstance(table, Table)
    return table


def test_the_file_is_read_to_the_full_width(tmp_path: Path) -> None:
    """Would catch the header read as a record, quotes kept, a column that no record fills."""
    records = write_bank(tmp_path)
    table = _load(tmp_path)
    assert table.x.shape == (records, 32)
    assert table.x.any(axis=0).all()
    assert table.x.min() == -1
    assert table.x.max() == 1


def test_a_record_is_coded_as_the_recipe_says(tmp_path: Path) -> None:
    """Would catch the month in the alphabet's order, and a dropped value other than the first."""
    table = _load(tmp_path, f"{HEADER}\n{BANK_RECORD}\n")
    row = dict(zip(table.columns, table.x[0].tolist(), strict=True))
    ones = {name for name, value in row.items() if "=" in name and value == 1}
    assert ones == {"marital=married", "education=secondary", "housing=yes", "contact=unknown", "poutcome=unknown"}
    assert row["age"] == 0.0
    assert row["month"] == pytest.approx(4 / 11 * 2 - 1)
    assert row["previous"] == 0.0
    assert -0.2 < row["pdays"] < 0
    assert table.y.tolist() == [1]


def test_quotes_do_not_matter(tmp_path: Path) -> None:
    """Would catch a file that was saved again without quotes being refused."""
    text = f"{HEADER}\n{BANK_RECORD}\n"
    assert (_load(tmp_path, text).x == _load(tmp_path, text.replace('"', "")).x).all()


def test_the_field_that_leaks_can_be_left_out(tmp_path: Path) -> None:
    """Would catch `duration=False` without effect."""
    write_bank(tmp_path)
    without = _load(tmp_path, duration=False)
    assert without.x.shape[1] == 31
    assert "duration" in _load(tmp_path).columns
    assert "duration" not in without.columns


@together(
    ("text", "message"),
    [
        (f"{BANK_RECORD}\n", r"line 1 must name the fields age;job;.*found '59;admin\."),
        (f"{HEADER.replace(';', ',')}\n", r"line 1 must hold 17 values separated by ';' \(age to y\), found 1"),
        (f"{HEADER}\n{BANK_RECORD.replace(';', ',')}\n", r"line 2 must hold 17 values"),
        (f"{HEADER}\n{BANK_RECORD}\n{BANK_RECORD};1\n", r"line 3 must hold 17 values separated by ';' .* found 18"),
        (f"{HEADER}\n{BANK_RECORD.replace('married', 'wed')}", r"line 2: marital must be one of .*, got 'wed'"),
        (f"{HEADER}\n{BANK_RECORD.replace('may', 'May')}", r"line 2: month must be one of jan, .*, got 'May'"),
        (f"{HEADER}\n{BANK_RECORD.replace('1042', '1e9')}", r"line 2: duration must be a number from 0 to 5000"),
        (f"{HEADER}\n{BANK_RECORD.replace('2343', 'nan')}", r"line 2: balance must be a finite number, got 'nan'"),
        (f"{HEADER}\n", "bank must have at least one record, got none"),
        ("", "must hold lines of text, found none"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """Would catch bank-additional-full.csv under this name, another separator, a damaged value."""
    with pytest.raises(ValueError, match=message):
        _load(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """Would catch an error that leaves the user to guess which of UCI's files is meant."""
    (tmp_path / "bank-additional-full.csv").write_text("")
    with pytest.raises(ValueError, match=r"expected bank-full\.csv in .*, found bank-additional-full\.csv"):
        _load(tmp_path)
