"""audit(sampler, inputs, ...): a lower bound on a program's epsilon that holds whatever the program is.

Search samples choose a pair of inputs, a direction and an event; fresh samples test that one event. So searching
costs samples and no confidence. A small share of the error goes to the test for programs that repeat themselves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldp_audit.auditing.arguments import check_arguments
from ldp_audit.auditing.checkpoint import opened, remembered
from ldp_audit.auditing.choice import Choice
from ldp_audit.auditing.counting import Tally, Test, count_all
from ldp_audit.auditing.curves import Curves
from ldp_audit.auditing.distribute import runner_of
from ldp_audit.auditing.event_search import coverage_floor, searched
from ldp_audit.auditing.input_search import InputSearch, as_search
from ldp_audit.auditing.power import detectable_epsilon
from ldp_audit.auditing.program import Program, Sampler
from ldp_audit.auditing.record import counted
from ldp_audit.auditing.repeats import suspected
from ldp_audit.auditing.result import CONSISTENT, VIOLATED, AuditResult, Witness
from ldp_audit.auditing.sequential import audit_sequentially
from ldp_audit.auditing.two_proportions import Region

_CALLS_SHARE = 0.01
_CURVES_SHARE = 0.2


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
    curves: bool = False,
    workers: int = 1,
    scheduler: str | None = None,
    resume: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> AuditResult:
    """Audit a sampler.

    sampler: (x, n, rng) -> n independent outputs on input x: numbers, labels, None, or vectors as an (n, d) array.
    inputs: two or more, all pairs of which are searched, in both directions; or what `search` returns.
    claimed_epsilon: nats; None where only the bound is wanted.   claimed_delta: in [0, 1).
    samples: per input, the search included.   confidence: in (0, 1), of everything that the result states.
    seed: the same seed gives the same result.   timeout: seconds that one call may take.
    sequential: bet instead, and stop as soon as a violation is certain (see `audit_sequentially`).
    curves: also bounds on delta at any epsilon, Renyi divergences and the trade-off curve, from the same outputs; they
    take a fifth of the error (`Curves`).
    workers: processes that count; or scheduler: address of a Dask cluster, which does. The result stays the same.
    resume: a file that the counts are kept in, and that a run of the same arguments goes on from.
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a program that fails.
    """
    start = time.perf_counter()
    search = as_search(inputs)
    named = search.inputs
    check_arguments(claimed_epsilon, claimed_delta, samples, confidence)
    program = Program(sampler, seed, timeout)
    if sequential:
        if curves or workers != 1 or scheduler is not None or resume is not None:
            raise ValueError("sequential goes without curves, workers, scheduler and resume: each bet follows the last")
        return audit_sequentially(
            program, inputs, claimed_epsilon, claimed_delta, samples=samples, confidence=confidence, progress=progress
        )
    budget = _budget(1 - confidence, curves=curves)
    claim, runner = (claimed_epsilon, claimed_delta), runner_of(workers, scheduler)
    state = opened(resume, program, search, claim, samples, confidence, curves=curves)
    found = remembered(
        state,
        program,
        named[0],
        lambda: searched(program, search, samples, budget["event"], claimed_delta, progress, curves=curves),
    )
    events = (found.choice.event, *found.levels)
    test = Test(events, found.pair(named), found.places, samples - found.spent, program.rows)
    design, floor = found.choice.design_epsilon(claimed_delta), coverage_floor(found.learned)
    if state is not None:
        state.fix(test, design)
    report = _reporter(progress, budget["event"], found.choice, claimed_delta)
    counts, *levels = count_all(test, program, report, runner=runner, state=state)
    findings = [_finding(Witness(test.pair, events[0], counts), budget["event"], design, claim)]
    findings += _repeats(program, named, found.places, budget["calls"], claim)
    best = max(findings, key=lambda finding: finding.epsilon)
    sections = {"counted": counted(program, test, counts, design, claim, confidence, floor).to_dict()}
    if curves:
        sections["curves"] = Curves(tuple(levels), budget["curves"]).to_dict()
    return AuditResult(
        verdict=VIOLATED if claimed_epsilon is not None and best.epsilon > claimed_epsilon else CONSISTENT,
        epsilon_lower=best.epsilon,
        delta_lower=max((finding.delta for finding in findings if finding.delta is not None), default=None),
        claimed_epsilon=claimed_epsilon,
        claimed_delta=claimed_delta,
        confidence=confidence,
        witness=best.witness,
        detectable_epsilon=_detectable(found.choice, test, budget["event"], claimed_epsilon, claimed_delta),
        coverage_floor=floor,
        samples_used=found.drawn + 2 * test.trials,
        seconds=time.perf_counter() - start,
        seed=seed,
        budget=budget,
        sections=sections,
    )


@dataclass(frozen=True)
class _Finding:
    """One tested event, and the bounds that follow from it. delta: at the claimed epsilon; None without one."""

    witness: Witness
    epsilon: float
    delta: float | None


def _budget(error: float, *, curves: bool) -> dict[str, float]:
    """The error of each part; together, all of it."""
    shares = {"calls": _CALLS_SHARE} | ({"curves": _CURVES_SHARE} if curves else {})
    return {name: error * share for name, share in ({"event": 1 - sum(shares.values())} | shares).items()}


def _finding(witness: Witness, error: float, design: float, claim: tuple[float | None, float]) -> _Finding:
    claimed_epsilon, claimed_delta = claim
    region = Region(witness.counts, error, design, claimed_delta)
    delta = None if claimed_epsilon is None else region.delta_lower(claimed_epsilon)
    return _Finding(witness, region.epsilon_lower(claimed_delta), delta)


def _repeats(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], error: float, claim: tuple[float | None, float]
) -> list[_Finding]:
    """What calls for a single output show, where the program seems to repeat itself."""
    calls = suspected(program, inputs, places, error, claim[0] or 0.0)
    if calls is None:
        return []
    (counts,) = count_all(calls, program)
    witness = Witness(calls.pair, calls.events[0], counts, calls_for_one=True)
    return [_finding(witness, error, claim[0] or 1.0, claim)]


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
