"""Delimited text: what is read, and what is refused with the line's number."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ldp_audit.training.data import files
from ldp_audit.training.data.files import shown, text_lines, text_records
from tests.together import together

FIELDS = ("a", "b", "c")


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(content)
    return path


def test_blank_lines_and_comments_are_left_out_and_still_counted(tmp_path: Path) -> None:
    """Would catch errors that name the wrong line of a file with a blank or a first line that is no record."""
    path = _file(tmp_path, b"|head\n\n x \r\n  \ny")
    assert list(text_lines(path, comment="|")) == [("table.csv, line 3", "x"), ("table.csv, line 5", "y")]
    assert len(list(text_lines(path))) == 3


def test_a_gzipped_file_reads_as_the_plain_one(tmp_path: Path) -> None:
    """Would catch a reader that trusts the name's ending."""
    assert list(text_lines(_file(tmp_path, gzip.compress(b"1\n2\n")))) == list(text_lines(_file(tmp_path, b"1\n2\n")))


@together("content", [b"", b"\n\n  \n", b"|only a comment\n"])
def test_a_file_without_lines_is_refused(tmp_path: Path, content: bytes) -> None:
    """Would catch an empty download that passes as an empty table."""
    with pytest.raises(ValueError, match=r"table\.csv must hold lines of text, found none"):
        list(text_lines(_file(tmp_path, content), comment="|"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_huge_line_is_refused_before_it_is_read_whole(tmp_path: Path, pack) -> None:
    """Would catch a memory filled by an unpacked file of one line."""
    path = _file(tmp_path, pack(b"1,2\n" + b"0" * (files.LONGEST + 1)))
    with pytest.raises(ValueError, match=r"line 2 must be at most 65536 bytes long, got more: b'000"):
        list(text_lines(path))
    assert len(list(text_lines(_file(tmp_path, b"0" * files.LONGEST)))) == 1


def test_too_many_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a gzip bomb of short lines."""
    monkeypatch.setattr(files, "MOST", 3)
    assert len(list(text_lines(_file(tmp_path, b"1\n2\n3\n")))) == 3
    with pytest.raises(ValueError, match="at most 3 lines"):
        list(text_lines(_file(tmp_path, b"1\n2\n3\n4\n")))


@together("content", [b"caf\xc3\xa9\n", b"\xff\xfe1\x00", "١,٢\n".encode()])
def test_text_that_is_not_ascii_is_refused(tmp_path: Path, content: bytes) -> None:
    """Would catch a file in another encoding, and digits of other scripts, which Python reads as numbers."""
    with pytest.raises(ValueError, match=r"line 1 must be plain ASCII text"):
        list(text_lines(_file(tmp_path, content)))


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    """Would catch a cut download that raises EOFError instead."""
    with pytest.raises(ValueError, match=r"table\.csv cannot be read"):
        list(text_lines(_file(tmp_path, gzip.compress(b"1\n" * 1000)[:-9])))


def test_fields_are_stripped_of_spaces_and_quotes(tmp_path: Path) -> None:
    """Would catch categories that are unknown for a space or a quote."""
    path = _file(tmp_path, b'1 ; "two" ;"3"\n1;"a;b";2\n')
    records = text_records(path, FIELDS, ";")
    assert next(records) == ("table.csv, line 1", ["1", "two", "3"])
    with pytest.raises(ValueError, match=r"line 2 must hold 3 values separated by ';' \(a to c\), found 4"):
        next(records)


@together("line", [b"1,2", b"1,2,3,4", b"1;2;3", b"1 2 3"])
def test_another_number_of_fields_is_refused(tmp_path: Path, line: bytes) -> None:
    """Would catch another separator and another version's columns."""
    with pytest.raises(ValueError, match=r"line 1 must hold 3 values separated by ',' \(a to c\), found [124]"):
        list(text_records(_file(tmp_path, line), FIELDS, ","))


def test_long_texts_are_cut_in_errors() -> None:
    """Would catch an error that prints a whole file."""
    assert shown("ab") == "'ab'"
    assert len(shown("x" * 10_000)) < 70
