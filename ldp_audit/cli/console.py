"""What the commands print: the same text everywhere, which a terminal shows in its width and with verdicts in colour.

In a pipe or a file the text stays as it is. `NO_COLOR` and `TERM=dumb` are respected, by rich.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from ldp_audit.claims.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {
    "green": (Verdict.PROVED, Verdict.ENUMERATED, "holds"),
    "red": (Verdict.REFUTED, "REFUSED", "DIFFERS", "ERROR", "violated", "problem"),
    "yellow": (Verdict.CONDITIONAL, Verdict.VACUOUS, Verdict.UNDECIDED, "inconclusive"),
}
"""The colour of each verdict; "consistent" has none, as it is no proof."""

_PROSE = 25  # characters of a cell from which on it is a sentence, and aligned left where it may be wrapped


def _patterns() -> list[str]:
    """Words in capitals anywhere; others where a line begins with them and a colon, or a table's row ends with them."""
    return [
        pattern.format(colour, "|".join(word for word in words if word.isupper() is capitals))
        for colour, words in COLOURS.items()
        for capitals, pattern in (
            (True, r"\b(?P<{}>{})\b"),
            (False, r"(?m)(?:^|(?<=  ))(?P<{}>{})(?=:|$)"),
        )
    ]


def _terminal(file: TextIO) -> Console | None:
    if not file.isatty():
        return None
    from rich.console import Console
    from rich.highlighter import RegexHighlighter

    class Verdicts(RegexHighlighter):
        highlights = _patterns()

    return Console(file=file, highlighter=Verdicts(), markup=False, emoji=False, soft_wrap=True)


def columns(otherwise: int) -> int:
    """The columns of the terminal to which the standard output goes; `otherwise` where it goes elsewhere."""
    terminal = _terminal(sys.stdout)
    return terminal.width if terminal else otherwise


def text_columns() -> int:
    """The columns of running text, which is no wider on a wide terminal."""
    from ldp_audit.accounting.protocols.protocol_report import TEXT

    return min(columns(TEXT), TEXT)


def say(text: str = "", file: TextIO | None = None) -> None:
    """Print the text, on the standard output by default; long lines are wrapped at words on a terminal."""
    terminal = _terminal(file or sys.stdout)
    if terminal is None:
        print(text, file=file, flush=True)
    else:
        terminal.print("\n".join(_wrapped(line, terminal.width) for line in text.split("\n")))


def say_table(rows: Sequence[Sequence[str]]) -> None:
    """Print columns, the first aligned left and the others right; cells are wrapped on a narrow terminal."""
    from ldp_audit.accounting.protocols.protocol_report import table

    terminal, text = _terminal(sys.stdout), table(rows)
    if terminal is None or max(map(len, text.splitlines())) <= terminal.width:
        say(text)
        return
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="", highlight=True)
    for place, (head, *cells) in enumerate(zip(*rows, strict=True)):
        longest = max(map(len, [*cells, " "]))
        words = textwrap.fill(head, max(map(len, [*head.split(), "x" * longest])))
        grid.add_column(words, justify="right" if place and longest < _PROSE else "left")
    for row in rows[1:]:
        grid.add_row(*row)
    terminal.print(grid, soft_wrap=False)


def _wrapped(line: str, most: int) -> str:
    """The line in at most so many columns; what follows its first line begins below its last cell in the left half."""
    cells = [gap.end() for gap in re.finditer(r"(?<=\S) {2,}", line) if gap.end() <= most // 2]
    below = cells[-1] if cells else len(line) - len(line.lstrip()) + 2
    return textwrap.fill(line, most, subsequent_indent=" " * below, break_long_words=False, break_on_hyphens=False)
