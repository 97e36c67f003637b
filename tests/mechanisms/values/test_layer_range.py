"""Ranges layer by layer: the public rule, what it does to itself over the rounds, and what a private one gives away."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from ldp_audit.mechanisms import TwoPoint
from ldp_audit.mechanisms.values.layer_range import ClientRange, LayerRange
from tests.frequency import assert_frequency
from tests.together import together


def test_each_layer_gets_the_middle_and_half_the_spread_of_its_weights() -> None:
    weights = {"conv": np.array([[1.0, -3.0], [0.0, 2.0]]), "bias": np.array([0.25, 0.5], dtype=np.float32)}
    ranges = LayerRange.of(weights)
    assert ranges == LayerRange((-0.5, 0.375), (2.5, 0.125), ("conv", "bias"))
    assert ranges.mechanism(1.0) == {"conv": TwoPoint(1.0, -0.5, 2.5), "bias": TwoPoint(1.0, 0.375, 0.125)}
    assert LayerRange.of(list(weights.values())) == LayerRange((-0.5, 0.375), (2.5, 0.125))
    assert LayerRange.of([torch.tensor([1, 3]), [0.0, 1.0]]).mechanism(2.0) == [
        TwoPoint(2.0, 2.0, 1.0),
        TwoPoint(2.0, 0.5, 0.5),
    ]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6), st.sampled_from([np.float32, np.float64]))
@example([1e6, math.nextafter(1e6, 2e6)], np.float64)
@example([math.nextafter(1e6, 0), 1e6], np.float64)
def test_the_weights_that_made_a_range_lie_in_it(weights: list[float], dtype: Any) -> None:
    """Whatever floats do to center -+ radius: nothing needs to be clipped."""
    layer = np.array(weights, dtype=dtype)
    if layer.min() == layer.max():
        return
    ranges = LayerRange.of([layer])
    low, high = ranges.mechanism(1.0)[0].domain()
    assert low <= layer.min()
    assert layer.max() <= high
    assert ranges.radii[0] == pytest.approx((float(layer.max()) - float(layer.min())) / 2, rel=1e-9, abs=1e-9)
    ranges.perturb([layer], 1.0, rng=np.random.default_rng(0))


def test_constant_layers_need_a_floor() -> None:
    with pytest.raises(ValueError, match=r"weights\['b'\] must not be constant where floor is 0, got 2.0 throughout"):
        LayerRange.of({"a": [0.0, 1.0], "b": [2.0, 2.0]})
    assert LayerRange.of({"a": [0.0, 1.0], "b": [2.0, 2.0]}, floor=0.1) == LayerRange(
        (0.5, 2.0), (0.5, 0.1), ("a", "b")
    )
    with pytest.raises(ValueError, match="floor must be a finite number >= 0, got -1"):
        LayerRange.of([[0.0, 1.0]], floor=-1)


@together("named", [True, False])
@together("kind", ["numpy", "torch"])
def test_reports_are_those_of_each_layers_mechanism(kind: str, named: bool) -> None:
    ranges = LayerRange((0.0, 5.0), (1.0, 0.5), ("a", "b") if named else None)
    layers: Any = [np.full((3, 2), 0.5, dtype=np.float32), np.full(4, 5.25)]
    layers = [torch.from_numpy(one) for one in layers] if kind == "torch" else layers
    given_layers = {"b": layers[1], "a": layers[0]} if named else layers
    rng = torch.Generator().manual_seed(0) if kind == "torch" else np.random.default_rng(0)
    reports = ranges.perturb(given_layers, 1.0, rng=rng)
    mechanisms = ranges.mechanism(1.0)
    for key, layer in zip(("a", "b") if named else (0, 1), layers, strict=True):
        assert (reports[key].shape, reports[key].dtype) == (layer.shape, layer.dtype)
        assert np.all(np.isfinite(mechanisms[key].log_prob(np.asarray(reports[key]), np.asarray(layer))))


def test_weights_outside_are_an_error_unless_clipping_is_asked_for() -> None:
    ranges = LayerRange((0.0,), (1.0,), ("a",))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"layers\['a'\] must lie in \[-1.0, 1.0\], got 1.5; clip first"):
        ranges.perturb({"a": [0.0, 1.5]}, 1.0, rng=rng)
    assert ranges.clip({"a": np.array([0.5, 1.5], dtype=np.float32)})["a"].tolist() == [0.5, 1.0]
    assert ranges.clip({"a": torch.tensor([0.5, -1.5])})["a"].tolist() == [0.5, -1.0]
    assert ranges.perturb({"a": [0.0, 1.5]}, 1.0, rng=rng, clip=True)["a"].shape == (2,)
    with pytest.raises(ValueError, match=r"layers\['a'\] must be finite real numbers"):
        ranges.clip({"a": [0.0, math.nan]})


@together("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_ends_that_a_dtype_cannot_hold_do_not_fall_outside_after_clipping(dtype: torch.dtype) -> None:
    ranges = LayerRange((0.1, 0.3), (0.3, 0.05))
    layers = [torch.tensor([9.0, -9.0], dtype=dtype)] * 2
    drawn = ranges.perturb(layers, 1.0, rng=torch.Generator().manual_seed(0), clip=True)
    assert [one.dtype for one in drawn] == [dtype, dtype]


def test_with_one_client_the_rule_multiplies_the_radius_by_a_every_round() -> None:
    """The averaged weights are then reports, c -+ r A: their half-range is r A, and the range diverges."""
    rng, epsilon = np.random.default_rng(1), 0.5
    reach = 1 / math.tanh(epsilon / 2)
    ranges = LayerRange((0.3,), (0.1,))
    for rounds in range(1, 6):
        weights = np.clip(rng.normal(0.3, 0.01, size=400), *ranges.mechanism(epsilon)[0].domain())
        ranges = LayerRange.of(ranges.perturb([weights], epsilon, rng=rng))
        assert ranges.radii[0] == pytest.approx(0.1 * reach**rounds, rel=1e-9)
        assert ranges.centers[0] == pytest.approx(0.3, abs=1e-9 * reach**rounds)
    assert reach**5 > 1000


def test_wrong_layers_are_refused() -> None:
    ranges, rng = LayerRange((0.0,), (1.0,), ("a",)), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"layers must be a mapping with the names \('a',\), got .* names \('b',\)"):
        ranges.perturb({"b": [0.0]}, 1.0, rng=rng)
    with pytest.raises(ValueError, match="layers must be a sequence of 1 arrays, got list of 2"):
        LayerRange((0.0,), (1.0,)).perturb([[0.0], [0.0]], 1.0, rng=rng)
    with pytest.raises(ValueError, match="centers, radii and names must be one a layer"):
        LayerRange((0.0, 1.0), (1.0,))
    with pytest.raises(ValueError, match="centers, radii and names must be one a layer, the names different"):
        LayerRange((0.0, 1.0), (1.0, 1.0), ("a", "a"))
    with pytest.raises(ValueError, match=r"radius must be a finite number > 0, got 0\.0"):
        LayerRange((0.0,), (0.0,))
    with pytest.raises(ValueError, match=r"weights\[1\] must be finite numbers"):
        LayerRange.of([[0.0, 1.0], [0.0, math.nan]])
    with pytest.raises(ValueError, match=r"weights\[0\] must have at least one weight"):
        LayerRange.of([np.zeros((0, 3))])


def test_a_range_that_the_client_chooses_is_given_away() -> None:
    """Every report of one layer of the pair is impossible for the other."""
    m = ClientRange(math.log(3))
    first, second = m.worst_pair()
    assert m.exact_epsilon() == math.inf
    assert m.implemented(8).exact_epsilon() == math.inf
    assert np.array_equal(m.delta([0.0, 1.0, 50.0]), np.ones(3))
    every = np.array(list(product(TwoPoint(m.epsilon).outputs(), repeat=2)))
    assert np.exp(m.log_prob(every, first)).sum() == pytest.approx(1.0, rel=1e-12)
    assert np.exp(m.log_prob(2 * every, second)).sum() == pytest.approx(1.0, rel=1e-12)
    assert np.all(m.log_prob(every, second) == -math.inf)
    assert m.mean(second) == pytest.approx(second, rel=1e-12)
    assert m.variance(second) == pytest.approx(np.array([12.0, 12.0]), rel=1e-12)


@together("bits", [None, 8, 64])
@together("kind", ["numpy", "torch"])
def test_the_clients_range_has_its_law(kind: str, bits: int | None) -> None:
    """False alarm 1e-6 a weight; with 20,000 draws a probability off by 0.03 is missed with a chance below 1e-3."""
    m, trials = ClientRange(1.0, bits), 20_000
    layer = np.array([4.0, 4.5, 6.0])
    if kind == "torch":
        tensor = torch.from_numpy(layer).float().expand(trials, 3)
        drawn = m.sample(tensor, rng=torch.Generator().manual_seed(1))
        assert drawn.dtype == torch.float32
        drawn = drawn.numpy()
        assert np.all(np.isfinite(m.log_prob(drawn[:50], layer.astype(np.float32))))
    else:
        drawn = m.sample(np.tile(layer, (trials, 1)), rng=np.random.default_rng(1))
        assert np.all(np.isfinite(m.log_prob(drawn[:50], layer)))
    low, high = 5 - 1 / math.tanh(0.5), 5 + 1 / math.tanh(0.5)
    for j in range(3):
        upper = (m.mean(layer)[j] - low) / (high - low)
        assert_frequency(int((drawn[:, j] > 5).sum()), trials, float(upper))


def test_a_client_cannot_take_the_range_of_equal_weights() -> None:
    m = ClientRange(1.0)
    with pytest.raises(ValueError, match="x must have no layer whose weights are all equal"):
        m.sample([[0.0, 1.0], [2.0, 2.0]], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"x must be layers of shape \(..., n\) with n >= 2"):
        m.sample([1.0], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="epsilon must be a finite number > 0, got 0"):
        ClientRange(0)
