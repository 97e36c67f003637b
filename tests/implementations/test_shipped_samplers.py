"""The shipped samplers' own code, run on every word that it can draw: epsilon is at most the claimed one in all dtypes.

Enumerated completely, by `implemented(bits).sample` with few bits: TwoPoint, RandomizedResponse, PerturbedSampling,
PerturbedEncoding, DuchiVector (three coordinates, inputs at corners), CoordinateSampling, TwoStage, RandomProjection;
Piecewise and Hybrid with some of their 15 rounding bits (a mixture that costs nothing); Gaussian with fixed rounding.
`test_shipped_finite_samplers.py` has ExponentialSelection, FiniteChannel and SubsampleRelease, `test_shipped_noise.py`
Laplace and Gaussian with all that they draw, `test_shipped_samplers_by_structure.py` what cannot be enumerated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import (
    CoordinateSampling,
    DuchiVector,
    Gaussian,
    Hybrid,
    PerturbedEncoding,
    PerturbedSampling,
    Piecewise,
    RandomizedResponse,
    RandomProjection,
    TwoPoint,
    TwoStage,
)
from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.two_point import FiniteTwoPoint
from tests.implementations.shipped_runs import (
    BITS,
    BOOLEANS,
    FLOATS,
    WHOLE,
    Draw,
    assert_sound,
    enumerated,
    every_epsilon,
    every_float,
    reachable,
    some_float,
)


@pytest.mark.covering(1)
@every_float
@every_epsilon
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(("center", "radius"), [(0.0, 1.0), (0.3, 0.7), (1.0, 0.001)])
def test_two_point(draw: Draw, epsilon: float, dtype: Any, center: float, radius: float, bits: int) -> None:
    """Both ends, beside them, and the middle. Where the dtype has one number for both reports nothing is told."""
    m = TwoPoint(epsilon, center, radius)
    low, high = m.domain()
    inputs = [low, high, center, center + 0.9 * radius] if center != 1.0 else [low, high]
    law = m.implemented(bits)
    found = enumerated(draw, law, inputs, dtype, bits, lambda words: [(("words", bits), words)], epsilon)
    assert_sound(found)
    if len({reachable(y, dtype) for y in m.outputs()}) == 1:
        assert found.epsilon == 0
    elif (reachable(low, dtype), reachable(high, dtype)) == (low, high):
        assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@pytest.mark.covering(1)
@every_epsilon
@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE], ids=str)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("k", [4, pytest.param(2, marks=pytest.mark.slow)])
def test_randomized_response(draw: Draw, epsilon: float, dtype: Any, k: int, bits: int) -> None:
    law = RandomizedResponse(epsilon, k).implemented(bits)
    asked = ("below", k) if law.each() is None else ("words", bits)
    answers = (lambda words: [(asked, words % k)]) if law.each() is None else (lambda words: [(asked, words)])
    found = enumerated(draw, law, range(k), dtype, bits, answers, epsilon)
    assert_sound(found)
    assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@pytest.mark.covering(1)
@every_float
@every_epsilon
def test_piecewise(draw: Draw, epsilon: float, dtype: Any) -> None:
    """Words of 8 bits, and 4 bits of the rounding, of which the two ends need none and 0.3 does."""
    law = Piecewise(epsilon).implemented(8)
    found = enumerated(
        draw,
        law,
        (-1.0, 1.0, 0.3),
        dtype,
        12,
        lambda words: [(("words", 16), (words & 15) << 12), (("words", 8), words >> 4)],
        epsilon,
    )
    assert_sound(found)
    assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@some_float
@every_epsilon
def test_hybrid(draw: Draw, epsilon: float, dtype: Any) -> None:
    """Three words of 4 bits: the cell, the point, and which of the two is reported."""
    law = Hybrid(epsilon).implemented(4)
    cell = [(("words", 16), lambda words: (words & 3) << 14), (("words", 4), lambda words: words >> 2 & 15)]
    points = [(("words", 4), lambda words: words >> 6 & 15)]
    share = law.piecewise_words()
    asked = (
        cell if share == 16 else points if share == 0 else [*cell, *points, (("words", 4), lambda words: words >> 10)]
    )
    found = enumerated(
        draw, law, (-1.0, 1.0, 0.3), dtype, 14, lambda words: [(what, of(words)) for what, of in asked], epsilon
    )
    assert_sound(found)
    assert found.epsilon <= law.exact_epsilon() * (1 + 1e-12)


@pytest.mark.covering(1)
@every_float
@every_epsilon
def test_duchi_vector(draw: Draw, epsilon: float, dtype: Any) -> None:
    """Corners: no rounding. One word for the side, and three bits for the corner there."""

    def answers(words: Any) -> Any:
        corner = words[:, None] >> np.arange(3) & 1
        return [(("words", 8), words >> 3), (("words", 53), 0), (("words", 1), corner)]

    law = DuchiVector(epsilon, 3).implemented(8)
    inputs = [(1.0, 1.0, 1.0), (-1.0, -1.0, -1.0), (1.0, -1.0, 1.0)]
    found = enumerated(draw, law, inputs, dtype, 11, answers, epsilon)
    assert_sound(found)
    assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@pytest.mark.covering(1)
@every_epsilon
@pytest.mark.parametrize("dtype", [*BOOLEANS, *WHOLE], ids=str)
@pytest.mark.parametrize("selection", [PerturbedSampling, PerturbedEncoding.calibrated])
def test_selections(draw: Draw, epsilon: float, dtype: Any, selection: Any) -> None:
    """One word of 8 bits, then one of two indices inside the set and one of two outside it."""
    law = selection(epsilon, 4, 2).implemented(8)

    def answers(words: Any) -> Any:
        index = (
            [(("below", 4), words & 3)]
            if law.rarer() is None
            else [(("below", 2), words & 1), (("below", 2), words >> 1 & 1)]
        )
        return [(("words", 8), words >> 2), *index]

    inputs = [(1, 1, 0, 0), (0, 0, 1, 1), (0, 1, 1, 0)]
    found = enumerated(draw, law, inputs, dtype, 10, answers, epsilon)
    assert_sound(found)
    assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@some_float
@every_epsilon
def test_coordinate_sampling(draw: Draw, epsilon: float, dtype: Any) -> None:
    """One of two coordinates, and both: then two words of 6 bits."""
    one, both = CoordinateSampling(TwoPoint, epsilon, 2, 1), CoordinateSampling(TwoPoint, epsilon, 2, 2)
    inputs = [(1.0, 1.0), (-1.0, -1.0), (-1.0, 0.25)]
    found = enumerated(
        draw,
        one.implemented(8),
        inputs,
        dtype,
        9,
        lambda words: [(("below", 2), words & 1), (("words", 8), words[:, None] >> 1)],
        epsilon,
    )
    assert_sound(found)
    found = enumerated(
        draw,
        both.implemented(6),
        inputs,
        dtype,
        12,
        lambda words: [(("words", 6), np.stack([words & 63, words >> 6], axis=1))],
        epsilon,
    )
    assert_sound(found)
    assert found.epsilon == pytest.approx(both.implemented(6).exact_epsilon(), rel=1e-12)


@some_float
@every_epsilon
def test_two_stage(draw: Draw, epsilon: float, dtype: Any) -> None:
    law = TwoStage(PerturbedSampling(epsilon / 2, 4, 2), TwoPoint(epsilon / 2), clip=True).implemented(5)

    def answers(words: Any) -> Any:
        index = (
            [(("below", 4), words & 3)]
            if law.selection.rarer() is None
            else [(("below", 2), words & 1), (("below", 2), words >> 1 & 1)]
        )
        return [(("words", 5), words >> 2 & 31), *index, (("words", 5), words >> 7)]

    first, second = law.worst_pair()
    found = enumerated(draw, law, [tuple(first), tuple(second), (-0.0, 0.5, 0.0, -0.25)], dtype, 12, answers, epsilon)
    assert_sound(found)
    assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@some_float
@every_epsilon
def test_random_projection(draw: Draw, epsilon: float, dtype: Any) -> None:
    m = RandomProjection.drawn(TwoPoint(epsilon), 4, 2, np.random.default_rng(1), clip=True)
    first, second = m.worst_pair()
    found = enumerated(
        draw,
        m.implemented(8),
        [tuple(2 * first), tuple(2 * second)],
        dtype,
        9,
        lambda words: [(("below", 2), words & 1), (("words", 8), words >> 1)],
        epsilon,
    )
    assert_sound(found)
    assert found.epsilon == pytest.approx(m.implemented(8).exact_epsilon(), rel=1e-12)


@pytest.mark.covering(1)
@every_float
@every_epsilon
@pytest.mark.parametrize("rounding", [0.3, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (0.0, 1.0))])
def test_gaussian(draw: Draw, epsilon: float, dtype: Any, rounding: float) -> None:
    """All words of 12 bits, at one rounding of the inputs: delta is at most the law's, whatever the dtype rounds."""
    law = Gaussian(1.0).implemented(12)
    turn = min(int(rounding * 2**53), 2**53 - 1)
    cells = [(("below", law.grid.cells), int(rounding * (law.grid.cells - 1)))] if law.grid.cells > 1 else []

    def answers(words: Any) -> Any:
        return [(("words", 53), turn), *cells, (("words", 64), words.astype(np.uint64) << np.uint64(52))]

    allowed = float(law.delta(epsilon)) * (1 + 1e-9)
    found = enumerated(draw, law, (0.0, 1.0, 0.3, -0.7), dtype, 12, answers, epsilon, allowed)
    near = [pair for pair in found.pairs if abs(pair.first - pair.second) <= 1]
    assert len(near) == 5
    assert all(pair.delta(epsilon) <= allowed for pair in near)


@pytest.mark.parametrize("d", [2, 4])
def test_corners_are_uniform_on_either_side_in_even_dimensions(d: int) -> None:
    """All corners, turned to the side of (1, .., 1) or away from it, or refused: those kept come equally often."""
    m = DuchiVector(1.0, d)
    for favoured, side in zip((True, False), m.sides(), strict=True):
        source = _AllCorners(d, again=0 if favoured else -1)
        drawn = np.sign(m.draw(np.ones((2**d, d)), np.full(2**d, favoured), source)).astype(int)
        found, times = np.unique(drawn, axis=0, return_counts=True)
        times[np.all(found == (1 if favoured else -1), axis=1)] -= source.refused
        assert np.all((found.sum(axis=1) > 0) == favoured)
        assert (len(found), len(set(times.tolist()))) == (side, 1)


class _AllCorners(NumpySource):
    """Every corner once; then, for those that were refused, the first or the last one."""

    def __init__(self, d: int, again: int) -> None:
        super().__init__(np.random.default_rng(0))
        self.corners, self.again, self.refused = -(np.arange(2**d)[:, None] >> np.arange(d) & 1), again, 0

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        if bits == 53:
            return np.full(shape, -(2**52))  # an input at a corner is rounded to it
        if shape[0] == len(self.corners):
            return self.corners
        self.refused += shape[0]
        return np.broadcast_to(self.corners[self.again], shape)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, torch.bfloat16], ids=str)
def test_a_bug_planted_in_a_shipped_sampler_is_seen(monkeypatch: Any, draw: Draw, dtype: Any) -> None:
    """One word too few for the rarer report, or none: the same run that passes for the sound sampler fails."""
    m = TwoPoint(4.0)
    rarest = m.implemented(8).rarest()
    for fewer in (1, rarest):
        monkeypatch.setattr(FiniteTwoPoint, "rarest", lambda _self, fewer=fewer: rarest - fewer)
        found = enumerated(draw, m.implemented(8), (-1.0, 1.0), dtype, 8, lambda words: [(("words", 8), words)], 4.0)
        assert found.verdict == "violated"
        assert (found.epsilon == math.inf) == (fewer == rarest)
