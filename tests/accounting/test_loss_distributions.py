"""dp-accounting's distributions: read as losses that dominate, and made so that they dominate."""

from __future__ import annotations

import math
import sys
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting import ZCDP, Approximate, PrivacyLoss, compose, from_pld, privacy_loss, subsample, to_pld
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.together import together


class DensePLDPmf:
    """A stand-in for dp-accounting 0.6.0's class of this name, with its constructor's arguments and its fields."""

    def __init__(
        self,
        discretization: float,
        lower_loss: int,
        probs: Any,
        infinity_mass: float,
        pessimistic_estimate: bool = True,
    ) -> None:
        self._discretization, self._lower_loss, self._probs = discretization, lower_loss, np.asarray(probs)
        self._infinity_mass, self._pessimistic_estimate = infinity_mass, pessimistic_estimate

    def delta(self, epsilon: float) -> float:
        """As dp-accounting computes it."""
        losses = (self._lower_loss + np.arange(self._probs.size)) * self._discretization
        above = losses > epsilon
        return self._infinity_mass + float(np.dot(-np.expm1(epsilon - losses[above]), self._probs[above]))


class SparsePLDPmf:
    """Likewise."""

    def __init__(self, loss_probs: Any, discretization: float, infinity_mass: float) -> None:
        self._loss_probs, self._discretization = loss_probs, discretization
        self._infinity_mass, self._pessimistic_estimate = infinity_mass, True


class PrivacyLossDistribution:
    """Likewise."""

    def __init__(self, pmf_remove: Any, pmf_add: Any = None) -> None:
        self._pmf_remove, self._symmetric = pmf_remove, pmf_add is None
        self._pmf_add = pmf_remove if pmf_add is None else pmf_add


MODULES = ("dp_accounting.pld.pld_pmf", "dp_accounting.pld.privacy_loss_distribution")


@pytest.fixture
def stand_in() -> Any:
    """dp-accounting's modules, where it is not installed; the real ones where it is."""
    try:
        import dp_accounting.pld  # noqa: F401
    except ImportError:
        names = ("dp_accounting", "dp_accounting.pld")
        made = {name: ModuleType(name) for name in names} | dict.fromkeys(MODULES, sys.modules[__name__])
        sys.modules.update(made)
        yield
        for name in made:
            del sys.modules[name]
    else:
        yield


LOSSES = [
    Gaussian(1.0),
    Laplace(0.7),
    RandomizedResponse(1.03),
    subsample(Gaussian(0.8), rate=0.02),
    Approximate(0.5, 1e-4),
    ZCDP(0.1),
    compose([(Laplace(3.0), 5), (RandomizedResponse(0.3), 4)]),
]


@pytest.mark.usefixtures("stand_in")
@together(("mechanism", "interval"), [(one, interval) for one in LOSSES for interval in (1e-3, 0.05)])
def test_what_is_made_dominates_and_what_is_read_again_does_too(mechanism: Any, interval: float) -> None:
    loss = privacy_loss(mechanism)
    made = to_pld(mechanism, interval=interval)
    again = from_pld(made, adjacency=loss.adjacency)
    assert len(again.directions) == len(loss.directions)
    pmfs = attrgetter("_pmf_remove", "_pmf_add")(made)
    for pair, read, pmf in zip(loss.directions, again.directions, pmfs, strict=False):
        dense = DensePLDPmf(*attrgetter("_discretization", "_lower_loss", "_probs", "_infinity_mass")(pmf))
        for epsilon in np.linspace(-3, 4, 29):
            low, high = pair.log_delta_bounds(float(epsilon))
            delta = math.log(max(dense.delta(float(epsilon)), 1e-300))
            assert low <= delta + 1e-12
            assert delta <= high + 0.1 + 8 * interval or high < -300
            assert read.log_delta_bounds(float(epsilon))[1] >= min(0.0, delta) - 1e-9 or delta < -600


def test_a_distribution_is_read_as_its_maker_computes_it() -> None:
    dense = DensePLDPmf(0.5, -2, [0.1, 0.0, 0.3, 0.2, 0.4], 0.0)
    sparse = SparsePLDPmf({-2: 0.1, 0: 0.3, 2: 0.4, 1: 0.2}, 0.5, 0.0)
    for pmf in (dense, sparse):
        loss = from_pld(PrivacyLossDistribution(pmf))
        assert loss.supremum() == 1.0
        for epsilon in (0.0, 0.25, 0.5, 0.9):
            assert loss.delta_bounds(epsilon) == (0.0, pytest.approx(dense.delta(epsilon), rel=1e-9))
    both = from_pld(PrivacyLossDistribution(dense, DensePLDPmf(0.5, 0, [0.9], 0.1)), adjacency="add/remove")
    assert len(both.directions) == 2
    assert both.delta(5.0) == pytest.approx(0.1)


def test_masses_that_are_too_many_are_repaired_upwards() -> None:
    # under Q they weigh 1.7: no pair has this profile; the one that is read has a larger delta everywhere
    pmf = DensePLDPmf(1.0, -1, [0.5, 0.0, 0.5], 0.0)
    loss = from_pld(PrivacyLossDistribution(pmf))
    for epsilon in (-3.0, -1.0, -0.5, 0.0, 0.5, 0.9):
        found = math.exp(loss.directions[0].log_delta_bounds(epsilon)[1])
        assert found >= max(pmf.delta(epsilon), 1 - math.exp(epsilon)) - 1e-12
    assert loss.delta(0.5) == pytest.approx(pmf.delta(0.5))
    lacking = from_pld(PrivacyLossDistribution(DensePLDPmf(1.0, 0, [0.99995], 0.0)))
    assert lacking.delta(9.0) == pytest.approx(5e-5)


@together(
    ("pld", "says"),
    [
        (3, "must be a PrivacyLossDistribution"),
        (None, "must be a PrivacyLossDistribution"),
        (PrivacyLossDistribution(3), "DensePLDPmf or SparsePLDPmf, got int"),
        (PrivacyLossDistribution(DensePLDPmf(0.1, 0, [1.0], 0.0, False)), "must be pessimistic"),
        (PrivacyLossDistribution(DensePLDPmf(0.1, 0, [0.5], 0.0)), "add up to 1, got 0.5 in all"),
        (PrivacyLossDistribution(DensePLDPmf(0.1, 0, [1.5, -0.5], 0.0)), "add up to 1"),
        (PrivacyLossDistribution(DensePLDPmf(0.1, 0, [math.nan, 1.0], 0.0)), "add up to 1"),
        (PrivacyLossDistribution(DensePLDPmf(0.1, 0, [2.0], -1.0)), "add up to 1"),
    ],
)
def test_what_is_no_pessimistic_distribution_is_refused(pld: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        from_pld(pld)


def test_bad_arguments_are_refused_before_the_package_is_asked_for() -> None:
    for interval in (0.0, -1.0, math.nan, 1e-12):
        with pytest.raises(ValueError, match="interval must"):
            to_pld(Gaussian(1.0), interval=interval)
    with pytest.raises(ValueError, match=r"Pure\(1\.0\)"):
        to_pld(1.0)
    if "dp_accounting" not in sys.modules:
        try:
            import dp_accounting  # noqa: F401
        except ImportError:
            with pytest.raises(ImportError, match="pip install dp-accounting"):
                to_pld(RandomizedResponse(1.0))


def test_the_real_package_composes_what_is_made() -> None:
    real = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    step = subsample(Gaussian(1.0), rate=0.01)
    truth = compose([(step, 1000)]).epsilon_bounds(1e-5)
    assert truth[0] <= to_pld(step).self_compose(1000).get_epsilon_for_delta(1e-5) <= truth[1] + 1e-3
    read = from_pld(real.from_gaussian_mechanism(1.0), adjacency="add/remove")
    exact = privacy_loss(Gaussian(1.0)).epsilon(1e-5)
    assert exact <= read.epsilon(1e-5) <= exact + 1e-6
    composed = compose([(read, 10), (Laplace(10.0), 1)])
    assert isinstance(composed, PrivacyLoss)
    assert composed.epsilon(1e-5) == pytest.approx(
        compose([(Gaussian(1.0), 10), (Laplace(10.0), 1)]).epsilon(1e-5), rel=1e-3
    )
