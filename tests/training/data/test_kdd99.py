"""KDD99 from the KDD Cup's files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldp_audit.training import data
from ldp_audit.training.datasets import Table
from tests.frequency import FALSE_ALARM, assert_frequency
from tests.together import together
from tests.training.data.table_files import KDD99_RECORD, write_kdd99


def _load(folder: Path, **options) -> Table:
    table = data.load("kdd99", folder, **options)
    assert isinstance(table, Table)
    return table


def _write(folder: Path, *lines: str, name: str = "kddcup.data_10_percent") -> None:
    (folder / name).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("name", ["kddcup.data_10_percent", "kddcup.data_10_percent.gz"])
def test_the_file_is_read_to_the_full_width(tmp_path: Path, name: str) -> None:
    """Would catch a category without its column, and a gzipped file refused."""
    records = write_kdd99(tmp_path, name=name)
    table = _load(tmp_path, records=None)
    assert table.x.shape == (records, 114)
    assert table.x.any(axis=0).all()
    assert table.x.min() == 0
    assert table.x.max() == 1


def test_a_record_is_coded_as_the_recipe_says(tmp_path: Path) -> None:
    """Would catch fields out of order, and the normal connections as +1."""
    _write(tmp_path, KDD99_RECORD, KDD99_RECORD.replace("normal.", "smurf."))
    table = _load(tmp_path, records=None)
    row = dict(zip(table.columns, table.x[0].tolist(), strict=True))
    assert {name for name, value in row.items() if "=" in name and value} == {
        "protocol_type=tcp",
        "service=http",
        "flag=SF",
    }
    assert row["logged_in"] == 1
    assert row["src_bytes"] == pytest.approx(np.log(182) / np.log(2.0**32 + 1))
    assert row["dst_host_same_src_port_rate"] == 0.11
    assert table.y.tolist() == [-1, 1]


def test_services_of_the_full_file_alone_are_coded_as_other(tmp_path: Path) -> None:
    """Would catch the full file refused for its four rare services."""
    _write(tmp_path, *(KDD99_RECORD.replace("http", s) for s in ("other", "aol", "http_2784")), name="kddcup.data")
    table = _load(tmp_path, file="full", records=None)
    assert (table.x == table.x[0]).all()
    with pytest.raises(ValueError, match=r"expected one of kddcup\.data_10_percent, .* found kddcup\.data"):
        _load(tmp_path, records=None)
    with pytest.raises(ValueError, match="file must be one of 10-percent, full, got '20-percent'"):
        _load(tmp_path, file="20-percent")


def _numbered(folder: Path, records: int) -> None:
    _write(folder, *(f"{n}{KDD99_RECORD[1:]}" for n in range(records)))


def test_a_subset_is_drawn_without_repeats_in_the_files_order(tmp_path: Path) -> None:
    """Would catch the first records instead of a draw: the file is sorted by attack."""
    _numbered(tmp_path, 200)
    durations = _load(tmp_path, records=50, seed=1).x[:, 0]
    assert (np.diff(durations) > 0).all()
    assert len(durations) == 50
    assert durations.max() > _load(tmp_path, records=None).x[100, 0]
    assert (_load(tmp_path, records=50, seed=1).x[:, 0] == durations).all()
    assert (_load(tmp_path, records=50, seed=2).x[:, 0] != durations).any()


def test_every_record_is_drawn_as_often(tmp_path: Path) -> None:
    """Would catch a draw that misses the last record or favours an end: a record never drawn has a chance of 1e-35."""
    _numbered(tmp_path, 3)
    whole = _load(tmp_path, records=None).x[:, 0]
    drawn = [_load(tmp_path, records=1, seed=seed).x[0, 0] for seed in range(200)]
    for duration in whole:
        assert_frequency(sum(value == duration for value in drawn), 200, 1 / 3, false_alarm=FALSE_ALARM / 3)


def test_more_records_than_there_are_is_an_error(tmp_path: Path) -> None:
    """Would catch a table that is silently smaller than the paper's 70,000."""
    write_kdd99(tmp_path)
    with pytest.raises(ValueError, match=r"records must be at most the \d+ of .*, or None for all, got 70000"):
        _load(tmp_path)


@together("records", [0, -1, 1.5, True, "all"])
def test_records_must_be_a_count(tmp_path: Path, records: object) -> None:
    """Would catch a sample size that numpy takes for something else."""
    with pytest.raises(ValueError, match="records must be a whole number >= 1, or None for all"):
        _load(tmp_path, records=records)


@together(
    ("old", "new", "message"),
    [
        ("http", "web", "line 2: service must be one of .*, got 'web'"),
        ("normal.", "worm.", "line 2: label must be one of normal, back, .*, got 'worm'"),
        ("181", "-1", "line 2: src_bytes must be a number from 0 to 4294967296, got -1"),
        ("5450", "nan", "line 2: dst_bytes must be a finite number, got 'nan'"),
        ("0.11", "1.01", "line 2: dst_host_same_src_port_rate must be a number from 0 to 1, got 1.01"),
        (",normal.", "", r"line 2 must hold 42 values separated by ',' \(duration to label\), found 41"),
    ],
)
def test_a_damaged_line_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Would catch the unlabelled test file, and a value coded as something that it is not."""
    assert old in KDD99_RECORD
    _write(tmp_path, KDD99_RECORD, KDD99_RECORD.replace(old, new))
    with pytest.raises(ValueError, match=message):
        _load(tmp_path, records=None)
