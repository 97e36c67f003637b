"""Evaluation of a deterministic map on all words of its uniforms, in chunks, with checks of its determinism.

A map of one uniform is also evaluated at single words, or at their ranks (for a decreasing map, in mirrored order), on
the caller's assertion that it is monotone. This is checked on random words and their neighbours. Words out of order are
an error, except that neighbours may decrease by a few units in the last place, as the logarithms of common libraries
do: the largest such step is recorded as a tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.arrays import as_numpy, is_tensor
from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.result import shown
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import output_text
from ldp_audit.implementations.output_keys import OutputKeys, same

SamplerMap = Callable[..., Any]
"""(x, u) -> y, or (x, u1, ..., uk) -> y: one input, arrays of m uniforms, m outputs; deterministic."""

_CHUNK = 2**15  # words of a call: they fit the processor's cache, and torch does not split them among threads
_FEWEST = 1024  # least words of a call, as short arrays may take another code path with other rounding
CHECKED = 1024
"""Words of each input that are evaluated twice, in another batch and order."""

_SECONDS = 1.0  # between two progress messages
BLOCK = 2**20
"""Words in a block, which bounds the memory."""

_LAST_PLACES = 4.0  # largest tolerated step back of a neighbour, in units in the last place of the typical output


@dataclass
class Evaluation:
    """A map on all words 0 .. total - 1; the words of several uniforms are the digits of one, the first the highest.

    keys: reads its outputs.   seed: of the words that are evaluated twice.
    """

    sampler_map: SamplerMap
    grid: Grid
    uniforms: int = 1
    seed: int = 0
    progress: Callable[[str], None] | None = None
    keys: OutputKeys = field(default_factory=OutputKeys)

    @property
    def total(self) -> int:
        """The number of words of an input."""
        return 2 ** (self.grid.bits * self.uniforms)

    def all_keys(self, x: Any, name: str) -> np.ndarray:
        """The keys of all outputs on x; ProgramError where the map fails or its outputs depend on more than x and u."""
        again = self._again(x)
        said = time.perf_counter()
        keys: np.ndarray | None = None
        for first, chunk in self._chunks(x):
            if keys is None:
                keys = np.empty(self.total, dtype=chunk.dtype)
            keys[first : first + len(chunk)] = chunk
            if self.progress is not None and time.perf_counter() - said >= _SECONDS:
                said = time.perf_counter()
                self.progress(f"enumeration: {name}, {first + len(chunk)} of {self.total} words")
        if keys is None:
            raise ValueError("there are no words")
        words, found = again
        self._check_same(x, words, found, keys[words], "among other words")
        return keys

    def words_of(self, x: Any, wanted: Sequence[Any]) -> list[int]:
        """The first word that leads to each of these keys, all of them outputs of x."""
        sought = np.sort(np.array(wanted))
        found = np.full(len(sought), -1, dtype=np.int64)
        for first, chunk in self._chunks(x):
            places = np.minimum(np.searchsorted(sought, chunk), len(sought) - 1)
            hits = np.flatnonzero(sought[places] == chunk)[::-1]  # in reverse: the first is written last
            new = np.full(len(sought), -1, dtype=np.int64)
            new[places[hits]] = hits + first
            found = np.where(found < 0, new, found)
            if (found >= 0).all():
                break
        return [int(found[np.searchsorted(sought, key)]) for key in wanted]

    def digits(self, words: np.ndarray) -> list[np.ndarray]:
        """The word of each uniform."""
        shifts = [self.grid.bits * place for place in reversed(range(self.uniforms))]
        return [words >> shift & (self.grid.size - 1) for shift in shifts]

    def uniform_of(self, word: int) -> float:
        """The uniform of a word of a one-uniform map."""
        return self.grid.uniforms(np.array([word]))[0].item()

    def _chunks(self, x: Any) -> Iterator[tuple[int, np.ndarray]]:
        for first in range(0, self.total, _CHUNK):
            words = np.arange(first, min(first + _CHUNK, self.total), dtype=np.int64)
            yield first, self._keys(x, np.resize(words, max(_FEWEST, len(words))))[: len(words)]

    def _keys(self, x: Any, words: np.ndarray) -> np.ndarray:
        where = f"sampler_map, on input {shown(x)} ({len(words)} words, {words[0]} first)"
        given = [self.grid.uniforms(digit) for digit in self.digits(words)]  # new arrays, which a map may modify
        try:
            with np.errstate(all="ignore"):  # the grid has points such as u = 0, with ln 0
                raw = self.sampler_map(x, *given)
        except (Exception, SystemExit) as error:  # a user's map may raise anything, and must not end ours
            raise ProgramError(f"{where}: {type(error).__name__}: {error}") from error
        try:
            return self.keys.read(raw, len(words))
        except ValueError as error:
            raise ProgramError(f"{where}: {error}") from None

    def _again(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Random words in random order, and the keys of their outputs, on which two calls must agree."""
        words = np.random.default_rng(self.seed).integers(0, self.total, CHECKED)
        words[-2:] = 0, self.total - 1
        found = self._keys(x, words)
        self._check_same(x, words, found, self._keys(x, words), "in a second call")
        return words, found

    def _check_same(self, x: Any, words: np.ndarray, found: np.ndarray, other: np.ndarray, where: str) -> None:
        place = same(found, other)
        if place is not None:
            first, second = (output_text(self.keys.output(keys[place])) for keys in (found, other))
            raise ProgramError(
                f"sampler_map must be a function of x and u alone, but on input {shown(x)} word {words[place]} "
                f"gives {first}, and {second} {where}"
            )


@dataclass(frozen=True)
class OneUniform:
    """y = sampler_map(x, u) as a function of the word of u; `falling` if it decreases in u."""

    sampler_map: SamplerMap
    x: Any
    grid: Grid
    reader: OutputKeys
    falling: bool = False

    @property
    def size(self) -> int:
        """The number of words, at most 2**64."""
        return self.grid.size

    def keys(self, words: np.ndarray) -> np.ndarray:
        """words: uint64, shape (m,).   returns: the keys of the outputs, shape (m,)."""
        return _in_chunks(self._keys, words)

    def numbers(self, words: np.ndarray) -> np.ndarray:
        """The outputs, shape (m,). Raises ValueError unless they are numbers."""
        return _in_chunks(self._numbers, words)

    def at_ranks(self, ranks: np.ndarray) -> np.ndarray:
        """The outputs by rank, ascending."""
        return self.numbers(self.words(ranks))

    def words(self, ranks: np.ndarray) -> np.ndarray:
        """The words of these ranks: uint64."""
        return np.uint64(self.size - 1) - ranks if self.falling else ranks

    def uniform(self, word: int) -> Any:
        """The uniform of a word, a plain number."""
        return self.grid.uniforms(np.array([word], dtype=np.uint64)).tolist()[0]

    def _keys(self, words: np.ndarray) -> np.ndarray:
        return self._read(self._called(words), max(_FEWEST, len(words)), words)[: len(words)]

    def _numbers(self, words: np.ndarray) -> np.ndarray:
        raw = self._called(words)
        found = as_numpy(raw) if is_tensor(raw) else np.asarray(raw)
        asked = max(_FEWEST, len(words))
        if found.shape == (asked,):
            self._read(raw[:1], 1, words)  # only to determine its kind
        else:
            self._read(raw, asked, words)
        kind = self.reader.kind
        if not self.reader.ordered or kind is None:
            got = "nothing" if kind is None else kind.describe()
            raise ValueError(
                f"monotone=True needs single numbers where outputs are many, got {got} on input {shown(self.x)}"
            )
        found = found[: len(words)]
        if found.dtype.kind == "f" and np.isnan(found).any():
            word = int(words[int(np.argmax(np.isnan(found)))])
            raise ValueError(
                f"monotone=True needs outputs with an order, got NaN on input {shown(self.x)}, word {word}"
            )
        return found

    def _called(self, words: np.ndarray) -> Any:
        given = self.grid.uniforms(np.resize(words, max(_FEWEST, len(words))))  # a new array, which a map may modify
        try:
            with np.errstate(all="ignore"):  # the grid has points such as u = 0, with ln 0
                return self.sampler_map(self.x, given)
        except (Exception, SystemExit) as error:  # a user's map may raise anything, and must not end ours
            raise ProgramError(f"{self._where(words)}: {type(error).__name__}: {error}") from error

    def _read(self, raw: Any, count: int, words: np.ndarray) -> np.ndarray:
        try:
            return self.reader.read(raw, count)
        except ValueError as error:
            raise ProgramError(f"{self._where(words)}: {error}") from None

    def _where(self, words: np.ndarray) -> str:
        return f"sampler_map, on input {shown(self.x)} (words {words[0]} .. {words[-1]})"


def random_words(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Uniform words 0 .. size - 1: uint64, shape (count,)."""
    return rng.integers(0, size - 1, count, dtype=np.uint64, endpoint=True)


def with_direction(one: OneUniform, words: np.ndarray) -> tuple[OneUniform, float]:
    """The map with its direction, and the largest step back between neighbours.

    words: to evaluate, uint64, shape (m,); first and last word, and the successor of each, are added.
    Raises ValueError with two words whose outputs are out of order.
    """
    last = np.uint64(one.size - 1)
    after = np.minimum(words, last - np.uint64(1)) + np.uint64(1)
    places = np.unique(np.concatenate([np.array([0, last], dtype=np.uint64), words, after]))
    outputs = one.numbers(places)
    found = replace(one, falling=bool(outputs[-1] < outputs[0]))
    if found.falling:
        places, outputs = places[::-1], outputs[::-1]
    return found, step_back(found, places, outputs, unit_of(outputs))


def unit_of(outputs: np.ndarray) -> float:
    """The largest tolerated step back: some units in the last place of the typical output; 0 for whole numbers."""
    if outputs.dtype.kind != "f":
        return 0.0
    sizes = np.abs(outputs[np.isfinite(outputs)])
    return _LAST_PLACES * float(np.spacing(np.median(sizes))) if len(sizes) else 0.0


def step_back(one: OneUniform, words: np.ndarray, outputs: np.ndarray, allowed: float) -> float:
    """The largest step back between outputs that should ascend along the last axis; ValueError if above `allowed`."""
    before, after = outputs[..., :-1], outputs[..., 1:]
    wrong = after < before
    if not wrong.any():
        return 0.0
    first, second = before[wrong].astype(np.float64), after[wrong].astype(np.float64)
    bounds = np.zeros(len(first))
    if outputs.dtype.kind == "f":
        sizes = np.maximum(np.abs(before[wrong]), np.abs(after[wrong]))
        bounds = np.maximum(allowed, _LAST_PLACES * np.spacing(sizes).astype(np.float64))
    far = ~(first - second <= bounds)
    if far.any():
        place = int(np.argmax(far))
        raise out_of_order(one, int(words[..., :-1][wrong][place]), int(words[..., 1:][wrong][place]))
    return float((first - second).max())


def out_of_order(one: OneUniform, first: int, second: int) -> ValueError:
    """The error message for two words."""
    words = sorted((first, second))
    outputs = [shown(one.reader.output(key)) for key in one.keys(np.array(words, dtype=np.uint64))]
    return ValueError(
        f"monotone=True, but sampler_map is not monotone on input {shown(one.x)}: "
        f"word {words[0]} gives {outputs[0]}, word {words[1]} gives {outputs[1]}"
    )


def _in_chunks(read: Callable[[np.ndarray], np.ndarray], words: np.ndarray) -> np.ndarray:
    if not len(words):
        return read(np.zeros(1, dtype=np.uint64))[:0]
    parts = [read(words[first : first + _CHUNK]) for first in range(0, len(words), _CHUNK)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
