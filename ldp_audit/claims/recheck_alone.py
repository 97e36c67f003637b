"""The checker's count of textbook Laplace noise's revealing words: Alone(bits, x, y), word by word.

The third file of the independent checker: only the standard library, and no code shared with the engines. Words are 1
.. 2 M - 1, M = 2**(bits-1). Word j maps an input x to Fl(x + z), m = j, below M, and to Fl(x - z), m = 2 M - j, from
there on, z = Fl(ln(m / M)); everything is rounded to `bits` bits. Alone is the number of words that map x to a report
to which no word maps y.

Every z is a multiple of 2**-46, so reports are whole numbers here. Logarithms are computed in chunks, in units of
2**-88: the first by `decimal`, and the others from it, as with q = 2 m - 1, ln(m / (m - 1)) = 2 artanh(1/q) exceeds 2/q
by less than 1/q**3. If the error after n steps, less than n (1 + 2**88 / q**3), could change the rounding, the
logarithm is computed by `decimal`.

If numpy is installed it makes the same count ten times faster: logarithms in float64 decide the rounding, and `decimal`
within a 2**-20th of the last bit of a tie. `ldp-audit recheck --pure` does without.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate, repeat
from operator import floordiv
from typing import Any

from ldp_audit.claims.recheck_functions import Interval, hull, increasing, require, rounded, take

_SUMS, _REPORTS, _CHUNK = 88, 46, 2**12
_SINGLE, _FEW_BITS, _BLOCK = 24, 8, 2**16
"""numpy is not worth it for fewer bits, and larger blocks of words exceed a processor's cache."""
PURE = [False]
"""Whether to count without numpy even if it is installed."""


def alone(bits: Interval, x: Interval, y: Interval) -> Interval:
    """Alone for 2 .. 24 bits, and for x and y that are floats with this precision, multiples of 2**-46 in -16 .. 16."""
    require(bits[0] == bits[1] and bits[0] in range(2, 25), f"Alone takes 2 to 24 bits, not {bits[0]}")
    for at in (x, y):
        whole = (at[0] * 2**_REPORTS).denominator == 1 and abs(at[0]) <= 16
        require(at[0] == at[1] and whole and rounded(at, bits) == at, "an input is none that Alone takes")
    take(2 ** int(bits[0]))
    return hull(Fraction(_count(int(bits[0]), *(int(at[0] * 2**_REPORTS) for at in (x, y)))))


@lru_cache(maxsize=8)
def _count(bits: int, x: int, y: int) -> int:
    if not PURE[0] and bits >= _FEW_BITS and find_spec("numpy") is not None:
        return _count_fast(bits, x, y)
    sizes, theirs = _sizes(bits), array("q")
    for chunk in _reports(y, sizes, bits):
        theirs.extend(chunk)
    return sum(_missing(chunk, theirs) for chunk in _reports(x, sizes, bits))


def _count_fast(bits: int, x: int, y: int) -> int:
    """The same in float64, in which these whole numbers are exact; after rounding they are exact in float32."""
    import numpy as np

    def nearest(values: Any) -> Any:
        if bits == _SINGLE:
            return values.astype(np.float32)  # all lie in float32's normal range
        fractions, exponents = np.frexp(values)  # rint takes a tie to the even one
        return np.ldexp(np.rint(np.ldexp(fractions, bits)), exponents - bits)

    def reports(at: int) -> Iterator[Any]:
        for end in range(top, 1, -_BLOCK):
            yield nearest(at - sizes[max(1, end - _BLOCK) : end][::-1])
        yield from (nearest(at + sizes[start : start + _BLOCK]) for start in range(0, top, _BLOCK))

    top, found = 2 ** (bits - 1), 0
    sizes = np.empty(top)
    for m in range(top, 0, -_BLOCK):
        logs = np.log(np.arange(m, max(0, m - _BLOCK), -1) / top)
        scaled, block = np.ldexp(np.frexp(logs)[0], bits), sizes[top - m : top - m + _BLOCK]
        block[:] = np.ldexp(-nearest(logs), _REPORTS)
        for place in np.flatnonzero(np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) < 2.0**-20).tolist():
            block[place] = _certain(m - place, bits)
    theirs = np.concatenate([*reports(y), [np.inf]], dtype=np.float32)  # which ascend
    for mine in reports(x):
        first, last = np.searchsorted(theirs, mine[[0, -1]])
        near = theirs[first : last + 1]
        found += int(np.count_nonzero(near[np.searchsorted(near, mine)] != mine))
    return found


def _missing(chunk: list[int], theirs: array[int]) -> int:
    """The number of reports that are not among theirs; both ascend."""
    near = theirs[bisect_left(theirs, chunk[0]) : bisect_right(theirs, chunk[-1])]
    both = set(chunk).intersection(near)
    return sum(report not in both for report in chunk) if len(set(chunk)) < len(chunk) else len(chunk) - len(both)


def _reports(at: int, sizes: array[int], bits: int) -> Iterator[list[int]]:
    """The reports of words 1 .. 2 M - 1, which ascend, in chunks."""
    for end in range(len(sizes), 1, -_CHUNK):
        part = sizes[max(1, end - _CHUNK) : end][::-1]
        yield _floats([at - size for size in part], bits) if at else [-size for size in part]
    for start in range(0, len(sizes), _CHUNK):
        part = sizes[start : start + _CHUNK]
        yield _floats([at + size for size in part], bits) if at else part.tolist()


def _floats(ascending: list[int], bits: int) -> list[int]:
    """Each number rounded to `bits` bits, ties to even."""
    first, last = ascending[0], ascending[-1]
    spare = first.bit_length() - bits
    if (first < 0) != (last < 0) or last.bit_length() != first.bit_length():
        return [_floats([n], bits)[0] for n in ascending]
    if spare <= 0 or not any(map(((1 << spare) - 1).__and__, ascending)):
        return ascending
    below_half, kept = (1 << spare - 1) - 1, -1 << spare
    return [(n + below_half + (n >> spare & 1)) & kept for n in ascending]


def _sizes(bits: int) -> array[int]:
    """-z for m = M .. 1."""
    top = m = 2 ** (bits - 1)
    found = array("q", [0])
    while m > 1:
        least = m - max(1, min(_CHUNK, m >> 4))
        start = 2**_SUMS * -increasing("ln", hull(Fraction(m, top)))[1] // 1
        steps = map(floordiv, repeat(2 << _SUMS), range(2 * m - 1, 2 * least, -2))
        # The first error is less than 1, and every step rounds its quotient down as well.
        lacking = 1 + (m - least) * (2 + (1 << _SUMS) // (2 * least + 1) ** 3)
        found.extend(_nearest(list(accumulate(steps, initial=start))[1:], lacking, bits, m - 1))
        m = least
    return found


def _nearest(sums: list[int], lacking: int, bits: int, m: int) -> list[int]:
    """The rounded logarithms of m, m - 1, ..., given lower bounds and their largest error."""
    spare = sums[0].bit_length() - bits
    half, mask = (1 << spare) >> 1, (1 << spare) - 1
    raised = [s + half for s in sums]
    if sums[-1].bit_length() - bits == spare and max(map(mask.__and__, raised)) <= mask - lacking:
        return [r >> spare << spare - (_SUMS - _REPORTS) for r in raised]
    if len(sums) == 1:
        return [_certain(m, bits)]
    return [one for place, s in enumerate(sums) for one in _nearest([s], lacking, bits, m - place)]


def _certain(m: int, bits: int) -> int:
    """One logarithm, correctly rounded, by `decimal`."""
    z = rounded(increasing("ln", hull(Fraction(m, 2 ** (bits - 1)))), hull(Fraction(bits)))
    require(z[0] == z[1], "60 digits leave a logarithm's rounding open")
    return int(-z[0] * 2**_REPORTS)
