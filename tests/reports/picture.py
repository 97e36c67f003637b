"""The README's picture, of the first page of `ldp-audit report --out DIR`: `python -m tests.reports.picture DIR`.

The file carries the words that it shows, which the tests hold to the papers as they are settled now.
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.reports.chromium import chromium, find_chromium
from tests.reports.page_tree import parse

PICTURE = Path(__file__).parents[2] / "docs" / "report.png"
WIDTH, HEIGHT = 1200, 1690
_WORDS = "Description"
_VERDICTS = "What is true"
_OF_CLAIMS = "by program."
"""The last words of the opening on claims; those on programs and audits, which no test runs again, follow."""
_PARTS = ("What was claimed", "What it costs", "Paper by paper")


def words_of(page: str) -> list[str]:
    """What the first page says: of the papers, from its title on, and of the costs, empty where there are none."""
    text = parse(page).text
    verdicts, papers = text.index(_VERDICTS), text.index(_PARTS[2])
    opening = text[text.rindex("What ", 0, verdicts) : verdicts].partition(_OF_CLAIMS)[0]
    costs = text.find(_PARTS[1])
    return [
        opening + text[verdicts : papers if costs < 0 else costs].strip(),
        "" if costs < 0 else text[costs:papers].strip(),
    ]


def words_in(picture: Path) -> list[str]:
    """The words that the picture's file carries."""
    with Image.open(picture) as image:
        return str(image.info[_WORDS]).split("\n")


def taken(folder: Path, program: str) -> bytes:
    """The picture of the report in the folder, by this browser."""
    with chromium(program) as browser:
        browser.open((folder / "index.html").resolve().as_uri(), width=WIDTH, height=HEIGHT)
        browser.evaluate("(document.documentElement.style.overflow = 'hidden')")  # no scroll bar
        shot = browser.picture()
    words, made = PngInfo(), io.BytesIO()
    words.add_text(_WORDS, "\n".join(words_of((folder / "index.html").read_text(encoding="utf-8"))))
    with Image.open(io.BytesIO(base64.b64decode(shot))) as image:
        image.convert("RGB").quantize(256).save(made, "png", optimize=True, pnginfo=words)
    return made.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write docs/report.png."""
    parser = argparse.ArgumentParser(prog="python -m tests.reports.picture", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `ldp-audit report --out DIR` wrote")
    options = parser.parse_args(arguments)
    program = find_chromium()
    if program is None:
        parser.error("needs chromium and its driver")
    PICTURE.write_bytes(taken(options.folder, program))
    sys.stdout.write(f"{PICTURE}: {words_in(PICTURE)[0][:200]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
