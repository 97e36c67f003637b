"""Finitely many losses below a law of which the profile is known."""

from __future__ import annotations

import math

import pytest

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose
from ldp_audit.accounting.subsample import subsample
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.losses.hulls import dominated_atoms
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.subsampled_loss import SamplingRate, SubsampledLoss
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse

LAWS: list[PairLoss] = [
    GaussianLoss(1e-6),
    GaussianLoss(1.0),
    GaussianLoss(30.0),
    LaplaceLoss(1.0),
    LaplaceLoss(40.0),
    BinomialLoss(1e-3, -1e-3, 200_000),
    SubsampledLoss(GaussianLoss(1.0), SamplingRate.of_chance(0.1)),
    SubsampledLoss(GaussianLoss(1.0), SamplingRate.of_chance(0.1), False),
]


@pytest.mark.parametrize("law", LAWS)
def test_the_hull_lies_below_and_near(law: PairLoss) -> None:
    lower = dominated_atoms(law)
    scale = min(8.0, law.supremum(), law.reversed().supremum())
    if isinstance(law, GaussianLoss):
        scale = law.mu * min(8.0, law.mu + 2)
    for share in (-1.0, -0.6, -0.2, -0.01, 0.0, 0.003, 0.1, 0.35, 0.8):
        found, exact = lower.log_delta_bounds(share * scale)[0], law.log_delta_bounds(share * scale)[0]
        assert found <= exact + 1e-12
        if exact > -12:
            assert found > exact - 0.05


def test_a_list_of_losses_is_its_own_hull() -> None:
    law = BinomialLoss(1.0, -1.0, 3)
    for level in (-1.0, 0.0, 0.7, 2.5):
        assert dominated_atoms(law).log_delta_bounds(level) == pytest.approx(law.log_delta_bounds(level), rel=1e-12)


@pytest.mark.parametrize("how", [{"rate": 0.05}, {"kind": "without", "n": 20, "k": 1, "adjacency": "replace"}])
def test_rounds_of_a_sampled_step_of_several_noises_have_a_lower_end(how: dict[str, object]) -> None:
    """It was 0. Less noise in all would spend more, and one of the noises by itself less."""
    step = compose([(Gaussian(3.0), 3), (Laplace(4.0), 2)])
    loss = compose([(subsample(step, **how), 200)])  # type: ignore[arg-type]
    low, high = loss.epsilon_bounds(1e-6)
    assert 0 < low <= high <= 1.02 * low
    alone = subsample(PrivacyLoss((GaussianLoss(math.sqrt(3) / 3),)), **how)  # type: ignore[arg-type]
    assert compose([(alone, 200)]).epsilon_bounds(1e-6)[0] <= high


def test_prolonged_chords_do_not_cross_what_every_profile_is_at_least() -> None:
    """Ends a hundred-millionth apart were enough: the masses did not add up to 1, and composing raised an error."""
    few = subsample(compose([(RandomizedResponse(0.001, k=3), 10**4)]), rate=0.5)
    low, high = compose([(few, 2)]).epsilon_bounds(1e-6)
    assert few.epsilon_bounds(1e-6)[0] <= low <= high <= 1.01 * low
    assert low <= 2 * few.epsilon(5e-7)


def test_seen_from_behind_the_hull_lies_below_too() -> None:
    """Far below level 0 a profile is 1 in floats; a rounded 1 was taken for that, which says where losses lie."""
    loss = compose([(RandomizedResponse(1.0, k=3), 1000)]).directions[0]
    lower = dominated_atoms(loss).reversed()
    for level in (0.0, 20.0, 200.0, 330.0, 400.0, 650.0):  # it is its own mirror image
        assert lower.log_delta_bounds(level)[1] <= loss.log_delta_bounds(level)[1] + 1e-9
