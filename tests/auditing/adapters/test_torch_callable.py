from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import from_torch
from tests.together import together


def warner(batch: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Epsilon 1 on 0 and 1."""
    lies = torch.rand(batch.shape, generator=generator, device=batch.device) < 1 / (1 + np.e)
    return torch.where(lies, 1 - batch, batch)


def noisy(batch: torch.Tensor) -> torch.Tensor:
    return batch + torch.randn(batch.shape, dtype=batch.dtype)


class Noisy(torch.nn.Module):
    def forward(self, batch: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        noise = torch.randn(batch.shape, generator=generator, dtype=batch.dtype)
        return batch.sum(dim=-1), batch + noise


class Dropout(torch.nn.Module):
    """A model in training mode, with parameters that need gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.layers(batch)


@together(
    ("f", "x", "shape"),
    [
        (warner, 1, (50,)),
        (noisy, 0.5, (50,)),
        (noisy, (0.5, 1.0), (50, 2)),
        (noisy, [[0.5, 1.0], [0.0, 2.0]], (50, 4)),
        (Noisy(), (0.5, 1.0), (50, 3)),
        (Dropout(), (1.0, 2.0, 3.0), (50, 4)),
    ],
)
def test_a_seed_decides_the_outputs_and_torchs_own_generator_is_left_alone(f: Any, x: Any, shape: Any) -> None:
    before = torch.get_rng_state()
    first, again, other = (from_torch(f)(x, 50, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first.shape == shape
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)
    assert from_torch(f).repeatable


@together("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_outputs_are_exactly_the_tensors_values(dtype: torch.dtype) -> None:
    out = from_torch(lambda batch: batch / 3, dtype=dtype)(0.1, 2, np.random.default_rng(0))
    assert out.dtype == np.float64
    assert out.tolist() == [(torch.tensor(0.1, dtype=dtype) / 3).item()] * 2


def test_batches_are_bounded_and_cover_all_outputs() -> None:
    rows: list[int] = []

    def f(batch: torch.Tensor) -> torch.Tensor:
        rows.append(len(batch))
        return batch[:, 0]

    out = from_torch(f)(np.zeros(5000), 500, np.random.default_rng(0))
    assert out.shape == (500,)
    assert sum(rows) == 500
    assert max(rows) * 5000 <= 2**20


def test_an_operation_in_place_changes_its_own_batch_alone() -> None:
    x = np.zeros(2)
    out = from_torch(lambda batch: batch.add_(1))(x, 3, np.random.default_rng(0))
    assert out.tolist() == [[1, 1]] * 3
    assert x.tolist() == [0, 0]


def test_a_wrong_number_of_outputs_is_named() -> None:
    with pytest.raises(ValueError, match=r"4 inputs at once gave an output of shape \(\); accepted: one for each"):
        from_torch(lambda batch: batch.sum())(1.0, 4, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"f must be a function or a module of torch, got 3"):
        from_torch(3)


def test_a_torch_function_is_audited_at_its_epsilon() -> None:
    """Epsilon is 1: the first fails once in 1e6 seeds. At 0.5: the odds differ by 1, in 20,000; missed below 1e-9."""
    for claim, verdict in ((1.0, "consistent"), (0.5, "violated")):
        assert audit(from_torch(warner), (0, 1), claim, samples=20_000, confidence=1 - 1e-6).verdict == verdict


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_seed_decides_the_outputs_on_a_gpu_too() -> None:
    for f in (warner, lambda batch: batch + torch.randn(batch.shape, device=batch.device)):
        first, again, other = (from_torch(f, device="cuda")(1.0, 99, np.random.default_rng(s)) for s in (3, 3, 4))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)
