"""audit(sampler, inputs, ...): a lower bound on a program's epsilon, for every program of independent outputs.

Search samples choose a pair of inputs, a direction and an event; fresh samples test that one event. So searching
costs samples and no confidence. Where other events on the same inputs still promise clearly more, up to three of them
are counted in the same outputs, for three tenths of the error. So is what was seen the most often on one input and
never on the other, for two percent (`lone_events`). One percent goes to the test for programs that repeat themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ldp_audit.auditing.bounds import Region, check_arguments
from ldp_audit.auditing.choice import Choice
from ldp_audit.auditing.curves import Curves, check_divergences
from ldp_audit.auditing.dependent_outputs import drift, if_independent
from ldp_audit.auditing.event_search import Found, InputSearch, as_search, floor_of, most_searched, searched
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.grey_box import ProductLaw
from ldp_audit.auditing.independent_audit import audit_independent
from ldp_audit.auditing.lone_events import LONE_SHARE
from ldp_audit.auditing.lone_events import design_epsilon as design_of_lone
from ldp_audit.auditing.pace import Pace, checked_seconds
from ldp_audit.auditing.power import Reach
from ldp_audit.auditing.program import SEARCH, Program, Sampler
from ldp_audit.auditing.record import counted, opened
from ldp_audit.auditing.result import AuditResult, Witness, judged
from ldp_audit.auditing.scores.law_score import Law
from ldp_audit.auditing.sequential import audit_sequentially
from ldp_audit.auditing.test import Test, call_size, count_all, repeated, reporter
from ldp_audit.auditing.workers import Counting
from ldp_audit.numerics import instance
from ldp_audit.progress import Progress
from ldp_audit.workers import ThisProcess, pool_of

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
    stateless: bool = False,
    seconds: float | None = None,
    constant: bool = False,
    sequential: bool = False,
    curves: bool = False,
    claimed_rho: float | None = None,
    claimed_renyi: Mapping[float, float] | None = None,
    floating_point: bool = False,
    workers: int = 1,
    scheduler: str | None = None,
    resume: Path | None = None,
    law: Law | None = None,
    progress: Callable[[str], None] | bool | None = None,
) -> AuditResult:
    """Audit a sampler.

    sampler: (x, n, rng) -> n independent outputs on input x: numbers, labels, None, or vectors as an (n, d) array; also
    dictionaries, rows, JSON texts, bytes and sets, which are taken apart into vectors.
    inputs: two or more, all pairs of which are searched, in both directions; or what `search` returns.
    claimed_epsilon: nats; None where only the bound is wanted.   claimed_delta: in [0, 1).
    samples: per input, the search included. Not counted: 16 to 128 calls for one output that look for repetition (more
    on suspicion), and 256 outputs on each of two inputs, by which it is decided whether outputs that are no numbers
    are taken apart (`Structure`).
    confidence: in [0.5, 1), of all bounds together.
    seed: the same seed gives the same result.   timeout: seconds that one call may take.
    stateless: states that the program keeps nothing from call to call. Else that is looked at before it is accused;
    where it cannot be (no pickle, a service that runs, a process that does not start in time), it is not.
    seconds: about so many may pass. A pilot of a few calls says how many samples that allows, and the audit is a
        sequential one. What its time does not suffice for is inconclusive; the same seed need not give the same result.
    constant: states that all outputs are to be one, whatever the input is; otherwise an audit that saw one output only
    is inconclusive, since a stub or a cache shows nothing else.
    sequential: bet instead, and stop as soon as a violation is certain (see `audit_sequentially`).
    curves: also bounds on delta at any epsilon, Renyi divergences and the trade-off curve, from the same outputs; they
    take a fifth of the error (`Curves`).
    claimed_rho, claimed_renyi: a claim of zero-concentrated privacy, D_alpha <= rho alpha for all alpha > 1, and one of
    Renyi divergences, nats, by order, such as {2: 0.5}. The verdict is about them too; either implies curves.
    floating_point: also look at the last bits of numbers and of a vector's coordinates, which betray noise that was
    made with floating-point numbers.
    workers: processes that count; or scheduler: address of a Dask cluster, which does. The result stays the same.
    resume: a file that the counts are kept in, and that a run of the same arguments goes on from.
    law: the exact law that the program is declared to follow. Its likelihood ratio is one more score to choose an event
    by; what the result states assumes no more for it. A `ProductLaw` also gets half of the error, and as many samples
    again, for a bound that assumes independent coordinates: `sections["independent"]`, never in the verdict.
    progress: is handed a line from time to time, with an estimate of the time that is left, for which 17 outputs more
        are drawn; True: lines on the standard error, if it takes more than a second or two.
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a program that fails.
    """
    if isinstance(progress, bool):
        given: Any = {**locals()}
        with Progress(quiet=not progress) as lines:
            return audit(**given | {"progress": lines})
    lines: Any = (Callable, type(None))
    instance(constant, bool, "constant", "True or False")
    instance(progress, lines, "progress", "a function of a line, True, False or None")
    start = time.perf_counter()
    search = as_search(inputs)
    check_arguments(claimed_epsilon, claimed_delta, samples, confidence)
    if claimed_rho is not None or claimed_renyi is not None:
        check_divergences(claimed_rho, claimed_renyi)
        curves = True
    claimed_epsilon = None if claimed_epsilon is None else float(claimed_epsilon)  # not numpy's, which JSON cannot hold
    claimed_delta, samples, confidence = float(claimed_delta), int(samples), float(confidence)
    program, fresh = Program(sampler, seed, timeout), Fresh(sampler, stateless=stateless)
    pace = Pace(program, checked_seconds(seconds), stateless, start)
    instance(law, (Law, type(None)), "law", "an exact law, with log_prob(y, x), or None")
    sequential = sequential or seconds is not None
    if law is not None and (sequential or curves or resume is not None):
        raise ValueError("law goes without sequential, seconds, curves and resume")
    if sequential and (curves or workers != 1 or scheduler is not None or resume is not None):
        raise ValueError(
            "sequential and seconds go without curves, workers, scheduler and resume: each bet follows the last"
        )
    if progress is not None or seconds is not None:
        pace.pilot(search.inputs[0])
        searched_too = most_searched(samples, 1) * (len(search.inputs) - 2)
        samples = pace.samples(samples, 2 + 0.4 * (len(search.inputs) - 2))
        progress = pace.line(progress, 2 * samples + min(searched_too, samples), 3 * samples)
    if sequential:
        bet = audit_sequentially(
            program,
            fresh,
            inputs,
            claimed_epsilon,
            claimed_delta,
            samples=samples,
            confidence=confidence,
            progress=progress,
            floating_point=floating_point,
            pace=pace,
            constant=constant,
        )
        fresh.ended()
        return bet
    named = search.inputs
    product = law if isinstance(law, ProductLaw) and claimed_delta == 0 else None
    error = 1 - confidence
    claim = (claimed_epsilon, claimed_delta)
    pool = pool_of(workers, scheduler)
    runner = None if pool == ThisProcess() else Counting(pool)
    state = opened(resume, program, search, claim, samples, confidence, curves=curves, floating_point=floating_point)

    # 1. Search: some of the samples choose the pair, the direction and the event.
    found = state.found
    if found is not None:
        program.structure = found.choice.event.structure
        program.learn_dimension(named[0], (SEARCH, 0))  # as the search does first
    else:
        program.inputs = named if law is None else ()  # a law is one of outputs as they are
        found = searched(
            program,
            search,
            samples,
            error,
            claimed_delta,
            progress,
            curves=curves,
            floating_point=floating_point,
            law=law,
            epsilon=claimed_epsilon,
            beside=True,
        )
        state.keep_found(found)

    # 2. Test: the event is fixed, and counted on fresh samples.
    choice = found.choice
    budget = _budget(error, found, curves=curves, independent=product is not None)
    beside = _beside(found, budget, claim)
    trials = samples - found.spent
    events = (choice.event, *(one.event for one, _, _ in beside), *found.levels)
    test = Test(events, found.pair(named), found.places, trials, call_size(trials, program.rows))
    design = choice.design_epsilon(claimed_delta)
    state.fix(test, design)
    report = reporter(progress, budget["event"], design, claimed_delta)
    counts, *others = count_all(test, program, report, runner=runner, state=state)

    # 3. Bound: the least epsilon that the counts allow, for each part of the error.
    findings = [_finding(Witness(test.pair, choice.event, counts), budget["event"], design, claim)]
    for one, own, tight in beside:
        witness = Witness(test.pair, one.event, others.pop(0)).turned(one.swapped != choice.swapped)
        findings.append(_finding(witness, own, tight, claim))
    single, calls = repeated(program, named, found.places, budget["calls"], claimed_epsilon or 0.0, samples)
    again = [] if single is None else [_finding(single, budget["calls"], claimed_epsilon or 1.0, claim)]
    findings += again
    best = max(findings, key=lambda finding: finding.epsilon)
    floor = floor_of(found, test.trials, error * LONE_SHARE, *claim)
    sections = {"counted": counted(program, test, counts, design, claim, confidence, floor).to_dict()}
    seen = Curves(tuple(others), budget["curves"]) if curves else None
    divergences = () if seen is None else seen.against(claimed_rho, claimed_renyi)
    if seen is not None:
        claims = {"claims": [one.to_dict() for one in divergences]} if divergences else {}
        sections["curves"] = seen.to_dict() | claims
    together = None
    if product is not None:
        pair, error = found.pair(named), budget["independent"]
        together = audit_independent(
            program, pair, product, samples=samples, error=error, places=found.places, progress=progress
        )
        sections["independent"] = together.to_dict()
    drawn = program.looked + found.drawn + 2 * test.trials + calls
    tested = [finding.witness.counts for finding in findings]
    reach = Reach(choice.seen, test.trials, budget["event"], *claim)
    verdict, why = judged(
        violated=(claimed_epsilon is not None and best.epsilon > claimed_epsilon)
        or any(one.violated for one in divergences),
        tested=tested,
        unrepeated=found.unrepeated,
        drift=drift(choice.seen, counts),
        untested=program.untested(tested) if law is None else None,
        reach=reach,
        constant=constant,
    )
    result = AuditResult(
        verdict=verdict,
        epsilon_lower=best.epsilon,
        delta_lower=max((finding.delta for finding in findings if finding.delta is not None), default=None),
        claimed_epsilon=claimed_epsilon,
        claimed_delta=claimed_delta,
        confidence=confidence,
        witness=best.witness,
        reach=reach,
        coverage_floor=floor,
        samples_used=drawn + (0 if together is None else together.samples_used),
        seconds=0.0,
        seed=program.seed,
        budget=budget,
        notes=(
            *dict.fromkeys(why + program.notes() + search.notes()),
            *(() if together is None else together.describe().splitlines()),
        ),
        sections=sections,
        divergences=divergences,
    )
    otherwise = [
        replace(result, epsilon_lower=one.epsilon, delta_lower=one.delta, witness=one.witness)
        for one in again
        if one.epsilon > (claimed_epsilon or 0)
    ]
    result = if_independent(result, program, fresh, otherwise=otherwise)
    if seen is not None and result.violated and any(one.violated for one in divergences):
        # The divergences come from other events, whose counts may show a dependence that the first one's do not.
        checked = if_independent(replace(result, witness=seen.witness(test.pair, found.levels)), program, fresh)
        result = replace(checked, witness=result.witness) if checked.inconclusive else result
    fresh.ended()
    return replace(result, seconds=time.perf_counter() - start)


@dataclass(frozen=True)
class _Finding:
    """One tested event, and the bounds that follow from it. delta: at the claimed epsilon; None without one."""

    witness: Witness
    epsilon: float
    delta: float | None


def _budget(error: float, found: Found, *, curves: bool, independent: bool) -> dict[str, float]:
    """The error of each part; together, all of it."""
    shares = {"calls": _CALLS_SHARE} | ({"curves": _CURVES_SHARE} if curves else {})
    if found.lone is not None:
        shares["lone"] = LONE_SHARE
    if independent:
        shares["independent"] = (1 - sum(shares.values())) / 2
    if found.choice.alternatives:
        shares["alternatives"] = (1 - sum(shares.values())) * found.choice.error_of_alternatives
    return {name: error * share for name, share in ({"event": 1 - sum(shares.values())} | shares).items()}


def _beside(
    found: Found, budget: dict[str, float], claim: tuple[float | None, float]
) -> list[tuple[Choice, float, float]]:
    """What is tested beside the event: each with its error, and the epsilon at which its test is tight."""
    others = found.choice.alternatives
    beside = [(one, budget["alternatives"] / len(others), one.design_epsilon(claim[1])) for one in others]
    return beside + ([] if found.lone is None else [(found.lone, budget["lone"], design_of_lone(claim[0]))])


def _finding(witness: Witness, error: float, design: float, claim: tuple[float | None, float]) -> _Finding:
    claimed_epsilon, claimed_delta = claim
    region = Region(witness.counts, error, design, claimed_delta)
    delta = None if claimed_epsilon is None else region.delta_lower(claimed_epsilon)
    return _Finding(witness, region.epsilon_lower(claimed_delta), delta)
