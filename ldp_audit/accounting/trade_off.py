"""The trade-off curve of a mechanism, from its profile.

f(alpha) is the least false-negative rate of any test between two inputs whose false-positive rate is alpha. For a
profile delta that holds in both directions, f(alpha) = sup over e >= 0 of max(0, 1 - delta(e) - e**e alpha, e**-e
(1 - delta(e) - alpha)). Source: Dong, Roth, Su (2022): the duality of trade-off curves and (epsilon, delta) pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def trade_off_from_below(mechanism: Any, alpha: ArrayLike, levels: ArrayLike) -> NDArray[np.float64]:
    """f at each alpha, from the profile at finitely many levels: never above the true curve (pessimistic).

    alpha: in [0, 1].   levels: nats, >= 0.   returns: shape of alpha.
    Raises ValueError for an alpha that is no rate.
    """
    rates = np.asarray(alpha, dtype=np.float64)
    if not np.all((rates >= 0) & (rates <= 1)):
        raise ValueError(f"alpha must lie in [0, 1], got {alpha!r}")
    asked = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    left = 1 - np.atleast_1d(mechanism.delta(asked))
    steep = left - np.exp(asked) * rates[..., None]
    flat = np.exp(-asked) * (left - rates[..., None])
    return np.maximum(0.0, np.maximum(steep, flat).max(axis=-1))
