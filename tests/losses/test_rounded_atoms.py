"""Losses that are rounded: the error goes wherever the losses go, and widens the ends there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.losses.composition import composed
from ldp_audit.losses.discrete_loss import atoms_of, sum_of_losses
from ldp_audit.losses.enclosed_loss import mixture
from ldp_audit.losses.grid_loss import compose_on_grid
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.losses.noise_losses import LaplaceLoss

ERROR = 0.125
"""Far more than any rounding, so that an end which forgets it lies on the wrong side."""


FIRST, SECOND = np.array([0.3, 0.3, 0.4]), np.array([0.5, 0.3, 0.2])
LOSSES = np.log(FIRST / SECOND)


def planted(error: float = ERROR) -> PairLoss:
    """Three losses, each of which may be wrong by as much as the list says."""
    return atoms_of(LOSSES, np.log(FIRST), error=error)


def rounding_of(law: PairLoss) -> float:
    listed = law.atoms()
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


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("times", [2, 4])
def test_sums_keep_the_error_of_every_loss(times: int, epsilon: float) -> None:
    low, high = truths(times, epsilon)
    listed = sum_of_losses([(planted(), times)])
    assert listed is not None
    for law in (listed, compose_on_grid([(planted(), times)]), composed([(planted(), times)])):
        ends = np.exp(law.log_delta_bounds(epsilon))
        assert ends[0] <= low * (1 + 1e-9)
        assert ends[1] >= high * (1 - 1e-9)


def test_a_list_that_is_right_has_ends_that_meet() -> None:
    """Otherwise the test above would pass for ends that say nothing."""
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
