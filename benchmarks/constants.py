"""The tuned constants of losses, accounting and auditing: name, value, reason, and the test that changes with each.

    python benchmarks/constants.py [--room ROOM] [--without-reason]
    python benchmarks/constants.py --try ROOM [--seconds 60] [--out build/mutants]

A tuned constant is a name in capitals at the top of a module that is bound to numbers (`reading.tuned_constants`). Its
reason is the comment on its line, the comment above it, or the text below it. --try makes each one half as large and
then twice as large in a copy of the package, runs the tests that enter a function which names it, and keeps the test
that fails (`mutants.py`); a constant that no test minds has "-" in the table. Without --try nothing is run, and what
was tried before is shown.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants import ROOT, Fault, caught, entered_by, repository_in, say
from reading import tuned_constants

ROOMS = ("losses", "accounting", "auditing")
_SHOWN = 60


@dataclass(frozen=True)
class Constant:
    """One constant.   file: relative to the root.   value: as written.   readers: functions that name it, file:line."""

    file: str
    name: str
    line: int
    value: str
    reason: str
    readers: frozenset[str]

    def changed(self, source: str) -> Iterator[Fault]:
        """The file with half of it, and with twice as much."""
        for factor in ("0.5", "2"):
            text = f"\n{self.name} = __import__('numpy').multiply({self.name}, {factor}).astype(type({self.name}))"
            if self.value.lstrip("-").replace("_", "").replace(" ", "").isdigit() or "**" in self.value:
                text = f"\n{self.name} = type({self.name})({self.name} * {factor})"
            end = _end_of(source, self.name)
            yield Fault(self.file, self.name, "constant", self.line, end, end, f"{self.name} = {self.value}", text)


def constants(room: str, root: Path = ROOT) -> list[Constant]:
    """The tuned constants of a room, by file."""
    sources = {file: file.read_text(encoding="utf-8") for file in sorted((root / "ldp_audit" / room).rglob("*.py"))}
    found = []
    for file, source in sources.items():
        for name, value in tuned_constants(source).items():
            line = next(number for number, text in enumerate(source.splitlines(), 1) if _binds(text, name))
            readers = frozenset(
                f"{other.relative_to(root / 'ldp_audit').as_posix()}:{start}"
                for other, text in sources.items()
                if other == file or f"import {name}" in text or f" {name}" in text.partition("class ")[0]
                for start in _reading(text, name)
            )
            where = file.relative_to(root).as_posix()
            found.append(Constant(where, name, line, value, _reason(source.splitlines(), line), readers))
    return found


def _binds(text: str, name: str) -> bool:
    left = text.partition("=")[0]
    return "=" in text and name in [part.strip().partition(":")[0] for part in left.split(",")]


def _end_of(source: str, name: str) -> int:
    """The offset behind the statement that binds a name."""
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and _binds(lines[node.lineno - 1], name):
            return sum(map(len, lines[: node.end_lineno or node.lineno])) - 1
    raise ValueError(f"nothing binds {name}")


def _reading(source: str, name: str) -> Iterator[int]:
    """The first lines of the functions that name it, outer ones, as a trace has them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(one, ast.Name) and one.id == name for one in ast.walk(node)
        ):
            yield min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _reason(lines: Sequence[str], line: int) -> str:
    """The comment on the line of a constant, the text below it, or the comment above it."""
    if "#" in lines[line - 1]:
        return lines[line - 1].partition("#")[2].strip()
    end = line
    while end < len(lines) and lines[end - 1].count("(") > lines[end - 1].count(")"):
        end += 1
    below = lines[end].strip() if end < len(lines) else ""
    if below.startswith('"""'):
        return below.strip('"')
    above = lines[line - 2].strip() if line > 1 else ""
    return above.removeprefix("#").strip() if above.startswith("#") else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or try the constants of a room."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", choices=ROOMS, nargs="+", default=ROOMS)
    parser.add_argument("--without-reason", action="store_true", help="those alone that have none")
    parser.add_argument("--try", choices=ROOMS, dest="tried")
    parser.add_argument("--seconds", type=float, default=60.0, help="for the tests of one change")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants")
    options = parser.parse_args(arguments)
    log = options.out / "constants.jsonl"
    if options.tried:
        options.out.mkdir(parents=True, exist_ok=True)
        _try(options.tried, log, options.out, options.seconds)
    read = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    minds = {(one["file"], one["name"], one["value"]): one["test"] for one in read}
    say("| file | name | value | reason | a test that minds |\n|---|---|---|---|---|")
    for room in options.room:
        listed = constants(room)
        for one in listed:
            if not (options.without_reason and one.reason):
                test = minds.get((one.file, one.name, one.value), "not tried")
                where = one.file.removeprefix("ldp_audit/")
                say(f"| {where} | {one.name} | {one.value[:_SHOWN]} | {one.reason} | {test or '-'} |")
        bare = sum(not one.reason for one in listed)
        say(f"| **{room}** | {len(listed)} constants | | {bare} without a reason | |")
    return 0


def _try(room: str, log: Path, keep: Path, seconds: float) -> None:
    known = set()
    if log.exists():
        read = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        known = {(one["file"], one["name"], one["value"]) for one in read}
    with tempfile.TemporaryDirectory() as folder:
        copied = repository_in(Path(folder))
        tests = entered_by(room, copied, keep)
        for one in constants(room, copied):
            if (one.file, one.name, one.value) in known:
                continue
            names = [name for _, name in sorted((s, n) for n, (s, entered) in tests.items() if entered & one.readers)]
            source = (copied / one.file).read_text(encoding="utf-8")
            found = None
            for fault in one.changed(source) if names else ():
                found = found or caught(fault, names, copied, seconds)
            with log.open("a", encoding="utf-8") as file:
                record = {"file": one.file, "name": one.name, "value": one.value, "test": found, "tests": len(names)}
                file.write(json.dumps(record) + "\n")
            say(f"{one.file} {one.name} = {one.value[:_SHOWN]}: {found or '-'} ({len(names)} tests)")


if __name__ == "__main__":
    sys.exit(main())
