"""The settings of LDP-FL and of its baseline, federated averaging without noise.

Source: Sun, Qian, Chen, "LDP-FL" (IJCAI 2021), Algorithms 1 to 3 and Section 5. The paper gives neither networks nor
epochs and batches of local training; those here are this project's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ldp_audit.accounting.shuffling.clones import MOST_EPSILON
from ldp_audit.numerics import between, whole
from ldp_audit.training.pipeline import check_choice, check_flag

_LEAST = {"n": 1, "rounds": 1, "epochs": 1, "batch_size": 1}
_CHOICES = {
    "ranges": ("fixed", "adaptive"),
    "rule": ("moments", "extremes"),
    "scheme": ("iid", "shards", "writers"),
}
_POSITIVE = ("learning_rate", "spread", "window")
_RADII = ("radius", "least", "most")
_LARGE = 1e10
_MOST_RADII = 1e4
_LEAST_EPSILON = 1e-12
"""Reports are c -+ r A in float32, with A up to 2e12. These limits keep reports and their squares finite, and keep
adaptive centers, which noise moves by about r A, distinct from center -+ radius in float64."""


@dataclass(frozen=True)
class LdpFlSettings:
    """One run: clients train locally, clip and perturb every weight; the server averages, and sets the next ranges.

    model: "auto" (by the images' size: digit-cnn, cnn, or vgg for 32x32), a name such as "softmax", "mlp", "digit-cnn",
        "cnn", "vgg", or a user's own as package.module:function.
    n: clients, >= 1.
    fraction: share of the clients chosen in each round, in (0, 1]; at least one client.
    rounds: of communication, >= 1.
    epsilon: of one weight's report, nats, in 1e-12 .. 700; inf: federated averaging, without clipping and perturbation.
    perturb: false reports clipped weights without noise, to measure the cost of clipping.
    ranges: "fixed": (center, radius) for all layers; "adaptive": by layer, updated from the averaged weights.
    center: of the fixed range, in -1e10 .. 1e10, and within 1e4 radii of 0.
    radius: of the fixed range, in 1e-10 .. 1e10, as least and most.
    rule: of adaptive ranges: "moments" (spread standard deviations about the mean, less the noise) or "extremes".
    spread: standard deviations in an adaptive radius, > 0.
    least: lower bound on adaptive radii.
    most: upper bound on adaptive radii, >= least.
    epochs: of local training in a round, >= 1.
    batch_size: samples of a local step, >= 1.
    learning_rate: of local training, > 0.
    scheme: distribution of the images among clients: "iid", "shards" or "writers".
    permute: true splits, delays and mixes the reports of a round, which does not change their average.
    window: T, the range of a message's delay if permute is true, > 0.
    strategy: training strategy, "auto" or one of local_training's; results agree up to rounding.
    chunk: clients trained at a time, >= 1; none: the strategy's own; it affects rounding.
    """

    model: str = "auto"
    n: int = 100
    fraction: float = 1.0
    rounds: int = 10
    epsilon: float = 1.0
    perturb: bool = True
    ranges: Literal["fixed", "adaptive"] = "adaptive"
    center: float = 0.0
    radius: float = 0.3
    rule: Literal["moments", "extremes"] = "moments"
    spread: float = 2.0
    least: float = 0.01
    most: float = 1.0
    epochs: int = 10
    batch_size: int = 5
    learning_rate: float = 0.3
    scheme: Literal["iid", "shards", "writers"] = "iid"
    permute: bool = False
    window: float = 1.0
    strategy: str = "auto"
    chunk: int | None = None

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            whole(getattr(self, name), name, least)
        if self.chunk is not None:
            whole(self.chunk, "chunk", 1)
        for name, accepted in _CHOICES.items():
            check_choice(name, getattr(self, name), accepted)
        for name in ("model", "strategy"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ValueError(f"{name} must be a name, got {getattr(self, name)!r}")
        for name in ("perturb", "permute"):
            check_flag(name, getattr(self, name))
        self._check_numbers()

    def _check_numbers(self) -> None:
        for name in _POSITIVE:
            between(getattr(self, name), name, "a finite number > 0", lambda value: 0 < value < math.inf)
        between(self.fraction, "fraction", "a number in (0, 1]", lambda value: 0 < value <= 1)
        between(self.epsilon, "epsilon", "a number in [1e-12, 700], or inf", self._is_epsilon)
        between(self.center, "center", "a number in [-1e10, 1e10]", lambda value: abs(value) <= _LARGE)
        for name in _RADII:
            between(getattr(self, name), name, "a number in [1e-10, 1e10]", lambda value: 1 / _LARGE <= value <= _LARGE)
        if self.ranges == "fixed" and abs(self.center) > _MOST_RADII * self.radius:
            raise ValueError(
                f"center must be within {_MOST_RADII:g} radii of 0, so that float32 does not round reports visibly, "
                f"got {self.center!r} with radius {self.radius!r}"
            )
        if self.most < self.least:
            raise ValueError(f"most must be >= least = {self.least!r}, got {self.most!r}")

    @staticmethod
    def _is_epsilon(value: float) -> bool:
        return _LEAST_EPSILON <= value <= MOST_EPSILON or value == math.inf

    @property
    def chosen(self) -> int:
        """Number of clients in a round."""
        return max(1, round(self.fraction * self.n))

    @property
    def private(self) -> bool:
        """Whether weights are perturbed."""
        return self.perturb and self.epsilon < math.inf

    @property
    def clips(self) -> bool:
        """Whether weights are clipped."""
        return self.epsilon < math.inf
