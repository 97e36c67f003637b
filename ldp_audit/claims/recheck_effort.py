"""What checking one part may take: a report that would keep the checker busy for hours is refused.

The third file of the independent checker: the standard library alone. Polynomials and fractions grow with every power
and product, so that a short text can ask for more than any machine has.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any


class RefusedError(Exception):
    """The evidence does not show what the report says."""


def require(fact: Any, complaint: str) -> Any:
    """The fact, if it is one; RefusedError with the complaint if not."""
    if not fact:
        raise RefusedError(complaint)
    return fact


EFFORT = 2 * 10**7
"""Steps that checking one part may take, about a microsecond each; what the engines find takes a tenth of it."""
_taken = [0]


def begin() -> None:
    """A part's steps are counted from here."""
    _taken[0] = 0


def take(steps: int, bits: int = 0) -> None:
    """Count steps on numbers of so many bits; RefusedError once a part has taken too many."""
    _taken[0] += steps * (1 + (bits // 1000) ** 2)
    require(_taken[0] <= EFFORT, "it takes too long to check")


def size(numbers: Iterable[Fraction]) -> int:
    """Bits of the longest of them."""
    return max((x.numerator.bit_length() + x.denominator.bit_length() for x in numbers), default=0)


def number(given: Any) -> Fraction:
    """A number of the report, which may be a text: 1e999999999 would take all memory."""
    require(not isinstance(given, str) or len(given.lower().partition("e")[2]) < 6, "a number's exponent is too long")
    return Fraction(given)
