"""Clocks and counters among the parts of outputs: what only grows, or only falls, and times of the present."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

_IN_ORDER = 1e12
"""Values are in order by chance once in so many looks, at most, where they are called a counter or a clock: each of the
4,096 leaves of a structure is asked, so that one in 4e8 sound programs loses a leaf."""
_PRESENT = 86_400.0
"""Seconds from now within which a time is one of the present: another time zone's too, and no date of birth."""
_UNITS = (1.0, 1e3, 1e6, 1e9)
"""Of the seconds since 1970, as clocks give them."""
_WORD = re.compile(r"\w+")
_ORDERED = {int, float, str, datetime, date}


def is_clock(values: Sequence[Any]) -> bool:
    """Whether these, in the order in which they were drawn, are times of the present, or those of a counter or a clock.

    Values that are in no order, of which m_1, m_2, ... are alike, are ascending by chance once in
    (m_1 + m_2 + ...)!/(m_1! m_2! ...) times, and descending likewise.
    """
    if all(map(is_present, values)):
        return bool(values)
    kinds = {*map(type, values)}
    if kinds == {int, str}:  # words, of which those without a letter are numbers
        width = max(len(str(value)) for value in values)
        return is_clock([str(value).zfill(width) for value in values])
    if kinds == {str} and not all(map(_WORD.fullmatch, values)):  # of which a first part may grow
        return False
    if not (kinds <= {int, float} or len(kinds) == 1) or not kinds <= _ORDERED:
        return False
    rising = all(a <= b for a, b in pairwise(values))
    if not rising and not all(a >= b for a, b in pairwise(values)):
        return False
    alike = Counter(values).values()
    return math.lgamma(len(values) + 1) - sum(math.lgamma(times + 1) for times in alike) > math.log(2 * _IN_ORDER)


def is_present(value: Any) -> bool:
    """Whether it is a time of the present, as an object, a number of seconds or parts of them, or a text of either."""
    if isinstance(value, str):
        if not value[:4].isdigit() or len(value) > 40:
            return False
        if value.isdigit():
            return is_present(int(value))
        try:
            return is_present(datetime.fromisoformat(value.replace(",", ".")))
        except ValueError:
            return False
    if isinstance(value, datetime):
        utc = value.replace(tzinfo=value.tzinfo or UTC)
        return abs(utc.timestamp() - time.time()) < _PRESENT
    if isinstance(value, date):
        return abs((value - datetime.now(UTC).date()).days) <= 1
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return any(abs(value - unit * time.time()) < unit * _PRESENT for unit in _UNITS)
