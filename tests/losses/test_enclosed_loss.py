"""Which losses are known, and which are enclosed by two that are."""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.accounting import compose, privacy_loss, shuffle, subsample
from ldp_audit.accounting.conversion.renyi import zcdp_of
from ldp_audit.losses.discrete_loss import DiscreteLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss, mixture
from ldp_audit.losses.hulls import divergence_of, known_bounds
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.profile_loss import ProfileLoss
from ldp_audit.losses.subsampled_loss import SymmetricLoss
from ldp_audit.mechanisms import Gaussian, Laplace, TwoPoint
from tests.together import together

BETWEEN = EnclosedLoss(LaplaceLoss(1.0), LaplaceLoss(2.0))


@together(
    ("law", "known"),
    [
        (GaussianLoss(1.0), True),
        (DiscreteLoss(np.zeros(1), np.zeros(1)), True),
        (LossWithInfinity(LaplaceLoss(1.0), -0.1, -0.1), True),
        (BETWEEN, False),
        (LossWithInfinity(SymmetricLoss(BETWEEN), -0.1, -0.1), False),
        (mixture([(math.log(0.5), 0.0, LaplaceLoss(1.0)), (math.log(0.5), 0.0, BETWEEN)]), False),
        (ProfileLoss(Laplace(1.0).implemented()), False),
    ],
)
def test_a_loss_says_whether_its_losses_are_known(law: PairLoss, known: bool) -> None:
    """Would catch a loss that counts as known because one object bounds it from both sides."""
    assert (law.known() is law) is known
    lower, upper = known_bounds(law)
    assert (lower is law and upper is law) is known
    if not known:
        assert lower.known() is lower
        assert upper.known() is upper
        assert lower.log_delta_bounds(0.3)[0] <= upper.log_delta_bounds(0.3)[1]


def test_two_bounds_that_are_the_same_number_are_in_order() -> None:
    """By two formulas, whose last digits differ at 1e-26; the lower one was the larger by 4e-14 of itself."""
    loss = subsample(Gaussian(2.483, 1.0, replaced=1.0), rate=0.5, adjacency="replace")
    low, high = loss.delta_bounds(3.530752)
    assert low <= high <= low * (1 + 1e-12)


def test_the_divergence_of_a_mixture_is_the_mean_of_its_parts_also_where_one_is_a_sum() -> None:
    """Would catch a bound of infinity after ten seconds of a list of atoms: the sum's divergence is known."""
    two = compose([(GaussianLoss(0.5), 2), (LaplaceLoss(0.3), 3)]).directions[0]
    mixed = mixture([(math.log(0.1), 0.0, LaplaceLoss(1.0)), (math.log(0.9), 0.0, two)])
    parts = [(0.1, LaplaceLoss(1.0)), (0.9, two)]
    mean = math.log(math.fsum(share * math.exp(divergence_of(one, 2.0)[0]) for share, one in parts))
    assert mean <= divergence_of(mixed, 2.0)[0] <= mean * (1 + 1e-12)


def test_the_zcdp_of_shuffled_reports_with_noise_is_that_of_its_summands() -> None:
    """Would catch infinity: of a sum whose distribution is not known the summands bound the ratio at large orders."""
    reports, noise = shuffle(TwoPoint(1.0), 10), privacy_loss(Gaussian(0.5, replaced=1.0), "replace")
    found = zcdp_of(compose([(reports, 5), (noise, 3)])).value
    together = 5 * zcdp_of(reports).value + 3 * zcdp_of(noise).value
    assert 3 * zcdp_of(noise).value < found < 1.001 * together
