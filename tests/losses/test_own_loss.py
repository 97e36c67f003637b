"""A loss of the reader's own, which implements the three abstract members alone, wherever a loss may go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting import PrivacyLoss, compose, privacy_loss, shuffle, subsample
from ldp_audit.accounting.conversion.conversions import gdp_of, renyi_divergence, zcdp_of
from ldp_audit.losses import PairLoss
from ldp_audit.losses.hulls import known_bounds
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import Gaussian, Hybrid, Piecewise, RandomizedResponse, TwoPoint
from ldp_audit.mechanisms.mechanism import Mechanism
from tests.together import together


@dataclass(frozen=True)
class Own(PairLoss):
    """A loss by its profile alone."""

    base: PairLoss = LaplaceLoss(1.0)  # noqa: RUF009

    def supremum(self) -> float:
        return self.base.supremum()

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        return self.base.log_delta_bounds(epsilon)

    def reversed(self) -> Own:
        back = self.base.reversed()
        return self if back is self.base else Own(back)


def loss_of(pair: PairLoss) -> PrivacyLoss:
    return PrivacyLoss((pair,))


@pytest.mark.parametrize(
    "epsilons",
    [
        lambda one: loss_of(one).epsilon_bounds(1e-6),
        lambda one: compose([(one, 10)]).epsilon_bounds(1e-6),
        lambda one: compose([(compose([(one, 3)]), 3), (Gaussian(5.0), 3)]).epsilon_bounds(1e-6),
        lambda one: subsample(one, rate=0.1).epsilon_bounds(1e-6),
        lambda one: subsample(one, kind="without", n=100, k=10, adjacency="replace").epsilon_bounds(1e-6),
        lambda one: subsample(one, kind="with", n=100, k=10).epsilon_bounds(1e-6),
        lambda one: compose([(subsample(one, rate=0.1), 20)]).epsilon_bounds(1e-6),
        lambda one: shuffle(loss_of(one), 1).epsilon_bounds(1e-6),
        lambda one: np.ravel(loss_of(one).trade_off([0.01, 0.3])),
    ],
)
def test_its_bounds_meet_those_of_the_loss_that_it_is(epsilons: Callable[[PairLoss], Any]) -> None:
    own, known = epsilons(Own()), epsilons(LaplaceLoss(1.0))
    half = len(own) // 2
    for low, high, least, most in zip(own[:half], own[half:], known[:half], known[half:], strict=True):
        assert low <= most * (1 + 1e-12)
        assert least <= high * (1 + 1e-12)
        assert high - low <= 1e-4 + 1.2 * (most - least)


def test_its_shuffled_reports_are_bounded_from_above() -> None:
    """From below nothing is known of reports of which the profile alone is stated: it may be that of several pairs."""
    own, known = (shuffle(one, 1000).epsilon_bounds(1e-6) for one in (Own(), LaplaceLoss(1.0)))
    assert own[0] <= known[1]
    assert known[0] <= own[1] <= known[1] * (1 + 1e-3)


@together("alpha", [1.0, 1.5, 3.0, 100.0, math.inf])
def test_its_divergences_are_no_smaller(alpha: float) -> None:
    found, truth = renyi_divergence(Own(), alpha).value, renyi_divergence(LaplaceLoss(1.0), alpha).value
    assert truth <= found * (1 + 1e-12)
    assert found <= truth * (1 + 1e-5)


@pytest.mark.parametrize("notion", [zcdp_of, gdp_of])
def test_it_has_the_other_notions_from_above(notion: Callable[[PairLoss], Any]) -> None:
    assert notion(Own()).value == pytest.approx(notion(LaplaceLoss(1.0)).value, rel=1e-3)


@pytest.mark.parametrize(
    "mechanism", [Hybrid(1.0), Piecewise(4.0), RandomizedResponse(1.0, 5), TwoPoint(2.0)], ids=repr
)
def test_its_discrete_bounds_enclose_it(mechanism: Any) -> None:
    """Of few losses, where prolonged chords meet at a corner: there Hybrid's masses did not add up to 1."""
    exact = mechanism.pair_loss()
    lower, upper = known_bounds(Own(exact))
    for epsilon in (-0.5, 0.0, 0.1, 0.5):
        truth = exact.log_delta_bounds(epsilon)[0]
        assert lower.log_delta_bounds(epsilon)[1] <= truth + 1e-14
        assert upper.log_delta_bounds(epsilon)[0] >= truth - 1e-14
        assert upper.log_delta_bounds(epsilon)[1] - lower.log_delta_bounds(epsilon)[0] <= 1e-4


def test_a_supremum_that_is_no_number_is_refused() -> None:
    """Would catch an epsilon of 0 at delta 0: the larger of 0 and nan is 0."""

    class Nowhere(Own):
        def supremum(self) -> float:
            return math.inf - math.inf

    with pytest.raises(ValueError, match=r"the supremum\(\) of Nowhere must be a number, got nan"):
        loss_of(Nowhere()).epsilon_bounds(0.0)


class NoisySum(Mechanism):
    """Gaussian noise on a sum of records, which says how far a record present or absent moves it, and no more."""

    adjacency = "add/remove"

    def worst_pair(self) -> tuple[float, float]:
        return 0.0, 1.0

    def log_prob(self, y: Any, x: Any, /) -> Any:
        return -((y - x) ** 2) / 2

    def implemented(self, bits: int = 64) -> Any:
        raise NotImplementedError

    def pair_loss(self) -> PairLoss:
        return GaussianLoss(1.0)


@together(
    "ask",
    [
        lambda noise: privacy_loss(noise, "replace"),
        lambda noise: subsample(noise, rate=0.1, adjacency="replace"),
        lambda noise: subsample(noise, kind="without", n=100, k=10, adjacency="replace"),
        lambda noise: subsample(noise, kind="with", n=100, k=10),
    ],
)
def test_noise_that_says_nothing_of_replaced_records_is_not_accounted_for_them(ask: Callable[[Any], Any]) -> None:
    """Would catch 4.377 where a replaced record moves the sum twice as far, and the epsilon is 9.997."""
    with pytest.raises(ValueError, match="replaced_loss must be defined where a record is replaced by another"):
        ask(NoisySum())
    assert privacy_loss(NoisySum()).epsilon(1e-5) == privacy_loss(Gaussian(1.0)).epsilon(1e-5)


def test_the_contract_of_a_loss_is_small() -> None:
    """Would catch a method that some loss needs, and every other answers with a flag."""
    assert [name for name in vars(PairLoss) if name[0] != "_"] == [
        "supremum",
        "log_delta_bounds",
        "reversed",
        "exact",
        "epsilon_near",
        "sides",
        "known",
        "divergence",
        "rho",
    ]
