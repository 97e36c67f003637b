"""A privacy loss in plain sentences with its numbers in them.

The sentences speak of two neighbours: two values of one input, or the data with and without one record. An attacker
knows all else. The same loss always gives the same sentences.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ldp_audit.accounting.attack_success import (
    Bracket,
    advantage,
    detection,
    epsilon_with_probability,
    guess_accuracy,
    loss_exceeds,
    posterior,
    shown_outright,
)
from ldp_audit.accounting.privacy_loss import PrivacyLoss, neighbours
from ldp_audit.numerics import probability, whole

PRIORS = (0.01, 0.1, 0.5)
FALSE_ALARMS = (0.001, 0.01, 0.1)

_USUAL_DELTA = 1e-6
_FLAT = 1e-9
"""Two deltas are the same if their ratio differs from 1 by less."""


def explain(loss: PrivacyLoss, *, delta: float | None = None, records: int | None = None) -> list[str]:
    """The meaning of the loss, a sentence or two an item.

    delta: at which epsilon is stated; by default 0, or 1e-6 where no pure epsilon holds.
    records: the number of records in the data, to state how many of them delta stands for.
    Raises ValueError for a delta outside [0, 1], for records that are no whole number >= 1, and for what is no loss.
    """
    if records is not None:
        records = whole(records, "records")
    asked = _delta(loss, delta)
    epsilon, sure = loss.epsilon(asked), epsilon_with_probability(loss, asked)
    return [
        _stated(loss, asked),
        _attack(loss),
        *_odds(loss, asked, epsilon, sure),
        *_exceeding(loss, asked, epsilon, sure),
        *_outright(loss, records),
        *_large_delta(loss, asked, records),
        *([f"This rests on: {'; '.join(loss.assumptions)}."] if loss.assumptions else []),
    ]


def _delta(loss: PrivacyLoss, delta: float | None) -> float:
    if not isinstance(loss, PrivacyLoss):
        raise ValueError(f"loss must be a PrivacyLoss, as privacy_loss gives it, got {loss!r}")
    if delta is None:
        return 0.0 if math.isfinite(loss.supremum()) else _USUAL_DELTA
    return probability(delta, "delta")


def _stated(loss: PrivacyLoss, delta: float) -> str:
    low, high = loss.epsilon_bounds(delta)
    if math.isinf(high):
        least = shown_outright(loss).upper
        if delta >= least:  # delta(epsilon) falls towards it, and has it at no epsilon
            near = "larger ones bring delta as near to it as is asked for, but none reaches it"
            return f"No epsilon holds at delta = {_number(delta)}: {near}."
        why = f"the least delta that any epsilon allows is {_number(least)}"
        return f"No epsilon holds at delta = {_number(delta)}: {why}."
    size = f"exactly {_number(high)}" if loss.exact else _within(_number(low), _number(high))
    pure = "pure " if delta == 0 else ""
    between = f"neighbours by {loss.adjacency}" if loss.adjacency else neighbours(None)
    return f"The {pure}epsilon at delta = {_number(delta)}, between {between}, is {size} nats."


def _within(low: str, high: str) -> str:
    """Both bounds, as they are shown."""
    return f"{high}, in the digits shown" if low == high else f"at least {low} and at most {high}"


def _attack(loss: PrivacyLoss) -> str:
    most, right, hits = advantage(loss), guess_accuracy(loss), detection(loss, FALSE_ALARMS[1])
    return (
        "The best attack finds out which of two neighbours the input was with a true-positive rate that exceeds its "
        f"false-positive rate by {_bounded(most, _number)}. A guess at even odds is right with probability "
        f"{_bounded(right, _share)}, where 50% is blind chance; with 1% of false alarms, {_bounded(hits, _share)} are "
        "detected."
    )


def _bounded(found: Bracket, write: Callable[[float], str]) -> str:
    """A success of the best attack: the most that it can be, and the least where that is not the same."""
    low, high = write(found.lower), write(found.upper)
    return high if low == high else f"between {low} and {high}" if found.lower > 0 else f"at most {high}"


def _odds(loss: PrivacyLoss, delta: float, epsilon: float, sure: float) -> list[str]:
    """The change of priors, but for a small chance: delta, or twice that where delta itself would take far more."""
    chance = delta
    if sure > 1 + 2 * epsilon:
        chance = min(1.0, 2 * delta)
        sure = epsilon_with_probability(loss, chance)
    if math.isinf(sure):
        return []
    moved = ", ".join(f"from {_share(p)} to {_share(posterior(p, sure).upper, certain=False)}" for p in PRIORS)
    when = f"With probability at least {_without(chance)}, an" if chance else "An"
    return [
        f"{when} output multiplies the odds of the neighbour that it came from by at most e^{_number(sure)}"
        f"{_factor(sure)}: a prior probability rises at most {moved}."
    ]


def _exceeding(loss: PrivacyLoss, delta: float, epsilon: float, sure: float) -> list[str]:
    """That delta is not the probability of a loss above epsilon."""
    if delta == 0 or math.isinf(epsilon):
        return []
    chance = loss_exceeds(loss, epsilon)
    if not chance.upper > delta:
        return []
    until = (
        f"it falls to {_number(delta)} at {_number(sure)} nats" if math.isfinite(sure) else "no epsilon brings it there"
    )
    return [
        f"Delta is not the probability that the loss exceeds epsilon: at {_number(epsilon)} nats that is "
        f"{chance}; {until}."
    ]


def _outright(loss: PrivacyLoss, records: int | None) -> list[str]:
    """Outputs that no epsilon covers."""
    chance = shown_outright(loss)
    if chance.upper == 0:
        return []
    found = [
        f"With probability {chance} the output shows outright which neighbour it was; no epsilon, however large, "
        "covers that."
    ]
    if loss.delta(0.0) <= chance.upper * (1 + _FLAT):
        found.append(
            f"The profile is flat: delta is {_number(chance.upper)} at every epsilon, so epsilon is no part of the "
            f"guarantee. All the protection is that with probability {_number(1 - chance.upper)} the record is left "
            "out; if it is not, it is there for all to see."
        )
    if records is not None:
        found.append(f"Of {records} records that is {_number(chance.upper * records)} on average, at most.")
    return found


def _large_delta(loss: PrivacyLoss, delta: float, records: int | None) -> list[str]:
    """A delta that is no small chance of failure."""
    if records is None or delta * records <= 1 or not loss.delta(0.0) > 0:
        return []
    return [
        f"A delta of {_number(delta)} is above 1/{records}: a mechanism may have it that publishes "
        f"{_number(delta * records)} of the {records} records on average and protects the others perfectly."
    ]


def _number(value: float) -> str:
    return f"{value:.4g}"


def _without(delta: float) -> str:
    """1 - delta, without the rounding that would make it 1."""
    return f"1 - {delta:.4g}" if delta < 0.001 else f"{1 - delta:.4g}"


def _factor(epsilon: float) -> str:
    """The factor itself, where it is readable."""
    return f" = {math.exp(epsilon):.4g}" if epsilon < 50 else ""


def _share(value: float, *, certain: bool = True) -> str:
    """A percentage, not rounded to certainty; certain: whether 1 is certain, and not a rounded number."""
    if value == 1 and not certain:
        return "nearly 100%"
    if 0.9999 < value < 1:
        return f"100% less {100 * (1 - value):.2g}%"
    return f"{100 * value:.4g}%"
