"""Counts among clients whose chances are given one by one: against fractions, and balls where floats underflow."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_poly, ctx

from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.accounting.shuffling.anonymous_counts import RAREST, count_masses, exact_laws
from ldp_audit.accounting.shuffling.count_loss import placed_count
from ldp_audit.mechanisms import TwoPoint
from ldp_audit.mechanisms.log_space import expit
from tests.accounting.count_in_balls import in_balls
from tests.together import together


@together(
    "others",
    [
        [],
        [Fraction(1, 2)],
        [Fraction(3, 4), Fraction(1, 4), Fraction(1, 3)],
        [Fraction(0), Fraction(1), Fraction(1, 8), Fraction(1), Fraction(7, 8)],
    ],
)
def test_few_clients_are_those_of_the_fractions(others: list[Fraction]) -> None:
    """Certain reports too, which the server subtracts; would catch a count that is one off."""
    law = placed_count(len(others) + 1, math.log(3), [float(one) for one in others])
    first, second = exact_laws(Fraction(3, 4), Fraction(1, 4), others)
    for level in (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(29, 10)):
        sticks = (max(Fraction(0), p - level * second[k]) for k, p in first.items())
        truth = float(sum(sticks, Fraction(0)))
        assert math.exp(law.log_delta_bounds(math.log(level))[0]) == pytest.approx(truth, rel=1e-13)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("epsilon0", "n", "upper", "halves"),
    [(1.0, 1200, 0, 0), (1.0, 1024, 341, 0), (3.0, 700, 600, 50), (0.01, 1500, 9, 9)],
)
@pytest.mark.parametrize("share", [-0.5, 0.0, 0.3, 0.9, 0.9995])
def test_counts_rarer_than_any_float_have_their_losses(
    epsilon0: float, n: int, upper: int, halves: int, share: float
) -> None:
    """Would catch masses below 1e-308 that are left out or have lost their digits: false epsilons, or an error."""
    ends = [expit(epsilon0)] * upper + [0.5] * halves
    chances = ends + [expit(-epsilon0)] * (n - 1 - len(ends))
    law = placed_count(n, epsilon0, chances)
    assert law.supremum() == pytest.approx(epsilon0, rel=1e-15)
    found = law.log_delta_bounds(share * epsilon0)
    assert found[0] == found[1] == pytest.approx(in_balls(epsilon0, share * epsilon0, chances), rel=1e-12, abs=1e-12)


def test_an_epsilon_below_any_float_s_delta_is_not_the_supremum() -> None:
    """Would catch 0.916 where epsilon is 0.80, and 0.916 at delta = 0, where it is 1."""
    loss = shuffle(TwoPoint(1.0), 3000, others=[expit(1.0)] * 1000 + [expit(-1.0)] * 1999)
    assert loss.exact
    found = loss.epsilon(log_delta=-1000.0)
    chances = [expit(1.0)] * 1000 + [expit(-1.0)] * 1999
    assert -1000 - 1e-6 < max(in_balls(1.0, found, chances), in_balls(1.0, found, [1 - p for p in chances])) <= -1000
    assert loss.epsilon(0.0) == pytest.approx(1.0, rel=1e-15)


def test_masses_keep_their_digits_over_thousands_of_orders() -> None:
    chances = [1e-150] * 3 + [0.3, 1 - 1e-16, 1e-9] * 20 + [0.999] * 700 + [1e-3] * 700
    masses, powers = count_masses(np.array(chances))
    with ctx.workprec(20_000):
        law = arb_poly([1])
        for chance in set(chances):
            law = law * arb_poly([1 - arb(chance), arb(chance)]) ** chances.count(chance)
        for k in range(len(chances) + 1):
            truth = law[k] / arb(2) ** int(powers[k])
            assert float(truth) == pytest.approx(float(masses[k]), rel=1e-12)
    assert powers.min() < -7000


def test_what_is_no_chance_is_refused() -> None:
    for wrong in ([0.5, -0.1], [0.5, 1.1], [0.5, math.nan], [0.5, RAREST / 2]):
        with pytest.raises(ValueError, match="others must be probabilities"):
            placed_count(3, 1.0, wrong)
    for odd in ([0.5], [[0.5, 0.5]]):
        with pytest.raises(ValueError, match="others must be 2 probabilities"):
            placed_count(3, 1.0, odd)
    with pytest.raises(ValueError, match="n must be a whole number"):
        placed_count(0, 1.0, [])
