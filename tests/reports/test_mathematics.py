"""LaTeX to MathML: nothing but mathematics gets through."""

from __future__ import annotations

from ldp_audit.reports.mathematics import mathml
from tests.together import together


@together(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"<img src=x onerror=alert(1)>",
        r"\href{javascript:alert(1)}{x}",
        r"\style{color:red}{x}",
        r"x < y > z & w",
        r"\frac{1",
        r"\unknowncommand{x}",
        '"><script>',
    ],
)
def test_markup_never_becomes_an_element(latex: str) -> None:
    element = mathml(latex)
    assert "<script" not in element
    assert "<img" not in element
    assert "href=" not in element.split(">", 1)[1]
    assert element.startswith(("<math ", "<code>"))


def test_no_latex_is_nothing() -> None:
    assert mathml("") == ""
