"""The closed forms against automatic differentiation, and the accuracy on a fold."""

from __future__ import annotations

import torch

from ldp_audit.training.fedsel.run import gradients, shares_right
from tests.together import together


def loss(model: str, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, penalty: float) -> torch.Tensor:
    margin = y * (x @ weights)
    data = torch.nn.functional.softplus(-margin) if model == "logistic" else torch.relu(1 - margin)
    return data + penalty / 2 * (weights * weights).sum()


@together("model", ["logistic", "svm"])
def test_gradients_are_those_of_the_loss(model: str) -> None:
    """Catches a wrong sign, a lost label, a lost penalty: each would be off by far more than rounding."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(20, 4, generator=generator, dtype=torch.float64)
    y = torch.where(torch.rand(20, generator=generator) < 0.5, -1.0, 1.0).double()
    weights = torch.randn(4, generator=generator, dtype=torch.float64)
    found = gradients(model, x, y, weights, 0.3)
    for row in range(20):
        leaf = weights.clone().requires_grad_()
        (expected,) = torch.autograd.grad(loss(model, x[row], y[row], leaf, 0.3), leaf)
        torch.testing.assert_close(found[row], expected)
    assert not torch.allclose(gradients(model, x, -y, weights, 0.3), found)
    assert not torch.allclose(gradients(model, x, y, weights, 0.0), found)


def test_each_model_has_its_own_weights() -> None:
    """Catches weights that are broadcast over users instead of models."""
    x, y = torch.ones(2, 3, 2), torch.ones(2, 3)
    weights = torch.tensor([[0.0, 0.0], [5.0, 5.0]])
    found = gradients("logistic", x, y, weights[:, None], 0.0)
    assert (found[0] == -0.5).all()
    assert (found[1] > -1e-4).all()


def test_accuracy_counts_the_tested_records_alone() -> None:
    """Catches an accuracy on the training records, and one of the wrong model."""
    x, y = torch.tensor([[1.0], [-1.0], [2.0]]), torch.tensor([1.0, 1.0, 1.0])
    tests = torch.tensor([[True, False], [True, True], [False, True]])
    assert shares_right(x, y, torch.tensor([[1.0], [-1.0]]), tests) == [0.5, 0.5]
    assert shares_right(x, y, torch.tensor([[1.0], [1.0]]), ~tests) == [1.0, 1.0]
