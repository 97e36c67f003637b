"""A numpy generator with prescribed random words: a program's draws are recorded, or replayed.

A word is the random input of one value: all 2**bits words are equally likely, and the value is a fixed function of its
word. These methods are replayed, with numpy's values as functions of words:

    random()                 j * 2**-53, j of 53 bits           random(dtype=float32)    j * 2**-24, j of 24 bits
    uniform(low, high)       low + (high - low) * random()      integers(low, high)      low + j, for 2**b values
    bytes                    words of 8 bits                    choice, with replacement by integers() or random()

The first four are compared with numpy's own values whenever they are recorded. All other methods (normal, exponential,
permutation ...) use rejection, or an unbounded number of words, and are refused by name.

The substitutes for numpy's generator and for torch take words from a `Tape`, which records random ones or plays a
script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

_BITS = {"float64": 53, "float32": 24}
MOST_DRAWS = 4096
"""Most draws of a call for one output."""


class FakeGenerator(np.random.Generator):
    """A numpy.random.Generator that takes its words from a tape.

    seed: of the recorded words. In replay the underlying generator must not advance: `untouched` checks that the
        program drew only through the methods below.
    """

    def __init__(self, tape: Tape, seed: int) -> None:
        self._source = np.random.PCG64(seed)
        super().__init__(self._source)
        self.use(tape)

    def use(self, tape: Tape) -> None:
        """Take words from this tape."""
        self.tape, self._start = tape, self._source.state

    @property
    def untouched(self) -> bool:
        """Whether only the tape has drawn from the underlying generator."""
        return self.tape.recording or self._source.state == self._start

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """See numpy."""
        kind = np.dtype(dtype)
        if kind.name not in _BITS:
            return super().random(size, dtype, out)  # raises numpy's own error
        shape = _shape(size) if out is None else np.shape(out)
        values = self._uniforms(f"random({kind.name})", kind, shape)
        if out is not None:
            out[...] = values
            return out
        return float(values[()]) if size is None else values

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """See numpy."""
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        shape = np.broadcast_shapes(low.shape, high.shape) if size is None else _shape(size)
        before = self._source.state
        values = low + (high - low) * self._uniforms("uniform(float64)", np.dtype(np.float64), shape)
        self._compare("uniform", values, before, lambda: super(FakeGenerator, self).uniform(low, high, shape))
        return float(values) if size is None and shape == () else np.asarray(values)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,  # noqa: FBT002 - numpy's signature
    ) -> Any:
        """See numpy. Ranges of 2**bits values only."""
        if np.ndim(low) or np.ndim(high if high is not None else 0):
            self.tape.refuse("it draws whole numbers with a different range for each, which is not played back")
        first, last = (0, int(low)) if high is None else (int(low), int(high))
        span = last - first + bool(endpoint)
        bits = span.bit_length() - 1
        if span < 1 or bits > 64:
            return super().integers(low, high, size, dtype, endpoint)  # raises numpy's own error
        if span != 2**bits:
            self.tape.refuse(f"it draws whole numbers below {span}, which no number of bits makes equally likely")
        shape, before = _shape(size), self._source.state

        def drawn() -> np.ndarray:
            return np.asarray(super(FakeGenerator, self).integers(first, last, shape, dtype, bool(endpoint)))

        if bits == 0:
            return drawn() if size is not None else drawn()[()]
        start = np.uint64(first % 2**64)
        words = self.tape.take(Draw(f"integers(2**{bits})", bits, shape), lambda: _as_words(drawn()) - start)
        values = (words + start).astype(np.dtype(dtype)).reshape(shape)
        self._compare("integers", values, before, drawn)
        return values if size is not None else values.item() if dtype in (int, bool) else values[()]

    def bytes(self, length: int) -> bytes:
        """See numpy."""

        def drawn() -> np.ndarray:  # as numpy does, which would ask integers() for words of four bytes
            words = super(FakeGenerator, self).integers(0, 2**32, (length - 1) // 4 + 1, dtype=np.uint32)
            return np.frombuffer(words.astype("<u4").tobytes()[:length], dtype=np.uint8).astype(np.uint64)

        return self.tape.take(Draw("bytes", 8, (int(length),)), drawn).astype(np.uint8).tobytes()

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: Any = True,  # noqa: FBT002 - numpy's signature
        p: Any = None,
        axis: Any = 0,
        shuffle: Any = True,  # noqa: FBT002
    ) -> Any:
        """See numpy, which calls integers() or random(). With replacement only."""
        if not replace and size is not None:
            self.tape.refuse("it calls choice() without replacement, which cannot be played back")
        return super().choice(a, size, p=p, axis=axis, shuffle=shuffle)

    def __repr__(self) -> str:
        return "FakeGenerator()"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        self.tape.refuse("it copies the generator, and draws from copies cannot be played back")

    def _uniforms(self, name: str, kind: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        bits = _BITS[kind.name]

        def drawn() -> np.ndarray:
            scaled = np.asarray(super(FakeGenerator, self).random(shape, kind), dtype=np.float64) * 2.0**bits
            words = scaled.astype(np.uint64).ravel()
            if not np.array_equal(words, scaled.ravel()):
                self.tape.refuse(f"{name} does not give multiples of 2**-{bits} with this numpy")
            return words

        words = self.tape.take(Draw(name, bits, shape), drawn)
        return np.asarray(words.astype(kind).reshape(shape) * kind.type(2.0**-bits))  # 0-d arrays, as numpy gives

    def _compare(self, name: str, values: Any, before: Any, drawn: Callable[[], Any]) -> None:
        """Repeat the recorded draw from its initial state: numpy must return the same values."""
        if not self.tape.recording:
            return
        after, self._source.state = self._source.state, before
        if np.asarray(drawn()).tobytes() != np.asarray(values).tobytes():
            self.tape.refuse(f"{name}() is not the function of words that it is known to be, with this numpy")
        self._source.state = after


def _shape(size: Any) -> tuple[int, ...]:
    if size is None:
        return ()
    return (int(size),) if isinstance(size, Integral) else tuple(int(length) for length in size)


def _as_words(values: np.ndarray) -> np.ndarray:
    return values.ravel().astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.ravel().astype("u8")


def _refused(name: str) -> Callable[..., NoReturn]:
    def draw(self: FakeGenerator, *_: Any, **__: Any) -> NoReturn:
        self.tape.refuse(f"it calls {name}() of its generator, whose draws cannot be played back")

    return draw


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in vars(FakeGenerator):
        _method = _refused(_name)
        setattr(FakeGenerator, _name, property(_method) if _name == "bit_generator" else _method)


class NotEnumerable(ValueError):  # noqa: N818 - an outcome, not a mistake of the caller
    """The program's draws cannot be replayed. The text is the reason, as the predicate of a sentence."""


@dataclass(frozen=True)
class Draw:
    """One call of a generator: its name with the dtype, the bits of each value's word, the values' shape."""

    name: str
    bits: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)


@dataclass
class Tape:
    """Records the draws of one call of a program, or plays a script: its expected draws with their words."""

    script: Sequence[tuple[Draw, np.ndarray]] | None = None
    draws: list[Draw] = field(default_factory=list)
    words: list[np.ndarray] = field(default_factory=list)
    refusal: str | None = None

    @property
    def recording(self) -> bool:
        """Whether words are random and recorded."""
        return self.script is None

    def take(self, draw: Draw, fresh: Callable[[], np.ndarray]) -> np.ndarray:
        """The words of this draw, flat; from fresh() in recording. A draw of no values is not recorded."""
        if draw.size == 0:
            return np.zeros(0, dtype=np.uint64)
        place = len(self.draws)
        self.draws.append(draw)
        if self.script is None:
            if place >= MOST_DRAWS:
                self.refuse(f"it draws more than {MOST_DRAWS} times for a few outputs")
            self.words.append(fresh())
            return self.words[-1]
        if place >= len(self.script) or self.script[place][0] != draw:
            self.refuse(f"how much it draws depends on what it drew: {described(draw)} comes {self._instead(place)}")
        return self.script[place][1]

    def refuse(self, reason: str) -> NoReturn:
        """Raise NotEnumerable, and remember the reason, as the program may catch the error."""
        self.refusal = self.refusal or reason
        raise NotEnumerable(self.refusal)

    def finish(self) -> None:
        """Raise NotEnumerable if a draw was refused or the script has not ended."""
        if self.refusal is None and self.script is not None and len(self.draws) < len(self.script):
            missing = self.script[len(self.draws)][0]
            self.refusal = f"how much it draws depends on what it drew: {described(missing)} is not always there"
        if self.refusal is not None:
            raise NotEnumerable(self.refusal)

    def _instead(self, place: int) -> str:
        if self.script is None or place >= len(self.script):
            return "after all others"
        return f"where {described(self.script[place][0])} was expected"


def described(draw: Draw) -> str:
    """The draw in words."""
    return draw.name if draw.shape == () else f"{draw.name} of shape {draw.shape}"
