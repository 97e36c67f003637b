"""Additive noise: the wrong size, the wrong order, the wrong bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldp_audit.mechanisms import Gaussian
from tests.zoo.draws import gaussian, laplace, two_sided_geometric
from tests.zoo.specimen import Specimen

_HEIGHT = 10.0
_TAIL = 6


def _half_the_sensitivity(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + laplace(n, 1.0, rng)


def _whole_sensitivity(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + laplace(n, 2.0, rng)


SENSITIVITY = Specimen(
    name="noise scaled by the wrong sensitivity",
    what_is_wrong="numbers in [-1, 1] lie 2 apart, the noise is scaled for 1; true epsilon 2/1",
    broken=_half_the_sensitivity,
    sound=_whole_sensitivity,
    inputs=(-1.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=2.0,
    sound_epsilon=1.0,
)


def _deviation_for_scale(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + laplace(n, 1 / math.sqrt(2), rng)


def _scale(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + laplace(n, 1.0, rng)


DEVIATION = Specimen(
    name="a standard deviation taken for a scale",
    what_is_wrong="Laplace noise of standard deviation 1/epsilon has scale 1/(sqrt(2) epsilon); true epsilon sqrt(2)",
    broken=_deviation_for_scale,
    sound=_scale,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.sqrt(2),
    sound_epsilon=1.0,
)


def _clamped_around_the_input(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.clip(x + laplace(n, 1.0, rng), x - 4, x + 4)


def _clamped(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.clip(x + laplace(n, 1.0, rng), -4.0, 5.0)


CLAMP = Specimen(
    name="outputs clamped to bounds that depend on the input",
    what_is_wrong="x + 4 is reported with probability e**-4 / 2 = 0.009 on x alone; true epsilon infinite",
    broken=_clamped_around_the_input,
    sound=_clamped,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)


def _noise_then_clip(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.clip(x + laplace(n, 2.0, rng), -1.0, 1.0)


def _clip_then_noise(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.clip(x, -1.0, 1.0) + laplace(n, 2.0, rng)


NOISE_FIRST = Specimen(
    name="noise added before clipping",
    what_is_wrong="inputs 20 apart, noised for 2, then clipped; true epsilon ln((1 - e**-4.5/2) / (e**-5.5/2)) = 6.19",
    broken=_noise_then_clip,
    sound=_clip_then_noise,
    inputs=(-_HEIGHT, _HEIGHT),
    claimed_epsilon=1.0,
    broken_epsilon=math.log((1 - math.exp(-4.5) / 2) / (math.exp(-5.5) / 2)),
    sound_epsilon=1.0,
)


def _rounded_first(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return round(x) + laplace(n, 0.25, rng)


def _rounded_last(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.round(x + laplace(n, 0.25, rng))


ROUNDING = Specimen(
    name="numbers rounded before the noise",
    what_is_wrong="0.375 and 0.625 lie 1/4 apart and their roundings 1; true epsilon 4",
    broken=_rounded_first,
    sound=_rounded_last,
    inputs=(0.375, 0.625),
    claimed_epsilon=1.0,
    broken_epsilon=4.0,
    sound_epsilon=1.0,
)


def _cut_noise(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + np.clip(two_sided_geometric(n, 1.0, rng), -_TAIL, _TAIL)


def _cut_outputs(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.clip(x + two_sided_geometric(n, 1.0, rng), -_TAIL, _TAIL + 1)


TAIL = Specimen(
    name="geometric noise cut off at its tail",
    what_is_wrong="x + 6 has probability e**-6 / (1 + e**-1) = 0.0018, and none at x - 1; true epsilon infinite",
    broken=_cut_noise,
    sound=_cut_outputs,
    inputs=(0, 1),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
    subtle=True,
)

_CLASSICAL = math.sqrt(2 * math.log(1.25 / 0.1)) / 7  # 0.3211
_ANALYTIC = 0.36  # its delta at epsilon 7 is below 0.1 (Balle and Wang 2018, Theorem 8)


def _gaussian_epsilon(sigma: float, delta: float) -> float:
    """The epsilon at which the exact profile is delta, by bisection."""
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if Gaussian(sigma).delta(middle) > delta else (low, middle)
    return high


def _classical_gaussian(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + gaussian(n, _CLASSICAL, rng)


def _analytic_gaussian(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + gaussian(n, _ANALYTIC, rng)


GAUSSIAN = Specimen(
    name="the classical Gaussian calibration beyond epsilon 1",
    what_is_wrong="sqrt(2 ln(1.25/delta))/epsilon is no bound at epsilon 7, delta 0.1: the true delta there is 0.167",
    broken=_classical_gaussian,
    sound=_analytic_gaussian,
    inputs=(0.0, 1.0),
    claimed_epsilon=7.0,
    claimed_delta=0.1,
    broken_epsilon=_gaussian_epsilon(_CLASSICAL, 0.1),
    sound_epsilon=_gaussian_epsilon(_ANALYTIC, 0.1),
    subtle=True,
)


def _one_noise_for_all(x: tuple[float, float], n: int, rng: np.random.Generator) -> np.ndarray:
    return np.array(x) + laplace((n, 1), 2.0, rng)


def _a_noise_for_each(x: tuple[float, float], n: int, rng: np.random.Generator) -> np.ndarray:
    return np.array(x) + laplace((n, 2), 2.0, rng)


SHARED = Specimen(
    name="one noise scalar shared by a whole vector",
    what_is_wrong="the difference of the coordinates is reported without noise; true epsilon infinite",
    broken=_one_noise_for_all,
    sound=_a_noise_for_each,
    inputs=((1.0, 0.0), (0.0, 1.0)),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)


def _largest_change(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.array(x) + laplace((n, len(x)), 1.0, rng)


def _sum_of_changes(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.array(x) + laplace((n, len(x)), float(len(x)), rng)


VECTOR = Specimen(
    name="a vector noised for its largest coordinate's change",
    what_is_wrong="eight coordinates may all change by 1, the noise is scaled for one of them; true epsilon 8",
    broken=_largest_change,
    sound=_sum_of_changes,
    inputs=((0.0,) * 8, (1.0,) * 8),
    claimed_epsilon=1.0,
    broken_epsilon=8.0,
    sound_epsilon=1.0,
)


def _float_laplace(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(0.0, 1.0, n)


FLOATS = Specimen(
    name="Laplace noise in floating point",
    what_is_wrong="near 0, x = 0 reports numbers finer than 2**-53, x = 1 cannot (Mironov 2012); true epsilon infinite",
    broken=_float_laplace,
    sound=_scale,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
    floating_point=True,
)

SPECIMENS = (SENSITIVITY, DEVIATION, CLAMP, NOISE_FIRST, ROUNDING, TAIL, GAUSSIAN, SHARED, VECTOR, FLOATS)
