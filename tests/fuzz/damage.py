"""Documents near valid ones: bytes flipped, cut and spliced; JSON with a part replaced by what is hostile."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

HOSTILE: tuple[str, ...] = (
    *("null", "true", "-1", "0", "1", "2", "0.5", "-0.0", "1e400", "-1e400", "NaN", "1e-400", "9" * 30, "9" * 400),
    *('""', '"inf"', '"nan"', '"1e999999999"', '"1/0"', '"x"', '"\\u0000"', '"\\ud800"', '"\\u001b[2J"', "[]", "{}"),
    *("[[]]", "[1]", "[0,1]", "[1e400,-1]", '{"a":1}', "[" * 300 + "]" * 300, '{"a":' * 200 + "1" + "}" * 200),
    *('"' + "x" * 5000 + '"', '"((2**99999)**99999)**99999"', '"(a+b+c+d+e+f)**150"', '"-' + "-" * 900 + '1"'),
    *('"os:system"', '"builtins:eval"', "\"__import__('os').system('touch CANARY')\"", "9" * 5000),
)
"""Texts of JSON values that readers trip over."""

PLACE = st.integers(0, 1 << 30)
EDITS = st.lists(
    st.tuples(PLACE, st.sampled_from(("flip", "cut", "drop", "double", "put")), st.binary(max_size=6)), max_size=4
)
PARTS = st.lists(
    st.tuples(PLACE, st.sampled_from(("replace", "drop", "twice")), st.sampled_from(HOSTILE)), min_size=1, max_size=3
)


def damaged(data: bytes, edits: list[tuple[int, str, bytes]]) -> bytes:
    """The bytes after some edits."""
    for place, what, more in edits:
        at = place % (len(data) + 1)
        if what == "flip" and at < len(data):
            data = data[:at] + bytes([data[at] ^ (1 << place % 8)]) + data[at + 1 :]
        elif what == "cut":
            data = data[:at]
        elif what == "drop":
            data = data[:at] + data[at + 1 + len(more) :]
        elif what == "double":
            data = data[:at] + data[max(0, at - 40) : at] + data[at:]
        else:
            data = data[:at] + more + data[at:]
    return data


def edited(document: Any, parts: list[tuple[int, str, str]]) -> bytes:
    """The JSON of a document of which some values are replaced by other texts, or are missing, or there twice."""
    text = document
    for place, what, hostile in parts:
        text = _edited(text, place % max(1, _count(text)), what, _Raw(hostile))[0]
    return _text(text).encode("utf-8", "surrogatepass")


class _Raw(str):
    """A JSON value's text."""


def _count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, inner))


def _edited(value: Any, left: int, what: str, hostile: _Raw) -> tuple[Any, int]:
    """With the value number `left`, counted from the outside inwards, changed; and what is left to count."""
    if left == 0:
        return hostile, -1
    left -= 1
    if isinstance(value, dict):
        found: Any = {}
        for key, inner in value.items():
            if left == 0 and what == "drop":
                left = -1
                continue
            changed, left = (inner, left) if left < 0 else _edited(inner, left, what, hostile)
            if left == -1 and changed is hostile and what == "twice":
                found[_Key(key)] = inner
            found[key] = changed
        return found, left
    if isinstance(value, list):
        items = []
        for inner in value:
            changed, left = (inner, left) if left < 0 else _edited(inner, left, what, hostile)
            items += (
                [changed] if changed is not hostile or what == "replace" else [] if what == "drop" else [inner, changed]
            )
        return items, left
    return value, left


class _Key(str):
    """A key that may be there twice."""

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _text(value: Any) -> str:
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(key))}:{_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)
