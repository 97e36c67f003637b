"""A program (x, n, rng) -> n outputs as a deterministic map of the random words that it draws.

The program is called for one output, then for several, with generators that record its draws. If a call for n outputs
draws n times as much as a call for one, many outputs are replayed in one call, each from its own words; some are
compared with calls for one, bit by bit. Otherwise every output is replayed by a call for one.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Self

import numpy as np

from ldp_audit.auditing.adapters import AdaptedSampler
from ldp_audit.auditing.adapters.adapted_sampler import seeded_globals
from ldp_audit.auditing.adapters.arrays import as_numpy, is_tensor
from ldp_audit.auditing.adapters.sampler import ProgramError, Sampler
from ldp_audit.auditing.program import CHUNK_ROWS
from ldp_audit.auditing.result import shown
from ldp_audit.implementations.enumerate_map import MOST_ENUMERATED
from ldp_audit.implementations.evaluation import unit_of
from ldp_audit.implementations.fake_generator import Draw, FakeGenerator, NotEnumerable, Tape, described
from ldp_audit.implementations.output_keys import OutputKeys, array_of_numbers, check_plain, objects, same
from ldp_audit.implementations.outside_randomness import OutsideRandomness
from ldp_audit.numerics import whole

TRACES = 20  # calls for one output, with independent words, that must all make the same draws
ROWS = 4096  # outputs of the large call, compared with calls for one
COMPARED = 64
_FEW = (2, 7, 50)  # outputs of further calls, compared with the large call
_SINGLE: tuple[Layout, bool] = ("single", True)
_TWISTER = 624  # 32-bit words that an adapter draws to seed a library's generator
Layout = Literal["rows", "columns", "calls", "single"]
"""The words of n outputs in one call: the draws have n rows, or n columns, for one in a call for one output; the call
repeats n times the draws of a call for one; or neither, and every call is for one output.
"""


@dataclass(frozen=True)
class ProgramMap:
    """A program as a map of words; called as (x, u1, ..., uk) for arrays of m uniforms, as by `implementation`.

    draws: of one output, in order.   most: number of upper bits of a word that are replayed; the others are 0.
    on_tape: whether the program receives the recorded generator, not one that it seeds others from.
    alike: whether calls for many outputs agreed, bit by bit, with calls for one.
    signed: whether words of 64 bits count from -2**63, for programs that read them as signed numbers.
    """

    sampler: Sampler
    draws: tuple[Draw, ...]
    layout: Layout
    most: int = 64
    on_tape: bool = True
    alike: bool = True
    signed: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """The bits of each word of an output."""
        return tuple(draw.bits for draw in self.draws for _ in range(draw.size))

    @property
    def kept(self) -> tuple[int, ...]:
        """The bits of each word that are replayed; an output without draws gets one bit, which it ignores."""
        return tuple(min(width, self.most) for width in self.widths) or (1,)

    @property
    def bits(self) -> int:
        """Bits of each uniform. Words of several lengths are concatenated to one, if that can be enumerated."""
        return sum(self.kept) if self._in_one else max(self.kept)

    @property
    def uniforms(self) -> int:
        """The number of uniforms of the map. If they are longer than a word, the word is their upper bits."""
        return 1 if self._in_one else len(self.kept)

    @property
    def words(self) -> bool:
        """Whether the map takes integers."""
        whole = any(draw.name.startswith(("integers", "bytes", "torch.randint")) for draw in self.draws)
        return whole or len(set(self.kept)) > 1 or not self.draws

    @property
    def batched(self) -> bool:
        """Whether one call gives many outputs without a loop."""
        return self.layout in ("rows", "columns")

    def describe(self) -> str:
        """The draws of one output, in words."""
        names = ", ".join(draw.name if draw.size == 1 else described(draw) for draw in self.draws) or "nothing"
        return f"each output draws {names}"

    def __call__(self, x: Any, *uniforms: Any) -> Any:
        """m outputs on input x, for arrays of m uniforms, or of m words."""
        columns = self._columns([np.asarray(one) for one in uniforms])
        with Playback(self.sampler, seed=0, on_tape=self.on_tape) as calls:
            pieces = [
                calls.play(x, self.draws, columns[first : first + CHUNK_ROWS], self.layout)
                for first in range(0, len(columns), CHUNK_ROWS)
            ]
        return joined(pieces)

    def ignores_lower_bits(self, x: Any, seed: int) -> bool:
        """Whether the omitted lower bits, drawn at random, change no output in a sample of words."""
        whole = _random_columns(np.random.default_rng(seed), self.draws, COMPARED)
        dropped = np.array(self.widths, dtype=np.uint64) - np.array(self.kept, dtype=np.uint64)
        with Playback(self.sampler, seed, on_tape=self.on_tape) as calls:
            kept = calls.play(x, self.draws, whole >> dropped << dropped, "single")
            return not differ(kept, calls.play(x, self.draws, whole, "single"), COMPARED)

    @property
    def _in_one(self) -> bool:
        return len(set(self.kept)) > 1 and sum(self.kept) <= MOST_ENUMERATED

    def _columns(self, uniforms: Sequence[np.ndarray]) -> np.ndarray:
        """The words of each draw, uint64, shape (m, words of an output)."""
        columns = np.zeros((len(uniforms[0]), len(self.widths)), dtype=np.uint64)
        given = [
            one.astype("u8") if self.words else (one.astype("f8") * 2.0**self.bits).astype("u8") for one in uniforms
        ]
        parts = _parts(given[0], self.kept) if self._in_one else given
        lengths = self.kept if self._in_one else [self.bits] * len(self.kept)
        for place, (width, kept) in enumerate(zip(self.widths, self.kept, strict=bool(self.draws))):
            columns[:, place] = parts[place] >> np.uint64(lengths[place] - kept) << np.uint64(width - kept)
        if self.signed:
            columns[:, np.array(self.widths) == 64] ^= np.uint64(2**63)
        return columns


def map_of(sampler: Sampler, inputs: Sequence[Any], *, bits: int | None = None, seed: int = 0) -> ProgramMap:
    """The program as a map, from its calls on these inputs.

    bits: of each word, where fewer are to be replayed than the generator gives.
    Raises NotEnumerable, with the reason, where its draws cannot be replayed, and ProgramError where it fails.
    """
    if bits is not None:
        whole(bits, "bits", 1, 64)
    draws, on_tape = _draws_of_one(sampler, inputs, seed)
    layouts = {_layout(sampler, x, draws, seed, on_tape=on_tape) for x in inputs}
    layout, alike = layouts.pop() if len(layouts) == 1 else _SINGLE
    return ProgramMap(sampler, draws, layout, 64 if bits is None else int(bits), on_tape, alike)


def _draws_of_one(sampler: Sampler, inputs: Sequence[Any], seed: int) -> tuple[tuple[Draw, ...], bool]:
    """The draws of a call for one output, equal on all inputs and words; and whether they are from our generator."""
    with suppress(NotEnumerable):  # a first call, which may import torch or fill a cache
        _recorded_draws(sampler, inputs[0], seed, on_tape=True)
    draws, on_tape = _recorded_draws(sampler, inputs[0], seed, on_tape=True), True
    if isinstance(sampler, AdaptedSampler) and any(_seeds_a_twister(draw) for draw in draws):
        if not all(_seeds_a_twister(draw) or draw.name.startswith("torch.") for draw in draws):
            raise NotEnumerable("it draws from its generator and from others that are seeded from it")
        draws, on_tape = _recorded_draws(sampler, inputs[0], seed, on_tape=False), False
    if not draws:
        raise NotEnumerable("it draws nothing that can be played back: randomness of its own would not be seen")
    for x in inputs:
        starts: set[bytes] = set()
        for trial in range(seed, seed + TRACES):
            with Playback(sampler, trial, on_tape=on_tape) as fresh:
                tape, outputs = fresh.record(x, 1)
                if fresh.torch_starts:
                    fresh.record(x, 1)  # refused if it starts from the same state again
            if starts & fresh.torch_starts:
                raise NotEnumerable("it seeds torch's generator itself, so that its draws repeat")
            starts |= fresh.torch_starts
            if tape.draws != draws:
                raise NotEnumerable(
                    f"how much it draws varies: {_listed(draws)} in one call, {_listed(tape.draws)} in another"
                )
            columns = np.concatenate([*tape.words, np.zeros(0, dtype=np.uint64)])[None]
            with Playback(sampler, trial + TRACES, on_tape=on_tape) as other:
                again = other.play(x, draws, columns, "single")
            if differ(outputs, again, 1):
                raise NotEnumerable("its outputs vary where its draws do not: it has randomness of its own")
            _check_faithful(sampler, x, outputs, trial, on_tape=on_tape)
    return tuple(draws), on_tape


def _seeds_a_twister(draw: Draw) -> bool:
    return draw.name == "integers(2**32)" and draw.size == _TWISTER


def _recorded_draws(sampler: Sampler, x: Any, seed: int, *, on_tape: bool) -> list[Draw]:
    with Playback(sampler, seed, on_tape=on_tape, free=True) as fresh:
        return fresh.record(x, 1)[0].draws


def _check_faithful(sampler: Sampler, x: Any, outputs: Any, seed: int, *, on_tape: bool) -> None:
    """Plain generators of the same seed, numpy's and torch's, must give the outputs of the recorded ones."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"), seeded_globals(rng):
        plain = guarded(sampler, x, 1, np.random.Generator(np.random.PCG64(seed)) if on_tape else rng)
    if differ(outputs, plain, 1):
        raise NotEnumerable("it gives other outputs with a generator that is recorded than with a plain one")


def _layout(sampler: Sampler, x: Any, draws: tuple[Draw, ...], seed: int, *, on_tape: bool) -> tuple[Layout, bool]:
    """The layout of words in calls for many outputs, and whether these agree, bit by bit, with calls for one."""
    with Playback(sampler, seed, on_tape=on_tape) as calls:
        try:
            few = calls.record(x, 5)[0].draws
        except NotEnumerable:
            return _SINGLE
        if few == list(draws) * 5:
            candidates: tuple[Layout, ...] = ("calls",)
        elif [(one.name, one.size) for one in few] == [(one.name, 5 * one.size) for one in draws]:
            candidates = ("rows", "columns")
        else:
            return _SINGLE
        columns = _random_columns(np.random.default_rng(seed), draws, COMPARED if "calls" in candidates else ROWS)
        single = calls.play(x, draws, columns[:COMPARED], "single")
        in_order: list[Layout] = []
        for layout in candidates:
            try:
                if layout != "calls":
                    calls.record(x, ROWS)  # compares long draws with the libraries' own values too
                many = calls.play(x, draws, columns, layout)
                backwards = calls.play(x, draws, np.ascontiguousarray(columns[::-1]), layout)
            except NotEnumerable:
                continue
            if _few_differ(calls, x, draws, columns, layout, many):
                continue
            if not differ(single, many[:COMPARED], COMPARED):
                return layout, True
            if not differ(many, backwards[::-1], len(columns)) and _round_otherwise(single, many[:COMPARED]):
                in_order.append(layout)
    return (in_order[0], False) if len(in_order) == 1 or (in_order and _one_word(draws)) else _SINGLE


def _few_differ(
    calls: Playback, x: Any, draws: tuple[Draw, ...], columns: np.ndarray, layout: Layout, many: Any
) -> bool:
    """Whether calls for a few outputs differ from the call for many by more than rounding."""
    for n in _FEW:
        few = calls.play(x, draws, columns[:n], layout)
        if differ(few, many[:n], n) and not _round_otherwise(few, many[:n]):
            return True
    return False


def _round_otherwise(first: Any, second: Any) -> bool:
    """Whether outputs are single floats that differ by at most a few units in the last place of the typical one."""
    one, other = (as_numpy(side) if is_tensor(side) else np.asarray(side) for side in (first, second))
    if one.ndim != 1 or one.shape != other.shape or one.dtype != other.dtype or one.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        single = one.astype(np.float32), other.astype(np.float32)  # a tensor's are given as float64
        if np.array_equal(single[0], one, equal_nan=True) and np.array_equal(single[1], other, equal_nan=True):
            one, other = single
        near = np.abs(one - other) <= unit_of(other)
    return bool(np.all(near | (one == other) | (np.isnan(one) & np.isnan(other))))


def _one_word(draws: Sequence[Draw]) -> bool:
    return all(draw.size == 1 for draw in draws)


def _random_columns(rng: np.random.Generator, draws: Sequence[Draw], m: int) -> np.ndarray:
    """Random words, uint64, shape (m, words of an output)."""
    widths = [draw.bits for draw in draws for _ in range(draw.size)]
    columns = rng.integers(0, 2**64, size=(m, len(widths)), dtype=np.uint64)
    return columns >> np.array([64 - width for width in widths], dtype=np.uint64)


def _parts(word: np.ndarray, widths: Sequence[int]) -> list[np.ndarray]:
    """The words that are concatenated in one long word, the first the highest."""
    shifts = [sum(widths[place + 1 :]) for place in range(len(widths))]
    return [word >> np.uint64(shift) & np.uint64(2**width - 1) for shift, width in zip(shifts, widths, strict=True)]


def _listed(draws: Sequence[Draw]) -> str:
    named = [described(draw) for draw in draws[:4]] + (["..."] if len(draws) > 4 else [])
    return ", ".join(named) or "nothing"


class Playback:
    """A context in which a program is called with substitute generators.

    seed: of random words, and of all other randomness: the libraries' shared generators, and the generator that the
        program receives where it is not `on_tape`, for adapters that seed others from it.
    free: whether the program may seed torch's generators, as adapters do; None: where it is not `on_tape`.
    """

    def __init__(self, sampler: Sampler, seed: int, *, on_tape: bool = True, free: bool | None = None) -> None:
        self.sampler, self.on_tape = sampler, on_tape
        self._free = not on_tape if free is None else free
        self._plain = np.random.default_rng(seed)
        self._fake = FakeGenerator(Tape(), seed)
        self._torch: Any = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(np.errstate(all="ignore"))  # the grid has points such as u = 0, with ln 0
            stack.enter_context(seeded_globals(self._plain))
            if "torch" in sys.modules:
                from ldp_audit.implementations.fake_torch import FakeTorch

                self._torch = stack.enter_context(FakeTorch(Tape()))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *details: Any) -> None:
        self._stack.__exit__(*details)

    def record(self, x: Any, n: int) -> tuple[Tape, Any]:
        """A call for n outputs with random words: its draws, and its outputs."""
        tape = Tape()
        with OutsideRandomness() as outside:
            outputs = self._called(x, n, tape)
        _check_unseen(outside)
        return tape, outputs

    def play(self, x: Any, draws: Sequence[Draw], columns: np.ndarray, layout: Layout) -> Any:
        """The outputs of these words.   columns: uint64, shape (m, words of an output).   draws: of a call for one."""
        with OutsideRandomness(on_torch=True) as outside:  # a replay must not change the state of any generator
            if layout != "single":
                outputs = self._called(x, len(columns), Tape(list(_script(draws, columns, layout))))
            else:
                pieces = [self._called(x, 1, Tape(list(_script(draws, row[None], layout)))) for row in columns]
                outputs = joined(pieces)
        _check_unseen(outside)
        return outputs

    @property
    def torch_starts(self) -> set[bytes]:
        """The states of torch's generators from which recorded calls drew first."""
        return set() if self._torch is None else self._torch.starts

    def _called(self, x: Any, n: int, tape: Tape) -> Any:
        self._fake.use(tape)
        if self._torch is not None:
            self._torch.use(tape, free=self._free)
        try:
            outputs = guarded(self.sampler, x, n, self._fake if self.on_tape else self._plain)
        except (NotEnumerable, ProgramError):
            if tape.refusal is not None:  # takes precedence over the program's reaction to it
                raise NotEnumerable(tape.refusal) from None
            raise
        tape.finish()
        if not self._fake.untouched:
            raise NotEnumerable("it draws from its generator by a way around the generator's methods")
        return outputs


def _check_unseen(outside: OutsideRandomness) -> None:
    if outside.seen is not None:
        raise NotEnumerable(outside.seen)


def guarded(sampler: Sampler, x: Any, n: int, rng: np.random.Generator) -> Any:
    """n outputs of the program, as an array or a tensor. Raises ProgramError for any error of the program."""
    try:
        raw = sampler(copy.deepcopy(x), n, rng)
        return _as_array(list(islice(raw, n + 1)) if isinstance(raw, Iterator) else raw)
    except NotEnumerable:
        raise
    except (Exception, SystemExit) as error:  # a user's program may raise anything, and must not end ours
        where = f"the sampler, on input {shown(x)} (n = {n})"
        raise ProgramError(f"{where}: it raised {type(error).__name__}: {error}") from error


def joined(pieces: Sequence[Any]) -> Any:
    """The outputs of several calls, concatenated; objects where dtypes differ."""
    if all(type(piece).__module__.partition(".")[0] == "torch" for piece in pieces):
        return sys.modules["torch"].cat(list(pieces))
    arrays = [np.asarray(piece) for piece in pieces]
    if len({array.dtype for array in arrays}) > 1:
        return objects([value for array in arrays for value in (array.tolist() if _as_python(array) else array)])
    return np.concatenate(arrays)


def _as_python(array: np.ndarray) -> bool:
    """Whether the array was read from a list of Python numbers or objects."""
    return array.ndim == 1 and array.dtype.name in ("bool", "int64", "float64", "object")


def differ(first: Any, second: Any, n: int) -> bool:
    """Whether any of n outputs differs in its bits. Raises ProgramError where they cannot be read as n outputs."""
    reader = OutputKeys()
    try:
        keys = reader.read(first, n)
    except ValueError as error:
        raise ProgramError(f"the sampler: {error}") from None
    try:
        return same(keys, reader.read(second, n)) is not None
    except ValueError:  # outputs of different kinds
        return True


def _script(draws: Sequence[Draw], columns: np.ndarray, layout: Layout) -> Iterator[tuple[Draw, np.ndarray]]:
    m, ends = len(columns), np.cumsum([draw.size for draw in draws])
    if layout in ("calls", "single"):
        for row in columns:
            for draw, end in zip(draws, ends, strict=True):
                yield draw, row[end - draw.size : end]
        return
    for draw, end in zip(draws, ends, strict=True):
        shape = draw.shape or (1,)
        own = columns[:, end - draw.size : end].reshape(m, *shape)
        if layout == "rows":
            many = (m * shape[0], *shape[1:])
        else:
            own, many = np.moveaxis(own, 0, -1), (*shape[:-1], shape[-1] * m)
        yield Draw(draw.name, draw.bits, many), np.ascontiguousarray(own).ravel()


def _as_array(raw: Any) -> Any:
    """Lists of numbers of one type as an array, other lists as objects; copies, as a program may reuse its buffers."""
    if isinstance(raw, np.ndarray):
        check_plain(raw)
    if isinstance(raw, list | tuple):
        array = array_of_numbers(raw)
        raw = objects(raw) if array is None else array
    return raw.detach().clone() if is_tensor(raw) else copy.deepcopy(raw)
