"""audit(sampler, inputs, ...): a lower bound on a program's epsilon that holds whatever the program is.

Search samples choose a pair of inputs, a direction and an event; fresh samples test that one event. So searching
costs samples and no confidence. A small share of the error goes to the test for programs that repeat themselves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from ldp_audit.auditing.arguments import check_arguments
from ldp_audit.auditing.choice import Choice
from ldp_audit.auditing.counting import Tally, Test, count_all
from ldp_audit.auditing.event_search import coverage_floor, searched
from ldp_audit.auditing.input_search import InputSearch, as_search
from ldp_audit.auditing.power import detectable_epsilon
from ldp_audit.auditing.program import Program, Sampler
from ldp_audit.auditing.repeats import suspected
from ldp_audit.auditing.result import CONSISTENT, VIOLATED, AuditResult, Witness
from ldp_audit.auditing.sequential import audit_sequentially
from ldp_audit.auditing.two_proportions import Counts, Region

_CALLS_SHARE = 0.01


def audit(
    sampler: Sampler,
    inputs: Sequence[Any] | InputSearch,
    claimed_epsilon: float | None = None,
    claimed_delta: float = 0.0,
    *,
    samples: int = 1_000_000,
    confidence: float = 0.999,
    seed: int = 0,
    timeout: float | None = None,
    sequential: bool = False,
    progress: Callable[[str], None] | None = None,
) -> AuditResult:
    """Audit a sampler.

    sampler: (x, n, rng) -> n independent outputs on input x: numbers, labels, None, or vectors as an (n, d) array.
    inputs: two or more, all pairs of which are searched, in both directions; or what `search` returns.
    claimed_epsilon: nats; None where only the bound is wanted.   claimed_delta: in [0, 1).
    samples: per input, the search included.   confidence: in (0, 1), of everything that the result states.
    seed: the same seed gives the same result.   timeout: seconds that one call may take.
    sequential: bet instead, and stop as soon as a violation is certain (see `audit_sequentially`).
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a program that fails.
    """
    start = time.perf_counter()
    named = as_search(inputs).inputs
    check_arguments(claimed_epsilon, claimed_delta, samples, confidence)
    program = Program(sampler, seed, timeout)
    if sequential:
        return audit_sequentially(
            program, inputs, claimed_epsilon, claimed_delta, samples=samples, confidence=confidence, progress=progress
        )
    budget = {"event": (1 - confidence) * (1 - _CALLS_SHARE), "calls": (1 - confidence) * _CALLS_SHARE}
    found = searched(program, inputs, samples, budget["event"], claimed_delta, progress)
    test = Test((found.choice.event,), found.pair(named), found.places, samples - found.spent, program.rows)
    (counts,) = count_all(test, program, _reporter(progress, budget["event"], found.choice, claimed_delta))
    design = found.choice.design_epsilon(claimed_delta)
    bounds = [_bounds(counts, budget["event"], design, claimed_epsilon, claimed_delta)]
    witnesses = [Witness(test.pair, test.events[0], counts)]
    calls = suspected(program, named, found.places, budget["calls"], claimed_epsilon or 0.0)
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
            bound = region.epsilon_lower(delta)
            progress(f"test: {counts.trials} samples of each input, epsilon at least {bound:.4g} so far")
            last[0] = time.perf_counter()

    return report
