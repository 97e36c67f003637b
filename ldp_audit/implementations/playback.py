"""Calls of a program with fakes in place of its generators, recording what is drawn or playing words back."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, Literal, Self

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import seeded_globals
from ldp_audit.auditing.program import ProgramError, Sampler
from ldp_audit.auditing.result import shown
from ldp_audit.auditing.torch_tensors import is_tensor
from ldp_audit.implementations.fake_generator import FakeGenerator
from ldp_audit.implementations.output_keys import OutputKeys, array_of_numbers, check_plain, objects, same
from ldp_audit.implementations.outside_randomness import OutsideRandomness
from ldp_audit.implementations.tape import Draw, NotEnumerable, Tape

Layout = Literal["rows", "columns", "calls", "single"]
"""How n outputs take their words from one call: the draws have n rows, or n columns, where a call for one output draws
one; the call repeats n times what a call for one does; or it does neither, and calls are for one output."""


class Playback:
    """A context in which a program is called with fakes.

    seed: of fresh words, and of whatever else is random: what libraries share, and the generator that a program is
    handed where it is not `on_tape`, for adapters that seed others from it.
    free: whether torch's generators may be seeded by the program, as adapters do; None: where it is not `on_tape`.
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
            stack.enter_context(np.errstate(all="ignore"))  # the ends of the grid, such as ln 0, are part of it
            stack.enter_context(seeded_globals(self._plain))
            if "torch" in sys.modules:
                from ldp_audit.implementations.fake_torch import FakeTorch

                self._torch = stack.enter_context(FakeTorch(Tape()))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *details: Any) -> None:
        self._stack.__exit__(*details)

    def record(self, x: Any, n: int) -> tuple[Tape, Any]:
        """A call for n outputs with fresh words: what it drew, and its outputs."""
        tape = Tape()
        with OutsideRandomness() as outside:
            outputs = self._called(x, n, tape)
        _check_unseen(outside)
        return tape, outputs

    def play(self, x: Any, draws: Sequence[Draw], columns: np.ndarray, layout: Layout) -> Any:
        """The outputs of these words.   columns: uint64, shape (m, words of an output).   draws: of a call for one."""
        with OutsideRandomness(on_torch=True) as outside:  # what is played back moves no generator at all
            if layout != "single":
                outputs = self._called(x, len(columns), Tape(list(_script(draws, columns, layout))))
            else:
                pieces = [self._called(x, 1, Tape(list(_script(draws, row[None], layout)))) for row in columns]
                outputs = joined(pieces)
        _check_unseen(outside)
        return outputs

    @property
    def torch_starts(self) -> set[bytes]:
        """The states of torch's generators that recorded calls drew from first."""
        return set() if self._torch is None else self._torch.starts

    def _called(self, x: Any, n: int, tape: Tape) -> Any:
        self._fake.use(tape)
        if self._torch is not None:
            self._torch.use(tape, free=self._free)
        try:
            outputs = guarded(self.sampler, x, n, self._fake if self.on_tape else self._plain)
        except (NotEnumerable, ProgramError):
            if tape.refusal is not None:  # it goes before what the program made of it
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
    """n outputs of the program, as an array or a tensor. Raises ProgramError for whatever it raises."""
    try:
        raw = sampler(copy.deepcopy(x), n, rng)
        return _as_array(list(islice(raw, n + 1)) if isinstance(raw, Iterator) else raw)
    except NotEnumerable:
        raise
    except (Exception, SystemExit) as error:  # a user's program may raise anything, and must not end ours
        where = f"the sampler, on input {shown(x)} (n = {n})"
        raise ProgramError(f"{where}: it raised {type(error).__name__}: {error}") from error


def joined(pieces: Sequence[Any]) -> Any:
    """Outputs of several calls in a row; objects where they are not all of one dtype."""
    if all(type(piece).__module__.partition(".")[0] == "torch" for piece in pieces):
        return sys.modules["torch"].cat(list(pieces))
    arrays = [np.asarray(piece) for piece in pieces]
    if len({array.dtype for array in arrays}) > 1:
        return objects([value for array in arrays for value in (array.tolist() if _as_python(array) else array)])
    return np.concatenate(arrays)


def _as_python(array: np.ndarray) -> bool:
    """Whether its members are what a list of Python's numbers, or of objects, was read as."""
    return array.ndim == 1 and array.dtype.name in ("bool", "int64", "float64", "object")


def differ(first: Any, second: Any, n: int) -> bool:
    """Whether any of n outputs differs, by its bits. Raises ProgramError for what cannot be read as n outputs."""
    reader = OutputKeys()
    try:
        keys = reader.read(first, n)
    except ValueError as error:
        raise ProgramError(f"the sampler: {error}") from None
    try:
        return same(keys, reader.read(second, n)) is not None
    except ValueError:  # outputs of another kind
        return True


def _script(draws: Sequence[Draw], columns: np.ndarray, layout: Layout) -> Iterator[tuple[Draw, np.ndarray]]:
    """The draws that a call for m outputs makes, each with its words."""
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
    """Lists of numbers of one type as an array, other lists as objects; copies, as a program may fill them anew."""
    if isinstance(raw, np.ndarray):
        check_plain(raw)
    if isinstance(raw, list | tuple):
        array = array_of_numbers(raw)
        raw = objects(raw) if array is None else array
    return raw.detach().clone() if is_tensor(raw) else copy.deepcopy(raw)  # pyright: ignore[reportAttributeAccessIssue]
