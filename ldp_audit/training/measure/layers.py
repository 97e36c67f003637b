"""What one aggregated layer of LDP-FL shows, beside what it must show exactly: bias, variance, clipping.

k clients hold weights w_u of a layer, clipped into [c - r, c + r]; each is reported by the two-point mechanism of
epsilon, and the server averages the reports. For one weight, with A = 1 / tanh(epsilon / 2),
s_u = r^2 A^2 - (w_u - c)^2 and e the average less the true mean of the clipped weights,

    E e = 0,   V = Var e = sum_u s_u / k^2,   Var e^2 = 2 V^2 + sum_u s_u (4 r^2 A^2 - 6 s_u) / k^4,

the last by the fourth cumulant of a variable with two values. A layer's e are independent given the weights, so that
the mean of e over the layer and the mean of e^2 have known expectations and standard deviations: z scores come of them.

The measures take the weights from before the pipeline clips them and the average that the server got, and nothing that
happens in between: they see noise of another radius, a clip left out, and an average over the wrong number of clients.

Source: LDP-FL (Sun, Qian, Chen, IJCAI 2021), eq. (2), Lemmas 1 to 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ldp_audit.mechanisms.layer_range import LayerRange

ROUNDING = 2.0**-23
"""Reports in float32 are off by half of this, relatively; a bias within it of the reports' size counts as none."""


class LayerMeasures:
    """Sums over one round's clients, chunk by chunk; nothing of clients x weights is kept.

    ranges: the round's, by layer names.   epsilon: of each report, nats; infinity where nothing is perturbed.
    """

    def __init__(self, ranges: LayerRange, epsilon: float) -> None:
        names = ranges.names or ()
        self._sums = {
            str(name): _LayerSums(center, radius, epsilon)
            for name, center, radius in zip(names, ranges.centers, ranges.radii, strict=True)
        }

    def add(self, weights: Mapping[str, Tensor]) -> None:
        """More clients' weights, unclipped, finite, with a leading axis of clients."""
        for name, sums in self._sums.items():
            sums.add(weights[name])

    def records(self, averages: Mapping[str, Tensor]) -> dict[str, dict[str, Any]]:
        """Each layer's measures against the average that the server got of it, float64; JSON-ready.

        "center", "radius", "weights"; "clipped": the share of weights moved, by how much those were on average and at
        most, and what that adds to the layer's mean.   Where reports were perturbed:
        "bias", "bias_sd", "bias_z": the mean error, its exact standard deviation, and their ratio.
        "variance", "variance_exact", "variance_sd", "variance_z": the mean squared error, likewise.
        "lemma_3": the printed lower and upper bound on the variance; "holds": whether the exact one lies within, which
        is mathematics; "measured_z": how many of its standard deviations the measured one lies beyond them, else 0.
        """
        return {name: sums.record(averages[name]) for name, sums in self._sums.items()}


class _LayerSums:
    """One layer's sums, in float64."""

    def __init__(self, center: float, radius: float, epsilon: float) -> None:
        half = epsilon / 2
        self.center, self.radius, self.perturbed = center, radius, epsilon < math.inf
        self.reach = radius / math.tanh(half)
        self.least = 0.0 if half > 350 else (radius / math.sinh(half)) ** 2  # r^2 (A^2 - 1), without cancellation
        self.clients = self.moved = 0
        self.distance = self.furthest = self.shift = self.excess = 0.0
        self.clipped: Any = 0.0
        self.variance: Any = 0.0

    def add(self, weights: Tensor) -> None:
        wide = weights.double()
        away = wide - self.center
        inside = away.clamp(-self.radius, self.radius)
        beyond = away - inside
        self.clients += len(weights)
        self.moved += int((beyond != 0).sum())
        self.distance += float(beyond.abs().sum())
        self.furthest = max(self.furthest, float(beyond.abs().max()))
        self.shift -= float(beyond.sum())
        self.clipped = self.clipped + inside.sum(0)
        if self.perturbed:
            variances = self.least + (self.radius - inside.abs()) * (self.radius + inside.abs())
            self.variance = self.variance + variances.sum(0)
            self.excess += float((variances * (4 * self.reach**2 - 6 * variances)).sum())

    def record(self, average: Tensor) -> dict[str, Any]:
        size, k = average.numel(), self.clients
        found: dict[str, Any] = {
            "center": self.center,
            "radius": self.radius,
            "weights": size,
            "clipped": {
                "share": self.moved / (size * k),
                "mean": self.distance / max(1, self.moved),
                "most": self.furthest,
                "bias": self.shift / (size * k),
            },
        }
        if not self.perturbed:
            return found
        error = average.double() - self.center - self.clipped / k
        variance = self.variance / k**2
        total = float(variance.sum())
        bias, bias_sd = float(error.mean()), math.sqrt(total) / size
        squared, exact = float(error.square().mean()), total / size
        squared_sd = math.sqrt(max(0.0, 2 * float(variance.square().sum()) + self.excess / k**4)) / size
        rounding = ROUNDING * (abs(self.center) + self.reach)
        rounding_squared = rounding * (rounding + 2 * math.sqrt(exact))
        lemma = lemma_3(self.radius, self.reach, k, exact)
        beyond = squared - min(max(squared, lemma["low"]), lemma["high"])
        return found | {
            "bias": bias,
            "bias_sd": bias_sd,
            "bias_z": _score(bias, bias_sd, rounding),
            "variance": squared,
            "variance_exact": exact,
            "variance_sd": squared_sd,
            "variance_z": _score(squared - exact, squared_sd, rounding_squared),
            "lemma_3": lemma | {"measured_z": _score(beyond, squared_sd, rounding_squared)},
        }


def lemma_3(radius: float, reach: float, clients: int, variance: float) -> dict[str, Any]:
    """The printed bounds, r^2 A^2 / k less r^2 / k, and r^2 A^2 / k, and whether the variance lies within.

    reach: r A.   clients: that report, which the paper writes n.   Equality up to rounding is within.
    """
    high = reach**2 / clients
    low = high - radius**2 / clients
    slack = 1e-9 * high
    return {"low": low, "high": high, "holds": bool(low - slack <= variance <= high + slack)}


def _score(deviation: float, deviation_sd: float, rounding: float) -> float:
    """In standard deviations, less what rounding may explain; finite, as JSON wants it."""
    left = math.copysign(max(0.0, abs(deviation) - rounding), deviation)
    return 0.0 if left == 0 else left / max(deviation_sd, abs(left) * 1e-9)
