"""A published statement, its false neighbour, and both of them by numbers, without any engine."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from mpmath import mp, mpf
from sympy import (
    Abs,
    Add,
    E,
    Expr,
    Integer,
    Integral,
    Max,
    Min,
    Mul,
    Pow,
    Rational,
    Sum,
    Symbol,
    binomial,
    ceiling,
    cosh,
    coth,
    erf,
    exp,
    factorial,
    floor,
    log,
    oo,
    pi,
    sign,
    sinh,
    sympify,
    tanh,
)

from ldp_audit.claims import Statement, at_most
from ldp_audit.claims.privacy import is_private
from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.variable import Variable, variables_of
from ldp_audit.mechanisms.weights import SymbolicWeights

DIGITS = 120
"""Decimal digits carried, so that differences of 1e-60 are seen where powers of e**60 cancel."""
_NOISE = mpf(10) ** -60

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Privacy:
    """The claim that a law is epsilon-LDP with t = e**epsilon, or (epsilon, delta)-LDP."""

    law: SymbolicChannel | SymbolicWeights
    t: Any
    delta: Any = None

    def parts(self) -> tuple[Statement, ...]:
        """As the claim engine writes it."""
        return is_private(self.law, self.t, **({} if self.delta is None else {"delta": self.delta}))

    def by_definition(self) -> list[Statement]:
        """Written out here, output by output: what the numbers are put into."""
        if isinstance(self.law, SymbolicWeights):
            classes = self.law.classes
            return [at_most(a.probability, self.t * b.probability) for a in classes for b in classes if a is not b]
        mine, theirs = self.law, self.law.twin()
        pairs = [(a.probability, b.probability) for a, b in zip(mine.atoms, theirs.atoms, strict=True)]
        pairs += [(_density(mine), _density(theirs))] if mine.pieces else []
        if self.delta is not None:
            return [at_most(Add(*(Max(0, a - self.t * b, evaluate=False) for a, b in pairs)), self.delta)]
        return [at_most(a, self.t * b) for a, b in pairs]


Build = Callable[[], Statement | Privacy]


@dataclass(frozen=True)
class Entry:
    """A statement that somebody published.

    id, place: of the statement; `place` is where the source has it.   words: what it says, in ours.
    statement: builds it, as a reviewer would write it; called late, because building may raise.
    neighbour: builds a false statement beside a true one. A statement without one is itself false.
    against: the point where the false one (the neighbour, or the statement itself) fails, by the variables' names; for
        an O-statement a function from the constant to such a point.
    shown: the point that shows a true "there is", or the constant of a true O-statement.
    needs: the construct that it takes to settle it; "algebra" where the sides are rational in epsilon, t or s alone.
    not_yet: building it or its neighbour raises, as the language has no words for it; the tests have no numbers then.
    """

    id: str
    place: str
    words: str
    statement: Build
    neighbour: Build | None = None
    against: Point | Callable[[int], Point] = field(default_factory=dict)
    shown: Point = field(default_factory=dict)
    needs: str = "algebra"
    source: str = ""
    not_yet: bool = False

    @property
    def holds(self) -> bool:
        """Whether the published statement is true."""
        return self.neighbour is not None


def published(source: str, *entries: Entry) -> list[Entry]:
    """The entries, with their source."""
    return [replace(entry, source=source) for entry in entries]


def parts_of(build: Build) -> tuple[Statement, ...]:
    """The statements that the claim engine settles."""
    built = build()
    return built.parts() if isinstance(built, Privacy) else (built,)


def contradiction(build: Build, shown: Point, *, points: int, seed: str) -> str:
    """A random point at which a statement held to be true fails, in words; empty if there is none among so many."""
    draw = random.Random(seed)
    for statement in _written_out(build):
        if statement.quantifier == "there is":
            if _holds(statement, _completed(statement, shown), strictly=True):
                continue
            return f"{statement.left} {statement.relation} {statement.right} does not hold at {dict(shown)}"
        for _ in range(points):
            point = _random_point(statement, shown, draw)
            if not _holds(statement, point):
                where = {name: mp.nstr(value, 15) for name, value in point.items()}
                return f"{statement.left} {statement.relation} {statement.right} fails at {where}"
    return ""


def fails(build: Build, against: Point | Callable[[int], Point], *, points: int = 40, strictly: bool = True) -> bool:
    """Whether a statement held to be false is shown to fail by the point (or by one for each constant).

    strictly: a tie is a failure of "less than" too.
    """
    statements = _written_out(build)
    if callable(against):
        assert statements[0].constant is not None
        name = statements[0].constant.name
        tries = [{**against(constant), name: constant} for constant in (1, 10**3, 10**6)]
        return all(not _holds(statements[0], _completed(statements[0], one), strictly=strictly) for one in tries)
    if statements[0].quantifier == "there is":
        draw = random.Random("nowhere")
        tries = (_random_point(statements[0], {}, draw) for _ in range(points))
        return not any(_holds(statements[0], one, strictly=strictly) for one in tries)
    return any(not _holds(one, _completed(one, against), strictly=strictly) for one in statements)


def _written_out(build: Build) -> list[Statement]:
    built = build()
    return built.by_definition() if isinstance(built, Privacy) else [built]


def _density(law: SymbolicChannel) -> Expr:
    far = Integer(10) ** 9
    ends = {oo: far, -oo: -far}
    parts = [(ends.get(one.lower, one.lower), ends.get(one.upper, one.upper), one.density) for one in law.pieces]
    return Piecewise(*(part for one in parts for part in one), OUTPUT)


class Piecewise(Expr):
    """A density by its pieces, each a lower end, an upper end and an expression, then the output; for numbers alone."""


def number(expression: Any, point: Mapping[str, Any]) -> Any:
    """The value in `DIGITS` digits."""
    expression = sympify(expression)
    if isinstance(expression, Rational):
        return mpf(int(expression.p)) / int(expression.q)
    if expression in (E, pi):
        return +(mp.e if expression == E else mp.pi)
    if expression.is_infinite:
        return mp.inf if expression.is_extended_positive else -mp.inf
    if isinstance(expression, Symbol):
        return point[expression.name]
    if isinstance(expression, Sum):
        term, (index, first, last) = expression.function, expression.limits[0]
        places = _places(term, index, number(first, point), number(last, point), point)
        return sum((number(term, {**point, index.name: mpf(i)}) for i in places), mpf(0))
    if isinstance(expression, Integral):
        return _integral(expression.function, *expression.limits[0], point)
    values = [number(part, point) for part in expression.args]
    if isinstance(expression, Piecewise):
        return _at_output(values[:-1], values[-1])
    return next(compute for kind, compute in _FUNCTIONS.items() if isinstance(expression, kind))(*values)


def _places(term: Expr, index: Symbol, first: Any, last: Any, point: Mapping[str, Any]) -> range:
    """The index's values; of an infinite sum whose terms fall at last, those up to where nothing is left of them."""
    stop = int(first) + 1 if last == mp.inf else int(last)
    while last == mp.inf and abs(number(term, {**point, index.name: mpf(stop)})) > mpf(10) ** (-2 * DIGITS):
        stop *= 2
    return range(int(first), stop + 1)


def _integral(term: Expr, z: Symbol, low: Expr, high: Expr, point: Mapping[str, Any]) -> Any:
    """By quadrature between the zeros of its Abs, in parts that grow from these until nothing is left of the term."""

    def at(place: Any) -> Any:
        return number(term, {**point, z.name: place})

    ends = [number(low, point), number(high, point)]
    cuts = {end for end in ends if abs(end) < mp.inf}
    for node in term.atoms(Abs):
        first, second = (number(node.args[0], {**point, z.name: mpf(place)}) for place in (0, 1))
        cuts |= {cut for cut in ([-first / (second - first)] if second != first else []) if ends[0] < cut < ends[1]}
    inside = sorted(cuts)
    before = _growing(at, inside[0], -1) if ends[0] == -mp.inf else []
    after = _growing(at, inside[-1], 1) if ends[1] == mp.inf else []
    places = [*reversed(before), *inside, *after]
    with mp.workdps(80):
        return mp.fsum(mp.quad(at, part, method="gauss-legendre") for part in itertools.pairwise(places))


def _growing(at: Callable[[Any], Any], start: Any, way: int) -> list[Any]:
    """Places beyond the start, each twice as far away as the last, up to where nothing is left of the term."""
    reach, found = mpf(2) ** -8, []
    while not found or abs(at(found[-1])) * reach > mpf(10) ** (-DIGITS):
        found.append(start + way * reach)
        reach *= 2
    return found


def _at_output(values: list[Any], output: Any) -> Any:
    triples = zip(values[::3], values[1::3], values[2::3], strict=True)
    return next((density for lower, upper, density in triples if lower <= output <= upper), mpf(0))


_FUNCTIONS: dict[type, Callable[..., Any]] = {
    Add: lambda *parts: mp.fsum(parts),
    Mul: lambda *parts: reduce(operator.mul, parts),
    Pow: lambda base, exponent: mp.power(base, exponent) if base != 0 or exponent >= 0 else 1 / base,
    exp: mp.exp,
    log: mp.log,
    Abs: abs,
    Max: max,
    Min: min,
    tanh: mp.tanh,
    cosh: mp.cosh,
    sinh: mp.sinh,
    coth: mp.coth,
    erf: mp.erf,
    floor: mp.floor,
    ceiling: mp.ceil,
    binomial: mp.binomial,
    factorial: mp.factorial,
    Ind: lambda a, b: mpf(a == b),
    sign: mp.sign,
}


def _sides(statement: Statement) -> tuple[Expr, Expr]:
    """Both sides as they were written, before the engine made one letter of all exponentials."""
    return (statement.wrote or (statement.left, statement.right))[:2]  # type: ignore[return-value]


def _holds(statement: Statement, point: Mapping[str, Any], *, strictly: bool = False) -> bool:
    """Whether the relation holds up to the noise of the digits; strictly: whether it is shown to hold."""
    left, right = (number(side, point) for side in _sides(statement))
    gap = right - left
    noise = _NOISE * max(1, abs(left), abs(right))
    same = abs(gap) <= noise
    if statement.relation in ("==", "!="):
        return same == (statement.relation == "==") or (statement.relation == "!=" and not strictly)
    return gap > noise or (same and (statement.relation == "<=" or not strictly))


def _random_point(statement: Statement, given: Point, draw: random.Random) -> dict[str, Any]:
    for _ in range(1000):
        point = {name: number(value, {}) for name, value in given.items()}
        for variable in _variables(statement):
            _place(variable, point, draw)
        if all(_inside(variable, point) for variable in _variables(statement)) and _granted(statement, point):
            return point
    raise ValueError(f"no point was found in the domain of {statement.left} {statement.relation} {statement.right}")


def _completed(statement: Statement, given: Point) -> dict[str, Any]:
    """The point with the exponentials that follow from it. Raises ValueError where it is none of the domain."""
    point = {name: number(value, {}) for name, value in given.items()}
    for variable in _variables(statement):
        _place(variable, point, None)
        if not _inside(variable, point):
            raise ValueError(f"{variable} = {mp.nstr(point[variable.name], 20)} lies outside its domain")
    if not _granted(statement, point):
        raise ValueError(f"what is given does not hold at {point}")
    return point


def _given(statement: Statement) -> list[Statement]:
    """What is given, as statements without premises, in the words in which it was written."""
    sides = (statement.wrote or ())[2:] or [side for one in statement.given for side in (one.left, one.right)]
    pairs = zip(statement.given, sides[::2], sides[1::2], strict=True)
    return [Statement(left, one.relation, right) for one, left, right in pairs]


def _granted(statement: Statement, point: Mapping[str, Any]) -> bool:
    return all(_holds(one, point, strictly=True) for one in _given(statement))


def _variables(statement: Statement) -> Iterator[Variable]:
    found = variables_of([side for one in (statement, *_given(statement)) for side in _sides(one)])
    return (one for one in found if isinstance(one, Variable))


def _place(variable: Variable, point: dict[str, Any], draw: random.Random | None) -> None:
    if variable.name in point:
        return
    for part in (variable.lower, variable.upper, *([variable.exp_of] if variable.exp_of is not None else [])):
        for needed in sorted(part.free_symbols, key=str):
            _place(needed, point, draw)  # type: ignore[arg-type]
    if variable.exp_of is not None:
        point[variable.name] = mp.exp(number(variable.exp_of, point))
    elif draw is None:
        raise ValueError(f"the point must give {variable}")
    else:
        point[variable.name] = _drawn(variable, number(variable.lower, point), number(variable.upper, point), draw)


def _drawn(variable: Variable, lower: Any, upper: Any, draw: random.Random) -> Any:
    if variable.integer_valued:
        first = mp.ceil(lower) if lower > -mp.inf else mpf(-30)
        last = mp.floor(upper) if upper < mp.inf else first + int(10 ** draw.uniform(0, 1.8)) - 1
        return mpf(draw.randint(int(first), max(int(first), int(last))))
    if lower > -mp.inf and upper < mp.inf:
        kind = draw.random()
        if kind < 0.1 and not variable.lower_open:
            return lower
        if kind > 0.9 and not variable.upper_open:
            return upper
        share = mpf(draw.random()) if kind < 0.7 else mpf(10) ** draw.uniform(-8, -1)
        return lower + (upper - lower) * (share if kind < 0.8 else 1 - share)
    away = mpf(10) ** draw.uniform(-5, 1.7)
    if lower > -mp.inf:
        return lower if draw.random() < 0.1 and not variable.lower_open else lower + away
    return upper - away if upper < mp.inf else away * draw.choice((-1, 1))


def _inside(variable: Variable, point: Mapping[str, Any]) -> bool:
    here, lower, upper = point[variable.name], number(variable.lower, point), number(variable.upper, point)
    above = lower < here if variable.lower_open else lower <= here
    below = here < upper if variable.upper_open else here <= upper
    whole = not variable.integer_valued or here == Integer(int(here))
    return bool(above and below and whole)
