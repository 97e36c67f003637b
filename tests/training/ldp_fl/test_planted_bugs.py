"""What a round records accuses a wrong pipeline, and a right one never: rates in `tests/training/ldp_fl/rates.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from ldp_audit.mechanisms.values.layer_range import LayerRange
from ldp_audit.training.ldp_fl import reports
from tests.training.ldp_fl.rates import FALSE_ALARM, bias_chance, variance_chance
from tests.training.ldp_fl.small import run

EPSILON = 1.0
SETTINGS: dict[str, Any] = {"n": 12, "ranges": "fixed", "radius": 0.05, "rounds": 1, "fraction": 0.5}


def least_chance() -> float:
    """Of a round, over its layers and both measures, times their number: a union bound."""
    record = run(**SETTINGS).advance(1)
    chances = [
        chance(layer, record["clients"], EPSILON)
        for layer in record["layers"].values()
        for chance in (bias_chance, variance_chance)
    ]
    return min(chances) * len(chances)


def test_the_shipped_pipeline_is_not_accused() -> None:
    """Fails by chance once in 1e6; most of this model's weights are clipped."""
    assert run(**SETTINGS).advance(1)["layers"]["conv2.weight"]["clipped"]["share"] > 0.2
    assert least_chance() > FALSE_ALARM


def wide_noise(
    weights: Mapping[str, Tensor], ranges: LayerRange, epsilon: float, generator: torch.Generator
) -> dict[str, Tensor]:
    """Noise of a radius of 1.3 r about weights that were clipped rightly."""
    wide = LayerRange(ranges.centers, tuple(1.3 * radius for radius in ranges.radii), ranges.names)
    return wide.perturb(ranges.clip(dict(weights)), epsilon, rng=generator)


def unclipped(
    weights: Mapping[str, Tensor], ranges: LayerRange, epsilon: float, generator: torch.Generator
) -> dict[str, Tensor]:
    """Each layer's own largest weight is its radius."""
    found = {}
    for name, stacked in weights.items():
        reach = float((stacked - ranges.centers[0]).abs().max()) * 1.01
        own = LayerRange((ranges.centers[0],), (reach,), (name,))
        found |= own.perturb({name: stacked}, epsilon, rng=generator)
    return found


@pytest.mark.parametrize("wrong", [wide_noise, unclipped])
def test_a_wrong_noisy_step_is_accused(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures that are taken from the step they should check."""
    monkeypatch.setattr(reports, "reports", wrong)
    assert least_chance() < 1e-9


def test_an_average_over_all_clients_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over the chosen clients, divided by n."""
    right = reports.PlainAverage.averages

    def over_all(self: reports.PlainAverage) -> dict[str, Tensor]:
        return {name: average * 0.5 for name, average in right(self).items()}

    monkeypatch.setattr(reports.PlainAverage, "averages", over_all)
    assert least_chance() < 1e-9


def test_a_client_that_is_counted_twice_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of k + 1 reports over k: a third more variance."""
    right = reports.PlainAverage.averages

    def twice(self: reports.PlainAverage) -> dict[str, Tensor]:
        return {name: average * 7 / 6 for name, average in right(self).items()}

    monkeypatch.setattr(reports.PlainAverage, "averages", twice)
    assert least_chance() < FALSE_ALARM
