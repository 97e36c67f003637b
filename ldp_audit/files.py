"""Atomic writing of files: under a temporary name beside the target, then renamed.

A full disk, a signal, an error or Ctrl-C leaves the old file or the new one, never a part. What is no regular file
(/dev/stdout, a pipe) is written to directly, and never replaced.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

_STREAMS = ("/dev/", "/proc/")
_LARGEST = 1 << 28  # bytes of a JSON file; results have some thousand, reports some million


class CannotWriteError(OSError):
    """The folder or file cannot be written; the message names it and the reason."""


def write_whole(files: Mapping[Path, str | bytes], *, durable: bool = True) -> None:
    """Write all of the files, or none of them.

    files: texts (UTF-8) or bytes by path, in existing folders.   durable: wait for the disk, so that they survive a
        power failure. Raises CannotWriteError, with everything unchanged.
    """
    staged: list[tuple[Path, Path]] = []
    place = Path()
    try:
        streams = {place: content for place, content in files.items() if is_stream(place)}
        for place, content in files.items():
            if place not in streams:
                target = place.resolve() if place.is_symlink() else place  # replaces the target of a link, not the link
                if target.is_dir():
                    raise CannotWriteError(errno.EISDIR, "it is a folder")
                staged.append((_staged(target, _bytes(content), durable=durable), target))
        for place, content in streams.items():
            with place.open("ab") as stream:
                stream.write(_bytes(content))
        with _undisturbed():
            for temporary, place in staged:
                temporary.replace(place)
    except OSError as error:
        raise CannotWriteError(f"cannot write {place}: {error.strerror or error}") from error
    finally:
        for temporary, _ in staged:
            with suppress(OSError):
                temporary.unlink()


def read_json(path: Path) -> Any:
    """The document in a file; ValueError if it is not JSON, or larger than any that is written here; OSError."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"{path} must have at most {_LARGEST} bytes, got more")
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError also for integers of too many digits
        raise ValueError(f"{path} is not JSON: {error}") from error


def check_place(place: Path) -> None:
    """Raise CannotWriteError where a file cannot be written; creates its folder if necessary."""
    try:
        if is_stream(place):
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    except OSError as error:
        raise CannotWriteError(f"cannot write {place}: {error.strerror or error}") from error
    if place.is_dir():
        raise CannotWriteError(f"cannot write {place}: it is a folder")


def is_stream(place: Path) -> bool:
    """Whether the path is a device, a pipe or the like, which cannot be replaced by renaming."""
    if str(place.absolute()).startswith(_STREAMS):
        return True
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


def _staged(target: Path, content: bytes, *, durable: bool) -> Path:
    """The content in a temporary file beside its target, with the permissions of the replaced (or a new) file."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.chmod(_mode(target))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _mode(target: Path) -> int:
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Defer Ctrl-C until all files are renamed."""
    heard: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        heard.append(number)

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        signal.raise_signal(signal.SIGINT)
