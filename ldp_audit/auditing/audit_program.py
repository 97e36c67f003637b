"""audit(sampler, inputs, ...): a lower bound on a program's epsilon, for every program of independent outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from ldp_audit.auditing.bounds import check_arguments
from ldp_audit.auditing.curves import check_divergences
from ldp_audit.auditing.event_search import InputSearch, as_search, most_searched
from ldp_audit.auditing.evidence import Case, PrivacyClaim
from ldp_audit.auditing.fixed_size import FixedSize
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.pace import Lines, Pace, checked_seconds
from ldp_audit.auditing.program import Program, Sampler
from ldp_audit.auditing.result import AuditResult
from ldp_audit.auditing.scores.law_score import Law
from ldp_audit.auditing.sequential import Betting
from ldp_audit.auditing.workers import counting
from ldp_audit.numerics import instance
from ldp_audit.progress import Progress


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
        search = as_search(inputs)
        check_arguments(claimed_epsilon, claimed_delta, samples, confidence)
        instance(constant, bool, "constant", "True or False")
        instance(law, (Law, type(None)), "law", "an exact law, with log_prob(y, x), or None")
        if claimed_rho is not None or claimed_renyi is not None:
            check_divergences(claimed_rho, claimed_renyi)
            curves = True
        if law is not None and (sequential or seconds is not None or curves or resume is not None):
            raise ValueError("law goes without sequential, seconds, curves and resume")
        if (sequential or seconds is not None) and (
            curves or workers != 1 or scheduler is not None or resume is not None
        ):
            raise ValueError(
                "sequential and seconds go without curves, workers, scheduler and resume: each bet follows the last"
            )
        epsilon = None if claimed_epsilon is None else float(claimed_epsilon)  # not numpy's, which JSON cannot hold
        claim = PrivacyClaim(epsilon, float(claimed_delta), float(confidence), claimed_rho, claimed_renyi)
        case = Case(Program(sampler, seed, timeout), Fresh(sampler, stateless=stateless), search, claim, constant)
        case.pace = Pace(case.program, checked_seconds(seconds), stateless, case.start)
        case.progress, samples = _paced(case.pace, search, int(samples), lines)
        if sequential or seconds is not None:
            return case.audited(Betting(case, samples, floating_point=floating_point))
        runner = counting(workers, scheduler)
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
    if lines is None and pace.seconds is None:
        return None, samples
    pace.pilot(search.inputs[0])
    more = len(search.inputs) - 2  # inputs of which search samples alone are drawn
    searched = most_searched(samples, 1) * more
    samples = pace.samples(samples, 2 + 0.4 * more)
    return pace.line(lines, 2 * samples + min(searched, samples), 3 * samples), samples
