"""A test of as many samples as were fixed beforehand.

Search samples choose a pair of inputs, a direction and an event; fresh samples test that one event. So searching
costs samples and no confidence. What was seen the most often on one input and never on the other is counted in the same
outputs, for two percent of the error (`lone_events`). One percent goes to the test for programs that repeat themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.curves import Curves
from ldp_audit.auditing.event_search import Found, floor_of, searched
from ldp_audit.auditing.evidence import Case, EventBound, Evidence
from ldp_audit.auditing.lone_events import LONE_SHARE
from ldp_audit.auditing.lone_events import design_epsilon as design_of_lone
from ldp_audit.auditing.power import Reach
from ldp_audit.auditing.program import SEARCH
from ldp_audit.auditing.record import State, counted, opened
from ldp_audit.auditing.result import Witness
from ldp_audit.auditing.scores.law_score import Law
from ldp_audit.auditing.test import Runner, Test, Unkept, call_size, count_all, repeated, reporter

_CALLS_SHARE = 0.01
_CURVES_SHARE = 0.2


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
            bounds.append(EventBound.of(witness, budget["lone"], design_of_lone(claim.epsilon), claim))
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
