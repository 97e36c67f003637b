r"""Outputs of a mechanism in a chain of samples, each with one record replaced, cut where all its power curves bend.

Let no test of size alpha between neighbours have a power above F(alpha), in either order. Then none between samples j
steps apart has one above F(F(... F(alpha))) = F_j(alpha) (Dong, Roth, Su, "Gaussian differential privacy", JRSS B 2022,
on group privacy), and some chain of laws P_0, P_1, ... attains that by the same tests for all j at once: those of a
canonical noise added to the number of copies (Awan, Vadhan, "Canonical noise distributions and private hypothesis
tests", Annals of Statistics 2023). For finitely many losses F is made of straight pieces. So are all F_j, and on an
interval of alpha where they are straight, a cell, each P_j has a constant ratio to P_0: the product of the slopes of F
at alpha, F(alpha), ..., F_(j-1)(alpha).

Cells are cut in decimals with digits to spare, since the smallest lie beyond the range of floats.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.loss_atoms import LossAtoms

_SPARE_DIGITS = 40


@dataclass(frozen=True, eq=False)
class ChainCells:
    """Cells of the outputs, those that tell most of copies first.

    log_sizes: ln P_0(cell), shape (m,).   log_ratios: ln P_j(cell)/P_0(cell) for j = 0, 1, ..., shape (copies + 1, m);
    they fall from cell to cell, and are concave in j.   log_infinite: ln of the mass of P_j where P_0 has none, shape
    (copies + 1,).
    """

    log_sizes: NDArray[np.float64]
    log_ratios: NDArray[np.float64]
    log_infinite: NDArray[np.float64]


class _Curve(NamedTuple):
    """F by its pieces, steepest first: where each begins and F there, its ratio size/power, and ln of the inverse."""

    starts: list[Decimal]
    values: list[Decimal]
    ratios: list[Decimal]
    losses: list[float]
    total: Decimal


def chain_cells(atoms: LossAtoms, copies: int) -> ChainCells:
    """Of a law that is its own mirror image; of its losses only those above 0 are read, as the rest mirrors them."""
    with localcontext(_context(atoms)):
        curve = _curve(atoms)
        begins = {start: i for i, start in enumerate(curve.starts)}  # of pieces of size 0 the next one stays
        parents: dict[Decimal, Decimal | None] = dict.fromkeys(begins)
        pieces = dict(begins)
        new = [start for start in begins if start > 0]
        for _ in range(copies - 1):
            new = _pulled_back(new, curve, parents, pieces)
        points = sorted(parents)
        place = {point: i for i, point in enumerate(points)}
        following = [_following(point, parents[point], curve, pieces, points, place) for point in points]
        ends = [*points[1:], curve.total]
        log_sizes = np.array([log_of(end - point) for point, end in zip(points, ends, strict=True)])
        infinite = _infinite(curve, copies)
    losses = np.array(curve.losses)[[pieces[point] for point in points]]
    kept = log_sizes > -math.inf
    return ChainCells(log_sizes[kept], _added_up(losses, following, copies)[:, kept], infinite)


def log_of(number: Decimal) -> float:
    """ln of a number >= 0, which may lie below all floats."""
    if number <= 0:
        return -math.inf
    exponent = number.adjusted()
    return math.log(float(number.scaleb(-exponent))) + exponent * math.log(10)


def _context(atoms: LossAtoms) -> Context:
    smallest = float(np.min(atoms.log_probabilities - np.maximum(atoms.losses, 0.0), initial=0.0))
    digits = _SPARE_DIGITS + math.ceil(-max(smallest, -3000.0) / math.log(10))
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _curve(atoms: LossAtoms) -> _Curve:
    """The power curve of the law. Sizes and powers differ as exactly as the losses say."""
    infinite = _exponential(atoms.log_infinite)
    above = [(Decimal(0), infinite, math.inf)] if infinite else []
    for loss, log in zip(atoms.losses[::-1].tolist(), atoms.log_probabilities[::-1].tolist(), strict=True):
        if loss > 0:
            size = _exponential(log - loss)
            above.append(
                (size, size + size * (Decimal(math.expm1(loss)) if loss < 1 else _exponential(loss) - 1), loss)
            )
    rest = 1 - sum((size + power for size, power, _ in above), Decimal(0))
    middle = [(rest, rest, 0.0)] if rest > 0 else []
    pieces = [*above, *middle, *((power, size, -loss) for size, power, loss in reversed(above))]
    starts = [Decimal(0), *accumulate(size for size, _, _ in pieces)]
    values = [Decimal(0), *accumulate(power for _, power, _ in pieces)]
    ratios = [size / power if power else Decimal(0) for size, power, _ in pieces]
    return _Curve(starts[:-1], values[:-1], ratios, [loss for _, _, loss in pieces], starts[-1])


def _exponential(log: float) -> Decimal:
    """e**log to the digits of a float, also beyond their range."""
    if log == -math.inf:
        return Decimal(0)
    doublings = round(log / math.log(2))
    return Decimal(math.exp(log - doublings * math.log(2))) * Decimal(2) ** doublings


def _pulled_back(
    points: list[Decimal],
    curve: _Curve,
    parents: dict[Decimal, Decimal | None],
    pieces: dict[Decimal, int],
) -> list[Decimal]:
    """Where F takes these values, of those that are new; they are listed with what they come from."""
    found = []
    for value in points:
        piece = bisect_right(curve.values, value) - 1
        point = curve.starts[piece] + (value - curve.values[piece]) * curve.ratios[piece]
        if curve.ratios[piece] and point not in parents:
            parents[point], pieces[point] = value, piece
            found.append(point)
    return found


def _following(
    point: Decimal,
    parent: Decimal | None,
    curve: _Curve,
    pieces: dict[Decimal, int],
    points: list[Decimal],
    place: dict[Decimal, int],
) -> int:
    """The cell that F maps the beginning of this point's cell to."""
    if parent is not None:
        return place[parent]
    return bisect_right(points, curve.values[pieces[point]]) - 1


def _added_up(losses: NDArray[np.float64], following: list[int], copies: int) -> NDArray[np.float64]:
    """The losses of the cells that follow one another, shape (copies + 1, m): those that cancel leave exactly 0."""
    total, lost = np.zeros(losses.size), np.zeros(losses.size)
    rows = [total]
    for _ in range(copies):
        before = total[following]
        total = losses + before
        with np.errstate(invalid="ignore"):  # a loss may be minus infinity
            back = total - losses
            lost = lost[following] + ((before - back) + (losses - (total - back)))
        lost[~np.isfinite(total)] = 0.0
        rows.append(total + lost)
    return np.array(rows)


def _infinite(curve: _Curve, copies: int) -> NDArray[np.float64]:
    """ln F_j(0) for j = 0, ..., copies."""
    value, found = Decimal(0), [-math.inf]
    for _ in range(copies):
        piece = bisect_right(curve.starts, value) - 1
        ratio = curve.ratios[piece]
        value = curve.values[piece] + ((value - curve.starts[piece]) / ratio if ratio else 0)
        found.append(log_of(value))
    return np.array(found)
