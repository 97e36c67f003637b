r"""delta of few losses of Laplace noise on samples, added up by how many values lie between the two single ones.

Along the line M falls off no further than what the single values add to it, A. But with none or one of T values
between, delta is a binomial sum of closed forms; and with S = M - A that of two or more has

    the sum over k >= 2 of C(T, k) A**(T - k) S**k,

which falls off as S**2 does. Near the largest loss that of two or more is bounded by their density alone. One value
between has, of losses above a level that z = v has, from the data with the record and back, with m = (1 - e**-t)/2,

    q (1 - e**((v - t)/2))**2/2   and   q e**(level + v) (1 - e**-((v + t)/2))**2/2   for -t < v < t,

and m (1 - e**level) at levels below all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ldp_audit.accounting.contour.contour_plan import ContourPlan
from ldp_audit.accounting.contour.sampled_laplace_transform import SampledLaplaceTransform
from ldp_audit.accounting.contour.transform import EPS, Values, from_scaled

Numbers = NDArray[np.float64]
Ends = tuple[float, float]

_MOST_TIMES, _MANY, _MOST_BETWEEN, _MOST_TERMS = 2**17, 64, 60.0, 240
"""How many losses there may be; from how many on so many may lie between on average; and how many are counted."""
_NODES, _NODES_OF_MANY = 2**11, 2**12
"""The most points of a line, for as few losses, and for more: the rule for S takes about as many."""
_FAR, _FALLEN = 200.0, 1.5
"""At so many times one over the range of losses, S must have fallen by so much, nats."""
_LARGEST, _LEAST = 600.0, 1e-290
_NEGLIGIBLE, _NEAR = 30.0, 1e-4


@dataclass(frozen=True, eq=False)
class FewBetween:
    """The sum of `times` equal losses, two or more."""

    one: SampledLaplaceTransform
    times: int

    @property
    def serves(self) -> bool:
        """Whether few enough lie between, and S falls off soon."""
        found = self.one.logs_about(0.0) if self.times <= _MOST_TIMES else None
        if found is None or (self.times > _MANY and self.times * math.exp(found[1] - found[0]) > _MOST_BETWEEN):
            return False
        reach = float(np.ptp(self.one.single_values()[0]))
        return reach > 0 and self.one.log_between_beyond(0.0, _FAR / reach) < found[1] - _FALLEN

    def log_delta_ends(self, epsilon: float) -> tuple[Ends, float]:
        """ln of a lower and of an upper end of delta(epsilon), and about how fast it falls."""
        low = float(np.logaddexp(self._none(epsilon, 1), self._one(epsilon, 1)))
        high = float(np.logaddexp(self._none(epsilon, -1), self._one(epsilon, -1)))
        more: Ends = (-math.inf, min(self.plan.log_chernoff(epsilon), self._near_top(epsilon)))
        line = self.plan.line(epsilon) if more[1] > low - _NEGLIGIBLE else None
        if line is not None:
            more = line.ends(epsilon)
        slope = 0.0 if line is None else line.c
        return (float(np.logaddexp(low, more[0])), min(0.0, float(np.logaddexp(high, more[1])))), slope

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, two or more between left out."""

        def above(level: float) -> bool:
            return bool(np.logaddexp(self._none(level, 1), self._one(level, 1)) > log_delta)

        low, high = 0.0, self._largest
        while high - low > _NEAR * high and above(0.0):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) else (low, middle)
        return low

    @cached_property
    def plan(self) -> ContourPlan:
        """The lines of two or more between."""
        nodes = _NODES if self.times <= _MANY else _NODES_OF_MANY
        return ContourPlan(_TwoOrMore(self.one, self.times), nodes, to_the_end=True)

    @cached_property
    def _largest(self) -> float:
        """The largest loss, or a little more."""
        return self.times * float(self.one.single_values()[0].max()) * (1 + 16 * EPS * (16 - self.one.rate.log_drawn))

    def _near_top(self, epsilon: float) -> float:
        """ln of a bound on what two or more between add: two of them lack less than the level does of the largest sum.

        With a density of at most G each, that has the probability C(T, 2) G**2 gap**2/2 at most.
        """
        gap = self._largest - epsilon
        if gap <= 0:
            return -math.inf
        log_pairs = math.log(self.times) + math.log(self.times - 1) - math.log(4)
        return log_pairs + 2 * self.one.log_densest + 2 * math.log(gap) + math.log(-math.expm1(-gap)) + 64 * EPS

    def _none(self, epsilon: float, way: int) -> float:
        """ln of an end of the sum with none between: the lower one for 1, the upper one for -1."""
        levels, logs = self._told(epsilon, self.times, way)
        return float(np.logaddexp.reduce(logs + _log_gain(levels)))

    def _one(self, epsilon: float, way: int) -> float:
        """The same with one."""
        levels, logs = self._told(epsilon, self.times - 1, way)
        return math.log(self.times) + float(np.logaddexp.reduce(logs + self._log_between(levels, way)))

    def _told(self, epsilon: float, count: int, way: int) -> tuple[Numbers, Numbers]:
        """The levels that so many single values leave, and ln of their probabilities, each moved by its rounding."""
        losses, log_masses = self.one.single_values()
        upper = np.arange(count + 1, dtype=np.float64)
        chosen = math.lgamma(count + 1) - gammaln(upper + 1) - gammaln(count - upper + 1)
        logs = chosen + (count - upper) * log_masses[0] + upper * log_masses[1]
        unit = 16 - self.one.rate.log_drawn
        off = EPS * ((count + 1) * (16 + unit * float(np.abs(losses).max())) + 8 * math.lgamma(count + 2))
        slack = 2 * EPS * unit * (abs(epsilon) + (count + 1) * float(np.abs(losses).max()))
        levels = epsilon - (count - upper) * losses[0] - upper * losses[1]
        return levels + way * slack, logs - way * off

    def _log_between(self, levels: Numbers, way: int) -> Numbers:
        """ln of an end of one value's delta between."""
        back, top = -1 if self.one.back else 1, self.one.epsilon
        v = self.one.rate.unmixed(back * levels)
        finite = np.where(np.isfinite(v), v, 0.0)
        off = EPS * (16 - 4 * self.one.rate.log_drawn) * (np.abs(finite) + top)
        # the further v lies towards the larger losses, the less
        gap = (top - v if back > 0 else v + top) / 2
        gap = np.maximum(0.0, gap - way * off)
        with np.errstate(divide="ignore", over="ignore"):
            inner = 2 * np.log(-np.expm1(-gap)) + self.one.rate.log_drawn - math.log(2)
            inner = inner if back > 0 else inner + levels + v
            every = _log_gain(levels) + math.log(-math.expm1(-top) / 2)
        found = np.where(gap >= top, every, inner)
        size = 4 + np.abs(np.where(np.isfinite(found), found, 0.0)) + np.abs(levels)
        return found - way * (32 * EPS * size + off)


@dataclass(frozen=True, eq=False)
class _TwoOrMore:
    """The `Transform` of the sum over outcomes with two values or more between."""

    one: SampledLaplaceTransform
    times: int

    def at(self, c: float, y: Numbers) -> Values | None:
        """See `Transform`."""
        ends, between = self.one.ends_at(c, y), self.one.between_at(c, y)
        log_a, log_s = self._most(c)
        here = self._coefficients(log_a, log_s)
        if between is None or here is None:
            return None
        coefficients, log_rest = here
        unit = math.exp(log_a - ends.top)
        scale = self.times * math.exp(min(_LARGEST, between.top - ends.top)) / unit
        a, s = ends.sums / unit, between.sums * scale
        off_a, off_s = ends.error / unit, between.error * scale
        found = self._summed(coefficients, a, s)
        sizes = np.abs(a), np.abs(s)
        most = self._summed(coefficients, sizes[0], sizes[1])
        grown = self._summed(coefficients, sizes[0] + off_a, sizes[1] + off_s)
        turns = self.times * (1 + np.abs(np.log(np.maximum(sizes[0], 1e-300))))
        wrong = grown - most + EPS * (64 * coefficients.size + 8 * turns) * grown
        wrong = wrong + math.exp(min(_LARGEST, log_rest)) + _LEAST
        return from_scaled(np.asarray(found, dtype=np.complex128), wrong, self.times * log_a)

    def about(self, c: float) -> float:
        """See `Transform`."""
        found = self.one.logs_about(c)
        if found is None:
            return math.inf
        return self._log_summed(found[0], found[1])

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: it falls all the way."""
        return -math.inf

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`: A is no larger than at y = 0."""
        if not 0 < y < math.inf:
            return math.inf
        log_a, log_s = self._most(c)
        found = self._log_summed(log_a, min(log_s, self.one.log_between_beyond(c, y)))
        return found + 64 * EPS * self.times * (1 + abs(log_a)) if found < math.inf else math.inf

    def _most(self, c: float) -> tuple[float, float]:
        """ln of upper bounds of A and of S at y = 0."""
        here = np.zeros(1)
        ends, between = self.one.ends_at(c, here), self.one.between_at(c, here)
        logs = [
            math.inf if one is None else one.top + math.log(float(one.sums[0].real) + float(one.error[0]))
            for one in (ends, between)
        ]
        return logs[0], logs[1]

    def _coefficients(self, log_a: float, log_s: float) -> tuple[Numbers, float] | None:
        """C(T, k)/T**k for k = 2, 3, ..., and ln of what those beyond add, in units of A**T; None if they are many."""
        x = math.exp(min(_LARGEST, math.log(self.times) + log_s - log_a))
        count = min(self.times, _MOST_TERMS)
        k = np.arange(1, count + 1, dtype=np.float64)
        ratios = (1 - (k - 1) / self.times) / k
        found: Numbers = np.cumprod(ratios)[1:].astype(np.float64)
        rest = -math.inf
        if count < self.times:
            if x >= count / 2:
                return None
            rest = count * math.log(x) - math.lgamma(count + 1) if x > 0 else -math.inf
        return found, rest

    def _summed(self, coefficients: Numbers, a: NDArray[Any], s: NDArray[Any]) -> NDArray[Any]:
        """The sum over k of coefficient a**(T - k) s**k."""
        found, raised = np.full(a.shape, coefficients[-1], dtype=s.dtype), np.ones_like(a)
        for one in coefficients[-2::-1]:
            raised = raised * a
            found = found * s + one * raised
        return found * s * s * a ** (self.times - 1 - coefficients.size)

    def _log_summed(self, log_a: float, log_s: float) -> float:
        """ln of the sum for real A and S."""
        here = self._coefficients(log_a, log_s)
        if here is None:
            return math.inf
        coefficients, rest = here
        x = math.exp(min(_LARGEST, math.log(self.times) + log_s - log_a))
        k = np.arange(2, 2 + coefficients.size, dtype=np.float64)
        with np.errstate(divide="ignore"):
            logs = np.log(coefficients) + k * (np.log(x) if x > 0 else -math.inf)
        return self.times * log_a + float(np.logaddexp.reduce([*logs, rest + math.log(2)]))


def _log_gain(levels: Numbers) -> Numbers:
    """ln of 1 - e**level, or minus infinity."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(np.minimum(levels, 0.0)))
