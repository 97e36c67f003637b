"""The commands and their options, and what becomes of their errors: one line on stderr and an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

HOLDS, BAD_INPUT, INTERRUPTED = 0, 2, 130

COMMANDS = {
    "check": "settle a paper's claims, or your own, and write the report",
    "recheck": "verify a report's proofs and refutations again, without the engines",
    "exact": "print what is known exactly of a mechanism: epsilon, profile, moments",
    "audit": "bound a sampler's epsilon from below, by its outputs",
    "account": "what a protocol spends, in every convention",
    "linkage": "what anonymous, shuffled reports give away, against what is promised",
    "train": "run a paper's federated pipeline, and tie its accuracy to what it spends",
    "report": "everything in one document: claims, programs, protocols, training",
    "doctor": "what is installed, which devices there are, and known defects of this machine",
    "completion": "print a script that completes commands and options in a shell",
}
"""What each does; the module of the same name beside this one has its `add_arguments` and its `run`."""


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command that these words (sys.argv by default) name; returns its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    options = command_parser(words[:1]).parse_args(words)
    try:
        return options.run(options)
    except BrokenPipeError:  # the reader of our output (`| head`) has seen enough
        sys.stderr.close()
        return HOLDS
    except KeyboardInterrupt:
        resume = getattr(options, "resume", None)
        kept = f"--resume {resume} goes on from there" if isinstance(resume, Path) else "no file is left half written"
        print(f"ldp-audit {options.command}: interrupted; {kept}", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if options.debug:
            raise
        print(f"ldp-audit {options.command}: {_said(error)}", file=sys.stderr)
        return BAD_INPUT


def command_parser(commands: Sequence[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The parser of the whole command line; the other commands are listed, but have no options of their own yet."""
    parser = argparse.ArgumentParser(
        prog="ldp-audit",
        description="Check, audit and account for local differential privacy.",
        epilog="exit codes: 0 holds, 1 a violation or refutation was found, 2 bad input, 3 an audit without power",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    listed = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, says in COMMANDS.items():
        command = listed.add_parser(name, help=says, description=says.capitalize() + ".")
        if name in commands:
            command.add_argument("--json", type=Path, metavar="FILE", help="write the result there as JSON")
            command.add_argument("--debug", action="store_true", help="show a traceback for an error")
            module = import_module(f"ldp_audit.cli.{name}")
            command.set_defaults(run=module.run)
            module.add_arguments(command)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import ldp_audit

        print(f"ldp-audit {ldp_audit.__version__}")
        parser.exit()


def _said(error: Exception) -> str:
    """One line: what a ValueError says, and what anything else was."""
    if isinstance(error, OSError) and error.filename:
        return f"cannot open {error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError):
        return text
    if isinstance(error, MemoryError):
        return f"too large for this machine's memory: {text}"
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"
