"""Formatting of numbers; infinities are given as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ldp_audit.accounting.protocols.protocol_report import interval, number


def epsilon(value: Any) -> str:
    """Six digits, rounded up; a dash for None."""
    return "–" if value is None else grouped(number(float(value)))


def ends(pair: Sequence[Any] | None) -> str:
    """A certified interval; one number where its bounds agree, a dash for None."""
    if pair is None:
        return "–"
    low, high = (float(end) for end in pair)
    if math.isinf(low):
        return "infinite"
    return " to ".join(map(grouped, interval((low, high)).split(" to ")))


def short(value: Any, digits: int = 6) -> str:
    """A number, or a list of them, in few digits; text unchanged."""
    if isinstance(value, list):
        return f"[{', '.join(short(one, 4) for one in value)}]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return {"inf": "infinite", "None": "–"}.get(str(value), str(value))
    return "infinite" if math.isinf(value) else f"{value:.{digits}g}"


def grouped(text: str) -> str:
    """A long number with commas; other text unchanged."""
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isdigit() and len(whole) > 4 else text


def many(count: int, what: str) -> str:
    """`1 claim`, `2 claims`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
