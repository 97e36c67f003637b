"""The count's loss in closed form: against its list, against balls far out, its cells, and its compositions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose
from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.accounting.shuffling import count_loss
from ldp_audit.accounting.shuffling.anonymous_counts import Chance
from ldp_audit.accounting.shuffling.count_loss import CountLoss
from ldp_audit.accounting.shuffling.expected_excess import Trials
from ldp_audit.losses.discrete_loss import DiscreteLoss
from ldp_audit.mechanisms import RandomizedResponse, TwoPoint
from ldp_audit.mechanisms.log_space import expit
from tests.together import together

HALF = Chance(0.5, 0.5)


def ends(epsilon: float) -> tuple[Chance, Chance]:
    upper = Chance(expit(epsilon), expit(-epsilon))
    return upper, Chance(upper.lower, upper.upper)


def laws(n: int, epsilon: float, others: str, *, mirrored: bool = False) -> tuple[CountLoss, DiscreteLoss]:
    """In closed form, and as a list."""
    high, low = ends(epsilon)
    placed = HALF if others == "center" else low
    gap = math.tanh(epsilon / 2)
    pair = (low, high, placed, -gap) if mirrored else (high, low, placed, gap)
    listed = count_loss.event_count(n, *pair)
    assert isinstance(listed, DiscreteLoss)
    return CountLoss(n, *pair), listed


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("others", ["one end", "center"])
@pytest.mark.parametrize(("n", "epsilon"), [(3, 1.0), (40, 0.01), (1000, 1.0), (1000, 1e-9), (500, 8.0), (12000, 3.0)])
def test_it_is_the_listed_loss(n: int, epsilon: float, others: str, *, mirrored: bool) -> None:
    """Would catch swapped hypotheses, a count that is one off, a direction lost."""
    closed, listed = laws(n, epsilon, others, mirrored=mirrored)
    assert closed.supremum() == pytest.approx(listed.supremum(), rel=1e-15)
    spread = float(np.exp(listed.log_probabilities) @ np.abs(listed.losses))
    for level in (-2 * epsilon, -0.9 * epsilon, -spread, 0.0, 0.1 * spread, spread, 7 * spread, 0.7 * epsilon):
        low, high = closed.log_delta_bounds(level)
        truth = listed.log_delta_bounds(level)[0]
        assert low - 1e-12 <= truth <= high + 1e-12 or low == high == truth == -math.inf
    assert closed.reversed().reversed() == closed


@pytest.mark.parametrize("reach", [800.0, 5.0])
@pytest.mark.parametrize("others", ["one end", "center"])
@pytest.mark.parametrize(("n", "epsilon"), [(2, 1.0), (300, 2.0), (5000, 0.3), (5000, 9.0)])
def test_its_cells_are_those_of_the_list(
    n: int, epsilon: float, others: str, reach: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where most counts are not added one by one, but by their tails."""
    monkeypatch.setattr(count_loss, "_REACH", reach)
    closed, listed = laws(n, epsilon, others)
    for edges in (np.zeros(1), np.linspace(-1.1, 1.1, 57) * epsilon, np.linspace(-0.1, 0.2, 400) * epsilon):
        found, known = closed.masses(edges), listed.masses(edges)
        for one, other in ((found.first, known.first), (found.second, known.second)):
            assert np.array_equal(one == -math.inf, other == -math.inf)
            reached = one > -math.inf
            assert one[reached] == pytest.approx(other[reached], rel=1e-12, abs=1e-11)


def in_balls(n: int, epsilon0: float, epsilon: float, others: str) -> float:
    """ln delta for client 1 at the upper end against the lower one, added up from the first count that adds to it."""
    with ctx.workprec(400):
        t, level = arb(epsilon0).exp(), arb(epsilon).exp()
        high, low = t / (t + 1), 1 / (t + 1)
        p = arb(1) / 2 if others == "center" else low
        q = 1 - p
        a, b = ((1 - high) - level * (1 - low)) / q, (high - level * low) / p
        x = -n * a / (b - a)
        k = math.floor(float(x.mid())) + 1
        logs = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma() + k * p.log() + (n - k) * q.log()
        term, total = arb(1), arb(0)
        while k <= n:
            add = term * (k - x)
            total += add
            if k > n * p + 5 and add < total * arb(10) ** -25:
                break
            term = term * (n - k) * p / ((k + 1) * q)
            k += 1
        return float(logs + total.log() + ((b - a) / n).log())


@pytest.mark.parametrize("others", ["one end", "center"])
@pytest.mark.parametrize(("n", "epsilon0"), [(10**5, 1.0), (10**6, 1e-9), (10**6, 4.0), (10**8, 1.0)])
@pytest.mark.parametrize("z", [0.1, 2.0, 12.0, 37.0, 90.0])
def test_the_bounds_enclose_the_balls_far_out(n: int, epsilon0: float, others: str, z: float) -> None:
    """Down to ln delta = -4000 and below: no mass is moved to an extreme loss, as none is left out."""
    epsilon = min(0.9 * epsilon0, z * 2 * math.sinh(epsilon0 / 2) / math.sqrt(n))
    high, low = ends(epsilon0)
    law = CountLoss(n, high, low, HALF if others == "center" else low, math.tanh(epsilon0 / 2))
    found, truth = law.log_delta_bounds(epsilon), in_balls(n, epsilon0, epsilon, others)
    assert found[0] <= truth <= found[1]
    assert found[1] - found[0] < 3e-9 + 1e-12 * abs(truth)


@together(
    ("step", "n", "epsilon0", "count"),
    [
        (step, n, epsilon0, count)
        for step in [-2, -1, 0, 1, 2]
        for n, epsilon0, count in [(50, 60.0, 25), (2000, 1e-9, 1999), (300, 150.0, 7), (400, 12.0, 1)]
    ],
)
def test_next_to_a_count_that_is_far_likelier_than_the_next_the_bounds_take_both(
    n: int, epsilon0: float, count: int, step: int
) -> None:
    """The rounding of x decides whether e**60 times the mass counts: would catch bounds too near to each other."""
    for others in ("one end", "center"):
        closed, listed = laws(n, epsilon0, others)
        level = float(listed.losses[count - 1])
        for _ in range(abs(step)):
            level = math.nextafter(level, math.copysign(math.inf, step))
        low, high = closed.log_delta_bounds(level)
        assert low <= added_up(n, epsilon0, level, others) <= high


def added_up(n: int, epsilon0: float, epsilon: float, others: str) -> float:
    """ln delta, count by count, with far more digits than the masses differ by."""
    with ctx.workprec(2500):
        t, level = arb(epsilon0).exp(), arb(epsilon).exp()
        high, low = t / (t + 1), 1 / (t + 1)
        p = arb(1) / 2 if others == "center" else low
        term, total = (1 - p) ** n, arb(0)
        for k in range(n + 1):
            stays, moves = term * (n - k) / n / (1 - p), term * k / n / p
            gain = low * stays + high * moves - level * (high * stays + low * moves)
            total += gain if gain > 0 else 0
            term = term * p / (1 - p) * (n - k) / (k + 1)
        return float(total.log())


@together("epsilon", [-1e-9, -0.3, -1.0, -3.0, -80.0, -math.inf])
def test_epsilons_below_the_least_loss_are_moved_outwards_too(epsilon: float) -> None:
    """There delta is 1 - e**epsilon; next to 1 its logarithm is not 0."""
    closed, _ = laws(30, 1e-9, "one end")
    low, high = closed.log_delta_bounds(epsilon)
    with ctx.workprec(300):
        truth = (1 - arb(epsilon).exp()).log() if epsilon > -math.inf else arb(0)
        if epsilon < -1e-9:
            assert arb(low) <= truth <= arb(high)
        assert high - low <= 1e-14 * (abs(low) + 1) if epsilon < -1e-8 else high - low < 1e-3


def test_so_small_a_delta_that_no_float_holds_it_has_its_epsilon() -> None:
    """Would catch counts beyond e**-745 with the supremum as their loss: a lower bound of 1 for 0.014."""
    law = shuffle(RandomizedResponse(1.0), 10**7, others="one end").directions[0]
    low, high = PrivacyLoss((law,)).epsilon_bounds(log_delta=-1000.0)
    assert 0 < low <= high < low * (1 + 1e-8)
    assert (
        in_balls(10**7, 1.0, low * (1 - 1e-8), "one end") > -1000 > in_balls(10**7, 1.0, high * (1 + 1e-8), "one end")
    )


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3])
def test_tiny_epsilons_keep_their_digits(epsilon: float) -> None:
    """The chances' difference as floats would keep 7 of them at 1e-9."""
    for n in (30, 50_000):
        loss = shuffle(TwoPoint(epsilon), n, others="one end")
        assert loss.epsilon(0.0) == pytest.approx(epsilon, rel=1e-14, abs=0)


@pytest.mark.parametrize(("times", "delta"), [(3, 1e-6), (40, 1e-9), (3, 1e-200)])
def test_it_composes_as_its_list_does(times: int, delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ways on the grid: by the counts between two edges, and by the list of all."""
    closed = compose([(shuffle(TwoPoint(1.0), 30_000, others="one end"), times)]).epsilon_bounds(delta)
    monkeypatch.setattr(count_loss, "MOST_LISTED", 10**5)
    listed = compose([(shuffle(TwoPoint(1.0), 30_000, others="one end"), times)]).epsilon_bounds(delta)
    assert closed[0] <= listed[1]
    assert listed[0] <= closed[1]
    assert closed[1] - closed[0] < 1e-4
    assert closed[1] == pytest.approx(listed[1], abs=1e-6)


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (50, 1e-20), (50, 1 - 1e-9), (10**4, 0.3), (10**8, 0.7)])
def test_tails_and_excesses_of_trials_are_those_of_balls(n: int, p: float) -> None:
    q = 1e-9 if p == 1 - 1e-9 else 1 - p
    trials, deviation = Trials(n, p, q), math.sqrt(n * p * q)
    for z in (-2.0, 0.0, 0.7, 3.0, 20.0):
        above = min(z * deviation + 0.25, n * q * 0.99)
        if above < -n * p:
            continue
        found = trials.log_excess(np.array([above]), np.array([n * q - above]))[0]
        count, truth = _excess(n, p, q, above)
        assert found == pytest.approx(truth[0], abs=2e-9 if n > 10**6 else 1e-11, rel=1e-14)
        if count >= 1:
            tail = trials.log_tail(np.array([float(count)]))[0]
            assert tail == pytest.approx(truth[1], abs=2e-9 if n > 10**6 else 1e-11, rel=1e-14)


def _excess(n: int, p: float, q: float, above: float) -> tuple[int, tuple[float, float]]:
    """The first count above the level; ln E[(B - a)_+] and ln P(B >= count), added up in balls."""
    with ctx.workprec(300):
        chance = 1 - arb(q) if p > 0.5 else arb(p)
        mean = n * chance
        level = mean + arb(above)
        first = math.floor(float(level.mid())) + 1
        start = max(first, 0)
        logs = arb(n + 1).lgamma() - arb(start + 1).lgamma() - arb(n - start + 1).lgamma()
        logs += start * chance.log() + (n - start) * (1 - chance).log()
        term, total, tail = arb(1), arb(0), arb(0)
        for k in range(start, n + 1):
            total += term * (k - level)
            tail += term
            term = term * (n - k) * chance / ((k + 1) * (1 - chance))
            if k > mean + 5 and term * (k - level) < total * arb(10) ** -22:
                break
        return first, (float(logs + total.log()), float(logs + tail.log()))
