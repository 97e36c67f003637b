"""ldp-audit audit --implementation: exit codes, words, what does not go with it, and what else is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit.cli import main
from tests.together import together

HERE = "tests.test_cli_implementation"
Captured = pytest.CaptureFixture[str]
CLAIM = ["--inputs=-1,1", "--epsilon", "1.1"]


def honest(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """3 to 1, from 8 bits."""
    return np.where(rng.integers(0, 256, n) < 64, -x, x)


def unreachable(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """One word of 256 gives an output that the other input never gives."""
    drawn = rng.integers(0, 256, n)
    return np.where(drawn == 255, 2 * x, np.where(drawn < 64, -x, x))


def noisy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.normal(0, 100, n)


def fails(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    if (rng.integers(0, 256, n) == 17).any():
        raise ArithmeticError("boom")
    return np.full(n, x)


def threshold(x: float, u: np.ndarray) -> np.ndarray:
    return np.where(u < 0.25, -x, x)


def audit(*arguments: str) -> int:
    return main(["audit", *arguments])


def test_a_program_that_holds_is_0_and_one_with_an_exclusive_output_1(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a.json"
    assert audit(f"{HERE}:honest", *CLAIM, "--implementation", "--json", str(path)) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(
        "holds: claimed epsilon 1.1\n  method                 enumerated, all 256 words of 8 bits"
    )
    assert "each output draws integers(2**8)" in printed.out
    assert printed.err == ""
    assert json.loads(path.read_text())["verdict"] == "holds"
    assert audit(f"{HERE}:unreachable", *CLAIM, "--implementation", "--json", str(path)) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("violated: claimed epsilon 1.1\n")
    assert "(word 255)" in printed.out
    document = json.loads(path.read_text())
    assert (document["kind"], document["verdict"], document["epsilon"]) == ("implementation", "violated", "inf")


def test_what_cannot_be_enumerated_is_0_and_said_to_be_no_proof(capsys: Captured) -> None:
    assert audit(f"{HERE}:noisy", *CLAIM, "--implementation", "--samples", "2000") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("not refuted: claimed epsilon 1.1\n")
    assert "the program's words could not be enumerated: it calls normal() of its generator" in printed
    assert printed.endswith("no proof that the claim holds: what was run did not refute it\n")


def test_a_map_is_enumerated_directly(capsys: Captured) -> None:
    assert audit(f"{HERE}:threshold", *CLAIM, "--implementation") == 0
    assert "all 16777216 words of 24 bits" in capsys.readouterr().out
    assert audit(f"{HERE}:threshold", "--inputs=-1,1", "--epsilon", "1", "--implementation", "--bits", "8") == 1
    assert "all 256 words of 8 bits" in capsys.readouterr().out
    assert audit(f"{HERE}:threshold", *CLAIM, "--implementation", "--bits", "53", "--monotone") == 0
    assert "by structure" in capsys.readouterr().out


def test_a_shipped_mechanism_brings_its_worst_pair_and_its_claim(capsys: Captured) -> None:
    assert audit("TwoPoint(epsilon=1)", "--implementation") == 0
    printed = capsys.readouterr().out
    assert "no --epsilon: the claim is what TwoPoint(epsilon=1) is calibrated to, 1\n" in printed
    assert "implemented(16)" in printed
    assert audit("TwoPoint(epsilon=1)", "--implementation", "--epsilon", "0.9") == 1


@together("inputs", ["-1,1,", ",1", "yes,,no", ""])
def test_an_empty_input_is_no_label(inputs: str, capsys: Captured) -> None:
    """A comma too many made labels of numbers."""
    with pytest.raises(SystemExit) as caught:
        audit(f"{HERE}:honest", f"--inputs={inputs}", "--epsilon", "1")
    assert caught.value.code == 2
    assert "must have something before and after each comma" in capsys.readouterr().err


def first_run(path: Path, *more: str) -> Any:
    audit(f"{HERE}:honest", "--inputs=-1,1", "--epsilon", "1", "--samples", "1e5", "--json", str(path), *more)
    return json.loads(path.read_text())


def test_a_sequential_result_is_said_to_be_none_that_can_be_confirmed(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a.json"
    first_run(path, "--sequential")
    capsys.readouterr()
    assert audit("--confirm", str(path)) == 2
    error = capsys.readouterr().err
    assert "cannot be confirmed or merged: it is of a sequential audit" in error
    assert error.count("\n") == 1


def test_a_confirmation_is_confirmed_on_samples_of_its_own(tmp_path: Path) -> None:
    """Catches a confirmation of a confirmation that counts the same samples again."""
    paths = [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    first_run(paths[0])
    audit(f"{HERE}:honest", "--confirm", str(paths[0]), "--json", str(paths[1]))
    audit(f"{HERE}:honest", "--confirm", str(paths[1]), "--json", str(paths[2]))
    second, third = (json.loads(path.read_text()) for path in paths[1:])
    assert (second["seed"], third["seed"]) == (0, 0)
    assert second["witness"]["hits"] != third["witness"]["hits"]
