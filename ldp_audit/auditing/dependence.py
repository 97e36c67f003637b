"""Do a program's outputs depend on each other? What is counted as independent outputs would then prove nothing.

A client that remembers gives all its reports from one permanent answer; a vectorised bug adds one draw of noise to all
outputs of a call. The counts of an event in groups of such outputs vary more than those of independent outputs do. So
before a program is accused, its event is counted in groups, on either input:

    calls       many calls of a few outputs each: one draw for a whole call, or a draw that is used again within it
    processes   copies of this process from before the program's first call: what it remembers from call to call

Independent outputs give binomial counts of one probability, whose dispersion sum (c - n p)**2/(n p (1 - p)) is about
chi-squared with as many degrees of freedom as there are groups, less one (Fisher 1925, section 19). In the copies the
event is also as frequent as it was in the test. Where either fails by what comes once in a million times, the outputs
are dependent.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
from scipy.special import bdtr, bdtrc, chdtrc

from ldp_audit.auditing.program import DEPENDENCE, Program
from ldp_audit.auditing.result import INCONCLUSIVE, AuditResult, Witness, shown

FALSE_ALARM = 1e-6
"""Of all dispersions that are looked at together."""
_CALLS, _CALLED = 32, 64
_COPIES, _COPIED = 16, 256
"""How many groups there are, and of how many outputs on either input."""
_SECONDS = 30.0
"""After so long the copies of the process are given up."""


class Pristine:
    """A copy of this process from before the program's first call, which waits until it is asked for counts.

    Where processes cannot be copied there is none, and `counts` gives none.
    """

    def __init__(self, program: Program) -> None:
        self._child, self._ends = 0, (-1, -1)
        if not hasattr(os, "fork"):  # Windows
            return
        (asks, ask), (answers, answer) = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads are not copied; a lock ends in _SECONDS
            self._child = os.fork()
        if self._child == 0:
            os.close(ask)
            os.close(answers)
            _wait(program, asks, answer)
        os.close(asks)
        os.close(answer)
        self._ends = (ask, answers)

    def counts(self, program: Program, witness: Witness) -> np.ndarray | None:
        """The event's counts in fresh copies, shape (copies, inputs); None where that fails or takes too long."""
        if not self._child:
            return None
        ask, answers = self._ends
        with suppress(Exception):
            os.write(ask, pickle.dumps((witness, program.structure)))
            os.close(ask)
            self._ends = (-1, answers)
            received, end = b"", time.monotonic() + _SECONDS
            while select.select([answers], [], [], max(0.0, end - time.monotonic()))[0]:
                if not (part := os.read(answers, 2**16)):
                    return np.array(pickle.loads(received))  # noqa: S301  (from a copy of this process)
                received += part
        return None

    def close(self) -> None:
        """End the copy."""
        for end in self._ends:
            if end >= 0:
                os.close(end)
        if self._child:
            with suppress(OSError):
                os.kill(self._child, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(self._child, 0)
        self._child, self._ends = 0, (-1, -1)

    def __enter__(self) -> Pristine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def if_independent(result: AuditResult, program: Program, pristine: Pristine | None = None) -> AuditResult:
    """The result; or, where it says more than nothing, and of outputs that depend on each other, that it is nothing.

    pristine: what a violation is also compared with; it takes a second, which a bound without a claim does not.
    """
    if not (result.violated or (result.claimed_epsilon is None and result.epsilon_lower > 0)):
        return result
    said = _dependence(program, result.witness, pristine if result.violated else None)
    if said is None:
        return result
    delta = None if result.delta_lower is None else 0.0
    notes = (said, *result.notes)
    return replace(result, verdict=INCONCLUSIVE, epsilon_lower=0.0, delta_lower=delta, notes=notes)


def _dependence(program: Program, witness: Witness, pristine: Pristine | None) -> str | None:
    """A sentence where the outputs were shown to depend on each other; None where they were not."""
    calls = np.array([_hits(program, witness, k, _CALLED) for k in range(_CALLS)])
    copies = None if pristine is None else pristine.counts(program, witness)
    told = [("calls", calls, _CALLED, place, _dispersed(calls[:, place], _CALLED)) for place in (0, 1)]
    if copies is not None:
        test = witness.counts
        run = ((test.hits, test.trials), (test.other_hits, test.other_trials))
        for place in (0, 1):
            column = copies[:, place]
            apart = _apart(int(column.sum()), len(column) * _COPIED, *run[place])
            chance = min(_dispersed(column, _COPIED), apart)
            told.append(("fresh copies of the process", copies, _COPIED, place, chance))
    where, counts, size, place, chance = min(told, key=lambda one: one[-1])
    if chance >= FALSE_ALARM / 6:
        return None
    expected, seen = size * witness.counts.frequencies[place], counts[:, place]
    return (
        f"its outputs depend on each other: {expected:.3g} of {size} on input {shown(witness.inputs[place])} should be "
        f"in the event, as often as in the test, and in {len(counts)} {where} {seen.min()} to {seen.max()} were (on "
        f"average {seen.mean():.3g}), which independent outputs show less than once in a million times; a bound needs "
        "outputs of their own randomness: a new client for each output, or all that one client sends as one output"
    )


def _hits(program: Program, witness: Witness, group: int, size: int) -> list[int]:
    """The event's counts in a group of outputs of each input."""
    if witness.calls_for_one:
        keys = [(DEPENDENCE, place, group) for place in (0, 1)]
        return [
            sum(witness.event.count(program.outputs(x, 1, (*key, call))) for call in range(size))
            for x, key in zip(witness.inputs, keys, strict=True)
        ]
    return [
        witness.event.count(program.outputs(x, size, (DEPENDENCE, place, group)))
        for place, x in enumerate(witness.inputs)
    ]


def _dispersed(counts: np.ndarray, size: int) -> float:
    """The probability of counts that vary so much, about."""
    p = counts.mean() / size
    if not 0 < p < 1:
        return 1.0
    return float(chdtrc(len(counts) - 1, ((counts - size * p) ** 2).sum() / (size * p * (1 - p))))


def _apart(hits: int, trials: int, others: int, other_trials: int) -> float:
    """The probability of frequencies so far apart if they are those of one event (binomial, given all hits)."""
    if hits + others > (trials + other_trials) / 2:  # the misses are the rarer ones, and nearer to Poisson
        hits, others = trials - hits, other_trials - others
    share = trials / (trials + other_trials)
    return 2 * float(min(bdtr(hits, hits + others, share), bdtrc(hits - 1, hits + others, share) if hits else 1.0))


def _wait(program: Program, asks: int, answer: int) -> None:
    """In the copy: read what is asked, count it in copies of its own, answer, and end."""
    try:
        asked = b""
        while part := os.read(asks, 2**16):
            asked += part
        if asked:
            witness, program.structure = pickle.loads(asked)  # noqa: S301  (from the process that it is a copy of)
            found = [_in_a_copy(program, witness, k) for k in range(_COPIES)]
            os.write(answer, pickle.dumps(found))
    finally:
        os._exit(0)


def _in_a_copy(program: Program, witness: Witness, group: int) -> list[int]:
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sink, pickle.dumps(_hits(program, witness, _CALLS + group, _COPIED)))
        finally:
            os._exit(0)
    os.close(sink)
    hits = os.read(source, 2**12)
    os.close(source)
    os.waitpid(child, 0)
    return pickle.loads(hits)  # noqa: S301  (from a copy of this process)
