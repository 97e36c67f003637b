"""NFDP: a random sample of the records is released and nothing is added; only the sampling protects anybody.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Theorems 1 and 2. Their pair (epsilon, delta) holds, with delta alone
doing the work: the profile is flat, sup delta(e) = q for every e, where q is the chance that a record is in the
sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.randomness import require_generator
from ldp_audit.mechanisms.variable import Variable

Direction = Literal["remove", "removed", "add", "added", "substitute"]


@dataclass(frozen=True)
class SubsampleRelease:
    """k of n records, without or with replacement; the output is the sample.

    n: records, >= 1.   k: draws, >= 0, at most n without replacement.   replacement: whether a record may be drawn
    twice. Raises ValueError for anything else.
    """

    n: int
    k: int
    replacement: bool = False

    parameters = (
        Parameter("n", Variable("n", 1, oo, integer=True), typical=(10, 10_000)),
        Parameter("k", Variable("k", 0, oo, integer=True), typical=(1, 100)),
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        if not isinstance(self.replacement, bool):
            raise ValueError(f"replacement must be True or False, got {self.replacement!r}")
        if not self.replacement and self.k > self.n:
            raise ValueError(f"k must be at most n = {self.n} without replacement, got {self.k!r}")

    def inclusion(self) -> float:
        """q, the chance that a given record is in the sample: k/n, or 1 - (1 - 1/n)**k with replacement."""
        return self._included(self.n)

    def exact_epsilon(self) -> float:
        """Infinite for k >= 1: a sample that holds a record cannot come from the data without it. 0 for k = 0."""
        return math.inf if self.k else 0.0

    def worst_pair(self) -> tuple[str, str]:
        """The neighbours that attain delta()."""
        return "all n records", "one record removed"

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The supremum over all neighbours, add/remove and substitution: q at every level; shape of `epsilon`."""
        return np.full_like(levels(epsilon), self.inclusion())[()]

    def pair_delta(self, direction: Direction, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The profile of one ordered pair of neighbours; shape of `epsilon`, nats, >= 0.

        direction: from the data D of n records to D less a record ("remove") or back ("removed"), to D plus a record
        ("add") or back ("added"), or to D with a record replaced ("substitute").
        """
        asked = levels(epsilon)
        if direction in ("remove", "substitute"):
            return np.full_like(asked, self._included(self.n))[()]
        if direction == "added":
            return np.full_like(asked, self._included(self.n + 1))[()]
        if direction not in ("removed", "add"):
            raise ValueError(f"direction must be remove, removed, add, added or substitute, got {direction!r}")
        size = self.n if direction == "removed" else self.n + 1
        left_out = self._log_left_out(size)
        return (-np.expm1(np.minimum(asked + left_out, 0.0)) + 0.0)[()]

    def published(self) -> tuple[float, float]:
        """The paper's (epsilon, delta): (ln((n+1)/(n+1-k)), k/n), or (k ln((n+1)/n), 1 - ((n-1)/n)**k)."""
        epsilon = self.k * math.log1p(1 / self.n) if self.replacement else -math.log1p(-self.k / (self.n + 1))
        return epsilon, self.inclusion()

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray:
        """k of the n records x, shape (n, ...) to (k, ...), in random order."""
        generator, records = require_generator(rng), np.asarray(x)
        if records.ndim == 0 or len(records) != self.n:
            raise ValueError(f"x must hold {self.n} records, got shape {records.shape}")
        return records[generator.choice(self.n, size=self.k, replace=self.replacement)]

    def _included(self, size: int) -> float:
        return -math.expm1(self._log_left_out(size))

    def _log_left_out(self, size: int) -> float:
        """The log of the chance that a given one of `size` records is not drawn."""
        if self.replacement:
            return self.k * (math.log1p(-1 / size) if size > 1 else -math.inf) if self.k else 0.0
        return math.log1p(-self.k / size) if self.k < size else -math.inf
