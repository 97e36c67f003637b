"""Mechanisms as exact distributions: each defined once, symbolically, with everything else derived or held to it."""

from importlib import import_module

_HOME = {
    "EPSILON": "variable",
    "Ind": "channel",
    "Parameter": "parameter",
    "SymbolicChannel": "channel",
    "T": "variable",
    "TwoPoint": "two_point",
    "Variable": "variable",
}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"ldp_audit.mechanisms.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ldp_audit.mechanisms' has no attribute {name!r}")
