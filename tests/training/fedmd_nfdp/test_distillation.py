"""Scores, the consensus, and what is digested, against their definitions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import nn
from torch.nn import functional

from ldp_audit.training.fedmd_nfdp import distillation
from ldp_audit.training.fedmd_nfdp.settings import SCORES
from tests.together import together
from tests.training.fedmd_nfdp.small import CPU, run


def assert_consensus_is_digested(scores: str) -> None:
    """In one round every party is trained towards the mean of all parties' scores of the same images."""
    one = run(scores=scores, public_per_round=3)  # as many images as parties and classes: axes can be confused
    seen: list[torch.Tensor] = []
    reports: list[torch.Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distillation, "train", _noting(seen, distillation.train))
        patch.setattr(distillation, "scores_of", _keeping(reports, distillation.scores_of))
        one.advance(1)
    assert len(reports) == len(seen) == 3
    for target in seen:
        for image in range(3):
            for label in range(3):
                mean = sum(float(report[image, label]) for report in reports) / 3
                assert float(target[image, label]) == pytest.approx(mean, abs=1e-6)


@together("scores", SCORES)
def test_each_party_digests_the_mean_over_parties(scores: str) -> None:
    """Parties that train towards their own scores, or towards a sum."""
    assert_consensus_is_digested(scores)


@pytest.mark.parametrize("axis", [1, 2])
def test_a_consensus_over_the_wrong_axis_is_caught(monkeypatch: pytest.MonkeyPatch, axis: int) -> None:
    """The check above, seen to fail: the mean over images or over classes, whose shape is right by accident."""

    def wrong(reports: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.stack(list(reports)).mean(dim=axis)

    monkeypatch.setattr(distillation, "consensus_of", wrong)
    with pytest.raises(AssertionError):
        assert_consensus_is_digested("softmax")


def test_ties_of_argmax_go_to_the_first_class() -> None:
    """A vote for several classes, or none, whose distance would not be sqrt(2)."""
    outputs = torch.tensor([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [3.0, -1.0, 3.0]])
    votes = distillation.scores_of(outputs, "argmax")
    assert votes.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_scores_are_what_they_are_called() -> None:
    """Logits after a softmax, or a softmax over images."""
    outputs = torch.tensor([[0.0, 1.0], [5.0, -5.0]])
    assert distillation.scores_of(outputs, "logits") is outputs
    torch.testing.assert_close(distillation.scores_of(outputs, "softmax").sum(dim=1), torch.ones(2))
    assert float(distillation.scores_of(outputs, "softmax")[0, 1]) == pytest.approx(1 / (1 + 2.718281828459045**-1))


def test_one_class_has_one_score() -> None:
    """Shapes that collapse where there is one private class."""
    outputs = torch.zeros(4, 1)
    assert distillation.scores_of(outputs, "argmax").tolist() == [[1.0]] * 4
    assert distillation.onto_the_simplex(outputs).tolist() == [[1.0]] * 4


def test_the_projection_is_the_nearest_law() -> None:
    """Clipping and rescaling, which is not the nearest; no law in a fine grid may be nearer."""
    points = torch.randn(40, 3, generator=torch.Generator().manual_seed(1)) * 2
    found = distillation.onto_the_simplex(points)
    assert torch.all(found >= 0)
    torch.testing.assert_close(found.sum(dim=1), torch.ones(40))
    ticks = torch.linspace(0, 1, 41)
    grid = torch.cartesian_prod(ticks, ticks)
    grid = grid[grid.sum(dim=1) <= 1]
    laws = torch.cat([grid, 1 - grid.sum(dim=1, keepdim=True)], dim=1)
    assert torch.all(torch.linalg.norm(points - found, dim=1) <= torch.cdist(points, laws).amin(dim=1) + 1e-5)


def test_the_projection_keeps_laws() -> None:
    """Soft labels that change although there is no noise."""
    laws = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    torch.testing.assert_close(distillation.onto_the_simplex(laws), laws)


@together(("kind", "loss"), [("logits", "l1_loss"), ("softmax", "cross_entropy")])
def test_losses_are_those_of_the_scores(kind: str, loss: str) -> None:
    """Cross-entropy of logits, which are no law."""
    outputs, target = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.25, 0.75]])
    assert distillation.digest_loss(kind)(outputs, target) == getattr(functional, loss)(outputs, target)


def test_only_the_outputs_that_count_are_trained() -> None:
    """Public outputs that move in private training."""
    model = nn.Linear(4, 5)
    before = model.weight.detach().clone()
    x, y = torch.rand(9, 4), torch.zeros(9, dtype=torch.int64)
    generator = torch.Generator().manual_seed(0)
    distillation.train(
        model,
        x,
        y,
        functional.cross_entropy,
        first=2,
        epochs=3,
        batch_size=4,
        optimizer=distillation.adam(model, 0.1),
        generator=generator,
    )
    assert torch.equal(model.weight[:2], before[:2])
    assert not torch.equal(model.weight[2:], before[2:])
    assert distillation.accuracy_of(model, x, y, 2) == 1.0
    assert x.device == CPU


def _noting(seen: list[torch.Tensor], train: object) -> object:
    """`train`, which also notes the targets that are scores."""

    def noted(model: nn.Module, x: torch.Tensor, target: torch.Tensor, *more: object, **named: object) -> None:
        if target.dim() == 2:
            seen.append(target.clone())
        train(model, x, target, *more, **named)  # type: ignore[operator]

    return noted


def _keeping(reports: list[torch.Tensor], scores_of: object) -> object:
    def kept(outputs: torch.Tensor, kind: str) -> torch.Tensor:
        reports.append(scores_of(outputs, kind))  # type: ignore[operator]
        return reports[-1].clone()

    return kept
