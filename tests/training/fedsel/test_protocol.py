"""What a run says that it spends: the papers' protocols, and the mechanisms that it really draws from."""

from __future__ import annotations

import pytest

from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.training.fedsel.senders import FlatSender, ProjectionSender, Sender, TwoStageSender
from ldp_audit.training.fedsel.solution import NAMES, solution
from tests.together import together
from tests.training.fedsel.tiny import started, table


def spent(found: Protocol) -> float:
    """The sum of the steps' exact epsilons."""
    return sum(
        found.times(step) * mechanism.exact_epsilon()
        for step, mechanism in zip(found.steps, found.mechanisms, strict=True)
        if mechanism is not None
    )


def drawn_from(sender: Sender) -> float:
    """The exact epsilon of one report of what the run samples."""
    if isinstance(sender, TwoStageSender):
        oracle = sender.selection.oracle()
        selection = 0.0 if oracle is None else oracle.exact_epsilon()
        return selection + sender.value.exact_epsilon()
    assert isinstance(sender, FlatSender | ProjectionSender)
    return sender.mechanism.exact_epsilon()


CASES = [(name, 0.3, False) for name in NAMES if solution(name).private] + [
    (name, mu, corrected)
    for name in ("PE-PM", "PE-HM-C", "EXP-DUCHI", "PS-PM-O")
    for mu in (0.0, 0.3, None)
    for corrected in (False, True)
]


@together(("name", "mu", "corrected"), CASES)
def test_the_protocol_is_what_the_run_draws_from(name: str, mu: float | None, corrected: bool) -> None:
    """Catches an accounting of other budgets than the samplers', for every private solution."""
    run = started(solution=name, epochs=2, epsilon=9.0, mu=mu, corrected=corrected)
    found = run.protocol()
    assert found is not None
    assert spent(found) == pytest.approx(2 * drawn_from(run.senders[0]), rel=1e-12)
    exceeds = name.endswith("-C") or (name.startswith("PE") and not corrected)
    nothing_to_select = mu == 0.0 or (mu is None and not name.endswith("-C") and spent(found) == pytest.approx(9.0))
    assert (spent(found) > 9.0 + 1e-9) == (exceeds and not nothing_to_select)


def test_pe_as_published_spends_more_than_it_says_and_the_corrected_one_does_not() -> None:
    """Catches a protocol that hides PE's excess."""
    published, corrected = (started(solution="PE-PM", corrected=flag).protocol() for flag in (False, True))
    assert published is not None
    assert corrected is not None
    assert spent(published) > 2.0 + 1e-3
    assert 2.0 - 1e-9 < spent(corrected) <= 2.0 + 1e-12


def test_reports_that_show_a_value_have_no_protocol() -> None:
    """Catches a finite epsilon for a selection whose value goes out as it is."""
    for name in ("NP", "NP-K", "NP-RS", "EXP", "PE", "PS"):
        assert started(table(), solution=name).protocol() is None
