"""The shipped papers' claims, each settled once a process: what many tests look at."""

from __future__ import annotations

from functools import cache

from ldp_audit.claims import papers
from ldp_audit.claims.settling import SettledClaim, settle_claim


@cache
def settled_paper(key: str) -> tuple[SettledClaim, ...]:
    """Settle all claims of a paper. Evidence is shared: a test that changes it must copy it."""
    return tuple(settle_claim(claim) for claim in papers.load(key).claims)
