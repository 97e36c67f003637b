"""FedSel: Federated SGD under Local Differential Privacy with Top-k Dimension Selection.

One conversion of the paper is at hand. It has each formula twice, as bare symbols without fractions and roots, and as LaTeX,
which is followed. Beside the paper's statements there are our own, on how far they are off and where a sentence about accuracy
has a part that can be computed; they are marked as such.
"""

from ldp_audit.claims.claim import Paper
from ldp_audit.claims.papers.fedsel import (
    accumulation,
    consequences,
    encoding,
    experiments,
    flat,
    selection,
    two_stage,
    utility,
)

PAPER = Paper(
    key="fedsel",
    title="FedSel: Federated SGD under Local Differential Privacy with Top-k Dimension Selection",
    authors="Ruixuan Liu, Yang Cao, Masatoshi Yoshikawa, Hong Chen",
    venue="DASFAA 2020",
    claims={
        **two_stage.CLAIMS,
        **accumulation.CLAIMS,
        **selection.CLAIMS,
        **encoding.CLAIMS,
        **utility.CLAIMS,
        **consequences.CLAIMS,
        **flat.CLAIMS,
        **experiments.CLAIMS,
    },
)
