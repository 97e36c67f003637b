"""The papers' experiments: their list, their records, the statistical verdicts, and the page that is made of these."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ldp_audit.training.data import load
from ldp_audit.training.data.packages import PACKAGES
from ldp_audit.training.experiment import run_experiment
from ldp_audit.training.fedsel.plan import PRESETS, FedSel
from ldp_audit.training.pipeline import PIPELINES, comparing_of, findings_of, judge, plan_class, presets_of
from ldp_audit.training.reproduction import __main__ as program
from ldp_audit.training.reproduction.judgement import judged, spends, summary
from ldp_audit.training.reproduction.page import page
from ldp_audit.training.reproduction.record import (
    Experiment,
    complete,
    condensed,
    expanded,
    experiment_named,
    experiments,
    not_run,
    recorded,
)
from ldp_audit.training.sweep import Sweep, jobs_of
from tests.together import together
from tests.training.data.image_files import write_mnist
from tests.training.toy import points

MNIST, ADULT = experiment_named("ldp-fl-mnist"), experiment_named("fedsel-adult")
TINY = Experiment(
    "tiny", "Tiny", "ldp-fl", "mnist", "mnist", 2, 2.0, ["Everything."], set={"n": 2, "epochs": 1, "rounds": 2}
)
TOY = "tests.training.toy:Toy"


def made(one: Experiment, accuracies: Mapping[float, tuple[float, ...]], **data: Any) -> dict[str, Any]:
    """Results of an experiment of LDP-FL's with these accuracies by epsilon, one a repeat."""
    jobs = jobs_of(plan_class(one.pipeline), one.sweeps(), 0)
    seen = dict.fromkeys(accuracies, 0)
    runs = []
    for job in jobs:
        epsilon = job.settings["epsilon"]
        accuracy = accuracies[epsilon][seen[epsilon] % len(accuracies[epsilon])]
        seen[epsilon] += 1
        settings = {**job.settings, "epsilon": "inf" if epsilon == float("inf") else epsilon}
        rounds = [{"round": n, "accuracy": accuracy, "layers": {"output": {"bias": 0.1}}} for n in (1, 2)]
        runs.append(
            {"settings": settings, "seed": job.seed, "rounds": rounds, "seconds": 1.0, "device": {"name": "cpu"}}
        )
    tool = {"name": "ldp-audit", "version": "0"}
    return {
        "schema_version": 1,
        "tool": tool,
        "pipeline": one.pipeline,
        "seed": 0,
        "data": data,
        "runs": runs,
        "spend": [],
    }


def test_every_experiment_is_of_data_that_can_be_fetched_and_of_a_plans_settings() -> None:
    """A command that fails at its start, after hours of others; and a record that another experiment writes over."""
    for one in experiments():
        assert jobs_of(plan_class(one.pipeline), one.sweeps(), 0)
        files = one.data in PACKAGES
        assert (one.folder(Path("data")) is not None) == (f"--folder data/{one.data}" in one.command()) == files
        assert files or load(one.data)
    assert len({one.name for one in experiments()}) == len(experiments())


def test_the_page_is_what_the_records_say() -> None:
    """`python -m ldp_audit.training.reproduction page > docs/reproduction.md` mends it."""
    written = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert page() == written


def test_whatever_the_papers_print_is_an_experiment_or_named_as_not_run() -> None:
    """Catches "Nothing is left" while whole tables are: every preset is of the papers, but for FedMD-LDP's baseline,
    of which the paper prints no accuracy, and what the findings need."""
    asked = {(one.pipeline, one.preset) for one in experiments()}
    reasons = " ".join(f"{one.says} {one.reason}" for one in not_run())
    for pipeline in PIPELINES:
        for preset in presets_of(plan_class(pipeline)):
            assert (pipeline, preset) in asked or preset in reasons or preset.startswith("ldp-"), preset
    data = {one.data for one in experiments()}
    for line in PRESETS.document["table-3"]["rows"]:
        assert all(name in data or name.upper() in reasons for name in line["data"])
    told = page().partition("## Not run")[2]
    assert all(f"* {one.says}: {one.reason}." in told for one in not_run())
    for one in experiments():
        results, asked = recorded(one.name), sum(len(sweep.combinations()) for sweep in one.sweeps())
        done = 0 if results is None else len(results["points"])
        assert (f"* {one.says}: {done} of {asked} settings" in told) == (done < asked), one.name


@together(
    ("repeats", "choosing", "papers", "sentence"),
    [
        (5, 0, 10, "Fewer repeats than the paper's: 5, where it has 10."),
        (13, 4, 10, "Fewer repeats than the paper's: 9, where it has 10."),
        (13, 3, 10, ""),
        (5, 0, None, "The paper does not say of how many repeats its figures are; here they are of 5."),
    ],
)
def test_fewer_repeats_than_the_papers_are_a_difference(
    repeats: int, choosing: int, papers: int | None, sentence: str
) -> None:
    """Catches repeats that choose the learning rates counted among those that are reported."""
    one = dataclasses.replace(TINY, repeats=repeats, choosing=choosing, paper_repeats=papers)
    assert one.differences() == ["Everything.", *([sentence] if sentence else [])]


def test_the_papers_epsilon_is_the_one_that_it_prints() -> None:
    """Catches Theorem 2's epsilon at our number of records, 0.00544, given as the paper's: Table 2 prints 0.0027."""
    digits = experiment_named("fedmd-nfdp-digits")
    first, second = spends(digits, recorded(digits.name) or {})
    assert first["the paper's epsilon, as printed"] == "0.0027 (delta 0.0062)"
    assert first["by its theorem with our records"].startswith("0.00544126 (delta 0.0054283")
    assert second["the paper's epsilon, as printed"] == "0.0452 (delta 0.0989)"


@together(("permute", "words"), [(True, "the run permuted"), (False, "the run did not permute")])
def test_a_shuffled_spend_says_whether_the_run_permuted_its_reports(permute: bool, words: str) -> None:
    """Catches an epsilon of shuffled reports beside a run that shuffled none."""
    results = recorded(MNIST.name) or {}
    runs = [{**run, "settings": {**run["settings"], "permute": permute}} for run in results["runs"]]
    (found,) = spends(MNIST, {**results, "runs": runs})
    assert found["epsilon if shuffled"].endswith(f" ({words} its reports)")
    assert found["the paper's epsilon"] == "1"


def test_a_record_keeps_all_that_findings_and_figures_are_computed_from() -> None:
    results = made(MNIST, {1.0: (0.96, 0.97, 0.961), float("inf"): (0.98, 0.981)}, name="mnist")
    again = expanded(json.loads(json.dumps(condensed(results))))
    plan = plan_class("ldp-fl")
    for ask in (comparing_of(plan), lambda found: judge(findings_of(plan), found)):
        assert len(ask(results)) > 0
        assert [one.to_dict() for one in ask(again)] == [one.to_dict() for one in ask(results)]


@together(
    ("accuracies", "verdict"),
    [
        ((0.962, 0.963, 0.9615, 0.9622, 0.963), "REPRODUCED"),
        ((0.975, 0.9751, 0.9749, 0.975, 0.9752), "REPRODUCED"),
        ((0.99, 0.991, 0.9905, 0.9902, 0.9907), "NOT REPRODUCED"),
        ((0.8, 0.81, 0.79, 0.8, 0.805), "NOT REPRODUCED"),
        ((0.93, 0.96, 0.99, 0.95, 0.96), "WITHIN NOISE"),
    ],
)
def test_a_figure_has_the_verdict_of_the_test_of_its_margin(accuracies: tuple[float, ...], verdict: str) -> None:
    """Section 5.2 prints 0.9624; the margin is two points on either side."""
    (reading,) = judged(MNIST, made(MNIST, {1.0: accuracies, float("inf"): (0.98,)}, name="mnist"))
    (figure,) = reading.figures
    assert figure.verdict == verdict


def test_one_run_and_other_data_are_not_tested() -> None:
    once = dataclasses.replace(MNIST, repeats=1)
    (reading,) = judged(once, made(once, {1.0: (0.96,), float("inf"): (0.98,)}, name="mnist"))
    assert [one.verdict for one in (*reading.figures, *reading.comparisons)] == ["NOT TESTED", "NOT TESTED"]
    digits = experiment_named("fedmd-nfdp-digits")
    (reading,) = judged(digits, fedmd(digits))
    assert {one.verdict for one in reading.figures} == {"NOT TESTED"}
    assert any("letters" in line for line in summary(digits, fedmd(digits), [reading]))
    assert [one.place for one in reading.comparisons] == ["Table 2; on other data than the paper's"]


def fedmd(one: Experiment) -> dict[str, Any]:
    jobs = jobs_of(plan_class(one.pipeline), one.sweeps(), 0)
    runs = [
        {"settings": dict(job.settings), "seed": job.seed, "rounds": [{"accuracy": 0.8 + place / 1000}]}
        for place, job in enumerate(jobs)
    ]
    return {"data": {"name": "mnist"}, "runs": runs, "spend": []}


def adult(best: Mapping[str, float], **reported: float) -> dict[str, Any]:
    """Every solution has 0.9 at its best rate in the repeats that choose, else 0.85; then it has 0.8, else 0.95.

    reported: another accuracy of flat PM's in the repeats that are reported, by its model, at the best rate of all.
    """
    runs = []
    for job in jobs_of(FedSel, ADULT.sweeps(), 0):
        right = job.settings["learning_rate"] == best[job.settings["solution"]]
        wobble = [0.0001 * (place * len(job.settings["solution"]) % 7) for place in range(8 * 5)]
        flat = job.settings["solution"] == "PM" and job.settings["learning_rate"] == 10.0
        then = reported.get(job.settings["model"] if flat else "", 0.8 if right else 0.95)
        values = [(0.9 if right else 0.85)] * 15 + [then] * 25
        accuracies = [a + b for a, b in zip(values, wobble, strict=True)]
        runs.append({"settings": dict(job.settings), "seed": job.seed, "rounds": [{"accuracies": accuracies}]})
    return {"data": {"name": "adult", "positive": 0.24, "columns": 123}, "runs": runs, "spend": []}


def test_rates_are_chosen_on_repeats_that_are_not_reported() -> None:
    """Reported are the accuracies at what the first three repeats chose, and only of the other five."""
    best = dict.fromkeys(("EXP-PM", "EXP-PM-C", "PE-PM", "PE-PM-C", "PS-PM", "PS-PM-C"), 10.0) | {"PM": 0.3}
    shared, own = judged(ADULT, adult(best))
    assert set(own.rates.values()) == {10.0, 0.3}
    assert {name for (_, name), rate in own.rates.items() if rate == 0.3} == {"PM"}
    assert set(shared.rates.values()) == {10.0}
    assert shared.name == "the one rate best for the mean of all, also the one rate most favourable to selection"
    gains = [one.row.measured for one in own.figures if "gain" in one.row.what]
    assert gains == pytest.approx([0.0] * 6, abs=0.1), "flat PM has 0.8 as well, at its own rate"
    gains = [one.row.measured for one in shared.figures if "gain" in one.row.what]
    assert gains == pytest.approx([-15.0] * 6, abs=0.1), "what is reported has the opposite sign of what was chosen by"
    assert {len(one.row.values) for one in (*own.figures, *shared.figures)} == {5}
    assert {one.verdict for one in shared.comparisons} == {"NOT REPRODUCED"}
    assert len(summary(ADULT, adult(best), [shared])) == 2


@together(
    ("reported", "verdict", "parts"),
    [
        ({}, "NOT REPRODUCED", ""),
        ({"logistic": 0.7, "svm": 0.7}, "NOT COMPARED", ""),
        ({"svm": 0.7}, "NOT REPRODUCED", ", 3 of 6 parts"),
        ({"logistic": 0.75, "svm": 0.77}, "REPRODUCED", ", 3 of 6 parts"),
    ],
)
def test_a_method_that_learnt_nothing_is_not_beaten(reported: dict[str, float], verdict: str, parts: str) -> None:
    """Catches "FedSel more accurate than flat PM" at a rate at which PM is below 0.76, always answering the same; and a
    verdict on one model that is not told from one on both."""
    best = dict.fromkeys(("EXP-PM", "EXP-PM-C", "PE-PM", "PE-PM-C", "PS-PM", "PS-PM-C"), 10.0) | {"PM": 0.3}
    results = adult(best, **reported)
    readings = judged(ADULT, results)
    (found,) = readings[0].comparisons
    assert (found.verdict, found.compared) == (verdict, parts)
    idle = {model: accuracy for model, accuracy in reported.items() if accuracy < 0.76}
    words = summary(ADULT, results, readings[:1])[-1]
    for model, accuracy in idle.items():
        told = f"model = {model}, PM learnt nothing: {100 * accuracy + 0.03:.2f}%, a constant answer has 76.00%"
        assert words.count(told) == 1
    assert ("learnt nothing" in words) == bool(idle)
    gains = {one.row.what: one.verdict for one in readings[0].figures if "gain" in one.row.what}
    assert {what for what, one in gains.items() if one == "NOT COMPARED"} == {
        f"{model}, {selection}, gain" for model in idle for selection in ("EXP", "PE", "PS")
    }


def test_what_is_finished_can_be_told_while_the_rest_runs(tmp_path: Path) -> None:
    """A point that lacks a run is in the record, so that its runs are kept, but nothing is said of it."""
    sweeps = [Sweep({}, {"epsilon": (0.5, 1.0)}, repeats=2)]
    whole = run_experiment(TOY, sweeps, points(), device="cpu", workers=1, folder=tmp_path)
    first = sorted((tmp_path / "runs").glob("run-*.json"))[0]
    lost = json.loads(first.read_text())["record"]
    first.write_text(first.read_text().replace("0", "1", 1))
    part = run_experiment(TOY, sweeps, points(), device="cpu", workers=1, folder=tmp_path, finished=True)
    first.unlink()
    assert part["runs"] == [run for run in whole["runs"] if run != lost]
    assert not first.exists()
    told = complete(part, 2)
    assert told is not None
    assert told["runs"] == [run for run in whole["runs"] if run["settings"]["epsilon"] != lost["settings"]["epsilon"]]
    assert [one["settings"] for one in (*told["points"], *told["spend"])] == [{}, {}]
    assert complete(part, 3) is None
    for file in (tmp_path / "runs").glob("run-*.json"):
        file.unlink()
    with pytest.raises(ValueError, match="folder must hold a finished run or more"):
        run_experiment(TOY, sweeps, points(), device="cpu", folder=tmp_path, finished=True)


def test_the_program_says_what_is_left_runs_it_and_records_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mnist").mkdir()
    write_mnist(tmp_path / "mnist")
    monkeypatch.setattr(program, "experiments", lambda: (TINY,))
    places = [f"--{name}={tmp_path / name}" for name in ("out", "records", "page")]
    asked = [*places, f"--data={tmp_path}", "--device=cpu", "--workers=1"]
    assert program.main(["plan", *asked]) == 0
    assert capsys.readouterr().out == "tiny: 0 of 4 runs; time not known\n"
    assert program.main(["run", *asked]) == 0
    record = json.loads((tmp_path / "records" / "tiny.json").read_text())
    assert [len(run["rounds"]) for run in record["runs"]] == [2] * 4
    assert record["spend"][0]["everything"]["by_name"]
    assert (tmp_path / "page").read_text() == page(tmp_path / "records") != page()
    capsys.readouterr()
    assert program.main(["plan", *asked]) == 0
    assert capsys.readouterr().out == "tiny: 4 of 4 runs\n"
    assert program.main(["plan", "--only", "none", *asked]) == 2
    assert "experiment must be one of ldp-fl-mnist, " in capsys.readouterr().err


def test_an_experiment_of_data_without_files_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a folder that is asked of synthetic data, after hours of other experiments."""
    one = dataclasses.replace(
        ADULT,
        name="tiny-synthetic",
        data="synthetic",
        set={"users": 100, "rounds": 1},
        vary={"learning_rate": [1.0]},
        repeats=2,
        choosing=1,
    )
    monkeypatch.setattr(program, "experiments", lambda: (one,))
    places = [f"--{name}={tmp_path / name}" for name in ("out", "records", "page", "data")]
    assert program.main(["run", *places, "--device=cpu", "--workers=1"]) == 0
    assert capsys.readouterr().out.startswith("tiny-synthetic: 0 of 14 runs; ")
    record = json.loads((tmp_path / "records" / "tiny-synthetic.json").read_text())
    assert (record["data"]["name"], len(record["runs"])) == ("synthetic", 14)


def test_another_machine_goes_on_from_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record was once written over by the runs that one machine held. One of other data is not continued; runs of
    another device are, and keep its name."""
    (tmp_path / "mnist").mkdir()
    write_mnist(tmp_path / "mnist")
    monkeypatch.setattr(program, "experiments", lambda: (TINY,))
    file = tmp_path / "records" / "tiny.json"

    def run(what: str, out: str) -> str:
        places = [f"--records={file.parent}", f"--page={tmp_path / 'page'}", f"--out={tmp_path / out}"]
        assert program.main([what, *places, f"--data={tmp_path}", "--device=cpu", "--workers=1"]) == 0
        return capsys.readouterr().out

    run("run", "first")
    whole = json.loads(file.read_text())
    kept = [run for run in whole["runs"] if run["settings"]["epsilon"] == 1.0]
    part = {
        **whole,
        "settings": {**whole["settings"], "epsilon": 1.0},
        "runs": [{**run, "settings": {}} for run in kept],
    }
    file.write_text(json.dumps(part))
    assert run("plan", "second").startswith("tiny: 2 of 4 runs; ")
    run("run", "second")
    again = json.loads(file.read_text())
    assert [run["seconds"] for run in again["runs"] if run["settings"]["epsilon"] == 1.0] == [
        run["seconds"] for run in kept
    ]
    for result in (again, whole):
        for one in result["runs"]:
            del one["seconds"]
    assert again == whole
    file.write_text(json.dumps({**part, "data": {**part["data"], "digest": "0" * 16}}))
    assert run("plan", "third").startswith("tiny: 0 of 4 runs")
    other = {**whole["device"], "device": "cuda", "name": "a GPU"}
    file.write_text(json.dumps({**part, "runs": [part["runs"][0], {**part["runs"][1], "device": other}]}))
    run("run", "fourth")
    told = [run.get("device", "the same") for run in json.loads(file.read_text())["runs"]]
    assert told.count(other) == 1
    assert told.count("the same") == 3


def test_what_the_records_say_needs_no_torch() -> None:
    """The report asks every experiment, and `make report` installs no torch."""
    says = """
import sys

class NoTorch:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
from ldp_audit.training.reproduction.judgement import evidence
from ldp_audit.training.reproduction.record import experiments

print(sum(len(evidence(one.name)) for one in experiments()))
"""
    ran = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 10
