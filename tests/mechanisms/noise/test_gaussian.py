"""Gaussian noise on the line: profile in high precision at both ends, density, moments, what is refused."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.mechanisms import Gaussian
from ldp_audit.mechanisms.noise.gaussian import GaussianGrid
from ldp_audit.mechanisms.noise.noise_grid import NoiseGrid
from tests.together import together


@together("sigma", [0.05, 0.5, 1.0, 30.0, 1e6])
@together("level", [0.0, 1e-9, 0.3, 1.0, 8.0, 50.0])
def test_the_profile_in_four_hundred_digits(sigma: float, level: float) -> None:
    with mpmath.workdps(400):
        m, e = 1 / mpmath.mpf(sigma), mpmath.mpf(level)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    value = float(Gaussian(sigma).delta(level))
    if exact < mpmath.mpf(10) ** -300:
        assert value <= 1e-300
    else:
        digits = max(1e-14, 3e-16 * abs(float(mpmath.log(exact))))  # those of a logarithm
        assert value == pytest.approx(float(exact), rel=digits, abs=0)


def test_facts() -> None:
    assert Gaussian(1.0).exact_epsilon() == math.inf
    assert Gaussian(1.0).delta(0.0) == pytest.approx(math.erf(1 / (2 * math.sqrt(2))), rel=1e-14, abs=0)
    assert Gaussian(1.0).delta([[0.0, math.inf]]).shape == (1, 2)
    assert Gaussian(2.0).log_prob(1.0, 1.0) == pytest.approx(-math.log(2 * math.sqrt(2 * math.pi)))


@together("bad", [0.0, -1.0, math.inf, math.nan, "1"])
def test_bad_parameters_are_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="sigma must be a finite number > 0"):
        Gaussian(bad)
    with pytest.raises(ValueError, match="sensitivity must be a finite number > 0"):
        Gaussian(1.0, bad)


COARSE = [Gaussian(1.0, 0.7).implemented(12), Gaussian(3.0, 0.1).implemented(8), Gaussian(0.2, 5.0).implemented(16)]


@given(st.floats(-60, 60).map(math.exp), st.floats(-9, 4).map(math.exp), st.integers(2, 30))
@settings(max_examples=40)
def test_the_words_add_up_and_fall_from_the_middle(sigma: float, ratio: float, bits: int) -> None:
    m = Gaussian(sigma, sigma * ratio).implemented(bits)
    counts = m.counts()
    assert sum(counts) == 2**bits
    assert counts == counts[::-1]
    assert all(near >= far >= 1 for near, far in pairwise(counts[len(counts) // 2 :]))


@together(("sigma", "sensitivity"), [(1.0, 1.0), (1.7, 0.3), (0.9, 1e-3)])
def test_the_words_are_the_masses_of_the_cells_rounded_up(sigma: float, sensitivity: float) -> None:
    """In fifty digits; the middle has what is left, a few thousand words in 10**15 less than its share."""
    m = Gaussian(sigma, sensitivity).implemented()
    counts, middle = m.counts(), len(m.counts()) // 2
    with mpmath.workdps(50):
        width = mpmath.mpf(m.width().numerator) / m.width().denominator
        for k in (1, 2, 500, 1024, -1024, 5000, -8000, middle):
            mass = (mpmath.ncdf((abs(k) + 0.5) / width) - mpmath.ncdf((abs(k) - 0.5) / width)) * 2**64
            if abs(k) > 4 * width:  # the upper tail, without its cancellation
                mass = (mpmath.ncdf((0.5 - abs(k)) / width) - mpmath.ncdf((-0.5 - abs(k)) / width)) * 2**64
            assert counts[middle + k] == int(mpmath.ceil(mass))
        left = (2 * mpmath.ncdf(0.5 / width) - 1) * 2**64 - counts[middle]
    assert 0 < left < len(counts)


@together(
    ("sigma", "sensitivity", "excess"),
    [(0.3, 2**0.5, 1e-13), (40.0, 1.0, 1e-13), (1.0, 1e-3, 3e-9)],
)
def test_the_profile_is_hardly_above_the_ideal_one(sigma: float, sensitivity: float, excess: float) -> None:
    ideal = Gaussian(sigma, sensitivity)
    levels = np.concatenate([np.linspace(0, 20, 8), np.linspace(0, 5, 5) * sensitivity / sigma])
    found, wanted = ideal.implemented().delta(levels), ideal.delta(levels)
    assert np.all(found <= wanted + excess)
    assert np.all(found >= wanted * 0.97 - 1e-9)


@together("m", COARSE)
def test_no_pair_of_inputs_is_worse(m: GaussianGrid) -> None:
    """Pairs up to a sensitivity apart, on the grid and off it, by sums over all reports."""
    g, size = float(m.grid.spacing()), m.mechanism.sensitivity
    far = len(m.counts()) + math.ceil(size / g) + 2
    y = np.arange(-far, far + 1) * g
    places = np.unique(np.concatenate([np.linspace(0, g, 5), [size % g, g - size % g]]))
    distances = np.unique(np.concatenate([np.linspace(0, size, 9), [size - size % g, max(0.0, size - g / 3)]]))
    laws = [(np.exp(m.log_prob(y, x)), np.exp(m.log_prob(y, x + away))) for x in places for away in distances]
    assert all(math.fsum(p) == pytest.approx(1, abs=1e-13) for pair in laws for p in pair)
    for level in (0.0, 0.1 * size / m.mechanism.sigma, 1.0, 4.0):
        t = math.exp(level)
        found = [float(np.maximum(p - t * q, 0).sum()) for pair in laws for p, q in (pair, pair[::-1])]
        assert m.delta(level) == pytest.approx(max(found), rel=1e-9, abs=0)
    assert m.delta(math.inf) == pytest.approx(max(float(p[q == 0].sum()) for p, q in laws), rel=1e-9, abs=0)


@together("m", COARSE)
@together("x", [0.0, 0.33, -1.25])
def test_moments_are_those_of_the_law(m: GaussianGrid, x: float) -> None:
    g = float(m.grid.spacing())
    y = (np.arange(-len(m.counts()), len(m.counts()) + 1) + round(x / g)) * g
    p = np.exp(m.log_prob(y, x))
    assert math.fsum(p) == pytest.approx(1, abs=1e-13)
    assert p @ y == pytest.approx(m.mean(x), abs=1e-9)
    assert p @ (y - x) ** 2 == pytest.approx(m.variance(x), rel=1e-9, abs=0)


def test_the_variance_is_nearly_that_of_the_line() -> None:
    """The cells add g**2 / 12."""
    m = Gaussian(1.5).implemented()
    assert m.variance(0.0) == pytest.approx(2.25 + float(m.grid.spacing()) ** 2 / 12, rel=1e-9, abs=0)
    assert m.exact_epsilon() == math.inf


def test_what_is_no_report_has_no_probability() -> None:
    m = COARSE[0]
    end = (len(m.counts()) // 2) * float(m.grid.spacing())
    assert m.log_prob(end, 0.0) > -math.inf
    assert m.log_prob([end + float(m.grid.spacing()), end / 7.7, math.nan], 0.0).tolist() == [-math.inf] * 3


@together(
    ("call", "message"),
    [
        (lambda: Gaussian(1.0).implemented(1), "bits must be a whole number >= 2 and <= 64"),
        (lambda: Gaussian(1e-200).implemented(), r"sigma must lie in 2\*\*-500 .. 2\*\*500 to be sampled"),
        (lambda: Gaussian(1.0, 1e200).implemented(), r"sensitivity must lie in 2\*\*-500 .. 2\*\*500 to be sampled"),
        (lambda: GaussianGrid(Gaussian(1.0), NoiseGrid(-20)), "grid must have a spacing as documented, got NoiseGrid"),
        (
            lambda: GaussianGrid(Gaussian(1.0), NoiseGrid(-6), 8),
            "grid must have a spacing as documented, got NoiseGrid",
        ),
        (lambda: Gaussian(1.0).sample([1e19], rng=np.random.default_rng(0)), "x must lie in"),
        (lambda: Gaussian(1.0).sample([math.nan], rng=np.random.default_rng(0)), "x must lie in"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
