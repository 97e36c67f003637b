"""Rare losses far larger than all others together: against all outcomes of few reports, and by conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.accounting.frequencies.characteristic_sum import CharacteristicSum
from ldp_audit.accounting.frequencies.cut_sum import Cut, CutSum
from ldp_audit.accounting.frequencies.kept_atoms import split
from ldp_audit.accounting.frequencies.tilt_rules import TiltRules
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import as_atoms, symmetric_law
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

WIDTH = 1e-4


def _law(losses: list[float], probabilities: list[float]) -> LossAtoms:
    found = as_atoms(symmetric_law(np.array(losses), np.log(probabilities)))
    assert found is not None
    return found


def _cut(law: LossAtoms, times: int, top: float) -> Cut:
    kept, rare = split(law, top)
    total = AtomSum(((kept, times),))
    return Cut(((law, times),), total, (rare,), top, TiltRules(total, WIDTH))


def _of_rare(law: LossAtoms, times: int, top: float, epsilon: float) -> tuple[float, float]:
    """What outcomes with a loss above `top` have in delta, and E[1 - e**(epsilon - L)] of them: over all outcomes."""
    gains, means, probabilities = [], [], np.exp(law.log_probabilities)
    for places in np.ndindex(*(law.losses.size,) * times):
        chosen = list(places)
        if max(law.losses[chosen]) > top:
            mass, lack = math.prod(probabilities[chosen]), -math.expm1(epsilon - math.fsum(law.losses[chosen]))
            gains.append(mass * max(lack, 0.0))
            means.append(mass * lack)
    return math.fsum(gains), math.fsum(means)


@pytest.mark.parametrize("times", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3, 1.2])
@pytest.mark.parametrize("rare", [1e-3, 1e-12])
def test_what_the_largest_losses_add_is_enclosed(times: int, epsilon: float, rare: float) -> None:
    law = _law([0.1, 0.25, 2.0, 3.0], [0.2, 0.1, rare, rare / 3])
    cut = _cut(law, times, 1.5)
    truth, mean = _of_rare(law, times, 1.5, epsilon)
    low, high = cut.closed(epsilon)
    assert math.exp(low) <= truth * (1 + 1e-9)
    assert math.exp(low) == pytest.approx(mean, rel=1e-9)
    assert truth <= math.exp(high) * (1 + 1e-9)


def test_what_is_not_enclosed_by_the_mean_alone_is_left_to_the_rest() -> None:
    """A loss of 2 beside three of -1: the sum lies below the level though a rare loss is among them."""
    law = _law([1.0, 2.0], [0.5, 0.05])
    truth, mean = _of_rare(law, 4, 1.5, 1.9)
    cut = _cut(law, 4, 1.5)
    assert truth > 1.01 * mean > 0
    assert math.exp(cut.closed(1.9).high) > truth


@pytest.mark.parametrize("times", [300, 3000, 30_000])
@pytest.mark.parametrize("deviations", [0.0, 2.0, 5.0])
def test_ends_beside_a_rare_loss_of_1e4_enclose_those_of_conditioning_on_it(times: int, deviations: float) -> None:
    """Two small losses otherwise, whose sum is a binomial one; with the rare one a sum lies above all these levels."""
    rare, step = 1e-10, 0.02
    two = BinomialLoss(step, -step, 1).atoms()
    logs = np.concatenate([[math.log(rare) - 1e4], two.log_probabilities + math.log1p(-rare), [math.log(rare)]])
    law = LossAtoms(np.array([-1e4, -step, step, 1e4]), logs, log_missing=-math.inf)
    total = CharacteristicSum(((law, times),), WIDTH, 2**21)
    epsilon = times * step * math.tanh(step / 2) + deviations * step * math.sqrt(times)
    low, high = total.log_delta_bounds(epsilon)
    never = times * math.log1p(-rare)
    truth = float(
        np.logaddexp(
            never + BinomialLoss(step, -step, times).log_delta_bounds(epsilon)[0], math.log(-math.expm1(never))
        )
    )
    assert low <= truth + 1e-9
    assert truth <= high + 1e-9
    assert high - low < 1e-3


def test_no_cut_is_made_where_no_loss_is_rare_and_far() -> None:
    law = _law([0.01, 0.02], [0.2, 0.3])
    assert CutSum(AtomSum(((law, 1000),)), WIDTH).leap(0.5) is None


def test_a_level_near_the_rare_loss_is_hinted_at_by_the_others_alone() -> None:
    """By tilts alone the level of delta = 1e-3 was one that only the rare loss reaches, 700 times as large."""
    law = _law([0.03, 0.07, 1e4], [0.2, 0.2, 1e-9])
    total = CharacteristicSum(((law, 5000),), WIDTH, 2**21)
    hint = total.epsilon_near(math.log(1e-3))
    assert abs(total.log_delta_bounds(hint)[1] - math.log(1e-3)) < 1.0
