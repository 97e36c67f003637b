"""The simplest point of a domain at which a relation fails: small integers first, then small fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice
from math import ceil, floor

from sympy import Symbol

from ldp_audit.claims.engines.evaluate import Point, Value, bounds_of, holds_at, inside_domain, is_given, value, written
from ldp_audit.claims.language.statement import Statement, is_linked
from ldp_audit.mechanisms.variable import Variable

_ABOVE = [
    Fraction(text) for text in ("1", "0", "2", "1/2", "3", "4", "5", "9", "1/4", "17", "99", "1/10", "999", "1/1000")
] + [Fraction(10) ** power for power in (6, 9, 12, 15, 30)]
_REAL = [
    Fraction(text) for text in ("0", "1", "-1", "2", "-2", "1/2", "-1/2", "3", "-3", "4", "-4", "10", "-10", "100")
]
_BETWEEN = [Fraction(text) for text in ("1", "0", "1/2", "3/4", "1/4", "1/10", "9/10", "1/100", "99/100")]
_ALL_WHOLE = 64
"""The length of a range of whole numbers all of which are tried, after the simple ones."""
MAX_TRIES = 50_000
"""Limit on the number of points: small points may keep missing a thin domain."""


def counterexample(statement: Statement, limit: int) -> Point | None:
    """The first of `limit` points, simplest first, at which the relation certainly fails; None if there is none."""
    for point in points_of(statement, limit):
        if holds_at(statement, point) is False and _may_be_written(statement, point):
            return _shrunk(statement, point)
    return None


def _may_be_written(statement: Statement, point: Point) -> bool:
    """Whether both sides have values there that are not too large for a report."""
    try:
        for side in (statement.left, statement.right):
            written(value(side, point))
    except OverflowError:
        return False
    return True


def points_of(statement: Statement, limit: int) -> Iterator[Point]:
    """At most `limit` points at which the statement says something, simplest first."""
    found = points(statement.variables(), MAX_TRIES if statement.given else limit)
    yield from islice((point for point in found if is_given(statement, point)), limit)


def _shrunk(statement: Statement, point: Point) -> Point:
    """The same violation at smaller sizes: each integer variable is halved towards its lower bound while it
    persists."""
    variables = statement.variables()
    for variable in variables:
        if not (variable.integer_valued and variable.lower.is_number and variable.lower.is_finite):
            continue
        good, bad = _inner(value(variable.lower, {}), up=True) - 1, point[variable]
        while bad - good > 1:
            middle = Fraction((good + bad) // 2)
            trial = {**point, variable: middle}
            inside = inside_domain(variables, trial) and is_given(statement, trial)
            if inside and holds_at(statement, trial) is False:
                bad, point = middle, trial
            else:
                good = middle
    return point


def points(variables: list[Variable], limit: int) -> Iterator[Point]:
    """At most `limit` rational points of the domain, simplest first, without the variables that exponents determine.

    Simple: few variables off their first choice, and those not far down their list of choices.
    """
    free = [variable for variable in variables if not is_linked(variable, variables)]
    usable = [_usable(variable) for variable in free]
    tried = (_point(free, ranks) for ranks in islice(_ranks(usable), MAX_TRIES))
    yield from islice((point for point in tried if point is not None and inside_domain(variables, point)), limit)


@lru_cache(maxsize=1024)
def _usable(variable: Variable) -> list[int]:
    """The ranks of the choices in its domain, which excludes an open bound; all if its bounds depend on others."""
    if not (variable.lower.is_number and variable.upper.is_number):
        return list(range(len(_REAL)))
    choices = _choices(variable, {})
    return [rank for rank, choice in enumerate(choices) if inside_domain([variable], {variable: choice})]


def _ranks(usable: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """The rank of each variable's choice: few off the first; the inputs, which are listed last, before the parameters.

    usable: for each variable its possible ranks, ascending; a variable without rank 0 is always off its first choice.
    """
    if not all(usable):
        return
    always = [place for place, ranks in enumerate(usable) if ranks[0] > 0]
    sometimes = [place for place in reversed(range(len(usable))) if usable[place][0] == 0 and len(usable[place]) > 1]
    for moved in range(len(sometimes) + 1):
        for chosen in combinations(sometimes, moved):
            places = sorted([*always, *chosen], reverse=True)
            among = [[rank for rank in usable[place] if rank > 0] for place in places]
            for total in range(sum(map(min, among)), sum(map(max, among)) + 1):
                for steps in _compositions(among, total):
                    ranks = [0] * len(usable)
                    for place, step in zip(places, steps, strict=True):
                        ranks[place] = step
                    yield tuple(ranks)


def _compositions(among: list[list[int]], total: int) -> Iterator[tuple[int, ...]]:
    """Ranks, one from each ascending list, that sum to `total`."""
    if not among:
        if total == 0:
            yield ()
        return
    before = among[:-1]
    least, most = sum(ranks[0] for ranks in before), sum(ranks[-1] for ranks in before)
    for last in among[-1]:
        if least <= total - last <= most:
            for rest in _compositions(before, total - last):
                yield (*rest, last)


def _point(variables: list[Variable], ranks: tuple[int, ...]) -> Point | None:
    point: dict[Symbol, Fraction] = {}
    for variable, rank in zip(variables, ranks, strict=True):
        choices = _choices(variable, point)
        if rank >= len(choices):
            return None
        point[variable] = choices[rank]
    return point


def _choices(variable: Variable, point: Point) -> list[Fraction]:
    """Values for the variable given those already chosen; none if one of its bounds is undefined."""
    try:
        lower = None if variable.lower.is_infinite else _inner(value(variable.lower, point), up=True)
        upper = None if variable.upper.is_infinite else _inner(value(variable.upper, point), up=False)
    except (ZeroDivisionError, OverflowError):
        return []
    return _simple(lower, upper, variable.integer_valued)


@lru_cache(maxsize=4096)
def _simple(lower: Fraction | None, upper: Fraction | None, whole: bool) -> list[Fraction]:  # noqa: FBT001  (a key of the cache)
    """Simple numbers from the lower bound up, from the upper one down, or between both; whole ones on request."""
    if lower is not None and upper is not None:
        choices = [lower + (upper - lower) * step for step in _BETWEEN]
    elif lower is not None:
        choices = [lower + step for step in _ABOVE]
    elif upper is not None:
        choices = [upper - step for step in _ABOVE]
    else:
        choices = _REAL
    if whole:
        choices = sorted({Fraction(round(choice)) for choice in choices}, key=lambda size: (abs(size), size))
        if lower is not None and upper is not None and upper - lower <= _ALL_WHOLE:
            choices += map(Fraction, range(ceil(lower), floor(upper) + 1))
    return list(dict.fromkeys(choices))


def _inner(end: Value, *, up: bool) -> Fraction:
    """A rational bound; for an irrational one, its six-digit neighbour inside the domain."""
    if isinstance(end, Fraction):
        return end
    low, high = bounds_of(end)
    return Fraction(-((-high * 10**6) // 1), 10**6) if up else Fraction((low * 10**6) // 1, 10**6)
