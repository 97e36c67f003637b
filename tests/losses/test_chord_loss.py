"""Laws that dominate a profile: above it everywhere, near it, and laws even where the points are no profile."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.shuffling.clones import clones, stronger_clones, third_value
from ldp_audit.accounting.shuffling.worst_placing import WorstPlacing
from ldp_audit.losses.composition import composed
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.losses.hulls import chord_levels, chord_loss

TWENTY = BinomialLoss(0.2, -0.2, 20)


def above(law, factor: float = 1.0):
    levels = chord_levels(lambda level: law.log_delta_bounds(level)[1], law.supremum(), 180, 240)
    values = np.array([law.log_delta_bounds(float(level))[1] + math.log(factor) for level in levels])
    return levels, chord_loss(levels, np.minimum(values, 0.0))


def test_the_chords_lie_above_and_near() -> None:
    _, law = above(TWENTY)
    for level in (-1.0, 0.0, 0.01, 0.7, 2.2, 3.7, 3.99):
        truth, found = TWENTY.log_delta_bounds(level)[0], law.log_delta_bounds(level)[0]
        assert truth <= found <= truth + 2e-2
    assert law.supremum() == TWENTY.supremum()


@pytest.mark.parametrize("factor", [1 + 1e-9, 1.001, 1.5, 100.0])
def test_points_that_are_no_profile_still_give_a_law_above_them(factor: float) -> None:
    """A profile times a factor may be too steep at 0 for any symmetric law: once an error, that masses exceed 1."""
    levels, law = above(BinomialLoss(3.0, -3.0, 1), factor)
    for level in levels[:-1]:
        wanted = min(0.0, BinomialLoss(3.0, -3.0, 1).log_delta_bounds(float(level))[0] + math.log(factor))
        known = math.log(-math.expm1(level - 3.0) / (1 + math.exp(-3.0)))  # no law of this largest loss has more
        assert law.log_delta_bounds(float(level))[0] >= min(wanted, known) - 1e-9


def test_levels_reach_to_the_largest_loss_without_a_leap() -> None:
    """Else a sum's tilts would see that loss alone: ten counts of a hundred million had a tenth of it for epsilon."""
    law = WorstPlacing(1.0, 10**8)
    levels = chord_levels(lambda level: law.placing.log_delta_bounds(level)[1], 1.0, 20, 20)
    assert levels[0] == 0
    assert levels[-1] == 1
    far = levels[levels > 2e-3]
    assert np.all(far[1:] <= 1.2 * far[:-1])


@pytest.mark.parametrize(
    "law",
    [
        WorstPlacing(1.0, 12),
        WorstPlacing(1e-9, 600),
        WorstPlacing(4.0, 900),
        WorstPlacing(0.5, 10**5),
        WorstPlacing(10.0, 10**6),
        WorstPlacing(1.0, 10**8),
        WorstPlacing(60.0, 5000),
        clones(1.0, 3000),
        stronger_clones(2.0, 10**6),
        third_value(3.0, 40, 5),
    ],
    ids=repr,
)
def test_what_stands_for_it_in_sums_encloses_the_law(law) -> None:
    lower, upper = law.known_bounds()
    assert law.known_bound(0) is lower
    assert law.known_bound(1) is upper
    reach = min(0.98 * law.epsilon0, 60 * math.sinh(law.epsilon0 / 2) / math.sqrt(law.n))
    for share in (-0.3, 0.0, 0.003, 0.03, 0.1, 0.3, 1.0):
        ends = law.log_delta_bounds(share * reach)
        assert lower.log_delta_bounds(share * reach)[0] <= ends[1] + 1e-12
        assert upper.log_delta_bounds(share * reach)[1] >= ends[0] - 1e-12


@pytest.mark.parametrize(
    ("epsilon0", "n", "delta", "apart"),
    [(1.0, 10**6, 1e-6, 1e-3), (1.0, 10**6, 1e-300, 3e-3), (1e-9, 10**8, 1e-300, 3e-3), (10.0, 10**6, 1e-6, 6e-3)],
)
def test_ten_counts_are_enclosed_closely(epsilon0: float, n: int, delta: float, apart: float) -> None:
    """At 1e-300 the upper end was once nine times the lower one, or the largest loss itself."""
    law = composed([(WorstPlacing(epsilon0, n), 10)])
    low, high = PrivacyLoss((law,)).epsilon_bounds(delta)
    assert 0 < low <= high <= low * (1 + apart)
