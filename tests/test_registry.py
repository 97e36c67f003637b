"""What other packages add, and what a broken one does not take away: a package as pip would have installed it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENTRIES = """
[ldp_audit.papers]
broken = absent_module:PAPER
no-paper = theirs.sound:NoisyCoin
ldp-fl = theirs.sound:NoisyCoin

[ldp_audit.mechanisms]
Broken = absent_module:Broken
NoisyCoin = theirs.sound:NoisyCoin
TwoPoint = theirs.sound:NoisyCoin

[ldp_audit.protocols]
broken = theirs.raises
theirs = theirs.protocols

[ldp_audit.commands]
broken = theirs.raises
check = theirs.hello
half = theirs.sound
hello = theirs.hello

[ldp_audit.experiments]
theirs = theirs.protocols
"""
FILES = {
    "theirs/__init__.py": "",
    "theirs/raises.py": "raise OSError('out of order')",
    "theirs/sound.py": (
        "from ldp_audit.mechanisms import RandomizedResponse\n"
        "def NoisyCoin(epsilon):\n    return RandomizedResponse(epsilon, k=2)\n"
    ),
    "theirs/hello.py": (
        '"""ldp-audit hello: says hello, 100%s of it %(nope)s."""\ndef add_arguments(parser): pass\n'
        "def run(options):\n    print('hello')\n    return 0\n"
    ),
    "theirs/protocols/__init__.py": "",
    "theirs/protocols/two-questions.toml": (
        'name = "two questions"\nrounds = 3\n[[step]]\nname = "answer"\n'
        'mechanism = "NoisyCoin(epsilon=0.5)"\ntimes = ["rounds", 2]\n'
    ),
    "theirs-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n",
    "theirs-1.0.dist-info/entry_points.txt": ENTRIES,
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path with the package in it."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def command(folder: Path, *words: str) -> tuple[int, str, str]:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    ran = subprocess.run(
        [sys.executable, "-m", "ldp_audit.cli", *words],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["exact", "NoisyCoin(1)"], "exact epsilon"),
        (["account", "two-questions", "--quiet"], "two questions"),
        (["account", "--list"], "two-questions"),
        (["hello"], "hello"),
        (["--help"], "says hello"),
        (["completion", "bash"], "hello"),
        (["check", "--help"], "--fail-on"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else None,
)
def test_what_a_package_adds_is_found_beside_what_is_broken_in_it(
    installed: Path, words: list[str], printed: str
) -> None:
    """Would catch that one package that fails when it is imported takes `account` and `--help` from everybody."""
    code, said, complained = command(installed, *words)
    assert code == 0, complained
    assert printed in said
    assert "Traceback" not in complained
    if words[0] in ("account", "hello", "--help"):
        assert "'broken' = 'theirs.raises'" in complained
        assert "of the package theirs cannot be loaded: OSError: out of order" in complained


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["check", "--paper", "broken"],
            "entry point 'broken' = 'absent_module:PAPER' in ldp_audit.papers",
        ),
        (["check", "--paper", "no-paper"], "entry point 'no-paper' in ldp_audit.papers must name a claims.Paper, got"),
        (["exact", "Broken(1)"], "entry point 'Broken' = 'absent_module:Broken' in ldp_audit.mechanisms"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else None,
)
def test_what_is_broken_is_named_when_it_is_asked_for(installed: Path, words: list[str], message: str) -> None:
    code, _, complained = command(installed, *words)
    assert code == 2
    assert message in complained
    assert "Traceback" not in complained


def test_a_name_of_ours_stays_ours(installed: Path) -> None:
    """Would catch a package whose TwoPoint is exact, or whose LDP-FL is settled, in the place of the shipped one."""
    code, said, _ = command(installed, "exact", "TwoPoint(epsilon=1, radius=2)")
    assert code == 0
    assert "radius" in said or "TwoPoint" in said


PAPERS = """
import warnings
from ldp_audit.claims.loading import load_papers
from ldp_audit.training.reproduction.record import experiments
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print(*(paper.key for paper in load_papers("all")), *(one.name for one in experiments()))
print(*(str(one.message) for one in said), sep="\\n")
"""


def test_all_papers_are_those_that_can_be_loaded(installed: Path) -> None:
    """Would catch a stranger's paper, or list of experiments, that stops everybody's."""
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-c", PAPERS],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    names, *said = done.stdout.splitlines()
    assert {"own", "ldp-fl-mnist"} <= set(names.split())
    assert len(said) == 3
    assert "entry point 'theirs' in ldp_audit.experiments cannot be read" in said[-1]
