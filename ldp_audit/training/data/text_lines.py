"""Reading delimited text: numbered lines, and records of a known number of fields, with errors that name the line.

Lines are ASCII and at most LONGEST bytes, so that a file that is no text, or an unpacked gzip bomb without line ends,
is refused before it fills the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ldp_audit.training.data.files import opened

LONGEST = 1 << 16
MOST = 10_000_000
_SHOWN = 60


def text_lines(path: Path, *, comment: str = "\n") -> Iterator[tuple[str, str]]:
    """Each line that is not blank, stripped, after the words that say where it is ("adult.data, line 3").

    comment: lines that begin with this are left out; the default leaves out none.

    Raises ValueError, naming the line, for a line that is too long or not ASCII, and for more than MOST lines; also
    for a file without any line.
    """
    number, found = 0, False
    with opened(path) as stream:
        while raw := stream.readline(LONGEST + 1):
            number += 1
            where = f"{path.name}, line {number}"
            if len(raw) > LONGEST:
                raise ValueError(f"{where} must be at most {LONGEST} bytes long, got more: {shown(raw[:_SHOWN])}")
            if number > MOST:
                raise ValueError(f"{path.name} must have at most {MOST} lines, got more")
            line = _text(raw, where)
            if line and not line.startswith(comment):
                found = True
                yield where, line
    if not found:
        raise ValueError(f"{path} must hold lines of text, found none")


def text_records(
    path: Path, fields: Sequence[str], separator: str, *, comment: str = "\n"
) -> Iterator[tuple[str, list[str]]]:
    """Each line's fields, after the words that say where it is; see `text_lines` and `split_line`."""
    for where, line in text_lines(path, comment=comment):
        yield where, split_line(where, line, fields, separator)


def split_line(where: str, line: str, fields: Sequence[str], separator: str) -> list[str]:
    """A line's fields, stripped of spaces and of double quotes around them.

    fields: their names, in order.   separator: between two fields; never part of one, quoted or not.
    Raises ValueError, beginning with `where`, if their number is not that of the names.
    """
    values = [_unquoted(value.strip()) for value in line.split(separator)]
    if len(values) != len(fields):
        raise ValueError(
            f"{where} must hold {len(fields)} values separated by {separator!r} ({fields[0]} to {fields[-1]}), "
            f"found {len(values)}: {shown(line)}"
        )
    return values


def shown(text: str | bytes) -> str:
    """A text as an error quotes it: in quotes, and cut where it is long."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def _text(raw: bytes, where: str) -> str:
    try:
        return raw.decode("ascii").strip()
    except UnicodeDecodeError:
        raise ValueError(f"{where} must be plain ASCII text, found {shown(raw)}") from None


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
