"""`check --resume FILE`: what was settled before a kill is not settled again, and nothing else is taken."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sympy import Rational

from ldp_audit.claims import at_most, settled_file
from ldp_audit.claims.claim import Claim
from ldp_audit.claims.settled_file import SettledFile
from ldp_audit.claims.settling import SettledClaim, settle_claim
from ldp_audit.claims.verdict import Verdict
from ldp_audit.cli import main
from ldp_audit.mechanisms import Variable
from ldp_audit.mechanisms.named_object import named_module

Captured = pytest.CaptureFixture[str]
X = Variable("x", 0, 1)

CLAIMS = """
import os, time
from sympy import Rational, exp
from ldp_audit.claims import Claim, Condition, Correction, at_most, equal
from ldp_audit.mechanisms import Variable
x, n = Variable("x", 0, 1), Variable("n", 1, 5, integer=True)
narrow = Condition("x is small", (Variable("x", 0, Rational(1, 3)),))
def late():
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return [at_most(1 / (1 + x), 1)]
claims = [
    Claim("K-1", "here", "narrow", parts=[at_most(2 * x, 1)], condition=narrow,
          corrected=Correction("two", parts=[at_most(2 * x, 2)])),
    Claim("K-2", "here", "an exponential", parts=[at_most(1 + x, exp(x)), equal((x + 1) ** 2 - 1, x * (x + 2))]),
    Claim("K-3", "here", "late", parts=late),
    Claim("K-4", "here", "words", argument="obvious"),
]
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "few_claims.py"
    path.write_text(CLAIMS, encoding="utf-8")
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the claims that were settled."""
    ids: list[str] = []

    def heard(claim: Claim, seconds: float) -> SettledClaim:
        ids.append(claim.id)
        return settle_claim(claim, seconds)

    monkeypatch.setattr(settled_file, "settle_claim", heard)
    return ids


def words(module: Path, *more: str) -> list[str]:
    kept, report = module.parent / "kept", module.parent / "report.json"
    return ["check", "--claims", str(module), "--resume", str(kept), "--json", str(report), "--quiet", *more]


def without_seconds(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: without_seconds(part) for name, part in found.items() if name != "seconds"}
    return [without_seconds(part) for part in found] if isinstance(found, list) else found


def report(module: Path) -> str:
    """All but the seconds, in the order of the file."""
    return json.dumps(without_seconds(json.loads((module.parent / "report.json").read_text())))


def test_a_killed_check_settles_only_what_it_had_not_and_reports_the_same(
    module: Path, asked: list[str], capsys: Captured
) -> None:
    """Would catch a claim that is settled twice, and evidence that changes on its way through the file."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ldp_audit.cli", *words(module)],
        env={**os.environ, "PAUSE": "60", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    kept, patience = module.parent / "kept", time.monotonic() + 120
    try:
        while not (kept.exists() and kept.read_text().count("\n") == 3):
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < patience, "nothing was settled"
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (module.parent / "report.json").exists()
    assert main(words(module)) == 0
    assert asked == ["K-3", "K-4"]
    resumed = report(module)
    assert f"not settled again: 2 claims, from {kept}" in capsys.readouterr().out
    kept.unlink()
    assert main(words(module)) == 0
    assert asked == ["K-3", "K-4", "K-1", "K-2", "K-3", "K-4"]
    assert report(module) == resumed
    assert [one["verdict"] for one in json.loads(resumed)["claims"]] == ["CONDITIONAL", "PROVED", "PROVED", "PROSE"]


def test_only_equal_statements_settings_and_versions_are_taken(module: Path, asked: list[str]) -> None:
    assert main(words(module)) == 0
    asked.clear()
    assert main(words(module, "--seconds", "60", "--only", "K-2")) == 0
    assert asked == []
    assert main(words(module, "--seconds", "59", "--only", "K-2")) == 0
    assert asked == ["K-2"]
    for part in ("tool", "_source"):
        asked.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(settled_file, part, lambda: "another")
            assert main(["check", "--claims", str(module), "--resume", str(module.parent / "kept"), "--quiet"]) == 0
        assert asked == ["K-1", "K-2", "K-3", "K-4"]
    asked.clear()
    module.write_text(CLAIMS.replace("at_most(2 * x, 2)", "at_most(3 * x, 3)"), encoding="utf-8")
    assert main(words(module)) == 0
    assert asked == ["K-1"]


@pytest.mark.parametrize("line", range(5))
def test_a_flipped_bit_is_named_and_its_claim_settled_again(
    module: Path, asked: list[str], capsys: Captured, line: int
) -> None:
    assert main(words(module)) == 0
    whole, kept = report(module), module.parent / "kept"
    lines = kept.read_bytes().split(b"\n")
    assert len(lines) == 6
    for place in {0, len(lines[line]) // 3, len(lines[line]) // 2, len(lines[line]) - 1}:
        flipped = bytearray(lines[line])
        flipped[place] ^= 1
        kept.write_bytes(b"\n".join([*lines[:line], bytes(flipped), *lines[line + 1 :]]))
        asked.clear()
        capsys.readouterr()
        assert main(words(module)) == 0
        assert capsys.readouterr().err == f"{kept} is damaged in 1 place; what it held there is settled again\n"
        assert asked == ([f"K-{line}"] if line else [])
        assert report(module) == whole
        assert kept.read_bytes().split(b"\n")[0] == lines[0]


def test_a_file_of_another_kind_is_refused_and_left_as_it_is(module: Path, capsys: Captured) -> None:
    kept = module.parent / "kept"
    kept.write_text("my notes\n")
    assert main(words(module)) == 2
    assert f"{kept} holds no settled claims; name another file, or delete it" in capsys.readouterr().err
    assert kept.read_text() == "my notes\n"


def test_a_claim_without_time_left_and_a_proof_that_the_checker_refuses_are_settled_again(tmp_path: Path) -> None:
    """A busy machine would else leave a claim undecided for good, and an edited line would prove what is false."""
    path, false = tmp_path / "settled", Claim("K", "here", "false", parts=[at_most(X, Rational(1, 2))])
    assert SettledFile(path).settle(false, 1e-9).verdict is Verdict.UNDECIDED
    assert SettledFile(path).settle(false, math.inf).verdict is Verdict.REFUTED
    again = SettledFile(path)
    assert (again.settle(false, math.inf).verdict, again.taken) == (Verdict.REFUTED, 1)
    head, line = path.read_text(encoding="utf-8").splitlines()
    content = json.loads(line)
    del content["digest"]
    content["groups"]["parts"][0] |= {"verdict": "PROVED", "evidence": {"kind": "certificate", "gap": "1"}}
    path.write_text(f"{head}\n{settled_file._sealed(content)}\n", encoding="utf-8")  # noqa: SLF001
    forged = SettledFile(path)
    assert (forged.settle(false, math.inf).verdict, forged.taken, forged.damaged) == (Verdict.REFUTED, 0, 0)


def test_a_file_is_read_as_it_stands_though_its_size_and_time_are_those_of_what_was_read_before(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's bytecode cache knows a file by its second and its size: an edited claim was settled as before."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = str(named_module(str(module)).claims[0].corrected.parts)
    then = module.stat()
    module.write_text(CLAIMS.replace("at_most(2 * x, 2)", "at_most(3 * x, 3)"), encoding="utf-8")
    os.utime(module, ns=(then.st_atime_ns, then.st_mtime_ns))
    after = str(named_module(str(module)).claims[0].corrected.parts)
    assert after != before
    assert "3*x" in after
