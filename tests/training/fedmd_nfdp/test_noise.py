"""FedMD-LDP: the noise meets the budget of all rounds, is drawn for each, and has the variance that it says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from ldp_audit.accounting import compose
from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.mechanisms import Gaussian, Laplace
from ldp_audit.training.fedmd_nfdp import spending
from ldp_audit.training.fedmd_nfdp.run import FedMdRun
from ldp_audit.training.streams import Streams
from tests.frequency import assert_frequency
from tests.together import together
from tests.training.fedmd_nfdp.small import images, run

BUDGET = {"budget_epsilon": 1.0, "budget_delta": 0.01}
BEYOND = {"gaussian": math.erfc(math.sqrt(0.5)), "laplace": math.exp(-1.0)}
"""The chance that noise is larger than sigma, or than the scale."""


def assert_budget_is_met(one: FedMdRun) -> None:
    """All queries of all rounds stay within the budget, and noise that is 1% smaller would not."""
    protocol = one.protocol()
    assert protocol is not None
    spent = account(protocol, delta=0.01).scopes[-1]
    assert spent.uses == one.rounds * one.plan.public_per_round
    assert spent.by_name[1] <= 1.0
    added = one.noise
    assert added is not None
    smaller = type(added)(_size(added) * 0.99, added.sensitivity)
    assert compose([(smaller, one.rounds * one.plan.public_per_round)]).epsilon_bounds(0.01)[0] > 1.0


def assert_noise_is_fresh(one: FedMdRun) -> None:
    """No two reports, of any party in any round, have the same noise."""
    drawn = torch.stack([report - score for report, score in reports(one)])
    for place, first in enumerate(drawn):
        for second in drawn[place + 1 :]:
            assert not torch.allclose(first, second, atol=0.01 * one.noise.variance(0.0) ** 0.5)  # type: ignore[union-attr]


def assert_noise_is_as_large_as_it_says(one: FedMdRun) -> None:
    """False-alarm rate 1e-6; a scale that is 5% off is found with probability 98% on these 24,000 numbers."""
    errors = torch.cat([(report - score).flatten() for report, score in reports(one)])
    assert len(errors) == 24_000
    assert one.noise is not None
    beyond = int((errors.abs() > _size(one.noise)).sum())
    assert_frequency(beyond, len(errors), BEYOND[one.plan.noise])
    assert_frequency(int((errors > 0).sum()), len(errors), 0.5)


@pytest.mark.parametrize(
    ("kind", "scores"),
    [
        ("gaussian", "softmax"),
        ("gaussian", "argmax"),
        ("gaussian", "logits"),
        ("laplace", "logits"),
        pytest.param("laplace", "softmax", marks=pytest.mark.slow),
        pytest.param("laplace", "argmax", marks=pytest.mark.slow),
    ],
)
def test_all_rounds_together_meet_the_budget(kind: str, scores: str) -> None:
    """Noise for one round, one query, or the wrong norm."""
    assert_budget_is_met(run(method="ldp", noise=kind, scores=scores, rounds=2, **BUDGET))


def test_noise_for_one_round_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above, seen to fail."""
    calibrated = spending.calibrated
    monkeypatch.setattr(
        spending, "calibrated", lambda kind, reach, queries, *budget: calibrated(kind, reach, queries // 2, *budget)
    )
    with pytest.raises(AssertionError):
        assert_budget_is_met(run(method="ldp", rounds=2, **BUDGET))


def test_without_a_budget_it_is_what_the_paper_states_for_nfdp() -> None:
    """Another k or n, or the exact pair (0, delta): the paper compares at its own."""
    one = run(method="ldp", k=5)
    added = one.noise
    assert added is not None
    epsilon, delta = 5 * math.log(25 / 24), 1 - (23 / 24) ** 5
    spent = compose([(added, 20)])
    assert epsilon * (1 - 1e-4) < spent.epsilon(delta) <= epsilon


@together("kind", ["gaussian", "laplace"])
def test_the_noise_is_as_large_as_it_says(kind: str) -> None:
    """Standard deviation for scale, noise on the mean instead of on each report, a missing sensitivity."""
    assert_noise_is_as_large_as_it_says(_many(kind))


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_noise_without_its_sensitivity_is_caught(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The check above, seen to fail."""
    noisy = spending.noisy

    def smaller(scores: torch.Tensor, added: Any, generator: torch.Generator) -> torch.Tensor:
        return noisy(scores, type(added)(_size(added) / added.sensitivity, 1.0), generator)

    monkeypatch.setattr(spending, "noisy", smaller)
    with pytest.raises(AssertionError):
        assert_noise_is_as_large_as_it_says(_many(kind))


def test_each_party_draws_its_noise_in_each_round() -> None:
    """One draw for all rounds, which averages away, or one for all parties."""
    assert_noise_is_fresh(run(method="ldp", rounds=3))


@dataclass(frozen=True)
class Forgetful(Streams):
    """forgotten: the place that the noise does not depend on, 0 for the round, 1 for the party."""

    forgotten: int

    def torch(self, purpose: str, *place: int, device: torch.device | str = "cpu") -> torch.Generator:
        if purpose == "noise":
            place = tuple(0 if index == self.forgotten else one for index, one in enumerate(place))
        return super().torch(purpose, *place, device=device)


@pytest.mark.parametrize("forgotten", [0, 1])
def test_noise_that_is_added_once_is_caught(forgotten: int) -> None:
    """The check above, seen to fail: streams that forget the round, or the party."""
    one = run(method="ldp", rounds=3)
    one.streams = Forgetful(one.streams.seed, forgotten)
    with pytest.raises(AssertionError):
        assert_noise_is_fresh(one)


def test_the_record_has_the_measured_and_the_exact_variance() -> None:
    """Variance over the wrong axes; of 90 numbers the measured one lies within a factor of 3 but with chance 1e-12."""
    one = run(method="ldp", noise="gaussian")
    record = one.advance(1)["noise"]
    assert one.noise is not None
    assert record["exact_variance"] == pytest.approx(float(one.noise.variance(0.0)))
    assert record["numbers"] == 90
    assert 1 / 3 < record["measured_variance"] / record["exact_variance"] < 3
    assert record["chance"] == pytest.approx(1 / 3)


@together(
    ("kind", "scores", "expected"),
    [
        ("gaussian", "argmax", math.sqrt(2)),
        ("laplace", "argmax", 2.0),
        ("gaussian", "softmax", math.sqrt(2)),
        ("laplace", "softmax", 2.0),
        ("gaussian", "logits", 6.0),
        ("laplace", "logits", 6.0),
    ],
)
def test_no_two_reports_are_further_apart_than_the_sensitivity(kind: str, scores: str, expected: float) -> None:
    """The norms swapped, and float32 vectors that are longer than the ideal ones."""
    reach = spending.sensitivity(kind, scores, clip_norm=3.0)
    assert expected <= reach <= expected * (1 + 1e-4)
    generator = torch.Generator().manual_seed(3)
    outputs = torch.randn(400, 7, generator=generator) * torch.logspace(-2, 3, 400)[:, None]
    if scores == "logits":
        sent, share = spending.bounded(outputs, kind, 3.0)
        assert 0.3 < share < 1
    else:
        sent = torch.softmax(outputs, dim=1)
        if scores == "argmax":
            sent = torch.eye(7)[outputs.argmax(dim=1)]
    distances = torch.cdist(sent.double(), sent.double(), p=2.0 if kind == "gaussian" else 1.0)
    assert float(distances.max()) <= reach
    assert float(distances.max()) > 0.6 * reach


def test_short_logits_are_sent_as_they_are() -> None:
    """Scaling that lengthens, and a zero that becomes NaN."""
    outputs = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    sent, share = spending.bounded(outputs, "gaussian", 5.0)
    torch.testing.assert_close(sent, torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]]))
    assert share == pytest.approx(1 / 3)


def reports(one: FedMdRun) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each report of a run, and the scores that it hides."""
    found: list[tuple[torch.Tensor, torch.Tensor]] = []
    noisy = spending.noisy

    def kept(scores: torch.Tensor, added: Any, generator: torch.Generator) -> torch.Tensor:
        found.append((noisy(scores, added, generator), scores))
        return found[-1][0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spending, "noisy", kept)
        for number in range(1, one.rounds + 1):
            one.advance(number)
    return found


def _many(kind: str) -> FedMdRun:
    """A run of 2 parties, 30 rounds and 400 numbers a report, that learns next to nothing."""
    return run(
        images(per_class=25, classes=8),
        method="ldp",
        noise=kind,
        parties=2,
        public_classes=4,
        rounds=30,
        public_per_round=100,
        pretrain_epochs=0,
        private_epochs=0,
        digest_epochs=0,
        revisit_epochs=0,
        **BUDGET,
    )


def _size(added: Gaussian | Laplace) -> float:
    return added.sigma if isinstance(added, Gaussian) else added.scale
