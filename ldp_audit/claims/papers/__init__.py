"""The papers whose claims ship with the toolkit: one line per paper, in the order of the report."""

from importlib import import_module

from ldp_audit.claims.claim import Paper

PAPERS = {
    "ldp-fl": "ldp_audit.claims.papers.ldp_fl",
    "fedsel": "ldp_audit.claims.papers.fedsel",
    "fedmd-nfdp": "ldp_audit.claims.papers.fedmd_nfdp",
    "wang": "ldp_audit.claims.papers.wang",
    "own": "ldp_audit.claims.papers.own",
}


def load(key: str) -> Paper:
    """The paper with this key. Raises ValueError, listing the known keys, for another."""
    if key not in PAPERS:
        raise ValueError(f"unknown paper {key!r}; known: {', '.join(PAPERS)}, all")
    return import_module(PAPERS[key]).PAPER
