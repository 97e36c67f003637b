"""The figures of docs/gallery.md: each block of Python draws the picture that the page shows below it.

python docs/_site/gallery.py

runs the blocks and stores the pictures. Equal data gives equal text: no date, and ids that follow from the name.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot

PAGE = Path(__file__).parents[1] / "gallery.md"
_ENTRY = re.compile(r"^```python\n(.*?)^```\n\n!\[[^]]+\]\(assets/gallery/([\w-]+)\.svg\)$", re.DOTALL | re.MULTILINE)


def entries() -> dict[str, str]:
    """The code of each picture, by its name."""
    return {name: code for code, name in _ENTRY.findall(PAGE.read_text(encoding="utf-8"))}


def picture(name: str, code: str) -> str:
    """What the code draws, as an <svg> element."""
    buffer = io.StringIO()
    settings = {"svg.hashsalt": name, "svg.fonttype": "none", "figure.constrained_layout.use": True}
    with mpl.rc_context({"backend": "Agg", **settings}):
        exec(code, {})  # noqa: S102  # the page's own code
        pyplot.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close("all")
    return re.sub(r"[ \t]+$", "", buffer.getvalue()[buffer.getvalue().index("<svg") :], flags=re.MULTILINE)


def path(name: str) -> Path:
    """Where a picture is stored."""
    return PAGE.parent / "assets" / "gallery" / f"{name}.svg"


if __name__ == "__main__":
    for name, code in entries().items():
        path(name).write_text(picture(name, code), encoding="utf-8")
