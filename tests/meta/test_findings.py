"""The page of findings is what programs and records give, and each accusation has a proof beside its statistic."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ldp_audit.mechanisms import UnaryEncoding

FOLDER = Path(__file__).parents[2] / "examples" / "findings"


@pytest.fixture(scope="module")
def run() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FOLDER))
    yield import_module("run")
    sys.path.remove(str(FOLDER))
    for name in ("run", "page", "law", "finding"):
        del sys.modules[name]


@pytest.fixture(scope="module")
def written(run: ModuleType) -> dict[Path, str]:
    return run.documents()


def test_the_page_and_the_reports_are_what_programs_and_records_give(run: ModuleType, written: dict[Path, str]) -> None:
    assert set(FOLDER.glob("*/report.md")) == written.keys() - {run.PAGE}
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, "python examples/findings/run.py --page"


def test_every_record_answers_its_program_s_question_as_expected(run: ModuleType) -> None:
    for account in run.accounts():
        assert account.checked or "unavailable" in account.record, account.folder
        for finding, record in account.checked:
            assert record["question"] == finding.question(), (
                f"{account.folder}: {finding.title} is older than its program"
            )
            assert record["verdict"] == finding.expected, f"{account.folder}: {finding.title}"
        for law, record in account.compared:
            assert record["question"] == law.question(), f"{account.folder}: {law.title} is older than its laws.py"
            assert record["verdict"] == law.expected, f"{account.folder}: {law.title}"
            assert record["law"] == repr(law.law()), f"{account.folder}: {law.title}"
        if account.checked:
            assert [one.title for one, _ in account.compared] == [one.title for one in account.laws], account.folder
            assert [one.title for one, _ in account.checked] == [one.title for one in account.findings], account.folder


def test_each_violation_is_confirmed_by_hand_and_exactly(run: ModuleType) -> None:
    """The exact epsilon is above the claim, and the audit's bound is below the exact epsilon."""
    for account in run.accounts():
        for finding, record in account.checked:
            assert 0 < len(finding.proof) <= 3 * 160, f"{account.folder}: {finding.title}: three lines"
            if "exact" in record:
                assert float(record["epsilon_lower"]) <= float(record["exact"]), f"{account.folder}: {finding.title}"
        for finding, record in account.violated:
            assert finding.fix, f"{account.folder}: {finding.title}"
            assert finding.status, f"{account.folder}: {finding.title}"
            if "exact" in record:
                assert float(record["exact"]) > finding.epsilon


def test_only_a_quotation_is_stated_and_what_holds_under_a_condition_is_not_broken(
    run: ModuleType, written: dict[Path, str]
) -> None:
    for path, text in written.items():
        for line in text.splitlines():
            label, _, words = line.replace("*", "").partition(": ")
            assert label not in ("Stated", "Read as") or words.startswith('"') == (label == "Stated"), f"{path}: {line}"
    for account in run.accounts():
        for finding, _ in account.violated:
            assert not finding.condition, f"{account.folder}: {finding.title}"


def test_last_bits_are_visible_or_not_and_no_violation(run: ModuleType, written: dict[Path, str]) -> None:
    rows = [line.split("|") for line in written[run.PAGE].splitlines() if line.startswith("| ")]
    assert {row[6].strip() for row in rows if len(row) == 8} == {"last bits", "visible", "none seen", ""}


def test_the_findings_are_broad_and_their_glue_is_short(run: ModuleType) -> None:
    median_glue = import_module("page").median_glue
    tested = [one for one in run.accounts() if one.checked]
    assert len(tested) >= 12
    assert median_glue(tested) <= 5


def test_no_sound_sampler_was_accused_in_a_thousand_audits(run: ModuleType) -> None:
    nulls = [one.record["nulls"] for one in run.accounts() if "nulls" in one.record]
    assert sum(one["audits"] for one in nulls) >= 1000
    assert not sum(one["accused"] for one in nulls)


def test_edited_code_makes_a_record_old_and_edited_prose_does_not(run: ModuleType, tmp_path: Path) -> None:
    findings_of = import_module("finding").findings_of
    program = (FOLDER / "eeprivacy" / "program.py").read_text(encoding="utf-8")
    edits = [
        ("", ""),
        ("Laplace noise of scale", "Noise of scale"),
        ("epsilon=1.0, s", "epsilon=2.0, s"),
        ("0.0.5", "0.0.6"),
    ]
    questions = []
    for old, new in edits:
        (tmp_path / "program.py").write_text(program.replace(old, new), encoding="utf-8")
        questions.append(findings_of(tmp_path / "program.py")[1][0].question())
    assert questions[0] == questions[1]
    assert len(set(questions)) == 3


def test_a_sampler_is_said_to_differ_only_where_the_law_excludes_chance_and_the_source_explains_it(
    run: ModuleType,
) -> None:
    """A false alarm is one in a million comparisons; a difference has lines of the source beside its p-value."""
    false_alarm = import_module("law").FALSE_ALARM
    assert false_alarm <= 1e-6
    compared = [(one.folder, *pair) for one in run.accounts() for pair in one.compared]
    assert len({folder for folder, _, _ in compared}) >= 4
    assert {record["verdict"] for _, _, record in compared} == {"fits", "differs"}
    for folder, law, record in compared:
        assert (record["p_value"] <= false_alarm) == (record["verdict"] == "differs"), f"{folder}: {law.title}"
        assert "line" in law.place or record["verdict"] == "fits", f"{folder}: {law.title}"
        assert 0 < len(law.proof) <= 3 * 160, f"{folder}: {law.title}: three lines"


@pytest.mark.parametrize(("p", "verdict"), [(0.5, "fits"), (0.47, "differs")])
def test_a_wrong_probability_is_found(run: ModuleType, p: float, verdict: str) -> None:
    """Optimised unary encoding whose own bit is one with probability p: epsilon falls with p, which no audit minds."""
    module = import_module("law")

    def glue() -> Callable[[int, np.random.Generator], list[int]]:
        q = 1 / (math.e + 1)
        return lambda x, rng: [int(rng.random() < (p if v == x else q)) for v in range(3)]

    law = module.Law(glue, "", "", lambda: UnaryEncoding(1.0, k=3), (0, 1, 2), "", samples=20_000)
    record = law.compared()
    assert record["verdict"] == verdict
    assert record["law"] == "UnaryEncoding(epsilon=1.0, k=3, kind='optimised')"
