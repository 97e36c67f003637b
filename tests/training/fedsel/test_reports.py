"""The reports of every solution: their exact law, their means, and what planted bugs do to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import TwoStage
from ldp_audit.training.fedsel.senders import (
    MECHANISMS,
    ByTopSet,
    Largest,
    Reports,
    Sender,
    TwoStageSender,
    Uniform,
    second_moment,
    selection_of,
)
from ldp_audit.training.fedsel.solution import NAMES, SELECTIONS, VALUES, solution
from tests.together import together
from tests.training.fedsel.tiny import far_from_mean, started, table

VECTOR = torch.tensor([0.9, -0.3, 0.05, 2.0, -0.6])
"""One coordinate lies outside [-1, 1]."""

DRAWS = 8000


def sender_of(name: str, **settings: object) -> Sender:
    return started(table(d=5), repeats=1, solution=name, epsilon=3.0, k=2, ratio=0.6, **settings).senders[0]


def drawn(sender: Sender, before: torch.Tensor | None = None) -> Reports:
    rows = VECTOR.expand(DRAWS, -1)
    return sender.send(rows, before, torch.Generator().manual_seed(5))


@together("name", NAMES)
def test_reports_have_the_stated_means_and_variances(name: str) -> None:
    """Catches a wrong scale, selection law or second moment, and a lost clip. False alarms: 2e-6, by Bernstein.

    A square's variance is at most the largest square times its mean. Power: laws with twice the second moment are told
    apart in every case.
    """
    sent = drawn(sender_of(name))
    mean, variance = sent.mean[0].double(), sent.variance[0].double()
    assert not far_from_mean(sent.vectors, mean, variance)
    square, expected = sent.vectors.double() ** 2, variance + mean**2
    assert not far_from_mean(square, expected, expected * square.max())
    assert far_from_mean(square, 2 * expected, 2 * expected * square.max())


@together("name", ["NP", "NP-RS", *VALUES])
def test_flat_reports_are_unbiased(name: str) -> None:
    """Catches a missing d / k: the mean is the (clipped) vector itself."""
    sent = drawn(sender_of(name, coordinates=2 if name in VALUES else None))
    expected = VECTOR if name.startswith("NP") else VECTOR.clamp(-1, 1)
    torch.testing.assert_close(sent.mean[0], expected)
    assert not far_from_mean(sent.vectors, expected.double(), sent.variance[0].double())
    if name != "NP":
        assert far_from_mean(sent.vectors / 2.5, expected.double(), sent.variance[0].double())


@together("selection", SELECTIONS)
@together("value", VALUES)
def test_two_stages_have_the_law_of_the_mechanisms(selection: str, value: str) -> None:
    """Catches a law that was written down twice and differs: `TwoStage` has it symbolically."""
    chosen, perturbs = selection_of(selection, 0.4, 5, 2, corrected=False), MECHANISMS[value](1.3)
    generator, rows = torch.Generator().manual_seed(1), torch.randn(7, 5, generator=torch.Generator().manual_seed(2))
    sent = TwoStageSender(chosen, perturbs).send(rows, None, generator)
    law = TwoStage(chosen.oracle(), perturbs, clip=True)
    np.testing.assert_allclose(sent.mean, law.mean(rows.numpy()), rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(sent.variance, law.variance(rows.numpy()), rtol=2e-6, atol=1e-6)


def test_momentum_is_added_after_the_selection_and_before_the_clip() -> None:
    """Catches a selection that sees the momentum, and a momentum of the new gradient."""
    before = torch.tensor([[0.0, 10.0, 0.0]])
    now = torch.tensor([[3.0, 0.5, 0.1]])
    sent = TwoStageSender(Largest(), None, 0.5).send(now, before, torch.Generator())
    assert sent.vectors.tolist() == [[3.0, 0.0, 0.0]]
    sent = TwoStageSender(Largest(), None, 0.5).send(now, before.roll(-1, 1), torch.Generator())
    assert sent.vectors.tolist() == [[8.0, 0.0, 0.0]]


def test_without_a_budget_the_selection_is_uniform() -> None:
    """Catches a mu of 0 that fails, or that looks at the vector."""
    assert selection_of("PE", 0.0, 4, 1, corrected=True) == Uniform(4)
    inputs = Uniform(4).input_of(VECTOR[:4])
    assert Uniform(4).probabilities(inputs).tolist() == [0.25] * 4


def test_values_outside_are_counted_as_clipped() -> None:
    """Catches a rate over all coordinates, and one that counts reports of nothing."""
    sent = drawn(sender_of("PE-PM"))
    assert sent.index is not None
    assert sent.clipped is not None
    assert (sent.clipped == (sent.index == 3)).all()
    assert bool((sent.index == -1).any())
    assert bool(sent.clipped.any())


class SmallestIndex(ByTopSet):
    """PE that reports the first index of the set instead of a uniform one."""

    def draw(self, inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return inputs.to(torch.uint8).argmax(-1)


def test_a_planted_selection_of_the_smallest_index_is_caught() -> None:
    """The mean test sees it."""
    sender = sender_of("PE-PM")
    assert isinstance(sender, TwoStageSender)
    assert isinstance(sender.selection, ByTopSet)
    sent = drawn(replace(sender, selection=SmallestIndex(sender.selection.mechanism, sender.selection.none)))
    assert far_from_mean(sent.vectors, sent.mean[0].double(), sent.variance[0].double())


def test_a_planted_value_that_is_not_clipped_is_refused() -> None:
    """Without the clip, PM would show how far a value lies outside: the mechanism refuses such a value."""
    sender = sender_of("PS-PM")
    assert isinstance(sender, TwoStageSender)
    with pytest.raises(ValueError, match=r"must lie in \[-1.0, 1.0\]"):
        sender.value.sample(VECTOR, rng=torch.Generator().manual_seed(5))


def test_a_variance_of_another_form_is_refused() -> None:
    """Catches a value mechanism whose exact variance would be stated wrongly."""

    class Odd:
        def variance(self, x: float) -> float:
            return 1 + x**4

    with pytest.raises(ValueError, match="variance of the form"):
        second_moment(Odd())


def test_names_that_are_none_are_refused() -> None:
    """Catches a solution that is quietly another one."""
    for name in ("", "ps-pm", "PS-PM-C-O", "NP-PM", "PM-C"):
        with pytest.raises(ValueError, match="solution must be"):
            solution(name)
