"""docs/mechanisms.md: one page over the shipped laws, written from their definitions.

`python -m ldp_audit.reports.mechanism_page` prints it (`make docs` writes it); a test holds the file to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from sympy import Expr, latex

from ldp_audit.mechanisms.catalogue import ENTRIES, Entry
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights

_OPENING = """# The mechanisms

Each law as it is defined in `ldp_audit/mechanisms/`, and what follows from the definition. This page is generated
(`make docs`); nothing on it is written by hand. The numbers in a row come from the example in its heading.
"""


def render() -> str:
    """The page, as Markdown with LaTeX."""
    return "\n".join([_OPENING, *(_section(entry) for entry in ENTRIES)])


def _section(entry: Entry) -> str:
    mechanism = entry.mechanism()
    lines = [f"## {entry.name}", "", entry.summary(), "", f"$${law_latex(entry.law())}$$", "", f"{entry.letters}.", ""]
    rows = [
        ("exact epsilon", _epsilon(entry)),
        ("bias", _formula(entry.bias())),
        ("variance", _formula(entry.variance())),
        (f"worst pair of `{entry.example}`", f"{_inputs(mechanism)}; exact epsilon {mechanism.exact_epsilon():.10g}"),
        ("source", entry.sources()),
    ]
    lines += ["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows if text), ""]
    return "\n".join(lines)


def _epsilon(entry: Entry) -> str:
    ratio = entry.ratio()
    return "infinite" if ratio is None else f"$\\ln\\left({latex(ratio)}\\right)$"


def _formula(expression: Expr | None) -> str:
    return "" if expression is None else f"${latex(expression)}$"


def _inputs(mechanism: Any) -> str:
    return " and ".join(" ".join(str(one).split()) for one in mechanism.worst_pair())


def law_latex(law: SymbolicChannel | SymbolicWeights) -> str:
    """The law, typeset."""
    if isinstance(law, SymbolicWeights):
        return _cases(r"\Pr[\text{report}]", [(one.probability, _class(one)) for one in law.classes])
    inputs = ", ".join(v.latex for v in law.inputs)
    parts = []
    if law.atoms:
        parts.append(_cases(rf"\Pr[y\mid {inputs}]", [(a.probability, f"y={latex(a.output)}") for a in law.atoms]))
    if law.pieces:
        rows = [(p.density, _interval(p.lower, p.upper)) for p in law.pieces]
        parts.append(_cases(rf"f(y\mid {inputs})", rows))
    return r"\qquad ".join(parts)


def _cases(name: str, rows: list[tuple[Expr, str]]) -> str:
    return name + r"=\begin{cases}" + r"\\".join(f"{latex(value)}&{where}" for value, where in rows) + r"\end{cases}"


def _class(one: OutputClass) -> str:
    many = "" if one.count == 1 else rf"\ ({latex(one.count)}\text{{ of them}})"
    which = "" if one.index is None else rf"\ {latex(one.index[0])}"
    return rf"\text{{{one.label}}}{which}{many}"


def _interval(lower: Expr, upper: Expr) -> str:
    left = "" if lower.is_infinite else rf"{latex(lower)}\le "
    right = "" if upper.is_infinite else rf"\le {latex(upper)}"
    return f"{left}{OUTPUT.name}{right}"


if __name__ == "__main__":
    write: Callable[[str], Any] = sys.stdout.write
    write(render())
