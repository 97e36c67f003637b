"""Finding the files of a data set in a user's folder, and reading them within limits.

Whether a file is gzipped is told by its first two bytes, never by its name: mirrors rename.
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
_SHOWN = 8


def find_file(folder: Path, names: Sequence[str], *, inside: Sequence[str] = ()) -> Path:
    """The first of these names that is a file in `folder`, or else in one of its subfolders `inside`.

    Raises ValueError that says which names were expected, where they were looked for, and what is there instead.
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
    """What a folder holds, in a few words, for an error."""
    try:
        names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    except OSError as error:
        return f"nothing to read: {error}"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) + more) or "an empty folder"


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes as a stream, unpacked where they are gzipped.

    Raises ValueError, also inside the `with`, where the file cannot be read or is damaged.
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

    Memory grows with what is there, not with what a header promises, and no more than one byte is read beyond it.
    Raises ValueError where there is less or more.
    """
    read = bytearray()
    while len(read) < size and (chunk := stream.read(min(_CHUNK, size - len(read)))):
        read += chunk
    if len(read) < size or stream.read(1):
        least = f"only {len(read)}" if len(read) < size else "more"
        raise ValueError(f"{path} must hold {size} bytes of data, found {least}")
    return read


def file_size(path: Path) -> int:
    """In bytes; ValueError where the file cannot be seen."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def read_whole(path: Path, most: int) -> bytes:
    """The file's bytes as they are; ValueError where it is larger than `most` bytes, before any is read."""
    size = file_size(path)
    if size > most:
        raise ValueError(f"{path} must be at most {most} bytes, found {size}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
