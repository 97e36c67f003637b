"""docs/what-ldp-fl-spends.md: LDP-FL's three experiments, accounted for.

`python -m ldp_audit.papers.ldp_fl.spends_page` prints it (`make docs` writes it); a test holds the file to it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, privacy_loss
from ldp_audit.accounting.protocols.paper_claims import paper_claims
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.accounting.protocols.protocol_report import interval, number
from ldp_audit.accounting.shuffle import shuffle

DELTA = 1e-5
NAMES = ("ldp-fl-mnist", "ldp-fl-fmnist", "ldp-fl-cifar10")

SCOPES = ("a weight, one round", "a weight, all rounds", "a client, one round", "a client, all rounds")

_OPENING = f"""# What LDP-FL spends

This page is generated: `python -m ldp_audit.papers.ldp_fl.spends_page` prints it, `make docs` writes it.
`ldp-audit account {NAMES[0]}` prints one setting with more conventions; [accounting.md](accounting.md) says how to
account for a protocol of your own.

LDP-FL sends each of a model's d weights, in each of T rounds, as one two-point report of privacy epsilon. The paper's
own accounting: T d epsilon without shuffling, d epsilon with model shuffling, and epsilon with its parameter shuffling,
as nobody could link a client's reports. The first is right. The second is not: model shuffling leaves the pure epsilon
T d epsilon. Nor is the third: no report need be linked, as the counts of the anonymous reports add up over weights and
rounds ([linkage.md](linkage.md) has the test).

How to read the tables. Neighbours differ in all that one client holds (or in one weight, in the rows of one weight).

* *By name*: the server sees who sent what. Pure epsilon, and epsilon at delta = {DELTA:g}, both exact.
* *Others at the center*: without names, by a perfect shuffler for each weight, and all other clients' weights at the
  center of the range, where they hide a client best if there are many reports. At delta = {DELTA:g}. No guarantee.
* *At one end*: the same with all other clients' weights at one end of the range: alike clients that
  were clipped. The guarantee for any other clients is at least this.
* *Anywhere, at most*: for every placing of the other clients' weights, which is what differential privacy means.
* Pure epsilon without names is that by name, for every number of clients; only at a delta > 0 is anything gained.
"""

_CLOSING = """## What follows

* A report's epsilon is no bound on what a client spends: with names it is exceeded by the second weight, without them
  after some more.
* Shuffling does help at a small epsilon and many clients; at epsilon 4 among 200 clients, or 10 among 500, it hides
  next to nothing of a client whose peers are alike, not even in one weight.
* Where the paper's statements are settled: `ldp-audit check --paper ldp-fl --only LF-UNLINK`, and so on by id.
"""


@dataclass(frozen=True)
class ScopeSpend:
    """Epsilon of these reports: pure; at delta by name; and without names, by where the others' weights are."""

    scope: str
    reports: int
    pure: float
    by_name: tuple[float, float]
    center: tuple[float, float]
    one_end: tuple[float, float]
    anywhere: float


def rows(protocol: Protocol, scopes: Sequence[str] = SCOPES) -> tuple[ScopeSpend, ...]:
    """One weight and one client, in one round and in all; or some of these."""
    mechanism, shuffling = protocol.mechanisms[0], protocol.steps[0].shuffling
    clients = shuffling.clients if shuffling else 1
    anonymous = (shuffle(mechanism, clients, others=others) for others in ("center", "one end", "worst"))
    views = privacy_loss(mechanism), *anonymous
    times = (1, protocol.rounds, protocol.dimensions, protocol.rounds * protocol.dimensions)
    found: list[ScopeSpend] = []
    for scope, reports in zip(SCOPES, times, strict=True):
        if scope in scopes:
            known = max((row.one_end[0] for row in found if row.reports <= reports), default=0.0)
            found.append(_row(scope, reports, views, known))
    return tuple(found)


def render() -> str:
    """The page, as Markdown."""
    return "\n".join([_OPENING, *(section(one, rows(one)) for one in map(load_protocol, NAMES)), _CLOSING])


def _row(scope: str, reports: int, views: tuple[PrivacyLoss, ...], known: float) -> ScopeSpend:
    """One row.   known: a lower bound from fewer reports with the others at one end; more reports spend no less."""
    losses = [compose([(view, reports)]) for view in views]
    by_name, center, (low, high), (_, anywhere) = (loss.epsilon_bounds(DELTA) for loss in losses)
    return ScopeSpend(
        scope, reports, losses[0].supremum(), by_name, center, (max(low, known), high), min(anywhere, by_name[1])
    )


def section(protocol: Protocol, counted: Sequence[ScopeSpend]) -> str:
    """The part of one setting, with these rows."""
    step, mechanism = protocol.steps[0], protocol.mechanisms[0]
    clients = step.shuffling.clients if step.shuffling else 1
    lines = [
        f"## {protocol.name.removeprefix('LDP-FL on ')}",
        "",
        f"{clients} clients, epsilon {mechanism.epsilon:g} a report, T = {protocol.rounds} rounds, "
        f"d = {protocol.dimensions} weights. {' '.join(protocol.notes)}",
        "",
        "| epsilon of | reports | by name, pure | by name | others at the center | at one end | anywhere, at most |",
        "|---|---|---|---|---|---|---|",
        *cells(counted),
        "",
        *(_claim(claim) for claim in paper_claims(protocol)),
        "",
    ]
    return "\n".join(lines)


def cells(counted: Sequence[ScopeSpend]) -> list[str]:
    """The rows as lines of a table."""
    lines = []
    for row in counted:
        ends = (interval(ends) for ends in (row.by_name, row.center, row.one_end))
        texts = [row.scope, str(row.reports), number(row.pure), *ends, number(row.anywhere)]
        lines.append(f"| {' | '.join(texts)} |")
    return lines


def _claim(claim: Any) -> str:
    found = ", ".join(f"{name} {verdict}" for name, verdict in claim.claims.items())
    return f"* The paper: {claim.says}: {number(claim.epsilon)} ({found})."


if __name__ == "__main__":
    sys.stdout.write(render())
