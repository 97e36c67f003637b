"""Mechanisms known by their profile alone; invalid profiles are refused wherever they are evaluated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from ldp_audit.accounting import compose, privacy_loss, subsample
from ldp_audit.mechanisms import Gaussian
from tests.together import together


@dataclass(frozen=True)
class Stated:
    """A stated profile and pure epsilon."""

    profile: Any
    pure: float = math.inf

    def delta(self, epsilon: Any) -> Any:
        """The stated one."""
        return self.profile(epsilon)

    def exact_epsilon(self) -> float:
        """The stated one."""
        return self.pure


def unguarded(epsilon: Any) -> Any:
    """Gaussian noise of sigma 1/50; not a number from 709 nats on, where e**epsilon overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return ndtr(25 - epsilon / 50) - np.exp(epsilon) * ndtr(-25 - epsilon / 50)


@pytest.mark.parametrize("ask", [lambda loss: loss.epsilon_bounds(1e-5), lambda loss: loss.delta_bounds(1000.0)])
def test_a_profile_that_is_no_number_somewhere_is_refused_there(ask: Any) -> None:
    """Would catch nan read as 0: an epsilon of 709.8, where it is 1462."""
    assert privacy_loss(Gaussian(0.02)).epsilon(1e-5) > 1462
    with pytest.raises(ValueError, match=r"mechanism must have a delta in \[0, 1\], got delta\(.*\) = nan of Stated"):
        ask(privacy_loss(Stated(unguarded)))


@together(
    ("profile", "pure", "message"),
    [
        (lambda epsilon: math.nan, math.inf, r"delta\(0.0\) = nan of Stated"),
        (lambda epsilon: 1.5, math.inf, r"delta\(0.0\) = 1.5 of Stated"),
        (lambda epsilon: -1e-9, math.inf, r"delta\(0.0\) = -1e-09 of Stated"),
        (lambda epsilon: 0.1, math.nan, r"an exact_epsilon\(\) >= 0, got nan of Stated"),
        (lambda epsilon: 0.1, -1.0, r"an exact_epsilon\(\) >= 0, got -1.0 of Stated"),
        (lambda epsilon: 0.1, 0.0, r"a delta of 0 at its exact_epsilon\(\), got delta\(0.0\) = 0.1 of Stated"),
        (lambda epsilon: 0.3, 1.0, r"a delta of 0 at its exact_epsilon\(\), got delta\(1.0\) = 0.3 of Stated"),
    ],
)
def test_what_is_no_probability_and_no_epsilon_is_named(profile: Any, pure: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        privacy_loss(Stated(profile, pure))


@pytest.mark.parametrize(
    "use", [lambda loss: compose([(loss, 2)]), lambda loss: compose([(subsample(loss, rate=0.5), 2)])]
)
def test_a_profile_that_rises_is_refused_where_all_of_it_is_looked_at(use: Any) -> None:
    rising = privacy_loss(Stated(lambda epsilon: min(1.0, 0.1 + epsilon) if epsilon < 2 else 0.0, 2.0))
    with pytest.raises(ValueError, match="mechanism must have a delta that does not rise with epsilon"):
        use(rising)


def two_ratios(epsilon: Any) -> Any:
    """Half of the outputs at 190 nats, and 1e-12 of them at 300."""
    at = np.minimum(epsilon - np.array([190.0, 300.0]), 0.0)
    return float(-np.expm1(at) @ [0.5, 1e-12])


def test_a_profile_that_falls_long_before_its_supremum_is_not_one_chord() -> None:
    """At half the supremum it looks like one: 299.8 was the exact epsilon at delta 0.1, and 0.5 delta at 250."""
    loss = privacy_loss(Stated(two_ratios, 300.0))
    low, high = loss.epsilon_bounds(0.1)
    assert low <= 190 + math.log(0.8) <= high <= low + 1e-6
    assert loss.delta_bounds(250.0) == pytest.approx((1e-12, 1e-12), rel=1e-9)
    chord = privacy_loss(Stated(lambda epsilon: -0.5 * np.expm1(np.minimum(epsilon - 300, 0.0)), 300.0))
    assert chord.exact


@together("pure", [1e-14, 1e-12, 1e-9, 4.9e-6, 5.1e-6, 1.1e-5, 1e-3])
def test_a_tiny_epsilon_composes(pure: float) -> None:
    """Laplace noise between two numbers, three times: delta(epsilon) is 1.5 pure - epsilon/2, but for squares of it, at
    the pure epsilon's own scale from 2 pure on. Points between 0 and the supremum would be nearer than rounding.
    """
    loss = compose([(Stated(lambda epsilon: np.maximum(0.0, -np.expm1((epsilon - pure) / 2)), pure), 3)])
    low, high = loss.epsilon_bounds(pure / 10)
    assert low <= 2.2 * pure * (1 + pure) + 1e-12 * pure
    assert 2.2 * pure * (1 - 1e-12) <= high <= 2.2 * pure * (1 + 1e-4)
