"""A noisy round of many clients and weights holds a block of clients at a time."""

from __future__ import annotations

import resource
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from ldp_audit.training.ldp_fl import reports
from tests.training.ldp_fl.small import run


def wide(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A million weights."""
    del shape
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 14_700), nn.ReLU(), nn.Linear(14_700, classes))


def noisy_round(model: str, clients: int, at_once: int, *, hoard: bool = False) -> list[int]:
    """Of a run, with clients that come in such chunks: of each chunk, how many earlier ones were still alive.

    hoard: keep all.
    """
    one = run(model=model)
    generator = torch.Generator().manual_seed(1)
    alive: weakref.WeakSet[Tensor] = weakref.WeakSet()
    held: list[int] = []

    def trained() -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        for _ in range(0, clients, at_once):
            held.append(len(alive))
            chunk = {
                name: torch.empty((at_once, *weight.shape)).normal_(0, 0.1, generator=generator)
                for name, weight in one.weights.items()
            }
            alive.add(next(iter(chunk.values())))
            yield torch.arange(at_once), chunk
            del chunk

    chunks = list(trained()) if hoard else trained()
    vars(one)["trained"] = lambda *_: chunks
    one.advance(1)
    return held


def test_chunks_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients x weights that are held after all: a list of chunks or blocks."""
    monkeypatch.setattr(reports, "BLOCK_WEIGHTS", 4 * 8_707)  # weights of the mlp for three classes
    assert max(noisy_round("mlp", 24, 4)) <= 2
    assert max(noisy_round("mlp", 24, 4, hoard=True)) == 5


@pytest.mark.slow
def test_a_million_weights_of_500_clients_stay_under_4_gb() -> None:
    """The same at full size, in a process of its own: its peak."""
    code = "from tests.training.ldp_fl import test_memory as t; t.noisy_round(t.__name__ + ':wide', 500, 10); t.peak()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(found.stdout) < 4e9


def peak() -> None:
    """Print this process's largest memory, in bytes."""
    sys.stdout.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))
