"""One page, parsed by the standard library: what the checks need to know of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})


@dataclass
class Page:
    """What a page holds.

    elements: tag and attributes, in order.   unclosed: what does not nest.   text: all of it but scripts and styles,
    in one line.   names: of each link and button, its words.
    """

    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    unclosed: list[str] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""

    def ids(self) -> list[str]:
        """Every id, in order."""
        return [given["id"] for _, given in self.elements if "id" in given]

    def of(self, *tags: str) -> list[tuple[str, dict[str, str]]]:
        """The elements of these tags."""
        return [one for one in self.elements if one[0] in tags]


def parse(text: str) -> Page:
    """The page of this text."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader.page.unclosed += reader.open
    reader.page.text = " ".join("".join(reader.words).split())
    return reader.page


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[str] = []
        self.words: list[str] = []
        self.named: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.page.elements.append((tag, given))
        if tag in ("a", "button"):
            self.named.append((tag, [given.get("aria-label", "")]))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.page.unclosed.append(tag)
        if self.named and self.named[-1][0] == tag:
            name, words = self.named.pop()
            self.page.names.append((name, "".join(words).strip()))
        if tag in ("td", "th", "p", "li", "h1", "h2", "h3", "caption", "dt", "dd", "figcaption", "option", "title"):
            self.words.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            return
        self.words.append(data)
        for _, words in self.named:
            words.append(data)
