r"""How large M of a sample's loss can be far out: by integrals along other lines of x, or by the loss's variance.

Along x + i h(x), h >= 0 on the side on which e**(i y ln w) falls, the integrand has at most the size

    |phi(x + i h) W(x + i h)| |w(x + i h)|**p e**(-y |arg w(x + i h)|) (1 + h'(x)**2)**(1/2),

and M(c + i y') for y' >= y is at most the integral of that, and of the ways to and from that line where the part has an
end. With h never falling, a piece of x is told by its ends (`on_sample`): h stays below pi/2, or w is nowhere 0. Near
y = 0 the same is told by how far it lies below M(c), which has its own digits.

Nothing is gained near y = 0 for a part with two ends; but a loss within R nats, of variance V under the weights f/M(c),
has

    |M(c + i y)|**2 <= M(c)**2 (1 - 4 V (y/pi)**2)   for y <= pi/R,

as |M(c + i y)/M(c)|**2 = E cos(y (L - L')) for two such losses, and 1 - cos u >= 2 (u/pi)**2 for |u| <= pi.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.on_sample import ALONE, log_density, log_narrowed, turned
from ldp_audit.accounting.contour.sample_rule import SampleRule
from ldp_audit.accounting.contour.transform import EPS

Numbers = NDArray[np.float64]

_WIDEST_ANGLE, _WIDEST = 1.5, 6.0
_SHARES = (1.0, 0.5, 0.25)
_RISE, _BLURS = 0.85, 4.0
_LARGEST_POWER = 600.0


class _Path(NamedTuple):
    """h at the left and at the right end of each piece of x, linear between them; it never falls with x."""

    low: Numbers
    high: Numbers


def log_beyond_moved(rule: SampleRule, power: float, y: float, whole: float) -> float:
    """ln of a bound on |M(c + i x)| for all x >= y > 0.   power: Re p.   whole: ln of an upper bound of M(c)."""
    return min([whole, *(_along(rule, power, path, y, whole) for path in _paths(rule, power, y))])


def log_beyond_spread(spread: float, reach: float, y: float, whole: float) -> float:
    """ln of a bound on |M(c + i y')| for y <= y' <= pi/R.   spread: a lower bound of V, nats**2.   reach: R."""
    return whole + 0.5 * math.log1p(-min(1 - EPS, 4 * spread * (min(y, math.pi / reach) / math.pi) ** 2))


def _paths(rule: SampleRule, power: float, y: float) -> list[_Path]:
    """Some paths that may serve."""
    mu, part = rule.integrands.mu, rule.integrands.part
    farthest, points, pieces = min(_WIDEST_ANGLE / mu, _WIDEST), rule.points, rule.pieces
    logs = points.log_masses + power * points.losses
    sizes = np.exp(logs - logs.max())
    gentle = y * mu * float((sizes * points.shares).sum() / sizes.sum())
    found = []
    if part.low == -math.inf:
        shifts = {min(farthest, gentle)}
        if gentle > _SHARES[-1] * farthest:
            shifts |= {share * farthest for share in _SHARES}
        found = [_Path(*[np.full(pieces.left.size, shift)] * 2) for shift in sorted(shifts) if shift > 0]
    if part.low > -math.inf or farthest < _WIDEST:
        found.append(_fitted(rule, y, farthest))
    return found


def _fitted(rule: SampleRule, y: float, farthest: float) -> _Path:
    """The path that goes as far at each place as gains most there: little in the blurs, much beside them."""
    told, part, mu = rule.pieces, rule.integrands.part, rule.integrands.mu
    alone = float(np.min(told.left[told.low_shares > ALONE], initial=rule.window.last))
    ends = []
    for x, shares in ((told.left, told.low_shares), (told.right, told.high_shares)):
        best = y * mu * shares
        slow = best
        if math.isfinite(part.high):
            slow = best * part.blur**2
        elif part.low > -math.inf:
            near = part.low + _BLURS * part.blur
            inner = y * mu * float(rule.integrands.told(np.array([near]))[1][0]) * part.blur**2
            slow = _beside(x, near, best * part.blur**2, inner)
        cap = np.where(x > alone, np.minimum(_WIDEST, farthest + _RISE * (x - alone)), farthest)
        ends.append(np.minimum(np.minimum(best, slow), cap))
    return _Path(ends[0], np.maximum(*ends))


def _beside(x: Numbers, near: float, inner: Numbers, start: float) -> Numbers:
    """h near an end that is blurred, and beyond a value near it, where it is `start`, ever further away."""
    return np.where(x <= near, np.minimum(inner, start), start + _RISE * (x - near))


def _along(rule: SampleRule, power: float, path: _Path, y: float, whole: float) -> float:
    """The bound by this path."""
    pieces, part, mu = rule.pieces, rule.integrands.part, rule.integrands.mu
    low, high = mu * path.low, mu * path.high
    turn = y * turned(pieces.low_shares, low)
    steep = (path.high - path.low) / (pieces.right - pieces.left)
    growth = path.high * path.high / 2 + 0.5 * np.log1p(np.square(steep))
    weights = part.log_bound(pieces.left, pieces.right, path.high)
    # |w| grows with x up to a right angle, and beyond that lies between 2 r - 1 and 1 times its size on the real line
    if power >= 0:
        powers = power * pieces.high + log_narrowed(pieces.high_shares, low, power)
        narrowed = np.maximum(log_narrowed(pieces.low_shares, low, power), log_narrowed(pieces.high_shares, low, power))
    else:
        powers = power * pieces.low + log_narrowed(pieces.low_shares, high, power)
        narrowed = log_narrowed(np.clip(0.5, pieces.low_shares, pieces.high_shares), high, power)
    outside = _outside(rule, power, path, y)
    logs = pieces.log_most + growth + weights + powers - turn
    direct = float(np.logaddexp.reduce([outside, *logs]))
    direct += 64 * EPS * (1 + float(np.abs(powers).max()) + abs(direct))
    # the same as a difference from M(c): where it is above that, by the most that f can be there, else by the least
    grown = np.expm1(np.minimum(growth + weights - pieces.log_least_weight + narrowed - turn, _LARGEST_POWER))
    most, least = (pieces.high, pieces.low) if power >= 0 else (pieces.low, pieces.high)
    sizes = np.where(grown > 0, pieces.log_weighed + power * most, pieces.log_least + power * least)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = grown * np.exp(sizes - whole)
    difference = float(parts.sum()) + 1e-9 * float(np.abs(parts).sum()) + math.exp(min(0.0, outside - whole))
    near = whole + math.log1p(difference) + 4 * EPS * abs(whole) if -1 < difference < 1 else math.inf
    return min(direct, near)


def _outside(rule: SampleRule, power: float, path: _Path, y: float) -> float:
    """ln of what the ways to the path add, and what is outside the window."""
    window = rule.window
    below = _log_tail(rule, power, float(path.low.min()), above=False)
    above = _log_tail(rule, power, float(path.high.max()), above=True)
    return float(
        np.logaddexp(
            below if window.open_below else _log_way(rule, power, window.first, float(path.low.min()), y),
            above if window.open_above else _log_way(rule, power, window.last, float(path.high.max()), y),
        )
    )


def _log_tail(rule: SampleRule, power: float, shift: float, *, above: bool) -> float:
    """ln of a bound on what lies beyond an open end, on a line moved by so much."""
    integrands, end = rule.integrands, np.array([rule.window.last if above else rule.window.first])
    angle, share = np.array([integrands.mu * shift]), integrands.told(end)[1]
    growth = shift * shift / 2 + float(integrands.part.log_bound_near_one(end, end, np.array([shift]))[0])
    if power < 0:  # above, |w| is least at the end; below, it is narrowed most there, or where the share is a half
        growth += float(log_narrowed(share if above else np.minimum(share, 0.5), angle, power)[0])
    return integrands.log_tail(float(end[0]), abs(power), above=above) + growth


def _log_way(rule: SampleRule, power: float, x: float, shift: float, y: float) -> float:
    """ln of a bound on the way from the real line at x to one moved by so much.

    But for where |w| grows, ln of the size is on the way at most a convex function of how far it is: on its chord.
    """
    if shift <= 0:
        return -math.inf
    integrands, end, angle = rule.integrands, np.array([x]), np.array([rule.integrands.mu * shift])
    losses, shares = integrands.told(end)
    rate = min(float(turned(shares, angle)[0]), float(angle[0] * shares[0]))
    change = shift * shift / 2 + integrands.part.log_growth(shift) - y * rate
    size = log_density(end) + integrands.part.log_bound(end, end, np.zeros(1)) + power * losses
    grown = float(log_narrowed(shares, angle, power)[0]) if power < 0 else 0.0
    return float(size[0]) + grown + math.log(shift) + _log_mean_exp(change)


def _log_mean_exp(change: float) -> float:
    """ln of the mean of e**(t change) over t from 0 to 1, or a little more."""
    if abs(change) < 1e-6:
        return max(0.0, change)
    return math.log(math.expm1(change) / change) if change < _LARGEST_POWER else change
