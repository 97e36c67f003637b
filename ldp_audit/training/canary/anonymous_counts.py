"""What the server sees after shuffling: of every weight the number of upper reports, and no names.

The other clients' true weights are those of the run, known to the attacker. Given them, the number of their upper
reports of a weight is Poisson binomial, and is drawn from that law, the ideal one of the two-point mechanism, in the
place of every client's report: the same law to within the rounding of floats. The canary's own reports are drawn by
the run's code. With Q the law of the others' count and p the canary's chance of an upper report,

    P(k) = (1 - p) Q(k) + p Q(k - 1),

and the weights' log-likelihood ratios ln P_0(k) / P_1(k) add up: given the true weights, reports are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ldp_audit.mechanisms.layer_range import LayerRange
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.parameter_shuffler import poisson_binomial

_AT_ONCE = 2**22
"""Numbers of one step of the laws."""


class Tables(NamedTuple):
    """Of each weight, a row each: shape (weights, n) and (weights, n + 1).

    cumulative: of the others' count, 0 .. n - 1.   ratio: of the count with the canary, 0 .. n.
    """

    cumulative: NDArray[np.float64]
    ratio: NDArray[np.float64]


@dataclass(frozen=True)
class AnonymousCounts:
    """draw of a `Canary`: the log-likelihood ratio of all counts of a round.

    chances: of an upper report, of the other clients, shape (n - 1, d).   epsilon: of a report.
    upper: (world, rows, generator) -> whether the canary's reports are the upper ones, boolean, shape (rows, d).
    rows: repetitions at a time.   device: of the generator.
    """

    chances: NDArray[np.float64]
    epsilon: float
    upper: Callable[[int, int, torch.Generator], NDArray[np.bool_]]
    rows: int
    device: torch.device

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """n sums of log-likelihood ratios."""
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        parts = [min(self.rows, n - first) for first in range(0, n, self.rows)]
        return np.concatenate([self._ratios(world, rows, rng, generator) for rows in parts]).round(9)

    def _ratios(self, world: int, rows: int, rng: np.random.Generator, generator: torch.Generator) -> np.ndarray:
        upper, total = self.upper(world, rows, generator), np.zeros(rows)
        for weight, (cumulative, ratio) in enumerate(zip(*self.tables, strict=True)):
            others = np.searchsorted(cumulative, rng.random(rows), side="right")
            total += ratio[np.minimum(others, len(cumulative) - 1) + upper[:, weight]]
        return total

    @cached_property
    def tables(self) -> Tables:
        """Computed once, some weights at a time."""
        clients, weights = self.chances.shape
        step = max(1, _AT_ONCE // (clients + 2))
        parts = [tables_of(self.chances[:, first : first + step], self.epsilon) for first in range(0, weights, step)]
        return Tables(np.concatenate([one.cumulative for one in parts]), np.concatenate([one.ratio for one in parts]))


def tables_of(chances: NDArray[np.float64], epsilon: float) -> Tables:
    """The laws of some weights.   chances: shape (n - 1, weights)."""
    law = poisson_binomial(chances)
    none = np.zeros((1, law.shape[1]))
    stays, moves = np.concatenate([law, none]), np.concatenate([none, law])
    likely, rare = expit(epsilon), expit(-epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(rare * stays + likely * moves) - np.log(likely * stays + rare * moves)
    bounded = np.clip(np.where(np.isnan(ratio), 0.0, ratio), -epsilon, epsilon)  # as it is, but for what underflows
    return Tables(np.ascontiguousarray(np.cumsum(law, axis=0).T), np.ascontiguousarray(bounded.T))


def upper_chances(
    weights: Mapping[str, Tensor], ranges: LayerRange, epsilon: float, counts: Mapping[str, int]
) -> NDArray[np.float64]:
    """Of each client's report of each weight to be the upper one; shape (clients, weights).

    weights: with a leading axis of clients; they are clipped into their ranges first.
    counts: how many of each layer's weights are meant, the first ones.
    """
    found = []
    for name, mechanism in ranges.mechanism(epsilon).items():
        layer = mechanism.clip(weights[name].flatten(1)[:, : counts[name]].double().cpu().numpy())
        found.append(np.exp(mechanism.log_prob(mechanism.outputs()[1], layer)))
    return np.clip(np.concatenate(found, axis=1), 0.0, 1.0)
