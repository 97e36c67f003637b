"""Run the findings: `python examples/findings/run.py` builds an environment a library, checks its findings, and writes the page.

run.py                            all; --only NAME one library; --title TITLE one finding of it
run.py --page                     docs/findings.md and the reports again, from the records
run.py --nulls 1000               audits of the sound samplers that look for false accusations
run.py --laws                     the samplers against exact laws alone
run.py --implementation           the floating-point programs alone: what `audit --implementation` says of them
run.py --checkouts DIR            where the local copies of repositories are, as DIR/owner+name
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from finding import Library, findings_of, sound_samplers
from law import laws_of
from page import Account, page_of, report_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "findings"
PAGE = ROOT / "docs" / "findings.md"
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def programs(only: str | None = None) -> list[Path]:
    """Every library's program, or one."""
    found = sorted(HERE.glob("*/program.py"))
    return [one for one in found if only in (None, one.parent.name)]


def environment(name: str, library: Library) -> Path:
    """The Python of the library's environment, which is built the first time."""
    folder = BUILD / name
    python, stamp = folder / "bin" / "python", folder / "installed.json"
    wanted = json.dumps(library.requirements)
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        call(sys.executable, "-m", "venv", folder)
        call(python, *PIP, *(() if library.apart else ("--editable", ROOT)), *library.requirements)
        stamp.write_text(wanted, encoding="utf-8")
    if not library.checkout:
        call(python, "-c", f"import {library.module}")
    return python


def call(*command: str | Path) -> None:
    """Run it; CalledProcessError with what it wrote on its standard error."""
    subprocess.run(command, check=True, text=True, stderr=subprocess.PIPE)


def run(program: Path, arguments: list[str], checkouts: Path) -> bool:
    """Check one program's findings in its environment. False if the program fails; a library that cannot be had is noted."""
    name, record = program.parent.name, program.with_name("record.json")
    library, _ = findings_of(program)
    place = checkouts / library.checkout.partition("@")[0].replace("/", "+")
    if library.checkout and not place.is_dir():
        print(f"{name}: no local copy of {library.checkout} at {place}; its record stays", file=sys.stderr)
        return True
    try:
        python = environment(name, library)
    except subprocess.CalledProcessError as error:
        why = reason(error.stderr or str(error))
        record.write_text(json.dumps({"unavailable": why}, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {why}", file=sys.stderr)
        return True
    settings = os.environ | {"OPENBLAS_NUM_THREADS": "1", "FINDING_CHECKOUT": str(place)}
    if library.apart:
        settings["FINDING_PYTHON"], python = str(python), Path(sys.executable)
    ran = subprocess.run([python, HERE / "finding.py", program, record, *arguments], env=settings, check=False)
    return ran.returncode == 0


def reason(output: str) -> str:
    """What went wrong, of pip's or Python's output: what a package's build said, else the first error, else the end."""
    lines = [re.sub(r" \(/.*\)$", "", one.strip()) for one in output.strip().splitlines()]  # without paths of a machine
    said = [after for before, after in pairwise(lines) if before.endswith("lines of output]")]
    return (said + [one for one in lines if one.startswith(("ERROR: ", "error: "))] + lines[-1:])[0]


def accounts() -> list[Account]:
    """Every library's findings with their records, in the order of the folders' names."""
    return [Account.of(one.parent) for one in programs()]


def documents() -> dict[Path, str]:
    """The page, and a report for each library with a claim that does not hold."""
    found = accounts()
    reports = {HERE / one.folder / "report.md": report_of(one) for one in found}
    return {PAGE: page_of(found)} | {path: text for path, text in reports.items() if text}


def main() -> int:
    """0 where every finding is as its program expects."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--title")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--nulls", type=int, default=0)
    parser.add_argument("--laws", action="store_true")
    parser.add_argument("--implementation", action="store_true")
    parser.add_argument("--checkouts", type=Path, default=BUILD / "checkouts")
    given = parser.parse_args()
    if given.only and not programs(given.only):
        parser.error(f"--only must be one of {', '.join(one.parent.name for one in programs())}, got {given.only!r}")
    failed = []
    for program in [] if given.page else programs(given.only):
        arguments = ["--title", given.title] if given.title else []
        if given.nulls:
            arguments = ["--nulls", str(share(program, given.nulls))]
            if arguments[1] == "0":
                continue
        if given.laws:
            arguments += ["--laws"]
            if not laws_of(program):
                continue
        if given.implementation:
            arguments = ["--implementation"]
            if not any(one.floats for one in findings_of(program)[1]):
                continue
        failed += [] if run(program, arguments, given.checkouts) else [program.parent.name]
    written = documents()
    for path in set(HERE.glob("*/report.md")) - written.keys():
        path.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    unexpected = [
        f"{one.folder}: {finding.title}: {record['verdict']}, expected {finding.expected}"
        for one in accounts()
        for finding, record in [*one.checked, *one.compared]
        if record["verdict"] != finding.expected
    ]
    print(*unexpected, *(f"{name}: its program failed" for name in failed), sep="\n", file=sys.stderr)
    return int(bool(unexpected or failed))


def share(program: Path, audits: int) -> int:
    """How many of the audits of sound samplers are of this program's, by its share of these samplers."""
    sound = {one.parent: len(sound_samplers(findings_of(one)[1])) for one in programs()}
    return -(-audits * sound[program.parent] // sum(sound.values()))


if __name__ == "__main__":
    raise SystemExit(main())
