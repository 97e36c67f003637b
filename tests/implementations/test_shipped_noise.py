"""Laplace and Gaussian as a whole, the rounding of inputs and the noise: the samplers' own code, every draw weighed.

Gaussian: all words. Laplace draws without end, from primitives of irrational probability, which are weighed here by
their laws: P(A >= a) = e**(-a/8), and e**(-B/t) that B is kept. That the code has these laws, word by word and coin by
coin, is shown in tests/mechanisms/noise/test_laplace_noise.py. The rounding decides between quarters of a spacing, for
which the first two bits of its words suffice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import Gaussian, Laplace
from ldp_audit.mechanisms.noise import laplace_noise
from ldp_audit.mechanisms.noise.laplace import LaplaceGrid
from ldp_audit.mechanisms.noise.laplace_noise import PARTS
from tests.implementations.shipped_runs import (
    Draw,
    enumerated,
    every_epsilon,
    every_float,
    words_leading_to,
)

EXPONENTS = {0.01: 0, 0.1: -3, 1.0: -5, 4.0: -8, 10.0: -10, 20.0: -9, 50.0: -9}
"""Of the grid, so that a sensitivity of 1 and the scale 1/epsilon have few spacings."""


@dataclass(frozen=True)
class Weighed:
    """The reports of one input and their probabilities; those from a limit on, either way, are one report each."""

    reports: np.ndarray
    probabilities: np.ndarray


@pytest.mark.covering(1)
@every_float
@every_epsilon
def test_laplace(monkeypatch: Any, draw: Draw, epsilon: float, dtype: Any) -> None:
    """Two inputs a sensitivity (rounded up) apart, and one between grid points: no ratio is above e**epsilon."""
    m = LaplaceGrid(Laplace(1 / epsilon), EXPONENTS[epsilon])
    assert m.exact_epsilon() <= epsilon
    far = m.worst_pair()[1]
    laws = [weighed(monkeypatch, draw, m, x, dtype) for x in (0.0, far, math.ldexp(0.25, m.exponent))]
    losses = []
    for first, second in combinations(laws, 2):
        assert np.array_equal(first.reports, second.reports)  # what one input reaches, the others reach
        losses.append(float(np.max(np.abs(np.log(first.probabilities / second.probabilities)))))
    assert max(losses) <= m.exact_epsilon() * (1 + 1e-12)
    if dtype in (np.float64, torch.float64):
        assert losses[0] == pytest.approx(m.exact_epsilon(), rel=1e-12, abs=0)


class _TooNarrow(LaplaceGrid):
    def width(self) -> int:
        return super().width() - PARTS - PARTS


@pytest.mark.parametrize("dtype", [np.float64, torch.float16], ids=str)
def test_a_noise_that_is_too_narrow_is_seen(monkeypatch: Any, draw: Draw, dtype: Any) -> None:
    """The bug is planted in the width: the same weighing gives more than epsilon."""
    m = _TooNarrow(Laplace(1.0), -5)
    first, second = (weighed(monkeypatch, draw, m, x, dtype) for x in m.worst_pair())
    assert np.max(np.abs(np.log(first.probabilities / second.probabilities))) > 1.0


def weighed(monkeypatch: Any, draw: Draw, m: LaplaceGrid, x: float, dtype: Any) -> Weighed:
    """All of A up to a last one, B, the sign and the rounding; -0, which is drawn again, has no weight of its own."""
    t, part, shift = m.width(), m.width() // PARTS, m.shift()
    last = min(math.ceil((shift + 3 * t) / part), 350)
    parts, within, plus, turn = (
        each.ravel() for each in np.meshgrid(range(last + 1), range(part), (0, 1), range(4), indexing="ij")
    )
    kept: list[tuple[np.ndarray, int]] = []

    def keeps_all(numerators: Any, denominator: int, _source: Any) -> Any:
        kept.append((np.asarray(numerators), denominator))
        return numerators == numerators

    monkeypatch.setattr(laplace_noise, "decays", keeps_all)
    powers = np.array([int(math.exp(-(a + 0.5) / 8) * 2**64) for a in range(last + 1)], dtype=np.uint64)
    again = [(("words", 64), 2**63), (("below", part), 0), (("words", 1), 1)]
    answers = [
        (("words", 53), turn << 51),
        (("words", 64), powers[parts]),
        (("below", part), within),
        (("words", 1), plus),
        *again,
    ]
    drawn = draw(m, x, len(parts), dtype, answers)
    reports = np.asarray(drawn.double() if isinstance(drawn, torch.Tensor) else drawn, dtype=np.float64)
    refused = (plus == 0) & (parts == 0) & (within == 0)
    assert [len(numerators) for numerators, _ in kept] == [len(parts), int(refused.sum())]
    chance = np.exp(-parts / 8) * -math.expm1(-1 / 8) * np.exp(-kept[0][0] / kept[0][1]) / (8 * part)
    chance[refused] = 0.0
    accepted = math.fsum(np.exp(-np.arange(part) / t)) / part + math.expm1(-1 / 8) / (2 * part)
    beyond = math.exp(-(last + 1) * part / t) / (1 + math.exp(-1 / t))  # of noise on either side
    assert math.fsum(chance / accepted) == pytest.approx(1 - 2 * beyond, rel=1e-12)
    return _with_ends(reports, chance / accepted, beyond, limit(m, (last + 1) * part - shift - 2, dtype))


def limit(m: LaplaceGrid, steps: int, dtype: Any) -> float:
    """What the dtype makes of so many spacings; all sums that are left out lie beyond them, at any of the inputs."""
    value = np.array([math.ldexp(steps, m.exponent)])
    return float(torch.from_numpy(value).to(dtype)[0] if isinstance(dtype, torch.dtype) else value.astype(dtype)[0])


def _with_ends(reports: np.ndarray, chance: np.ndarray, beyond: float, end: float) -> Weighed:
    found, place = np.unique(np.clip(reports, -end, end)[chance > 0], return_inverse=True)
    total = np.bincount(place, weights=chance[chance > 0])
    assert (found[0], found[-1]) == (-end, end)
    total[[0, -1]] += beyond
    return Weighed(found, total)


@pytest.mark.covering(1)
@every_float
@every_epsilon
def test_gaussian(draw: Draw, epsilon: float, dtype: Any) -> None:
    """Words of 10 bits and all of the rounding: delta is the law's at the worst pair, and no more at others."""
    law = Gaussian(1.0).implemented(10)
    assert law.grid.cells == 1
    quarter = float(law.grid.spacing()) / 4

    def answers(words: Any) -> Any:
        noise = words >> 2 & 1023
        return [(("words", 53), (words & 3) << 51), (("words", 64), noise.astype(np.uint64) << np.uint64(54))]

    inputs = (0.0, 1.0, quarter, 1.0 - quarter, 1.0 + quarter)
    found = enumerated(draw, law, inputs, dtype, 12, answers, epsilon)
    near = [pair for pair in found.pairs if abs(pair.first - pair.second) <= 1]
    assert len(near) == 9
    allowed = float(law.delta(epsilon))
    assert max(pair.delta(epsilon) for pair in near) <= allowed * (1 + 1e-12)
    if dtype in (np.float64, torch.float64):
        assert max(pair.delta(epsilon) for pair in near) == pytest.approx(allowed, rel=1e-12)


@every_epsilon
@pytest.mark.parametrize(
    "sigma", [1.0, pytest.param(0.3, marks=pytest.mark.slow), pytest.param(7.0, marks=pytest.mark.slow)]
)
def test_gaussian_with_64_bits_slot_by_slot(epsilon: float, sigma: float) -> None:
    """The sampler's table leads to each noise by as many words as the law counts; delta is hardly the ideal one's."""
    ideal = Gaussian(sigma)
    law = ideal.implemented()
    counts = law.counts()
    assert words_leading_to(law.table(), 0, len(counts)) == list(counts)
    assert law.delta(epsilon) <= ideal.delta(epsilon) + 1e-13
