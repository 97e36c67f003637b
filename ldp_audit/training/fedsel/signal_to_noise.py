"""The exact signal-to-noise ratio of FedSel against the flat solution, for gradients that are small beside the noise.

n users estimate a coordinate of the top k with mean value x with squared signal-to-noise ratio

    FedSel   n P_top x**2 / V(epsilon2)           P_top: the mean probability of an index of the top k
    flat     n (c / d) x**2 / V(epsilon / c)      c coordinates of d

where V is the value mechanism's variance at 0. Selecting pays if the quotient exceeds 1. As epsilon goes to 0 with mu
fixed the quotient falls below 1: P_top tends to 1/d, and V(epsilon2) / V(epsilon) to 1 / (1 - mu)**2.

Sources: the mechanisms' exact distributions; the setting is that of Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Section
5.3.
"""

from __future__ import annotations

import numpy as np

from ldp_audit.mechanisms import CoordinateSampling, ExponentialSelection, PerturbedEncoding, PerturbedSampling
from ldp_audit.training.fedsel.solution import MECHANISMS


def signal_ratio(
    selection: str,
    value: str,
    *,
    epsilon: float,
    mu: float,
    d: int,
    k: int | None = None,
    coordinates: int | None = None,
) -> float:
    """FedSel's squared signal-to-noise ratio over that of the flat solution with as many users.

    selection, value: by name, "PS" and "PM".   epsilon: of one report, nats, > 0.   mu: the selection's share, [0, 1).
    k, coordinates: None for a tenth of d, and for Wang et al.'s rule.
    """
    flat = CoordinateSampling(MECHANISMS[value], epsilon, d, coordinates)
    private = MECHANISMS[value]((1 - mu) * epsilon)
    gain = _share_of_top(selection, mu * epsilon, d, k or max(1, d // 10)) * d / flat.k
    return gain * float(flat.coordinate().variance(0.0)) / float(private.variance(0.0))


def _share_of_top(selection: str, epsilon: float, d: int, k: int) -> float:
    """P_top, the mean probability of an index of the top k."""
    if epsilon == 0:
        return 1 / d
    if selection == "EXP":
        return float(np.exp(ExponentialSelection(epsilon, d).rank_log_probs()[-k:]).mean())
    by_top_set = PerturbedSampling if selection == "PS" else PerturbedEncoding
    return float(np.exp(by_top_set(epsilon, d, k).index_log_probs()[0]))
