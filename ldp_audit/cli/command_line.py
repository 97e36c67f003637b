"""The frame of all commands: parser, input and output files, progress, errors.

A command is a module of its name in this folder, imported on use: `add_arguments` defines its options, `run` executes
it and returns the exit code. An exception in `run` is printed as one line on stderr, with exit code 2.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from ldp_audit import registry
from ldp_audit.cli.console import say
from ldp_audit.files import check_place
from ldp_audit.numerics import meant
from ldp_audit.workers import SchedulerLostError

HOLDS, BAD_INPUT, INTERRUPTED, UNREAD = 0, 2, 130, 141

COMMANDS = {
    "check": "settle a paper's claims, or your own, and write the report",
    "recheck": "verify a report's proofs and refutations again, without the engines",
    "exact": "print what is known exactly of a mechanism: epsilon, profile, moments",
    "choose": "which mechanism answers a question with the least error at a budget",
    "audit": "bound a sampler's epsilon from below, by its outputs",
    "account": "what a protocol spends, in every convention; or what another accountant's events spend",
    "budget": "keep a budget in a file, and pay for mechanisms from it before they run",
    "data": "fetch MNIST, Fashion-MNIST or ADULT out of a software package, for `train`",
    "train": "run a paper's federated pipeline, and tie its accuracy to what it spends",
    "report": "everything in one document: claims, programs, protocols, training",
    "doctor": "what is installed, which devices there are, and known defects of this machine",
    "completion": "print a script that completes commands and options in a shell",
}
"""The help text of each command of the core; papers and other packages add theirs (`registry.COMMANDS`)."""

EXIT_CODES = {
    "check": {1: "what --fail-on names was found"},
    "recheck": {1: "a proof was refused, or a statement differs"},
    "choose": {1: "no mechanism is usable"},
    "audit": {1: "the claim is violated", 3: "inconclusive: the audit had no power to find a violation"},
    "train": {1: "an audit found a violation"},
    "report": {1: "what --fail-on names was found, in a claim or an audit"},
    "account": {1: "a printed epsilon is too small"},
    "budget": {1: "it does not fit into what is left"},
    "doctor": {1: "a package that is needed is missing"},
}
"""What each command's exit codes mean, beside those that all have: 0 done, 2 bad input, 130 interrupted, and 141 where
the reader of its output has closed the pipe before the end, as other programs have it."""

INSTALL = {"training": "pip install '.[training]', in a clone", "dask": "pip install '.[dask]', in a clone"}
"""How to install each extra."""

EXTRAS = {"torch": "training", "distributed": "dask"}
"""Packages of the extras."""

OPTIONS = {
    "claimed_epsilon": "--epsilon",
    "claimed_delta": "--delta",
    "n": "--clients",
    "d": "--dimension",
    "trials": "--simulate",
}
"""The options whose arguments have other names in Python, by those."""

_STANDARD = Path("-")
"""For --json: the standard output, on which nothing else is then printed."""


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command of these words (sys.argv by default); returns its exit code."""
    words = _joined(sys.argv[1:] if arguments is None else arguments)
    parser = command_parser(words[:1])
    if not words:
        parser.print_help()
        return BAD_INPUT
    options, unknown = parser.parse_known_args(words, argparse.Namespace(typed=words, output=sys.stdout))
    if unknown:
        options.parser.refuse(unknown)
    try:
        with redirect_stdout(sys.stderr) if options.json == _STANDARD else nullcontext():
            return options.run(options)
    except BrokenPipeError:  # the reader of our output (`| head`) has closed it
        sys.stderr.close()
        return UNREAD  # not 0, which would pass a gate whose verdict nobody has read
    except KeyboardInterrupt:
        say(f"ldp-audit {options.command}: interrupted; {_kept(options)}", sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if options.debug:
            raise
        lost = f"; {_kept(options)}" if isinstance(error, SchedulerLostError) else ""
        say(f"ldp-audit {options.command}: {_with_option(_message(error), words)}{lost}", sys.stderr)
        return BAD_INPUT


def _joined(words: Sequence[str]) -> list[str]:
    """The words, with values such as -1,1 joined to their options by =, as argparse takes them for options."""
    joined: list[str] = []
    for word in words:
        if joined and re.match(r"-(\.?\d|inf)", word) and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _with_option(message: str, words: Sequence[str]) -> str:
    """The message, with the option that was typed in place of the argument's name at its beginning."""
    name, _, says = message.partition(" ")
    if not says.startswith("must "):
        return message
    typed = re.split(r"[ =]", " ".join(words))
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if option in typed:
        return f"{option} {says}"
    pair = re.search(rf"(--(?:set|sweep|data-option)) {name.replace('_', '[-_]')}=", " ".join(words))
    return f"{pair[1]} {name} {says}" if pair else message


def _kept(options: argparse.Namespace) -> str:
    """How to go on with a command that was cut short."""
    resume, out = getattr(options, "resume", None), getattr(options, "out", None)
    if isinstance(resume, Path):
        return f"--resume {resume} goes on from there"
    if resume is None:
        return "no file is left half written"
    return f"--resume goes on with {out}" if out else "nothing was written, for lack of --out"


def write_plot(place: Path, figure: Any, progress: Any) -> None:
    """Draw a `figure.Figure` into an SVG file; matplotlib is loaded for it."""
    from ldp_audit.reports import figures, write

    progress(f"drawing {place}")
    write.write_files(place.parent, {place.name: figures.svg(figure.to_dict()) + "\n"})


def command_parser(commands: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line, with the options of these commands only; None: of all."""
    parser = _OneLineParser(
        prog="ldp-audit",
        description="Check, audit and account for local differential privacy.",
        epilog=(
            "exit codes: 0 done; 1 something was found, which the --help of each command names; 2 bad input; "
            "3 an audit without power; 130 interrupted"
        ),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    listed = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    ours_alone = commands is not None and commands and set(commands) <= set(COMMANDS)
    found = {} if ours_alone else registry.usable(registry.COMMANDS, partial(registry.load, registry.COMMANDS))
    others = {name: one for name, one in found.items() if name not in COMMANDS and _is_command(one)}
    for name, says in (COMMANDS | {name: _summary(module) for name, module in others.items()}).items():
        command = listed.add_parser(name, help=says, description=says.capitalize() + ".")
        if commands is None or name in commands:
            module = others[name] if name in others else import_module(f"ldp_audit.cli.{name}")
            command.set_defaults(run=module.run, parser=command)
            module.add_arguments(command)
            every = command.add_argument_group("with every command")
            every.add_argument(
                "--json", type=Path, metavar="FILE", help="write the result as JSON; - is standard output"
            )
            every.add_argument("--debug", action="store_true", help="show a traceback for an error")
            command.epilog = "\n".join(filter(None, (command.epilog, _exit_codes(name))))
    return parser


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the names that may have been meant."""

    def error(self, message: str) -> NoReturn:
        """Print the line; exit code 2."""
        choice = re.match(r"argument ([^:]*): invalid choice: '?(.*?)'? \(choose from (.*)\)$", message)
        if choice and choice[1] == "COMMAND":
            commands = [*COMMANDS, *registry.entries(registry.COMMANDS)]
            listed = meant(choice[2], commands) or f"; accepted: {', '.join(commands)}"
            message = f"there is no command {choice[2]!r}{listed}"
        elif choice:
            accepted = choice[3].replace("'", "")
            message = (
                f"{choice[1]} must be one of {accepted}, got {choice[2]!r}{meant(choice[2], accepted.split(', '))}"
            )
        message = re.sub(r"^argument ([^:]*): must ", r"\1 must ", message)
        message = re.sub(r"^argument ([^:]*): invalid float value: (.*)", r"\1 must be a number, got \2", message)
        message = re.sub(r"^argument ([^:]*): invalid int value: (.*)", r"\1 must be a whole number, got \2", message)
        self.exit(BAD_INPUT, f"{self.prog}: {' '.join(message.split())}\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """The error of words that no argument takes."""
        known = sorted(set(re.findall(r"--([a-z][a-z-]*)", self.format_help())))
        name = unknown[0].partition("=")[0]
        if not name.startswith("-"):
            self.error(f"{name!r} is one argument too many; {self.prog} --help shows what there is")
        listed = meant(name.lstrip("-"), known).replace("mean ", "mean --").replace(" or ", " or --")
        self.error(f"there is no option {name}{listed or f'; {self.prog} --help lists them'}")


def _exit_codes(command: str) -> str:
    """Those of the command, in words."""
    codes = {0: "done", **EXIT_CODES.get(command, {}), BAD_INPUT: "bad input", INTERRUPTED: "interrupted"}
    return f"exit codes: {'; '.join(f'{code} {says}' for code, says in sorted(codes.items()))}"


def _summary(module: ModuleType) -> str:
    """What a command does: the first line of its module's docstring, after the command's name."""
    says = (module.__doc__ or "").strip().partition("\n")[0].partition(": ")[2].rstrip(".")
    return says.replace("%", "%%")  # argparse formats it


def _is_command(module: object) -> bool:
    return all(callable(vars(module).get(name)) for name in ("add_arguments", "run"))


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import ldp_audit

        print(f"ldp-audit {ldp_audit.__version__}")
        parser.exit()


def _message(error: Exception) -> str:
    """One line: a ValueError's message, and the type too of anything else."""
    if isinstance(error, OSError) and error.filename:
        return f"cannot open {error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError):
        return text
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing:
        how = INSTALL.get(EXTRAS.get(missing, ""), "pip install ., in a clone")
        return f"this needs {missing}, which is not installed: {how}"
    if isinstance(error, MemoryError):
        return f"too large for this machine's memory: {text}"
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"


def write_json(options: argparse.Namespace, document: dict[str, Any]) -> None:
    """Write the result of a command, if --json is given."""
    if options.json == _STANDARD:
        from ldp_audit.reports.write import as_json

        options.output.write(as_json(document))
    elif options.json:
        from ldp_audit.reports import write

        write.write_files(options.json.parent, {options.json.name: write.as_json(document)})


def check_writable(options: argparse.Namespace) -> None:
    """Raise CannotWriteError, an OSError, where --out or --json cannot be written, before long work begins."""
    if getattr(options, "out", None) is not None:
        from ldp_audit.reports import write

        write.check_writable(options.out)
    if options.json and options.json != _STANDARD:
        check_place(options.json)
