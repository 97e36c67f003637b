"""Whatever a file holds, a table's reader returns a table or raises ValueError, never anything else."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ldp_audit.training import data
from ldp_audit.training.data import bank
from ldp_audit.training.datasets import Table
from tests.together import together
from tests.training.data.table_files import ADULT_RECORD, BANK_RECORD, KDD99_RECORD

READERS = {
    "adult": ("adult.data", {"half": "train"}, f"{ADULT_RECORD}\n"),
    "a9a": ("a9a", {"half": "train"}, "+1 2:1 6:1 17:0.5\n-1\n"),
    "bank": ("bank-full.csv", {}, f"{';'.join(bank.RECIPE.fields)}\n{BANK_RECORD}\n"),
    "kdd99": ("kddcup.data_10_percent", {"records": None}, f"{KDD99_RECORD}\n"),
}


def _outcome(name: str, content: bytes) -> str:
    file, options, _ = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, file).write_bytes(content)
        try:
            assert isinstance(data.load(name, folder, **options), Table)
        except ValueError as error:
            return str(error)
        return "read"


@together("name", READERS)
def test_the_undamaged_file_is_read(name: str) -> None:
    """Shows that the fuzzed files are near ones that pass."""
    assert _outcome(name, READERS[name][2].encode()) == "read"
    assert _outcome(name, gzip.compress(READERS[name][2].encode())) == "read"


@pytest.mark.parametrize("name", READERS)
@given(content=st.binary(max_size=200))
@example(content=b"\x1f\x8b")
@example(content=b"\x00")
@settings(max_examples=40)
def test_any_bytes_are_a_table_or_a_value_error(name: str, content: bytes) -> None:
    """Would catch a struct, Unicode, index or overflow error on its way to the user."""
    assert _outcome(name, content)


@pytest.mark.parametrize("name", READERS)
@given(
    place=st.integers(0, 10_000), cut=st.integers(0, 3), put=st.text('0123456789+-.,;:eE_ naifx?\n"|\x00é', max_size=4)
)
@settings(max_examples=80)
def test_a_file_with_a_few_characters_changed_is_a_table_or_a_value_error(name, place, cut, put) -> None:
    """Would catch a parser that trips over a number nearly right: an exponent, a sign, a NaN, a line cut in two."""
    text = READERS[name][2]
    place %= len(text)
    assert _outcome(name, (text[:place] + put + text[place + cut :]).encode())
