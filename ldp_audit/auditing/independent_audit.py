"""Auditing a program whose coordinates are declared independent given the input, with the law at hand (grey box).

From the declared product law comes an event for each coordinate, fixed on search samples; fresh samples count all of
them, and `independent_bound` turns the counts into one bound. What is assumed of the program is the structure of the
law alone, and it is said with the bound: the coordinates that are used are independent given the input. That they
follow the law's probabilities is not assumed. The counted samples are also asked whether any two events go together
(`dependence`); if so, no bound is claimed. The usual audit, which assumes nothing, is to be read beside this one.

Coordinate j's events are {y_j: ln P_j(y_j|x) - ln P_j(y_j|x') >= c_j}, of gain L_j and variance V_j (`cuts_of`). The
cuts c_j maximise sum L_j - z (sum V_j)**(1/2); a coordinate that would take more than it gives is left out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.grey_box import Cuts, ProductLaw, cuts_of
from ldp_audit.auditing.independent_bound import Dependence, dependence, epsilon_lower_if_independent
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.auditing.program import COORDINATES, Program

STAGE = COORDINATES
"""First number of a call's key. A test's keys are (STAGE, place, chunk), a search's (STAGE, place, 0, call)."""

ASSUMPTION = "given the input, the coordinates of an output are independent of each other, as the declared law says"
FALSE_ALARM = 1e-6
"""Of the check of independence: how often it withdraws a bound although the coordinates are independent."""

_CHECK_WORK = 4e10  # multiplications for the pairs of events on each input; where it is spent, outputs go unchecked
_SEARCH_VALUES = 2**22  # numbers that a search holds of each input
_LOOKED_AT = 20_000  # search samples of each input from which cuts are proposed; all of them give the design
_ROUNDS = 10
_FEW = 10  # an event that the search saw less often, or whose complement it did, has no place in a sum
_DOUBT = 3.0  # standard deviations


@dataclass(frozen=True)
class IndependentBound:
    """A lower bound on epsilon that rests on an assumption.

    epsilon_lower: nats, for delta = 0; at most the program's epsilon with probability >= 1 - error if the assumption
    holds. 0 where the samples contradict it (`refuted`), and where the law's coordinates carry nothing.
    inputs: the one that makes the events likelier, then the other.   events, counts: one a coordinate that is used.
    checks: of independence, on the two inputs.   samples_used: of both inputs, the search included.
    """

    epsilon_lower: float
    error: float
    inputs: tuple[Any, Any]
    events: tuple[CoordinateEvent, ...]
    counts: tuple[Counts, ...]
    checks: tuple[Dependence, Dependence]
    samples_used: int
    assumption: str = ASSUMPTION

    @property
    def refuted(self) -> bool:
        """Whether the samples contradict the assumption."""
        return 2 * min(check.p_value for check in self.checks) < FALSE_ALARM

    def describe(self) -> str:
        """The bound and what it assumes, a line each."""
        if not self.events:
            return "no coordinate of the declared law tells these two inputs apart with so few samples: no bound"
        trials = self.counts[0].trials
        if self.refuted:
            return f"no bound that assumes independent coordinates: {self._against()}, so they are not independent"
        return (
            f"epsilon is at least {self.epsilon_lower:.6g} (error {self.error:.3g}), from {len(self.events)} "
            f"coordinates together, {trials} outputs of each input\n"
            f"assumed: {self.assumption}; {self._against()}, which does not prove it"
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "words": self.describe(),
            "epsilon_lower": self.epsilon_lower,
            "assumption": self.assumption,
            "refuted": self.refuted,
            "error": self.error,
            "coordinates": [
                {"place": one.place, "event": one.event.to_dict(), **counts.to_dict()}
                for one, counts in zip(self.events, self.counts, strict=True)
            ],
            "checks": [
                {"places": self._places(check), "p_value": check.p_value, "outputs": check.outputs}
                for check in self.checks
            ],
            "samples_used": self.samples_used,
        }

    def _against(self) -> str:
        worst = min(self.checks, key=lambda check: check.p_value)
        places = self._places(worst)
        pair = f"coordinates {places[0]} and {places[1]}" if places else "all pairs of coordinates together"
        return (
            f"in {worst.outputs} outputs, {pair} spoke most against independence, with a p-value of {worst.p_value:.2g}"
        )

    def _places(self, check: Dependence) -> list[int] | None:
        return None if check.pair is None else [self.events[number].place for number in check.pair]


def audit_independent(
    program: Program,
    pair: tuple[Any, Any],
    law: ProductLaw,
    *,
    samples: int,
    error: float,
    places: tuple[int, int] = (0, 1),
    progress: Callable[[str], None] | None = None,
) -> IndependentBound:
    """Bound epsilon from all coordinates together.

    pair: two inputs, in either order.   places: their numbers, which the keys of the calls contain.
    samples: of each input, the search included, 10 or more.   error: in (0, 1), of the bound, which is at delta 0: the
    product of events has none at any other.
    Raises ValueError where outputs are not vectors as long as the law, ProgramError for a program that fails.
    """
    program.fit_rows(law.dimension)
    searched = max(2, min(max(samples // 20, 2000), 200_000, samples // 5, _SEARCH_VALUES // law.dimension))
    first, second = (
        _vectors(program.many(x, searched, (STAGE, place, 0)), law) for x, place in zip(pair, places, strict=True)
    )
    choice = choose_events(law, pair, first, second, trials=samples - searched, error=error)
    del first, second
    if choice.swapped:
        pair, places = (pair[1], pair[0]), (places[1], places[0])
    if not choice.events:
        nothing = Dependence(None, 1.0, 0)
        return IndependentBound(0.0, error, pair, (), (), (nothing, nothing), 2 * searched)
    test = IndependentTest(choice.events, law, pair, places, samples - searched, program.rows)
    tally = test.count(program, 0)
    for chunk in range(1, test.chunks):
        tally = tally + test.count(program, chunk)
        if progress is not None and chunk % 64 == 0:
            progress(f"coordinates: {tally.outputs} of {test.trials} samples of each input")
    bound = epsilon_lower_if_independent(tally.counts(), error, [one.design for one in choice.events])
    found = IndependentBound(bound, error, pair, choice.events, tally.counts(), tally.checks(), 2 * samples)
    return replace(found, epsilon_lower=0.0) if found.refuted else found


@dataclass(frozen=True)
class Tally:
    """Counts on the two inputs; tallies of different chunks add up.

    hits: int64, shape (2, d): in how many of `outputs` each event happened.
    together: int64, shape (2, d, d): in how many of `checked` outputs two events did; None where none was checked.
    """

    hits: np.ndarray
    outputs: int
    together: np.ndarray | None
    checked: int

    def __add__(self, more: Tally) -> Tally:
        known = [tally.together for tally in (self, more) if tally.together is not None]
        together = known[0] + known[1] if len(known) == 2 else known[0] if known else None
        return Tally(self.hits + more.hits, self.outputs + more.outputs, together, self.checked + more.checked)

    def checks(self) -> tuple[Dependence, Dependence]:
        """Of independence, on the two inputs."""
        if self.together is None:
            return Dependence(None, 1.0, 0), Dependence(None, 1.0, 0)
        return dependence(self.together[0], self.checked), dependence(self.together[1], self.checked)

    def counts(self) -> tuple[Counts, ...]:
        """One a coordinate."""
        return tuple(Counts(int(x), self.outputs, int(y), self.outputs) for x, y in self.hits.T)


@dataclass(frozen=True)
class IndependentTest:
    """The events, fixed, and where they are counted. Chunk i of an input is one call, with a key of its own."""

    events: tuple[CoordinateEvent, ...]
    law: ProductLaw
    pair: tuple[Any, Any]
    places: tuple[int, int]
    trials: int
    rows: int

    @property
    def chunks(self) -> int:
        """How many calls each input needs."""
        return -(-self.trials // self.rows)

    def count(self, program: Program, chunk: int) -> Tally:
        """The tally of one chunk."""
        size = min(self.rows, self.trials - chunk * self.rows)
        checked = (chunk * self.rows) * len(self.events) ** 2 < _CHECK_WORK
        hits, together = [], []
        for x, place in zip(self.pair, self.places, strict=True):
            member = self._members(_vectors(program.outputs(x, size, (STAGE, place, chunk)), self.law))
            hits.append(np.count_nonzero(member, axis=0))
            if checked:
                ones = member.astype(np.float32)  # whole numbers below 2**24 are exact
                together.append((ones.T @ ones).astype(np.int64))
        return Tally(np.array(hits), size, np.array(together) if checked else None, size if checked else 0)

    def _members(self, vectors: np.ndarray) -> np.ndarray:
        """Which outputs are in which event: boolean, shape (n, events)."""
        member = np.empty((len(vectors), len(self.events)), dtype=bool)
        for number, one in enumerate(self.events):
            member[:, number] = one.event.contains(Outputs(vectors[:, one.place]))
        return member


def _vectors(outputs: Outputs, law: ProductLaw) -> np.ndarray:
    """Shape (n, d)."""
    if outputs.numbers is None or outputs.labels is not None:
        raise ValueError("law must be of numbers or vectors of numbers: the sampler's outputs are labels, or some are")
    numbers = outputs.numbers if outputs.numbers.ndim == 2 else outputs.numbers[:, None]
    if numbers.shape[1] != law.dimension:
        raise ValueError(
            f"law must have one coordinate for each of the outputs' {numbers.shape[1]}, got {law.dimension}"
        )
    return numbers


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
    return middle if low < middle < high else min(float(high), sys.float_info.max)  # see events.learned


def _contributes(seen: Counts) -> bool:
    """Unless the search itself saw that the program's coordinate does not do what the law says."""
    if min(seen.hits, seen.other_trials - seen.other_hits) < _FEW:
        return False
    doubt = math.sqrt(1 / seen.hits + 1 / (seen.other_hits + 0.5))
    return math.log(seen.hits / seen.trials) - math.log((seen.other_hits + 0.5) / seen.other_trials) > -_DOUBT * doubt
