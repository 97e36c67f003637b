"""Federated Model Distillation with Noise-Free Differential Privacy (FedMD-NFDP).

One conversion of the paper was at hand, and it has lost every formula. They are restored in `symbols.py`, from the counting that
the appendix describes and from Table 2, which they reproduce; the places are quoted so that a reader with the paper can compare.
"""

from ldp_audit.accounting.figure import Figure
from ldp_audit.claims.claim import Paper
from ldp_audit.claims.papers.fedmd_nfdp import comparison, experiments, guarantee, sampling, tables


def _figures() -> list[Figure]:
    """Numpy is loaded only when a report asks for the curves."""
    from ldp_audit.claims.papers.fedmd_nfdp.figures import figures

    return figures()


PAPER = Paper(
    key="fedmd-nfdp",
    title="Federated Model Distillation with Noise-Free Differential Privacy",
    authors="Lichao Sun, Lingjuan Lyu",
    venue="IJCAI 2021",
    claims={
        **sampling.CLAIMS,
        **guarantee.CLAIMS,
        **comparison.CLAIMS,
        **tables.CLAIMS,
        **experiments.CLAIMS,
    },
    figures=_figures,
)
