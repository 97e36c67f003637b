"""What a selection gains and what its share of the budget costs, exactly, for gradients that are small beside noise.

A coordinate of the top k with mean value x is told by n users with the squared signal-to-noise ratio

    FedSel   n P_top x**2 / V(epsilon2)           P_top: the mean probability of an index of the top k
    flat     n (c / d) x**2 / V(epsilon / c)      c coordinates of d

V is the value mechanism's variance at 0. Their ratio is above 1 where selecting pays. It falls below 1 as epsilon goes
to 0 with mu fixed: P_top goes to 1/d, and V(epsilon2) / V(epsilon) to 1 / (1 - mu)**2.

Sources: the mechanisms' exact laws; the setting is that of Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Section 5.3.
"""

from __future__ import annotations


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
    import torch

    from ldp_audit.mechanisms import CoordinateSampling
    from ldp_audit.training.fedsel.senders import MECHANISMS, selection_of

    top = k or max(1, d // 10)
    chosen = selection_of(selection, mu * epsilon, d, top, corrected=False)
    shares = chosen.probabilities(chosen.seen(torch.arange(1.0, d + 1)), torch.float64)
    flat = CoordinateSampling(MECHANISMS[value], epsilon, d, coordinates)
    private = MECHANISMS[value]((1 - mu) * epsilon)
    gain = float(shares[-top:].mean()) * d / flat.k
    return gain * float(flat.coordinate().variance(0.0)) / float(private.variance(0.0))
