"""The hybrid: its law and moments as a mixture, and the known facts of Wang et al."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.mechanisms import Hybrid, Piecewise, TwoPoint


def test_worst_case_variances_of_wang_et_al() -> None:
    table = {0.1: 400.667, 0.5: 16.6708, 1: 4.28899, 2: 1.04234, 4: 0.218979}
    for epsilon, worst in table.items():
        assert np.max(Hybrid(epsilon).variance(np.linspace(-1, 1, 21))) == pytest.approx(worst, rel=5e-6)


def test_it_is_never_worse_than_its_parts_and_level_above_its_threshold() -> None:
    assert Hybrid.threshold() == pytest.approx(0.60935249302730953, rel=1e-14)
    x = np.linspace(-1, 1, 41)
    for epsilon in (0.1, 0.6, 0.62, 1.3, 5.0):
        worst = np.max(Hybrid(epsilon).variance(x))
        assert worst <= np.max(Piecewise(epsilon).variance(x)) * (1 + 1e-12)
        assert worst <= np.max(TwoPoint(epsilon).variance(x)) * (1 + 1e-12)
    assert np.ptp(Hybrid(2.0).variance(x)) < 1e-12
    assert Hybrid(0.5).mixing() == 0


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 4.0, 100.0, 700.0])
def test_points_have_mass_and_the_rest_density(epsilon: float) -> None:
    m, x = Hybrid(epsilon), np.array([-1.0, 0.2, 1.0])
    points = np.array(TwoPoint(epsilon).outputs())
    share = math.exp(-epsilon / 2) if epsilon > Hybrid.threshold() else 1.0
    assert list(m.is_atom([points[0], 0.01, points[1]])) == [True, False, True]
    mass = np.exp(m.log_prob(points[:, None], x)).sum(axis=0)
    assert mass == pytest.approx(share, rel=1e-12)
    if epsilon < 600:  # the points' smaller mass is a float
        gaps = m.log_prob(points[:, None], 1.0) - m.log_prob(points[:, None], -1.0)
        assert np.max(np.abs(gaps)) == pytest.approx(epsilon, rel=1e-12)
    density = m.log_prob(0.01, x) - Piecewise(epsilon).log_prob(0.01, x)
    assert density == pytest.approx(math.log1p(-share) if share < 1 else -math.inf, rel=1e-9)


def test_bad_input_is_named() -> None:
    for bad in (0, -1, math.inf, math.nan, "1"):
        with pytest.raises(ValueError, match="epsilon must be a finite number > 0"):
            Hybrid(bad)
    for bad in (1.1, math.nan, [0.0, -2.0], "a"):
        for method in (Hybrid(1.0).mean, Hybrid(1.0).variance):
            with pytest.raises(ValueError, match=r"x must lie in \[-1"):
                method(bad)
    assert Hybrid(1.0).exact_epsilon() == 1.0
    assert Hybrid(1.0).delta(1.0) == 0
