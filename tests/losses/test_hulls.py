"""Discrete losses above and below a profile: valid, near it, and valid even where the points are no profile."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, privacy_loss
from ldp_audit.accounting.shuffling.pooled_reports import ShuffledReports
from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstNeighbourhood
from ldp_audit.accounting.subsample import subsample
from ldp_audit.losses.composition import composed
from ldp_audit.losses.discrete_loss import ZERO_LOSS, BinomialLoss, DiscreteLoss
from ldp_audit.losses.hulls import chord_levels, chord_loss, dominated_atoms, known_bound, known_bounds
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.losses.subsampled_loss import SubsampledLoss
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from ldp_audit.mechanisms.blanket import Blanket

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
def test_points_that_are_no_profile_still_give_a_loss_above_them(factor: float) -> None:
    """A profile times a factor may be too steep at 0 for any symmetric loss: its masses would exceed 1."""
    levels, law = above(BinomialLoss(3.0, -3.0, 1), factor)
    for level in levels[:-1]:
        wanted = min(0.0, BinomialLoss(3.0, -3.0, 1).log_delta_bounds(float(level))[0] + math.log(factor))
        known = math.log(-math.expm1(level - 3.0) / (1 + math.exp(-3.0)))  # no law of this largest loss has more
        assert law.log_delta_bounds(float(level))[0] >= min(wanted, known) - 1e-9


def test_epsilons_reach_to_the_supremum_without_a_leap() -> None:
    """Would catch a gap below the supremum: tilts of a sum would see that loss alone, and halve epsilon or worse."""
    law = WorstNeighbourhood(1.0, 10**8)
    levels = chord_levels(lambda level: law.placing.log_delta_bounds(level)[1], 1.0, 20, 20)
    assert levels[0] == 0
    assert levels[-1] == 1
    far = levels[levels > 2e-3]
    assert np.all(far[1:] <= 1.2 * far[:-1])


@pytest.mark.parametrize(
    "law",
    [
        WorstNeighbourhood(1.0, 12),
        pytest.param(WorstNeighbourhood(1e-9, 600), marks=pytest.mark.slow),
        pytest.param(WorstNeighbourhood(4.0, 900), marks=pytest.mark.slow),
        pytest.param(WorstNeighbourhood(0.5, 10**5), marks=pytest.mark.slow),
        pytest.param(WorstNeighbourhood(10.0, 10**6), marks=pytest.mark.slow),
        WorstNeighbourhood(1.0, 10**8),
        pytest.param(WorstNeighbourhood(60.0, 5000), marks=pytest.mark.slow),
        ShuffledReports(Blanket.of_laplace(1.0), 1.0, 3000),
        ShuffledReports(Blanket.of_two_levels(2.0, 0.1, 0.2, 0.5), 2.0, 10**6),
        ShuffledReports(Blanket.of_two_levels(3.0, 0.0, 1.0, 3.0), 3.0, 40),
    ],
    ids=repr,
)
def test_what_stands_for_it_in_sums_encloses_the_loss(law) -> None:
    lower, upper = known_bounds(law)
    assert known_bound(law, 0) is lower
    assert known_bound(law, 1) is upper
    reach = min(0.98 * law.epsilon0, 60 * math.sinh(law.epsilon0 / 2) / math.sqrt(law.n))
    for share in (-0.3, 0.0, 0.003, 0.03, 0.1, 0.3, 1.0):
        ends = law.log_delta_bounds(share * reach)
        assert lower.log_delta_bounds(share * reach)[0] <= ends[1] + 1e-12
        assert upper.log_delta_bounds(share * reach)[1] >= ends[0] - 1e-12


@pytest.mark.parametrize(
    ("epsilon0", "n", "delta", "apart"),
    [(1.0, 10**6, 1e-300, 3e-3), pytest.param(10.0, 10**6, 1e-6, 6e-3, marks=pytest.mark.slow)],
)
def test_ten_counts_are_enclosed_closely(epsilon0: float, n: int, delta: float, apart: float) -> None:
    """Would catch an upper bound at 1e-300 of nine times the lower one, or of the supremum."""
    law = composed([(WorstNeighbourhood(epsilon0, n), 10)])
    low, high = PrivacyLoss((law,)).epsilon_bounds(delta)
    assert 0 < low <= high <= low * (1 + apart)


LAWS: list[PairLoss] = [
    GaussianLoss(1e-6),
    GaussianLoss(1.0),
    GaussianLoss(30.0),
    LaplaceLoss(1.0),
    LaplaceLoss(40.0),
    BinomialLoss(1e-3, -1e-3, 20_000),
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


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"rate": 0.05}, marks=pytest.mark.slow),
        {"kind": "without", "n": 20, "k": 1, "adjacency": "replace"},
    ],
)
def test_rounds_of_a_sampled_step_of_several_noises_have_a_lower_bound(how: dict[str, Any]) -> None:
    """Would catch a lower bound of 0. Less noise in all would spend more, and one of the noises by itself less."""
    noises = Gaussian(3.0, replaced=1.0), Laplace(4.0, replaced=1.0)
    parts = (privacy_loss(noise, how.get("adjacency", "add/remove")) for noise in noises)
    step = compose(zip(parts, (3, 2), strict=True), width=1e-2)
    loss = compose([(subsample(step, **how), 200)], width=1e-2)  # type: ignore[arg-type]
    low, high = loss.epsilon_bounds(1e-6)
    wider = 1.13 if how.get("adjacency") == "replace" else 1.02  # no pair is the worst in either order
    assert 0 < low <= high <= wider * low
    alone = subsample(PrivacyLoss((GaussianLoss(math.sqrt(3) / 3),)), **how)
    assert compose([(alone, 200)]).epsilon_bounds(1e-6)[0] <= high


def test_prolonged_chords_do_not_cross_what_every_profile_is_at_least() -> None:
    """Bounds a hundred-millionth apart. Would catch a hull below 1 - t, whose masses do not add up to 1."""
    few = subsample(compose([(RandomizedResponse(0.001, k=3), 10**4)]), rate=0.5)
    low, high = compose([(few, 2)]).epsilon_bounds(1e-6)
    assert few.epsilon_bounds(1e-6)[0] <= low <= high <= 1.01 * low
    assert low <= 2 * few.epsilon(5e-7)


def test_seen_from_behind_the_hull_lies_below_too() -> None:
    """Would catch a profile that rounds to 1, far below epsilon 0, taken for a true 1, which moves the losses."""
    loss = compose([(RandomizedResponse(1.0, k=3), 1000)]).directions[0]
    lower = dominated_atoms(loss).reversed()
    for level in (0.0, 20.0, 200.0, 330.0, 400.0, 650.0):  # it is its own mirror image
        assert lower.log_delta_bounds(level)[1] <= loss.log_delta_bounds(level)[1] + 1e-9


class Told(PairLoss):
    """A loss of which only delta is known."""

    def __init__(self, base: PairLoss) -> None:
        self.base = base

    def supremum(self) -> float:
        return self.base.supremum()

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        return self.base.log_delta_bounds(epsilon)

    def reversed(self) -> Told:
        return Told(self.base.reversed())


@pytest.mark.parametrize("base", [ZERO_LOSS, BinomialLoss(1e-21, -1e-21, 1)])
def test_a_loss_of_nothing_or_hardly_anything_composes(base: PairLoss) -> None:
    loss = PrivacyLoss((Told(base),))
    low, high = compose([(loss, 2)]).epsilon_bounds(1e-30)
    assert 0 <= low <= high <= 3e-21
    low, high = compose([(loss, 1), (Laplace(1.0), 2)]).epsilon_bounds(1e-6)
    least, most = compose([(Laplace(1.0), 2)]).epsilon_bounds(1e-6)
    assert low <= most
    assert least <= high <= most + 1e-5


def test_a_corner_beside_the_crossing_of_what_is_certain_leaves_masses_of_1() -> None:
    """The crossing lay one float before the next corner, and the masses came to 1.23."""
    logs = np.log([3 / 13, 10 / 13])
    losses = np.array([math.log(123 / 260), math.log(41 / 26)])
    law = DiscreteLoss(losses, logs, -math.inf, math.log(1 / 41))
    for one in (law, law.reversed()):
        lower, upper = known_bounds(Told(one))
        for epsilon in (-0.5, -0.45, 0.0, 0.5, 0.7, 1.0):
            truth = one.log_delta_bounds(epsilon)[0]
            assert lower.log_delta_bounds(epsilon)[1] <= truth + 1e-14
            assert upper.log_delta_bounds(epsilon)[0] >= truth - 1e-14
            assert upper.log_delta_bounds(epsilon)[0] - max(-99.0, lower.log_delta_bounds(epsilon)[0]) <= 1e-3
