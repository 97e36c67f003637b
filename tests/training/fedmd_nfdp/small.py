"""Tiny images whose classes can be told apart, and runs of seconds' fractions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ldp_audit.training.datasets import Images
from ldp_audit.training.fedmd_nfdp.plan import FedMd
from ldp_audit.training.fedmd_nfdp.run import FedMdRun

CPU = torch.device("cpu")


def images(per_class: int = 24, classes: int = 6, seed: int = 0, writers: int | None = None) -> Images:
    """Each class is a random 4x4 pattern plus noise; half as many test images. Writers come in turn."""
    rng = np.random.default_rng(seed)
    patterns = rng.uniform(0, 1, (classes, 1, 4, 4))
    halves = []
    for count in (per_class, per_class // 2):
        y = np.tile(np.arange(classes, dtype=np.int64), count)
        x = np.clip(patterns[y] + rng.normal(0, 0.25, (len(y), 1, 4, 4)), 0, 1).astype(np.float32)
        halves += [x, y]
    who = None if writers is None else np.arange(len(halves[1]), dtype=np.int64) % writers
    return Images("tiny", halves[0], halves[1], halves[2], halves[3], classes, who)


def plan(**settings: Any) -> FedMd:
    """Three parties with 24 records each, of which they draw 5; two rounds of 10 public images."""
    small: dict[str, Any] = {
        "parties": 3,
        "k": 5,
        "public_classes": 3,
        "networks": "mlp-6+cnn-3",
        "rounds": 2,
        "public_per_round": 10,
        "pretrain_epochs": 1,
        "private_epochs": 2,
        "public_batch": 8,
    }
    return FedMd(**{**small, **settings})


def run(data: Images | None = None, seed: int = 7, **settings: Any) -> FedMdRun:
    """A run at its beginning."""
    return plan(**settings).start(data or images(), seed=seed, device=CPU)


def finished(data: Images | None = None, seed: int = 7, **settings: Any) -> tuple[FedMdRun, list[dict[str, Any]]]:
    """A run after its last round, and its records."""
    one = run(data, seed, **settings)
    return one, [one.advance(number) for number in range(1, one.rounds + 1)]


def assert_same_weights(one: FedMdRun, other: FedMdRun) -> None:
    for a, b in zip(one.parties, other.parties, strict=True):
        for name, weight in a.model.state_dict().items():
            assert torch.equal(weight, b.model.state_dict()[name]), f"{name} of party {a.number} differs"
