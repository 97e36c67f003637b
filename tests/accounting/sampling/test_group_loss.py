"""Group privacy: the loss between data sets that differ in several records."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import NOTHING, as_atoms, symmetric_law
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.sampling.group_loss import group_losses, pure_loss
from ldp_audit.accounting.sampling.symmetric_loss import SymmetricLoss
from ldp_audit.mechanisms import RandomizedResponse, SubsampleRelease
from tests.accounting.sampled_experiments import geometric_count, hockey_stick


def law_of(mechanism: object) -> LossLaw:
    return privacy_loss(mechanism).directions[0]


@pytest.mark.parametrize("t", [Fraction(11, 10), Fraction(2), Fraction(50)])
def test_a_geometric_mechanism_attains_the_loss_of_every_group(t: Fraction) -> None:
    """Randomised response has its loss for one record. It would fail if groups counted as pure mechanisms."""
    most = 6
    laws = list(group_losses(law_of(RandomizedResponse(math.log(t))), most))
    channel = geometric_count(t, most)
    for size, law in enumerate(laws, start=1):
        ends = channel((1,) * size), channel(())
        for level in (Fraction(1), t ** (size - 1) * (1 + t) / 2, t / 2 + Fraction(1, 2), t**size):
            exact = float(hockey_stick(*ends, level))
            found = math.exp(law.log_delta_bounds(math.log(level))[1])
            assert found == pytest.approx(exact, rel=1e-11, abs=1e-15)
    assert laws[1].log_delta_bounds(0.0)[1] < pure_loss(2 * math.log(t)).log_delta_bounds(0.0)[1] - 1e-3


def test_the_chances_of_an_infinite_loss_add_up() -> None:
    q = 0.3  # each step may be told from the next by an output of its own
    for size, law in enumerate(group_losses(law_of(SubsampleRelease(10, 3)), 5), start=1):
        for level in (0.0, 7.0):
            assert math.exp(law.log_delta_bounds(level)[1]) == pytest.approx(min(1.0, size * q), rel=1e-13)


def test_noise_at_a_multiple_of_the_distance_is_what_its_own_atoms_come_near() -> None:
    """Laplace noise cut into atoms from above, iterated, stays above the closed form and comes near it."""
    base = LaplaceLoss(1.0)
    edges = np.linspace(-1, 1, 401)
    first = base.masses(edges).first
    up = np.append(edges, edges[-1] + edges[1] - edges[0])
    above = up > 0
    kept = above & (first > -math.inf)
    law = symmetric_law(up[kept], first[kept])
    noise, atoms = (list(group_losses(one, 2))[1] for one in (base, law))
    assert noise == LaplaceLoss(2.0)
    for level in (0.0, 0.5, 1.5):
        low, high = (math.exp(one.log_delta_bounds(level)[1]) for one in (noise, atoms))
        assert low * (1 - 1e-12) <= high <= low + 0.01
    assert list(group_losses(GaussianLoss(0.5), 3))[2] == GaussianLoss(1.5)


def test_no_digits_are_lost_for_large_and_for_small_losses() -> None:
    for epsilon in (1e-9, 50.0):
        law = list(group_losses(law_of(RandomizedResponse(epsilon)), 2))[1]
        # (t - 1)/t, the total variation of two steps of the geometric mechanism
        assert math.exp(law.log_delta_bounds(0.0)[1]) == pytest.approx(-math.expm1(-epsilon), rel=1e-12)
        assert law.largest() == pytest.approx(2 * epsilon, rel=1e-14)


def test_other_losses_count_as_pure_ones() -> None:
    other = SymmetricLoss(LaplaceLoss(1.0))
    assert list(group_losses(other, 3))[1:] == [BinomialLoss(2.0, -2.0, 1), BinomialLoss(3.0, -3.0, 1)]
    assert as_atoms(pure_loss(math.inf)) is not None
    assert pure_loss(math.inf).largest() == math.inf
    assert pure_loss(0.0) is NOTHING
    assert [law.largest() for law in group_losses(NOTHING, 4)] == [0.0] * 4


def test_groups_of_one_are_the_law_itself() -> None:
    law = law_of(RandomizedResponse(1.0, 4))
    assert list(group_losses(law, 1)) == [law]
