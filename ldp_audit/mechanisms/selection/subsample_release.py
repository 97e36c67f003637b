"""NFDP: a random sample of the records is released without noise; only the sampling protects the records.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Theorems 1 and 2. Their pair (epsilon, delta) holds because of delta alone:
the profile is constant, sup delta(e) = q for every e, where q is the probability that a record is in the sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Expr, oo

from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import Adjacency, FamilyExample, Mechanism, Parameter
from ldp_audit.mechanisms.randomness import BITS, Source, source_of
from ldp_audit.mechanisms.variable import Variable

RECORDS = Variable("n", 1, oo, integer=True)
DRAWS = Variable("k", 0, RECORDS, integer=True)
PRESENT = Variable("z", 0, 1, integer=True)
"""Whether one record is in the data: n records with it, n - 1 without."""


def _seen(kind: str, included: Expr) -> SymbolicChannel:
    """Whether the sample contains the record: a sufficient statistic for the two data sets."""
    atoms = {1: PRESENT * included, 0: 1 - PRESENT * included}
    return SymbolicChannel(f"sampling {kind} replacement, seen by one record", PRESENT, atoms, public=(RECORDS, DRAWS))


WITHOUT_REPLACEMENT = _seen("without", DRAWS / RECORDS)
WITH_REPLACEMENT = _seen("with", 1 - (1 - 1 / RECORDS) ** DRAWS)


@dataclass(frozen=True)
class SubsampleRelease(Mechanism):
    """k of n records, without or with replacement; the output is the sample, in the random order of the draws.

    n: records, >= 1.   k: draws, >= 0, at most n without replacement. Raises ValueError for anything else.
    """

    n: int
    k: int
    replacement: bool = False

    parameters = (
        Parameter("n", RECORDS, typical=(10, 10_000)),
        Parameter("k", Variable("k", 0, oo, integer=True), typical=(1, 100)),
    )
    adjacency: ClassVar[Adjacency | None] = "add/remove"
    example = FamilyExample(
        "SubsampleRelease(n=10, k=3)",
        "z: whether one record is in the data; n records with it, k draws",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.replacement, bool):
            raise ValueError(f"replacement must be True or False, got {self.replacement!r}")
        if not self.replacement and self.k > self.n:
            raise ValueError(f"k must be at most n = {self.n} without replacement, got {self.k!r}")

    def symbolic(self) -> SymbolicChannel:
        """The distribution of the record's presence in the sample, in n and k."""
        return WITH_REPLACEMENT if self.replacement else WITHOUT_REPLACEMENT

    def inclusion(self) -> float:
        """q, the probability that a given record is in the sample: k/n, or 1 - (1 - 1/n)**k with replacement."""
        return -math.expm1(self._log_left_out(self.n)) + 0.0 if self.replacement else self.k / self.n

    def exact_epsilon(self) -> float:
        """Infinity for k >= 1, as a sample with a record cannot come from the data without it; 0 for k = 0."""
        return math.inf if self.k else 0.0

    def pair_loss(self) -> PairLoss:
        """See base: from the data with the record, which a sample with it reveals, to the data without it."""
        return release_loss(self._log_left_out(self.n), 0.0)

    def replaced_loss(self) -> PairLoss:
        """See base: a sample with either record reveals it."""
        left_out = self._log_left_out(self.n)
        return release_loss(left_out, left_out)

    def worst_pair(self) -> tuple[str, str]:
        """The neighbours that attain delta()."""
        return "all n records", "one record removed"

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """q at every epsilon, the supremum over add/remove and substitution neighbours; shape of `epsilon`."""
        return np.full_like(levels(epsilon), self.inclusion())[()]

    def published(self) -> tuple[float, float]:
        """The paper's (epsilon, delta): (ln((n+1)/(n+1-k)), k/n), or (k ln((n+1)/n), 1 - ((n-1)/n)**k)."""
        return 0.0 - self._log_left_out(self.n + 1), self.inclusion()

    def log_prob(self, y: Any, x: Any) -> NDArray[np.float64] | np.float64:
        """Log probability of the sample y, in order, from the data x; shape (..., k) to (...).

        y: labels of k records, in the order of the draws.
        x: a whole number m, for the data 0 .. m-1, or an array of m different labels (numbers or texts); m is n, or n -
            1 or n + 1 for neighbouring data.
        Every ordered sample of m records has probability (m-k)!/m!, or m**-k with replacement; -inf where a label is
        not in the data, or repeated without replacement. Raises ValueError for other shapes, and where k records cannot
        be drawn from x.
        """
        drawn, size = array_of("y", y), _size(x)
        if abs(size - self.n) > 1 or size < (min(self.k, 1) if self.replacement else self.k):
            raise ValueError(f"x must hold {self.n} records, or one more or less, and {self.k} to draw; got {size}")
        if drawn.ndim == 0 or drawn.shape[-1] != self.k:
            raise ValueError(f"y must have shape (..., {self.k}), got {drawn.shape}")
        possible = np.all(_is_record(drawn, x), axis=-1)
        if not self.replacement:
            in_order = np.sort(drawn, axis=-1)
            possible &= np.all(in_order[..., 1:] != in_order[..., :-1], axis=-1)
        ways = self.k * math.log(max(size, 1)) if self.replacement else _log_arrangements(size, self.k)
        return np.where(possible, 0.0 - ways, -np.inf)[()]

    def implemented(self, bits: int = 64) -> SubsampleRelease:
        """The mechanism itself, as its draws are exactly uniform. ValueError unless bits are 2..64."""
        BITS.check(bits)
        return self

    def sample(self, x: Any, *, rng: Any) -> Any:
        """k of the n records x, shape (n, ...) to (k, ...), all ordered samples exactly equally likely (see base)."""
        source = source_of(rng)
        records = source.array("x", x)
        if records.ndim == 0 or len(records) != self.n:
            raise ValueError(f"x must hold {self.n} records, got shape {tuple(records.shape)}")
        if self.replacement:
            return records[source.below(self.n, (self.k,))]
        draw = _first_different if 2 * self.k <= self.n else _first_by_keys
        return records[draw(source, self.n, self.k)]

    def _log_left_out(self, size: int) -> float:
        """The log probability that one of `size` records is not drawn."""
        drawn = SamplingRate.with_replacement if self.replacement else SamplingRate.without_replacement
        return drawn(size, self.k).log_left_out


def release_loss(log_first: float, log_second: float) -> PairLoss:
    """The loss of a released sample, which has the record that differs, or not; without it, it is common to both data.

    log_first, log_second: log probabilities of samples without it, by the data that it differs from and to.
    """
    if log_first == -math.inf:
        return INFINITE_LOSS
    return LossWithInfinity(ZERO_LOSS, log_first, log_second) if log_first < 0 else ZERO_LOSS


def _first_different(source: Source, n: int, k: int) -> Any:
    """The first k distinct values of an i.i.d. uniform stream; for k <= n / 2, at least half are new on average."""
    xp, found = source.xp, source.below(n, (0,))
    while found.shape[0] < k:
        stream = xp.concat([found, source.below(n, (2 * (k - found.shape[0]),))])
        order = xp.argsort(stream, stable=True)
        first = xp.ones_like(order, dtype=xp.bool)
        first[order[1:]] = stream[order[1:]] != stream[order[:-1]]
        found = stream[first]
    return found[:k]


def _first_by_keys(source: Source, n: int, k: int) -> Any:
    """The first k of all n in the order of random 64-bit keys, redrawn if two agree: exactly uniform orders."""
    xp = source.xp
    while True:
        keys = source.words((n,))
        order = xp.argsort(keys)
        if not bool(xp.any(keys[order[1:]] == keys[order[:-1]])):
            return order[:k]


def _size(x: Any) -> int:
    records = array_of("x", x)
    if records.ndim == 0 and records.dtype.kind in "iu" and records >= 0:
        return int(records)
    known = records.ndim == 1 and records.dtype.kind in "iufUS" and bool(np.all(records == records))
    if not known or len(np.unique(records)) != len(records):
        raise ValueError(f"x must be a whole number of records, or an array of different labels, got {x!r}")
    return len(records)


def _is_record(drawn: NDArray, x: Any) -> NDArray[np.bool_]:
    records = array_of("x", x)
    texts = records.dtype.kind in "US"
    if drawn.size and (drawn.dtype.kind not in ("US" if texts else "iuf")):
        raise ValueError(f"y must be labels as in x, {'texts' if texts else 'numbers'}, got dtype {drawn.dtype}")
    if records.ndim == 0:
        return (drawn >= 0) & (drawn < records) & (drawn == np.floor(drawn))
    return np.isin(drawn, records)


def _log_arrangements(size: int, k: int) -> float:
    with mpmath.workdps(40 + 2 * len(str(size))):
        return float(mpmath.loggamma(size + 1) - mpmath.loggamma(size - k + 1))
