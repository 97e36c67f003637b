"""Checks of inputs, and clipping: numbers, intervals, whole numbers, vectors; numpy or torch. All raise ValueError."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import array_api_compat.numpy as numpy_namespace
import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import ArrayLike, NDArray


def array_of(name: str, values: Any) -> NDArray:
    """The values as a numpy array of any dtype; ValueError, naming the argument, where there is none.

    A masked array is refused: its hidden values would be reported.
    """
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise ValueError(f"{name} must have no hidden values, got a masked array; fill or drop what is masked first")
    try:
        return np.asarray(values.detach() if is_torch_array(values) else values)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{name} must be a number, or an array or nested lists of one shape: {reason}") from None


def as_array(name: str, x: Any) -> Any:
    """Tensors unchanged; anything else as `array_of` has it."""
    return x if is_torch_array(x) else array_of(name, x)


def numbers_of(name: str, values: Any, accepted: str = "real numbers") -> NDArray:
    """The values as a numpy array of real dtype, NaN and infinity included; ValueError, naming the argument, else."""
    given = array_of(name, values)
    if given.dtype.kind == "O" and all(isinstance(one, Real | Decimal) for one in given.flat):
        try:
            given = given.astype(np.float64)
        except OverflowError:
            raise ValueError(f"{name} must be {accepted}, got one beyond the range of floats") from None
    if given.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be {accepted}, got {_outline(values, given)}")
    return given


def in_interval(name: str, values: Any, low: float, high: float, xp: Any = numpy_namespace) -> Any:
    """The array, real with every value in [low, high] (not NaN); ValueError, naming argument and value, otherwise."""
    _require_real(name, values, f"[{low:g}, {high:g}]", xp)
    wide = _comparable(values, xp)
    inside = (wide >= low) & (wide <= high)
    if not bool(xp.all(inside)):
        worst = _first(values, ~inside, xp)
        raise ValueError(f"{name} must lie in [{low!r}, {high!r}], got {worst!r}; clip first if that is meant")
    return values


def whole_numbers(name: str, values: Any, low: int, high: int, xp: Any = numpy_namespace) -> Any:
    """The array, of real dtype with every value a whole number in low..high; ValueError otherwise."""
    accepted = f"whole numbers in {low}..{high}"
    _require_real(name, values, accepted, xp, must="be")
    wide = _comparable(values, xp)
    good = (wide >= low) & (wide <= high)
    if not xp.isdtype(values.dtype, "integral"):
        good = good & (values == xp.floor(values))
    if not bool(xp.all(good)):
        raise ValueError(f"{name} must be {accepted}, got {_first(values, ~good, xp)!r}")
    return values


def vectors(name: str, values: Any, d: int, low: float, high: float, xp: Any = numpy_namespace) -> Any:
    """The array, of shape (..., d) with every value in [low, high]; ValueError otherwise."""
    if values.ndim == 0 or values.shape[-1] != d:
        raise ValueError(
            f"{name} must be real vectors of shape (..., {d}), got {values.dtype} of {tuple(values.shape)}"
        )
    return in_interval(name, values, low, high, xp)


def finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Finite real numbers as float64; ValueError otherwise, and for integers beyond 2**53, which would be rounded."""
    given = array_of(name, values)
    if given.dtype.kind not in "fiu" or not np.all(np.isfinite(given)):
        raise ValueError(f"{name} must be finite real numbers, got {values!r}")
    if given.dtype.kind != "f" and np.any((given < -(2**53)) | (given > 2**53)):
        raise ValueError(
            f"{name} must be at most 2**53 in size where they are integers, as floats round larger ones (subtract a "
            f"common origin first), got {values!r}"
        )
    return given.astype(np.float64)


def finite_numbers(name: str, x: Any, xp: Any = numpy_namespace) -> Any:
    """x as float64; ValueError, naming the argument, unless it holds finite real numbers."""
    if not xp.isdtype(x.dtype, ("real floating", "integral")):
        raise ValueError(f"{name} must be finite real numbers, got dtype {x.dtype}")
    require_arithmetic(name, x)
    wide = xp.astype(x, xp.float64)
    if not bool(xp.all(xp.isfinite(wide))):
        raise ValueError(f"{name} must be finite real numbers, got {x!r}")
    return wide


def single(value: Any, mechanism: Any) -> float:
    """One number, as an input of the mechanism; ValueError otherwise."""
    if np.ndim(value) != 0:
        raise ValueError(f"inputs must be single numbers for {mechanism!r}, got {value!r}")
    return float(value)


def clip(x: ArrayLike, low: float, high: float) -> NDArray:
    """The values clipped to [low, high]; shape and floating dtype of x. ValueError for NaN and non-real values."""
    values = array_of("x", x)
    if values.dtype.kind not in "fiu":
        raise ValueError(f"x must be real numbers, got dtype {values.dtype}")
    if np.any(np.isnan(values)):
        raise ValueError("x must not be NaN: it cannot be clipped")
    return np.clip(values, low, high)


def report_dtype(values: Any, xp: Any = numpy_namespace) -> Any:
    """The dtype of real-valued reports: that of floating inputs, else float64."""
    return values.dtype if xp.isdtype(values.dtype, "real floating") else xp.float64


def as_reports(outputs: Any, values: Any, xp: Any = numpy_namespace) -> Any:
    """The outputs in the dtype of the inputs (post-processing); ValueError where that dtype cannot hold them."""
    dtype = report_dtype(values, xp)
    with np.errstate(over="ignore"):
        rounded = xp.astype(outputs, dtype)
    if not bool(xp.all(xp.isfinite(rounded))):
        raise ValueError(f"x has dtype {dtype}, which cannot hold the reports; use a wider one")
    return rounded


def _require_real(name: str, values: Any, accepted: str, xp: Any, must: str = "lie in") -> None:
    if not xp.isdtype(values.dtype, ("real floating", "integral")):
        raise ValueError(f"{name} must {must} {accepted}, got dtype {values.dtype}")
    require_arithmetic(name, values)


def _comparable(values: Any, xp: Any) -> Any:
    """Whole numbers of a tensor as int64: torch rounds a bound into their dtype, and -1 is 255 in uint8."""
    return xp.astype(values, xp.int64) if is_torch_array(values) and xp.isdtype(values.dtype, "integral") else values


def require_arithmetic(name: str, values: Any) -> None:
    """ValueError, naming the argument, for storage-only dtypes of torch."""
    dtype = str(values.dtype)
    if dtype.startswith("torch.float8") or dtype in ("torch.uint16", "torch.uint32", "torch.uint64"):
        raise ValueError(f"{name} must have a dtype that torch calculates with, got {dtype}; convert it first")


def _outline(values: Any, given: NDArray) -> str:
    return repr(values) if given.ndim == 0 else f"dtype {given.dtype}"


def _first(values: Any, bad: Any, xp: Any) -> Any:
    return xp.reshape(values, (-1,))[xp.reshape(bad, (-1,))][0].item()
