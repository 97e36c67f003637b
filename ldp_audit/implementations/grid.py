"""The grid of a generator's uniforms: j * 2**-bits for j = 0 .. 2**bits - 1, all equally likely.

`numpy.random.Generator.random` and `torch.rand` draw from such grids, with 53 bits in float64 and 24 in float32: the
dtype's significant bits, so that every point is exact. By the same rule float16 has 11 bits and bfloat16 has 8. torch
(2.13, on a CPU; compared bit by bit) instead rounds the float32 uniform of 24 bits to nearest in these dtypes, and
replaces 1 by 0.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.numerics import whole

_PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Significant bits, the leading one included."""
_WHOLE = {f"{sign}int{bits}": bits - (not sign) for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""Bits of each integer dtype's positive range."""
_ROUNDED = ("torch.float16", "torch.bfloat16")
_ROUNDED_BITS = 24
_MOST_BITS, _MOST_WORD_BITS = 53, 64


@dataclass(frozen=True)
class Grid:
    """The possible values of one uniform.

    bits: 1..53, or ..64 for words.   words: whether values are the integers j instead of j * 2**-bits.
    dtype: numpy's or torch's; None: float16 for 11 bits, else float32 for up to 24, float64 above; int64 or uint64 for
        words. torch's float16 and bfloat16 with 24 bits are torch.rand's: rounded, with 0 in place of 1.
    Raises ValueError where the dtype does not represent every point exactly, except for these.
    """

    bits: int
    dtype: Any = None
    words: bool = False

    def __post_init__(self) -> None:
        most = _MOST_WORD_BITS if self.words else _MOST_BITS
        object.__setattr__(self, "bits", whole(self.bits, "bits", 1, most))
        object.__setattr__(self, "dtype", _checked(self._default() if self.dtype is None else self.dtype))
        held = (_WHOLE if self.words else _PRECISION).get(self.dtype_name)
        if held is None:
            accepted = ", ".join(_WHOLE if self.words else _PRECISION)
            raise ValueError(f"dtype must be one of {accepted} for words={self.words}, got {self.dtype_name}")
        if self.bits > held and not self._rounded:
            raise ValueError(f"bits must be at most {held} in {self.dtype_name}, got {self.bits}")

    @property
    def size(self) -> int:
        """The number of values."""
        return 2**self.bits

    @property
    def dtype_name(self) -> str:
        """The dtype without its library: float32, bfloat16, uint64."""
        return str(self.dtype).removeprefix("torch.")

    @property
    def on_torch(self) -> bool:
        """Whether uniforms are torch tensors."""
        return _is_torch(self.dtype)

    def uniforms(self, words: Any) -> Any:
        """The uniforms of an integer array of words (uint64 from 64 bits on): a new array or tensor of its shape."""
        words = array_of("words", words)
        if words.dtype.kind not in "iu":
            raise ValueError(f"words must be whole numbers, got dtype {words.dtype}")
        if self.on_torch:
            return self._torch_uniforms(words)
        if self.words:
            return words.astype(self.dtype)  # always a copy
        return words.astype(self.dtype) * self.dtype.type(2.0**-self.bits)

    def describe(self) -> str:
        """The grid in words."""
        if self.words:
            return f"whole numbers of {self.bits} bits"
        points = f"multiples of 2**-{self.bits}"
        return f"{points} rounded to {self.dtype_name}" if self._rounded else f"{self.dtype_name} {points}"

    @property
    def _rounded(self) -> bool:
        return str(self.dtype) in _ROUNDED and self.bits == _ROUNDED_BITS

    def _default(self) -> Any:
        if self.words:
            return np.int64 if self.bits < 64 else np.uint64
        return np.float16 if self.bits == 11 else np.float32 if self.bits <= 24 else np.float64

    def _torch_uniforms(self, words: np.ndarray) -> Any:
        torch = sys.modules["torch"]
        if self.words:
            return torch.from_numpy(words.astype(np.int64)).to(self.dtype)
        points = words.astype(np.float64)
        points *= 2.0**-self.bits
        uniforms = torch.from_numpy(points).to(self.dtype)
        if self._rounded:
            uniforms[uniforms >= 1] = 0
        return uniforms


def _checked(dtype: Any) -> Any:
    if _is_torch(dtype):
        return dtype
    try:
        return np.dtype(dtype)
    except TypeError:
        raise ValueError(f"dtype must be a numpy or torch dtype, got {dtype!r}") from None


def _is_torch(dtype: Any) -> bool:
    return type(dtype).__module__.partition(".")[0] == "torch"
