"""ADULT (census income above 50,000 dollars): 48,842 records, 123 columns, from UCI's CSV files.

FedSel's 123 columns are LIBSVM's `a9a`: the 14 fields as bits, categories one-hot without a column for unknown values
("?"), numbers by intervals: the quintiles of the training half, separated if they coincide. RECIPE was found by
comparing the two encodings of the same records; it reproduces all 48,842 x 123 bits and all labels of `a9a`.

adult.test begins with a line that is no record, and its labels end in a full stop. Both halves together are FedSel's
48,842 records; label +1 is more than 50,000 dollars.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ldp_audit.training.data.files import find_file, text_records
from ldp_audit.training.data.recipe import Intervals, OneHot, Recipe, Target
from ldp_audit.training.datasets import Table
from ldp_audit.training.pipeline import check_choice

WIDTH = 123
_HALVES = {"all": ("train", "test"), "train": ("train",), "test": ("test",)}

RECIPE = Recipe(
    name="adult",
    source="Our recipe from UCI's files; it gives LIBSVM's a9a, bit for bit.",
    columns=(
        Intervals("age", (26, 33, 41, 50)),
        OneHot.of(
            "workclass",
            "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
            without="?",
        ),
        Intervals("fnlwgt", (106648, 158662, 196338, 259873)),
        OneHot.of(
            "education",
            "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th "
            "10th Doctorate 5th-6th Preschool",
        ),
        Intervals("education-num", (9, 10, 11, 13)),
        OneHot.of(
            "marital-status",
            "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
        ),
        OneHot.of(
            "occupation",
            "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
            "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
            "Armed-Forces",
            without="?",
        ),
        OneHot.of("relationship", "Wife Own-child Husband Not-in-family Other-relative Unmarried"),
        OneHot.of("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
        OneHot.of("sex", "Female Male"),
        Intervals("capital-gain", (1,)),
        Intervals("capital-loss", (1,)),
        Intervals("hours-per-week", (35, 40, 41, 48)),
        OneHot.of(
            "native-country",
            "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
            "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
            "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
            "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
            without="?",
        ),
    ),
    target=Target("income", ("<=50K",), (">50K",)),
    width=WIDTH,
)


def load(folder: Path, *, half: str = "all") -> Table:
    """ADULT from UCI's `adult.data` and `adult.test`.

    half: "all", "train" (adult.data) or "test" (adult.test).
    Raises ValueError for files that are missing or not as expected, naming the line.
    """
    names = {"train": "adult.data", "test": "adult.test"}
    check_choice("half", half, tuple(_HALVES))
    paths = [find_file(folder, (names[part],)) for part in _HALVES[half]]
    return RECIPE.table(record for path in paths for record in _records(path))


def _records(path: Path) -> Iterator[tuple[str, list[str]]]:
    for where, fields in text_records(path, RECIPE.fields, ",", comment="|"):  # "|" is how adult.test begins
        fields[-1] = fields[-1].removesuffix(".")
        yield where, fields
