"""The report as one self-contained HTML file: no script, no network; responsive, with dark and print styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ldp_audit.reports import notation, wording
from ldp_audit.reports.figures import svg
from ldp_audit.reports.mathematics import mathml
from ldp_audit.reports.page_names import claim_anchors


def render(report: dict[str, Any]) -> str:
    """The whole report; all text of claims is escaped."""
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            sources=wording.SOURCES,
            meanings=wording.VERDICTS,
            anchors=claim_anchors(report["claims"]),
        )
    )


def render_index(report: dict[str, Any], parts: Sequence[dict[str, Any]]) -> str:
    """The page over several papers' reports; parts: each paper's own (`document.of_paper`), in order."""
    pairs = list(zip(report["papers"], parts, strict=True))
    return environment().get_template("index.html.j2").render(report=report, parts=pairs, meanings=wording.VERDICTS)


def environment() -> Environment:
    """The templates of this folder, with autoescaping and errors for undefined variables."""
    made = Environment(
        loader=PackageLoader("ldp_audit.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        as_stated=wording.as_stated,
        badge=wording.badge,
        beside=wording.beside,
        cases=wording.cases,
        folded=wording.folded,
        counted=wording.counted,
        counterexample=wording.counterexample,
        digest=wording.digest,
        explain=wording.explain,
        formal=wording.formal,
        in_html=_safe_words,
        mathml=_safe_mathml,
        quantified=wording.quantified,
        typeset=wording.typeset,
        svg=_safe_svg,
        where=wording.where,
    )
    names: dict[str, Any] = made.globals
    names["experiments_heading"] = wording.EXPERIMENTS
    return made


def _safe_mathml(latex: str) -> Markup:
    return Markup(mathml(latex))  # noqa: S704  (mathml() lets nothing but MathML through)


def _safe_words(words: str) -> Markup:
    return Markup(notation.in_html(words))  # noqa: S704  (in_html() escapes all but what it makes itself)


def _safe_svg(figure: dict[str, Any]) -> Markup:
    return Markup(svg(figure))  # noqa: S704  (matplotlib escapes its texts; tested with markup in them)
