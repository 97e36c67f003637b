"""LaTeX to MathML: what the papers need is typeset, and nothing else gets through."""

from __future__ import annotations

import pytest

from ldp_audit.claims.loading import load_paper, paper_keys
from ldp_audit.reports.mathematics import mathml
from tests.together import together


@pytest.mark.usefixtures("settled_paper")  # beside the tests that make the papers' statements
def test_every_formula_of_the_papers_is_typeset() -> None:
    """No command is left untranslated."""
    claims = [claim for key in paper_keys() for claim in load_paper(key).claims]
    written = [one.latex for claim in claims for one in (claim, claim.corrected) if one and one.latex]
    typeset = {latex: mathml(latex) for latex in written}
    assert len(typeset) > 100
    assert [latex for latex, element in typeset.items() if not element.startswith("<math ")] == []
    assert [latex for latex, element in typeset.items() if "\\" in element.split(">", 1)[1]] == []


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
