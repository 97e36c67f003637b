"""Claims, their verdicts and the evidence; the engines that settle one; the papers; the independent checker."""

from importlib import import_module

_HOME = {
    "BadClaimError": "settle",
    "Claim": "claim",
    "Condition": "claim",
    "Correction": "claim",
    "Paper": "claim",
    "Statement": "statement",
    "Verdict": "verdict",
    "at_most": "statement",
    "differ": "statement",
    "equal": "statement",
    "is_private": "privacy",
    "less": "statement",
    "order": "statement",
    "prints_as": "statement",
    "settle": "settle",
    "settle_claim": "settle",
    "somewhere": "statement",
}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name in _HOME:
        module = import_module(f"ldp_audit.claims.{_HOME[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'ldp_audit.claims' has no attribute {name!r}")
