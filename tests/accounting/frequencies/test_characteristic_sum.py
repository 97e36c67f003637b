"""Sums of many losses by frequencies, against exact sums, a moment-generating function's integral, and grids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ldp_audit.accounting import compose, privacy_loss, subsample
from ldp_audit.accounting.frequencies.characteristic_sum import FEWEST, CharacteristicSum, characteristic_sum
from ldp_audit.accounting.frequencies.frequency_rule import frequency_rule
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.grids.grid_loss import compose_on_grid
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import symmetric_law
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.mechanisms import ExponentialSelection, Gaussian, Piecewise, RandomizedResponse
from tests.accounting.frequencies.exact_sums import by_counts, of_selection

WIDTH = 1e-4


def _two_sums(first: BinomialLoss, second: BinomialLoss, epsilon: float, theta: float) -> float:
    """ln delta of both together: over all counts of the first that may matter, the second one's delta.

    theta: the tilt of this level, under which the counts are chosen.
    """
    atoms = first.atoms()
    raised = atoms.log_probabilities + theta * atoms.losses
    near = raised > raised.max() - 45
    pairs = zip(atoms.losses[near].tolist(), atoms.log_probabilities[near].tolist(), strict=True)
    return float(np.logaddexp.reduce([log + second.log_delta_bounds(epsilon - loss)[0] for loss, log in pairs]))


@pytest.mark.parametrize(
    ("first", "second"),
    [((0.3, -0.2, 20_000), (0.7, -math.sqrt(0.3), 100_000)), ((4.0, -4.0, 8_000), (0.5, -0.41, 100_000))],
)
@pytest.mark.parametrize("deviations", [-3.0, 2.0, 12.0, 30.0])
def test_ends_enclose_two_binomial_sums_of_incommensurate_losses(
    first: tuple[float, float, int], second: tuple[float, float, int], deviations: float
) -> None:
    laws = BinomialLoss(*first), BinomialLoss(*second)
    found = CharacteristicSum(compose_on_grid([(law, 1) for law in laws]).parts, WIDTH, 2**21)
    total = AtomSum(tuple((BinomialLoss(law.high, law.low, 1).atoms(), law.times) for law in laws))
    epsilon = total.mean(0.0) + deviations * total.deviation(0.0)
    low, high = found.log_delta_bounds(epsilon)
    truth = _two_sums(*laws, epsilon, total.tilt_for(epsilon) or 0.0)
    assert low <= truth + 1e-9
    assert truth - 1e-9 <= high
    assert high - low < 1e-2


@pytest.mark.parametrize("times", [10**5, 10**7, 10**9])
@pytest.mark.parametrize("target", [-1.0, -12.0, -300.0])
def test_a_lattice_on_which_psi_returns_is_enclosed_all_the_same(times: int, target: float) -> None:
    law = BinomialLoss(0.02, -0.021, 1)
    exact = BinomialLoss(0.02, -0.021, times)
    total = AtomSum(((law.atoms(), times),))
    theta = max(3 / total.deviation(0.0), math.sqrt(-2 * target) / total.deviation(0.0))
    epsilon = total.mean(theta)
    rule = frequency_rule(total, theta, 1e-4)
    assert rule is not None
    low, high = rule.log_delta_bounds(epsilon)
    truth = exact.log_delta_bounds(epsilon)[0]
    assert low <= truth <= high
    assert high - low < 0.01


def test_ends_lie_within_those_of_a_grid_where_both_can_tell() -> None:
    law = symmetric_law([0.1, 0.1 * math.sqrt(2), 0.3], np.log([0.2, 0.15, 0.15]))
    sums = characteristic_sum(compose_on_grid([(law, 400_000)], width=WIDTH))
    assert isinstance(sums, CharacteristicSum)
    grid = compose_on_grid([(law, 400_000)], width=WIDTH)
    for log_delta in (-11.5, -300.0):
        epsilon = grid.epsilon_near(log_delta)
        (low, high), (least, most) = sums.log_delta_bounds(epsilon), grid.log_delta_bounds(epsilon)
        assert max(low, least) <= min(high, most)
        assert high - low < 1e-4


def test_a_planted_error_of_the_masses_is_seen() -> None:
    law = symmetric_law([0.1, 0.1 * math.sqrt(2), 0.3], np.log([0.2, 0.15, 0.15]))
    more = symmetric_law([0.1, 0.1 * math.sqrt(2), 0.3], np.log([0.2, 0.15, 0.15001]))
    one, other = (characteristic_sum(compose_on_grid([(each, 400_000)], width=WIDTH)) for each in (law, more))
    assert one is not None
    assert other is not None
    epsilon = one.epsilon_near(-11.5)
    assert one.log_delta_bounds(epsilon)[1] < other.log_delta_bounds(epsilon)[0]


def test_the_mirror_image_agrees_with_the_identity_of_profiles() -> None:
    losses = [-0.004, 0.001 * math.sqrt(2), 0.005]
    sums = characteristic_sum(compose_on_grid([(LossAtoms(np.array(losses), _logs_of(losses)), 10**5)], width=WIDTH))
    assert sums is not None
    # delta(-x) = 1 - e**-x + e**-x delta'(x)
    (low, high), (least, most) = sums.mirrored().log_delta_bounds(0.5), sums.log_delta_bounds(-0.5)
    rest = -math.expm1(-0.5)
    assert math.log(rest + math.exp(low - 0.5)) <= most + 1e-12
    assert least - 1e-12 <= math.log(rest + math.exp(high - 0.5))
    assert most - least < 1e-3


def _logs_of(losses: list[float]) -> np.ndarray:
    """ln of masses of three atoms that are 1 in all under both laws, the middle one's being 0.3 of the first's."""
    system = np.array([[1.0, 1.0, 1.0], np.exp(-np.array(losses)), [-0.3, 1.0, 0.0]])
    return np.log(np.linalg.solve(system, [1.0, 1.0, 0.0]))


@pytest.mark.parametrize(("scale", "times"), [(1e-9, FEWEST), (0.1, 500), (3.0, FEWEST)])
def test_ends_enclose_the_sum_over_all_counts_at_50_digits(scale: float, times: int) -> None:
    one, two = -0.31 * scale, 0.27 * math.sqrt(2) * scale
    # of the masses p and 0.2 for the outer values, such that both laws' masses are 1
    p = -(0.2 * math.expm1(-two) + 0.5 * math.expm1(-0.1 * scale)) / (math.expm1(-one) - math.expm1(-0.1 * scale))
    losses, masses = (one, 0.1 * scale, two), (p, 0.8 - p, 0.2)
    truth = by_counts(losses, tuple(math.log(m) for m in masses), times)  # type: ignore[arg-type]
    found = CharacteristicSum(
        compose_on_grid([(LossAtoms(np.array(losses), np.log(masses)), times)]).parts, WIDTH, 2**21
    )
    mean = times * float(np.dot(masses, losses))
    deviation = math.sqrt(times * float(np.dot(masses, np.square(losses))) - mean**2 / times)
    for deviations in (-6.0, -1.0, 4.0, 15.0):
        epsilon = mean + deviations * deviation
        low, high = found.log_delta_bounds(epsilon)
        assert low <= truth(epsilon) <= high
        assert high - low < 1e-3


@pytest.mark.parametrize("d", [1000, 10**8])
@pytest.mark.parametrize("delta", [1e-6, 1e-300])
def test_a_billion_selections_are_enclosed_and_none_of_the_ends_is_a_false_0(d: int, delta: float) -> None:
    spent = compose([(ExponentialSelection(1.0, d), 10**9)])
    low, high = spent.epsilon_bounds(delta)
    assert high * (1 - 1e-8) < low < high
    truth = of_selection(1.0, d, 10**9)
    assert float(truth(low)) > math.log(delta) > float(truth(high))
    least, most = spent.log_delta_bounds(high)
    assert least < float(truth(high)) < most


def test_tiny_losses_of_a_billion_reports_have_a_lower_end_above_0() -> None:
    low, high = compose([(ExponentialSelection(1e-9, 10**8), 10**9)]).epsilon_bounds(1e-6)
    assert 0 < low < high < low * (1 + 1e-4)
    truth = compose([(ExponentialSelection(1e-9, 1000), 10**9)]).epsilon_bounds(1e-6)
    assert truth[0] * (1 - 4e-3) < low < truth[1]  # which d changes by some 2/d


def test_very_many_values_cost_no_digits() -> None:
    """All pairs of two binomial losses are 22,500 values, and the sum of many of these is that of two binomial ones."""
    one, two = (BinomialLoss(0.03, -0.02, 149).atoms(), BinomialLoss(0.05, -0.03 * math.sqrt(2), 149).atoms())
    losses = np.add.outer(one.losses, two.losses).ravel()
    logs = np.add.outer(one.log_probabilities, two.log_probabilities).ravel()
    order = np.argsort(losses)
    many = LossAtoms(losses[order], logs[order])
    sums = characteristic_sum(compose_on_grid([(many, 1000)], width=WIDTH))
    pair = BinomialLoss(0.03, -0.02, 149_000), BinomialLoss(0.05, -0.03 * math.sqrt(2), 149_000)
    assert sums is not None
    total = AtomSum(((many, 1000),))
    for log_delta in (-2.0, -600.0):
        epsilon = sums.epsilon_near(log_delta)
        low, high = sums.log_delta_bounds(epsilon)
        truth = _two_sums(*pair, epsilon, total.tilt_for(epsilon) or 0.0)
        assert low - 1e-8 <= truth <= high + 1e-8
        assert high - low < 1e-3


@pytest.mark.parametrize("times", [10**5, 10**9])
def test_losses_too_rare_to_be_expected_leave_the_others_ends_near(times: int) -> None:
    rare = symmetric_law([1e-3, 1.2e-3 * math.sqrt(2), 20.0], np.log([0.3, 0.1, 1e-15]))
    without = symmetric_law([1e-3, 1.2e-3 * math.sqrt(2)], np.log([0.3, 0.1]))
    (low, high), (least, most) = (compose([(law, times)]).epsilon_bounds(1e-2) for law in (rare, without))
    assert high - low < 1e-3
    # with it the chance of any is added: delta by at most that, and the others' masses hardly change
    assert least * (1 - 1e-6) - 1e-3 <= high
    assert low <= most * (1 + 1e-6) + 1e-3


def test_a_rare_loss_far_beyond_the_others_counts() -> None:
    law = symmetric_law([1e-3, 1.1e-3 * math.sqrt(2), 5.0], np.log([0.3, 0.1, 3e-9]))
    sums = CharacteristicSum(compose_on_grid([(law, 1000)]).parts, WIDTH, 2**21)
    low, high = sums.log_delta_bounds(2.0)
    # one of the rare losses, and hardly anything else
    assert low - 1e-3 < math.log(1000 * 3e-9 * -math.expm1(-3.0)) < high + 1e-3


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_rare_loss_thousands_of_times_the_others_sum_counts_too(count: int) -> None:
    """As so often as it exceeds the level. No lower end was known: noise had to be small beside the usual losses."""
    mass, times = 1e-7, 10**5
    law = symmetric_law([0.1, 0.17 * math.sqrt(2), 3e5], np.log([2e-3, 3e-3, mass]))
    sums = CharacteristicSum(compose_on_grid([(law, times)]).parts, WIDTH, 2**21)
    low, high = sums.log_delta_bounds((count - 0.5) * 3e5)
    truth = float(binom.logsf(count - 1, times, mass))
    assert low - 1e-9 <= truth <= high + 1e-9
    assert high - low < 1e-3


def test_what_a_grid_does_as_well_is_left_to_it() -> None:
    odd = symmetric_law([0.1, 0.1 * math.sqrt(2)], np.log([0.2, 0.25]))
    even = symmetric_law([0.1, 0.2], np.log([0.2, 0.25]))
    assert characteristic_sum(compose_on_grid([(odd, FEWEST - 1)], width=WIDTH)) is None
    assert characteristic_sum(compose_on_grid([(odd, FEWEST)], width=WIDTH)) is not None
    assert characteristic_sum(compose_on_grid([(even, 10**6)], width=WIDTH)) is None
    assert characteristic_sum(compose_on_grid([(even, 10**9)], width=WIDTH)) is not None
    assert characteristic_sum(compose_on_grid([(odd, 10**6), (GaussianLoss(0.1), 1)], width=WIDTH)) is None


def test_many_losses_of_a_lattice_keep_the_digits_that_a_grid_loses() -> None:
    """On the lattice the ends were 3e-3 apart; the two ways agree."""
    law = compose([(RandomizedResponse(0.001, k=100), 10**7)]).directions[0]
    assert isinstance(law, CharacteristicSum)
    grid = compose_on_grid(law.parts)
    for log_delta in (-600.0, -30.0, -7.0):
        near, far = (PrivacyLoss((one,)).epsilon_bounds(log_delta=log_delta) for one in (law, grid))
        assert max(near[0], far[0]) <= min(near[1], far[1])
        assert near[1] - near[0] < 1e-5


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize("mechanism", [RandomizedResponse(1e-9, k=3), Piecewise(1e-9)])
def test_a_billion_losses_of_1e_18_are_told(mechanism: Any, adjacency: Any) -> None:
    """Powers of such losses, and of their frequencies, are no floats: an error once. The sum is as good as normal."""
    one = subsample(mechanism, rate=1e-9, adjacency=adjacency)
    law = one.directions[0]
    assert isinstance(law, LossAtoms)
    mu = math.sqrt(1e9 * float(np.exp(law.log_probabilities) @ law.losses**2))
    low, high = compose([(one, 10**9)]).epsilon_bounds(1e-18)
    assert 1e-15 < low <= high <= low * 1.01
    assert low * 0.99 <= privacy_loss(Gaussian(1 / mu)).epsilon(1e-18) <= high * 1.01
