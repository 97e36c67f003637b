"""audit(sampler, inputs, ...): a lower bound on a program's epsilon that holds whatever the program is.

Search samples choose a pair of inputs, a direction and an event; fresh samples test that one event. So searching
costs samples and no confidence. A small share of the error goes to the test for programs that repeat themselves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ldp_audit.auditing.choice import Choice, Sample, choose
from ldp_audit.auditing.counting import Tally, Test, count_all
from ldp_audit.auditing.outputs import concatenated
from ldp_audit.auditing.power import detectable_epsilon
from ldp_audit.auditing.program import Program, Sampler
from ldp_audit.auditing.repeats import suspected
from ldp_audit.auditing.result import CONSISTENT, VIOLATED, AuditResult, Witness
from ldp_audit.auditing.two_proportions import Counts, Region

_CALLS_SHARE = 0.01
_SEARCH = 0
_UNSURE = 0.05  # a log ratio whose search left this much doubt is searched again with more samples


def audit(
    sampler: Sampler,
    inputs: Sequence[Any],
    claimed_epsilon: float | None = None,
    claimed_delta: float = 0.0,
    *,
    samples: int = 1_000_000,
    confidence: float = 0.999,
    seed: int = 0,
    timeout: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> AuditResult:
    """Audit a sampler.

    sampler: (x, n, rng) -> n independent outputs on input x: numbers, labels, None, or vectors as an (n, d) array.
    inputs: two or more; all pairs are searched, in both directions.
    claimed_epsilon: nats; None where only the bound is wanted.   claimed_delta: in [0, 1).
    samples: per input, the search included.   confidence: in (0, 1), of everything that the result states.
    seed: the same seed gives the same result.   timeout: seconds that one call may take.
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a program that fails.
    """
    start = time.perf_counter()
    check_arguments(inputs, claimed_epsilon, claimed_delta, samples, confidence)
    program = Program(sampler, seed, timeout)
    budget = {"event": (1 - confidence) * (1 - _CALLS_SHARE), "calls": (1 - confidence) * _CALLS_SHARE}
    found = searched(program, inputs, samples, budget["event"], claimed_delta, progress)
    test = Test((found.choice.event,), found.pair(inputs), found.places, samples - found.spent, program.rows)
    (counts,) = count_all(test, program, _reporter(progress, budget["event"], found.choice, claimed_delta))
    design = found.choice.design_epsilon(claimed_delta)
    bounds = [_bounds(counts, budget["event"], design, claimed_epsilon, claimed_delta)]
    witnesses = [Witness(test.pair, test.events[0], counts)]
    calls = suspected(program, inputs, found.places, budget["calls"], claimed_epsilon or 0.0)
    if calls is not None:
        (repeated,) = count_all(calls, program)
        bounds.append(_bounds(repeated, budget["calls"], claimed_epsilon or 1.0, claimed_epsilon, claimed_delta))
        witnesses.append(Witness(calls.pair, calls.events[0], repeated, calls_for_one=True))
    best = max(range(len(bounds)), key=lambda place: bounds[place][0])
    epsilon, delta = bounds[best][0], max((b[1] for b in bounds if b[1] is not None), default=None)
    return AuditResult(
        verdict=VIOLATED if claimed_epsilon is not None and epsilon > claimed_epsilon else CONSISTENT,
        epsilon_lower=epsilon,
        delta_lower=delta,
        claimed_epsilon=claimed_epsilon,
        claimed_delta=claimed_delta,
        confidence=confidence,
        witness=witnesses[best],
        detectable_epsilon=_detectable(found.choice, test, budget["event"], claimed_epsilon, claimed_delta),
        coverage_floor=coverage_floor(found.learned),
        samples_used=found.drawn + 2 * test.trials,
        seconds=time.perf_counter() - start,
        seed=seed,
        budget=budget,
    )


@dataclass(frozen=True)
class Found:
    """The pair and the event that the search settled on.

    places: the numbers of the inputs, the one that makes the event likelier first.
    learned: samples of each input that proposals were learned from.   spent: search samples of each input, all in all.
    drawn: search samples of all inputs.
    """

    choice: Choice
    places: tuple[int, int]
    learned: int
    spent: int
    drawn: int

    def pair(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """The two inputs."""
        return inputs[self.places[0]], inputs[self.places[1]]


def searched(
    program: Program,
    inputs: Sequence[Any],
    samples: int,
    error: float,
    delta: float,
    progress: Callable[[str], None] | None = None,
) -> Found:
    """Choose the pair, the direction and the event; a choice that left much doubt is made again on more samples."""
    size = search_size(samples, _dimension(program, inputs[0]))
    rows: list[list[Sample]] = [[] for _ in inputs]
    found = _searched_once(program, inputs, rows, size, samples, error, delta)
    if _doubt(found.choice.seen) > _UNSURE and 12 * size <= samples // 3:
        if progress is not None:
            progress(f"search: again with more samples, the best event is rare ({found.choice.event.describe()})")
        found = _searched_once(program, inputs, rows, 2 * size, samples, error, delta)
    return found


def search_size(samples: int, dimension: int) -> int:
    """Of a search's first two samples, of each input; the third is twice as large."""
    share = samples // 50 if dimension == 1 else samples // 25
    most = max(50_000, 2**23 // dimension)
    return max(1, min(samples // 10, max(5_000 if dimension == 1 else 20_000, share), most))


def coverage_floor(learned: int) -> float:
    """The probability below which an event stays unseen in so many samples, with probability 0.05 or more."""
    return -math.expm1(math.log(0.05) / learned)


def check_arguments(
    inputs: Sequence[Any], claimed_epsilon: float | None, claimed_delta: float, samples: int, confidence: float
) -> None:
    """ValueError that names the argument, its value and what is accepted."""
    if isinstance(inputs, str | bytes) or not hasattr(inputs, "__len__") or len(inputs) < 2:
        raise ValueError(f"inputs must be two or more inputs, got {inputs!r:.200}")
    if claimed_epsilon is not None and not 0 <= claimed_epsilon <= math.inf:
        raise ValueError(f"claimed_epsilon must be a number >= 0, or None, got {claimed_epsilon!r}")
    if not 0 <= claimed_delta < 1:
        raise ValueError(f"claimed_delta must be in [0, 1), got {claimed_delta!r}")
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 10:
        raise ValueError(f"samples must be a whole number >= 10, got {samples!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence!r}")


def _dimension(program: Program, x: Any) -> int:
    dimension = program.outputs(x, 1, (_SEARCH, 0)).dimension
    program.fit_rows(dimension)
    return dimension


def _searched_once(
    program: Program,
    inputs: Sequence[Any],
    earlier: list[list[Sample]],
    size: int,
    samples: int,
    error: float,
    delta: float,
) -> Found:
    for place, x in enumerate(inputs):
        round_ = len(earlier[place])
        parts = [
            program.many(x, part * size, (_SEARCH, place, round_, part, which)) for which, part in enumerate((1, 1, 2))
        ]
        earlier[place].append(Sample(*parts))
    drawn = [_merged(rounds) for rounds in earlier]
    spent = sum(len(part) for part in (drawn[0].learn, drawn[0].cut, drawn[0].compare))
    rng = np.random.default_rng(np.random.SeedSequence(program.seed, spawn_key=(_SEARCH, len(inputs), len(earlier[0]))))
    choices = {
        pair: choose(drawn[pair[0]], drawn[pair[1]], trials=samples - spent, error=error, delta=delta, rng=rng)
        for pair in combinations(range(len(inputs)), 2)
    }
    pair = max(choices, key=lambda pair: choices[pair].predicted)
    places = (pair[1], pair[0]) if choices[pair].swapped else pair
    return Found(choices[pair], places, len(drawn[0].learn), spent, spent * len(inputs))


def _merged(rounds: list[Sample]) -> Sample:
    if len(rounds) == 1:
        return rounds[0]
    return Sample(
        concatenated(one.learn for one in rounds),
        concatenated(one.cut for one in rounds),
        concatenated(one.compare for one in rounds),
    )


def _doubt(seen: Counts) -> float:
    return math.sqrt(1 / (seen.hits + 0.5) + 1 / (seen.other_hits + 0.5))


def _bounds(
    counts: Counts, error: float, design: float, claimed_epsilon: float | None, claimed_delta: float
) -> tuple[float, float | None]:
    region = Region(counts, error, design, claimed_delta)
    delta = None if claimed_epsilon is None else region.delta_lower(claimed_epsilon)
    return region.epsilon_lower(claimed_delta), delta


def _detectable(choice: Choice, test: Test, error: float, claimed_epsilon: float | None, claimed_delta: float) -> float:
    p = (choice.seen.hits + 0.5) / (choice.seen.trials + 1)
    claimed = claimed_epsilon or 0.0
    if p <= claimed_delta or claimed == math.inf:
        return math.inf
    return detectable_epsilon(p, test.trials, error, claimed, claimed_delta)


def _reporter(
    progress: Callable[[str], None] | None, error: float, choice: Choice, delta: float
) -> Callable[[Tally], None] | None:
    """Says, at most once a second, how far the test is and what the bound would be if it stopped here."""
    if progress is None:
        return None
    last = [time.perf_counter()]

    def report(tally: Tally) -> None:
        counts = tally[0]
        if time.perf_counter() - last[0] >= 1:
            region = Region(counts, error, choice.design_epsilon(delta), delta, fineness=0.05)
            progress(
                f"test: {counts.trials} samples of each input, epsilon at least {region.epsilon_lower(delta):.4g} so far"
            )
            last[0] = time.perf_counter()

    return report
