"""The exact channel of a program with finitely many random words.

A sampler that maps a uniform u = j * 2**-bits to an output is a table of 2**bits rows. Up to 2**26 words the table is
enumerated: counts of words, hence epsilon and delta, are exact. With more words, a monotone map is analysed by
bisection, and for any other map random words show outputs of one input that another cannot give, which only refutes.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.bounds import check_claim
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.implementations.attainability import by_samples
from ldp_audit.implementations.evaluation import CHECKED, Evaluation, SamplerMap
from ldp_audit.implementations.fake_generator import NotEnumerable
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import (
    Example,
    Exclusive,
    Implementation,
    JointCounts,
    Method,
    PairChannel,
)
from ldp_audit.implementations.monotone import by_structure
from ldp_audit.implementations.output_keys import OutputKeys
from ldp_audit.implementations.outside_randomness import OutsideRandomness, OwnGenerators
from ldp_audit.numerics import whole

MOST_ENUMERATED = 26
"""Most bits of all uniforms together for which every word is evaluated."""

_FUNCTION = (
    "each output is a function of x and its own words alone, the same each time "
    f"({CHECKED} words of each input, evaluated three times in two orders, do not contradict it)"
)
_HELD = 2**28  # bytes of word counts that are cached for later pairs; others are recomputed
_BLOCK = 2**15  # keys of a block, which fit the processor's cache
_RUN = 64  # mean length of sorted runs from which they are merged
_FEW = 2**16  # pairs of counts that are tallied without sorting


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
    """The channel of a sampler on the grid of uniforms that its generator produces.

    sampler_map: (x, u1, ..., u_uniforms) -> m outputs, for one input and arrays of m uniforms: numbers, labels, or (m,
        d) rows; deterministic, each output a function of its own uniforms alone. Outputs are distinguished by their
        bits: 0.0 and -0.0 are two, all NaNs one; labels by type and value.
    inputs: two or more, all pairs of which are examined, or a result of `search`.
    bits, dtype, words: the grid, see `Grid`.   uniforms: the number of independent uniforms of the map.
    claimed_epsilon: nats; None for no claim.   claimed_delta: in [0, 1).
    monotone: the caller's assertion that outputs are monotone in u; required for more than 26 bits to be exact.
    samples, seed: for words that are sampled, and for those evaluated twice.   progress: receives messages.
    Enumeration takes, for each of two inputs, 4 bytes a word and the size of an output: 270 MB in all for 2**24 words
    and float32 outputs.
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a map that fails or is not deterministic.
    """
    start = time.perf_counter()
    search = as_search(inputs)
    own, outside = OwnGenerators(sampler_map), OutsideRandomness(on_torch=True)
    epsilon, delta = claim_as_floats(claimed_epsilon, claimed_delta)
    whole(samples, "samples", 10)
    whole(seed, "seed", 0)
    grid = Grid(bits, dtype, words)
    uniforms = whole(uniforms, "uniforms")
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
        method = "monotone"
        with outside:
            pairs, assumptions = by_structure(
                sampler_map, search, grid, samples=int(samples), seed=int(seed), progress=progress
            )
    else:
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
    counts = _Counts(evaluation, search.inputs)
    counted: list[PairCounts] = []
    for first, second in search.pairs:
        sides = counts.of(first), counts.of(second)
        counted.append(pair_counts(search.inputs, (first, second), sides, evaluation.total, evaluation.keys))
    words = _words_of_examples(evaluation, search.inputs, [one for pair in counted for one in pair.exemplars])

    def worked_out(one: Exemplar) -> Example:
        word = words[one.place, _hashable(one.key)]
        digits = tuple(int(digit[0]) for digit in evaluation.digits(np.array([word])))
        return with_word(one.example, digits, tuple(map(evaluation.uniform_of, digits)))

    return tuple(pair.channel(worked_out) for pair in counted)


class _Counts:
    """A cache of the inputs' word counts, of bounded size."""

    def __init__(self, evaluation: Evaluation, inputs: Sequence[Any]) -> None:
        self.evaluation, self.inputs = evaluation, inputs
        self.kept: dict[int, WordCounts] = {}

    def of(self, place: int) -> WordCounts:
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
    """(number of the input, key) -> the first word that leads to it, in one pass over the words of each input."""
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


@dataclass(frozen=True)
class Exemplar:
    """An output to show.   place: the number of an input that gives it.   example: without its word yet."""

    place: int
    key: Any
    example: Example


@dataclass(frozen=True)
class PairCounts:
    """Two inputs' joint counts, and at most one output to show for each."""

    inputs: tuple[Any, Any]
    places: tuple[int, int]
    counts: JointCounts
    exemplars: tuple[Exemplar, ...]

    def channel(self, worked_out: Callable[[Exemplar], Example]) -> PairChannel:
        """The channel, with its examples completed by their words."""
        examples = {one.place: worked_out(one) for one in self.exemplars}
        exclusive = []
        for side, place in enumerate(self.places):
            outputs, words = self.counts.exclusive(side)
            if outputs:
                share = words / self.counts.total
                pair = self.inputs[side], self.inputs[1 - side]
                exclusive.append(Exclusive(*pair, outputs, words, share, examples[place]))
        only = [one.example for one in sorted(exclusive, key=lambda one: -one.words)]
        worst = next(iter(only or examples.values()), None)
        return PairChannel(*self.inputs, self.counts, tuple(exclusive), worst)


def pair_counts(
    inputs: Sequence[Any], places: tuple[int, int], sides: tuple[WordCounts, WordCounts], total: int, keys: OutputKeys
) -> PairCounts:
    """Join two inputs' counts, and choose the exclusive output of most words in each direction as an example.

    inputs: all of them.   places: the numbers of these two.   total: words of each.
    Without exclusive outputs the one of largest ratio is chosen, if any ratio differs from 1.
    """
    joined = SideBySide(*sides, total)
    exemplars = []
    for side in (0, 1):
        exclusive = [row for row in joined.counts.rows if row[1 - side] == 0]
        if exclusive:
            key = joined.key_in(max(exclusive, key=lambda row: row[side]))
            nearest = _nearest(sides[1 - side], key, keys)
            exemplars.append(_exemplar(inputs, (places[side], places[1 - side]), key, keys, nearest, math.inf))
    row = joined.counts.worst_row
    if not exemplars and row[0] != row[1]:
        side = 0 if row[0] > row[1] else 1
        ratio = row[side] / row[1 - side]
        pair = places[side], places[1 - side]
        exemplars.append(_exemplar(inputs, pair, joined.key_in(row), keys, (None, None), ratio))
    return PairCounts((inputs[places[0]], inputs[places[1]]), places, joined.counts, tuple(exemplars))


def with_word(example: Example, word: tuple[int, ...], uniform: tuple[float, ...]) -> Example:
    """The example, completed by the words that lead to it."""
    return replace(example, word=word, uniform=uniform)


def _nearest(side: WordCounts, key: Any, keys: OutputKeys) -> tuple[Any, Any]:
    """The nearest outputs of a side below and above one that it cannot give; none for a NaN."""
    if not keys.ordered or _is_nan(keys.output(key)):
        return None, None
    below, above = (None if near is None else keys.output(near) for near in side.neighbours(key))
    return below, None if _is_nan(above) else above


def _is_nan(output: Any) -> bool:
    return bool(output != output)


def _exemplar(
    inputs: Sequence[Any], pair: tuple[int, int], key: Any, keys: OutputKeys, nearest: tuple[Any, Any], ratio: float
) -> Exemplar:
    reached, unreached = (inputs[place] for place in pair)
    example = Example(keys.output(key), (), (), *nearest, ratio, reached, unreached)
    return Exemplar(pair[0], key, example)


@dataclass(frozen=True)
class WordCounts:
    """keys: of the distinct outputs, ascending.   words: the number of words of each, uint32, the same shape."""

    keys: np.ndarray
    words: np.ndarray

    @property
    def nbytes(self) -> int:
        """Its memory in bytes."""
        return self.keys.nbytes + self.words.nbytes

    def neighbours(self, key: Any) -> tuple[Any, Any]:
        """The nearest keys below and above one that is not among them; None where there is none."""
        place = int(np.searchsorted(self.keys, key))
        return self.keys[place - 1] if place else None, self.keys[place] if place < len(self.keys) else None


def word_counts(keys: np.ndarray) -> WordCounts:
    """The counts of the keys of all words, fewer than 2**32. Sorts the keys in place."""
    keys.sort(kind="stable" if _mostly_in_order(keys) else None)
    ranges = [slice(first - 1, first + _BLOCK) for first in range(1, len(keys), _BLOCK)]
    distinct = 1 + sum(int(np.count_nonzero(keys[one][1:] != keys[one][:-1])) for one in ranges)
    starts = np.zeros(distinct, dtype=np.uint32)
    filled = 1
    for one in ranges:
        new = np.flatnonzero(keys[one][1:] != keys[one][:-1]) + (one.start + 1)
        starts[filled : filled + len(new)] = new
        keys[filled : filled + len(new)] = keys[new]  # overwrites only entries that were read or are equal
        filled += len(new)
    starts[:-1] = starts[1:] - starts[:-1]
    starts[-1] = len(keys) - starts[-1]
    return WordCounts(keys[:distinct] if 2 * distinct > len(keys) else keys[:distinct].copy(), starts)


def _mostly_in_order(keys: np.ndarray) -> bool:
    """Whether the keys are nearly monotone, so that merging runs is faster than sorting."""
    rises = falls = 0
    for first in range(1, len(keys), _BLOCK):
        block = keys[first - 1 : first + _BLOCK]
        if block.dtype.kind == "V":
            return False  # numpy does not order bytes
        rises += int(np.count_nonzero(block[1:] > block[:-1]))
        falls += int(np.count_nonzero(block[1:] < block[:-1]))
    return min(rises, falls) * _RUN < len(keys)


class SideBySide:
    """Two inputs' counts joined by their keys, block by block.   counts: the joint counts, compressed."""

    def __init__(self, first: WordCounts, second: WordCounts, total: int) -> None:
        self._sides = first, second
        self._blocks = list(_blocks(first, second))
        self._tallies = [_tally(*self._joined(block)[1:]) for block in self._blocks]
        outputs: Counter[tuple[int, int]] = Counter()
        for tally in self._tallies:
            outputs.update(tally)
        self.counts = JointCounts(total, tuple(sorted((*pair, number) for pair, number in outputs.items())))

    def key_in(self, row: tuple[int, int, int]) -> Any:
        """The median key of a row of the counts."""
        left = row[2] // 2
        for block, tally in zip(self._blocks, self._tallies, strict=True):
            here = tally.get(row[:2], 0)
            if left < here:
                keys, first, second = self._joined(block)
                return np.sort(keys[(first == row[0]) & (second == row[1])])[left]
            left -= here
        raise ValueError(f"row must be one of the counts, got {row!r}")

    def _joined(self, block: tuple[slice, slice]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        (keys, words), (others, other_words) = (
            (side.keys[part], side.words[part]) for side, part in zip(self._sides, block, strict=True)
        )
        if not len(keys) or not len(others):
            return np.concatenate([keys, others]), _filled(words, len(others), 1), _filled(other_words, len(keys), 0)
        places = np.searchsorted(keys, others)
        np.minimum(places, len(keys) - 1, out=places)
        known = keys[places] == others
        beside = np.zeros_like(words)
        beside[places[known]] = other_words[known]
        alone = ~known
        missing = np.zeros(int(alone.sum()), dtype=words.dtype)
        return (
            np.concatenate([keys, others[alone]]),
            np.concatenate([words, missing]),
            np.concatenate([beside, other_words[alone]]),
        )


def _filled(words: np.ndarray, zeros: int, side: int) -> np.ndarray:
    """The words padded with zeros after them (side 1) or before them (side 0)."""
    none = np.zeros(zeros, dtype=words.dtype)
    return np.concatenate([words, none] if side else [none, words])


def _blocks(first: WordCounts, second: WordCounts) -> Iterator[tuple[slice, slice]]:
    """Slices of both that cover the same interval of keys, at most `_BLOCK` of each."""
    starts, sides = [0, 0], (first.keys, second.keys)
    while any(start < len(keys) for start, keys in zip(starts, sides, strict=True)):
        windows = [keys[start : start + _BLOCK] for start, keys in zip(starts, sides, strict=True)]
        whole = [start + _BLOCK >= len(keys) for start, keys in zip(starts, sides, strict=True)]
        last = [window[-1:] for window, all_of_it in zip(windows, whole, strict=True) if not all_of_it]
        if last:
            end = np.sort(np.concatenate(last))[0]
            stops = [int(np.searchsorted(window, end, side="right")) for window in windows]
        else:
            stops = [len(window) for window in windows]
        stops = [start + stop for start, stop in zip(starts, stops, strict=True)]
        yield slice(starts[0], stops[0]), slice(starts[1], stops[1])
        starts = stops


def _tally(first: np.ndarray, second: np.ndarray) -> dict[tuple[int, int], int]:
    base = int(second.max()) + 1
    codes = first.astype(np.int64) * base + second
    if (int(first.max()) + 1) * base <= _FEW:
        outputs = np.bincount(codes)
        codes = np.flatnonzero(outputs)
        outputs = outputs[codes]
    else:
        codes, outputs = np.unique(codes, return_counts=True)
    pairs = (divmod(code, base) for code in codes.tolist())
    return dict(zip(pairs, outputs.tolist(), strict=True))


def claim_as_floats(claimed_epsilon: float | None, claimed_delta: float) -> tuple[float | None, float]:
    """Both as floats. Raises ValueError, as `check_claim` does."""
    check_claim(claimed_epsilon, claimed_delta)
    return None if claimed_epsilon is None else float(claimed_epsilon), float(claimed_delta)
