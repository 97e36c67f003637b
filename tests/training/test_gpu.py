"""Runs on a GPU, pretended: numbers are the CPU's, and tensors of two devices do not meet."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ldp_audit.mechanisms.values.layer_range import LayerRange
from ldp_audit.training.canary import audit_run
from ldp_audit.training.device import device_of
from ldp_audit.training.ldp_fl.moments import TwoPointMoments
from ldp_audit.training.ldp_fl.reports import LayerMeasures
from tests.together import together
from tests.training.pretended_device import OnGpu, pretended_gpu
from tests.training.test_every_pipeline import CPU, SETTINGS, START, every

OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("ldp-fl", {"model": "softmax", "n": 3}),
    ("ldp-fl", {"model": "tests.training.test_gpu:own", "n": 3}),
]
ONE_ROUND = {"ldp-fl": {"rounds": 1}, "fedmd-nfdp": {"rounds": 1}, "fedsel": {}}
"""One round has every operation; FedSel's second epoch needs the first one's."""
AUDITED = {"ldp-fl": {"model": "softmax", "n": 3, "rounds": 1, "permute": True}, "fedsel": {}, "fedmd-nfdp": {}}


def own(shape: tuple[int, ...], classes: int) -> torch.nn.Module:
    """A network that no strategy knows by its layers."""
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(shape[-1] ** 2, classes), torch.nn.Softplus())


def finished(name: str, settings: dict[str, Any], device: torch.device) -> tuple[dict[str, Any], Any]:
    plan, data = START[name]
    run = plan(**settings).start(data, seed=7, device=device)
    records = [run.advance(number) for number in range(1, run.rounds + 1)]
    again = plan(**settings).start(data, seed=7, device=device)
    again.restore(run.state())
    return records[-1], again.state()


@together(("name", "settings"), SETTINGS + OTHERS)
def test_every_pipeline_runs_on_a_gpu_without_mixing_devices(name: str, settings: dict[str, Any]) -> None:
    """Would catch an index, a table or a generator that was left on the CPU."""
    settings = {**ONE_ROUND[name], **settings}
    usual, _ = finished(name, settings, CPU)
    with pretended_gpu() as gpu:
        record, state = finished(name, settings, gpu)
    assert record["accuracy"] == pytest.approx(usual["accuracy"], abs=0.05)
    leaves = torch.utils._pytree.tree_leaves(state)  # noqa: SLF001
    assert not any(isinstance(one, OnGpu) for one in leaves), "a state is on the CPU"


@pytest.mark.slow
@every
def test_every_audit_runs_on_a_gpu_too(name: str) -> None:
    plan, data = START[name]
    with pretended_gpu() as gpu:
        found = audit_run(plan(**AUDITED[name]), data, 3, samples=10, device=gpu)
    assert found["observers"]


def test_the_pretended_gpu_refuses_what_a_gpu_refuses() -> None:
    with pretended_gpu() as gpu:
        here, there = torch.ones(3), torch.ones(3, device=gpu, requires_grad=True)
        with pytest.raises(RuntimeError, match="expected all tensors to be on one device, got cuda:0 and cpu"):
            torch.add(here, there)
        with pytest.raises(RuntimeError, match="expected all tensors to be on one device"):
            there.detach().index_select(0, torch.tensor([0]))
        (2 * there * here.to(gpu)).sum().backward()
        assert there.grad is not None
        assert there.grad.tolist() == [2, 2, 2]
        assert there.cpu().device == CPU


def test_the_measures_of_a_layer_do_not_wait_for_a_gpu_before_the_end_of_a_round() -> None:
    """Would catch five waits for each layer of each block of clients."""
    waits: list[str] = []
    with pretended_gpu(waits.append) as gpu:
        measures = LayerMeasures(LayerRange((0.0,), (1.0,), ("a",)), TwoPointMoments(1.0))
        for _ in range(3):
            measures.add({"a": torch.rand(4, 5, device=gpu)})
        assert not waits
        measures.records({"a": torch.rand(5, device=gpu)})
        assert waits


def test_a_device_without_float64_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"device must be auto, cpu, cuda, .*, got 'mps', which has no float64"):
        device_of("mps")
