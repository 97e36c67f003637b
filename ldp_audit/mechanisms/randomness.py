"""Random decisions by exact integer comparisons, on numpy and torch.

A sampler draws random words from a `Source` and compares them with integers. The source also provides the array API
namespace (`xp`) of its inputs, so that one sampler covers numpy and torch, CPU and GPU.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Any, Protocol

import array_api_compat.numpy as numpy_namespace
import numpy as np

from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.mechanisms.mechanism import Parameter
from ldp_audit.mechanisms.variable import Variable

WORDS = 2**64
"""The number of equally likely words for one decision, by default."""

BITS = Parameter("bits", Variable("bits", 2, 64, integer=True), typical=(8, 64))
"""The random bits of one decision."""

_HUGE = 100.0  # beyond, 2**64 / e**epsilon < 1e-24: the rarer side gets a single word


class Source(Protocol):
    """Independent random words for arrays of one library.   xp: the array API namespace of that library."""

    xp: Any

    def array(self, name: str, x: Any) -> Any:
        """x as an array of this library; ValueError, naming the argument, for what cannot be one."""
        ...

    def constant(self, values: Sequence[Any] | np.ndarray, dtype: Any) -> Any:
        """A small table as an array of this library, on the source's device; dtype from `xp`."""
        ...

    def words(self, shape: Sequence[int], bits: int = 64) -> Any:
        """int64, uniform over -2**(bits-1) .. 2**(bits-1) - 1."""
        ...

    def below(self, bound: int, shape: Sequence[int]) -> Any:
        """int64, exactly uniform over 0 .. bound-1; 1 <= bound <= 2**62."""
        ...


class NumpySource:
    """A `Source` on a numpy.random.Generator."""

    xp: Any = numpy_namespace

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def array(self, name: str, x: Any) -> np.ndarray:
        """See `Source`. Lists and numbers are accepted."""
        if type(x).__module__.partition(".")[0] == "torch":
            raise ValueError(f"rng must be a torch.Generator where {name} is a torch tensor, got {self.rng!r}")
        found = array_of(name, x)
        if not found.dtype.isnative:
            native = f"x.astype({found.dtype.newbyteorder('=').name!r})"
            raise ValueError(f"{name} must have this machine's byte order, got dtype {found.dtype}; {native} has it")
        return found

    def constant(self, values: Sequence[Any] | np.ndarray, dtype: Any) -> np.ndarray:
        """See `Source`."""
        return np.asarray(values, dtype=dtype)

    def words(self, shape: Sequence[int], bits: int = 64) -> np.ndarray:
        """See `Source`."""
        drawn = self.rng.integers(0, WORDS, size=tuple(shape), dtype=np.uint64).view(np.int64)
        return drawn if bits == 64 else drawn >> (64 - bits)

    def below(self, bound: int, shape: Sequence[int]) -> np.ndarray:
        """See `Source`."""
        return self.rng.integers(0, bound, size=tuple(shape))

    def short_words(self, count: int) -> np.ndarray:
        """The first 16 bits of `count` words: int16, uniform."""
        return self.words((-(-count // 4),)).view(np.int16)[:count]

    def lengthened(self, short: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Whole words that begin with these 16 bits; the other 48 bits are drawn now."""
        return (short[at].astype(np.int64) << 48) + self.rng.integers(0, 2**48, size=at.shape)


def source_of(rng: Any) -> Source:
    """The source for a numpy.random.Generator or a torch.Generator; ValueError for anything else."""
    if isinstance(rng, np.random.Generator):
        return NumpySource(rng)
    torch = sys.modules.get("torch")  # without an imported torch there is no torch.Generator
    if torch is not None and isinstance(rng, torch.Generator):
        from ldp_audit.mechanisms.torch_randomness import TorchSource

        return TorchSource(rng)
    raise ValueError(f"rng must be a numpy.random.Generator or a torch.Generator, got {rng!r}")


def rarer_words(epsilon: float, odds: Fraction | int = 1, total: int = WORDS) -> int | None:
    """The number of `total` words for the side of probability odds / (t + odds), t = e**epsilon, rounded up.

    Rounding up keeps the ratio of the two sides' probabilities, times the odds, at or below t. None where no integer
    keeps it in [1, t] (few words, or a tiny epsilon): the sampler must then ignore its input.
    """
    odds = Fraction(odds)
    if epsilon > _HUGE:
        needed = math.ceil(odds * total * Fraction(math.exp(-_HUGE)))
    else:
        with localcontext() as context:
            context.prec = 60
            ratio = Decimal(odds.numerator) / Decimal(odds.denominator)
            share = total * ratio / (Decimal(epsilon).exp() + ratio)
            needed = int((share * (1 + Decimal(10) ** -50)).to_integral_value(ROUND_CEILING))
    fair = total * odds / (1 + odds)
    return needed if needed <= fair else int(fair) if epsilon == 0 == fair % 1 else None
