"""Local training: all strategies against plain SGD, batches, determinism, errors; and accuracy."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from ldp_audit.training.client_data import Batch, LocalWork, draw_orders
from ldp_audit.training.local_training import STRATEGIES, evaluate, train_clients
from ldp_audit.training.streams import Streams
from tests.together import together
from tests.training.plain_clients import a_round, distance, tolerance


def model_for(strategy: str) -> str:
    return "softmax" if strategy == "closed-form" else "digit-cnn"


@together("dtype", [torch.float64, torch.float32])
@together("strategy", tuple(STRATEGIES))
def test_every_strategy_agrees_with_plain_sgd_up_to_rounding(strategy: str, dtype: torch.dtype) -> None:
    """Catches a wrong mean over a padded or smaller batch, a client that trains on another's samples, a lost step."""
    case = a_round(model_for(strategy), dtype)
    assert distance(case.trained(strategy), case.plain()) <= tolerance(case.weights)


@together("strategy", tuple(STRATEGIES))
def test_a_caller_without_gradients_gets_the_same_weights(strategy: str) -> None:
    case = a_round(model_for(strategy))
    usual = case.trained(strategy)
    with torch.no_grad():
        assert distance(case.trained(strategy), usual) == 0


@together("chunk", [1, 3, 5, 100])
@together("strategy", tuple(STRATEGIES))
def test_the_chunk_changes_nothing_but_rounding(strategy: str, chunk: int) -> None:
    """Catches a chunk that is cut at the wrong client, or one that pads to another length."""
    case = a_round(model_for(strategy))
    assert distance(case.trained(strategy, chunk=chunk), case.plain()) <= tolerance(case.weights)


@together("strategy", tuple(STRATEGIES))
def test_a_sum_in_place_of_the_mean_and_a_mean_over_padding_are_seen(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison itself: it must fail by far for the two likeliest bugs. The loop pads nothing."""
    case, batches = a_round(model_for(strategy)), LocalWork.batches
    bugs = [torch.ceil, lambda share: torch.ceil(share) / share.shape[1]]
    for wrong in bugs[:1] if strategy == "loop" else bugs:
        wrongly = lambda work, wrong=wrong: (Batch(x, y, wrong(share)) for x, y, share in batches(work))  # noqa: E731
        monkeypatch.setattr(LocalWork, "batches", wrongly)
        assert distance(case.trained(strategy), case.plain()) > 1e6 * tolerance(case.weights)


def test_the_epochs_of_a_client_go_through_all_of_its_samples_and_no_others() -> None:
    """Catches an order that repeats samples, or draws padding."""
    data = a_round().data
    orders = draw_orders(data, torch.tensor([4, 0, 3]), 3, Streams(1), (1,))
    assert orders.shape == (3, 3, data.x.shape[1])
    for epoch in orders:
        for client, order in zip((4, 0, 3), epoch, strict=True):
            size = int(data.sizes[client])
            assert sorted(order[:size].tolist()) == list(range(size))
            assert set(order[size:].tolist()) <= {int(order[0])}  # what pads is one of its own samples


def test_the_order_depends_on_client_round_epoch_and_seed_and_not_on_who_else_is_chosen() -> None:
    """Catches one order for all clients, rounds or epochs, and a canary that changes everybody's batches."""
    data = a_round().data

    def order(seed: int, round_number: int, chosen: list[int], client: int) -> list[list[int]]:
        drawn = draw_orders(data, torch.tensor(chosen), 2, Streams(seed), (round_number,))
        return drawn[:, chosen.index(client), : int(data.sizes[client])].tolist()

    assert order(1, 1, [2], 2) == order(1, 1, [0, 1, 2], 2) == order(1, 1, [4, 2, 0], 2)
    several = [
        order(1, 1, [2], 2)[0],
        order(1, 1, [2], 2)[1],
        order(1, 2, [2], 2)[0],
        order(2, 1, [2], 2)[0],
        order(1, 1, [4], 4)[0],
    ]
    assert len({tuple(one) for one in several}) == len(several)  # two of 8! or 9! orders are equal with chance 1e-4


@together("strategy", tuple(STRATEGIES))
def test_equal_seeds_give_equal_bits_and_leave_the_global_generator_and_the_weights_alone(strategy: str) -> None:
    """Catches global randomness, and steps that move the server's weights in place."""
    case = a_round(model_for(strategy), torch.float32)
    state, before = torch.get_rng_state(), {name: weight.clone() for name, weight in case.weights.items()}
    first, second = case.trained(strategy), case.trained(strategy)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert all(torch.equal(before[name], case.weights[name]) for name in before)
    assert torch.equal(state, torch.get_rng_state())
    assert distance(first, case.trained(strategy, place=(4,))) > 100 * tolerance(case.weights)


@together("strategy", tuple(STRATEGIES))
@together("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_names_the_client_and_the_round(strategy: str, bad: float) -> None:
    """Catches a NaN that spreads silently into the average, or is laid at another client's door."""
    case = a_round(model_for(strategy))
    case.data.x[3, 0] = bad
    with pytest.raises(FloatingPointError, match=r"client 3 in round 3: .* learning_rate below 0.2"):
        case.trained(strategy, [4, 2, 3, 0])


@together("strategy", tuple(STRATEGIES))
def test_a_client_that_diverges_leaves_the_others_alone_where_it_may(strategy: str) -> None:
    """Catches a NaN that stays in some weights only, or that reaches a client of the same chunk."""
    case = a_round(model_for(strategy))
    right = case.trained(strategy, chunk=5)
    case.data.x[3, 0] = float("inf")
    found = case.trained(strategy, chunk=5, strict=False)
    others = torch.tensor([0, 1, 2, 4])
    for name, weight in found.items():
        assert bool(weight[3].isnan().all())
        torch.testing.assert_close(weight[others], right[name][others], rtol=0, atol=tolerance(case.weights))


def test_bad_arguments_are_refused_at_the_call_by_name() -> None:
    """Catches arguments that would be rounded, wrapped or ignored, and errors that come with the first chunk only."""
    case = a_round()
    wrong_shape = {**case.weights, "conv1.bias": torch.zeros(9, dtype=torch.float64)}
    wrong_type = {**case.weights, "conv1.bias": torch.zeros(8)}
    for change, message in (
        ({"epochs": 0}, "epochs must be a whole number >= 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be a whole number >= 1, got 2.5"),
        ({"batch_size": True}, "batch_size must be a whole number >= 1, got True"),
        ({"chunk": 0}, "chunk must be a whole number >= 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number, at most 1.8e+308, got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a positive number, at most 1.8e+308, got nan"),
        ({"learning_rate": 10**400}, "learning_rate must be a positive number, at most 1.8e+308, got 1000"),
        ({"strategy": "magic"}, "strategy must be auto or one of loop, "),
        ({"strategy": "closed-form"}, "'closed-form' cannot train this: the model has another layer"),
        ({"chosen": []}, "chosen must be at least one index of a client"),
        ({"chosen": [5]}, "chosen must be distinct, in 0 .. 4, got [5]"),
        ({"chosen": [1, 1]}, "chosen must be distinct, in 0 .. 4, got [1, 1]"),
        ({"chosen": [0.0]}, "chosen must be at least one index of a client"),
        ({"weights": wrong_shape}, "weights must be the model's: 'conv1.bias' must be (8,), got (9,)"),
        ({"weights": {}}, "weights must be the model's: 'conv1.weight' must be (8, 1, 3, 3), got None"),
        ({"weights": wrong_type}, "weights must be like the samples, torch.float64 on cpu, got torch.float32"),
        ({"model": nn.Sequential(nn.Dropout(), nn.Linear(2, 2))}, "model must have no dropout"),
    ):
        arguments = {
            "model": case.model,
            "weights": case.weights,
            "data": case.data,
            "chosen": [0],
            "epochs": 1,
            "batch_size": 2,
            "learning_rate": 0.1,
            "streams": case.streams,
            "place": (1,),
        }
        with pytest.raises(ValueError, match=re.escape(message)):
            train_clients(**{**arguments, **change})


def test_accuracy_counts_the_samples_whose_greatest_output_is_their_label() -> None:
    """Catches a last batch that is left out or counted as a whole one."""
    model = nn.Linear(3, 3, bias=False)
    weights = {"weight": torch.eye(3)}
    x, y = torch.eye(3)[[0, 1, 2, 0, 1]], torch.tensor([0, 1, 2, 1, 1])
    for batch in (1, 2, 5, 1000):
        assert evaluate(model, weights, x, y, batch=batch) == 4 / 5
    with pytest.raises(ValueError, match="x and y must be as many, at least one, got 0 and 0"):
        evaluate(model, weights, x[:0], y[:0])
    with pytest.raises(ValueError, match="x and y must be as many, at least one, got 5 and 4"):
        evaluate(model, weights, x, y[:4])
    with pytest.raises(ValueError, match="batch must be a whole number >= 1, got 0"):
        evaluate(model, weights, x, y, batch=0)
