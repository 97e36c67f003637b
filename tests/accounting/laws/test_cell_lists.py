"""Lists from the masses of cells lie below and above the law, have all mass under P and Q, and lie close."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting.laws.cell_lists import cell_lists
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate


@given(st.floats(1e-3, 30.0), st.integers(1, 60), st.floats(-1.05, 1.05))
def test_a_law_lies_between_its_lists_at_every_level(epsilon: float, cells: int, share: float) -> None:
    law = LaplaceLoss(epsilon)
    below, above = cell_lists(law, np.linspace(-epsilon, epsilon, cells + 1))
    truth = law.log_delta_bounds(share * epsilon)[0]
    low, high = (math.exp(one.log_delta_bounds(share * epsilon)[0]) for one in (below, above))
    assert low * (1 - 1e-12) - 1e-15 <= math.exp(truth) <= high * (1 + 1e-12) + 1e-15
    for one in (below, above):
        assert math.fsum(np.exp(one.log_probabilities)) == pytest.approx(1.0, abs=2e-14)
        assert math.fsum(np.exp(one.log_probabilities - one.losses)) == pytest.approx(1.0, abs=2e-14)


def test_more_cells_are_nearer_by_the_square_of_their_width() -> None:
    law, gaps = LaplaceLoss(1.0), []
    for cells in (10, 100, 1000):
        low, high = (
            math.exp(one.log_delta_bounds(0.123456)[0]) for one in cell_lists(law, np.linspace(-1.0, 1.0, cells + 1))
        )
        gaps.append(high - low)
    assert gaps[1] <= gaps[0] / 30
    assert gaps[2] <= gaps[1] / 30


def test_a_law_that_is_not_symmetric_has_its_own_ends() -> None:
    law = MixedLoss(LaplaceLoss(1.0), SamplingRate(math.log(0.1), math.log(0.9)))
    levels = np.linspace(-law.mirrored().largest(), law.largest() * (1 + 1e-15), 400)
    below, above = cell_lists(law, levels)
    for level in (-0.05, 0.0, 0.1, 0.15):
        truth = law.log_delta_bounds(level)[0]
        low, high = (one.log_delta_bounds(level)[0] for one in (below, above))
        assert truth - 1e-3 <= low <= truth + 1e-12
        assert truth - 1e-12 <= high <= truth + 1e-3


@pytest.mark.parametrize(
    ("law", "levels"), [(LaplaceLoss(1.0), np.array([-1.0, 0.5])), (GaussianLoss(1.0), np.array([-9.0, 9.0]))]
)
def test_losses_beyond_the_levels_are_refused(law: LaplaceLoss | GaussianLoss, levels: np.ndarray) -> None:
    with pytest.raises(ValueError, match="levels must reach from the least loss to the largest, got"):
        cell_lists(law, levels)
