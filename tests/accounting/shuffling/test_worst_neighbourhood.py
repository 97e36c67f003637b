"""Counts of split clients: against fractions, balls and closed forms, and blocks of splits against their splits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_poly, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.shuffling import worst_neighbourhood
from ldp_audit.accounting.shuffling.anonymous_counts import Chance, exact_laws
from ldp_audit.accounting.shuffling.count_loss import CountLoss
from ldp_audit.accounting.shuffling.worst_neighbourhood import SplitCounts, worst_split
from ldp_audit.mechanisms.log_space import expit
from tests.together import together


def splits(*columns: tuple[int, int, int]) -> np.ndarray:
    return np.array(columns, dtype=np.float64).T


def exact(t: Fraction, level: Fraction, split: tuple[int, int, int]) -> float:
    """ln of the hockey stick for client 1 at high against low, in fractions."""
    low, high = 1 / (t + 1), t / (t + 1)
    others = [high] * split[0] + [low] * split[1] + [Fraction(1, 2)] * split[2]
    first, second = exact_laws(high, low, others)
    return math.log(sum((max(Fraction(0), p - level * second[k]) for k, p in first.items()), Fraction(0)))


@together(
    ("t", "share"),
    itertools.product(
        [Fraction(3), Fraction(11, 10), Fraction(400)],
        [Fraction(0), Fraction(1, 50), Fraction(1, 2), Fraction(99, 100)],
    ),
)
def test_few_clients_are_those_of_the_fractions(t: Fraction, share: Fraction) -> None:
    """Would catch a count that is one off, a missing coin, a tail that wraps around."""
    columns = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 3, 0), (5, 1, 4), (0, 9, 0), (7, 0, 2)]
    level = 1 + share * (t - 1)
    low, high = SplitCounts(math.log(t), math.log(level)).log_delta(splits(*columns))
    for i, column in enumerate(columns):
        truth = exact(t, level, column)
        # ln t and ln(level) are rounded, and with them the distance of the level from the largest loss
        slack = 4e-16 * math.log(t) / (math.log(t) - math.log(level)) + 1e-15
        assert low[i] - slack <= truth <= high[i] + slack
        assert high[i] - low[i] < 1e-11


def by_polynomials(epsilon0: float, epsilon: float, split: tuple[int, int, int]) -> float:
    """ln of the same, from the others' count as a product of polynomials, in balls."""
    with ctx.workprec(3000):
        t, level = arb(epsilon0).exp(), arb(epsilon).exp()
        low, high = 1 / (t + 1), t / (t + 1)
        chances = (high, low, arb(1) / 2)
        law = arb_poly([1])
        for chance, count in zip(chances, split, strict=True):
            law = law * arb_poly([1 - chance, chance]) ** count
        masses, best, tail = [law[k] for k in range(sum(split) + 1)], arb(0), arb(0)
        for k in range(sum(split) + 1, 0, -1):
            tail += masses[k] if k < len(masses) else 0
            stick = (high - level * low) * masses[k - 1] - (level - 1) * tail
            best = stick if stick > best else best
        return float(best.log())


@together(
    ("epsilon0", "epsilon", "split"),
    [
        (1.0, 1e-3, (150, 449, 0)),
        (1.0, 0.2, (599, 0, 0)),
        (1.0, 0.9, (100, 100, 399)),
        (0.05, 0.04, (300, 299, 0)),
        (1e-9, 7e-10, (1, 598, 0)),
        (6.0, 3.0, (10, 589, 0)),
        (30.0, 1.0, (599, 0, 0)),
        (30.0, 29.0, (200, 300, 99)),
        (699.0, 6.99e-10, (6, 1, 0)),
        (699.0, 2.22, (0, 30, 2)),
    ],
)
def test_hundreds_of_clients_keep_their_digits_far_out(
    epsilon0: float, epsilon: float, split: tuple[int, int, int]
) -> None:
    low, high = SplitCounts(epsilon0, epsilon).log_delta(splits(split))
    truth = by_polynomials(epsilon0, epsilon, split)
    assert low[0] <= truth <= high[0]
    assert high[0] - low[0] < 1e-10


@pytest.mark.parametrize("n", [10**4, 10**6, 10**8])
@pytest.mark.parametrize("epsilon0", [1e-9, 1.0, 12.0, 340.0])
@pytest.mark.parametrize("z", [0.0, 0.5, 3.0, 12.0, 37.0])
def test_with_all_others_at_one_end_it_is_the_closed_form(n: int, epsilon0: float, z: float) -> None:
    """Two routes that share nothing: frequencies here, a continued fraction there."""
    epsilon = min(z * math.sinh(epsilon0 / 2) * 2 / math.sqrt(n) if epsilon0 < 100 else 3 * z, 0.9 * epsilon0)
    low_end = Chance(expit(-epsilon0), expit(epsilon0))
    high_end = Chance(low_end.lower, low_end.upper)
    gap = math.tanh(epsilon0 / 2)
    for upper, pair in ((0, (high_end, low_end, low_end, gap)), (n - 1, (low_end, high_end, low_end, -gap))):
        low, high = SplitCounts(epsilon0, epsilon).log_delta(splits((upper, n - 1 - upper, 0)))
        closed = CountLoss(n, *pair).log_delta_bounds(epsilon)
        assert closed[0] <= high[0]
        assert low[0] <= closed[1]
        assert high[0] - low[0] < 1e-7 * max(1.0, abs(high[0]) / 100)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from([1e-300, 1e-9, 1e-4, 0.1, 1.0, 4.0, 20.0, 150.0, 600.0]),
    st.floats(0, 0.999),
    st.integers(1, 8),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_blocks_lie_above_all_their_splits(epsilon0: float, far: float, digits: int, start: float, size: float) -> None:
    """Would catch a coin too many, a bound that forgets the client that moves, a block that is not covered."""
    others = 10**digits - 1
    level = SplitCounts(epsilon0, epsilon0 * far**4)
    least = math.floor(start * others)
    most = min(others, least + math.floor(others**size))
    inside = np.unique(np.linspace(least, most, 40).round())
    low, _ = level.log_delta(np.array([inside, others - inside, np.zeros(inside.size)]))
    _, high = level.log_delta_of_blocks(np.array([float(least)]), np.array([float(most)]), others)
    assert low.max() <= high[0]


def test_a_coin_for_every_client_of_a_block_would_be_beaten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above can fail."""
    monkeypatch.setattr(worst_neighbourhood, "_sure_coins", lambda free, _: 1.3 * free)
    level = SplitCounts(1.0, 0.05)
    low, _ = level.log_delta(splits((9000, 999, 0)))
    _, high = level.log_delta_of_blocks(np.array([8000.0]), np.array([9999.0]), 9999)
    assert low[0] > high[0]


@together(("epsilon0", "epsilon", "n"), [(1.0, 0.3, 200), (1e-6, 5e-7, 150), (5.0, 1.0, 300)])
def test_the_worst_split_is_found_among_few_clients(epsilon0: float, epsilon: float, n: int) -> None:
    level, upper = SplitCounts(epsilon0, epsilon), np.arange(float(n))
    lows, highs = level.log_delta(np.array([upper, n - 1 - upper, np.zeros(n)]))
    low, high, *_ = worst_split(level, n - 1, precision=0.0, most=10**5)
    assert low == pytest.approx(lows.max(), abs=1e-11)
    assert high == pytest.approx(highs.max(), abs=1e-11)


@together(
    ("epsilon0", "n", "apart"),
    [(1.0, 5000, 5e-4), (1.0, 10**6, 5e-4), (1.0, 10**8, 2e-2), (1e-3, 10**4, 5e-4), (0.05, 20_000, 5e-4)],
)
def test_among_many_clients_the_worst_split_is_enclosed(epsilon0: float, n: int, apart: float) -> None:
    """At 1e-3 hardly a client shows its own end: would catch bounds 0.06 apart."""
    level = SplitCounts(epsilon0, 10 * epsilon0 / math.sqrt(n))
    low, high, *_ = worst_split(level, n - 1, precision=5e-4, most=2000)
    upper = np.unique(np.linspace(0, n - 1, 3000).round())
    lows, _ = level.log_delta(np.array([upper, n - 1 - upper, np.zeros(upper.size)]))
    assert lows.max() <= high <= low + apart + 1e-9


@pytest.mark.parametrize(("epsilon0", "n"), [(1.0, 300), (0.01, 300), (5.0, 3000)])
def test_the_blocks_of_an_epsilon_serve_the_next_ones(epsilon0: float, n: int) -> None:
    """Would catch a split that no block covers: blocks are cut and joined from epsilon to epsilon."""
    near = None
    for epsilon in np.linspace(0.0, 0.9, 40) * epsilon0:
        level = SplitCounts(epsilon0, float(epsilon))
        near = worst_split(level, n - 1, precision=1e-5, most=10**5, near=near)
        alone = worst_split(level, n - 1, precision=1e-5, most=10**5)
        assert near.low <= alone.high
        assert alone.low <= near.high <= near.low + 1.1e-5
        order = np.argsort(near.least)
        assert near.least[order][0] == 0
        assert near.last[order][-1] == n - 1
        assert np.array_equal(near.least[order][1:], near.last[order][:-1] + 1)
