"""The files that a reader of one call must open: those whose functions it enters, from a trace.

    python benchmarks/reading.py [--only CASE] [--list CASE] [--strict]

Each case is one call, in a process of its own with all imports done before. Counted are the functions under ldp_audit/
that are entered in any thread, their files and the lines of these, and the tuned constants that they read: names in
capitals at the top of a module with a number in their value. Lambdas and comprehensions count for their file alone,
module bodies not at all. Worker processes are not traced, and no case starts any. --list prints the files of one case
with the number of functions entered in each; --strict exits 1 if a case enters more files than its limit.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import io
import json
import pkgutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import ldp_audit

ROOT = Path(ldp_audit.__file__).resolve().parent


@dataclass(frozen=True)
class Case:
    """limit: the most files that the call may enter.   prepare: imports what the call needs, and returns it."""

    limit: int
    says: str
    prepare: Callable[[], Callable[[], Any]]


def _compose() -> Callable[[], Any]:
    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Laplace, RandomizedResponse

    return lambda: compose([(RandomizedResponse(0.1), 100), (Laplace(20.0), 50)]).epsilon(delta=1e-6)


def _audit() -> Callable[[], Any]:
    from ldp_audit import audit

    def sampler(x: float, n: int, rng: Any) -> Any:
        return x + rng.laplace(scale=0.8, size=n)

    return lambda: audit(sampler, inputs=(0.0, 1.0), claimed_epsilon=1.0).describe()


def _command(limit: int, line: str) -> Case:
    def prepare() -> Callable[[], Any]:
        from ldp_audit.cli import main

        return lambda: main(line.split())

    return Case(limit, f"ldp-audit {line}", prepare)


CASES = {
    "compose": Case(12, "the README's mixed composition, its epsilon", _compose),
    "audit": Case(14, "the README's audit of a sampler, described", _audit),
    "lemma": _command(50, "check --paper ldp-fl --only LF-L2 --out report"),
    "round": _command(80, "train ldp-fl --set n=2 --set rounds=1 --set model=softmax --workers 1 --out trained"),
}


def main() -> int:
    """Print a table or a list; 1 if a limit is exceeded and --strict given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--list", choices=CASES)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--trace", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trace:
        sys.stdout.write(json.dumps(traced(CASES[options.trace])))
        return 0
    if options.list:
        sys.stdout.writelines(f"{n:4d}  {file}\n" for file, n in sorted(_in_a_process(options.list)["files"].items()))
        return 0
    sys.stdout.write("| case | files | limit | lines | functions | constants | call |\n|---|---|---|---|---|---|---|\n")
    over = False
    for name in [options.only] if options.only else CASES:
        met, case = _in_a_process(name), CASES[name]
        files = met["files"]
        over |= len(files) > case.limit
        lines = sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files)
        counts = f"{len(files)} | {case.limit} | {lines:,} | {sum(files.values())} | {met['constants']}"
        sys.stdout.write(f"| {name} | {counts} | {case.says} |\n")
    return int(over and options.strict)


def traced(case: Case) -> dict[str, Any]:
    """The files that the case enters, and the number of constants, run in an empty folder and without output."""
    for module in pkgutil.walk_packages([str(ROOT)], "ldp_audit."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of packages of an extra
                importlib.import_module(module.name)
    call, nowhere = case.prepare(), contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), nowhere, entered_codes() as codes:
        call()
    return {"files": by_file(codes), "constants": len(constants_read(codes))}


@contextlib.contextmanager
def entered_codes() -> Iterator[set[CodeType]]:
    """The code objects that are entered in this context, by this thread and the threads that it starts."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield codes
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def by_file(codes: Iterable[CodeType], root: Path = ROOT) -> dict[str, int]:
    """Files under the root, relative to it, with the number of their named functions among these."""
    counts: Counter[str] = Counter()
    for code in codes:
        path = Path(code.co_filename)
        if path.is_relative_to(root):
            counts[path.relative_to(root).as_posix()] += not code.co_name.startswith("<")
    return dict(counts)


def constants_read(codes: Iterable[CodeType], root: Path = ROOT) -> set[tuple[str, str]]:
    """The tuned constants of the package that these functions name: the file that defines each, and its name."""
    known = {file: tuned_constants(file.read_text(encoding="utf-8")) for file in root.rglob("*.py")}
    homes: dict[str, set[str]] = {}
    for file, names in known.items():
        for name in names:
            homes.setdefault(name, set()).add(file.relative_to(root).as_posix())
    found = set()
    for code in codes:
        path = Path(code.co_filename)
        if path.is_relative_to(root):
            for name in set(code.co_names) & homes.keys():
                own = path.relative_to(root).as_posix()
                home = own if own in homes[name] else min(homes[name])  # else it is imported from there
                found.add((home, name))
    return found


def tuned_constants(source: str) -> dict[str, str]:
    """Names in capitals at the top of a module that are bound to a number, or to some: each with its value as written.

    A tuple of such names counts one by one. Texts, types and definitions of mathematics are no constants.
    """
    found: dict[str, str] = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for name, value in pairs:
                if isinstance(name, ast.Name) and name.id.upper() == name.id and is_tuned(value):
                    found[name.id] = ast.unparse(value)
    return found


def is_tuned(value: ast.expr) -> bool:
    """Whether a value is made of numbers by arithmetic, tuples and numpy's or math's functions of numbers."""
    nodes = list(ast.walk(value))
    numbers = [one for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, int | float)]
    texts = [one for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return bool(numbers) and not texts and not any(isinstance(one, ast.Dict | ast.Lambda | ast.Set) for one in nodes)


def _in_a_process(name: str) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).resolve()), "--trace", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
