"""ldp-audit linkage: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ldp_audit.cli import main
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import SETTINGS
from tests.test_cli_terminal import wrapped_at_words
from tests.together import together

Captured = pytest.CaptureFixture[str]
PAGE = (Path(__file__).parents[4] / "docs" / "linkage.md").read_text(encoding="utf-8")
MNIST = ["linkage", "--clients", "100", "--dimension", "21840", "--rounds", "10", "--epsilon", "1"]


def test_it_prints_what_is_promised_and_what_is_learned(capsys: Captured) -> None:
    assert main([*MNIST, "--simulate", "200"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("promised: no report can be linked, so a client spends epsilon 1 in all")
    for part in (
        "218400 counts",
        "others at one end",
        "others at center",
        "> 0.9999",
        "simulated, 200 runs",
        "244",
        "311",
    ):
        assert part in out
    assert "linking reports" not in out


def test_with_a_window_it_lists_the_attacks_that_link(capsys: Captured) -> None:
    assert main([*MNIST, "--window", "10", "--offset", "0.5"]) == 0
    out = capsys.readouterr().out
    assert "learned by linking reports" in out
    assert "by time" in out
    assert "by value" in out


def test_the_file_has_the_same(tmp_path: Path, capsys: Captured) -> None:
    where = tmp_path / "linkage.json"
    command = [*MNIST, "--window", "10", "--offset", "1", "--simulate", "100", "--seed", "3", "--json", str(where)]
    assert main(command) == 0
    first = json.loads(where.read_text(encoding="utf-8"))
    assert (first["kind"], first["clients"], first["dimension"], first["rounds"]) == ("linkage", 100, 21840, 10)
    assert [view["weights_needed"] for view in first["membership"]] == [244, 311]
    assert first["membership"][0]["simulated"]["trials"] == 100
    assert first["linking"]
    assert main(command) == 0
    again = json.loads(where.read_text(encoding="utf-8"))
    assert {**again, "seconds": 0} == {**first, "seconds": 0}
    assert capsys.readouterr().err == ""


def test_scientific_notation_is_a_whole_number(capsys: Captured) -> None:
    assert main(["linkage", "--clients", "1e2", "--dimension", "1e5", "--epsilon", "1"]) == 0
    assert "100000 counts: 100000 weights, 1 rounds, 100 clients" in capsys.readouterr().out


def test_infinite_numbers_are_text_in_the_file(tmp_path: Path) -> None:
    where = tmp_path / "linkage.json"
    assert main(["linkage", "--clients", "5", "--dimension", "3", "--epsilon", "inf", "--json", str(where)]) == 0
    document = json.loads(where.read_text(encoding="utf-8"))
    assert (document["epsilon"], document["pure_epsilon"]) == ("inf", "inf")


@together("changed", [["--clients", "1.5"], ["--dimension", "many"], ["--simulate", "x"]])
def test_what_is_no_number_is_refused_before_anything_runs(changed: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*MNIST, *changed])
    assert stopped.value.code == 2
    assert "must be a whole number" in capsys.readouterr().err


def test_long_lines_are_wrapped_at_words(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    wrapped_at_words("linkage --clients 100 --dimension 100 --epsilon 1 --window 10 --offset 0.5", monkeypatch, capsys)


@together(
    ("arguments", "message"),
    [
        (["--clients", "0"], "--clients must be a whole number >= 1, got 0"),
        (["--dimension", "0"], "--dimension must be a whole number >= 1, got 0"),
        (["--epsilon", "nan"], "--epsilon must be a number >= 0, got nan"),
        (["--delta", "1"], "--delta must be in [0, 1), got 1.0"),
        (["--simulate", "-1"], "--simulate must be a whole number >= 0, got -1"),
        (["--window", "3"], "window and offset must be given together"),
        (["--window", "-3", "--offset", "1"], "window"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str, capsys: Captured) -> None:
    assert main([*MNIST, *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ldp-audit linkage: ")
    assert message in said
    assert said.count("\n") == 1


ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if re.match(r"\| \S+ \| \d", line)
]


def test_the_page_has_every_setting_and_every_assumed_network() -> None:
    assert [(row[0], int(row[4])) for row in ROWS] == [
        (one.data, net.weights) for one in SETTINGS for net in one.networks
    ]


@together("row", ROWS)
def test_the_numbers_of_the_page_are_those_of_the_command(row: list[str], tmp_path: Path) -> None:
    _, n, epsilon, rounds, d, needed, central, clients = row
    where = tmp_path / "linkage.json"
    size = ["--clients", n, "--dimension", d, "--rounds", rounds, "--epsilon", epsilon]
    assert main(["linkage", *size, "--json", str(where)]) == 0
    views = json.loads(where.read_text(encoding="utf-8"))["membership"]
    assert needed == " / ".join(str(view["weights_needed"]) for view in views)
    assert central == " / ".join(f"{view['central_epsilon']:.4g}" for view in views)
    assert clients == " / ".join(f"{view['clients_needed']:.4g}" for view in views)


def test_the_example_of_the_page_runs(capsys: Captured) -> None:
    block = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    exec(block, {})
    score, simulated = capsys.readouterr().out.splitlines()
    assert float(score) > 0
    assert simulated.startswith("SimulatedTest(counts=10000, trials=500")
