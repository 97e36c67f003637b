"""An audit that may stop at any time: it bets against the claim, and ends as soon as a violation is certain.

A small search chooses a pair of inputs and an event. Then outputs are drawn in batches; each batch is bet upon
(betting.py), and afterwards kept, within bounds, as material for the next search. If a violation is not yet certain
when the samples have doubled, pairs and events are compared again, on what was drawn before alone; a better one takes
over with the capital won so far. Each bet is on a consequence of the claim (p <= e**epsilon q + delta for all pairs and
events) and is fixed before its batch is drawn, so that the product stays a supermartingale whatever is bet upon, in
whatever order.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldp_audit.auditing.betting import Capital, epsilon_grid, next_batch, stopping_times
from ldp_audit.auditing.bounds import Counts, Region, lower_limit
from ldp_audit.auditing.choice import (
    LONE_SHARE,
    Choice,
    Judge,
    Sample,
    choose_score,
    coverage_floor,
    hits_needed,
    lone_event,
    sightings_to_win,
)
from ldp_audit.auditing.dependent_outputs import telling
from ldp_audit.auditing.evidence import Case, EventBound, Evidence
from ldp_audit.auditing.outputs import Outputs, concatenated, unrepeated
from ldp_audit.auditing.power import HIGHEST_CLAIM, Reach, least_caught
from ldp_audit.auditing.program import CHUNK_VALUES, SEARCH, TEST, Program
from ldp_audit.auditing.result import Witness
from ldp_audit.auditing.test import repeated

_CALLS_SHARE = 0.01
_FIRST_SEARCH = 1024  # samples of each input
_FIRST_VECTORS = 4096
_MOST_KEPT, _MOST_KEPT_VALUES = 200_000, 8 * CHUNK_VALUES  # outputs of an input; numbers of all inputs
_AGAIN, _AGAIN_VECTORS = 2, 4  # growth of the samples until events are compared again; scores take longer to learn
_HORIZON = 4  # events are chosen for the bound that they would have at so many times the samples drawn
_PATH_POINTS = 40
_FEWEST_CALLS, _MOST_CALLS, _OUTPUTS = 16, 64, 2**13
"""Calls of each input that look for dependence before a program is accused, of the size of the largest bet.

Bets are made on calls of all sizes, and a few small ones show little dependence: there are as many calls as have these
outputs in all, within these numbers.
"""
_LATE = 0.5
"""Of a budget of seconds, by which the calls before an accusation may exceed it."""
_POWER, _SIMULATED, _SIMULATION_ERROR, _SIMULATED_SHARE = 0.95, 300, 0.001, 3


@dataclass
class _Past:
    """What was drawn so far: a bounded part of each input's outputs, and how many there were."""

    program: Program
    inputs: Sequence[Any]
    samples: int
    kept: list[list[Outputs]] = field(init=False)
    drawn: list[int] = field(init=False)
    calls: list[int] = field(init=False)
    in_use: int = field(init=False)  # inputs whose outputs are kept

    def __post_init__(self) -> None:
        self.in_use = len(self.inputs)
        self.kept = [[] for _ in self.inputs]
        self.drawn, self.calls = [0] * len(self.inputs), [0] * len(self.inputs)

    def left(self, *places: int) -> int:
        """How many samples of each of these inputs the plan still allows."""
        return self.samples - max(self.drawn[place] for place in places)

    def draw(self, stage: int, place: int, size: int) -> Outputs:
        """One call for new outputs, which are kept as long as there is room."""
        outputs = self.program.outputs(self.inputs[place], size, (stage, place, self.calls[place]))
        self.calls[place] += 1
        self.drawn[place] += size
        most = _MOST_KEPT_VALUES // (outputs.dimension * self.in_use)
        room = max(4, min(_MOST_KEPT, most)) - sum(map(len, self.kept[place]))
        if room > 0:
            self.kept[place].append(outputs.part(0, room))
        return outputs

    def fill(self, place: int, size: int) -> None:
        """Search samples of an input, until so many were drawn of it."""
        size = min(size, self.samples)
        while self.drawn[place] < size:
            self.draw(SEARCH, place, min(size - self.drawn[place], self.program.rows))

    def keep_only(self, places: set[int]) -> None:
        """Forget the outputs of all other inputs."""
        self.in_use = len(places)
        self.kept = [kept if place in places else [] for place, kept in enumerate(self.kept)]

    def sample(self, place: int) -> Sample:
        """What is kept, cut into the three parts of a search."""
        outputs = concatenated(self.kept[place])
        self.kept[place] = [outputs]
        first, second = len(outputs) // 4, len(outputs) // 2
        return Sample(outputs.part(0, first), outputs.part(first, second), outputs.part(second))


@dataclass
class Betting:
    """Bets until the claim is refuted, or so many samples of an input are spent, or the time is: a `StoppingRule`.

    samples: per input, the search included. Without a claim all of them, or all of the time, are spent.
    Its bound is the confidence sequence at the stop, on the grid of betting.py: it holds at whatever moment one looks.
    sections["sequential"]: why it stopped, looks, events, and the path of (samples of each input, bound).
    The smallest epsilon that is detected is found by simulating the bets on the last event, from when it was chosen to
    the plan's end.

    Its state is the pair and event that it bets on, and what they have shown since they were chosen.
    """

    case: Case
    samples: int
    floating_point: bool = False
    past: _Past = field(init=False)
    capital: Capital = field(init=False)
    pairs: list[tuple[int, int]] = field(init=False)
    choice: Choice = field(init=False)
    places: tuple[int, int] = field(init=False)  # the input that makes the event likelier, then the other
    counts: Counts | None = field(init=False, default=None)  # of the present event, since it was chosen
    single: EventBound | None = field(init=False)  # of calls for one output, which show programs that repeat themselves
    calls: int = field(init=False)  # for one output
    budget: dict[str, float] = field(init=False)
    stopped: str = field(init=False)
    debt: float = field(init=False, default=0.0)  # ln of what was lost on earlier events, at the claim; 0 or less
    events: int = field(init=False, default=0)
    looks: int = field(init=False, default=0)
    largest: int = field(init=False, default=1)  # outputs of the largest call that was bet upon
    floor: float = field(init=False, default=1.0)  # see `AuditResult.coverage_floor`
    path: list[tuple[int, float]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        claim = self.case.claim
        self.budget = {"event": claim.error * (1 - _CALLS_SHARE), "calls": claim.error * _CALLS_SHARE}
        certain = claim.epsilon if claim.epsilon is not None and claim.epsilon <= HIGHEST_CLAIM else None
        self.capital = Capital(epsilon_grid(certain), self.budget["event"], claim.delta)
        self.past = _Past(self.case.program, self.case.search.inputs, self.samples)
        self.pairs = list(self.case.search.pairs)

    def search(self) -> None:
        """Choose the first pair and event."""
        self.case.program.inputs = self.case.search.inputs
        self._choose()

    def count(self) -> None:
        """Bet on batch after batch, unless calls for one output each refute the claim already."""
        case, claim = self.case, self.case.claim
        error, named = self.budget["calls"], case.search.inputs
        witness, self.calls = repeated(case.program, named, self.places, error, claim.epsilon or 0.0, self.samples)
        self.single = None
        if witness is not None:
            region = Region(witness.counts, error, min(claim.epsilon or 1.0, HIGHEST_CLAIM), claim.delta)
            self.single = EventBound(witness, region.epsilon_lower(claim.delta))
        refuted = self.single is not None and self._refutes(self.single.epsilon)
        self.stopped = "violation" if refuted else self._bet()

    def evidence(self) -> Evidence:
        """The confidence sequence at the stop, and the bound of calls for one output."""
        case, claim, named = self.case, self.case.claim, self.case.search.inputs
        pair = (named[self.places[0]], named[self.places[1]])
        seen = self.counts or self.choice.seen
        sequence = EventBound(Witness(pair, self.choice.event, seen), float(self.capital.epsilon_lower))
        bounds = [sequence] if self.single is None else [sequence, self.single]
        best = max(bounds, key=lambda one: one.epsilon)
        outputs = _OUTPUTS if claim.epsilon is None else telling(best.witness, claim.epsilon, claim.delta)
        calls = max(_FEWEST_CALLS, min(_MOST_CALLS, min(_OUTPUTS, outputs) // self.largest))
        turns = () if self.events == 1 else (f"{self.events} events were bet on in turn; the witness is the last",)
        return Evidence(
            bounds,
            [seen],
            Reach(seen, seen.trials, self.capital.error, *claim.pair, simulated=self._detectable()),
            drawn=case.program.looked + sum(self.past.drawn) + self.calls,
            budget=self.budget,
            floor=self.floor,
            seen=None if self.counts is None else self.choice.seen,
            again=self.counts,
            unrepeated=unrepeated(outputs for place in self.places for outputs in self.past.kept[place]),
            untested=case.program.untested([seen]),
            withdrawn=self._too_late(calls * self.largest, outputs) if claim.refuted_by(best.epsilon) else None,
            calls=(calls, self.largest),
            notes=(*turns, *self._spent()),
            sections={"sequential": self._section()},
        )

    def _refutes(self, bound: float) -> bool:
        return self.case.claim.epsilon is not None and bound > self.case.claim.epsilon

    def _choose(self) -> None:
        """Choose pair and event on what was drawn before, after drawing more of inputs that were drawn less."""
        size = self._search_size()
        for place in sorted({place for pair in self.pairs for place in pair}):
            self.past.fill(place, size)
        drawn = {place: self.past.sample(place) for pair in self.pairs for place in pair}
        left = self.past.left(*(self.places if self.events else self.pairs[0]))
        trials = max(1, left if self.case.claim.epsilon is None else min(left, _HORIZON * size))
        judge = Judge(trials, self.capital.error, self.capital.delta)
        choices = {pair: self._chosen(drawn, pair, judge) for pair in self.pairs}
        ranked = sorted(self.pairs, key=lambda pair: -choices[pair].predicted)
        if len(self.pairs) == len(self.case.search.pairs):  # of a leak on other pairs nothing is known any more
            self.floor = min(
                self.floor,
                self._floor(min(sum(map(len, one)) for one in drawn.values()), choices[ranked[0]], judge, left),
            )
        self.pairs = ranked[: -(-len(ranked) // 3)]
        best = choices[ranked[0]]
        if self.counts is None or best.predicted > judge.expected(self.counts):
            self._turn_to(best, ranked[0])
        self.past.keep_only({place for pair in (*self.pairs, self.places) for place in pair})

    def _bet(self) -> str:
        """Draw and bet until the claim is refuted or the samples are spent; returns why it stopped."""
        pace, progress = self.case.pace, self.case.progress
        said, searched_at = time.perf_counter(), max(self.past.drawn)
        again = _AGAIN if self.choice.event.score is None else _AGAIN_VECTORS
        while self.past.left(*self.places) > 0:
            if pace is not None and pace.left < pace.reserve:
                return "time spent"
            self._bet_once()
            bound = float(self.capital.epsilon_lower)
            self.path.append((max(self.past.drawn[place] for place in self.places), bound))
            if self._refutes(bound):
                return "violation"
            if progress is not None and time.perf_counter() - said >= 1:
                progress(f"bets: {self.path[-1][0]} samples of each input, epsilon at least {bound:.4g} so far")
                said = time.perf_counter()
            if self.path[-1][0] >= again * searched_at and self.past.left(*self.places) > 0:
                self._choose()
                searched_at = self.path[-1][0]
        return "samples spent"

    def _too_late(self, again: int, copied: int) -> str | None:
        """A sentence where a budget of seconds is spent before the program could be accused; else None.

        again, copied: outputs of either input that the accusation takes, as of `Pace.accusation`.
        """
        pace = self.case.pace
        if pace is None:
            return None
        needed = pace.accusation(again, copied)
        return pace.too_late(needed) if needed > pace.left + _LATE * (pace.seconds or 0.0) else None

    def _spent(self) -> tuple[str, ...]:
        """What a budget of seconds allowed, where it ended the bets or had fewer samples drawn; in a note."""
        pace = self.case.pace
        if pace is None or pace.seconds is None or self.stopped == "violation":
            return ()
        return (pace.describe(max(self.past.drawn)),)

    def _section(self) -> dict[str, Any]:
        """For JSON."""
        shown = (
            sorted({round(place) for place in np.linspace(0, len(self.path) - 1, _PATH_POINTS)}) if self.path else []
        )
        return {
            "stopped": self.stopped,
            "looks": self.looks,
            "events": self.events,
            "path": [{"samples": self.path[place][0], "epsilon_lower": self.path[place][1]} for place in shown],
            "detectable_epsilon": "simulated",
        }

    def _search_size(self) -> int:
        """How much should be drawn of each input: a little at first, later half of what the pair in use has."""
        if self.events:
            return max(self.past.drawn) // 2
        first = self.past.draw(SEARCH, self.pairs[0][0], 1)
        self.case.program.fit_rows(first.dimension)
        return max(1, min(self.samples * 2 // 5, _FIRST_SEARCH if first.dimension == 1 else _FIRST_VECTORS))

    def _chosen(self, drawn: dict[int, Sample], pair: tuple[int, int], judge: Judge) -> Choice:
        rng = np.random.default_rng(
            np.random.SeedSequence(self.case.program.seed, spawn_key=(SEARCH, self.looks, *pair))
        )
        choice = choose_score(drawn[pair[0]], drawn[pair[1]], judge, rng, floating_point=self.floating_point)
        lone, _ = lone_event(drawn[pair[0]], drawn[pair[1]], judge)
        choice = lone if lone is not None and lone.predicted > choice.predicted else choice
        return choice.of(structure=self.case.program.structure)

    def _floor(self, searched: int, best: Choice, judge: Judge, left: int) -> float:
        """How rare a leak would have been turned to on so many search samples, and shown on those that are left.

        By a test of a small part of the error, since bets that learn their size need more hits than a test does.
        """
        least = best.predicted if self.counts is None else max(best.predicted, judge.expected(self.counts))
        claimed, error = min(self.case.claim.epsilon or 0.0, HIGHEST_CLAIM), LONE_SHARE * self.capital.error
        hits = hits_needed(max(1, left), error, claimed, self.capital.delta)
        return coverage_floor(searched, sightings_to_win(searched, least, judge), left, hits)

    def _turn_to(self, choice: Choice, pair: tuple[int, int]) -> None:
        self.choice, self.places = choice, (pair[1], pair[0]) if choice.swapped else pair
        seen = choice.seen
        self.capital.begin_event(seen.hits, seen.trials, seen.other_hits, seen.other_trials)
        place = int(np.searchsorted(self.capital.epsilons, self.case.claim.epsilon or 0.0))
        logs = self.capital.log_capital
        self.debt = min(0.0, float(logs[min(place, len(logs) - 1)]))
        self.counts = None
        self.events += 1

    def _bet_once(self) -> None:
        one, two = self.places
        size = min(next_batch(max(self.past.drawn)), self.case.program.rows, self.past.left(one, two))
        event = self.choice.event
        hits, other = (event.count(self.past.draw(TEST, place, size)) for place in (one, two))
        self.capital.update(hits, other, size)
        self.largest = max(self.largest, size)
        new = Counts(hits, size, other, size)
        self.counts = new if self.counts is None else self.counts + new
        self.looks += 1

    def _detectable(self) -> float:
        """The smallest epsilon that bets on the last event refute the claim with, in 95% of runs; inf if none.

        Found by simulation with fewer looks than the run has; at each epsilon tried, 95% must be clear of doubt.
        """
        counts, claimed = self.counts or self.choice.seen, self.case.claim.epsilon or 0.0
        (p, _), delta = counts.smoothed, self.capital.delta
        pairs = self.past.left(*self.places) + (self.counts.trials if self.counts else 0)
        if p <= delta or pairs < 1 or claimed > HIGHEST_CLAIM:
            return math.inf

        def caught(excess: float) -> bool:
            q = (p - delta) * math.exp(-claimed - excess)
            times = stopping_times(
                p,
                q,
                claimed,
                delta=delta,
                error=self.capital.error * math.exp(self.debt),
                pairs=pairs,
                paths=_SIMULATED,
                rng=np.random.default_rng(0),
                known=self.choice.seen.trials,
                share=_SIMULATED_SHARE,
            )
            return lower_limit(int(np.isfinite(times).sum()), _SIMULATED, _SIMULATION_ERROR) >= _POWER

        return claimed + least_caught(caught, 0.05)
