"""A few made-up images of three classes, and runs on them that take milliseconds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from ldp_audit.training.data import Images
from ldp_audit.training.ldp_fl.plan import LdpFl
from ldp_audit.training.ldp_fl.run import LdpFlRun

CPU = torch.device("cpu")


@cache
def images() -> Images:
    """60 and 30 of 8 x 8; a class is a bright third of the rows."""
    rng = np.random.default_rng(1)
    x, y = rng.random((90, 1, 8, 8)) * 0.4, np.arange(90) % 3
    for label in range(3):
        x[y == label, :, 3 * label : 3 * label + 2] += 0.5
    x = x.astype(np.float32)
    return Images("bands", x[:60], y[:60], x[60:], y[60:], 3)


def plan(**settings: Any) -> LdpFl:
    """Six clients, two rounds of two epochs."""
    return LdpFl(**{"n": 6, "rounds": 2, "epochs": 2, "batch_size": 5, **settings})


def run(*, seed: int = 1, **settings: Any) -> LdpFlRun:
    """At its beginning."""
    return plan(**settings).start(images(), seed=seed, device=CPU)


def finished(*, seed: int = 1, **settings: Any) -> tuple[LdpFlRun, list[dict[str, Any]]]:
    """After all rounds, with their records."""
    one = run(seed=seed, **settings)
    return one, [one.advance(number) for number in range(1, one.rounds + 1)]
