"""The shipped protocols are what runs with the paper's settings spend."""

from __future__ import annotations

from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.training.fedsel.plan import FedSel
from ldp_audit.training.fedsel.senders import protocol
from ldp_audit.training.fedsel.solution import split_of
from tests.together import together


@together(
    ("shipped", "settings"),
    [
        ("fedsel-adult", {"solution": "PE-PM"}),
        ("fedsel-adult-exp", {"solution": "EXP-PM"}),
        ("fedsel-adult-ps", {"solution": "PS-PM"}),
        ("fedsel-adult-two-epochs", {"solution": "PE-PM", "epochs": 2}),
        ("fedsel-adult-free", {"solution": "PE-PM", "mu": None}),
    ],
)
def test_a_run_of_the_papers_settings_has_the_shipped_protocol(shipped: str, settings: dict[str, object]) -> None:
    """Catches a run that spends otherwise than the accounting room says that the paper does."""
    plan, expected = FedSel(**settings), load_protocol(shipped)
    split = split_of(plan.epsilon, plan.mu, plan.threshold, 488)
    found = protocol(plan, split, data="adult", users=48842, d=123, k=12)
    assert found is not None
    assert (found.steps, found.split) == (expected.steps, expected.split)
    assert (found.unit, found.adjacency, found.epochs, found.paper) == ("record", "replace", plan.epochs, "fedsel")
