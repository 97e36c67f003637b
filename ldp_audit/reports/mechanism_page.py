"""docs/mechanisms.md: one page over the shipped laws, written from their definitions.

`python -m ldp_audit.reports.mechanism_page` prints it (`make docs` writes it); a test holds the file to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from sympy import Expr, Sum, Symbol, latex

from ldp_audit.mechanisms.catalogue import ENTRIES, Entry
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights

_OPENING = """# The mechanisms

Each law as it is defined in `ldp_audit/mechanisms/`, and what follows from the definition. This page is generated
(`make docs`); nothing on it is written by hand. The numbers in a row come from the example in its heading.
"""

_LETTERS = "abcd"


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
    epsilon = entry.epsilon()
    if entry.composed:
        return entry.composed
    return "infinite" if epsilon is None else f"${_named(epsilon, {})}$"


def _formula(expression: Expr | None) -> str:
    return "" if expression is None else f"${latex(expression)}$"


def _inputs(mechanism: Any) -> str:
    return " and ".join(" ".join(str(one).split()) for one in mechanism.worst_pair())


def law_latex(law: SymbolicChannel | SymbolicWeights) -> str:
    """The law, typeset; sums are given letters of their own, explained at the end."""
    sums: dict[Any, str] = {}
    if isinstance(law, SymbolicWeights):
        parts = [_cases(r"\Pr[\text{report}]", [(one.probability, _class(one)) for one in law.classes], sums)]
        parts += [f"{letter}={latex(one)}" for one, letter in sums.items()]
        return r"\qquad ".join(parts)
    inputs = ", ".join(v.latex for v in law.inputs)
    parts = []
    if law.atoms:
        rows = [(a.probability, f"y={latex(a.output)}") for a in law.atoms]
        parts.append(_cases(rf"\Pr[y\mid {inputs}]", rows, sums))
    if law.pieces:
        rows = [(p.density, _interval(p.lower, p.upper)) for p in law.pieces]
        parts.append(_cases(rf"f(y\mid {inputs})", rows, sums))
    return r"\qquad ".join(parts)


def _cases(name: str, rows: list[tuple[Expr, str]], sums: dict[Any, str]) -> str:
    shown = (f"{_named(value, sums)}&{where}" for value, where in rows)
    return name + r"=\begin{cases}" + r"\\".join(shown) + r"\end{cases}"


def _named(expression: Expr, sums: dict[Any, str]) -> str:
    """The expression typeset, its double sums replaced by the letters a, b, ... in the order in which they come."""
    double = sorted((one for one in expression.atoms(Sum) if len(one.limits) > 1), key=str)
    for one in double:
        if one not in sums:
            sums[one] = _LETTERS[len(sums)]
    return latex(expression.subs({one: Symbol(sums[one]) for one in double}))


def _class(one: OutputClass) -> str:
    many = "" if one.count == 1 else rf"\ ({latex(one.count)}\text{{ of them}})"
    which = "" if one.index is None else rf"\ {latex(one.index[0])}"
    return rf"\text{{{one.label}}}{which}{many}"


def _interval(lower: Expr, upper: Expr) -> str:
    if lower.is_infinite and upper.is_infinite:
        return rf"{OUTPUT.name}\in\mathbb R"
    left = "" if lower.is_infinite else rf"{latex(lower)}\le "
    right = "" if upper.is_infinite else rf"\le {latex(upper)}"
    return f"{left}{OUTPUT.name}{right}"


if __name__ == "__main__":
    write: Callable[[str], Any] = sys.stdout.write
    write(render())
