"""Sums of very many losses by frequencies, against exact binomial sums and grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.accounting.frequencies.characteristic_sum import FEWEST, CharacteristicSum, characteristic_sum
from ldp_audit.accounting.frequencies.frequency_rule import frequency_rule
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.grids.grid_loss import compose_on_grid
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import symmetric_law
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

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
    truth = _two_sums(*laws, epsilon, total.tilt_of_mean(epsilon) or 0.0)
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
    rule = frequency_rule(total, theta, 1e-6)
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


def test_what_a_grid_does_as_well_is_left_to_it() -> None:
    odd = symmetric_law([0.1, 0.1 * math.sqrt(2)], np.log([0.2, 0.25]))
    even = symmetric_law([0.1, 0.2], np.log([0.2, 0.25]))
    assert characteristic_sum(compose_on_grid([(odd, FEWEST - 1)], width=WIDTH)) is None
    assert characteristic_sum(compose_on_grid([(odd, FEWEST)], width=WIDTH)) is not None
    assert characteristic_sum(compose_on_grid([(even, 10**6)], width=WIDTH)) is None
    assert characteristic_sum(compose_on_grid([(odd, 10**6), (GaussianLoss(0.1), 1)], width=WIDTH)) is None
