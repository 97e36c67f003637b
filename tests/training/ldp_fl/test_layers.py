"""The layers' measures: their exact moments against enumeration, and against noise that is drawn, right and wrong."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from ldp_audit.mechanisms import TwoPoint
from ldp_audit.mechanisms.values.layer_range import LayerRange
from ldp_audit.training.ldp_fl.moments import TwoPointMoments
from ldp_audit.training.ldp_fl.reports import LayerMeasures, lemma_3
from tests.together import together
from tests.training.ldp_fl.rates import FALSE_ALARM, bias_chance, variance_chance

CLIENTS, WEIGHTS, EPSILON = 20, 5_000, 1.0
RANGE = LayerRange((0.1,), (0.5,), ("w",))


def record_of(
    weights: torch.Tensor, average: torch.Tensor, epsilon: float = EPSILON, ranges: LayerRange = RANGE
) -> dict:
    measures = LayerMeasures(ranges, TwoPointMoments(epsilon) if epsilon < math.inf else None)
    measures.add({"w": weights})
    return measures.records({"w": average})["w"]


@pytest.fixture
def weights() -> torch.Tensor:
    """A third of them outside the range."""
    return torch.empty(CLIENTS, WEIGHTS).uniform_(-0.65, 0.85, generator=torch.Generator().manual_seed(3))


def averaged(weights: torch.Tensor, seed: int = 5, mechanism: TwoPoint | None = None) -> torch.Tensor:
    mechanism = mechanism or TwoPoint(EPSILON, 0.1, 0.5)
    low, high = mechanism.domain()
    return mechanism.sample(weights.clamp(low, high), rng=torch.Generator().manual_seed(seed)).double().mean(0)


@together("epsilon", [0.2, 1.0, 4.0])
def test_expectation_and_spread_of_the_measures_are_those_of_all_outcomes(epsilon: float) -> None:
    """A wrong formula for the variance of e, or of e^2, at any client's weight."""
    given = [-0.3, 0.05, 0.6]
    mechanism = TwoPoint(epsilon, 0.1, 0.5)
    mean, outcomes = sum(given) / 3, []
    for reports in itertools.product(mechanism.outputs(), repeat=3):
        chance = math.exp(sum(float(mechanism.log_prob(y, x)) for y, x in zip(reports, given, strict=True)))
        outcomes.append((chance, sum(reports) / 3 - mean))
    second = sum(chance * e**2 for chance, e in outcomes)
    fourth = sum(chance * e**4 for chance, e in outcomes)
    record = record_of(torch.tensor(given, dtype=torch.float64)[:, None], torch.zeros(1), epsilon)
    assert record["bias_sd"] == pytest.approx(math.sqrt(second), rel=1e-9)
    assert record["variance_exact"] == pytest.approx(second, rel=1e-9)
    assert record["variance_sd"] == pytest.approx(math.sqrt(fourth - second**2), rel=1e-6)


def test_right_noise_is_within_its_rates(weights: torch.Tensor) -> None:
    """Fails by chance once in 1e6, by `rates`; a right pipeline that is accused."""
    record = record_of(weights, averaged(weights))
    assert bias_chance(record, CLIENTS, EPSILON) > FALSE_ALARM / 2
    assert variance_chance(record, CLIENTS, EPSILON) > FALSE_ALARM / 2
    assert record["lemma_3"]["measured_z"] == 0  # the bounds are 5.5 and 6.9 standard deviations away


def test_noise_of_another_radius_is_seen(weights: torch.Tensor) -> None:
    """Unbiased noise, 15 % wider. Power: the measured variance is about 16 standard deviations off."""
    wide = averaged(weights.clamp(-0.4, 0.6), mechanism=TwoPoint(EPSILON, 0.1, 0.575))
    record = record_of(weights, wide)
    assert variance_chance(record, CLIENTS, EPSILON) < 1e-9
    assert 6 < record["lemma_3"]["measured_z"] < record["variance_z"]


def test_another_epsilon_is_seen(weights: torch.Tensor) -> None:
    """Noise of epsilon = 1.2: less than promised. Power: about 13 standard deviations."""
    quiet = averaged(weights, mechanism=TwoPoint(1.2, 0.1, 0.5))
    record = record_of(weights, quiet)
    assert variance_chance(record, CLIENTS, EPSILON) < 1e-9
    assert record["variance_z"] < record["lemma_3"]["measured_z"] < -6


def test_a_shift_of_the_average_is_seen(weights: torch.Tensor) -> None:
    """Bias of 1 % of the radius. Power: about 10 standard deviations."""
    shifted = averaged(weights) + 0.005 * 7
    assert bias_chance(record_of(weights, shifted), CLIENTS, EPSILON) < 1e-9


def test_chunks_add_up_to_the_whole(weights: torch.Tensor) -> None:
    """Sums that forget or repeat a chunk."""
    average, measures = averaged(weights), LayerMeasures(RANGE, TwoPointMoments(EPSILON))
    for chunk in weights.split([7, 1, 12]):
        measures.add({"w": chunk})
    whole, parts = record_of(weights, average), measures.records({"w": average})["w"]
    for key in ("bias", "bias_sd", "variance", "variance_exact", "variance_sd"):
        assert parts[key] == pytest.approx(whole[key], rel=1e-9)
    assert parts["clipped"] == pytest.approx(whole["clipped"], rel=1e-9)


def test_clipping_is_counted_and_measured() -> None:
    """A share of all weights, the mean over those that moved, and the sign of what is added."""
    record = record_of(torch.tensor([[0.9, 0.0], [0.7, -0.6]]), torch.zeros(2))
    assert record["clipped"] == pytest.approx({"share": 0.75, "mean": 0.2, "most": 0.3, "bias": -0.05}, abs=1e-6)


def test_without_noise_only_clipping_is_recorded(weights: torch.Tensor) -> None:
    """A noise-free baseline that claims a measured variance."""
    record = record_of(weights, weights.clamp(-0.4, 0.6).double().mean(0), math.inf)
    assert set(record) == {"center", "radius", "weights", "clipped"}


@together("epsilon", [1e-9, 50.0, 800.0])
def test_rounding_of_the_reports_is_no_bias(epsilon: float) -> None:
    """Scores that blow up where A - 1 or 1 / A is beyond float32."""
    ends = torch.tensor([[0.6, -0.4, 0.6, 0.1]] * 3)
    record = record_of(ends, averaged(ends, mechanism=TwoPoint(epsilon, 0.1, 0.5)), epsilon)
    assert abs(record["bias_z"]) < 6
    assert all(math.isfinite(record[key]) for key in ("variance", "variance_exact", "variance_sd", "variance_z"))
    assert record["lemma_3"]["holds"]


def test_lemma_3_is_seen_to_fail() -> None:
    """Bounds for n clients where k < n report."""
    assert lemma_3(0.5, 1.0, 10, 0.08)["holds"]
    assert not lemma_3(0.5, 1.0, 20, 0.08)["holds"]
    assert not lemma_3(0.5, 1.0, 10, 0.07)["holds"]
