"""Small files in the formats of the table loaders, with every known value of every category in them."""

from __future__ import annotations

import gzip
from pathlib import Path

from ldp_audit.training.data import adult, bank, kdd99
from ldp_audit.training.data.recipe import Column, Intervals, LeftOut, OneHot, Ordinal, Recipe, Scaled

ADULT_RECORD = "30, Private, 200000, HS-grad, 9, Divorced, Sales, Unmarried, White, Male, 0, 0, 40, Cuba, >50K"
BANK_RECORD = '59;"admin.";"married";"secondary";"no";2343;"yes";"no";"unknown";5;"may";1042;1;-1;0;"unknown";"yes"'
KDD99_RECORD = (
    "0,tcp,http,SF,181,5450,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,8,8,0.00,0.00,0.00,0.00,1.00,0.00,0.00,9,9,1.00,0.00,0.11,"
    "0.00,0.00,0.00,0.00,0.00,normal."
)


def all_values(recipe: Recipe) -> list[list[str]]:
    """Records in which every value that the recipe names occurs, numbers at and between their bounds."""
    choices = [_choices(column) for column in recipe.columns] + [[*recipe.target.negative, *recipe.target.positive]]
    return [[values[row % len(values)] for values in choices] for row in range(max(map(len, choices)))]


def write_adult(folder: Path) -> int:
    """Both files; the number of records in each."""
    records = [", ".join(record) for record in all_values(adult.RECIPE)]
    (folder / "adult.data").write_text("\n".join(records) + "\n\n")
    (folder / "adult.test").write_text(
        "|1x3 Cross validator\n" + "\n".join(f"{record}." for record in records) + "\n\n"
    )
    return len(records)


def write_bank(folder: Path) -> int:
    """The file with its header, texts in quotes; the number of records."""
    records = [";".join(map(_quoted, record)) for record in [bank.RECIPE.fields, *all_values(bank.RECIPE)]]
    (folder / "bank-full.csv").write_text("\n".join(records) + "\n")
    return len(records) - 1


def write_kdd99(folder: Path, *, name: str = "kddcup.data_10_percent") -> int:
    """The file, gzipped where its name ends in .gz; the number of records."""
    text = "".join(f"{','.join(record)}.\n" for record in all_values(kdd99.RECIPE)).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return text.count(b"\n")


def _choices(column: Column) -> list[str]:
    if isinstance(column, OneHot):
        return [*column.values, *column.without]
    if isinstance(column, Intervals):
        return [f"{edge + step:g}" for edge in column.edges for step in (-1, 0)]
    if isinstance(column, Scaled):
        return [f"{column.low:.12g}", f"{column.high:.12g}", f"{(column.low + column.high) / 2:.12g}"]
    if isinstance(column, Ordinal):
        return list(column.values)
    assert isinstance(column, LeftOut)
    return ["0"]


def _quoted(value: str) -> str:
    return value if value.lstrip("-").replace(".", "").isdigit() else f'"{value}"'


READERS = {
    "adult": ("adult.data", {"half": "train"}, f"{ADULT_RECORD}\n"),
    "bank": ("bank-full.csv", {}, f"{';'.join(bank.RECIPE.fields)}\n{BANK_RECORD}\n"),
    "kdd99": ("kddcup.data_10_percent", {"records": None}, f"{KDD99_RECORD}\n"),
}
"""Of each table: its file, the loader's options, and a valid content; tests/fuzz damages them."""
