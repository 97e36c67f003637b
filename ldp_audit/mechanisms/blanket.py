"""What all inputs' reports have in common: the tables from which the loss of shuffled reports is bounded.

A report of input z has the law R_z. A blanket is a measure w <= R_z for all z; its mass is drawn the same way by every
client. For two inputs x and x' the bound on shuffled reports (`accounting/shuffling/pooled_reports.py`) is E[(sum)_+]
of independent copies of a number that is X = (R_x - e**epsilon R_x')/w at an outcome of w, and 0 outside. It grows with
X in the convex order, so the table of one pair stands for all pairs of inputs if every other X is below its X in this
order. Three facts are used.

* Merging outcomes takes the mean of X and lowers it; splitting an outcome into two, with the mean kept, raises it.
* Of two variables with given laws the difference is largest in this order where one falls as the other rises, and then
  it grows with either law (Dhaene, Denuit, Goovaerts, Kaas, Vyncke, "The concept of comonotonicity in actuarial science
  and finance", 2002). So a pair is the worst if R_x/w and R_x'/w have the largest laws, and move oppositely.

Symmetric noise whose density falls away from 0, on the numbers of an interval: w falls away from the interval's middle,
and each R_x/w is largest in the convex order for an end x. Let x lie in the lower half. Of two reports that mirror each
other at x/2, the lower one has at input 0 at least the larger density that either has at x, the densities of both have
the same sum at 0 as at x, and the lower one has the smaller w. So if an event has one of the two, let it have the lower
one: its probability at 0 is no less than it was at x, and its w no larger. As the largest R_x(E) - c w(E) over all
events is E_w[(R_x/w - c)_+], that is largest at 0. If the density is log-concave, R_0/w falls and R_x/w rises for the
upper end x: the ends are the worst pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_DOWN = 1 - 2.0**-44
"""Masses of a blanket are rounded down by this, which is more than their errors."""
_LEAST_CELLS, _MOST_CELLS, _CELLS_A_NAT = 32, 400, 8
"""Cells of a density between two inputs: their ratio of probabilities changes by an eighth of a nat in each."""
_MOST_CELL_PAIRS = 1 << 20
"""The most ordered pairs of inputs times outcomes that are compared."""


@dataclass(frozen=True, eq=False)
class Blanket:
    """Tables of a report's outcomes.

    shared: w, shape (m,).   first, second: R_x and R_x' for ordered pairs of inputs that stand for all, with the
    reversed pair where that has another law, shape (pairs, m).
    laws: the laws of some inputs over outcomes that may be other ones, shape (inputs, outcomes), each an exact
    probability but for a few roundings; for lower bounds.
    assumes: what the inputs must be, beyond the mechanism's definition, in words.
    """

    shared: Numbers
    first: Numbers
    second: Numbers
    laws: Numbers
    assumes: str = ""

    @classmethod
    def of_laws(cls, laws: Numbers) -> Blanket | None:
        """From the laws of all inputs, shape (inputs, outcomes); None where they have too many pairs."""
        merged, times = np.unique(laws[:, laws.max(axis=0) > 0], axis=1, return_counts=True)  # equal outcomes
        laws = merged * times
        shared, count = laws.min(axis=0), len(laws)
        if count * (count - 1) * shared.size > _MOST_CELL_PAIRS:
            return None
        pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
        table = np.stack([np.broadcast_to(shared, (len(pairs), shared.size)), *laws[np.transpose(pairs)]], axis=1)
        # pairs are alike up to the outcomes' names
        order = np.lexsort(np.moveaxis(table, 1, 0))
        _, chosen = np.unique(np.take_along_axis(table, order[:, None, :], axis=2), axis=0, return_index=True)
        first, second = laws[np.transpose([pairs[one] for one in sorted(chosen.tolist())])]
        return cls(shared * _DOWN, first, second, laws)

    @classmethod
    def of_pair(cls, shared: Numbers, first: Numbers, second: Numbers, laws: Numbers, assumes: str = "") -> Blanket:
        """From the table of a pair, shape (m,) each, and the reversed one if it is another; outcomes of no mass go."""
        kept = shared > 0
        w, p, q = shared[kept] * _DOWN, first[kept], second[kept]
        tables = [np.stack(one)[:, np.lexsort(one)] for one in ([w, p, q], [w, q, p])]
        count = 1 if np.array_equal(tables[0], tables[1]) else 2
        return cls(w, np.stack([p, q])[:count], np.stack([q, p])[:count], laws[:, laws.max(axis=0) > 0], assumes)

    @classmethod
    def of_two_levels(
        cls, epsilon: float, both: float, only: float, neither: float, none: float = 0.0, third: Sequence[float] = ()
    ) -> Blanket:
        """Of reports whose density is t times as high on a part of the outcomes as elsewhere, equally for all inputs.

        epsilon: ln t, nats.   both, only, neither: the sizes of the parts on which two inputs are high, one of them
        alone, and none, in any unit, where `only` is as large as for any pair.   none: the probability of no report.
        third: how much of both, of the first's, of the second's and of neither a third input is high on, if known.

        With w the low density everywhere, X has the values t - e**epsilon, 1 - t e**epsilon on `only`, and t (1 -
        e**epsilon), 1 - e**epsilon on the rest. The first two have the sum of the others and lie outside them, so X
        grows with `only` in the convex order.
        """
        t, sizes = math.exp(epsilon), np.array([both, only, only, neither])
        low = (1 - none) / (t * (both + only) + (only + neither))
        high = np.array([[t, t, 1, 1], [t, 1, t, 1]])
        w, (p, q) = np.append(low * sizes, none), np.append(low * sizes * high, [[none], [none]], axis=1)
        if not len(third):
            return cls.of_pair(w, p, q, np.stack([p, q]))
        inside = np.array(third)
        cells = low * np.append(sizes - inside, inside)
        rows = cells * np.array([*np.tile(high, 2), [1, 1, 1, 1, t, t, t, t]])
        return cls.of_pair(w, p, q, np.append(rows, np.full((3, 1), none), axis=1))

    @classmethod
    def of_bits(cls, own: tuple[float, float], other: tuple[float, float], k: int) -> Blanket:
        """Of k independent bits, of which the value's own is more often a one.

        own, other: ln of the probabilities of a zero and of a one, at the value's own place and at another.   k: >= 2.

        All pairs of values are alike. Some value's own bit is 0 but for a report of ones alone, so w is the law of k
        other bits times the ratio of the zeros there. The outcomes are the two values' bits; those of ones alone apart.
        """
        (p0, p1), (q0, q1) = np.exp(own), np.exp(other)
        all_ones = math.exp((k - 2) * other[1])
        some_zero = -math.expm1((k - 2) * other[1])
        w = [p1 * q1 * all_ones, q1 * (q1 / q0) * p0 * some_zero, q1 * p0, q1 * p0, q0 * p0]
        p = [p1 * q1 * all_ones, p1 * q1 * some_zero, p1 * q0, p0 * q1, p0 * q0]
        q = [p[0], p[1], p[3], p[2], p[4]]
        places, ends = range(min(k, 3)), np.array([[p0, p1], [q0, q1]])
        bits = ([ends[int(one != place)] for place in places] for one in places)
        laws = np.array([reduce(np.multiply.outer, one).ravel() for one in bits])
        return cls.of_pair(np.array(w), np.array(p), np.array(q), laws)

    @classmethod
    def of_laplace(cls, epsilon: float) -> Blanket:
        """Of Laplace noise of scale 1 on numbers of an interval of length epsilon.

        w is half e**-|y - z| for the farther end z of the interval, and falls away from its middle. The ends are the
        worst inputs, by the module's argument. Between them the outcomes are split onto the cells' edges: R_0/w
        falls by e**(2 h) in a cell of length h and has the geometric mean of its edges as its mean, so 1/(1 + e**h) of
        the cell is put on the larger one.
        """
        cells = min(max(_LEAST_CELLS, math.ceil(_CELLS_A_NAT * epsilon)), _MOST_CELLS)
        width = epsilon / 2 / cells
        masses = np.exp(width * np.arange(cells) - epsilon) * math.expm1(width) / 2  # of the lower half's cells
        larger = 1 / (1 + math.exp(width))
        half = np.append(masses * larger, 0.0) + np.insert(masses * (1 - larger), 0, 0.0)
        half[0] += math.exp(-epsilon) / 2  # of the reports below
        raised = half * np.exp(epsilon - 2 * width * np.arange(cells + 1))
        edges = np.concatenate([[-np.inf], width * np.arange(2 * cells + 1), [np.inf]])
        laws = np.array([_laplace_masses(edges - edges[1 + place]) for place in (0, cells // 2, cells, 2 * cells)])
        w, p, q = (np.concatenate(one) for one in ((half, half), (raised, half), (half, raised)))
        return cls.of_pair(w, p, q, laws, _NUMBERS)

    @classmethod
    def of_discrete_laplace(cls, scale: float, distance: int) -> Blanket | None:
        """Of discrete Laplace noise on whole numbers at most `distance` apart; None for very long ones.

        The ends are the worst inputs, by the module's argument; reports beyond them have one ratio.
        """
        if distance > _MOST_STEPS:
            return None
        ratio, places = math.exp(-1 / scale), np.arange(1, distance)
        inputs = np.unique([0, distance // 4, distance // 2, distance])
        inner = math.tanh(0.5 / scale) * np.exp(-np.abs(inputs[:, None] - places) / scale)
        below, above = (np.exp(-away / scale)[:, None] / (1 + ratio) for away in (inputs, distance - inputs))
        laws = np.concatenate([below, inner, above], axis=1)
        return cls.of_pair(np.minimum(laws[0], laws[-1]), laws[0], laws[-1], laws, _NUMBERS)


_NUMBERS = "every report is of one number, and no two inputs are farther apart than a replaced value moves it"
_MOST_STEPS = 2000


def _laplace_masses(edges: Numbers) -> Numbers:
    """The probabilities of Laplace noise of scale 1 between consecutive edges, none of them on both sides of 0."""
    near, far = np.sort(np.abs([edges[:-1], edges[1:]]), axis=0)
    return np.exp(-near) * -np.expm1(near - far) / 2
