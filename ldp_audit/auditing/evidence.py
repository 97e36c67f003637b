"""What counting shows of a program, and the verdict on what is claimed of it: here every audit ends.

An audit has five steps: samples of their own choose a pair of inputs and an event; the event is fixed; it is counted;
the counts give a bound; and before a program is accused, its outputs are asked whether they depend on each other. Who
chooses and counts, and how long, is a `StoppingRule`: a number of samples that is fixed beforehand (`audit_program`),
some looks at certain numbers (`looks`), or bets that may stop at any time (`sequential`). What follows is the same for
all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.dependent_outputs import drift, if_independent
from ldp_audit.auditing.event_search import InputSearch
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.pace import Lines, Pace
from ldp_audit.auditing.power import Reach
from ldp_audit.auditing.program import TEST, Program
from ldp_audit.auditing.result import INCONCLUSIVE, AuditResult, DivergenceClaim, Witness, judged


@dataclass(frozen=True)
class PrivacyClaim:
    """(epsilon, delta)-privacy, and Renyi divergences, as they are claimed, and the confidence of a verdict on them.

    epsilon: nats; None where only a bound is wanted.   delta: in [0, 1).   confidence: in [0.5, 1).
    rho: of zero-concentrated privacy.   renyi: divergences in nats by their orders.
    """

    epsilon: float | None
    delta: float
    confidence: float
    rho: float | None = None
    renyi: Mapping[float, float] | None = None

    @property
    def error(self) -> float:
        """The probability with which some bound may be wrong."""
        return 1 - self.confidence

    @property
    def pair(self) -> tuple[float | None, float]:
        """Epsilon and delta."""
        return self.epsilon, self.delta

    def refuted_by(self, epsilon: float) -> bool:
        """Whether this lower bound on epsilon contradicts the claim; without a claim, whether it is one at all."""
        return epsilon > (self.epsilon or 0.0)


@dataclass(frozen=True)
class EventBound:
    """One tested event, and the bounds that follow from its counts.   delta: at the claimed epsilon, or None."""

    witness: Witness
    epsilon: float
    delta: float | None = None

    @classmethod
    def of(cls, witness: Witness, error: float, design_epsilon: float, claim: PrivacyClaim) -> EventBound:
        """The bounds of exact binomial counts, each as probable to be wrong as `error`."""
        region = Region(witness.counts, error, design_epsilon, claim.delta)
        delta = None if claim.epsilon is None else region.delta_lower(claim.epsilon)
        return cls(witness, region.epsilon_lower(claim.delta), delta)


@dataclass(frozen=True)
class Evidence:
    """What counting has shown.

    bounds: of every event that was tested, one at least, the chosen one first; they hold together.
    counts: of the events whose having been seen makes the test one.   seen: the chosen event's in the search, which
    `again`, its counts in the test, may contradict; None where there was no search, or no test.
    reach: of the test of the chosen event; `planned` says that its power was settled beforehand, whatever the event.
    drawn: outputs of all inputs.   budget: how much of the error each part may spend.   floor: see
    `AuditResult.coverage_floor`.   unrepeated: the share of outputs that are labels which came once only.
    untested: why the events say nothing about the outputs (`Program.untested`).   withdrawn: why an accusation is none.
    divergences: the claims about them, as they fared, and an event that tells most about them.
    stage: of the test's calls.   calls: number and size of those that look for dependence, unless the usual.
    """

    bounds: Sequence[EventBound]
    counts: Sequence[Counts]
    reach: Reach
    drawn: int
    budget: dict[str, float]
    floor: float
    seen: Counts | None = None
    again: Counts | None = None
    planned: bool = False
    unrepeated: float = 0.0
    untested: str | None = None
    withdrawn: str | None = None
    divergences: tuple[DivergenceClaim, ...] = ()
    of_divergences: Witness | None = None
    stage: int = TEST
    calls: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    sections: dict[str, Any] = field(default_factory=dict)

    def result(
        self, claim: PrivacyClaim, seed: int, *, constant: bool = False, notes: tuple[str, ...] = ()
    ) -> AuditResult:
        """The verdict on the claim by the largest of the bounds, if the outputs are independent of each other.

        constant: whether all outputs of a sound program are one.   notes: about the program and its inputs.
        """
        best = max(self.bounds, key=lambda one: one.epsilon)
        violated = claim.epsilon is not None and best.epsilon > claim.epsilon
        verdict, why = judged(
            violated=violated or any(one.violated for one in self.divergences),
            tested=self.counts,
            unrepeated=self.unrepeated,
            drift=None if self.seen is None or self.again is None else drift(self.seen, self.again),
            untested=self.untested,
            reach=None if self.planned else self.reach,
            constant=constant,
        )
        if self.withdrawn is not None:
            verdict, why = INCONCLUSIVE, (self.withdrawn, *why)
        return AuditResult(
            verdict=verdict,
            epsilon_lower=best.epsilon if self.withdrawn is None else 0.0,
            delta_lower=max((one.delta for one in self.bounds if one.delta is not None), default=None),
            claimed_epsilon=claim.epsilon,
            claimed_delta=claim.delta,
            confidence=claim.confidence,
            witness=best.witness,
            reach=self.reach,
            coverage_floor=self.floor,
            samples_used=self.drawn,
            seconds=0.0,
            seed=seed,
            budget=self.budget,
            notes=(*dict.fromkeys(why + notes), *self.notes),
            sections=self.sections,
            divergences=self.divergences,
        )


class StoppingRule(Protocol):
    """Who chooses the event and counts it, and how long."""

    def search(self) -> None:
        """Choose a pair of inputs and an event, on samples that no bound uses."""
        ...

    def count(self) -> None:
        """Count on fresh samples, until the rule says that it is enough."""
        ...

    def evidence(self) -> Evidence:
        """The bounds that the counts allow."""
        ...


@dataclass
class Case:
    """A program, the inputs on which its outputs are compared, and what is claimed of it.

    fresh: the program before its first call, which is asked whether it remembers calls before it is accused.
    search: the inputs.   constant: see `Evidence.result`.   pace: of the audit.   progress: is handed its lines.
    start: when it began, by `time.perf_counter`.
    """

    program: Program
    fresh: Fresh
    search: InputSearch
    claim: PrivacyClaim
    constant: bool = False
    progress: Lines | None = None
    pace: Pace | None = None
    start: float = field(default_factory=time.perf_counter)

    def audited(self, rule: StoppingRule) -> AuditResult:
        """The outcome of an audit by this rule."""
        rule.search()
        rule.count()
        return self.concluded(rule.evidence())

    def concluded(self, evidence: Evidence) -> AuditResult:
        """The verdict, once it is known whether the outputs depend on each other."""
        notes = (*self.program.notes(), *self.search.notes())
        result = evidence.result(self.claim, self.program.seed, constant=self.constant, notes=notes)
        result = self._if_independent(result, evidence)
        self.fresh.ended()
        return replace(result, seconds=time.perf_counter() - self.start)

    def _if_independent(self, result: AuditResult, evidence: Evidence) -> AuditResult:
        otherwise = [
            replace(result, epsilon_lower=one.epsilon, delta_lower=one.delta, witness=one.witness)
            for one in evidence.bounds
            if one.witness.calls_for_one and self.claim.refuted_by(one.epsilon)
        ]
        checked = if_independent(result, self.program, self.fresh, evidence.stage, otherwise, evidence.calls)
        if (
            not checked.violated
            or evidence.of_divergences is None
            or not any(one.violated for one in result.divergences)
        ):
            return checked
        # The divergences come from other events, whose counts may show a dependence that the first one's do not.
        other = replace(checked, witness=evidence.of_divergences)
        other = if_independent(other, self.program, self.fresh, evidence.stage)
        return replace(other, witness=checked.witness) if other.inconclusive else checked
