"""Runs of counts: the two lists enclose the count's loss closely, and their masses add up to 1."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.accounting.shuffling.anonymous_counts import Chance
from ldp_audit.accounting.shuffling.count_loss import CountLoss, event_count
from ldp_audit.accounting.shuffling.expected_excess import Trials, runs_of
from ldp_audit.mechanisms.log_space import expit

SIZES = [(2, 1.0), (40, 0.01), (12_000, 5.0), (10**5, 20.0), (10**6, 1.0), (10**8, 1e-9), (10**8, 1.0), (10**8, 50.0)]


def law(n: int, epsilon: float, others: str, *, mirrored: bool) -> CountLoss:
    upper = Chance(expit(epsilon), expit(-epsilon))
    lower = Chance(upper.lower, upper.upper)
    found = CountLoss(n, upper, lower, Chance(0.5, 0.5) if others == "center" else lower, math.tanh(epsilon / 2))
    return found.reversed() if mirrored else found


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("others", ["one end", "center"])
@pytest.mark.parametrize(("n", "epsilon"), SIZES)
def test_the_lists_enclose_the_loss(n: int, epsilon: float, others: str, *, mirrored: bool) -> None:
    """Would catch a run that is spread or merged the wrong way, a tail left out, a mass counted twice."""
    closed = law(n, epsilon, others, mirrored=mirrored)
    below, above = closed.listed()
    usual = min(0.9 * epsilon, 2 * math.sinh(epsilon / 2) / math.sqrt(n))
    for deviations in (-3.0, -0.5, 0.0, 1.0, 5.0, 12.0, 37.0, 1e3, 1e4):
        level = min(deviations * usual, 0.99 * epsilon)
        low, high = closed.log_delta_bounds(level)
        least, most = below.log_delta_bounds(level)[0], above.log_delta_bounds(level)[1]
        assert least <= high + 1e-12
        assert low <= most + 1e-12
        assert high < -40 or most - least < 1e-3


@pytest.mark.parametrize("others", ["one end", "center"])
@pytest.mark.parametrize(("n", "epsilon"), SIZES)
def test_their_masses_add_up_to_one_on_both_sides(n: int, epsilon: float, others: str) -> None:
    for one in law(n, epsilon, others, mirrored=False).listed():
        atoms = one.atoms()
        assert atoms is not None
        assert math.fsum(np.exp(atoms.log_probabilities)) == pytest.approx(1, abs=2e-13)
        assert math.fsum(np.exp(atoms.log_probabilities - atoms.losses)) == pytest.approx(1, abs=2e-13)


@pytest.mark.parametrize("n", [3, 500])
def test_few_counts_are_listed_one_by_one(n: int) -> None:
    closed = law(n, 1.0, "one end", mirrored=False)
    exact = event_count(n, closed.first, closed.second, closed.others, closed.gap)
    for one in closed.listed():
        for level in np.linspace(-0.9, 0.9, 7):
            assert one.log_delta_bounds(level)[0] == pytest.approx(exact.log_delta_bounds(level)[0], rel=1e-12)


@pytest.mark.parametrize(("n", "p"), [(10**6, 0.3), (10**8, 0.5), (10**8, 1e-6)])
def test_both_keep_the_mean_and_one_spreads_more(n: int, p: float) -> None:
    """A convex order: equal means, and variances on either side of the binomial one, a millionth or so away."""
    below, above = runs_of(Trials(n, p, 1 - p))
    variances = []
    for runs in (below, above):
        masses, away = np.exp(runs.log_masses), runs.counts - n * p
        assert abs(math.fsum(masses * away)) < 1e-9 * math.sqrt(n * p * (1 - p))
        variances.append(math.fsum(masses * away**2) / (n * p * (1 - p)))
    assert 1 - 1e-5 < variances[0] <= 1 + 1e-12
    assert 1 - 1e-12 <= variances[1] < 1 + 1e-5
