"""EXP's loss over many ranks: the two ends enclose the exact law, and a wrong grouping would be seen."""

import math

from ldp_audit.accounting import PrivacyLoss, compose, privacy_loss
from ldp_audit.losses.discrete_loss import symmetric_loss
from ldp_audit.mechanisms import ExponentialSelection
from ldp_audit.mechanisms.selection.exponential_selection import selection_loss
from tests.together import together

LEVELS = [0.0, 1e-9, 0.1, 0.7, 0.99, 1.0, 2.5, 3.0]


@together("d", [1000, 1001, 9999])
@together("epsilon", [1e-9, 0.5, 3.0, 50.0])
def test_grouped_ranks_enclose_the_exact_profile(d: int, epsilon: float) -> None:
    mechanism = ExponentialSelection(epsilon, d)
    exact, grouped = PrivacyLoss((selection_loss(mechanism),)), PrivacyLoss((selection_loss(mechanism, most=100),))
    for level in LEVELS:
        low, high = grouped.delta_bounds(level)
        truth = exact.delta(level)
        assert low <= truth * (1 + 1e-12)
        assert high >= truth * (1 - 1e-12)
        assert high - low <= math.expm1(2 * epsilon / 100)


def test_the_smallest_loss_of_each_group_for_all_of_it_would_be_seen() -> None:
    mechanism = ExponentialSelection(3.0, 1000)
    exact = PrivacyLoss((selection_loss(mechanism),))
    upper = selection_loss(mechanism, most=100).upper  # type: ignore[union-attr]
    kept = upper.losses > 3.0 / 100
    wrong = symmetric_loss(upper.losses[kept] - 3.0 / 100, upper.log_probabilities[kept])
    assert PrivacyLoss((wrong,)).delta(0.7) < exact.delta(0.7)


def test_a_hundred_million_ranks_have_a_loss_and_a_composition() -> None:
    mechanism = ExponentialSelection(1.0, 10**8)
    low, high = privacy_loss(mechanism).epsilon_bounds(delta=1e-6)
    exact_profile = [float(mechanism.delta(epsilon)) for epsilon in (low, high)]
    assert exact_profile[0] >= 1e-6 * (1 - 1e-6) >= exact_profile[1] * (1 - 2e-6)
    assert high - low <= 2e-5
    low, high = compose([(mechanism, 100)]).epsilon_bounds(delta=1e-6)
    assert low <= high <= low * 1.001


@together("d", [997, 1000])
@together("epsilon", [1e-3, 1.0, 20.0])
def test_blocks_of_ranks_enclose_the_ranks_one_by_one_and_differ_as_the_square_of_their_width(
    d: int, epsilon: float
) -> None:
    mechanism = ExponentialSelection(epsilon, d)
    exact = selection_loss(mechanism)
    coarse, fine = (selection_loss(mechanism, most=blocks) for blocks in (25, 100))
    for share in (0.0, 0.1, 0.5, 0.9):
        truth = exact.log_delta_bounds(share * epsilon)[0]
        ends = [law.log_delta_bounds(share * epsilon) for law in (coarse, fine)]
        assert all(low <= truth + 1e-13 and truth - 1e-13 <= high for low, high in ends)
    levels = [epsilon * place / 211 for place in range(1, 180)]
    ends = [[law.log_delta_bounds(level) for level in levels] for law in (coarse, fine)]
    widths = [max(math.exp(high) - math.exp(low) for low, high in one) for one in ends]
    assert widths[1] < widths[0] / 8
