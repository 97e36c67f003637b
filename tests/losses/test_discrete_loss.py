"""Losses with finitely many values: their masses, mixtures, mass at infinity, rounding, and exact sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ldp_audit.accounting import compose, subsample
from ldp_audit.accounting.conversion.conversions import gdp_of, renyi_divergence
from ldp_audit.accounting.trade_off import trade_off_bounds
from ldp_audit.losses import discrete_loss
from ldp_audit.losses.composition import composed
from ldp_audit.losses.discrete_loss import (
    INFINITE_LOSS,
    MOST_COMBINATIONS,
    ZERO_LOSS,
    BinomialLoss,
    DiscreteLoss,
    atoms_of,
    least_support_size,
    pure_loss,
    sum_of_losses,
    symmetric_loss,
)
from ldp_audit.losses.enclosed_loss import LossMixture, mixture
from ldp_audit.losses.grid_loss import compose_on_grid
from ldp_audit.losses.loss import KnownLoss, LossWithInfinity, PairLoss, known_atoms, merged
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms.finite_channel import FiniteChannel
from tests.together import together

LEVELS = st.floats(-5, 5)


@st.composite
def laws(draw, size=5):
    """Two distributions on the same outcomes, in fractions; some of either may be 0."""
    first, second = (draw(st.lists(st.integers(0, 50), min_size=size, max_size=size)) for _ in range(2))
    assume(sum(first) > 0 and sum(second) > 0)
    return tuple({i: Fraction(w, sum(one)) for i, w in enumerate(one)} for one in (first, second))


def divergence(first, second, level):
    return sum(max(0.0, float(p) - math.exp(level) * float(second.get(i, 0))) for i, p in first.items())


@given(laws(), LEVELS)
def test_delta_is_the_sum_over_the_outcomes(pair, level):
    """Would catch a lost infinite loss, a wrong weight and a wrong comparison."""
    low, high = DiscreteLoss.of_laws(*pair).log_delta_bounds(level)
    assert low == high
    assert math.exp(low) == pytest.approx(divergence(*pair, level), abs=1e-13)


@given(laws(), LEVELS)
def test_the_reverse_is_the_other_order_and_twice_reversed_is_the_loss(pair, level):
    law = DiscreteLoss.of_laws(*pair)
    mirrored = law.reversed()
    assert math.exp(mirrored.log_delta_bounds(level)[0]) == pytest.approx(divergence(*pair[::-1], level), abs=1e-13)
    again = mirrored.reversed()
    assert np.allclose(again.losses, law.losses, atol=1e-15)
    assert np.allclose(again.log_probabilities, law.log_probabilities, atol=1e-13)
    assert (again.log_infinite, again.missing) == (law.log_infinite, law.missing)


@given(laws(), st.lists(LEVELS, min_size=1, max_size=4, unique=True))
def test_masses_of_cells_are_those_of_the_outcomes_in_them(pair, edges):
    """Would catch an outcome counted twice or not at all, at an edge above all."""
    law, cuts = DiscreteLoss.of_laws(*pair), np.sort(edges)
    cells = law.masses(cuts)
    assert np.exp(cells.first).sum() + math.exp(cells.infinite) == pytest.approx(1)
    assert np.exp(cells.second).sum() + math.exp(cells.missing) == pytest.approx(1)
    upper = np.append(cuts, math.inf)
    for i in range(upper.size):
        inside = (law.losses <= upper[i]) & (law.losses > (upper[i - 1] if i else -math.inf))
        assert math.exp(cells.first[i]) == pytest.approx(np.exp(law.log_probabilities[inside]).sum(), abs=1e-15)


@given(laws(6), st.permutations(range(6)), LEVELS)
def test_merging_outcomes_lowers_delta(pair, order, level):
    """Data processing: would catch a delta that does not compare ratios."""
    group = {i: i // 2 for i in range(6)}
    coarse = []
    for law in pair:
        merged_law: dict[int, Fraction] = {}
        for place, outcome in enumerate(order):
            merged_law[group[place]] = merged_law.get(group[place], Fraction(0)) + law[outcome]
        coarse.append(merged_law)
    fine, rough = (DiscreteLoss.of_laws(*laws_).log_delta_bounds(level)[0] for laws_ in (pair, coarse))
    assert math.exp(rough) <= math.exp(fine) + 1e-14


def test_a_tiny_mass_that_only_one_distribution_has_is_kept():
    """Would catch 1e-20 that is lost beside 1: it is all of delta at large epsilons, in both orders."""
    law = DiscreteLoss(np.zeros(1), np.zeros(1), math.log(1e-20), math.log(1e-30))
    assert law.supremum() == math.inf
    assert law.log_delta_bounds(50.0)[0] == pytest.approx(math.log(1e-20))
    assert law.reversed().log_delta_bounds(50.0)[0] == pytest.approx(math.log(1e-30))


@together(
    ("losses", "logs", "infinite"),
    [
        ([1.0, 0.0], [-0.7, -0.7], -math.inf),
        ([0.0, 0.0], [math.log(0.5)] * 2, -math.inf),
        ([0.0], [math.log(0.5)], -math.inf),
        ([-1.0], [0.0], -math.inf),
        ([math.inf], [0.0], -math.inf),
        ([math.nan], [0.0], -math.inf),
        ([0.0, 1.0], [0.0], -math.inf),
        ([0.0], [0.0], math.nan),
    ],
)
def test_what_is_no_distribution_is_refused(losses, logs, infinite):
    with pytest.raises(ValueError, match=r"must be"):
        DiscreteLoss(np.array(losses), np.array(logs), infinite)


def test_losses_that_differ_by_rounding_become_one_and_others_do_not():
    losses, logs = merged(np.array([0.1 + 0.2, 0.3, -0.3, 0.3 + 1e-12]), np.log(np.full(4, 0.25)))
    assert losses == pytest.approx([-0.3, 0.3, 0.3 + 1e-12], abs=1e-15)
    assert np.exp(logs) == pytest.approx([0.25, 0.5, 0.25])


@together("seed", range(5))
def test_chains_of_near_losses_are_cut_where_they_would_grow_wider_than_rounding(seed):
    """Long chains and short ones side by side, against groups from a walk from the first loss on."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random(400) < 0.7, rng.integers(0, 6, 400) * 2.0**-52, rng.random(400) * 0.01)
    losses = 1 + np.cumsum(steps)
    groups, reach = [[losses[0]]], 8e-16 * losses[-1]
    for loss in losses[1:]:
        near = loss - groups[-1][0] <= reach
        groups[-1].append(loss) if near else groups.append([loss])
    found, logs = merged(losses, np.log(np.full(400, 1 / 400)))
    assert found.size == len(groups)
    assert np.exp(logs) == pytest.approx([len(group) / 400 for group in groups])
    assert all(group[0] <= loss <= group[-1] for group, loss in zip(groups, found, strict=True))
    assert max(len(group) for group in groups) > 2


def test_a_symmetric_loss_of_two_values_is_a_binomial_one_and_of_none_says_nothing():
    assert symmetric_loss([1.0], [-math.log1p(math.exp(-1.0))]) == BinomialLoss(1.0, -1.0, 1)
    assert symmetric_loss([], []) is ZERO_LOSS
    assert symmetric_loss([], [], infinite=1) is INFINITE_LOSS
    assert ZERO_LOSS.log_delta_bounds(0.0) == (-math.inf, -math.inf)
    assert INFINITE_LOSS.log_delta_bounds(math.inf) == (0.0, 0.0)


@given(laws(), LEVELS)
def test_an_infinite_loss_taken_apart_says_the_same(pair, level):
    """Would catch a shift of the wrong sign between the conditional distributions."""
    law = DiscreteLoss.of_laws(*pair)
    apart = atoms_of(law.losses, law.log_probabilities, law.log_infinite, law.missing)
    assert math.exp(apart.log_delta_bounds(level)[0]) == pytest.approx(
        math.exp(law.log_delta_bounds(level)[0]), abs=1e-13
    )
    back = apart.atoms()
    assert back is not None
    assert math.exp(DiscreteLoss(*back).log_delta_bounds(level)[0]) == pytest.approx(
        math.exp(law.log_delta_bounds(level)[0]), abs=1e-13
    )
    mirrored = math.exp(apart.reversed().log_delta_bounds(level)[0])
    assert mirrored == pytest.approx(math.exp(law.reversed().log_delta_bounds(level)[0]), abs=1e-13)


@together("logs", [(0.1, 0.0), (-math.inf, 0.0), (math.nan, 0.0)])
def test_masses_above_one_and_half_empty_pairs_are_refused(logs):
    with pytest.raises(ValueError, match="log_first and log_second"):
        LossWithInfinity(ZERO_LOSS, *logs)


@given(laws(), laws(), st.floats(0.05, 0.95), st.floats(0.05, 0.95), LEVELS)
def test_a_mixture_that_shows_its_part_adds_the_parts(one, two, first, second, level):
    """Would catch a shift with the wrong sign; the parts' shares differ between the inputs."""
    together = tuple(
        {(i, o): share * float(p) for i, share, law in ((0, w, one[k]), (1, 1 - w, two[k])) for o, p in law.items()}
        for k, w in enumerate((first, second))
    )
    shifts = math.log(first / second), math.log((1 - first) / (1 - second))
    parts = [DiscreteLoss.of_laws(*pair) for pair in (one, two)]
    law = mixture([(math.log(first), shifts[0], parts[0]), (math.log(1 - first), shifts[1], parts[1])])
    assert math.exp(law.log_delta_bounds(level)[0]) == pytest.approx(divergence(*together, level), abs=1e-12)


@together("level", [-2.0, -0.3, 0.0, 0.7, 1.6])
def test_a_mixture_of_continuous_parts_follows_its_parts(level):
    weights = (0.25, 0.75)
    law = mixture([(math.log(weights[0]), 0.4, LaplaceLoss(1.0)), (math.log(weights[1]), -0.2, GaussianLoss(0.5))])
    assert isinstance(law, LossMixture)
    wanted = 0.25 * math.exp(LaplaceLoss(1.0).log_delta_bounds(level - 0.4)[0]) + 0.75 * math.exp(
        GaussianLoss(0.5).log_delta_bounds(level + 0.2)[0]
    )
    assert math.exp(law.log_delta_bounds(level)[0]) == pytest.approx(wanted, rel=1e-13)
    again = law.reversed().reversed()
    assert math.exp(again.log_delta_bounds(level)[0]) == pytest.approx(wanted, rel=1e-13)
    cells = law.masses(np.linspace(-2, 2, 9))
    assert np.exp(cells.first).sum() == pytest.approx(1, abs=1e-14)
    assert np.exp(cells.second).sum() == pytest.approx(0.25 * math.exp(-0.4) + 0.75 * math.exp(0.2), rel=1e-13)
    assert law.supremum() == math.inf


@together("power", [10, 100, 320, 400, 2000])
def test_rows_that_share_less_than_a_float_can_tell_have_a_loss(power: int) -> None:
    """Would catch a common mass below 10**-324 that rounds to 0, which has no logarithm."""
    shared = Fraction(1, 10**power)
    law = FiniteChannel([[1 - shared, 0, shared], [0, 1 - shared, shared]]).pair_loss()
    low, high = law.log_delta_bounds(1.0)
    exact = -float(shared)  # ln(1 - shared)
    assert low == pytest.approx(exact, rel=1e-6, abs=1e-320)
    assert high == pytest.approx(exact, rel=1e-6, abs=1e-320)
    assert law.supremum() == math.inf


def test_pure_losses_at_the_ends_of_their_range() -> None:
    assert pure_loss(0.0) is ZERO_LOSS
    assert pure_loss(math.inf).atoms() is not None
    assert pure_loss(math.inf).supremum() == math.inf
    assert pure_loss(2.0).supremum() == 2.0


ERROR = 0.125
"""Far more than any rounding, so that an end which forgets it lies on the wrong side."""


FIRST, SECOND = np.array([0.3, 0.3, 0.4]), np.array([0.5, 0.3, 0.2])
LOSSES = np.log(FIRST / SECOND)


def planted(error: float = ERROR) -> KnownLoss:
    """Three losses, each of which may be wrong by up to `error`."""
    return atoms_of(LOSSES, np.log(FIRST), error=error)


def rounding_of(law: PairLoss) -> float:
    listed = known_atoms(law)
    assert listed is not None
    return listed.error


def delta_of(losses: np.ndarray, masses: np.ndarray, epsilon: float) -> float:
    return math.fsum(p * -math.expm1(min(0.0, epsilon - loss)) for loss, p in zip(losses, masses, strict=True))


def truths(times: int, epsilon: float) -> tuple[float, float]:
    """The sum's delta where every loss is smaller, and larger, by the error."""
    losses, masses = np.zeros(1), np.ones(1)
    for _ in range(times):
        losses = np.add.outer(losses, LOSSES).ravel()
        masses = np.multiply.outer(masses, FIRST).ravel()
    low, high = (delta_of(losses + way * times * ERROR, masses, epsilon) for way in (-1, 1))
    return low, high


@together(("epsilon", "times"), itertools.product([0.0, 0.3, 1.0, 2.0], [2, 4]))
def test_sums_keep_the_error_of_every_loss(times: int, epsilon: float) -> None:
    low, high = truths(times, epsilon)
    listed = sum_of_losses([(planted(), times)])
    assert listed is not None
    for law in (listed, compose_on_grid([(planted(), times)]), composed([(planted(), times)])):
        ends = np.exp(law.log_delta_bounds(epsilon))
        assert ends[0] <= low * (1 + 1e-9)
        assert ends[1] >= high * (1 - 1e-9)


def test_a_list_that_is_right_has_bounds_that_meet() -> None:
    """Otherwise the test above would pass for vacuous bounds."""
    law = composed([(planted(0.0), 4)])
    low, high = law.log_delta_bounds(0.3)
    assert high - low < 1e-9


@pytest.mark.parametrize("infinite", [0.0, 0.1])
def test_mixtures_lists_and_what_may_be_infinite_keep_it(infinite: float) -> None:
    law = planted()
    if infinite:
        law = LossWithInfinity(law, math.log1p(-infinite), math.log1p(-infinite))
    assert rounding_of(law) == ERROR
    mixed = mixture([(math.log(0.5), 0.0, law), (math.log(0.5), 0.0, planted(0.0))])
    assert rounding_of(mixed) == ERROR
    assert rounding_of(composed([(law, 3)])) >= 3 * ERROR
    low, high = composed([(law, 2), (LaplaceLoss(0.1), 2)]).log_delta_bounds(1.0)
    assert high - low > 0.2


Values = st.lists(st.integers(1, 60), min_size=1, max_size=3, unique=True)


def law_of(values: list[int]) -> PairLoss:
    """A symmetric loss with these values in thirds of a nat, and 0."""
    return symmetric_loss(np.array(values) / 3, np.log(np.full(len(values), 0.1)))


@given(st.lists(st.tuples(Values, st.integers(1, 3)), min_size=1, max_size=3))
def test_there_are_at_least_so_many_different_sums(parts: list[tuple[list[int], int]]) -> None:
    """Whole numbers, added up in all ways: would catch a loss that is counted too often."""
    sums = {0}
    for values, times in parts:
        signed = [0, *values, *(-value for value in values)]
        for _ in range(times):
            sums = {one + two for one, two in itertools.product(sums, signed)}
    assert least_support_size([(law_of(values), times) for values, times in parts]) <= len(sums)


def test_evenly_spaced_losses_have_no_more() -> None:
    """The bound is the best there is."""
    assert least_support_size([(law_of([1, 2]), 7), (law_of([3, 1, 2]), 2)]) == 1 + 7 * 4 + 2 * 6
    assert least_support_size([(BinomialLoss(0.5, -0.5, 10), 3)]) == 31


def test_what_has_no_list_counts_as_one_value() -> None:
    assert least_support_size([(GaussianLoss(1.0), 10**9), (law_of([1]), 2)]) == 5


@pytest.mark.parametrize("times", [10**5, 10**9, 10**300])
def test_too_many_values_are_known_before_any_is_added(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def added(*_: DiscreteLoss) -> None:
        raise AssertionError

    monkeypatch.setattr(discrete_loss, "_sums", added)
    assert sum_of_losses([(law_of([1, 2]), times), (law_of([5]), 1)]) is None


def test_the_most_values_that_are_listed_are_all_there() -> None:
    """A sum of exactly the largest number of values is computed."""
    count = MOST_COMBINATIONS // 2 - 1
    law, small = BinomialLoss(1e-3, -1e-3, count), BinomialLoss(math.pi / 10, -math.pi / 10, 1)
    found = sum_of_losses([(law, 1), (small, 1)])
    assert isinstance(found, DiscreteLoss)
    assert found.losses.size == 2 * (count + 1)
    assert found.losses[-1] == pytest.approx(float(count * Fraction(1e-3) + Fraction(math.pi / 10)), rel=1e-15)
    assert float(np.logaddexp.reduce(found.log_probabilities)) == pytest.approx(0.0, abs=1e-9)
    assert math.isfinite(found.supremum())


def test_a_stated_error_counts_wherever_the_loss_goes() -> None:
    """Two answers whose loss is 0.9 within 0.1: bounds enclose those of 1.0, and of 0.8, in sums, orders and curves."""

    def answers(level: float, error: float = 0.0) -> DiscreteLoss:
        likelier = math.exp(level) / (1 + math.exp(level))
        return DiscreteLoss(np.array([-level, level]), np.log([1 - likelier, likelier]), error=error)

    said = answers(0.9, 0.1)
    for true in (answers(0.8), answers(1.0)):
        for times in (1, 2, 40):
            stated, exact = compose([(said, times)]), compose([(true, times)])
            for delta in (1e-6, 0.1):
                low, high = stated.epsilon_bounds(delta)
                assert low <= exact.epsilon_bounds(delta)[1] + 1e-9
                assert high >= exact.epsilon_bounds(delta)[0] - 1e-9
            assert renyi_divergence(stated, 3.0).value >= renyi_divergence(exact, 3.0).value * (1 - 1e-9)
        rates = np.array([0.01, 0.3])
        assert np.all(trade_off_bounds([said], rates).lower <= trade_off_bounds([true], rates).upper)
        assert gdp_of(said).value >= gdp_of(true).value
        sampled = subsample(said, rate=0.3).epsilon_bounds(1e-3)[1]
        assert sampled >= subsample(true, rate=0.3).epsilon_bounds(1e-3)[0]


@together(
    ("laws", "message"),
    [
        (({0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.3}), "second must have probabilities that add up to 1, got 0.8"),
        (({0: 0.5, 1: 0.3}, {0: 0.5, 1: 0.5}), "first must have probabilities that add up to 1, got 0.8"),
        (({0: Fraction(1, 10**400), 1: 1 - Fraction(1, 10**400)}, {0: 0.5, 1: 0.5}), "first must have .* at least 5e-"),
    ],
)
def test_laws_that_are_none_are_refused(laws: tuple[dict, dict], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DiscreteLoss.of_laws(*laws)
