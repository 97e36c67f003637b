"""LDP-FL's reports, the server's average of them, and measures of each aggregated layer beside their exact values.

A client clips its weights into their layers' ranges and reports each by the two-point mechanism: `reports` is the whole
noisy step, a function of the weights, the ranges and a generator, which an audit repeats.

The server averages each weight. The average does not depend on the order of the reports, so shuffling them (Algorithm
3) changes the server's view and not its result. `PermutedAverage` splits, delays, mixes and averages by id, which needs
all reports of the round at once.

Measures of a layer: bias, variance, clipping. k clients hold weights w_u, clipped into [c - r, c + r]. For one weight,
of variance s_u and fourth cumulant q_u (`moments`), and e the average less the mean of its expectations,

    E e = 0,   V = Var e = sum_u s_u / k^2,   Var e^2 = 2 V^2 + sum_u q_u / k^4.

Given the weights, a layer's errors e are independent, so
the layer's means of e and of e^2 have known expectations and standard deviations, which give z scores. The measures use
the weights before clipping and the average that the server received, and nothing in between: they detect noise of a
wrong radius, a missing clip, and an average over a wrong number of clients.

Source: Sun, Qian, Chen, LDP-FL (IJCAI 2021), eq. (2), Lemmas 1 to 3, Algorithms 1 to 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from ldp_audit.mechanisms.values.layer_range import LayerRange
from ldp_audit.mechanisms.values.parameter_shuffler import ParameterShuffler
from ldp_audit.training.client_data import Trained
from ldp_audit.training.ldp_fl.moments import ReportMoments
from ldp_audit.training.ldp_fl.value_noise import along

_GPU_FACTOR = 16
"""Factor on BLOCK_WEIGHTS on a GPU: of 2,000 clients a third of the time of 4; 64 takes half again and four times the
memory (benchmarks/RESULTS.md, H200)."""
BLOCK_WEIGHTS = 2**20
"""Weights perturbed at a time, over clients: the sampler's float64 and int64 steps take about 50 MB for these."""


def reports(
    weights: Mapping[str, Tensor], ranges: LayerRange, epsilon: float, generator: torch.Generator
) -> dict[str, Tensor]:
    """One report of every weight: clipped into its layer's range, then perturbed with epsilon nats.

    weights: by layer names, finite, with or without a leading axis of clients.
    generator: on the weights' device.
    """
    return ranges.perturb(dict(weights), epsilon, rng=generator, clip=True)


def clipped(
    weights: Mapping[str, Tensor], ranges: LayerRange, radii: Mapping[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """The clipped weights without noise, to measure the cost of clipping; this is no private mechanism.

    radii: the clients' own, by names, in place of the ranges'; shape (clients,).
    """
    if radii is None:
        return ranges.clip(dict(weights))
    found = {}
    for name, center in zip(ranges.names or (), ranges.centers, strict=True):
        given, own = weights[str(name)], along(radii[str(name)], weights[str(name)])
        found[str(name)] = (center + torch.maximum(torch.minimum(given.double() - center, own), -own)).to(given.dtype)
    return found


def replace_diverged(
    trained: Iterable[Trained], received: Mapping[str, Tensor], diverged: list[int]
) -> Iterator[Trained]:
    """The trained clients' weights, in which a client that diverged (NaN) reports the weights that it received.

    A client detects its own divergence, so each report depends on that client's data only.
    received: by name, without an axis of clients.   diverged: is extended by the indices of these clients.
    """
    for clients, stacked in trained:
        left = next(iter(stacked.values())).flatten(1)[:, 0].isnan()
        if bool(left.any()):
            diverged += clients[left.cpu()].tolist()
            for name, part in stacked.items():
                part[left] = received[name]
        yield clients, stacked


def blocks(trained: Iterable[Trained], size: int) -> Iterator[dict[str, Tensor]]:
    """The stacked weights in blocks of `size` clients, the last smaller, whatever the chunks.

    The noise of a block then does not depend on how the clients were trained.
    """
    held: dict[str, Tensor] | None = None
    for _, chunk in trained:
        held = chunk if held is None else {name: torch.cat([held[name], part]) for name, part in chunk.items()}
        while _clients(held) >= size:
            yield {name: part[:size] for name, part in held.items()}
            held = {name: part[size:] for name, part in held.items()}
    if held is not None and _clients(held):
        yield held


def block_size(dimensions: int, device: torch.device) -> int:
    """Clients in a block, for a model with this many weights; a GPU takes more at a time."""
    return max(1, BLOCK_WEIGHTS * (1 if device.type == "cpu" else _GPU_FACTOR) // dimensions)


def _clients(stacked: Mapping[str, Tensor]) -> int:
    return len(next(iter(stacked.values())))


MAX_MESSAGES = 2**25
"""Largest number of messages in a permuted round; their times, ids and values take about 2 GB."""


class Average(Protocol):
    """Averages the reports of a round, which come chunk by chunk."""

    def add(self, reports: Mapping[str, Tensor]) -> None:
        """Add the reports of more clients, with a leading axis of clients."""
        ...

    def averages(self) -> dict[str, Tensor]:
        """By name, over the clients that reported; float64."""
        ...

    def arrivals(self) -> dict[str, Any] | None:
        """Statistics of the messages, JSON-ready; None if reports are not split into messages.

        "messages": their number.   "window": T.   "slowest": T_S.   "waited": T_W over the clients, on average and at
        most.   "latest_delay": of all messages, below T.   "first", "last", "span": times of arrival.
        """
        ...


class PlainAverage:
    """Running sums of unsplit reports."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._clients = 0

    def add(self, reports: Mapping[str, Tensor]) -> None:
        """See `Average`."""
        self._clients += len(next(iter(reports.values())))
        for name, report in reports.items():
            total = report.sum(0, dtype=torch.float64)
            self._sums[name] = self._sums[name] + total if name in self._sums else total

    def averages(self) -> dict[str, Tensor]:
        """See `Average`."""
        return {name: total / self._clients for name, total in self._sums.items()}

    def arrivals(self) -> None:
        """See `Average`."""
        return


class PermutedAverage:
    """The average from anonymous messages (id, value) of `ParameterShuffler`.

    window: T, the range of the delays.   generator: of delays and order, on the reports' device.
    training: t_LC and t_C together of each client, in the window's unit; every client waits until the slowest could
        have sent.
    """

    def __init__(self, window: float, generator: torch.Generator, training: Sequence[float]) -> None:
        self._window, self._generator, self._training = window, generator, tuple(training)
        self._reports: list[Tensor] = []
        self._shapes: dict[str, torch.Size] = {}
        self._times: Tensor | None = None
        self._shuffler: ParameterShuffler

    def add(self, reports: Mapping[str, Tensor]) -> None:
        """See `Average`."""
        self._shapes = {name: report.shape[1:] for name, report in reports.items()}
        self._reports.append(torch.cat([report.flatten(1) for report in reports.values()], dim=1))

    def averages(self) -> dict[str, Tensor]:
        """See `Average`."""
        matrix = torch.cat(self._reports)
        clients, dimensions = matrix.shape
        self._shuffler = ParameterShuffler(self._training, (0.0,) * clients, self._window)
        messages = self._shuffler.sample(matrix, rng=self._generator)
        self._times = messages.time
        sums = torch.zeros(dimensions, dtype=torch.float64, device=matrix.device)
        sums.index_add_(0, messages.id, messages.value.double())
        parts = (sums / clients).split([shape.numel() for shape in self._shapes.values()])
        return {name: part.reshape(shape) for part, (name, shape) in zip(parts, self._shapes.items(), strict=True)}

    def arrivals(self) -> dict[str, Any] | None:
        """See `Average`."""
        if self._times is None:
            return None
        first, last = float(self._times[0]), float(self._times[-1])
        slowest, waited = self._shuffler.slowest(), self._shuffler.waiting()
        return {
            "messages": len(self._times),
            "window": self._window,
            "slowest": slowest,
            "waited": {"mean": float(waited.mean()), "most": float(waited.max())},
            "latest_delay": last - slowest,
            "first": first,
            "last": last,
            "span": last - first,
        }


ROUNDING = 2.0**-23
"""Relative rounding error of float32 reports, doubled; a bias below this share of the reports' size counts as 0."""


class LayerMeasures:
    """Sums over one round's clients, chunk by chunk; memory does not grow with clients x weights.

    ranges: the round's, by layer names.   moments: of the noise; None without perturbation.
    """

    def __init__(self, ranges: LayerRange, moments: ReportMoments | None) -> None:
        names = ranges.names or ()
        self._sums = {
            str(name): _LayerSums(center, radius, moments)
            for name, center, radius in zip(names, ranges.centers, ranges.radii, strict=True)
        }

    def add(self, weights: Mapping[str, Tensor], radii: Mapping[str, Tensor] | None = None) -> None:
        """Add the weights of more clients, unclipped, finite, with a leading axis of clients.

        radii: of each client's own, by layer names, shape (clients,), where they are not the ranges'.
        """
        for name, sums in self._sums.items():
            sums.add(weights[name], None if radii is None else radii[name])

    def records(self, averages: Mapping[str, Tensor]) -> dict[str, dict[str, Any]]:
        """Each layer's measures against the server's average of it, float64; JSON-ready.

        "center", "radius" (the root of the mean square where clients have their own), "weights"; "clipped": the share
        of weights that were clipped, by how much on average and at most, and the effect on the layer's mean.
        If reports were perturbed: "bias", "bias_exact", "bias_sd", "bias_z": the mean error, its expectation, the exact
        standard deviation, and by how many of these the two differ; "variance", "variance_exact", "variance_sd",
        "variance_z": the mean squared error about its expectation, likewise.
        Of two-point reports: "lemma_3": the paper's lower and upper bound on the variance (Corollary 1's where clients
        have radii of their own); "holds": whether the exact variance lies within; "measured_z": by how many of its
        standard deviations the measured variance lies outside, else 0.
        """
        return {name: sums.record(averages[name]) for name, sums in self._sums.items()}


class _LayerSums:
    """One layer's sums, in float64."""

    def __init__(self, center: float, radius: float, moments: ReportMoments | None) -> None:
        self.center, self.given, self.moments = center, radius, moments
        self.clients = 0
        # Tensors from the first block on, so that a GPU need not be waited for before `record`.
        self.squares: Any = 0.0  # of the radii
        self.moved: Any = 0
        self.distance: Any = 0.0
        self.furthest: Any = 0.0
        self.shift: Any = 0.0
        self.excess: Any = 0.0
        self.clipped: Any = 0.0
        self.bias: Any = 0.0
        self.variance: Any = 0.0

    def add(self, weights: Tensor, radii: Tensor | None) -> None:
        away = weights.double() - self.center
        radius: Any = self.given if radii is None else along(radii, weights)
        position = (away / radius).clamp(-1.0, 1.0)
        inside = radius * position
        beyond = torch.where(position.abs() < 1, 0.0, away - inside)
        self.clients += len(weights)
        self.squares = self.squares + (len(weights) * radius**2 if radii is None else radius.square().sum())
        self.moved = self.moved + (beyond != 0).sum()
        self.distance = self.distance + beyond.abs().sum()
        self.furthest = beyond.abs().max().clamp(min=self.furthest)
        self.shift = self.shift - beyond.sum()
        self.clipped = self.clipped + inside.sum(0)
        if self.moments is not None:
            bias, variance, fourth = self.moments.at(position)
            self.bias = self.bias + (radius * bias).sum(0)
            self.variance = self.variance + (radius**2 * variance).sum(0)
            self.excess = self.excess + (radius**4 * fourth).sum()

    def record(self, average: Tensor) -> dict[str, Any]:
        size, k, moved = average.numel(), self.clients, int(self.moved)
        radius = self.given if self.squares == k * self.given**2 else math.sqrt(float(self.squares) / k)
        found: dict[str, Any] = {
            "center": self.center,
            "radius": radius,
            "weights": size,
            "clipped": {
                "share": moved / (size * k),
                "mean": float(self.distance) / max(1, moved),
                "most": float(self.furthest),
                "bias": float(self.shift) / (size * k),
            },
        }
        if self.moments is None:
            return found
        rounding = ROUNDING * (abs(self.center) + radius * self.moments.reach)
        error = average.double() - self.center - (self.clipped + self.bias) / k
        measures = noise_measures(
            error, self.variance / k**2, float(self.excess) / k**4, rounding, float(self.bias.mean()) / k
        )
        if self.moments.amplitude is None:
            return found | measures
        exact, spread = measures["variance_exact"], measures["variance_sd"]
        lemma = lemma_3(radius, radius * self.moments.amplitude, k, exact)
        beyond = measures["variance"] - min(max(measures["variance"], lemma["low"]), lemma["high"])
        score = _score(beyond, spread, _of_squares(rounding, exact))
        return found | measures | {"lemma_3": lemma | {"measured_z": score}}


def noise_measures(
    error: Tensor, variance: Tensor, fourth: float, rounding: float, bias: float = 0.0
) -> dict[str, float]:
    """The measures of a layer's noise, the keys of `LayerMeasures.records`.

    error: of each averaged weight about its expectation.   variance: of each, exactly.   fourth: sum of their fourth
    cumulants.   rounding: by how much floats may be off.   bias: the layer's expected mean error.
    """
    size, exact = error.numel(), float(variance.mean())
    mean, squared = float(error.mean()), float(error.square().mean())
    mean_sd = math.sqrt(exact / size)
    squared_sd = math.sqrt(max(0.0, 2 * float(variance.square().sum()) + fourth)) / size
    return {
        "bias": mean + bias,
        "bias_exact": bias,
        "bias_sd": mean_sd,
        "bias_z": _score(mean, mean_sd, rounding),
        "variance": squared,
        "variance_exact": exact,
        "variance_sd": squared_sd,
        "variance_z": _score(squared - exact, squared_sd, _of_squares(rounding, exact)),
    }


def _of_squares(rounding: float, variance: float) -> float:
    return rounding * (rounding + 2 * math.sqrt(variance))


def lemma_3(radius: float, reach: float, clients: int, variance: float) -> dict[str, Any]:
    """The paper's bounds, r^2 A^2 / k less r^2 / k, and r^2 A^2 / k, and whether the variance lies within.

    reach: r A.   clients: those that report, the paper's n.   Equality up to rounding counts as within.
    """
    high = reach**2 / clients
    low = high - radius**2 / clients
    slack = 1e-9 * high
    return {"low": low, "high": high, "holds": bool(low - slack <= variance <= high + slack)}


def _score(deviation: float, deviation_sd: float, rounding: float) -> float:
    """The difference in standard deviations, less what rounding may explain; finite, for JSON."""
    left = math.copysign(max(0.0, abs(deviation) - rounding), deviation)
    return 0.0 if left == 0 else left / max(deviation_sd, abs(left) * 1e-9)
