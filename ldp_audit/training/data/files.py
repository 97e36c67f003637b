"""Files of a data set in a user's folder: found by name, unpacked, and read as lines of text, within limits.

A file is gzipped if its first two bytes say so, whatever its name: mirrors rename. Lines are ASCII and at most LONGEST
bytes, so that a binary file, or a gzip bomb without line ends, is refused before it fills the memory.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_NAMES = 8


def find_file(folder: Path, names: Sequence[str], *, inside: Sequence[str] = ()) -> Path:
    """The first of these names that is a file in `folder`, or else in one of its subfolders `inside`.

    Raises ValueError with the expected names, the places searched, and the folder's contents.
    """
    places = [folder, *(folder / name for name in inside)]
    for place in places:
        for name in names:
            if (place / name).is_file():
                return place / name
    wanted = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    also = f" (or its {' or '.join(inside)})" if inside else ""
    raise ValueError(f"expected {wanted} in {str(folder)!r}{also}, found {contents(folder)}")


def contents(folder: Path) -> str:
    """A folder's contents in a few words, for an error."""
    try:
        names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    except OSError as error:
        return f"nothing to read: {error}"
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return (", ".join(names[:_NAMES]) + more) or "an empty folder"


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes as a stream, unpacked if gzipped.

    Raises ValueError, also inside the `with`, if the file cannot be read or is damaged.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(len(GZIP)) == GZIP
            raw.seek(0)
            if not packed:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc]
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def read_exactly(stream: IO[bytes], size: int, path: Path) -> bytearray:
    """The rest of the stream, which must be `size` bytes.

    Memory grows with the actual data, not with the header's promise, and at most one byte beyond is read.
    Raises ValueError for fewer or more bytes.
    """
    read = bytearray()
    while len(read) < size and (chunk := stream.read(min(_CHUNK, size - len(read)))):
        read += chunk
    if len(read) < size or stream.read(1):
        least = f"only {len(read)}" if len(read) < size else "more"
        raise ValueError(f"{path} must hold {size} bytes of data, found {least}")
    return read


def file_size(path: Path) -> int:
    """In bytes; ValueError if the file cannot be accessed."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def read_whole(path: Path, most: int) -> bytes:
    """The file's bytes; ValueError before reading if it is larger than `most` bytes."""
    size = file_size(path)
    if size > most:
        raise ValueError(f"{path} must be at most {most} bytes, found {size}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


LONGEST = 1 << 16
MOST = 10_000_000
_SHOWN = 60


def text_lines(path: Path, *, comment: str = "\n") -> Iterator[tuple[str, str]]:
    """Each line that is not blank, stripped, after its position ("adult.data, line 3").

    comment: prefix of lines to skip; none by default.

    Raises ValueError, naming the line, for a line that is too long or not ASCII, and for more than MOST lines; also for
    a file without any line.
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
    """Each line's fields, after its position; see `text_lines` and `split_line`."""
    for where, line in text_lines(path, comment=comment):
        yield where, split_line(where, line, fields, separator)


def split_line(where: str, line: str, fields: Sequence[str], separator: str) -> list[str]:
    """A line's fields, stripped of spaces and of surrounding double quotes.

    fields: their names, in order.   separator: between two fields; never part of one, quoted or not.
    Raises ValueError, beginning with `where`, for a wrong number of fields.
    """
    values = [_unquoted(value.strip()) for value in line.split(separator)]
    if len(values) != len(fields):
        raise ValueError(
            f"{where} must hold {len(fields)} values separated by {separator!r} ({fields[0]} to {fields[-1]}), "
            f"found {len(values)}: {shown(line)}"
        )
    return values


def shown(text: str | bytes) -> str:
    """A text as an error quotes it, truncated if long."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def _text(raw: bytes, where: str) -> str:
    try:
        return raw.decode("ascii").strip()
    except UnicodeDecodeError:
        raise ValueError(f"{where} must be plain ASCII text, found {shown(raw)}") from None


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
