"""Blocks of the whole report's sections, rendered as HTML and as Markdown.

A text is a str, one of the spans below, or a list of both. None of it is markup: each renderer escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias


@dataclass(frozen=True)
class ClaimLink:
    """A claim's id, linked to its page."""

    kind: ClassVar[str] = "claim"
    id: str
    paper: str


@dataclass(frozen=True)
class SectionLink:
    """Words linked to another section, by its key."""

    kind: ClassVar[str] = "section"
    text: str
    section: str


@dataclass(frozen=True)
class FoundLink:
    """Words linked to the list of claims, filtered by a paper's key, a verdict, or both."""

    kind: ClassVar[str] = "found"
    text: str
    paper: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Badge:
    """A verdict; tone: the class for its colour, where the words are not the verdict's own."""

    kind: ClassVar[str] = "badge"
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Code:
    """Code or arithmetic."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Strong:
    """Emphasised words."""

    kind: ClassVar[str] = "strong"
    text: str


@dataclass(frozen=True)
class Mathematics:
    """A formula within a line.   latex: typeset.   words: the same in plain characters, for screen readers."""

    kind: ClassVar[str] = "mathematics"
    latex: str
    words: str


@dataclass(frozen=True)
class Strip:
    """An epsilon on an axis from 0 to `most`: a bar up to a lower bound, with marks.

    low: the lower bound, nats.   claim, truth, detectable: marks, where known: the claimed epsilon, the exact one, the
    smallest that would have been detected.   words: the same as text.
    """

    kind: ClassVar[str] = "strip"
    words: str
    most: float
    low: float
    claim: float | None = None
    truth: float | None = None
    detectable: float | None = None

    def share(self, value: float | None) -> float | None:
        """Where a value lies on the axis, percent; 100 beyond its end; None where there is none."""
        return None if value is None else round(100 * min(max(value / self.most, 0.0), 1.0), 2)


Span: TypeAlias = str | ClaimLink | SectionLink | FoundLink | Badge | Code | Strong | Mathematics | Strip
Text: TypeAlias = Span | Sequence[Span]


@dataclass(frozen=True)
class Paragraph:
    """One paragraph; tone: "lead" for the first words of a page, "note" for small print."""

    kind: ClassVar[str] = "paragraph"
    text: Text
    tone: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading inside a section; level 1 is below the section's title. name: for links, unique in the section."""

    kind: ClassVar[str] = "heading"
    text: str
    name: str
    level: int = 1


@dataclass(frozen=True)
class CaptionedTable:
    """Rows under a header; the first cell of a row names it.

    scrolls: on a narrow screen too it is a table, to compare its rows in, rather than a list of each row's cells.
    """

    kind: ClassVar[str] = "table"
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Text]]
    scrolls: bool = False


@dataclass(frozen=True)
class Items:
    """An unordered list."""

    kind: ClassVar[str] = "items"
    items: Sequence[Text]


@dataclass(frozen=True)
class Formula:
    """LaTeX; label: its description for screen readers.   folded: the words that it is folded under, if it is long."""

    kind: ClassVar[str] = "formula"
    latex: str
    label: str
    folded: str = ""


@dataclass(frozen=True)
class Listing:
    """Source text, folded under words that say what it is."""

    kind: ClassVar[str] = "listing"
    words: str
    source: str


@dataclass(frozen=True)
class Picture:
    """A figure of the report, in the form of `Figure.to_dict`."""

    kind: ClassVar[str] = "picture"
    figure: dict[str, Any]


@dataclass(frozen=True)
class Shares:
    """A bar of the numbers of claims with each verdict. counts: verdict to number."""

    kind: ClassVar[str] = "shares"
    counts: dict[str, int]
    paper: str = ""


@dataclass(frozen=True)
class Tile:
    """A claim in the picture of all verdicts.

    name: what it is about.   place: in its paper.   coloured: by its verdict, as a paper's own claims are.
    """

    link: ClaimLink
    name: str
    place: str
    verdict: str
    coloured: bool = True


@dataclass(frozen=True)
class Tiles:
    """Claims side by side; label: what they have in common."""

    kind: ClassVar[str] = "tiles"
    label: str
    tiles: Sequence[Tile]


Block: TypeAlias = Paragraph | Heading | CaptionedTable | Items | Formula | Listing | Picture | Shares | Tiles


@dataclass(frozen=True)
class Section:
    """A page of the report, and a chapter of its Markdown. key: the page's name.   title: its heading."""

    key: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


def spans(text: Text) -> list[Span]:
    """The text as a list."""
    return list(text) if isinstance(text, Sequence) and not isinstance(text, str) else [text]
