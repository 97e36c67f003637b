"""The dominating privacy loss of a finite channel: the upper hull of all tests between two inputs.

A test between two inputs that accepts on a set S of outputs is a point (Q(S), P(S)), and delta(epsilon) is the supremum
of P(S) - e**epsilon Q(S) over all sets and all pairs, so it is determined by the points' upper hull. The hull's edges
are the atoms of a dominating pair, with the logarithm of the slope as loss (Zhu, Dong, Wang, AISTATS 2022, Proposition
8). As pairs occur in both orders, the hull is symmetric, and its half of slopes above 1 determines it. Where no single
pair of inputs has this hull, sums have a lower bound as well, from the pair whose mean loss is largest.

Floats choose the hull's corners, fractions where floats cannot decide; the corners are exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import atoms_of, symmetric_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.neighbouring_rows import in_both_orders
from ldp_audit.numerics import log_ratio

_LEAST = 1e-290
"""Rows with a positive entry below this are compared as fractions."""
_SAME = 1e-13
"""The share of a test's probability by which rows that were computed as floats may differ from equal ones."""
_MOST_EXACT = 1e6
"""Most tests between neighbours, which are all computed in fractions: half a minute."""
_MOST = 2e9
"""Most tests between two rows that are looked at: several minutes."""


class _Test(NamedTuple):
    """Q(S) and P(S) for the set S of the `outputs` outputs of largest ratio P/Q, between two rows."""

    second: Any
    first: Any
    rows: tuple[int, int]
    outputs: int


def channel_loss(weights: Sequence[Sequence[int]], neighbours: Sequence[tuple[int, int]] | None = None) -> PairLoss:
    """The loss of the dominating pair over all ordered pairs of rows, whose probabilities are their shares of weights.

    neighbours: the pairs of rows that count, in both orders; all, if not given.
    Raises ValueError where the pairs of different rows times the outputs are more than 2e9.
    """
    if neighbours is not None:
        return _neighbours_loss(weights, neighbours)
    totals = ((row, sum(row)) for row in weights)
    rows = list(dict.fromkeys(tuple(Fraction(one, total) for one in row) for row, total in totals))
    if len(rows) ** 2 * len(rows[0]) > _MOST:
        raise ValueError(
            f"matrix must have at most {_MOST:g} pairs of different inputs times outputs for a loss that dominates all "
            f"pairs, got {len(rows)} inputs and {len(rows[0])} outputs; exact_epsilon() and delta() take more"
        )
    table, alike = _table(rows), _alike(rows)
    found: list[_Test] = []
    for i in range(len(rows)):
        found = _hull([*found, *_tests(table, i, alike[i], found)])
    exact = _exactly(found, rows)
    exact += [test for i, j in np.argwhere(alike).tolist() for test in _exact_tests(rows, i, j)]
    return _between(rows, exact, _farthest(table))


def _neighbours_loss(weights: Sequence[Sequence[int]], neighbours: Sequence[tuple[int, int]]) -> PairLoss:
    """`channel_loss` for these pairs, all tests in fractions."""
    ordered = list(in_both_orders(neighbours))
    if len(ordered) * len(weights[0]) > _MOST_EXACT:
        raise ValueError(
            f"neighbours must be at most {_MOST_EXACT:g} ordered pairs times outputs for a loss that dominates them, "
            f"got {len(ordered)} pairs and {len(weights[0])} outputs; exact_epsilon() and delta() take more"
        )
    totals = [sum(row) for row in weights]
    rows = [tuple(Fraction(one, total) for one in row) for row, total in zip(weights, totals, strict=True)]
    exact = [test for i, j in ordered for test in _exact_tests(rows, i, j)]
    table = _table(rows)
    return _between(rows, exact, max(ordered, key=lambda pair: _mean_loss(table[pair[0]], table[pair[1]])))


def _mean_loss(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, float]:
    """The chance of an infinite loss, and the mean of the finite ones."""
    never = second == 0
    logs = np.log(np.where(first == 0, 1.0, first)) - np.log(np.where(never, 1.0, second))
    return float(first[never].sum()), float(first[~never] @ logs[~never])


def _between(rows: list[tuple[Fraction, ...]], exact: list[_Test], worst: tuple[int, int]) -> PairLoss:
    """The loss of the hull of these tests and their mirror images; with that of the worst pair below, if it is less."""
    corners = _steep([*exact, *(test._replace(second=1 - test.first, first=1 - test.second) for test in exact)])
    largest = _loss_of(corners)
    if not corners:
        return largest
    i, j = worst
    if all(_reaches(_steep(_exact_tests(rows, *pair)), corners) for pair in ((i, j), (j, i))):
        return largest
    return EnclosedLoss(_pair_loss(rows[i], rows[j]), largest, largest=True, either_order=True)


def _steep(tests: Iterable[_Test]) -> list[tuple[Fraction, Fraction]]:
    """Q(S) and P(S) at the corners of the tests' hull that end an edge of slope above 1."""
    found, at = [], (Fraction(0), Fraction(0))
    for test in _hull(list(tests)):
        if test.first - at[1] <= test.second - at[0]:  # the reversed pairs' corners follow
            break
        at = (test.second, test.first)
        found.append(at)
    return found


def _reaches(own: list[tuple[Fraction, Fraction]], corners: list[tuple[Fraction, Fraction]]) -> bool:
    """Whether a pair's own tests have every corner, or miss none by more than floats that were computed row by row do.

    Beyond the last one an edge of slope 1 follows, of outputs without loss.
    """
    if own == corners or not own:
        return own == corners
    start = [] if own[0][0] == 0 else [(0, 0)]
    seconds, firsts = np.array([*start, *own, (own[-1][0] + 1, own[-1][1] + 1)], dtype=np.float64).T
    asked, wanted = np.array(corners, dtype=np.float64).T
    reached = np.interp(asked, seconds, firsts)
    return bool(np.all(np.diff(seconds) > 0) and np.all(reached >= wanted * (1 - _SAME)))


def _loss_of(corners: list[tuple[Fraction, Fraction]]) -> PairLoss:
    """The loss, its own reverse, whose positive values are the edges between these corners."""
    losses, logs = [], []
    infinite, at = Fraction(0), (Fraction(0), Fraction(0))
    for corner in corners:
        q, p = corner[0] - at[0], corner[1] - at[1]
        at = corner
        if q == 0:
            infinite = p
            continue
        ratio = p / q
        losses.append(max(log_ratio(ratio.numerator, ratio.denominator), math.ulp(0.0)))
        logs.append(log_ratio(p.numerator, p.denominator))
    return symmetric_loss(losses, logs, infinite=infinite, rest=1 - at[0] - at[1])


def _farthest(table: NDArray[np.float64]) -> tuple[int, int]:
    """The ordered pair of rows with the largest chance of an infinite loss, then with the largest mean loss.

    A pair that has the largest delta at every epsilon is among those of both orders; sums of many reports are worst
    for it.
    """
    never = table == 0
    logs = np.log(np.where(never, 1.0, table))
    best, found = (-1.0, -1.0), (0, 0)
    for i, own in enumerate(table):
        infinite, means = never @ own, (logs[i] - logs) @ own
        other = int(np.lexsort((means, infinite))[-1])
        if (value := (float(infinite[other]), float(means[other]))) > best:
            best, found = value, (i, other)
    return found


def _pair_loss(first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> PairLoss:
    """The loss of this one ordered pair of rows."""
    shared = [(p, p / q) for p, q in zip(first, second, strict=True) if p and q]
    losses = [log_ratio(ratio.numerator, ratio.denominator) for _, ratio in shared]
    logs = [log_ratio(p.numerator, p.denominator) for p, _ in shared]
    rest = [1 - sum(one) for one in ([p for p, _ in shared], [p / ratio for p, ratio in shared])]
    ends = [log_ratio(one.numerator, one.denominator) if one else -math.inf for one in rest]
    return atoms_of(np.array(losses), np.array(logs), *ends)


def _tests(table: NDArray[np.float64], row: int, left_out: NDArray[np.bool_], corners: list[_Test]) -> Iterator[_Test]:
    """The tests of one row against the others, except `left_out`, with gain (all ratios above 1), above the corners."""
    own = np.broadcast_to(table[row], table.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(own > 0, own / table, 0.0)
    order = np.argsort(-ratios, axis=1, kind="stable")
    first, second = (np.cumsum(np.take_along_axis(law, order, 1), axis=1) for law in (own, table))
    gains = (np.take_along_axis(ratios, order, 1) > 1) & ~left_out[:, None]
    if corners:
        at, reached = ([0.0, *(test[place] for test in corners)] for place in (0, 1))
        gains &= first > np.interp(second, at, reached)
    for other, place in zip(*np.nonzero(gains), strict=True):
        yield _Test(float(second[other, place]), float(first[other, place]), (row, int(other)), int(place) + 1)


def _alike(rows: list[tuple[Fraction, ...]]) -> NDArray[np.bool_]:
    """The pairs of rows whose entries floats may not order correctly, shape (rows, rows)."""
    table = _table(rows)
    small = np.array([any(0 < entry < _LEAST for entry in row) for row in rows])
    alike = small[:, None] | small
    for column, floats in zip(zip(*rows, strict=True), table.T, strict=True):
        numbers: dict[Fraction, int] = {}
        names = np.array([numbers.setdefault(entry, len(numbers)) for entry in column])
        alike |= (floats[:, None] == floats) & (names[:, None] != names)
    np.fill_diagonal(alike, 0)
    return alike


def _exact_tests(rows: list[tuple[Fraction, ...]], row: int, other: int) -> Iterator[_Test]:
    """The tests of one row against another, with gain, in fractions."""
    pairs = [pair for pair in zip(rows[row], rows[other], strict=True) if pair[0] > pair[1]]
    pairs.sort(key=lambda pair: pair[1] / pair[0])
    first = second = Fraction(0)
    for place, (p, q) in enumerate(pairs):
        first, second = first + p, second + q
        yield _Test(second, first, (row, other), place + 1)


def _hull(tests: list[_Test]) -> list[_Test]:
    """The corners of the upper hull with (0, 0), from the steepest edge on."""
    corners = [_Test(0, 0, (0, 0), 0)]
    for test in sorted(tests, key=lambda one: (one.second, -one.first)):
        if test.first <= corners[-1].first:
            continue
        while len(corners) > 1 and _slope(corners[-1], test) >= _slope(corners[-2], corners[-1]):
            corners.pop()
        corners.append(test)
    return corners[1:]


def _slope(one: _Test, two: _Test) -> Any:
    run = two.second - one.second
    return (two.first - one.first) / run if run > 0 else np.inf


def _exactly(tests: list[_Test], rows: list[tuple[Fraction, ...]]) -> list[_Test]:
    """The same tests in fractions; the order of outputs with equal float ratios does not matter."""
    sums = {pair: _sums(*(rows[i] for i in pair)) for pair in dict.fromkeys(test.rows for test in tests)}
    found = []
    for test in tests:
        first, second = (Fraction(added[test.outputs - 1], whole) for added, whole in sums[test.rows])
        found.append(_Test(second, first, test.rows, test.outputs))
    return found


def _sums(first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> list[tuple[list[int], int]]:
    """For each row the cumulative sums of its entries by descending ratio, over their common denominator."""
    own, other = _table([first, second])
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(own > 0, own / other, 0.0), kind="stable").tolist()
    found = []
    for row in (first, second):
        whole = math.lcm(*(entry.denominator for entry in row))
        found.append((list(accumulate(row[j].numerator * (whole // row[j].denominator) for j in order)), whole))
    return found


def _table(rows: list[tuple[Fraction, ...]]) -> NDArray[np.float64]:
    return np.array([[float(entry) for entry in row] for row in rows])
