"""Parties whose networks are users' own, package.module:function, beside those with names of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from ldp_audit.training.kept_model import keep_model, load_model
from ldp_audit.training.runs import train
from tests.together import together
from tests.training.fedmd_nfdp.small import CPU, finished, images, plan, run


def half_drawn(shape: tuple[int, ...], classes: int) -> nn.Module:
    """The first layer's weights are given; the second layer's are drawn from torch's shared generator."""
    pixels = shape[0] * shape[1] * shape[2]
    model = nn.Sequential(nn.Flatten(), nn.Linear(pixels, 5), nn.ReLU(), nn.Linear(5, classes))
    nn.init.constant_(model[1].weight, 0.25)
    return model


def one_too_many(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A network for other data."""
    return half_drawn(shape, classes + 1)


class Pooled(nn.Sequential):
    """The mean over a batch."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).mean(dim=0)


def all_at_once(shape: tuple[int, ...], classes: int) -> nn.Module:
    """One vector of scores, however many images."""
    return Pooled(half_drawn(shape, classes))


def normalised(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Running statistics, which no party keeps."""
    return nn.Sequential(nn.BatchNorm2d(shape[0]), half_drawn(shape, classes))


OWN = f"{__name__}:half_drawn"


def test_own_networks_stand_beside_ours_in_turn_and_are_trained() -> None:
    """Catches a list of names that takes all or none of its networks from users."""
    start = run(networks=f"mlp-6+{OWN}", parties=3)
    assert [party.name for party in start.parties] == ["mlp-6", OWN, "mlp-6"]
    one, records = finished(networks=f"mlp-6+{OWN}", parties=3)
    assert len(records[-1]["by_party"]) == 3
    assert not torch.equal(one.parties[1].model[1].weight, start.parties[1].model[1].weight)  # type: ignore[index]


def test_given_weights_are_kept_and_drawn_ones_follow_the_runs_seed() -> None:
    """Catches a pre-trained network that is drawn anew, equal seeds with other weights, parties that start apart."""
    one, again, other = (run(networks=OWN, seed=seed) for seed in (1, 1, 2))
    weights = [dict(each.parties[0].model.named_parameters()) for each in (one, again, other)]
    assert all((each["1.weight"] == 0.25).all() for each in weights)
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not torch.equal(weights[0]["3.weight"], weights[2]["3.weight"])
    assert torch.equal(weights[0]["3.weight"], dict(one.parties[2].model.named_parameters())["3.weight"])


@together(
    ("name", "says"),
    [
        (f"{__name__}:one_too_many", r"must give 6 scores per image, shape \(2, 6\), got \(2, 7\)"),
        (f"{__name__}:all_at_once", r"must give 6 scores per image, shape \(2, 6\), got \(6,\)"),
        (f"{__name__}:normalised", "model must have no buffers"),
        (f"{__name__}:missing", "test_own_networks has no missing; it has "),
        ("no.such:network", "model 'no.such:network' cannot be loaded: ModuleNotFoundError"),
        (f"{__name__}:OWN", r"must be a function \(shape, classes\) -> torch.nn.Module, got "),
    ],
)
def test_networks_that_do_not_fit_are_refused_by_name(name: str, says: str) -> None:
    """Catches an error of torch's in the middle of a round, and scores that are averaged over other classes."""
    with pytest.raises(ValueError, match=says):
        run(networks=f"mlp-6+{name}")


def test_a_kept_model_with_own_networks_is_read_as_ones_own(tmp_path: Path) -> None:
    """Catches a file whose reading runs code unasked, and trained weights that are replaced by the function's."""
    state, path = tmp_path / "one.state", tmp_path / "run-1.pt"
    train("fedmd-nfdp", plan(networks=OWN, rounds=1), images(), seed=7, device=CPU, keep=state)
    keep_model(state, path, None)
    with pytest.raises(ValueError, match=r"half_drawn', whose import runs its code; own=True"):
        load_model(path)
    model = load_model(path, own=True)
    trained = model.networks()["party-1"].state_dict()
    assert all(torch.equal(trained[name], value) for name, value in model.state["weights"][1].items())
    assert not (trained["1.weight"] == 0.25).all()
