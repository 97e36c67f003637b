"""Whatever is changed in a report's JSON, `recheck --against` says so."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ldp_audit.claims import recheck, settling
from ldp_audit.claims.manifest import manifest
from ldp_audit.claims.settling import settle_claim
from ldp_audit.claims.verdict import Verdict
from ldp_audit.cli import main
from ldp_audit.reports import document
from tests.claims.tampered import CLAIMS, PAPER, figures

Path_ = tuple[Any, ...]

FREE = {
    "seconds": "a time that differs from run to run",
    "smtlib": "what the solver was asked, with names that differ from run to run: no page shows it",
    "tool": "the versions of the programs that made the report, which may be others than those that check it",
}
"""What nothing can be held to, by a key on the way to it, and why."""


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    settled = [settle_claim(claim) for claim in CLAIMS]
    made = document.build([(PAPER, settled)], [(PAPER.key, figure) for figure in figures()])
    return json.loads(json.dumps(made))


@pytest.fixture(autouse=True)
def _settled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The source's own run is the same each time."""
    ids = {claim.id: claim for claim in CLAIMS}
    monkeypatch.setattr(settling, "settle_claim", lambda claim, _: _settled(ids[claim.id]))


@cache
def _settled(claim: Any) -> Any:
    return settle_claim(claim)


def leaves(node: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The ways to everything that holds nothing: texts, numbers, and empty lists."""
    items = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
    if not items:
        yield path
    for key, value in items:
        yield from leaves(value, (*path, key))


def altered(value: Any) -> list[Any]:
    """Other values of the same sort: for an expression one that means the same, too."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if isinstance(value, str):
        words = [str(one) for one in Verdict] if value in {*Verdict} else []
        return [one for one in (*words[:3], f"({value})*1", f"{value} x") if one != value]
    return [["x"]] if isinstance(value, list) else [{"x": "1"}] if isinstance(value, dict) else ["1"]


def changed(report: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    """The report with this value there, and with a manifest that fits."""
    found = copy.deepcopy(report)
    parent = found
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    if path[0] == "claims":
        with suppress(AttributeError, KeyError, TypeError):  # it is no claim any more
            found["manifest"] = manifest(found["claims"])
    return found


def is_another_proof(report: dict[str, Any], path: Path_) -> bool:
    """Whether the change leaves a valid proof of the same part: evidence that the checker itself has verified."""
    if path[:1] != ("claims",) or path[2] != "evidence" or len(path) < 7 or path[5] != "evidence":
        return False
    part = report["claims"][path[1]]["evidence"][path[3]][path[4]]
    return part["evidence"]["kind"] not in ("smt", "undecided") and recheck.part(part) == part["verdict"]


def rechecked(report: dict[str, Any], folder: Path) -> int:
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return main(["recheck", str(path), "--against", "tests.claims.tampered", "--quiet"])


def test_the_report_itself_is_the_source_s(report: dict[str, Any], tmp_path: Path) -> None:
    verdicts = {claim["id"]: claim["verdict"] for claim in report["claims"]}
    assert {*verdicts.values()} >= {"PROVED", "REFUTED", "CONDITIONAL", "UNDECIDED", "VACUOUS", "ENUMERATED", "PROSE"}
    assert {part["engine"] for claim in report["claims"] for part in claim["evidence"]["parts"]} >= {"smt", "none"}
    assert rechecked(report, tmp_path) == 0


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 23])
def test_every_leaf_is_held_to_the_source_or_to_a_digest(
    every: int, report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every one with `--slow`, else every 23rd."""
    unseen, proofs, ways = [], 0, list(leaves(report))
    assert len(ways) > 400
    for path in ways[::every]:
        parent = report
        for key in path[:-1]:
            parent = parent[key]
        for value in altered(parent[path[-1]]):
            tampered = changed(report, path, value)
            if rechecked(tampered, tmp_path) == 0 and not FREE.keys() & {*path}:
                if is_another_proof(tampered, path):
                    proofs += 1
                else:
                    unseen.append((path, value))
    capsys.readouterr()
    assert unseen == []
    assert proofs < len(ways) / every / 4, "few changes leave a proof whole"


def _of(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(claim for claim in report["claims"] if claim["id"] == name)


def by_a_solver(report: dict[str, Any]) -> None:
    """What is proved is relabelled as a solver's word."""
    claim = _of(report, "P")
    part = claim["evidence"]["parts"][0]
    claim["engine"] = part["engine"] = "smt"
    part["evidence"] = {"kind": "smt", "solver": "z3 4.13", "smtlib": "", "inside": part["evidence"]["inside"]}


def undecided(report: dict[str, Any]) -> None:
    """What is refuted is made undecided."""
    claim = _of(report, "R")
    part = claim["evidence"]["parts"][0]
    part |= {"verdict": "UNDECIDED", "engine": "none", "evidence": {"kind": "undecided", "reason": "it is hard"}}
    claim |= {"verdict": "UNDECIDED", "engine": "none", "counterexample": None}


def found_by_a_solver(report: dict[str, Any]) -> None:
    """A counterexample of the search is said to be the solver's."""
    claim = _of(report, "R")
    claim["engine"] = claim["evidence"]["parts"][0]["engine"] = "smt"


def another_reason(report: dict[str, Any]) -> None:
    _of(report, "U")["evidence"]["parts"][0]["evidence"]["reason"] = "nobody can know"


def a_section(report: dict[str, Any]) -> None:
    report["audits"] = [{"verdict": "consistent"}]


@pytest.mark.parametrize("change", [by_a_solver, undecided, found_by_a_solver, another_reason, a_section])
def test_a_consistent_forgery_is_seen(
    change: Any, report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that depends on the change is changed with it: verdicts, engines, the summary, the manifest."""
    tampered = copy.deepcopy(report)
    change(tampered)
    tampered |= {**document.counted(tampered["claims"]), "manifest": manifest(tampered["claims"])}
    assert rechecked(tampered, tmp_path) == 1
    printed = capsys.readouterr().out
    assert "DIFFERS" in printed or "sections" in printed
