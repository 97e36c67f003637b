"""torch's random functions on the CPU with prescribed words: a program's draws are recorded, or replayed.

Imported only with torch. A dispatch mode intercepts every operation, also inside dropout or torch.distributions;
operations that torch tags as random and that are not modelled here are refused by name.

The words, as measured with torch 2.13 on x86-64 (40 million values of each dtype, bit for bit from the same state);
every recorded draw is compared with torch's own values, which detects deviations in other versions:

    rand, float32            j * 2**-24, j of 24 bits: 0 occurs, 1 does not
    rand, float64            j * 2**-53
    rand, float16, bfloat16  not multiples of 2**-11 and 2**-8: the float32 uniform, rounded to nearest, with 1 replaced
                             by 0, which so has probability about 2**-12 and 2**-9
    uniform_(a, b)           u * (b - a) + a with one rounding (a fused multiply-add), with b replaced by a
    bernoulli(p), a tensor   u < p, u of 24 bits, whatever the tensor's dtype; of 53 bits in float64
    bernoulli_(p), a number  u < p, u of 53 bits
    randint, random_         a word of 32 bits modulo the range, up to 2**28: exactly uniform for ranges of 2**b alone
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _python_dispatch as dispatch

from ldp_audit.implementations.fake_generator import Draw, Tape

_SINGLE, _DOUBLE = (torch.float32, 24), (torch.float64, 53)


class FakeTorch(dispatch.TorchDispatchMode):
    """A context in which torch draws from a tape.   starts: the states from which recorded calls drew first."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.starts: set[bytes] = set()
        self.use(tape, free=True)

    def use(self, tape: Tape, *, free: bool) -> None:
        """Take words from this tape, for one call of a program.

        free: whether the first draw may be from any generator, such as one that an adapter seeds, instead of torch's
            shared one in its present state. Later draws must continue from the end of the previous one, and no two
            recorded calls may start from the same state (`starts`): otherwise words would be dependent.
        """
        self.tape = tape
        self._next = None if free or not tape.recording else torch.default_generator.get_state().numpy().tobytes()
        self._first = True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if not _draws(func):
            return func(*args, **named)
        name = str(func).removeprefix("aten.")
        model = _MODELS.get(name.partition(".")[0])
        drawn = None if model is None else model(func, args, named)
        if isinstance(drawn, str) or drawn is None:
            self.tape.refuse(drawn or f"it calls torch's {name}, whose draws cannot be played back")
        return self._values(func, args, named, drawn)

    def _values(self, func: Any, args: Sequence[Any], named: dict[str, Any], drawn: _Drawn) -> Any:
        real: list[Any] = []

        def fresh() -> np.ndarray:
            generator = named.get("generator") or torch.default_generator
            before = generator.get_state()
            self._check_independent(before.numpy().tobytes())
            real.append(func(*args, **named))
            after = generator.get_state()
            self._next = after.numpy().tobytes()
            generator.set_state(before)
            dtype, bits = drawn.base
            uniforms = torch.rand(drawn.shape, dtype=dtype, generator=generator)
            generator.set_state(after)
            words = (uniforms.double() * 2.0**bits).to(torch.int64).numpy().ravel().astype(np.uint64)
            return words & np.uint64(2**drawn.bits - 1)

        words = self.tape.take(Draw(f"torch.{drawn.name}", drawn.bits, drawn.shape), fresh)
        values = drawn.values(torch.from_numpy(words.astype(np.int64)).reshape(drawn.shape))
        if real and not torch.equal(values, real[0]):
            self.tape.refuse(f"torch.{drawn.name} is not the function of words that it is known to be, in this version")
        return args[0].copy_(values) if drawn.in_place else values

    def _check_independent(self, state: bytes) -> None:
        """Refuse a draw that does not continue from the end of the last one, or that starts where another call did."""
        if (self._next is not None and state != self._next) or (self._first and state in self.starts):
            self.tape.refuse("it seeds torch's generator, puts it back, or draws from another one of its own")
        if self._first:
            self.starts.add(state)
        self._first = False


@dataclass(frozen=True)
class _Drawn:
    """A draw as a function of words.

    base: the dtype of torch.rand with these words, and their bits.   bits: the number of lowest bits that matter.
    values: from words, an int64 tensor of `shape`.
    """

    name: str
    shape: tuple[int, ...]
    base: tuple[Any, int]
    bits: int
    values: Callable[[Any], Any]
    in_place: bool = False


def _draws(func: Any) -> bool:
    tagged = torch.Tag.nondeterministic_seeded in func.tags
    return tagged or any(argument.name == "generator" for argument in func._schema.arguments)  # noqa: SLF001  (torch names it nowhere else)


def _rand(func: Any, args: Sequence[Any], named: dict[str, Any]) -> _Drawn | str | None:
    if "out" in str(func) or not _on_cpu(named.get("device")):
        return None
    like = isinstance(args[0], torch.Tensor)
    shape, default = (args[0].shape, args[0].dtype) if like else (args[0], torch.get_default_dtype())
    return _uniform_drawn("rand", tuple(shape), named.get("dtype") or default, 0.0, 1.0)


def _uniform(func: Any, args: Sequence[Any], named: dict[str, Any]) -> _Drawn | str | None:
    values = _arguments(func, args, named)
    tensor = values["self"]
    if not _on_cpu(tensor.device) or not str(func).startswith("aten.uniform_"):
        return None
    return _uniform_drawn("uniform_", tuple(tensor.shape), tensor.dtype, values["from"], values["to"], in_place=True)


def _uniform_drawn(
    name: str, shape: tuple[int, ...], dtype: Any, low: float, high: float, *, in_place: bool = False
) -> _Drawn | str | None:
    name = f"{name}({str(dtype).removeprefix('torch.')})"
    if dtype == torch.float64:
        if math.frexp(high - low)[0] != 0.5:  # for powers of two the product is exact and only the sum rounds
            return f"it calls torch.{name} on [{low}, {high}], whose rounding is not modelled"

        def doubles(words: Any) -> Any:
            return _inside(words.double() * 2.0**-53 * (high - low) + low, low, high)

        return _Drawn(name, shape, _DOUBLE, 53, doubles, in_place)
    if dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return None

    def values(words: Any) -> Any:
        uniforms = words.float() * 2.0**-24 if (low, high) == (0.0, 1.0) else _fused(words, low, high)
        return _inside(uniforms.to(dtype), low, high)

    return _Drawn(name, shape, _SINGLE, 24, values, in_place)


def _bernoulli(func: Any, args: Sequence[Any], named: dict[str, Any]) -> _Drawn | str | None:
    if "out" in str(func):
        return None
    given = _arguments(func, args, named)
    tensor, p = given["self"], given.get("p", given["self"])
    if not _on_cpu(tensor.device):
        return None
    in_place, shape, dtype = "bernoulli_" in str(func), tuple(tensor.shape), tensor.dtype
    if isinstance(p, torch.Tensor) and p.dtype != torch.float64:
        level = p.float().expand(shape)
        return _Drawn("bernoulli", shape, _SINGLE, 24, lambda j: (j.float() * 2.0**-24 < level).to(dtype), in_place)
    level = p.expand(shape) if isinstance(p, torch.Tensor) else p
    return _Drawn("bernoulli", shape, _DOUBLE, 53, lambda j: (j.double() * 2.0**-53 < level).to(dtype), in_place)


def _randint(func: Any, args: Sequence[Any], named: dict[str, Any]) -> _Drawn | str | None:
    """torch.randint, and Tensor.random_ with an upper bound."""
    if "out" in str(func) or "_like" in str(func):
        return None
    given = _arguments(func, args, named)
    tensor = given.get("self")
    low, high = given.get("low", given.get("from", 0)), given.get("high", given.get("to"))
    if not _on_cpu(given.get("device") if tensor is None else tensor.device) or high is None:
        return None
    span = int(high) - int(low)
    bits = span.bit_length() - 1
    if span != 2**bits or not 1 <= bits <= 24:
        return (
            f"it draws torch.randint over {span} values, a word modulo {span}: played back are ranges of 2**b values, "
            "up to 2**24"
        )
    shape = tuple(given["size"] if tensor is None else tensor.shape)
    dtype = (named.get("dtype") or torch.int64) if tensor is None else tensor.dtype
    name = f"randint(2**{bits})"
    return _Drawn(name, shape, _SINGLE, bits, lambda j: (j + int(low)).to(dtype), tensor is not None)


_MODELS: dict[str, Callable[..., _Drawn | str | None]] = {
    "rand": _rand,
    "rand_like": _rand,
    "uniform_": _uniform,
    "bernoulli": _bernoulli,
    "bernoulli_": _bernoulli,
    "randint": _randint,
    "random_": _randint,
}


def _arguments(func: Any, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    schema = func._schema.arguments  # noqa: SLF001
    defaults = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    return {**defaults, **{one.name: value for one, value in zip(schema, args, strict=False)}, **named}


def _on_cpu(device: Any) -> bool:
    return device is None or torch.device(device).type == "cpu"


def _inside(values: Any, low: float, high: float) -> Any:
    """The values with `high` replaced by `low`, as torch excludes the upper bound."""
    ends = torch.tensor([low, high], dtype=values.dtype)
    return torch.where(values == ends[1], ends[0], values)


def _fused(words: Any, low: float, high: float) -> Any:
    """u * (high - low) + low in float32 with a single rounding, u = words * 2**-24.

    The product is exact in float64, where its sum with low is rounded to odd, so that the second rounding, to float32,
    gives the correctly rounded result.
    """
    start, reach = np.float32(low), np.float32(np.float32(high) - np.float32(low))
    product = words.numpy() * 2.0**-24 * np.float64(reach)
    total = product + np.float64(start)
    part = total - product
    rest = (product - (total - part)) + (np.float64(start) - part)
    even = (np.asarray(total).view(np.int64) & 1) == 0
    odd = np.where((rest != 0) & even, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total)
    return torch.from_numpy(np.asarray(odd, dtype=np.float32))
