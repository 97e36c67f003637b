"""The common spacing of the losses of several laws, where there is one: then a grid need not move any of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-13
_FINEST = 2**20


def common_spacing(losses: Sequence[NDArray[np.float64]]) -> float | None:
    """The largest spacing of which all distances within each of the lists are multiples; None if there is none.

    losses: ascending, nats, one list a law.   returns: a spacing that holds up to rounding (1e-13 of the largest
    distance) and is at least 2**-20 of it; infinite where no law has two losses.
    """
    gaps = np.concatenate([np.empty(0), *(one - one[0] for one in losses)])
    gaps = np.unique(gaps[gaps > 0])
    if not gaps.size:
        return np.inf
    widest = float(gaps[-1])
    rounding = _ROUNDING * max(widest, *(float(np.abs(one).max()) for one in losses))
    parts = 1  # of the widest distance
    while parts <= _FINEST:
        left = gaps[np.abs(gaps - widest / parts * np.round(gaps / widest * parts)) > rounding]
        if not left.size:
            return widest / parts
        share = Fraction(float(left[0]) / widest).limit_denominator(_FINEST)
        if parts % share.denominator == 0:
            return None
        parts = math.lcm(parts, share.denominator)
    return None
