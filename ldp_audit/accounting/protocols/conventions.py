"""One protocol, added up in every usual way: from the sum of the epsilons to the exact composition.

Every number but the exact one is an upper end that some theorem gives; each says at which delta it holds. The exact
composition comes as an interval that is certain; where it is wide or one number, it says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ldp_audit.accounting.compose import compose
from ldp_audit.accounting.conversion.converted import plain
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.protocols.protocol_costs import Ledger
from ldp_audit.mechanisms import RandomizedResponse

_LARGE = 700.0
"""Nats: the exponential of little more is no float."""


@dataclass(frozen=True)
class Total:
    """What all of a protocol spends, in one convention.

    key: its name.   says: how it adds up.   epsilon: nats, never too small; infinite where the convention says nothing.
    lower: the certain lower end, where there is one.   delta: at which it holds.
    """

    key: str
    says: str
    epsilon: float
    delta: float
    lower: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinities are written as text."""
        return {
            "key": self.key,
            "says": self.says,
            "epsilon": plain(self.epsilon),
            "lower": plain(self.lower),
            "delta": self.delta,
        }


Progress = Callable[[str], None] | None


def totals(ledger: Ledger, progress: Progress = None) -> tuple[Total, ...]:
    """The protocol in every convention, without shuffling and then behind the shuffler.

    A convention that does not apply is left out.
    """
    say = progress or _silent
    uses = [(one.single, one.times(ledger.protocol, "everything")) for one in ledger.losses]
    found = [_basic(uses, ledger.delta)]
    for name, convention in (("pure composition", _pure), ("divergences", _divergences)):
        say(f"total: {name}")
        found += convention(uses, ledger.delta)
    say("total: exact composition")
    lower, upper = ledger.ends("everything", shuffled=False)
    found.append(Total("exact", "the losses themselves, composed", upper, ledger.delta, lower))
    if ledger.mixed:
        say("total: shuffled")
        found.append(_shuffled(ledger))
    return tuple(found)


def _silent(_: str) -> None:
    pass


Uses = Sequence[tuple[PrivacyLoss, int]]


def _basic(uses: Uses, delta: float) -> Total:
    """The sum of pure epsilons; where one is infinite, of the epsilons at an equal share of delta each."""
    pure = _upwards(_sum(times * loss.largest() for loss, times in uses if loss.largest() > 0))
    if math.isfinite(pure):
        return Total("basic", "the sum of the epsilons", pure, 0.0)
    share = delta / sum(times for _, times in uses)
    summed = _upwards(_sum(times * loss.epsilon(share) for loss, times in uses))
    return Total("basic", "the sum of the epsilons, each at an equal share of delta", summed, delta)


def _pure(uses: Uses, delta: float) -> list[Total]:
    """Composition theorems that know the pure epsilons alone (each implied by Kairouz, Oh, Viswanath 2015).

    "advanced" is their Theorem 3.5, which allows different epsilons, with the larger mean of Dwork, Rothblum, Vadhan.
    """
    counted = [(loss.largest(), times) for loss, times in uses if loss.largest() > 0]
    if not counted or not all(math.isfinite(epsilon) for epsilon, _ in counted):
        return []
    most = max(epsilon for epsilon, _ in counted)  # whose square may be no float
    root = most * math.sqrt(_sum(times * (epsilon / most) ** 2 for epsilon, times in counted))
    spread = math.sqrt(-2 * math.log(delta)) * root
    mean = _sum(times * epsilon * (math.expm1(epsilon) if epsilon < _LARGE else math.inf) for epsilon, times in counted)
    tight = _sum(times * epsilon * math.tanh(epsilon / 2) for epsilon, times in counted)
    worst = compose([(RandomizedResponse(epsilon), times) for epsilon, times in counted]).epsilon(delta)
    strong = "of the epsilons alone, by strong composition"
    return [
        Total("advanced", f"{strong} (Dwork, Rothblum, Vadhan 2010)", _upwards(mean + spread), delta),
        Total("improved", f"{strong} (Kairouz, Oh, Viswanath 2015)", _upwards(tight + spread), delta),
        Total("optimal", "of the epsilons alone: randomised response at each, composed", worst, delta),
    ]


def _divergences(uses: Uses, delta: float) -> list[Total]:
    """Zero-concentrated and Renyi differential privacy."""
    from ldp_audit.accounting.conversion.renyi import renyi_divergence, renyi_to_epsilon
    from ldp_audit.accounting.conversion.zcdp import zcdp_of, zcdp_to_epsilon

    if any(loss.delta(math.inf) > 0 for loss, _ in uses):
        return []  # what shows everything with some probability has no divergence
    rho = _upwards(_sum(times * zcdp_of(loss).value for loss, times in uses))

    def curve(alpha: float) -> float:
        return _sum(times * renyi_divergence(loss, alpha).value for loss, times in uses)

    return [
        Total("zCDP", f"rho = {rho:.6g} in all, then to epsilon", zcdp_to_epsilon(rho, delta).value, delta),
        Total("RDP", "Renyi divergences at the best order", renyi_to_epsilon(curve, delta).value, delta),
    ]


def _shuffled(ledger: Ledger) -> Total:
    lower, upper = ledger.ends("everything", shuffled=True)
    says = "the reports without names, composed"
    if ledger.in_one_piece("everything"):
        says = "without names, each model in one piece: at least what its reports tell one by one, at most all"
    return Total("shuffled", says, upper, ledger.delta, lower)


def _sum(parts: Iterable[float]) -> float:
    """Of numbers >= 0; infinite beyond the range of floats."""
    try:
        return math.fsum(parts)
    except OverflowError:
        return math.inf


def _upwards(value: float) -> float:
    """More than the few roundings of a sum can have taken from it."""
    return value * (1 + 1e-15)
