"""Do outputs of one call depend on each other? What is counted as independent outputs would then prove nothing.

A common bug of vectorised code adds one draw of noise to all outputs of a call, or uses a draw again within it. The
counts of an event in calls then vary more than those of independent outputs do. So before a program is accused, its
event is counted in 32 calls of 64 outputs on either input. Independent outputs give binomial counts of one probability
p, whose dispersion, the sum of (c - n p)**2/(n p (1 - p)), is about chi-squared with 31 degrees of freedom (Fisher
1925, section 19). A program whose dispersion comes less than once in a million times is not accused.

What a program remembers from call to call is not seen so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import chdtrc

from ldp_audit.auditing.program import DEPENDENCE, TEST, Program
from ldp_audit.auditing.result import INCONCLUSIVE, AuditResult, Witness, shown

FALSE_ALARM = 1e-6
"""Of a program whose outputs are independent, about."""
_CALLS, _SIZE = 32, 64


def if_independent(result: AuditResult, program: Program, stage: int = TEST) -> AuditResult:
    """The result; or, where it is a bound on outputs that depend on each other, a bound of 0 that says so.

    stage: of the test, so that no two checks draw the same outputs.
    """
    if not (result.violated or (result.claimed_epsilon is None and result.epsilon_lower > 0)):
        return result
    if result.witness.calls_for_one:  # whose outputs are each a call of its own
        return result
    counts = _counts(program, result.witness, stage)
    place = int(np.argmin([_chance(column) for column in counts]))
    if _chance(counts[place]) >= FALSE_ALARM / 2:
        return result
    expected, seen = _SIZE * result.witness.counts.frequencies[place], counts[place]
    said = (
        f"outputs of one call depend on each other: {expected:.3g} of {_SIZE} on input "
        f"{shown(result.witness.inputs[place])} should be in the event, and in {_CALLS} calls {seen.min()} to "
        f"{seen.max()} were, which independent outputs show less than once in a million times; a bound needs noise of "
        "its own for each output, or one output that holds all that a client sends"
    )
    delta = None if result.delta_lower is None else 0.0
    return replace(result, verdict=INCONCLUSIVE, epsilon_lower=0.0, delta_lower=delta, notes=(said, *result.notes))


def _counts(program: Program, witness: Witness, stage: int) -> np.ndarray:
    """The event's count in each call, shape (inputs, calls)."""
    calls = [
        [witness.event.count(program.outputs(x, _SIZE, (DEPENDENCE, stage, place, call))) for call in range(_CALLS)]
        for place, x in enumerate(witness.inputs)
    ]
    return np.array(calls)


def _chance(counts: np.ndarray) -> float:
    """The probability of so much dispersion, about."""
    p = counts.mean() / _SIZE
    if not 0 < p < 1:
        return 1.0
    return float(chdtrc(len(counts) - 1, ((counts - _SIZE * p) ** 2).sum() / (_SIZE * p * (1 - p))))
