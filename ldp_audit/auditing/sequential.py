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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldp_audit.auditing.betting import Capital, epsilon_grid, next_batch, stopping_times
from ldp_audit.auditing.bounds import Counts, Region, check_arguments, lower_limit
from ldp_audit.auditing.choice import Choice, Judge, Sample, choose
from ldp_audit.auditing.dependent_outputs import drift, if_independent, telling
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.lone_events import LONE_SHARE, coverage_floor, hits_needed, lone_event, sightings_to_win
from ldp_audit.auditing.outputs import Outputs, concatenated, unrepeated
from ldp_audit.auditing.pace import Pace
from ldp_audit.auditing.power import HIGHEST_CLAIM, Reach
from ldp_audit.auditing.program import CHUNK_VALUES, SEARCH, TEST, Program
from ldp_audit.auditing.result import CONSISTENT, INCONCLUSIVE, AuditResult, Witness, judged
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


def audit_sequentially(
    program: Program,
    fresh: Fresh,
    inputs: Sequence[Any] | InputSearch,
    claimed_epsilon: float | None,
    claimed_delta: float = 0.0,
    *,
    samples: int,
    confidence: float,
    progress: Callable[[str], None] | None = None,
    floating_point: bool = False,
    pace: Pace | None = None,
    constant: bool = False,
) -> AuditResult:
    """Audit a program until its claim is refuted, or so many samples of an input are spent, or its time is.

    Arguments as `audit` has them, and fresh: the program before its first call; pace: with the budget of seconds.
    Without a claim all samples, or all of the time, are spent.
    epsilon_lower is the confidence sequence at the stop, on the grid of betting.py: it holds at whatever moment one
    looks. delta_lower is None. sections["sequential"]: why it stopped, looks, events, and the path of (samples of each
    input, bound).
    detectable_epsilon is found by simulating the bets on the last event, from when it was chosen to the plan's end.
    """
    start = time.perf_counter()
    named = as_search(inputs)
    check_arguments(claimed_epsilon, claimed_delta, samples, confidence)
    budget = {"event": (1 - confidence) * (1 - _CALLS_SHARE), "calls": (1 - confidence) * _CALLS_SHARE}
    claim = claimed_epsilon if claimed_epsilon is not None and claimed_epsilon <= HIGHEST_CLAIM else None
    capital = Capital(epsilon_grid(claim), budget["event"], claimed_delta)
    past = _Past(program, named.inputs, int(samples))
    run = _Run(program, named, int(samples), claimed_epsilon, past, capital, pace, floating_point=floating_point)
    program.inputs = named.inputs
    run.search()
    calls = _of_calls(run, budget["calls"])
    stopped = "violation" if run.above(calls[0]) else run.bet(progress)
    sequence = float(capital.epsilon_lower)
    epsilon = max(sequence, calls[0])
    seen = run.counts or run.choice.seen
    reach = _detectable(run)
    verdict, why = judged(
        violated=stopped == "violation",
        tested=[seen],
        unrepeated=unrepeated(outputs for place in run.places for outputs in past.kept[place]),
        drift=None if run.counts is None else drift(run.choice.seen, run.counts),
        untested=program.untested([seen]),
        constant=constant,
    )
    if verdict == CONSISTENT and claimed_epsilon is not None and math.isinf(reach) and seen.frequencies != (1.0, 1.0):
        hopeless = Reach(seen, seen.trials, capital.error, claimed_epsilon, claimed_delta).out_of_reach
        shown = f"bets on {seen.trials} outputs of each input would have shown no epsilon with probability 0.95"
        verdict, why = INCONCLUSIVE, (f"{shown}: {hopeless or 'it takes more'}",)
    turns = () if run.events == 1 else (f"{run.events} events were bet on in turn; the witness is the last",)
    result = AuditResult(
        verdict=verdict,
        epsilon_lower=epsilon,
        delta_lower=None,
        claimed_epsilon=claimed_epsilon,
        claimed_delta=claimed_delta,
        confidence=confidence,
        witness=calls[1] if calls[1] is not None and calls[0] > sequence else run.witness(),
        reach=reach,
        coverage_floor=run.floor,
        samples_used=program.looked + sum(run.past.drawn) + calls[2],
        seconds=0.0,
        seed=program.seed,
        budget=budget,
        notes=(*dict.fromkeys(why + program.notes() + named.notes()), *turns, *run.spent(stopped)),
        sections={"sequential": run.section(stopped)},
    )
    outputs = _OUTPUTS if claimed_epsilon is None else telling(result.witness, claimed_epsilon, claimed_delta)
    calls = max(_FEWEST_CALLS, min(_MOST_CALLS, min(_OUTPUTS, outputs) // run.largest))
    if pace is not None and (result.violated or (claimed_epsilon is None and result.epsilon_lower > 0)):
        needed = pace.accusation(calls * run.largest, outputs)
        if needed > pace.left + _LATE * (pace.seconds or 0.0):
            result = replace(
                result, verdict=INCONCLUSIVE, epsilon_lower=0.0, notes=(pace.too_late(needed), *result.notes)
            )
    result = if_independent(result, program, fresh, calls=(calls, run.largest))
    return replace(result, seconds=time.perf_counter() - start)


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
class _Run:
    """Where the audit stands: the pair and event that it bets on, and what they have shown since they were chosen."""

    program: Program
    named: InputSearch
    samples: int
    claimed: float | None
    past: _Past
    capital: Capital
    pace: Pace | None
    floating_point: bool
    pairs: list[tuple[int, int]] = field(init=False)
    choice: Choice = field(init=False)
    places: tuple[int, int] = field(init=False)  # the input that makes the event likelier, then the other
    counts: Counts | None = field(init=False, default=None)  # of the present event, since it was chosen
    debt: float = field(init=False, default=0.0)  # ln of what was lost on earlier events, at the claim; 0 or less
    events: int = field(init=False, default=0)
    looks: int = field(init=False, default=0)
    largest: int = field(init=False, default=1)  # outputs of the largest call that was bet upon
    floor: float = field(init=False, default=1.0)  # see `AuditResult.coverage_floor`
    path: list[tuple[int, float]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.pairs = list(self.named.pairs)

    def above(self, bound: float) -> bool:
        """Whether the bound refutes the claim."""
        return self.claimed is not None and bound > self.claimed

    def search(self) -> None:
        """Choose pair and event on what was drawn before, after drawing more of inputs that were drawn less."""
        size = self._search_size()
        for place in sorted({place for pair in self.pairs for place in pair}):
            self.past.fill(place, size)
        drawn = {place: self.past.sample(place) for pair in self.pairs for place in pair}
        left = self.past.left(*(self.places if self.events else self.pairs[0]))
        trials = max(1, left if self.claimed is None else min(left, _HORIZON * size))
        judge = Judge(trials, self.capital.error, self.capital.delta)
        choices = {pair: self._chosen(drawn, pair, judge) for pair in self.pairs}
        ranked = sorted(self.pairs, key=lambda pair: -choices[pair].predicted)
        if len(self.pairs) == len(self.named.pairs):  # of a leak on other pairs nothing is known any more
            self.floor = min(
                self.floor,
                self._floor(min(sum(map(len, one)) for one in drawn.values()), choices[ranked[0]], judge, left),
            )
        self.pairs = ranked[: -(-len(ranked) // 3)]
        best = choices[ranked[0]]
        if self.counts is None or best.predicted > judge.expected(self.counts):
            self._turn_to(best, ranked[0])
        self.past.keep_only({place for pair in (*self.pairs, self.places) for place in pair})

    def bet(self, progress: Callable[[str], None] | None) -> str:
        """Draw and bet until the claim is refuted or the samples are spent; returns why it stopped."""
        said, searched_at = time.perf_counter(), max(self.past.drawn)
        again = _AGAIN if self.choice.event.score is None else _AGAIN_VECTORS
        while self.past.left(*self.places) > 0:
            if self.pace is not None and self.pace.left < self.pace.reserve:
                return "time spent"
            self._bet_once()
            bound = float(self.capital.epsilon_lower)
            self.path.append((max(self.past.drawn[place] for place in self.places), bound))
            if self.above(bound):
                return "violation"
            if progress is not None and time.perf_counter() - said >= 1:
                progress(f"bets: {self.path[-1][0]} samples of each input, epsilon at least {bound:.4g} so far")
                said = time.perf_counter()
            if self.path[-1][0] >= again * searched_at and self.past.left(*self.places) > 0:
                self.search()
                searched_at = self.path[-1][0]
        return "samples spent"

    def spent(self, stopped: str) -> tuple[str, ...]:
        """What a budget of seconds allowed, where it ended the bets or had fewer samples drawn; in a note."""
        if self.pace is None or self.pace.seconds is None or stopped == "violation":
            return ()
        return (self.pace.describe(max(self.past.drawn)),)

    def witness(self) -> Witness:
        """The present event with its counts; where none was bet yet, those of the search."""
        one, two = self.places
        pair = (self.named.inputs[one], self.named.inputs[two])
        return Witness(pair, self.choice.event, self.counts or self.choice.seen)

    def section(self, stopped: str) -> dict[str, Any]:
        """For JSON."""
        shown = (
            sorted({round(place) for place in np.linspace(0, len(self.path) - 1, _PATH_POINTS)}) if self.path else []
        )
        return {
            "stopped": stopped,
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
        self.program.fit_rows(first.dimension)
        return max(1, min(self.samples * 2 // 5, _FIRST_SEARCH if first.dimension == 1 else _FIRST_VECTORS))

    def _chosen(self, drawn: dict[int, Sample], pair: tuple[int, int], judge: Judge) -> Choice:
        rng = np.random.default_rng(np.random.SeedSequence(self.program.seed, spawn_key=(SEARCH, self.looks, *pair)))
        choice = choose(drawn[pair[0]], drawn[pair[1]], judge, rng, floating_point=self.floating_point)
        lone, _ = lone_event(drawn[pair[0]], drawn[pair[1]], judge)
        choice = lone if lone is not None and lone.predicted > choice.predicted else choice
        return choice.of(structure=self.program.structure)

    def _floor(self, searched: int, best: Choice, judge: Judge, left: int) -> float:
        """How rare a leak would have been turned to on so many search samples, and shown on those that are left.

        By a test of a small part of the error, since bets that learn their size need more hits than a test does.
        """
        least = best.predicted if self.counts is None else max(best.predicted, judge.expected(self.counts))
        claimed, error = min(self.claimed or 0.0, HIGHEST_CLAIM), LONE_SHARE * self.capital.error
        hits = hits_needed(max(1, left), error, claimed, self.capital.delta)
        return coverage_floor(searched, sightings_to_win(searched, least, judge), left, hits)

    def _turn_to(self, choice: Choice, pair: tuple[int, int]) -> None:
        self.choice, self.places = choice, (pair[1], pair[0]) if choice.swapped else pair
        seen = choice.seen
        self.capital.begin_event(seen.hits, seen.trials, seen.other_hits, seen.other_trials)
        place = int(np.searchsorted(self.capital.epsilons, self.claimed or 0.0))
        logs = self.capital.log_capital
        self.debt = min(0.0, float(logs[min(place, len(logs) - 1)]))
        self.counts = None
        self.events += 1

    def _bet_once(self) -> None:
        one, two = self.places
        size = min(next_batch(max(self.past.drawn)), self.program.rows, self.past.left(one, two))
        event = self.choice.event
        hits, other = (event.count(self.past.draw(TEST, place, size)) for place in (one, two))
        self.capital.update(hits, other, size)
        self.largest = max(self.largest, size)
        new = Counts(hits, size, other, size)
        self.counts = new if self.counts is None else self.counts + new
        self.looks += 1


def _of_calls(run: _Run, error: float) -> tuple[float, Witness | None, int]:
    """The bound of the test for programs that repeat themselves, its witness, and the samples that it took."""
    witness, drawn = repeated(run.program, run.named.inputs, run.places, error, run.claimed or 0.0, run.samples)
    if witness is None:
        return 0.0, None, drawn
    delta = run.capital.delta
    return (
        Region(witness.counts, error, min(run.claimed or 1.0, HIGHEST_CLAIM), delta).epsilon_lower(delta),
        witness,
        drawn,
    )


def _detectable(run: _Run) -> float:
    """The smallest epsilon that bets on the last event refute the claim with, in 95% of runs; inf if none.

    Found by simulation with fewer looks than the run has; at each epsilon tried, 95% must be clear of doubt.
    """
    counts, claimed = run.counts or run.choice.seen, run.claimed or 0.0
    (p, _), delta = counts.smoothed, run.capital.delta
    pairs = run.past.left(*run.places) + (run.counts.trials if run.counts else 0)
    if p <= delta or pairs < 1 or claimed > HIGHEST_CLAIM:
        return math.inf

    def caught(epsilon: float) -> bool:
        q = (p - delta) * math.exp(-epsilon)
        times = stopping_times(
            p,
            q,
            claimed,
            delta=delta,
            error=run.capital.error * math.exp(run.debt),
            pairs=pairs,
            paths=_SIMULATED,
            rng=np.random.default_rng(0),
            known=run.choice.seen.trials,
            share=_SIMULATED_SHARE,
        )
        return lower_limit(int(np.isfinite(times).sum()), _SIMULATED, _SIMULATION_ERROR) >= _POWER

    return _least(caught, claimed)


def _least(caught: Callable[[float], bool], claimed: float) -> float:
    """The end of the shortest interval above the claim that is caught, to 5% of its length; inf where none is."""
    excess = 0.01
    while not caught(claimed + excess):
        excess *= 2
        if excess > 60:
            return math.inf
    low, high = excess / 2, excess
    while high > 1.05 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if caught(claimed + middle) else (middle, high)
    return claimed + high
