r"""What delta lacks of 1, by a line on the other side of the pole (`strip`): with its own digits, however little it is.

It falls off faster than delta does, so that some 20 points do. Where M does not fall off along the line, as for few
Laplace noises or losses of finitely many values, a little Gaussian loss is added: Xi with the variance s**2 and the
mean s**2/2, so that e**-Xi has the mean 1. Let eta(epsilon) = E[min(1, e**(epsilon - L))] and eta' that of L + Xi.

* By Jensen's inequality eta' <= eta.
* As eta grows, and eta'(epsilon + s**2/2 + u) is the mean of eta(epsilon + u - N) for a normal N of the deviation s,
  eta(epsilon) <= eta'(epsilon + s**2/2 + u)/P(N <= u).
* For little noise that is of second order. With c, the tent of half-width w and r of `frequencies.noise`, and 1 - eta
  for d, eta(epsilon) (1 - c) <= eta'(epsilon) - c (a eta'(epsilon - w) + b eta'(epsilon + w)) + E[r]. There r is at
  most g(e**w) <= q = e**(-(w - s**2/2)**2/(2 s**2))/2, and g(e**-z) <= q e**(w - z) beyond, if w >= 3 s**2/2; so
  E[r] <= q e**w eta(epsilon).

A law of which no M is known is told by its cells (`coarse_atoms`); then only the upper end of eta holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ldp_audit.accounting.contour.atoms_transform import AtomsTransform
from ldp_audit.accounting.contour.coarse_atoms import coarse_atoms
from ldp_audit.accounting.contour.contour_plan import MOST_NODES, ContourPlan
from ldp_audit.accounting.contour.noise_transforms import GaussianTransform
from ldp_audit.accounting.contour.strip import BELOW
from ldp_audit.accounting.contour.summed_transform import SummedTransform
from ldp_audit.accounting.contour.transform import EPS, Transform
from ldp_audit.accounting.contour.transforms import transform_of
from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.accounting.laws.loss_law import LossLaw

_NOISES = (2.0**-9, 2.0**-7, 2.0**-5)
"""Deviations of what is added, in those of the sum; for laws that are told by cells the last one alone."""
_NEED = 30.0
"""-ln of the share of eta that E[r] may have."""
_SHIFTS = (0.0, 1.0, 2.5)
_WIDEST, _FARTHEST = 1.0, 1e100
"""The largest deviation for which tents are asked, and the largest of all, nats."""
_ROUNDING = 1e-12

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class NearOne:
    """For one sum of losses.

    total: its transform, where a loss may be infinite that of the finite ones.   coarse: whether cells tell a law; and
    rounded: by how many nats the sum's losses may be rounded then.
    """

    total: SummedTransform
    coarse: bool = False
    rounded: float = 0.0
    _smoothed: dict[float, ContourPlan] = field(default_factory=dict, init=False, repr=False)

    def log_delta_bounds(self, epsilon: float) -> Ends:
        """ln of a lower and of an upper end of delta(epsilon)."""
        low, high = self.log_lacking_bounds(epsilon)
        # with the digits that either logarithm has: that of a number next to 1 has more than the number
        return log_lacking(high) * (1 + 8 * EPS), log_lacking(min(low, -EPS)) * (1 - 8 * EPS)

    def log_lacking_bounds(self, epsilon: float) -> Ends:
        """ln of a lower and of an upper end of 1 - delta(epsilon)."""
        epsilon += self.rounded
        most = self.plan.log_chernoff(epsilon)
        line = self.plan.line(epsilon)
        low, high = (-math.inf, 0.0) if line is None else line.ends(epsilon)
        if line is None:
            low, high = self._of_smoothed(epsilon)
        return -math.inf if self.coarse else low, min(most, high)

    def epsilon_near(self, log_lacking: float) -> float:
        """About the level with this ln(1 - delta); not a number where none is found."""
        return self.plan.epsilon_near(log_lacking)

    @cached_property
    def plan(self) -> ContourPlan:
        """The lines of the sum itself."""
        return ContourPlan(self.total, MOST_NODES, BELOW)

    def _of_smoothed(self, epsilon: float) -> Ends:
        """The ends with the least noise of some with which a line is short enough."""
        deviation = self.plan.deviation_at(epsilon)
        if not 0 < deviation < _FARTHEST:
            return -math.inf, 0.0
        for share in _NOISES[-1:] if self.coarse else _NOISES:
            noise = 2.0 ** math.floor(math.log2(deviation * share))
            if noise not in self._smoothed:
                total = SummedTransform([*self.total.parts, (GaussianTransform(noise), 1)])
                self._smoothed[noise] = ContourPlan(total, MOST_NODES, BELOW)
            if self._smoothed[noise].line(epsilon) is not None:
                return self._with_noise(epsilon, noise)
        return -math.inf, 0.0

    def _with_noise(self, epsilon: float, noise: float) -> Ends:
        plan = self._smoothed[noise]
        here = _ends(plan, epsilon)
        highs = [_by_tent(plan, epsilon, noise, here[1])] if noise <= _WIDEST else []
        for shift in _SHIFTS:
            level = epsilon + noise * noise / 2 + shift * noise
            level += 4 * EPS * abs(level)
            highs.append(_ends(plan, level)[1] - math.log1p(-math.erfc(shift / math.sqrt(2)) / 2))
        return here[0], min(highs) + _ROUNDING


def near_one(laws: Sequence[tuple[LossLaw, int]]) -> NearOne | None:
    """Of the sum of these losses, each so many times; None where one is not known by its cells."""
    parts: list[tuple[Transform, int]] = []
    coarse, rounded = False, 0.0
    for law, times in laws:
        one = transform_of(law)
        if one is None:
            found = coarse_atoms(law)
            if found is None:
                return None
            one, coarse, rounded = AtomsTransform(found[0], whole=False), True, rounded + times * found[1]
        parts.append((one, times))
    return NearOne(SummedTransform(parts), coarse, rounded)


def _by_tent(plan: ContourPlan, epsilon: float, noise: float, high: float) -> float:
    """ln of an upper end of eta, from that of eta' there and from the lower ones beside it."""
    square = noise * noise
    width = 1.5 * square + noise * math.sqrt(2 * square + 2 * _NEED)
    growth = math.erf(noise / math.sqrt(8)) / math.tanh(width / 2)
    near = 1 / (1 + math.exp(-width))
    if not 1 - growth - math.exp(-_NEED) > 0:
        return 0.0
    slack = 4 * EPS * abs(epsilon)
    below, above = (_ends(plan, epsilon + way * width - slack)[0] for way in (-1, 1))
    less = growth * (near * math.exp(below - high) + (1 - near) * math.exp(min(above - high, 600.0)))
    return high + math.log((1 - less) / (1 - growth - math.exp(-_NEED))) if less < 1 else 0.0


def _ends(plan: ContourPlan, epsilon: float) -> Ends:
    line = plan.line(epsilon)
    return (-math.inf, 0.0) if line is None else line.ends(epsilon)
