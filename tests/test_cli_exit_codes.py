"""The table of exit codes in the help is true: each command is run to each of its codes, and gates count audits."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from ldp_audit.cli import main
from ldp_audit.cli.command_line import COMMANDS, EXIT_CODES
from tests.reports.page_tree import parse
from tests.test_cli_report import CLAIMS
from tests.together import together

Captured = pytest.CaptureFixture[str]

AUDIT = "audit TwoPoint(epsilon=2) --quiet --samples"
TRAIN = "train tests.training.toy:Toy --workers 1 --quiet --set rounds=1"
CHOOSE = "choose --users 1000 --answers 4 --quiet"
GATE = "report --out OUT --quiet --audits"
RUNS = {
    ("check", 0): "check --claims CLAIMS --quiet",
    ("check", 1): "check --claims CLAIMS --quiet --fail-on refuted",
    ("check", 2): "check --claims NONE.py",
    ("recheck", 0): "recheck SETTLED",
    ("recheck", 1): "recheck CHANGED",
    ("recheck", 2): "recheck NONE.json",
    ("exact", 0): "exact TwoPoint(epsilon=1) --quiet",
    ("exact", 2): "exact TwoPoint(epsilon=0)",
    ("choose", 0): f"{CHOOSE} --epsilon 1",
    ("choose", 1): "choose --users 10 --answers 20 --epsilon 0.1 --quiet",
    ("choose", 2): f"{CHOOSE} --epsilon=-1",
    ("audit", 0): f"{AUDIT} 20000 --epsilon 2",
    ("audit", 1): f"{AUDIT} 20000 --epsilon 1",
    ("audit", 2): f"{AUDIT} 20000 --epsilon=-1",
    ("audit", 3): f"{AUDIT} 20000 --epsilon 60",
    ("account", 0): "account --list",
    ("account", 1): "account --from PRINTED --quiet",
    ("account", 2): "account nothing",
    ("budget", 0): "budget left SPARED Pure(0.1)",
    ("budget", 1): "budget left SPARED Pure(2)",
    ("budget", 2): "budget left NONE Pure(1)",
    ("data", 2): "data nothing --folder OUT",
    ("train", 0): TRAIN,
    ("train", 1): f"{TRAIN} --audit --set leaks=true",
    ("train", 2): f"{TRAIN} --set nothing=1",
    ("report", 0): f"{GATE} VIOLATED",
    ("report", 1): f"{GATE} VIOLATED --fail-on refuted",
    ("report", 2): f"{GATE} NONE.json",
    ("doctor", 0): "doctor",
    ("doctor", 2): "doctor --nothing",
    ("completion", 0): "completion bash",
    ("completion", 2): "completion nothing",
}
"""A run for each command and code. `data` to 0 takes the network (tests/training/data), and `doctor` to 1 a broken
installation, which has a test of its own below."""

ELSEWHERE = {("data", 0), ("doctor", 1)}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files that the runs name."""
    folder = tmp_path_factory.mktemp("gates")
    (folder / "claims_of_a_gate.py").write_text(CLAIMS)
    found = {
        name: str(folder / name.lower())
        for name in ("OUT", "NONE", "VIOLATED", "BLIND", "SOUND", "CHANGED", "SPARED", "PRINTED")
    }
    found |= {"CLAIMS": str(folder / "claims_of_a_gate.py"), "SETTLED": str(folder / "settled" / "report.json")}
    assert main(["budget", "create", found["SPARED"], "--epsilon", "1"]) == 0
    event = {"event": "Gaussian", "noise_multiplier": 1.0}
    Path(found["PRINTED"]).write_text(json.dumps({"of": event, "claimed": {"epsilon": 0.1, "delta": 1e-5}}))
    for name, samples, epsilon, code in (("VIOLATED", 20000, 1, 1), ("BLIND", 20000, 60, 3), ("SOUND", 20000, 2, 0)):
        assert main([*f"{AUDIT} {samples} --epsilon {epsilon} --json".split(), found[name]]) == code
    assert main(["check", "--claims", found["CLAIMS"], "--quiet", "--out", str(folder / "settled")]) == 0
    changed = json.loads(Path(found["SETTLED"]).read_text())
    changed["claims"][1]["verdict"] = "PROVED"
    Path(found["CHANGED"]).write_text(json.dumps(changed))
    return found


def ran(command: str, places: dict[str, str]) -> int:
    words = [re.sub(r"^[A-Z]{3,}", lambda one: places.get(one[0], one[0]), word) for word in command.split()]
    try:
        return main(words)
    except SystemExit as stopped:  # argparse's
        return int(stopped.code or 0)


@together(("command", "code"), RUNS)
def test_every_command_ends_with_each_of_its_codes(command: str, code: int, places: dict[str, str]) -> None:
    assert ran(RUNS[command, code], places) == code


def test_the_runs_above_are_all_commands_and_all_codes() -> None:
    """A new command, or a new code of one, has a run above."""
    said = {(name, code) for name in COMMANDS for code in (0, 2, *EXIT_CODES.get(name, ()))}
    assert {*RUNS} | ELSEWHERE == said


def test_a_doctor_that_misses_a_package_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "sympy":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert main(["doctor"]) == 1


@together("name", COMMANDS)
def test_help_says_the_codes(name: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "exit codes: 0 done" in said
    assert all(f"{code} {words}" in said for code, words in EXIT_CODES.get(name, {}).items())


def test_a_closed_pipe_is_no_pass() -> None:
    """Would catch a gate that passes since nobody read its verdict, as in `audit ... | true`."""
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "ldp_audit.cli", *f"{AUDIT} 20000 --epsilon 1".split()]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, check=False)
    os.close(writes)
    assert done.returncode == 141


GATES = [
    ("VIOLATED", None, 0, 0, 0),
    ("VIOLATED", "refuted", 1, 1, 0),
    ("VIOLATED", "undecided", 1, 1, 0),
    ("BLIND", "refuted", 0, 0, 1),
    ("BLIND", "undecided", 1, 1, 0),
    ("SOUND", "undecided", 0, 0, 0),
]


@together(("audit", "fail_on", "code", "failures", "skipped"), GATES)
def test_a_gate_counts_audits(
    audit: str, fail_on: str | None, code: int, failures: int, skipped: int, places: dict[str, str], capsys: Captured
) -> None:
    """Would catch `report --audits broken.json --fail-on refuted` with exit code 0, as it once was."""
    asked = f"{GATE} {audit} SOUND" + (f" --fail-on {fail_on}" if fail_on else "")
    assert ran(asked, places) == code
    folder = Path(places["OUT"])
    (suite,) = fromstring((folder / "junit.xml").read_text()).findall("testsuite")
    assert {name: suite.attrib[name] for name in ("name", "tests", "failures", "skipped")} == {
        "name": "audits",
        "tests": "2",
        "failures": str(failures),
        "skipped": str(skipped),
    }
    opening, out = parse((folder / "index.html").read_text()).text, capsys.readouterr().out
    violated = int(audit == "VIOLATED")
    assert f"{violated} of 2 audits found a violation" in opening
    assert (", 1 could have found none" in opening) == (audit == "BLIND")
    assert ("1 violated" in out) == bool(violated)


def test_canaries_of_a_training_and_all_words_of_a_program_count_too(places: dict[str, str], tmp_path: Path) -> None:
    folder, words = tmp_path / "toy", tmp_path / "words.json"
    assert ran(f"{TRAIN} --audit --set leaks=true --out {folder}", places) == 1
    asked = "audit ldp_audit.auditing.textbook:laplace32 --inputs=0,1 --epsilon 1 --implementation --bits 8 --quiet"
    found = ran(f"{asked} --json {words}", places)
    assert ran(f"report --training {folder} --out OUT --quiet --fail-on refuted", places) == 1
    (suite,) = fromstring((Path(places["OUT"]) / "junit.xml").read_text()).findall("testsuite")
    assert (suite.attrib["name"], suite.attrib["failures"]) == ("training-1", "1")
    assert ran(f"{GATE} {words} --fail-on refuted", places) == found


def test_a_verdict_that_no_gate_knows_is_refused(places: dict[str, str], tmp_path: Path, capsys: Captured) -> None:
    document: dict[str, Any] = json.loads(Path(places["VIOLATED"]).read_text())
    strange = tmp_path / "strange.json"
    strange.write_text(json.dumps({**document, "verdict": "Violated"}))
    assert ran(f"{GATE} {strange} --fail-on refuted", places) == 2
    assert "verdict 'Violated'" in capsys.readouterr().err
