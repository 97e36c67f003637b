"""How many small faults the tests of a room catch: a seeded program plants them one by one and runs the tests.

    python benchmarks/mutants.py ROOM [--number 100] [--seed 0] [--seconds 120] [--out build/mutants]

ROOM is losses, mechanisms, accounting, auditing or claims. A fault is one of: a comparison turned (< for >, == for
!=), a sign (+ for -, * for /, a minus left out), a bound (min for max, a range one shorter), a constant (a tenth more,
or one more), a condition (and for or, a `not` left out), a missing step (a statement that is not an assignment of a
name). It is planted in a copy of the package. Of the room's tests, those run that enter the function with the fault,
the quickest first, until one fails or so many seconds have passed; a fault that makes them hang is caught too.

First all tests of the room run once, to see which functions each one enters; that map is kept in --out and made again
when the room or its tests have changed. So is what became of each fault, so that a run that was stopped goes on.
Printed are the faults that survived, and the share that was caught with its 95% interval.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("losses", "mechanisms", "accounting", "auditing", "claims")
KINDS = ("comparison", "sign", "bound", "constant", "condition", "step")
_TESTS_AT_ONCE = (10, 100, 1000)
"""Quick tests are tried before the many: most faults are caught by one of the first ten."""

_COMPARED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_BOUNDS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True)
class Fault:
    """One change of one file.   start, end: of the text that is replaced, as offsets.   function: with its line."""

    file: str
    function: str
    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def planted(self, source: str) -> str:
        """The file's text with the fault."""
        return source[: self.start] + self.after + source[self.end :]

    def describe(self) -> str:
        """Where it is, and what, on one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}:{self.line} {self.kind}: {before[:70]} -> {after[:70]}"


def faults(file: Path, root: Path) -> Iterator[Fault]:
    """Every fault that could be planted in the functions of a file."""
    source = file.read_text(encoding="utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    raw = source.encode()

    def offset(line: int, column: int) -> int:
        return len(raw[: starts[line - 1] + column].decode())

    for function in _functions(ast.parse(source)):
        first = min([function.lineno, *(one.lineno for one in function.decorator_list)])  # as a trace has it
        for node in _inside(function):
            for kind, changed in changes(node):
                begin, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
                text = ast.unparse(ast.fix_missing_locations(changed))
                text = f"({text})" if isinstance(changed, ast.expr) else text
                where = f"{function.name}:{first}"
                name = file.relative_to(root).as_posix()
                yield Fault(name, where, kind, node.lineno, begin, end, source[begin:end], text)


def changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """What one node could be instead, with the kind of the fault."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        yield "comparison", _with(node, ops=[_COMPARED[type(node.ops[0])]()])
    elif isinstance(node, ast.BinOp) and type(node.op) in _SIGNS and not _is_text(node):
        yield "sign", _with(node, op=_SIGNS[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition", node.operand
    elif isinstance(node, ast.BoolOp):
        yield "condition", _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        more = node.value + 1 if isinstance(node.value, int) else (1.1 * node.value if node.value else 0.1)
        yield "constant", ast.Constant(more)
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _BOUNDS and len(node.args) > 1 - (name in ("floor", "ceil")):
            other = copy.deepcopy(node.func)
            setattr(other, "attr" if isinstance(other, ast.Attribute) else "id", _BOUNDS[name])
            yield "bound", _with(node, func=other)
        elif name == "range" and node.args:
            last = ast.BinOp(node.args[-1 if len(node.args) < 3 else 1], ast.Sub(), ast.Constant(1))
            args = [last] if len(node.args) == 1 else [node.args[0], last, *node.args[2:]]
            yield "bound", _with(node, args=args)
    elif isinstance(node, ast.AugAssign | ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "step", ast.Pass()


def _with(node: Any, **fields: Any) -> Any:
    other = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _is_text(node: ast.BinOp) -> bool:
    parts = [one for one in ast.walk(node) if isinstance(one, ast.Constant | ast.JoinedStr)]
    return any(isinstance(one, ast.JoinedStr) or isinstance(one.value, str) for one in parts)


def _functions(tree: ast.Module) -> Iterator[Any]:
    """Functions and methods; of nested ones the outer alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node)  # type: ignore[arg-type]


def _inside(function: Any) -> Iterator[ast.AST]:
    """The nodes of a function's body, without annotations, defaults, and the texts of messages."""
    stack = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Raise):
            yield node
            continue
        if isinstance(node, ast.JoinedStr):
            continue
        yield node
        stack += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.arguments)]


def chosen(room: str, number: int, seed: int, root: Path = ROOT) -> list[Fault]:
    """So many faults of a room, as many of each kind as there are, drawn without replacement."""
    files = sorted((root / "ldp_audit" / room).rglob("*.py"))
    every = [fault for file in files for fault in faults(file, root)]
    by_kind = {kind: [one for one in every if one.kind == kind] for kind in KINDS}
    draw = random.Random(seed)  # noqa: S311
    for group in by_kind.values():
        draw.shuffle(group)
    found: list[Fault] = []
    while len(found) < number and any(by_kind.values()):
        found += [group.pop() for group in by_kind.values() if group]
    return found[:number]


_PLUGIN = """
import json, os, sys, time, pytest
ROOM = os.environ["MUTANTS_ROOM"] + os.sep
entered = {}

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    codes, start = set(), time.perf_counter()
    def note(frame, event, _):
        if event == "call":
            codes.add(frame.f_code)
    sys.setprofile(note)
    yield
    sys.setprofile(None)
    codes = [one for one in codes if ROOM in one.co_filename]
    names = {f"{one.co_filename.split('/ldp_audit/')[-1]}:{one.co_firstlineno}" for one in codes}
    entered[item.nodeid] = [round(time.perf_counter() - start, 3), sorted(names)]

def pytest_sessionfinish():
    with open(os.environ["MUTANTS_MAP"], "w") as file:
        json.dump(entered, file)
"""


def entered_by(room: str, copied: Path, keep: Path) -> dict[str, tuple[float, frozenset[str]]]:
    """For each test of the room its seconds and the functions that it enters, as "room/file.py:line"."""
    digest = hashlib.sha256()
    for folder in (copied / "ldp_audit" / room, copied / "tests" / room):
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.read_bytes())
    kept = keep / f"{room}-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        (copied / "mutants_plugin.py").write_text(_PLUGIN, encoding="utf-8")
        environment = _environment(copied) | {
            "MUTANTS_ROOM": str(copied / "ldp_audit" / room),
            "MUTANTS_MAP": str(kept),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants_plugin", f"tests/{room}"]
        subprocess.run(command, cwd=copied, env=environment, check=True)  # noqa: S603
    return {name: (seconds, frozenset(names)) for name, (seconds, names) in json.loads(kept.read_text()).items()}


def caught(fault: Fault, tests: Sequence[str], copied: Path, seconds: float) -> str | None:
    """The test that fails, or "a test hangs"; None where all of these pass, or the time is over."""
    file = copied / fault.file
    source = file.read_text(encoding="utf-8")
    file.write_text(fault.planted(source), encoding="utf-8")
    end, first = time.monotonic() + seconds, 0
    try:
        for size in _TESTS_AT_ONCE:
            some = tests[first : first + size]
            first += size
            left = end - time.monotonic()
            if not some or left <= 0:
                return None
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *some]
            try:
                done = subprocess.run(  # noqa: S603
                    command,
                    cwd=copied,
                    env=_environment(copied),
                    capture_output=True,
                    text=True,
                    timeout=left,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return "a test hangs" if size == _TESTS_AT_ONCE[0] else None
            if done.returncode:
                lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return lines[0].split(" - ")[0] if lines else f"exit code {done.returncode}"
    finally:
        file.write_text(source, encoding="utf-8")
    return None


def _environment(copied: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copied), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def repository_in(folder: Path) -> Path:
    """A copy of the repository in a folder, without what is built or fetched."""
    ignored = shutil.ignore_patterns("__pycache__", ".venv", ".git", "build", "dist", "data", "_site", ".gpu")
    return shutil.copytree(ROOT, folder / "copy", symlinks=True, ignore=ignored)


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the faults, print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", choices=ROOMS)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120.0, help="for the tests of one fault")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copied = repository_in(Path(folder))
        tests = entered_by(options.room, copied, options.out)
        log = options.out / f"{options.room}-{options.seed}.jsonl"
        known = (
            {one["fault"]: one["caught"] for one in map(json.loads, log.read_text().splitlines())}
            if log.exists()
            else {}
        )
        outcomes: list[tuple[Fault, str | None]] = []
        for place, fault in enumerate(chosen(options.room, options.number, options.seed, copied), start=1):
            where = f"{fault.file.removeprefix('ldp_audit/')}:{fault.function.partition(':')[2]}"
            entering = sorted((seconds, name) for name, (seconds, names) in tests.items() if where in names)
            found = known.get(fault.describe(), "")
            if found == "":
                names = [name for _, name in entering]
                found = caught(fault, names, copied, options.seconds) if names else None
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"fault": fault.describe(), "caught": found, "tests": len(names)}) + "\n")
            outcomes.append((fault, found))
            word = "survived" if found is None else f"caught by {found}"
            say(f"{place}/{options.number} {fault.describe()}: {word} ({len(entering)} tests enter it)")
    survived = [fault for fault, found in outcomes if found is None]
    say(f"\n{options.room}: {len(survived)} of {len(outcomes)} faults survived")
    for fault in survived:
        say(f"  {fault.describe()}")
    for kind in KINDS:
        group = [found for fault, found in outcomes if fault.kind == kind]
        say(f"  {kind}: {sum(one is not None for one in group)} of {len(group)} caught")
    share = binomtest(len(outcomes) - len(survived), max(1, len(outcomes)))
    low, high = share.proportion_ci()
    say(f"caught: {share.statistic:.3f} (95% interval {low:.3f} to {high:.3f})")
    return 0


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
