"""How good a linking is, where the truth is known: counted over pairs of reports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import array_of


@dataclass(frozen=True)
class LinkedPairs:
    """Pairs of reports: in all, of one client, linked by the attack, and both."""

    pairs: int
    same: int
    linked: int
    right: int

    @property
    def precision(self) -> Fraction:
        """Of the pairs that were linked, the share that are one client's; 1 where none was linked."""
        return Fraction(self.right, self.linked) if self.linked else Fraction(1)

    @property
    def recall(self) -> Fraction:
        """Of the pairs that are one client's, the share that were linked; 1 where there is none."""
        return Fraction(self.right, self.same) if self.same else Fraction(1)


def linked_pairs(labels: ArrayLike, clients: ArrayLike) -> LinkedPairs:
    """Compare a linking with the truth; exact counts, without visiting the pairs.

    labels: the class of each report as the attack has it, whole numbers; -1: not linked to any.
    clients: who sent it, whole numbers, in the same shape. Raises ValueError for anything else.
    """
    said, true = (array_of(name, given) for name, given in (("labels", labels), ("clients", clients)))
    if said.dtype.kind not in "iu" or true.dtype.kind not in "iu" or said.shape != true.shape:
        raise ValueError(
            f"labels and clients must be whole numbers of one shape, got {said.dtype} {said.shape}, "
            f"{true.dtype} {true.shape}"
        )
    linked = said.ravel() >= 0
    said, true = said.ravel(), true.ravel()
    both = np.stack([said[linked], true[linked]])
    return LinkedPairs(
        pairs=said.size * (said.size - 1) // 2,
        same=_pairs(np.unique(true, return_counts=True)[1]),
        linked=_pairs(np.unique(said[linked], return_counts=True)[1]),
        right=_pairs(np.unique(both, axis=1, return_counts=True)[1]),
    )


def _pairs(counts: NDArray[np.int64]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.tolist())
