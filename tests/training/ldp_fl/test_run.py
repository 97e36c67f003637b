"""LDP-FL's runs: Algorithm 1 against its definition, resumed runs, and settings at their ends."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from ldp_audit.training import data
from ldp_audit.training.ldp_fl import reports
from ldp_audit.training.ldp_fl.plan import LdpFl
from ldp_audit.training.streams import Streams
from tests.together import together
from tests.training.ldp_fl.small import CPU, finished, images, run


def assert_same_weights(one: Any, other: Any, tolerance: float = 0.0) -> None:
    for name, weight in one.weights.items():
        torch.testing.assert_close(other.weights[name], weight, rtol=tolerance, atol=tolerance)


def test_without_noise_a_round_is_federated_averaging() -> None:
    """Clipping or noise in the baseline, and an average over the wrong clients; one full-batch step each, by hand."""
    one = run(epsilon=math.inf, epochs=1, batch_size=99, learning_rate=0.2, fraction=0.5)
    start, chosen = dict(one.weights), one.choose(1)
    expected = {name: torch.zeros_like(weight) for name, weight in start.items()}
    for client in chosen:
        leaves = {name: weight.clone().requires_grad_() for name, weight in start.items()}
        x, y = one.clients.client(client)
        cross_entropy(torch.func.functional_call(one.model, leaves, (x,)), y).backward()
        for name, leaf in leaves.items():
            assert leaf.grad is not None
            expected[name] += (leaf.detach() - 0.2 * leaf.grad) / len(chosen)
    record = one.advance(1)
    assert record["clients"] == len(chosen) == 3
    assert record["layers"] == {}
    for name, weight in expected.items():
        torch.testing.assert_close(one.weights[name], weight, rtol=1e-5, atol=1e-6)


@together(
    "damage",
    [
        {"weights": None},
        {"weights": {}},
        {"weights": {"conv1.weight": torch.zeros(3)}},
        {"centers": [0.0]},
        {"radii": "many"},
    ],
)
def test_a_state_of_another_run_is_refused(damage: dict[str, Any]) -> None:
    """A checkpoint of another model that fails later, or never."""
    one = run()
    with pytest.raises(ValueError, match="state must hold"):
        one.restore({**one.state(), **damage})


def test_noise_does_not_depend_on_how_clients_are_trained() -> None:
    """Noise drawn chunk by chunk. Strategies round otherwise, so that a report in ten thousand may differ."""
    first = finished(rounds=1, strategy="loop", chunk=1)[0]
    second = finished(rounds=1, strategy="vmap", chunk=4)[0]
    apart = sum(int(((first.weights[n] - second.weights[n]).abs() > 1e-5).sum()) for n in first.weights)
    assert apart <= first.dimensions * 6 / 10_000


class OneGenerator(Streams):
    """Everything is drawn from equal generators: a case in which equal seeds would be seen."""

    def torch(self, *_: object, **__: object) -> torch.Generator:
        return torch.Generator().manual_seed(7)


def test_blocks_of_clients_never_share_their_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed for each block: of 500 clients with a million weights, 15 rounds, two would be equal once in 150 runs."""
    monkeypatch.setattr(reports, "BLOCK_WEIGHTS", 1)
    one = run(model="softmax", ranges="fixed", radius=0.3)
    one.streams = OneGenerator(one.streams.seed)
    one.advance(1)
    reach = 0.3 / math.tanh(0.5)
    assert all(bool((weight.abs() < 0.9 * reach).any()) for weight in one.weights.values()), (
        "six equal reports a weight"
    )


def test_permuted_reports_have_the_same_average() -> None:
    """Algorithm 3 changes what the server knows, not what it computes; messages lost or given to another weight."""
    plain, kept = finished(rounds=1, fraction=0.5)
    mixed, records = finished(rounds=1, fraction=0.5, permute=True, window=0.25)
    assert_same_weights(plain, mixed, 1e-6)
    assert "arrivals" not in kept[0]
    arrivals = records[0]["arrivals"]
    assert arrivals["messages"] == 3 * mixed.dimensions
    assert 1 <= arrivals["first"] < arrivals["last"] < 1.25
    assert arrivals["span"] == arrivals["last"] - arrivals["first"]


@together(
    "settings",
    [
        {"ranges": "fixed", "radius": 1e10, "epsilon": 1e-12},
        {"ranges": "fixed", "radius": 1e-10, "epsilon": 700.0},
        {"ranges": "fixed", "center": -1e10, "radius": 1e6},
        {"least": 1e-10, "most": 1e10, "spread": 1e300, "epsilon": 1e-12, "fraction": 0.1, "rounds": 8},
        {"least": 1e-10, "most": 1e-10, "epsilon": 1e-12, "rounds": 8},
        {"rule": "extremes", "most": 1e10, "epsilon": 1e-12, "fraction": 0.1, "rounds": 8},
        {"learning_rate": 1e38},
        {"window": 1e308, "permute": True},
    ],
)
def test_settings_at_their_ends_run(settings: dict[str, Any]) -> None:
    """Overflows in records, in the sampler's float32 or in the ranges; scores that accuse rounding."""
    one, records = finished(**settings)
    json.dumps(records, allow_nan=False)
    layers = [layer for record in records for layer in record["layers"].values()]
    assert all(abs(layer[key]) < 10 for layer in layers for key in ("bias_z", "variance_z"))
    assert all(bool(weight.isfinite().all()) for weight in one.weights.values())


@together("ranges", ["fixed", "adaptive"])
@together("epsilon", [1e-9, 50.0, math.inf])
def test_the_ends_of_epsilon_train_or_say_why_not(epsilon: float, ranges: Any) -> None:
    """Infinities in weights, ranges or records, which JSON cannot hold."""
    one, records = finished(epsilon=epsilon, ranges=ranges)
    json.dumps(records, allow_nan=False)
    assert all(bool(weight.isfinite().all()) for weight in one.weights.values())
    assert all(0 <= record["accuracy"] <= 1 for record in records)
    assert all(layer["lemma_3"]["holds"] for record in records for layer in record["layers"].values())


@together("settings", [{"fraction": 0.01}, {"n": 1}, {"n": 60, "batch_size": 1}])
def test_one_client_a_round_one_client_and_one_image_each(settings: dict[str, Any]) -> None:
    """Rounding to no client at all, and ranges that follow a single report to nowhere."""
    one, records = finished(**settings)
    assert records[0]["clients"] == one.plan.chosen
    assert max(one.ranges.radii) <= one.plan.most


def test_clients_whose_training_leaves_the_floats_report_what_they_received() -> None:
    """A run that dies in a sweep; weights that are no numbers and get averaged."""
    one = run(learning_rate=1e30, perturb=False, ranges="fixed", radius=2.0)
    before = dict(one.weights)
    record = one.advance(1)
    assert record["diverged"] == list(range(6))
    for name, weight in before.items():
        torch.testing.assert_close(one.weights[name], weight)


@together("chunk", [1, 4])
def test_one_client_that_diverges_changes_its_own_report_alone(chunk: int) -> None:
    """A client whose data decide, without noise, what all others send: no epsilon of its report covers that."""
    settings: dict[str, Any] = {"perturb": False, "ranges": "fixed", "radius": 9.0, "rounds": 1, "chunk": chunk}
    usual, broken = run(**settings), run(**settings)
    broken.clients = replace(broken.clients, x=broken.clients.x.clone())
    broken.clients.x[broken.clients.index[2]] = math.inf
    received, (_, trained) = dict(usual.weights), next(iter(usual.trained(1, torch.tensor([2]), [])))
    assert "diverged" not in usual.advance(1)
    assert broken.advance(1)["diverged"] == [2]
    for name, weight in received.items():
        expected = usual.weights[name] + (weight - trained[name][0]) / 6
        torch.testing.assert_close(broken.weights[name], expected, rtol=1e-5, atol=1e-6)


def test_a_learning_rate_that_float32_cannot_hold_is_refused() -> None:
    """An error from inside torch."""
    with pytest.raises(ValueError, match=r"learning_rate must be a positive number, at most 3\.4e"):
        run(learning_rate=1e39).advance(1)


def test_accuracy_is_learnt() -> None:
    """A pipeline that trains nothing: three bands of rows are easy."""
    assert finished(epsilon=math.inf, rounds=4, epochs=5)[1][-1]["accuracy"] > 0.8


def test_too_many_messages_are_refused() -> None:
    """A permuted round that takes all memory."""
    big = LdpFl(model="mlp", n=1000, permute=True)
    x, y = images().train_x.repeat(20, axis=0), images().train_y.repeat(20)
    wide = x.repeat(8, axis=2).repeat(8, axis=3)
    with pytest.raises(ValueError, match="permute must be false"):
        big.start(data.Images("wide", wide, y, wide[:1], y[:1], 3), seed=1, device=CPU)
