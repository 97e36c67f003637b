"""Atomic writing of files: under a temporary name beside the target, then renamed.

A full disk, a signal, an error or Ctrl-C leaves the old file or the new one, never a part. What is no regular file
(/dev/stdout, a pipe) is written to directly, and never replaced; a symbolic link is replaced, and what it names stays.

A process that is killed while it renames several files leaves `MARK` beside them, and `read_json` refuses them until
they are written again. The temporary files of killed processes are deleted by the next write into their folder.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

MARK = "INCOMPLETE"
"""A file with the names of those of its folder that may be of two runs."""

_TEMPORARY = ".ldp-audit"  # the suffix of temporary files
_STREAMS = ("/dev/", "/proc/")
_LARGEST = 1 << 28  # bytes of a JSON file; results have some thousand, reports some million


class CannotWriteError(OSError):
    """The folder or file cannot be written; the message names it and the reason."""


def write_whole(files: Mapping[Path, str | bytes], *, durable: bool = True) -> None:
    """Write all of the files, or none of them.

    files: texts (UTF-8) or bytes by path, in existing folders.   durable: wait for the disk, so that they survive a
        power failure. Raises CannotWriteError, with everything unchanged.
    """
    streams = {place: content for place, content in files.items() if is_stream(place)}
    targets = {place: content for place, content in files.items() if place not in streams}
    staged: list[tuple[_Temporary, Path]] = []
    place = Path()
    try:
        marks = _marks(targets)
        _sweep({target.parent for target in targets})
        for place, content in {**targets, **marks}.items():
            if place.is_dir() and not place.is_symlink():
                raise CannotWriteError(errno.EISDIR, "it is a folder")
            staged.append((_Temporary(place), place))
            staged[-1][0].write(_bytes(content), durable=durable)
        for place, content in streams.items():
            with place.open("ab") as stream:
                stream.write(_bytes(content))
        with _undisturbed():
            for temporary, place in sorted(staged, key=lambda one: one[1] not in marks):
                temporary.path.replace(place)
            for mark in marks:
                mark.unlink()
    except OSError as error:
        raise CannotWriteError(f"cannot write {place}: {error.strerror or error}") from error
    finally:
        for temporary, _ in staged:
            temporary.end()


def _marks(targets: Iterable[Path]) -> dict[Path, str]:
    """A mark for each folder of several files: their names."""
    names: dict[Path, list[str]] = {}
    for target in targets:
        names.setdefault(target.parent / MARK, []).append(target.name)
    return {mark: "\n".join(one) + "\n" for mark, one in names.items()} if sum(map(len, names.values())) > 1 else {}


def read_json(path: Path) -> Any:
    """The document in a file; OSError, or ValueError if it is marked, not JSON, or larger than any written here."""
    with suppress(OSError, UnicodeDecodeError):
        if path.name in (path.parent / MARK).read_text(encoding="utf-8").splitlines():
            raise ValueError(
                f"{path} may be older or newer than the files beside it, as {path.parent / MARK} says: "
                "the process that wrote them was ended; run its command again"
            )
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
    if place.is_dir() and not place.is_symlink():
        raise CannotWriteError(f"cannot write {place}: it is a folder")


def is_stream(place: Path) -> bool:
    """Whether the path is a device, a pipe or the like, which cannot be replaced by renaming."""
    if str(place.absolute()).startswith(_STREAMS):
        return True
    try:
        mode = place.lstat().st_mode
    except OSError:
        return False
    return not any(kind(mode) for kind in (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK))


def create_whole(place: Path, content: bytes) -> None:
    """Write a new file, all of it or none, that survives a power failure. Raises CannotWriteError if it exists."""
    try:
        temporary = _Temporary(place)
        try:
            temporary.write(content, durable=True)
            os.link(temporary.path, place)  # which replaces nothing, unlike renaming
        finally:
            temporary.end()
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise CannotWriteError(f"cannot write {place}: {error.strerror or error}") from error


@contextmanager
def locked(place: Path) -> Iterator[int]:
    """A file that exists, open for reading and writing, for one process or thread at a time: the others wait.

    Raises CannotWriteError where it cannot be opened or locked.
    """
    try:
        handle = os.open(place, os.O_RDWR)
    except OSError as error:
        raise CannotWriteError(f"cannot write {place}: {error.strerror or error}") from error
    try:
        if not lock(handle, wait=True):
            raise CannotWriteError(f"cannot write {place}: this system or its file system has no locks")
        yield handle
    finally:
        os.close(handle)


def lock(handle: int, *, wait: bool = False) -> bool | None:
    """Whether an open file or folder is now locked for this process, until it is closed; None without locks."""
    try:
        import fcntl
    except ImportError:  # this system has no fcntl
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


class _Temporary:
    """A file beside its target, locked while its process lives."""

    def __init__(self, target: Path) -> None:
        self._mode = _mode(target)
        while True:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=_TEMPORARY)
            self.path, self._file = Path(name), os.fdopen(handle, "wb")
            self._locked = lock(handle)
            if self._locked is not False and os.fstat(handle).st_nlink:
                return
            self.end()  # swept by another process before it was locked

    def write(self, content: bytes, *, durable: bool) -> None:
        """The content, with the permissions of the replaced (or a new) file."""
        self._file.write(content)
        self._file.flush()
        if durable:
            os.fsync(self._file.fileno())
        if not self._locked:
            self._file.close()
        self.path.chmod(self._mode)

    def end(self) -> None:
        """Close the file, and delete it if it has not been renamed."""
        with suppress(OSError):
            self.path.unlink()
        with suppress(OSError):  # a full disk once more
            self._file.close()


def _sweep(folders: Iterable[Path]) -> None:
    """Delete the temporary files of processes that were killed."""
    for folder in folders:
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.name.startswith(".") and entry.name.endswith(_TEMPORARY):
                    with suppress(OSError):
                        handle = os.open(entry.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
                        try:
                            if lock(handle):
                                Path(entry.path).unlink()
                        finally:
                            os.close(handle)


def _mode(target: Path) -> int:
    """The permissions of a regular file of this user; else those of a new one."""
    with suppress(OSError):
        found = target.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_uid == getattr(os, "geteuid", lambda: found.st_uid)():
            return stat.S_IMODE(found.st_mode)
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
