"""Many counts together: the normal limit against complete enumeration, known numbers, and the simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from ldp_audit.accounting.conversion.conversions import gdp_to_delta, gdp_within
from ldp_audit.accounting.laws.finite_laws import product_law
from ldp_audit.accounting.shuffling.anonymous_counts import (
    CountLaws,
    anonymous_count,
    exact_advantage,
    exact_laws,
    hypotheses,
)
from ldp_audit.papers.ldp_fl.attacks.membership_limit import (
    NormalLoss,
    advantage,
    break_even_clients,
    compose_counts,
    compose_signals,
    limit_advantage,
    signal,
    smallest_dimension,
)
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import SETTINGS, simulate
from tests.frequency import FALSE_ALARM, assert_frequency
from tests.together import together

LN3 = math.log(3)
UPPER, LOWER = Fraction(3, 4), Fraction(1, 4)


def enumerated(n: int, m: int) -> Fraction:
    """The exact advantage over m counts, e**epsilon = 3, others at the lower end."""
    laws = exact_laws(UPPER, LOWER, [LOWER] * (n - 1))
    return exact_advantage(*(product_law([law] * m) for law in laws))  # type: ignore[arg-type]


@together(("mu", "epsilon"), [(0.1, 0.3), (0.26805, 1), (1, 0), (3, 10), (30, 400), (5, 0.1), (0.01, 0.2), (1e-16, 0)])
def test_two_normal_distributions_are_the_gaussian_mechanism(mu: float, epsilon: float) -> None:
    loss = NormalLoss((mu * mu / 2, mu * mu / 2), (mu * mu, mu * mu), (0.0, 0.0), math.inf)
    assert loss.delta(epsilon) == pytest.approx(gdp_to_delta(mu, epsilon).value, rel=1e-12)


@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.7, 60.0])
@pytest.mark.parametrize("variance", [1e-24, 0.3, 50.0])
@pytest.mark.parametrize("away", [-3.0, 0.0, 2.0, 20.0])
def test_normal_losses_of_any_mean_against_quadrature(mean: float, variance: float, away: float) -> None:
    """Of (1 - e**(epsilon - S))_+, with 40 digits."""
    epsilon = max(0.0, mean + away * math.sqrt(variance))
    with mp.workdps(40):
        deviation, start = mp.sqrt(variance), (mpf(epsilon) - mpf(mean)) / mp.sqrt(variance)
        ends = [start, start + 1, start + 4, max(start, 0) + 40]
        exact = mp.quad(lambda z: -mp.expm1(-(z - start) * deviation) * mp.npdf(z), ends)
    found = NormalLoss((mean, mean), (variance, variance), (0.0, 0.0), math.inf).delta(epsilon)
    assert found == pytest.approx(float(exact), rel=1e-11)


def test_normal_losses_without_end() -> None:
    loss = compose_signals(10, math.inf, 5)
    assert loss.delta(3.0) == 1
    assert loss.delta(math.inf) == 0
    assert math.isinf(loss.epsilon(0.1))


def test_the_shift_behind_one_and_a_hundred_thousandth() -> None:
    assert gdp_within(1, 1e-5).value == pytest.approx(0.2680511232, abs=1e-9)
    assert gdp_within(1, 0).value == 0
    assert math.isinf(gdp_within(math.inf, 1e-5).value)
    assert gdp_within(0, 1e-300).value == pytest.approx(math.sqrt(2 * math.pi) * 1e-300, rel=1e-9)
    assert gdp_within(1e308, 0.5).value == pytest.approx(math.sqrt(2) * 1e154, rel=1e-9)  # mu**2 / 2 = epsilon


@together(
    ("n", "epsilon", "others", "alone", "together"),
    [
        (100, 1, "one end", 0.408, 688.9),
        (200, 4, "one end", 3.9996, 21730),
        (500, 10, "one end", 10.000, 971760),
        (100, 1, "center", 0.31, 551),
        (200, 4, "center", 0.48, 1112),
        (500, 10, "center", 0.30, 520),
    ],
)
def test_central_epsilons_that_were_computed_apart(
    n: int, epsilon: float, others, alone: float, together: float
) -> None:
    """One count exactly, and 10**5 of them within half a percent of a convolution made by another program."""
    laws = anonymous_count(n, epsilon, others=others)
    # The second three were taken from the normal limit, with two digits printed.
    assert laws.epsilon(1e-5) == pytest.approx(alone, abs=0.0006 if others == "one end" else 0.02)
    assert compose_counts(laws, 10**5).epsilon(1e-5) == pytest.approx(together, rel=0.005)


@together(("n", "m"), [(1, 1), (1, 5), (2, 1), (2, 4), (3, 5), (5, 4)])
def test_the_bounds_hold_where_everything_can_be_enumerated(n: int, m: int) -> None:
    found = advantage(anonymous_count(n, LN3), m)
    exact = float(enumerated(n, m))
    assert found.low - 1e-12 <= exact <= found.high + 1e-12
    assert found.value == pytest.approx(exact, abs=1e-12 if m == 1 else 0.06)


def test_the_bounds_close_in_from_both_sides() -> None:
    laws = anonymous_count(100, 1.0)
    widths = [found.high - found.low for found in (advantage(laws, m) for m in (10**2, 10**3, 10**4))]
    assert widths == sorted(widths, reverse=True)
    assert widths[2] < 1e-5  # by the Hellinger distance; Berry and Esseen alone allow 0.03
    early = advantage(laws, 20).high
    assert early < 0.25  # likewise, from above


def test_the_squared_hellinger_distance_is_that_of_the_fractions() -> None:
    for n in (1, 3, 8):
        pairs = zip(*(law.values() for law in exact_laws(UPPER, LOWER, [LOWER] * (n - 1))), strict=True)
        exact = 1 - sum(math.sqrt(p * q) for p, q in pairs)
        assert anonymous_count(n, LN3).hellinger == pytest.approx(exact, rel=1e-12)


def test_weak_signals_are_those_of_the_closed_formula() -> None:
    for others in ("one end", "center"):
        exact = compose_counts(anonymous_count(10**4, 1.0, others=others), 10**4)
        formula = compose_signals(10**4, 1.0, 10**4, others=others)
        assert exact.epsilon(1e-5) == pytest.approx(formula.epsilon(1e-5), rel=2e-3)
        mu = math.sqrt(10**4 * signal(10**4, 1.0, others=others))
        laws = anonymous_count(10**4, 1.0, others=others)
        assert advantage(laws, 10**4).value == pytest.approx(limit_advantage(mu), rel=2e-3)


def test_break_even_of_the_inventory() -> None:
    assert break_even_clients(1, 1, 10**5, 1, 1e-5) == 1511678
    assert break_even_clients(10, 1, 10**5, 1, 1e-5) == pytest.approx(3.065e10, rel=1e-3)


@together(
    ("others", "target", "within"),
    [(others, target, within) for others in ["one end", "center"] for target, within in [(0.3, 0.25), (0.1, 0.08)]],
)
def test_break_even_of_one_count_is_near_the_exact_one(others, target: float, within: float) -> None:
    """The exact least n whose delta at the target is 1e-4, found without the limit; nearer as n grows."""
    few, many = 1, 2
    while anonymous_count(many, 1.0, others=others).epsilon(1e-4) > target:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        enough = anonymous_count(middle, 1.0, others=others).epsilon(1e-4) <= target
        few, many = (few, middle) if enough else (middle, many)
    assert break_even_clients(1.0, 1, 1, target, 1e-4, others=others) == pytest.approx(many, rel=within)


def test_break_even_grows_with_what_is_sent_and_falls_with_what_is_allowed() -> None:
    sizes = [break_even_clients(1.0, 10, d, 1.0, 1e-5) for d in (100, 1000, 10**4)]
    assert sizes == sorted(sizes)
    assert sizes[2] == pytest.approx(100 * sizes[0], rel=1e-3)
    assert break_even_clients(1.0, 10, 100, 2.0, 1e-5) < sizes[0] < break_even_clients(1.0, 10, 100, 1.0, 1e-9)


def test_the_ends_of_break_even() -> None:
    assert break_even_clients(1.0, 1, 1, 1.0, 1e-5) == 1  # a report's own epsilon suffices
    assert break_even_clients(0.0, 10, 10, 1.0, 1e-5) == 1
    assert math.isinf(break_even_clients(1.0, 10, 10, 1.0, 0.0))
    assert math.isinf(break_even_clients(1.0, 10, 10, 0.0, 1e-300))
    assert math.isinf(break_even_clients(math.inf, 10, 10, 1.0, 1e-5))
    assert break_even_clients(math.inf, 10, 10, 1.0, 1e-5, others="center") > 1000


def test_no_loss_exceeds_the_pure_bound() -> None:
    loss = compose_counts(anonymous_count(500, 10.0), 100)
    assert loss.epsilon(1e-9) <= 1000 + 1e-9
    assert loss.epsilon(0.0) == pytest.approx(1000)
    assert loss.delta(1001.0) == 0


def test_an_absent_client_costs_infinity_at_delta_0_and_little_above() -> None:
    loss = compose_counts(anonymous_count(1000, 1.0, others="center", against="absent"), 100)
    assert math.isinf(loss.epsilon(0.0))
    assert loss.epsilon(1e-5) < 20


@pytest.mark.parametrize("others", ["one end", "center"])
def test_the_smallest_dimension_is_where_the_advantage_passes(others) -> None:
    laws = anonymous_count(100, 1.0, others=others)
    d = smallest_dimension(laws, 10, 0.99)
    assert advantage(laws, 10 * d).value >= 0.99 > advantage(laws, 10 * (d - 1)).value
    sure = smallest_dimension(laws, 10, 0.99, surely=True)
    assert sure > d
    assert advantage(laws, 10 * sure).low >= 0.99 > advantage(laws, 10 * (sure - 1)).low


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 4)])
def test_the_simulation_has_the_enumerated_distribution(n: int, m: int) -> None:
    """20,000 runs; a chance that is off by 0.02 is found with probability 0.999, a right one fails once in 10**6."""
    run = simulate(n, m, 1, LN3, trials=20_000, rng=np.random.default_rng(5), confidence=1 - FALSE_ALARM)
    laws = exact_laws(UPPER, LOWER, [LOWER] * (n - 1))
    first, second = (product_law([law] * m) for law in laws)
    yes = [outcome for outcome in first if first[outcome] > second[outcome]]
    assert_frequency(run.hits, run.trials, float(sum(first[outcome] for outcome in yes)))
    assert_frequency(run.other_hits, run.trials, float(sum(second[outcome] for outcome in yes)))
    assert run.low <= float(enumerated(n, m)) <= run.high
    with pytest.raises(AssertionError):  # the check can fail
        assert_frequency(run.hits, run.trials, float(sum(first[outcome] for outcome in yes)) + 0.03)


@together("setting", SETTINGS)
def test_theory_and_simulation_agree_at_the_paper_s_sizes(setting) -> None:
    """30 weights, intervals at 1 - 1e-6, widened by 0.02 for the limit's own error."""
    for others in ("one end", "center"):
        theory = advantage(anonymous_count(setting.n, setting.epsilon, others=others), 30 * setting.rounds)
        run = simulate(
            setting.n,
            30,
            setting.rounds,
            setting.epsilon,
            trials=2000,
            rng=np.random.default_rng(2),
            others=others,
            confidence=1 - FALSE_ALARM,
        )
        assert run.low <= theory.high
        assert theory.low <= run.high
        assert run.low - 0.02 <= theory.value <= run.high + 0.02


def test_the_same_seed_gives_the_same_runs() -> None:
    runs = [simulate(50, 10, 10, 0.5, trials=300, rng=np.random.default_rng(seed)) for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert (runs[0].hits, runs[0].other_hits) != (runs[2].hits, runs[2].other_hits)


def test_an_infinite_loss_decides() -> None:
    run = simulate(3, 50, 1, math.inf, trials=100, rng=np.random.default_rng(0), others="center")
    assert run.advantage == 1


@together(
    ("arguments", "message"),
    [
        ({"d": 0}, "d must be a whole number >= 1, got 0"),
        ({"rounds": 1.5}, "rounds must be a whole number >= 1, got 1.5"),
        ({"trials": True}, "trials must be a whole number >= 1, got True"),
        ({"confidence": 1.0}, r"confidence must be in \(0, 1\), got 1.0"),
        ({"rng": 3}, "rng must be a numpy.random.Generator, got 3"),
    ],
)
def test_bad_input_is_named(arguments: dict, message: str) -> None:
    given = {"n": 3, "d": 2, "rounds": 1, "epsilon": 1.0, "trials": 10, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=message):
        simulate(**{**given, **arguments})


@together(
    ("ask", "message"),
    [
        (lambda: limit_advantage(-1), "mu must be a number >= 0, got -1"),
        (lambda: limit_advantage(math.nan), "mu must be a number >= 0, got nan"),
        (lambda: break_even_clients(1.0, 0, 10, 1.0, 0.1), "rounds must be a whole number >= 1, got 0"),
        (lambda: break_even_clients(1.0, 1.5, 10, 1.0, 0.1), "rounds must be a whole number .* got 1.5"),  # type: ignore[arg-type]
        (lambda: break_even_clients(1.0, 1, -1, 1.0, 0.1), "dimension must be a whole number .* got -1"),
        (lambda: break_even_clients(1.0, 1, 1, math.nan, 0.1), "target_epsilon must be a number >= 0, got nan"),
        (lambda: break_even_clients(0.0, 1, 1, 1.0, 2.0), r"delta must be in \[0, 1\), got 2.0"),
        (lambda: compose_signals(10, 1.0, -5), "m must be a whole number .* got -5"),
        (lambda: compose_counts(anonymous_count(3, 1.0), 0), "m must be a whole number .* got 0"),
        (lambda: advantage(anonymous_count(3, 1.0), True), "m must be a whole number .* got True"),
        (lambda: smallest_dimension(anonymous_count(3, 1.0), 0, 0.5), "rounds must be a whole number .* got 0"),
        (lambda: compose_signals(10, 1.0, 5).delta(math.nan), "epsilon must be a number >= 0, got nan"),
        (lambda: compose_signals(10, 1.0, 5).delta(-1.0), "epsilon must be a number >= 0, got -1.0"),
    ],
)
def test_senseless_numbers_are_refused_by_name(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_the_assumed_networks_have_the_sizes_that_are_known_for_them() -> None:
    sizes = [[network.weights for network in setting.networks] for setting in SETTINGS]
    assert sizes[0] == sizes[1] == [7850, 21840, 1663370]
    assert sizes[2] == [30730, 1186378]


@together("m", [2, 3, 5])
def test_the_bounds_hold_where_the_loss_takes_one_finite_value(m: int) -> None:
    """Catches the sign of a constant loss taken for a coin's: one client that is there or absent."""
    laws = anonymous_count(1, 1.0, against="absent")
    found = advantage(laws, m)
    exact = 1 - float(laws.first[0]) ** m  # an absent client never makes a report
    assert found.low <= exact * (1 + 1e-12)
    assert found.high >= exact * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_other_neighbourhood_of_the_others_gives_many_counts_more_or_less(epsilon: float) -> None:
    """The two named neighbourhoods bound all mixtures of both ends and center, and 100 random ones: n = 30."""
    end = hypotheses(epsilon, "other end")[0].upper
    rng = np.random.default_rng(1)
    mixtures = [[1 - end] * i + [0.5] * j + [end] * (29 - i - j) for i in range(0, 30, 7) for j in range(0, 30 - i, 7)]
    found = [
        of_many(anonymous_count(30, epsilon, others=one)) for one in [*mixtures, *rng.uniform(1 - end, end, (100, 29))]
    ]
    worst, best = (of_many(anonymous_count(30, epsilon, others=others)) for others in ("one end", "center"))
    assert max(found) <= worst * (1 + 1e-9)
    assert min(found) >= best * (1 - 1e-9)


def of_many(laws: CountLaws) -> float:
    """The advantage over 20 counts, in the normal limit."""
    return advantage(laws, 20).value


def test_counts_rarer_than_any_float_keep_their_loss() -> None:
    """Would catch a loss of 0 for such counts."""
    assert compose_counts(anonymous_count(1500, 1.0), 3).largest == pytest.approx(3.0, rel=1e-15)
