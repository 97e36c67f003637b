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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.finite_precision import Thresholds, WholeWords
from ldp_audit.mechanisms.mechanism import Losses, Mechanism
from ldp_audit.mechanisms.randomness import Source, rarer_words
from ldp_audit.numerics import log_ratio

_LISTED, _LISTED_EPSILON = 1500, 30.0
"""The probabilities of laws that are listed, and the epsilon up to which their logarithms have the digits."""

Logs = tuple[float, float, float]
"""Log probabilities of one favoured output, of one other output, and of none."""


class Staircase(Mechanism):
    """Base class; a subclass defines the sizes of both sides, the side of an output, and a uniform draw from a side."""

    epsilon: float

    @abstractmethod
    def sides(self) -> tuple[int | Fraction, int | Fraction]:
        """F and O: the numbers of outputs that an input favours, and of the others; shares of a continuum."""

    @abstractmethod
    def only_first(self) -> int | Fraction:
        """The number (or share) of outputs that the first input of the worst pair favours and the second does not."""

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

    def slack(self) -> int | Fraction:
        """How far F may be off, for any input, where `draw` is uniform over outputs that are not exactly uniform.

        O is then off by as much the other way.
        """
        return 0

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

    def blanket(self) -> Blanket:
        """See base; inputs between others, as those within a ball, have mixtures of their laws, and so lower bounds.

        Few values may have more in common than the low probability of every report: theirs is from all their laws.
        """
        reports, values = self.reports(), self.inputs(1)
        if (
            reports
            and values is not None
            and len(reports) * len(values) <= _LISTED
            and self.exact_epsilon() <= _LISTED_EPSILON
        ):
            rows = [[float(self.log_prob(report, value)) for report in reports] for value in values]
            if (found := Blanket.of_laws(np.exp(rows))) is not None:
                return found
        (favoured, others), only = self.sides(), self.only_first()
        total = favoured + others
        both, alone, neither = (float(one / total) for one in (favoured - only, only, others - only))
        third = [float(one / total) for one in self.third_favours()]
        return Blanket.of_two_levels(self.exact_epsilon(), both, alone, neither, math.exp(self.none_log_prob()), third)

    def third_favours(self) -> Sequence[int | Fraction]:
        """How many outputs a third input favours, of those that the two of `only_first` both favour, the first alone,
        the second alone, and neither; for lower bounds on shuffled reports, and empty where it is not known.
        """
        return ()

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
        """L, the number of words for outputs that are not favoured; None where the output ignores the input.

        With a slack s, that for the least F and the greatest O; None also where, for the greatest F and the least O, a
        favoured output would not be the likelier one.
        """
        (favoured, others), slack, words = self.mechanism.sides(), self.mechanism.slack(), 2**self.bits - self.none()
        found = rarer_words(self.mechanism.exact_epsilon(), Fraction(others + slack, favoured - slack), words)
        safe = found is not None and (words - found) * (others - slack) >= found * (favoured + slack)
        return found if safe else None

    def probabilities(self) -> tuple[Fraction, Fraction, Fraction]:
        """The exact probabilities of one favoured output, of one other output, and of none; as if without slack."""
        (favoured, others), total, none, rarer = self.mechanism.sides(), 2**self.bits, self.none(), self.rarer()
        if rarer is None:
            each = Fraction(total - none, total * (favoured + others))
            return each, each, Fraction(none, total)
        inside = Fraction(total - none - rarer, total * favoured)
        return inside, Fraction(rarer, total * others), Fraction(none, total)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: at most the mechanism's exact_epsilon().

        With a slack s, an upper bound: a favoured output has at most probability (1 - L/W)/(F - s) times that of a
        uniform draw, another one at least L/W/(O + s) times. Two inputs that both favour an output, or neither, differ
        by less, as L keeps (1 - L/W)/(F + s) >= L/W/(O - s).
        """
        inside, outside, _ = self.probabilities()
        (favoured, others), slack = self.mechanism.sides(), self.mechanism.slack() if self.rarer() is not None else 0
        ratio = inside / outside * Fraction(favoured, favoured - slack) * Fraction(others + slack, others)
        return min(log_ratio(ratio.numerator, ratio.denominator), self.mechanism.exact_epsilon())

    def losses(self) -> Losses:
        """The implemented epsilon, with the probability of the outputs that only the first input favours.

        With a slack s, a loss whose profile is an upper bound. The outputs that the first input does not favour have a
        loss of at most k = ln((O + s)/(O - s)), so delta(e) <= P (1 - e**(e - epsilon))_+ + Q (1 - e**(e - k))_+, with
        P, Q the probabilities of both sides. The second term is at most Q (1 - e**-k), and 0 beyond k; up to there
        adding Q (1 - e**-k)/(1 - e**(k - epsilon)) to P adds as much to the first. No mechanism of this epsilon has
        more than the mass 1/(1 + e**-epsilon).
        """
        mass, epsilon = self.mechanism.only_first() * self.probabilities()[0], self.exact_epsilon()
        (_, others), slack = self.mechanism.sides(), self.mechanism.slack()
        if not slack or self.rarer() is None:
            return Losses([epsilon], [log_ratio(*mass.as_integer_ratio())])
        apart = log_ratio(*Fraction(others + slack, others - slack).as_integer_ratio())
        more = (
            float(1 - mass) * -math.expm1(-apart) / -math.expm1(min(apart - epsilon, 0.0)) if apart < epsilon else 1.0
        )
        return Losses([epsilon], [min(math.log(float(mass) + more), -math.log1p(math.exp(-epsilon)))])

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
