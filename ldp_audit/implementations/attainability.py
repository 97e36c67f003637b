"""Lower bounds from random words, for maps with too many words to enumerate and no monotonicity. They can only refute.

A sample of words cannot show that no word leads to an output. It can estimate an event that outputs of one input are in
and those of the other are not. Besides ranges of the output, two scores detect floating-point noise: the exponent of an
output's last set bit, and whether it has occurred before. They are learned on some samples and counted on others;
Clopper-Pearson limits of the event's two probabilities bound epsilon and delta.

The last bit is scored separately by range of the output (`LocalGrain`): two inputs of equal size give the same
exponents, though at different places: near y = 1 the sum 1 + noise has the full resolution of doubles, and -1 + noise
the resolution of noise near 2.

`SeenBefore` distinguishes two inputs with few common outputs. If an input has M outputs, n of which have occurred, its
next output is among them with probability about n / M; an output of another input only if it is a common one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldp_audit.auditing.bounds import Counts, lower_limit, upper_limit
from ldp_audit.auditing.choice import Choice, Judge, Sample, choose_score
from ldp_audit.auditing.dependent_outputs import dependence_of_outputs
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.result import Witness
from ldp_audit.auditing.scores import Score
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace
from ldp_audit.auditing.test import Test, call_size, count_all
from ldp_audit.implementations.evaluation import SamplerMap, random_words
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import JointCounts, LowerBounds, PairChannel

CONFIDENCE = 1 - 1e-6
"""Of all bounds together."""

_SEARCH = 0
_SHARES = {"seen": 4, "learn": 8, "cut": 8, "compare": 8}  # 1 / share of the samples; the rest is counted
_TOTAL = 2**64  # limits are rounded down to multiples of 1 / _TOTAL
_NOTHING = JointCounts(_TOTAL, ((_TOTAL, _TOTAL, 1),))
_RANGES = 16
_WIDTH = 4096  # more than the number of exponents
_LEAST = -1100  # below the exponent of the smallest double


def by_samples(
    sampler_map: SamplerMap,
    inputs: Sequence[Any] | InputSearch,
    grid: Grid,
    uniforms: int,
    *,
    samples: int,
    seed: int,
    progress: Callable[[str], None] | None,
    fresh: Fresh | None = None,
) -> tuple[tuple[PairChannel, ...], tuple[str, ...]]:
    """Lower bounds for each pair of inputs, and their assumptions.

    sampler_map: (x, u1, ..., uk) -> outputs: numbers, labels, or rows.   uniforms: k.
    samples: of each input, >= 10.   seed: of the words.
    fresh: the program before its first call, where outputs may depend on each other: there is no bound where they do.
    Raises ValueError where the map fails or returns unreadable outputs.
    """

    def sampler(x: Any, n: int, rng: np.random.Generator) -> Any:
        with np.errstate(all="ignore"):  # the grid has points such as u = 0, with ln 0
            return sampler_map(x, *(grid.uniforms(random_words(rng, grid.size, n)) for _ in range(uniforms)))

    search = as_search(inputs)
    program = Program(sampler, seed, inputs=search.inputs)
    program.fit_rows(program.outputs(search.inputs[0], 1, (_SEARCH, 0)).dimension)
    channels, rests_on = [], []
    for first, second in search.pairs:
        if progress is not None:
            progress(
                f"inputs {first + 1} and {second + 1} of {len(search.inputs)}: looking for events that tell them apart"
            )
        bounds, witness = _pair(program, search.inputs, (first, second), samples, (1 - CONFIDENCE) / len(search.pairs))
        if fresh is not None and bounds.epsilon > 0:
            said, why, _ = dependence_of_outputs(witness, program, fresh, epsilon=bounds.epsilon, assumed=True)
            if said is not None:
                bounds = LowerBounds(bounds.first, bounds.second, _NOTHING)
                rests_on.append(f"nothing was found that counts, as {said}")
                channels.append(bounds)
                continue
            rests_on += [] if why is None else [why]
        channels.append(bounds)
        rests_on.append(_in_words(witness))
    limits = f"lower bounds from random words; all hold with confidence {CONFIDENCE}"
    return tuple(channels), (limits, *rests_on)


def _pair(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], samples: int, error: float
) -> tuple[LowerBounds, Witness]:
    """Choose an event, then count it on independent samples."""
    trials = samples - sum(samples // share for share in _SHARES.values())
    choice = _choice(program, inputs, places, samples, trials, error)
    pair = inputs[places[0]], inputs[places[1]]
    (counts,) = count_all(Test((choice.event,), pair, places, trials, call_size(trials, program.rows)), program)
    witness = Witness(pair, choice.event, counts).turned(choice.swapped)
    best = _limits(witness.counts, error)
    if choice.swapped:
        best = JointCounts(best.total, tuple((second, first, number) for first, second, number in best.rows))
    return LowerBounds(*pair, best), witness


def _choice(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], samples: int, trials: int, error: float
) -> Choice:
    drawn = [_drawn(program, inputs[place], place, samples) for place in places]
    first, second = (Sample(**{name: part for name, part in one.items() if name != "seen"}) for one in drawn)
    rng = np.random.default_rng(np.random.SeedSequence(program.seed, spawn_key=(_SEARCH, *places, 0, 0)))
    scores = _scores(drawn[0]["seen"], drawn[1]["seen"])
    return choose_score(first, second, Judge(trials, error, 0.0), rng, scores=scores)


def _drawn(program: Program, x: Any, place: int, samples: int) -> dict[str, Outputs]:
    return {
        name: program.many(x, samples // share, (_SEARCH, place, which))
        for which, (name, share) in enumerate(_SHARES.items())
    }


def _scores(first: Outputs, second: Outputs) -> tuple[Score | None, ...] | None:
    """Scores for single numbers, including those for floating-point noise; None for rows, whose scores are learned."""
    if first.dimension > 1:
        return None
    if first.labels is not None or second.labels is not None:
        return (None,)
    numbers = first.known_numbers, second.known_numbers
    return None, LocalGrain.learn(*numbers), SeenBefore.learn(*numbers)


def _limits(counts: Counts, error: float) -> JointCounts:
    """A binary channel that the event's dominates with probability >= 1 - error; one row if nothing was found."""
    p = lower_limit(counts.hits, counts.trials, error / 2)
    q = upper_limit(counts.other_hits, counts.other_trials, error / 2)
    if p <= q:
        return _NOTHING
    likelier, other = math.floor(p * _TOTAL), math.ceil(q * _TOTAL)
    return JointCounts(_TOTAL, ((likelier, other, 1), (_TOTAL - likelier, _TOTAL - other, 1)))


def _in_words(witness: Witness) -> str:
    """The event in one line, with the codes of `LocalGrain` decoded."""
    if not isinstance(witness.event.score, LocalGrain):
        return witness.describe()
    words = witness.event.score.in_words(witness.event.intervals)
    return witness.describe().replace(witness.event.describe(), words)


@dataclass(frozen=True)
class LocalGrain(Score):
    """Score by output range (between ascending `edges`) and exponent of the last set bit, coded as a whole number."""

    edges: tuple[float, ...]

    KIND: ClassVar[str] = "local grain"

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray) -> LocalGrain:
        """Ranges of equal shares of a pooled sample."""
        pooled = np.concatenate([first, second])
        pooled = pooled[np.isfinite(pooled)]
        shares = np.arange(1, _RANGES) / _RANGES
        return LocalGrain(tuple(np.unique(np.quantile(pooled, shares)).tolist()) if len(pooled) else ())

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        ranges = np.searchsorted(np.array(self.edges), numbers, side="right")
        return ranges * float(_WIDTH) + (UnitInLastPlace().of(numbers) - _LEAST)

    def in_words(self, intervals: tuple[tuple[float, float], ...]) -> str:
        """Intervals of this score as conditions on y: four at most, the others as a number."""
        ends = [-math.inf, *self.edges, math.inf]
        parts = []
        for low, high in intervals:
            least, most = max(0, low), min(len(ends) * _WIDTH, high)
            codes = math.ceil(least), math.ceil(most) - 1  # integers strictly inside, or at, the bounds
            for place in range(codes[0] // _WIDTH, min(codes[1] // _WIDTH, len(ends) - 2) + 1):
                first, last = (min(max(code - place * _WIDTH + _LEAST, -1074), 1024) for code in codes)
                grain = f"2**{first}" if first == last else f"2**{first} .. 2**{last}"
                parts.append(f"{ends[place]:.6g} <= y < {ends[place + 1]:.6g} with a last bit of {grain}")
        more = [f"{len(parts) - 4} more such ranges"] if len(parts) > 4 else []
        return " or ".join(parts[:4] + more)

    def describe(self) -> str:
        """See `Score`."""
        return f"{_WIDTH} * (which of {len(self.edges) + 1} ranges y is in) + {-_LEAST} + log2(last bit of y)"


@dataclass(frozen=True, eq=False)
class SeenBefore(Score):
    """1 for a number in `first`, 2 in `second`, 3 in both, else 0; both ascending, distinct, float64."""

    first: np.ndarray
    second: np.ndarray

    KIND: ClassVar[str] = "seen before"

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray) -> SeenBefore:
        """The score of a sample of each input that is not used to choose events or compute bounds."""
        return SeenBefore(np.unique(first), np.unique(second))

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        return _among(numbers, self.first) + 2.0 * _among(numbers, self.second)

    def describe(self) -> str:
        """See `Score`."""
        return (
            f"(1 if y is among {len(self.first)} outputs of the first input that were seen before) + "
            f"(2 if among {len(self.second)} of the second)"
        )

    def to_dict(self) -> dict[str, Any]:
        """See `Score`."""
        return {"kind": self.KIND, "first": self.first.tolist(), "second": self.second.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """See `Score`."""
        return cls(np.array(data["first"], dtype=np.float64), np.array(data["second"], dtype=np.float64))


def _among(numbers: np.ndarray, known: np.ndarray) -> np.ndarray:
    if not len(known):
        return np.zeros(len(numbers))
    places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return (known[places] == numbers).astype(np.float64)
