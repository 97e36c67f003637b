"""The simplest point of a domain that makes a relation fail: small integers first, then small fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, islice

from sympy import Symbol

from ldp_audit.claims.evaluate import Point, Value, bounds_of, holds_at, inside_domain, value
from ldp_audit.claims.statement import Statement, is_linked
from ldp_audit.mechanisms.variable import Variable

_ABOVE = [
    Fraction(text) for text in ("1", "0", "2", "1/2", "3", "4", "5", "9", "1/4", "17", "99", "1/10", "999", "1/1000")
]
_REAL = [
    Fraction(text) for text in ("0", "1", "-1", "2", "-2", "1/2", "-1/2", "3", "-3", "4", "-4", "10", "-10", "100")
]
_BETWEEN = [Fraction(text) for text in ("1", "0", "1/2", "3/4", "1/4", "1/10", "9/10", "1/100", "99/100")]
_TRIES = 50_000
"""Points tried at most: a domain may be so thin that small points keep missing it."""


def counterexample(statement: Statement, limit: int) -> Point | None:
    """The first of `limit` points, simplest first, at which the relation certainly fails; None if there is none."""
    for point in points(statement.variables(), limit):
        if holds_at(statement, point) is False:
            return _shrunk(statement, point)
    return None


def _shrunk(statement: Statement, point: Point) -> Point:
    """The same violation at smaller sizes: each whole-numbered variable halved towards its lower end while it lasts."""
    variables = statement.variables()
    for variable in variables:
        if not (variable.integer_valued and variable.lower.is_number and variable.lower.is_finite):
            continue
        good, bad = _inner(value(variable.lower, {}), up=True) - 1, point[variable]
        while bad - good > 1:
            middle = Fraction((good + bad) // 2)
            trial = {**point, variable: middle}
            if inside_domain(variables, trial) and holds_at(statement, trial) is False:
                bad, point = middle, trial
            else:
                good = middle
    return point


def points(variables: list[Variable], limit: int) -> Iterator[Point]:
    """At most `limit` rational points of the domain, simplest first; linked variables are left out.

    Simple: few variables away from their first choice, and those not far down their list of choices.
    """
    free = [variable for variable in variables if not is_linked(variable, variables)]
    given = 0
    for ranks in islice(_ranks(len(free)), _TRIES):
        point = _point(free, ranks)
        if point is None or not inside_domain(variables, point):
            continue
        yield point
        given += 1
        if given >= limit:
            return


def _ranks(count: int) -> Iterator[tuple[int, ...]]:
    """Which choice each variable takes: few moved first; the inputs, which are listed last, before the parameters."""
    for moved in range(count + 1):
        for places in combinations(reversed(range(count)), moved):
            for total in range(moved, moved * (len(_REAL) - 1) + 1):
                for steps in _compositions(moved, total):
                    ranks = [0] * count
                    for place, step in zip(places, steps, strict=True):
                        ranks[place] = step
                    yield tuple(ranks)


def _compositions(count: int, total: int) -> Iterator[tuple[int, ...]]:
    """`count` ranks from 1 up that add up to `total`."""
    if count == 0:
        if total == 0:
            yield ()
        return
    for last in range(1, min(total - count + 1, len(_REAL) - 1) + 1):
        for rest in _compositions(count - 1, total - last):
            yield (*rest, last)


def _point(variables: list[Variable], ranks: tuple[int, ...]) -> Point | None:
    point: dict[Symbol, Fraction] = {}
    for variable, rank in zip(variables, ranks, strict=True):
        try:
            choices = _choices(variable, point)
        except ZeroDivisionError:
            return None
        if rank >= len(choices):
            return None
        point[variable] = choices[rank]
    return point


def _choices(variable: Variable, point: Point) -> list[Fraction]:
    lower = None if variable.lower.is_infinite else _inner(value(variable.lower, point), up=True)
    upper = None if variable.upper.is_infinite else _inner(value(variable.upper, point), up=False)
    if lower is not None and upper is not None:
        choices = [lower + (upper - lower) * step for step in _BETWEEN]
    elif lower is not None:
        choices = [lower + step for step in _ABOVE]
    elif upper is not None:
        choices = [upper - step for step in _ABOVE]
    else:
        choices = _REAL
    if variable.integer_valued:
        choices = sorted({Fraction(round(choice)) for choice in choices}, key=lambda size: (abs(size), size))
    return list(dict.fromkeys(choices))


def _inner(end: Value, *, up: bool) -> Fraction:
    """A rational end; for an irrational one, its six-digit neighbour inside the domain."""
    if isinstance(end, Fraction):
        return end
    low, high = bounds_of(end)
    return Fraction(-((-high * 10**6) // 1), 10**6) if up else Fraction((low * 10**6) // 1, 10**6)
