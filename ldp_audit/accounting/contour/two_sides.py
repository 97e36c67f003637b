r"""What is left of a loss of which only is told on which side of some value it lies: a two-valued loss, from below.

Of the set A of outputs with a loss above l, P and Q have a and b, and the loss is then ln(a/b), else
ln((1 - a)/(1 - b)). Where a and b are nearly the same, their ratio has more digits by way of delta(l) = a - e**l b:

    ln(a/b) = l - ln(1 - delta(l)/a),   ln((1 - b)/(1 - a)) = -l - ln(1 - delta'(-l)/(1 - b)),

with the delta' of the mirror image. On a sample the two losses are mixed as the others are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ldp_audit.accounting.contour.transform import EPS
from ldp_audit.accounting.laws.binomial_loss import MOST_TIMES, BinomialLoss
from ldp_audit.accounting.laws.loss_law import CellMasses, LossLaw
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.symmetric_loss import SymmetricLoss

_ROUNDING = 1e-11
"""Of masses and of delta, as shares of themselves."""


def sampled_of(law: LossLaw) -> LossLaw:
    """That from the data with the record, which no loss of replaced records is less than; any other loss itself."""
    if isinstance(law, SymmetricLoss) and isinstance(law.upper, MixedLoss) and law.upper.record_first:
        return law.upper
    return law


def base_of(law: LossLaw) -> LossLaw:
    """The loss without sampling."""
    one = sampled_of(law)
    return one.base if isinstance(one, MixedLoss) else one


def two_sided(law: LossLaw, times: int, places: Iterable[float]) -> list[BinomialLoss]:
    """Sums of losses that so many of these dominate: told is on which side of each place the base's loss lies.

    law: one whose base knows the masses of cells; there are no sums for any other, or for more than 10**18 times.
    """
    law = sampled_of(law)
    base, found = base_of(law), []
    masses = getattr(base, "masses", None)
    if not callable(masses) or times > MOST_TIMES:
        return []
    mirrored = base.mirrored()
    for place in places:
        cells: CellMasses = masses(np.array([place]))  # type: ignore[assignment]
        logs = np.array([cells.first, cells.second])
        if not logs.min() > -math.inf:
            continue
        high = _gain(base, place, float(logs[0, 1]), float(logs[1, 1]))
        low = -_gain(mirrored, -place, float(logs[1, 0]), float(logs[0, 0]))
        if not low < 0 < high:
            continue
        if isinstance(law, MixedLoss):
            way = 1 if law.record_first else -1
            low, high = (way * law.rate.mixed(way * np.array([low, high])) * (1 - 16 * EPS)).tolist()
        if low < 0 < high and math.isfinite(times * (high - low)):
            found.append(BinomialLoss(high, low, times))
    return found


def _gain(law: LossLaw, level: float, log_first: float, log_second: float) -> float:
    """A lower bound of the loss of all that is above this level, from ln of its masses or from delta."""
    plain = log_first - log_second - 16 * EPS * (1 + abs(log_first) + abs(log_second))
    share = math.exp(min(0.0, law.log_delta_bounds(level)[0] - log_first)) * (1 - _ROUNDING)
    return max(plain, level - math.log1p(-min(share, 0.5)) - 4 * EPS * abs(level))
