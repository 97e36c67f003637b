"""Randomised response on k values: report the true value with probability t / (t + k - 1), else another, uniformly.

The sampler gives L of 2**bits equally likely words to each wrong label, L = 2**bits / (t + k - 1) rounded up, and the
other words to the truth. A word's quotient by L is the distance of the report behind the value on the circle of labels;
quotients beyond the k - 1 wrong labels mean the truth. The ratio of any two inputs' probabilities is at most (2**bits -
(k - 1) L) / L <= t. Where no integer L makes that ratio lie in [1, t], reports are uniform.

Sources: Warner (1965) for k = 2; Kairouz, Oh, Viswanath (2014) for k values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.finite_precision import WholeWords
from ldp_audit.mechanisms.inputs import array_of, numbers_of, whole_numbers
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import FamilyExample, Losses, Mechanism, Parameter
from ldp_audit.mechanisms.randomness import NumpySource, Source, rarer_words
from ldp_audit.mechanisms.short_words import SHORT, Draw, Labels
from ldp_audit.mechanisms.supports import Supports
from ldp_audit.mechanisms.variable import EPSILON, T, Variable
from ldp_audit.numerics import log_ratio


@dataclass(frozen=True)
class RandomizedResponse(Mechanism):
    """Values 0 .. k-1; a sample has the shape and dtype of the values, which must hold every label.

    epsilon: nats, >= 0; 0 gives uniform reports, and infinity the value itself.   k: a whole number >= 2.
    Raises ValueError for anything else.
    """

    epsilon: float
    k: int = 2

    parameters = (
        Parameter("epsilon", Variable("epsilon", 0, oo, latex=EPSILON.latex), typical=(0.1, 10.0), infinite=True),
        Parameter("k", Variable("k", 2, oo, integer=True), typical=(2, 40)),
    )
    example = FamilyExample(
        "RandomizedResponse(epsilon=1, k=3)",
        "x: the value; t = e^epsilon",
        worst=((0, {"x": 0}), (0, {"x": 1})),
    )

    def symbolic(self) -> SymbolicChannel:
        """The definition for this k, in x and t = e**epsilon."""
        x = Variable("x", 0, self.k - 1, integer=True)
        return SymbolicChannel(
            f"randomised response on {self.k} values",
            inputs=x,
            atoms=[(y, (1 + (T - 1) * Ind(x, y)) / (T + self.k - 1)) for y in range(self.k)],
        )

    def losses(self) -> Losses:
        """epsilon, with probability t / (t + k - 1), and 0, where the report is neither input."""
        truth = -math.log1p((self.k - 1) * math.exp(-self.epsilon))
        return Losses([self.epsilon], [truth], (self.k - 2) * math.exp(truth - self.epsilon))

    def responses(self) -> int:
        """See base."""
        return self.k

    def blanket(self) -> Blanket:
        """See base."""
        third = (0.0, 0.0, 0.0, 1.0) if self.k > 2 else ()
        return Blanket.of_two_levels(self.epsilon, 0.0, 1.0, self.k - 2.0, third=third)

    def inputs(self, count: int) -> NDArray[np.int64]:  # noqa: ARG002
        """See base: all of them."""
        return np.arange(self.k)

    def worst_pair(self) -> tuple[int, int]:
        """0 and 1; any two inputs attain the suprema."""
        return 0, 1

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the value x, nats; broadcasts; -inf where y is no value."""
        y, x = numbers_of("y", y), self._values(x)
        known = (y >= 0) & (y < self.k) & (y == np.floor(y))
        truth = -math.log1p((self.k - 1) * math.exp(-self.epsilon))
        return np.where(known, np.where(y == x, truth, truth - self.epsilon), -np.inf)[()]

    def supports(self) -> Supports:
        """See base: a report supports the value that it is."""
        own, other = self._share_of_truth(), math.exp(-self.epsilon) * self._share_of_truth()
        return Supports(self.k, own, (self.k - 1) * other, other, self._count)

    def _count(self, reports: ArrayLike) -> tuple[int, NDArray[np.int64]]:
        labels = whole_numbers("reports", array_of("reports", reports), 0, self.k - 1).reshape(-1).astype(np.int64)
        return labels.size, np.bincount(labels, minlength=self.k)

    def reports(self) -> Sequence[int]:
        """0 .. k-1."""
        return range(self.k)

    def implemented(self, bits: int = 64) -> FiniteResponse:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return FiniteResponse(self, bits)

    def _share_of_truth(self) -> float:
        return expit(self.epsilon - math.log(self.k - 1))

    def _values(self, x: ArrayLike) -> NDArray:
        return whole_numbers("x", array_of("x", x), 0, self.k - 1)


@dataclass(frozen=True)
class FiniteResponse(WholeWords):
    """Randomised response with probabilities in whole words."""

    mechanism: RandomizedResponse

    def each(self) -> int | None:
        """L, the number of words for each wrong label; None where reports are uniform."""
        total, lies = 2**self.bits, self.mechanism.k - 1
        all_lies = rarer_words(self.mechanism.epsilon, lies, total)
        each = None if all_lies is None else -(-all_lies // lies)
        return each if each is not None and each * self.mechanism.k < total else None

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: ln((2**bits - (k - 1) L) / L), at most the mechanism's; 0 if uniform."""
        each = self.each()
        return 0.0 if each is None else log_ratio(2**self.bits - (self.mechanism.k - 1) * each, each)

    def losses(self) -> Losses:
        """Randomised response's, at the implemented epsilon."""
        return self.law().losses()

    def law(self) -> RandomizedResponse:
        """The same distribution as an ideal mechanism: randomised response of the implemented epsilon."""
        return replace(self.mechanism, epsilon=self.exact_epsilon())

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the value x, nats; broadcasts; -inf where y is no value."""
        return self.law().log_prob(y, x)

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each value."""
        xp, k, each = source.xp, self.mechanism.k, self.each()
        _require_room(x.dtype, k, xp)
        values = whole_numbers("x", x, 0, k - 1, xp)
        if each is None:
            return xp.astype(source.below(k, values.shape), values.dtype)
        return self._respond(values, source.words(values.shape, self.bits), each, xp)

    def fits_blocks(self, dtype: Any) -> bool:
        """For 64-bit words, unless reports are uniform."""
        return self.bits == 64 and self.each() is not None and dtype.kind in "biuf"

    def _respond(self, values: Any, words: Any, each: int, xp: Any) -> Any:
        labels = xp.astype(values, xp.int64) + self._turns(words, each, xp)
        return xp.astype(xp.where(labels < 0, labels + self.mechanism.k, labels), values.dtype)

    def _turns(self, words: Any, each: int, xp: Any) -> Any:
        """The distance of the report behind the value, in 1-k .. 0; 0 is the truth."""
        quotients, most = words // each, self._most()
        lies = (quotients < most) & (quotients > most - self.mechanism.k)
        return xp.where(lies, quotients, most) - most

    def _most(self) -> int:
        """The exclusive upper bound of the k - 1 quotients that mean wrong labels, centered near 0."""
        return (self.mechanism.k - 1) // 2

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` values, by short words."""
        each = self.each() or 1
        _require_room(dtype, self.mechanism.k, source.xp)
        fast = Labels(
            self.mechanism.k, _settled(self.mechanism.k, each), lambda words: self._turns(words, each, source.xp)
        )
        return fast.blocks(size, source)


@lru_cache(maxsize=32)
def _settled(k: int, each: int) -> NDArray[np.int64]:
    """`Labels.settled`: the turn of each 16-bit prefix if all its words have one turn; else 1."""
    first, most = np.arange(-(2**15), 2**15, dtype=np.int64) * SHORT, (k - 1) // 2
    lowest, highest = (np.clip(words // each, most - k, most) for words in (first, first + (SHORT - 1)))
    return np.where(lowest == highest, np.where(lowest == most - k, 0, lowest - most), 1)


def _require_room(dtype: Any, k: int, xp: Any) -> None:
    """ValueError where the dtype cannot hold the labels 0 .. k-1 exactly."""
    if xp.isdtype(dtype, "integral"):
        largest = min(int(xp.iinfo(dtype).max), 2**62)
    elif xp.isdtype(dtype, "real floating"):
        largest = int(2 / xp.finfo(dtype).eps)
    else:
        raise ValueError(f"x must be whole numbers in 0..{k - 1}, got dtype {dtype}")
    if k - 1 > largest:
        raise ValueError(f"x has dtype {dtype}, which cannot hold the labels 0..{k - 1} of a sample; use a wider one")
