"""The command line: the only room that knows it. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code.

    0 holds, 1 a violation was found, 2 bad input, 3 an audit that could not have found anything, 130 interrupted.
    """
    gc.set_threshold(50_000, 20, 20)  # SymPy keeps what it makes, and looking for cycles in it took a tenth of the time
    try:
        from ldp_audit.cli.command_line import run_command

        return run_command(arguments)
    except KeyboardInterrupt:  # before the command began: while its options were read or modules loaded
        print("ldp-audit: interrupted; no file is left half written", file=sys.stderr)
        return 130
