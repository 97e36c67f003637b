"""A small table with a few columns that matter, and checks of means with a stated false-alarm rate."""

from __future__ import annotations

import math

import numpy as np
import torch

from ldp_audit.training.datasets import Table
from ldp_audit.training.fedsel.plan import FedSel
from ldp_audit.training.fedsel.run import FedSelRun

CPU = torch.device("cpu")


def table(records: int = 200, d: int = 6, seed: int = 0) -> Table:
    """Records in [-1, 1] whose label is the side of a plane; two thirds of the columns are ten times smaller."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (records, d)) * np.where(np.arange(d) % 3 == 0, 1.0, 0.1)
    y = np.where(x @ rng.standard_normal(d) >= 0, 1, -1)
    return Table("tiny", x, y.astype(np.int64), tuple(f"x{column}" for column in range(d)))


def started(data: Table | None = None, models: list[tuple[int, int]] | None = None, **settings: object) -> FedSelRun:
    """A run of few rounds: 2 repeats of 5 folds, tenths of the users in a round."""
    plan = FedSel(**{"repeats": 2, "share": 0.1, **settings})
    return FedSelRun(plan, data or table(), seed=7, device=CPU, models=models)


def trained(run: FedSelRun) -> FedSelRun:
    """The run after its last round."""
    for number in range(run.done + 1, run.rounds + 1):
        run.advance(number)
    return run


def far_from_mean(samples: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor, alarm: float = 1e-6) -> bool:
    """Whether any column's mean is further from `mean` than Bernstein's inequality lets it be but with chance `alarm`.

    samples: shape (n, d), independent rows.   mean, variance: the stated law's, shape (d,).
    """
    n, d = samples.shape
    log = math.log(2 * d / alarm)
    reach = float((samples - mean).abs().max())
    allowed = (2 * variance * log / n).sqrt() + 2 * reach * log / (3 * n)
    return bool(((samples.double().mean(0) - mean).abs() > allowed).any())
