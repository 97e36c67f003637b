"""An event for each coordinate, for the bound of `independent`, chosen from a declared product law.

Coordinate j's events are {y_j: ln P_j(y_j|x) - ln P_j(y_j|x') >= c_j}, of gain L_j and variance V_j (`law_cuts`). The
cuts c_j maximise sum L_j - z (sum V_j)**(1/2); a coordinate that would take more than it gives is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from ldp_audit.auditing.declared.law_cuts import Cuts, cuts_of
from ldp_audit.auditing.declared.product_law import ProductLaw
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.auditing.two_proportions import Counts

_LOOKED_AT = 20_000  # search samples of each input from which cuts are proposed; all of them give the design
_ROUNDS = 10
_FEW = 10  # an event that the search saw less often, or whose complement it did, has no place in a sum
_DOUBT = 3.0  # standard deviations


@dataclass(frozen=True)
class CoordinateEvent:
    """An event of one coordinate, and what the search saw of it: counts on the likelier input, then on the other."""

    place: int
    event: Event
    seen: Counts

    @property
    def design(self) -> tuple[float, float]:
        """Where its two probabilities are expected, in (0, 1)."""
        return self.seen.smoothed

    def describe(self) -> str:
        """In words, such as y[3] < 0.5."""
        return f"y[{self.place}]: {self.event.describe()}"


@dataclass(frozen=True)
class EventChoice:
    """The events, and whether they are likelier on the second input; predicted: the bound they should give, nats."""

    events: tuple[CoordinateEvent, ...]
    swapped: bool
    predicted: float


def choose_events(
    law: ProductLaw, pair: tuple[Any, Any], first: np.ndarray, second: np.ndarray, *, trials: int, error: float
) -> EventChoice:
    """The events of the better direction; none where no coordinate carries enough.

    first, second: search samples on the two inputs, shape (n, d).   trials: of each input, that the test will have.
    """
    one = _one_direction(law, pair, (first, second), trials, error, swapped=False)
    two = _one_direction(law, (pair[1], pair[0]), (second, first), trials, error, swapped=True)
    return two if two.predicted > one.predicted else one


def _one_direction(
    law: ProductLaw,
    pair: tuple[Any, Any],
    drawn: tuple[np.ndarray, np.ndarray],
    trials: int,
    error: float,
    *,
    swapped: bool,
) -> EventChoice:
    places = np.flatnonzero(law.carries(*pair))
    proposed = [_cuts(law, int(place), pair, drawn, trials) for place in places]
    chosen = _best_cuts(proposed, max(0.0, float(-special.ndtri(error))))
    events = []
    gain, variance = 0.0, 0.0
    for place, cuts, cut in zip(places, proposed, chosen, strict=True):
        if cut is None:
            continue
        found = _event(int(place), cuts, cuts.levels[cut], drawn)
        if _contributes(found.seen):
            events.append(found)
            gain, variance = gain + cuts.gains[cut], variance + cuts.variances[cut]
    predicted = gain + special.ndtri(error) * math.sqrt(variance)
    return EventChoice(tuple(events), swapped, float(predicted))


def _cuts(
    law: ProductLaw, place: int, pair: tuple[Any, Any], drawn: tuple[np.ndarray, np.ndarray], trials: int
) -> Cuts:
    likelier = drawn[0][:_LOOKED_AT, place]
    values = np.unique(np.concatenate([likelier, drawn[1][:_LOOKED_AT, place]]))
    return cuts_of(values, law.coordinate_log_ratio(place, values, *pair), likelier, trials)


def _best_cuts(proposed: list[Cuts], z: float) -> list[int | None]:
    """The cut of each coordinate, None where it is left out: the greatest sum L - z (sum V)**(1/2), by fixed point."""
    if not proposed:
        return []
    alone: list[int | None] = [int(np.argmax(cuts.gains - z * np.sqrt(cuts.variances))) for cuts in proposed]
    chosen = alone
    for _ in range(_ROUNDS):
        total = sum(cuts.variances[cut] for cuts, cut in zip(proposed, chosen, strict=True) if cut is not None)
        if total == 0:
            return chosen
        price = z / (2 * math.sqrt(total))
        better: list[int | None] = []
        for cuts in proposed:
            values = cuts.gains - price * cuts.variances
            cut = int(np.argmax(values))
            better.append(cut if values[cut] > 0 else None)
        if better == chosen:
            break
        chosen = better
    return chosen


def _event(place: int, cuts: Cuts, level: float, drawn: tuple[np.ndarray, np.ndarray]) -> CoordinateEvent:
    """The level's event as intervals, cut midway between the values that the search saw on either side."""
    member = cuts.ratios >= level
    changes = np.flatnonzero(np.diff(member)) + 1
    edges = [_midway(cuts.values[place - 1], cuts.values[place]) for place in changes]
    ends = ([-math.inf] if member[0] else []) + edges + ([math.inf] if member[-1] else [])
    event = Event(tuple(pair for number, pair in enumerate(pairwise(ends)) if number % 2 == 0))
    hits, other = (event.count(Outputs(sample[:, place])) for sample in drawn)
    return CoordinateEvent(place, event, Counts(hits, len(drawn[0]), other, len(drawn[1])))


def _midway(low: float, high: float) -> float:
    middle = float(low / 2 + high / 2)
    return middle if low < middle < high else float(high)


def _contributes(seen: Counts) -> bool:
    """Unless the search itself saw that the program's coordinate does not do what the law says."""
    if min(seen.hits, seen.other_trials - seen.other_hits) < _FEW:
        return False
    doubt = math.sqrt(1 / seen.hits + 1 / (seen.other_hits + 0.5))
    return math.log(seen.hits / seen.trials) - math.log((seen.other_hits + 0.5) / seen.other_trials) > -_DOUBT * doubt
