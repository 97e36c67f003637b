"""The checker: accepts what the engines found, refuses what was tampered with, and stands alone."""

from __future__ import annotations

import ast
import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sympy import Rational, exp, log, oo, sqrt

from ldp_audit.claims import at_most, less, recheck, recheck_alone, recheck_functions, recheck_ranges
from ldp_audit.claims.claim import Claim, Paper
from ldp_audit.claims.manifest import GROUPS, manifest
from ldp_audit.claims.recheck_report import recheck_claims
from ldp_audit.claims.settling import settle, settle_claim
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.reports import document
from tests.together import together

SOURCE = Path(recheck.__file__)
FUNCTIONS = Path(recheck_functions.__file__)
ALONE = Path(recheck_alone.__file__)
RANGES = Path(recheck_ranges.__file__)


def complaints(report: dict[str, Any]) -> dict[str, str]:
    return {outcome.id: outcome.complaint for outcome in recheck_claims(report) if outcome.complaint}


def alone(report: dict[str, Any], claim: dict[str, Any]) -> dict[str, Any]:
    """A report with this one claim, to be changed."""
    return {**report, "claims": [copy.deepcopy(claim)], "manifest": manifest([claim])}


def is_counted(claim: dict[str, Any]) -> bool:
    """Whether it counts 2**24 words, which takes the checker seconds each time."""
    return "Alone(24" in json.dumps(claim)


def parts_of(claim: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group in GROUPS:
        yield from claim["evidence"][group]


def test_the_report_of_a_paper_is_verified_whole(paper_report: dict) -> None:
    outcomes = list(recheck_claims(paper_report))
    assert len(outcomes) == len(paper_report["claims"])
    assert not [outcome.id for outcome in outcomes if outcome.complaint or outcome.unverified]


CHECKER = sorted(path for path in SOURCE.parent.glob("recheck*.py") if path.stem != "recheck_report")


@pytest.mark.parametrize("source", CHECKER, ids=[path.stem for path in CHECKER])
def test_the_checker_is_alone(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    imported = {str(node.module) if isinstance(node, ast.ImportFrom) else alias.name
                for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names}  # fmt: skip
    assert {name.split(".")[0] for name in imported} - {"ldp_audit"} <= {
        *sys.stdlib_module_names,
        *({"numpy"} if source == ALONE else ()),  # optional there, and `--pure` does without
    }
    own = {f"ldp_audit.claims.{path.stem}" for path in CHECKER} | {"ldp_audit.claims", "recheck"}
    assert {name for name in imported if name.startswith("ldp_audit")} <= own


def test_the_checker_loads_no_engine() -> None:
    code = "import sys; import ldp_audit.claims.recheck_report; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sympy", "flint", "z3", "numpy"} & set(loaded)
    assert not [name for name in loaded if name.startswith("ldp_audit.claims.engines")]


def test_a_changed_verdict_is_refused_and_the_claim_named(paper_report: dict, request: pytest.FixtureRequest) -> None:
    """Each claim with another verdict, in turn; with `--slow` with all."""
    for place, claim in enumerate(paper_report["claims"]):
        others = [verdict for verdict in Verdict if verdict != claim["verdict"]]
        if not request.config.getoption("--slow"):
            others = [others[place % len(others)]]
        for verdict in [Verdict.PROVED] if is_counted(claim) else others:
            changed = alone(paper_report, claim)
            changed["claims"][0]["verdict"] = str(verdict)
            assert claim["id"] in complaints(changed)


def test_a_changed_verdict_of_a_part_or_a_correction_is_refused(
    paper_report: dict, request: pytest.FixtureRequest
) -> None:
    """Every tenth part of each claim, from the first to the tenth on; with `--slow` all."""
    every = 1 if request.config.getoption("--slow") else 10
    for number, claim in enumerate(paper_report["claims"]):
        parts = list(enumerate(parts_of(claim)))
        for place, part in parts[number % max(1, min(every, len(parts))) :: every]:
            changed = alone(paper_report, claim)
            other = "REFUTED" if part["verdict"] == "PROVED" else "PROVED"
            list(parts_of(changed["claims"][0]))[place]["verdict"] = other
            assert claim["id"] in complaints(changed)
        if claim["corrected"]:
            changed = alone(paper_report, claim)
            changed["claims"][0]["corrected"]["verdict"] = "REFUTED"
            assert claim["id"] in complaints(changed)


def test_a_changed_counterexample_is_refused(paper_report: dict) -> None:
    changed_points = 0
    for claim in paper_report["claims"]:
        if not claim["counterexample"]:
            continue
        changed = alone(paper_report, claim)
        changed["claims"][0]["counterexample"]["kind"] = "other"
        assert claim["id"] in complaints(changed)
        for side in ("left", "right"):
            if isinstance(claim["counterexample"].get(side), str):
                changed = alone(paper_report, claim)
                for shown in (changed["claims"][0]["counterexample"], _first_refuted(changed["claims"][0])):
                    shown[side] = str(Rational(shown[side]) + 1)
                assert claim["id"] in complaints(changed)
        for variable, number in claim["counterexample"].get("point", {}).items():
            changed = alone(paper_report, claim)
            for shown in (changed["claims"][0]["counterexample"], _first_refuted(changed["claims"][0])):
                shown["point"][variable] = str(Rational(number) + Rational(1, 7))
            still_one = claim["id"] not in complaints(changed)
            changed_points += not still_one
            # A moved point may be another counterexample with the same printed values only if they do not depend on it.
            assert not still_one or _independent(claim, variable)
    assert 6 * changed_points > len(paper_report["claims"])


def test_a_changed_coefficient_in_a_proof_is_refused(paper_report: dict) -> None:
    seen = 0
    for claim in paper_report["claims"]:
        for place, part in enumerate(parts_of(claim)):
            for text in _forms(part["evidence"]):
                changed = alone(paper_report, claim)
                forms = list(_forms(list(parts_of(changed["claims"][0]))[place]["evidence"]))
                target = next(form for form in forms if form["gap"] == text["gap"])
                target["gap"] = f"({target['gap']}) + 1" if target["gap"] == "0" else f"2*({target['gap']})"
                assert claim["id"] in complaints(changed), part["label"]
                seen += 1
    assert seen > len(paper_report["claims"])


def test_a_changed_coefficient_in_a_statement_is_refused(paper_report: dict, request: pytest.FixtureRequest) -> None:
    """A side is moved by 1, up or down in turn: proofs and printed values no longer agree. With `--slow` both ways,
    else every sixth part of each claim, from the first to the sixth on.

    A cover by boxes has no numbers of the statement in it and may show the moved one as well: an inequality that is
    shown so is moved until it is false, and `!=` is left out.
    """
    every = 1 if request.config.getoption("--slow") else 6
    for number, claim in enumerate(paper_report["claims"]):
        parts = list(enumerate(parts_of(claim)))
        for place, part in parts[number % max(1, min(every, len(parts))) :: every]:
            rewrites = ("({}) + 1",) if is_counted(claim) else ("({}) + 1", "({}) - 1")
            if every > 1:
                rewrites = (rewrites[place % len(rewrites)],)
            if _is_cover(part["evidence"]):
                rewrites = ("({}) + 10**12",) if part["relation"] in ("<", "<=") else ()
            for rewrite in rewrites:
                changed = alone(paper_report, claim)
                target = list(parts_of(changed["claims"][0]))[place]
                target["left"] = rewrite.format(target["left"])
                assert claim["id"] in complaints(changed), part["label"]


def test_a_widened_domain_is_refused() -> None:
    x = Variable("x", 0, 1)
    record = settle(at_most(x**2, x)).to_dict()
    assert recheck.part(record) == "PROVED"
    record["variables"][0]["upper"] = "2"
    with pytest.raises(recheck.RefusedError):
        recheck.part(record)


def test_an_opened_end_is_refused_where_it_matters() -> None:
    x = Variable("x", 0, 1, open="left")
    record = settle(less(0, x)).to_dict()
    assert recheck.part(record) == "PROVED"
    record["variables"][0]["lower_open"] = False
    with pytest.raises(recheck.RefusedError):
        recheck.part(record)


def test_missing_evidence_is_refused(paper_report: dict) -> None:
    for claim in paper_report["claims"]:
        if claim["verdict"] in ("PROVED", "REFUTED", "CONDITIONAL", "VACUOUS"):
            changed = alone(paper_report, claim)
            changed["claims"][0]["evidence"]["parts"][0]["evidence"] = {}
            assert claim["id"] in complaints(changed)


@together("report", [[], {}, {"schema_version": 2, "claims": [{}]}, {"schema_version": 1, "claims": 3}, "x"])
def test_what_is_no_report_is_said_to_be_none(report: Any) -> None:
    with pytest.raises(ValueError, match="not a report"):
        list(recheck_claims(report))


@together("claim", [None, 3, {}, {"id": "X"}, {"id": "X", "verdict": "PROVED", "evidence": []}])
def test_a_malformed_claim_is_refused_not_a_crash(claim: Any) -> None:
    *_, outcome = recheck_claims({"schema_version": 1, "claims": [claim], "manifest": []})
    assert "malformed" in outcome.complaint


@together("text", ["__import__('os').system('true')", "x.real", "[1]", "1.5", "'a'", "exp", "x if x else 1"])
def test_nothing_but_arithmetic_is_read(text: str) -> None:
    record = settle(at_most(Variable("x", 0, 1), 1)).to_dict()
    record["evidence"]["gap"] = text
    with pytest.raises(Exception):  # noqa: B017, PT011  (any refusal will do; it must not be evaluated)
        recheck.part(record)


def test_a_solvers_word_is_counted_and_not_verified() -> None:
    x, y = Variable("x", -oo, oo), Variable("y", -oo, oo)
    claim = Claim("S-1", "here", "a definite form with a mixed term", parts=(at_most(0, x**2 - x * y + y**2),))
    settled = settle_claim(claim)
    assert settled.parts[0].engine == "smt", "it was chosen so that no positive form is found"
    (outcome,) = recheck_claims(document.build([(Paper("p", "p", claims=(claim,)), [settled])]))
    assert (outcome.complaint, outcome.unverified) == ("", 1)


@together(
    ("expression", "low", "high"),
    [
        (exp(1), "2.718281828459045", "2.718281828459046"),
        (exp(-40), "4.2483e-18", "4.2484e-18"),
        (log(Rational(1, 3)), "-1.09861228866811", "-1.0986122886681"),
        (sqrt(2), "1.4142135623730950", "1.4142135623730951"),
    ],
)
def test_the_checkers_own_enclosures(expression: Any, low: str, high: str) -> None:
    below, above = recheck.evaluate(str(expression).replace("E", "exp(1)"), {}, recheck.INTERVALS)
    assert Rational(low) < below <= above < Rational(high)
    assert above - below < Rational(1, 10**40)


def test_it_runs_alone_on_a_copy_of_its_files(tmp_path: Path) -> None:
    """In a fresh interpreter without site-packages; another file that it needs would be missing there."""
    folder = tmp_path / "ldp_audit" / "claims"
    folder.mkdir(parents=True)
    for source in (SOURCE, FUNCTIONS, ALONE, RANGES):
        (folder / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    record = settle(at_most(Variable("x", 0, 1), 1)).to_dict()
    code = f"from ldp_audit.claims import recheck; print(recheck.part({record!r}))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "PROVED"


@pytest.mark.parametrize(
    ("left", "printed"),
    [
        ("((2**99999)**99999)**99999", "0"),
        ("*".join(["(1/3**99999)"] * 40), "0"),
        ("+".join(f"1/{n}**9999" for n in range(3, 800, 2)), "0"),
        ("1", "1e999999999"),
    ],
    ids=["powers", "products", "sums", "a printed number"],
)
def test_what_would_take_for_ever_to_check_is_refused(left: str, printed: str) -> None:
    """A hostile report must not keep the checker busy for hours, or fill the memory."""
    evidence = {"kind": "value", "left": printed, "right": "1"}
    shown = {"variables": [], "quantifier": "for all", "left": left, "relation": "<=", "right": "1"}
    with pytest.raises(recheck.RefusedError, match=r"(it takes too long to check|exponent is too long)"):
        recheck.part({**shown, "evidence": evidence})


def test_a_polynomial_of_too_many_terms_is_refused() -> None:
    variables = [{"name": n, "lower": "0", "upper": None, "lower_open": False, "upper_open": True} for n in "abcdef"]
    evidence = {"kind": "identity", "inside": dict.fromkeys("abcdef", "1"), "gap": "1", "divisors": []}
    shown = {"variables": variables, "quantifier": "for all", "left": "(a+b+c+d+e+f)**150", "relation": "<="}
    with pytest.raises(recheck.RefusedError, match="it takes too long to check"):
        recheck.part({**shown, "right": "1", "evidence": evidence})


def test_effort_is_counted_part_by_part() -> None:
    """Would catch a long report whose last parts are refused for the first ones' work."""
    for _ in range(30):
        recheck_functions.begin()
        recheck_functions.take(recheck_functions.EFFORT - 1)
    with pytest.raises(recheck.RefusedError):
        recheck_functions.take(2)


def test_a_claims_name_is_printed_without_control_characters() -> None:
    """It would command the reader's terminal."""
    claim = {"id": "\x1b[2J\ud800" + "x" * 5000, "verdict": ["PROVED"]}
    *_, outcome = recheck_claims({"schema_version": 1, "claims": [claim], "manifest": []})
    assert outcome.id.startswith(r"\x1b[2J\ud800xxx")
    assert len(outcome.id) < 400
    assert outcome.verdict == "list"


def _first_refuted(claim: dict[str, Any]) -> dict[str, Any]:
    return next(part["evidence"] for part in claim["evidence"]["parts"] if part["verdict"] == "REFUTED")


def _is_cover(evidence: dict[str, Any]) -> bool:
    """Whether boxes, and nothing else, show a part."""
    inner = evidence.get("proof", evidence)
    leaves = [*inner.get("proofs", {}).values(), *(inner[half] for half in ("below", "above") if half in inner)]
    return inner["kind"] == "box" or (bool(leaves) and all(_is_cover(leaf) for leaf in leaves))


def _independent(claim: dict[str, Any], variable: str) -> bool:
    part = next(part for part in claim["evidence"]["parts"] if part["verdict"] == "REFUTED")
    evidence = part["evidence"]
    env = {
        name: recheck.INTERVALS[int](Fraction(number) + (Fraction(1, 7) if name == variable else 0))
        for name, number in evidence["point"].items()
    }
    values = [recheck.evaluate(part[side], env, recheck.INTERVALS)[0] for side in ("left", "right")]
    return [str(value) for value in values] == [evidence["left"], evidence["right"]]


def _forms(evidence: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "gap" in evidence:
        yield evidence
    for nested in ("proof", "below", "above"):
        if nested in evidence:
            yield from _forms(evidence[nested])
    for nested in evidence.get("inside", ()) if isinstance(evidence.get("inside"), list) else ():
        yield from _forms(nested)


def test_the_page_of_the_format_names_every_kind_of_evidence() -> None:
    page = (SOURCE.parents[2] / "docs" / "verdicts.md").read_text(encoding="utf-8")
    kinds = {*recheck.RULES, *(kind for _, kind in recheck.VERDICTS)}
    assert kinds - set(re.findall(r'`"(\w+)"`', page)) == set()


def test_every_rule_says_why_it_is_sound() -> None:
    rules = [*recheck.RULES.values(), *recheck.VERDICTS.values()]
    assert [rule.__name__ for rule in rules if not (rule.__doc__ or "").strip()] == []
