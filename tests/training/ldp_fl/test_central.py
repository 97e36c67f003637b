"""The central baseline: the clipping, the noise's multiplier at a budget, its measures, its canary."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from ldp_audit.accounting.privacy_loss import privacy_loss
from ldp_audit.mechanisms import Gaussian
from ldp_audit.training.canary import Promise, audit_run, canary_bounds
from ldp_audit.training.ldp_fl import central
from ldp_audit.training.ldp_fl.central import ClippedSum, multiplier_of
from ldp_audit.training.spend import DELTA, spend_of
from tests.training.ldp_fl.small import CPU, finished, images, plan, run

CENTRAL: dict[str, Any] = {"privacy": "central", "epsilon": 8.0, "model": "softmax"}


def test_updates_are_scaled_to_the_norm_and_added() -> None:
    """One of norm 5 is scaled down, one of norm 1/2 is not; both layers count in the norm."""
    received = {"a": torch.ones(1), "b": torch.zeros(2)}
    total = ClippedSum(received, 1.0)
    total.add({"a": torch.tensor([[4.0], [1.3]]), "b": torch.tensor([[4.0, 0.0], [0.0, 0.4]])})
    averages, layers = total.averages(None, torch.Generator())
    torch.testing.assert_close(averages["a"], torch.tensor([1 + (0.6 + 0.3) / 2], dtype=torch.float64))
    torch.testing.assert_close(averages["b"], torch.tensor([0.8 / 2, 0.4 / 2], dtype=torch.float64))
    assert layers["a"] == {"radius": 1.0, "weights": 1, "clipped": {"share": 0.5}}


@pytest.mark.parametrize("fraction", [1.0, pytest.param(0.5, marks=pytest.mark.slow)])
def test_a_run_spends_its_epsilon(fraction: float) -> None:
    """By the account of its own protocol, within the tolerance of the multiplier; a client's move is twice the clip."""
    one = run(**CENTRAL, fraction=fraction)
    low, high = spend_of(one)["everything"]["by_name"]  # type: ignore[index]
    assert 7.95 < low <= high <= 8.0
    if fraction == 1:
        by_hand = privacy_loss(Gaussian(multiplier_of(one.plan), 2 * math.sqrt(one.rounds))).epsilon(DELTA)
        assert high == pytest.approx(by_hand, rel=1e-9)


def test_a_clip_beyond_its_bounds_is_named_when_the_plan_is_made() -> None:
    with pytest.raises(ValueError, match=r"clip must be a number in \[1e-10, 1e10\], got 1e\+300"):
        plan(**CENTRAL, clip=1e300)


def test_the_noise_is_the_multiplier_s() -> None:
    """Six standard deviations, of the sum of 195 squares of normal numbers: chance below 1e-6."""
    _, records = finished(**CENTRAL, clip=0.3)
    multiplier = multiplier_of(plan(**CENTRAL, clip=0.3))
    for record in records:
        for layer in record["layers"].values():
            assert layer["variance_exact"] == pytest.approx((multiplier * 0.3 / 6) ** 2, rel=1e-9)
            assert abs(layer["variance_z"]) < 6 * (1 if layer["weights"] > 100 else 4)
            assert abs(layer["bias_z"]) < 6


def test_clipping_alone_and_plain_averaging_have_no_spend() -> None:
    clipped, records = finished(**CENTRAL, perturb=False)
    assert clipped.protocol() is None
    assert set(records[-1]["layers"]["output.weight"]) == {"radius", "weights", "clipped"}
    plain, _ = finished(**{**CENTRAL, "epsilon": math.inf})
    usual, _ = finished(model="softmax", epsilon=math.inf)
    assert plain.protocol() is None
    assert torch.equal(plain.weights["output.weight"], usual.weights["output.weight"])


@pytest.mark.slow
def test_the_canary_stays_below_and_convicts_a_smaller_noise() -> None:
    """The noise of epsilon 8 is below its own promise, and above that of epsilon 2."""
    settings = plan(**CENTRAL, rounds=1)
    (sound,) = audit_run(settings, images(), 3, samples=4_000, device=CPU)["observers"]
    assert sound["verdict"] == "consistent"
    assert 2 < sound["epsilon_lower"] < 8
    claimed = replace(central.canary(settings, CPU), promises=(Promise("exact", "one round", 2.0, DELTA),))
    assert canary_bounds(claimed, samples=4_000, error=1e-6, seed=3)["verdict"] == "violated"
