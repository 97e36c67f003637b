"""Randomised responses: coins, lies, and values that slip through."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.draws import laplace, occurs
from tests.zoo.specimen import Specimen

_E = math.e


def _k_ary(x: int, n: int, k: int, truth: float, rng: np.random.Generator) -> np.ndarray:
    """The truth with this probability, else one of the k - 1 others."""
    lies = (x + rng.integers(1, k, n)) % k
    return np.where(occurs(n, truth, rng), x, lies)


def _coin_of_six_bits(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _k_ary(x, n, 2, 47 / 64, rng)


def _coin_rounded_down(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _k_ary(x, n, 2, 46 / 64, rng)


SIX_BITS = Specimen(
    name="a coin of six bits, rounded to nearest",
    what_is_wrong="e/(e + 1) = 46.8/64 becomes 47/64; true epsilon ln(47/17) = 1.0169, near what 1e6 samples can tell",
    broken=_coin_of_six_bits,
    sound=_coin_rounded_down,
    inputs=(0, 1),
    claimed_epsilon=1.0,
    broken_epsilon=math.log(47 / 17),
    sound_epsilon=math.log(46 / 18),
    subtle=True,
)


def _biased_coin(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _k_ary(x, n, 2, 0.75 if x == 0 else _E / (_E + 1), rng)


def _fair_warner(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _k_ary(x, n, 2, _E / (_E + 1), rng)


BIASED = Specimen(
    name="randomised response with a biased coin",
    what_is_wrong="on one of the two values the truth has probability 3/4; true epsilon ln(p/(1/4)) = 1.073",
    broken=_biased_coin,
    sound=_fair_warner,
    inputs=(0, 1),
    claimed_epsilon=1.0,
    broken_epsilon=math.log(4 * _E / (_E + 1)),
    sound_epsilon=1.0,
)


def _lie_among_all(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(occurs(n, _E / (_E + 3), rng), x, rng.integers(0, 4, n))


def _lie_among_all_calibrated(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(occurs(n, (_E - 1) / (_E + 3), rng), x, rng.integers(0, 4, n))


LIE = Specimen(
    name="a lie that can equal the truth",
    what_is_wrong="e/(e + 3) is calibrated for lies among the other three; true epsilon ln(1 + 4e/3) = 1.531",
    broken=_lie_among_all,
    sound=_lie_among_all_calibrated,
    inputs=(0, 1, 2, 3),
    claimed_epsilon=1.0,
    broken_epsilon=math.log(1 + 4 * _E / 3),
    sound_epsilon=1.0,
)


def _coin_for_two_values(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _k_ary(x, n, 10, _E / (_E + 1), rng)


def _coin_for_ten_values(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _k_ary(x, n, 10, _E / (_E + 9), rng)


TEN_VALUES = Specimen(
    name="the coin of two values on ten values",
    what_is_wrong="each of nine lies gets a ninth of 1/(e + 1); true epsilon 1 + ln 9 = 3.197",
    broken=_coin_for_two_values,
    sound=_coin_for_ten_values,
    inputs=(0, 1, 9),
    claimed_epsilon=1.0,
    broken_epsilon=1 + math.log(9),
    sound_epsilon=1.0,
)


def _lie_modulo(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    lies = (x + 1 + rng.integers(0, 8, n) % 3) % 4
    return np.where(occurs(n, _E / (_E + 3), rng), x, lies)


def _lie_uniform(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _k_ary(x, n, 4, _E / (_E + 3), rng)


MODULO = Specimen(
    name="a lie drawn with modulo bias",
    what_is_wrong="a three-bit word modulo 3 has law 3/8, 3/8, 2/8; true epsilon 1 + ln(4/3) = 1.288",
    broken=_lie_modulo,
    sound=_lie_uniform,
    inputs=(0, 1, 2, 3),
    claimed_epsilon=1.0,
    broken_epsilon=1 + math.log(4 / 3),
    sound_epsilon=1.0,
)


def _slips_through(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(occurs(n, 0.001, rng), x, x + laplace(n, 1.0, rng))


def _dropped(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(occurs(n, 0.001, rng), 0.0, x + laplace(n, 1.0, rng))


SLIPS = Specimen(
    name="the true value once in a thousand times",
    what_is_wrong="an (epsilon, 0.001) program is said to be pure; true epsilon infinite",
    broken=_slips_through,
    sound=_dropped,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
    subtle=True,
)


def _absent_is_absent(x: int | None, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.full(n, None) if x is None else _k_ary(x, n, 2, _E / (_E + 1), rng)


def _absent_is_an_answer(x: int | None, n: int, rng: np.random.Generator) -> np.ndarray:
    answers = _k_ary(2 if x is None else x, n, 3, _E / (_E + 2), rng)
    return np.array([0, 1, None])[answers]


ABSENT = Specimen(
    name="no answer where there is no input",
    what_is_wrong="None is reported if, and only if, the input is missing; true epsilon infinite",
    broken=_absent_is_absent,
    sound=_absent_is_an_answer,
    inputs=(0, 1, None),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)


def _guarded(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    if not -1 <= x <= 1:
        raise ValueError(f"x must be in [-1, 1], got {x}")
    return x + laplace(n, 2.0, rng)


def _error_is_sent(x: float, n: int, rng: np.random.Generator) -> np.ndarray | list[str]:
    try:
        return _guarded(x, n, rng)
    except ValueError as error:
        return [str(error)] * n


def _clipped(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return _guarded(min(1.0, max(-1.0, x)), n, rng)


ERROR = Specimen(
    name="an error that leaks the input",
    what_is_wrong="the message of a failed check, which names the input, reaches the server; true epsilon infinite",
    broken=_error_is_sent,
    sound=_clipped,
    inputs=(-1.0, 1.5),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)

SPECIMENS = (SIX_BITS, BIASED, LIE, TEN_VALUES, MODULO, SLIPS, ABSENT, ERROR)
