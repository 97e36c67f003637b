"""LDP-FL: Practical Private Aggregation in Federated Learning with Local Differential Privacy.

Three conversions of the paper were compared. Two agree throughout; the deviating scan is distinguished in Corollary 1
(`adaptive_range.py`), where its reading is settled as well, as a test of the engines and not as the paper's claim.
`floating_point.py` and `float_noise.py` are not the paper's claims: they settle what the programs guarantee.
"""

from ldp_audit.claims.claim import Paper
from ldp_audit.figure import Figure
from ldp_audit.papers.ldp_fl.claims import (
    adaptive_range,
    amplification,
    anonymity,
    experiments,
    float_noise,
    floating_point,
    perturbation,
    shuffling,
    timing,
    utility,
)


def _figures() -> list[Figure]:
    """The curves; numpy is imported only when a report needs them."""
    from ldp_audit.papers.ldp_fl.figures import figures

    return figures()


PAPER = Paper(
    key="ldp-fl",
    title="LDP-FL: Practical Private Aggregation in Federated Learning with Local Differential Privacy",
    authors="Lichao Sun, Jianwei Qian, Xun Chen",
    venue="IJCAI 2021",
    claims={
        **perturbation.CLAIMS,
        **utility.CLAIMS,
        **adaptive_range.CLAIMS,
        **shuffling.CLAIMS,
        **anonymity.CLAIMS,
        **amplification.CLAIMS,
        **timing.CLAIMS,
        **experiments.CLAIMS,
        **floating_point.CLAIMS,
        **float_noise.CLAIMS,
    },
    figures=_figures,
    telling=("LF-UNLINK", "LF-EPSTOT", "LF-L2"),
    protocol="ldp-fl-mnist",
)
