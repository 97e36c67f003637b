"""Formulas of a page as MathML, which browsers typeset by themselves: the site then needs no script for them."""

from __future__ import annotations

import html
import re
from typing import Any

from ldp_audit.reports.mathematics import mathml

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """A page, each formula in place of its LaTeX. mkdocs calls this by its name."""
    return _FORMULA.sub(_typeset, content)


def _typeset(found: re.Match[str]) -> str:
    element, kind, latex = found.groups()
    formula = mathml(html.unescape(latex).strip())
    if kind == "(":
        formula = formula.replace('display="block"', 'display="inline"', 1)
    return f'<{element} class="formula">{formula}</{element}>'
