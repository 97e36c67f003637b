"""Checks of numbers and names, logarithms of probabilities without cancellation, searches, and a bounded cache.

The searches are SciPy's, imported on first use, as its optimisers take a tenth of a second to load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from operator import index
from typing import Any, Generic, TypeVar

MOST_TIMES = 10**300
"""The largest count; more overflows a float."""


def nonnegative(epsilon: float, name: str = "epsilon") -> float:
    """A number >= 0, or infinity. Raises ValueError for anything else."""
    found = as_float(epsilon)
    if not found >= 0:
        raise ValueError(f"{name} must be a number >= 0, got {epsilon!r}")
    return found


def log_of_delta(delta: float | None, log_delta: float | None) -> float:
    """ln delta, from whichever of the two is given; -inf for 0.

    Raises ValueError unless one of them is given, delta in [0, 1], log_delta at most 0.
    """
    if (delta is None) == (log_delta is None):
        raise ValueError(f"one of delta and log_delta must be given, got delta={delta!r}, log_delta={log_delta!r}")
    if log_delta is not None:
        found = as_float(log_delta)
        if not found <= 0:
            raise ValueError(f"log_delta must be at most 0, got {log_delta!r}")
        return found
    found = as_float(delta)
    if not 0 <= found <= 1:
        raise ValueError(f"delta must lie in [0, 1], got {delta!r}")
    return math.log(found) if found > 0 else -math.inf


def order(alpha: float) -> float:
    """The order of a Renyi divergence: a number >= 1, or infinity. Raises ValueError for anything else."""
    found = as_float(alpha)
    if not found >= 1:
        raise ValueError(f"alpha must be a number >= 1 (infinity is one), got {alpha!r}")
    return found


def probability(value: float, name: str) -> float:
    """A probability. Raises ValueError unless it is a number in [0, 1]."""
    found = as_float(value)
    if not 0 <= found <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    return found


def positive(value: float, name: str) -> float:
    """A finite number > 0. Raises ValueError for anything else."""
    found = as_float(value)
    if not 0 < found < math.inf:
        raise ValueError(f"{name} must be a finite number > 0, got {shown(value)}")
    return found


_TRUTH = ("bool", "bool_")
"""Names of types of truth values: numpy's, which is not imported here, has `__index__` up to 2.1."""


def whole(value: Any, name: str, least: int = 1, most: int = MOST_TIMES) -> int:
    """A whole number in least .. most, of any type with `__index__` but truth values, numpy's of 2.1 among them.

    Raises ValueError for anything else.
    """
    try:
        found = None if type(value).__name__ in _TRUTH else index(value)
    except TypeError:
        found = None
    if found is None or not least <= found <= most:
        upper = most < MOST_TIMES or (found is not None and found > most)
        accepted = f"in {least} .. {_power(most)}" if upper else f">= {least}"
        raise ValueError(f"{name} must be a whole number {accepted}, got {shown(value)}")
    return found


def between(value: Any, name: str, accepted: str, fits: Callable[[float], bool]) -> float:
    """A number that fits. Raises ValueError, which says what is accepted, for anything else."""
    found = as_float(value)
    if not fits(found):
        raise ValueError(f"{name} must be {accepted}, got {shown(value)}")
    return found


def is_number(value: object) -> bool:
    """Whether it is a real number in the range of floats, infinity included; true and false are none."""
    return not math.isnan(as_float(value))


def count_of(values: object) -> int:
    """How many elements it has; 0 for a text, and for what has no length."""
    try:
        return 0 if isinstance(values, str | bytes) else len(values)  # type: ignore[arg-type]
    except TypeError:  # of a single number in an array
        return 0


def listed(values: Any, name: str, of: str = "a sequence") -> list[Any]:
    """The elements of what can be iterated over and is no text. Raises ValueError for anything else."""
    try:
        found = None if isinstance(values, str | bytes) else list(values)
    except TypeError:
        found = None
    if found is None:
        raise ValueError(f"{name} must be {of}, got {shown(values)}")
    return found


def instance(value: Any, kind: type | tuple[type, ...], name: str, accepted: str) -> None:
    """Raise ValueError unless the value is of the kind; for a class, which may look like one of its instances, too."""
    if Callable not in (kind if isinstance(kind, tuple) else (kind,)):
        refuse_class(value, name)
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {accepted}, got {shown(value)}")


def refuse_class(value: Any, name: str) -> None:
    """Raise ValueError for a class."""
    if isinstance(value, type):
        raise ValueError(f"{name} must be an instance, such as {value.__name__}(...), got the class itself")


def _power(number: int) -> str:
    """The number as text; a large power of ten or of two as one."""
    for base, shown in ((10, len(str(number)) - 1), (2, number.bit_length() - 1)):
        if number > 10**5 and number == base**shown:
            return f"{base}**{shown}"
    return str(number)


def shown(value: object) -> str:
    """A value for a message, without all digits of a huge number."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    return repr(value)


def as_float(value: object) -> float:
    """As a float; not a number for what is no number, or beyond the range of floats."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def near(name: str, known: Iterable[str], most: int = 3, least: float = 0.6) -> list[str]:
    """The known names that are written most like this one, whatever their case; at most so many.

    least: of difflib's ratio, in [0, 1]; 0 for the nearest ones, however far.
    """
    from difflib import get_close_matches

    names = {one.lower(): one for one in reversed([*known])}
    return [names[one] for one in get_close_matches(name.lower(), names, most, least)]


def meant(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: "; did you mean a or b?", or "" where none is near."""
    found = near(name, known)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def log_ratio(first: int, second: int) -> float:
    """ln(first / second) of whole numbers, accurate also where they are nearly equal or beyond the range of floats."""
    ratio = Fraction(first, second)
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    try:
        return math.log(float(ratio))
    except (OverflowError, ValueError):  # the ratio overflows or underflows
        return math.log(ratio.numerator) - math.log(ratio.denominator)


def log1mexp(log_mass: float) -> float:
    """ln(1 - e**log_mass), to full precision for log_mass near 0 and near minus infinity."""
    if log_mass >= 0:
        return -math.inf
    if log_mass > -0.7:
        return math.log(-math.expm1(log_mass))
    return min(math.log1p(-math.exp(log_mass)), -math.ulp(0.0)) if log_mass > -math.inf else 0.0


def exp_upwards(log: float) -> float:
    """e**log; the least positive float where that underflows, and 0 for minus infinity alone."""
    return math.exp(log) or (0.0 if log == -math.inf else math.ulp(0.0))


def root(function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float = 1e-15) -> float:
    """The zero of a function with different signs at low and high, by Brent's method (SciPy's `brentq`)."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol, maxiter=500))  # type: ignore[arg-type]


def least_between(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """The least value that a bounded search finds between low and high."""
    from scipy.optimize import fminbound

    return float(fminbound(function, low, high, xtol=xtol, full_output=True)[1])


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class BoundedCache(Generic[Key, Value]):
    """A first-in, first-out cache of at most `size` >= 1 values."""

    size: int
    _values: dict[Key, Value] = field(default_factory=dict, init=False, repr=False)

    def get(self, key: Key, compute: Callable[[], Value]) -> Value:
        """The cached value of the key, computed where it is missing."""
        with suppress(KeyError):  # no test before it: another thread may drop the key in between
            return self._values[key]
        value = compute()  # which may itself use the cache
        if len(self._values) >= self.size:
            with suppress(RuntimeError):  # another thread has changed the cache, and made room
                self._values.pop(next(iter(self._values)), None)
        self._values[key] = value
        return value
