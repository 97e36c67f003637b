"""The number of words by which textbook Laplace noise reveals its input: Alone(bits, x, y).

The program: a word j of 1 .. 2**bits - 1 represents u = j / 2**bits, and an input x is reported as

    Fl(x + Fl(ln 2u)) below u = 1/2, Fl(x - Fl(ln(2 - 2u))) from there on,

every operation rounded to `bits` significant bits; the scale is 1. Alone(bits, x, y) is the number of words that map x
to a report to which no word maps y. Words are equally likely, so Alone / 2**bits is a probability under x of outputs
that are impossible under y: (epsilon, delta)-privacy fails for every epsilon if delta is smaller.

Here all words are evaluated in numpy. Logarithms in float64 decide the rounding to 24 bits, except within `_TIE_MARGIN`
of the midpoint of two floats, where balls decide. The checker counts by another method.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from flint import arb, ctx, fmpq
from sympy import Expr, Function, Integer, Rational

from ldp_audit.claims.language.rounding import nearest
from ldp_audit.mechanisms.variable import exact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_BITS, _UNIT, _LARGEST = 24, 46, 16
_BLOCK = 2**16
"""Words at a time: blocks that fit a processor's cache are ten times faster than all words at once."""
_TIE_MARGIN = 2.0**-20
"""In units of a float's last bit; float64's logarithms are a thousand times more accurate."""


class Alone(Function):
    """Alone(bits, x, y), see the module; SymPy does not evaluate it."""

    @classmethod
    def eval(cls, bits: Expr, x: Expr, y: Expr) -> None:
        """Refuse precisions other than 2 to 24 bits, and inputs that are no floats of this precision, too large or
        too fine."""
        if not (isinstance(bits, Integer) and 2 <= bits <= _MOST_BITS):
            raise ValueError(f"bits must be a whole number in 2..24, got {bits!r}")
        for name, at in (("x", x), ("y", y)):
            if not (isinstance(at, Rational) and _is_input(Fraction(int(at.p), int(at.q)), int(bits))):
                accepted = f"a float of {bits} bits, a multiple of 2**-46 from -16 to 16"
                raise ValueError(f"{name} must be {accepted}, got {at!r}")

    def _latex(self, printer: Any) -> str:
        bits, x, y = map(printer.doprint, self.args)
        return rf"\mathrm{{alone}}_{{{bits}}}\left({x}\mid{y}\right)"


def words_alone(bits: Any, x: Any, y: Any) -> Alone:
    """Alone(bits, x, y) of numbers that SymPy reads as exact.

    bits: 2..24.   x, y: floats of this precision, multiples of 2**-46 in -16 .. 16. Raises ValueError for others.
    """
    return cast("Alone", Alone(exact(bits), exact(x), exact(y)))


@lru_cache(maxsize=8)
def counted(bits: int, x: Fraction, y: Fraction) -> int:
    """The value of Alone(bits, x, y), by evaluating all words."""
    import numpy as np

    noise = _noise(bits)
    theirs = np.full(2**bits, np.inf, np.float32)
    done = 0
    for reports in _reports(float(y), noise, bits):
        theirs[done : done + len(reports)] = reports
        done += len(reports)
    return sum(_missing(mine, theirs) for mine in _reports(float(x), noise, bits))


def _is_input(at: Fraction, bits: int) -> bool:
    return abs(at) <= _LARGEST and (at * 2**_UNIT).denominator == 1 and nearest(at, bits) == at


def _reports(at: float, noise: NDArray[np.float64], bits: int) -> Iterator[NDArray[np.float32]]:
    """The reports of all words, which ascend, in blocks.

    Sums are exact in float64, whose bits reach from 2**5 to 2**-46; rounded they are exact in float32.
    """
    last = len(noise) - 1
    for start in range(0, last, _BLOCK):
        yield _rounded(at + noise[start : min(start + _BLOCK, last)], bits)
    for end in range(len(noise), 0, -_BLOCK):
        yield _rounded(at - noise[max(0, end - _BLOCK) : end][::-1], bits)


def _missing(mine: NDArray[np.float32], theirs: NDArray[np.float32]) -> int:
    """The number of these reports that are not among theirs; both ascend, and theirs end with infinity."""
    import numpy as np

    first, last = np.searchsorted(theirs, mine[[0, -1]])
    near = theirs[first : last + 1]
    return int(np.count_nonzero(near[np.searchsorted(near, mine)] != mine))


def _noise(bits: int) -> NDArray[np.float64]:
    """Fl(ln(m / M)) for m = 1 .. M = 2**(bits-1)."""
    import numpy as np

    top = 2 ** (bits - 1)
    noise = np.empty(top)
    for start in range(0, top, _BLOCK):
        column = noise[start : start + _BLOCK]
        fractions, exponents = np.frexp(np.log(np.arange(start + 1, start + 1 + len(column)) / top))
        scaled = np.ldexp(fractions, bits)
        whole = np.rint(scaled)
        for place in np.flatnonzero(np.abs(scaled - whole) > 0.5 - _TIE_MARGIN).tolist():
            whole[place] = _certain(start + place + 1, top, bits - int(exponents[place]))
        column[:] = np.ldexp(whole, exponents - bits)
    return noise


def _certain(m: int, top: int, shift: int) -> int:
    """ln(m / M) 2**shift, rounded to a whole number, from a ball; there is no tie, as the logarithm is irrational."""
    with ctx.workprec(256):
        found = (arb(fmpq(m, top)).log() * arb(2) ** shift + arb(0.5)).floor().unique_fmpz()
    if found is None:
        raise OverflowError(f"the logarithm of {m}/{top} is too near the middle between two floats")
    return int(found)


def _rounded(values: NDArray[np.float64], bits: int) -> NDArray[np.float32]:
    """Each number rounded to this many significant bits, ties to even; all are in float32's normal range."""
    import numpy as np

    if bits < _MOST_BITS:
        fractions, exponents = np.frexp(values)
        values = np.ldexp(np.rint(np.ldexp(fractions, bits)), exponents - bits)
    return values.astype(np.float32)
