"""Unary encoding: the value as k bits of which its own is one, each kept or flipped independently.

A bit is reported as one with probability p if it is the value's own, else with probability q. Two values change two
bits, so the privacy loss is that of two coordinates, whatever k: ln(p (1 - q) / ((1 - p) q)), its negative, or 0.
Symmetric (the basic RAPPOR): p = s / (s + 1) and q = 1 / (s + 1), s = e**(epsilon/2). Optimised: p = 1/2 and q = 1 /
(t + 1), the least variance of rare values.

The sampler makes a bit one where a word is among the lowest A of 2**bits (its own) or the lowest B (another); B is
rounded up, so that the implemented ratio A (2**bits - B) / ((2**bits - A) B) is at most t.

Sources: Erlingsson, Pihur, Korolova, RAPPOR (CCS 2014); Wang, Blocki, Li, Jha (USENIX Security 2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Expr, Rational

from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.finite_precision import WholeWords
from ldp_audit.mechanisms.frequency.values import VALUES, OfValues, values_of
from ldp_audit.mechanisms.inputs import array_of, numbers_of
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses
from ldp_audit.mechanisms.randomness import NumpySource, Source, rarer_words
from ldp_audit.mechanisms.short_words import BLOCK
from ldp_audit.mechanisms.supports import Supports, report_rows
from ldp_audit.mechanisms.variable import ROOT_T, T, Variable
from ldp_audit.numerics import as_float, log_ratio, shown

_FIRST = Variable("z", 0, 1, integer=True)
"""Which of two values is the input."""
_LISTED = 10
"""The most bits whose 2**k reports are listed."""


@dataclass(frozen=True)
class UnaryEncoding(OfValues):
    """Values 0 .. k-1; the report is k bits, uint8, one more axis at the end.

    epsilon: nats, > 0, finite.   k: a whole number >= 2.   kind: "optimised", "symmetric", or "given" (see `of`).
    p, q: the probabilities of a one, where the kind is "given". Raises ValueError for anything else.
    """

    epsilon: float
    k: int
    kind: Literal["optimised", "symmetric", "given"] = "optimised"
    p: float | None = None
    q: float | None = None

    parameters = (BUDGET, VALUES)
    example = FamilyExample(
        "UnaryEncoding(epsilon=1, k=3)",
        "the two bits of two values, of which z is the input, as all others have one law for both; t = e^epsilon",
        worst=((1, {"z": 0}), (1, {"z": 1})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in ("optimised", "symmetric", "given"):
            raise ValueError(f'kind must be "optimised", "symmetric" or "given", got {self.kind!r}')
        given = [self.kind == "given", self.p is not None, self.q is not None]
        if any(given) and not all(given):
            raise ValueError(f'p and q must be given where kind is "given", and there alone, got {self!r}')
        if self.kind == "given":
            exact = UnaryEncoding._epsilon(self.p, self.q)
            if not math.isclose(self.epsilon, exact, rel_tol=1e-12):
                raise ValueError(f"epsilon must be {exact!r}, that of p and q, got {self.epsilon!r}")
            object.__setattr__(self, "epsilon", exact)  # what is given may be a rounding below it

    def __repr__(self) -> str:
        given = f", p={self.p!r}, q={self.q!r}" if self.kind == "given" else ""
        return f"UnaryEncoding(epsilon={self.epsilon!r}, k={self.k!r}, kind={self.kind!r}{given})"

    @classmethod
    def of(cls, p: float, q: float, k: int) -> UnaryEncoding:
        """Bits that are one with probability p (the value's own) and q (another), 0 < q < p < 1; ValueError else."""
        return cls(cls._epsilon(p, q), k, "given", as_float(p), as_float(q))

    @staticmethod
    def _epsilon(p: Any, q: Any) -> float:
        own, other = as_float(p), as_float(q)
        if not 0 < other < own < 1:
            raise ValueError(f"p and q must be numbers with 0 < q < p < 1, got {shown(p)} and {shown(q)}")
        odds = Fraction(own) * (1 - Fraction(other)) / ((1 - Fraction(own)) * Fraction(other))
        return log_ratio(odds.numerator, odds.denominator)

    def symbolic(self) -> SymbolicChannel:
        """The law of the bits of two values, in z and t = e**epsilon (s = e**(epsilon/2) for the symmetric kind)."""
        own, other = self._formulas()
        return two_bits(f"{self.kind} unary encoding, two bits", _FIRST, own, other)

    def ones(self) -> tuple[float, float]:
        """p and q: the probability of a one at the value's own place, and at another."""
        if self.p is not None and self.q is not None:
            return self.p, self.q
        if self.kind == "symmetric":
            return expit(self.epsilon / 2), expit(-self.epsilon / 2)
        return 0.5, expit(-self.epsilon)

    def logs(self) -> tuple[Logs, Logs]:
        """Log probabilities of a zero and of a one, at the value's own place and at another.

        Not from `ones()`, which rounds p near 1 so that 1 - p has few digits, or none from an epsilon of 74 on.
        """
        if self.kind == "given":
            own, other = self.ones()
            return (math.log1p(-own), math.log(own)), (math.log1p(-other), math.log(other))
        likely = -math.log1p(math.exp(-self.bit_epsilon()))
        other_logs = likely, likely - self.bit_epsilon()
        return (other_logs[::-1] if self.kind == "symmetric" else (-math.log(2), -math.log(2))), other_logs

    def bit_epsilon(self) -> float:
        """ln((1 - q)/q), where the kind is not "given"."""
        return self.epsilon / 2 if self.kind == "symmetric" else self.epsilon

    def losses(self) -> Losses:
        """epsilon, where the first value's bit is one and the second's zero; 0 where both are the same."""
        own, other = self.logs()
        return Losses([self.epsilon], [own[1] + other[0]])

    def blanket(self) -> Blanket:
        """See base."""
        return Blanket.of_bits(*self.logs(), self.k)

    def supports(self) -> Supports:
        """See base: a report supports the values of its ones."""
        own, other = self.ones()
        missed = other if self.kind == "symmetric" else 1 - own
        return Supports(self.k, own, missed, other, self._count)

    def _count(self, reports: ArrayLike) -> tuple[int, NDArray[np.int64]]:
        given = array_of("reports", reports)
        if given.dtype == np.uint8 and given.ndim == 2 and given.shape[1] == self.k and given.max(initial=0) <= 1:
            return len(given), given.sum(axis=0, dtype=np.int64)  # without a copy of eight times the size
        rows = report_rows(given, [1] * self.k)
        return len(rows), rows.sum(axis=0)

    def report_bits(self) -> float:
        """See base: k."""
        return float(self.k)

    def reports(self) -> Sequence[tuple[int, ...]] | None:
        """All 2**k reports, for up to ten values."""
        return list(product((0, 1), repeat=self.k)) if self.k <= _LISTED else None

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the bits y, shape (..., k), at the value x, shape (...); broadcasts; -inf for no bits."""
        return self.log_prob_at(y, x, *self.logs())

    def log_prob_at(self, y: ArrayLike, x: ArrayLike, own: Logs, other: Logs) -> NDArray[np.float64] | np.float64:
        """`log_prob`, for given log probabilities of a zero and of a one, at the value's own place and at another."""
        bits, values = numbers_of("y", y), values_of(array_of("x", x), self.k)
        if bits.ndim == 0 or bits.shape[-1] != self.k:
            raise ValueError(f"y must be bits of shape (..., {self.k}), got shape {bits.shape}")
        ones = (bits == 1).sum(axis=-1)
        at = np.asarray(values, np.int64)[..., None]
        mine = np.take_along_axis(*np.broadcast_arrays(bits, at), axis=-1)[..., 0] == 1
        rest = (ones - mine) * other[1] + (self.k - 1 - (ones - mine)) * other[0]
        known = np.all((bits == 0) | (bits == 1), axis=-1)
        return np.where(known, rest + np.where(mine, own[1], own[0]), -np.inf)[()]

    def implemented(self, bits: int = 64) -> FiniteUnaryEncoding:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return FiniteUnaryEncoding(self, bits)

    def _formulas(self) -> tuple[Expr, Expr]:
        if self.kind == "given":
            return Rational(Fraction(self.p)), Rational(Fraction(self.q))  # type: ignore[arg-type]
        if self.kind == "symmetric":
            return ROOT_T / (ROOT_T + 1), 1 / (ROOT_T + 1)
        return Rational(1, 2), 1 / (T + 1)


Logs = tuple[float, float]


def two_bits(name: str, which: Variable, own: Expr, other: Expr, public: Sequence[Variable] = ()) -> SymbolicChannel:
    """Two independent bits, ones with probability `own` at the place of the input, 0 or 1, and `other` elsewhere."""
    ones = [other + (own - other) * Ind(which, place) for place in (0, 1)]
    atoms = [
        ((first, second), (ones[0] if first else 1 - ones[0]) * (ones[1] if second else 1 - ones[1]))
        for first, second in ((1, 1), (1, 0), (0, 1), (0, 0))
    ]
    return SymbolicChannel(name, inputs=which, atoms=atoms, public=public)


@dataclass(frozen=True)
class FiniteUnaryEncoding(WholeWords):
    """Unary encoding with probabilities in whole words."""

    mechanism: UnaryEncoding

    def counts(self) -> tuple[int, int]:
        """A and B: the words that make a bit one, at the value's own place and at another; half if bits are uniform."""
        m, total = self.mechanism, 2**self.bits
        if m.kind == "given":
            own = min(max(round(Fraction(m.p) * total), 1), total - 1)  # type: ignore[arg-type]
            p, q = Fraction(m.p), Fraction(m.q)  # type: ignore[arg-type]
            odds = (1 - p) * q / (p * (1 - q))  # 1/t
            other = math.ceil(total * own * odds / (own * odds + total - own))
            return own, min(other, own)
        half = total // 2
        other = rarer_words(m.bit_epsilon(), 1, total)
        if other is None:
            return half, half
        return (total - other if m.kind == "symmetric" else half), other

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: at most the mechanism's."""
        own, other = self.counts()
        total = 2**self.bits
        return min(log_ratio(own * (total - other), (total - own) * other), self.mechanism.epsilon)

    def losses(self) -> Losses:
        """The implemented epsilon, where the first value's bit is one and the second's zero."""
        own, other = self.counts()
        return Losses([self.exact_epsilon()], [log_ratio(own * (2**self.bits - other), 4**self.bits)])

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the bits y at the value x, from the counts of words; broadcasts."""
        return self.mechanism.log_prob_at(y, x, *self.logs())

    def logs(self) -> tuple[Logs, Logs]:
        """Log probabilities of a zero and of a one, at the value's own place and at another."""
        total = 2**self.bits
        own, other = ((log_ratio(total - one, total), log_ratio(one, total)) for one in self.counts())
        return own, other

    def draw(self, x: Any, source: Source) -> Any:
        """k bits for each value."""
        xp, k = source.xp, self.mechanism.k
        values = xp.astype(values_of(x, k, xp), xp.int64)
        if self._by_short_words(source):
            places = np.arange(0, values.size * k, k) + values.reshape(-1)
            return self._drawn(places, values.size * k, source).reshape(*values.shape, k)
        return self._by_words(values[..., None] == source.constant(np.arange(k), xp.int64), source)

    def perturbed(self, bits: Any, source: Source) -> Any:
        """Bits of any shape, uint8: each one with an own bit's probability where it is one, else with another's."""
        if self._by_short_words(source):
            return self._drawn(np.flatnonzero(bits), bits.size, source).reshape(bits.shape)
        return self._by_words(bits == 1, source)

    def _by_short_words(self, source: Source) -> TypeGuard[NumpySource]:
        return isinstance(source, NumpySource) and self.bits == 64

    def _by_words(self, ones: Any, source: Source) -> Any:
        """A whole word for each bit."""
        xp, first = source.xp, 2 ** (self.bits - 1)
        limits = source.constant([count - first for count in self.counts()], xp.int64)
        words = source.words(tuple(ones.shape), self.bits)
        return xp.astype(words < xp.where(ones, limits[0], limits[1]), xp.uint8)

    def _drawn(self, places: NDArray[np.int64], size: int, source: NumpySource) -> NDArray[np.uint8]:
        """The same distribution, where the first 16 bits of most words decide.   places: of the ones, ascending."""
        limits = [count - 2**63 for count in self.counts()]
        found = np.empty(size, np.uint8)
        for start in range(0, size, BLOCK):
            block = found[start : start + BLOCK].view(np.bool_)
            first, last = np.searchsorted(places, [start, start + block.size])
            _fill(block, places[first:last] - start, limits, source)
        return found


def _fill(found: NDArray[np.bool_], places: NDArray[np.int64], limits: Sequence[int], source: NumpySource) -> None:
    """Whether a word is below the second limit, or, at these places, below the first; by 16 bits where they decide."""
    short, (own, other) = source.short_words(found.size), limits
    np.less(short, np.int16(other >> 48), out=found)
    tied = np.flatnonzero(short == np.int16(other >> 48))
    found[tied] = source.lengthened(short, tied) < other
    mine = short[places]
    found[places] = mine < np.int16(own >> 48)
    tied = places[mine == np.int16(own >> 48)]
    found[tied] = source.lengthened(short, tied) < own
