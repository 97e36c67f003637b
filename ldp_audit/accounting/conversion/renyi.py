"""Renyi divergences and concentrated privacy, and their conversion to (epsilon, delta).

D_alpha(P || Q) = ln E_P[e**((alpha - 1) L)] / (alpha - 1), L the privacy loss; order 1 is its mean, the
Kullback-Leibler divergence, and order infinity its supremum (Mironov, CSF 2017, Definitions 3 and 4). Zero-concentrated
privacy: the divergence of every order alpha > 1 is at most rho alpha (Bun, Steinke, "Concentrated Differential
Privacy", TCC 2016, Definition 1.1).
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from ldp_audit.accounting.converted import Converted
from ldp_audit.accounting.privacy_loss import PrivacyLoss, privacy_loss
from ldp_audit.losses.divergence import laplace_divergence, of_excess
from ldp_audit.losses.hulls import divergence_of
from ldp_audit.losses.loss import PairLoss, side
from ldp_audit.numerics import as_float, least_between, log_of_delta, nonnegative, order, whole

Curve = Callable[[float], float]
"""A bound on the divergence at each order."""

_DEFINITION = "Mironov (2017), Definition 3"
_NOISE = "Mironov (2017), Proposition 7"
_SIMPLE = "Mironov (2017), Proposition 3"
_TIGHTER = "Canonne, Kamath, Steinke (2020), Proposition 12; Balle et al. (2020), Theorem 21"
_ORDERS = 1 + np.logspace(-6, 12, 73)
"""The first orders evaluated in the search for the best."""
_HUGE = 1e200


def renyi_divergence(loss: PrivacyLoss | PairLoss, alpha: float) -> Converted:
    """The divergence of order alpha, nats: the larger of the directions'; of a pair's loss, D(P || Q) alone.

    Exact for finitely many losses, for Gaussian and Laplace noise, and for sums of these; for any other loss an upper
    bound (`hulls.divergence_of`): within 1e-4 of itself for subsampled noise, by rate or without replacement, else that
    of a loss that dominates it.
    alpha: >= 1; infinity gives the pure epsilon. Raises ValueError for anything else.
    """
    asked = order(alpha)
    found = [divergence_of(pair, asked) for pair in pairs_of(loss)]
    value = max(0.0, *(one for one, _ in found))
    if all(exact for _, exact in found):
        return Converted.exact(value, _DEFINITION)
    return Converted.upper(value, f"{_DEFINITION}, from above")


def response_renyi(epsilon: float, alpha: float, k: int = 2) -> Converted:
    """Of randomised response on k values, nats; exact: ln((t**a + t**(1 - a) + k - 2) / (t + k - 1)) / (a - 1).

    Written with hyperbolic sines, t**a + t**(1 - a) - t - 1 = 4 sqrt(t) sinh(a e/2) sinh((a - 1) e/2), so that nothing
    cancels. Raises ValueError unless epsilon >= 0, alpha >= 1, and k is a whole number >= 2.
    """
    top, asked = nonnegative(epsilon), order(alpha)
    whole(k, "k", 2)
    if top in (0.0, math.inf) or math.isinf(asked):
        return Converted.exact(top, _DEFINITION)
    log_others = math.log(k - 1)
    if asked > 1 and top > log_others + 5:
        return Converted.exact(_near_top(top, asked, k), _DEFINITION)
    log_all = float(np.logaddexp(top, log_others))
    if asked == 1:
        return Converted.exact(top * math.exp(top + math.log(-math.expm1(-top)) - log_all), _DEFINITION, of=top)
    log_rest = math.log(4) + top / 2 + _log_sinh(asked * top / 2) + _log_sinh((asked - 1) * top / 2) - log_all
    return Converted.exact(min(top, of_excess(log_rest, asked - 1)), _DEFINITION, of=top)


def _near_top(top: float, alpha: float, k: float) -> float:
    """The divergence of randomised response for t far above k: e + ln(1 - c)/(a - 1), where c is small.

    c = (1 - t**(2 - 2a) + (k - 2)(1 - t**(1 - a))) / (t + k - 1).
    """
    lack = -math.expm1(-2 * (alpha - 1) * top) - (k - 2) * math.expm1(-(alpha - 1) * top)
    share = math.exp(-top)
    return top + math.log1p(-share * lack / (1 + (k - 1) * share)) / (alpha - 1)


def gaussian_renyi(mu: float, alpha: float) -> Converted:
    """Of unit normal distributions whose means are mu apart, nats; exact: alpha mu**2 / 2."""
    asked, shift = order(alpha), nonnegative(mu, "mu")
    if shift == 0 or math.isinf(asked):
        return Converted.exact(math.inf if shift else 0.0, _NOISE)
    return Converted.exact(asked * shift * shift / 2, _NOISE, of=shift)


def laplace_renyi(epsilon: float, alpha: float) -> Converted:
    """Of Laplace noise whose pure epsilon is this, nats; exact.

    ln(a/(2a - 1) e**((a - 1) e) + (a - 1)/(2a - 1) e**(-a e)) / (a - 1); at order 1, e + e**-e - 1.
    """
    top, asked = nonnegative(epsilon), order(alpha)
    if math.isinf(asked) or top in (0.0, math.inf):
        return Converted.exact(top, _DEFINITION)
    return Converted.exact(laplace_divergence(top, asked), "Mironov (2017), Proposition 6", of=top)


def renyi_to_epsilon(
    curve: Curve,
    delta: float | None = None,
    *,
    log_delta: float | None = None,
    orders: Iterable[float] | None = None,
    simple: bool = False,
) -> Converted:
    """An epsilon at this delta, nats, for a mechanism whose divergence of order alpha is at most curve(alpha).

    orders: the orders allowed, each above 1; by default all, of which the best is searched for.
    simple: Mironov's formula instead of the tighter one. An upper bound. Raises ValueError for bad numbers, the curve's
    too: they may be infinite, but must be numbers.
    """
    target, curve = log_of_delta(delta, log_delta), _checked(curve)

    def at(alpha: float) -> float:
        if math.isinf(alpha):
            return curve(alpha)
        plain = curve(alpha) - target / (alpha - 1)
        return plain if simple else plain + math.log1p(-1 / alpha) - math.log(alpha) / (alpha - 1)

    if target == 0:
        return Converted.upper(0.0, "delta = 1 allows everything")
    value = min(_least(at, orders), curve(math.inf) if orders is None else math.inf)
    return Converted.upper(max(0.0, value), _SIMPLE if simple else _TIGHTER)


def renyi_to_delta(curve: Curve, epsilon: float, *, orders: Iterable[float] | None = None) -> Converted:
    """A delta at this epsilon for a mechanism whose divergence of order alpha is at most curve(alpha); an upper bound.

    The smallest over the orders of e**((a - 1)(curve(a) - epsilon)) (1 - 1/a)**a / (a - 1). Errors as above.
    """
    asked, curve = nonnegative(epsilon), _checked(curve)

    def at(alpha: float) -> float:
        gap = curve(alpha) - asked
        if math.isinf(alpha):
            return -math.inf if gap <= 0 else 0.0
        return (alpha - 1) * gap + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

    if math.isinf(asked):
        return Converted.delta(-math.inf if math.isfinite(curve(2.0)) else 0.0, "upper", _TIGHTER)
    value = min(_least(at, orders), at(math.inf) if orders is None else 0.0, 0.0)
    return Converted.delta(value, "upper", _TIGHTER)


def pairs_of(loss: PrivacyLoss | PairLoss) -> tuple[PairLoss, ...]:
    """The losses of the directions; of a pair its own alone. Raises ValueError for what is no loss."""
    if not isinstance(loss, PrivacyLoss | PairLoss):
        raise ValueError(f"loss must be a PrivacyLoss or a PairLoss, got {loss!r}")
    directions = privacy_loss(loss).directions
    return directions[:1] if loss is directions[0] else directions


def _log_sinh(x: float) -> float:
    """ln sinh(x) for x >= 0."""
    if x == 0:
        return -math.inf
    return x + math.log(-math.expm1(-2 * x)) - math.log(2)


def _least(value: Curve, orders: Iterable[float] | None) -> float:
    """The least of the values; any order's is valid, so a search that stops early is still right."""
    if orders is not None:
        return min(value(alpha) for alpha in _listed(orders))
    found = [value(float(alpha)) for alpha in _ORDERS]
    best = int(np.argmin(found))
    ends = np.log(_ORDERS[[max(0, best - 1), min(best + 1, _ORDERS.size - 1)]] - 1)
    near = least_between(
        # whose differences must be floats
        lambda z: min(max(value(1 + math.exp(z)), -_HUGE), _HUGE),
        *map(float, ends),
        xtol=1e-9,
    )
    return min(found[best], near) if near < _HUGE else found[best]


def _listed(orders: Iterable[float]) -> list[float]:
    """ValueError unless they are numbers above 1, one at least."""
    listed = list(orders) if isinstance(orders, Iterable) and not isinstance(orders, str | bytes) else []
    if not listed or not all(order(alpha) > 1 for alpha in listed):
        raise ValueError(f"orders must be numbers above 1, one at least, got {orders!r}")
    return [float(alpha) for alpha in listed]


def _checked(curve: Curve) -> Curve:
    """The same curve, which raises an error where it gives no number."""
    if not callable(curve):
        raise ValueError(f"curve must be a function from an order to a divergence, got {curve!r}")

    def at(alpha: float) -> float:
        value = as_float(found := curve(alpha))
        if math.isnan(value):
            raise ValueError(f"curve must give a number at every order, got {found!r} at {alpha!r}")
        return value

    return at


_FARTHEST = 1e12
_MOST_CELLS = 5000


def zcdp_to_epsilon(
    rho: float, delta: float | None = None, *, log_delta: float | None = None, simple: bool = False
) -> Converted:
    """An epsilon at this delta, nats, for every mechanism of this rho; an upper bound.

    The best order of the tighter Renyi conversion; simple: Bun and Steinke's rho + 2 sqrt(rho ln(1/delta)).
    Raises ValueError for a negative rho and for what is no delta.
    """
    cost = nonnegative(rho, "rho")
    target = log_of_delta(delta, log_delta)
    if cost in (0.0, math.inf) or target in (0.0, -math.inf):
        return Converted.upper(0.0 if cost == 0 or target == 0 else math.inf, "rho = 0 gives nothing away")
    if simple:
        value = cost + 2 * math.sqrt(cost) * math.sqrt(-target)
        return Converted.upper(value, "Bun, Steinke (2016), Proposition 1.3")
    return renyi_to_epsilon(lambda alpha: cost * alpha, log_delta=target)


def zcdp_to_delta(rho: float, epsilon: float, *, simple: bool = False) -> Converted:
    """A delta at this epsilon for every mechanism of this rho; an upper bound.

    simple: e**-((epsilon - rho)**2 / (4 rho)), 1 for epsilon <= rho.
    """
    cost, asked = nonnegative(rho, "rho"), nonnegative(epsilon)
    if cost in (0.0, math.inf) or math.isinf(asked):
        return Converted.delta(-math.inf if math.isfinite(cost) else 0.0, "upper", "rho = 0 gives nothing away")
    if simple:
        gap = max(0.0, asked - cost)
        log = max(-gap * (gap / cost / 4), -sys.float_info.max)
        return Converted.delta(log, "upper", "Bun, Steinke (2016), Proposition 1.3")
    return renyi_to_delta(lambda alpha: cost * alpha, asked)


def gaussian_zcdp(mu: float) -> Converted:
    """Of Gaussian noise whose sensitivity is mu standard deviations: mu**2 / 2. Exact."""
    shift = nonnegative(mu, "mu")
    return Converted.exact(shift * shift / 2, "Bun, Steinke (2016), Proposition 1.6", of=shift)


def laplace_zcdp(epsilon: float) -> Converted:
    """Of Laplace noise of this pure epsilon: epsilon + e**-epsilon - 1, its divergence of order 1. Exact."""
    return replace(laplace_renyi(epsilon, 1.0), source="Harrison, Manurangsi (2025): attained at order 1")


def zcdp_of(loss: PrivacyLoss | PairLoss, tolerance: float = 1e-4) -> Converted:
    """An upper bound of the least rho of a loss: the supremum of D(alpha)/alpha, of a pair's loss in both orders.

    Infinite where the loss may be.

    (alpha - 1) D(alpha) is convex, so between two orders it lies below its chord; the piece with the largest bound is
    halved until that is within `tolerance`, of itself, of a value that is attained, or no pieces are left.
    """
    if not (isinstance(tolerance, int | float) and 0 < tolerance < 1):
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")

    pairs_of(loss)  # which refuses what is no loss
    losses = tuple(side(pair, 1) for pair in privacy_loss(loss).directions)

    @cache
    def divergence(alpha: float) -> float:
        return max(0.0, *(divergence_of(pair, alpha)[0] for pair in losses))

    source = "Bun, Steinke (2016), Definition 1.1, every order"
    mean, pure = divergence(1.0), divergence(math.inf)
    if pure == 0 or math.isinf(divergence(2.0)):
        return Converted.upper(0.0 if pure == 0 else math.inf, source)
    far = max(2.0, 2 * pure / max(mean, pure / _FARTHEST)) if math.isfinite(pure) else _FARTHEST
    attained = max(mean, divergence(far) / far)
    most = min(_by_range(losses, mean), max(_ratio_beyond(pair, 1.0) for pair in losses))
    if most <= attained * (1 + tolerance):
        return Converted.upper(most, source)
    beyond = max(_ratio_beyond(pair, far) for pair in losses)
    return Converted.upper(min(max(_supremum(divergence, attained, far, tolerance), beyond), most), source)


def _ratio_beyond(loss: PairLoss, order: float) -> float:
    """A bound on D(alpha)/alpha from this order on, nats; infinite where none is known."""
    if math.isfinite(loss.supremum()):
        return loss.supremum() / order
    upper = side(loss, 1)
    known = upper.known()
    if known is None:
        summands = upper.sides().summands
        return math.fsum(times * _ratio_beyond(one, order) for one, times in summands) if summands else upper.rho()
    common, log_first, log_second = known.finite_part()
    if log_first < 0:
        return math.inf
    parts = common.summands()
    if parts[0][0] is not common:
        found = math.fsum(times * _ratio_beyond(one, order) for one, times in parts)
    else:
        mu, _ = common.dominating_gaussian()
        found = (mu * mu + 4 * math.ulp(0.0)) / 2 if mu < _HUGE else math.inf
    return found + max(0.0, log_first - log_second) / order


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


def _by_range(losses: tuple[PairLoss, ...], mean: float) -> float:
    """A bound from the width w of the losses alone: (alpha - 1) D(alpha) has a second derivative of w**2/4 at most."""
    width = max(loss.supremum() + loss.reversed().supremum() for loss in losses)
    return max(mean, width * width / 8 + math.ulp(0.0))
