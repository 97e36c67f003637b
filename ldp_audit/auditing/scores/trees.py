"""Boosted small trees, for coordinates that interact (scikit-learn's, kept as plain lists).

A tree asks up to three questions y[place] < threshold; the score is the sum of the answers' values. They are learned on
cell numbers, so that huge and infinite values need no care and a threshold is a number that was seen; and
only where a test finds interactions, as learning takes a second and scikit-learn 75 MB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ldp_audit.auditing.scores.learning import codes, cuts, interactions
from ldp_audit.auditing.scores.pattern import Pattern
from ldp_audit.auditing.scores.score import Score, read, read_place

_ROWS = 20_000
_CUT_ROWS = 5000
_CELLS = 48
_MOST_PLACES = 16
_TREES = 30
_RATE = 0.3
_DEPTH = 3
_BLOCK = 8192  # rows at a time, so that they stay in the processor's cache
_MOST_CELLS = 2**16

Tree: TypeAlias = "float | tuple[int, float, Tree, Tree]"
"""A value, or (place, threshold, tree where y[place] < threshold, tree where not)."""


@dataclass(frozen=True)
class Trees(Score):
    """The sum of the trees' values."""

    KIND: ClassVar[str] = "trees"
    trees: tuple[Tree, ...]

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Trees]:
        """One; none where coordinates do not interact, or a table of patterns does (pattern.py)."""
        seen = interactions(first, second)
        if not seen.found:
            return []
        places = seen.informative(_MOST_PLACES)
        if Pattern.suffices(first, second, places):
            return []
        rows = np.concatenate([first[:_ROWS], second[:_ROWS]])[:, places]
        labels = np.repeat([1, 0], [len(first[:_ROWS]), len(second[:_ROWS])])
        sample = np.concatenate([first[:_CUT_ROWS], second[:_CUT_ROWS]])[:, places]
        edges = [cuts(column, _CELLS) for column in sample.T]
        coded = np.stack([codes(column, edge) for column, edge in zip(rows.T, edges, strict=True)], axis=1)
        return [Trees(_boosted(coded, labels, places, edges, int(rng.integers(2**31))))]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        if self._table is not None:
            return self._table[np.ravel_multi_index(self._codes(numbers), self._shape)]
        blocks = [self._sum(numbers[start : start + _BLOCK]) for start in range(0, len(numbers), _BLOCK)]
        return np.concatenate(blocks) if blocks else np.zeros(0)

    def _sum(self, numbers: np.ndarray) -> np.ndarray:
        total = np.zeros(len(numbers))
        for tree in self.trees:
            total += _value(tree, numbers)
        return total

    @cached_property
    def _thresholds(self) -> dict[int, np.ndarray]:
        """Of each coordinate that a tree asks about, ascending."""
        found: dict[int, set[float]] = {}
        for tree in self.trees:
            _gather(tree, found)
        return {place: np.array(sorted(found[place])) for place in sorted(found)}

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(edges) + 1 for edges in self._thresholds.values())

    def _codes(self, numbers: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(codes(numbers[:, place], edges) for place, edges in self._thresholds.items())

    @cached_property
    def _table(self) -> np.ndarray | None:
        """The score in every cell that the thresholds make, where these are few: the same sums, taken once."""
        shape = self._shape
        if not shape or math.prod(shape) > _MOST_CELLS:
            return None
        corners = np.full((math.prod(shape), max(self._thresholds) + 1), -math.inf)
        for axis, (place, edges) in zip(np.indices(shape), self._thresholds.items(), strict=True):
            corners[:, place] = np.concatenate([[-math.inf], edges])[axis.ravel()]
        return self._sum(corners)

    def describe(self) -> str:
        """See `Score`."""
        places = list(self._thresholds)
        shown = ", ".join(f"y[{place}]" for place in places[:4])
        return f"sum of {len(self.trees)} trees of {shown}{', ...' if len(places) > 4 else ''}"

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trees:
        """See `Score`."""
        if not isinstance(data.get("trees"), list):
            raise ValueError(f"trees' trees must be a list, got {data!r:.200}")
        return cls(tuple(_tree(one, 0) for one in data["trees"]))


def _boosted(
    coded: np.ndarray, labels: np.ndarray, places: list[int], edges: list[np.ndarray], seed: int
) -> tuple[Tree, ...]:
    from sklearn.ensemble import GradientBoostingClassifier  # here, as few programs need it

    model = GradientBoostingClassifier(
        n_estimators=_TREES,
        max_depth=_DEPTH,
        learning_rate=_RATE,
        subsample=0.5,
        max_features=min(len(places), 6),
        min_samples_leaf=20,
        random_state=seed,
    ).fit(coded.astype(np.float32), labels)
    found = [_exported(model.estimators_[i, 0].tree_, 0, _RATE, places, edges) for i in range(_TREES)]
    return tuple(tree for tree in found if isinstance(tree, tuple))


def _exported(tree: Any, node: int, rate: float, places: list[int], edges: list[np.ndarray]) -> Tree:
    """A node of scikit-learn's: `code <= k + 1/2` becomes `number < edges[k]`."""
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left == right:
        return float(np.float32(rate * tree.value[node, 0, 0]))
    column, threshold = int(tree.feature[node]), int(tree.threshold[node])
    return (
        places[column],
        float(edges[column][threshold]),
        _exported(tree, left, rate, places, edges),
        _exported(tree, right, rate, places, edges),
    )


def _value(tree: Tree, numbers: np.ndarray) -> np.ndarray | float:
    if not isinstance(tree, tuple):
        return tree
    place, threshold, below, above = tree
    return np.where(numbers[:, place] < threshold, _value(below, numbers), _value(above, numbers))


def _gather(tree: Tree, found: dict[int, set[float]]) -> None:
    if isinstance(tree, tuple):
        found.setdefault(tree[0], set()).add(tree[1])
        _gather(tree[2], found)
        _gather(tree[3], found)


def _tree(data: Any, depth: int) -> Tree:
    if not isinstance(data, list):
        value: float = read(data, float, "trees' values")
        if math.isinf(value):
            raise ValueError(f"trees' values must be finite, got {value}")
        return value
    if depth > 2 * _DEPTH or len(data) != 4:
        raise ValueError(f"trees' nodes must be of 4 parts, {2 * _DEPTH} deep at most, got {data!r:.200}")
    place, threshold = read_place(data[0], "trees' places"), read(data[1], float, "trees' thresholds")
    return (place, threshold, _tree(data[2], depth + 1), _tree(data[3], depth + 1))
