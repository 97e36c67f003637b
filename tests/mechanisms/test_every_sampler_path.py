"""Every way that a sampler draws, held to the thresholds that its definition states, over whole ranges of parameters.

The random source hands out every 16-bit beginning of a word once, and completes each to the lowest or to the highest
word that begins so. Whatever path a sampler takes, its decisions on these 2**17 words are then determined, and the
tests work them out again in whole numbers: nothing here is statistical.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import CoordinateSampling, Hybrid, LayerRange, Piecewise, RandomizedResponse, TwoPoint
from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.short_words import BLOCK
from ldp_audit.mechanisms.torch_randomness import TorchSource
from tests.together import together

BEGINNINGS = np.arange(-(2**15), 2**15, dtype=np.int64)
LAST = 2**48 - 1
COPIES = 3
"""So many times over, the beginnings fill more than one block, and not the last one."""

_SHORT = 15
"""The key of short words: no sampler asks for words of so many bits."""

DTYPES = [np.float16, np.float32, np.float64]

Script = Callable[[int], np.random.Generator]


class _Words:
    """The words in order, for each number of bits on its own, whatever the sizes of the blocks that ask."""

    def __init__(self, completion: int) -> None:
        self.whole = _all_words(completion)
        self.places: dict[int, int] = {}
        self.latest = self.whole

    def next(self, bits: int, count: int) -> np.ndarray:
        start = self.places.get(bits, 0)
        self.places[bits] = start + count
        return self.whole[start : start + count].copy()


@functools.cache
def _all_words(completion: int) -> np.ndarray:
    return (np.tile(BEGINNINGS, COPIES) << 48) + completion


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Makes numpy sources hand out every beginning, completed by the 48 bits that are given."""
    current: list[_Words] = []

    def words(_self: Any, shape: Sequence[int], bits: int = 64) -> np.ndarray:
        return (current[-1].next(bits, math.prod(shape)) >> (64 - bits)).reshape(shape)

    def short_words(_self: Any, count: int) -> np.ndarray:
        current[-1].latest = current[-1].next(_SHORT, count)
        return (current[-1].latest >> 48).astype(np.int16)

    def lengthened(_self: Any, short: np.ndarray, at: np.ndarray) -> np.ndarray:
        assert (current[-1].latest[at] >> 48 == short[at]).all()
        return current[-1].latest[at]

    for name, method in (("words", words), ("short_words", short_words), ("lengthened", lengthened)):
        monkeypatch.setattr(NumpySource, name, method)

    def start(completion: int) -> np.random.Generator:
        current.append(_Words(completion))
        return np.random.default_rng(0)

    return start


def _filled(x: float, dtype: type) -> np.ndarray:
    assert BEGINNINGS.size * COPIES % BLOCK not in (0, BEGINNINGS.size * COPIES)
    return np.full(BEGINNINGS.size * COPIES, x, dtype)


def _every_copy_alike(drawn: np.ndarray) -> np.ndarray:
    """What the beginnings lead to, after a check that blocks do not matter."""
    copies = drawn.reshape(COPIES, BEGINNINGS.size)
    assert (copies == copies[0]).all()
    return copies[0]


def _two_points(radii: int) -> Iterator[tuple[type, TwoPoint]]:
    """So many radii over the range of each dtype, and past it; centers that are 0, of the radius, and much larger."""
    for dtype in DTYPES:
        limits = np.finfo(dtype)
        smallest, largest = math.log10(float(limits.smallest_subnormal)), math.log10(float(limits.max)) - 2
        for exponent in np.linspace(max(smallest - 3, -307), largest, radii):
            for ratio in (0.0, 0.7, -40.0):
                for epsilon in (1e-15, 0.01, 1.0, 50.0):
                    m = TwoPoint(epsilon, ratio * 10**exponent, 10**exponent)
                    if _holds(m, dtype):
                        yield dtype, m


def _holds(m: TwoPoint, dtype: type) -> bool:
    """Whether the dtype has two reports."""
    with np.errstate(over="ignore"):
        low, high = (dtype(value) for value in m.outputs())
    return bool(np.isfinite(low) and np.isfinite(high) and low != high)


def _inside(m: TwoPoint, dtype: type, parts: Sequence[float]) -> list[float]:
    low, high = m.domain()
    return [x for x in {float(dtype(m.center + part * m.radius)) for part in parts} if low <= x <= high]


def _upper_words(m: TwoPoint, x: float) -> tuple[Fraction, Fraction]:
    """Between which counts of words, of 2**64, the upper report's must lie: the stated threshold, in exact fractions.

    Floats compute the threshold within 2**13 words, except at the ends of the range, where it is a whole number.
    """
    low, high = (Fraction(end) for end in m.domain())
    with mpmath.workdps(60):
        rarest = int(mpmath.ceil(mpmath.mpf(2) ** 64 / (mpmath.exp(mpmath.mpf(m.epsilon)) + 1)))
    share = (Fraction(x) - low) / (high - low)
    exact = rarest + share * (2**64 - 2 * rarest)
    slack = 0 if share in (0, 1) else 2**13
    return exact - slack, exact + slack


def _assert_threshold(upper: np.ndarray, m: TwoPoint, x: float, completion: int) -> None:
    """The upper report goes to the lowest words, as many of them as are stated."""
    decided, (least, most) = _every_copy_alike(upper), _upper_words(m, x)
    count = int(decided.sum())
    fewest, largest = (math.ceil((bound - completion) / 2**48) for bound in (least, most))
    assert decided[:count].all(), f"no threshold decides: {m}, {upper.dtype}, x = {x!r}"
    assert max(fewest, 0) <= count <= largest, f"another threshold decides: {m}, x = {x!r}"


def test_two_points_are_told_apart_by_the_stated_threshold_alone(
    scripted: Script, request: pytest.FixtureRequest
) -> None:
    """Would catch a scale that overflows at some radius, so that each input has a report of its own."""
    tried = dict.fromkeys(DTYPES, 0)
    radii = 12 if request.config.getoption("--slow") else 3
    for dtype, m in _two_points(radii):
        for x in _inside(m, dtype, (-1.0, -0.37, 1e-3, 1.0)):
            for completion in (0, LAST):
                drawn = m.sample(_filled(x, dtype), rng=scripted(completion))
                _assert_threshold(drawn == dtype(m.outputs()[1]), m, x, completion)
            tried[dtype] += 1
    assert min(tried.values()) > 8 * radii, tried


@together("radius", [1e-44, 1e-36, 5e-35, 1.0])
def test_mechanisms_that_are_made_of_two_points_decide_by_their_threshold(scripted: Script, radius: float) -> None:
    m = TwoPoint(1.0, 0.0, radius)
    layers = LayerRange((0.0,), (radius,))
    coordinate = CoordinateSampling(functools.partial(TwoPoint, radius=radius), 1.0, 1, 1)
    x = float(np.float32(radius / 2))
    for completion in (0, LAST):
        reports = layers.perturb([_filled(x, np.float32)], 1.0, rng=scripted(completion))[0]
        _assert_threshold(reports > 0, m, x, completion)
        sparse = coordinate.sample(_filled(x, np.float32)[:, None], rng=scripted(completion))
        _assert_threshold(np.asarray(sparse[1])[:, 0] > 0, m, x, completion)


@together("k", [2, 3, 10, 127, 128, 129, 1000, 5000])
@together("epsilon", [1e-9, 1.0, 9.0, 20.0, 50.0])
def test_randomised_response_gives_each_lie_the_stated_words(scripted: Script, epsilon: float, k: int) -> None:
    """The words of one lie are neighbours: among all beginnings they are their number / 2**48, rounded either way."""
    with mpmath.workdps(60):
        lies = mpmath.ceil(mpmath.mpf(2) ** 64 * (k - 1) / (mpmath.exp(mpmath.mpf(epsilon)) + k - 1))
    each = -(-int(lies) // (k - 1))
    dtypes = (np.int8, np.uint8, np.int64, np.float16, np.float32)
    first = (k + int(10 * epsilon)) % 5
    for dtype in (dtypes[first], dtypes[first - 1]):  # each dtype with most of the numbers of labels and epsilons
        room = np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else int(2 / np.finfo(dtype).eps)
        for x in {0, k // 3, k - 1} if k - 1 <= room else ():
            for completion in (0, LAST):
                drawn = RandomizedResponse(epsilon, k).sample(_filled(x, dtype), rng=scripted(completion))
                counts = np.bincount(_every_copy_alike(drawn).astype(np.int64), minlength=k)
                wrong = np.delete(counts, x)
                assert wrong.size == k - 1
                assert each // 2**48 <= wrong.min() <= wrong.max() <= -(-each // 2**48)


@together("dtype", [np.float32, np.float64])
@together("epsilon", [1e-15, 1e-6, 0.1, 1.0, 8.0, 13.0, 25.0, 50.0])
def test_piecewise_cells_are_those_of_whole_numbers(scripted: Script, epsilon: float, dtype: type) -> None:
    """At -1, 0 and 1 the window's place is known, so that the word alone says which cell is reported."""
    m = Piecewise(epsilon).implemented()
    words = BEGINNINGS << 48
    for x in (-1, 0, 1):
        for completion in (0, LAST):
            drawn = _every_copy_alike(m.sample(_filled(x, dtype), rng=scripted(completion)))
            assert np.array_equal(drawn, m.outputs(_cells(m, x, words + completion), np.dtype(dtype)))


def _cells(m: Any, x: int, words: np.ndarray) -> np.ndarray:
    """Words near 0 lead outside the window, `each` of them to a cell, counted around; the others into it."""
    quotients = words // m.each
    outside = (quotients >= -m.half) & (quotients < m.half)
    return (x * m.half + np.where(outside, quotients, words % m.inner + m.half)) % m.cells()


def _near(edges: np.ndarray) -> np.ndarray:
    """The words at these edges, beside them, and at both ends of their range."""
    return np.concatenate([edges - 1, edges, edges + 1, [-(2**63), 2**63 - 1]])


def _windows(epsilon: float) -> np.ndarray:
    grid = Piecewise(epsilon).implemented()
    steps = np.concatenate([np.arange(-40, 40), np.arange(-grid.half - 2, grid.half + 3, 97), [-grid.half, grid.half]])
    return _near(np.unique(steps)[:2000] * grid.each)


FAST = [
    *((TwoPoint(epsilon, 0.3, 1.2), None) for epsilon in (0.7, 4.0)),
    *((RandomizedResponse(*one), None) for one in ((0.1, 3), (1.0, 10), (5.0, 200), (8.0, 10), (20.0, 1000))),
    *((Piecewise(epsilon), None) for epsilon in (1e-9, 0.1, 1.0, 8.0, 13.0, 25.0)),
    *((Piecewise(epsilon), _windows(epsilon)) for epsilon in (0.5, 13.0, 25.0)),
    *((Hybrid(epsilon), None) for epsilon in (0.7, 3.0)),
]
"""Mechanisms, and words to draw from; None for any."""


@together("dtype", [np.float32, np.float64])
@together(("m", "edges"), FAST)
def test_short_words_settle_exactly_what_whole_words_would(
    monkeypatch: pytest.MonkeyPatch, m: Any, edges: np.ndarray | None, dtype: type
) -> None:
    """The same words, handed to numpy's blocks by their first 16 bits and to torch as a whole, give equal reports."""
    size, rng = (100_000 if edges is None else edges.size), np.random.default_rng(5)
    series = [rng.integers(-(2**63), 2**63, size) for _ in range(4)]
    if edges is not None:
        series[1] = edges  # the first series rounds the input
    if isinstance(m, RandomizedResponse):
        x = rng.integers(0, m.k, size).astype(dtype)
    elif dtype == np.float64:
        x = rng.uniform(-0.89, 1.0, size)
    else:  # float32 rounds the window's place to another cell, but not here
        x = np.resize(np.array([-0.75, -0.25, 0.0, 0.5, 1.0], np.float32), size)
    calls: list[np.ndarray] = []

    def following(_self: Any, shape: Any, bits: int = 64) -> np.ndarray:
        calls.append(series[len(calls)])
        return (calls[-1] >> (64 - bits)).copy()

    def short(self: Any, count: int) -> np.ndarray:
        return following(self, (count,), 16).astype(np.int16)

    monkeypatch.setattr(NumpySource, "words", following)
    monkeypatch.setattr(NumpySource, "short_words", short)
    monkeypatch.setattr(NumpySource, "lengthened", lambda _self, _short, at: calls[-1][at])
    monkeypatch.setattr(TorchSource, "words", lambda *asked: torch.from_numpy(following(*asked)))
    drawn = m.sample(x, rng=np.random.default_rng(0))
    calls.clear()
    assert np.array_equal(drawn, m.sample(torch.from_numpy(x), rng=torch.Generator()).numpy())


@together("dtype", [np.float32, np.float64])
@together("epsilon", [0.62, 1.0, 3.0, 9.0, 13.0, 20.0])
def test_the_hybrid_chooses_its_part_by_the_stated_words(scripted: Script, epsilon: float, dtype: type) -> None:
    m = Hybrid(epsilon).implemented()
    points = [dtype(point) for point in m.points().outputs()]
    for x in (-1.0, 0.3, 1.0):
        for completion in (0, LAST):
            # Its parts ask for short words too, so that all three series are as long as the block.
            drawn = m.sample(np.full(BEGINNINGS.size, x, dtype), rng=scripted(completion))
            of_points = int(np.isin(drawn, points).sum())
            words = math.ceil((m.piecewise_words() - completion) / 2**48)  # below the first that leads to the points
            assert of_points == BEGINNINGS.size - words
