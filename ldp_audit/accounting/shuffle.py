"""The privacy loss of one client's report among the shuffled reports of n clients.

Every client sends one report by the same mechanism; a trusted shuffler hides who sent which. Neighbours differ in one
client's value, in any way. Which bounds are known depends on the mechanism:

* two values (two-point, binary randomised response): the count of upper reports is a sufficient statistic. For given
  inputs of the others its loss is exact; the worst-case neighbourhood is exact up to 1024 clients and bounded beyond
  (`worst_neighbourhood`).
* any other mechanism: above, the privacy blanket of its reports; below, all others at one value, which may be client
  1's own (`pooled_reports`). The blanket is the mechanism's (`Mechanism.blanket`).
* a mechanism of which only the loss of one report is known: above, the blanket e**-epsilon (R_x + R_x')/2, which every
  report with this loss has; of an epsilon alone this is hiding among clones (Feldman, McMillan, Talwar 2021, Theorem
  3.1). As a loss is dominated by another if and only if it is that of a post-processing (Blackwell 1951), which merges
  outcomes of the blanket too, the table of the dominating loss bounds all pairs.

The pure epsilon of the shuffled reports is the local one, for every n: "all n reports are y" has the likelihood ratio
of client 1's own report y (Balcer and Cheu 2020). Only deltas shrink.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ldp_audit.accounting.privacy_loss import PrivacyLoss, in_words, is_mirrored, privacy_loss
from ldp_audit.accounting.shuffling.anonymous_counts import Chance
from ldp_audit.accounting.shuffling.count_loss import event_count, placed_count
from ldp_audit.accounting.shuffling.pooled_reports import MOST_CLIENTS, MOST_EPSILON, ShuffledReports
from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstNeighbourhood, one_end
from ldp_audit.losses.discrete_loss import ZERO_LOSS, pure_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import atoms_above, atoms_below
from ldp_audit.losses.loss import PairLoss, known_atoms
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import Mechanism, pair_loss_of
from ldp_audit.numerics import whole

MOST_PLACED = 350.0
"""Nats: beyond, the square of the rarer report's probability underflows, and shuffling hides nobody: see `_beyond`."""

_LEAST_LOG = -700.0
"""The least ln of a probability whose share of another is a float."""
_MOST_ATOMS = 200
"""Atoms of a loss whose reports are shuffled, about."""

Others = Literal["worst", "one end", "center"]

TRUST = (
    "every client sends one report by this mechanism with the same public parameters",
    "a trusted shuffler hides everything but the multiset of the reports",
)
"""The assumptions of every number here."""

EVERY_REPORT = "only the loss of one report is known: the bounds are those of all reports with such losses"


def shuffle(mechanism: Any, n: int, *, others: Others | ArrayLike = "worst") -> PrivacyLoss:
    """The privacy loss of n shuffled reports.

    mechanism: anything with `exact_epsilon()`, nats, finite (the lower bound uses its `delta` as well); or a loss
    between any two inputs, its own reverse. Noise states how far a replaced value moves its report (`replaced`).
    n: clients, a whole number in 1 .. 10**8; 1 is the report itself.
    others: the other clients' inputs. "worst": any, so the two bounds on delta enclose the supremum, the guarantee of
    differential privacy. For mechanisms of two values also "one end" or "center" of the range, or n - 1 chances of an
    upper report (n at most 10**6): exact, and a statement about such clients alone.
    returns: a loss of neighbours by "replace", as the server sees how many reports there are.
    Raises ValueError for an infinite epsilon, and for anything else.
    """
    report, k = _report(mechanism), responses_of(mechanism)
    epsilon0, n = report.supremum(), whole(n, "n", 1, MOST_CLIENTS)
    words = f"{n:,} shuffled reports of {in_words(mechanism)}"
    if not 0 <= epsilon0 <= MOST_EPSILON:
        raise ValueError(
            f"mechanism must have an epsilon of at most {MOST_EPSILON} for one report: reports of an infinite one may "
            f"name their sender however they are shuffled; got {epsilon0!r} of {mechanism!r}"
        )
    if isinstance(others, str) and others == "worst":
        if n == 1:
            return PrivacyLoss((report,), TRUST[:1], "replace", words)
        if epsilon0 == 0:
            return PrivacyLoss((ZERO_LOSS,), TRUST, "replace", words)
        if epsilon0 > MOST_PLACED:
            return PrivacyLoss((_beyond(k, epsilon0, n),), TRUST, "replace", words)
        if k == 2:
            return PrivacyLoss((WorstNeighbourhood(epsilon0, n),), TRUST, "replace", words)
        own = mechanism.blanket() if isinstance(mechanism, Mechanism) else None
        found = _of_loss(report, epsilon0) if own is None else own
        stated = (*TRUST, found.assumes) if found.assumes else TRUST
        return PrivacyLoss((ShuffledReports(found, epsilon0, n),), stated, "replace", words)
    if k != 2:
        raise ValueError(f"others must be 'worst' for mechanisms of more than two values, got {others!r}")
    if epsilon0 == 0:
        return PrivacyLoss((ZERO_LOSS,), TRUST, "replace", words)
    if epsilon0 > MOST_PLACED:
        raise ValueError(
            f"mechanism must have an epsilon of at most {MOST_PLACED:g} where others are placed, got {epsilon0!r}"
        )
    loss = _placed(epsilon0, n, others)
    stated = f"the others' values are placed: {others if isinstance(others, str) else 'by their chances'}"
    return PrivacyLoss((loss, loss.reversed()), (*TRUST, stated), "replace", words)


def responses_of(mechanism: Any) -> int | None:
    """k, where the mechanism is k-ary randomised response up to the names of its reports; None for any other object."""
    return mechanism.responses() if isinstance(mechanism, Mechanism) else None


def _report(mechanism: Any) -> PairLoss:
    """The loss of one report, between any two inputs: from an epsilon alone, at most that of randomised response."""
    if isinstance(mechanism, Mechanism) and not mechanism.any_pair:
        raise ValueError(
            "mechanism must protect any two inputs, as the others' reports hide a report of any input with the least "
            f"probability that its epsilon leaves; only some are neighbours for {mechanism!r}"
        )
    if isinstance(mechanism, PrivacyLoss | Mechanism | PairLoss):
        one, *other = privacy_loss(mechanism, "replace").directions
        if other or not is_mirrored(one):
            raise ValueError(
                "mechanism must have one loss, its own reverse (whose reversed() is itself), as inputs come in both "
                "orders; a report with finitely many outputs has it as a FiniteChannel, a row for each input; got "
                f"directions of {', '.join(type(pair).__name__ for pair in (one, *other))}"
            )
        return one
    if callable(getattr(mechanism, "delta", None)):
        return pair_loss_of(mechanism)
    return EnclosedLoss(ZERO_LOSS, pure_loss(_epsilon_of(mechanism)))


def _epsilon_of(mechanism: Any) -> float:
    if not callable(getattr(mechanism, "exact_epsilon", None)):
        raise ValueError(f"mechanism must have exact_epsilon(), the epsilon of one report, got {mechanism!r}")
    return float(mechanism.exact_epsilon())


def _of_loss(report: PairLoss, epsilon0: float) -> Blanket:
    """The blanket of all reports whose losses this one dominates; laws of two inputs where it is that of a pair."""
    above = known_atoms(report, _MOST_ATOMS) or atoms_above(report, count=_MOST_ATOMS)
    first = np.exp(np.maximum(above.log_probabilities, _LEAST_LOG))
    second = first * np.exp(-above.losses)
    pair = report.sides().lower
    attained = pair.known() if pair is not report or report.known() is not None else None
    laws = np.empty((0, 1))
    if attained is not None and attained.supremum() > 0:
        below = known_atoms(attained, _MOST_ATOMS) or atoms_below(attained, _MOST_ATOMS)
        own = np.exp(below.log_probabilities)
        laws = np.array([own, own * np.exp(-below.losses)])
    shared = (first + second) * (math.exp(-epsilon0) / 2)
    return Blanket(shared, first[None], second[None], laws[:, laws.min(axis=0, initial=1) > 0], EVERY_REPORT)


def _beyond(k: int | None, epsilon0: float, n: int) -> PairLoss:
    """The loss of the shuffled reports at a huge epsilon, at least that of a smaller epsilon.

    A two-valued report of a smaller epsilon is one of the larger epsilon, randomised once more, which the server can do
    to every shuffled report: by post-processing its loss is a lower bound.
    """
    return EnclosedLoss(WorstNeighbourhood(MOST_PLACED, n) if k == 2 else ZERO_LOSS, pure_loss(epsilon0))


def _placed(epsilon0: float, n: int, others: Any) -> PairLoss:
    if isinstance(others, str) and others == "one end":
        return one_end(epsilon0, n)
    if isinstance(others, str) and others == "center":
        half, upper = Chance(0.5, 0.5), Chance(expit(epsilon0), expit(-epsilon0))
        return event_count(n, upper, Chance(upper.lower, upper.upper), half, math.tanh(epsilon0 / 2))
    return placed_count(n, epsilon0, others)
