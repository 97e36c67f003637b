"""Distributions in LaTeX, and LaTeX in MathML, which browsers typeset without a script, a font or a network."""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from sympy import Expr, Sum, Symbol, latex

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights

_SIZED = re.compile(r"\\([Bb]igg?)([lr])")
_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_LETTERS = "abcd"
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


def law_latex(law: SymbolicChannel | SymbolicWeights) -> str:
    """The distribution, typeset; sums get letters, explained at the end."""
    sums: dict[Any, str] = {}
    if isinstance(law, SymbolicWeights):
        parts = [_cases(r"\Pr[\text{report}]", [(one.probability, _class(one)) for one in law.classes], sums)]
        parts += [f"{letter}={latex(one)}" for one, letter in sums.items()]
        return r"\qquad ".join(parts)
    inputs = ", ".join(v.latex for v in law.inputs)
    parts = []
    if law.atoms:
        rows = [
            (
                a.probability,
                f"y={latex(a.output)}" if a.index is None else _interval(a.index.lower, a.index.upper, a.index),
            )
            for a in law.atoms
        ]
        parts.append(_cases(rf"\Pr[y\mid {inputs}]", rows, sums))
    if law.pieces:
        rows = [(p.density, _interval(p.lower, p.upper)) for p in law.pieces]
        parts.append(_cases(rf"f(y\mid {inputs})", rows, sums))
    return r"\qquad ".join(parts)


def _cases(name: str, rows: list[tuple[Expr, str]], sums: dict[Any, str]) -> str:
    shown = (f"{with_sums_named(value, sums)}&{where}" for value, where in rows)
    return name + r"=\begin{cases}" + r"\\".join(shown) + r"\end{cases}"


def with_sums_named(expression: Expr, sums: dict[Any, str]) -> str:
    """The expression typeset, with its double sums replaced by the letters a, b, ... in order of appearance."""
    double = sorted((one for one in expression.atoms(Sum) if len(one.limits) > 1), key=str)
    for one in double:
        if one not in sums:
            sums[one] = _LETTERS[len(sums)]
    return latex(expression.subs({one: Symbol(sums[one]) for one in double}))


def _class(one: OutputClass) -> str:
    many = "" if one.count == 1 else rf"\ ({latex(one.count)}\text{{ of them}})"
    which = "" if one.index is None else rf"\ {latex(one.index[0])}"
    return rf"\text{{{one.label}}}{which}{many}"


def _interval(lower: Expr, upper: Expr, index: Variable | None = None) -> str:
    """The range of the output: an interval, or its whole numbers if there is an index."""
    name, numbers = (OUTPUT.name, "R") if index is None else (f"{OUTPUT.name}={latex(index)}", "Z")
    left = "" if lower.is_infinite else rf"{latex(lower)}\le "
    right = "" if upper.is_infinite else rf"\le {latex(upper)}"
    among = rf"\in\mathbb {numbers}" if index is not None or not (left or right) else ""
    if index is not None and (left or right):
        return rf"{name}{among},\ {left}{latex(index)}{right}"
    return f"{left}{name}{right}{among}"
