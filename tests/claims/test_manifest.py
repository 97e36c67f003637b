"""What a report says it holds, and whether it does: everything that a checker of single proofs does not see."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ldp_audit.claims import Claim, Paper, at_most, equal, is_private, settle_claim
from ldp_audit.claims.manifest import against, manifest
from ldp_audit.claims.recheck_report import recheck_claims
from ldp_audit.cli import main
from ldp_audit.mechanisms import SymbolicChannel, T, Variable
from ldp_audit.reports import document
from tests.together import together

x = Variable("x", 0, 1)
p = (1 + x * (T - 1)) / (T + 1)
COIN = SymbolicChannel("coin", x, {1: p, 0: 1 - p})
CLAIMS = (
    Claim("A", "1", "private", name="privacy of the coin", parts=is_private(COIN, T)),
    Claim("B", "2", "more private", parts=is_private(COIN, (T + 1) / 2)),
    Claim("C", "3", "at one size", parts=(equal((COIN.mean() * (T + 1) - 1) / (T - 1), x),), sizes="n = 1"),
)
PAPER = Paper("p", "a paper", claims=CLAIMS)
REPORT = document.build([(PAPER, [settle_claim(claim) for claim in CLAIMS])])
SOURCE = {
    "claims": [document.stated_record(PAPER, claim) for claim in CLAIMS],
    "papers": [document.paper_record(PAPER)],
    "figures": [],
}


def complaints(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found.id, found.complaint) for found in recheck_claims(report) if found.complaint]


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    report = copy.deepcopy(REPORT)
    change(report)
    return report


def zero_at_most_one(report: dict[str, Any]) -> None:
    part = report["claims"][0]["evidence"]["parts"][0]
    part |= {"left": "0", "right": "1", "variables": [], "evidence": {"kind": "value", "left": "0", "right": "1"}}


def a_part_less(report: dict[str, Any]) -> None:
    report["claims"][0]["evidence"]["parts"].pop()


def claims_less(report: dict[str, Any]) -> None:
    del report["claims"][1:]


def one_twice(report: dict[str, Any]) -> None:
    report["claims"].append(copy.deepcopy(report["claims"][0]))


def no_sizes(report: dict[str, Any]) -> None:
    report["claims"][2]["evidence"]["sizes"] = ""
    report["claims"][2]["verdict"] = "PROVED"


def other_words(report: dict[str, Any]) -> None:
    report["claims"][0]["statement"] = "something else"


CHANGES = [zero_at_most_one, a_part_less, claims_less, one_twice, no_sizes, other_words]


def test_a_report_as_it_was_written_has_no_complaint() -> None:
    assert complaints(REPORT) == []
    assert list(against(REPORT, SOURCE)) == []
    assert [one["parts"] for one in REPORT["manifest"]] == [2, 2, 1]


def test_a_claim_s_name_is_part_of_what_is_stated() -> None:
    assert [one["name"] for one in REPORT["claims"]] == ["privacy of the coin", "", ""]
    report = changed(lambda report: report["claims"][0].update(name="another"))
    assert complaints(report)
    assert [name for name, _ in against(report, SOURCE)] == ["A"]


@together("change", CHANGES)
def test_what_leaves_every_proof_whole_is_seen_by_the_manifest(change: Callable[[dict[str, Any]], object]) -> None:
    assert complaints(changed(change))


@together("change", CHANGES)
def test_with_a_manifest_made_anew_it_is_seen_by_the_source(change: Callable[[dict[str, Any]], object]) -> None:
    report = changed(change)
    report["manifest"] = manifest(report["claims"])
    assert complaints(report) or list(against(report, SOURCE))


def test_the_source_says_where_the_statements_differ() -> None:
    report = changed(zero_at_most_one)
    (found,) = list(against(report, SOURCE))
    assert found[0] == "A"
    assert "formal parts, number 1" in found[1]
    missing = sorted(against(changed(claims_less), SOURCE))
    assert missing == [(name, "the source has it, the report has not") for name in "BC"]


def test_a_report_without_a_manifest_or_with_a_broken_one_is_refused() -> None:
    assert complaints(changed(lambda report: report.pop("manifest")))
    for broken in ({}, [1], [{"id": "A"}], "no"):
        assert complaints({**REPORT, "manifest": broken})


def test_a_solver_s_word_is_not_taken_where_the_statement_fails_at_its_own_point() -> None:
    y = Variable("y", 0, 1)
    claim = Claim("S", "4", "by a solver", parts=(at_most(y, 1),))
    report = document.build([(Paper("q", "t", claims=(claim,)), [settle_claim(claim)])])
    part = report["claims"][0]["evidence"]["parts"][0]
    part |= {"engine": "smt", "evidence": {"kind": "smt", "solver": "z3", "smtlib": "", "inside": {"y": "1"}}}
    report["claims"][0]["engine"] = "smt"
    assert complaints(report) == []
    assert [found.unverified for found in recheck_claims(report)] == [1]
    part["right"] = "-1"
    report["manifest"] = manifest(report["claims"])
    assert "fails at the point of its own domain" in complaints(report)[0][1]


def test_claims_that_are_not_reached_in_time_are_refused() -> None:
    assert [found.complaint for found in recheck_claims(REPORT, seconds=0.0)] == ["it was not reached in 0 s"] * 3


def write(folder: Path, report: dict[str, Any]) -> str:
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return str(path)


def test_the_command_compares_with_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = (
        '"""Mine."""\nfrom ldp_audit.claims import Claim, Paper, at_most\nfrom ldp_audit.mechanisms import Variable\n'
        'x = Variable("x", 0, 1)\nPAPER = Paper("mine", "t", claims=(Claim("M", "p", "s", parts=(at_most(x, {}),)),))\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_claims_one.py").write_text(module.format("1"))
    (tmp_path / "my_claims_two.py").write_text(module.format("2"))
    assert main(["check", "--claims", "my_claims_one", "--out", "out", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["recheck", "out/report.json", "--against", "my_claims_one", "--strict"]) == 0
    printed = capsys.readouterr().out
    assert "every statement is the one that my_claims_one makes, word by word, and what is shown beside it" in printed
    mark = printed.rpartition("mine ")[2].strip()
    assert mark in Path("out/report.html").read_text()
    assert mark in Path("out/report.md").read_text()
    assert main(["recheck", "out/report.json", "--against", "my_claims_two"]) == 1
    assert "DIFFERS M: formal parts, number 1, right: the report has" in capsys.readouterr().out


def test_strict_refuses_a_solver_s_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    y = Variable("y", 0, 1)
    claim = Claim("S", "4", "by a solver", parts=(at_most(y, 1),))
    report = document.build([(Paper("q", "t", claims=(claim,)), [settle_claim(claim)])])
    part = report["claims"][0]["evidence"]["parts"][0]
    part |= {"engine": "smt", "evidence": {"kind": "smt", "solver": "z3", "smtlib": "", "inside": {"y": "1"}}}
    report["claims"][0]["engine"] = "smt"
    path = write(tmp_path, report)
    assert main(["recheck", path]) == 0
    assert "verified 0 of 1 claims" in capsys.readouterr().out
    assert main(["recheck", path, "--strict"]) == 1
    assert "1 rest on a solver's word, not verified" in capsys.readouterr().out


def test_a_claim_that_is_not_well_formed_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two_claims.py").write_text(
        '"""Two."""\nfrom ldp_audit.claims import Claim, at_most\nfrom ldp_audit.mechanisms import Variable\n'
        'x = Variable("x", 0, 1)\n'
        'bad = Claim("BAD", "p", "s", parts=(at_most(1 / (x - 1), 3),))\n'
        'good = Claim("GOOD", "p", "s", parts=(at_most(x, 1),))\n'
    )
    assert main(["check", "--claims", "two_claims.py", "--out", "out"]) == 2
    captured = capsys.readouterr()
    assert "BAD          ERROR" in captured.out
    assert "GOOD         PROVED" in captured.out
    assert "claim BAD: a part is undefined at x = 1" in captured.err
    report = json.loads(Path("out/report.json").read_text())
    assert [claim["id"] for claim in report["claims"]] == ["GOOD"]
    assert "claim BAD" in report["failed"][0]
    assert "claim BAD" in Path("out/report.html").read_text()


def test_a_claim_has_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that takes for ever is UNDECIDED after them, and the next claim is settled."""
    from ldp_audit.claims import settling

    quick = settling.settle

    def slow(statement: Any) -> Any:
        while statement.label == "slow":
            pass
        return quick(statement)

    monkeypatch.setattr(settling, "settle", slow)
    claim = Claim("D", "p", "s", parts=(at_most(x, 1), at_most(x, 2, "slow")))
    settled = settling.settle_claim(claim, 0.3)
    assert str(settled.verdict) == "UNDECIDED"
    assert settled.parts[1].evidence["reason"] == "not settled within the claim's 0.3 s"
    assert settled.seconds < 5
