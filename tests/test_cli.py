"""The command line: exit codes, one clear line for bad input, nothing half-written."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ldp_audit.cli import main
from tests.together import together

GOOD = """
from ldp_audit.claims import Claim, at_most
from ldp_audit.mechanisms import Variable
x = Variable("x", 0, 1)
first = Claim("G-1", "here", "x is at most 1", parts=[at_most(x, 1)])
second = Claim("G-2", "here", "x is 0", parts=[at_most(x, 0)])
"""

EXAMPLE = "tests.example_paper"

BAD_MODULES = {
    "no claims": ("x = 1\n", "has no claims"),
    "syntax error": ("def\n", "fails when imported: SyntaxError"),
    "raises": ("raise RuntimeError('boom')\n", "fails when imported: RuntimeError: boom"),
    "unbounded symbol": (
        "from sympy import Symbol\nfrom ldp_audit.claims import Claim, at_most\n"
        "claims = [Claim('B', 'p', 's', parts=[at_most(Symbol('q'), 1)])]\n",
        "symbol 'q' has no domain",
    ),
    "probability that leaves [0, 1]": (
        "from ldp_audit.claims import Claim\nfrom ldp_audit.mechanisms import SymbolicChannel, Variable\n"
        "x = Variable('x', -1, 2)\nchannel = SymbolicChannel('leaky', x, {1: x, 0: 1 - x})\nc = Claim('B', 'p', 's')\n",
        "channel 'leaky': the probability of output 1 must be >= 0, got -1 at x = -1",
    ),
    "probabilities that do not add up": (
        "from ldp_audit.claims import Claim\nfrom ldp_audit.mechanisms import SymbolicChannel, Variable\n"
        "x = Variable('x', 0, 1)\nchannel = SymbolicChannel('short', x, {1: x, 0: x})\nc = Claim('B', 'p', 's')\n",
        "channel 'short': the probabilities must add up to 1, got 2 at x = 1",
    ),
    "outputs that coincide": (
        "from ldp_audit.claims import Claim\nfrom ldp_audit.mechanisms import SymbolicChannel, Variable\n"
        "x, r = Variable('x', 0, 1), Variable('r', 0, 1)\n"
        "channel = SymbolicChannel('same', x, {r: x, -r: 1 - x})\nc = Claim('B', 'p', 's')\n",
        "outputs r and -r must differ, got 0 at r = 0",
    ),
    "two claims of one id": (
        "from ldp_audit.claims import Claim\na = Claim('B', 'p', 's')\nb = Claim('B', 'p', 't')\n",
        "claim ids must be unique",
    ),
    "a float": (
        "from ldp_audit.claims import Claim, at_most\nfrom ldp_audit.mechanisms import Variable\n"
        "a = Claim('B', 'p', 's', parts=[at_most(Variable('x', 0, 1), 0.1)])\n",
        "floating-point number",
    ),
}


def written(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_a_users_module_is_settled_and_reported(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = module.parent / "out"
    assert main(["check", "--claims", str(module), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "G-1" in printed
    assert "REFUTED" in printed
    assert {"report.html", "report.md", "report.json"} <= written(out)
    assert main(["recheck", str(out / "report.json")]) == 0
    assert "verified 2 of 2 claims" in capsys.readouterr().out


FAILING = """
from ldp_audit.claims import Claim, at_most, is_private
from ldp_audit.mechanisms import SymbolicChannel, T, Variable
x = Variable("x", 0, 1)
p = (1 + x * (T - 1)) / (T + 1)
coin = SymbolicChannel("my coin", inputs=x, atoms={1: p, 0: 1 - p})
claims = [
    Claim("F-1", "here", "private", parts=lambda: is_private(coin, T)),
    Claim("F-2", "here", "no law", parts=lambda: is_private(SymbolicChannel("two", x, {1: p, 0: 1}), T)),
    Claim("F-3", "here", "no such name", parts=lambda: [at_most(nobody, 1)]),
    Claim("F-4", "here", "no statement", parts=lambda: [1]),
    Claim("F-5", "here", "no list", parts=lambda: 1),
]
"""


def test_a_claim_that_cannot_be_built_is_listed_and_the_others_are_settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "failing.py", tmp_path / "out"
    path.write_text(FAILING, encoding="utf-8")
    assert main(["check", "--claims", str(path), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert "claim F-2: its parts cannot be built: channel 'two': the probabilities must add up to 1" in error
    assert "claim F-3: its parts cannot be built: NameError: name 'nobody' is not defined" in error
    assert "claim F-4: its parts must be a sequence of statements" in error
    assert "claim F-5: its parts must be made as a sequence of statements, got 1" in error
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert [(one["id"], one["verdict"]) for one in report["claims"]] == [("F-1", "PROVED")]
    assert len(report["failed"]) == 4
    assert main(["recheck", str(out / "report.json"), "--against", str(path)]) == 1
    assert "DIFFERS F-3: the source cannot build it" in capsys.readouterr().out


def test_one_claim_of_a_paper_comes_without_the_papers_figures(tmp_path: Path) -> None:
    main(["check", "--claims", EXAMPLE, "--only", "EX-3", "--out", str(tmp_path), "--quiet"])
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["figures"] == []
    assert not (tmp_path / "figures").exists()


def test_the_report_prints_the_mechanisms_that_a_users_claims_are_about(tmp_path: Path) -> None:
    path, out = tmp_path / "failing.py", tmp_path / "out"
    path.write_text(FAILING, encoding="utf-8")
    main(["check", "--claims", str(path), "--only", "F-1", "--out", str(out), "--quiet"])
    law = r"\Pr[y\mid x]=\begin{cases}\frac{x \left(t - 1\right) + 1}{t + 1}&y=1\\"
    (paper,) = json.loads((out / "report.json").read_text(encoding="utf-8"))["papers"]
    assert paper["mechanisms"][0]["name"] == "my coin"
    assert paper["mechanisms"][0]["latex"].startswith(law)
    assert (paper["mechanisms"][0]["private"], paper["mechanisms"][0]["public"]) == (
        ["0 <= x <= 1"],
        ["1 < t = e^epsilon"],
    )
    assert law in (out / "report.md").read_text(encoding="utf-8")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Private: 0 &lt;= x &lt;= 1; public: 1 &lt; t = e^epsilon." in page
    assert page.count('aria-label="Law of my coin"') == 1


def test_a_module_is_found_by_its_name_in_the_working_folder(
    module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The installed command, unlike `python -m`, starts without the working folder on the path."""
    monkeypatch.chdir(module.parent)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder not in ("", ".")])
    monkeypatch.setitem(sys.modules, "mine", None)
    monkeypatch.delitem(sys.modules, "mine")
    assert main(["check", "--claims", "mine", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@together(("text", "message"), BAD_MODULES.values())
def test_a_bad_module_is_one_line_and_exit_code_2(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "bad.py", tmp_path / "out"
    path.write_text(text, encoding="utf-8")
    assert main(["check", "--claims", str(path), "--out", str(out), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not written(out)


class Interrupted(list[str]):
    """Options at whose reading Ctrl-C comes."""

    def __iter__(self) -> Iterator[str]:
        raise KeyboardInterrupt


def test_an_interruption_before_the_command_begins_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(Interrupted(["doctor"])) == 130
    assert capsys.readouterr().err == "ldp-audit: interrupted; no file is left half written\n"


@together("text", ["", "{", "[1]", '{"schema_version": 9}', "\x00"])
def test_a_file_that_is_no_report_is_said_to_be_none(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    assert main(["recheck", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unwritable_folder_is_named_before_anything_is_settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["check", "--claims", EXAMPLE, "--out", str(blocked / "out")]) == 2
    captured = capsys.readouterr()
    assert f"cannot write to {blocked}/out" in captured.err
    assert captured.out == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o500)
    assert main(["check", "--claims", EXAMPLE, "--out", str(tmp_path)]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_tampered_report_is_refused_by_name(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = module.parent / "out"
    main(["check", "--claims", str(module), "--out", str(out), "--quiet"])
    report = json.loads((out / "report.json").read_text())
    report["claims"][1]["verdict"] = "PROVED"
    (out / "report.json").write_text(json.dumps(report))
    capsys.readouterr()
    assert main(["recheck", str(out / "report.json"), "--json", str(out / "outcome.json")]) == 1
    assert "REFUSED G-2" in capsys.readouterr().out
    assert json.loads((out / "outcome.json").read_text())["refused"] == 2, "the claim, and the summary that counts it"


def test_fail_on_refuted_counts_only_the_sources_own_claims(module: Path) -> None:
    assert main(["check", "--claims", str(module), "--fail-on", "refuted", "--quiet"]) == 1
    assert main(["check", "--claims", str(module), "--fail-on", "refuted", "--only", "G-1", "--quiet"]) == 0
    assert main(["check", "--claims", EXAMPLE, "--only", "EX-ocr", "--fail-on", "refuted", "--quiet"]) == 0


def test_a_correction_that_is_not_proved_is_named_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "corrected.py").write_text(
        "from ldp_audit.claims import Claim, Correction, at_most\n"
        "from ldp_audit.mechanisms import Variable\n"
        "x = Variable('x', 0, 1)\n"
        "instead = Correction('x is at most 1/2', parts=[at_most(2 * x, 1)])\n"
        "CLAIM = Claim('A', 'p', 'x is at most 1', parts=[at_most(x, 1)], corrected=instead)\n"
    )
    asked = ["check", "--claims", str(tmp_path / "corrected.py")]
    assert main(asked) == 0
    assert "with a correction that is not proved: A (REFUTED)" in capsys.readouterr().out
    assert main([*asked, "--fail-on", "refuted", "--quiet"]) == 1


def test_json_is_written_without_a_report_folder(module: Path) -> None:
    target = module.parent / "result.json"
    assert main(["check", "--claims", str(module), "--json", str(target), "--quiet"]) == 0
    assert [claim["id"] for claim in json.loads(target.read_text())["claims"]] == ["G-1", "G-2"]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for flag, text in (("--version", "ldp-audit 0"), ("--help", "check")):
        with pytest.raises(SystemExit) as stopped:
            main([flag])
        assert stopped.value.code == 0
        assert text in capsys.readouterr().out


def test_a_wrong_option_is_exit_code_2() -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", "--nonsense"])
    assert stopped.value.code == 2


@together(
    ("target", "expected"),
    [
        ("PerturbedEncoding(epsilon=1, d=2, k=1)", "exact epsilon        1.31055"),
        ("TwoPoint(epsilon=1)", "at input 1.0         mean 1, variance 3.68"),
        ("SubsampleRelease(300, 18)", "exact epsilon        inf"),
        ("Gaussian(sigma=1)", "0.382924922548"),
    ],
)
def test_exact_prints_what_is_known(
    target: str, expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["exact", target, "--json", str(tmp_path / "x.json"), "--levels", "0,0.5"]) == 0
    assert expected in capsys.readouterr().out
    assert [row["epsilon"] for row in json.loads((tmp_path / "x.json").read_text())["profile"]] == [0.0, 0.5]


@together(
    "target",
    [
        "DuchiVector(1, 2, printed=True)",
        "DuchiVector(1, 30)",
        "ExponentialSelection(1, 5)",
        "Hybrid(1)",
        "Laplace(2)",
        "PerturbedSampling(1, 5, 2)",
        "Piecewise(1)",
        "RandomizedResponse(inf, 3)",
        "SubsampleRelease(5, 0)",
        "TwoPoint(inf)",
    ],
)
def test_exact_prints_every_mechanism(target: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["exact", target, "--json", str(tmp_path / "x.json"), "--plot", str(tmp_path / "x.svg")]) == 0
    printed = capsys.readouterr().out
    assert "exact epsilon" in printed
    assert "nan" not in printed


def test_exact_reads_a_channel_and_refuses_what_is_no_mechanism(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.csv").write_text("3/4,1/4\n1/4,3/4\n", encoding="utf-8")
    assert main(["exact", str(tmp_path / "c.csv")]) == 0
    assert "1.0986122886681" in capsys.readouterr().out
    for bad in ("math:pi", str(tmp_path / "none.csv"), "TwoPoint(0)"):
        assert main(["exact", bad]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["exact", "TwoPoint(1)", "--levels", "-1"]) == 2


def test_exact_draws_the_curves(tmp_path: Path) -> None:
    assert main(["exact", "TwoPoint(1)", "--plot", str(tmp_path / "curves.svg")]) == 0
    assert (tmp_path / "curves.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_a_minus_writes_the_result_alone_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exact", "TwoPoint(epsilon=1)", "--json", "-"]) == 0
    caught = capsys.readouterr()
    assert json.loads(caught.out)["exact_epsilon"] == pytest.approx(1.0)
    assert "exact epsilon" in caught.err
    assert not Path("-").exists()
