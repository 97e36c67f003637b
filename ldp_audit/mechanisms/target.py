"""TARGETs of the command line: a shipped mechanism with its arguments, a channel file, or a user's object.

RandomizedResponse(epsilon=1, k=4)      parsed, never evaluated
channel.csv, channel.npz                a FiniteChannel
package.module:name                     imported
"""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ldp_audit import mechanisms, registry
from ldp_audit.mechanisms.named_object import named_object
from ldp_audit.numerics import meant

SHIPPED = sorted(mechanisms.FAMILIES)
"""The mechanisms of ours that a TARGET may name."""


def known() -> list[str]:
    """The mechanisms that a TARGET may name: ours, and those that other packages register."""
    return [*SHIPPED, *(name for name in registry.entries(registry.MECHANISMS) if name not in SHIPPED)]


def load(
    target: str,
    *,
    classes: bool = False,
    progress: Callable[[str], None] | None = None,
    others: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
) -> Any:
    """The object that a TARGET names. Raises ValueError with the fault and what is accepted.

    classes: whether it may be a class.   progress: called with a line now and then while a channel file is read.
    others: what a TARGET may name beside mechanisms, by name.
    """
    if target.endswith((".csv", ".npz")):
        return mechanisms.FiniteChannel.from_file(Path(target), progress=progress)
    if "(" in target:
        return _shipped(target, others)
    if ":" in target:
        return _imported(target, classes=classes)
    if target in known():
        needed = [
            f"{name}=..."
            for name, one in inspect.signature(_class(target)).parameters.items()
            if one.default is one.empty
        ]
        raise ValueError(f"target {_cut(target)} must have its parameters: {target}({', '.join(needed)})")
    raise ValueError(f"target {_cut(target)} is none of: {_accepted()}{meant(target, known())}")


def is_data(target: str) -> bool:
    """Whether the TARGET imports no user code: a shipped mechanism or a channel file."""
    return target.endswith((".csv", ".npz")) or "(" in target


def _shipped(target: str, others: Mapping[str, Callable[..., Any]]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SyntaxWarnings about the text
            call = ast.parse(target.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"target {_cut(target)} cannot be read; accepted: {_accepted()}") from None
    name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
    if not isinstance(call, ast.Call) or not (name in others or _is_known(name)):
        name = target.partition("(")[0].strip()
        near = meant(name, [*known(), *others])
        raise ValueError(f"target {_cut(target)} names no shipped mechanism{near or _listed()}")
    arguments = [_literal(target, node) for node in call.args]
    named = {str(keyword.arg): _literal(target, keyword.value) for keyword in call.keywords}
    if len(named) < len(call.keywords):
        raise ValueError(f"target {_cut(target)} must give each argument once")
    try:
        return (others[name] if name in others else _class(name))(*arguments, **named)
    except (TypeError, ValueError) as error:
        raise ValueError(f"target {_cut(target)}: {error}") from None


def _is_known(name: str) -> bool:
    return name in SHIPPED or name in registry.entries(registry.MECHANISMS)  # which takes a look at all installed ones


def _class(name: str) -> Any:
    return getattr(mechanisms, name) if name in SHIPPED else registry.load(registry.MECHANISMS, name)


def _literal(target: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id == "inf":
        return float("inf")
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    inner = node.operand if isinstance(node, ast.UnaryOp) and sign < 0 else node
    if isinstance(inner, ast.Constant) and isinstance(inner.value, bool | int | float):
        return inner.value if sign > 0 else -inner.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str | None):
        return node.value
    got = _cut(ast.get_source_segment(target.strip(), node) or "something else")
    raise ValueError(f"target {_cut(target)}: arguments must be numbers, texts, True, False, None or inf, got {got}")


def _imported(target: str, *, classes: bool) -> Any:
    found = named_object(target, f"target {_cut(target)}")
    if isinstance(found, type) and not classes:
        raise ValueError(f"target {_cut(target)} is a class; name one mechanism of it, with its parameters")
    symbolic = sys.modules.get("ldp_audit.mechanisms.channel")  # SymPy is not loaded for programs without it
    if symbolic and isinstance(found, symbolic.SymbolicChannel):
        name = target.rpartition(":")[2]
        raise ValueError(
            f"target {_cut(target)} is a channel of symbols; name one with numbers put in, such as "
            f"{name}_at_one = {name}.bind(epsilon=1)"
        )
    return found


def _listed() -> str:
    return f"; known: {', '.join(known())}"


def _cut(target: str) -> str:
    return repr(target if len(target) <= 200 else target[:200] + "...")


def _accepted() -> str:
    imported = "package.module:name, or path/to/file.py:name"
    return f"a shipped mechanism such as TwoPoint(epsilon=1), a .csv or .npz channel, {imported}"
