"""Areas of caps against high precision and hand formulas, and that directions are as near to uniform as is stated."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.torch_randomness import TorchSource
from ldp_audit.mechanisms.values import sphere
from ldp_audit.mechanisms.values.sphere import area_error, cap_area, cap_moments, directions
from tests.frequency import assert_frequency
from tests.together import together


@together("d", [2, 3, 4, 17, 1000, 100_000])
@together("share", [0.0, 0.3, 1.0, 3.0])
def test_areas_and_moments_in_forty_digits(d: int, share: float) -> None:
    """share: the height, in units of 1/sqrt(d); beyond 1 there is none."""
    height = min(share / math.sqrt(d), 0.99)
    with mpmath.workdps(40):
        g = mpmath.mpf(height)

        def integral(power: int) -> Any:  # of u**power (1 - u**2)**((d - 3)/2), by s = 1 - u**2
            ends = (mpmath.mpf(d - 1) / 2, mpmath.mpf(power + 1) / 2)
            return mpmath.betainc(*ends, 0, 1 - g**2) / 2

        whole = mpmath.beta(mpmath.mpf(d - 1) / 2, mpmath.mpf(1) / 2)
        area, first, second = (float(integral(power) / whole) for power in range(3))
    assert cap_area(height, d) == pytest.approx(area, rel=1e-11, abs=0)
    assert abs(cap_area(height, d) - area) < sphere.AREA_ERROR / 3
    assert cap_moments(height, d) == pytest.approx((first, second), rel=1e-10, abs=0)
    assert cap_area(-height, d) == pytest.approx(1 - area, rel=1e-11)


def test_areas_of_two_and_three_dimensions() -> None:
    for height in (0.0, 0.2, 0.7, 0.999):
        assert cap_area(height, 2) == pytest.approx(math.acos(height) / math.pi, rel=1e-13)
        assert cap_area(height, 3) == pytest.approx((1 - height) / 2, rel=1e-13)
        assert cap_moments(height, 2)[0] == pytest.approx(math.sqrt(1 - height**2) / math.pi, rel=1e-12)
        assert cap_moments(height, 3)[0] == pytest.approx((1 - height**2) / 4, rel=1e-13)
        assert cap_moments(height, 3)[1] == pytest.approx((1 - height**3) / 6, rel=1e-13)


FIRST = [2**28, 2**28 + 1, 2**40 + 12345, 2**61 - 7, 2**61, 2**62 - 2**40, 2**62 - 2**29]
"""First words of pairs that are not unusual, at both ends: U >= 2**-34, R >= 2**-17; of 62 bits, from 0."""


@together("library", ["numpy", "torch"])
def test_no_usual_pair_is_off_by_more_than_is_stated(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """In forty digits, at both ends and in the middle of the words' intervals, also of 300 random words."""
    rng = np.random.default_rng(1)
    firsts = np.array([*FIRST, *rng.integers(2**28, 2**62 - 2**29, 300)])
    seconds = np.array([-(2**52), 2**52 - 1, 0, -1, 2**51, 5, 2**50, *rng.integers(-(2**52), 2**52, 300)])

    def words(_self: Any, _shape: Any, bits: int = 64) -> Any:
        found = firsts - 2**61 if bits == 62 else seconds
        return torch.from_numpy(found)[:, None] if library == "torch" else found[:, None]

    given: Any = NumpySource if library == "numpy" else TorchSource
    monkeypatch.setattr(given, "words", words)
    made = np.random.default_rng(0) if library == "numpy" else torch.Generator()
    lengths: list[Any] = []
    real = given.xp.sqrt
    monkeypatch.setattr(given.xp, "sqrt", lambda z: (lengths.append(real(z)), real(z))[1])
    units, _ = directions((firsts.size,), 2, given(made))
    pairs = np.asarray(units) * np.asarray(lengths[1])[:, None]
    usual = np.asarray(lengths[1]) >= math.sqrt(1 / 8)  # else the norm is replaced by 1
    pairs[~usual] = np.asarray(units)[~usual]
    with mpmath.workdps(40):
        for (a, b), one, two in zip(pairs.tolist(), firsts.tolist(), seconds.tolist(), strict=True):
            for part in (mpmath.mpf("1e-9"), mpmath.mpf(1) / 2, 1 - mpmath.mpf("1e-9")):
                radius = mpmath.sqrt(-2 * mpmath.log((one + part) / mpmath.mpf(2) ** 62))
                angle = 2 * mpmath.pi * (two + part) / mpmath.mpf(2) ** 53
                off = mpmath.hypot(a - radius * mpmath.cos(angle), b - radius * mpmath.sin(angle))
                assert off < sphere.PAIR_ERROR, (one, two)


def test_the_error_of_areas_is_as_small_as_is_needed() -> None:
    """Below a hundred-thousandth for up to 10,000 dimensions; more than an exact enclosure's rounding."""
    for d, most in ((2, 1e-7), (3, 4e-8), (100, 3e-7), (10_000, 1e-5), (100_000, 4e-5)):
        for height in (0.0, 0.5 / math.sqrt(d), 3 / math.sqrt(d) if d > 9 else 0.99):
            assert 1e-9 < area_error(height, d) < most
    with pytest.raises(ValueError, match="d must be less for directions in floats, got 10000000000"):
        area_error(0.0, 10**10)


@together("library", ["numpy", "torch"])
@together("d", [2, 3, 7, 30])
def test_caps_are_hit_as_often_as_their_area_says(library: str, d: int) -> None:
    """Around an axis and around a vector at an angle to all: false alarm 1e-6 each, 0.01 off is missed below 1e-6."""
    trials = 200_000
    given: Any = np.random.default_rng(8) if library == "numpy" else torch.Generator().manual_seed(8)
    source: Any = NumpySource(given) if library == "numpy" else TorchSource(given)
    drawn, usable = (np.asarray(one) for one in directions((trials,), d, source))
    kept = drawn[usable]
    assert np.abs(np.sum(kept**2, axis=-1) - 1).max() < 1e-14
    slanted = np.arange(1, d + 1) / math.sqrt(sum(j * j for j in range(1, d + 1)))
    for x in (np.eye(d)[0], np.eye(d)[-1], slanted):
        for height in (-0.4 / math.sqrt(d), 0.0, 1 / math.sqrt(d)):
            assert_frequency(int((kept @ x >= height).sum()), len(kept), cap_area(height, d))
    with pytest.raises(AssertionError, match="where"):
        assert_frequency(int((kept @ x >= 0).sum()), len(kept), cap_area(0.05, d))
