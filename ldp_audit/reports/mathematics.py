"""LaTeX to MathML, which browsers typeset without a script, a font or a network."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_SIZED = re.compile(r"\\([Bb]igg?)([lr])")


def mathml(latex: str, *, block: bool = True) -> str:
    """A <math> element, with the LaTeX as its text for readers without MathML. Empty for no LaTeX."""
    if not latex:
        return ""
    plain = _SIZED.sub(lambda size: r"\left" if size[2] == "l" else r"\right", latex)
    element = convert(plain, display="block" if block else "inline")
    return element.replace("<math ", f'<math aria-label="{html.escape(latex, quote=True)}" ', 1)
