"""Docstrings in the house style as Markdown: lines "name: meaning" become a list, formulas stay as they are typed."""

from __future__ import annotations

import inspect
import re
from typing import Any

from griffe import Extension, Object

_NAME = r"\*{0,2}[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*"
_ITEM = re.compile(rf"^({_NAME}): (?=\S)")
_NEXT = re.compile(rf"\s{{3,}}(?={_NAME}: )")
_PROSE = re.compile(r"^(Raises|Returns|Source|See|Where)\b")
_CODE = re.compile(r"(`+[^`]*`+)")


class HouseStyle(Extension):
    """Rewrites every docstring before it is rendered."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """griffe calls this once for each object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(inspect.cleandoc(obj.docstring.value))


def as_markdown(text: str) -> str:
    """A docstring as Markdown: paragraphs, indented examples, and lists of what is named."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text))


def _paragraph(text: str) -> str:
    if text.startswith(("    ", "* ", "- ", "1. ")):
        return text if text.startswith("    ") else _escaped(text)
    lines: list[str] = []
    listed = False
    for line in (piece for row in text.splitlines() for piece in _NEXT.split(row)):
        item = _ITEM.match(line)
        if item:
            lines += [] if listed else [""]
            lines.append(f"* **`{item[1]}`**: {_escaped(line[item.end() :])}")
            listed = True
        elif listed and _PROSE.match(line):
            lines += ["", _escaped(line)]
            listed = False
        else:
            lines.append(("  " if listed else "") + _escaped(line.strip() if listed else line))
    return "\n".join(lines).strip("\n")


def _escaped(text: str) -> str:
    """What Markdown would read as markup, outside of code: stars, underscores, brackets, tags, dollars."""
    parts = _CODE.split(text)
    return "".join(part if index % 2 else _plain(part) for index, part in enumerate(parts))


def _plain(text: str) -> str:
    bullet = re.match(r"\s*\* ", text)
    start = bullet.end() if bullet else 0
    return text[:start] + re.sub(r"([\\*_\[\]$])", r"\\\1", text[start:]).replace("<", "&lt;")
