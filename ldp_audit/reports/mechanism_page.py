"""docs/mechanisms.md: one page over the shipped laws, written from their definitions.

`python -m ldp_audit.reports.mechanism_page` prints it (`make docs` writes it); a test holds the file to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from sympy import Expr, latex

from ldp_audit.mechanisms.catalogue import ENTRIES, Entry
from ldp_audit.reports.mathematics import law_latex, with_sums_named

_OPENING = """# The mechanisms

Each law as it is defined in `ldp_audit/mechanisms/`, and what follows from the definition. This page is generated
(`make docs`); nothing on it is written by hand. The numbers in a row come from the example in its heading.
"""


def render() -> str:
    """The page, as Markdown with LaTeX."""
    return "\n".join([_OPENING, *(_section(entry) for entry in ENTRIES)])


def _section(entry: Entry) -> str:
    mechanism, example = entry.mechanism(), entry.example
    lines = [
        f"## {entry.name}",
        "",
        entry.summary(),
        "",
        f"$${law_latex(entry.law())}$$",
        "",
        f"{example.letters}.",
        "",
    ]
    rows = [
        ("exact epsilon", _epsilon(entry)),
        ("bias", _formula(entry.bias())),
        ("variance", _formula(entry.variance())),
        (
            f"worst pair of `{example.target}`",
            f"{_inputs(mechanism)}; exact epsilon {mechanism.exact_epsilon():.10g}",
        ),
        ("source", entry.sources()),
    ]
    lines += ["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows if text), ""]
    return "\n".join(lines)


def _epsilon(entry: Entry) -> str:
    epsilon = entry.epsilon()
    if entry.example.composed:
        return entry.example.composed
    return "infinite" if epsilon is None else f"${with_sums_named(epsilon, {})}$"


def _formula(expression: Expr | None) -> str:
    return "" if expression is None else f"${latex(expression)}$"


def _inputs(mechanism: Any) -> str:
    return " and ".join(" ".join(str(one).split()) for one in mechanism.worst_pair())


if __name__ == "__main__":
    write: Callable[[str], Any] = sys.stdout.write
    write(render())
