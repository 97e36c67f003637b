"""The hybrid: its law and moments as a mixture, and the known facts of Wang et al; and as it is sampled."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import Hybrid, Piecewise, TwoPoint
from ldp_audit.mechanisms.values.piecewise import PiecewiseGrid
from tests.replay import Drawn
from tests.together import together


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


@together("epsilon", [0.3, 0.7, 4.0, 100.0, 700.0])
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


@given(st.floats(1e-9, 60.0), st.integers(2, 64))
def test_the_implemented_epsilon_is_the_larger_of_its_parts(epsilon: float, bits: int) -> None:
    m = Hybrid(epsilon).implemented(bits)
    words = m.piecewise_words()
    assert abs(words - Hybrid(epsilon).mixing() * 2**bits) <= 0.5 + 2.0 ** (bits - 52)
    parts = [*([m.piecewise()] if words else []), *([m.points()] if words < 2**bits else [])]
    assert m.exact_epsilon() == max(part.exact_epsilon() for part in parts)
    assert m.exact_epsilon() <= math.nextafter(epsilon, math.inf)  # a logarithm, rounded to nearest


@together(("epsilon", "bits"), [(0.3, 8), (0.9, 4), (1.0, 8), (2.0, 10), (4.0, 12)])
def test_it_is_a_mechanism_with_the_law_of_its_counts(epsilon: float, bits: int) -> None:
    """Over all outputs: both parts' reports. Epsilon and delta are the largest over pairs of inputs."""
    m = Hybrid(epsilon).implemented(bits)
    outputs = np.unique(np.concatenate([m.piecewise().outputs(), m.points().outputs()]))
    inputs = np.concatenate([np.linspace(-1, 1, 9), np.arange(-2, 3) / max(m.piecewise().half, 2)])
    with np.errstate(divide="ignore"):
        laws = np.exp(m.log_prob(outputs, inputs[:, None]))
    assert laws.sum(axis=1) == pytest.approx(1, rel=1e-12)
    assert m.mean(inputs) == pytest.approx(laws @ outputs, rel=1e-11, abs=1e-11)
    assert m.variance(inputs) == pytest.approx(laws @ outputs**2 - (laws @ outputs) ** 2, rel=1e-11)
    pairs = list(itertools.product(laws, repeat=2))
    known = laws[0] > 0
    worst = max(np.max(p[known] / q[known]) for p, q in pairs)
    assert m.exact_epsilon() == pytest.approx(math.log(worst), rel=1e-11, abs=1e-14)
    for share in (0.0, 0.4, 0.9, 1.2):
        level = share * m.exact_epsilon()
        gap = max(np.maximum(p - math.exp(level) * q, 0).sum() for p, q in pairs)
        assert m.delta(level) == pytest.approx(gap, rel=1e-9, abs=1e-13)
    first, second = (np.exp(m.log_prob(outputs, x)) for x in m.worst_pair())
    assert np.maximum(first - second, 0).sum() == pytest.approx(m.delta(0.0), rel=1e-11, abs=1e-14)


@together("epsilon", [0.62, 1.0, 4.0, 12.0, 25.0])
def test_its_moments_are_close_to_the_ideal_ones(epsilon: float) -> None:
    x = np.linspace(-1, 1, 101)
    m = Hybrid(epsilon).implemented()
    assert np.max(np.abs(m.mean(x) - x)) < 1e-8
    assert m.variance(x) == pytest.approx(Hybrid(epsilon).variance(x), rel=5e-4)


def test_the_choice_of_part_is_that_of_whole_words() -> None:
    """16 bits choose, and 48 more at the threshold, as the whole word would: also next to it."""
    for epsilon in (0.7, 3.0):
        m = Hybrid(epsilon).implemented()
        first = m.piecewise_words() - 2**63
        near = first + np.array([-(2**48), -1, 0, 1, 2**48])
        whole = np.concatenate([near, np.random.default_rng(0).integers(-(2**63), 2**63, 5000)])
        source = _Choosing(whole)
        out = np.empty(whole.size)
        m.blocks(np.dtype(np.float64), whole.size, source)(np.full(whole.size, 0.1), out)
        assert np.array_equal(np.isin(out, m.points().outputs()), whole >= first)


class _Choosing(Drawn):
    """The third array of short words, which chooses the part, begins the given words."""

    def __init__(self, whole: np.ndarray) -> None:
        super().__init__(1)
        self.chooses = whole

    def short_words(self, count: int) -> np.ndarray:
        if len(self.short) < 2:
            return super().short_words(count)
        self.short.append(self.chooses)
        return (self.chooses >> 48).astype(np.int16)


def test_no_point_is_a_cell() -> None:
    """Else the two parts' reports would merge there, and `exact_epsilon` be an upper bound only."""
    for epsilon in np.linspace(0.61, 14, 100):
        m = Hybrid(epsilon).implemented()
        cells = m.piecewise()
        assert isinstance(cells, PiecewiseGrid)
        assert np.all(np.isneginf(cells.log_prob(m.points().outputs(), 0.0)))
