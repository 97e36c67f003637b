"""Outputs that depend on each other: what no bound on independent ones may be read from.

Noise that outputs of one call share (one draw for a whole call, or a draw used again within it) makes the counts of an
event vary from call to call more than those of independent outputs do. So a test has some 32 calls of each input, or
more, and before a program is accused, its event is counted in 16 further calls of that size (`if_independent`).
Independent outputs give binomial counts c of n with one probability p. Two signs that they are not: a dispersion, the
sum of (c - n p)**2/(n p (1 - p)), that is large for the chi-squared law with 15 degrees of freedom (Fisher 1925,
section 19), where counts are large enough for that law; and a likelihood of mixed counts (beta-binomial, or of two
binomial laws, over fixed grids) divided by that of binomial ones at their likeliest p, which exceeds t with a
probability of at most 1/t (universal inference: Wasserman, Ramdas and Balakrishnan 2020, Theorem 1, here without a
split, as the grids are fixed before any output is drawn). What a program remembers from call to call is not seen so:
the event is also counted in 16 copies or more of the program from before its first call (`Fresh`), whose counts are
compared in the same way with each other, and all together with the test's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import bdtr, bdtrc, betaln, chdtrc, logsumexp, xlogy

from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.fresh import Fresh, FreshCounts, NotFreshError
from ldp_audit.auditing.program import DEPENDENCE, TEST, Program
from ldp_audit.auditing.result import INCONCLUSIVE, AuditResult, Witness, shown
from ldp_audit.auditing.test import LEAST_SIZE, call_size

FALSE_ALARM = 1e-6
"""Of calling outputs dependent that are independent, about."""
_DRIFT = 1e-9
"""And of calling a search unlike its test: the event is the best of some thousands, of many pairs of inputs."""
_CALLS = 16
"""Calls of each input that look for dependence."""


def if_independent(
    result: AuditResult,
    program: Program,
    fresh: Fresh,
    stage: int = TEST,
    otherwise: Sequence[AuditResult] = (),
    calls: tuple[int, int] | None = None,
) -> AuditResult:
    """The result; or, where it is a bound on outputs that depend on each other, a bound of 0 that says so.

    fresh: the program before its first call.   stage: of the test, so that no two checks draw the same outputs.
    otherwise: results on outputs that are each a call of its own, which stand where a call's outputs depend.
    calls: how many look for dependence, and outputs of each: no fewer than a call of the test had. By default 16 calls
        of `call_size`.
    """
    if not (result.violated or (result.claimed_epsilon is None and result.epsilon_lower > 0)):
        return result
    epsilon = result.epsilon_lower if result.claimed_epsilon is None else result.claimed_epsilon
    said, why, drawn = dependence_of_outputs(
        result.witness, program, fresh, stage, epsilon=epsilon, delta=result.claimed_delta, calls=calls
    )
    result = replace(result, samples_used=result.samples_used + drawn)
    if why is not None:
        return replace(result, notes=(*result.notes, why))
    if said is None:
        own = f"what this {fresh.held} drew before the audit, if anything, is part of it; its class would draw it anew"
        return replace(result, notes=(*result.notes, own)) if fresh.held else result
    if otherwise:
        instead = replace(otherwise[0], samples_used=result.samples_used)
        return if_independent(instead, program, fresh, stage, otherwise[1:], calls)
    delta = None if result.delta_lower is None else 0.0
    return replace(result, verdict=INCONCLUSIVE, epsilon_lower=0.0, delta_lower=delta, notes=(said, *result.notes))


def dependence_of_outputs(
    witness: Witness,
    program: Program,
    fresh: Fresh,
    stage: int = TEST,
    *,
    epsilon: float,
    delta: float = 0.0,
    assumed: bool = False,
    calls: tuple[int, int] | None = None,
) -> tuple[str | None, str | None, int]:
    """What shows that outputs depend on each other; why that was not looked at; how many outputs it took.

    The first two are None where nothing is to be said.   epsilon, delta: what a sound program has at most.
    assumed: whether independence is assumed where it cannot be looked at. `program` then draws from its generator
        otherwise than copies do, so that no call is compared.
    The other arguments: see `if_independent`.
    """
    said, drawn = None, 0
    if not witness.calls_for_one:  # whose outputs are each a call of its own
        count, size = (_CALLS, call_size(witness.counts.trials, program.rows)) if calls is None else calls
        counts = _counts(program, witness, stage, count, size)
        drawn = counts.size * size
        said = _dispersed(counts, size, witness, "outputs of one call depend on each other", "calls")
    if said is not None or fresh.shared:
        return said or fresh.shared, None, drawn
    if fresh.stateless:
        return None, _AS_STATED, drawn
    later = None if assumed else program.recorded(witness.inputs[0], min(_REPEATED, program.rows), (*_LATER, stage))
    try:
        found = fresh.counts(program, witness, stage, epsilon, telling(witness, epsilon, delta), later)
    except NotFreshError as error:
        why = f"{_UNSEEN}: {error}"
        return (None, why, drawn) if assumed else (f"{why}; {_STATED}", None, drawn)
    drawn += found.hits.size * found.size
    said = _dispersed(found.hits, found.size, witness, _REMEMBERS, "fresh copies of it")
    if said is None and not found.same and program.repeats(later):
        said = f"{_UNSEEN}: {_OTHERWISE}; {_STATED}"
    said = said or _apart_from_the_test(found, witness)
    if said is None and not assumed and found.opened:
        said = f"{_UNSEEN}: a call opens {found.opened[0]}, where all copies of it find what it keeps; {_STATED}"
    return said, None, drawn


def telling(witness: Witness, epsilon: float, delta: float) -> int:
    """Outputs of either input that tell a program's independent outputs from the test's: as many, 4096 at least.

    Or fewer, where the claim is far from what was seen: eight times those in which the event, as frequent as in the
    test, refutes epsilon and delta at FALSE_ALARM / 6. Where a program that keeps the claim was seen so, because few
    draws decided all of its outputs, the frequencies of one input at least are further off than half of the distance
    (in variances), and as many outputs of copies show that.
    """
    counts, error = witness.counts, FALSE_ALARM / 6

    def refutes(trials: int) -> bool:
        hits, others = (round(trials * share) for share in counts.frequencies)
        return Region(Counts(hits, trials, others, trials), error, max(1.0, epsilon), delta, fineness=0.05).exceeds(
            epsilon, delta
        )

    most = max(_TELLING, min(counts.trials, counts.other_trials))
    trials = LEAST_SIZE
    while trials < most and not refutes(trials):
        trials += -(-trials // 4)
    return min(most, _MARGIN * trials)


def _counts(program: Program, witness: Witness, stage: int, count: int, size: int) -> np.ndarray:
    """The event's count in each of so many calls of so many outputs, shape (inputs, calls)."""
    calls = [
        [witness.event.count(program.outputs(x, size, (DEPENDENCE, stage, place, call))) for call in range(count)]
        for place, x in enumerate(witness.inputs)
    ]
    return np.array(calls)


_LATER = (DEPENDENCE, 2, 0)
_TELLING, _MARGIN = 4096, 8
"""See `telling`: two inputs share the distance, which leaves (5.1 sqrt(2) + 3.1)**2 / 5.1**2 = 4.1 for a power of 0.999
at this error, doubled since the copies' frequencies are uncertain too."""
_REPEATED = 64
"""Outputs of a call that is made again: so many are not the same by chance."""
_REMEMBERS = "the program remembers earlier calls"
_UNSEEN = "whether the program remembers earlier calls could not be looked at"
_OTHERWISE = (
    "a new process answers otherwise, as where a program keeps answers, draws them when it is imported, or was set "
    "otherwise after that"
)
_STATED = "if it keeps nothing from call to call, --stateless (stateless=True) states that, and the bound counts"
_AS_STATED = "that the program keeps nothing from call to call was stated, and not looked at"
_INSTEAD = "a bound needs a new client for each output, or all that one client sends as one output"


def _dispersed(counts: np.ndarray, size: int, witness: Witness, what: str, groups: str) -> str | None:
    """A sentence where the counts of an input, shape (2, groups), vary more than independent outputs' do."""
    chances = [min(_chance(column, size), math.exp(-max(0.0, _evidence(column, size)))) for column in counts]
    place = int(np.argmin(chances))
    if chances[place] >= FALSE_ALARM / 12:
        return None
    expected, seen = size * witness.counts.frequencies[place], counts[place]
    return (
        f"{what}: {expected:.3g} of {size} on input {shown(witness.inputs[place])} should be in the event, and in "
        f"{len(seen)} {groups} {seen.min()} to {seen.max()} were, which independent outputs show less than once in "
        "a million times; a bound needs noise of its own for each output, or all that a client sends as one output"
    )


def _apart_from_the_test(found: FreshCounts, witness: Witness) -> str | None:
    """A sentence where copies from before the first call, all of them together, differ from the test."""
    tested = witness.counts
    run = ((tested.hits, tested.trials), (tested.other_hits, tested.other_trials))
    for place, (hits, trials) in enumerate(run):
        again, asked = int(found.hits[place].sum()), found.hits[place].size * found.size
        if _apart(again, asked, hits, trials) < FALSE_ALARM / 6:
            return (
                f"{_REMEMBERS}: {asked * hits / trials:.4g} of {asked} on input {shown(witness.inputs[place])} should "
                f"be in the event, and in fresh copies of it {again} were, which happens less than once in a million "
                f"times; {_INSTEAD}"
            )
    return None


def drift(seen: Counts, tested: Counts) -> str | None:
    """A sentence where the search saw the event in another share of an input's outputs than the test did."""
    pairs = (
        (seen.hits, seen.trials, tested.hits, tested.trials),
        (seen.other_hits, seen.other_trials, tested.other_hits, tested.other_trials),
    )
    for hits, trials, again, asked in pairs:
        if _apart(again, asked, hits, trials) < _DRIFT:
            return (
                f"outputs change in the course of the audit: the event was seen in {hits} of {trials} outputs of an "
                f"input when it was chosen, and in {again} of {asked} when it was tested; it tells apart when outputs "
                "were drawn, as by a running number or a time: return outputs without these"
            )
    return None


_LEAST_VARIANCE = 10.0
"""Of a count whose dispersion is about chi-squared far out in its tail."""


def _chance(counts: np.ndarray, size: int) -> float:
    """The probability of so much dispersion, about; 1 where counts are small."""
    p = counts.mean() / size
    if len(counts) == 1 or size * p * (1 - p) < _LEAST_VARIANCE:
        return 1.0
    return float(chdtrc(len(counts) - 1, ((counts - size * p) ** 2).sum() / (size * p * (1 - p))))


_MEANS = 1 / (1 + np.exp(-np.linspace(-8, 8, 49)))
_SPREADS = np.geomspace(0.01, 3e4, 14)
"""Of a beta law with mean m and parameters m s and (1 - m) s."""
_RARER = np.array([0.5, 0.1, 0.02, 0.004, 0.0008])
"""The share of the second of two binomial laws."""


def _evidence(counts: np.ndarray, size: int) -> float:
    """The logarithm of a likelihood ratio that exceeds log t with a probability of at most 1/t for independent outputs.

    counts: of `size` outputs each.
    """
    hits, total = int(counts.sum()), len(counts) * size
    independent = xlogy(hits, hits / total) + xlogy(total - hits, 1 - hits / total)
    values, times = np.unique(counts, return_counts=True)
    c = values[:, None, None]
    first, second = _MEANS[:, None] * _SPREADS, (1 - _MEANS[:, None]) * _SPREADS
    beta = betaln(first + c, second + size - c) - betaln(first, second)
    binomial = c[..., 0] * np.log(_MEANS) + (size - c[..., 0]) * np.log1p(-_MEANS)
    two = np.logaddexp(binomial[:, :, None, None] + np.log1p(-_RARER), binomial[:, None, :, None] + np.log(_RARER))
    ratios = [np.tensordot(times, one, 1) - independent for one in (beta, two)]
    return float(logsumexp([logsumexp(one) - math.log(2 * one.size) for one in ratios]))


def _apart(hits: int, trials: int, others: int, other_trials: int) -> float:
    """The probability of frequencies so far apart if they are those of one event (binomial, given all hits)."""
    if hits + others > (trials + other_trials) / 2:  # the misses are the rarer ones, and nearer to Poisson
        hits, others = trials - hits, other_trials - others
    share = trials / (trials + other_trials)
    return 2 * float(min(bdtr(hits, hits + others, share), bdtrc(hits - 1, hits + others, share) if hits else 1.0))
