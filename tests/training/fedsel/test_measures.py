"""What is measured of a round of sparse reports."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ldp_audit.mechanisms import Piecewise
from ldp_audit.training.fedsel.measures import RoundSums, as_layer, bias, share, variance
from ldp_audit.training.fedsel.senders import Reports, TwoStageSender
from tests.together import together
from tests.training.fedsel.tiny import started, table

CPU = torch.device("cpu")


def test_bias_is_the_share_of_the_true_mean_that_is_missing() -> None:
    """Catches a bias of the wrong sign or scale; models whose true mean is 0 are left out."""
    truth = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    found = bias(0.5 * truth, torch.zeros_like(truth), truth)
    assert found["measured"] == pytest.approx(-0.5)
    assert found["exact"] == pytest.approx(-1.0)
    assert found["distance"] == pytest.approx(1.0)
    assert bias(truth[1:2], truth[1:2], truth[1:2])["exact"] is None


def test_one_model_has_no_standard_error() -> None:
    """Catches a NaN in a record."""
    one = torch.ones(1, 2, dtype=torch.float64)
    assert variance(one, 0 * one, 2 * one) == {"measured": 2.0, "exact": 4.0, "standard_error": None}


def test_a_layers_measures_are_those_of_one_number() -> None:
    """Catches sums beside means: the figure of layers compares means."""
    found = as_layer({"measured": 6.0, "exact": 3.0, "standard_error": 1.5}, 3)
    assert found == {"weights": 3, "variance": 2.0, "variance_exact": 1.0, "variance_sd": 0.5}
    assert as_layer({"measured": 6.0, "exact": 3.0, "standard_error": None}, 3) == {"weights": 3}


def test_sums_count_reports_of_nothing_and_clipped_ones() -> None:
    """Catches rates over the wrong number."""
    sums = RoundSums(2, 3, 3, CPU)
    ones, index = torch.ones(2, 4, 3), torch.tensor([[[0], [1], [-1], [2]]] * 2)
    sums.add(slice(0, 2), ones, (ones, ones), ones, index=index, clipped=index == 1)
    assert (sums.reported, sums.empty, sums.clipped) == (8, 2, 2)
    assert (sums.reports == 4).all()
    assert share(sums.empty, sums.reported) == 0.25
    assert share(0, 0) == 0.0


@together("solution", ["PS-PM", "PE-DUCHI", "EXP-HM", "PM", "NP-RS", "PM-RP", "PE"])
def test_measured_and_exact_agree_in_a_run(solution: str) -> None:
    """Catches a run that reports otherwise than its law: the differences are within 7 of their standard errors.

    These are estimated from 40 models: Student's t with 39 degrees of freedom is beyond 7 with chance 2e-8, in each of
    4 rounds and for both numbers 2e-7 together.
    """
    run = started(table(300, d=6), solution=solution, repeats=20, folds=2, share=0.25, epsilon=3.0)
    for number in range(1, run.rounds + 1):
        record = run.advance(number)
        for name in ("bias", "variance"):
            found = record[name]
            assert abs(found["measured"] - found["exact"]) <= 7 * found["standard_error"] + 1e-12, (name, found)
        assert (record["nothing"]["exact"] > 0) == solution.startswith("PE")


class OtherBudget:
    """A sender that perturbs values with a budget of 1, and states the mean and the variance of its own budget."""

    def __init__(self, inner: TwoStageSender) -> None:
        self.inner, self.wrong = inner, replace(inner, value=Piecewise(1.0))

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:
        stated = self.inner.send(now, before, generator)
        return replace(self.wrong.send(now, before, generator), mean=stated.mean, variance=stated.variance)


def test_a_planted_wrong_law_is_seen() -> None:
    """The same comparison fails where values are perturbed with another budget than the law says: power 1, nearly."""
    run = started(table(300, d=6), solution="PS-PM", repeats=20, folds=2, share=0.125, epsilon=3.0)
    run.senders[0] = OtherBudget(run.senders[0])
    found = run.advance(1)["variance"]
    assert abs(found["measured"] - found["exact"]) > 7 * found["standard_error"]
