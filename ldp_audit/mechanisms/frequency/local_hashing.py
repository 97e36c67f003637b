"""Local hashing: a random hash of the value, and randomised response on its g hashes.

The report is the seed of the hash and the perturbed hash. For one seed, two values have one law if their hashes agree,
and loss epsilon else; for any family of hashes epsilon is at most epsilon. Of the family used here the whole law is
exact: a value has m digits x_j in base b, the least prime factor of g, a seed m digits a_j in base g, and

    hash = (a_1 x_1 + ... + a_m x_m) mod g.

Two values differ in a digit by less than b, which is a unit modulo g, so over the g**m seeds the hashes of two values
agree with probability exactly 1/g. Binary local hashing has g = 2; optimised has g near t + 1.

Sources: Bassily, Smith (STOC 2015); Wang, Blocki, Li, Jha (USENIX Security 2017), Section 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.frequency.values import VALUES, OfValues, labels_of, values_of
from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Parameter
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.staircase import Logs, Staircase
from ldp_audit.mechanisms.supports import Supports, report_rows
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights

_SEEDS = Variable("N", 1, oo, integer=True)
_HASHES = Variable("g", 2, oo, integer=True)

LOCAL_HASHING = SymbolicWeights(
    "local hashing",
    [
        ("a seed with the value's hash", _SEEDS, T / (_SEEDS * (T + _HASHES - 1))),
        ("a seed with another hash", _SEEDS * (_HASHES - 1), 1 / (_SEEDS * (T + _HASHES - 1))),
    ],
)
"""N seeds, g hashes."""

_RANGE = Parameter("g", Variable("g", 2, 2**20, integer=True), typical=(2, 30))
_MOST_SEEDS = 2**62
"""Seeds are numbers below this, which int64 holds."""
_LISTED = 500
"""The most reports that are listed."""
_CELLS = 2**22
"""Hashes that are computed at once while reports are counted."""


@dataclass(frozen=True)
class LocalHashing(OfValues, Staircase):
    """Values 0 .. k-1; the report is (seed, hash), int64, one more axis of length 2 at the end.

    epsilon: nats, > 0, finite.   k: a whole number >= 2.   g: the number of hashes, 2 .. 2**20; the number nearest to
    e**epsilon + 1, and at most k, of which seeds are below 2**62, if not given. Raises ValueError for anything else.
    """

    epsilon: float
    k: int
    g: int | None = None

    parameters = (BUDGET, VALUES)
    example = FamilyExample(
        "LocalHashing(epsilon=1, k=3, g=2)",
        "N: the seeds; g: the hashes; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        hashes = _nearest(self.epsilon, self.k) if self.g is None else int(_RANGE.check(self.g))
        if _seeds(hashes, self.k) > _MOST_SEEDS:
            raise ValueError(
                f"g must have at most 2**62 seeds for {self.k} values, got {hashes}, whose least prime factor is "
                f"{_least_factor(hashes)}; a prime number has the fewest"
            )
        object.__setattr__(self, "g", hashes)

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in the numbers of seeds and hashes, and t = e**epsilon."""
        return LOCAL_HASHING

    def seeds(self) -> int:
        """The number of hashes in the family."""
        return _seeds(self.hashes(), self.k)

    def hashes(self) -> int:
        """g, given or chosen."""
        return cast("int", self.g)

    def sides(self) -> tuple[int, int]:
        """Reports (seed, hash) with the value's hash, and others."""
        return self.seeds(), self.seeds() * (self.hashes() - 1)

    def only_first(self) -> int:
        """The seeds for which two values have different hashes."""
        return self.seeds() // self.hashes() * (self.hashes() - 1)

    def third_favours(self) -> Sequence[int]:
        """Those of the value 0, whose hash is 0.

        Of several digits, the hashes of two values of one digit 1 are independent of each other. Of one digit, 1 and 2
        have the hashes a and 2 a: both agree with 0 for the seed 0, and else none.
        """
        seeds, hashes = self.seeds(), self.hashes()
        if seeds > hashes:
            one = seeds // hashes // hashes
            return one, one * (hashes - 1), one * (hashes - 1), one * (hashes - 1) ** 2
        return (1, 0, 0, hashes - 1) if self.k > 2 else ()

    def supports(self) -> Supports:
        """See base: a report supports the values of its hash; another value's is the same for 1/g of the seeds."""
        away = math.log(self.hashes() - 1)
        return Supports(self.k, expit(self.epsilon - away), expit(away - self.epsilon), 1 / self.hashes(), self._count)

    def reports(self) -> Sequence[tuple[int, int]] | None:
        """All pairs (seed, hash), where they are few."""
        few = self.seeds() * self.hashes() <= _LISTED
        return list(product(range(self.seeds()), range(self.hashes()))) if few else None

    def log_prob_by_side(self, y: ArrayLike, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y, shape (..., 2), at the value x, shape (...); broadcasts."""
        pair = array_of("y", y)
        if pair.ndim == 0 or pair.shape[-1] != 2 or pair.dtype.kind not in "iuf":
            raise ValueError(f"y must be pairs (seed, hash), of shape (..., 2), got {pair.dtype} of {pair.shape}")
        values = values_of(array_of("x", x), self.k).astype(np.int64)
        limits = np.array([self.seeds(), self.hashes()])
        known = np.all((pair >= 0) & (pair < limits) & (pair == np.floor(pair)), axis=-1)
        whole = np.where(known[..., None], pair, 0).astype(np.int64)
        same = self.hash(whole[..., 0], values) == whole[..., 1]
        return np.where(known, np.where(same, logs[0], logs[1]), -np.inf)[()]

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The values, and their shape."""
        return labels_of(x, self.k)

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """A uniform seed, and the value's hash where `favoured` holds, else a uniform other one."""
        xp, shape, g = source.xp, tuple(x.shape), self.hashes()
        seed = source.below(self.seeds(), shape)
        if favoured is None:
            return xp.stack([seed, source.below(g, shape)], axis=-1)
        own = self.hash(seed, x)
        other = (own + 1 + source.below(g - 1, shape)) % g
        return xp.stack([seed, xp.where(favoured, own, other)], axis=-1)

    def hash(self, seed: Any, x: Any) -> Any:
        """The hash of values by seeds; whole numbers of numpy or torch, which broadcast."""
        g, base = self.hashes(), _least_factor(self.hashes())
        found = (seed % g) * (x % base)
        for _ in range(1, _digits(g, self.k)):
            seed, x = seed // g, x // base
            found = (found + (seed % g) * (x % base)) % g
        return found % g

    def _count(self, reports: ArrayLike) -> tuple[int, NDArray[np.int64]]:
        """The number of reports whose seed gives each value their hash."""
        rows = report_rows(reports, [self.seeds() - 1, self.hashes() - 1])
        different, times = np.unique(rows, axis=0, return_counts=True)
        g, base, digits = self.hashes(), _least_factor(self.hashes()), _digits(self.hashes(), self.k)
        kind = np.float32 if digits * g * base < 2**22 else np.float64  # which hold every sum exactly
        inputs = np.stack([np.arange(self.k) // base**place % base for place in range(digits)]).astype(kind)
        counts, step = np.zeros(self.k, np.int64), max(1, _CELLS // self.k)
        for start in range(0, len(different), step):
            seeds, hashes = different[start : start + step].T
            weights = np.stack([seeds // g**place % g for place in range(digits)], axis=1).astype(kind)
            turns = (weights @ inputs - hashes[:, None].astype(kind)) / kind(g)  # whole where the hash is the report's
            counts += times[start : start + step] @ (turns == np.rint(turns))
        return len(rows), counts


def _least_factor(number: int) -> int:
    return next((one for one in range(2, math.isqrt(number) + 1) if not number % one), number)


def _digits(g: int, k: int) -> int:
    """The number of digits of the values 0 .. k-1 in the base of the least prime factor of g."""
    base, held = _least_factor(g), 1
    for digits in count(1):
        held *= base
        if held >= k:
            return digits
    raise AssertionError("powers of 2 or more exceed every k")


def _seeds(g: int, k: int) -> int:
    return g ** _digits(g, k)


def _nearest(epsilon: float, k: int) -> int:
    """The number of hashes nearest to e**epsilon + 1, the least variance, among those with few enough seeds."""
    wanted = max(2, round(min(math.exp(min(epsilon, 50.0)) + 1, k, 2**20)))
    for away in count():
        for hashes in (wanted - away, wanted + away):
            if 2 <= hashes <= 2**20 and _seeds(hashes, k) <= _MOST_SEEDS:
                return hashes
    raise AssertionError("2 hashes have fewer than 2 k seeds")
