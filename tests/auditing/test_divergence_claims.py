"""Claims of zCDP and of Renyi curves, on noise whose divergences are known: true ones stand, wrong ones fall."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from ldp_audit import audit
from ldp_audit.accounting.conversion.conversions import gaussian_renyi, laplace_zcdp, zcdp_to_delta
from ldp_audit.auditing import Counts, Curves
from tests.together import together

Sampler = Callable[[float, int, np.random.Generator], np.ndarray]


def gaussian(rho: float) -> Sampler:
    return lambda x, n, rng: x + rng.normal(0, 1 / math.sqrt(2 * rho), n)


def laplace(epsilon: float) -> Sampler:
    return lambda x, n, rng: x + rng.laplace(0, 1 / epsilon, n)


@pytest.mark.parametrize(
    ("sampler", "rho"),
    [(gaussian(0.5), 0.5), (gaussian(0.02), 0.02), (laplace(1.0), 0.5), (laplace(1.0), laplace_zcdp(1.0).value)],
)
def test_true_claims_of_zcdp_are_not_violated(sampler: Sampler, rho: float) -> None:
    """Catches a bound above the truth: 8 audits, each wrong with probability 0.0002 at most."""
    for seed in range(8):
        assert not audit(sampler, (0.0, 1.0), samples=3000, seed=seed, claimed_rho=rho, stateless=True).violated


@together(
    ("sampler", "rho"),
    [(gaussian(0.5), 0.25), (gaussian(2.0), 1.0), (laplace(1.0), laplace_zcdp(1.0).value / 3), (laplace(1.0), 0.0)],
)
def test_wrong_claims_of_zcdp_are_violated(sampler: Sampler, rho: float) -> None:
    """Catches divergences that are too low or of the wrong pair, and a verdict that forgets the claim."""
    result = audit(sampler, (0.0, 1.0), claimed_epsilon=50.0, samples=50_000, claimed_rho=rho, stateless=True)
    assert result.violated
    (one,) = result.divergences
    assert one.violated
    assert one.allowed == rho * one.order < one.divergence_lower
    assert f"violated: claimed epsilon 50, claimed rho {rho:.6g}" in result.describe()
    assert f"the Renyi divergence of order {one.order:.6g} is at least" in result.describe()
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["curves"]["claims"] == [one.to_dict()]


def test_each_order_of_a_renyi_curve_is_compared() -> None:
    """Catches an order that is left out, and infinity, which Gaussian noise has no divergence of."""
    true = {alpha: gaussian_renyi(1.0, alpha).value for alpha in (1, 1.5, 2.0, 8, math.inf)}
    assert not audit(gaussian(0.5), (0.0, 1.0), samples=50_000, claimed_renyi=true).violated
    for alpha in (1, 1.5, 2.0):
        result = audit(gaussian(0.5), (0.0, 1.0), samples=50_000, claimed_renyi=true | {alpha: 0.3 * alpha})
        assert [one.order for one in result.divergences if one.violated] == [alpha]
        assert result.violated


def test_bounds_on_delta_refute_no_rho_that_bounds_on_divergences_leave() -> None:
    """Catches orders too far apart, between which the one that refutes rho lies."""
    for share in (0.9, 0.3, 0.01, 1e-4):
        hits = round(share * 1_000_000)
        curves = Curves((Counts(hits, 1_000_000, hits // 20, 1_000_000),), 1e-3)
        (one,) = curves.against(0.0, None)
        rho = one.divergence_lower / one.order * 1.002
        assert not any(one.violated for one in curves.against(rho, None))
        for epsilon in np.linspace(0, 5, 101):
            assert curves.delta_lower(epsilon) <= zcdp_to_delta(rho, float(epsilon)).value


def test_outputs_that_share_their_noise_are_not_accused() -> None:
    """Catches a verdict on divergences from outputs that depend on each other."""

    def shared(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return x + np.repeat(rng.normal(0, 1), n)

    result = audit(shared, (0.0, 1.0), samples=20_000, claimed_rho=0.5)
    assert result.inconclusive
    assert "the Renyi divergence" not in result.describe()


@together(
    ("claims", "says"),
    [
        ({"claimed_rho": -1.0}, "claimed_rho must be a number >= 0, or None, got -1.0"),
        ({"claimed_rho": math.nan}, "claimed_rho must be a number >= 0, or None, got nan"),
        ({"claimed_renyi": {0.5: 1.0}}, "claimed_renyi must be divergences >= 0 by order >= 1"),
        ({"claimed_renyi": {2.0: -1.0}}, "claimed_renyi must be divergences >= 0 by order >= 1"),
        ({"claimed_renyi": {}}, "claimed_renyi must be divergences >= 0 by order >= 1"),
        ({"claimed_renyi": [(2.0, 1.0)]}, "claimed_renyi must be divergences >= 0 by order >= 1"),
        ({"claimed_rho": 1.0, "sequential": True}, "sequential and seconds go without curves"),
    ],
)
def test_wrong_claims_are_named(claims: dict, says: str) -> None:
    """Catches silent acceptance."""
    with pytest.raises(ValueError, match=says):
        audit(gaussian(0.5), (0.0, 1.0), samples=1000, **claims)
