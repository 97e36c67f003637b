"""The test: one event (or more), fixed before the first of these samples is drawn, counted on two inputs.

Chunk i of an input has a generator of its own, so that the counts do not depend on who counts which chunk, or when:
one process or many, at once or after an interruption, the sums are the same.

Programs that repeat themselves (a fixed seed, a small one, a cache) have a test of their own (`repeated`): many small
calls show what one large one hides. Each call asks for one output, with a fresh generator. An honest program's outputs
are then as independent as ever, and this is one more test of an event; a program that ignores the generator, or keeps
few of its bits, gives outputs that it gave before on the one input and not on the other. Seeds of more than about ten
bits are beyond these few calls.

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
import time
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import bdtr, bdtrc, betaln, chdtrc, logsumexp, xlogy

from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.fresh import Fresh, FreshCounts, NotFreshError
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from ldp_audit.auditing.program import CALLS, DEPENDENCE, TEST, Program, ProgramError
from ldp_audit.auditing.result import INCONCLUSIVE, AuditResult, Witness, shown
from ldp_audit.auditing.scores.equals import Equals

Tally = tuple[Counts, ...]
"""Counts of several events on the same outputs."""

Range = tuple[int, int]
"""The chunks first .. last - 1."""

_SECONDS = 1.0  # between two lines of progress, at least
FIRST_CALLS = 128
"""Calls of each input before a test is proposed."""

_FEWEST_CALLS = 16  # and where samples are few: a fixed seed shows in these, one of 8 bits in the usual number
_MOST_CALLS = 1000

FALSE_ALARM = 1e-6
"""Of calling outputs dependent that are independent, about."""
_DRIFT = 1e-9
"""And of calling a search unlike its test: the event is the best of some thousands, of many pairs of inputs."""
_CALLS, _TEST_CALLS, _LEAST_SIZE = 16, 32, 16
"""Calls of each input that look for dependence; about the fewest of a test, unless they had fewer outputs than this."""


def call_size(trials: int, most: int) -> int:
    """Outputs a call of a test of so many outputs of each input.   most: what a call may hold."""
    return min(most, max(_LEAST_SIZE, -(-trials // _TEST_CALLS)))


@dataclass(frozen=True)
class Test:
    """What is counted.

    events: the one to be tested first; others are counted in the same outputs.
    pair: the input that makes the event likelier, and the other.   places: their numbers, which their keys contain.
    trials: outputs of each input.   rows: outputs a call.   stage: the first number of the keys.
    """

    __test__ = False  # not a test class of pytest's

    events: tuple[Event, ...]
    pair: tuple[Any, Any]
    places: tuple[int, int]
    trials: int
    rows: int
    stage: int = TEST

    @property
    def chunks(self) -> int:
        """How many calls each input needs."""
        return -(-self.trials // self.rows)

    def count(self, program: Program, chunk: int) -> Tally:
        """The counts of one chunk, an entry an event: one call on either input.

        Which input comes first is a coin's toss, so that a program that counts its calls, or whose memory fills up,
        does not differ between the inputs by their turns.
        """
        size = min(self.rows, self.trials - chunk * self.rows)
        turns = sorted(zip(self.places, self.pair, strict=True), reverse=program.coin((self.stage, chunk)))
        found = {place: program.outputs(x, size, (self.stage, place, chunk)) for place, x in turns}
        outputs, others = (found[place] for place in self.places)
        return tuple(Counts(event.count(outputs), size, event.count(others), size) for event in self.events)


@dataclass(frozen=True)
class Part:
    """What counting the chunks first .. last - 1 gave; with an error, last is the chunk that failed, not counted."""

    first: int
    last: int
    tally: Tally | None
    seconds: float
    error: ProgramError | None = None


@dataclass(frozen=True)
class Ledger:
    """Which chunks are counted, as ascending ranges that lie apart, and what they add up to."""

    done: tuple[Range, ...] = ()
    tally: Tally | None = None

    def plus(self, part: Part) -> Ledger:
        """With one more part. Raises ValueError where a chunk would be counted twice."""
        if part.tally is None:
            return self
        tally = part.tally if self.tally is None else added(self.tally, part.tally)
        return Ledger(joined([*self.done, (part.first, part.last)]), tally)

    def missing(self, chunks: int) -> list[Range]:
        """What is left of 0 .. chunks - 1."""
        edges = [0, *(edge for done in self.done for edge in done), chunks]
        return [(first, last) for first, last in zip(edges[::2], edges[1::2], strict=True) if first < last]


class Pending:
    """Chunks that are still to be handed out, the lowest first."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        self._ranges = sorted(ranges)

    def __len__(self) -> int:
        return sum(last - first for first, last in self._ranges)

    def take(self, most: int) -> Range:
        """The next chunks, so many at most."""
        first, last = self._ranges.pop(0)
        if last - first > most:
            self._ranges.insert(0, (first + most, last))
            last = first + most
        return first, last


class Runner(Protocol):
    """Who counts: this process, others on this machine, or a cluster."""

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """All that is pending, in any order. After a part with an error nothing more is handed out.

        Closing the generator ends whatever was started for it.
        """
        ...


class Keeper(Protocol):
    """Where counts outlive this process."""

    def ledger(self, test: Test) -> Ledger:
        """What is counted of this test already."""
        ...

    def keep(self, ledger: Ledger, *, now: bool = False) -> None:
        """Take note of it; at once, or when it is time again."""
        ...


class Unkept:
    """A `Keeper` that keeps nothing: a run that starts afresh, and is not continued."""

    found: None = None
    """What an earlier search settled on."""

    def keep_found(self, found: object) -> None:
        """Take note of what the search settled on."""

    def fix(self, test: Test, design_epsilon: float) -> None:
        """Take note of the test."""

    def ledger(self, test: Test) -> Ledger:  # noqa: ARG002  (nothing is kept of any test)
        """See `Keeper`."""
        return Ledger()

    def keep(self, ledger: Ledger, *, now: bool = False) -> None:
        """See `Keeper`."""


class IncompleteError(ProgramError):
    """The program failed while its outputs were counted.   partial: what was counted before, for JSON."""

    def __init__(self, message: str, partial: dict[str, Any] | None) -> None:
        super().__init__(message)
        self.partial = partial


class Serial:
    """Chunk after chunk, in this process."""

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """See `Runner`."""
        while len(pending):
            part = count_part(test, program, pending.take(1))
            yield part
            if part.error is not None:
                return


def count_part(test: Test, program: Program, chunks: Range) -> Part:
    """Count some chunks in this process, up to the first that fails."""
    start = time.perf_counter()
    tally: Tally | None = None
    for chunk in range(*chunks):
        try:
            counted = test.count(program, chunk)
        except ProgramError as error:
            return Part(chunks[0], chunk, tally, time.perf_counter() - start, error)
        tally = counted if tally is None else added(tally, counted)
    return Part(*chunks, tally, time.perf_counter() - start)


def count_all(
    test: Test,
    program: Program,
    report: Callable[[Tally], None] | None = None,
    *,
    runner: Runner | None = None,
    state: Keeper | None = None,
) -> Tally:
    """The counts of all chunks.

    report: handed the counts so far, after each part but the last.   state: what it holds is not counted again.
    Raises IncompleteError where the program fails: of several failures that of the lowest chunk, so that who counts
    does not change the message.
    """
    keeper: Keeper = Unkept() if state is None else state
    ledger = keeper.ledger(test)
    failed: Part | None = None
    try:
        with closing((runner or Serial()).parts(test, program, Pending(ledger.missing(test.chunks)))) as parts:
            for part in parts:
                ledger = ledger.plus(part)
                if part.error is not None:
                    failed = part if failed is None or part.last < failed.last else failed
                keeper.keep(ledger)
                if report is not None and ledger.tally is not None and ledger.missing(test.chunks):
                    report(ledger.tally)
    finally:
        keeper.keep(ledger, now=True)
    if failed is not None:
        raise IncompleteError(str(failed.error), partial_counts(test, ledger)) from failed.error
    if ledger.tally is None or ledger.missing(test.chunks):
        raise RuntimeError(f"chunks {ledger.missing(test.chunks)} were not counted")
    return ledger.tally


def partial_counts(test: Test, ledger: Ledger) -> dict[str, Any] | None:
    """For JSON: what is counted of the first event; None where nothing is."""
    if ledger.tally is None:
        return None
    return {"event": test.events[0].to_dict(), **ledger.tally[0].to_dict()}


def joined(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Ranges as ascending ones that lie apart. Raises ValueError where two of them share a chunk."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first < found[-1][1]:
            raise ValueError(f"chunk {first} was counted twice")
        if found and first == found[-1][1]:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found)


def added(tally: Tally, more: Tally) -> Tally:
    """The counts of both, event by event."""
    return tuple(a + b for a, b in zip(tally, more, strict=True))


def reporter(
    progress: Callable[[str], None] | None, error: float, design_epsilon: float, delta: float
) -> Callable[[Tally], None] | None:
    """What `count_all` hands its counts to; None without a progress.

    error, design_epsilon: of the test of the first event.   delta: the claimed one.
    """
    if progress is None:
        return None
    last = [time.perf_counter()]

    def report(tally: Tally) -> None:
        if time.perf_counter() - last[0] < _SECONDS:
            return
        bound = Region(tally[0], error, design_epsilon, delta, fineness=0.05).epsilon_lower(delta)
        progress(f"test: {tally[0].trials} samples of each input, epsilon at least {bound:.4g} so far")
        last[0] = time.perf_counter()

    return report


def first_calls(samples: int) -> int:
    """Calls of each input that an audit of so many samples begins with: one for fifty samples, 16 to 128, even."""
    return min(FIRST_CALLS, max(_FEWEST_CALLS, samples // 100 * 2))


def repeated(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float, samples: int
) -> tuple[Witness | None, int]:
    """Outputs that one input gives again and the other does not, counted on calls for one; and how many calls.

    None where no such outputs promise a violation: in `first_calls`, and, where these do, in all of them. The first
    half of the calls names the outputs, the second says whether they come again.   samples: of an input, of the audit.
    """
    few = first_calls(samples)
    seen = _seen(program, inputs, places, range(few))
    test = _proposed(seen, inputs, places, error, claimed)
    if test is not None and few < FIRST_CALLS:
        more = _seen(program, inputs, places, range(few, FIRST_CALLS))
        seen = [one + two for one, two in zip(seen, more, strict=True)]
        test = _proposed(seen, inputs, places, error, claimed)
    if test is None:
        return None, 2 * len(seen[0])
    (counts,) = count_all(test, program)
    return Witness(test.pair, test.events[0], counts, calls_for_one=True), 2 * (len(seen[0]) + test.trials)


def _seen(program: Program, inputs: Sequence[Any], places: tuple[int, int], calls: range) -> list[list[Hashable]]:
    """What these calls gave, on either input."""
    return [[_key(program.outputs(inputs[place], 1, (CALLS, 0, place, call))) for call in calls] for place in places]


def _proposed(
    seen: list[list[Hashable]], inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float
) -> Test | None:
    half = len(seen[0]) // 2
    for one, two in ((0, 1), (1, 0)):
        usual = _own(seen[one][:half], seen[two][:half])
        hits, other = (sum(key in usual for key in keys[half:]) for keys in (seen[one], seen[two]))
        if not hits:
            continue
        needed = 4 * -math.log(error) * (1 + math.exp(min(claimed, 10.0)) * half / hits)
        calls = min(_MOST_CALLS, math.ceil(needed))
        expected = Counts(calls * hits // half, calls, calls * other // half, calls)
        if Region(expected, error, max(1.0, claimed), fineness=0.02).exceeds(claimed):
            pair = (inputs[places[one]], inputs[places[two]])
            return Test((_event(usual),), pair, (places[one], places[two]), calls, 1, CALLS)
    return None


def _own(keys: list[Any], others: list[Any]) -> set[Any]:
    """What is seen on the one input alone; of vectors only the most frequent."""
    known = set(others)
    counts = Counter(key for key in keys if key not in known)
    if counts and isinstance(next(iter(counts)), tuple) and next(iter(counts))[:1] != ("label",):
        return {counts.most_common(1)[0][0]}
    return set(counts)


def _key(outputs: Outputs) -> Hashable:
    if outputs.labels is not None and outputs.labels[0] is not NOT_A_LABEL:
        return ("label", outputs.labels[0])
    numbers = outputs.known_numbers
    return float(numbers[0]) if numbers.ndim == 1 else tuple(map(float, numbers[0]))


def _event(keys: set[Any]) -> Event:
    numbers = sorted(key for key in keys if isinstance(key, float))
    labels: tuple[Any, ...] = tuple(
        sorted((key[1] for key in keys if not isinstance(key, float) and key[:1] == ("label",)), key=repr)
    )
    if numbers or labels:
        return Event(tuple((number, math.nextafter(number, math.inf)) for number in numbers), labels)
    return Event(intervals=((0.5, math.inf),), score=Equals(next(iter(keys))))


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
    trials = _LEAST_SIZE
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
