"""Subset selection: the report is a set of w values, likelier by t = e**epsilon if it has the reporter's own.

With w near k / (t + 1) no mechanism has a smaller worst-case squared error of frequencies, up to the order of 1/n.

Sources: Ye, Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy" (IEEE
Transactions on Information Theory 64, 2018); Wang et al., "Mutual Information Optimally Local Private Discrete
Distribution Estimation" (2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import binomial

from ldp_audit.mechanisms.frequency.values import VALUES, OfValues, labels_of, values_of
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.staircase import Logs, Staircase
from ldp_audit.mechanisms.supports import Supports, report_rows
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.numerics import whole

_k = VALUES.variable
_w = Variable("w", 1, _k - 1, integer=True)
_MASS = binomial(_k - 1, _w - 1) * T + binomial(_k - 1, _w)

SUBSET_SELECTION = SymbolicWeights(
    "subset selection",
    [
        ("a set with the value", binomial(_k - 1, _w - 1), T / _MASS),
        ("a set without it", binomial(_k - 1, _w), 1 / _MASS),
    ],
)
_LISTED = 500
"""The most sets that are listed."""


@dataclass(frozen=True)
class SubsetSelection(OfValues, Staircase):
    """Values 0 .. k-1; the report is w different ones, ascending, int64, one more axis at the end.

    epsilon: nats, > 0, finite.   k: a whole number >= 2.   w: 1 .. k-1; that of the least variance of a rare value, if
    not given. Raises ValueError for anything else.
    """

    epsilon: float
    k: int
    w: int | None = None

    parameters = (BUDGET, VALUES)
    example = FamilyExample(
        "SubsetSelection(epsilon=1, k=4, w=2)",
        "k: the values; w: the size of the reported set; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.w is not None:
            object.__setattr__(self, "w", whole(self.w, "w", 1, self.k - 1))
            return
        near = math.floor(self.k * expit(-self.epsilon))
        sizes = sorted({min(max(size, 1), self.k - 1) for size in (near, near + 1)})
        variances = [float(SubsetSelection(self.epsilon, self.k, size).frequency_variance(1)) for size in sizes]
        object.__setattr__(self, "w", sizes[variances.index(min(variances))])

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in k, w and t = e**epsilon."""
        return SUBSET_SELECTION

    def size(self) -> int:
        """w, given or chosen."""
        return cast("int", self.w)

    def sides(self) -> tuple[int, int]:
        """Sets with the value, and without it."""
        return math.comb(self.k - 1, self.size() - 1), math.comb(self.k - 1, self.size())

    def only_first(self) -> int:
        """Sets with one value and without another."""
        return math.comb(self.k - 2, self.size() - 1)

    def third_favours(self) -> Sequence[int]:
        """Sets with a third value and both, one, the other, or neither of two."""
        drawn = (math.comb(self.k - 3, left) if left >= 0 else 0 for left in (self.size() - 3, self.size() - 2))
        both, one = drawn if self.k > 2 else (0, 0)
        return (both, one, one, math.comb(self.k - 3, self.size() - 1)) if self.k > 2 else ()

    def report_bits(self) -> float:
        """See base; from logarithms of factorials, as the binomial coefficient of a large k takes minutes."""
        return (
            math.lgamma(self.k + 1) - math.lgamma(self.size() + 1) - math.lgamma(self.k - self.size() + 1)
        ) / math.log(2)

    def supports(self) -> Supports:
        """See base: a report supports the values of its set."""
        odds = self.epsilon + math.log(self.size() / (self.k - self.size()))
        own, missed = expit(odds), expit(-odds)
        other = (own * (self.size() - 1) + missed * self.size()) / (self.k - 1)
        return Supports(self.k, own, missed, other, self._count)

    def _count(self, reports: ArrayLike) -> tuple[int, NDArray[np.int64]]:
        rows = report_rows(reports, [self.k - 1] * self.size())
        if np.any(np.diff(rows, axis=1) <= 0):
            raise ValueError(f"reports must be {self.size()} different values each, in ascending order")
        return len(rows), np.bincount(rows.reshape(-1), minlength=self.k)

    def reports(self) -> Sequence[tuple[int, ...]] | None:
        """All sets, where they are few."""
        few = math.comb(self.k, self.size()) <= _LISTED
        return list(combinations(range(self.k), self.size())) if few else None

    def log_prob_by_side(self, y: ArrayLike, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """Log probability of the set y, shape (..., w), at the value x, shape (...); broadcasts."""
        chosen, values = numbers_of("y", y), values_of(numbers_of("x", x), self.k)
        if chosen.ndim == 0 or chosen.shape[-1] != self.size():
            raise ValueError(f"y must be values of shape (..., {self.size()}), got shape {chosen.shape}")
        known = np.all((chosen >= 0) & (chosen < self.k) & (chosen == np.floor(chosen)), axis=-1)
        known &= np.all(np.diff(chosen, axis=-1) > 0, axis=-1)
        inside = np.any(chosen == np.asarray(values)[..., None], axis=-1)
        return np.where(known, np.where(inside, logs[0], logs[1]), -np.inf)[()]

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The values, and their shape."""
        return labels_of(x, self.k)

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """A uniform set with the value where `favoured` holds, else one without it.

        The members among the others are drawn one place after another: a place is taken with the share of members that
        are missing among the places left, so that all sets are equally likely (Knuth, volume 2, Algorithm 3.4.2S).
        """
        xp, flat, shape = source.xp, source.xp.reshape(x, (-1,)), (*x.shape, self.size())
        if favoured is None:
            places = self._taken(self.k, xp.full_like(flat, self.size()), source)
            return xp.reshape(xp.nonzero(xp.stack(places, axis=-1))[1], shape)
        own = xp.reshape(favoured, (-1,))
        others = self._taken(self.k - 1, self.size() - xp.astype(own, xp.int64), source)
        columns = xp.reshape(xp.nonzero(xp.stack([*others, own], axis=-1))[1], (-1, self.size()))
        value = flat[:, None]
        members = xp.where(columns == self.k - 1, value, columns + xp.astype(columns >= value, xp.int64))
        return xp.reshape(xp.sort(members, axis=-1), shape)

    def _taken(self, places: int, missing: Any, source: Source) -> list[Any]:
        """For each place whether it is taken, so that `missing` places of every row are, all sets equally likely."""
        xp, found = source.xp, []
        for left in range(places, 0, -1):
            found.append(source.below(left, tuple(missing.shape)) < missing)
            missing = missing - xp.astype(found[-1], xp.int64)
        return found
