"""What the doctor says, and that it can say that something is wrong; completion scripts that shells accept."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ldp_audit.cli import completion, doctor, main
from tests.together import together


def test_the_doctor_finds_nothing_wrong_here_and_names_what_is_installed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["doctor", "--json", str(tmp_path / "d.json")]) == 0
    printed, written = capsys.readouterr().out, json.loads((tmp_path / "d.json").read_text())
    assert f"numpy              {importlib.metadata.version('numpy')}" in printed
    assert "cpu" in written["devices"]
    assert written["sound"]
    assert written["pytest_plugin"]


def test_a_missing_package_is_a_problem_and_a_missing_extra_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.metadata.version

    def without(absent: str) -> None:
        def version(name: str) -> str:
            if name == absent:
                raise importlib.metadata.PackageNotFoundError(name)
            return real(name)

        monkeypatch.setattr(importlib.metadata, "version", version)

    without("sympy")
    assert main(["doctor"]) == 1
    assert "sympy is missing" in capsys.readouterr().out
    without("distributed")
    assert main(["doctor"]) == 0
    assert "pip install '.[dask]'" in capsys.readouterr().out


def test_a_sort_that_does_not_sort_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "sort", lambda values: values)
    assert any("float16" in problem for problem in doctor.diagnosis()["problems"])


@together("shell", completion.SHELLS)
def test_every_shell_has_a_script_that_knows_the_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in ("check", "audit", "account", "train", "doctor"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    asked = "COMP_WORDS=(ldp-audit acc); COMP_CWORD=1; _shtab_ldp_audit ldp-audit acc ldp-audit; echo ${COMPREPLY[@]}"
    command = ["bash", "-c", capsys.readouterr().out + "\n" + asked]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["account"]
