"""What the documents say is what the code does."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import ldp_audit
from ldp_audit.claims.verdict import Verdict
from tests.meta.snippets import (
    Command,
    Snippet,
    command_lines,
    commands_of,
    first_missing,
    programs_of,
    run_command,
    run_program,
    snippets_of,
    subprocess_output,
    write_files,
)
from tests.together import together

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_site" not in page.parts)
GALLERY = DOCS / "gallery.md"  # its blocks draw, each on its own: see test_notebooks.py
FIRST_HOUR = DOCS / "first-hour.md"  # each of its jobs begins from an empty folder
EXAMPLES = {
    "noisy_coin.py": (DOCS / "your-own.md").read_text("utf-8"),
    "square_wave.py": (DOCS / "tutorial-proof-check.md").read_text("utf-8"),
}
MOST_LINES_OF_A_JOB = 15
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def parts(page: Path) -> list[Snippet]:
    return snippets_of(page.read_text(encoding="utf-8"))


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


APART = (GALLERY, FIRST_HOUR)
RUN = [page for page in PAGES if page not in APART and (programs_of(parts(page)) or commands_of(parts(page)))]
AT_NIGHT = ("docs/auditing.md", "docs/training.md", "docs/tutorial-proof-check.md")
"""Pages that take half a minute each."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=name(page), marks=pytest.mark.slow if name(page) in AT_NIGHT else ()) for page in RUN],
)
def test_a_page_runs_as_it_stands_and_prints_what_it_shows(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """As a reader runs it: each command by a process of its own. The README is run by `make package`, on the wheel.

    A whole report takes half a minute: without `--slow` it is left to test_cli_report.py.
    """
    write_files(parts(page), tmp_path)
    if programs_of(parts(page)):
        run_program("\n".join(programs_of(parts(page))), tmp_path)
    for command in commands_of(parts(page)):
        if request.config.getoption("--slow") or not command.line.startswith("ldp-audit report "):
            run_command(command, tmp_path)


JOBS = FIRST_HOUR.read_text(encoding="utf-8").split("\n## ")[1:]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.splitlines()[0])
def test_a_job_of_the_first_hour_runs_from_an_empty_folder(job: str, tmp_path: Path) -> None:
    """With no file of another job, and at most two pages to read."""
    snippets = snippets_of(job)
    write_files(snippets, tmp_path)
    if programs_of(snippets):
        run_program("\n".join(programs_of(snippets)), tmp_path)
    for command in commands_of(snippets):
        run_command(command, tmp_path)
    assert commands_of(snippets)
    assert 1 <= len(re.findall(r"\]\(", job.split("\nRead: ")[1])) <= 2


@together("page", [ROOT / "README.md", *PAGES])
def test_every_command_line_in_the_documents_is_one(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ldp_audit.cli.command_line import command_parser

    for arguments in command_lines(parts(page)):
        try:
            command_parser().parse_args(arguments)
        except SystemExit as exit_:
            pytest.fail(f"ldp-audit {' '.join(arguments)}: exit code {exit_.code}, {capsys.readouterr().err}")


def test_the_snippets_of_the_readme_are_short() -> None:
    bodies = [snippet.body for snippet in snippets_of(README) if snippet.language == "python"]
    assert bodies
    assert all(len(body.splitlines()) <= MOST_LINES_OF_A_JOB for body in bodies)


def test_the_readme_has_at_most_900_words() -> None:
    assert len(README.split()) <= 900


@together("file", EXAMPLES)
def test_an_example_is_shown_whole_and_under_thirty_lines(file: str) -> None:
    example = (DOCS / "examples" / file).read_text(encoding="utf-8")
    assert example in [snippet.body for snippet in snippets_of(EXAMPLES[file])]
    assert len(example.splitlines()) < 30


def test_a_snippet_that_fails_or_prints_something_else_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="is not printed"):
        run_program("print(1)  # prints 2", tmp_path)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run_program("1 / 0", tmp_path)
    with pytest.raises(AssertionError, match="is not printed"):
        run_command(Command("python -c 'print(1)'", ("2",)), tmp_path)
    with pytest.raises(AssertionError, match="module 'nowhere' cannot be imported"):
        run_command(Command("ldp-audit check --claims nowhere", ()), tmp_path)
    assert first_missing(["a ... c", "...", "e"], "a b c\nd\ne") is None
    assert first_missing(["e", "a ... c"], "a b c\nd\ne") == "a ... c"
    assert first_missing(["a"], "a b") == "a"


def test_the_blocks_of_a_page_are_told_apart() -> None:
    page = (
        "<!-- not run: why -->\n```python\n1\n```\n"
        '```python title="x.py"\n2\n```\n```python\n3\n```\n'
        "```console\n$ ldp-audit a\nb\n$ python x.py\n```\n```\nldp-audit check | head  # more\nmake\n```\n"
    )
    snippets = snippets_of(page)
    assert [snippet.why_not for snippet in snippets] == ["why", None, None, None, None]
    assert programs_of(snippets) == ["3\n"]
    assert commands_of(snippets) == [Command("ldp-audit a", ("b",)), Command("python x.py", ())]
    assert command_lines(snippets) == [["check"]]


def test_no_fenced_block_escapes_the_tests() -> None:
    """A language or an attribute that the tests do not know would be a block that nobody runs."""
    for page in [ROOT / "README.md", *PAGES]:
        text = page.read_text(encoding="utf-8")
        fences = re.findall(r"^\s*(?:```|~~~)(.*)$", text, re.MULTILINE)
        found = snippets_of(text)
        assert len(fences) == 2 * len(found), page.name
        languages = {snippet.language for snippet in found if snippet.title != "client.js"}  # see test_command.py
        assert languages <= {"", "python", "toml", "json", "console"}, page.name


def test_the_walk_through_a_paper_gives_a_proved_claim(tmp_path: Path) -> None:
    check = "from ldp_audit.claims import settle_claim\nprint(settle_claim(PAPER.claims[0]).verdict)  # prints PROVED"
    run_program("\n".join([*programs_of(parts(DOCS / "adding-a-paper.md")), check]), tmp_path)


def test_the_page_of_mechanisms_is_what_the_definitions_give() -> None:
    from ldp_audit.reports.mechanism_page import reference, render

    assert (DOCS / "mechanisms.md").read_text(encoding="utf-8") == render(), "run `make docs`"
    assert (DOCS / "reference" / "mechanisms.md").read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_the_example_gives_the_verdicts_that_its_page_says() -> None:
    command = [sys.executable, "-m", "ldp_audit.cli", "check", "--claims", "noisy_coin"]
    verdicts = dict(re.findall(r"(NC-\d)\s+(\w+)", subprocess_output(command, DOCS / "examples", {0, 1})))
    assert verdicts == {"NC-1": "PROVED", "NC-2": "REFUTED", "NC-3": "PROVED", "NC-4": "PROVED"}


def test_every_verdict_is_explained() -> None:
    page = README + (DOCS / "verdicts.md").read_text(encoding="utf-8")
    from ldp_audit.reports.wording import VERDICTS

    assert set(VERDICTS) == {str(verdict) for verdict in Verdict}
    assert all(str(verdict) in page for verdict in Verdict if verdict is not Verdict.NUMERIC)


def missing_tests(text: str) -> list[str]:
    """The tests that a text names, tests/file.py::name, and that are not there."""
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", text)
    sources = {file: (ROOT / file).read_text("utf-8") if (ROOT / file).exists() else "" for file, _ in named}
    return [f"{file}::{test}" for file, test in named if f"\ndef {test}(" not in sources[file]]


def test_every_test_that_a_page_names_is_there() -> None:
    for page in [ROOT / "README.md", *PAGES]:
        assert not missing_tests(page.read_text(encoding="utf-8")), name(page)
    assert "tests/training/fedsel/test_run.py::" in (DOCS / "training.md").read_text(encoding="utf-8")
    here = "tests/meta/test_documents.py"
    assert missing_tests(f"`{here}::links` `{here}::link` tests/none.py::a") == [f"{here}::link", "tests/none.py::a"]


def links() -> list[tuple[Path, str]]:
    """Every page with every address that it links to."""
    pages = [ROOT / "README.md", *PAGES]
    return [(page, target) for page in pages for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))]


def test_links_in_the_documents_lead_somewhere() -> None:
    for page, target in links():
        assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_constraints_pin_every_dependency() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    assert "torch==2.13.0" in pins
    extras = {key: names for key, names in PROJECT["optional-dependencies"].items() if key != "peers"}  # unpinned
    declared = {canonical(name) for names in [PROJECT["dependencies"], *extras.values()] for name in names}
    pinned = {canonical(pin) for pin in pins}
    assert declared - pinned == {"claimed-epsilon"}  # the dev extra asks for our own training extra


def test_the_distribution_has_one_name_and_one_version() -> None:
    """What is installed, what pyproject.toml builds, and what a citation names."""
    assert ldp_audit.__version__ == importlib.metadata.version(PROJECT["name"]) == PROJECT["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == PROJECT["version"]
    assert re.findall(r"version = \{(.*)\}", README) == [PROJECT["version"]]
    theirs = tomllib.loads((ROOT / "examples" / "their_package" / "pyproject.toml").read_text(encoding="utf-8"))
    assert theirs["project"]["dependencies"] == [PROJECT["name"]]


def test_the_pins_with_hashes_are_the_pins() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    hashed = (ROOT / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    assert all(re.fullmatch(r"\S+(\s+--hash=sha256:[0-9a-f]{64})+", line) for line in hashed)
    found = {pin.replace("_", "-").lower() for pin in pins}
    assert found - {line.split()[0] for line in hashed} == {"torch==2.13.0"}, "run `make hashes`"
    assert len(hashed) == len(pins) - 1


def test_the_source_distribution_has_what_the_pages_link_to() -> None:
    shipped = PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    targets = {(page.parent / target).resolve().relative_to(ROOT) for page, target in links() if "://" not in target}
    assert {target.parts[0] for target in targets} <= set(shipped)


def canonical(requirement: str) -> str:
    """The name that a requirement asks for, as registries compare it."""
    return re.split(r"[\[<>=]", requirement)[0].lower().replace("_", "-")


def test_the_linter_sees_every_file_and_not_through_the_links() -> None:
    """An exclusion of `mechanisms` once hid every folder of that name, the package's own among them."""
    command = [sys.executable, "-m", "ruff", "check", "--show-files"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    seen = {str(Path(path).relative_to(ROOT)) for path in shown}
    ours = {str(path.relative_to(ROOT)) for room in ("ldp_audit", "tests") for path in (ROOT / room).rglob("*.py")}
    assert ours <= seen
    assert not [path for path in seen if path.startswith(("accounting/", "mechanisms/", "reports/", "training/"))]


def test_no_file_is_longer_than_two_subjects() -> None:
    tables = ROOT / "tests" / "claims" / "published"  # a list of statements has one subject, however long it is
    checker = ROOT / "ldp_audit" / "claims" / "recheck.py"  # whoever trusts nothing else reads this one file
    for path in [*(ROOT / "ldp_audit").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        if tables in path.parents or path == checker:
            continue
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 600, path
