"""LDP-FL with any mechanism of one number: what it spends, what its measures say, what its canary finds."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.accounting import compose
from ldp_audit.accounting.privacy_loss import privacy_loss
from ldp_audit.mechanisms import Gaussian, Laplace, Piecewise
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.values.layer_range import LayerRange
from ldp_audit.training.canary import audit_run
from ldp_audit.training.figures import layer_figure
from ldp_audit.training.ldp_fl.moments import TwoPointMoments, ValueMoments, moments_of
from ldp_audit.training.ldp_fl.run import noise_variance
from ldp_audit.training.ldp_fl.value_noise import perturbed, value_mechanism
from ldp_audit.training.spend import DELTA, spend_of
from tests.together import together
from tests.training.ldp_fl.small import CPU, finished, images, plan, run

BY_NAME = ["TwoPoint", "Piecewise", "Laplace", "Hybrid"]
SETTINGS: list[dict[str, Any]] = [
    *({"mechanism": name, "epsilon": 2.0} for name in BY_NAME),
    {"mechanism": "Gaussian(sigma=1)", "epsilon": None},
    {"mechanism": "Laplace(scale=0.8, sensitivity=2)", "epsilon": None},
]
SLOWLY = [pytest.param(one, marks=[] if number % 2 == 0 else pytest.mark.slow) for number, one in enumerate(SETTINGS)]
"""Each second one in CI: the paper's, Laplace noise, Gaussian noise."""
FALSE_ALARM = 1e-6
"""Of each statistical test here, by its bound on standard deviations (of sums of hundreds of reports: six)."""


@dataclass(frozen=True, repr=False)
class Silent(Gaussian):
    """A broken client's: it says that it adds noise, and adds none."""

    def sample(self, x: Any, *, rng: Any) -> Any:
        return x


SILENT = Silent(3.0)


@together("settings", SETTINGS)
def test_a_round_s_noise_is_the_mechanism_s(settings: dict[str, Any]) -> None:
    """Six standard deviations: chance 1e-6 over all layers. Would catch a scale, a middle or a variance of its own."""
    _, records = finished(**settings, model="mlp", ranges="fixed", radius=0.1, rounds=1, epochs=1)
    for layer in records[0]["layers"].values():
        assert abs(layer["bias_z"]) < 6
        assert abs(layer["variance_z"]) < 6
        assert layer["bias_exact"] == pytest.approx(0, abs=1e-12)
        assert ("lemma_3" in layer) == (settings["mechanism"] == "TwoPoint")


@pytest.mark.parametrize("settings", SLOWLY)
def test_the_spend_is_that_of_all_reports(settings: dict[str, Any]) -> None:
    """Pure: T d epsilon. Gaussian: one report of sqrt(T d) times the sensitivity."""
    one = run(**settings, model="softmax")
    spent, uses = spend_of(one)["everything"], 2 * one.dimensions  # type: ignore[index]
    assert spent["uses"] == uses
    if "Gaussian" in settings["mechanism"]:
        by_hand = privacy_loss(Gaussian(1.0, math.sqrt(uses))).epsilon(DELTA)
        assert spent["by_name"][1] == pytest.approx(by_hand, rel=1e-9)
        assert spent["shuffled"] is None
    else:
        assert spent["pure"] == pytest.approx(uses * (settings["epsilon"] or 2 / 0.8), rel=1e-12)
        assert spent["shuffled"][1] <= spent["by_name"][1]


@pytest.mark.parametrize("settings", SLOWLY[1:5])
def test_the_canary_stays_below_what_a_round_spends(settings: dict[str, Any]) -> None:
    found = audit_run(plan(**settings, model="softmax", n=3, rounds=1, epochs=1), images(), 3, samples=500, device=CPU)
    assert [one["verdict"] for one in found["observers"]] == ["consistent", "consistent"]
    linked, single = found["observers"]
    reported = value_mechanism(settings["mechanism"], settings["epsilon"])
    whole = compose([(privacy_loss(reported, "replace" if "a" in settings["mechanism"] else None), 195)])
    assert 1 < linked["epsilon_lower"] < whole.epsilon(DELTA)
    assert single["epsilon_lower"] > 0.1


def test_a_run_without_noise_is_named_by_its_figure_and_its_canary() -> None:
    """A mechanism that says a standard deviation of 3 and adds nothing."""
    settings = {"mechanism": f"{__name__}:SILENT", "epsilon": None, "model": "softmax"}
    _, records = finished(**settings)
    assert {layer["variance"] < 1e-9 for layer in records[-1]["layers"].values()} == {True}
    runs = [{"settings": {}, "seed": 1, "rounds": records}]
    figure = layer_figure({"runs": runs, "points": []})
    assert figure is not None
    assert "NO NOISE AT ALL in output.weight:" in figure.caption
    found = audit_run(plan(**settings, n=3, rounds=1), images(), 3, samples=1_000, device=CPU)
    linked, single = found["observers"]
    assert single["verdict"] == "violated"
    assert (
        linked["epsilon_lower"] > 0.99 * linked["most_that_could_be_seen"]
    )  # far below what 195 right reports may spend


def test_the_figure_says_nothing_of_the_kind_of_a_right_gaussian() -> None:
    _, records = finished(mechanism="Gaussian(sigma=3)", epsilon=None, model="softmax")
    figure = layer_figure({"runs": [{"settings": {}, "seed": 1, "rounds": records}], "points": []})
    assert figure is not None
    assert "NO NOISE" not in figure.caption
    assert "Beyond three standard deviations: 0 of 2" in figure.caption
    assert "Lemma 3" not in figure.caption


@together(
    ("settings", "message"),
    [
        ({"mechanism": "Gaussian"}, "give its parameters, as in Gaussian(sigma=3)"),
        ({"mechanism": "Gaussian(sigma=3)"}, "epsilon must be none where mechanism 'Gaussian(sigma=3)' has parameters"),
        ({"mechanism": "Laplace", "epsilon": None}, "epsilon must be a number where mechanism 'Laplace' has none"),
        ({"mechanism": "RandomizedResponse(1, k=4)", "epsilon": None}, "mechanism must be a Mechanism of one number"),
        (
            {"mechanism": "math:pi", "epsilon": None},
            "mechanism must be a Mechanism of one number, with a mean and a variance, got",
        ),
        ({"mechanism": "Nonsense"}, "mechanism must be one of one number, got 'Nonsense'"),
        ({"mechanism": ""}, "mechanism must be a text such as TwoPoint or Gaussian(sigma=3), got ''"),
        ({"mechanism": "Piecewise", "privacy": "central"}, "privacy central has no reports by clients, got mechanism"),
    ],
)
def test_a_bad_mechanism_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"must be|has no") as error:
        plan(**settings)
    assert message in str(error.value)


def test_the_two_forms_of_the_paper_s_mechanism_have_the_same_moments() -> None:
    """The closed forms, against the mechanism's own variance and the fourth cumulant that draws estimate."""
    position = torch.linspace(-1, 1, 9, dtype=torch.float64)
    exact = moments_of(value_mechanism("TwoPoint", 1.3))
    assert isinstance(exact, TwoPointMoments)
    drawn = ValueMoments(value_mechanism("TwoPoint", 1.3))
    for one, other, slack in zip(exact.at(position), drawn.at(position), (1e-12, 1e-12, 0.15), strict=True):
        torch.testing.assert_close(one, other, atol=slack * float(exact.at(position)[1].max()) ** 2, rtol=0)


def test_fourth_cumulants_are_those_of_laplace_and_gaussian_noise() -> None:
    """12 b^4, and 0; draws of an eighth moment of 40,320 b^8: six standard deviations are a third of 12."""
    laplace = ValueMoments(Laplace(0.5, 2.0, 2.0)).at(torch.zeros(1))[2]
    assert float(laplace) == pytest.approx(12 * 0.5**4, rel=6 * 200 / 12 / math.sqrt(2**14) / 2)
    gaussian = ValueMoments(Gaussian(0.5, 2.0, 2.0)).at(torch.zeros(1))[2]
    assert float(gaussian) == pytest.approx(0, abs=6 * math.sqrt(96 + 72) * 0.5**4 / math.sqrt(2**14))


def test_reports_keep_shape_dtype_and_seed() -> None:
    ranges = LayerRange((0.1,), (0.5,), ("w",))
    weights = {"w": torch.linspace(-2, 2, 24).reshape(2, 3, 4)}
    mechanism = value_mechanism("Piecewise", 1.0)
    one, other = (perturbed(weights, ranges, mechanism, torch.Generator().manual_seed(5))["w"] for _ in range(2))
    assert (one.shape, one.dtype) == ((2, 3, 4), torch.float32)
    assert torch.equal(one, other)


def test_noise_is_replaced_within_its_sensitivity() -> None:
    """A local report of noise: any weight of the range may be replaced by any other, one sensitivity away."""
    found = value_mechanism("Gaussian(sigma=3, sensitivity=2)", None)
    assert dataclasses.asdict(found)["replaced"] == 2.0  # type: ignore[call-overload]
    assert np.ptp(found.domain()) == 2.0


@dataclass(frozen=True, repr=False)
class WithoutVariance(Piecewise):
    """Of which the base class would give the mean for the variance."""

    variance = Mechanism.variance


NO_VARIANCE = WithoutVariance(1.0)


def test_a_mechanism_without_a_variance_of_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match="mechanism must be a Mechanism of one number, with a mean and a variance"):
        plan(mechanism=f"{__name__}:NO_VARIANCE", epsilon=None)


@pytest.mark.parametrize("replaced", ["", ", replaced=0.5", ", replaced=2"])
def test_what_a_sum_s_replaced_record_does_is_nothing_to_a_weight(replaced: str) -> None:
    """A weight of the range is replaced by any other, whatever the mechanism says of sums."""
    assert value_mechanism(f"Gaussian(sigma=3, sensitivity=1{replaced})", None).replaced == 1.0  # type: ignore[attr-defined]


def test_reports_beyond_the_largest_epsilon_are_accounted_for_by_name() -> None:
    one = run(mechanism="Laplace(0.001)", epsilon=None, model="softmax")
    spent = spend_of(one)["everything"]  # type: ignore[index]
    assert spent["pure"] == 2 * one.dimensions * 1000
    assert spent["shuffled"] is None


@together("name", ["TwoPoint", "Piecewise", "Laplace", "Hybrid"])
def test_the_noise_in_an_average_is_estimated_without_bias(name: str) -> None:
    """Weights of 20,000 ids with a spread of 0.3, two clients: six standard deviations of their squares' mean."""
    reported, generator = value_mechanism(name, 1.0), torch.Generator().manual_seed(3)
    ranges = LayerRange((0.0,), (1.0,), ("w",))
    true = {"w": (0.3 * torch.randn(1, 20_000, generator=generator)).clamp(-1, 1).expand(2, -1)}
    averages = {"w": perturbed(true, ranges, reported, generator)["w"].double().mean(0)}
    exact = float(moments_of(reported).at(true["w"].double())[1].mean()) / 2
    found = noise_variance(averages, ranges, moments_of(reported), 2)["w"]
    assert found == pytest.approx(exact, rel=0.07)


def test_a_layer_whose_noise_seldom_shows_is_not_accused() -> None:
    """At epsilon 17 clipped weights report their nearer end: the variance is that of flips that seldom come."""
    layer = {"variance": 8.6e-24, "variance_exact": 8.3e-17, "variance_sd": 2.9e-14, "weights": 10}
    loud = {"variance": 1e-4, "variance_exact": 1e-4, "variance_sd": 1e-5, "weights": 100}
    runs = [{"settings": {}, "seed": 1, "rounds": [{"round": 1, "accuracy": 1.0, "layers": {"a": layer, "b": loud}}]}]
    figure = layer_figure({"runs": runs, "points": []})
    assert figure is not None
    assert "NO NOISE" not in figure.caption
