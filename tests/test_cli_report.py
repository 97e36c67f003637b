"""ldp-audit report: what it writes, what it reads, its exit codes, and one clear line for bad input."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ldp_audit.accounting.protocols.protocol_file import shipped
from ldp_audit.cli import main, report_sections
from tests.reports.in_text import check_text
from tests.reports.page_tree import parse
from tests.reports.whole_report import whole_report
from tests.together import together

Captured = pytest.CaptureFixture[str]

CLAIMS = """
from ldp_audit.claims import Claim, at_most
from ldp_audit.mechanisms import Variable
x = Variable("x", 0, 1)
claims = [
    Claim("G-1", "here", "x is at most 1", parts=[at_most(x, 1)]),
    Claim("G-2", "there", "x is 0", parts=[at_most(x, 0)]),
    Claim("G<b>", "there", "an id with markup", parts=[at_most(x, 2)]),
]
"""


@pytest.fixture
def claims(tmp_path: Path) -> str:
    path = tmp_path / "claims_of_mine.py"
    path.write_text(CLAIMS)
    return str(path)


def document(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text())


def test_the_report_of_my_own_claims_is_whole_and_its_pages_pass(tmp_path: Path, claims: str, capsys: Captured) -> None:
    out, copy = tmp_path / "out", tmp_path / "copy.json"
    assert main(["report", "--claims", claims, "--out", str(out), "--json", str(copy)]) == 0
    assert "3 claims" in capsys.readouterr().out
    assert [one.describe() for one in check_text(out) if not one.passed] == []
    assert document(out) == json.loads(copy.read_text())
    assert "1 does not hold" in parse((out / "index.html").read_text()).text
    assert main(["recheck", str(out / "report.json")]) == 0


def test_a_claim_that_cannot_be_built_is_listed_on_the_first_page(tmp_path: Path, capsys: Captured) -> None:
    path, out = tmp_path / "failing.py", tmp_path / "out"
    path.write_text(CLAIMS.replace("parts=[at_most(x, 0)]", "parts=lambda: [at_most(nobody, 0)]"))
    assert main(["report", "--claims", str(path), "--out", str(out)]) == 2
    said = "claim G-2: its parts cannot be built: NameError: name 'nobody' is not defined"
    assert f"not settled: {said}" in capsys.readouterr().err
    assert said in parse((out / "index.html").read_text()).text
    assert said in (out / "report.md").read_text()


@pytest.mark.parametrize(("fail_on", "code"), [([], 0), (["--fail-on", "refuted"], 1)])
def test_a_refuted_claim_fails_only_where_it_is_asked_for(
    tmp_path: Path, claims: str, fail_on: list[str], code: int
) -> None:
    assert main(["report", "--claims", claims, "--out", str(tmp_path / "out"), *fail_on]) == code
    assert ("<failure" in (tmp_path / "out" / "junit.xml").read_text()) == bool(code)


@pytest.mark.usefixtures("example_installed")
def test_everything_is_gathered_and_a_report_can_be_made_from_it(
    tmp_path: Path, claims: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each section from its own room; --from takes the claims as they were settled. One process accounts for both
    protocols."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    first, again = tmp_path / "first", tmp_path / "again"
    chosen = [
        "--protocol",
        "example-two-stages",
        "--protocol",
        "example-sample",
        "--with",
        "audits",
        "--with",
        "mechanisms",
    ]
    assert main(["report", "--claims", claims, "--out", str(first), *chosen, "--quiet"]) == 0
    found = document(first)
    assert [one["key"] for one in found["accounting"]] == ["example-two-stages", "example-sample"]
    assert found["accounting"][0]["paper"][0]["epsilon"] == 2.0
    verdicts = {one["target"]: one["verdict"] for one in found["audits"]}
    assert verdicts["PerturbedEncoding(epsilon=1, d=4, k=1)"] == "violated"
    assert verdicts["ldp_audit.auditing.textbook:laplace64"] == "violated"
    assert {verdicts[f"{name}(epsilon=1)"] for name in ("TwoPoint", "Piecewise")} == {"consistent"}
    off = [one["name"] for one in found["mechanisms"] if one["claimed_epsilon"] not in (None, one["exact_epsilon"])]
    assert off == ["PerturbedEncoding"]
    assert [one.describe() for one in check_text(first) if not one.passed] == []
    assert main(["report", "--from", str(first / "report.json"), "--out", str(again), "--quiet"]) == 0
    assert document(again)["claims"] == found["claims"]
    assert capsys.readouterr().err == ""


def test_textbook_programs_are_held_to_what_the_mechanism_has_on_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Gaussian has no pure epsilon: its program is not accused of that, but of more delta than the law's."""
    from ldp_audit.auditing.textbook import TextbookBoxMuller, TextbookTwoPoint
    from ldp_audit.implementations import textbook_findings as findings

    rows = [
        findings.TextbookCase(TextbookTwoPoint(1.0), "float16", (-1.0, 1.0)),
        findings.TextbookCase(TextbookBoxMuller(), "float32", (0.0, 1.0)),
    ]
    monkeypatch.setattr(findings, "findings", lambda: rows)
    two_point, gaussian = report_sections.implementation(lambda _: None)
    assert (two_point["verdict"], two_point["claimed_delta"]) == ("holds", 0.0)
    assert gaussian["claimed_delta"] == pytest.approx(0.12693673750664397, rel=1e-12)  # Balle and Wang (2018), eq. (6)
    assert (gaussian["verdict"], gaussian["delta_at_claim"] > gaussian["claimed_delta"]) == ("violated", True)


def test_a_document_of_my_own_shows_my_mechanism_and_what_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped example: its exact epsilon and moments are computed; SOURCE_DATE_EPOCH gives the day."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    example = Path(__file__).parents[1] / "docs" / "examples" / "noisy_coin.py"
    asked = ["report", "--claims", str(example), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(asked) == 0
    found = document(tmp_path / "out")
    (mechanism,) = found["papers"][0]["mechanisms"]
    assert [one["exact_epsilon"] for one in mechanism["at"]] == pytest.approx([0.5, 1.0, 2.0], rel=1e-12)
    assert found["made"]["command"] == shlex.join(["ldp-audit", *asked])
    assert found["made"]["date"] == "1970-01-02"
    assert found["made"]["inputs"][0]["bytes"] == example.stat().st_size
    page = parse((tmp_path / "out" / "index.html").read_text()).text
    assert page.index("What is claimed, and what holds") < page.index("The mechanism: noisy coin")
    assert not (tmp_path / "out" / "accounting.html").exists()


def test_audits_alone_are_a_document(tmp_path: Path) -> None:
    audit, out = tmp_path / "a.json", tmp_path / "out"
    assert (
        main(["audit", "TwoPoint(epsilon=2)", "--epsilon", "1", "--samples", "20000", "--json", str(audit), "--quiet"])
        == 1
    )
    assert main(["report", "--audits", str(audit), "--out", str(out), "--quiet"]) == 0
    assert "TwoPoint(epsilon=2)" in parse((out / "index.html").read_text()).text
    assert not (out / "claims.html").exists()
    assert [one.describe() for one in check_text(out) if not one.passed] == []


def test_audits_of_mine_are_shown_and_no_others(tmp_path: Path, claims: str) -> None:
    audit = tmp_path / "my audit.json"
    asked = ["TwoPoint(epsilon=2)", "--epsilon", "1", "--samples", "20000", "--json", str(audit), "--quiet"]
    assert main(["audit", *asked]) == 1
    out = tmp_path / "out"
    assert main(["report", "--claims", claims, "--audits", str(audit), "--out", str(out)]) == 0
    assert [one["target"] for one in document(out)["audits"]] == ["TwoPoint(epsilon=2)"]
    page = parse((out / "audits.html").read_text()).text
    assert "TwoPoint(epsilon=2)" in page
    assert "1 found the claim violated" in page


def test_training_folders_are_shown(tmp_path: Path, claims: str) -> None:
    folder, out = tmp_path / "toy", tmp_path / "out"
    assert main(["train", "tests.training.toy:Toy", "--out", str(folder), "--workers", "1", "--quiet"]) == 0
    asked = ["--training", str(folder), str(folder / "results.json")]
    assert main(["report", "--claims", claims, "--out", str(out), *asked]) == 0
    assert [one.describe() for one in check_text(out) if not one.passed] == []
    found = document(out)["training"]
    assert len(found) == 2
    assert not any("rounds" in run for run in found[0]["results"]["runs"])
    assert (out / "figures" / "training-2-accuracy-epsilon.svg").is_file()


def refused(capsys: Captured, *arguments: str) -> str:
    assert main(["report", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ldp-audit report: ")
    assert said.count("\n") == 1
    return said


BAD = {
    "not JSON": ("{", "is not JSON"),
    "a list": ("[]", "must hold a JSON object, got list"),
    "another kind": ('{"kind": "linkage"}', "must be what `ldp-audit"),
    "nothing in it": ('{"kind": "audit"}', "is not what `ldp-audit audit --json` writes: KeyError"),
    "wrong types": ('{"kind": "audit", "counted": 3}', "is not what"),
}


@together("name", BAD)
def test_what_is_no_audit_is_one_clear_line(tmp_path: Path, capsys: Captured, name: str) -> None:
    text, says = BAD[name]
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert says in refused(capsys, "--audits", str(path), "--out", str(tmp_path / "out"), "--quiet")
    assert not any((tmp_path / "out").iterdir())


@together("text", ["{", '{"kind": "audit"}', '{"kind": "training"}', '{"kind": "training", "runs": []}'])
def test_what_is_no_training_is_one_clear_line(tmp_path: Path, capsys: Captured, text: str) -> None:
    (tmp_path / "results.json").write_text(text)
    assert "results.json" in refused(capsys, "--training", str(tmp_path), "--out", str(tmp_path / "out"))


def test_a_changed_proof_is_refused(tmp_path: Path, claims: str, capsys: Captured) -> None:
    """The gravest error would be a wrong accusation that was typed into a file."""
    assert main(["report", "--claims", claims, "--out", str(tmp_path / "out")]) == 0
    found = document(tmp_path / "out")
    first = found["claims"][0]
    first["verdict"] = first["evidence"]["parts"][0]["verdict"] = "REFUTED"
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(found))
    assert "claim G-1 is refused" in refused(capsys, "--from", str(path), "--out", str(tmp_path / "other"))


@together(
    ("change", "says"),
    [
        (lambda found: found["claims"][0].update(paper="x"), "claim G-1 is refused: the manifest lists it once"),
        (lambda found: found.pop("papers"), "is not what `ldp-audit check --out` writes"),
        (lambda found: found["claims"][0].pop("place"), "claim manifest is refused: malformed (KeyError"),
        (lambda found: found["claims"][0].update(verdict="FINE"), "G-1"),
    ],
)
def test_a_report_that_lacks_something_is_one_clear_line(
    tmp_path: Path, claims: str, capsys: Captured, change: Any, says: str
) -> None:
    assert main(["report", "--claims", claims, "--out", str(tmp_path / "out")]) == 0
    found = document(tmp_path / "out")
    change(found)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(found))
    assert says in refused(capsys, "--from", str(path), "--out", str(tmp_path / "other"))


@pytest.mark.usefixtures("example_installed")
def test_other_bad_input_is_one_clear_line(tmp_path: Path, capsys: Captured) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert "unknown paper 'x'" in refused(capsys, "--paper", "x", *out)
    assert "neither a file nor a shipped protocol" in refused(capsys, "--paper", "example", "--protocol", "x", *out)
    (tmp_path / "file").write_text("")
    assert "cannot write to" in refused(capsys, "--out", str(tmp_path / "file" / "out"))


@pytest.mark.usefixtures("example_installed")
def test_shipped_protocols_are_accounted_for_where_they_are_asked_for(
    tmp_path: Path, claims: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[list[str]] = []
    account = whole_report()["accounting"][0]
    monkeypatch.setattr(
        report_sections, "accounted", lambda name: chosen[-1].append(name) or {**account, "figure": None}
    )
    asked = ["report", "--claims", claims, "--out", str(tmp_path)]
    for more in ([], ["--with", "accounting"], ["--protocol", "example-two-stages"]):
        chosen.append([])
        assert main([*asked, *more]) == 0
    assert chosen == [[], list(shipped()), ["example-two-stages"]]
