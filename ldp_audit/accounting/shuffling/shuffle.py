"""What the shuffled reports of n clients say about one of them.

Every client sends one report by the same mechanism; a trusted shuffler hides who sent which. Neighbours differ in one
client's value, in any way. What is computed depends on what is proved:

* two values (two-point, binary randomised response): the count of upper reports is all there is to see. For a given
  placing of the others its loss is exact; the worst placing is exact up to 1024 clients and enclosed beyond
  (`worst_placing`).
* randomised response on k > 2 values: above, `clones.stronger_clones`; below, the histogram while all others hold one
  value that client 1 never holds.
* any other mechanism with a pure epsilon: above, `clones.clones`; below, how often the worst event of one report
  occurs, with all others at the second input.

The pure epsilon of the shuffled reports is the local one, for every n (Balcer and Cheu 2020): only deltas shrink.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from numpy.typing import ArrayLike

from ldp_audit.accounting.anonymous_counts import Chance
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.shuffling.clones import MOST_CLIENTS, MOST_EPSILON, clones, stronger_clones, third_value
from ldp_audit.accounting.shuffling.event_count import event_count
from ldp_audit.accounting.shuffling.placed_count import placed_count
from ldp_audit.accounting.shuffling.worst_placing import WorstPlacing, one_end
from ldp_audit.losses.budget_arguments import whole
from ldp_audit.losses.enclosed_loss import BracketedLoss
from ldp_audit.losses.finite_losses import NOTHING, pure_loss
from ldp_audit.losses.loss import LossLaw
from ldp_audit.mechanisms.laplace import Laplace
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.randomized_response import RandomizedResponse
from ldp_audit.mechanisms.two_point import TwoPoint

MOST_PLACED = 350.0
"""Nats: beyond, the square of the rarer report's probability is no float. Nobody hides there: see `_beyond`."""

_THIN = 1e-3

Others = Literal["worst", "one end", "center"]

TRUST = (
    "every client sends one report by this mechanism with the same public parameters",
    "a trusted shuffler hides everything but the multiset of the reports",
)
"""What every number here rests on."""


def shuffle(mechanism: Any, n: int, *, others: Others | ArrayLike = "worst") -> PrivacyLoss:
    """The privacy loss of n shuffled reports.

    mechanism: anything with `exact_epsilon()`, nats, finite (below, its `delta` is used as well).
    n: clients, a whole number in 1 .. 10**8; 1 is the report itself.
    others: where the other clients' values lie. "worst": anywhere, so the two ends of delta enclose the supremum, the
    guarantee of differential privacy. For mechanisms of two values also "one end" or "center" of the range, or n - 1
    chances of an upper report (n at most 10**6): exact, and a statement about such clients alone.
    Raises ValueError for an infinite epsilon, and for anything else.
    """
    epsilon0 = _epsilon_of(mechanism)
    n = whole(n, "n", 1, MOST_CLIENTS)
    if isinstance(others, str) and others == "worst":
        if n == 1:
            known = callable(getattr(mechanism, "delta", None)) or isinstance(mechanism, PrivacyLoss)
            return privacy_loss(mechanism) if known else PrivacyLoss((BracketedLoss(NOTHING, pure_loss(epsilon0)),))
        if epsilon0 > MOST_PLACED:
            return PrivacyLoss((_beyond(mechanism, epsilon0, n),), TRUST)
        return PrivacyLoss((NOTHING,) if epsilon0 == 0 else _worst(mechanism, epsilon0, n), TRUST)
    if not _has_two_values(mechanism):
        raise ValueError(f"others must be 'worst' for mechanisms of more than two values, got {others!r}")
    if epsilon0 == 0:
        return PrivacyLoss((NOTHING,), TRUST)
    if epsilon0 > MOST_PLACED:
        raise ValueError(
            f"mechanism must have an epsilon of at most {MOST_PLACED:g} where others are placed, got {epsilon0!r}"
        )
    law = _placed(epsilon0, n, others)
    stated = f"the others' values are placed: {others if isinstance(others, str) else 'by their chances'}"
    return PrivacyLoss((law, law.mirrored()), (*TRUST, stated))


def _epsilon_of(mechanism: Any) -> float:
    if not callable(getattr(mechanism, "exact_epsilon", None)):
        raise ValueError(f"mechanism must have exact_epsilon(), the epsilon of one report, got {mechanism!r}")
    epsilon = float(mechanism.exact_epsilon())
    if not 0 <= epsilon <= MOST_EPSILON:
        raise ValueError(
            f"mechanism must have an epsilon of at most {MOST_EPSILON} for one report: reports of an infinite one may "
            f"name their sender however they are shuffled; got {epsilon!r} of {mechanism!r}"
        )
    return epsilon


def _has_two_values(mechanism: Any) -> bool:
    return isinstance(mechanism, TwoPoint) or (isinstance(mechanism, RandomizedResponse) and mechanism.k == 2)


def _worst(mechanism: Any, epsilon0: float, n: int) -> tuple[LossLaw, ...]:
    if _has_two_values(mechanism):
        return (WorstPlacing(epsilon0, n),)
    if isinstance(mechanism, RandomizedResponse):
        return (BracketedLoss(third_value(epsilon0, n, mechanism.k), stronger_clones(epsilon0, n)),)
    upper, chances = clones(epsilon0, n), _worst_event(mechanism, epsilon0)
    if chances is None:
        return (BracketedLoss(NOTHING, upper),)
    first, second, gap = chances
    lower = event_count(n, first, second, second, gap)
    return BracketedLoss(lower, upper), BracketedLoss(lower.mirrored(), upper)


def _beyond(mechanism: Any, epsilon0: float, n: int) -> LossLaw:
    """Between no report's loss, and what the shuffled reports of a smaller epsilon tell.

    A two-valued report of a smaller epsilon is one of the larger epsilon, perturbed once more by itself, which the
    server can do to every shuffled report: so they tell no more.
    """
    lower = WorstPlacing(MOST_PLACED, n) if _has_two_values(mechanism) else NOTHING
    return BracketedLoss(lower, pure_loss(epsilon0))


def _worst_event(mechanism: Any, epsilon0: float) -> tuple[Chance, Chance, float] | None:
    """Chances of one set of reports under two inputs, which tell them apart best, and how far apart they are.

    None where no set is known. A profile that is a line in e**epsilon is that of a set with probabilities s t and s.
    """
    if isinstance(mechanism, Laplace):  # the half-line from the middle between two inputs
        rare = math.exp(-epsilon0 / 2) / 2
        return Chance(1 - rare, rare), Chance(rare, 1 - rare), -math.expm1(-epsilon0 / 2)
    if not callable(getattr(mechanism, "delta", None)):
        return None
    gap = float(mechanism.delta(0.0))
    share = gap / math.expm1(epsilon0)
    middle = share * math.exp(epsilon0 / 2) * math.expm1(epsilon0 / 2)
    if not math.isclose(float(mechanism.delta(epsilon0 / 2)), middle, rel_tol=1e-9) or share <= 0:
        return None
    likely = min(share * math.exp(epsilon0), expit(epsilon0))
    if 1 - likely < _THIN:  # which rounding has spoilt: a report of the set that is now and then left out tells less
        likely, share = likely * (1 - _THIN), share * (1 - _THIN)
        gap = likely - share
    return Chance(likely, 1 - likely), Chance(share, 1 - share), gap


def _placed(epsilon0: float, n: int, others: Any) -> LossLaw:
    if isinstance(others, str) and others == "one end":
        return one_end(epsilon0, n)
    if isinstance(others, str) and others == "center":
        half, upper = Chance(0.5, 0.5), Chance(expit(epsilon0), expit(-epsilon0))
        return event_count(n, upper, Chance(upper.lower, upper.upper), half, math.tanh(epsilon0 / 2))
    return placed_count(n, epsilon0, others)
