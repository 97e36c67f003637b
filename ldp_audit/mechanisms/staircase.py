"""Staircase mechanisms: the input favours some outputs, and each of these is e**epsilon likelier than any other.

    P(a favoured output) = t (1 - P(none)) / (t F + O),   P(another one) = (1 - P(none)) / (t F + O),

for F favoured outputs and O others, t = e**epsilon; some mechanisms report none with a probability P(none) independent
of the input. The privacy loss is epsilon, 0 or -epsilon.

Of W = 2**bits words some report none, L of the others lead to the side of the outputs not favoured, the rest to the
favoured ones; an output of that side is then exactly uniform. L is rounded up, so the ratio of two outputs'
probabilities, e to the implemented epsilon, is at most e**epsilon. Where no L keeps the ratio at 1 or above (few words,
or a tiny epsilon) the output is uniform over all, whatever the input.

Source: Kairouz, Oh, Viswanath, "Extremal Mechanisms for Local Differential Privacy" (JMLR 17, 2016).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.finite_precision import Thresholds, WholeWords
from ldp_audit.mechanisms.mechanism import Losses, Mechanism
from ldp_audit.mechanisms.randomness import Source, rarer_words
from ldp_audit.numerics import log_ratio

Logs = tuple[float, float, float]
"""Log probabilities of one favoured output, of one other output, and of none."""


class Staircase(Mechanism):
    """Base class; a subclass defines the sizes of both sides, the side of an output, and a uniform draw from a side."""

    epsilon: float

    @abstractmethod
    def sides(self) -> tuple[int, int]:
        """F and O: the numbers of outputs that an input favours, and of the others."""

    @abstractmethod
    def only_first(self) -> int:
        """The number of outputs that the first input of the worst pair favours and the second does not."""

    @abstractmethod
    def log_prob_by_side(self, y: Any, x: Any, logs: Logs) -> NDArray[np.float64] | np.float64:
        """`log_prob`, for given log probabilities of one output of each side, and of none."""

    @abstractmethod
    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The inputs, and the shape of their reports. Raises ValueError for invalid inputs."""

    @abstractmethod
    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """A report for each input, exactly uniform over the favoured outputs or over the others.

        x: from `checked`.   favoured: a boolean for each input; None for uniform reports over all outputs.
        """

    def none_log_prob(self) -> float:
        """Log probability of no report."""
        return -math.inf

    def report_bits(self) -> float:
        """log2 of the number of outputs, and of none where that is possible."""
        return math.log2(sum(self.sides()) + (self.none_log_prob() > -math.inf))

    def favoured_log_prob(self) -> float:
        """Log probability that the report is a favoured output."""
        favoured, others = self.sides()
        return -math.log1p(others / favoured * math.exp(-self.epsilon))

    def index_log_probs(self) -> tuple[float, float]:
        """Log probabilities of one favoured output, and of one other output."""
        inside = self.favoured_log_prob() - math.log(self.sides()[0])
        return inside, inside - self.exact_epsilon()

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon."""
        return self.epsilon

    def losses(self) -> Losses:
        """The exact epsilon, with the probability of the outputs that only the first input favours."""
        share = math.log(self.only_first() / self.sides()[0])
        return Losses([self.exact_epsilon()], [share + self.favoured_log_prob()])

    def log_prob(self, y: Any, x: Any) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, nats; broadcasts; -inf off the support."""
        return self.log_prob_by_side(y, x, (*self.index_log_probs(), self.none_log_prob()))

    def implemented(self, bits: int = 64) -> FiniteStaircase:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return FiniteStaircase(self, bits)


@dataclass(frozen=True)
class FiniteStaircase(WholeWords):
    """A staircase mechanism with probabilities in whole words."""

    mechanism: Staircase

    def none(self) -> int:
        """The number of words that report none."""
        return int(2**self.bits * math.exp(self.mechanism.none_log_prob()))

    def rarer(self) -> int | None:
        """L, the number of words for outputs that are not favoured; None where the output ignores the input."""
        favoured, others = self.mechanism.sides()
        return rarer_words(self.mechanism.exact_epsilon(), Fraction(others, favoured), 2**self.bits - self.none())

    def probabilities(self) -> tuple[Fraction, Fraction, Fraction]:
        """The exact probabilities of one favoured output, of one other output, and of none."""
        (favoured, others), total, none, rarer = self.mechanism.sides(), 2**self.bits, self.none(), self.rarer()
        if rarer is None:
            each = Fraction(total - none, total * (favoured + others))
            return each, each, Fraction(none, total)
        inside = Fraction(total - none - rarer, total * favoured)
        return inside, Fraction(rarer, total * others), Fraction(none, total)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: at most the mechanism's exact_epsilon()."""
        ratio = self.probabilities()[0] / self.probabilities()[1]
        return min(log_ratio(ratio.numerator, ratio.denominator), self.mechanism.exact_epsilon())

    def losses(self) -> Losses:
        """The implemented epsilon, with the probability of the outputs that only the first input favours."""
        mass = self.mechanism.only_first() * self.probabilities()[0]
        return Losses([self.exact_epsilon()], [log_ratio(*mass.as_integer_ratio())])

    def log_prob(self, y: Any, x: Any) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, from the counts of words; broadcasts."""
        first, second, none = (log_ratio(*p.as_integer_ratio()) if p else -math.inf for p in self.probabilities())
        return self.mechanism.log_prob_by_side(y, x, (first, second, none))

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each input; -1 for none."""
        (inputs, shape), none, rarer = self.mechanism.checked(x), self.none(), self.rarer()
        counts = (none, rarer or 0, 2**self.bits - none - (rarer or 0))
        side = Thresholds(counts, self.bits).draw(source, shape)
        drawn = self.mechanism.draw(inputs, None if rarer is None else side == 2, source)
        return source.xp.where(side == 0, source.xp.full_like(drawn, -1), drawn)[()] if none else drawn
