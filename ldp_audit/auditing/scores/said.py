"""Sets of numbers in words for people, and as expressions of Python, which count the same outputs.

A set is a list of half-open intervals [low, high), ascending and apart. An edge that lies next to a rounder number
excludes, or includes, that number: [0, nextafter(0)) is "y = 0". -0.0 and NaN have places of their own among the
numbers (`score.coded`). Negative numbers too small for float64's full precision (above -2.3e-308) may count as zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate

from ldp_audit.auditing.scores.score import MINUS_ZERO, NOT_A_NUMBER

Interval = tuple[float, float]
"""low <= y < high; high = inf includes inf."""

_MOST_NAMES = 12
_MOST_VALUES, _MOST_WORDS = 40, 70  # characters: of values, and of all, from which on the others are counted alone
_AFTER_ZERO, _AFTER_MINUS_ZERO = math.nextafter(0.0, math.inf), math.nextafter(MINUS_ZERO, math.inf)


def in_words(name: str, intervals: Sequence[Interval], *, exact: bool = True) -> str:
    """The condition that a number of this name lies in one of the intervals; of many, the first of each kind.

    exact: whether numbers have all of their digits, rather than six.
    """
    values, rest = _apart(intervals)
    parts = []
    if len(values) == 1:
        parts.append(f"{name} = {values[0]}")
    elif values:
        shown = _first(values, _MOST_VALUES, 1)
        more = f", and {len(values) - len(shown)} more" if len(values) > len(shown) else ""
        parts.append(f"{name} in {{{', '.join(shown)}{more}}}")
    if not exact:
        rest = [(float(f"{low:.6g}"), float(f"{high:.6g}")) for low, high in rest]
    words = [_interval_words(name, low, high) for low, high in rest]
    shown = _first(words, _MOST_WORDS - sum(map(len, parts)), 0 if parts else 1)
    more = [f"{len(words) - len(shown)} more intervals"] if len(words) > len(shown) else []
    return " or ".join([*parts, *shown, *more])


def _first(words: Sequence[str], characters: int, least: int) -> Sequence[str]:
    """As many of the first ones as are so long together; at least so many."""
    ends = list(accumulate(len(one) + 2 for one in words))
    return words[: max(least, sum(end <= characters for end in ends))]


def in_python(name: str, intervals: Sequence[Interval]) -> str:
    """The same as an expression of Python, of a number as the program returned it."""
    wide = [(_without_sign(low), _without_sign(high)) for low, high in intervals]
    kept = [(low, high) for low, high in wide if low < high]
    values = [low for low, high in kept if high == math.nextafter(low, math.inf)]
    parts = [_interval_python(name, low, high) for low, high in kept if low not in values]
    if len(values) == 1:
        parts.append(f"{name} == {literal(values[0])}")
    elif values:
        parts.append(f"{name} in ({', '.join(map(literal, values))})")
    text = " or ".join(parts) or "False"
    zero, minus_zero = (any(low <= one < high for low, high in intervals) for one in (0.0, MINUS_ZERO))
    if zero and not minus_zero:
        return f"({text}) and str({name}) != '-0.0'"
    return f"{text} or str({name}) == '-0.0'" if minus_zero and not zero else text


def digits(edge: float) -> str:
    """A number for people; all of its digits, so that who counts by the words counts the same."""
    if edge == MINUS_ZERO:
        return "-0.0"
    short = f"{edge:.12g}"
    return short if float(short) == edge else repr(edge)


def literal(number: float) -> str:
    """The number, exactly, as Python reads it."""
    number = float(number)
    if not math.isfinite(number):
        return f"float({str(number)!r})"
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def folded(words: str) -> str:
    """Literals of a conjunction that say the same of several coordinates, as one: "y[0] = y[1] = 0"."""
    if words.startswith("not ("):
        return f"not ({folded(words[5:-1])})"
    return " or ".join(_folded(box) for box in words.split(" or "))


_LITERAL = re.compile(r"([\w.]+(?:\[\d+\])*) (=|>=|>|<|<=) (-?[\d.e+-]+)")


def _folded(box: str) -> str:
    literals = box.split(" and ")
    said: dict[tuple[str, str], list[str]] = {}
    for one in literals:
        found = _LITERAL.fullmatch(one)
        key = (found[2], found[3]) if found else (one, "")
        said.setdefault(key, []).append(found[1] if found else one)
    return " and ".join(_together(names, *key) for key, names in said.items())


def _together(names: list[str], sign: str, value: str) -> str:
    if not value:
        return names[0]
    if sign == "=" and len(names) <= 3:
        return " = ".join([*names, value])
    if len(names) <= 2:
        return " and ".join(f"{name} {sign} {value}" for name in names)
    return f"all of {', '.join(runs(names))} {sign} {value}"


def readable(name: str) -> str:
    """A coordinate's name without what Python needs: bits[0] for y['bits'][0]."""
    short = re.sub(r"\by(?: as JSON)?\['([A-Za-z_]\w*)'\]", r"\1", name)
    return re.sub(r"(?<=[\w\]])\['([A-Za-z_]\w*)'\]", r".\1", short)


def runs(names: Sequence[str]) -> list[str]:
    """Names of neighbouring places, or bits, as one: y[0], y[1], y[2] as y[0..2]."""
    found: list[tuple[str, int, int, str]] = []
    for name in names:
        parts = re.fullmatch(r"(.*(?:\[| bit ))(\d+)(\]?)", name)
        start, place, end = (parts[1], int(parts[2]), parts[3]) if parts else (name, -1, "")
        if parts and found and (found[-1][0], found[-1][2], found[-1][3]) == (start, place - 1, end):
            found[-1] = (start, found[-1][1], place, end)
        else:
            found.append((start, place, place, end))
    return [
        start if last < 0 else f"{start}{first if first == last else f'{first}..{last}'}{end}"
        for start, first, last, end in found
    ]


def listed(names: Sequence[str]) -> str:
    """Readable names in a note: neighbouring ones as one, and of many the first."""
    shown = runs([*map(readable, names)])
    return ", ".join(shown[:_MOST_NAMES]) + (
        f" and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
    )


def _apart(intervals: Sequence[Interval]) -> tuple[list[str], list[Interval]]:
    """Intervals of one value each, as its digits; and the others."""
    values, rest = [], []
    for low, high in intervals:
        both_zeros = (low, high) == (MINUS_ZERO, _AFTER_ZERO)
        alone = high == math.nextafter(low, math.inf) and math.isfinite(high) and low != NOT_A_NUMBER
        if both_zeros or alone:
            values.append("0" if both_zeros else digits(low))
        else:
            rest.append((low, high))
    return values, rest


def _interval_words(name: str, low: float, high: float) -> str:
    if low == NOT_A_NUMBER:
        others = _interval_words(name, -math.inf, high)
        return f"{name} is NaN" if high == math.nextafter(low, math.inf) else f"{name} is NaN or {others}"
    if low == math.nextafter(NOT_A_NUMBER, math.inf):
        low = -math.inf
    if low == -math.inf and high == math.inf:
        return f"any number {name}"
    low = 0.0 if low == MINUS_ZERO else low  # both zeros
    below, above = _rounder(low), _rounder(high)
    lower = f"{digits(low)} <= " if below is None else f"{digits(below)} < "
    upper = f" < {digits(high)}" if above is None else f" <= {digits(above)}"
    if low == -math.inf:
        return f"{name}{upper}"
    if high == math.inf:
        return f"{name} >= {digits(low)}" if below is None else f"{name} > {digits(below)}"
    return f"{lower}{name}{upper}"


def _rounder(edge: float) -> float | None:
    """The float just below, if that is the shorter number, or stands for -0.0: then the edge was put next to it."""
    before = math.nextafter(edge, -math.inf)
    shorter = math.isfinite(edge) and len(repr(before)) < len(repr(edge))
    return before if shorter or before == MINUS_ZERO else None


def _without_sign(edge: float) -> float:
    """The edge among numbers whose zero has no sign."""
    return 0.0 if edge in (MINUS_ZERO, _AFTER_MINUS_ZERO) else edge


def _interval_python(name: str, low: float, high: float) -> str:
    below, above = _rounder(low), _rounder(high)
    lower = f"{literal(low)} <= {name}" if below is None else f"{literal(below)} < {name}"
    upper = f"< {literal(high)}" if above is None else f"<= {literal(above)}"
    beyond = f">= {literal(high)}" if above is None else f"> {literal(above)}"
    if low == NOT_A_NUMBER:
        alone = high == math.nextafter(low, math.inf)
        return f"{name} != {name}" if alone else f"(not {name} {beyond} and {name} != {literal(-math.inf)})"
    if low == math.nextafter(NOT_A_NUMBER, math.inf):
        return f"{literal(-math.inf)} < {name}" + ("" if high == math.inf else f" {upper}")
    if low == -math.inf:  # NaN counts as smaller than all numbers
        return "True" if high == math.inf else f"not {name} {beyond}"
    if high == math.inf:
        return f"{name} >= {literal(low)}" if below is None else f"{name} > {literal(below)}"
    return f"{lower} {upper}"
