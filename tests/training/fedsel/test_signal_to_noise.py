"""What selecting gains and costs, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from ldp_audit.training.fedsel.signal_to_noise import signal_ratio
from tests.together import together


def piecewise_variance(epsilon: float) -> float:
    s = math.exp(epsilon / 2)
    return (s + 3) / (3 * (s - 1) ** 2)


def test_the_ratio_is_the_gain_in_reports_times_the_loss_in_noise() -> None:
    """Catches an inverted ratio, and a flat solution with another number of coordinates than its rule's."""
    found = signal_ratio("PS", "PM", epsilon=2.0, mu=0.1, d=100)
    chance = math.exp(0.2) / (90 + 10 * math.exp(0.2))
    assert found == pytest.approx(chance * 100 * piecewise_variance(2.0) / piecewise_variance(1.8))
    assert found == pytest.approx(0.903, abs=5e-4)
    three = signal_ratio("PS", "PM", epsilon=8.0, mu=0.1, d=100)
    chance = math.exp(0.8) / (90 + 10 * math.exp(0.8))
    assert three == pytest.approx(chance * 100 / 3 * piecewise_variance(8 / 3) / piecewise_variance(7.2))
    assert three > signal_ratio("PS", "PM", epsilon=8.0, mu=0.1, d=100, coordinates=1) > 1


@together("selection", ["EXP", "PE", "PS"])
def test_a_small_epsilon_never_pays_for_a_selection(selection: str) -> None:
    """Catches a limit other than (1 - mu)**2."""
    assert signal_ratio(selection, "DUCHI", epsilon=1e-4, mu=0.1, d=100) == pytest.approx(0.81, rel=1e-3)
