from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit import audit
from ldp_audit.auditing.scores import score_from_dict
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace
from ldp_audit.mechanisms import Laplace
from tests.together import together


@together(
    ("number", "grain"),
    [(1.0, 0), (-3.0, 0), (0.75, -2), (6.0, 1), (1 + 2**-52, -52), (2.0**-1074, -1074), (2.0**1023, 1023)],
)
def test_the_grain_is_the_exponent_of_the_last_bit(number: float, grain: int) -> None:
    assert UnitInLastPlace().of(np.array([number])).tolist() == [grain]


def test_zero_and_infinity_are_coarser_than_every_number() -> None:
    grains = UnitInLastPlace().of(np.array([0.0, math.inf, -math.inf, 2.0**1023]))
    assert grains[:3].tolist() == [1024.0] * 3
    assert grains[3] < 1024


def test_it_is_proposed_where_numbers_are_fine_and_not_on_a_grid() -> None:
    rng = np.random.default_rng(0)
    fine, coarse = rng.laplace(size=1000), np.round(rng.laplace(size=1000) * 2**20) / 2**20
    assert UnitInLastPlace.learn(fine, fine, rng) == [UnitInLastPlace()]
    assert UnitInLastPlace.learn(coarse, coarse, rng) == []
    assert UnitInLastPlace.learn(np.zeros(10), np.zeros(10), rng) == []
    single = fine.astype(np.float32).astype(float)
    assert UnitInLastPlace.learn(single, single, rng) == [UnitInLastPlace()]
    on_grid = np.round(single * 2**12) / 2**12
    assert UnitInLastPlace.learn(on_grid, on_grid, rng) == []
    assert UnitInLastPlace.learn(np.column_stack([coarse, fine]), np.column_stack([coarse, fine]), rng) == [
        UnitInLastPlace(1)
    ]


def test_it_is_the_same_after_json() -> None:
    for score in (UnitInLastPlace(), UnitInLastPlace(2)):
        assert score_from_dict(score.to_dict()) == score
    with pytest.raises(ValueError, match="grain's place"):
        score_from_dict({"kind": "grain", "place": -1})


def test_the_coordinate_of_a_vector_whose_last_bits_differ_is_found() -> None:
    def noisy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.array([0.0, x, 0.0]) + rng.laplace(size=(n, 3))

    found = audit(noisy, (0.0, 1.0), 1.0, samples=50_000, confidence=1 - 1e-6, floating_point=True)
    assert found.violated
    assert "y[1] is not a multiple of 2**-" in found.witness.describe()
    assert not audit(noisy, (0.0, 1.0), 1.0, samples=50_000, confidence=1 - 1e-6).violated


def test_floating_point_noise_is_betrayed_and_a_grid_is_not() -> None:
    """The sound sampler is called broken by one seed in a million at most."""

    def textbook(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return x + rng.laplace(size=n)

    def shipped(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return Laplace(1.0).sample(np.full(n, x), rng=rng)

    def single(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.float32(x) + rng.laplace(size=n).astype(np.float32)

    for program in (textbook, single):
        found = audit(program, (0.0, 1.0), 1.0, samples=50_000, floating_point=True)
        assert found.violated
        assert "multiple of 2**" in found.witness.describe()
    assert not audit(textbook, (0.0, 1.0), 1.0, samples=50_000, confidence=1 - 1e-6).violated
    assert not audit(shipped, (0.0, 1.0), 1.0, samples=50_000, confidence=1 - 1e-6, floating_point=True).violated
