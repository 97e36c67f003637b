"""Lines that say how far a long call is, on the standard error."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import Protocol, Self

_FIRST, _FIRST_LOGGED, _LIVE, _LOGGED = 0.8, 2.0, 0.5, 10.0
"""Seconds before the first line, and between two: where one line is written over, and where each stays."""


class Stream(Protocol):
    """Where lines can be written."""

    def write(self, text: str, /) -> object:
        """Write it."""

    def flush(self) -> object:
        """Let what was written be seen."""


class Progress:
    """One changing line on a terminal or in a notebook, elsewhere a line every ten seconds.

    A text that comes before a line is due is shown when it is, by a timer, unless a newer one has taken its place.
    A context, at whose end the line is cleared.
    first: seconds without a line at the beginning, on a terminal; elsewhere two, so that an early error stands alone.
    stream: instead of the standard error; each line stays there, the first one after `first`.
    """

    def __init__(self, quiet: bool = False, first: float = _FIRST, stream: Stream | None = None) -> None:  # noqa: FBT001, FBT002
        self.live = stream is None and (sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel"))
        wait = first if self.live or stream is not None else _FIRST_LOGGED
        self.stream, self.quiet, self.next, self.shown = stream, quiet, time.perf_counter() + wait, 0
        self.timer: threading.Timer | None = None
        self.text, self.lock = "", threading.Lock()

    def __call__(self, text: str) -> None:
        """Show this line when one is due."""
        if self.quiet:
            return
        with self.lock:
            self.text, wait = text, self.next - time.perf_counter()
            if wait <= 0:
                self._show()
            elif self.timer is None:
                self.timer = threading.Timer(wait, self._due)
                self.timer.daemon = True
                self.timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Clear the line that is shown, and show none until the next call."""
        with self.lock:
            self._stop()
            if self.shown:
                sys.stderr.write("\r" + " " * self.shown + "\r")
                sys.stderr.flush()
            self.shown = 0

    def _due(self) -> None:
        with self.lock:
            if self.timer is threading.current_thread():
                self._show()

    def _show(self) -> None:
        self._stop()
        # a line that breaks could not be written over
        text = self.text[: shutil.get_terminal_size().columns - 1] if self.live else self.text
        stream = sys.stderr if self.stream is None else self.stream
        stream.write("\r" + text.ljust(self.shown) if self.live else text + "\n")
        stream.flush()
        self.next = time.perf_counter() + (_LIVE if self.live else _LOGGED)
        self.shown = len(text) if self.live else 0

    def _stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None


def silent(_: str) -> None:
    """Take a line of progress where nobody asked for one."""


def duration(seconds: float) -> str:
    """A time in words: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
