"""BANK (Bank Marketing, UCI): `bank-full.csv`, 45,211 records, 32 columns; label +1 is a term deposit subscribed.

FedSel states the width 32 and "one-hot-encoding every categorical attribute", which would be 51 columns. RECIPE is the
one reading that we found to give 32; it is inferred, not confirmed by the authors: the month as a number, and every
other category with one column fewer than values, the first value having none.

`duration`, the length of the call, is known only after the answer; a model that predicts the answer must not use it.
FedSel's width needs it, so it is included unless `duration=False`, which leaves 31 columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ldp_audit.training.data.files import find_file, shown, text_records
from ldp_audit.training.data.recipe import LeftOut, OneHot, Ordinal, Recipe, Scaled, Target
from ldp_audit.training.datasets import Table

WIDTH = 32


RECIPE = Recipe(
    name="bank",
    source="Our recipe from UCI's bank-full.csv; FedSel's own is not known, its width is.",
    columns=(
        Scaled("age", 18, 100),
        OneHot.of(
            "job",
            "blue-collar entrepreneur housemaid management retired self-employed services student technician "
            "unemployed unknown",
            without="admin.",
        ),
        OneHot.of("marital", "married single", without="divorced"),
        OneHot.of("education", "secondary tertiary unknown", without="primary"),
        OneHot.of("default", "yes", without="no"),
        Scaled("balance", -200_000, 200_000, "log"),
        OneHot.of("housing", "yes", without="no"),
        OneHot.of("loan", "yes", without="no"),
        OneHot.of("contact", "telephone unknown", without="cellular"),
        Scaled("day", 1, 31),
        Ordinal.of("month", "jan feb mar apr may jun jul aug sep oct nov dec"),
        Scaled("duration", 0, 5000, "log"),
        Scaled("campaign", 0, 100, "log"),
        Scaled("pdays", -1, 1000, "log"),
        Scaled("previous", 0, 300, "log"),
        OneHot.of("poutcome", "other success unknown", without="failure"),
    ),
    target=Target("y", ("no",), ("yes",)),
    width=WIDTH,
)

WITHOUT_DURATION = replace(
    RECIPE,
    columns=tuple(LeftOut("duration", "it leaks the answer") if c.name == "duration" else c for c in RECIPE.columns),
    width=WIDTH - 1,
)


def load(folder: Path, *, duration: bool = True) -> Table:
    """BANK from UCI's `bank-full.csv`, whose fields are separated by semicolons, quoted or not.

    duration: whether the call's length, which leaks the answer, is a column.
    Raises ValueError for a file that is missing or not as expected, naming the line.
    """
    recipe = RECIPE if duration else WITHOUT_DURATION
    return recipe.table(_records(find_file(folder, ("bank-full.csv",))))


def _records(path: Path) -> Iterator[tuple[str, list[str]]]:
    records = text_records(path, RECIPE.fields, ";")
    where, header = next(records)
    if tuple(header) != RECIPE.fields:
        raise ValueError(f"{where} must name the fields {';'.join(RECIPE.fields)}, found {shown(';'.join(header))}")
    yield from records
