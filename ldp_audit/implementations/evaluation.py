"""A deterministic map run over every word of its uniforms, in chunks, and what makes it unfit to be counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldp_audit.auditing.program import ProgramError
from ldp_audit.auditing.result import shown
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import output_text
from ldp_audit.implementations.output_keys import OutputKeys, same

SamplerMap = Callable[..., Any]
"""(x, u) -> y, or (x, u1, ..., uk) -> y: one input, arrays of m uniforms, m outputs; the same every time."""

_CHUNK = 2**15  # words of a call: arrays that stay in a processor's cache, and that torch does not split among threads
_FEWEST = 1024  # words of a call at least: short arrays may go through other code, which rounds differently
CHECKED = 1024
"""Words of each input that are evaluated again, in one batch, and in the order of all."""
_SECONDS = 1.0  # between two messages of progress


@dataclass
class Evaluation:
    """A map on all words 0 .. total - 1; several uniforms' words are the digits of one, the first the highest.

    keys: reads its outputs.   seed: of the words that are evaluated again, in another batch.
    """

    sampler_map: SamplerMap
    grid: Grid
    uniforms: int = 1
    seed: int = 0
    progress: Callable[[str], None] | None = None
    keys: OutputKeys = field(default_factory=OutputKeys)

    @property
    def total(self) -> int:
        """Words of an input."""
        return 2 ** (self.grid.bits * self.uniforms)

    def all_keys(self, x: Any, name: str) -> np.ndarray:
        """The keys of all words' outputs on an input.   name: of the input, for progress.

        Raises ProgramError, a ValueError, where the map fails, or where an output depends on anything but x and u.
        """
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
        """The first word that leads to each of these keys, all of which an input reaches."""
        sought = np.sort(np.array(wanted))
        found = np.full(len(sought), -1, dtype=np.int64)
        for first, chunk in self._chunks(x):
            places = np.minimum(np.searchsorted(sought, chunk), len(sought) - 1)
            hits = np.flatnonzero(sought[places] == chunk)[::-1]  # backwards, so that the first is written last
            new = np.full(len(sought), -1, dtype=np.int64)
            new[places[hits]] = hits + first
            found = np.where(found < 0, new, found)
            if (found >= 0).all():
                break
        return [int(found[np.searchsorted(sought, key)]) for key in wanted]

    def digits(self, words: np.ndarray) -> list[np.ndarray]:
        """Each uniform's own words."""
        shifts = [self.grid.bits * place for place in reversed(range(self.uniforms))]
        return [words >> shift & (self.grid.size - 1) for shift in shifts]

    def uniform_of(self, word: int) -> float:
        """What the map is given for one uniform's word."""
        return self.grid.uniforms(np.array([word]))[0].item()

    def _chunks(self, x: Any) -> Iterator[tuple[int, np.ndarray]]:
        for first in range(0, self.total, _CHUNK):
            words = np.arange(first, min(first + _CHUNK, self.total), dtype=np.int64)
            yield first, self._keys(x, np.resize(words, max(_FEWEST, len(words))))[: len(words)]

    def _keys(self, x: Any, words: np.ndarray) -> np.ndarray:
        """The keys of one call."""
        where = f"sampler_map, on input {shown(x)} ({len(words)} words, {words[0]} first)"
        given = [self.grid.uniforms(digit) for digit in self.digits(words)]  # new arrays: a map may write into them
        try:
            with np.errstate(all="ignore"):  # the ends of the grid, such as ln 0, are part of it
                raw = self.sampler_map(x, *given)
        except (Exception, SystemExit) as error:  # a user's map may raise anything, and must not end ours
            raise ProgramError(f"{where}: {type(error).__name__}: {error}") from error
        try:
            return self.keys.read(raw, len(words))
        except ValueError as error:
            raise ProgramError(f"{where}: {error}") from None

    def _again(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Some words in no order, and the keys of their outputs, which two calls must agree on."""
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
