"""The search: which two inputs, in which direction, and which event. Nothing here is used for a bound.

Where there are many pairs, all are compared on small samples first, and the best of them again on larger ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldp_audit.auditing.bounds.curves import level_events
from ldp_audit.auditing.counts.counting import SEARCH
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.events.choice import Choice, Sample, choose
from ldp_audit.auditing.events.input_search import InputSearch, as_search
from ldp_audit.auditing.outputs import concatenated, unrepeated
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.two_proportions import Counts

_MOST_NUMBERS = 2**21  # in the first of an input's search samples, so that memory is bounded
_UNSURE = 0.05  # a log ratio whose search left this much doubt is searched again with more samples
_SCREEN, _SCREENED, _KEPT = 10, 1_000, 4  # more pairs than this are screened with so many samples; so many are kept


@dataclass(frozen=True)
class Found:
    """The pair and the event that the search settled on.

    places: the numbers of the inputs, the one that makes the event likelier first.
    learned: samples of each input that proposals were learned from.   spent: search samples of each input, all in all.
    drawn: search samples of all inputs.   unrepeated: the share of the pair's that are labels which came once only.
    levels: further events, disjoint, for `Curves`; none unless asked for.
    """

    choice: Choice
    places: tuple[int, int]
    learned: int
    spent: int
    drawn: int
    unrepeated: float = 0.0
    levels: tuple[Event, ...] = ()

    def pair(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """The two inputs."""
        return inputs[self.places[0]], inputs[self.places[1]]


def searched(
    program: Program,
    inputs: Sequence[Any] | InputSearch,
    samples: int,
    error: float,
    delta: float,
    progress: Callable[[str], None] | None = None,
    *,
    curves: bool = False,
    floating_point: bool = False,
) -> Found:
    """Choose the pair, the direction and the event; a choice that left much doubt is made again on more samples.

    samples: per input, of the whole audit.   error: what the test may spend.   curves: whether to choose levels too.
    floating_point: as of `choose`.
    """
    named = as_search(inputs)
    search = _Search(program, named.inputs, samples, error, delta, floating_point=floating_point)
    pairs: Iterable[tuple[int, int]] = named.pairs
    dimension = program.learn_dimension(named.inputs[0], (SEARCH, 0))
    size = search_size(samples, dimension)
    if len(named.pairs) > _SCREEN and size > _SCREENED:
        if progress is not None:
            progress(f"search: {len(named.pairs)} pairs of inputs")
        pairs = search.best(pairs, _SCREENED, _KEPT)
    found = search.found(pairs, size)
    if _doubt(found.choice.seen) > _UNSURE and 12 * size <= samples // 3 and size * dimension <= _MOST_NUMBERS // 2:
        if progress is not None:
            progress(f"search: again with more samples, the best event is rare ({found.choice.event.describe()})")
        found = search.found([(min(found.places), max(found.places))], 2 * size)
    return replace(found, levels=search.levels(found)) if curves else found


def search_size(samples: int, dimension: int) -> int:
    """Of a search's first two samples, of each input; the third is twice as large."""
    share = samples // 50 if dimension == 1 else samples // 25
    most = max(10_000, _MOST_NUMBERS // dimension)
    return max(1, min(samples // 10, max(5_000 if dimension == 1 else 20_000, share), most))


def coverage_floor(learned: int) -> float:
    """The probability below which an event stays unseen in so many samples, with probability 0.05 or more."""
    return -math.expm1(math.log(0.05) / learned)


class _Search:
    """The samples drawn so far, input by input, and how choices are made on them."""

    def __init__(
        self,
        program: Program,
        inputs: Sequence[Any],
        samples: int,
        error: float,
        delta: float,
        *,
        floating_point: bool,
    ) -> None:
        self.program, self.inputs = program, inputs
        self.samples, self.error, self.delta, self.floating_point = samples, error, delta, floating_point
        self.drawn: dict[int, list[Sample]] = {}

    def best(self, pairs: Iterable[tuple[int, int]], size: int, kept: int) -> list[tuple[int, int]]:
        """The pairs of greatest predicted bound."""
        choices = self._choices(pairs, size)
        return sorted(choices, key=lambda pair: -choices[pair].predicted)[:kept]

    def found(self, pairs: Iterable[tuple[int, int]], size: int) -> Found:
        """The best of the pairs, after so many more samples of each of their inputs (of the first two kinds each)."""
        choices = self._choices(pairs, size)
        pair = max(choices, key=lambda pair: choices[pair].promise)
        places = (pair[1], pair[0]) if choices[pair].swapped else pair
        sizes = {place: sum(map(_size, rounds)) for place, rounds in self.drawn.items()}
        learned = sum(len(round_.learn) for round_ in self.drawn[pair[0]])
        alone = unrepeated(outputs for place in pair for one in self.drawn[place] for outputs in one.parts())
        return Found(choices[pair], places, learned, sizes[pair[0]], sum(sizes.values()), alone)

    def levels(self, found: Found) -> tuple[Event, ...]:
        """Of the pair that was found, from all its search samples."""
        pair = found.places[::-1] if found.choice.swapped else found.places  # as `choose` was given them
        first, second = (_merged(self.drawn[place]) for place in pair)
        return level_events(first, second, found.choice)

    def _choices(self, pairs: Iterable[tuple[int, int]], size: int) -> dict[tuple[int, int], Choice]:
        pairs = list(pairs)
        samples = {place: self._drawn(place, size) for place in sorted({place for pair in pairs for place in pair})}
        return {pair: self._choice(samples, pair) for pair in pairs}

    def _choice(self, samples: dict[int, Sample], pair: tuple[int, int]) -> Choice:
        rng = np.random.default_rng(
            np.random.SeedSequence(self.program.seed, spawn_key=(SEARCH, *pair, len(self.drawn[pair[0]])))
        )
        trials = self.samples - _size(samples[pair[0]])
        return choose(
            samples[pair[0]],
            samples[pair[1]],
            trials=trials,
            error=self.error,
            delta=self.delta,
            rng=rng,
            floating_point=self.floating_point,
        )

    def _drawn(self, place: int, size: int) -> Sample:
        """All search samples of an input, with so many more."""
        rounds = self.drawn.setdefault(place, [])
        key = (SEARCH, place, len(rounds))
        parts = [
            self.program.many(self.inputs[place], times * size, (*key, which)) for which, times in enumerate((1, 1, 2))
        ]
        rounds.append(Sample(*parts))
        return _merged(rounds)


def _size(sample: Sample) -> int:
    return len(sample.learn) + len(sample.cut) + len(sample.compare)


def _merged(rounds: list[Sample]) -> Sample:
    if len(rounds) == 1:
        return rounds[0]
    return Sample(
        concatenated(one.learn for one in rounds),
        concatenated(one.cut for one in rounds),
        concatenated(one.compare for one in rounds),
    )


def _doubt(seen: Counts) -> float:
    return math.sqrt(1 / (seen.hits + 0.5) + 1 / (seen.other_hits + 0.5))
