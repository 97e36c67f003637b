"""FedSel: Federated SGD under Local Differential Privacy with Top-k Dimension Selection.

One conversion of the paper is available. It has each formula twice, as bare symbols without fractions and roots, and as
LaTeX, which is followed. Derived claims, marked as such, quantify the errors and the computable parts of sentences
about accuracy.
"""

from ldp_audit.claims.claim import Paper
from ldp_audit.papers.fedsel.claims import (
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
    telling=("FS-L2", "FS-T31pe", "FS-T32eq"),
    protocol="fedsel-adult",
)
