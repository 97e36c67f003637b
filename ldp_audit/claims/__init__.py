"""Claims of papers, their verdicts and evidence: the engines, the papers, and the independent checker."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; at run time the names are imported lazily
    from ldp_audit.claims.claim import Claim as Claim
    from ldp_audit.claims.claim import Condition as Condition
    from ldp_audit.claims.claim import Correction as Correction
    from ldp_audit.claims.claim import Paper as Paper
    from ldp_audit.claims.claim import Reading as Reading
    from ldp_audit.claims.language.statement import Quantities as Quantities
    from ldp_audit.claims.language.statement import Statement as Statement
    from ldp_audit.claims.language.statement import at_most as at_most
    from ldp_audit.claims.language.statement import differ as differ
    from ldp_audit.claims.language.statement import equal as equal
    from ldp_audit.claims.language.statement import less as less
    from ldp_audit.claims.language.statement import order as order
    from ldp_audit.claims.language.statement import prints_as as prints_as
    from ldp_audit.claims.language.statement import somewhere as somewhere
    from ldp_audit.claims.privacy import is_private as is_private
    from ldp_audit.claims.settling import BadClaimError as BadClaimError
    from ldp_audit.claims.settling import settle as settle
    from ldp_audit.claims.settling import settle_claim as settle_claim
    from ldp_audit.claims.verdict import Verdict as Verdict

_HOME = {
    "BadClaimError": "settling",
    "Claim": "claim",
    "Condition": "claim",
    "Correction": "claim",
    "Paper": "claim",
    "Reading": "claim",
    "Quantities": "language.statement",
    "Statement": "language.statement",
    "Verdict": "verdict",
    "at_most": "language.statement",
    "differ": "language.statement",
    "equal": "language.statement",
    "is_private": "privacy",
    "less": "language.statement",
    "order": "language.statement",
    "prints_as": "language.statement",
    "settle": "settling",
    "settle_claim": "settling",
    "somewhere": "language.statement",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name in _HOME:
        module = import_module(f"ldp_audit.claims.{_HOME[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'ldp_audit.claims' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
