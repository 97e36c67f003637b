"""ldp-audit budget: what it prints, writes and refuses, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldp_audit.cli import main
from tests.together import together

Captured = pytest.CaptureFixture[str]


def test_a_budget_is_made_paid_from_and_shown(tmp_path: Path, capsys: Captured) -> None:
    file, out = str(tmp_path / "survey.budget"), tmp_path / "out.json"
    assert main(["budget", "create", file, "--epsilon", "4", "--delta", "1e-6"]) == 0
    assert "never more than epsilon = 4 at delta = 1e-06, whatever is chosen when" in capsys.readouterr().out
    assert main(["budget", "left", file, "Gaussian(sigma=10)"]) == 0
    assert capsys.readouterr().out == "62 more of these\n"
    assert main(["budget", "spend", file, "Gaussian(sigma=10)", "--times", "62"]) == 0
    assert capsys.readouterr().out == "0 more of these\n"
    assert main(["budget", "left", file, "Gaussian(sigma=10)"]) == 1
    assert main(["budget", "left", file, "Pure(0)"]) == 0
    assert "any number more of these" in capsys.readouterr().out
    assert main(["budget", "spend", file, "Pure(0.5)", "--json", str(out)]) == 1
    assert "refused: 1 x Pure(0.5) would overdraw epsilon = 4 at delta = 1e-06: 0 more" in capsys.readouterr().out
    assert json.loads(out.read_text()) == {"target": "Pure(0.5)", "refused": True, "left": 0}
    assert main(["budget", "show", file, "--json", str(out)]) == 0
    assert "  62 x Gaussian(sigma=10)\n  chosen in advance, the same would be epsilon 3." in capsys.readouterr().out
    assert json.loads(out.read_text())["bought"] == [{"what": "Gaussian(sigma=10)", "times": 62}]


@together(
    ("words", "says"),
    [
        (["create", "F", "--epsilon", "0"], "--epsilon must be a finite number > 0"),
        (["create", "F"], "one of epsilon"),
        (["create", "F", "--rho", "1", "--currency", "mu"], "--currency must be"),
        (["create", "F", "Pure(1)", "--epsilon", "1"], "target must be given to spend and left alone"),
        (["create", "B", "--epsilon", "1"], "cannot write"),
        (["spend", "B"], "target must be given"),
        (["spend", "B", "Pure(1)", "--times", "0"], "--times must be a whole number >= 1"),
        (["spend", "B", "Pure(-1)"], "epsilon must be a number >= 0, got -1"),
        (["spend", "B", "Impure(1)"], "names no shipped mechanism; did you mean Pure?"),
        (["left", "B", "Pure(1)", "--times", "2"], "--times must be given to spend alone"),
        (["show", "B", "--delta", "0.1"], "--delta must be given to create alone, got 0.1 for show"),
        (["show", "F"], "No such file"),
        (["show", "T"], "is not JSON"),
    ],
)
def test_bad_input_is_one_line_that_names_it(words: list[str], says: str, tmp_path: Path, capsys: Captured) -> None:
    budget, text = tmp_path / "B", tmp_path / "T"
    if not budget.exists():
        assert main(["budget", "create", str(budget), "--epsilon", "1"]) == 0
        text.write_text("a text\n")
    capsys.readouterr()
    assert main(["budget", words[0], str(tmp_path / words[1]), *words[2:]]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1
