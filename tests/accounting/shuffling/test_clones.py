"""Clones: the counted pair against fractions, against every profile of a few shuffled reports, and its limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose
from ldp_audit.accounting.shuffling.clones import CountedPair, clones, stronger_clones, third_value
from ldp_audit.accounting.shuffling.expected_excess import log_fair_excess
from ldp_audit.losses.hulls import known_bound, known_bounds
from tests.together import together

Law = dict[tuple[int, ...], Fraction]
LEVELS = [Fraction(1), Fraction(5, 4), Fraction(7, 5), Fraction(5, 2), Fraction(4, 5)]


def added(law: Law, report: dict[tuple[int, ...], Fraction]) -> Law:
    """The distribution of the counts with one report more."""
    found: Law = {}
    for counts, mass in law.items():
        for step, chance in report.items():
            key = tuple(map(sum, zip(counts, step, strict=True)))
            found[key] = found.get(key, Fraction(0)) + mass * chance
    return found


def hockey_stick(first: Law, second: Law, level: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - level * second.get(y, Fraction(0))) for y, p in first.items()), Fraction(0))


def counted(t: Fraction, n: int, clone: Fraction, share: Fraction, level: Fraction) -> Fraction:
    """The counted pair's hockey stick, by summing over the two counts."""
    law: Law = {(0, 0): Fraction(1)}
    for _ in range(n - 1):
        law = added(law, {(1, 0): clone, (0, 1): clone, (0, 0): 1 - 2 * clone})
    rest = 1 - share * (t + 1)
    pair = [added(law, {(1, 0): share * a, (0, 1): share * b, (0, 0): rest}) for a, b in ((t, 1), (1, t))]
    return hockey_stick(pair[0], pair[1], level)


KINDS: dict[str, tuple[Callable[..., CountedPair], Callable[[Fraction], tuple[Fraction, Fraction]]]] = {
    "2021": (lambda e, n: clones(e, n), lambda t: (1 / t / 2, 1 / (t + 1))),
    "2023": (lambda e, n: stronger_clones(e, n), lambda t: (1 / (t + 1), 1 / (t + 1))),
    "k = 3": (lambda e, n: third_value(e, n, 3), lambda t: (1 / (t + 2), 1 / (t + 2))),
    "k = 6": (lambda e, n: third_value(e, n, 6), lambda t: (1 / (t + 5), 1 / (t + 5))),
}


@together(
    ("kind", "t", "n"),
    [
        (kind, t, n)
        for kind in KINDS
        for t, n in [(Fraction(3), 2), (Fraction(3), 6), (Fraction(3, 2), 5), (Fraction(20), 7)]
    ],
)
def test_the_bounds_enclose_the_fractions_to_two_parts_in_10_to_the_11(kind: str, t: Fraction, n: int) -> None:
    """Would catch a wrong number of trials, a swapped direction, a lost third message."""
    make, chances = KINDS[kind]
    pair = make(math.log(t), n)
    for level in LEVELS:
        exact = float(counted(t, n, *chances(t), level))
        low, high = pair.log_delta_bounds(math.log(level))
        if exact == 0:
            assert low == high == -math.inf
        else:
            assert math.exp(low) <= exact <= math.exp(high)
            assert high - low <= 2.1e-11


@together(
    ("kind", "level"),
    itertools.product(KINDS, [700 * (1 - 1e-9), 700 * (1 - 1e-12), math.nextafter(700.0, 0.0), 30.0, -3.0, -800.0]),
)
def test_the_bounds_enclose_at_the_largest_epsilon_too(kind: str, level: float) -> None:
    """Next to it a count's complement is subnormal: would catch bounds 1e-11 wrong."""
    make, chances = KINDS[kind]
    with mpmath.workdps(1000):
        t, asked = (Fraction(int(mpmath.floor(mpmath.exp(x) * 2**3000)), 2**3000) for x in (700.0, level))
        exact = counted(t, 3, *chances(t), asked)
        truth = mpmath.log1p(-mpmath.mpf((1 - exact).numerator) / (1 - exact).denominator)
        low, high = make(700.0, 3).log_delta_bounds(level)
        assert low <= truth <= high
        assert high - low < 1e-5 * (1 + abs(high))


def randomised_response(t: Fraction, k: int) -> list[dict[tuple[int, ...], Fraction]]:
    """For each value, the distribution of the report's unit count vector."""
    units = [tuple(int(i == y) for i in range(k)) for y in range(k)]
    return [{units[y]: (t if y == x else 1) / (t + k - 1) for y in range(k)} for x in range(k)]


def histograms(t: Fraction, k: int, others: tuple[int, ...], held: int) -> Law:
    rows = randomised_response(t, k)
    law: Law = {(0,) * k: Fraction(1)}
    for value in (*others, held):
        law = added(law, rows[value])
    return law


@together(
    ("k", "n", "t"),
    [(k, n, t) for k, n in [(2, 2), (2, 5), (3, 2), (3, 4), (4, 3)] for t in [Fraction(3), Fraction(5, 4)]],
)
def test_no_neighbourhood_of_the_others_beats_the_clones(k: int, n: int, t: Fraction) -> None:
    """All histograms of all placings, in fractions: would catch a clone too many."""
    pairs = [clones(math.log(t), n), stronger_clones(math.log(t), n)]
    for level in (Fraction(1), Fraction(9, 8), Fraction(2)):
        worst = max(
            hockey_stick(histograms(t, k, others, 0), histograms(t, k, others, 1), level)
            for others in itertools.combinations_with_replacement(range(k), n - 1)
        )
        highs = [math.exp(pair.log_delta_bounds(math.log(level))[1]) for pair in pairs]
        assert worst <= highs[1] <= highs[0]


def test_twice_the_clones_would_be_beaten() -> None:
    """The check above can fail: with r = 2/(t+1) there would be too many clones."""
    t, n, level = Fraction(3), 4, Fraction(9, 8)
    worst = hockey_stick(histograms(t, 2, (0, 0, 0), 1), histograms(t, 2, (0, 0, 0), 0), level)
    assert counted(t, n, Fraction(1, 2), 1 / (t + 1), level) < worst


@together(("k", "n"), [(3, 2), (3, 4), (4, 3)])
def test_others_at_a_third_value_are_an_attained_lower_bound(k: int, n: int) -> None:
    t, level = Fraction(3), Fraction(5, 4)
    seen = hockey_stick(histograms(t, k, (2,) * (n - 1), 0), histograms(t, k, (2,) * (n - 1), 1), level)
    low, high = third_value(math.log(3), n, k).log_delta_bounds(math.log(level))
    assert math.exp(low) <= seen <= math.exp(high)


@settings(max_examples=40)
@given(st.floats(1e-3, 8), st.integers(2, 300), st.floats(0, 1))
def test_more_clients_hide_more_and_larger_epsilons_leave_less(epsilon0: float, n: int, share: float) -> None:
    one, two = clones(epsilon0, n), clones(epsilon0, 2 * n)
    at = share * epsilon0
    assert two.log_delta_bounds(at)[0] <= one.log_delta_bounds(at)[1]
    assert one.log_delta_bounds(min(epsilon0, 1.01 * at + 1e-6))[0] <= one.log_delta_bounds(at)[1]
    assert stronger_clones(epsilon0, n).log_delta_bounds(at)[0] <= one.log_delta_bounds(at)[1]


@pytest.mark.parametrize("n", [5000, 10**6])
def test_runs_of_totals_enclose_one_by_one(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch bounds taken at the wrong end of a run."""
    pair = clones(1.0, n)
    level = 4 / math.sqrt(n)
    exact = pair.log_delta_bounds(level)
    monkeypatch.setattr("ldp_audit.accounting.shuffling.clones._ALL", 50)
    monkeypatch.setattr("ldp_audit.accounting.shuffling.clones._CELLS", 50)
    low, high = clones(1.0, n).log_delta_bounds(level)
    assert low < exact[0] <= exact[1] < high
    assert high - low < 0.4


def test_a_pure_epsilon_stays_and_nothing_is_left_beyond_it() -> None:
    loss = PrivacyLoss((clones(2.0, 20_000),))
    assert loss.epsilon(0.0) == 2.0
    assert loss.log_delta_bounds(2.0) == (-math.inf, -math.inf)
    low, high = loss.log_delta_bounds(1.999)
    assert -math.inf < low <= high < -1300  # below every float, and still no 0


def test_the_reversed_half_follows_from_the_other() -> None:
    pair = stronger_clones(math.log(3), 4)
    exact = float(counted(Fraction(3), 4, Fraction(1, 4), Fraction(1, 4), Fraction(1, 3)))
    assert math.exp(pair.log_delta_bounds(-math.log(3))[1]) == pytest.approx(exact, rel=1e-10)


@together(("epsilon0", "n"), itertools.product([1e-9, 50.0], [2, 1000, 10**6]))
def test_tiny_and_huge_epsilons_keep_their_digits(epsilon0: float, n: int) -> None:
    """At 50 no client is ever a clone: delta is nearly 1 - e**(level - 50); at 1e-9 delta is about 1e-9."""
    level = epsilon0 * (1 - 1e-3) if epsilon0 > 1 or n <= 1000 else epsilon0 * 1e-3
    low, high = clones(epsilon0, n).log_delta_bounds(level)
    assert low <= high <= low + 1e-3
    if epsilon0 == 50:
        assert high == pytest.approx(math.log(-math.expm1(-0.05)), rel=1e-9)


def test_a_hundred_million_clients() -> None:
    """Against the normal limit sqrt(2/n) times what delta asks for: the known size of the clones' bound."""
    low, high = clones(1.0, 10**8).log_delta_bounds(3.192e-4)
    assert low <= math.log(1.001e-6)
    assert high >= math.log(0.999e-6)
    assert high - low < 1e-4


def test_a_composed_pair_is_enclosed_by_discrete_losses() -> None:
    pair = clones(1.0, 30)
    low, high = known_bounds(pair)
    for level in (0.0, 0.1, 0.5, 0.9, -0.3):
        ends = pair.log_delta_bounds(level)
        assert low.log_delta_bounds(level)[1] <= ends[1]
        assert ends[0] <= high.log_delta_bounds(level)[0]
        assert high.log_delta_bounds(level)[0] <= ends[1] + 1e-3


@pytest.mark.parametrize("epsilon0", [1e-9, 0.01, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("n", [2, 3, 17, 40])
def test_the_loss_above_few_clients_is_the_pair_s_own(n: int, epsilon0: float) -> None:
    """Would catch a loss that is left out: chords between others lie up to e**0.7 above the profile."""
    for pair in (clones(epsilon0, n), stronger_clones(epsilon0, n), third_value(epsilon0, n, 10)):
        above = known_bound(pair, 1)
        for level in epsilon0 * np.concatenate([np.linspace(0, 0.999, 12), 10.0 ** -np.arange(2, 9)]):
            (low, high), most = pair.log_delta_bounds(float(level)), above.log_delta_bounds(float(level))[1]
            assert low <= most <= high + 3e-9 + 1e-11 * abs(high)


@together(("c", "z"), itertools.product([1, 2, 7, 100, 1000, 10**5, 10**7], [0.0, 0.4, 1.0, 1.3, 4.0, 12.0, 37.0]))
def test_stop_losses_have_their_digits(c: int, z: float) -> None:
    gap = c / 2 - round(8 * z * math.sqrt(c)) / 16
    if gap <= 0:
        assert log_fair_excess(np.array([float(c)]), np.array([gap]))[0] == -math.inf
        return
    found = log_fair_excess(np.array([float(c)]), np.array([gap]))[0]
    exact = exact_stop_loss(c, gap)
    assert found == pytest.approx(exact, rel=0, abs=(1e-12 if c <= 10**6 else 1e-9) + 2e-15 * abs(exact))


def exact_stop_loss(c: int, gap: float) -> float:
    before, ctx.prec = ctx.prec, 300
    try:
        rest = math.ceil(gap) - 1
        logs = arb(c + 1).lgamma() - arb(rest + 1).lgamma() - arb(c - rest + 1).lgamma() - c * arb(2).log()
        total, term = arb(0), arb(1)
        for left in range(rest, -1, -1):
            add = term * (arb(gap) - left)
            total += add
            if add < total * arb(10) ** -20 and left < rest - 4:
                break
            term = term * left / (c - left + 1)
        return float(logs + total.log())
    finally:
        ctx.prec = before


@together("epsilon0", [0.0, -1.0, 701.0, math.nan, math.inf])
def test_epsilons_out_of_range_are_refused(epsilon0: float) -> None:
    with pytest.raises(ValueError, match="epsilon0 must lie above 0"):
        clones(epsilon0, 10)


@together("n", [1, 0, 2.5, True, 10**9])
def test_clients_out_of_range_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="n must be a whole number"):
        stronger_clones(1.0, n)
    with pytest.raises(ValueError, match="k must be at least 3"):
        third_value(1.0, 10, 2)


@together(("epsilon0", "n"), [(367.6, 60), (400.0, 60), (699.9, 41)])
def test_chances_whose_products_are_no_floats_compose(epsilon0: float, n: int) -> None:
    """Would catch masses that do not add up to 1, and losses that do not ascend."""
    low, high = compose([(PrivacyLoss((clones(epsilon0, n),)), 2)]).epsilon_bounds(1e-6)
    assert 0 <= low <= high <= 2 * epsilon0
