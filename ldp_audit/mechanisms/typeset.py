"""The parts of a distribution in LaTeX: cases, intervals, and sums that get letters."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Sum, Symbol, latex

from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.variable import Variable

_LETTERS = "abcd"


def cases(name: str, rows: list[tuple[Expr, str]], sums: dict[Any, str]) -> str:
    """A function by its values, each with the outputs that have it.   sums: see `with_sums_named`."""
    shown = (f"{with_sums_named(value, sums)}&{where}" for value, where in rows)
    return name + r"=\begin{cases}" + r"\\".join(shown) + r"\end{cases}"


def with_sums_named(expression: Expr, sums: dict[Any, str]) -> str:
    """The expression typeset, with its double sums replaced by the letters a, b, ... in order of appearance."""
    double = sorted((one for one in expression.atoms(Sum) if len(one.limits) > 1), key=str)
    for one in double:
        if one not in sums:
            sums[one] = _LETTERS[len(sums)]
    return latex(expression.subs({one: Symbol(sums[one]) for one in double}))


def interval(lower: Expr, upper: Expr, index: Variable | None = None) -> str:
    """The range of the output: an interval, or its whole numbers if there is an index."""
    name, numbers = (OUTPUT.name, "R") if index is None else (f"{OUTPUT.name}={latex(index)}", "Z")
    left = "" if lower.is_infinite else rf"{latex(lower)}\le "
    right = "" if upper.is_infinite else rf"\le {latex(upper)}"
    among = rf"\in\mathbb {numbers}" if index is not None or not (left or right) else ""
    if index is not None and (left or right):
        return rf"{name}{among},\ {left}{latex(index)}{right}"
    return f"{left}{name}{right}{among}"
