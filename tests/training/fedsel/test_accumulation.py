"""What users have not sent: the reset at the reported index, and none where nothing was reported."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ldp_audit.training.fedsel import run as accumulation
from ldp_audit.training.fedsel import run as run_module
from ldp_audit.training.fedsel.run import FedSelRun, after_report, unsent
from ldp_audit.training.fedsel.senders import Reports
from tests.together import together
from tests.training.fedsel.tiny import started, table, trained


def test_the_reported_coordinate_starts_anew_and_nothing_else() -> None:
    """Catches a reset of all, of none, of the wrong one, and a reset where nothing was reported."""
    ones = torch.ones(3, 2)
    found = unsent([(ones, torch.tensor([0, 1, -1])), (2 * ones, torch.tensor([1, 1, 0]))])
    assert found is not None
    assert found.tolist() == [[2.0, 0.0], [3.0, 0.0], [0.0, 3.0]]
    assert unsent([]) is None


class Ledger:
    """A sender that passes everything on and keeps, user by user, what Algorithm 1 says that r must be."""

    def __init__(self, run: FedSelRun) -> None:
        self.inner, self.run, self.wrong, self.none = run.senders[0], run, 0, 0
        self.unsent = torch.zeros(len(run.models), run.users, run.d)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:
        number = self.run.done  # the round is not over yet
        epoch, place = divmod(number, self.run.per_epoch)
        edges = self.run.edges
        users = self.run.order_of(epoch)[:, int(edges[place]) : int(edges[place + 1])]
        models = torch.arange(len(self.run.models))[:, None]
        expected = self.unsent[models, users]
        given = torch.zeros_like(now) if before is None else before
        self.wrong += not torch.allclose(given, expected, atol=1e-6)
        sent = self.inner.send(now, before, generator)
        assert sent.index is not None
        index = sent.index[..., 0]
        kept = expected + (now - given)
        for b in range(kept.shape[0]):
            for u in range(kept.shape[1]):
                if index[b, u] >= 0:
                    kept[b, u, index[b, u]] = 0
        self.none += int((index < 0).sum())
        self.unsent[models, users] = kept
        return sent


def mistakes(**settings: object) -> Ledger:
    run = started(table(40, d=2), repeats=1, epochs=3, share=0.25, epsilon=6.0, k=1, penalty=0.1, **settings)
    ledger = Ledger(run)
    run.senders = [ledger]
    trained(run)
    return ledger


@together("solution", ["PE-PM", "PS-DUCHI-O", "EXP", "NP-K"])
def test_what_is_computed_again_is_what_a_user_would_have_kept(solution: str) -> None:
    """Catches wrong past weights, wrong orders of past epochs, and lost rounds: an explicit r is kept beside."""
    ledger = mistakes(solution=solution)
    assert ledger.wrong == 0
    assert (ledger.none > 0) == (solution == "PE-PM")


def never(accumulated: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return accumulated


def on_none_too(accumulated: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return after_report(accumulated, index.clamp(min=0))


@pytest.mark.parametrize("bug", [never, on_none_too])
def test_planted_bugs_of_the_reset_are_caught(
    bug: Callable[..., torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger sees a state that is not reset, and one that is reset where PE reported none."""
    monkeypatch.setattr(accumulation, "after_report", bug)
    assert mistakes(solution="PE-PM").wrong > 0


def test_a_planted_loss_of_the_state_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger sees users that forget what they did not send."""
    monkeypatch.setattr(run_module, "unsent", lambda past: None)
    assert mistakes(solution="PS-PM").wrong > 0
