r"""How much a law can have grown by being put on a grid: the lower end from the upper one alone.

Let L be the sum of independent losses, and L' the sum after some of them, or partial sums of them, have been moved to
the ends of their cells: Xi = L' - L is a sum of steps. Given all that came before it a step lies in an interval of some
length h, and e**-step has the mean 1; so v = e**-Xi has the mean 1 given L. Write d(epsilon) for the divergence of L,
d' for that of L', and y = e**(epsilon - L). Then d' - d is the mean of

    g(y) = E[(1 - y v)_+] - (1 - y)_+,     that is E[(1 - y v)_+] for y >= 1 and E[(y v - 1)_+] for y <= 1,

which is convex on either side of 1. For w > 0 let a = e**w/(1 + e**w) and b = 1 - a. The second difference

    a d(epsilon - w) + b d(epsilon + w) - d(epsilon)

is the mean of a function of y that is linear between e**-w, 1 and e**w, tanh(w/2) at 1, and 0 outside. A convex
function lies below its chord, so with c = g(1)/tanh(w/2)

    g(y) <= c * (that function) + rest,

where the rest is at most g(e**w) or g(e**-w) inside, and g(y) outside. As d <= d' everywhere,

    d(epsilon) (1 - c) >= d'(epsilon) - c (a d'(epsilon - w) + b d'(epsilon + w)) - E[rest]     for c < 1.

All of it is of the order V = sum h**2 times the first two derivatives of d, whatever the laws look like.

* g(1) = E|1 - v|/2 <= sd(v)/2, and 1 + Var(v) is at most the product of 1 + 4 sinh(h/4)**2, the most for two points h
  apart.
* E[rest], by Chernoff and Hoeffding's lemma (the mean of each step lies in [0, h**2/8]), for any s, t >= 0:
  E[rest] <= M (e**(-s w + (theta + s) V/8 + (theta + s)**2 V/8) + e**(-t w + (1 + t)**2 V/8)), where M is the mean of
  e**(theta (L - epsilon)), at most that of L', which `TiltedProfile` takes out. If the sum of all h is at most w, then
  there is no rest.

Where the steps are too long for that, losses lie far apart, and this may tell more: L is at least L' less the sum of
all h, so d(epsilon) >= d'(epsilon + that sum).

Rounding may have moved the sum by `shift`, so d'(epsilon) is only known to lie between what is found at epsilon + shift
and at epsilon - shift.
"""

from __future__ import annotations

import math

from ldp_audit.accounting.grids.tilted_profile import TiltedProfile

_REST = 19.0
"""-ln of the share of the divergence that the rest may have, about."""

_LARGEST_POWER = 600.0


def below_grid(profile: TiltedProfile, epsilon: float, deviation: float) -> float:
    """A lower end of v for the laws before they were put on the grid; it may be 0 or less, which says nothing.

    deviation: about that of the tilted sum, nats.
    """
    moved = _moved(profile, epsilon)
    return max(moved, _by_spread(profile, epsilon, deviation)) if profile.law.moves.reach else moved


def _moved(profile: TiltedProfile, epsilon: float) -> float:
    """The bound by the sum of all steps; the only one if there are none."""
    theta, away = profile.law.theta, profile.law.moves.reach + profile.law.shift
    low = profile.ends(epsilon + away)[0]
    return low * math.exp(-theta * away) if low > 0 else -math.inf


def _by_spread(profile: TiltedProfile, epsilon: float, deviation: float) -> float:
    """The bound by second differences."""
    moves, theta, shift = profile.law.moves, profile.law.theta, profile.law.shift
    low = profile.ends(epsilon + shift)[0] * math.exp(-theta * shift)
    need = _REST + max(math.log1p(2.5 * deviation * theta * (1 + theta)), -math.log(min(1.0, max(deviation, 1e-300))))
    steep, spread = 1 + theta, moves.squares
    width, rest = (steep + math.sqrt(steep * steep + 8 * need / spread)) * spread / 4, 0.0
    if moves.reach <= width:
        width = moves.reach
    else:
        rest = _rest(width, spread, theta)
    if theta * (width + shift) > _LARGEST_POWER or moves.log_variance > 1:
        return -math.inf
    share = 0.5 * math.sqrt(math.expm1(moves.log_variance)) / math.tanh(width / 2)
    if share > 0.9:
        return -math.inf
    return low - (share * _second_difference(profile, epsilon, width, low) + rest) / (1 - share)


def _second_difference(profile: TiltedProfile, epsilon: float, width: float, low: float) -> float:
    """An upper end of a d'(epsilon - w) + b d'(epsilon + w), less the lower end of d'(epsilon); in units of v."""
    theta, shift = profile.law.theta, profile.law.shift
    a = 1 / (1 + math.exp(-width))
    left = profile.ends(epsilon - width - shift)[1] * math.exp(theta * (width + shift))
    right = profile.ends(epsilon + width - shift)[1] * math.exp(theta * (shift - width))
    return a * left + (1 - a) * right - low


def _rest(width: float, spread: float, theta: float) -> float:
    """The bound on E[rest] over M, at about the best s and t."""
    s, t = max(0.0, 4 * width / spread - theta), max(0.0, 4 * width / spread - 1)
    upper = -s * width + (theta + s) * (1 + theta + s) * spread / 8
    lower = -t * width + (1 + t) ** 2 * spread / 8
    return math.exp(min(_LARGEST_POWER, upper)) + math.exp(min(_LARGEST_POWER, lower))
