"""LDP-FL's shuffling of parameters: times, orders, and the counts that are left of the reports."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.laws import finite_laws
from ldp_audit.mechanisms import TwoPoint
from ldp_audit.mechanisms.values.parameter_shuffler import ParameterShuffler
from tests.frequency import assert_frequency
from tests.together import together


def generator(kind: str, seed: int) -> Any:
    return torch.Generator().manual_seed(seed) if kind == "torch" else np.random.default_rng(seed)


def test_waiting_makes_up_for_training_and_communication() -> None:
    m = ParameterShuffler((1.0, 4.0, 2.5), (0.5, 0.25, 3.0), 2.0)
    assert m.slowest() == 5.5
    assert m.waiting().tolist() == [4.0, 1.25, 0.0]
    assert m.offsets().tolist() == [0.0, 0.0, 0.0]
    late = ParameterShuffler((1.0, 4.0), (0.5, 0.25), 2.0, (1.0, 4.5), (0.25, 0.5))
    assert late.waiting().tolist() == [2.75, 0.0]
    assert late.offsets().tolist() == [-0.25, 0.75]


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=5),
    st.floats(0, 100),
    st.integers(1, 4),
    st.booleans(),
)
def test_every_message_arrives_once_and_in_time(
    times: list[tuple[float, float]], window: float, d: int, tensors: bool
) -> None:
    m = ParameterShuffler([one for one, _ in times], [other for _, other in times], window)
    assert np.all(m.waiting() >= 0)
    assert m.n == len(times)
    reports: Any = np.arange(m.n * d, dtype=np.float32).reshape(m.n, d)
    seen = m.sample(torch.from_numpy(reports) if tensors else reports, rng=generator("torch" if tensors else "", 3))
    time, label, value = (np.asarray(part) for part in seen)
    assert (time.dtype, label.dtype, value.dtype) == (np.float64, np.int64, np.float32)
    assert np.array_equal(np.sort(value), reports.ravel())
    assert np.array_equal(label, value.astype(int) % d)
    assert np.all(np.diff(time) >= 0)
    assert np.all((time >= m.slowest()) & (time <= m.slowest() + window))


@together(("kind", "window"), [("numpy", 0.0), ("torch", 3.0)])
def test_the_order_is_uniform_where_the_predicted_times_hold(kind: str, window: float) -> None:
    """Each of the six orders of three messages of three different clients; false alarm 1e-6 each. With 3,000 rounds an
    order off by a third of its probability is missed with a chance below 0.1; with T = 0 a sort that kept the clients'
    order would show surely."""
    m, rng, rounds = ParameterShuffler((5.0, 1.0, 0.0), (1.0, 1.0, 2.0), window), generator(kind, 12), 3_000
    reports: Any = np.array([[0], [1], [2]])
    reports = torch.from_numpy(reports) if kind == "torch" else reports
    seen = [tuple(m.sample(reports, rng=rng).value.tolist()) for _ in range(rounds)]
    for order in permutations(range(3)):
        assert_frequency(seen.count(order), rounds, 1 / 6)


@together("kind", ["numpy", "torch"])
def test_delays_are_uniform_on_the_window(kind: str) -> None:
    """False alarm 1e-6 a bound; with 40,000 messages a share off by 0.02 is missed with a chance below 1e-3."""
    m, count = ParameterShuffler((2.0,) * 4, (1.0,) * 4, 5.0), 10_000
    reports: Any = torch.zeros((4, count)) if kind == "torch" else np.zeros((4, count))
    delay = (np.asarray(m.sample(reports, rng=generator(kind, 2)).time) - 3.0) / 5.0
    for bound in (0.1, 0.5, 0.9):
        assert_frequency(int((delay < bound).sum()), 4 * count, bound)


@together(("offset", "exposed"), [(1.5, 0.25), (-3.0, 0.5), (6.0, 1.0), (20.0, 1.0)])
def test_a_late_client_is_exposed_in_proportion(offset: float, exposed: float) -> None:
    """Its reports after T_S + T (before T_S, where it is early) are no one else's; false alarm 1e-6. With 20,000
    reports a share off by 0.02 is missed with a chance below 1e-3."""
    m = ParameterShuffler((30.0, 29.0), (0.0, 0.0), 6.0, (30.0, 29.0 + offset))
    reports = np.repeat([[0.0], [1.0]], 20_000, axis=1)
    time, _, client = m.sample(reports, rng=np.random.default_rng(9))
    outside = (time >= 36.0) if offset > 0 else (time < 30.0)
    assert set(client[outside]) == {1.0}
    assert_frequency(int(outside.sum()), 20_000, exposed)


def test_without_a_window_all_arrive_at_once() -> None:
    m = ParameterShuffler((1.0,), (0.0,), 0.0)
    assert [part.tolist() for part in m.sample([[7.0]], rng=np.random.default_rng(0))] == [[1.0], [0], [7.0]]
    assert m.count_law([Fraction(1, 3)]).tolist() == [Fraction(2, 3), Fraction(1, 3)]


def shuffler(n: int) -> ParameterShuffler:
    return ParameterShuffler((0.0,) * n, (0.0,) * n, 1.0)


@settings(max_examples=30)
@given(st.lists(st.fractions(0, 1, max_denominator=20), min_size=1, max_size=7))
def test_the_count_has_the_poisson_binomial_law(shares: list[Fraction]) -> None:
    """In fractions: all 2**n outcomes, and the law that the claims are settled with."""
    law = shuffler(len(shares)).count_law(shares)
    expected = [Fraction(0)] * (len(shares) + 1)
    for outcome in product((0, 1), repeat=len(shares)):
        expected[sum(outcome)] += math.prod(p if y else 1 - p for p, y in zip(shares, outcome, strict=True))
    assert law.tolist() == expected == list(finite_laws.count_law(shares).values())
    floats = shuffler(len(shares)).count_law([float(p) for p in shares])
    assert floats == pytest.approx([float(p) for p in expected], rel=1e-13, abs=1e-18)


def test_several_ids_have_a_law_each() -> None:
    shares = np.random.default_rng(0).random((40, 3))
    law = shuffler(40).count_law(shares)
    assert law.shape == (41, 3)
    assert law.sum(axis=0) == pytest.approx(1.0, rel=1e-12)
    assert np.arange(41) @ law == pytest.approx(shares.sum(axis=0), rel=1e-12)
    for j in range(3):
        assert law[:, j] == pytest.approx(shuffler(40).count_law(shares[:, j]), rel=1e-15)


@together("n", [1, 2, 3, 10, 50])
def test_the_counts_pure_ratio_is_that_of_one_report(n: int) -> None:
    """Exactly t = 3 for every n, wherever the others' inputs lie; in fractions."""
    t, rng = Fraction(3), np.random.default_rng(n)
    spread = [Fraction(int(k), 100) for k in rng.integers(25, 76, size=n - 1)]
    for others in (
        spread,
        [1 / (t + 1)] * (n - 1),
        [t / (t + 1)] * (n - 1),
        [Fraction(int(i % 2)) for i in range(n - 1)],
    ):
        first, second = (shuffler(n).count_law([p, *others]) for p in (t / (t + 1), 1 / (t + 1)))
        ratios = [a / b for a, b in zip([*first, *second], [*second, *first], strict=True) if a > 0]
        assert max(ratios) == t
    assert shuffler(n).exact_epsilon(TwoPoint(math.log(3))) == TwoPoint(math.log(3)).exact_epsilon()


def test_ids_add_up_although_nobody_links_them() -> None:
    """n = 2, d = 2, t = 3, the other client at the lower end: delta(ln 3) is 27/128 and 15/128, not 0; (0, 0) has
    the ratio 9."""
    t, other = Fraction(3), Fraction(1, 4)
    counts = [dict(enumerate(shuffler(2).count_law([p, other]))) for p in (Fraction(3, 4), Fraction(1, 4))]
    first, second = (finite_laws.product_law([law] * 2) for law in counts)

    def stick(one: Any, two: Any) -> Fraction:
        return sum((max(Fraction(0), p - t * two[y]) for y, p in one.items()), Fraction(0))

    assert {stick(first, second), stick(second, first)} == {Fraction(27, 128), Fraction(15, 128)}
    assert second[0, 0] / first[0, 0] == 9
    assert shuffler(2).exact_epsilon(TwoPoint(math.log(3)), 2) == pytest.approx(math.log(9), rel=1e-15)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="window must be a finite number >= 0, got -1"):
        ParameterShuffler((1.0,), (1.0,), -1)
    with pytest.raises(ValueError, match="training must be some times >= 0, one a client"):
        ParameterShuffler((), (), 1.0)
    with pytest.raises(ValueError, match="communication must be 2 times >= 0, one a client"):
        ParameterShuffler((1.0, 2.0), (1.0,), 1.0)
    with pytest.raises(ValueError, match="actual_training must be 1 times >= 0, one a client"):
        ParameterShuffler((1.0,), (1.0,), 1.0, (-1.0,))
    with pytest.raises(ValueError, match="training must be finite real numbers"):
        ParameterShuffler((math.nan,), (1.0,), 1.0)
    m = shuffler(2)
    with pytest.raises(ValueError, match=r"reports must have shape \(2, d\), a row for each client, got \(3, 1\)"):
        m.sample(np.zeros((3, 1)), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"probabilities must have shape \(2, ...\)"):
        m.count_law([0.5])
    with pytest.raises(ValueError, match=r"probabilities must lie in \[0, 1\]"):
        m.count_law([0.5, 1.5])
    with pytest.raises(ValueError, match=r"probabilities must lie in \[0, 1\]"):
        m.count_law([0.5, math.nan])
    with pytest.raises(ValueError, match="d must be a whole number >= 1, got 0"):
        m.exact_epsilon(TwoPoint(1.0), 0)
