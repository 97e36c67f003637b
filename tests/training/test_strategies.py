"""Which strategy is chosen, and what vmap cannot take."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ldp_audit.training import grouped
from ldp_audit.training.local_training import STRATEGIES, train_clients
from tests.together import together
from tests.training.plain_clients import Round, a_round, distance, tolerance


class Own(nn.Module):
    """A user's own network, with a convolution or without, and with a branch that depends on the data or without."""

    def __init__(self, *, convolves: bool, branches: bool) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 2, 3) if convolves else nn.Flatten()
        self.last = nn.Linear(72 if convolves else 64, 3)
        self.branches = branches

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.last(torch.tanh(self.first(x)).flatten(1))
        return 2 * y if self.branches and bool(y.sum() > -1e9) else y


def chosen(case: Round, monkeypatch: pytest.MonkeyPatch) -> str:
    """The strategy that "auto" takes."""
    taken = []
    for name, strategy in STRATEGIES.items():

        def train(work: object, chunk: int, name: str = name) -> list:
            taken.append(name)
            return []

        monkeypatch.setitem(STRATEGIES, name, strategy._replace(train=train))
    settings = {"epochs": 1, "batch_size": 2, "learning_rate": 0.1, "streams": case.streams, "place": (1,)}
    train_clients(case.model, case.weights, case.data, [0], **settings)
    return taken[0]


@together(
    ("model", "strategy"),
    [
        ("softmax", "closed-form"),
        ("mlp", "grouped"),
        ("digit-cnn", "grouped"),
        (Own(convolves=False, branches=False), "vmap"),
        (Own(convolves=True, branches=False), "loop"),
        (Own(convolves=False, branches=True), "loop"),
    ],
)
def test_the_choice_is_the_stated_one(model: str | nn.Module, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a rule that has drifted from the page that states it."""
    assert chosen(a_round(model), monkeypatch) == strategy


@together("strategy", ["auto", "vmap", "loop"])
@together("convolves", [True, False])
def test_a_users_own_module_trains_as_by_plain_sgd(strategy: str, convolves: bool) -> None:
    """Catches a strategy that knows the shipped networks only."""
    case = a_round(Own(convolves=convolves, branches=False))
    assert distance(case.trained(strategy), case.plain()) <= tolerance(case.weights)


def test_a_module_that_vmap_cannot_take_is_refused_with_its_reason_and_trained_by_the_loop() -> None:
    """Catches torch's message without ours, and a network that cannot be trained at all."""
    case = a_round(Own(convolves=False, branches=True))
    with pytest.raises(ValueError, match=r"strategy 'vmap' cannot train this: torch\.func.vmap says: vmap: "):
        case.trained("vmap")
    assert distance(case.trained("auto"), case.plain()) <= tolerance(case.weights)


def test_large_models_are_trained_in_smaller_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a chunk of twenty clients of a network that fills the memory."""
    sizes = []
    case = a_round("mlp", torch.float32)
    weights = sum(weight.nbytes for weight in case.weights.values())
    for room, size in ((10**9, 20), (weights * 3 * 7, 7), (1, 1)):
        monkeypatch.setattr(grouped, "MAX_BYTES", room)
        monkeypatch.setitem(
            STRATEGIES, "vmap", STRATEGIES["vmap"]._replace(train=lambda work, chunk: sizes.append(chunk) or [])
        )
        settings = {"epochs": 1, "batch_size": 2, "learning_rate": 0.1, "streams": case.streams, "place": (1,)}
        train_clients(case.model, case.weights, case.data, [0], strategy="vmap", **settings)
        assert sizes[-1] == size
