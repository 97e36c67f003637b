"""Zero-concentrated differential privacy: the Renyi divergence of every order alpha > 1 is at most rho alpha.

Source: Bun, Steinke, "Concentrated Differential Privacy" (TCC 2016), Definition 1.1.
"""

from __future__ import annotations

import heapq
import math
import sys
from dataclasses import replace
from functools import cache

import numpy as np

from ldp_audit.accounting.conversion.converted import Converted
from ldp_audit.accounting.conversion.law_divergence import ratio_beyond
from ldp_audit.accounting.conversion.renyi import (
    Curve,
    laplace_renyi,
    laws_of,
    renyi_divergence,
    renyi_to_delta,
    renyi_to_epsilon,
)
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.sampling.fewer_losses import coarser
from ldp_audit.losses.budget_arguments import level, log_of_delta
from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.enclosed_loss import end_of
from ldp_audit.losses.loss import LossLaw

_FARTHEST = 1e12
_MOST_CELLS = 5000
_MANY = 2048
"""Of losses, of which hundreds of orders are asked."""


def zcdp_to_epsilon(
    rho: float, delta: float | None = None, *, log_delta: float | None = None, simple: bool = False
) -> Converted:
    """An epsilon at this delta, nats, for every mechanism of this rho; an upper end.

    The best order of the tighter Renyi conversion; simple: Bun and Steinke's rho + 2 sqrt(rho ln(1/delta)).
    Raises ValueError for a negative rho and for what is no delta.
    """
    cost = level(rho, "rho")
    target = log_of_delta(delta, log_delta)
    if cost in (0.0, math.inf) or target in (0.0, -math.inf):
        return Converted.upper(0.0 if cost == 0 or target == 0 else math.inf, "rho = 0 gives nothing away")
    if simple:
        value = cost + 2 * math.sqrt(cost) * math.sqrt(-target)
        return Converted.upper(value, "Bun, Steinke (2016), Proposition 1.3")
    return renyi_to_epsilon(lambda alpha: cost * alpha, log_delta=target)


def zcdp_to_delta(rho: float, epsilon: float, *, simple: bool = False) -> Converted:
    """A delta at this epsilon for every mechanism of this rho; an upper end.

    simple: e**-((epsilon - rho)**2 / (4 rho)), 1 for epsilon <= rho.
    """
    cost, asked = level(rho, "rho"), level(epsilon)
    if cost in (0.0, math.inf) or math.isinf(asked):
        return Converted.delta(-math.inf if math.isfinite(cost) else 0.0, "upper", "rho = 0 gives nothing away")
    if simple:
        gap = max(0.0, asked - cost)
        log = max(-gap * (gap / cost / 4), -sys.float_info.max)
        return Converted.delta(log, "upper", "Bun, Steinke (2016), Proposition 1.3")
    return renyi_to_delta(lambda alpha: cost * alpha, asked)


def gaussian_zcdp(mu: float) -> Converted:
    """Of Gaussian noise whose sensitivity is mu standard deviations: mu**2 / 2. Exact."""
    shift = level(mu, "mu")
    return Converted.exact(shift * shift / 2, "Bun, Steinke (2016), Proposition 1.6", of=shift)


def laplace_zcdp(epsilon: float) -> Converted:
    """Of Laplace noise of this pure epsilon: epsilon + e**-epsilon - 1, its divergence of order 1. Exact."""
    return replace(laplace_renyi(epsilon, 1.0), source="Harrison, Manurangsi (2025): attained at order 1")


def zcdp_of(loss: PrivacyLoss | LossLaw, tolerance: float = 1e-4) -> Converted:
    """The least rho of a loss, from above: the supremum of D(alpha)/alpha; infinite where the loss may be.

    (alpha - 1) D(alpha) is convex, so between two orders it lies below its chord; the piece with the largest bound is
    halved until that is within `tolerance`, of itself, of a value that is attained, or no pieces are left.
    """
    if not (isinstance(tolerance, int | float) and 0 < tolerance < 1):
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")

    laws = tuple(_few(law) for law in laws_of(loss))

    @cache
    def divergence(alpha: float) -> float:
        return max(renyi_divergence(law, alpha).value for law in laws)

    source = "Bun, Steinke (2016), Definition 1.1, every order"
    mean, pure = divergence(1.0), divergence(math.inf)
    if pure == 0 or math.isinf(divergence(2.0)):
        return Converted.upper(0.0 if pure == 0 else math.inf, source)
    far = max(2.0, 2 * pure / max(mean, pure / _FARTHEST)) if math.isfinite(pure) else _FARTHEST
    attained = max(mean, divergence(far) / far)
    most = min(_by_range(laws, mean), max(ratio_beyond(law, 1.0) for law in laws))
    if most <= attained * (1 + tolerance):
        return Converted.upper(most, source)
    beyond = max(ratio_beyond(law, far) for law in laws)
    return Converted.upper(min(max(_supremum(divergence, attained, far, tolerance), beyond), most), source)


def _few(law: LossLaw) -> LossLaw:
    """A law of fewer losses above one of very many, that differs by far less than the tolerance; others as they are."""
    law = end_of(law, 1)
    if not isinstance(law, LossAtoms) or law.losses.size <= _MANY:
        return law
    return coarser(law, _MANY, 1) if np.array_equal(law.losses, -law.losses[::-1]) else law


def _supremum(divergence: Curve, attained: float, far: float, tolerance: float) -> float:
    """An upper bound of D(alpha)/alpha for orders in [1, far]."""

    def cell(low: float, high: float) -> tuple[float, float, float]:
        return -_chord_bound(low, (low - 1) * divergence(low), high, (high - 1) * divergence(high)), low, high

    cells = [cell(1.0, far)]
    for _ in range(_MOST_CELLS):
        bound, low, high = cells[0]
        if -bound <= attained * (1 + tolerance) or high - low < 1e-13:
            break
        middle = 1 + (math.sqrt((low - 1) * (high - 1)) if low > 1 else (high - 1) / 64)
        attained = max(attained, divergence(middle) / middle)
        heapq.heapreplace(cells, cell(low, middle))
        heapq.heappush(cells, cell(middle, high))
    return -cells[0][0]


def _chord_bound(low: float, at_low: float, high: float, at_high: float) -> float:
    """The largest (A + B x)/(x (x - 1)) on [low, high] for the chord A + B x through the two points."""
    slope = (at_high - at_low) / (high - low)
    if low == 1:
        return slope
    start = at_low - slope * low
    places = [low, high]
    if slope > 0 and start < 0:
        root = math.sqrt(max(0.0, start * (start + slope)))
        places += [x for x in ((-start - root) / slope, (-start + root) / slope) if low < x < high]
    return max((at_low + slope * (x - low)) / (x * (x - 1)) for x in places)


def _by_range(laws: tuple[LossLaw, ...], mean: float) -> float:
    """A bound from the width w of the losses alone: (alpha - 1) D(alpha) has a second derivative of w**2/4 at most."""
    width = max(law.largest() + law.mirrored().largest() for law in laws)
    return max(mean, width * width / 8 + math.ulp(0.0))
