"""The parts of LDP-FL's rounds: plans, ranges, blocks of clients, and what a run spends."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from ldp_audit.accounting.protocols.paper_claims import installed
from ldp_audit.accounting.protocols.protocol import Shuffling
from ldp_audit.mechanisms import TwoPoint
from ldp_audit.training.ldp_fl import reports
from ldp_audit.training.ldp_fl.moments import TwoPointMoments
from ldp_audit.training.ldp_fl.plan import LdpFl
from ldp_audit.training.ldp_fl.run import AdaptiveRule, fixed_ranges, layers_of, noise_variance
from tests.together import together
from tests.training.ldp_fl.small import run

MOMENTS = AdaptiveRule("moments", 2.0, 0.01, 1.0)


@together(
    ("settings", "message"),
    [
        ({"n": 0}, "n must be a whole number >= 1, got 0"),
        ({"rounds": 2.5}, "rounds must be a whole number >= 1, got 2.5"),
        ({"epochs": True}, "epochs must be a whole number >= 1, got True"),
        ({"chunk": 0}, "chunk must be a whole number >= 1, got 0"),
        ({"epsilon": 0.0}, r"epsilon must be a number in \[1e-12, 700\], or inf, got 0.0"),
        ({"epsilon": 800.0}, r"epsilon must be a number in \[1e-12, 700\], or inf, got 800.0"),
        ({"epsilon": math.nan}, r"epsilon must be a number in \[1e-12, 700\], or inf, got nan"),
        ({"fraction": 0.0}, r"fraction must be a number in \(0, 1\], got 0.0"),
        ({"fraction": 1.1}, r"fraction must be a number in \(0, 1\], got 1.1"),
        ({"epsilon": 5e-324}, r"epsilon must be a number in \[1e-12, 700\], or inf, got 5e-324"),
        ({"center": math.inf}, r"center must be a number in \[-1e10, 1e10\], got inf"),
        ({"radius": 0.0}, r"radius must be a number in \[1e-10, 1e10\], got 0.0"),
        ({"radius": 1e-300}, r"radius must be a number in \[1e-10, 1e10\], got 1e-300"),
        (
            {"ranges": "fixed", "center": 1000.0, "radius": 1e-6},
            "center must be within 10000 radii of 0, .*, got 1000.0 with radius 1e-06",
        ),
        ({"most": 1e308}, r"most must be a number in \[1e-10, 1e10\], got 1e\+308"),
        ({"learning_rate": "fast"}, "learning_rate must be a finite number > 0, got 'fast'"),
        ({"ranges": "wide"}, "ranges must be one of fixed, adaptive, own, got 'wide'"),
        ({"rule": "range"}, "rule must be one of moments, extremes, got 'range'"),
        ({"scheme": "iids"}, "scheme must be one of iid, shards, writers, got 'iids'"),
        ({"least": 2.0}, "most must be >= least = 2.0, got 1.0"),
        ({"perturb": 1}, "perturb must be true or false, got 1"),
        ({"model": ""}, "model must be a name, got ''"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    """A run that fails late, or trains something else."""
    with pytest.raises(ValueError, match=f"^{message}$"):
        LdpFl(**settings)


@together("model", ["deeper", "nowhere:build"])
def test_an_unknown_model_is_refused_at_the_start(model: str) -> None:
    """Names that no list holds."""
    with pytest.raises(ValueError, match="model"):
        run(model=model)


def test_weights_and_biases_of_a_module_share_a_range() -> None:
    """A radius of its own for every bias, from one or two numbers."""
    assert layers_of(["a.weight", "a.bias", "b.weight"]) == [["a.weight", "a.bias"], ["b.weight"]]
    found = MOMENTS.ranges({"a.weight": torch.tensor([0.1, 0.3]), "a.bias": torch.tensor([0.2, 0.2])})
    assert found.centers == pytest.approx((0.2, 0.2))
    assert found.radii == pytest.approx((2 * math.sqrt(0.005),) * 2)


def test_extremes_are_the_middle_and_half_of_what_lies_between() -> None:
    """The plain reading of Algorithm 1, line 13."""
    found = AdaptiveRule("extremes", 2.0, 0.01, 1.0).ranges({"a.weight": torch.tensor([-0.1, 0.3])})
    assert (found.centers[0], found.radii[0]) == pytest.approx((0.1, 0.2))


@together("rule", ["moments", "extremes"])
def test_radii_stay_between_least_and_most(rule: str) -> None:
    """Ranges that collapse on a constant layer, or grow with the noise without end."""
    kept = AdaptiveRule(rule, 2.0, 0.01, 1.0)
    found = kept.ranges({"a.weight": torch.zeros(5), "b.weight": torch.tensor([-50.0, 80.0])})
    assert found.radii == (0.01, 1.0)


def test_the_noise_in_an_average_is_estimated_without_bias() -> None:
    """Adaptive ranges that follow the noise. 4e5 weights: the estimate is within 1 % (6 standard deviations: 1.4 %)."""
    generator = torch.Generator().manual_seed(2)
    true = torch.empty(400_000).uniform_(-0.1, 0.1, generator=generator)
    ranges = fixed_ranges({"a": true}, 0.0, 0.2)
    sent = sum(TwoPoint(1.0, 0.0, 0.2).sample(true, rng=generator).double() for _ in range(10)) / 10
    assert isinstance(sent, torch.Tensor)
    exact = float(((0.2 / math.tanh(0.5)) ** 2 - true.double().square()).mean()) / 10
    assert noise_variance({"a": sent}, ranges, TwoPointMoments(1.0), 10)["a"] == pytest.approx(exact, rel=0.014)
    spread = float(sent.var(correction=0)) - exact
    assert spread == pytest.approx(0.01 / 3, rel=0.05)
    assert noise_variance({"a": sent}, ranges, None, 10) == {"a": 0.0}


def test_blocks_are_the_same_however_clients_come() -> None:
    """Noise that depends on the strategy's chunks; clients that are lost or repeated between two chunks."""
    rows = torch.arange(10.0)[:, None]

    def in_chunks(sizes: list[int]) -> list[list[float]]:
        chunks = [(torch.arange(len(part)), {"a": part}) for part in rows.split(sizes)]
        return [block["a"][:, 0].tolist() for block in reports.blocks(chunks, 4)]

    wanted = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert all(in_chunks(sizes) == wanted for sizes in ([10], [1] * 10, [4, 4, 2], [3, 6, 1], [9, 1]))


def test_a_report_is_one_of_two_values_of_its_layer() -> None:
    """Reports of another layer's range; weights beyond the range must be clipped first."""
    ranges = MOMENTS.ranges({"a.weight": torch.tensor([0.1, 0.3]), "b.weight": torch.tensor([-0.4, 0.1])})
    weights = {"a.weight": torch.full((9, 2), 5.0), "b.weight": torch.full((9, 2), -0.2)}
    sent = reports.reports(weights, ranges, 0.7, torch.Generator().manual_seed(1))
    for name, mechanism in ranges.mechanism(0.7).items():
        low, high = mechanism.outputs()
        assert set(sent[name].flatten().tolist()) <= {float(torch.tensor(low)), float(torch.tensor(high))}


def test_a_run_spends_every_weight_in_every_round() -> None:
    """d, rounds, or the chosen clients mistaken for another; a baseline that claims privacy."""
    one = run(n=10, fraction=0.3, rounds=2, epsilon=0.4)
    protocol = one.protocol()
    assert protocol is not None
    (step,) = protocol.steps
    assert protocol.times(step) == 2 * one.dimensions
    assert one.dimensions == sum(p.numel() for p in one.model.parameters())
    assert (step.mechanism, step.shuffling, protocol.paper) == (TwoPoint(0.4), Shuffling(3), installed("ldp-fl"))
    assert step.sampling is None
    assert any("amplifies nothing" in note for note in protocol.notes)
    assert run(epsilon=math.inf).protocol() is None
    assert run(perturb=False).protocol() is None
