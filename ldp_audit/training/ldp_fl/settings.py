"""The settings of LDP-FL and of its baseline, federated averaging without noise.

Source: Sun, Qian, Chen, "LDP-FL" (IJCAI 2021), Algorithms 1 to 3 and Section 5. The paper names kinds of networks
alone, and neither epochs nor batches of local training; those here are this project's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ldp_audit.accounting.shuffling.pooled_reports import MOST_EPSILON
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.numerics import between, whole
from ldp_audit.training.ldp_fl.value_noise import TWO_POINT, needs_epsilon, value_mechanism
from ldp_audit.training.pipeline import check_choice, check_flag

_LEAST = {"n": 1, "rounds": 1, "epochs": 1, "batch_size": 1}
_CHOICES = {
    "ranges": ("fixed", "adaptive", "own"),
    "privacy": ("local", "central"),
    "rule": ("moments", "extremes"),
    "scheme": ("iid", "shards", "writers"),
}
_POSITIVE = ("learning_rate", "spread", "window")
_RADII = ("radius", "least", "most", "clip")
_LARGE = 1e10
_MOST_RADII = 1e4
_SLOWEST = 1e6
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
        Where privacy is central, of the whole run at delta = 1e-5. None where `mechanism` has parameters of its own.
    perturb: false reports clipped weights without noise, to measure the cost of clipping.
    ranges: "fixed": (center, radius) for all layers; "adaptive": by layer, updated from the averaged weights; "own":
        each client chooses a radius about center for each of its layers, from those that double from least to most.
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
    permute: true splits, delays and mixes the reports of a round, which does not change their average; none does so
        where it takes less than a tenth of the training's time (`run.permutes`).
    window: T, the range of a message's delay if reports are permuted, > 0.
    strategy: training strategy, "auto" or one of local_training's; results agree up to rounding.
    chunk: clients trained at a time, >= 1; none: the strategy's own; it affects rounding.
    mechanism: by which a weight is reported: one of one number that takes epsilon alone (TwoPoint, Piecewise, Laplace),
        one with its parameters, as Gaussian(sigma=3), or package.module:name of a `Mechanism`.
    privacy: "local": clients perturb their reports; "central": they send their updates, scaled down to a norm of at
        most `clip`, to a trusted server, which adds Gaussian noise to the sum (Geyer, Klein, Nabi 2017).
    clip: largest l2 norm of a client's update where privacy is central, in 1e-10 .. 1e10.
    slowest: times as long as the quickest client that the slowest one trains and sends, >= 1, if reports are permuted;
        each waits T_W, until the slowest could have sent.
    dishonest: clients that propose a window a million times too long; T is then the median of all clients' proposals,
        of which the honest ones lie between half and three halves of window. None: T is window.
    range_epsilon: of a client's choice of a layer's radius where ranges are "own", by randomised response; inf: the
        radius that fits its weights, without noise.
    """

    model: str = "auto"
    n: int = 100
    fraction: float = 1.0
    rounds: int = 10
    epsilon: float | None = 1.0
    perturb: bool = True
    ranges: Literal["fixed", "adaptive", "own"] = "adaptive"
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
    permute: bool | None = None
    window: float = 1.0
    strategy: str = "auto"
    chunk: int | None = None
    mechanism: str = "TwoPoint"
    privacy: Literal["local", "central"] = "local"
    clip: float = 1.0
    slowest: float = 1.0
    dishonest: int | None = None
    range_epsilon: float = math.inf

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
        check_flag("perturb", self.perturb)
        if self.permute is not None:
            check_flag("permute", self.permute)
        self._check_numbers()
        self._check_mechanism()
        self._check_together()

    def _check_numbers(self) -> None:
        for name in _POSITIVE:
            between(getattr(self, name), name, "a finite number > 0", lambda value: 0 < value < math.inf)
        between(self.fraction, "fraction", "a number in (0, 1]", lambda value: 0 < value <= 1)
        if self.privacy == "central":
            between(self.epsilon, "epsilon", "a number in [1e-4, 1e5], or inf", self._is_central_epsilon)
        elif self.epsilon is not None:
            between(self.epsilon, "epsilon", "a number in [1e-12, 700], or inf", self._is_epsilon)
        between(self.range_epsilon, "range_epsilon", "a number in [1e-12, 700], or inf", self._is_epsilon)
        between(self.center, "center", "a number in [-1e10, 1e10]", lambda value: abs(value) <= _LARGE)
        between(self.slowest, "slowest", "a number in [1, 1e6]", lambda value: 1 <= value <= _SLOWEST)
        for name in _RADII:
            between(getattr(self, name), name, "a number in [1e-10, 1e10]", lambda value: 1 / _LARGE <= value <= _LARGE)
        if self.ranges != "adaptive" and abs(self.center) > _MOST_RADII * self._narrowest:
            raise ValueError(
                f"center must be within {_MOST_RADII:g} radii of 0, so that float32 does not round reports visibly, "
                f"got {self.center!r} with radius {self._narrowest!r}"
            )
        if self.most < self.least:
            raise ValueError(f"most must be >= least = {self.least!r}, got {self.most!r}")
        if self.dishonest is not None and whole(self.dishonest, "dishonest", 0) >= self.n:
            raise ValueError(f"dishonest must be fewer than the {self.n} clients, got {self.dishonest}")

    def _check_mechanism(self) -> None:
        """The mechanism, and that epsilon is given where it has none of its own."""
        if not isinstance(self.mechanism, str) or not self.mechanism:
            raise ValueError(f"mechanism must be a text such as TwoPoint or Gaussian(sigma=3), got {self.mechanism!r}")
        if needs_epsilon(self.mechanism) and self.epsilon is None:
            raise ValueError(f"epsilon must be a number where mechanism {self.mechanism!r} has none, got None")
        if not needs_epsilon(self.mechanism) and self.epsilon is not None:
            raise ValueError(
                f"epsilon must be none where mechanism {self.mechanism!r} has parameters of its own, "
                f"got {self.epsilon!r}"
            )
        if self.privacy == "local":
            value_mechanism(self.mechanism, self.epsilon if self.clips else 1.0)

    def _check_together(self) -> None:
        """Settings that exclude each other."""
        two_point = self.mechanism == TWO_POINT
        for name, value, usual in (("mechanism", self.mechanism, two_point), ("permute", True, not self.permute)):
            if self.privacy == "central" and not usual:
                raise ValueError(f"privacy central has no reports by clients, got {name} = {value!r}")
        if self.ranges == "own" and self.permute:
            raise ValueError("permute must be false where ranges are own: a report shows its client's range")
        if self.ranges == "own" and self.privacy == "central":
            raise ValueError("ranges must be fixed or adaptive where privacy is central, got 'own'")

    @property
    def _narrowest(self) -> float:
        return self.radius if self.ranges == "fixed" else self.least

    @staticmethod
    def _is_epsilon(value: float) -> bool:
        return _LEAST_EPSILON <= value <= MOST_EPSILON or value == math.inf

    @staticmethod
    def _is_central_epsilon(value: float) -> bool:
        return 1e-4 <= value <= 1e5 or value == math.inf

    @property
    def chosen(self) -> int:
        """Number of clients in a round."""
        return max(1, round(self.fraction * self.n))

    @property
    def private(self) -> bool:
        """Whether weights, or their sum, are perturbed."""
        return self.perturb and self.clips

    @property
    def clips(self) -> bool:
        """Whether weights, or updates, are clipped."""
        return self.epsilon is None or self.epsilon < math.inf

    @property
    def reported(self) -> Mechanism:
        """The mechanism by which a client reports a weight."""
        return value_mechanism(self.mechanism, self.epsilon)

    @property
    def radii(self) -> tuple[float, ...]:
        """The radii among which a client chooses where ranges are its own: doubling from least to most."""
        found = [self.least]
        while 2 * found[-1] <= self.most:
            found.append(2 * found[-1])
        return tuple(found)
