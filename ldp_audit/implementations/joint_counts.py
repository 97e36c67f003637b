r"""What two inputs' whole-number counts say: epsilon and delta of an implemented channel, without rounding.

A program that maps N equally likely words to outputs leads c_y of them to the output y on one input and c'_y on the
other. With t = e**epsilon,

    epsilon = max_y |ln(c_y / c'_y)|,   delta(epsilon) = max(sum_y (c_y - t c'_y)_+, sum_y (c'_y - t c_y)_+) / N.

t is enclosed between two fractions, and everything else is exact. For a float epsilon other than 0, t is transcendental
(Lindemann), so that delta(epsilon) equals no fraction unless t has no part in it: whether delta(epsilon) is above a
number is decided by enough digits of t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from ldp_audit.mechanisms.randomness import log_ratio

_DIGITS, _MOST_DIGITS = 60, 2000  # of e**epsilon; the smallest float above 0 moves it in its 324th


@dataclass(frozen=True)
class JointCounts:
    """How many words of each of two inputs lead to an output; outputs with the same two numbers are one row.

    total: words of each input, all equally likely.   rows: (words of the first, words of the second, such outputs);
    those of outputs that neither reaches are dropped.
    """

    total: int
    rows: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        if any(min(row) < 0 for row in self.rows):
            raise ValueError("rows must hold whole numbers >= 0")
        object.__setattr__(self, "rows", tuple(row for row in self.rows if any(row[:2]) and row[2]))
        for side, name in enumerate(("first", "second")):
            words = sum(row[side] * row[2] for row in self.rows)
            if words != self.total:
                raise ValueError(f"the {name} input's counts must add up to {self.total} words, they make {words}")

    @property
    def epsilon(self) -> float:
        """The pure epsilon, the larger of the two directions; inf where an output has no word on one side."""
        worst = self.worst_row
        return math.inf if min(worst[:2]) == 0 else log_ratio(max(worst[:2]), min(worst[:2]))

    @property
    def worst_row(self) -> tuple[int, int, int]:
        """The row whose outputs tell most: with most words where the other input has none, else of largest ratio."""
        return max(self.rows, key=_telling)

    def exclusive(self, side: int) -> tuple[int, int]:
        """How many outputs only this side (0: the first input) reaches, and by how many words."""
        own = [(row[side], row[2]) for row in self.rows if row[1 - side] == 0]
        return sum(outputs for _, outputs in own), sum(words * outputs for words, outputs in own)

    def delta(self, epsilon: float) -> float:
        """delta at this epsilon, the larger of the two directions; at inf, the share of what one input alone reaches.

        epsilon: 0..inf. The value is within one unit of the last place. Raises ValueError for other numbers.
        """
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
        return float(self._delta(next(_enclosures(epsilon, self.total))[0]))

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta, the two floats taken as the exact numbers that they are; certain."""
        bound = Fraction(delta)
        for low, high in _enclosures(epsilon, self.total):
            if self._delta(high) > bound:
                return True
            if self._delta(low) <= bound:
                return False
        raise ArithmeticError(f"delta at epsilon {epsilon!r} is too near {delta!r} to tell which is larger")

    def _delta(self, t: Fraction) -> Fraction:
        """delta where e**epsilon is t."""
        p, q = t.numerator, t.denominator
        forwards = sum(max(0, q * first - p * second) * outputs for first, second, outputs in self.rows)
        backwards = sum(max(0, q * second - p * first) * outputs for first, second, outputs in self.rows)
        return Fraction(max(forwards, backwards), q * self.total)


def _telling(row: tuple[int, int, int]) -> tuple[bool, Fraction]:
    fewer, more = sorted(row[:2])
    return (True, Fraction(more)) if fewer == 0 else (False, Fraction(more, fewer))


def _enclosures(epsilon: float, total: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Fractions below and above e**epsilon, ever closer; any t >= total stands for all of them."""
    if epsilon == 0 or epsilon > math.log(total) + 1:
        t = Fraction(1 if epsilon == 0 else total)
        yield t, t
        return
    digits = _DIGITS
    while digits <= _MOST_DIGITS:
        with localcontext() as context:
            context.prec = digits
            t = Fraction(Decimal(epsilon).exp())  # rounded to the nearest: at most half a unit of the last digit off
        margin = t / 10 ** (digits - 1)
        yield max(t - margin, Fraction(1)), t + margin
        digits *= 2
