"""The layers' ranges (c, r): fixed, or updated by the server from the averaged weights, which are public already.

A layer is a module of the network; its weights and its biases share a range. The paper says that the server updates the
ranges from W_l and not how. Two rules are offered:

* "extremes": the middle of the layer's extremes, and half of what lies between. Noise widens what the next range is
  taken from: with k clients of m weights the radius grows by about A sqrt(2 ln m / k) of itself every round.
* "moments": the layer's mean, and a multiple of its standard deviation, after the variance that the noise adds,
  (r^2 A^2 - E(w - c)^2) / k, is taken off. Everything in it is public.

Source: LDP-FL (Sun, Qian, Chen, IJCAI 2021), Algorithm 1, line 13, and "Adaptive Range Setting".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ldp_audit.mechanisms.layer_range import LayerRange


@dataclass(frozen=True)
class AdaptiveRule:
    """How (c, r) follow from a layer.

    rule: "extremes" or "moments".   spread: standard deviations in a radius, > 0 ("moments").
    least, most: between which every radius is kept, 0 < least <= most: what is known beforehand of such weights.
    """

    rule: str
    spread: float
    least: float
    most: float

    def ranges(self, weights: Mapping[str, Tensor], noise: Mapping[str, float] | None = None) -> LayerRange:
        """The ranges that these averaged weights lead to.

        noise: the variance that perturbation added to the weights of each name; none to initial weights.
        """
        found = {}
        for names in layers_of(weights):
            added = 0.0 if noise is None else sum(noise[name] * weights[name].numel() for name in names)
            found |= dict.fromkeys(names, self._range([weights[name] for name in names], added))
        return _by_name(weights, found)

    def _range(self, tensors: list[Tensor], noise: float) -> tuple[float, float]:
        values = torch.cat([tensor.detach().double().reshape(-1) for tensor in tensors])
        if self.rule == "extremes":
            plain = LayerRange.of([values], floor=self.least)
            return plain.centers[0], min(plain.radii[0], self.most)
        variance = float(values.var(correction=0)) - noise / len(values)
        return float(values.mean()), min(max(self.spread * math.sqrt(max(variance, 0.0)), self.least), self.most)


def fixed_ranges(weights: Mapping[str, Tensor], center: float, radius: float) -> LayerRange:
    """One range for all layers."""
    return _by_name(weights, dict.fromkeys(weights, (center, radius)))


def layers_of(names: Iterable[str]) -> list[list[str]]:
    """The names of each module's tensors: "conv1.weight" and "conv1.bias" are one layer."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.rpartition(".")[0], []).append(name)
    return list(found.values())


def noise_variance(weights: Mapping[str, Tensor], ranges: LayerRange, epsilon: float, clients: int) -> dict[str, float]:
    """What perturbation added to the variance of each layer of averaged weights, as the server can estimate it.

    For w of the average, E(w - c)^2 is what the noise added, N = (r^2 A^2 - E(w_u - c)^2) / k, and the spread of the
    true means; taking that for E(w_u - c)^2 gives N (1 - 1/k) = (r^2 A^2 - E(w - c)^2) / k, at k = 1 nothing.
    """
    if epsilon == math.inf or clients == 1:
        return dict.fromkeys(weights, 0.0)
    found = {}
    for name, center, radius in zip(ranges.names or (), ranges.centers, ranges.radii, strict=True):
        second = float((weights[str(name)].double() - center).square().mean())
        found[str(name)] = max(0.0, ((radius / math.tanh(epsilon / 2)) ** 2 - second) / (clients - 1))
    return found


def _by_name(weights: Mapping[str, Tensor], found: Mapping[str, tuple[float, float]]) -> LayerRange:
    names = tuple(weights)
    return LayerRange(tuple(found[name][0] for name in names), tuple(found[name][1] for name in names), names)
