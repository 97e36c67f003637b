"""The command line. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command: 0 holds, 1 violation found, 2 bad input, 3 an audit without power, 130 interrupted."""
    gc.set_threshold(50_000, 20, 20)  # searching SymPy's cached objects for cycles takes a tenth of the time
    try:
        from ldp_audit.cli.command_line import run_command

        return run_command(arguments)
    except KeyboardInterrupt:  # while options are parsed or modules loaded
        print("ldp-audit: interrupted; no file is left half written", file=sys.stderr)
        return 130
