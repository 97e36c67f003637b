"""The program under audit: called with seeded randomness, and whatever goes wrong is named with its input and call."""

from __future__ import annotations

import copy
import math
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ldp_audit.auditing.adapters.arrays import arrayed
from ldp_audit.auditing.adapters.sampler import DeclaredSampler, ProgramError, Sampler
from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.clocks import is_clock
from ldp_audit.auditing.outputs import Outputs, concatenated, listed, of_several_lengths, read
from ldp_audit.auditing.scores.said import listed as listed_names
from ldp_audit.auditing.scores.score import MINUS_ZERO, NOT_A_NUMBER, cut
from ldp_audit.auditing.structure import LOOK_SIZE, SEED, SEED_BYTES, Structure, learned_structure
from ldp_audit.numerics import between, whole

CHUNK_VALUES = 2**20
"""A call asks for at most this many numbers, so that memory does not grow with the samples."""
CHUNK_ROWS = 2**16
"""And for at most so many outputs."""


_FEWEST_SEEDS, _LEAST_SEED = 256, 2**24
"""How many outputs show that a coordinate never recurs, and the least mean of one that is named."""
_SEED_ROWS = 1024
"""And how many show that it is not spread evenly. Each coordinate of a vector is asked, and the error of each must be
far below one in their number: of 256 normal numbers one in a thousand looks even, of 1,024 (whose distance is 7.6 with
a standard deviation of 1.0, against `_UNEVEN`) less than one in ten million."""
_MOSTLY = 0.99
"""The share of numbers that come once among those which hardly ever come twice; and of a certain event."""
_UNEVEN = 2.0
"""The Kolmogorov-Smirnov distance from even numbers, times the root of their count, that one draw in 1,500 exceeds."""

_LOOKS = 8
"""Calls of each of two inputs that look for the structure of outputs."""

SEARCH, TEST, CALLS, DEPENDENCE, FIT, CONFIRM = 0, 1, 2, 4, 5, 7
TIMING, STRUCTURE, PILOT, LOOK = 8, 9, 10, 11
"""First numbers of a call's key: the stage of an audit that it belongs to, so that no two stages draw the same outputs.

Looks are LOOK, LOOK + 1, ...; a confirmation of a confirmation's file is CONFIRM + CONFIRMED_AGAIN, and so on.
"""
CONFIRMED_AGAIN = 1000

UNSEEDED = "the program may draw randomness that the seed does not decide: the same seed may give another result"

_KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "text"}


@dataclass(slots=True)
class _Where:
    """Which call it was, for a message."""

    x: Any
    n: int
    key: tuple[int, ...]

    def __str__(self) -> str:
        return f"the sampler, on input {cut(self.x)} (call {'.'.join(map(str, self.key))}, n = {self.n})"


Call = tuple[_Where, tuple[Any, Any]]
"""A call, and what it gave: its outputs, and the state in which it left the generator."""


@dataclass
class Program:
    """A sampler and how it is called.

    timeout: seconds that one call may take; None for no limit. A call that is over it is left behind in its thread.
    structure: how outputs are taken apart into vectors; None where they are numbers, labels or vectors themselves.
    inputs: two of them, on which it is learned whether outputs that are no numbers must be taken apart; none: they are
    not.   whole_rows: whether rows are labels, as they are from the first call on that has rows of several lengths.
    looked: outputs that were drawn for that.   seconds, calls, drawn: how long how many calls took, for
    how many outputs.   slowest: seconds of the slowest, such as the first of a program that takes long to start.
    Each call gets a copy of its input, so that a program which changes it does not hand it to its next call.
    """

    sampler: Sampler
    seed: int = 0
    timeout: float | None = None
    rows: int = CHUNK_ROWS
    structure: Structure | None = None
    inputs: Sequence[Any] = ()
    whole_rows: bool = False
    looked: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    calls: int = field(default=0, init=False)
    drawn: int = field(default=0, init=False)
    slowest: float = field(default=0.0, init=False)
    _shape: str | None = field(default=None, init=False, repr=False)
    _kind: str | None = field(default=None, init=False, repr=False)
    _merged: set[str] = field(default_factory=set, init=False, repr=False)
    _rows: set[str] = field(default_factory=set, init=False, repr=False)
    _words: list[int] = field(default_factory=list, init=False, repr=False)  # of 32 bits, the seed's
    _seeds: _Seeds | None = field(default=None, init=False, repr=False)
    _kept: list[np.ndarray] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        whole(self.seed, "seed", 0)
        if self.timeout is not None:
            accepted = "a number of seconds above 0, or None for no limit"
            self.timeout = between(self.timeout, "timeout", accepted, lambda one: 0 < one <= threading.TIMEOUT_MAX)
        self.seed = int(self.seed)
        words = max(4, -(-self.seed.bit_length() // 32))
        self._words = [self.seed >> 32 * place & 0xFFFFFFFF for place in range(words)]

    def outputs(self, x: Any, n: int, key: tuple[int, ...]) -> Outputs:
        """n outputs of one call on x, from a generator that the key determines."""
        where = _Where(x, n, key)
        return self._outputs(self._called(x, n, self._generator(key), where), where)

    def _outputs(self, raw: Any, where: _Where) -> Outputs:
        n, found = where.n, None
        try:
            found = self._read(raw, n)
            if where.key[0] == FIT:
                found = _of_a_law(found)
        except Exception as error:  # what a program returned may raise anything when it is read
            if not self.inputs:
                what = (
                    str(error)
                    if isinstance(error, ValueError)
                    else f"its outputs cannot be read: {type(error).__name__}: {error}"
                )
                raise ProgramError(f"{where}: {what}{_conversion(raw)}") from error
        if found is None or (self.inputs and found.labels is not None):
            self._look(where)
            return self._outputs(raw, where)
        if n > 1 and self.inputs:  # one row alone does not show that rows have several lengths, or what grows
            if found.dimension > 1 and any(map(is_clock, found.known_numbers.T.tolist())):
                self._look(where)
                return self._outputs(raw, where)
            self.inputs = ()
        self._note_kind(raw, found, where)
        if self._seeds is None:
            self._look_for_seeds(found)
        shape = found.shape
        if self._shape is not None and shape != self._shape:
            rows = "rows of several lengths, or some of them with a text or None: pad them, or return them as text"
            hint = "" if isinstance(raw, np.ndarray) else f"; {rows}"
            raise ProgramError(f"{where}: it returned {shape} after {self._shape} in an earlier call{hint}")
        self._shape = shape
        return found

    def _look_for_seeds(self, found: Outputs) -> None:
        """Among the first outputs of all calls, in the order in which they were drawn."""
        if found.numbers is None or found.labels is not None:
            self._seeds = _seeds_aside(self.structure)
            return
        rows = found.known_numbers.reshape(len(found), -1)
        self._kept.append(rows[: _SEED_ROWS - sum(map(len, self._kept))])
        if sum(map(len, self._kept)) == _SEED_ROWS:
            self._seeds = _seed_like(np.concatenate(self._kept), self.structure)
            self._kept = []

    def _read(self, raw: Any, n: int) -> Outputs:
        if self.structure is not None:
            return read(self.structure.of(listed(raw, n)), n)
        if not self.whole_rows and of_several_lengths(raw):
            self.whole_rows, self._shape = True, None  # which one row, read as a vector, may have had
        return read(raw, n, whole_rows=self.whole_rows)

    def coin(self, key: tuple[int, ...]) -> bool:
        """A fair coin that the seed and the key determine."""
        return bool(self._generator((*key, 2**31)).integers(2))

    def shuffled(self, places: Sequence[int], key: tuple[int, ...]) -> list[int]:
        """The places in a random order that the seed and the key determine."""
        return self._generator((*key, 2**31)).permutation(places).tolist()

    def _generator(self, key: tuple[int, ...]) -> np.random.Generator:
        """That of SeedSequence(seed, spawn_key=key), whose words are given as an array: a third of the time."""
        return np.random.default_rng(np.random.SeedSequence(np.array([*self._words, *key], dtype=np.uint32)))

    def _note_kind(self, raw: Any, found: Outputs, where: _Where) -> None:
        """Refuse text after numbers: numpy makes text of the numbers beside it, so that a batch would decide it.

        Refuse also True, [1] and 1 beside each other in lists, which are read as one number and may be sent as three.
        The type of a whole array is no part of an output; and a fit is to a law of numbers, of which True is 1.
        """
        kind = _KINDS.get(raw.dtype.kind) if isinstance(raw, np.ndarray) else None
        if kind is not None and self._kind not in (None, kind):
            raise ProgramError(
                f"{where}: it returned an array of {kind} after one of {self._kind} in an earlier call; numpy turns "
                "numbers beside text into text: return a list, or an array of dtype object"
            )
        self._kind = kind or self._kind
        listed_one_by_one = isinstance(raw, list | tuple) or (isinstance(raw, np.ndarray) and raw.dtype.kind == "O")
        if listed_one_by_one and self.structure is None and where.key[0] != FIT:
            self._merged |= {_number_kind(y) for y in raw} - {""}
            self._rows |= {_row_kind(y) for y in raw} - {""} if found.dimension > 1 else set()
            if max(len(self._merged), len(self._rows)) > 1:
                kinds = " and ".join(sorted(max(self._merged, self._rows, key=len)))
                raise ProgramError(
                    f"{where}: it returned {kinds}; as numbers they would be one, and whoever receives them may tell "
                    "them apart: return one kind, such as int(y)"
                )

    def many(self, x: Any, n: int, key: tuple[int, ...]) -> Outputs:
        """n outputs, by as many calls as it takes: call i has the key (*key, i)."""
        calls = [min(self.rows, n - first) for first in range(0, n, self.rows)]
        return concatenated(self.outputs(x, size, (*key, place)) for place, size in enumerate(calls))

    def _look(self, where: _Where) -> None:
        """Outputs on the first two inputs: must they be taken apart?"""
        looks: list[Any] = []
        inputs, self.inputs, self._shape, self._kept = self.inputs[:2], (), None, []
        for part in range(_LOOKS):  # in turns, so that no value which depends on the input only grows
            for place in (0, 1) if part % 2 == 0 else (1, 0):
                look = _Where(inputs[place], LOOK_SIZE // _LOOKS, (STRUCTURE, place, part))
                raw = self._called(look.x, look.n, self._generator(look.key), look)
                self.looked += look.n
                if isinstance(raw, Iterable) and not isinstance(raw, str | bytes | Mapping):
                    looks += list(raw)
        self.whole_rows = of_several_lengths(looks)
        try:
            self.structure = learned_structure(looks, comparable=_comparable(looks))
        except ValueError as error:
            raise ProgramError(f"{where}: {error}") from None
        except Exception as error:  # what a program returned may raise anything when it is read
            raise ProgramError(f"{where}: its outputs cannot be read: {type(error).__name__}: {error}") from error

    def notes(self) -> tuple[str, ...]:
        """What a result must say about how outputs were drawn and read."""
        drawn = isinstance(self.sampler, DeclaredSampler) and not self.sampler.repeatable
        structure = () if self.structure is None else (self.structure.describe(),)
        hashed = (_hashed(self._seeds.named),) if self._seeds is not None and self._seeds.named else ()
        return (*((UNSEEDED,) if drawn else ()), *structure, *hashed)

    def untested(self, tested: Sequence[Counts]) -> str | None:
        """What these counts do not show, if anything: what was set aside, or a hash of which the outputs have the seed.

        tested: how often each event was seen in the test.
        """
        aside = () if self.structure is None else self.structure.aside
        if aside and all(one.hits == one.trials and one.other_hits == one.other_trials for one in tested):
            return f"nothing else in the outputs differs, and nothing was tested about what was set aside: {aside[0]}"
        if self._seeds is None:
            return None
        names = self._seeds.hiding or (self._seeds.even if all(map(_alike, tested)) else ())
        return _hashed(names) if names else None

    def learn_dimension(self, x: Any, key: tuple[int, ...]) -> int:
        """How many coordinates an output has, from a call for one output on x; sets `rows` by it."""
        dimension = self.outputs(x, 1, key).dimension
        self.fit_rows(dimension)
        return dimension

    def fit_rows(self, dimension: int) -> None:
        """Ask for fewer outputs a call where each is a long vector."""
        self.rows = max(1, min(self.rows, CHUNK_VALUES // dimension))

    def of(self, sampler: Sampler) -> Program:
        """Another sampler, not called yet, in the place of this one."""
        return replace(self, sampler=sampler, inputs=())

    def timed(self, x: Any, n: int, key: tuple[int, ...]) -> float:
        """Seconds that a call takes; what it gives is not looked at."""
        before = self.seconds
        self._called(x, n, self._generator(key), _Where(x, n, key))
        return self.seconds - before

    def recorded(self, x: Any, n: int, key: tuple[int, ...]) -> Call:
        """What a call gives."""
        where, rng = _Where(x, n, key), self._generator(key)
        return where, _fingerprint(self._called(x, n, rng, where), rng)

    def repeats(self, call: Call | None) -> bool:
        """Whether the call, made now, gives the same outputs.

        Not so where the generator is not used: the randomness is elsewhere, and a repetition shows nothing.
        """
        if call is None:
            return False
        where, (outputs, _) = call
        _, (again, state) = self.recorded(where.x, where.n, where.key)
        return again == outputs and state != self._generator(where.key).bit_generator.state

    def _called(self, x: Any, n: int, rng: np.random.Generator, where: _Where) -> Any:
        start = time.perf_counter()
        raw = self._answer(_unchanged(x), n, rng, where)
        took = time.perf_counter() - start
        self.seconds, self.calls, self.slowest = self.seconds + took, self.calls + 1, max(self.slowest, took)
        self.drawn += n
        return raw

    def _answer(self, x: Any, n: int, rng: np.random.Generator, where: _Where) -> Any:
        if self.timeout is None:
            return _guarded(self.sampler, x, n, rng, where)
        answer: list[Any] = []
        thread = threading.Thread(target=_into, args=(answer, self.sampler, x, n, rng, where), daemon=True)
        thread.start()
        thread.join(self.timeout)
        if not answer:
            raise ProgramError(f"{where}: no answer within {self.timeout:g} s")
        if isinstance(answer[0], ProgramError):
            raise answer[0]
        return answer[0]


def _of_a_law(found: Outputs) -> Outputs:
    """Outputs as a law has them: of one zero. Raises ValueError for NaN, which no law gives."""
    if found.numbers is None:
        return found
    missing = np.argwhere(found.numbers == NOT_A_NUMBER)
    if len(missing):
        raise ValueError(f"it returned NaN, first as output {int(missing[0, 0])} of {len(found)}")
    return replace(found, numbers=np.where(found.numbers == MINUS_ZERO, 0.0, found.numbers))


class _Seeds(NamedTuple):
    """Names of coordinates that look as ids and the seeds of hashes do.

    named: large whole numbers, none negative or twice.   hiding: those of them that are spread evenly from 0 on, as
    seeds are and noisy reports, counters and clocks are not: whatever they hide, half-lines do not show.
    even: numbers of any kind beside others, spread evenly and hardly ever twice; and bytes, never or hardly ever twice.
    """

    named: tuple[str, ...]
    hiding: tuple[str, ...]
    even: tuple[str, ...]


def _alike(counts: Counts) -> bool:
    """Whether the event tells nothing: as common on both inputs but for four standard errors, or nearly certain."""
    first, second = counts.frequencies
    share = (counts.hits + counts.other_hits) / (counts.trials + counts.other_trials)
    error = math.sqrt(share * (1 - share) * (1 / counts.trials + 1 / counts.other_trials))
    return min(first, second) >= _MOSTLY or abs(first - second) <= 4 * error


def _seeds_aside(structure: Structure | None) -> _Seeds:
    """Those that a structure has found among texts and bytes."""
    aside = () if structure is None else structure.aside
    large, some = (tuple(one.split(" (")[0] for one in aside if what in one) for what in (SEED, SEED_BYTES))
    return _Seeds(large, large, some)


def _seed_like(rows: np.ndarray, structure: Structure | None) -> _Seeds:
    """rows: of the outputs, shape (n, coordinates), in the order in which they were drawn."""
    found, one = _seeds_aside(structure), rows.shape[1] == 1
    names = ["y" if one else f"y[{place}]" for place in range(rows.shape[1])]
    few = np.sort(rows[:_FEWEST_SEEDS], axis=0)
    distinct = 1 + np.count_nonzero(few[1:] != few[:-1], axis=0)
    whole_rows = ((rows >= 0) & (rows == np.floor(rows)) & (rows <= 2.0**64)).all(axis=0)
    means = np.where(whole_rows, rows, 0.0).mean(axis=0)  # others may be infinite
    moves = (rows[1:] < rows[:-1]).any(axis=0) & (rows[1:] > rows[:-1]).any(axis=0)  # as no counter and no clock does
    seeds = np.flatnonzero(moves & (means >= _LEAST_SEED) & (distinct == len(few)))
    others = [] if one else np.flatnonzero(moves & (distinct >= _MOSTLY * len(few)))
    return _Seeds(
        (*found.named, *(names[place] for place in seeds)),
        (*found.hiding, *(names[place] for place in seeds if _even(rows[:, place], 0.0))),
        (*found.even, *(names[place] for place in others if _even(rows[:, place], float(rows[:, place].min())))),
    )


def _even(numbers: np.ndarray, start: float) -> bool:
    """Whether numbers are spread evenly from the start to the largest one."""
    places = (np.sort(numbers) - start) / (numbers.max() - start)
    apart = np.abs(places - np.arange(1, len(places) + 1) / len(places)).max()
    return bool(apart * math.sqrt(len(places)) < _UNEVEN)


def _hashed(names: tuple[str, ...]) -> str:
    return (
        f"{listed_names(names)}: values that did not recur, such as an id, or the seed of a hash. No event "
        "that was tried looks at digits, or computes a hash: leave an id out; if the output is (h, seed) with h from "
        "hash(x, seed), return instead of it, for each input v, whether hash(v, seed) is h"
    )


def _conversion(raw: Any) -> str:
    """What was returned, for a message: its type, its first output, and the line that would convert it; or ""."""
    array = isinstance(raw, np.ndarray)
    odd = (
        [y for y in raw if type(y).__repr__ is object.__repr__ or callable(y)] if isinstance(raw, list | tuple) else []
    )
    line = ""
    if odd:
        line = "y()" if callable(odd[0]) else "(y.a, y.b), its values"
        return f"; an output y of it is of type {_type(odd[0])}; return {line} instead"
    if array and raw.dtype.kind == "c":
        line = "np.column_stack([outputs.real, outputs.imag])"
    elif array and raw.ndim > 2:
        line = "outputs.reshape(len(outputs), -1)"
    elif array and raw.dtype.kind in "mM":
        line = 'outputs.astype("int64")'
    elif _type(raw).partition(".")[0] in ("pandas", "polars", "pyarrow"):
        line = "outputs.to_numpy()"
    elif isinstance(raw, Mapping):
        line = "list(zip(*outputs.values()))"
    elif not isinstance(raw, Iterable) or isinstance(raw, str | bytes):
        line = "a list of n outputs (or take (x) or (x, rng), and return one)"
    first = f", the first {cut(raw[0])}" if isinstance(raw, list | tuple | np.ndarray) and np.shape(raw)[:1] else ""
    return f"; it is of type {_type(raw)}{first}; return {line} instead" if line else ""


def _type(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _fingerprint(raw: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """What a call returned and where it left the generator, to be compared with those of another process, too."""
    state = rng.bit_generator.state
    if isinstance(raw, np.ndarray) and not raw.dtype.hasobject:
        return (raw.dtype.str, raw.shape, raw.tobytes()), state
    try:
        return _ADDRESS.sub("", repr(raw.tolist() if isinstance(raw, np.ndarray) else raw)), state
    except Exception:  # noqa: BLE001  (a user's object may raise anything)
        return None, state


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where an object lies, in Python's own text of it: elsewhere in each process."""


def _number_kind(output: Any) -> str:
    """Of outputs that are read as the same number, such as True, 1 and [1], which kind this is; "" for any other."""
    if isinstance(output, bool | np.bool_):
        return "truth values"
    if isinstance(output, int | float | np.number):
        return "numbers"
    row = isinstance(output, list | tuple) or (isinstance(output, np.ndarray) and output.ndim == 1)
    return "rows of one number" if row and len(output) == 1 and _number_kind(output[0]) else ""


_TRUTHS = {bool, np.bool_}


def _row_kind(row: Any) -> str:
    """Of a row of numbers, which of them are truth values; "" for an array, all of whose numbers are of a type."""
    if not isinstance(row, list | tuple):
        return ""
    if not _TRUTHS & {*map(type, row)}:  # as most rows are, without a look at each of their numbers
        return "rows of numbers"
    return f"rows with truth values at {', '.join(str(k) for k, value in enumerate(row) if type(value) in _TRUTHS)}"


def _comparable(outputs: list[Any]) -> bool:
    try:
        read(outputs, len(outputs))
    except Exception:  # noqa: BLE001  (a dictionary, say, whose text follows the order in which it was filled)
        return False
    return True


def _guarded(sampler: Sampler, x: Any, n: int, rng: np.random.Generator, where: _Where) -> Any:
    try:
        raw = sampler(x, n, rng)
        if isinstance(raw, np.ndarray) or not isinstance(raw, Iterator):
            return arrayed(raw)
        return list(islice(raw, n + 1))  # it runs as it is read
    except ProgramError as error:
        raise ProgramError(f"{where}: {error}") from error
    except (Exception, SystemExit) as error:  # a user's program may raise anything, and must not end ours
        raise ProgramError(f"{where}: it raised {type(error).__name__}: {error}") from error


def _unchanged(x: Any) -> Any:
    """A copy of an input; itself where it cannot be copied, as a lock cannot."""
    try:
        return copy.deepcopy(x)
    except Exception:  # noqa: BLE001  (a user's object may raise anything when it is copied)
        return x


def _into(answer: list[Any], sampler: Sampler, x: Any, n: int, rng: np.random.Generator, where: _Where) -> None:
    try:
        answer.append(_guarded(sampler, x, n, rng, where))
    except ProgramError as error:
        answer.append(error)
