"""The core lives without papers: in a copy that lacks one of them, or all, its tests pass and its commands answer.

And no room of the core has the name of a paper in its code. Each check has a twin that shows that it can fail.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = Path("ldp_audit", "papers")
REMOVED = {
    "without one": ("fedsel",),
    "without any": tuple(one.parent.name for one in (ROOT / PAPERS).glob("*/entry_points.toml")),
}
COPIED = ("ldp_audit", "ldp_audit_pytest", "tests", "docs", "benchmarks", "examples", "pyproject.toml", "README.md")
CHEAP = (
    "losses/test_enclosed_loss.py",
    "mechanisms/test_channel.py",
    "accounting/protocols/test_protocol_file.py",
    "claims/test_conditions.py",
    "auditing/test_binomial_tails.py",
    "implementations/test_grid.py",
    "training/test_sweep.py",
    "reports/test_markdown.py",
    "test_cli_account.py",
)
"""A file of each room, in seconds."""

OF_THE_REPOSITORY = (
    *("benchmarks", "documents", "findings", "golden", "gpu_benchmark", "nightly", "notebooks", "site", "workflows"),
    "papers_are_apart",
)
"""Tests in this folder of the repository's pages, benchmarks and CI, which speak of the papers; and this one."""


@pytest.fixture(scope="module", params=REMOVED)
def copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and the core's tests, without some papers or all."""
    folder = tmp_path_factory.mktemp("copy")
    left_out = {str(ROOT / PAPERS / name) for name in REMOVED[request.param]} | {str(ROOT / "tests" / "papers")}

    def ignored(where: str, names: list[str]) -> list[str]:
        return [name for name in names if os.path.join(where, name) in left_out]  # noqa: PTH118

    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy2(ROOT / name, folder)
    return folder


def in_copy(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A Python in the copy, which imports from nowhere else what the copy has."""
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run(
        [sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def assert_passing(copy: Path, *words: str) -> None:
    done = in_copy(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr


def test_the_tests_of_the_core_pass(copy: Path) -> None:
    assert_passing(copy, *(f"tests/{name}" for name in CHEAP))


@pytest.mark.slow
def test_all_tests_of_the_core_pass(copy: Path) -> None:
    assert_passing(copy, "-n", "2", "tests", *(f"--ignore=tests/meta/test_{name}.py" for name in OF_THE_REPOSITORY))


PROTOCOL = """
name = "two questions"
[[step]]
mechanism = "RandomizedResponse(epsilon=0.5)"
times = [2]
"""
CLAIMS = """
from ldp_audit.claims import Claim, at_most
from ldp_audit.mechanisms import Variable
claim = Claim("C-1", "here", "a number", parts=[at_most(Variable("x", 0, 1), 1)])
"""
COMMANDS = (
    (0, "audit Laplace(1.0) --inputs=0,1 --epsilon 1 --samples 2000 --quiet"),
    (0, "account mine.toml --quiet"),
    (0, "exact TwoPoint(epsilon=1)"),
    (0, "check --claims mine.py --quiet"),
    (0, "account --list"),
    (0, "train fedsel --list"),
    (2, "check --paper fedsel"),
    (2, "account fedsel-adult"),
    (2, "report --paper fedsel --out out"),
)
"""What each command of this line exits with."""
WITHOUT_ANY = (
    (2, "check --paper all"),
    (2, "report --out out"),
)

PROGRAM = """
import contextlib, io, json, sys
from ldp_audit.cli import main
answers = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as error, contextlib.redirect_stdout(io.StringIO()) as out:
        answers.append((main(words.split()), out.getvalue(), error.getvalue()))
print(json.dumps(answers))
"""


def answers(copy: Path, commands: tuple[tuple[int, str], ...]) -> dict[str, Any]:
    """What each command prints, after its exit code was the expected one; in one process, which imports once."""
    done = in_copy(copy, "-c", PROGRAM, json.dumps([words for _, words in commands]))
    assert done.returncode == 0, done.stderr
    found = {}
    for (code, words), (seen, out, error) in zip(commands, json.loads(done.stdout), strict=True):
        assert seen == code, f"{words}: {out}{error}"
        assert "Traceback" not in error, error
        assert (error.count("\n") == 1) == (code == 2), f"{words}: {error}"
        found[words] = out + error
    return found


def test_the_commands_answer(copy: Path) -> None:
    (copy / "mine.toml").write_text(PROTOCOL, encoding="utf-8")
    (copy / "mine.py").write_text(CLAIMS, encoding="utf-8")
    without_any = not (copy / PAPERS / "ldp_fl").exists()
    found = answers(copy, COMMANDS + (WITHOUT_ANY if without_any else ()))
    assert "two questions" in found["account mine.toml --quiet"]
    assert "PROVED" in found["check --claims mine.py --quiet"]
    assert "unknown paper 'fedsel'" in found["check --paper fedsel"]
    assert "fedsel" not in found["account --list"]
    if without_any:
        assert found["account --list"] == "no protocol is shipped\n"
        assert "no paper is installed" in found["check --paper all"]
        assert "--claims" in found["check --paper all"]
        assert "no paper is installed" in found["report --out out"]
    else:
        assert "ldp-fl-mnist" in found["account --list"]


def test_a_test_that_needs_a_paper_fails_in_the_copy(copy: Path) -> None:
    needs = copy / "tests" / "test_that_needs_a_paper.py"
    needs.write_text("from ldp_audit.papers import fedsel\n\n\ndef test_it() -> None:\n    assert fedsel\n")
    with pytest.raises(AssertionError, match="cannot import name 'fedsel'"):
        assert_passing(copy, str(needs))
    needs.unlink()


CORE = ("losses", "mechanisms", "accounting", "claims", "auditing", "implementations", "reports", "cli")
OF_A_PAPER = re.compile(r"(?i:ldp[-_ ]?fl(?![a-z])|fedsel|fedmd|nfdp)|\bwang\b")
"""Names of papers. Wang with a capital is one of several authors whose theorems are cited."""
NAMED_ALIKE = {"nfdp"}
"""Public names of the core: `accounting.nfdp`, the loss of NFDP's sampling."""


def words_of(source: str) -> Iterator[str]:
    """The names and the texts in a module's code. A text that stands alone is a docstring, and no code."""
    tree = ast.parse(source)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value
        for _, value in ast.iter_fields(node):
            if not isinstance(node, ast.Constant):
                yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def of_a_paper(source: str) -> list[str]:
    """The words of a module's code that name a paper."""
    return [word for word in words_of(source) if word not in NAMED_ALIKE and OF_A_PAPER.search(word)]


def test_no_room_of_the_core_names_a_paper_in_its_code() -> None:
    paths = [path for room in CORE for path in sorted((ROOT / "ldp_audit" / room).rglob("*.py"))]
    assert len(paths) > 100
    found = {str(path.relative_to(ROOT)): of_a_paper(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    "code",
    [
        "from ldp_audit.papers.ldp_fl import claims",
        "def fedsel_loss(): ...",
        "account(paper='wang')",
        "x.nfdp_noise = 1",
        "f(fedmd=1)",
        "message = f'LDP-FL has {x}'",
    ],
)
def test_the_check_of_names_can_fail(code: str) -> None:
    assert len(of_a_paper(code)) >= 1


def test_docstrings_and_comments_may_name_papers() -> None:
    assert of_a_paper('"""LDP-FL."""\n\nx = 1  # FedSel\n"""wang"""\nsource = "Balle, Wang (2018)"\nnfdp(1)\n') == []
