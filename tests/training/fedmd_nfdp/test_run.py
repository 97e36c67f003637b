"""Runs of FedMD-NFDP and its baselines: resumed, repeated, at their ends, and what tells the methods apart."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from ldp_audit.training.fedmd_nfdp import distillation
from ldp_audit.training.fedmd_nfdp.networks import network
from ldp_audit.training.fedmd_nfdp.run import FedMdRun
from ldp_audit.training.fedmd_nfdp.settings import METHODS, SCORES, SMALL, names_of
from ldp_audit.training.results import accuracy_of
from tests.together import together
from tests.training.fedmd_nfdp.small import finished, images, run


@together("damage", ["none", "fewer", "other"])
def test_another_runs_state_is_refused(damage: str) -> None:
    """Weights of other networks, loaded in silence."""
    one, other = run(), run(networks="mlp-7")
    state = {"none": {}, "fewer": {"weights": one.state()["weights"][:2]}, "other": other.state()}[damage]
    with pytest.raises(ValueError, match="state must have"):
        one.restore(state)


def test_a_state_without_its_optimisers_or_with_others_is_refused() -> None:
    """A resumed run that begins its moments anew in silence."""
    (one, _), (bare, _) = finished(optimizer="kept", rounds=1), finished(rounds=1)
    state = one.state()
    with pytest.raises(ValueError, match="state must have the moments of 3 optimisers, got 0"):
        one.restore(bare.state())
    with pytest.raises(ValueError, match="state must have the moments of 0 optimisers, got 3"):
        bare.restore(state)
    with pytest.raises(ValueError, match="state must have moments of weights of shapes"):
        one.restore({**state, "optimizers": state["optimizers"][::-1][:1] * 3})


def test_a_kept_optimiser_is_the_partys_own_through_all_phases_but_pre_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A setting that keeps nothing, moments that parties share, and those of pre-training or of a last phase alone."""
    used: list[int] = []
    own = distillation.train

    def noted(*given: Any, optimizer: torch.optim.Optimizer, **named: Any) -> None:
        used.append(id(optimizer) if optimizer in kept else 0)
        own(*given, optimizer=optimizer, **named)

    monkeypatch.setattr(distillation, "train", noted)
    for optimizer, expected in (("kept", 3), ("reset", 0)):
        one = run(networks="mlp-6", rounds=2, optimizer=optimizer)
        kept, used[:] = [party.optimizer for party in one.parties if party.optimizer is not None], []
        records = [one.advance(number) for number in (1, 2)]
        assert len({number for number in used if number}) == len(kept) == expected
        assert used[0] == 0, "pre-training, once for the one network"
        assert len(used) == 1 + 3 * 5
        assert used.count(0) == 1 + (0 if kept else 3 * 5)
        assert all(0 <= record["accuracy"] <= 1 for record in records)


def test_a_first_phase_does_not_depend_on_what_is_kept_and_a_second_one_does() -> None:
    """Moments that reach the first training from pre-training, or the second one from nowhere."""
    settings = {"method": "alone", "networks": "mlp-6", "rounds": 1}
    for epochs, equal in ((0, True), (1, False)):
        (one, _), (other, _) = (
            finished(**settings, revisit_epochs=epochs, optimizer=name) for name in ("reset", "kept")
        )
        assert torch.equal(one.parties[0].model[1].weight, other.parties[0].model[1].weight) == equal  # type: ignore[index]


@together("method", METHODS)
@together("scores", SCORES)
def test_every_method_runs_with_all_scores(method: str, scores: str) -> None:
    """A record without accuracy, or of other parties."""
    one, records = finished(method=method, scores=scores, rounds=1)
    (record,) = records
    assert record["accuracy"] == pytest.approx(sum(record["by_party"]) / len(record["by_party"]))
    assert len(record["by_party"]) == (2 if method == "centralised" else 3) == len(one.parties)
    assert ("digested" in record) == (method in ("nfdp-with", "nfdp-without", "np", "ldp"))


@together(
    "settings",
    [
        {"parties": 1},
        {"public_classes": 5},
        {"k": 0, "private_epochs": 1},
        {"k": 1},
        {"public_per_round": 1},
        {"outputs": "all"},
        {"pretrain_epochs": 0, "private_epochs": 0, "digest_epochs": 0, "revisit_epochs": 0},
    ],
)
def test_the_ends_of_the_settings_run(settings: dict[str, Any]) -> None:
    """One party, one private class, no records, nothing to train."""
    _, records = finished(**settings)
    assert all(0 <= record["accuracy"] <= 1 for record in records)


def test_one_private_class_is_always_right() -> None:
    """Public outputs that are counted in the private task."""
    assert finished(public_classes=5)[1][-1]["accuracy"] == 1.0


def test_parties_with_one_name_start_alike_and_others_do_not() -> None:
    """Networks that share memory, or different starts within one architecture."""
    one = run(networks="mlp-6+cnn-3", parties=4)
    weights = [dict(party.model.named_parameters()) for party in one.parties]
    assert all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])
    assert [party.name for party in one.parties] == ["mlp-6", "cnn-3", "mlp-6", "cnn-3"]
    assert weights[0].keys() != weights[1].keys()
    one.advance(1)
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])


def test_pretraining_is_public_and_shared() -> None:
    """Private records in pre-training: parties of one architecture would differ after it."""
    one = run(networks="mlp-6", private_epochs=0, revisit_epochs=0, digest_epochs=0)
    one.advance(1)
    first, *others = [party.model.state_dict() for party in one.parties]
    assert all(torch.equal(first[name], other[name]) for other in others for name in first)
    start = dict(run(networks="mlp-6").parties[0].model.state_dict())
    assert not all(torch.equal(first[name], start[name]) for name in first)


def trainings(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[FedMdRun, list[dict[str, Any]]]:
    """A run after its rounds, and what each of its trainings was given."""
    found: list[dict[str, Any]] = []
    own = distillation.train

    def noted(model: Any, x: torch.Tensor, target: torch.Tensor, *more: Any, **named: Any) -> None:
        found.append({"model": model, "x": x.clone(), "soft": target.dim() == 2, **named})
        own(model, x, target, *more, **named)

    monkeypatch.setattr(distillation, "train", noted)
    one, _ = finished(**settings)
    return one, found


def test_phases_follow_each_other_with_their_own_epochs_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Revisit before Digest, epochs or batches of another phase, records for images: Algorithm 1's two phases."""
    one, found = trainings(
        monkeypatch,
        pretrain_epochs=1,
        private_epochs=2,
        digest_epochs=3,
        revisit_epochs=4,
        public_batch=8,
        private_batch=5,
    )
    pretrain, private = (False, 72, 1, 8), (False, 5, 2, 5)
    digest, revisit = (True, 10, 3, 8), (False, 5, 4, 5)
    expected = [pretrain] * 2 + [private] * 3 + ([digest] * 3 + [revisit] * 3) * 2
    assert [(each["soft"], len(each["x"]), each["epochs"], each["batch_size"]) for each in found] == expected
    models = [party.model for party in one.parties]
    assert [each["model"] for each in found] == models[:2] + models * 5


def test_public_images_are_drawn_anew_in_each_round_and_are_the_same_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One subset for all rounds, one for each party, whose mean would be of different images, and repeated images."""
    _, found = trainings(monkeypatch, rounds=3)
    rounds = [each["x"] for each in found if each["soft"]]
    assert len(rounds) == 9
    for first, *others in (rounds[:3], rounds[3:6], rounds[6:]):
        assert all(torch.equal(first, other) for other in others)
        assert len(first.flatten(1).unique(dim=0)) == 10
    assert len({tuple(images.flatten().tolist()) for images in rounds}) == 3


def test_alone_nobody_scores_public_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """A baseline without collaboration that collaborates."""

    def refuse(*_: object) -> None:
        raise AssertionError("scores were sent")

    monkeypatch.setattr(distillation, "scores_of", refuse)
    finished(method="alone")
    with pytest.raises(AssertionError, match="scores were sent"):
        finished(method="nfdp-with")


def test_alone_and_together_start_from_the_same_samples() -> None:
    """A comparison between different draws."""
    together, alone = run(method="nfdp-with"), run(method="alone")
    for one, other in zip(together.parties, alone.parties, strict=True):
        assert torch.equal(one.x, other.x)


def test_centralised_networks_see_everybodys_records() -> None:
    """A pool that lacks a party, or has records of the public classes."""
    one = run(method="centralised")
    assert [party.name for party in one.parties] == ["mlp-6", "cnn-3"]
    assert [len(party.x) for party in one.parties] == [72, 72]
    assert all(set(party.y.tolist()) == {0, 1, 2} for party in one.parties)


def test_parties_of_one_run_are_no_repeats_of_it() -> None:
    """An interval over parties, which learn from each other, as if they were independent runs."""
    one, records = finished(method="np")
    accuracy = accuracy_of([{"settings": dataclasses.asdict(one.plan), "seed": 7, "rounds": records}])
    assert (accuracy["low"], accuracy["repeats"]) == (None, 1)


def test_learning_happens() -> None:
    """Labels that are shifted, or accuracy of the wrong outputs: three classes are easily told apart.

    Each of three parties that guess is right for 29 or more of the 36 with probability 1e-8.
    """
    _, records = finished(method="np", private_epochs=60, rounds=1, networks="mlp-32")
    assert min(records[-1]["by_party"]) > 0.8


def test_both_kinds_of_outputs_learn() -> None:
    """Labels that do not fit the outputs that count."""
    _, records = finished(method="np", private_epochs=60, rounds=1, networks="mlp-32", outputs="all")
    assert min(records[-1]["by_party"]) > 0.8


def test_the_small_networks_have_different_shapes() -> None:
    """A comma too few in the list of architectures."""
    sizes = [
        sum(weight.numel() for weight in network(name, (1, 8, 8), 10, torch.Generator()).parameters())
        for name in names_of(SMALL)
    ]
    assert len(set(sizes)) == len(sizes) == 5
    assert 1500 < min(sizes) < max(sizes) < 12_000


def test_initial_weights_follow_the_generator() -> None:
    """Weights from the global generator."""
    one, again, other = (network("cnn-3-2", (1, 4, 4), 5, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    x = torch.from_numpy(images().test_x)
    assert torch.equal(one(x), again(x))
    assert not torch.equal(one(x), other(x))
    assert one(x).shape == (len(x), 5)
