"""The snippets of a page, run as they stand.

    ```python                   run, all of a page's in one program, from the top
    ```python title="x.py"      a file: written down, to be used by the page's commands (also toml, json)
    ```console                  lines "$ command" are run; the lines below, in this order, are among what each prints
    ```                         lines "ldp-audit ..." are parsed by the command line

In Python a comment "# prints TEXT" promises a line of output. "..." stands for any text, alone for any lines. What
cannot be run has the line <!-- not run: reason --> above it.

This file needs the standard library alone: `python snippets.py README.md` runs a page in the folder where it is called.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n+)?"
    r'```(?P<language>\w*)(?: title="(?P<title>[^"\n]+)")?\n(?P<body>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)
_PROGRAMS = {
    "ldp-audit": [sys.executable, "-m", "ldp_audit.cli"],
    "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
    "python": [sys.executable],
}


@dataclass(frozen=True)
class Snippet:
    """One fenced block.   why_not: the reason for which it is not run, or None.   title: the file that it is."""

    language: str
    title: str | None
    body: str
    why_not: str | None = None


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the lines that it is said to print."""

    line: str
    printed: tuple[str, ...]


def snippets_of(text: str) -> list[Snippet]:
    """All fenced blocks of a page, in order."""
    return [Snippet(found["language"], found["title"], found["body"], found["why"]) for found in _FENCE.finditer(text)]


def write_files(snippets: list[Snippet], folder: Path) -> None:
    """The files that a page shows, in a folder."""
    for snippet in snippets:
        if snippet.title is not None:
            (folder / snippet.title).write_text(snippet.body, encoding="utf-8")


def programs_of(snippets: list[Snippet]) -> list[str]:
    """The blocks of Python that are run, files not among them."""
    return [
        snippet.body
        for snippet in snippets
        if snippet.language == "python" and snippet.title is None and snippet.why_not is None
    ]


def run_program(program: str, folder: Path) -> str:
    """Run it, and hold it to what its comments promise; returns what it prints."""
    printed = subprocess_output([sys.executable, "-c", program], folder, {0})
    missing = first_missing(re.findall(r"# prints (.*)$", program, re.MULTILINE), printed)
    assert missing is None, f"{missing!r} is not printed, but\n{printed}"
    return printed


def commands_of(snippets: list[Snippet]) -> list[Command]:
    """The commands of the console blocks."""
    found = []
    for snippet in snippets:
        if snippet.language == "console" and snippet.why_not is None:
            for part in re.split(r"^\$ ", snippet.body, flags=re.MULTILINE)[1:]:
                line, *printed = part.rstrip("\n").split("\n")
                found.append(Command(line, tuple(printed)))
    return found


def run_command(command: Command, folder: Path) -> None:
    """Run it, and hold it to what the page says that it prints. 1, a violation was found, is no failure."""
    name, *arguments = shlex.split(command.line)
    printed = subprocess_output([*_PROGRAMS[name], *arguments], folder, {0, 1})
    missing = first_missing(command.printed, printed)
    assert missing is None, f"{command.line}: {missing!r} is not printed, but\n{printed}"


def first_missing(promised: list[str] | tuple[str, ...], printed: str) -> str | None:
    """The first promised line that is not printed below the ones before it; None where all are."""
    lines = iter(printed.split("\n"))
    for text in promised:
        pattern = re.compile(re.escape(text.rstrip()).replace(r"\.\.\.", ".*"))
        if text != "..." and not any(pattern.fullmatch(line.rstrip()) for line in lines):
            return text
    return None


def command_lines(snippets: list[Snippet]) -> list[list[str]]:
    """The arguments of every ldp-audit line outside of console blocks, comments and pipes aside."""
    lines = [line for snippet in snippets if snippet.language in ("", "sh") for line in snippet.body.split("\n")]
    return [shlex.split(line.split(" | ")[0], comments=True)[1:] for line in lines if line.startswith("ldp-audit ")]


def subprocess_output(command: list[str], folder: Path, accepted: set[int]) -> str:
    """What a process prints that runs the command in this folder. Its exit code must be one of the accepted."""
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode in accepted, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def run_page(text: str, folder: Path) -> None:
    """Everything that a page runs, each program on its own; prints what it runs."""
    snippets = snippets_of(text)
    write_files(snippets, folder)
    for program in programs_of(snippets):
        print("running", next(line for line in program.split("\n") if line.strip()), "...", flush=True)
        run_program(program, folder)
    for command in commands_of(snippets):
        print("running", command.line, flush=True)
        run_command(command, folder)


if __name__ == "__main__":
    run_page(Path(sys.argv[1]).read_text(encoding="utf-8"), Path.cwd())
