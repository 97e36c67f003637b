"""What the enumeration over the registry (`tests/mechanisms/test_every_mechanism.py`) leaves of the shipped samplers.

Gaussian with fixed rounding, Duchi's corners in even dimensions, and planted bugs, which are seen.
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
    DuchiVector,
    Gaussian,
    TwoPoint,
)
from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.two_point import FiniteTwoPoint
from tests.implementations.shipped_runs import (
    Draw,
    enumerated,
    every_epsilon,
    every_float,
)


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
