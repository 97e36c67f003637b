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

The published closed forms, which `clones` and `worst_neighbourhood` improve on, are here too. All say: each of n
clients sends one report of a randomizer with pure epsilon0, and the shuffled reports are (epsilon, delta)-private when
one client's value is replaced. Outside its conditions a theorem says nothing, and its function raises ValueError with
the condition that fails; `compared` lists them all, with the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from ldp_audit.accounting.privacy_loss import PrivacyLoss, is_mirrored, privacy_loss
from ldp_audit.accounting.shuffling.anonymous_counts import Chance
from ldp_audit.accounting.shuffling.clones import MOST_CLIENTS, MOST_EPSILON, clones, stronger_clones, third_value
from ldp_audit.accounting.shuffling.count_loss import event_count, placed_count
from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstNeighbourhood, one_end
from ldp_audit.losses.discrete_loss import ZERO_LOSS, pure_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss, pair_loss_of
from ldp_audit.losses.profile_loss import chord_middle
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.numerics import as_float, log1mexp, root, whole

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


@dataclass(frozen=True)
class Amplification:
    """One line of a comparison.

    name, source: of the bound.   epsilon: nats, the bound; the local epsilon where the bound is not below it.
    reason: why the bound does not apply, or "".
    """

    name: str
    source: str
    epsilon: float
    reason: str = ""


def erlingsson_2019(epsilon0: float, n: int, delta: float) -> float:
    """12 epsilon0 sqrt(ln(1/delta)/n), for n >= 1000, epsilon0 < 1/2, delta < 1/100.

    Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta (SODA 2019), Theorem 7.
    """
    epsilon0, n, delta = _checked(epsilon0, n, delta)
    _need(n >= 1000, f"n >= 1000, got {n}")
    _need(0 < epsilon0 < 0.5, f"0 < epsilon0 < 1/2, got {epsilon0!r}")
    _need(delta < 0.01, f"delta < 1/100, got {delta!r}")
    return 12 * epsilon0 * math.sqrt(-math.log(delta) / n)


def balle_2019(epsilon0: float, n: int, delta: float, *, blanket: float | None = None) -> float:
    """The privacy blanket with Hoeffding's inequality, solved for epsilon to 1e-12.

    Balle, Bell, Gascon, Nissim (CRYPTO 2019), Lemma 5.3 with their range of the loss: with g the blanket's share, a =
    e**epsilon - 1 and b = g (t - 1)(e**epsilon + 1),

        delta = b**2 / (4 a g n) (1 - g (1 - e**(-2 a**2/b**2)))**n.

    blanket: g, in (0, 1], of this randomizer; see `blanket_share`. Without it only e**-epsilon0 <= g <= 1 is known, so
    that b = (t - 1/t)(e**epsilon + 1) and g = e**-epsilon0 in the other places.
    """
    epsilon0, n, delta = _checked(epsilon0, n, delta)
    share = math.exp(-epsilon0) if blanket is None else float(blanket)
    if not 0 < share <= 1:
        raise ValueError(f"blanket must lie in (0, 1], got {blanket!r}")
    spread = 2 * math.sinh(epsilon0) if blanket is None else share * math.expm1(epsilon0)

    def excess(epsilon: float) -> float:
        a = math.expm1(epsilon)
        b = spread * (math.exp(epsilon) + 1)
        kept = n * math.log1p(share * math.expm1(-2 * (a / b) ** 2))
        return 2 * math.log(b) - math.log(4 * a * share * n) + kept - math.log(delta)

    low = 1e-12 * epsilon0
    _need(excess(epsilon0) < 0, f"a bound below the local epsilon: n = {n} is too small at epsilon0 = {epsilon0!r}")
    if excess(low) <= 0:
        return low
    return min(epsilon0, root(excess, low, epsilon0, xtol=1e-300, rtol=1e-14) * (1 + 1e-12))


def feldman_2021(epsilon0: float, n: int, delta: float) -> float:
    """ln(1 + (t-1)/(t+1) (8 sqrt(t ln(4/delta)/n) + 8 t/n)), for epsilon0 <= ln(n/(16 ln(2/delta))).

    Feldman, McMillan, Talwar (FOCS 2021), Theorem 3.1. The authors' program tests ln(4/delta) in the condition.
    """
    epsilon0, n, delta = _checked(epsilon0, n, delta)
    limit = math.log(n / (16 * (math.log(2) - math.log(delta))))
    _need(epsilon0 <= limit, f"epsilon0 <= ln(n/(16 ln(2/delta))) = {limit:.4g}, got {epsilon0!r}")
    t = math.exp(epsilon0)
    return math.log1p(math.tanh(epsilon0 / 2) * (8 * math.sqrt(t * (math.log(4) - math.log(delta)) / n) + 8 * t / n))


def feldman_2023(epsilon0: float, n: int, delta: float) -> float:
    """ln(1 + (t-1)(4 sqrt(2 ln(4/delta)/((t+1) n)) + 4/n)), for epsilon0 <= ln(n/(8 ln(2/delta)) - 1).

    Feldman, McMillan, Talwar (SODA 2023), "stronger clones". First stated for every randomizer; by the erratum (arXiv
    2208.04591) its proof covers only those of `clones.stronger_clones`, randomised response among them.
    """
    epsilon0, n, delta = _checked(epsilon0, n, delta)
    share = n / (8 * (math.log(2) - math.log(delta))) - 1
    limit = math.log(share) if share > 0 else -math.inf
    _need(epsilon0 <= limit, f"epsilon0 <= ln(n/(8 ln(2/delta)) - 1) = {limit:.4g}, got {epsilon0!r}")
    growth = 4 * math.sqrt(2 * (math.log(4) - math.log(delta)) / ((math.exp(epsilon0) + 1) * n)) + 4 / n
    return math.log1p(math.expm1(epsilon0) * growth)


def blanket_share(mechanism: Any) -> float:
    """The part of a report's distribution that does not depend on the input, 0 .. 1: see `Mechanism.blanket`.

    e**-epsilon0, which every randomizer has, for any other object with `exact_epsilon()`.
    """
    return mechanism.blanket() if isinstance(mechanism, Mechanism) else math.exp(-_epsilon_of(mechanism))


def compared(epsilon0: float, n: int, delta: float) -> tuple[Amplification, ...]:
    """Every bound at one setting, the published ones first; ValueError for invalid numbers."""
    epsilon0, n, delta = _checked(epsilon0, n, delta)
    published: list[tuple[str, str, Callable[[float, int, float], float]]] = [
        ("Erlingsson et al. 2019", "Theorem 7", erlingsson_2019),
        ("Balle et al. 2019, any randomizer", "Lemma 5.3 with Hoeffding", balle_2019),
        ("Balle et al. 2019, two values", "the same, blanket 2/(t+1)", _balle_two_values),
        ("Feldman et al. 2021", "Theorem 3.1", feldman_2021),
        ("Feldman et al. 2023, restricted class", "Theorem 3.2 with its erratum", feldman_2023),
    ]
    rows = []
    for name, source, bound in published:
        try:
            rows.append(Amplification(name, source, min(epsilon0, bound(epsilon0, n, delta))))
        except ValueError as error:
            rows.append(Amplification(name, source, epsilon0, str(error)))
    numeric: list[tuple[str, str, Callable[[float, int], PairLoss]]] = [
        ("clones, any randomizer", "numerical", clones),
        ("clones, restricted class", "numerical", stronger_clones),
        ("two values, worst placing", "numerical, upper end", WorstNeighbourhood),
    ]
    for name, source, loss in numeric:
        reason = "one report is not shuffled" if n == 1 else ""
        if n > MOST_CLIENTS:
            reason = f"it takes at most {MOST_CLIENTS:.0e} clients, got {n:.0e}"
        epsilon = epsilon0 if reason else PrivacyLoss((loss(epsilon0, n),)).epsilon(delta)
        rows.append(Amplification(name, source, epsilon, reason))
    return tuple(rows)


def _balle_two_values(epsilon0: float, n: int, delta: float) -> float:
    return balle_2019(epsilon0, n, delta, blanket=2 / (math.exp(epsilon0) + 1))


def _checked(epsilon0: Any, n: Any, delta: Any) -> tuple[float, int, float]:
    """The three as plain numbers, of any numeric type; ValueError for anything else."""
    local, chance = as_float(epsilon0), as_float(delta)
    if not 0 < local <= MOST_EPSILON:
        raise ValueError(f"epsilon0 must lie above 0 and not above {MOST_EPSILON:g}, got {epsilon0!r}")
    clients = whole(n, "n")
    if not 0 < chance < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")
    return local, clients, chance


def _need(met: object, condition: str) -> None:
    if not met:
        raise ValueError(f"the theorem needs {condition}")
