"""How far an attack on a privacy loss can get: advantage, accuracy, posteriors, and how often the loss is large.

Everything is about one attacker who knows all but one bit, which of two neighbours the input was, and sees the output.
With L the privacy loss and pi the prior probability of the one, the posterior odds are the prior odds times e**L.

* The best guess at even odds is right with probability (1 + delta(0))/2; at prior pi, with probability
  1 - pi + pi delta(ln((1 - pi)/pi)) for pi <= 1/2.
* (epsilon, delta) does not say that L exceeds epsilon with probability delta: that may happen more often. It is
  P(L > epsilon) = delta(epsilon) + e**epsilon Q(L > epsilon), and Q's tail is the slope of delta over t = e**epsilon,
  which is convex. So for every step s > 0, with d the profile,

      d(epsilon) + (d(epsilon) - d(epsilon + s))/(e**s - 1) <= P(L > epsilon)
                                          <= (d(epsilon - s) - e**-s d(epsilon))/(1 - e**-s).

* What is left of delta at infinite epsilon is the chance that an output shows outright which of the two it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldp_audit.accounting.detection_rate import detection_bounds
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.budget_arguments import level, log_of_delta, share
from ldp_audit.losses.finite_losses import as_atoms
from ldp_audit.losses.loss import LossLaw
from ldp_audit.mechanisms.log_space import expit

_ROUNDING = 2e-12
"""By how much, of itself, a delta may be wrong."""
_STEPS = tuple(10.0**-i for i in range(2, 8))
"""How far below a level the slope of delta is looked at, as shares of the level, or in nats below 1."""


@dataclass(frozen=True)
class Bracket:
    """A number between two ends."""

    lower: float
    upper: float

    def __str__(self) -> str:
        low, high = f"{self.lower:.4g}", f"{self.upper:.4g}"
        return high if low == high else f"between {low} and {high}"


def advantage(loss: PrivacyLoss) -> Bracket:
    """The best attack's true-positive rate less its false-positive rate: delta(0), the total variation distance."""
    return Bracket(*loss.delta_bounds(0.0))


def guess_accuracy(loss: PrivacyLoss, prior: float = 0.5) -> Bracket:
    """How often the best guess is right, if one neighbour has this prior probability and the other the rest.

    prior: in [0, 1]; ValueError for anything else. Without the output it is max(prior, 1 - prior).
    """
    chance = share(prior, "prior")
    rarer = min(chance, 1 - chance)
    if rarer == 0:
        return Bracket(1.0, 1.0)
    low, high = loss.delta_bounds(math.log((1 - rarer) / rarer))
    return Bracket(1 - rarer + rarer * low, 1 - rarer + rarer * high)


def posterior(prior: float, epsilon: float) -> Bracket:
    """The least and the largest posterior probability when the privacy loss is at most epsilon either way.

    prior: in [0, 1].   epsilon: nats, >= 0. Raises ValueError for anything else.
    """
    chance, top = share(prior, "prior"), level(epsilon)
    if chance in (0.0, 1.0):
        return Bracket(chance, chance)
    odds = math.log(chance) - math.log1p(-chance)
    return Bracket(expit(odds - top), expit(odds + top))


def loss_exceeds(loss: PrivacyLoss, epsilon: float) -> Bracket:
    """The probability that the privacy loss exceeds epsilon, for the worse of the directions.

    It is at least delta(epsilon), and often more. epsilon: nats, >= 0; ValueError for anything else.
    """
    asked = level(epsilon)
    if math.isinf(asked):
        return Bracket(*loss.delta_bounds(asked))
    ends = [_tail(law, asked) for law in loss.directions]
    return Bracket(max(low for low, _ in ends), max(high for _, high in ends))


def epsilon_with_probability(loss: PrivacyLoss, delta: float) -> float:
    """An epsilon that the privacy loss exceeds with probability at most delta, nats: from above.

    It is at least that of (epsilon, delta)-privacy; infinite where an output may show its input with a larger
    probability. delta: in [0, 1]; ValueError for anything else.
    """
    log_of_delta(delta, None)
    low, high = loss.epsilon(delta), loss.largest()
    if math.isinf(low) or loss_exceeds(loss, low).upper <= delta:
        return low
    reach = min(high, 1 + 2 * low)
    while loss_exceeds(loss, reach).upper > delta:
        if reach >= high:
            return high
        low, reach = reach, min(high, 2 * reach)
    while reach - low > 1e-7 * reach:
        middle = (low + reach) / 2
        low, reach = (low, middle) if loss_exceeds(loss, middle).upper <= delta else (middle, reach)
    return reach


def shown_outright(loss: PrivacyLoss) -> Bracket:
    """The probability of an output that only one of the neighbours can give: delta at infinite epsilon."""
    return Bracket(*loss.delta_bounds(math.inf))


def detection(loss: PrivacyLoss, false_alarm: float) -> Bracket:
    """The best attack's true-positive rate at this false-positive rate: see `detection_rate`.

    false_alarm: in [0, 1]; ValueError for anything else.
    """
    return Bracket(*detection_bounds(loss, share(false_alarm, "false_alarm")))


def precision(loss: PrivacyLoss, prior: float, false_alarm: float) -> float:
    """The probability that an alarm of the best attack with this false-positive rate is right; an upper end.

    prior: of the neighbour that the alarm claims, in [0, 1].   false_alarm: likewise; ValueError for anything else.
    Where there is never an alarm, of either kind, the prior.
    """
    chance, wrong = share(prior, "prior"), share(false_alarm, "false_alarm")
    right = detection(loss, wrong).upper
    if chance in (0.0, 1.0) or right == wrong == 0:
        return chance
    if wrong == 0:
        return 1.0
    odds = math.log(chance) - math.log1p(-chance) + math.log(right) - math.log(wrong)
    return min(1.0, expit(odds) * (1 + _ROUNDING))


def _tail(law: LossLaw, epsilon: float) -> tuple[float, float]:
    """P(L > epsilon) for one direction: from the losses themselves, or by the slope of delta on both sides."""
    if epsilon >= law.largest():
        return 0.0, 0.0
    atoms = as_atoms(law)
    if atoms is not None:
        above = np.append(atoms.log_probabilities[atoms.losses > epsilon], atoms.log_infinite)
        found = min(1.0, float(np.exp(np.logaddexp.reduce(above))))
        return found, found
    low, high = _ends(law, epsilon)
    least, most = low, 1.0
    for step in (part * max(1.0, epsilon) for part in _STEPS):
        before, after = _ends(law, epsilon - step)[1], _ends(law, epsilon + step)[1]
        doubt = _ROUNDING * before / -math.expm1(-step)
        most = min(most, (before - math.exp(-step) * low) / -math.expm1(-step) + doubt)
        least = max(least, low + (low - after) * math.exp(-step) / -math.expm1(-step) - doubt)
    return least, max(most, least, high)


def _ends(law: LossLaw, epsilon: float) -> tuple[float, float]:
    low, high = law.log_delta_bounds(epsilon)
    return math.exp(low), math.exp(high)
