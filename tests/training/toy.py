"""A user's own pipeline, small: softmax regression by noisy full-batch steps; tests name it tests.training.toy:Toy."""

from __future__ import annotations

import math
import os
import signal
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from ldp_audit.accounting.protocols.protocol import Protocol, Step
from ldp_audit.training.canary import Canary, Promise
from ldp_audit.training.data import Table
from ldp_audit.training.findings import Finding, accuracies, rising
from ldp_audit.training.streams import Streams
from ldp_audit.training.sweep import Sweep


def points(n: int = 60, seed: int = 5) -> Table:
    """Two clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.choice(np.array([-1, 1]), n)
    x = np.clip(0.4 * y[:, None] + 0.3 * rng.standard_normal((n, 3)), -1, 1)
    return Table("points", x, y.astype(np.int64), ("a", "b", "c"))


def noticed_points(mark: str, n: int = 60) -> Table:
    """The same; the file `mark` tells that they were read."""
    Path(mark).touch()
    return points(n)


@dataclass(frozen=True)
class Toy:
    """Settings.

    epsilon: of each weight's report, > 0, or None for none.   rounds: whole, >= 1.   kind: "plain" or "lazy".
    fails: what goes wrong in round 2: "", "raises", "refuses", "warns", "dies"; "dies once" needs a file `mark` to be
        missing.
    slow: seconds that a round sleeps.   leaks: whether the canary's reports tell more than is promised.
    """

    embedded: ClassVar[str] = "tests.training.toy:points"

    epsilon: float | None = 1.0
    rounds: int = 3
    kind: Literal["plain", "lazy"] = "plain"
    fails: str = ""
    mark: str = ""
    slow: float = 0.0
    momentum: bool = True
    leaks: bool = False

    def __post_init__(self) -> None:
        if self.epsilon is not None and not self.epsilon > 0:
            raise ValueError(f"epsilon must be > 0, got {self.epsilon!r}")

    def start(self, data: Table, *, seed: int, device: torch.device) -> ToyRun:
        if not isinstance(data, Table):
            raise ValueError(f"data must be a table, got {data!r:.40}")
        return ToyRun(self, data, Streams(seed), device)


class ToyRun:
    """See `Toy`."""

    def __init__(self, plan: Toy, data: Table, streams: Streams, device: torch.device) -> None:
        self.plan, self.streams, self.rounds = plan, streams, plan.rounds
        self.x = torch.tensor(data.x, dtype=torch.float32, device=device)
        self.y = torch.tensor(data.y, dtype=torch.float32, device=device)
        self.weights = torch.zeros(self.x.shape[1], device=device)
        self.speed = torch.zeros_like(self.weights)

    def advance(self, number: int) -> dict[str, Any]:
        time.sleep(self.plan.slow)
        if number == 2 and self.plan.fails:
            self._fail()
        gradient = -(torch.sigmoid(-self.y * (self.x @ self.weights)) * self.y) @ self.x / len(self.y)
        noise = torch.randn(gradient.shape, generator=self.streams.torch("noise", number))
        self.speed = 0.5 * self.speed + gradient if self.plan.momentum else gradient
        self.weights = self.weights - 2 * (self.speed + noise.to(gradient) * 0.1 / (self.plan.epsilon or 1e9))
        return {"accuracy": float(((self.x @ self.weights) * self.y > 0).float().mean())}

    def _fail(self) -> None:
        what = self.plan.fails
        if what == "refuses":
            raise ValueError("the data do not fit")
        if what == "warns":  # as torch does
            for name in ("max_pool2d_with_indices_backward_cuda", "toy_cuda", "cumsum_cuda_kernel", "toy_cuda"):
                warnings.warn(f"{name} does not have a deterministic implementation, but you set it", stacklevel=1)
            return
        if what == "raises":
            raise KeyError("no such thing")
        if what == "dies once" and Path(self.plan.mark).exists():
            return
        Path(self.plan.mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    def state(self) -> dict[str, Any]:
        return {"weights": self.weights.cpu(), "speed": self.speed.cpu()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.weights = state["weights"].to(self.x.device)
        self.speed = state["speed"].to(self.x.device)

    def protocol(self) -> Protocol | None:
        if self.plan.epsilon is None:
            return None
        step = Step(f"TwoPoint(epsilon={self.plan.epsilon!r})", times=("rounds", "dimensions"))
        return Protocol("toy", (step,), rounds=self.plan.rounds, dimensions=len(self.weights))

    def canaries(self) -> Iterator[Canary]:
        """A bit, sent by randomised response at epsilon 1, or nearly as it is."""
        truth = 0.99 if self.plan.leaks else 1 / (1 + math.exp(-1))

        def draw(world: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return np.where(rng.random(n) < truth, world, 1 - world)

        yield Canary("client", "server", ("0", "1"), draw, (Promise("exact", "one bit", 1.0),), (), samples=4000)


def rises_with_epsilon(results: Mapping[str, Any]) -> Finding | None:
    """Accuracy rises from the smallest epsilon to the largest."""
    levels = sorted({run["settings"]["epsilon"] for run in results["runs"]} - {None})
    if len(levels) < 2:
        return None
    verdict, numbers = rising(levels, [accuracies(results, epsilon=one) for one in levels], 0.01)
    return Finding("toy-epsilon", "accuracy rises with epsilon", verdict, numbers, 0.01)


DEMONSTRATION = (Sweep({}, {"epsilon": (0.03, 1.0, None)}, repeats=3),)
FINDINGS = (rises_with_epsilon,)


def presets() -> dict[str, Any]:
    return {"short": Toy(rounds=1), "two": Sweep({"rounds": 2}, {"kind": ("plain", "lazy")})}
