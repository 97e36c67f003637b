"""What a test would have caught, and how many samples one needs: power that is guaranteed, not approximated.

A test that rejects at counts (x, y) rejects at every larger x and smaller y too. So if it rejects at a corner that both
counts pass with the wanted probability, its power is at least that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from scipy import special

from ldp_audit.auditing.bounds import Counts, Region, check_confidence, lower_limit
from ldp_audit.numerics import between

_SHARE = 0.25  # of the misses, given to the likelier side: the best share for each test saves 1% of its samples
_FINENESS = 0.05
_MOST = 10**12
_MOST_EXCESS = 60.0  # nats above the claim
_NEARLY_ALWAYS, _ALLOWED = 0.99, 0.01
"""The share of an event that is as good as certain, and the error at which one is likelier than delta."""
HIGHEST_CLAIM = 600.0
"""Beyond it e**-epsilon is no normal float64, and no count can contradict the claim."""


def plan(
    claimed_epsilon: float,
    violation: float,
    confidence: float = 0.95,
    power: float = 0.95,
    *,
    claimed_delta: float = 0.0,
    probability: float = 0.5,
) -> int:
    """How many samples per input a test needs, to catch a true epsilon of `violation` with this power.

    claimed_epsilon, violation: nats, 0 <= claimed < violation.   confidence: in [0.5, 1).   power: in (0, 1).
    probability: of the event that shows the violation, on the input that makes it likelier; a rarer event needs more.
    The samples are those of the test alone; `audit` takes a part of its samples to find the event.
    Raises ValueError for what lies outside, and where 10**12 samples do not suffice.
    """
    _check_plan(claimed_epsilon, violation, confidence, power, claimed_delta, probability)
    claimed_epsilon, violation, claimed_delta = float(claimed_epsilon), float(violation), float(claimed_delta)
    power, probability = float(power), float(probability)

    def catches(samples: int) -> bool:
        region = _barely_passed(probability, violation, samples, 1 - confidence, claimed_delta, power)
        return region.exceeds(claimed_epsilon, claimed_delta)

    few, many = 1, 2
    while not catches(many):
        few, many = many, 2 * many
        if many > _MOST:
            raise ValueError(
                f"violation {violation!r} cannot be told from claimed_epsilon {claimed_epsilon!r} with {_MOST:.0e} "
                f"samples by an event of probability {probability!r}"
            )
    while many - few > max(1, many // 200):
        middle = (few + many) // 2
        if catches(middle):
            many = middle
        else:
            few = middle
    return many


def detectable_epsilon(
    probability: float,
    trials: int,
    error: float,
    claimed_epsilon: float,
    claimed_delta: float,
    power: float = 0.95,
    *,
    design_epsilon: float | None = None,
) -> float:
    """The smallest true epsilon that a test of so many trials per input catches with this power; inf if it never does.

    The violation is one of an event that keeps its probability on the likelier input: its other probability is
    (probability - delta) e**-epsilon.   design_epsilon: that of the test's region, where it is fixed already; None: the
    test is designed for the violation, as one is that learns its design from the same program.
    """
    if claimed_epsilon > HIGHEST_CLAIM:
        return math.inf

    def region(excess: float) -> Region:
        violation = claimed_epsilon + excess
        return _barely_passed(probability, violation, trials, error, claimed_delta, power, design=design_epsilon)

    return claimed_epsilon + least_caught(lambda excess: region(excess).exceeds(claimed_epsilon, claimed_delta))


def least_caught(catches: Callable[[float], bool], precision: float = 0.01) -> float:
    """The least excess over a claim that is caught, nats, to this share of itself; inf above 60."""
    few, many = 0.0, 0.01
    while not catches(many):
        few, many = many, 2 * many
        if many > _MOST_EXCESS:
            return math.inf
    while many - few > precision * many:
        middle = (few + many) / 2
        few, many = (few, middle) if catches(middle) else (middle, many)
    return many


@dataclass(frozen=True)
class Reach:
    """What a test would have caught of an event that was seen so often; worked out when it is asked for.

    trials: of each input.   error, claimed_delta, design_epsilon: as of `detectable_epsilon`.
    claimed_epsilon: None counts as 0.   simulated: the smallest epsilon where it is known otherwise, as of bets.
    """

    seen: Counts
    trials: int
    error: float
    claimed_epsilon: float | None
    claimed_delta: float
    design_epsilon: float | None = None
    simulated: float | None = None

    @cached_property
    def detectable_epsilon(self) -> float:
        """The smallest true epsilon that is caught with probability 0.95; inf where the event (nearly) never shows it.

        So for one that is too rare, or occurs (nearly) always.
        """
        if self.simulated is not None:
            return self.simulated
        p, _ = self.seen.smoothed
        if p <= self.claimed_delta or self.seen.other_hits > _NEARLY_ALWAYS * self.seen.other_trials:
            return math.inf
        claim = (self.claimed_epsilon or 0.0, self.claimed_delta)
        return detectable_epsilon(p, self.trials, self.error, *claim, design_epsilon=self.design_epsilon)

    @property
    def out_of_reach(self) -> str | None:
        """Why no number of outputs shows an epsilon by this event; None where more of them would."""
        seen, delta = self.seen, self.claimed_delta
        if (self.claimed_epsilon or 0.0) > HIGHEST_CLAIM:
            return f"no number of outputs contradicts an epsilon above {HIGHEST_CLAIM:g}"
        if seen.other_hits > _NEARLY_ALWAYS * seen.other_trials:
            return "nor would any number of them, as this event is nearly certain on both inputs"
        if lower_limit(seen.hits, seen.trials, _ALLOWED) <= delta and seen.hits:
            return (
                f"nor need any number of them, as this event, seen in {seen.hits} of {seen.trials} outputs, may be no "
                f"likelier than delta, {delta:.6g}, which allows it on one input alone"
            )
        return None


def _barely_passed(
    p: float, epsilon: float, trials: int, error: float, delta: float, power: float, *, design: float | None = None
) -> Region:
    """What is known at counts that are both passed with this power, where the event has p and (p - delta) e**-epsilon.

    Where this rejects a claim, a test does with this power.   design: of the region; None: epsilon.
    """
    q = max(p - delta, 0.0) * math.exp(-epsilon)
    hits = _greatest_passed(trials, p, _SHARE * (1 - power))
    corner = Counts(hits, trials, trials - _greatest_passed(trials, 1 - q, (1 - _SHARE) * (1 - power)), trials)
    return Region(corner, error, epsilon if design is None else design, delta, _FINENESS)


def _greatest_passed(trials: int, p: float, miss: float) -> int:
    """The greatest x with P(X >= x) >= 1 - miss."""
    low, high = 0, trials + 1  # P(X >= 0) = 1, P(X >= trials + 1) = 0
    while high - low > 1:
        middle = (low + high) // 2
        if special.betainc(middle, trials - middle + 1, p) >= 1 - miss:
            low = middle
        else:
            high = middle
    return low


def _check_plan(
    claimed_epsilon: float, violation: float, confidence: float, power: float, delta: float, probability: float
) -> None:
    claimed = between(claimed_epsilon, "claimed_epsilon", "a finite number >= 0", lambda one: 0 <= one < math.inf)
    above = "a finite epsilon above claimed_epsilon"
    between(violation, "violation", above, lambda one: claimed < one < math.inf)
    check_confidence(confidence)
    between(power, "power", "in (0, 1)", lambda one: 0 < one < 1)
    delta = between(delta, "claimed_delta", "in [0, 1)", lambda one: 0 <= one < 1)
    between(probability, "probability", "in (claimed_delta, 1]", lambda one: delta < one <= 1)
