r"""Does a sampler follow the law that it declares? An exact test of the law itself, not of its epsilon alone.

The outputs of each input are counted in cells whose probabilities the law gives (`cell_probabilities.py`), and events
made of these cells are tested (`fit_events.py`), one by one on each input and pooled over all of them.

A count of one input is binomial, and its two tails are exact. A pooled count is a sum of independent binomials; beyond
1 from its mean, each tail is at most the binomial's with the average probability (Hoeffding, "On the Distribution of
the Number of Successes in Independent Trials", 1956, Theorem 4). With weights w that add up to 1, fixed by the law,
the least p/w is a valid p-value of everything together, whatever the dependence (weighted Bonferroni). An output
that the law gives probability 0 is a certain difference: p-value 0.

So a sampler that follows the law is called different with probability at most 1 - confidence, at every sample size.
What would have been caught is stated beside every verdict: a test rejects at every count beyond a critical one, so the
change of a probability with which the count passes it in 95% of all runs follows exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from ldp_audit.auditing.arguments import check_confidence, check_count
from ldp_audit.auditing.events.cell_probabilities import MASS_ERROR, CellLaw, cells_of
from ldp_audit.auditing.fitting.fit_events import WEIGHTS, FitEvent, fit_events
from ldp_audit.auditing.fitting.fit_result import CONSISTENT, DIFFERS, FitResult, FitWitness
from ldp_audit.auditing.program import Program, Sampler

POWER = 0.95

_STAGE = 5  # the first number of a call's key: no other stage draws the same outputs
_LEAST = 1e-300  # a tail that is smaller is written as this: only what is impossible has p-value 0


def fit(
    sampler: Sampler,
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
        `law_outputs.py`. For a program on a coarse grid hand over what it draws from, `mechanism.implemented()`.
    inputs: one or more that the law accepts.   samples: of each input.   confidence: in [0.5, 1), of the verdict.
    seed: the same seed gives the same result.   timeout: seconds that one call may take.
    tolerance: a difference of an event's probability that is none, in [0, 1): 1e-4 forgives a grid.
    Rates at the defaults, for k-RR with k = 10 and epsilon 2 whose p is off by 0.005: caught with probability above
    0.999 on all ten inputs, 0.82 on two, 0.37 on one (on two and one, no test at all can reach more than 0.92, 0.54).
    Raises ValueError for bad arguments, and ProgramError, a ValueError, for a program that fails.
    """
    start = time.perf_counter()
    _check(inputs, samples, confidence, tolerance)
    program = Program(sampler, seed, timeout)
    laws = [cells_of(law, x, samples) for x in inputs]
    tests = _tests(laws, samples, 1 - confidence, MASS_ERROR + tolerance)
    program.learn_dimension(inputs[0], (_STAGE, 0))
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
        """The change of each probability, either way as far as there is room, that is caught with the wanted power."""
        ways = self._rise(self.probability), self._rise(1 - self.probability)
        change = np.fmax(*ways)
        return np.where(np.isnan(change), 1.0, change)

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
        total += law.counts(program.outputs(x, min(program.rows, samples - first), (_STAGE, place, chunk)))
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


def _check(inputs: Sequence[Any], samples: int, confidence: float, tolerance: float) -> None:
    if isinstance(inputs, str | bytes) or not hasattr(inputs, "__len__") or len(inputs) < 1:
        raise ValueError(f"inputs must be one or more inputs, got {inputs!r:.200}")
    check_count("samples", samples, 10)
    check_confidence(confidence)
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be in [0, 1), got {tolerance!r}")
