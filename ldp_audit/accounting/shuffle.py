"""The privacy loss of one client's report among the shuffled reports of n clients.

Every client sends one report by the same mechanism; a trusted shuffler hides who sent which. Neighbours differ in one
client's value, in any way. Which bounds are known depends on the mechanism:

* two values (two-point, binary randomised response): the count of upper reports is a sufficient statistic. For given
  inputs of the others its loss is exact; the worst-case neighbourhood is exact up to 1024 clients and bounded beyond
  (`worst_neighbourhood`).
* randomised response on k > 2 values: above, `clones.stronger_clones`; below, the histogram while all others hold one
  value that client 1 never holds.
* any other mechanism with a pure epsilon: above, `clones.clones`; below, the count of the worst event of one report,
  with all others at the second input.

The pure epsilon of the shuffled reports is the local one, for every n: "all n reports are y" has the likelihood ratio
of client 1's own report y (Balcer and Cheu 2020). Only deltas shrink.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from numpy.typing import ArrayLike

from ldp_audit.accounting.privacy_loss import PrivacyLoss, is_mirrored, privacy_loss
from ldp_audit.accounting.shuffling.anonymous_counts import Chance
from ldp_audit.accounting.shuffling.clones import MOST_CLIENTS, MOST_EPSILON, clones, stronger_clones, third_value
from ldp_audit.accounting.shuffling.count_loss import event_count, placed_count
from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstNeighbourhood, one_end
from ldp_audit.losses.discrete_loss import ZERO_LOSS, pure_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.profile_loss import chord_middle
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import Mechanism, pair_loss_of
from ldp_audit.numerics import log1mexp, whole

MOST_PLACED = 350.0
"""Nats: beyond, the square of the rarer report's probability underflows, and shuffling hides nobody: see `_beyond`."""

_THIN = 1e-3
_ROUNDING = 1e-12
"""By this much of itself a delta may be off by rounding alone, where a loss is exact."""

Others = Literal["worst", "one end", "center"]

TRUST = (
    "every client sends one report by this mechanism with the same public parameters",
    "a trusted shuffler hides everything but the multiset of the reports",
)
"""The assumptions of every number here."""


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
    if not 0 <= epsilon0 <= MOST_EPSILON:
        raise ValueError(
            f"mechanism must have an epsilon of at most {MOST_EPSILON} for one report: reports of an infinite one may "
            f"name their sender however they are shuffled; got {epsilon0!r} of {mechanism!r}"
        )
    if isinstance(others, str) and others == "worst":
        if n == 1:
            return PrivacyLoss((report,), adjacency="replace")
        if epsilon0 == 0:
            return PrivacyLoss((ZERO_LOSS,), TRUST, "replace")
        if epsilon0 > MOST_PLACED:
            return PrivacyLoss((_beyond(k, epsilon0, n),), TRUST, "replace")
        mirrored = isinstance(mechanism, Mechanism) and mechanism.mirrored
        return PrivacyLoss(_worst(report, k, epsilon0, n, mirrored=mirrored), TRUST, "replace")
    if k != 2:
        raise ValueError(f"others must be 'worst' for mechanisms of more than two values, got {others!r}")
    if epsilon0 == 0:
        return PrivacyLoss((ZERO_LOSS,), TRUST, "replace")
    if epsilon0 > MOST_PLACED:
        raise ValueError(
            f"mechanism must have an epsilon of at most {MOST_PLACED:g} where others are placed, got {epsilon0!r}"
        )
    loss = _placed(epsilon0, n, others)
    stated = f"the others' values are placed: {others if isinstance(others, str) else 'by their chances'}"
    return PrivacyLoss((loss, loss.reversed()), (*TRUST, stated), "replace")


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


def _worst(report: PairLoss, k: int | None, epsilon0: float, n: int, *, mirrored: bool) -> tuple[PairLoss, ...]:
    if k == 2:
        return (WorstNeighbourhood(epsilon0, n),)
    if k is not None:
        return (EnclosedLoss(third_value(epsilon0, n, k), stronger_clones(epsilon0, n)),)
    upper, chances = clones(epsilon0, n), _worst_event(report, epsilon0, mirrored=mirrored)
    if chances is None:
        return (EnclosedLoss(ZERO_LOSS, upper),)
    first, second, gap = chances
    lower = event_count(n, first, second, second, gap)
    return EnclosedLoss(lower, upper), EnclosedLoss(lower.reversed(), upper)


def _beyond(k: int | None, epsilon0: float, n: int) -> PairLoss:
    """The loss of the shuffled reports at a huge epsilon, at least that of a smaller epsilon.

    A two-valued report of a smaller epsilon is one of the larger epsilon, randomised once more, which the server can do
    to every shuffled report: by post-processing its loss is a lower bound.
    """
    return EnclosedLoss(WorstNeighbourhood(MOST_PLACED, n) if k == 2 else ZERO_LOSS, pure_loss(epsilon0))


def _worst_event(report: PairLoss, epsilon0: float, *, mirrored: bool) -> tuple[Chance, Chance, float] | None:
    """Chances of the event that separates two inputs best, and their difference.

    None where no such event is known. A profile that is a line in e**epsilon is that of an event with probabilities s t
    and s: the best event at the middle of the line has these, by its lower bound there and the upper bound at 0. Of
    distributions that mirror each other, the event on one side of the middle has (1 + delta(0))/2 and (1 - delta(0))/2.
    """
    log_gap, log_most = report.log_delta_bounds(0.0)
    gap = math.exp(log_gap)
    if mirrored:
        rare = math.exp(log1mexp(log_gap)) / 2
        return Chance(1 - rare, rare), Chance(rare, 1 - rare), gap
    share = gap / math.expm1(epsilon0)
    level = chord_middle(epsilon0)
    line = log_most + log1mexp(level - epsilon0) - log1mexp(-epsilon0)
    if abs(report.log_delta_bounds(level)[0] - line) > _ROUNDING or share <= 0:
        return None
    likely = min(share * math.exp(epsilon0), expit(epsilon0))
    if 1 - likely < _THIN:  # lost to rounding: a report of the event that is sometimes dropped is a post-processing
        likely, share = likely * (1 - _THIN), share * (1 - _THIN)
        gap = likely - share
    return Chance(likely, 1 - likely), Chance(share, 1 - share), gap


def _placed(epsilon0: float, n: int, others: Any) -> PairLoss:
    if isinstance(others, str) and others == "one end":
        return one_end(epsilon0, n)
    if isinstance(others, str) and others == "center":
        half, upper = Chance(0.5, 0.5), Chance(expit(epsilon0), expit(-epsilon0))
        return event_count(n, upper, Chance(upper.lower, upper.upper), half, math.tanh(epsilon0 / 2))
    return placed_count(n, epsilon0, others)
