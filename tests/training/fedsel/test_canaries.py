"""FedSel's canary finds what PE spends beyond its share, and noise that is too small; sound senders pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from ldp_audit.mechanisms import (
    CoordinateSampling,
    ExponentialSelection,
    Hybrid,
    PerturbedEncoding,
    PerturbedSampling,
    Piecewise,
    TwoPoint,
)
from ldp_audit.training.canary import Promise, canary_bounds
from ldp_audit.training.fedsel.canaries import user_canary
from ldp_audit.training.fedsel.senders import ByRank, ByTopSet, FlatSender, Sender, TwoStageSender, Uniform
from tests.together import together

ERROR = 1e-6
CPU = torch.device("cpu")


def bound(sender: Any, d: int, epsilon: float, *, epochs: int = 1, exact: float | None = None, samples: int = 10_000):
    promises = [Promise("paper", "the budget", epsilon)]
    promises += [] if exact is None else [Promise("exact", "what it has", exact)]
    made = user_canary(sender, d, epochs, tuple(promises), device=CPU)
    return canary_bounds(made, samples=samples, error=ERROR, seed=1)


def test_perturbed_encoding_as_published_breaks_its_budget_and_keeps_its_exact_epsilon():
    """Would catch a canary that is no worst pair: PE's excess at d = 2 is 0.52 of 4. Power: practically 1."""
    selection, value = PerturbedEncoding(2.0, 2, 1), Piecewise(2.0)
    exact = selection.exact_epsilon() + value.exact_epsilon()
    found = bound(TwoStageSender(ByTopSet(selection), value, 0.9), 2, 4.0, exact=exact, samples=60_000)
    assert [one["verdict"] for one in found["promised"]] == ["violated", "consistent"]
    assert 4.1 < found["epsilon_lower"] <= exact


@together(
    ("selection", "value"),
    [
        (ByTopSet(PerturbedEncoding.calibrated(1.0, 3, 1)), Piecewise(1.0)),
        (ByTopSet(PerturbedSampling(1.0, 3, 1)), Hybrid(1.0)),
        (ByRank(ExponentialSelection(1.0, 3)), TwoPoint(1.0)),
        (Uniform(3), TwoPoint(1.0)),
    ],
)
def test_sound_senders_keep_their_budget_and_most_of_it_is_found(selection, value):
    """Would catch a false alarm (rate 1e-6 each), and a statistic that sees one of the stages alone."""
    spent = (0.0 if isinstance(selection, Uniform) else selection.oracle().exact_epsilon()) + value.exact_epsilon()
    found = bound(TwoStageSender(selection, value), 3, spent, exact=spent, samples=3_000)
    assert found["verdict"] == "consistent"
    assert found["epsilon_lower"] > 1.0 if spent > 1.1 else found["epsilon_lower"] > 0.5


def test_the_observers_words_fit_the_number_of_reports():
    """Would catch "all 1 reports"."""
    sender = TwoStageSender(ByTopSet(PerturbedSampling(0.5, 2, 1)), TwoPoint(1.0))
    promises = (Promise("paper", "the budget", 1.5),)
    said = [user_canary(sender, 2, epochs, promises, device=CPU).observer for epochs in (1, 2)]
    assert [words.partition(": ")[2] for words in said] == ["the one report of one user", "all 2 reports of one user"]


def test_two_epochs_add_up():
    """Would catch that only one epoch's report is looked at: its epsilon is 1.5, of both 3. Power: practically 1."""
    sender = TwoStageSender(ByTopSet(PerturbedSampling(0.5, 2, 1)), TwoPoint(1.0))
    found = bound(sender, 2, 3.0, epochs=2, exact=3.0)
    assert 1.8 < found["epsilon_lower"] <= 3.0


@dataclass(frozen=True)
class TooLittleNoise(Sender):
    """A sender whose value has twice the epsilon that it says."""

    stages: TwoStageSender

    def send(self, now, before, generator):
        return self.stages.send(now, before, generator)


def test_a_value_with_twice_its_epsilon_is_caught():
    """Would catch a canary that believes the declared law. Power: practically 1."""
    found = bound(TwoStageSender(ByTopSet(PerturbedSampling(1.0, 4, 1)), Piecewise(2.0)), 4, 2.0, exact=2.0)
    assert found["verdict"] == "violated"
    hidden = bound(
        TooLittleNoise(TwoStageSender(ByTopSet(PerturbedSampling(1.0, 4, 1)), TwoPoint(4.0))), 4, 2.0, exact=2.0
    )
    assert hidden["verdict"] == "violated", "an unknown sender is audited by the sum of its reports"


@pytest.mark.slow
def test_a_value_that_is_sent_as_it_is_where_it_lies_outside_is_caught():
    """Would catch a canary inside the range, on which a missing clip does nothing."""

    sound = TwoStageSender(ByTopSet(PerturbedSampling(1.0, 4, 1)), TwoPoint(1.0))

    class NoClip(Sender):
        def send(self, now, before, generator):
            sent = sound.send(now, before, generator)
            return replace(sent, vectors=torch.where(sent.vectors != 0, now, sent.vectors))

    assert bound(NoClip(), 4, 2.0, exact=2.0, samples=500)["verdict"] == "violated"


def test_flat_senders_are_audited_too():
    """Would catch a canary for two stages alone."""
    found = bound(FlatSender(CoordinateSampling(TwoPoint, 2.0, 5)), 5, 2.0, exact=2.0, samples=5_000)
    assert found["verdict"] == "consistent"
    assert found["epsilon_lower"] > 1.2
