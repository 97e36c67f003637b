"""The channel that a program with finitely many random words really implements.

A sampler that turns a uniform u = j * 2**-bits into an output is a table of 2**bits rows, and with 2**26 words or fewer
the table is read whole: counts of words, hence epsilon and delta, are exact. With more words, a monotone map is read by
bisection, and of any other map outputs are sampled that one input can reach and another cannot, which only refutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ldp_audit.auditing.arguments import check_count, check_seed
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.auditing.program import ProgramError
from ldp_audit.implementations.claim import claim_as_floats
from ldp_audit.implementations.evaluation import CHECKED, Evaluation, SamplerMap
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import Example, Implementation, Method, PairChannel
from ldp_audit.implementations.outside_randomness import OutsideRandomness
from ldp_audit.implementations.own_generators import OwnGenerators
from ldp_audit.implementations.pair_channel import CountedPair, Exemplar, counted_pair, with_word
from ldp_audit.implementations.tape import NotEnumerable
from ldp_audit.implementations.word_counts import WordCounts, word_counts

MOST_ENUMERATED = 26
"""Bits of all uniforms together, up to which every word is evaluated."""
_FUNCTION = (
    "each output is a function of x and its own words alone, the same each time "
    f"({CHECKED} words of each input, evaluated three times in two orders, do not contradict it)"
)
_HELD = 2**28  # bytes of inputs' word counts that are kept for the pairs to come; others are counted again


def implementation(
    sampler_map: SamplerMap,
    inputs: Sequence[Any] | InputSearch,
    bits: int = 24,
    *,
    uniforms: int = 1,
    claimed_epsilon: float | None = None,
    claimed_delta: float = 0.0,
    dtype: Any = None,
    words: bool = False,
    monotone: bool = False,
    samples: int = 100_000,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Implementation:
    """The channel that a sampler implements on the grid of uniforms that its generator produces.

    sampler_map: (x, u1, ..., u_uniforms) -> m outputs, for one input and arrays of m uniforms: numbers, labels, or
    (m, d) rows; deterministic, and each output a function of its own uniforms alone. Outputs are told apart by their
    bits: 0.0 and -0.0 are two, all NaNs one; labels by type and value.
    inputs: two or more, all pairs of which are examined, or what `search` returns.
    bits, dtype, words: the grid, see `Grid`.   uniforms: how many the map takes, independent of each other.
    claimed_epsilon: nats; None where nothing is claimed.   claimed_delta: in [0, 1).
    monotone: the caller says that outputs only rise or only fall with u; asked for where bits are more than 26.
    samples, seed: where not every word is evaluated, and for the words that are evaluated twice.
    progress: is given a line now and then.
    Enumeration takes, for each of two inputs, 4 bytes a word and the size of an output: 270 MB in all for 2**24 words
    and float32 outputs.
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a map that fails or is not deterministic.
    """
    start = time.perf_counter()
    search = as_search(inputs)
    own, outside = OwnGenerators(sampler_map), OutsideRandomness(on_torch=True)
    epsilon, delta = claim_as_floats(claimed_epsilon, claimed_delta)
    check_count("samples", samples, 10)
    check_seed(seed)
    grid = Grid(bits, dtype, words)
    if isinstance(uniforms, bool) or not isinstance(uniforms, int | np.integer) or uniforms < 1:
        raise ValueError(f"uniforms must be a whole number >= 1, got {uniforms!r}")
    if monotone and uniforms != 1:
        raise ValueError(f"monotone is about a map of one uniform, got uniforms={uniforms!r}")
    method: Method = "sampled"
    assumptions: tuple[str, ...] = ()
    if grid.bits * uniforms <= MOST_ENUMERATED:
        method = "enumerated"
        with outside:
            pairs = _enumerated(Evaluation(sampler_map, grid, int(uniforms), int(seed), progress), search)
        assumptions = (_FUNCTION,)
    elif monotone:
        from ldp_audit.implementations.monotone import by_structure

        method = "monotone"
        with outside:
            pairs, assumptions = by_structure(
                sampler_map, search, grid, samples=int(samples), seed=int(seed), progress=progress
            )
    else:
        from ldp_audit.implementations.attainability import by_samples

        pairs, assumptions = by_samples(
            sampler_map, search, grid, int(uniforms), samples=int(samples), seed=int(seed), progress=progress
        )
    seen = outside.seen or ("it draws from a generator of its own" if own.moved() else None)
    if method != "sampled" and seen is not None:
        raise _not_alone(seen)
    return Implementation(
        method=method,
        bits=grid.bits,
        uniforms=int(uniforms),
        words=grid.size ** int(uniforms),
        claimed_epsilon=epsilon,
        claimed_delta=delta,
        pairs=pairs,
        assumptions=assumptions,
        seconds=time.perf_counter() - start,
    )


def _not_alone(reason: str) -> ProgramError:
    error = ProgramError(f"sampler_map must be a function of x and u alone, but {reason}")
    error.__cause__ = NotEnumerable(reason)
    return error


def _enumerated(evaluation: Evaluation, search: InputSearch) -> tuple[PairChannel, ...]:
    """All pairs' channels."""
    counts = _Counts(evaluation, search.inputs)
    counted: list[CountedPair] = []
    for first, second in search.pairs:
        sides = counts.of(first), counts.of(second)
        counted.append(counted_pair(search.inputs, (first, second), sides, evaluation.total, evaluation.keys))
    words = _words_of_examples(evaluation, search.inputs, [one for pair in counted for one in pair.exemplars])

    def worked_out(one: Exemplar) -> Example:
        word = words[one.place, _hashable(one.key)]
        digits = tuple(int(digit[0]) for digit in evaluation.digits(np.array([word])))
        return with_word(one.example, digits, tuple(map(evaluation.uniform_of, digits)))

    return tuple(pair.channel(worked_out) for pair in counted)


class _Counts:
    """The inputs' word counts, kept as far as memory allows."""

    def __init__(self, evaluation: Evaluation, inputs: Sequence[Any]) -> None:
        self.evaluation, self.inputs = evaluation, inputs
        self.kept: dict[int, WordCounts] = {}

    def of(self, place: int) -> WordCounts:
        """The counts of one input."""
        if place in self.kept:
            return self.kept[place]
        name = f"input {place + 1} of {len(self.inputs)}"
        found = word_counts(self.evaluation.all_keys(self.inputs[place], name))
        if found.nbytes + sum(one.nbytes for one in self.kept.values()) <= _HELD:
            self.kept[place] = found
        return found


def _words_of_examples(
    evaluation: Evaluation, inputs: Sequence[Any], exemplars: Iterable[Exemplar]
) -> dict[tuple[int, Any], int]:
    """The first word that leads to each: (number of the input, key) -> word. One pass over the words of each input."""
    wanted: dict[int, dict[Any, Any]] = {}
    for one in exemplars:
        wanted.setdefault(one.place, {})[_hashable(one.key)] = one.key
    return {
        (place, name): word
        for place, keys in wanted.items()
        for name, word in zip(keys, evaluation.words_of(inputs[place], list(keys.values())), strict=True)
    }


def _hashable(key: Any) -> Any:
    return key.tobytes() if isinstance(key, np.void) else int(key)
