r"""Does a sampler follow the law that it declares? An exact test of the law itself, not of its epsilon alone.

The outputs of each input are counted in cells whose probabilities the law gives (`law_cells`), and events made of
these cells are tested (`fit_events`), one by one on each input and pooled over all of them.

A count of one input is binomial, and its two tails are exact. A pooled count is a sum of independent binomials; beyond
1 from its mean, each tail is at most the binomial's with the average probability (Hoeffding, "On the Distribution of
the Number of Successes in Independent Trials", 1956, Theorem 4). With weights w that add up to 1, fixed by the law,
the least p/w is a valid p-value of everything together, whatever the dependence (weighted Bonferroni). An output
that the law gives probability 0 is a certain difference: p-value 0.

So a sampler that follows the law is called different with probability at most 1 - confidence, at every sample size.
What would have been caught is stated beside every verdict: a test rejects at every count beyond a critical one, so the
change of a probability with which the count passes it in 95% of all runs follows exactly.

The events that are counted, by kind; they depend on the laws alone:

likeliest   "y is among the likeliest outputs of its law", over all inputs;
pooled      single cells and "y <= v" over all inputs, where their cells are the same; else, for intervals, "y lies
            below the j/16 quantile of its law";
cells       each cell on each input;
half-lines  "y <= v" on each input.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from ldp_audit.auditing.adapters.recognise import sampler_of
from ldp_audit.auditing.bounds import check_confidence
from ldp_audit.auditing.event_search import listed_inputs
from ldp_audit.auditing.law_cells import MASS_ERROR, CellLaw, cells_of
from ldp_audit.auditing.program import FIT, Program
from ldp_audit.auditing.result import plain, shown
from ldp_audit.numerics import between, count_of, whole
from ldp_audit.shown import Judged

POWER = 0.95
_LEAST = 1e-300  # a tail that is smaller is written as this: only what is impossible has p-value 0
DIFFERS, CONSISTENT = "differs", "consistent"
_SAYS = {
    "likeliest": "of the likeliest outputs together, over the inputs",
    "pooled": "of one output, or one half-line, over all inputs",
    "cells": "of any one cell on one input",
    "half-lines": "of any one half-line on one input",
}
WEIGHTS = {"likeliest": 0.4, "pooled": 0.2, "cells": 0.2, "half-lines": 0.2}
"""How the error is shared out; a kind without events leaves its share to the others."""

_QUANTILES, _EIGHTHS = 16, 8
_MOST_LEVELS = 8


def fit(
    sampler: Any,
    law: Any,
    inputs: Sequence[Any],
    *,
    samples: int = 100_000,
    confidence: float = 0.999,
    seed: int = 0,
    timeout: float | None = None,
    tolerance: float = 0.0,
) -> FitResult:
    """Test a sampler against the exact law that it declares.

    sampler: (x, n, rng) -> n independent outputs on input x, as `audit` takes it.
    law: a mechanism of `ldp_audit.mechanisms`, or an object with log_prob(y, x) and outputs or breakpoints(x); see
        `law_cells`. For a program on a coarse grid hand over what it draws from, `mechanism.implemented()`.
    inputs: one or more that the law accepts.   samples: of each input.   confidence: in [0.5, 1), of the verdict.
    seed: the same seed gives the same result.   timeout: seconds that one call may take.
    tolerance: a difference of an event's probability that is none, in [0, 1): 1e-4 forgives a grid.
    Rates at the defaults, for k-RR with k = 10 and epsilon 2 whose p is off by 0.005: caught with probability above
    0.999 on all ten inputs; 0.82 where two are tested, 0.37 where one is (there no test at all can reach more than
    0.92, 0.54).
    Raises ValueError for bad arguments, and ProgramError, a ValueError, for a program that fails.
    """
    start, inputs = time.perf_counter(), listed_inputs(inputs)
    tolerance = _check(inputs, samples, confidence, tolerance)
    program = Program(sampler_of(sampler), seed, timeout)
    laws = [cells_of(law, x, samples) for x in inputs]
    tests = _tests(laws, samples, 1 - confidence, MASS_ERROR + tolerance)
    program.learn_dimension(inputs[0], (FIT, 0))
    counts = [
        _counted(program, x, place, one, samples) for place, (x, one) in enumerate(zip(inputs, laws, strict=True))
    ]
    change = tests.detectable()
    witness = _outside(inputs, counts, samples) or _least(tests, change, inputs, counts, 1 - confidence)
    kinds = np.array([event.kind for event in tests.events])
    return FitResult(
        verdict=DIFFERS if witness.p_value <= 1 - confidence else CONSISTENT,
        p_value=witness.p_value,
        confidence=confidence,
        witness=witness,
        detectable={kind: float(change[kinds == kind].max()) for kind in WEIGHTS if kind in kinds},
        tests=len(tests.events),
        samples_used=samples * len(inputs),
        seconds=time.perf_counter() - start,
        seed=seed,
        budget={kind: float(tests.level[kinds == kind].sum()) for kind in WEIGHTS if kind in kinds},
        notes=_notes(laws, tolerance),
    )


@dataclass(frozen=True)
class _Tests:
    """Events, and what the law says of their counts; arrays of shape (events,).

    trials: of all the event's inputs.   probability: the average over them.   level: the error of each test.
    pooled: whether the event's probability may differ between its inputs.   slack: how far it may be off.
    """

    events: tuple[FitEvent, ...]
    trials: np.ndarray
    probability: np.ndarray
    level: np.ndarray
    pooled: np.ndarray
    slack: float

    def p_values(self, hits: np.ndarray) -> np.ndarray:
        """Two-sided, of each count; each is at most u with probability at most u."""
        above = self._tail(hits, self.probability)
        below = self._tail(self.trials - hits, 1 - self.probability)
        return np.clip(2 * np.minimum(above, below), _LEAST, 1.0)

    def detectable(self) -> np.ndarray:
        """The change of each probability, either way as far as there is room, that is caught with the wanted power.

        Infinite where so few outputs show no change at all.
        """
        ways = self._rise(self.probability), self._rise(1 - self.probability)
        change = np.fmax(*ways)
        return np.where(np.isnan(change), math.inf, change)

    def _rise(self, probability: np.ndarray) -> np.ndarray:
        """How far this probability must rise to be caught; NaN where even 1 is not."""
        few, many = np.zeros_like(self.trials), self.trials + 1  # a count that never rejects, and one that cannot be
        while np.any(many - few > 1):
            middle = np.floor((few + many) / 2)
            rejected = 2 * self._tail(middle, probability) <= self.level
            many, few = np.where(rejected, middle, many), np.where(rejected, few, middle)
        possible = many <= self.trials
        critical = np.where(possible, many, self.trials)
        needed = special.betaincinv(critical, self.trials - critical + 1, POWER)
        return np.where(possible, needed - probability, math.nan)

    def _tail(self, hits: np.ndarray, probability: np.ndarray) -> np.ndarray:
        """At least P(count >= hits), where the probability, on average, is at most this one and the slack."""
        most = np.minimum(probability + self.slack, 1.0)
        some = np.maximum(hits, 1)
        found = special.betainc(some, self.trials - some + 1, most)
        near = self.pooled & (hits < self.trials * most + 1)  # where Hoeffding's theorem says nothing
        return np.where((hits <= 0) | near, 1.0, found)


def _tests(laws: list[CellLaw], samples: int, error: float, slack: float) -> _Tests:
    events = fit_events(laws)
    kinds = [event.kind for event in events]
    share = {kind: WEIGHTS[kind] / kinds.count(kind) for kind in set(kinds)}
    present = sum(WEIGHTS[kind] for kind in share)
    return _Tests(
        tuple(events),
        np.array([samples * len(event.parts) for event in events], dtype=np.float64),
        np.array([event.probability(laws) for event in events]),
        np.array([error * share[kind] / present for kind in kinds]),
        np.array([len(event.parts) > 1 for event in events]),
        slack,
    )


def _counted(program: Program, x: Any, place: int, law: CellLaw, samples: int) -> np.ndarray:
    total = np.zeros(len(law.words) + 1, dtype=np.int64)
    for chunk, first in enumerate(range(0, samples, program.rows)):
        total += law.counts(program.outputs(x, min(program.rows, samples - first), (FIT, place, chunk)))
    return total


def _outside(inputs: Sequence[Any], counts: list[np.ndarray], samples: int) -> FitWitness | None:
    """The certain difference: an output that cannot be."""
    place = max(range(len(inputs)), key=lambda one: counts[one][-1])
    if counts[place][-1] == 0:
        return None
    caught = 1 - (1 - POWER) ** (1 / samples)
    return FitWitness((inputs[place],), "y is off the law's support", int(counts[place][-1]), samples, 0.0, 0.0, caught)


def _least(
    tests: _Tests, change: np.ndarray, inputs: Sequence[Any], counts: list[np.ndarray], error: float
) -> FitWitness:
    """The event that the p-value of everything comes from."""
    hits = np.array([event.hits(counts) for event in tests.events])
    adjusted = np.minimum(1.0, tests.p_values(hits) * (error / tests.level))
    best = int(np.argmin(adjusted))
    event = tests.events[best]
    return FitWitness(
        tuple(inputs[place] for place, _ in event.parts),
        event.words,
        int(hits[best]),
        int(tests.trials[best]),
        float(tests.probability[best]),
        float(adjusted[best]),
        float(change[best]),
    )


def _notes(laws: list[CellLaw], tolerance: float) -> tuple[str, ...]:
    notes = []
    if any(law.binned for law in laws):
        notes.append(
            "outputs were counted in intervals: a grid much finer than the changes that are caught, and what a single "
            "value gives away, are not seen here; audit looks for the latter"
        )
    if tolerance:
        notes.append(f"differences of a probability up to {tolerance:g} were taken for none")
    return tuple(notes)


def _check(inputs: Sequence[Any], samples: int, confidence: float, tolerance: float) -> float:
    if count_of(inputs) < 1:
        raise ValueError(f"inputs must be one or more inputs, got {inputs!r:.200}")
    whole(samples, "samples", 10)
    check_confidence(confidence)
    return between(tolerance, "tolerance", "in [0, 1)", lambda one: 0 <= one < 1)


@dataclass(frozen=True)
class FitWitness:
    """The event whose count lies furthest from the law, as p-values go.

    inputs: those on which it was counted.   cell: the event in words.   hits of trials were seen, expected is the
    law's probability, an average over the inputs.   p_value: with the price of all other events.
    detectable: the smallest change of its probability that is caught with probability 0.95; infinite if none is.
    """

    inputs: tuple[Any, ...]
    cell: str
    hits: int
    trials: int
    expected: float
    p_value: float
    detectable: float

    @property
    def observed(self) -> float:
        """The share of hits."""
        return self.hits / self.trials

    def describe(self) -> str:
        """In words, one line."""
        where = f"input {shown(self.inputs[0])}" if len(self.inputs) == 1 else f"{len(self.inputs)} inputs together"
        return f"{self.cell}, on {where}: {self.hits} of {self.trials} ({self.observed:.6g}), law {self.expected:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"words": self.describe(), **plain(vars(self)), "observed": self.observed}


@dataclass(frozen=True)
class FitResult(Judged):
    """The outcome of `fit`.

    verdict: "differs" with probability at most 1 - confidence for a sampler that follows the law.
    p_value: of everything that was tested together; 0 only for an output that the law excludes.
    detectable: for each kind of event a change that is caught with probability 0.95, whichever of its events it is in.
    tests: how many events were tested.   budget: how much of the error each kind may spend.
    """

    asked: ClassVar[str] = DIFFERS

    verdict: str
    p_value: float
    confidence: float
    witness: FitWitness
    detectable: dict[str, float]
    tests: int
    samples_used: int
    seconds: float
    seed: int
    budget: dict[str, float]
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the sampler's law is another one, at the stated confidence."""
        return self.verdict == DIFFERS

    def describe(self) -> str:
        """A few lines for people; no verdict comes without the changes that would have been caught."""
        lines = [
            f"{self.verdict}: p-value {self.p_value:.3g} of {self.tests} events together, "
            f"confidence {self.confidence:.10g}",
            f"  furthest from the law: {self.witness.describe()}",
        ]
        lines += [
            f"  a change by {change:.3g} {_SAYS[kind]} is caught with probability 0.95"
            if change < math.inf
            else f"  no change {_SAYS[kind]} is caught with probability 0.95: too few samples"
            for kind, change in self.detectable.items()
        ]
        lines += [f"  note: {note}" for note in self.notes]
        lines.append(f"  {self.samples_used} samples in {self.seconds:.2f} s, seed {self.seed}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema_version": 1, "kind": "fit", **plain(vars(self)), "witness": self.witness.to_dict()}


@dataclass(frozen=True)
class FitEvent:
    """A set of cells on each of some inputs.

    kind: one of `WEIGHTS`.   words: of an output y.   parts: pairs (the input's number, the cells' numbers).
    """

    kind: str
    words: str
    parts: tuple[tuple[int, np.ndarray], ...]

    def probability(self, laws: list[CellLaw]) -> float:
        """The average over its inputs."""
        masses = [math.fsum(laws[place].probabilities[cells]) for place, cells in self.parts]
        return min(1.0, math.fsum(masses) / len(masses))

    def hits(self, counts: list[np.ndarray]) -> int:
        """How many of the counted outputs are in it."""
        return sum(int(counts[place][cells].sum()) for place, cells in self.parts)


def fit_events(laws: list[CellLaw]) -> list[FitEvent]:
    """All events that the laws leave to chance. ValueError if there are none."""
    found = [*_likeliest(laws), *(_pooled(laws) if len(laws) > 1 else ()), *_of_each_input(laws)]
    found = [event for event in found if event.parts and MASS_ERROR < event.probability(laws) < 1 - MASS_ERROR]
    if not found:
        raise ValueError("law must leave something to chance: on every input its output is certain")
    return found


def _likeliest(laws: list[CellLaw]) -> Iterator[FitEvent]:
    """The highest level of each law; the further ones where all have as many, or else eighths of the mass."""
    orders = [np.lexsort((-law.probabilities, -law.heights)) for law in laws]
    ends = [_level_ends(law.heights[order]) for law, order in zip(laws, orders, strict=True)]
    yield FitEvent("likeliest", "y is a likeliest output of its law", _prefixes(orders, [one[0] for one in ends]))
    if len({len(one) for one in ends}) == 1 and len(ends[0]) <= _MOST_LEVELS:
        for level in range(1, len(ends[0]) - 1):
            words = f"y is of the {level + 1} likeliest kinds of its law"
            yield FitEvent("likeliest", words, _prefixes(orders, [one[level] for one in ends]))
        return
    for share in range(1, _EIGHTHS):
        sizes = [_size(law.probabilities[order], share / _EIGHTHS) for law, order in zip(laws, orders, strict=True)]
        words = f"y is in the likeliest {share}/{_EIGHTHS} of its law, as cells go"
        yield FitEvent("likeliest", words, _prefixes(orders, sizes))


def _pooled(laws: list[CellLaw]) -> Iterator[FitEvent]:
    every = range(len(laws))
    if all(law.words == laws[0].words for law in laws):
        for cell, words in enumerate(laws[0].words):
            yield FitEvent("pooled", words, tuple((place, np.array([cell])) for place in every))
        for size in range(2, _half_lines(laws[0]) + 1):
            yield FitEvent("pooled", laws[0].up_to[size - 1], tuple((place, np.arange(size)) for place in every))
    elif all(law.binned for law in laws):
        orders = [np.arange(law.ordered) for law in laws]
        for share in range(1, _QUANTILES):
            sizes = [_size(law.probabilities, share / _QUANTILES) for law in laws]
            words = f"y lies below the cut next to the {share}/{_QUANTILES} quantile of its law"
            yield FitEvent("pooled", words, _prefixes(orders, sizes))


def _of_each_input(laws: list[CellLaw]) -> Iterator[FitEvent]:
    for place, law in enumerate(laws):
        if not len(law.words) == 2 == law.ordered:  # of two such cells the half-line is one, and the other what is left
            for cell, words in enumerate(law.words):
                yield FitEvent("cells", words, ((place, np.array([cell])),))
        for size in range(1, _half_lines(law) + 1):
            yield FitEvent("half-lines", law.up_to[size - 1], ((place, np.arange(size)),))


def _half_lines(law: CellLaw) -> int:
    """How many unions of first cells are not everything."""
    return law.ordered - (law.ordered == len(law.words))


def _level_ends(heights: np.ndarray) -> list[int]:
    """Heights descend: how many lie in the first level, the first two, ...; equal to 1e-9 is equal."""
    falls = heights[1:] < heights[:-1] * (1 - 1e-9)
    return [*(np.flatnonzero(falls) + 1).tolist(), len(heights)]


def _size(masses: np.ndarray, share: float) -> int:
    """How many of the first cells hold about this share."""
    return int(np.argmin(np.abs(np.cumsum(masses) - share))) + 1


def _prefixes(orders: list[np.ndarray], sizes: list[int]) -> tuple[tuple[int, np.ndarray], ...]:
    """So many first cells of each order; an input of which that is everything has no part in the event."""
    pairs = enumerate(zip(orders, sizes, strict=True))
    return tuple((place, order[:size]) for place, (order, size) in pairs if size < len(order))
