"""Levels below 0, from those above 0 of the pair in the other order; of a symmetric law, from its own."""

from __future__ import annotations

import math

from ldp_audit.accounting.laws.improper_loss import log_lacking

_ROUNDING = 16 * 2.0**-52


def of_mirrored(epsilon: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Both ends of ln delta(epsilon) = ln(1 - e**epsilon (1 - delta')), for delta' at -epsilon of the mirror image.

    epsilon: nats, < 0, minus infinity allowed.   ends: of ln delta'.   They are moved outwards by their rounding.
    """
    if epsilon == -math.inf:
        return 0.0, 0.0
    rest = [epsilon + log_lacking(end) for end in ends]
    low, high = (log_lacking(one) for one in rest)
    least, most = (
        _ROUNDING * (abs(value) * (1 + abs(one)) + math.exp(one)) for value, one in zip((low, high), rest, strict=True)
    )
    return low - least - math.ulp(0.0), min(0.0, high + most + math.ulp(0.0))
