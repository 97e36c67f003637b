"""What is asked of the library, and how an answer is judged by the truth.

A bound fails if it is on the wrong side by more than the documented precision: 1e-12 of itself, and the rounding of the
losses to floats. A wrong side within that is counted as rounding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb
from scipy.optimize import brentq

from tests.truth.library import Bounds
from tests.truth.truths import Divergence, Number

RELATIVE = 2e-12
ROUNDING = 2e-15
"""Of the sum of all losses: by how much rounded losses may move an epsilon."""
TINY = 1e-320
"""Below the least deltas that floats can tell apart."""


@dataclass(frozen=True)
class Truth:
    """The largest divergence of the pairs in `attained` is reached; that of `cap` never exceeded (if given).

    reach: nats, the size of the losses in all, by which rounding is measured.
    """

    attained: tuple[Divergence, ...]
    reach: float = 0.0
    cap: tuple[Divergence, ...] | None = None

    def at(self, epsilon: Number) -> tuple[arb, arb]:
        """A lower and an upper bound of delta."""
        reached = [one.delta(epsilon) for one in self.attained]
        most = reached if self.cap is None else [one.delta(epsilon) for one in self.cap]
        return _largest([one.lower() for one in reached]), _largest([one.upper() for one in most])

    def slack(self, epsilon: float) -> float:
        """By how much an epsilon may be rounded."""
        return RELATIVE * epsilon + ROUNDING * self.reach


def _largest(values: list[arb]) -> arb:
    best = arb(0)
    for value in values:
        best = value if value > best else best
    return best


@dataclass(frozen=True)
class Judgement:
    """status: "right", "rounding" or "WRONG".   detail: what is wrong.   width: (upper - lower)/upper."""

    status: str
    detail: str = ""
    width: float = math.nan


def _judged(strict: str, certain: str, width: float) -> Judgement:
    if certain:
        return Judgement("WRONG", certain, width)
    return Judgement("rounding" if strict else "right", strict, width)


def _width(answer: Bounds) -> float:
    low, high = answer
    return (high - low) / high if 0 < high < math.inf and low > -math.inf else math.nan


class Question(ABC):
    """Judges an answer, and knows wrong ones."""

    @abstractmethod
    def judge(self, answer: Bounds) -> Judgement:
        """What the truth says of these bounds."""

    @abstractmethod
    def wrong(self) -> list[Bounds]:
        """An upper bound that is too small by a millionth, and a lower bound that is too large."""


@dataclass(frozen=True)
class DeltaAt(Question):
    """Bounds on delta at an epsilon."""

    truth: Truth
    epsilon: float

    def judge(self, answer: Bounds) -> Judgement:
        strict = self._complaint(answer, 0.0, 0.0)
        certain = strict and self._complaint(answer, self.truth.slack(self.epsilon), RELATIVE)
        return _judged(strict, certain, _width(answer))

    def _complaint(self, answer: Bounds, slack: float, relative: float) -> str:
        low, high = answer
        if not low <= high:
            return f"lower bound {low!r} exceeds upper bound {high!r}"
        least = self.truth.at(arb(self.epsilon) + slack)[0]
        if high * (1 + relative) + TINY < least:
            return f"delta({self.epsilon!r}) <= {high!r}, but is at least {_text(least)}"
        most = self.truth.at(max(0.0, self.epsilon - slack))[1]
        if low * (1 - relative) - TINY > most:
            return f"delta({self.epsilon!r}) >= {low!r}, but is at most {_text(most)}"
        return ""

    def wrong(self) -> list[Bounds]:
        least, most = (float(one.mid()) for one in self.truth.at(self.epsilon))
        listed = [(-math.inf, least * (1 - 1e-6)), (most * (1 + 1e-6), math.inf)]
        return listed if least > 1e-290 else []


@dataclass(frozen=True)
class EpsilonAt(Question):
    """Bounds on the least epsilon >= 0 whose delta is at most this one."""

    truth: Truth
    delta: float

    def judge(self, answer: Bounds) -> Judgement:
        strict = self._complaint(answer, exact=True)
        return _judged(strict, strict and self._complaint(answer, exact=False), _width(answer))

    def _complaint(self, answer: Bounds, *, exact: bool) -> str:
        low, high = answer
        if not low <= high:
            return f"lower bound {low!r} exceeds upper bound {high!r}"
        relative = 0.0 if exact else RELATIVE
        if high < math.inf:
            least = self.truth.at(arb(high) + (0.0 if exact else self.truth.slack(high)))[0]
            if least > self.delta * (1 + relative):
                return f"epsilon({self.delta!r}) <= {high!r}, but there delta is at least {_text(least)}"
        near = min(low, 1e5 + self.truth.reach)
        near -= 0.0 if exact else self.truth.slack(near)
        if near > 0:
            below = arb(near) * (1 - arb(2) ** -100)
            most = self.truth.at(below)[1]
            if most <= self.delta * (1 - relative):
                return f"epsilon({self.delta!r}) >= {low!r}, but there delta is at most {_text(most)}"
        return ""

    def wrong(self) -> list[Bounds]:
        if not 1e-290 < self.delta < 1:
            return []
        least = self._root(0)
        most = least * (1 + 1e-8) if self.truth.cap is None else self._root(1)
        found = [(-math.inf, least * (1 - 1e-6))] if 0 < least < math.inf else []
        return [*found, (most * (1 + 1e-6), math.inf)] if 0 < most < math.inf else found

    def _root(self, end: int) -> float:
        """Where the truth's end is as large as delta; infinite where it never falls so far."""
        if not self.truth.at(0.0)[end] > self.delta:
            return 0.0
        low, high = 0.0, 1e-6
        while self.truth.at(high)[end] > self.delta:
            low, high = high, 4 * high
            if high > 1e7:
                return math.inf

        def excess(epsilon: float) -> float:
            log = (self.truth.at(epsilon)[end] / self.delta).log()
            return max(-100.0, min(100.0, float(log.mid()))) if log.is_finite() else -100.0

        return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-10))  # type: ignore[arg-type]


@dataclass(frozen=True)
class ValueOf(Question):
    """Bounds on a number that is known as a ball."""

    value: arb

    def judge(self, answer: Bounds) -> Judgement:
        return _judged(self._complaint(answer, 0.0), self._complaint(answer, RELATIVE), _width(answer))

    def _complaint(self, answer: Bounds, relative: float) -> str:
        low, high = answer
        if high + relative * abs(high) + TINY < self.value:
            return f"at most {high!r}, but is {_text(self.value)}"
        if low - relative * abs(low) - TINY > self.value:
            return f"at least {low!r}, but is {_text(self.value)}"
        return ""

    def wrong(self) -> list[Bounds]:
        value = float(self.value.mid())
        return [(-math.inf, value * (1 - 1e-6)), (value * (1 + 1e-6), math.inf)] if value > 1e-290 else []


@dataclass(frozen=True)
class Budget(Question):
    """The parameter that meets (epsilon, delta), and a value next to it that does not; or only the first of the two."""

    truth: Callable[[float], Truth]
    epsilon: float
    delta: float
    low: float
    high: float
    increasing: bool

    def judge(self, answer: Bounds) -> Judgement:
        value, excluded = answer if answer[0] > -math.inf else (answer[1], answer[1])
        width = abs(value - excluded) / max(abs(value), 1e-300)
        truth = self.truth(value)
        if not truth.at(arb(self.epsilon))[0] > self.delta:
            return Judgement("right", width=width)
        spent = truth.at(arb(self.epsilon) + truth.slack(self.epsilon))[0]
        words = f"at {value!r} delta({self.epsilon!r}) is at least {_text(spent)}, above {self.delta!r}"
        return Judgement("WRONG" if spent > self.delta * (1 + RELATIVE) else "rounding", words, width)

    def wrong(self) -> list[Bounds]:
        safe, unsafe = (self.low, self.high) if self.increasing else (self.high, self.low)
        for _ in range(50):
            middle = (safe + unsafe) / 2
            if self.truth(middle).at(self.epsilon)[0] > self.delta:
                unsafe = middle
            else:
                safe = middle
        wrong = safe * (1 + 1e-6 if self.increasing else 1 - 1e-6)
        return [(wrong, wrong)]


def _text(value: arb) -> str:
    return value.str(20, radius=False)
