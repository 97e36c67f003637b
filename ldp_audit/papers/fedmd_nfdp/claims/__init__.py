"""Federated Model Distillation with Noise-Free Differential Privacy (FedMD-NFDP).

The one available conversion of the paper lost every formula. `symbols.py` restores them from the counting that the
appendix describes and from Table 2, which they reproduce; the places are quoted so that a reader with the paper can
compare.
"""

from ldp_audit.claims.claim import Paper
from ldp_audit.figure import Figure
from ldp_audit.papers.fedmd_nfdp.claims import comparison, experiments, guarantee, sampling, tables


def _figures() -> list[Figure]:
    """The curves; numpy is imported only when a report needs them."""
    from ldp_audit.papers.fedmd_nfdp.figures import figures

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
    telling=("NF-VAC", "NF-FLAT", "NF-TAB2ln"),
    protocol="fedmd-nfdp-femnist-300",
)
