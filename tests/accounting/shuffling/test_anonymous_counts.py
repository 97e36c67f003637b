"""The distribution of one anonymous count: against fractions, at its limits, and for other inputs of the others."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_audit.accounting.shuffling.anonymous_counts import (
    MOST_CLIENTS,
    anonymous_count,
    chance_of_others,
    exact_advantage,
    exact_laws,
    hypotheses,
    loss_of_count,
)
from ldp_audit.mechanisms.log_space import expit
from tests.accounting.count_in_balls import in_balls
from tests.together import together

LN3 = math.log(3)
UPPER, CENTER, LOWER = Fraction(3, 4), Fraction(1, 2), Fraction(1, 4)
SECOND = {"other end": LOWER, "center": CENTER, "absent": Fraction(0)}
OTHERS = {"one end": LOWER, "center": CENTER}


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("against", SECOND)
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_masses_losses_and_advantage_are_those_of_the_fractions(n: int, against: str, others: str) -> None:
    """Would catch an off-by-one between Q(k) and Q(k - 1), a swapped hypothesis, a lost sign."""
    laws = anonymous_count(n, LN3, others=others, against=against)  # type: ignore[arg-type]
    exact = exact_laws(UPPER, SECOND[against], [OTHERS[others]] * (n - 1))
    for found, law in zip((laws.first, laws.second), exact, strict=True):
        assert found == pytest.approx([float(law[k]) for k in range(n + 1)], rel=1e-12, abs=0)
    for k in range(n + 1):
        p, q = exact[0][k], exact[1][k]
        assert laws.loss[k] == pytest.approx(math.log(p / q) if q else math.inf, rel=1e-12, abs=1e-14)
    assert laws.advantage() == pytest.approx(float(exact_advantage(*exact)), rel=1e-12)


def test_the_comparison_with_fractions_can_fail() -> None:
    laws = anonymous_count(7, LN3)
    law, _ = exact_laws(UPPER, LOWER, [CENTER] * 6)
    assert laws.first != pytest.approx([float(law[k]) for k in range(8)], rel=1e-3)


@pytest.mark.parametrize(("others", "q"), [("one end", LOWER), ("center", CENTER)])
def test_ten_thousand_clients_keep_eleven_digits_far_into_the_tails(others: str, q: Fraction) -> None:
    n = 10**4
    laws = anonymous_count(n, LN3, others=others)  # type: ignore[arg-type]
    for k in [*range(0, n + 1, 311), n]:
        stays = math.comb(n - 1, k) * q**k * (1 - q) ** max(n - 1 - k, 0) if k < n else Fraction(0)
        moves = math.comb(n - 1, k - 1) * q ** (k - 1) * (1 - q) ** (n - k) if k else Fraction(0)
        mass = (1 - UPPER) * stays + UPPER * moves
        if mass > Fraction(1, 10**290):
            assert laws.first[k] == pytest.approx(float(mass), rel=1e-11, abs=0)
    assert laws.first.sum() == pytest.approx(1, abs=1e-12)


def test_chances_given_one_by_one_are_the_named_ones() -> None:
    named = anonymous_count(30, 1.0)
    listed = anonymous_count(30, 1.0, others=[chance_of_others(1.0, "one end").upper] * 29)
    assert listed.first == pytest.approx(named.first, rel=1e-11)
    assert listed.loss == pytest.approx(named.loss, rel=1e-11)


def test_of_a_single_count_another_neighbourhood_gives_more() -> None:
    """So the documentation calls no neighbourhood the worst without naming the quantity."""
    end = hypotheses(0.5, "other end")[0].upper
    split = anonymous_count(5, 0.5, others=[end, end, 1 - end, 1 - end])
    assert split.advantage() > 1.07 * anonymous_count(5, 0.5).advantage()
    assert split.epsilon(1e-5) < anonymous_count(5, 0.5).epsilon(1e-5)


@together("epsilon", [1e-9, 1e-3, 1.0, 20.0, 50.0])
def test_alone_a_report_is_the_two_point_mechanism(epsilon: float) -> None:
    laws = anonymous_count(1, epsilon)
    assert laws.loss == pytest.approx([-epsilon, epsilon], rel=1e-6)
    assert laws.advantage() == pytest.approx(math.tanh(epsilon / 2), rel=1e-6)
    assert laws.delta(epsilon) == pytest.approx(0, abs=1e-15)


@together("against", SECOND)
def test_the_ends_of_epsilon(against: str) -> None:
    sure = anonymous_count(4, math.inf, against=against)  # type: ignore[arg-type]
    assert sure.first == pytest.approx([0, 1, 0, 0, 0])  # the others all report the lower value
    assert sure.advantage() == {"other end": 1, "center": 0.5, "absent": 1}[against]
    blind = anonymous_count(4, 0, against=against)  # type: ignore[arg-type]
    assert (blind.advantage() == 0) == (against != "absent")
    assert math.isinf(blind.epsilon(0.01)) == (against == "absent")


@together("n", [2, 50, 1000])
def test_the_pure_epsilon_is_the_report_s_own_for_every_n(n: int) -> None:
    assert np.max(np.abs(anonymous_count(n, 2.0, others="center").loss)) == pytest.approx(2.0, rel=1e-12)


def test_epsilon_is_the_inverse_of_the_larger_delta() -> None:
    laws = anonymous_count(20, 1.0, against="center")
    for delta in (1e-9, 1e-4, 0.02):
        epsilon = laws.epsilon(delta)
        both = [max(one.log_delta(at) for one in (laws, laws.swapped)) for at in (epsilon, epsilon * (1 - 1e-9))]
        assert both[0] <= math.log(delta) < both[1] + 1e-7


@pytest.mark.parametrize(("others", "chance"), [("one end", expit(-1.0)), ("center", 0.5)])
def test_a_count_rarer_than_any_float_has_its_loss(others: str, chance: float) -> None:
    """Would catch a loss of 0 for such counts: 0.45 nats at delta = 0, where it is 1."""
    n = 1500
    named = anonymous_count(n, 1.0, others=others)  # type: ignore[arg-type]
    for laws in (named, anonymous_count(n, 1.0, others=[chance] * (n - 1))):
        assert laws.first.min() == 0
        assert laws.epsilon(0.0) == pytest.approx(1.0, rel=1e-15)
        for level in (-0.5, 0.3, 0.999):
            truth = in_balls(1.0, level, [chance] * (n - 1))
            assert laws.log_delta(level) == pytest.approx(truth, rel=1e-12, abs=1e-12)


def test_reports_that_are_sure_only_move_the_count() -> None:
    few = anonymous_count(3, 1.0, others=[0.5, 0.25])
    more = anonymous_count(6, 1.0, others=[1.0, 0.5, 0.0, 0.25, 1.0])
    assert np.exp(more.log_first) == pytest.approx([0, 0, *few.first, 0], rel=1e-15)
    assert more.loss == pytest.approx([0, 0, *few.loss, 0], rel=1e-15)


@together("delta", [-0.1, 1.5, math.nan, "0.1"])
def test_a_delta_that_is_none_is_named(delta: object) -> None:
    with pytest.raises(ValueError, match=r"delta must lie in \[0, 1\], got"):
        anonymous_count(3, 1.0).epsilon(delta)  # type: ignore[arg-type]


def test_losses_of_arrays_of_counts_and_chances() -> None:
    first, second = hypotheses(1.0, "other end")
    counts = np.array([[0, 3, 5], [5, 2, 1]])
    chances = chance_of_others(1.0, "center")._replace(upper=np.array([0.3, 0.5, 0.6]), lower=np.array([0.7, 0.5, 0.4]))
    found = loss_of_count(counts, 5, first, second, chances)
    for row, column in np.ndindex(2, 3):
        alone = anonymous_count(5, 1.0, others=[chances.upper[column]] * 4)
        assert found[row, column] == pytest.approx(alone.loss[counts[row, column]], rel=1e-12)


@together(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be a whole number in 1"),
        ({"n": 2.0}, "n must be a whole number in 1"),
        ({"n": MOST_CLIENTS + 1}, "n must be a whole number"),
        ({"epsilon": -1.0}, "epsilon must be a number >= 0, got -1.0"),
        ({"epsilon": math.nan}, "epsilon must be a number >= 0, got nan"),
        ({"epsilon": "1"}, "epsilon must be a number >= 0, got '1'"),
        ({"others": "middle"}, "others must be one of one end, center"),
        ({"others": [0.5]}, "others must be 2 probabilities"),
        ({"others": [0.5, 1.5]}, "others must be probabilities, 0 or at least 1e-160, got 1.5"),
        ({"others": [0.5, math.nan]}, "others must be probabilities, 0 or at least 1e-160, got nan"),
        ({"epsilon": 800.0}, "epsilon must be at most 700, or infinity, got 800.0"),
        ({"against": "else"}, "against must be one of other end, center, absent"),
    ],
)
def test_bad_input_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        anonymous_count(**{"n": 3, "epsilon": 1.0, **arguments})
