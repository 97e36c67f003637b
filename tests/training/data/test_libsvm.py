"""LIBSVM's text format."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldp_audit.training.data.adult import read_libsvm
from tests.together import together


def _read(folder: Path, text: str) -> list[list[float]]:
    path = folder / "a9a"
    path.write_text(text)
    x, y = read_libsvm(path, 4)
    return [[label, *row] for label, row in zip(y.tolist(), x.tolist(), strict=True)]


def test_indices_begin_at_one_and_what_is_not_written_is_zero(tmp_path: Path) -> None:
    """Would catch columns shifted by one, and a record without any value that takes the next one's."""
    text = "+1 1:1 4:-0.5\n-1\n1 2:1e-1 \n\n-1 3:.5"
    assert _read(tmp_path, text) == [[1, 1, 0, 0, -0.5], [-1, 0, 0, 0, 0], [1, 0, 0.1, 0, 0], [-1, 0, 0, 0.5, 0]]


@together(
    ("line", "message"),
    [
        ("0 1:1", "the label must be \\+1 or -1, got '0'"),
        ("1:1 2:1", "the label must be \\+1 or -1, got '1:1'"),
        ("+1 1", "after the label must come pairs index:value, got '1'"),
        ("+1 0:1", "above the one before \\(0\\) and at most 4, got '0:1'"),
        ("+1 5:1", "at most 4, got '5:1'"),
        ("+1 99999999999999999999:1", "at most 4"),
        ("+1 2:1 2:1", "above the one before \\(2\\)"),
        ("+1 3:1 2:1", "above the one before \\(3\\)"),
        ("+1 -1:1", "must be a whole number above"),
        ("+1 a:1", "must be a whole number above"),
        ("+1 1:", "a value must be a number in \\[-1, 1\\], got '1:'"),
        ("+1 1:x", "a value must be a number in"),
        ("+1 1:nan", "a value must be a number in"),
        ("+1 1:1.5", "a value must be a number in"),
        ("+1 1:-inf", "a value must be a number in"),
        ("+1 1:0_1", "a value must be a number in"),
        ("39, State-gov, 77516", "the label must be"),
    ],
)
def test_a_damaged_line_is_refused(tmp_path: Path, line: str, message: str) -> None:
    """Would catch columns out of range, a NaN, another file under this name."""
    with pytest.raises(ValueError, match=f"a9a, line 2: .*{message}"):
        _read(tmp_path, f"+1 1:1\n{line}\n")
