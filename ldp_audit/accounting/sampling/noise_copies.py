r"""The loss of draws with replacement for a mechanism with the loss of Gaussian or Laplace noise.

The chain of `chain_cells` in closed form: noise is added to the number of copies, P_j is the noise moved by j steps,
and r_j(x) = dP_j/dP_0 grows with x. Where the record is there or not the loss L(x) = ln sum_j w_j r_j(x) grows too, so
that the best set is {x > x*} with L(x*) = epsilon, and with the steps' own profiles delta_j

    delta(t) = sum over j of w_j delta_j(ln r_j(x*)),       back:  t sum over j of w_j r_j(x*) delta_j(-ln r_j(x*)).

No term is negative. Of replaced records (`chain_mixture`) the first numbers of copies share x*, the others have their
own, where r_j = t.

Composition takes finitely many losses: outputs merged to intervals from below, and from above each interval's masses
moved to the losses at its ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ldp_audit.accounting.laws.finite_losses import log_sum
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.chain_mixture import mean_losses, pools_of
from ldp_audit.accounting.sampling.copy_counts import CopyCounts
from ldp_audit.accounting.sampling.fewer_losses import capped
from ldp_audit.accounting.sampling.noise_cells import from_above, from_below
from ldp_audit.accounting.sampling.shifted_noise import ShiftedNoise

Numbers = NDArray[np.float64]

_SMALL = -45.0
"""ln of a part of a sum that no digit tells."""
_ROUNDED_UP = 1 + 2.0**-48
_LIKELY, _TAIL = -160.0, 24
"""ln of the chance of numbers of copies that composition tells apart, and how many groups of others it knows."""
_NO_DIGITS = 4e-15
"""-ln of a delta that is as good as 1."""
_MOST_TOLD = 240
"""How many numbers of copies composition tells apart at most."""


def noise_copies(noise: GaussianLoss | LaplaceLoss, steps: Numbers, logs: Numbers, *, replaced: bool) -> LossLaw:
    """The law as `NoiseCopies` takes it; that of the noise itself where the number of copies is certain."""
    if steps.size > 1:
        return NoiseCopies(noise, steps, logs, replaced)
    distance = ShiftedNoise(noise, steps).distances[0]
    return GaussianLoss(float(distance)) if isinstance(noise, GaussianLoss) else LaplaceLoss(float(distance))


@dataclass(frozen=True, eq=False)
class NoiseCopies:
    """The loss between samples that hold a record by chance, and samples without it or with another instead.

    noise: of one copy.   steps: numbers of copies, ascending, shape (j,).   logs: ln of their probabilities.
    replaced: whether another record comes instead; then the law is right above 0 alone.
    record_first: whether the pair has the sum first; always for replaced ones.
    _listed: the laws of finitely many losses for the pair with the sum first, by their end, once they are known.
    """

    noise: GaussianLoss | LaplaceLoss
    steps: Numbers
    logs: Numbers
    replaced: bool
    record_first: bool = True
    _listed: dict[int, LossLaw] = field(default_factory=dict, repr=False)

    exact = True

    def largest(self) -> float:
        """See `LossLaw`."""
        end = math.inf if self.record_first else -math.inf
        return abs(float(self._losses(np.array([end]))[0]))

    def mirrored(self) -> LossLaw:
        """The loss of the other pair."""
        return NoiseCopies(self.noise, self.steps, self.logs, self.replaced, not self.record_first, self._listed)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; both ends are the same, but where delta lacks less of 1 than it is rounded by."""
        if epsilon >= self.largest():
            return -math.inf, -math.inf
        value = self._with_record(epsilon) if self.record_first else self._without(epsilon)
        return (value, value) if value < -_NO_DIGITS else (value - _NO_DIGITS, 0.0)

    def enclosed(self) -> tuple[LossLaw, LossLaw]:
        """Laws of finitely many losses below and above this one."""
        return self.enclosed_end(0), self.enclosed_end(1)

    def enclosed_end(self, end: int) -> LossLaw:
        """One of these alone: the lower (0) or the upper (1) one."""
        if end not in self._listed:
            self._listed[end] = self._list(end)
        return self._listed[end] if self.record_first else self._listed[end].mirrored()

    def _list(self, end: int) -> LossLaw:
        """A law of finitely many losses below (0) or above (1) that of the pair with the record first."""
        first = NoiseCopies(self.noise, self.steps, self.logs, self.replaced)
        counts = CopyCounts(self.steps, self.logs, -math.inf).with_tail_grouped(_LIKELY, _TAIL, end)
        counts = counts.told_apart(_MOST_TOLD, end)
        some = NoiseCopies(self.noise, counts.counts, counts.logs, self.replaced)
        law = from_above if end else from_below
        found = law(some._chain, some.logs, some._output(0.0), replaced=self.replaced)
        return capped(found, first.largest() * _ROUNDED_UP) if end else found

    @cached_property
    def _chain(self) -> ShiftedNoise:
        return ShiftedNoise(self.noise, self.steps)

    def _losses(self, x: Numbers) -> Numbers:
        """Of the pooled numbers of copies at these outputs."""
        ratios = self._chain.log_ratios(x)
        return pools_of(ratios, self.logs).losses if self.replaced else mean_losses(ratios, self.logs)

    def _output(self, loss: float) -> float:
        """Where the loss is this one; infinite where it is always larger, or smaller."""
        low, high = self._chain.span(abs(loss))
        ends = self._losses(np.array([low, high]))
        if loss <= ends[0] or loss >= ends[1]:
            return -math.inf if loss <= ends[0] else math.inf

        def excess(x: float) -> float:
            return float(self._losses(np.array([x]))[0]) - loss

        return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=2000))  # type: ignore[arg-type]

    def _with_record(self, epsilon: float) -> float:
        if self.replaced and epsilon <= 0:  # where it costs nothing to tell all numbers of copies
            return self._sum(self.logs, np.zeros(self.logs.size))
        output = self._output(epsilon)
        if output == -math.inf:
            return math.log(-math.expm1(epsilon))
        ratios = self._chain.log_ratios(np.array([output]))
        levels = ratios[:, 0]
        if self.replaced:
            levels[int(pools_of(ratios, self.logs).pooled[0]) :] = epsilon
        return self._sum(self.logs, levels)

    def _without(self, epsilon: float) -> float:
        output = self._output(-epsilon)
        if output == -math.inf:
            return -math.inf
        if output == math.inf:
            return math.log(-math.expm1(epsilon))
        levels = self._chain.log_ratios(np.array([output]))[:, 0]
        shares = self.logs + levels  # with t times them 1 in all, also where large ratios have lost their digits
        return self._sum(shares - log_sum(shares), -levels)

    def _sum(self, logs: Numbers, levels: Numbers) -> float:
        """ln of the sum of each one's delta at its level; those that no digit tells are left out."""
        most = logs + self._chain.log_delta_at_most(levels)
        found: list[float] = []
        best = -math.inf
        for i in np.argsort(-most):
            if most[i] < best + _SMALL or most[i] == -math.inf:
                break
            found.append(float(logs[i]) + self._chain.log_delta(float(self._chain.distances[i]), float(levels[i])))
            best = max(best, found[-1])
        return min(0.0, log_sum(np.array(found)))
