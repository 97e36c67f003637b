"""What `benchmarks/gpu.py` finds and how it goes on; its quick sizes run on the CPU, and each check is seen to fail."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ldp_audit.training.ldp_fl import reports
from tests.together import together

CPU = torch.device("cpu")
QUICK = ["--device", "cpu", "--quick", "--threads", "1"]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a benchmark by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


def rows(benchmark: Any, file: Path, parts: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """Exit code, and rows by part."""
    before = torch.get_num_threads()
    code = benchmark("gpu").main([*QUICK, "--only", parts, "--json", str(file)])
    assert torch.get_num_threads() == before
    record = json.loads(file.read_text())
    assert {"torch", "CUDA", "device", "date", "commit"} <= record.keys()
    return code, {name: part["rows"] for name, part in record["parts"].items()}


def test_figures_of_chunks_blocks_and_rounds_are_recorded(benchmark: Any, tmp_path: Path) -> None:
    code, found = rows(benchmark, tmp_path / "gpu.json", "chunks,blocks,rounds,equality")
    assert code == 0
    assert [row["factor"] for row in found["blocks"] if row["used"]] == [16]
    assert {row["factor"] for row in found["chunks"] if row["used"]} == {50}
    assert {row["pipeline"] for row in found["rounds"]} == {row["pipeline"] for row in found["equality"]}
    assert all(row["seconds"] > 0 for name in ("chunks", "blocks", "equality") for row in found[name])


@pytest.mark.slow
def test_every_part_holds_on_the_cpu(benchmark: Any, tmp_path: Path) -> None:
    parts = benchmark("gpu").PARTS
    code, found = rows(benchmark, tmp_path / "gpu.json", ",".join(parts))
    assert code == 0
    assert found.keys() == parts.keys()
    assert all(found.values())


def test_a_part_that_fails_is_named_and_the_others_run(
    benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would catch one failure, or a missing package, that ends the whole script, and an exit code of 0."""

    def failing() -> Iterator[dict[str, Any]]:
        yield {"seconds": 1.0}
        raise RuntimeError("CUDA error: out of memory\nmore")

    def chunks(_: Any) -> Iterator[tuple[dict[str, Any], Callable[[], Any]]]:
        yield {"case": "a"}, failing
        yield {"case": "b"}, lambda: [{"seconds": math.nan}]
        raise ModuleNotFoundError("No module named 'flint'")

    monkeypatch.setattr(benchmark("gpu_speed"), "chunks", chunks)
    monkeypatch.setattr(benchmark("gpu_speed"), "blocks", lambda _: iter([({}, lambda: [{"seconds": 2.0}])]))
    code, found = rows(benchmark, tmp_path / "gpu.json", "chunks,blocks")
    assert code == 1
    assert found["chunks"] == [
        {"case": "a", "seconds": 1.0},
        {"case": "a", "error": "RuntimeError: CUDA error: out of memory"},
        {"case": "b", "seconds": "nan"},
        {"error": "ModuleNotFoundError: No module named 'flint'"},
    ]
    assert found["blocks"] == [{"seconds": 2.0}]
    assert "DOES NOT HOLD: case a, error RuntimeError" in capsys.readouterr().out


def test_weights_that_were_altered_do_not_agree(benchmark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    agreement = benchmark("gpu_agreement")
    weights = {"a": torch.tensor([1.0, -2.0]), "b": [torch.zeros(0), torch.tensor([[0.001]])]}
    moved = {"a": torch.tensor([1.0, -2.0]), "b": [torch.zeros(0), torch.tensor([[0.001001]])]}
    assert agreement.agreement(weights, weights, 1e-4) == {"difference": 0.0, "holds": True}
    assert not agreement.agreement(moved, weights, 1e-4)["holds"], "relative to a tensor of its own"
    assert agreement.agreement(moved, weights, 1e-2)["holds"]
    assert not agreement.agreement({"a": torch.tensor([math.nan])}, {"a": torch.ones(1)}, 1e-2)["holds"]
    with pytest.raises(ValueError, match="shape"):
        agreement.agreement({"a": torch.ones(1)}, {"a": torch.ones(2)}, 1e-2)
    with pytest.raises(ValueError, match="shorter"):
        agreement.agreement(weights, {"a": weights["a"]}, 1e-2)

    usual, devices = agreement.finished, []

    def altered(*arguments: Any) -> Any:
        run, *others = usual(*arguments)
        devices.append(arguments[4])
        if arguments[0] == "fedsel" and len(devices) % 2:  # the first of each pair is the device's
            run.weights[0, 0] *= 1.1
        return run, *others

    monkeypatch.setattr(agreement, "finished", altered)
    code, found = rows(benchmark, tmp_path / "gpu.json", "equality")
    assert code == 1
    assert {row["pipeline"] for row in found["equality"] if not row["holds"]} == {"fedsel"}


def test_noise_of_another_epsilon_is_found(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agreement, cases = benchmark("gpu_agreement"), benchmark("gpu_cases")
    settings = {"n": 10, "model": "softmax", "epochs": 1}

    def judged() -> dict[str, Any]:
        run, records, _ = agreement.finished("ldp-fl", settings, cases.images(100, 20, (1, 28, 28)), 1, CPU, 1)
        return agreement.judged(agreement.scores("ldp-fl", records[-1], run))

    assert judged()["holds"]
    usual = reports.reports
    monkeypatch.setattr(reports, "reports", lambda w, ranges, epsilon, rng: usual(w, ranges, epsilon * 1.2, rng))
    found = judged()
    assert not found["holds"]
    assert found["worst"] == "output.weight variance"


@together(
    ("scores", "holds"),
    [({"a": -5.9, "b": 1.0}, True), ({"a": 1.0, "b": -6.1}, False), ({"a": math.nan}, False), ({}, False)],
)
def test_a_score_beyond_six_deviations_or_none_does_not_hold(
    benchmark: Any, scores: dict[str, float], holds: bool
) -> None:
    assert benchmark("gpu_agreement").judged(scores)["holds"] is holds


def test_measures_of_fedsel_and_fedmd_are_scored(benchmark: Any) -> None:
    scores, cases = benchmark("gpu_agreement").scores, benchmark("gpu_cases")
    run = cases.started("fedsel", {"solution": "PE-PM", "repeats": 2}, cases.table(1000), CPU)
    measure = {"measured": 1.0, "exact": 0.5, "standard_error": 0.25}
    record = {"bias": measure, "variance": measure, "nothing": {"measured": 0.6, "exact": 0.5}, "users": 10}
    assert scores("fedsel", record, run) == pytest.approx({"bias": 2, "variance": 2, "nothing": 2})
    run = cases.started("fedmd-nfdp", {"method": "ldp"}, cases.digits(), CPU)
    noise = {"noise": {"measured_variance": 11.0, "exact_variance": 10.0, "numbers": 800}}
    assert scores("fedmd-nfdp", noise, run) == pytest.approx({"variance": 2})


def test_a_seed_that_gives_other_states_is_found(
    benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement = benchmark("gpu_agreement")
    usual, seeds = agreement.started, iter(range(100))
    cases = [one for one in agreement._noisy(benchmark("gpu_cases").Setting(CPU, True, 1)) if one[0] == "fedsel"]  # noqa: SLF001
    monkeypatch.setattr(agreement, "_noisy", lambda _: cases)
    monkeypatch.setattr(agreement, "_noise_free", lambda _: [])
    code, found = rows(benchmark, tmp_path / "gpu.json", "twice")
    assert (code, found["twice"][0]["holds"]) == (0, True)
    monkeypatch.setattr(agreement, "started", lambda *arguments: usual(*arguments, seed=next(seeds)))
    code, found = rows(benchmark, tmp_path / "gpu.json", "twice")
    assert (code, found["twice"][0]["holds"]) == (1, False)


def test_operations_without_a_deterministic_algorithm_are_listed(benchmark: Any) -> None:
    operation = benchmark("gpu_agreement").operation
    text = "max_pool2d_backward_cuda does not have a deterministic implementation, but you set 'torch.use_..."
    assert operation(text) == "max_pool2d_backward_cuda"
    assert operation("an operation is deprecated") is None


def test_a_slower_choice_says_so(benchmark: Any) -> None:
    verdict = benchmark("gpu_speed").verdict
    assert verdict({"grouped": 0.565, "vmap": 0.505}, "grouped")["says"] == "auto takes grouped, 12% slower than vmap"
    assert verdict({"grouped": 0.52, "vmap": 0.505}, "grouped")["says"] == "auto takes the quickest"
