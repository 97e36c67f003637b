"""ldp-audit account: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ldp_audit.accounting.protocols.protocol_file import shipped
from ldp_audit.cli import main
from tests.together import together

Captured = pytest.CaptureFixture[str]
PAGE = (Path(__file__).parents[1] / "docs" / "accounting.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("example_installed")
def test_it_prints_costs_conventions_and_the_papers_words_with_their_verdicts(capsys: Captured) -> None:
    assert main(["account", "example-two-stages"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("A selection and its value (Nobody in Particular")
    for part in (
        "which dimension     1  0.201781",
        "everything          2   2.00179",
        "basic           2.00179      0  the sum of the epsilons",
        "a report spends epsilon: epsilon 2",
        "EX-3 REFUTED",
        "what it means",
        "ties are broken",
    ):
        assert part.lower() in out.lower(), part


@pytest.mark.usefixtures("example_installed")
def test_delta_is_read_and_the_result_is_written(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "account.json"
    assert main(["account", "example-sample", "--delta", "0.19", "--json", str(file)]) == 0
    assert "delta = 0.19" in capsys.readouterr().out
    document = json.loads(file.read_text())
    assert document["delta"] == 0.19
    assert {one["key"]: one["epsilon"] for one in document["totals"]}["exact"] == 0
    assert document["paper"][0]["claims"] == {"EX-6": "VACUOUS"}


@pytest.mark.usefixtures("example_installed")
def test_the_list_names_every_shipped_protocol(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "list.json"
    assert main(["account", "--list", "--json", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(shipped())
    assert "example-sample" in json.loads(file.read_text())["protocols"]


def test_a_file_that_is_wrong_is_one_line_that_names_it(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('name = "a"\nround = 3\n[[step]]\nmechanism = "TwoPoint(epsilon=1)"\ntimes = ["rounds"]\n')
    assert main(["account", str(file)]) == 2
    assert "wrong.toml: unknown key 'round' = 3; accepted: name, step," in capsys.readouterr().err
    assert main(["account", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_toml_example_of_the_page_runs(tmp_path: Path, capsys: Captured) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "survey.toml"
    file.write_text(block)
    assert main(["account", str(file)]) == 0
    out = [line.split() for line in capsys.readouterr().out.splitlines()]
    for line in re.search(r"prints, among other lines:\n\n```\n(.*?)```", PAGE, re.DOTALL)[1].splitlines():
        assert line.split() in out, line


def test_the_python_example_of_the_page_runs_in_fifteen_lines_and_prints_what_it_says(capsys: Captured) -> None:
    block, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(block.splitlines()) <= 15
    exec(compile(block, "accounting.md", "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert said == re.findall(r"# prints (.*)", block)


def test_events_are_accounted_for_and_printed_numbers_are_judged(tmp_path: Path, capsys: Captured) -> None:
    file, out = tmp_path / "events.json", tmp_path / "out.json"
    event = {"event": "SelfComposed", "count": 100, "of": {"event": "Gaussian", "noise_multiplier": 10}}
    file.write_text(json.dumps({"neighbours": "replace", "claimed": {"epsilon": 4.73, "delta": 1e-5}, "of": event}))
    assert main(["account", "--from", str(file), "--json", str(out)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "epsilon at delta 1e-05 in [9.99725615, 9.99725615]; neighbours: replace"
    assert said[1].startswith(
        "refuted: epsilon 4.73 at delta 1e-05 for [9.99725615, 9.99725615], below the lower bound"
    )
    assert [claim["verdict"] for claim in json.loads(out.read_text())["claims"]] == ["refuted"]
    file.write_text(json.dumps(event))
    assert main(["account", "--from", str(file), "--claimed", "4.73"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "epsilon at delta 1e-05 in [4.3771781, 4.3771781]; neighbours: add/remove"
    assert said[1].startswith("loose: epsilon 4.73")


@together(
    ("text", "options", "says"),
    [
        ("{", [], "is not JSON"),
        ('{"event": "Gauss"}', [], "no rule for Gauss"),
        ("[[1, 2, 3]]", [], "events[0][0]: no rule for int"),
        ("[]", ["--claimed", "-1"], "epsilon must be a number >= 0, got -1"),
        ("[]", ["--delta", "2"], "delta must lie in [0, 1], got 2"),
        ("[]", ["--list"], "no business of --from"),
    ],
)
def test_events_that_cannot_be_read_are_one_line(
    text: str, options: list[str], says: str, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "events.json"
    file.write_text(text)
    assert main(["account", "--from", str(file), *options]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1
