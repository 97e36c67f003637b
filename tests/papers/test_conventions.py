"""The papers' own accounting of their protocols: their formulas, what they refuse, and the verdicts beside them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ldp_audit.accounting import privacy_loss
from ldp_audit.accounting.protocols.paper_claims import paper_claims
from ldp_audit.accounting.protocols.protocol import Protocol, Step
from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.mechanisms import RandomizedResponse
from ldp_audit.papers.fedmd_nfdp import conventions as fedmd_nfdp
from ldp_audit.papers.fedmd_nfdp.conventions import TABLE_2
from ldp_audit.papers.fedsel import conventions as fedsel
from ldp_audit.papers.ldp_fl import conventions as ldp_fl
from tests.papers import test_papers
from tests.together import together

ANSWER = Step("RandomizedResponse(epsilon=0.5)", times=("rounds", "dimensions", 2))
VERDICTS = {**ldp_fl.VERDICTS, **fedsel.VERDICTS, **fedmd_nfdp.VERDICTS}


def protocol(**changes: object) -> Protocol:
    return replace(Protocol("a", (ANSWER,), rounds=3, dimensions=5), **changes)


def test_the_papers_claims_are_their_formulas() -> None:
    ldp_fl = {next(iter(claim.claims)): claim.epsilon for claim in paper_claims(load_protocol("ldp-fl-fmnist"))}
    assert ldp_fl == {"LF-SEQ": 15 * 21840 * 4, "LF-MODEL": 21840 * 4, "LF-UNLINK": 4}
    fedsel = {
        next(iter(claim.claims)): claim.epsilon for claim in paper_claims(load_protocol("fedsel-adult-two-epochs"))
    }
    assert fedsel == pytest.approx({"FS-L2": 0.1, "FS-T31pe": 1.0, "FS-EPOCH": 2.0})


@together(("n", "k"), TABLE_2)
def test_table_2_is_printed_with_the_logarithm_to_base_ten(n: int, k: int) -> None:
    """And k = 18 where 16 is printed; delta is rounded but for one that is cut off."""
    name = f"fedmd-nfdp-{'femnist' if n == 2880 else 'cifar10'}-{k}"
    theory, printed = paper_claims(load_protocol(name))
    assert (printed.epsilon, printed.delta) == TABLE_2[n, k]
    used = 18 if k == 16 else k
    assert printed.epsilon == pytest.approx(used * math.log10((n + 1) / n), abs=6e-5)
    assert printed.delta == pytest.approx(1 - ((n - 1) / n) ** used, abs=1e-4)
    assert theory.epsilon == pytest.approx(k * math.log((n + 1) / n), rel=1e-12)


def test_table_2_is_held_against_its_own_settings_alone() -> None:
    """A wrong accusation would be to say that the paper prints something about a user's own setting."""
    own = Protocol("a", (Step("SubsampleRelease(n=500, k=20, replacement=True)", (1,)),), paper="fedmd-nfdp")
    assert [next(iter(claim.claims)) for claim in paper_claims(own)] == ["NF-T2"]
    without = Protocol("a", (Step("SubsampleRelease(n=300, k=60)", (1,)),), paper="fedmd-nfdp")
    (claim,) = paper_claims(without)
    assert (next(iter(claim.claims)), claim.delta) == ("NF-T1", 0.2)
    assert claim.epsilon == pytest.approx(math.log(301 / 241))


@together(
    ("paper", "message"),
    [
        ("ldp-fl", "knows one step, got 2"),
        ("fedsel", r"FedSel's accounting needs a \[split\]"),
        ("fedmd-ldp", "knows one step, got 2"),
        ("fedmd-nfdp", "knows one step, got 2"),
    ],
)
def test_a_papers_accounting_of_something_else_is_refused(paper: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        account(protocol(paper=paper, steps=(ANSWER, ANSWER)))


@together(
    ("paper", "message"),
    [
        ("fedmd-ldp", "needs Gaussian noise, got RandomizedResponse"),
        ("fedmd-nfdp", "needs a SubsampleRelease, got RandomizedResponse"),
    ],
)
def test_a_papers_accounting_of_another_mechanism_is_refused(paper: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        account(protocol(paper=paper))


def test_a_mechanism_without_an_epsilon_of_its_own_is_refused() -> None:
    step = Step(privacy_loss(RandomizedResponse(1.0)), ("rounds",))
    with pytest.raises(ValueError, match="LDP-FL's accounting needs a mechanism with an epsilon, got PrivacyLoss"):
        account(Protocol("x", (step,), paper="ldp-fl"))


def test_the_verdicts_are_those_that_the_engines_reach() -> None:
    """Catches a verdict that has changed: the page would accuse a paper wrongly.

    The tables are those that the test of the papers holds the engines to, every claim by its name.
    """
    tables = (test_papers.VERDICTS[key] for key in ("ldp-fl", "fedsel", "fedmd-nfdp"))
    expected = {name: verdict for table in tables for verdict, names in table.items() for name in names.split()}
    assert {name: expected[name] for name in VERDICTS} == VERDICTS
