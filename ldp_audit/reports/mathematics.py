"""LaTeX in MathML, which browsers typeset without a script, a font or a network."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from latex2mathml.converter import convert

_SIZED = re.compile(r"\\([Bb]igg?)([lr])")
_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = {
    "math",
    "mrow",
    "mi",
    "mo",
    "mn",
    "mtext",
    "mspace",
    "mfrac",
    "msqrt",
    "mroot",
    "msub",
    "msup",
    "msubsup",
    "munder",
    "mover",
    "munderover",
    "mtable",
    "mtr",
    "mtd",
    "mstyle",
    "mpadded",
    "mphantom",
    "menclose",
}


def mathml(latex: str) -> str:
    """A <math> element labelled with its LaTeX; the escaped LaTeX where the result would not be pure MathML."""
    if not latex:
        return ""
    shown = html.escape(latex, quote=True)
    plain = _SIZED.sub(lambda size: r"\left" if size[2] == "l" else r"\right", latex)
    plain = plain.replace("<", r"\lt ").replace(">", r"\gt ")
    try:
        element = convert(plain, display="block")
        tree = ElementTree.fromstring(element)  # noqa: S314  (our own text, made one line above)
    except Exception:  # noqa: BLE001  (whatever the converter or the parser trips over, the LaTeX can still be shown)
        return f"<code>{shown}</code>"
    if not all(_is_mathematics(node) for node in tree.iter()):
        return f"<code>{shown}</code>"
    return element.replace("<math ", f'<math aria-label="{shown}" ', 1)


def _is_mathematics(node: ElementTree.Element) -> bool:
    known = node.tag.removeprefix(_NAMESPACE) in _ELEMENTS
    return known and not any(name.lower().startswith("on") or "href" in name.lower() for name in node.attrib)
