"""Closed forms for what n shuffled reports give away, as published; `clones` and `worst_placing` are tighter.

All say: each of n clients sends one report of a randomizer with pure epsilon0, and the shuffled reports are
(epsilon, delta)-private when one client's value is replaced. Outside its conditions a theorem says nothing, and its
function raises ValueError with the condition that fails; `compared` lists them all, with the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.shuffling.clones import MOST_CLIENTS, MOST_EPSILON, clones, stronger_clones
from ldp_audit.accounting.shuffling.worst_placing import WorstPlacing
from ldp_audit.losses.budget_arguments import as_float, whole
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.laplace import Laplace
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.piecewise import Piecewise
from ldp_audit.mechanisms.randomized_response import RandomizedResponse
from ldp_audit.mechanisms.two_point import TwoPoint
from ldp_audit.numerics import root


@dataclass(frozen=True)
class Amplification:
    """One line of a comparison.

    name, source: of the bound.   epsilon: nats, the bound; the local epsilon where it says nothing less.
    reason: why it says nothing, or "".
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

    Balle, Bell, Gascon, Nissim (CRYPTO 2019), Lemma 5.3 with their range of the loss: with g the blanket's share,
    a = e**epsilon - 1 and b = g (t - 1)(e**epsilon + 1),

        delta = b**2 / (4 a g n) (1 - g (1 - e**(-2 a**2/b**2)))**n.

    blanket: g, in (0, 1], of this randomizer; see `blanket_share`. If it is not given, nothing is known but
    e**-epsilon0 <= g <= 1, so that b = (t - 1/t)(e**epsilon + 1) and g = e**-epsilon0 in the other places.
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
    2208.04591) its proof covers those alone that `clones.stronger_clones` names, randomised response among them.
    """
    epsilon0, n, delta = _checked(epsilon0, n, delta)
    share = n / (8 * (math.log(2) - math.log(delta))) - 1
    limit = math.log(share) if share > 0 else -math.inf
    _need(epsilon0 <= limit, f"epsilon0 <= ln(n/(8 ln(2/delta)) - 1) = {limit:.4g}, got {epsilon0!r}")
    growth = 4 * math.sqrt(2 * (math.log(4) - math.log(delta)) / ((math.exp(epsilon0) + 1) * n)) + 4 / n
    return math.log1p(math.expm1(epsilon0) * growth)


def blanket_share(mechanism: Any) -> float:
    """The part of a report's law that does not depend on the input, 0 .. 1: the integral of the least density.

    k/(t+k-1) for randomised response, 2/(t+1) for two points, e**(-epsilon0/2) for the piecewise mechanism and for
    Laplace noise on an interval as long as the sensitivity, else e**-epsilon0, which every randomizer has.
    """
    if not callable(getattr(mechanism, "exact_epsilon", None)):
        raise ValueError(f"mechanism must have exact_epsilon(), the epsilon of one report, got {mechanism!r}")
    epsilon0 = float(mechanism.exact_epsilon())
    if isinstance(mechanism, RandomizedResponse):
        lie = math.exp(-epsilon0)
        return mechanism.k * lie / (1 + (mechanism.k - 1) * lie)
    if isinstance(mechanism, TwoPoint):
        return 2 * expit(-epsilon0)
    return math.exp(-epsilon0 / 2 if isinstance(mechanism, Piecewise | Laplace) else -epsilon0)


def compared(epsilon0: float, n: int, delta: float) -> tuple[Amplification, ...]:
    """Every bound at one setting, the published ones first; ValueError for numbers that mean nothing."""
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
        ("two values, worst placing", "numerical, upper end", WorstPlacing),
    ]
    for name, source, law in numeric:
        reason = "one report is not shuffled" if n == 1 else ""
        if n > MOST_CLIENTS:
            reason = f"it takes at most {MOST_CLIENTS:.0e} clients, got {n:.0e}"
        epsilon = epsilon0 if reason else PrivacyLoss((law(epsilon0, n),)).epsilon(delta)
        rows.append(Amplification(name, source, epsilon, reason))
    return tuple(rows)


def _balle_two_values(epsilon0: float, n: int, delta: float) -> float:
    return balle_2019(epsilon0, n, delta, blanket=2 / (math.exp(epsilon0) + 1))


def _checked(epsilon0: Any, n: Any, delta: Any) -> tuple[float, int, float]:
    """The three as plain numbers, whatever numbers they are; ValueError for anything else."""
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
