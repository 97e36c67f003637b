"""The coordinates of a structure (`Structure`) as a person names them, and as expressions of Python.

A program that returns {"bits": [0, 1]} has a coordinate y["bits"][1], which is called bits[1]. What no expression of
one line gives is None: a hash of what the look did not show, the spelling of a text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ldp_audit.auditing.scores.said import readable
from ldp_audit.auditing.structure import TEXT_PARTS, Node, Structure

_COORDINATE = re.compile(r"y\[(\d+)\]")
_IMPORTS = ("base64", "json", "re")
_HELPERS = {
    "at": [
        "def at(value, *path):  # None where there is no such part",
        "    for key in path:",
        "        try:",
        "            value = value[key]",
        "        except (IndexError, KeyError, TypeError):",
        "            return None",
        "    return value",
    ],
    "number": [
        "def number(value):  # what is no number counts as 0",
        "    return value if isinstance(value, Real) and not isinstance(value, bool) else 0",
    ],
}


def named(structure: Structure | None, words: str) -> str:
    """The words of an event with the fields of an output in the place of y[0], y[1], ..."""
    if structure is None:
        return words
    names = [readable(name) for name in structure.names]

    def other(found: re.Match[str]) -> str:
        name, sign = names[int(found[1])], found[2]
        if sign is None or not re.search(r" (=|in) ", name):
            return name + (found[0][len(f"y[{found[1]}]") :])
        return name if sign == "1" else re.sub(r" (=|in) ", lambda one: _NOT[one[1]], name, count=1)

    return re.sub(r"y\[(\d+)\](?: = ([01])(?![\d.e]))?", other, words)


_NOT = {"=": " != ", "in": " not in "}


def in_structure(structure: Structure | None, lines: Sequence[str], expression: str) -> tuple[list[str], str] | None:
    """Statements and an expression about y[0], y[1], ... as ones about outputs before they are taken apart.

    None where they need a coordinate that has no expression.
    """
    if structure is None:
        return list(lines), expression
    found = [*_sources(structure.tree, "y", ())]
    every = _COORDINATE.sub("", "\n".join([*lines, expression]))
    if re.search(r"\by\b", every) and len(found) > 1:  # about the whole row
        if None in found[:-1] or len(found) != len(structure.names):
            return None
        row = [f"    {one or 0}," for one in found]
        lines, every = ["y = [", *row, "]", *lines], "\n".join(row)
        return [*_before(every), *lines], expression
    if len(found) == 1:
        expression = re.sub(r"\by\b", "y[0]", expression)
    asked = {int(place) for place in _COORDINATE.findall("\n".join([*lines, expression]))}
    if any(found[place] is None for place in asked):
        return None
    texts = {place: f"({text})" if " " in (text := str(found[place])) else text for place in asked}
    put = [_COORDINATE.sub(lambda one: texts[int(one[1])], line) for line in [*lines, expression]]
    put[-1] = re.sub(r"\((\w[^()]* == [^()]*)\) == 1\b", r"\1", put[-1])
    return [*_before("\n".join(put)), *put[:-1]], put[-1]


def _before(text: str) -> list[str]:
    """Imports and functions that the text needs."""
    lines = [f"import {name}" for name in _IMPORTS if f"{name}." in text]
    if "number(" in text:
        lines.append("from numbers import Real")
    return lines + [line for name, helper in _HELPERS.items() if f"{name}(" in text for line in helper]


def _sources(node: Node, value: str, path: tuple[str, ...] = (), *, maybe: bool = False) -> Iterator[str | None]:
    """An expression for each coordinate of a node, in their order.

    value, path: of Python, which give what the node is of.   maybe: whether it may be missing, or of another form.
    """
    text = _at(value, path, maybe=maybe)
    yield from _own(node, text, maybe=maybe)
    kind = node["kind"]
    if kind == "several" or "rest" in node:
        parts = [*node["parts"].values(), *([node["rest"]] if "rest" in node else [])]
        yield from (None for part in parts for _ in _sources(part, value, path))
    elif kind in ("keys", "row"):
        parts = node["parts"].items() if kind == "keys" else enumerate(node["parts"])
        for key, part in parts:
            yield from _sources(part, value, (*path, str(key)), maybe=maybe)
    elif kind == "sorted":
        yield from _sources(node["part"], f"sorted({text}, key=repr)", maybe=maybe)
    elif kind == "decoded":
        yield from _sources(node["part"], _DECODED[node["by"]].replace("{}", text), maybe=maybe)
    elif "part" in node:
        yield from _sources(node["part"], value, path, maybe=maybe or kind == "form")
    if kind == "whole":
        yield None


def _own(node: Node, text: str, *, maybe: bool) -> Iterator[str | None]:
    """Those of the node itself, before those of its parts."""
    kind = node["kind"]
    if kind == "leaf":
        if node["numbers"]:
            yield f"number({text})" if maybe or node["values"] else text
        yield from (_is(text, label) for label in node["values"])
    elif kind == "bits":
        held = f"({text} or b'')" if maybe else text
        yield from (
            f"({held} + bytes({node['bytes']}))[{bit // 8}] >> {7 - bit % 8} & 1" for bit in range(8 * node["bytes"])
        )
    elif kind == "set":
        held = f"({text} or ())" if maybe else text
        yield f"len({held})"
        yield from (f"{member} in {held}" if _evaluated(member) is not None else None for member in node["members"])
    elif kind == "form":
        yield from [f"len({text} or ())"] * node["sized"]
        yield from (f"{text} is None" if form == "absent" else None for form in node["forms"])
    elif kind == "decoded":
        yield from (None for _ in node.get("spellings", ()))


_DECODED = {
    "JSON": "json.loads({})",
    "hex": "bytes.fromhex({})",
    "base64": "base64.b64decode({})",
    "words": f"[int(one) if one.isascii() and one.isdigit() else one for one in re.findall({TEXT_PARTS!r}, {'{}'})]",
    "characters": "{}",
}


def _at(value: str, path: tuple[str, ...], *, maybe: bool) -> str:
    if maybe and path:
        return f"at({', '.join([value, *path])})"
    return value + "".join(f"[{key}]" for key in path)


def _is(text: str, label: str) -> str | None:
    """That a value is the one of this label."""
    value = _evaluated(label)
    if label in ("None", "True", "False"):
        return f"{text} is {label}"
    return None if value is None else f"{text} == {label}"


def _evaluated(label: str) -> object:
    """The value of a label, if Python has one for its text; else None."""
    try:
        return ast.literal_eval(label)
    except (SyntaxError, ValueError):
        return None
