"""Lines that say how far a long call is, on the standard error."""

from __future__ import annotations

import shutil
import sys
import time

_FIRST, _LIVE, _LOGGED = 2.0, 0.5, 10.0
"""Seconds before the first line, and between two where one line is written over, and where each stays."""


class Progress:
    """One changing line on a terminal or in a notebook, elsewhere a line every ten seconds.

    first: seconds without a line at the beginning, on a terminal; elsewhere two, so that an early error stands alone.
    """

    def __init__(self, quiet: bool = False, first: float = _FIRST) -> None:  # noqa: FBT001, FBT002
        self.live = sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")
        self.quiet, self.next, self.shown = quiet, time.perf_counter() + (first if self.live else _FIRST), 0

    def __call__(self, text: str) -> None:
        """Show this line, if it is due."""
        now = time.perf_counter()
        if self.quiet or now < self.next:
            return
        if self.live:  # a line that breaks could not be written over
            text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self.shown) if self.live else text + "\n")
        sys.stderr.flush()
        self.next, self.shown = now + (_LIVE if self.live else _LOGGED), len(text) if self.live else 0

    def end(self) -> None:
        """Clear the line that is shown."""
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()
        self.shown = 0
