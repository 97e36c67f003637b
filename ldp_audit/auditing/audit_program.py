"""audit(sampler, inputs, ...): a lower bound on a program's epsilon, for every program of independent outputs.

By default of as many samples as were fixed beforehand (`FixedSize`). Search samples choose a pair of inputs, a
direction and an event; fresh samples test that one event. So searching costs samples and no confidence. What was seen
the most often on one input and never on the other is counted in the same outputs, for two percent of the error
(`choice`). One percent goes to the test for programs that repeat themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldp_audit.auditing.adapters.recognise import sampler_of
from ldp_audit.auditing.bounds import Counts, check_arguments
from ldp_audit.auditing.choice import LONE_SHARE, lone_design
from ldp_audit.auditing.curves import Curves, check_divergences
from ldp_audit.auditing.event_search import Found, InputSearch, as_search, floor_of, most_searched, searched
from ldp_audit.auditing.evidence import Case, EventBound, Evidence, PrivacyClaim
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.pace import Lines, Pace, checked_seconds
from ldp_audit.auditing.power import Reach
from ldp_audit.auditing.program import SEARCH, Program
from ldp_audit.auditing.record import State, counted, opened
from ldp_audit.auditing.result import AuditResult, Witness
from ldp_audit.auditing.scores.law_score import Law
from ldp_audit.auditing.sequential import Betting
from ldp_audit.auditing.test import Runner, Test, Unkept, call_size, count_all, repeated, reporter
from ldp_audit.auditing.workers import counting
from ldp_audit.numerics import instance, whole
from ldp_audit.progress import Progress

_CALLS_SHARE = 0.01
_CURVES_SHARE = 0.2


def audit(
    sampler: Any,
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
    dictionaries, rows, JSON texts, bytes and sets, which are taken apart into vectors. Or anything else that
    `as_sampler` makes one of, such as a mechanism, a function of one value, a bound method, a torch module.
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
    sequential: bet instead, and stop as soon as a violation is certain (see `sequential.Betting`).
    curves: also bounds on delta at any epsilon, Renyi divergences and the trade-off curve, from the same outputs; they
    take a fifth of the error (`Curves`).
    claimed_rho, claimed_renyi: a claim of zero-concentrated privacy, D_alpha <= rho alpha for all alpha > 1, and one of
    Renyi divergences, nats, by order, such as {2: 0.5}. The verdict is about them too; either implies curves.
    floating_point: also look at the last bits of numbers and of a vector's coordinates, which betray noise that was
    made with floating-point numbers.
    workers: processes that count; or scheduler: address of a Dask cluster, which does. The result stays the same.
    resume: a file that the counts are kept in, and that a run of the same arguments goes on from.
    law: the exact law that the program is declared to follow. Its likelihood ratio is one more score to choose an event
    by; what the result states assumes no more for it.
    progress: is handed a line from time to time, with an estimate of the time that is left, for which 17 outputs more
        are drawn; True: lines on the standard error, if it takes more than a second or two.
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a program that fails.
    """
    with lines_of(progress) as lines:
        sampler = sampler_of(sampler)
        search = as_search(inputs)
        check_arguments(claimed_epsilon, claimed_delta, samples, confidence)
        instance(constant, bool, "constant", "True or False")
        instance(law, (Law, type(None)), "law", "an exact law, with log_prob(y, x), or None")
        if claimed_rho is not None or claimed_renyi is not None:
            check_divergences(claimed_rho, claimed_renyi)
            curves = True
        if law is not None and (sequential or seconds is not None or curves or resume is not None):
            raise ValueError("law goes without sequential, seconds, curves and resume")
        workers = whole(workers, "workers")
        if (sequential or seconds is not None) and (
            curves or workers != 1 or scheduler is not None or resume is not None
        ):
            raise ValueError(
                "sequential and seconds go without curves, workers, scheduler and resume: each bet follows the last"
            )
        epsilon = None if claimed_epsilon is None else float(claimed_epsilon)  # not numpy's, which JSON cannot hold
        claim = PrivacyClaim(epsilon, float(claimed_delta), float(confidence), claimed_rho, claimed_renyi)
        case = Case(Program(sampler, seed, timeout), Fresh(sampler, stateless=stateless), search, claim, constant)
        samples = int(samples)
        if lines is not None or seconds is not None:
            case.pace = Pace(case.program, checked_seconds(seconds), stateless, case.start)
            case.progress, samples = _paced(case.pace, search, samples, lines)
        if sequential or seconds is not None:
            return case.audited(Betting(case, samples, floating_point=floating_point))
        runner = None if workers == 1 and scheduler is None else counting(workers, scheduler)
        return case.audited(FixedSize(case, samples, curves, floating_point, law, runner, resume))


def lines_of(progress: Any) -> AbstractContextManager[Lines | None]:
    """What lines of progress are handed to; True: the standard error.

    Raises ValueError for anything else than a function, True, False or None.
    """
    if isinstance(progress, bool):
        return Progress(quiet=not progress)
    lines: Any = (Callable, type(None))
    instance(progress, lines, "progress", "a function of a line, True, False or None")
    return nullcontext(progress)


def _paced(pace: Pace, search: InputSearch, samples: int, lines: Lines | None) -> tuple[Lines | None, int]:
    """Lines that say how much time is left, and how many samples of an input a budget of seconds allows."""
    pace.pilot(search.inputs[0])
    more = len(search.inputs) - 2  # inputs of which search samples alone are drawn
    searched = most_searched(samples, 1) * more
    samples = pace.samples(samples, 2 + 0.4 * more)
    return pace.line(lines, 2 * samples + min(searched, samples), 3 * samples), samples


@dataclass
class FixedSize:
    """See `evidence.StoppingRule`.

    samples: per input, the search included.   curves: whether to count the events of `Curves` too.
    floating_point, law: for the search (`event_search.searched`).   runner: who counts, if not this process.
    resume: a file that the counts are kept in.
    """

    case: Case
    samples: int
    curves: bool = False
    floating_point: bool = False
    law: Law | None = None
    runner: Runner | None = None
    resume: Path | None = None
    found: Found = field(init=False)
    budget: dict[str, float] = field(init=False)  # the error of each part
    test: Test = field(init=False)
    design: float = field(init=False)  # the epsilon at which the test of the event is tight
    counts: tuple[Counts, ...] = field(init=False)  # of the test's events
    single: tuple[Witness | None, int] = field(init=False)  # of calls for one output, and how many there were
    _state: State | Unkept = field(init=False)

    def search(self) -> None:
        """Choose on some of the samples, unless a run that was cut short has chosen already."""
        case, program = self.case, self.case.program
        options = {"curves": self.curves, "floating_point": self.floating_point}
        claim = case.claim
        self._state = opened(self.resume, program, case.search, claim.pair, self.samples, claim.confidence, **options)
        found = self._state.found
        if found is not None:
            program.structure = found.choice.event.structure
            program.learn_dimension(case.search.inputs[0], (SEARCH, 0))  # as the search does first
        else:
            program.inputs = case.search.inputs if self.law is None else ()  # a law is one of outputs as they are
            found = searched(
                program,
                case.search,
                self.samples,
                claim.error,
                claim.delta,
                case.progress,
                **options,
                law=self.law,
                epsilon=claim.epsilon,
                beside=True,
            )
            self._state.keep_found(found)
        self.found = found
        self.budget = self._budget()

    def count(self) -> None:
        """Count the event, and those beside it, on fresh samples of the pair."""
        case, found, named = self.case, self.found, self.case.search.inputs
        trials = self.samples - found.spent
        events = (found.choice.event, *(() if found.lone is None else (found.lone.event,)), *found.levels)
        rows = call_size(trials, case.program.rows)
        self.test = Test(events, found.pair(named), found.places, trials, rows)
        self.design = found.choice.design_epsilon(case.claim.delta)
        self._state.fix(self.test, self.design)
        report = reporter(case.progress, self.budget["event"], self.design, case.claim.delta)
        self.counts = count_all(self.test, case.program, report, runner=self.runner, state=self._state)
        error = self.budget["calls"]
        self.single = repeated(case.program, named, found.places, error, case.claim.epsilon or 0.0, self.samples)

    def evidence(self) -> Evidence:
        """The least epsilon that the counts allow, for each part of the error."""
        case, claim, found, test, budget = self.case, self.case.claim, self.found, self.test, self.budget
        counts, *others = self.counts
        bounds = [EventBound.of(Witness(test.pair, test.events[0], counts), budget["event"], self.design, claim)]
        if (lone := found.lone) is not None:
            witness = Witness(test.pair, lone.event, others.pop(0)).turned(lone.swapped != found.choice.swapped)
            bounds.append(EventBound.of(witness, budget["lone"], lone_design(claim.epsilon), claim))
        single, calls = self.single
        if single is not None:
            bounds.append(EventBound.of(single, budget["calls"], claim.epsilon or 1.0, claim))
        tested = [one.witness.counts for one in bounds]
        floor = floor_of(found, test.trials, claim.error * LONE_SHARE, *claim.pair)
        record = counted(case.program, test, counts, self.design, claim.pair, claim.confidence, floor)
        sections = {"counted": record.to_dict()}
        seen = Curves(tuple(others), budget["curves"]) if self.curves else None
        divergences = () if seen is None else seen.against(claim.rho, claim.renyi)
        if seen is not None:
            claims = {"claims": [one.to_dict() for one in divergences]} if divergences else {}
            sections["curves"] = seen.to_dict() | claims
        return Evidence(
            bounds,
            tested,
            Reach(found.choice.seen, test.trials, budget["event"], *claim.pair),
            drawn=case.program.looked + found.drawn + 2 * test.trials + calls,
            budget=budget,
            floor=floor,
            seen=found.choice.seen,
            again=counts,
            unrepeated=found.unrepeated,
            untested=case.program.untested(tested) if self.law is None else None,
            divergences=divergences,
            of_divergences=None if seen is None else seen.witness(test.pair, found.levels),
            sections=sections,
        )

    def _budget(self) -> dict[str, float]:
        """The error of each part; together, all of it."""
        shares = {"calls": _CALLS_SHARE} | ({"curves": _CURVES_SHARE} if self.curves else {})
        if self.found.lone is not None:
            shares["lone"] = LONE_SHARE
        return {
            name: self.case.claim.error * share
            for name, share in ({"event": 1 - sum(shares.values())} | shares).items()
        }
