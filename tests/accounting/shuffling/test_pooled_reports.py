"""Reports pooled with others of one law, and the bounds on shuffled reports, against sums over all multisets."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ldp_audit.accounting import Pure, compose, shuffle
from ldp_audit.accounting.shuffling.pooled_reports import PooledReports, ShuffledReports
from ldp_audit.mechanisms import (
    DiscreteLaplace,
    DuchiVector,
    FiniteChannel,
    HadamardResponse,
    Hybrid,
    Laplace,
    LocalHashing,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from ldp_audit.mechanisms.blanket import Blanket
from tests.together import together

Numbers = NDArray[np.float64]


def pooled_delta(n: int, shared: Numbers, first: Numbers, second: Numbers, epsilon: float) -> float:
    """E[(X_1 + ... + X_n)_+]/n by all multisets of outcomes; those of no outcome are the rest of the mass."""
    masses = np.append(shared, max(0.0, 1 - shared.sum()))
    gains = np.append((first - math.exp(epsilon) * second) / shared, 0.0)
    total = 0.0
    for counts in itertools.product(range(n + 1), repeat=shared.size):
        rest = n - sum(counts)
        if rest >= 0:
            every = np.array([*counts, rest])
            total += float(stats.multinomial.pmf(every, n, masses / masses.sum())) * max(0.0, float(every @ gains))
    return total / n


def random_rows(rng: np.random.Generator, inputs: int, outputs: int) -> Numbers:
    """Rows of ratios from nearly 1 to e**12; some with a few large entries."""
    size = 10 ** rng.uniform(-2, 1)
    peaks = rng.random((inputs, outputs)) < 0.4
    rows = rng.dirichlet(np.ones(outputs)) * np.exp(size * (peaks if rng.random() < 0.5 else rng.random(peaks.shape)))
    return rows / rows.sum(axis=1, keepdims=True)


def test_pooled_reports_are_sums_over_multisets() -> None:
    """With a blanket of any size, the law of an input itself among them."""
    rng = np.random.default_rng(5)
    for case in range(30):
        rows = random_rows(rng, 3, int(rng.integers(2, 4)))
        shared = (rows.min(axis=0), rows[2], rows[0] * 0.999, rows.min(axis=0) * 1e-6)[case % 4]
        law = PooledReports(int(rng.integers(1, 7)), shared, rows[0], rows[1])
        for share in (0.0, 0.2, 0.6, 0.97):
            truth = pooled_delta(law.n, shared, rows[0], rows[1], share * law.supremum())
            low, high = (math.exp(end) for end in law.log_delta_bounds(share * law.supremum()))
            assert low <= truth * (1 + 1e-9) + 1e-16
            assert truth <= high * (1 + 1e-9) + 1e-16
            assert high <= 1.2 * truth + 1e-3


@together(
    ("n", "epsilon0"), [(1000, 1.0), (10**5, 1.0), (10**5, 1e-3), (10**5, 6.0), (10**4, 20.0), (2000, 350.0), (2, 1e-3)]
)
def test_two_outcomes_are_a_binomial_count(n: int, epsilon0: float) -> None:
    """From delta near 1 to 1e-300, with others at client 1's own value or at the other one."""
    likely, rare = 1 / (1 + math.exp(-epsilon0)), 1 / (1 + math.exp(epsilon0))
    ends = np.array([[likely, rare], [rare, likely]])
    reach = min(0.99 * epsilon0, 30 * math.sinh(epsilon0 / 2) / math.sqrt(n))
    counts = np.arange(n + 1.0)
    for place, share in itertools.product((0, 1), (0.0, 0.05, 0.3, 1.0)):
        epsilon = share * reach
        law = PooledReports(n, ends[place], ends[0], ends[1])
        gains = (ends[0] - ends[1] - math.expm1(epsilon) * ends[1]) / ends[place]
        sums = counts * gains[0] + (n - counts) * gains[1]
        over = sums > 0
        logs = stats.binom.logpmf(counts[over], n, ends[place, 0]) + np.log(sums[over] / n)
        truth = float(np.logaddexp.reduce(logs, initial=-math.inf))
        low, high = law.log_delta_bounds(epsilon)
        slack = 1e-9 * (1 + abs(truth))  # of scipy's masses
        assert low <= truth + slack
        assert truth <= high + slack
        if truth > -650:
            assert high - low < 0.06 or epsilon0 >= 20


def worst_delta(rows: Numbers, n: int, epsilon: float) -> float:
    """The largest delta of all pairs of inputs and all inputs of the others, from every histogram."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(len(rows)), n - 1):
        laws: dict[tuple[int, ...], float] = {(0,) * rows.shape[1]: 1.0}
        for row in rows[list(others)]:
            laws = _with_one_more(laws, row)
        ends = [_with_one_more(laws, row) for row in rows]
        for first, second in itertools.permutations(ends, 2):
            worst = max(worst, sum(max(0.0, p - math.exp(epsilon) * second[key]) for key, p in first.items()))
    return worst


def _with_one_more(laws: dict[tuple[int, ...], float], row: Numbers) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for counts, mass in laws.items():
        for place, chance in enumerate(row.tolist()):
            key = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
            found[key] = found.get(key, 0.0) + mass * chance
    return found


def test_bounds_enclose_the_worst_others_of_random_channels() -> None:
    rng = np.random.default_rng(8)
    for _ in range(25):
        rows = random_rows(rng, int(rng.integers(2, 4)), int(rng.integers(2, 4)))
        loss, n = FiniteChannel(rows.tolist()), int(rng.integers(2, 5))
        for share in (0.0, 0.3, 0.9):
            epsilon = share * loss.exact_epsilon()
            low, high = shuffle(loss, n).delta_bounds(epsilon)
            assert low <= worst_delta(rows, n, epsilon) * (1 + 1e-9) + 1e-14
            assert worst_delta(rows, n, epsilon) <= high * (1 + 1e-9) + 1e-14


def test_a_formula_by_a_varied_ratio_is_false_where_the_blanket_holds() -> None:
    """RR(2.1517, k=3) of four clients, all others at x: delta(2.09) is .0259, where a published formula has 5.3e-4."""
    odds = math.exp(2.1517)
    rows = (np.ones((3, 3)) + (odds - 1) * np.eye(3)) / (odds + 2)
    truth = worst_delta(rows, 4, 2.09)
    low, high = shuffle(RandomizedResponse(2.1517, 3), 4).delta_bounds(2.09)
    assert truth == pytest.approx(0.0259, abs=1e-4)
    assert 0.9 * truth < low <= truth <= high


@together(
    ("mechanism", "attained", "above"),
    [
        (Laplace(1.0, 4.0, 4.0), 1.022, 1.213),
        (UnaryEncoding(4.0, 8, "symmetric"), 1.288, 1.488),
        (RandomizedResponse(5.0, 4), 4.406, 4.517),
    ],
)
def test_known_bounds_at_a_thousand_clients(mechanism: Any, attained: float, above: float) -> None:
    low, high = shuffle(mechanism, 1000).epsilon_bounds(1e-6)
    assert low == pytest.approx(attained, abs=1e-3)
    assert high == pytest.approx(above, abs=1e-3)


MECHANISMS: list[Any] = [
    RandomizedResponse(2.0, 5),
    UnaryEncoding(2.0, 4),
    UnaryEncoding(2.0, 2, "symmetric"),
    UnaryEncoding.of(0.6, 0.2, 3),
    Piecewise(2.0),
    SquareWave(2.0),
    Hybrid(2.0),
    Hybrid(0.5),
    Laplace(1.0, 2.0, 2.0),
    Laplace(1.0, 0.01, 0.01),
    DiscreteLaplace(1.5, 3, replaced=3),
    SubsetSelection(2.0, 9),
    LocalHashing(2.0, 6),
    HadamardResponse(2.0, 6),
    DuchiVector(2.0, 3),
    PrivUnit(2.0, 5),
]


@together("mechanism", MECHANISMS)
def test_tables_are_those_of_the_mechanism(mechanism: Any) -> None:
    """Both laws add up to 1, have the mechanism's profile, and the blanket lies below both and within e**-epsilon."""
    blanket, epsilon0 = mechanism.blanket(), mechanism.exact_epsilon()
    assert np.allclose(blanket.laws.sum(axis=1), 1, atol=1e-12)
    for first, second in zip(blanket.first, blanket.second, strict=True):
        assert first.sum() == pytest.approx(1, abs=1e-12)
        assert np.all(blanket.shared <= np.minimum(first, second))
        assert np.all(np.maximum(first, second) <= blanket.shared * math.exp(epsilon0) * (1 + 1e-12))
        for level in (0.0, 0.4 * epsilon0, 0.9 * epsilon0):
            profile = float(np.maximum(first - math.exp(level) * second, 0).sum())
            assert profile == pytest.approx(float(mechanism.delta(level)), rel=3e-3)
            assert profile >= float(mechanism.delta(level)) * (1 - 1e-9)


LISTED = [
    RandomizedResponse(2.0, 4),
    UnaryEncoding(2.0, 3),
    SubsetSelection(2.0, 5, 2),
    LocalHashing(2.0, 5, 4),
    LocalHashing(2.0, 4, 5),
    HadamardResponse(2.0, 5),
    HadamardResponse(2.0, 5, "columns"),
]


@together("mechanism", LISTED)
def test_tables_agree_with_the_listed_channel(mechanism: Any) -> None:
    """The closed form of a symmetric mechanism against all pairs of its rows, and all placings of the others."""
    rows = [[float(np.exp(mechanism.log_prob(y, x))) for y in mechanism.reports()] for x in range(mechanism.k)]
    listed, closed = shuffle(FiniteChannel(rows), 50), shuffle(mechanism, 50)
    for level in (0.1, 0.8, 1.5):
        assert closed.delta_bounds(level)[0] == pytest.approx(listed.delta_bounds(level)[0], rel=0.15)
        assert closed.delta_bounds(level)[1] == pytest.approx(listed.delta_bounds(level)[1], rel=0.05)


@together("mechanism", LISTED)
def test_the_laws_of_three_values_are_sums_of_the_mechanism_s(mechanism: Any) -> None:
    """At an epsilon beyond which laws are not listed: each table's outcome is made of some reports."""
    mechanism = replace(mechanism, epsilon=35.0)
    listed = [[float(np.exp(mechanism.log_prob(y, x))) for y in mechanism.reports()] for x in range(mechanism.k)]
    laws = _merged(mechanism.blanket().laws)
    triples = [_merged(np.array(listed)[list(some)]) for some in itertools.permutations(range(mechanism.k), len(laws))]
    assert any(one.shape == laws.shape and np.allclose(one, laws, rtol=1e-9, atol=0) for one in triples)


def _merged(laws: Numbers) -> Numbers:
    """Outcomes of equal ratios merged, in order."""
    laws = laws[:, laws.max(axis=0) > 0]
    some, places = np.unique((laws / laws.max(axis=0)).round(9), axis=1, return_inverse=True)
    return np.array([np.bincount(places.ravel(), row, some.shape[1]) for row in laws])


@pytest.mark.parametrize("density", ["laplace", "discrete"])
def test_no_pair_of_numbers_has_a_larger_bound_than_the_ends(density: str) -> None:
    """Stop-losses of R_x/w for inputs between: would catch a noise of which the ends are not the worst."""
    if density == "laplace":
        places = np.linspace(-30, 33, 63_001)
        laws = {x: np.exp(-np.abs(places - x)) / 2 * (places[1] - places[0]) for x in np.linspace(0, 3, 13)}
    else:
        places = np.arange(-60.0, 64.0)
        laws = {float(x): np.tanh(0.5) * np.exp(-np.abs(places - x)) for x in range(4)}
    shared = np.minimum(laws[0.0], laws[3.0])
    for level in np.exp(np.linspace(-0.5, 3.2, 25)):
        sizes = {x: float(np.maximum(law - level * shared, 0).sum()) for x, law in laws.items()}
        assert max(sizes.values()) <= sizes[0.0] * (1 + 1e-3) + 1e-12


def test_what_is_promised_is_bounded_for_every_report() -> None:
    """Each 1-LDP report lies below; the loss of randomised response is as good as its epsilon."""
    promise = shuffle(Pure(1.0), 10_000)
    low, high = promise.epsilon_bounds(1e-6)
    assert (low, high) == (pytest.approx(0.0357, abs=1e-4), pytest.approx(0.0530, abs=1e-4))
    assert any("the bounds are those of all reports" in line for line in promise.assumptions)
    for mechanism in (RandomizedResponse(1.0, 3), Laplace(1.0, replaced=1.0), Piecewise(1.0), UnaryEncoding(1.0, 5)):
        assert shuffle(mechanism, 10_000).epsilon_bounds(1e-6)[1] <= high * (1 + 1e-3)


@together("epsilon0", [1e-3, 1.0, 40.0, 350.0])
def test_clients_from_one_to_a_hundred_million(epsilon0: float) -> None:
    """Bounds are in order, and more clients hide better."""
    before = math.inf
    for n in (1, 2, 30, 10**4, 10**8):
        law = ShuffledReports(Blanket.of_two_levels(epsilon0, 0.0, 1.0, 2.0), epsilon0, n)
        ends = [law.log_delta_bounds(share * epsilon0) for share in (0.0, 1e-4, 0.1, 0.5, 0.99)]
        assert all(low <= high <= 0 for low, high in ends)
        assert all(one[0] >= two[0] - 0.1 for one, two in itertools.pairwise(ends) if math.isfinite(two[0]))
        assert ends[2][1] <= before + 0.1
        before = ends[2][1]


def test_sums_of_shuffled_reports_are_enclosed_closely() -> None:
    loss = shuffle(Piecewise(1.0), 2000)
    single, low_and_high = loss.epsilon_bounds(1e-6), compose([(loss, 10)]).epsilon_bounds(1e-6)
    assert single[1] < low_and_high[0] <= low_and_high[1] <= 1.3 * low_and_high[0]


def test_a_bound_takes_less_than_seconds() -> None:
    start = time.perf_counter()
    shuffle(RandomizedResponse(4.0, 8), 10**6).epsilon_bounds(1e-6)
    assert time.perf_counter() - start < 5


def test_nearly_equal_ends_are_told_apart() -> None:
    """A blanket that is rounded down by 2e-14 stays below every law."""
    blanket = Laplace(1.0, replaced=1e-3).blanket()
    assert blanket is not None
    assert 0 < 1 - blanket.shared.sum() < 1e-3


@pytest.mark.parametrize("n", [10, 10**6])
def test_hundreds_of_inputs_are_bounded_by_the_loss_of_one_report(n: int) -> None:
    """Where a channel has too many pairs of inputs its bounds are those of its loss."""
    rng = np.random.default_rng(3)
    channel = FiniteChannel(random_rows(rng, 300, 13).tolist())
    assert channel.blanket() is None
    low, high = shuffle(channel, n).epsilon_bounds(1e-6)
    assert 0 <= low <= high <= channel.exact_epsilon()
